"""Physical instructions to the bytes of a code object: ``co_code``, line table, exception table.

In go items (name, argument or label, source position, handler), out come the three byte strings; EXTENDED_ARG,
caches and jump distances are worked out here::

    end = Label(place=2)
    encode([Item("JUMP", 0, end), Item("NOP", 0), Item("NOP", 0)]).code    # the jump steps over one NOP

A label stands for the item at ``place``, or for a code unit ``extra`` behind it: that is how new code jumps into a
block of bytes that is kept as it was and put behind the items.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from capture.errors import InternalError
from capture.frames.versions import DIALECT, Position

NOWHERE: Position = (None, None, None, None)


class Label:
    """A place in the code to come; ``depth`` is the stack depth there, once known."""

    __slots__ = ("depth", "extra", "place")

    def __init__(self, place: int | None = None, extra: int = 0, depth: int | None = None) -> None:
        self.place = place
        self.extra = extra
        self.depth = depth


class Handler(NamedTuple):
    """Where an exception in an item leads, and what the exception table says of the stack there."""

    label: Label
    depth: int
    lasti: bool


class Item(NamedTuple):
    """One physical instruction to write. A jump may have its canonical name: its label gives the direction."""

    name: str
    arg: int | str  # a string is the name of a slot, to be resolved before encoding
    label: Label | None = None
    position: Position = NOWHERE
    handler: Handler | None = None


class Encoded(NamedTuple):
    code: bytes
    units: list[int]  # code unit at which each item starts, and the end

    def unit(self, label: Label) -> int:
        if label.place is None:
            raise InternalError("a label is used but was never placed")
        return self.units[label.place] + label.extra


_CACHES = {name: DIALECT.caches.get(name, 0) for name in dis.opmap}
_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]


def _width(arg: int) -> int:
    """Code units of an instruction with this argument, without its caches."""
    return 1 if arg < 1 << 8 else 2 if arg < 1 << 16 else 3 if arg < 1 << 24 else 4


def _spelling(item: Item, index: int) -> str:
    """The physical name of a jump in the direction of its label."""
    if item.label is None:
        return item.name
    if item.label.place is None:
        raise InternalError(f"{item.name} to a label that was never placed")
    table = DIALECT.forward if item.label.place > index else DIALECT.backward
    if item.name in DIALECT.forward and item.name not in table:
        raise InternalError(f"{item.name} cannot jump backwards on {DIALECT.name}")
    return table.get(item.name, item.name)


def encode(items: Sequence[Item]) -> Encoded:
    """Lay out items and write their bytes; jumps grow until every distance fits."""
    names = [_spelling(item, index) for index, item in enumerate(items)]
    args = [0 if item.label is not None else int(item.arg) for item in items]
    caches = [_CACHES[name] for name in names]
    widths = [_width(arg) for arg in args]
    jumps = [(index, item.label) for index, item in enumerate(items) if item.label is not None]
    while True:
        units = [0, *accumulate(map(int.__add__, widths, caches))]
        layout = Encoded(b"", units)
        grew = False
        for index, label in jumps:
            ahead = layout.unit(label) - units[index + 1]
            args[index] = -ahead if "BACKWARD" in names[index] else ahead
            if args[index] < 0:
                raise InternalError(f"{names[index]} jumps the wrong way")
            if _width(args[index]) > widths[index]:
                widths[index] = _width(args[index])
                grew = True
        if not grew:
            break
    code = bytearray()
    for name, arg, width, cache in zip(names, args, widths, caches, strict=True):
        for shift in range(8 * (width - 1), 0, -8):
            code += bytes((_EXTENDED_ARG, arg >> shift & 0xFF))
        code += bytes((dis.opmap[name], arg & 0xFF))
        code += bytes(2 * cache)
    return Encoded(bytes(code), units)


# --------------------------------------------------------------------------------------- line table
def location_table(items: Sequence[Item], units: Sequence[int], first_line: int) -> bytes:
    """The location table (``co_linetable``) of encoded items."""
    table = bytearray()
    line = first_line
    start = 0
    for index, item in enumerate(items):
        if index + 1 < len(items) and items[index + 1].position == item.position:
            continue
        length = units[index + 1] - units[start]
        while length > 0:
            table += _location(item.position, min(length, 8), line)
            line = line if item.position[0] is None else item.position[0]
            length -= 8
        start = index + 1
    return bytes(table)


def _location(position: Position, length: int, previous: int) -> bytes:
    """One entry: the shortest form that can say it (see CPython's Objects/locations.md)."""
    line, end_line, column, end_column = position

    def head(kind: int) -> int:
        return 0x80 | kind << 3 | length - 1

    if line is None:
        return bytes((head(15),))
    delta = line - previous
    if column is None or end_column is None:
        return bytes((head(13), *_signed_varint(delta)))
    if end_line == line and column <= end_column:
        if delta == 0 and column < 80 and end_column - column < 16:
            return bytes((head(column >> 3), (column & 7) << 4 | end_column - column))
        if 0 <= delta < 3 and column < 128 and end_column < 128:
            return bytes((head(10 + delta), column, end_column))
    numbers = ((line if end_line is None else end_line) - line, column + 1, end_column + 1)
    return bytes((head(14), *_signed_varint(delta), *(byte for number in numbers for byte in _varint(number))))


def _varint(value: int) -> Iterator[int]:
    """Least significant six bits first, as the location table has it."""
    while value >= 64:
        yield 0x40 | value & 0x3F
        value >>= 6
    yield value


def _signed_varint(value: int) -> Iterator[int]:
    return _varint(-value << 1 | 1 if value < 0 else value << 1)


# ---------------------------------------------------------------------------------- exception table
Entry = tuple[int, int, int, int, bool]
"""Start, end, target in code units, depth, lasti."""


def handler_entries(items: Sequence[Item], encoded: Encoded) -> Iterator[Entry]:
    """Runs of items with the same handler."""
    start = 0
    for index, item in enumerate(items):
        if index + 1 == len(items) or items[index + 1].handler != item.handler:
            if item.handler is not None:
                label, depth, lasti = item.handler
                yield encoded.units[start], encoded.units[index + 1], encoded.unit(label), depth, lasti
            start = index + 1


def exception_table(entries: Iterable[Entry]) -> bytes:
    table = bytearray()
    for start, end, target, depth, lasti in entries:
        first, *others = _big_endian_varint(start)
        table += bytes((0x80 | first, *others))
        for number in (end - start, target, depth << 1 | lasti):
            table += bytes(_big_endian_varint(number))
    return bytes(table)


def _big_endian_varint(value: int) -> list[int]:
    """Most significant six bits first, as the exception table has it."""
    groups = [value & 0x3F]
    while value := value >> 6:
        groups.append(0x40 | value & 0x3F)
    return groups[::-1]
