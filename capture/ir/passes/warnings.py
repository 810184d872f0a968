"""What a call may do besides giving its value: warn, or raise.

In: a node of a graph. Out: whether NumPy may issue a floating-point warning in it, or an error, for some values of
its operands. Such a node is computed, on all of its elements and as often as the program says so, read or not.

    %l = log(%x)                # warns of zeros although nobody reads it
    return %x

A record that can do neither says so by its tag ``quiet``; one that divides integers by its tag ``divides``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.graph import Node, buffer, map_nodes
from capture.ir.op import TALLY, Gather, Join, Leave, Loop, Measure, Part, ViewOf
from capture.ir.types import ArrayType, NumberType

QUIET, DIVIDES = "quiet", "divides"
_SILENT = (ViewOf, Join, Part)
_RAISING = (Gather, Leave, Loop, Measure)


def may_warn(node: Node) -> bool:
    """Whether the node, a call, may warn or raise."""
    if node.kind != "call" or isinstance(node.op.lower, _SILENT) or QUIET in node.op.tags:
        return False
    if node.op.is_extern or isinstance(node.op.lower, _RAISING) or isinstance(node.type, tuple | NumberType):
        return True
    operands = [dtype for operand in node.args if (dtype := _dtype(operand)) is not None]
    if node.target == "store":
        if node.params["combine"] == TALLY:
            return False
        dtype, value = buffer(node).type.dtype, _dtype(node.args[1])
        if len(node.args) > 2 or (node.params["combine"] and dtype.kind in "fc"):
            return True  # a place may not exist
        return value is not None and cast_may_warn(value, dtype)
    if node.op.label == "cast":
        return any(cast_may_warn(dtype, node.type.dtype) for dtype in operands)
    if node.type.dtype.kind in "fc":
        return True
    return any(dtype.kind in "fc" for dtype in operands) or DIVIDES in node.op.tags


def _dtype(operand: Any) -> np.dtype | None:
    """The dtype of what is cast or computed with; None for a literal, whose fit is known."""
    type = map_nodes(operand, lambda node: node.type)
    if isinstance(type, ArrayType):
        return type.dtype
    return np.dtype(type.python) if isinstance(type, NumberType) else None


def cast_may_warn(source: np.dtype, target: np.dtype) -> bool:
    """Floats overflow narrower floats, and are invalid where an integer cannot hold them; integers overflow float16."""
    if target == np.float16 and source.kind in "iu":
        return source.itemsize > (2 if source.kind == "i" else 1)
    if source.kind not in "fc":
        return False
    return target.kind in "iu" or (target.kind in "fc" and np.finfo(target).bits < np.finfo(source).bits)
