"""Indices: which elements of its operands make an element of a node.

In: a node, or a unit that writes to computed places, and an index over loop symbols. Out: its operands, each with the
index of the element that is read there.

>>> list(operand_points(add, (i0, i1)))          # x of shape (3, 4), y of shape (4,)
[(%x, (i0, i1)), (%y, (i1,))]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from capture.inductor.overlap import shape_of
from capture.ir.graph import Node
from capture.ir.op import Gather, Pointwise, Reduce
from capture.ir.ops.common import broadcast_shapes
from capture.ir.shapes import Expr, Size, Symbol

if TYPE_CHECKING:
    from capture.inductor.lower import Unit

Index = tuple[Size, ...]


def axis_symbol(number: int, size: Size, prefix: str = "i") -> Size:
    """The loop symbol of a dim; a dim of size 1 does not loop."""
    if isinstance(size, int):
        return 0 if size == 1 else Symbol(f"{prefix}{number}", 0, max(size - 1, 0))
    return Symbol(f"{prefix}{number}")


def walk_axes(domain: Sequence[Size], along: int | None = None) -> Index:
    """The loop symbols of a walk along an axis (the last one), which has a loop even where there is but one step."""
    axes = list(map(axis_symbol, range(len(domain)), domain))
    axis = len(domain) - 1 if along is None else along
    axes[axis] = axes[axis] if isinstance(axes[axis], Symbol) else Symbol(f"i{axis}", 0, 0)
    return tuple(axes)


def is_empty(shape: Sequence[Size]) -> bool:
    return any(isinstance(size, int) and size == 0 for size in shape)


def broadcast_index(index: Index, shape: Sequence[Size], operand: Sequence[Size]) -> Index:
    """The index of an operand's element that meets the result's element at ``index``."""
    index = index[len(index) - len(operand) :]
    return tuple(0 if size == 1 else position for position, size in zip(index, operand, strict=True))


def is_pointwise(node: Node) -> bool:
    """Whether each element of the node is made of one element of each operand."""
    return isinstance(node.op.lower, Pointwise | Gather) or (isinstance(node.op.lower, Reduce) and not combines(node))


def combines(node: Node) -> bool:
    """Whether a reduction has more than one element to combine."""
    shape = shape_of(node.args[0])
    return any(not isinstance(shape[axis], int) or shape[axis] != 1 for axis in node.params["axis"])


def operand_points(node: Node, index: Index) -> Iterator[tuple[Node, Index]]:
    """The operands of a pointwise node, each with the index of the element that makes the element at ``index``."""
    if isinstance(node.op.lower, Reduce):
        axes, shape = node.params["axis"], shape_of(node.args[0])
        if len(index) < len(shape):
            rest = iter(index)
            index = tuple(0 if axis in axes else next(rest) for axis in range(len(shape)))
        yield node.args[0], tuple(0 if axis in axes else position for axis, position in enumerate(index))
        return
    if isinstance(node.op.lower, Gather):
        places = range(node.params["place"], node.params["place"] + count_of_places(node))
        for operand in node.args[1:]:
            shape = tuple(node.type.shape[axis] for axis in places)
            yield operand, broadcast_index(tuple(index[axis] for axis in places), shape, shape_of(operand))
        return
    for operand in node.args:
        if isinstance(operand, Node):
            yield operand, broadcast_index(index, shape_of(node), shape_of(operand))


def count_of_places(node: Node) -> int:
    """The axes of a gather's result that come from its indices."""
    return len(node.type.shape) - len(shape_of(node.args[0])) + len(node.params["axes"])


def source_index(node: Node, index: Index, at: Callable[[int], Size] | None = None) -> Index:
    """The index of the element that a gather reads for the element at ``index`` of its result: along the indexed axes
    ``at(axis)``, or a symbol that stands for some place.
    """
    axes, place, count = node.params["axes"], node.params["place"], count_of_places(node)
    rest = iter((*index[:place], *index[place + count :]))
    some = at or (lambda axis: Symbol(f"{node.name}_at{axis}"))
    return tuple(some(axis) if axis in axes else next(rest) for axis in range(len(shape_of(node.args[0]))))


def scatter_points(unit: Unit, index: Index | None = None) -> Iterator[tuple[Node, Index]]:
    """The value and the places of an indexed store, each with the index of its element for a step of the walk."""
    _, value, *indices = unit.node.args
    index = unit.axes if index is None else index
    count = len(broadcast_shapes(map(shape_of, indices)))
    if isinstance(value, Node):
        yield value, broadcast_index(index, unit.domain, shape_of(value))
    for node in indices:
        yield node, broadcast_index(index[:count], unit.domain[:count], shape_of(node))


def symbols_in(value: Any) -> frozenset[Symbol]:
    """The symbols of the sizes in nested tuples."""
    if isinstance(value, tuple):
        return frozenset[Symbol]().union(*map(symbols_in, value))
    return value.symbols if isinstance(value, Expr) else frozenset()


def sizes_of(node: Node) -> frozenset[Symbol]:
    """The symbols that the shapes of a node and of its operands, and its parameters, are made of."""
    shapes = [shape_of(value) for value in (node, *node.inputs)]
    regions = tuple(step.params for step in node.params.get("region", ()))
    return symbols_in((*shapes, tuple(node.params.values()), regions))
