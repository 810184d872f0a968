"""Whether arrays are equal as a whole: ``array_equal``, ``array_equiv``.

In: two arrays, or what becomes one. Out: one truth value, computed in one loop, which is a Python bool (tag ``truth``);
at once, where shapes decide.

>>> graph.call("array_equal", x, y)      # all(equal(x, y))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, define
from capture.ir.ops.common import broadcast_shapes, flag, is_literal, operand_type
from capture.ir.sizes import UnknownSize, same_shape
from capture.ir.types import ArrayType

TRUTH = frozenset({"truth"})
"""Tags of what gives a Python bool: the graph's node is a NumPy scalar."""


def _as_array(graph: Any, value: Any) -> Any:
    if isinstance(operand_type(value), ArrayType):
        return value
    if not isinstance(value, tuple) and not is_literal(value):
        raise CannotInfer("a comparison of what is no array")
    return graph.call("asarray", value)


def _all(graph: Any, found: Any) -> Any:
    return graph.call("all", found, axis=None) if found.type.shape else found


def _array_equal(graph: Any, a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    one, other = _as_array(graph, a1), _as_array(graph, a2)
    if not same_shape(one.type.shape, other.type.shape):
        return False
    equal = graph.call("equal", one, other)
    if flag(equal_nan, "equal_nan"):
        both = graph.call("logical_and", graph.call("isnan", one), graph.call("isnan", other))
        equal = graph.call("logical_or", equal, both)
    return _all(graph, equal)


def _array_equiv(graph: Any, a1: Any, a2: Any) -> Any:
    one, other = _as_array(graph, a1), _as_array(graph, a2)
    try:
        broadcast_shapes((one.type.shape, other.type.shape))
    except UnknownSize:
        raise
    except CannotInfer:  # shapes that do not broadcast
        return False
    return _all(graph, graph.call("equal", one, other))


define(
    name="array_equal",
    signature="a1, a2, equal_nan=False",
    operands=("a1", "a2"),
    calls=(np.array_equal,),
    expand=_array_equal,
    tags=TRUTH,
)
define(
    name="array_equiv",
    signature="a1, a2",
    operands=("a1", "a2"),
    calls=(np.array_equiv,),
    expand=_array_equiv,
    tags=TRUTH,
)
