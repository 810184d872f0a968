"""From a concrete object and its source to a value with its guards.

In: ``wrap(tracer, source, object)``. Out: a value of the family that ``WRAP_FOR`` names for the object's exact type;
what no row knows is opaque: only its type is guarded. The object is only looked at in ways that run no user code.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.dims import marks_of
from capture.frames.guards import ArrayIs, CodeIs, EqualsConstant, IsObject, Length, NumpyScalarIs, TypeIs
from capture.frames.hook import Entry
from capture.frames.sources import (
    LARGEST_SIZE,
    Attribute,
    Bound,
    ClassAttribute,
    Dimension,
    Global,
    Globals,
    Item,
    Source,
    SuperAttribute,
)
from capture.frames.sources import Constant as KnownObject
from capture.frames.values import draws, numbers, unseen
from capture.frames.values.arrays import ArrayValue, ScalarValue
from capture.frames.values.base import Opaque, Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import DictValue, ListValue, TupleValue
from capture.frames.values.functions import BoundMethodValue, EntryValue, FunctionValue
from capture.frames.values.instances import NamedTupleValue, ObjectValue, guard_named_tuple, is_named_tuple
from capture.frames.values.looking import MOST_ITEMS, OutsideEntries, OutsideItems, has_plain_keys
from capture.frames.values.lookup import is_fixed
from capture.frames.values.objects import CallableValue, ModuleValue
from capture.ir.shapes import Symbol
from capture.ir.types import ArrayType, Layout, type_of
from capture.records import replace

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

Wrapper = Callable[["Tracer", Source, Any], Value]

def _opaque(tracer: Tracer, source: Source, example: Any) -> Value:
    tracer.guard(source, TypeIs(type(example)))
    return Opaque(example, source)


def _constant(tracer: Tracer, source: Source, example: Any) -> Value:
    tracer.guard(source, EqualsConstant(example))
    return Constant(example, source)


def _number(tracer: Tracer, source: Source, example: int | float) -> Value:
    """A number that was another one at an earlier call is not compiled in."""
    if not _is_open(tracer, source, example):
        return _constant(tracer, source, example)
    found = numbers.from_outside(tracer, source, example)
    if source in tracer.changing.declared.dims and found.size is not None:
        tracer.sizes.declare(found.size, tracer.changing.declared.dims[source])
    return found


def _is_open(tracer: Tracer, source: Source, example: int | float) -> bool:
    return source in tracer.changing and (type(example) is int or source in tracer.changing.found)


def _known(tracer: Tracer, source: Source, example: Any) -> Value:
    tracer.guard(source, IsObject(example))
    return Constant(example, source)


FACTS_OF_TYPES: Mapping[type, frozenset[str]] = {
    np.finfo: frozenset({"dtype", "bits", "eps", "max", "min"}),
    np.iinfo: frozenset({"dtype", "bits", "kind", "key"}),
}


def _facts(tracer: Tracer, source: Source, example: Any) -> Value:
    """``np.finfo`` and ``np.iinfo`` are constants once they are finished; in their own ``__init__`` they are not."""
    finished = FACTS_OF_TYPES[type(example)] <= vars(example).keys()
    return (_known if finished else _other)(tracer, source, example)


def _callable(tracer: Tracer, source: Source, example: Any) -> Value:
    tracer.guard(source, IsObject(example))
    return CallableValue(example, source)


def _module(tracer: Tracer, source: Source, example: Any) -> Value:
    tracer.guard(source, IsObject(example))
    return ModuleValue(example, source)


def _function(tracer: Tracer, source: Source, example: Any) -> FunctionValue:
    """Functions of modules and classes stay; others are made anew, of the same code, with other cells and defaults."""
    tracer.guard(source, CodeIs(example.__code__))
    value = FunctionValue(example, source)
    if isinstance(source, Global | Attribute | ClassAttribute | SuperAttribute | KnownObject):
        value.fix(tracer)
    else:
        tracer.guard(Globals(source), IsObject(example.__globals__))
    return value


def _entry(tracer: Tracer, source: Source, example: Any) -> Value:
    tracer.guard(source, IsObject(example))
    plain = _function(tracer, KnownObject(example.function), example.function)
    return EntryValue(example, source, plain)


def _array(tracer: Tracer, source: Source, example: np.ndarray) -> Value:
    if example.dtype.kind not in "biufc" or not example.dtype.isnative or not example.flags.aligned:
        return _opaque(tracer, source, example)
    open_axes = _open_axes(tracer, source, example)
    if not open_axes:
        tracer.guard(source, ArrayIs(example.dtype, example.shape, Layout.of(example), None))
        return ArrayValue(type_of(example), None, source, example)
    sizes = tuple(None if axis in open_axes else size for axis, size in enumerate(example.shape))
    layout = Layout.of_open(example, open_axes)
    tracer.guard(source, ArrayIs(example.dtype, sizes, layout, None))
    value = ArrayValue(type_of(example), None, source, example)
    symbols = {axis: tracer.sizes.dimension(value, axis, example.shape[axis]) for axis in open_axes}
    value.type = ArrayType(
        example.dtype, tuple(symbols.get(axis, size) for axis, size in enumerate(example.shape)), layout
    )
    _declare(tracer, source, example, symbols)
    return value


MOST_OPEN_AXES = 16


def _open_axes(tracer: Tracer, source: Source, example: np.ndarray) -> tuple[int, ...]:
    """The axes whose sizes may be others at the next call. All are only where that are not too many: places of elements
    are made of all sizes."""
    marks, changing = marks_of(example), tracer.changing
    if example.ndim > MOST_OPEN_AXES:
        changing = replace(changing, everything=False)
    return tuple(
        axis
        for axis, size in enumerate(example.shape)
        if (axis in marks.dynamic or Dimension(source, axis) in changing)
        and axis not in marks.static
        and size <= LARGEST_SIZE
        and Dimension(source, axis) not in tracer.changing.known
    )


def _declare(tracer: Tracer, source: Source, example: np.ndarray, symbols: Mapping[int, Symbol]) -> None:
    """What the user said of the open sizes."""
    marks, dims = marks_of(example), tracer.changing.declared.dims
    for axis, symbol in symbols.items():
        place = Dimension(source, axis)
        if axis in marks.dynamic:
            tracer.must_stay_open.add(place)
            tracer.sizes.bound(symbol, *marks.dynamic[axis])
        if place in dims:
            tracer.sizes.declare(symbol, dims[place])


def _scalar(tracer: Tracer, source: Source, example: np.generic) -> Value:
    tracer.guard(source, NumpyScalarIs(example.dtype))
    return ScalarValue(type_of(example), None, source, example)


def _tuple(tracer: Tracer, source: Source, example: tuple[Any, ...]) -> Value:
    if len(example) > MOST_ITEMS:
        return _opaque(tracer, source, example)
    tracer.guard(source, TypeIs(tuple))
    tracer.guard(source, Length(len(example)))
    return TupleValue([tracer.lazy(Item(source, index), item) for index, item in enumerate(example)], source)


def _list(tracer: Tracer, source: Source, example: list[Any]) -> Value:
    tracer.guard(source, TypeIs(list))
    return ListValue(outside=OutsideItems(tracer, source, example))


def _dict(tracer: Tracer, source: Source, example: dict[Any, Any]) -> Value:
    if not has_plain_keys(example):
        return _opaque(tracer, source, example)
    tracer.guard(source, TypeIs(dict))
    return DictValue(outside=OutsideEntries(tracer, source, example))


def _unseen(tracer: Tracer, source: Source, example: Any) -> Value:
    tracer.guard(source, TypeIs(type(example)))
    return unseen.UnseenValue(example, source)


def _method(tracer: Tracer, source: Source, example: types.MethodType) -> Value:
    drawn = draws.bound(tracer, source, example)
    if drawn is not None:
        return drawn
    tracer.guard(source, TypeIs(types.MethodType))
    function = tracer.lazy(Bound(source, 0), example.__func__)
    return BoundMethodValue(function, tracer.lazy(Bound(source, 1), example.__self__), source)


def _namespace(tracer: Tracer, source: Source, example: types.SimpleNamespace) -> Value:
    tracer.guard(source, TypeIs(types.SimpleNamespace))
    return ObjectValue(example, source)


def _other(tracer: Tracer, source: Source, example: Any) -> Value:
    """What no row knows: classes with a metaclass of their own, objects of Python classes."""
    kind = type(example)
    if issubclass(kind, type):
        return _callable(tracer, source, example)
    tracer.guard(source, TypeIs(kind))
    if is_fixed(kind):
        return Opaque(example, source)
    if is_named_tuple(kind) and len(example) <= MOST_ITEMS:
        guard_named_tuple(tracer, kind)
        tracer.guard(source, Length(tuple.__len__(example)))
        values = [tracer.lazy(Item(source, index), item) for index, item in enumerate(tuple.__iter__(example))]
        return NamedTupleValue(None, kind, values, source)
    return ObjectValue(example, source)


NUMPY_SCALARS = (
    np.bool, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64,
)  # fmt: skip

WRAP_FOR: Mapping[type, Wrapper] = {
    **dict.fromkeys((bool, complex, str, bytes), _constant),
    **dict.fromkeys((int, float), _number),
    **dict.fromkeys((type(None), type(Ellipsis), type(NotImplemented)), _known),
    **dict.fromkeys({type(np.dtype(scalar)) for scalar in (*NUMPY_SCALARS, np.complex64, np.complex128)}, _known),
    **dict.fromkeys(FACTS_OF_TYPES, _facts),
    types.CodeType: _known,
    **dict.fromkeys(NUMPY_SCALARS, _scalar),
    **dict.fromkeys(
        (type, types.BuiltinFunctionType, types.MethodDescriptorType, np.ufunc, type(np.sum), type(np.dtype)),
        _callable,
    ),
    type(np.random.default_rng): _callable,
    np.ndarray: _array,
    **dict.fromkeys(draws.KINDS, draws.generator),
    **dict.fromkeys(unseen.CHANGES, _unseen),
    types.SimpleNamespace: _namespace,
    tuple: _tuple,
    list: _list,
    dict: _dict,
    types.FunctionType: _function,
    types.MethodType: _method,
    types.WrapperDescriptorType: _callable,
    types.ModuleType: _module,
    Entry: _entry,
}

SHARED = (np.ndarray, list, dict)
"""Types whose objects are told apart by identity when they change."""


def wrap(tracer: Tracer, source: Source, example: Any) -> Value:
    wrapper = _callable if example is contextlib.nullcontext else WRAP_FOR.get(type(example), _other)
    return wrapper(tracer, source, example)
