"""Functions of NumPy that a program calls as they are: FFTs and LAPACK.

In: a function, as ``ops.for_fallback`` knows it, and values. Out: the value of a ``call`` step; a break for others.

>>> call_numpy(inside, np.fft.fft, [u], {})       # %fft: c128[:] = call(%u, op='numpy_fft_fft', params=())

What comes out is found by trial, as in a graph: of arrays of sizes that are not known dtype and rank are taken from
others. When the program runs it leaves where it was something else, and where the function raised or warned.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.values import InsideArray, InsideScalar
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import ListValue, TupleValue
from capture.ir import op as ops
from capture.ir.ops.common import LOWERED
from capture.ir.program import DENSE, RankedType
from capture.ir.types import ArrayType, array_type, scalar_type

if TYPE_CHECKING:
    from capture.frames.loops.calling import Calling

PREFIXES = ("numpy_fft_", "numpy_linalg_")
STEPS = frozenset({"numpy_linalg_norm", "numpy_linalg_matmul", "numpy_linalg_outer", "numpy_linalg_trace"})
"""What has steps of its own instead, or none that are worth a call."""

UNKNOWN = 12
"""What stands for a size that is not known."""


def fallback_of(key: Hashable) -> ops.Op | None:
    """The record of a function that programs call."""
    op = ops.for_fallback(key) if key is not None else None
    return op if op is not None and op.name.startswith(PREFIXES) and op.name not in STEPS else None


def call_numpy(inside: Calling, key: Hashable, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """A call of NumPy from inside the program."""
    op = fallback_of(key)
    if op is None or kwargs.get("out", _NONE) is not _NONE:
        raise GraphBreak(f"a call of {getattr(key, '__name__', key)} inside a loop", "call")
    operands = [arg.node if isinstance(arg, InsideArray) else _literal(inside, arg) for arg in args]
    params = {name: _literal(inside, value) for name, value in kwargs.items()}
    if not any(isinstance(arg, InsideArray) for arg in args):
        raise GraphBreak(f"{op.label} of no arrays inside a loop", "call")
    type = _result_type(op, args, operands, params)
    given = tuple(params.items())
    if type.scalar:
        kind = scalar_type(type.dtype)
        return InsideScalar(inside.step("call", *operands, type=kind, name=op.label, op=op.name, params=given))
    ranked = RankedType(type.dtype, type.ndim, DENSE)
    return inside.array(inside.step("call", *operands, type=ranked, name=op.label, op=op.name, params=given))


_NONE = Constant(None)


def _literal(inside: Calling, value: Value) -> Any:
    """A parameter, which must be known."""
    parts = value.values if isinstance(value, TupleValue | ListValue) else [value]
    if any(inside.is_inside(part.real(inside.tracer)) for part in parts):
        raise GraphBreak("a parameter of a function of NumPy's that is known only inside the loop", "op")
    return value.in_graph(inside.tracer)


def _result_type(op: ops.Op, args: Sequence[Value], operands: Sequence[Any], params: Mapping[str, Any]) -> ArrayType:
    """The type of the result for arrays of the sizes that are known, or of others."""
    reasons = []
    for unknown in (False, True):
        types = [
            _stand_in(arg, unknown) if isinstance(arg, InsideArray) else given
            for arg, given in zip(args, operands, strict=True)
        ]
        try:
            type = op.result_type(*types, **params)
        except ops.CannotInfer as error:
            reasons.append(str(error))
            continue
        if not isinstance(type, ArrayType) or type.dtype not in LOWERED or type.dtype == np.float16:
            raise GraphBreak(f"{op.label} inside a loop gives what loops do not compute with", "op")
        if not type.scalar and not (type.layout is not None and type.layout.is_c):
            raise GraphBreak(f"{op.label} inside a loop gives an array that is not in C order", "op")
        return type
    raise GraphBreak(f"{op.label} inside a loop: {reasons[0]}", "op")


def _stand_in(array: InsideArray, unknown: bool) -> ArrayType:
    sizes = [UNKNOWN if unknown or size is None else size for size in array.sizes]
    return array_type(array.type.dtype, sizes)
