"""The innermost loop of a walk: its masks ahead of it, rows of equal elements, several steps at once.

In: the body of a nest that is being written. Out: lines of C.

    for (i64 piece = 0; piece < n && place < trues; piece += 512) {
        …                                           /* the masks of a piece, in vectors */
        if (place + 512 <= trues) { … }             /* steps that need not look for the end of memory */
        else { … }
    }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.inductor.elements import Write
from capture.inductor.loops import Value
from capture.inductor.staging import PIECE, masks_ahead

if TYPE_CHECKING:
    from capture.inductor.combining import RowStates
    from capture.inductor.emit import Body

FEW_PLACES = 4
"""Neighbours that are written in one go."""

UNROLL = "#pragma GCC unroll 8"
"""A step is so short that the end of the loop costs as much."""


def masks_of(body: Body) -> list[Value]:
    """What the walks of the nest keep elements by, where all of them do that."""
    nest, found = body.nest, []
    for value in nest.carried:
        step = value.data.next.args[1] if value.data.limit is not None else None
        if step is None or step.op != "cast" or step.args[0].dtype.kind != "b":
            return []
        found.append(step.args[0])
    return [] if body.backups or nest.saved else list(dict.fromkeys(found))


def write_packed(body: Body, phase: int, states: RowStates, begin: str, end: str, masks: list[Value]) -> None:
    """The loop over a row, in pieces."""
    nest, lines, symbol = body.nest, body.lines, body.nest.inner[-1].symbol.name
    roots = nest.roots(phase)
    first, steps = masks_ahead(nest.needed(roots, phase), roots, masks)
    goes_on = body.goes_on()
    fits = goes_on.removeprefix(" && ").replace(" <", f" + {PIECE} <=")
    with lines.block(f"for (i64 piece = {begin}; piece < {end}{goes_on}; piece += {PIECE})"):
        lines.add(f"const i64 piece_end = MINIMUM(piece + {PIECE}, {end});")
        mark = len(lines.lines)
        with lines.block(f"for (i64 {symbol} = piece; {symbol} < piece_end; {symbol}++)"):
            body.compute_all(first.computes, phase)
            for mask in masks:
                lines.add(f"{body.piece(mask)}[{symbol} - piece] = {body.name(mask)};")
        body.pragma(mark)
        for condition, pragma, check in ((f"if ({fits})", [UNROLL], ""), ("else", [], goes_on)):
            with lines.block(condition):
                lines.add(*pragma)
                with lines.block(f"for (i64 {symbol} = piece; {symbol} < piece_end{check}; {symbol}++)"):
                    for mask in masks:
                        lines.add(f"const _Bool {body.local(mask)} = {body.piece(mask)}[{symbol} - piece];")
                    body.elements(phase, states, steps)


def write_row(body: Body, write: Write, start: str, until: str) -> None:
    """All places of a row; where they are few, some more, which later steps write anew: no branch to guess."""
    more, size = f"{start} + {FEW_PLACES}", body.unit.size(write.place.memory.shape[0])
    for condition, end in ((f"if ({until} <= {more} && {more} <= {size})", more), ("else", until)):
        with body.lines.block(condition), body.lines.block(f"for (i64 at = {start}; at < {end}; at++)"):
            body.lines.add(f"{body.unit.element(write.place, ('at',))} = {body.name(write.value)};")
