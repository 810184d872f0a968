"""Complex numbers: which operations compiled code has for them, and how NumPy's loops round here.

In: an operation, the types of its operands and of its result. Out: ``CannotInfer`` where compiled code does not know
complex numbers, or could not give NumPy's bits.

NumPy's vector loops compute products and absolute values with fused multiply-adds where the processor has them, its
scalar loops never do. Which loop runs depends on the processor, on signs of strides, and for single elements on how
they are written; so only products of dense arrays with several elements are compiled, rounded as a look at NumPy's own
results says:

>>> rounding(np.dtype("c16"))           # a processor with fused multiply-adds
'fused'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Op
from capture.ir.shapes import product
from capture.ir.sizes import at_least
from capture.ir.types import ArrayType

FUSED, PLAIN, OTHER = "fused", "plain", "other"

UFUNCS = frozenset(
    [
        *("add", "subtract", "negative", "positive", "conjugate", "equal", "not_equal", "isnan", "isinf", "isfinite"),
        *("logical_and", "logical_or", "logical_xor", "logical_not", "maximum", "minimum", "fmax", "fmin"),
        *("less", "less_equal", "greater", "greater_equal", "divide", "multiply", "square", "absolute"),
    ]
)
"""Ufuncs that compiled code has for complex numbers."""

ROUNDED = frozenset(("multiply", "square", "absolute"))
"""Those of them whose last bit depends on the loop that NumPy runs."""


PARTS = {"real_part": 0, "imag_part": 1}
"""Views of one part of each element; their strides count parts."""

CELLS = "cells"
"""The view of all parts, one after the other along the last axis."""

_OTHERS = """
broadcast_array broadcast_arrays ndarray_view
permute squeeze expand broadcast_to reshape np_reshape ndarray_reshape flat ravel flatten transpose ndarray_transpose
ndarray_T matrix_transpose swapaxes moveaxis np_squeeze expand_dims atleast_1d atleast_2d atleast_3d flip flipud fliplr
rot90 diagonal diag real imag conj real_part imag_part slice scalar getitem gather take take_along_axis full empty zeros
zeros_like ones ones_like np_empty empty_like np_full full_like where np_where tril triu nonzero np_nonzero flatnonzero
argwhere pick extract compress method_compress count_nonzero part store select np_choose concatenate np_concatenate
stack hstack vstack dstack column_stack append repeat filled spread cells in_a_row
tile pad array_split split hsplit vsplit dsplit roll diff copy
astype ndarray_astype array asarray ascontiguousarray asfortranarray np_copy call_complex64 call_complex128 sum mean
any all cumsum loop array_equal array_equiv unique np_unique union1d union1d_found intersect1d intersect1d_found
setdiff1d setdiff1d_found setxor1d setxor1d_found polytrim polytrim_found trim_zeros
outer ufunc_outer complex_less complex_less_equal complex_greater complex_greater_equal operator_add operator_subtract
operator_multiply operator_divide operator_power operator_less operator_less_equal operator_greater
operator_greater_equal operator_equal operator_not_equal operator_negative operator_positive operator_absolute
"""
RECORDS = (UFUNCS - {"less", "less_equal", "greater", "greater_equal"}) | frozenset(_OTHERS.split())
"""Records that take complex numbers, and give them; all others leave them to NumPy's own functions."""


