"""What a value of a program is in C: variables and texts.

In: nodes of a program. Out: a number or scalar is one variable; an array is a pointer to its first element, sizes and
strides (in elements), each a variable or a literal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capture.errors import BackendError
from capture.inductor.csource import local_type
from capture.inductor.programs.numbers import C_NUMBERS, Operand
from capture.inductor.vocabulary import C_TYPES, CELLS, literal
from capture.ir.types import ArrayType, NumberType
from capture.records import dataclass

C_ELEMENTS: Mapping[np.dtype, str] = {**C_TYPES, np.dtype("c8"): "c64", np.dtype("c16"): "c128"}
"""Dtypes of elements and their names in C. Complex numbers are computed with by their parts (``__real__``), only kept
and moved as a whole."""


@dataclass(frozen=True, slots=True)
class Array:
    """An array: where its elements are, as C. ``base`` is the block that they are in, ``identity`` the same for the
    array that was made with it; of views it is 0.
    """

    dtype: np.dtype
    pointer: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]
    base: str
    identity: str = "0"

    def element(self, places: Sequence[str]) -> str:
        return f"{self.pointer}[{offset(places, self.strides)}]"


def offset(places: Sequence[str], strides: Sequence[str]) -> str:
    """C of where an element is, counted from the first one."""
    terms = [times(place, stride) for place, stride in zip(places, strides, strict=True)]
    return " + ".join(term for term in terms if term != "0") or "0"


def dense_strides_of(function: Any, name: str, sizes: Sequence[str]) -> tuple[str, ...]:
    """The strides of a new array in C order."""
    strides: list[str] = []
    step = "1"
    for axis in reversed(range(len(sizes))):
        strides.append("0" if sizes[axis] == "1" else step)
        product = (
            str(int(step) * int(sizes[axis])) if step.isdigit() and sizes[axis].isdigit() else times(sizes[axis], step)
        )
        step = function.named(f"{name}_s", product) if axis else step
    return tuple(reversed(strides))


def times(place: str, stride: str) -> str:
    """C of a product, whose trivial factors are left out."""
    if "0" in (place, stride):
        return "0"
    if stride == "1":
        return place
    return stride if place == "1" else f"{grouped(place)} * {grouped(stride)}"


def grouped(text: str) -> str:
    """C that may stand beside any operator."""
    wrapped = text.startswith("(") and text.endswith(")") and text.count("(") == 1
    return text if wrapped or text.replace("_", "").isalnum() else f"({text})"


def c_type(type: Any) -> str:
    """The C type of the variable of a number or scalar."""
    return C_NUMBERS[type.python] if isinstance(type, NumberType) else variable_type(type.dtype)


def variable_type(dtype: np.dtype) -> str:
    """The C type of a variable that holds an element."""
    return C_ELEMENTS[dtype] if dtype in CELLS else local_type(dtype)


def literal_of(value: Any, type: Any = None) -> str:
    """C of a literal: a Python number, or a NumPy scalar; as a value of ``type`` where that is given."""
    dtype = value.dtype if isinstance(value, np.generic) else np.dtype(builtin_type(value))
    if isinstance(type, NumberType) and dtype != type.dtype:
        raise BackendError(f"{value!r} where a {type} is expected")
    if isinstance(type, ArrayType):
        dtype = type.dtype
    if dtype == np.int64 and not -(2**63) <= int(value) < 2**63:
        raise BackendError(f"{value!r} does not fit in 64 bits")
    return any_literal(value, dtype)


def any_literal(value: Any, dtype: np.dtype) -> str:
    """A number of ``dtype`` in C; of complex numbers both parts."""
    if dtype not in CELLS:
        return literal(value, dtype)
    number = dtype.type(value)
    return f"__builtin_complex({literal(number.real, CELLS[dtype])}, {literal(number.imag, CELLS[dtype])})"


def builtin_type(value: Any) -> type:
    if type(value) not in C_NUMBERS:
        raise BackendError(f"{value!r} in a program")
    return type(value)


def number_operand(value: Any, text: str) -> Operand:
    """An operand of a ``number`` step; scalars compute as the Python numbers that they are converted to."""
    type = getattr(value, "type", None)
    if isinstance(type, NumberType):
        return Operand(text, type.python)
    if isinstance(type, ArrayType) or isinstance(value, np.generic):
        dtype = type.dtype if type is not None else value.dtype
        if dtype == np.float16:
            return Operand(f"(f64)wide({text})", float)
        if dtype == np.uint64:
            raise BackendError("a number of a uint64")
        python = {"b": bool, "f": float, "c": complex}.get(dtype.kind, int)
        is_wide = dtype.itemsize == np.dtype(python).itemsize or python is bool
        return Operand(text if is_wide else f"({C_NUMBERS[python]}){text}", python)
    return Operand(text, builtin_type(value))
