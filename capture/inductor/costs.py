"""What an element of a node costs on its own, by its operations.

In: a node. Out: nanoseconds per element, from the costs of the scalar operations that its lowering is made of.

>>> own_cost(graph.call("exp", x)) > own_cost(graph.call("add", x, x))
True
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from capture.inductor.loops import GATHERED, Access, Builder, Memory
from capture.ir.graph import Node, iterate_nodes, map_nodes, map_params
from capture.ir.op import Gather, Pointwise, Reduce
from capture.ir.shapes import Symbol
from capture.ir.types import ArrayType


def own_cost(node: Node) -> float:
    """Nanoseconds per element of the node's own operations."""
    if isinstance(node.op.lower, Reduce):
        return 0.0
    if isinstance(node.op.lower, Gather):
        return GATHERED * node.params.get("steps", 1)
    return _cost_of(node.target, loop_dtypes(node), _hashable(node.params), node.type.dtype)


def _hashable(params: Any) -> Any:
    items = tuple(params.items())
    try:
        hash(items)
    except TypeError:
        return ()
    return items


@lru_cache(maxsize=4096)
def _cost_of(target: str, dtypes: tuple[np.dtype, ...], params: Any, dtype: np.dtype) -> float:
    from capture.ir import op as ops

    builder = Builder(index_of=lambda axis: Symbol(f"i{axis}"))
    operands = []
    for number, each in enumerate(dtypes):
        place = Memory(str(number), "input", each, (), ())
        operands.append(builder.load(Access(place, 0, ())))
    lowering = ops.get(target).lower
    assert isinstance(lowering, Pointwise)
    builder.cast(lowering.element(builder, *operands, **dict(params)), dtype)
    return sum(value.cost for value in builder.values)


def loop_dtypes(node: Node) -> tuple[np.dtype, ...]:
    """The dtypes to which the operands of a pointwise node are cast before its element is computed."""
    lowering = node.op.lower
    assert isinstance(lowering, Pointwise)
    if lowering.loop is not None:
        types = map_nodes(node.args, lambda operand: operand.type)
        return tuple(map(np.dtype, lowering.loop(*types, **map_params(node.params))))
    dtypes = [operand.type.dtype for operand in iterate_nodes(node.args) if isinstance(operand.type, ArrayType)]
    return tuple(
        operand.type.dtype if isinstance(operand, Node) and isinstance(operand.type, ArrayType) else dtypes[0]
        for operand in node.args
    )
