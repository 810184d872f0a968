"""Calls inside a program: builtins, ``math``, NumPy's functions and methods.

In: what is called, known by identity or by its record in ``capture.ir.ops``, and values. Out: values of steps; a break
for what programs cannot do, None where the ordinary rules for constants apply.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.complexes import absolute, conjugated, is_complex_value
from capture.frames.loops.computing import Computing
from capture.frames.loops.making import CALLS, Row
from capture.frames.loops.numpy_calls import call_numpy, fallback_of
from capture.frames.loops.values import (
    Counting,
    EitherType,
    EitherValue,
    Enumerating,
    GrowingList,
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
from capture.frames.values.grown import GrownList
from capture.frames.values.iterators import EnumerateIterator, IteratorValue, SequenceIterator, ZipIterator
from capture.frames.values.ranges import OpenRangeIterator
from capture.ir import op as ops
from capture.ir.graph import Node
from capture.ir.ops.common import LOWERED
from capture.ir.program import DENSE, NUMBERS, RankedType
from capture.ir.types import PYTHON_NUMBERS, NumberType, scalar_type

_OF_PROGRAMS = (InsideValue, EitherValue, Stream, RangeValue, GrowingList)

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

    def calls(self, function: Any) -> bool:
        """Whether programs call the function as it is."""
        return fallback_of(function) is not None

    def call_op(
        self, op: ops.Op | None, args: Sequence[Value], kwargs: Mapping[str, Value], instead: Any = None
    ) -> Value:
        """A call of an operation of NumPy's."""
        found = [arg.real(self.tracer) for arg in args]
        named = {name: arg.real(self.tracer) for name, arg in kwargs.items()}
        if op is None or fallback_of(instead) is not None:
            return call_numpy(self, instead, found, named)
        row = CALLS.get(op.name)
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
        if isinstance(value, Constant) and type(value.value) in PYTHON_NUMBERS:
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
        is_single = not isinstance(owner, InsideArray) and is_complex_value(owner)
        if name in ("conj", "conjugate") and not args and is_single:
            return conjugated(self, owner)
        if name == "item" and not args:
            value = self.element(owner, ()) if isinstance(owner, InsideArray) and not owner.type.ndim else owner
            if isinstance(value, InsideScalar):
                return self.number({"f": "float", "b": "bool", "c": "complex"}.get(value.type.dtype.kind, "int"), value)
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
            if isinstance(over, GrownList):
                return Rows(self._rows_of(over), Constant(value.index), over.number)
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
        """An item of a constant sequence, or of a list that a loop has filled, at a place that is known when the
        program runs; None for other things."""
        found = sequence.looked_at
        if isinstance(found, GrownList) and found.arrays is None:
            item = self.item(self._rows_of(found), key.real(self.tracer))
            return item if found.number is None else self.number(found.number.__name__, item)
        if not isinstance(sequence, TupleValue | ListValue) or not isinstance(key, InsideNumber | InsideScalar):
            return None
        return self.row(self.table(sequence), key)

    def _rows_of(self, found: GrownList) -> InsideArray:
        array = self.inside(found.array)
        assert isinstance(array, InsideArray)
        return array

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
        if isinstance(value, Stream | IteratorValue):
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
        if kind not in LOWERED or kind == np.float16:
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

    def matmul(self, left: Value, right: Value, by: str = "matmul") -> Value:
        """A product of arrays of rank 1 or 2, by ``np.matmul`` or ``np.dot``."""
        if not isinstance(left, InsideArray) or not isinstance(right, InsideArray):
            raise GraphBreak("a matrix product of no arrays inside a loop", "op")
        ranks = left.type.ndim, right.type.ndim
        if not all(rank in (1, 2) for rank in ranks) or left.type.dtype != right.type.dtype:
            raise GraphBreak("a matrix product of these operands inside a loop", "op")
        dtype = left.type.dtype
        if dtype.kind not in "fiu":
            raise GraphBreak("a matrix product of truth values inside a loop", "op")
        params: dict[str, Any] = {} if by == "matmul" else {"by": by}
        if ranks == (1, 1):
            return InsideScalar(self.step("matmul", left.node, right.node, type=scalar_type(dtype), **params))
        type_ = RankedType(dtype, sum(ranks) - 2, DENSE)
        sizes = (*left.sizes[:-1], *(right.sizes[1:] if ranks[1] == 2 else ()))
        return self.array(self.step("matmul", left.node, right.node, type=type_, **params), sizes)


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
    if isinstance(value, GrowingList):
        return value.count
    if isinstance(value, GrownList):
        return inside._rows_of(value).size(inside.tracer, 0)
    raise GraphBreak(f"len of {value.describe()} inside a loop", "call")


def _absolute(inside: Calling, value: Value) -> Value:
    if isinstance(value, InsideNumber):
        if value.python is bool:
            value = inside.number("int", value)  # type: ignore[assignment]
        return inside.number("abs", value)
    if isinstance(value, InsideScalar | EitherValue) and is_complex_value(value):
        return absolute(inside, value)
    return inside.call_op(ops.get("operator_absolute"), (value,), {})


def _converting(symbol: str) -> Row:
    def convert(inside: Calling, value: Value) -> Value:
        if isinstance(value, InsideArray) and not value.type.ndim:
            value = inside.element(value, ())
        if isinstance(value, EitherValue):
            value = InsideScalar(value.node)
        if isinstance(value, InsideNumber | InsideScalar) and (symbol == "complex" or not is_complex_value(value)):
            return inside.number(symbol, value)
        raise GraphBreak(f"{symbol} of {value.describe()} inside a loop", "call")

    return convert


def _complex(inside: Calling, real: Value, imag: Value | None = None) -> Value:
    if imag is None:
        return _converting("complex")(inside, real)
    if is_complex_value(real) or is_complex_value(imag):
        raise GraphBreak("complex of complex numbers inside a loop", "call")
    return inside.number("complex", _as_float(inside, real), _as_float(inside, imag))


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
    if is_complex_value(value):
        raise GraphBreak("a function of floats of a complex number inside a loop", "call")
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
    complex: _complex,
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
