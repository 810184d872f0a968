"""The original inside a new code object: moved as one block, its slots renumbered where they must be.

In go the original and the ``Layout`` of the new frame, out come the original's bytes for behind the new part, or, if
some slot number outgrows its instruction, the items to encode again. ``same_code`` is the proof of both: it takes a
code object apart and writes it again, and CPython's own bytes come out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter
from types import CodeType
from typing import Any, NamedTuple

from capture.frames.bytecode import Raw, decode, slots_of
from capture.frames.encode import (
    Entry,
    Handler,
    Item,
    Label,
    encode,
    exception_table,
    handler_entries,
    location_table,
)
from capture.frames.reading import read_exception_table
from capture.frames.versions import DIALECT, SLOT_ARGUMENTS


class Layout(NamedTuple):
    """Numbers of the slots in the new code, and the fields of the code object that say so."""

    slots: dict[str, int]
    changes: dict[str, Any]


def kept_bytes(code: CodeType, layout: Layout) -> bytes | None:
    """The original's bytes with its slots renumbered in place; None if a number outgrows its instruction."""
    names = slots_of(code)
    numbers = [layout.slots[name] for name in names]
    if numbers == list(range(len(names))):
        return code.co_code
    data = bytearray(code.co_code)
    for at, arg, pair in decode(code).slot_uses:
        if pair:
            first, second = numbers[arg >> 4], numbers[arg & 15]
            if max(first, second) > 15:
                return None
            data[at] = first << 4 | second
        else:
            if numbers[arg] > 0xFF or arg > 0xFF:
                return None
            data[at] = numbers[arg]
    return bytes(data)


class Diversions(NamedTuple):
    """By byte offset: where the original goes instead of there, when it comes there from ``since`` on."""

    labels: dict[int, Label]
    since: int


NOWHERE_ELSE = Diversions({}, 0)


def kept_items(
    code: CodeType, layout: Layout, labels: dict[int, Label], start: int, diversions: Diversions = NOWHERE_ELSE
) -> list[Item]:
    """The original as items, for when its slots have to be renumbered and its bytes do not fit any more, or when
    it is not to be left as it is. ``labels`` lead into it from outside, and are not diverted."""
    names = slots_of(code)
    raws = decode(code).raws
    entries = list(read_exception_table(code.co_exceptiontable))
    inner = {offset: Label() for offset in diversions.labels}

    def label_at(offset: int, since: int = diversions.since) -> Label:
        table = inner if offset in inner and since >= diversions.since else labels
        return table.setdefault(offset, Label())

    for raw in raws:
        if raw.target is not None:
            label_at(raw.target, raw.offset)
    handlers: list[Handler | None] = [None] * len(raws)
    for first, end, target, depth, lasti in entries:
        covered = slice(*(bisect_left(raws, offset, key=attrgetter("offset")) for offset in (first, end)))
        handlers[covered] = [Handler(label_at(target), depth, lasti)] * (covered.stop - covered.start)
    items: list[Item] = []
    for raw, handler in zip(raws, handlers, strict=True):
        if raw.offset in inner:
            inner[raw.offset].place = start + len(items)
            items.append(Item("JUMP", 0, diversions.labels[raw.offset], raw.position))
        label = labels.get(raw.offset)
        if label is not None:
            label.place = start + len(items)
        jumps_to = label_at(raw.target, raw.offset) if raw.target is not None else None
        for name, arg in _renumbered(raw, names, layout):
            items.append(Item(name, arg, jumps_to, raw.position, handler))
    return items


def _renumbered(raw: Raw, names: Sequence[str], layout: Layout) -> list[tuple[str, int]]:
    if raw.name in SLOT_ARGUMENTS:
        return [(raw.name, layout.slots[names[raw.arg]])]
    if raw.name in DIALECT.pairs:
        first, second = layout.slots[names[raw.arg >> 4]], layout.slots[names[raw.arg & 15]]
        if max(first, second) < 16:
            return [(raw.name, first << 4 | second)]
        return list(zip(DIALECT.pairs[raw.name], (first, second), strict=True))
    return [(raw.name, raw.arg)]


def moved_entries(code: CodeType, units: int) -> Iterator[Entry]:
    for start, end, target, depth, lasti in read_exception_table(code.co_exceptiontable):
        yield start // 2 + units, end // 2 + units, target // 2 + units, depth, lasti


def back_to_first_line(items: Sequence[Item], code: CodeType) -> Iterator[Item]:
    """The kept line table counts from the first line: if the new part ends elsewhere, a NOP brings it back."""
    line = next((item.position[0] for item in reversed(items) if item.position[0] is not None), None)
    first = code.co_firstlineno
    if line not in (None, first):
        yield Item("NOP", 0, None, (first, first, None, None))


def same_code(code: CodeType) -> CodeType:
    """The same code object, taken apart and written again; tests compare the two."""
    names = slots_of(code)
    items = kept_items(code, Layout({name: i for i, name in enumerate(names)}, {}), {}, 0)
    encoded = encode(items)
    return code.replace(
        co_code=encoded.code,
        co_linetable=location_table(items, encoded.units, code.co_firstlineno),
        co_exceptiontable=exception_table(handler_entries(items, encoded)),
    )
