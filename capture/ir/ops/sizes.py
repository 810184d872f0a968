"""Sizes as operands: what ``x.sum() / x.shape[0]`` divides by.

In: a size expression. Out: a Python int in the graph, computed from the shapes of the graph's inputs at each call.

>>> str(graph.call("size_number", size=Symbol("n") + 1).type)
'int=n + 1'
"""

from __future__ import annotations

from capture.ir.op import Pointwise, define
from capture.ir.ops.common import QUIET
from capture.ir.types import NumberType

define(
    name="size_number",
    signature="size",
    operands=(),
    infer=lambda size: NumberType(int, size),
    reference=lambda size: size,
    source="{size}",
    lower=Pointwise(lambda s, size: s.position(size)),
    tags=QUIET,
    samples=(({"size": 3},),),
)