def is_complex(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "c"


def require_numbers(op: Op, types: Any, params: Mapping[str, Any]) -> None:
    """Refuse complex numbers where the record does not know them."""
    if op.replaces is None and op.name not in RECORDS and _has_complex((types, *params.values())):
        raise CannotInfer(f"{op.name} of complex numbers")


def _has_complex(value: Any) -> bool:
    """Whether there is a complex number, or a type of complex numbers, in nested tuples."""
    if isinstance(value, tuple):
        return any(map(_has_complex, value))
    return isinstance(value, complex) or value is complex or is_complex(getattr(value, "dtype", value))


def require_loop(ufunc: np.ufunc, operands: Sequence[Any], loop: Sequence[np.dtype], result: ArrayType) -> None:
    """Refuse a ufunc of complex numbers that would not give NumPy's bits."""
    name = ufunc.__name__
    if not any(map(is_complex, loop)):
        return
    if name not in UFUNCS:
        raise CannotInfer(f"{name} of complex numbers")
    if name == "divide" and not _divides_plainly(loop[0]):
        raise CannotInfer("complex division is rounded in a way that is not known")
    if name in ROUNDED and all(map(_is_complex_operand, operands)):
        _require_vector_loop(operands, loop[0], result)


def _is_complex_operand(operand: Any) -> bool:
    """Whether there is an imaginary part; with one that is zero all ways to round a product agree."""
    return is_complex(operand.dtype) if isinstance(operand, ArrayType) else isinstance(operand, complex)


def _require_vector_loop(operands: Sequence[Any], dtype: np.dtype, result: ArrayType) -> None:
    if rounding(dtype) == OTHER:
        raise CannotInfer("complex products are rounded in a way that is not known")
    arrays = [operand for operand in operands if isinstance(operand, ArrayType) and operand.shape]
    if not arrays or not at_least(product(result.shape), 2):
        raise CannotInfer("a product of two complex numbers is rounded as its call says")
    if not all(array.layout is not None and array.layout.dense for array in arrays):
        raise CannotInfer("complex products over strides are rounded as their signs say")


# How NumPy rounds -------------------------------------------------------------------------------------------------
@lru_cache(maxsize=4)
def rounding(dtype: np.dtype) -> str:
    """Whether products and absolute values of this complex dtype are made with fused multiply-adds."""
    x, y = _samples(dtype)
    with np.errstate(all="ignore"):
        for name, multiply_add in ((FUSED, _fused), (PLAIN, _plain)):
            if _agrees(dtype, x, y, multiply_add):
                return name
    return OTHER


def _samples(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of few enough bits that a float64 holds the exact ``a * b + c`` of float32."""
    numbers = np.random.default_rng(3).integers(1 << 22, 1 << 23, (4, 45)) / (1 << 23)
    if dtype == np.complex128:
        numbers = numbers + np.random.default_rng(4).integers(0, 1 << 28, (4, 45)) / float(1 << 52)
    parts = numbers.astype(np.float32 if dtype == np.complex64 else np.float64)
    return parts[0] + parts[1] * dtype.type(1j), parts[2] - parts[3] * dtype.type(1j)


def _fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    from fractions import Fraction  # and with it decimals, for these few numbers

    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    return np.array(list(map(float, exact))).astype(a.dtype)


def _plain(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return a * b + c


def _product(x: np.ndarray, y: np.ndarray, multiply_add: Any) -> np.ndarray:
    real = multiply_add(x.real, y.real, -(x.imag * y.imag))
    return real + multiply_add(x.real, y.imag, x.imag * y.real) * x.dtype.type(1j)  # type: ignore[no-any-return]


def _agrees(dtype: np.dtype, x: np.ndarray, y: np.ndarray, multiply_add: Any) -> bool:
    """Whether all of NumPy's vector loops that graphs stand for round like this."""

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return _product(x, y, multiply_add)

    one, other = np.full_like(x, x[0]), np.full_like(y, y[0])
    ratio = np.minimum(abs(x.real), abs(x.imag)) / np.maximum(abs(x.real), abs(x.imag))
    size = np.sqrt(multiply_add(ratio, ratio, np.ones_like(ratio))) * np.maximum(abs(x.real), abs(x.imag))
    square, rows, columns = product(x, x), x.reshape(5, 9), y.reshape(9, 5)
    crossed = product(np.ascontiguousarray(rows.T).ravel(), y).reshape(9, 5)
    pairs = (
        (x * y, product(x, y)), (x[:1] * y, product(one, y)), (x * y[0], product(x, other)), (np.square(x), square),
        (rows.T * columns, crossed), (abs(x), size), (x[:2] * y[:2], product(x, y)[:2]),
    )  # fmt: skip
    return all(np.array_equal(found, expected) for found, expected in pairs)


@lru_cache(maxsize=4)
def scalar_rounding(dtype: np.dtype) -> str:
    """The same of products of scalars, NumPy's and, of complex128, Python's: one way, or it is not known."""
    x, y = _samples(dtype)
    found = {_rounding_of([a * b for a, b in zip(x, y, strict=True)], x, y)}
    if dtype == np.complex128:
        found.add(_rounding_of([complex(a) * complex(b) for a, b in zip(x, y, strict=True)], x, y))
    return found.pop() if len(found) == 1 else OTHER


@lru_cache(maxsize=4)
def lone_rounding(dtype: np.dtype) -> str:
    """The same of products and absolute values of arrays of one element, into new memory."""
    x, y = _samples(dtype)
    ones = [x[place : place + 1].copy() for place in range(len(x))]
    others = [y[place : place + 1].copy() for place in range(len(y))]
    pairs = list(zip(ones, others, strict=True))
    found = {_rounding_of(np.concatenate([a * b for a, b in pairs]), x, y)}
    found.add(_rounding_of(np.concatenate([np.square(a) for a in ones]), x, x))
    alike = np.array_equal(np.concatenate([np.abs(a) for a in ones]), np.abs(x))
    return found.pop() if len(found) == 1 and alike else OTHER


def _rounding_of(products: Any, x: np.ndarray, y: np.ndarray) -> str:
    """How these products of the samples are rounded."""
    found = np.array(products, x.dtype)
    for name, multiply_add in ((FUSED, _fused), (PLAIN, _plain)):
        if np.array_equal(found, _product(x, y, multiply_add)):
            return name
    return OTHER


@lru_cache(maxsize=4)
def _divides_plainly(dtype: np.dtype) -> bool:
    """Whether quotients are Smith's, each operation rounded."""
    x, y = _samples(dtype)
    quotients, parts = x / y, (y.real, y.imag)
    by_real = abs(y.real) >= abs(y.imag)
    large, small = np.where(by_real, *parts), np.where(by_real, *parts[::-1])
    ratio = small / large
    scale = 1 / (large + small * ratio)
    more, less = np.where(by_real, x.real, x.imag), np.where(by_real, x.imag, x.real)
    minuend, subtrahend = np.where(by_real, less, more * ratio), np.where(by_real, more * ratio, less)
    real, imag = (more + less * ratio) * scale, (minuend - subtrahend) * scale
    return np.array_equal(quotients.real, real) and np.array_equal(quotients.imag, imag)
