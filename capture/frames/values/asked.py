"""Questions of NumPy's about forms: answered by types, without a look at elements.

In: arrays, scalars, numbers. Out: constants and sizes, under the guards on their types.

>>> ROWS[np.ndim](tracer, x)
2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.values.arrays import ArrayValue, ScalarValue
from capture.frames.values.base import Value
from capture.frames.values.constants import NUMBERS, Constant

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer


def _shape(tracer: Tracer, value: Value) -> Value:
    return _array_fact(tracer, value, "shape")


def _ndim(tracer: Tracer, value: Value) -> Value:
    return _array_fact(tracer, value, "ndim")


def _size(tracer: Tracer, value: Value) -> Value:
    return _array_fact(tracer, value, "size")


def _array_fact(tracer: Tracer, value: Value, name: str) -> Value:
    if isinstance(value, Constant) and type(value.value) in NUMBERS:
        value = Constant(np.asarray(value.value)[()])
    if not isinstance(value, ArrayValue | ScalarValue | Constant):
        raise GraphBreak(f"np.{name} of {value.describe()}")
    return value.attribute(tracer, name)


def _result_type(tracer: Tracer, *values: Value) -> Value:
    """Of arrays it is the dtype that counts; Python numbers stay weak."""
    known = [Constant(value.type.dtype) if isinstance(value, ArrayValue | ScalarValue) else value for value in values]
    return tracer.evaluate(np.result_type, known, {})


def _common_type(tracer: Tracer, *values: Value) -> Value:
    """Of arrays it is the dtype that counts."""
    if not all(isinstance(value, ArrayValue | ScalarValue) for value in values):
        raise GraphBreak("np.common_type of something else than arrays", "call")
    return tracer.evaluate(_common_type_of, [Constant(value.type.dtype) for value in values], {})  # type: ignore[attr-defined]


def _common_type_of(*dtypes: np.dtype) -> type:
    return np.common_type(*(np.empty(0, dtype) for dtype in dtypes))


ROWS: Mapping[Any, Callable[..., Value]] = {
    np.result_type: _result_type,
    np.common_type: _common_type,
    np.shape: _shape,
    np.ndim: _ndim,
    np.size: _size,
}
