"""Calls inside a program: builtins, ``math``, NumPy's functions and methods.

In: what is called, known by identity or by its record in ``capture.ir.ops``, and values. Out: values of steps; a break
for what programs cannot do, None where the ordinary rules for constants apply.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.computing import Computing
from capture.frames.loops.values import (
    Counting,
    EitherType,
    EitherValue,
    Enumerating,
    InsideArray,
    InsideNumber,
    InsideScalar,
    InsideValue,
    RangeValue,
    Rows,
    Stream,
    Table,
    Tabled,
    Zipped,
    joined,
)
from capture.frames.values.arrays import graph_value
from capture.frames.values.base import NotConcrete, Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import ListValue, TupleValue
from capture.frames.values.iterators import EnumerateIterator, SequenceIterator, ZipIterator
from capture.frames.values.keys import SliceValue
from capture.frames.values.ranges import OpenRangeIterator
from capture.ir import op as ops
from capture.ir.graph import Node
from capture.ir.program import DENSE, NUMBERS, RankedType
from capture.ir.types import NumberType, scalar_type

_OF_PROGRAMS = (InsideValue, EitherValue, Stream, RangeValue)

Row = Callable[..., Value]

LONGEST_TABLE = 4096
"""Items of a constant sequence that loops go through or look things up in."""


_signature = functools.cache(inspect.signature)


def _fits(number: Any) -> bool:
    return type(number) is not int or -(2**62) < number < 2**62


class Calling(Computing):
    """What can be called."""

    def is_inside(self, value: Value) -> bool:
        return isinstance(value, _OF_PROGRAMS)

    def call_known(self, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value | None:
        """A builtin or function of ``math`` on values of the program; None where no argument is one."""
        try:
            row = _BUILTINS.get(function)
        except TypeError:
            return None
        if row is None:
            return None
        found = [arg.real(self.tracer) for arg in args]
        if not any(map(self.is_inside, found)):
            return None
        if kwargs and function not in (enumerate, zip):
            raise GraphBreak(f"{function.__name__} with keywords inside a loop", "call")
        return self._by_row(row, function.__name__, found, kwargs)

    def _by_row(self, row: Row, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        try:
            _signature(row).bind(self, *args, **kwargs)
        except TypeError:
            raise GraphBreak(f"{name} with these arguments inside a loop", "call") from None
        return row(self, *args, **kwargs)

    def call_op(
        self, op: ops.Op | None, args: Sequence[Value], kwargs: Mapping[str, Value], instead: Any = None
    ) -> Value:
        """A call of an operation of NumPy's."""
        found = [arg.real(self.tracer) for arg in args]
        named = {name: arg.real(self.tracer) for name, arg in kwargs.items()}
        if op is None:
            raise GraphBreak(f"a call of {instead} inside a loop", "call")
        row = _OPS.get(op.name)
        if row is not None:
            return self._by_row(row, op.name, found, named)
        out = named.pop("out", None)
        if isinstance(out, Constant) and out.value is None:
            out = None
        if "ufunc" in op.tags and isinstance(op.reference, np.ufunc) and len(found) == op.reference.nin + 1:
            out, found = found[-1], found[:-1]
        result = self._call_record(op, found, named)
        if out is None:
            return result
        if not isinstance(out, InsideArray) or "ufunc" not in op.tags:
            raise GraphBreak(f"out= of {op.name} inside a loop", "op")
        self._require_same_kind(result, out)
        self.write(out, result)
        return out

    def _call_record(self, op: ops.Op, values: Sequence[Value], named: Mapping[str, Value]) -> Value:
        operands = self.strong(values, lambda given: self._bind(op, given, named))
        return self._bind(op, operands, named)

    def _bind(self, op: ops.Op, values: Sequence[Value], named: Mapping[str, Value]) -> Value:
        given = [self._argument(value) for value in values]
        try:
            operands, params = op.bind(tuple(given), {name: self._argument(value) for name, value in named.items()})
        except ops.CannotInfer as error:
            raise GraphBreak(str(error), "op") from None
        if any(isinstance(value, Value) and not isinstance(value, Constant) for value in params.values()):
            raise GraphBreak(f"a parameter of {op.name} that is known only inside the loop", "op")
        return self.apply(op, operands, params)

    def _argument(self, value: Value) -> Any:
        """A value of the program as it is, to be an operand; a constant as a parameter may want it."""
        if self.is_inside(value):
            return value
        if isinstance(value, Constant) and type(value.value) in (int, float, bool):
            return value
        return (
            value
            if isinstance(value, Constant) and isinstance(value.value, np.generic)
            else value.in_graph(self.tracer)
        )

    def apply(self, op: ops.Op, values: Sequence[Any], params: Mapping[str, Any]) -> Value:
        plain = {name: value.value if isinstance(value, Constant) else value for name, value in params.items()}
        if not all(isinstance(value, Value) for value in values):
            raise GraphBreak(f"{op.name} of something else than numbers and arrays inside a loop", "op")
        return super().apply(op, values, plain)

    def call_method(self, owner: Any, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if name == "fill" and isinstance(owner, InsideArray) and len(args) == 1:
            self.write(owner, args[0])
            return Constant(None)
        if name == "item" and not args:
            value = self.element(owner, ()) if isinstance(owner, InsideArray) and not owner.type.ndim else owner
            if isinstance(value, InsideScalar):
                return self.number({"f": "float", "b": "bool"}.get(value.type.dtype.kind, "int"), value)
        return self.call_op(ops.for_method(name), (owner, *args), kwargs, name)

    # iterators ----------------------------------------------------------------------------------------------------
    def stream(self, value: Value) -> Stream:
        """The iterator of a ``for`` loop as one that programs have."""
        if isinstance(value, Stream):
            return value
        if isinstance(value, OpenRangeIterator):
            found = _range(self, *value.over.bounds)
            assert isinstance(found, RangeValue)
            return Counting(found.start, found.stop, found.step)
        if isinstance(value, SequenceIterator) and not value.ended:
            over = value.over.real(self.tracer)
            if isinstance(over, Constant) and type(over.value) is range:
                rest = over.value[value.index :]
                return Counting(Constant(rest.start), Constant(rest.stop), rest.step)
            if isinstance(over, InsideArray):
                return Rows(over, Constant(value.index))
            if isinstance(over, TupleValue | ListValue | Constant):
                return Tabled(self.table(over), Constant(value.index))
        if isinstance(value, EnumerateIterator):
            return Enumerating(self.stream(value.inner), Constant(value.count))
        if isinstance(value, ZipIterator) and not value.strict and len({id(inner) for inner in value.inners}) > 1:
            return Zipped([self.stream(inner) for inner in value.inners])
        raise GraphBreak(f"a loop over {value.describe()} is no loop of the graph", "loop")

    # tables -------------------------------------------------------------------------------------------------------
    def table(self, sequence: Value) -> Table:
        """A tuple or list of constants, each a number or a tuple of as many numbers of the same types."""
        known = self._tables.get(id(sequence))
        if known is None:
            known = self._tables[id(sequence)] = self._new_table(sequence)
        return known

    def _new_table(self, sequence: Value) -> Table:
        try:
            rows = sequence.concrete(self.tracer)
        except NotConcrete:
            raise GraphBreak("a sequence whose items are not constant inside a loop", "loop") from None
        if type(rows) not in (tuple, list) or not rows or len(rows) > LONGEST_TABLE:
            raise GraphBreak("a sequence of this kind inside a loop", "loop")
        is_flat = type(rows[0]) is not tuple
        columns = [rows] if is_flat else list(zip(*rows, strict=False))
        if not is_flat and len({len(row) if type(row) is tuple else -1 for row in rows}) > 1:
            raise GraphBreak("a sequence of unlike items inside a loop", "loop")
        made = []
        for column in columns:
            kinds = {type(item) for item in column}
            if len(kinds) != 1 or not kinds <= {int, float, bool} or not all(map(_fits, column)):
                raise GraphBreak("a sequence of other things than numbers inside a loop", "loop")
            node = self.tracer.graph.constant(np.array(column))
            array = self.inside(graph_value(node))
            assert isinstance(array, InsideArray)
            made.append((array, kinds.pop().__name__))
        return Table(tuple(made), len(rows), is_flat)

    def looked_up(self, sequence: Value, key: Value) -> Value | None:
        """An item of a constant sequence at a place that is known when the program runs; None for other things."""
        if not isinstance(sequence, TupleValue | ListValue) or not isinstance(key, InsideNumber | InsideScalar):
            return None
        return self.row(self.table(sequence), key)

    def row(self, table: Table, place: Value) -> Value:
        values = [self.number(kind, self.item(array, place)) for array, kind in table.columns]
        return values[0] if table.is_flat else TupleValue(values)

    def selected(self, condition: Value, one: Value, other: Value) -> Value:
        """One of two numbers or scalars."""
        kind = joined(self.kind(one), self.kind(other))  # type: ignore[attr-defined]
        test = self.truth(condition)
        if not isinstance(test, Node):
            return one if test else other
        if isinstance(kind, EitherType):
            values = [self.either_parts(value, kind) for value in (one, other)]
            node, weak = (
                self.step("select", test, *pair, type=type)
                for pair, type in zip(zip(*values, strict=True), (kind.scalar, NumberType(bool)), strict=True)
            )
            return EitherValue(node, weak, kind.python, kind.scalar)
        if kind is None or isinstance(kind, RankedType):
            raise GraphBreak("one of two unlike things inside a loop", "loop")
        return self.value_of(self.step("select", test, self.arg(one), self.arg(other), type=kind))

    def new_stream(self, value: Value) -> Stream:
        """``iter`` of something that is no iterator, so that nobody else goes on with it."""
        if isinstance(value, Stream):
            raise GraphBreak("an iterator goes into another inside a loop", "loop")
        found = value.iterate(self.tracer)
        return self.stream(found)

    # arrays -------------------------------------------------------------------------------------------------------
    def new(self, shape: Value, dtype: Any, value: Any) -> Value:
        """A new array of a shape, in C order."""
        found = shape.real(self.tracer)
        if isinstance(found, TupleValue | ListValue):
            sizes = [part.real(self.tracer) for part in found.values]
        elif isinstance(found, Constant) and type(found.value) is tuple:
            sizes = [Constant(part) for part in found.value]
        else:
            sizes = [found]
        for size in sizes:
            if (
                not (isinstance(size, InsideNumber) and size.python is int)
                and type(getattr(size, "value", None)) is not int
            ):
                raise GraphBreak("the shape of a new array inside a loop", "op")
        kind = np.dtype(dtype)
        known = [size.value if isinstance(size, Constant) else None for size in sizes]
        if kind.kind not in "biuf" or kind.itemsize > 8 or kind == np.float16:
            raise GraphBreak(f"a new array of {kind} inside a loop", "op")
        ones = frozenset(axis for axis, size in enumerate(known) if size == 1)
        type_ = RankedType(kind, len(sizes), DENSE, ones)
        return self.array(self.step("new", *map(self.arg, sizes), type=type_, dtype=kind, value=value), known)

    def copied(self, array: Value) -> Value:
        if not isinstance(array, InsideArray):
            raise GraphBreak("a copy of no array inside a loop", "op")
        type_ = RankedType(array.type.dtype, array.type.ndim, DENSE, array.type.ones)
        return self.array(self.step("copy", array.node, type=type_), array.sizes)

    def require_same_sizes(self, one: InsideArray, other: InsideArray) -> None:
        """Go on only where two arrays are of one shape, which need not broadcast."""
        for axis in range(one.type.ndim):
            sizes = [each.size(self.tracer, axis) for each in (one, other)]
            if not all(isinstance(size, Constant) for size in sizes):
                self.leave_if(self.arg(self.number("!=", *sizes)))  # type: ignore[attr-defined]
            elif sizes[0].value != sizes[1].value:  # type: ignore[attr-defined]
                raise GraphBreak("arrays of different shapes inside a loop", "op")

    def matmul(self, left: Value, right: Value) -> Value:
        """A product of arrays of rank 1 or 2."""
        if not isinstance(left, InsideArray) or not isinstance(right, InsideArray):
            raise GraphBreak("a matrix product of no arrays inside a loop", "op")
        ranks = left.type.ndim, right.type.ndim
        if not all(rank in (1, 2) for rank in ranks) or left.type.dtype != right.type.dtype:
            raise GraphBreak("a matrix product of these operands inside a loop", "op")
        dtype = left.type.dtype
        if dtype.kind not in "fiu":
            raise GraphBreak("a matrix product of truth values inside a loop", "op")
        if ranks == (1, 1):
            return InsideScalar(self.step("matmul", left.node, right.node, type=scalar_type(dtype)))
        type_ = RankedType(dtype, sum(ranks) - 2, DENSE)
        sizes = (*left.sizes[:-1], *(right.sizes[1:] if ranks[1] == 2 else ()))
        return self.array(self.step("matmul", left.node, right.node, type=type_), sizes)


# Builtins ---------------------------------------------------------------------------------------------------------
def _range(inside: Calling, *bounds: Value) -> Value:
    numbers = [bound.real(inside.tracer) for bound in bounds]
    numbers = [inside.number_of(inside._index(each)) if not isinstance(each, Constant) else each for each in numbers]
    start, stop, step = (Constant(0), *numbers, Constant(1)) if len(numbers) == 1 else (*numbers, Constant(1))[:3]
    if isinstance(step, Constant):
        if type(step.value) is not int or not step.value:
            raise GraphBreak("a range with this step inside a loop", "loop")
        return RangeValue(start, stop, step.value)
    inside.leave_if(inside.arg(inside.number("<=", step, Constant(0))))  # backwards, or an error, and rare
    return RangeValue(start, stop, step)


def _len(inside: Calling, value: Value) -> Value:
    if isinstance(value, InsideArray) and value.type.ndim:
        return value.size(inside.tracer, 0)
    raise GraphBreak(f"len of {value.describe()} inside a loop", "call")


def _absolute(inside: Calling, value: Value) -> Value:
    if isinstance(value, InsideNumber):
        if value.python is bool:
            value = inside.number("int", value)  # type: ignore[assignment]
        return inside.number("abs", value)
    return inside.call_op(ops.get("operator_absolute"), (value,), {})


def _converting(symbol: str) -> Row:
    def convert(inside: Calling, value: Value) -> Value:
        if isinstance(value, InsideArray) and not value.type.ndim:
            value = inside.element(value, ())
        if isinstance(value, EitherValue):
            value = InsideScalar(value.node)
        if isinstance(value, InsideNumber | InsideScalar):
            return inside.number(symbol, value)
        raise GraphBreak(f"{symbol} of {value.describe()} inside a loop", "call")

    return convert


def _extreme(sign: str) -> Row:
    def extreme(inside: Calling, *values: Value) -> Value:
        """``min`` and ``max`` of several values: the first of those that no other is before."""
        if len(values) < 2:
            raise GraphBreak("min or max of one value inside a loop", "call")
        found = values[0]
        for value in values[1:]:
            found = inside.selected(inside.binary(sign, value, found), value, found)
        return found

    return extreme


def _divmod(inside: Calling, left: Value, right: Value) -> Value:
    return TupleValue([inside.binary("//", left, right), inside.binary("%", left, right)])


def _round(inside: Calling, value: Value) -> Value:
    return inside.number("round", value)


def _enumerate(inside: Calling, over: Value, start: Value = Constant(0)) -> Value:  # noqa: B008
    return Enumerating(inside.new_stream(over), start)


def _zip(inside: Calling, *over: Value, strict: Value = Constant(False)) -> Value:  # noqa: B008
    if not isinstance(strict, Constant) or strict.value is not False or not over:
        raise GraphBreak("zip(strict=True) inside a loop", "call")
    return Zipped([inside.new_stream(each) for each in over])


def _reversed(inside: Calling, over: Value) -> Value:
    if isinstance(over, RangeValue) and over.step in (1, -1):
        step = over.step
        last = inside.number("-", over.stop, Constant(step))
        return Counting(last, inside.number("-", over.start, Constant(step)), -step)
    raise GraphBreak(f"reversed of {over.describe()} inside a loop", "call")


def _mathematical(name: str) -> Row:
    def compute(inside: Calling, *values: Value) -> Value:
        kind = inside._number_kind(f"math.{name}", values)
        numbers = [_as_float(inside, value) if kind is not int or name != "gcd" else value for value in values]
        return inside.number(f"math.{name}", *numbers)

    return compute


def _as_float(inside: Calling, value: Value) -> Value:
    if isinstance(value, Constant):
        return Constant(float(value.value))
    if isinstance(value, InsideNumber) and value.python is float:
        return value
    return _converting("float")(inside, value)


_BUILTINS: Mapping[Any, Row] = {
    range: _range,
    len: _len,
    abs: _absolute,
    int: _converting("int"),
    float: _converting("float"),
    bool: lambda inside, value: inside.number_of(inside.truth(value)),
    min: _extreme("<"),
    max: _extreme(">"),
    divmod: _divmod,
    round: _round,
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    **{
        getattr(math, name.removeprefix("math.")): _mathematical(name.removeprefix("math."))
        for name in NUMBERS
        if name.startswith("math.")
    },
}


NUMERIC = frozenset(
    {abs, int, float, min, max, round, *(each for each in _BUILTINS if getattr(each, "__module__", "") == "math")}
)
"""Builtins and functions of ``math`` that give a number of numbers."""


ALL = SliceValue(Constant(None), Constant(None), Constant(None))


# Operations that are more than a map or a reduction -------------------------------------------------------------------
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
    if array.type.dtype.kind != "f":
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
    if not isinstance(array, InsideArray) or not inside._is_number(shift) or inside.python_of(shift) is not int:
        raise GraphBreak("np.roll of these inside a loop", "op")
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
    return inside.call_op(ops.get("sqrt"), (inside.matmul(array, array),), {})


def _transposed(inside: Calling, array: Value, *axes: Value) -> Value:
    if not isinstance(array, InsideArray) or axes:
        raise GraphBreak("a transposition inside a loop", "op")
    return inside.permuted(array, range(array.type.ndim)[::-1])


def _dot(inside: Calling, left: Value, right: Value) -> Value:
    if isinstance(left, InsideArray) and isinstance(right, InsideArray) and left.type.ndim and right.type.ndim:
        return inside.matmul(left, right)
    raise GraphBreak("np.dot of these operands inside a loop", "op")


def _copy(inside: Calling, array: Value) -> Value:
    return inside.copied(array)


def _to_dtype(name: str) -> Row:
    def convert(inside: Calling, value: Value = Constant(0)) -> Value:  # noqa: B008
        dtype = np.dtype(name)
        if inside._is_number(value) and (dtype.kind == "f" or inside.python_of(value) is not float):
            if isinstance(value, Constant):
                return Constant(dtype.type(value.value))
            arg = inside.as_scalar(value, dtype)
            assert isinstance(arg, Node)
            return InsideScalar(arg)
        raise GraphBreak(f"np.{name} of {value.describe()} inside a loop", "op")

    return convert


_OPS: Mapping[str, Row] = {
    "zeros": _creating(0),
    "ones": _creating(1),
    "np_empty": _creating(None),
    "zeros_like": _creating_like(0),
    "ones_like": _creating_like(1),
    "empty_like": _creating_like(None),
    "np_full": _full,
    "matmul": _dot,
    "dot": _dot,
    "operator_matmul": _dot,
    "np_copy": _copy,
    "copy": _copy,
    "mean": _mean,
    "array": _array,
    "asarray": _array,
    "roll": _rolled,
    "flip": _flipped(None),
    "flipud": _flipped(0),
    "fliplr": _flipped(1),
    "stack": _stacked,
    "np_concatenate": _joined,
    "outer": _outer,
    "norm": _norm,
    "transpose": _transposed,
    "ndarray_transpose": _transposed,
    "ndarray_T": _transposed,
    **{f"call_{name}": _to_dtype(name) for name in ("float64", "float32", "int64", "int32")},
}
