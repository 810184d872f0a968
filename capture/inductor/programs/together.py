"""Maps and stores of one block that one nest of loops computes: what several of them read is read once.

In: array-valued steps, one after the other. Out: nothing until a step comes that has to see them in memory; then one
nest, which writes them all, element by element:

    inside = r * r <= 4            for (i64 i = 0; i < n; i++) {
    z = where(inside, z * z, z)        … z_2[i] = inside ? square : z_1[i];
    count += inside                    count[i] = count[i] + inside;

They wait together as long as all go through the same places in the same order, and nobody reads elsewhere what one of
them writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from capture.inductor.programs.facts import is_array
from capture.inductor.programs.values import Array
from capture.ir.graph import Node
from capture.records import dataclass, field

if TYPE_CHECKING:
    from capture.inductor.programs.function import Function

MOST = 6
"""Arrays that one nest writes: each is a stream of its own."""

Where = tuple[str, tuple[str, ...], tuple[str, ...]]


Outputs = list[tuple[Array, Any]]
"""Arrays, and what is to be computed into them."""


@dataclass(eq=False)
class Together:
    """Steps that wait until ``write`` computes them; ``waiting`` are maps with the memory that is theirs."""

    write: Callable[[Function, Outputs], None]
    sizes: tuple[str, ...]
    order: list[int]
    outputs: Outputs = field(default_factory=list)
    waiting: dict[Node, Array] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)  # the memory that stores among them write
    read: list[tuple[frozenset[str], Where]] = field(default_factory=list)


def where(array: Array) -> Where:
    return array.pointer, array.sizes, array.strides


def shows_same(entry: Any, array: Array) -> bool:
    """Whether an array in memory is the same elements as another one."""
    return isinstance(entry, Array) and where(entry) == where(array)


def read_by(function: Function, value: Any) -> Iterator[tuple[Node, Array]]:
    """The arrays in memory that an element of a value is made of."""
    entry = function.arrays[value]
    if isinstance(entry, Array):
        yield value, entry
        return
    for argument in entry.step.args:
        if is_array(argument):
            yield from read_by(function, argument)


def join(
    function: Function,
    write: Callable[[Function, Outputs], None],
    target: Array,
    value: Node,
    order: list[int],
    stored: Node | None = None,
) -> None:
    """Have a value computed into ``target``, with others if it may; ``stored``: the array of which that is a store."""
    group = function.together
    if group is not None and not _fits(function, group, target, value, order, stored):
        function.settle_together()
        group = None
    if group is None:
        group = function.together = Together(write, target.sizes, order)
    group.outputs.append((target, value))
    group.read += [(function.owners[node], where(array)) for node, array in read_by(function, value)]
    if stored is None:
        group.waiting[value] = target
    else:
        group.stored |= function.owners[stored]


def _fits(
    function: Function, group: Together, target: Array, value: Node, order: Sequence[int], stored: Node | None
) -> bool:
    if len(group.sizes) != len(target.sizes) or group.order != order or len(group.outputs) == MOST:
        return False
    if not all(map(function.same, group.sizes, target.sizes)):
        return False
    if any(not group.stored.isdisjoint(function.owners[node]) for node, _ in read_by(function, value)):
        return False
    if stored is None:
        return True
    mine = function.owners[stored]
    return group.stored.isdisjoint(mine) and not any(
        not owners.isdisjoint(mine) and place != where(target) for owners, place in group.read
    )


_NUMBERS = frozenset({"number", "scalar", "integer", "select", "complex", "size", "map", "which"})
_VIEWS = frozenset({"view", "permute", "broadcast", "part"})


def may_wait(group: Together, step: Node) -> bool:
    """Whether the steps that wait may do so while this one is written: it sees none of what they write in memory."""
    if step.target in _NUMBERS:
        return True
    is_alone = not any(is_array(arg) and arg in group.waiting for arg in step.args[:1])
    return step.target in (*_VIEWS, "store") and is_alone
