"""The bytes of a code object as physical instructions, and the groups of these that are canonical ones.

In: a code object. Out: ``Raw`` instructions, split and folded as the tables of this Python say; entries of its
exception table. What the groups mean is the matter of ``bytecode``.

>>> [raw.name for raw in read_raws((lambda x: x + 1).__code__)]
['RESUME', 'LOAD_FAST', 'LOAD_CONST', 'BINARY_OP', 'RETURN_VALUE']
"""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from types import CodeType

from capture.errors import InternalError
from capture.frames.versions import DIALECT, Raw

_NAMES = dis.opname
_CACHES = [DIALECT.caches.get(name, 0) for name in _NAMES]
_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
_DIRECTION = {
    dis.opmap[name]: -2 if "BACKWARD" in name else +2
    for name in (dis.opname[op] for op in dis.hasjrel)
    if dis.opmap[name] < 256
}


def read_raws(code: CodeType, stop: int | None = None) -> Iterator[Raw]:
    """Physical instructions of a code object up to a byte, without specialisation and instrumentation."""
    data = code.co_code[:stop]
    positions = list(islice(code.co_positions(), len(data) // 2))
    start = offset = extension = 0
    while offset < len(data):
        opcode = data[offset]
        arg = extension | data[offset + 1]
        offset += 2
        if opcode == _EXTENDED_ARG:
            extension = arg << 8
            continue
        end = offset + 2 * _CACHES[opcode]
        target = end + _DIRECTION[opcode] * arg if opcode in _DIRECTION else None
        yield Raw(_NAMES[opcode], arg, start, end, target, positions[offset // 2 - 1])
        start = offset = end
        extension = 0


def split(raws: Iterable[Raw]) -> Iterator[Raw]:
    for raw in raws:
        splitter = DIALECT.splits.get(raw.name)
        pieces = splitter(raw.arg) if splitter else ()
        if not pieces:
            yield raw
            continue
        for part, (name, arg) in enumerate(pieces):
            target = raw.target if "JUMP" in name else None
            yield raw._replace(name=name, arg=arg, target=target, part=part)


def fold(raws: Iterable[Raw], targets: set[int]) -> Iterator[tuple[Raw, ...]]:
    group: tuple[Raw, ...] = ()
    taken_up_by: Collection[str] = ()
    for raw in raws:
        if raw.name in taken_up_by and (raw.part or raw.offset not in targets):
            group = (*group, raw)
        else:
            if group:
                yield group
            group = (raw,)
        taken_up_by = DIALECT.folds.get(raw.name, ())
    yield group


def anchor(group: Sequence[Raw]) -> Raw:
    """The first physical instruction of a group that can be addressed: not a later piece of a split one."""
    first = group[0]
    return first if first.part == 0 else next((raw for raw in group if raw.part == 0), first)


def indices(groups: Sequence[Sequence[Raw]], size: int) -> tuple[dict[int, int], dict[int, int]]:
    """Byte offset -> index of the group, for jumps and for bounds of regions.

    A region may end before the jump that a TO_BOOL is folded with. The jump cannot raise, so the group counts as
    covered where its TO_BOOL is.
    """
    jumps: dict[int, int] = {}
    bounds: dict[int, int] = {}
    for index, group in enumerate(groups):
        first = anchor(group)
        if first.part == 0:
            jumps[first.offset] = index
        if group[0].part == 0:
            bounds[first.offset] = index
        for raw in group[1:]:
            if raw.part == 0 and "JUMP" in raw.name:
                bounds[raw.offset] = index + 1
    jumps[size] = bounds[size] = len(groups)
    return jumps, bounds


def loop_end(groups: Sequence[Sequence[Raw]]) -> int:
    """How many instructions an exhausted FOR_ITER skips at its target, where these stand."""
    found = tuple(group[0].name for group in groups[: len(DIALECT.loop_end)])
    if found != DIALECT.loop_end:
        raise InternalError(f"a loop ends with {found}, not with {DIALECT.loop_end}")
    return len(found)


def read_exception_table(table: bytes) -> Iterator[tuple[int, int, int, int, bool]]:
    """Entries as (start, end, target, depth, lasti), the first three in bytes."""
    values = _read_varints(table)
    for start in values:
        length, target, depth_lasti = next(values), next(values), next(values)
        yield 2 * start, 2 * (start + length), 2 * target, depth_lasti >> 1, bool(depth_lasti & 1)


def _read_varints(table: bytes) -> Iterator[int]:
    value = 0
    for byte in table:
        value = value << 6 | byte & 0x3F
        if not byte & 0x40:
            yield value
            value = 0
