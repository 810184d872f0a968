"""Python's operators on arrays and NumPy scalars.

In: a graph and the operands of ``x + y``, ``-x``, ``abs(x)``. Out: the same ufunc that NumPy's operator runs. Where
no operand is an ndarray, NumPy runs its scalar arithmetic instead, which warns by other names ("scalar add"), so
there are ops of their own for it:

>>> graph.call(for_operator("+"), x, y)    # add(x, y), or scalar_add(x, y) for np.float64 + np.float64
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from capture.ir.complexes import is_complex
from capture.ir.op import CannotInfer, Pointwise, define
from capture.ir.ops.common import is_array, is_literal, kind_of, like_ufunc, loop_of, operand_type
from capture.ir.types import ArrayType

# Scalar arithmetic --------------------------------------------------------------------------------------------------
SCALAR_ARITHMETIC = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "power": np.power,
}
_SYMBOLS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "power": "**",
}  # fmt: skip


def _scalar_record(name: str, ufunc: np.ufunc, symbol: str) -> None:
    def infer(x: Any, y: Any) -> ArrayType:
        result = like_ufunc(ufunc)(x, y)
        if result.dtype.kind != "f":
            raise CannotInfer("integer arithmetic of NumPy scalars warns on overflow")
        if not _is_scalar_arithmetic(x, y):
            raise CannotInfer(f"NumPy runs the ufunc {name} for these operands")
        return result

    define(
        name=f"scalar_{name}",
        signature="x, y, /",
        operands=("x", "y"),
        infer=infer,
        reference=eval(f"lambda x, y: x {symbol} y"),
        source=f"({{0}} {symbol} {{1}})",
        lower=Pointwise(lambda s, x, y: getattr(s, name)(x, y), loop=loop_of(ufunc)),
        label=f"scalar {name}",
        samples=((np.float64(2.5), np.float64(-0.5)), (np.float32(3.0), 2), (1.5, np.float64(4.0))),
    )


def _is_scalar_arithmetic(x: Any, y: Any) -> bool:
    """Whether NumPy's scalar arithmetic takes these operands: one of them has a type to which the other is safely cast.

    Otherwise (float32 with int64) it promotes both by way of the ufunc.
    """
    if isinstance(x, ArrayType) and x.dtype.kind == "b":
        return False  # np.bool on the left has no arithmetic of its own
    pairs = ((x, y), (y, x))
    return any(
        isinstance(one, ArrayType) and one.dtype.kind in "iuf" and _casts_safely(other, one.dtype)
        for one, other in pairs
    )


def _casts_safely(operand: Any, dtype: np.dtype) -> bool:
    kind = kind_of(operand)
    if isinstance(kind, np.dtype):
        return np.can_cast(kind, dtype, "safe")
    return kind is int or dtype.kind == "f"


for _name, _ufunc in SCALAR_ARITHMETIC.items():
    _scalar_record(_name, _ufunc, _SYMBOLS[_name])


# Powers: NumPy's ** replaces some exponents by cheaper ufuncs, by rules that changed between versions --------------
class _Probe(np.ndarray):
    """An array that reports which ufunc an operator runs instead of running it."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> str:
        return ufunc.__name__


@lru_cache(maxsize=1024, typed=True)
def _power_ufunc(dtype: np.dtype, exponent: Any) -> str:
    """The ufunc that ``array ** exponent`` runs."""
    return np.ones(1, dtype).view(_Probe) ** exponent


# Whether the *value* of a NumPy scalar or 0-d array as exponent chooses the ufunc (NumPy < 2.2).
_CHOOSES_BY_VALUE = _power_ufunc(np.dtype("f8"), np.float64(2)) != "power"


def _array_power(graph: Any, x: Any, y: Any) -> Any:
    base, exponent = operand_type(x), operand_type(y)
    if not is_array(base):
        return graph.call("power", x, y)
    if not is_literal(exponent):
        if not getattr(exponent, "shape", ()) and (_CHOOSES_BY_VALUE or not isinstance(exponent, ArrayType)):
            raise CannotInfer("the exponent's value chooses what NumPy computes, and is not known")
        return graph.call("power", x, y)
    kind_of(base)
    name = _power_ufunc(base.dtype, exponent)
    if name in ("square", "sqrt", "reciprocal", "positive"):
        if isinstance(exponent, float) and base.dtype.kind in "iu":
            x = graph.call("astype", x, dtype=np.dtype("f8"))
        return graph.call(name, x)
    return graph.call("power", x, y)


# Binary operators ---------------------------------------------------------------------------------------------------
def _binary(name: str, symbol: str, on_arrays: Callable[..., Any], on_scalars: Callable[..., Any]) -> None:
    def expand(graph: Any, x: Any, y: Any) -> Any:
        types = operand_type(x), operand_type(y)
        if any(map(is_array, types)):
            return on_arrays(graph, x, y)
        if any(isinstance(operand, complex) or is_complex(getattr(operand, "dtype", None)) for operand in types):
            raise CannotInfer("complex scalars have their own loops")
        if any(isinstance(operand, ArrayType) for operand in types):
            return on_scalars(graph, x, y)
        raise CannotInfer("Python numbers have Python's own arithmetic")

    define(name=f"operator_{name}", signature="x, y, /", operands=("x", "y"), operators=(symbol,), expand=expand)


def _call(name: str) -> Callable[..., Any]:
    return lambda graph, x, y: graph.call(name, x, y)


def _scalar_arithmetic(name: str) -> Callable[..., Any]:
    def expand(graph: Any, x: Any, y: Any) -> Any:
        operands = operand_type(x), operand_type(y)
        if _is_scalar_arithmetic(*operands):
            return graph.call(f"scalar_{name}", x, y)
        return graph.call(name, x, y)

    return expand


def _refuse(graph: Any, x: Any, y: Any) -> Any:
    raise CannotInfer("NumPy scalars have their own rules for this operator")


for _name, _ufunc in SCALAR_ARITHMETIC.items():
    _on_arrays = _array_power if _name == "power" else _call(_name)
    _binary(_name, _SYMBOLS[_name], _on_arrays, _scalar_arithmetic(_name))
for _name, _symbol in {
    "less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!=", "greater": ">", "greater_equal": ">=",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}.items():  # fmt: skip
    _binary(_name, _symbol, _call(_name), _call(_name))
for _name, _symbol in {"left_shift": "<<", "right_shift": ">>", "matmul": "@"}.items():
    _binary(_name, _symbol, _call(_name), _refuse)


# Unary operators ----------------------------------------------------------------------------------------------------
def _unary(name: str, **facts: Any) -> None:
    def expand(graph: Any, x: Any) -> Any:
        operand = operand_type(x)
        if not isinstance(operand, ArrayType):
            raise CannotInfer("Python numbers have Python's own arithmetic")
        if operand.scalar and operand.dtype.kind in "iu" and name in ("negative", "absolute"):
            raise CannotInfer("NumPy scalars warn where an integer has no opposite")
        return graph.call(name, x)

    define(name=f"operator_{name}", signature="x, /", operands=("x",), expand=expand, **facts)


_unary("negative", operators=("unary -",))
_unary("positive", operators=("unary +",))
_unary("invert", operators=("unary ~",))
_unary("absolute", calls=(abs,))
