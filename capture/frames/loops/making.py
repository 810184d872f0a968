"""NumPy's functions that are more than a map or a reduction: they are made of the steps that programs have.

In: what a call is given. Out: the value of the last step. Each row is called with the program and the arguments.

>>> CALLS["roll"](inside, array, Constant(1))       # a new array, and two stores into it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.complexes import is_complex_value
from capture.frames.loops.values import InsideArray, InsideScalar
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import ListValue, TupleValue
from capture.frames.values.keys import SliceValue
from capture.ir import op as ops
from capture.ir.graph import Node
from capture.ir.program import DENSE, RankedType

if TYPE_CHECKING:
    from capture.frames.loops.calling import Calling

Row = Callable[..., Value]

ALL = SliceValue(Constant(None), Constant(None), Constant(None))


def _creating(value: Any) -> Row:
    def create(inside: Calling, shape: Value, dtype: Value = Constant(float), order: Value = Constant("C")) -> Value:  # noqa: B008
        _require_order(order)
        return inside.new(shape, _dtype(dtype, np.dtype(float)), value)

    return create


def _creating_like(value: Any) -> Row:
    def create(inside: Calling, like: Value, dtype: Value = Constant(None)) -> Value:  # noqa: B008
        if not isinstance(like, InsideArray) or (like.type.layout != DENSE and like.type.ndim > 1):
            raise GraphBreak("a new array like one that is not in C order, inside a loop", "op")
        shape = TupleValue([like.size(inside.tracer, axis) for axis in range(like.type.ndim)])
        return inside.new(shape, _dtype(dtype, like.type.dtype), value)

    return create


def _full(inside: Calling, shape: Value, fill_value: Value, dtype: Value = Constant(None)) -> Value:  # noqa: B008
    given = fill_value.value if isinstance(fill_value, Constant) else None
    if type(given) not in (int, float, bool):
        raise GraphBreak("np.full with a value that is not constant inside a loop", "op")
    return inside.new(shape, _dtype(dtype, np.asarray(given).dtype), given)


def _dtype(value: Value, default: np.dtype) -> np.dtype:
    given = value.value if hasattr(value, "value") else value
    if given is None:
        return default
    try:
        return np.dtype(given)  # type: ignore[arg-type]
    except TypeError:
        raise GraphBreak("a dtype that is not known inside a loop", "op") from None


def _require_order(order: Value) -> None:
    if not isinstance(order, Constant) or order.value != "C":
        raise GraphBreak("a new array in another order inside a loop", "op")


def _mean(inside: Calling, array: Value, axis: Value = Constant(None)) -> Value:  # noqa: B008
    """The sum over the number of elements, in the dtype that NumPy sums in."""
    if not isinstance(array, InsideArray) or not isinstance(axis, Constant):
        raise GraphBreak("a mean inside a loop", "op")
    if array.type.dtype.kind not in "fc":
        raise GraphBreak("a mean of integers inside a loop", "op")
    axes = range(array.type.ndim) if axis.value is None else (axis.value,)
    if not all(type(each) is int and -array.type.ndim <= each < array.type.ndim for each in axes):
        raise GraphBreak("a mean along these axes inside a loop", "op")
    count: Value = Constant(1)
    for each in axes:
        count = inside.tracer.binary("*", count, array.size(inside.tracer, each % array.type.ndim))
    total = inside.call_op(ops.get("sum"), (array,), {} if axis.value is None else {"axis": axis})
    return inside.call_op(ops.get("divide"), (total, count), {})


def _array(inside: Calling, items: Value, dtype: Value = Constant(None)) -> Value:  # noqa: B008
    """``np.array`` of a list or tuple of numbers and scalars; a copy of an array."""
    if isinstance(items, InsideArray) and isinstance(dtype, Constant) and dtype.value is None:
        return inside.copied(items)
    if not isinstance(items, TupleValue | ListValue) or not items.values:
        raise GraphBreak("a new array inside a loop", "op")
    parts = [part.real(inside.tracer) for part in items.values]
    args = [inside.arg(part) for part in parts]
    kinds = {_kind_of(arg) for arg in args}
    if any(isinstance(arg.type, RankedType) for arg in args if isinstance(arg, Node)):
        raise GraphBreak("a new array of arrays inside a loop", "op")
    kind = _dtype(dtype, np.result_type(*kinds))
    if not all(np.can_cast(each, kind, "same_kind") for each in kinds):
        raise GraphBreak("a new array of another kind than its elements inside a loop", "op")
    made = inside.new(Constant(len(args)), kind, None)
    assert isinstance(made, InsideArray)
    for place, part in enumerate(parts):
        inside.store_item(made, Constant(place), part)
    return made


def _kind_of(arg: Any) -> np.dtype:
    kind = arg.type if isinstance(arg, Node) else np.asarray(arg)
    return np.dtype(kind.dtype)


def _rolled(inside: Calling, array: Value, shift: Value, axis: Value = Constant(None)) -> Value:  # noqa: B008
    """``np.roll`` along one axis: two pieces that change places."""
    along = axis.value if isinstance(axis, Constant) else None
    if not isinstance(array, InsideArray):
        raise GraphBreak("np.roll of these inside a loop", "op")
    if not isinstance(shift, Constant) or type(shift.value) is not int:
        shift = inside.number_of(inside._index(shift))
    along = 0 if along is None and array.type.ndim == 1 else along
    if type(along) is not int or not -array.type.ndim <= along < array.type.ndim:
        raise GraphBreak("np.roll along these axes inside a loop", "op")
    along %= array.type.ndim
    made = inside.new(
        TupleValue([array.size(inside.tracer, each) for each in range(array.type.ndim)]), array.type.dtype, None
    )
    assert isinstance(made, InsideArray)
    size = array.size(inside.tracer, along)
    moved = inside.tracer.binary("%", shift, size)
    rest = inside.tracer.binary("-", size, moved)
    nothing = Constant(None)
    for target, source in (((moved, nothing), (nothing, rest)), ((nothing, moved), (rest, nothing))):
        keys = [TupleValue([*[ALL] * along, SliceValue(start, stop, nothing)]) for start, stop in (target, source)]
        inside.store_item(made, keys[0], inside.item(array, keys[1]))
    return made


def _reshaped(inside: Calling, array: Value, *shape: Value) -> Value:
    """``x.reshape(-1, 1)``: the same sizes in the same order, but for axes of one element."""
    sizes = shape[0].values if len(shape) == 1 and isinstance(shape[0], TupleValue) else shape
    given = [part.value if isinstance(part, Constant) else None for part in sizes]
    if not isinstance(array, InsideArray) or not all(type(size) is int for size in given) or 0 in array.sizes:
        raise GraphBreak("a reshape inside a loop", "op")
    old = [size for size in array.sizes if size != 1]
    new = [size for size in given if size != 1]
    if len(new) != len(old) or not (new == old or new == [-1]) or (new == [-1] and given.count(-1) != 1):
        raise GraphBreak("a reshape inside a loop that is not only about axes of one element", "op")
    flat = inside.item(array, TupleValue([Constant(0) if size == 1 else ALL for size in array.sizes]))
    if not isinstance(flat, InsideArray):
        raise GraphBreak("a reshape inside a loop of one element", "op")
    return inside.item(flat, TupleValue([Constant(None) if size == 1 else ALL for size in given]))


def _flipped(axis: int | None) -> Row:
    def flip(inside: Calling, array: Value, axis: Value = Constant(axis)) -> Value:  # noqa: B008
        along = axis.value if isinstance(axis, Constant) else 0.5
        if not isinstance(array, InsideArray) or not (along is None or type(along) is int):
            raise GraphBreak("a flip inside a loop", "op")
        axes = range(array.type.ndim) if along is None else (along % max(array.type.ndim, 1),)
        nothing = Constant(None)
        keys = [
            SliceValue(nothing, nothing, Constant(-1) if each in axes else nothing) for each in range(array.type.ndim)
        ]
        return inside.item(array, TupleValue(keys))

    return flip


def _stacked(inside: Calling, arrays: Value, axis: Value = Constant(0)) -> Value:  # noqa: B008
    """``np.stack`` of a few arrays."""
    parts, along = _parts_along(inside, arrays, axis, "np.stack")
    first = parts[0]
    along %= first.type.ndim + 1
    sizes = [first.size(inside.tracer, each) for each in range(first.type.ndim)]
    made = inside.new(TupleValue([*sizes[:along], Constant(len(parts)), *sizes[along:]]), first.type.dtype, None)
    assert isinstance(made, InsideArray)
    for place, part in enumerate(parts):
        target = inside.item(made, TupleValue([*[ALL] * along, Constant(place)]))
        assert isinstance(target, InsideArray)
        _fill_with(inside, target, part)
    return made


def _joined(inside: Calling, arrays: Value, axis: Value = Constant(0)) -> Value:  # noqa: B008
    """``np.concatenate`` of a few arrays."""
    parts, along = _parts_along(inside, arrays, axis, "np.concatenate")
    first = parts[0]
    along %= first.type.ndim
    ends: list[Value] = [Constant(0)]
    for part in parts:
        ends.append(inside.tracer.binary("+", ends[-1], part.size(inside.tracer, along)))
    sizes = [first.size(inside.tracer, each) for each in range(first.type.ndim)]
    made = inside.new(TupleValue([*sizes[:along], ends[-1], *sizes[along + 1 :]]), first.type.dtype, None)
    assert isinstance(made, InsideArray)
    for place, part in enumerate(parts):
        bounds = SliceValue(ends[place], ends[place + 1], Constant(None))
        target = inside.item(made, TupleValue([*[ALL] * along, bounds]))
        assert isinstance(target, InsideArray)
        _fill_with(inside, target, part)
    return made


def _fill_with(inside: Calling, target: InsideArray, part: InsideArray) -> None:
    """Write an array into a place of its own shape."""
    inside.require_same_sizes(part, target)
    inside.write(target, part)


def _parts_along(inside: Calling, arrays: Value, axis: Value, what: str) -> tuple[list[InsideArray], int]:
    """The arrays that are put together, all of one rank, and the axis."""
    parts = _arrays_of(inside, arrays)
    if not isinstance(axis, Constant) or type(axis.value) is not int or len({part.type.ndim for part in parts}) > 1:
        raise GraphBreak(f"{what} of these inside a loop", "op")
    return parts, axis.value


def _arrays_of(inside: Calling, arrays: Value) -> list[InsideArray]:
    given = arrays.values if isinstance(arrays, TupleValue | ListValue) else []
    real = [each.real(inside.tracer) for each in given]
    values = [each for each in real if isinstance(each, InsideArray) and each.type.ndim]
    if not values or len(values) < len(real):
        raise GraphBreak("a join of other things than arrays inside a loop", "op")
    if len({each.type.dtype for each in values}) > 1:
        raise GraphBreak("a join of arrays of several dtypes inside a loop", "op")
    return values


def _outer(inside: Calling, left: Value, right: Value) -> Value:
    if not all(isinstance(each, InsideArray) and each.type.ndim == 1 for each in (left, right)):
        raise GraphBreak("np.outer of these inside a loop", "op")
    column = inside.item(left, TupleValue([ALL, Constant(None)]))  # type: ignore[arg-type]
    row = inside.item(right, TupleValue([Constant(None), ALL]))  # type: ignore[arg-type]
    return inside.call_op(ops.get("multiply"), (column, row), {})


def _norm(inside: Calling, array: Value) -> Value:
    """Of a vector: the root of its product with itself."""
    if not isinstance(array, InsideArray) or array.type.ndim != 1 or array.type.dtype.kind != "f":
        raise GraphBreak("a norm of this inside a loop", "op")
    return inside.call_op(ops.get("sqrt"), (inside.matmul(array, array, "dot"),), {})


def _transposed(inside: Calling, array: Value, *axes: Value) -> Value:
    if not isinstance(array, InsideArray) or axes:
        raise GraphBreak("a transposition inside a loop", "op")
    return inside.permuted(array, range(array.type.ndim)[::-1])


def _product(by: str) -> Row:
    def product(inside: Calling, left: Value, right: Value) -> Value:
        if isinstance(left, InsideArray) and isinstance(right, InsideArray) and left.type.ndim and right.type.ndim:
            return inside.matmul(left, right, by)
        raise GraphBreak(f"np.{by} of these operands inside a loop", "op")

    return product


def _copy(inside: Calling, array: Value) -> Value:
    return inside.copied(array)


_SCALARS = ("float64", "float32", "int64", "int32", "complex128", "complex64")


def _to_dtype(name: str) -> Row:
    def convert(inside: Calling, value: Value = Constant(0)) -> Value:  # noqa: B008
        dtype = np.dtype(name)
        if inside._is_number(value) and dtype.kind == "c":
            value = inside.number("complex", value)
        is_wide = dtype.kind in "fc" or (inside._is_number(value) and inside.python_of(value) is not float)
        if inside._is_number(value) and is_wide and is_complex_value(value) == (dtype.kind == "c"):
            if isinstance(value, Constant):
                return Constant(dtype.type(value.value))
            arg = inside.as_scalar(value, dtype)
            assert isinstance(arg, Node)
            return InsideScalar(arg)
        raise GraphBreak(f"np.{name} of {value.describe()} inside a loop", "op")

    return convert


CALLS: Mapping[str, Row] = {
    "zeros": _creating(0),
    "ones": _creating(1),
    "np_empty": _creating(None),
    "zeros_like": _creating_like(0),
    "ones_like": _creating_like(1),
    "empty_like": _creating_like(None),
    "np_full": _full,
    "matmul": _product("matmul"),
    "dot": _product("dot"),
    "operator_matmul": _product("matmul"),
    "np_copy": _copy,
    "copy": _copy,
    "mean": _mean,
    "array": _array,
    "asarray": _array,
    "roll": _rolled,
    "ndarray_reshape": _reshaped,
    "np_reshape": _reshaped,
    "flip": _flipped(None),
    "flipud": _flipped(0),
    "fliplr": _flipped(1),
    "stack": _stacked,
    "np_concatenate": _joined,
    "outer": _outer,
    "norm": _norm,
    "real": lambda inside, value: inside.part(value, "real"),
    "imag": lambda inside, value: inside.part(value, "imag"),
    "transpose": _transposed,
    "ndarray_transpose": _transposed,
    "ndarray_T": _transposed,
    **{f"call_{name}": _to_dtype(name) for name in _SCALARS},
}
