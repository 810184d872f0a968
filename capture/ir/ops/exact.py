"""What gives NumPy's very bits only if NumPy itself computes it: ``options={"math": "numpy"}``.

In: an op, the types of its operands and of its result. Out: the op that a graph holds instead under that option: itself
where kernels can run NumPy's inner loop for it, else its *twin*, which calls NumPy on whole arrays.

>>> of_numpy(get("exp"), (array_type("f4", (3,)),), array_type("f4", (3,)))
<op exp>
>>> of_numpy(get("sum"), (array_type("f4", (3,)),), scalar_type("f4"))
<op exact_sum>

NumPy's loops for mathematical functions compute an element by one algorithm where memory is contiguous, and may take
another one where it is not: other strides reach libm's functions, and a power with one exponent for all elements
is a product, a root or a quotient. Within contiguous memory it does not matter where a piece begins and ends. So
kernels call them on pieces of what is contiguous for NumPy too. The order in which NumPy adds depends on all of an
array's shape and strides, so sums of floats are left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from capture.ir import op as ops
from capture.ir.op import Extern, Op, define
from capture.ir.ops import contracting, operators, pointwise, reductions  # noqa: F401 (they define what has twins)
from capture.ir.types import ArrayType

IN_LOOPS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "cbrt",
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "power",
)  # fmt: skip
"""Ufuncs whose inner loops kernels call."""

ON_ARRAYS = ("sum", "prod", "scalar_power", "float_power", "contract")
"""What depends on more than the elements at one place, or is none of the ufunc's loops."""


def of_numpy(op: Op, operands: Sequence[Any], result: Any) -> Op:
    """The op that computes NumPy's bits."""
    if op.name not in _TWINS or result.dtype.kind not in "fc":
        return op
    return op if op.name in IN_LOOPS and _is_contiguous(operands, result) else _TWINS[op.name]


def _is_contiguous(operands: Sequence[Any], result: ArrayType) -> bool:
    """Whether NumPy's inner loop walks dense memory, but for operands without axes."""
    if result.dtype.kind == "c" or (result.dtype == np.float16 and not result.shape):
        return False
    arrays = [operand for operand in operands if isinstance(operand, ArrayType) and operand.shape]
    return all(_moves_as(operand, result) for operand in arrays)


def _moves_as(operand: ArrayType, result: ArrayType) -> bool:
    if operand.layout is None or result.layout is None or operand.shape != result.shape:
        return False
    return operand.layout.dense and operand.layout.ranks == result.layout.ranks


def _twin(op: Op) -> Op:
    return define(
        name=f"exact_{op.name}",
        signature=op.signature,
        operands=op.operands,
        canonical=op.canonical,
        infer=op.infer,
        reference=op.reference,
        source=op.source,
        lower=Extern(),
        label=op.label,
        samples=op.samples,
    )


_TWINS = {name: _twin(ops.get(name)) for name in (*IN_LOOPS, *ON_ARRAYS)}
