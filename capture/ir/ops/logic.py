"""Comparisons, truth, bits and tests of floating-point classes.

In: rows of ufuncs. Out: records whose result is bool (comparisons, logic, classes) or an integer (bits).

>>> graph.call("less", x, 0)           # np.less(x, 0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capture.ir.ops.common import QUIET
from capture.ir.ops.pointwise import ONE, SHIFTS, TWO, ufunc_record

BITS = (([0, 1, 5, 127, -8, 3], [1, 0, 3, 7, 64, -1]),)


# Comparisons: int64 with uint64 is the one pair that NumPy compares without a common dtype -----------------------
def _comparison(name: str, if_first_is_negative: bool, if_second_is_negative: bool) -> Callable[..., Any]:
    def element(s: Any, x: Any, y: Any) -> Any:
        compare = getattr(s, name)
        if x.dtype == y.dtype:
            return compare(x, y)
        signed, outcome = (x, if_first_is_negative) if x.dtype.kind == "i" else (y, if_second_is_negative)
        unsigned = compare(s.cast(x, np.dtype("u8")), s.cast(y, np.dtype("u8")))
        negative = s.less(signed, s.constant(0, signed.dtype))
        return s.where(negative, s.constant(outcome, np.dtype(bool)), unsigned)

    return element


_ufunc: np.ufunc
for _ufunc, _first, _second in (
    (np.less, True, False),
    (np.less_equal, True, False),
    (np.greater, False, True),
    (np.greater_equal, False, True),
    (np.equal, False, False),
    (np.not_equal, True, True),
):
    ufunc_record(_ufunc, _comparison(_ufunc.__name__, _first, _second), tags=QUIET)


# Truth: NumPy has loops for each dtype, so that nothing is rounded on the way to bool ------------------------------
for _ufunc in (np.logical_and, np.logical_or, np.logical_xor, np.logical_not):
    ufunc_record(_ufunc, tags=QUIET)

# Bits -------------------------------------------------------------------------------------------------------------
for _ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor):
    ufunc_record(_ufunc, samples=BITS)
ufunc_record(np.invert, samples=(BITS[0][:1],))
for _ufunc in (np.left_shift, np.right_shift):
    ufunc_record(_ufunc, samples=SHIFTS)


# Classes: every integer is finite ---------------------------------------------------------------------------------
def _class_test(name: str, of_integers: bool) -> Callable[..., Any]:
    def element(s: Any, x: Any) -> Any:
        if x.dtype.kind in "biu":
            return s.constant(of_integers, np.dtype(bool))
        return getattr(s, name)(x)

    return element


for _ufunc, _of_integers in ((np.isnan, False), (np.isinf, False), (np.isfinite, True)):
    ufunc_record(_ufunc, _class_test(_ufunc.__name__, _of_integers), tags=QUIET)
ufunc_record(np.signbit, tags=QUIET)

__all__ = ["BITS", "ONE", "TWO"]
