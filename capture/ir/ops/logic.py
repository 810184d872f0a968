"""Comparisons, truth, bits and tests of floating-point classes.

In: rows of ufuncs. Out: records whose result is bool (comparisons, logic, classes) or an integer (bits).

>>> graph.call("less", x, 0)           # np.less(x, 0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capture.ir.complexes import is_complex
from capture.ir.op import CannotInfer
from capture.ir.ops.common import QUIET, like_ufunc, resolve
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


def _of_complex(ufunc: np.ufunc) -> Callable[..., Any]:
    """Inference of a comparison that warns of NaN."""

    def infer(x: Any, y: Any) -> Any:
        if not is_complex(resolve(ufunc, x, y)[0]):
            raise CannotInfer(f"{ufunc.__name__} of numbers that are not complex")
        return like_ufunc(ufunc)(x, y)

    return infer


COMPLEX = ((np.array([1 + 2j, 1 - 1j, 2j, np.nan, 3]), np.array([1 + 1j, 1, 2j, 1, complex(3, np.nan)])),)
_ufunc: np.ufunc
for _ufunc, _first, _second in (
    (np.less, True, False),
    (np.less_equal, True, False),
    (np.greater, False, True),
    (np.greater_equal, False, True),
    (np.equal, False, False),
    (np.not_equal, True, True),
):
    _name, _element = _ufunc.__name__, _comparison(_ufunc.__name__, _first, _second)
    if _name in ("equal", "not_equal"):
        ufunc_record(_ufunc, _element, tags=QUIET)
        continue
    ufunc_record(_ufunc, _element, tags=QUIET, otherwise=f"complex_{_name}")
    ufunc_record(_ufunc, _element, name=f"complex_{_name}", calls=(), infer=_of_complex(_ufunc), samples=COMPLEX)


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
