"""The innermost loop of a walk: its masks ahead of it, rows of equal elements, several steps at once; counts.

In: the body of a nest that is being written. Out: lines of C.

    for (i64 piece = 0; piece < n && place < trues; piece += 512) {
        …                                           /* the masks of a piece, in vectors */
        if (place + 512 <= trues) { … }             /* steps that need not look for the end of memory */
        else { … }
    }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from capture.inductor.csource import pointer
from capture.inductor.elements import Write
from capture.inductor.loops import Memory, Value
from capture.inductor.nest import FEW_TALLIES, MOST_TALLIES
from capture.inductor.staging import PIECE, masks_ahead
from capture.inductor.vocabulary import C_TYPES
from capture.ir.shapes import product

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


# Counts -----------------------------------------------------------------------------------------------------------
TABLES = 4
"""Tables that take turns: a count that was just written can be read again only some cycles later."""


def write_tallies(body: Body, write: Write, begin: str, end: str) -> None:
    """The loop over a chunk: the places of a piece in vectors, then the counts, in tables of this thread.

    Each call adds its tables to the array at its end. Where the array is large, or there is not much to count, there is
    one call, which counts in the array.
    """
    lines, memory = body.lines, write.place.memory
    symbol, added = body.nest.inner[-1].symbol.name, write.value.args[1]
    _use_tables(body, memory)
    needed = body.nest.needed([*write.places, added], 0)
    if all(value.op in ("load", "cast") for value in needed):
        _count_at_once(body, write, needed, begin, end)
        return
    size = product(memory.shape)
    number = np.dtype("i4" if isinstance(size, int) and size < 1 << 31 else "i8")
    places = body.scratch.array("places_piece", number, PIECE)
    with lines.block(f"for (i64 piece = {begin}; piece < {end}; piece += {PIECE})"):
        lines.add(f"const i64 piece_end = MINIMUM(piece + {PIECE}, {end});")
        mark = len(lines.lines)
        with lines.block(f"for (i64 {symbol} = piece; {symbol} < piece_end; {symbol}++)"):
            body.compute_all(needed, 0)
            lines.add(f"{places}[{symbol} - piece] = ({C_TYPES[number]})({_place(body, write)});")
            if body.nest.is_inner(added):
                lines.add(f"{body.piece(added)}[{symbol} - piece] = {body.name(added)};")
        body.pragma(mark)
        lines.add("const i64 steps = piece_end - piece;", "i64 step = 0;")
        with lines.block(f"for (; step + {TABLES} <= steps; step += {TABLES})"):
            for table in range(TABLES):
                lines.add(_count(body, added, f"step + {table}", f"{table} * apart + "))
        with lines.block("for (; step < steps; step++)"):
            lines.add(_count(body, added, "step", ""))


def _count_at_once(body: Body, write: Write, needed: list[Value], begin: str, end: str) -> None:
    """The same where the places are there already."""
    lines, symbol, added = body.lines, body.nest.inner[-1].symbol.name, body.name(write.value.args[1])
    lines.add(f"i64 step = {begin};")
    for at_once in (TABLES, 1):
        with lines.block(f"for (; step + {at_once} <= {end}; step += {at_once})"):
            for number in range(at_once):
                with lines.block():
                    lines.add(f"const i64 {symbol} = step + {number};")
                    body.compute_all(needed, 0)
                    lines.add(f"tallies[{number} * apart + {_place(body, write)}] += {added};")


def _place(body: Body, write: Write) -> str:
    return body.unit.offset(write.place, tuple(map(body.name, write.places)))


def _count(body: Body, added: Value, step: str, table: str) -> str:
    number = f"{body.piece(added)}[{step}]" if body.nest.is_inner(added) else body.name(added)
    return f"tallies[{table}places_piece[{step}]] += {number};"


def _use_tables(body: Body, memory: Memory) -> None:
    """What a call of the kernel begins with and how it ends: its tables, if it has any, are empty, and are added up."""
    target, ctype, size = pointer(memory), C_TYPES[memory.dtype], product(memory.shape)
    if not body.nest.has_tables:
        body.opening += [f"{ctype} *const tallies = &{target}[0];", "const i64 apart = 0;"]
        return
    entries = max(TABLES * min(size, FEW_TALLIES), size) if isinstance(size, int) else MOST_TALLIES
    table, text = body.scratch.array("own_tallies", memory.dtype, entries), body.unit.size(size)
    body.opening += [
        f"const i64 own = {text} <= {MOST_TALLIES} ? {text} : 0;",
        f"const i64 apart = own <= {FEW_TALLIES} ? own : 0; /* between a table and the next, if there are more */",
        f"const i64 tallied = apart ? {TABLES} * apart : own;",
        f"{ctype} *const tallies = own ? {table} : &{target}[0];",
        "for (i64 place = 0; place < tallied; place++)",
        "    tallies[place] = 0;",
    ]
    body.closing += [
        "for (i64 place = 0; place < own; place++) {",
        f"    {ctype} sum = tallies[place];",
        "    for (i64 other = place + apart; other != place && other < tallied; other += apart)",
        "        sum += tallies[other];",
        "    if (sum)",
        f"        __atomic_fetch_add(&{target}[place], sum, __ATOMIC_RELAXED);",
        "}",
    ]
