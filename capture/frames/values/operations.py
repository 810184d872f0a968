"""Operators: which family computes ``left + right``, ``left < right``, ``-x``, ``left is right``, ``x in y``.

In: a symbol and values. Out: a value. The rows of ``BINARY`` and ``UNARY`` are by family; a pair without a row is left
to Python.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.pairs import DifferentObject
from capture.frames.values import instances, numbers, sets
from capture.frames.values.arrays import FAMILIES, ArrayValue, GraphValue, ScalarValue, graph_value
from capture.frames.values.base import Opaque, Value
from capture.frames.values.comparing import Unchanging
from capture.frames.values.constants import LARGEST_LENGTH, OPERATORS, PLAIN, Constant, compute, require_plain
from capture.frames.values.containers import DictValue, ListValue, SequenceValue, TupleValue
from capture.frames.values.functions import BoundMethodValue, FunctionValue, MethodValue
from capture.frames.values.instances import Instance, NamedTupleValue
from capture.frames.values.keys import SliceValue
from capture.frames.values.numbers import NumberValue
from capture.frames.values.numpy_calls import call_numpy, first_of
from capture.frames.values.objects import CallableValue, ModuleValue
from capture.frames.values.results import ChosenValue, ComputedNumber, binary_of_sizes
from capture.frames.values.sets import SetValue
from capture.ir import op as ops
from capture.ir.complexes import ROUNDED, is_complex
from capture.ir.graph import Node, Step, buffer, region
from capture.ir.passes.warnings import cast_may_warn
from capture.ir.sizes import asking, same
from capture.ir.types import ArrayType

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

COMPARISONS = frozenset({"<", "<=", "==", "!=", ">", ">="})
SCALARS = frozenset(map(type, [dtype.type() for dtype in map(np.dtype, "?bhilqBHILQfd")]))
EXACT = PLAIN | SCALARS


def without_assignment(symbol: str) -> str:
    """``+`` for ``+=``; comparisons stay as they are."""
    return symbol if symbol in COMPARISONS else symbol.removesuffix("=")


# Constants --------------------------------------------------------------------------------------------------------
def _constants(tracer: Tracer, symbol: str, left: Any, right: Any) -> Value:
    if type(left.value) is frozenset or type(right.value) is frozenset:
        return sets.binary(tracer, symbol, left, right)
    plain = type(left.value) in EXACT and type(right.value) in EXACT
    same = isinstance(left.value, np.dtype | type) and isinstance(right.value, np.dtype | type | str)
    if plain or (same and symbol in ("==", "!=")):
        return tracer.constant(compute(without_assignment(symbol), left.value, right.value))
    if symbol == "|" and _is_type(left.value) and _is_type(right.value):
        return tracer.constant(left.value | right.value)
    raise GraphBreak(f"{left.describe()} {symbol} {right.describe()} is left to Python")


def _is_type(value: Any) -> bool:
    return type(value) in (type, UnionType, type(None))


# Arrays -----------------------------------------------------------------------------------------------------------
def _arrays(tracer: Tracer, symbol: str, left: Any, right: Any) -> Value:
    plain = without_assignment(symbol)
    if plain != symbol and isinstance(left, ArrayValue):
        return _in_place(tracer, symbol, left, right)
    return first_of(
        tracer,
        lambda: tracer.result(_operator(tracer, plain, left, right)),
        lambda: call_numpy(tracer, ("operator", plain), (left, right), {}),
    )


def _operator(tracer: Tracer, symbol: str, left: Value, right: Value) -> Any:
    op = ops.for_operator(symbol)
    if op is None:
        raise GraphBreak(f"the operator {symbol} on arrays has no graph form", "op")
    return tracer.add_call(op, left.in_graph(tracer), right.in_graph(tracer))


def _in_place(tracer: Tracer, symbol: str, left: ArrayValue, right: Value) -> Value:
    """``x += y``: the ufunc with ``out=x``, which casts by the rule ``same_kind`` and keeps x's shape."""
    if symbol == "@=":
        raise GraphBreak("@= on arrays is left to Python", "op")
    found = _operator(tracer, symbol[:-1], left, right)
    require_out(tracer, found, left.type)
    write_result(tracer, found, left, (left, right))
    return left


def write_result(
    tracer: Tracer, found: Node, target: ArrayValue, operands: Sequence[Value], mask: Value | None = None
) -> None:
    """Write what a ufunc gives for ``operands`` into its ``out=``, where the mask is true.

    NumPy casts a buffer at a time, and tells of that as of the ufunc itself. What it first computes aside, since an
    operand is seen in the memory that is written, it casts at the very end: that is left to it.
    """
    said, new, old = "", found.type.dtype, target.type.dtype
    if cast_may_warn(new, old):
        said = _name_of(found.op)
        _require_apart(tracer, target, operands if mask is None else (*operands, mask))
    if mask is not None:
        kept = target.in_graph(tracer)
        if old.kind in "fc" and not np.can_cast(old, new):
            raise GraphBreak("where= with an out= whose old elements NumPy converts, and warns of", "op")
        if np.can_cast(old, new):
            kept = tracer.add_call(ops.get("astype"), kept, dtype=new)
        else:
            found = tracer.add_call(ops.get("astype"), found, dtype=old)
        found = tracer.add_call(ops.get("where"), mask.in_graph(tracer), found, kept)
    tracer.memory.write(target, found, said=said)


def _name_of(op: ops.Op) -> str:
    return op.reference.__name__ if isinstance(op.reference, np.ufunc) else op.label or op.name


def _require_apart(tracer: Tracer, target: ArrayValue, operands: Sequence[Value]) -> None:
    """Refuse operands that show other elements of the memory of ``target``."""
    owner, where = _place(tracer, target)
    for operand in operands:
        if isinstance(operand, ArrayValue):
            other, seen = _place(tracer, operand)
            if other is owner and seen != where:
                raise GraphBreak("out= of another dtype, in the memory of an operand", "overlap")


def _place(tracer: Tracer, array: ArrayValue) -> tuple[Node, tuple[Step, ...]]:
    node = tracer.memory.current(array)
    return buffer(node), region(node)


def require_out(tracer: Tracer, found: Any, target: ArrayType) -> None:
    """Whether NumPy writes a ufunc's result into an array of type ``target``."""
    if not isinstance(found, Node) or not isinstance(found.type, ArrayType):
        raise GraphBreak("a result that is no array is written to an array", "op")
    if not np.can_cast(found.type.dtype, target.dtype, "same_kind"):
        raise GraphBreak(f"a result of dtype {found.type.dtype} is written to an array of {target.dtype}", "op")
    if not _broadcasts(tracer, found.type.shape, target.shape):
        raise GraphBreak("a result is written to an array of another shape", "op")
    is_dense = target.layout is not None and target.layout.dense
    if is_complex(found.type.dtype) and found.target in ROUNDED and not is_dense:
        raise GraphBreak("complex products over strides are rounded as their signs say", "op")


def _broadcasts(tracer: Tracer, shape: tuple[Any, ...], target: tuple[Any, ...]) -> bool:
    """Whether a result of one shape fills an array of the other."""
    pairs = zip(reversed(shape), reversed(target), strict=False)
    try:
        with asking(tracer.graph.known):
            fits = all((size == 1 and type(size) is int) or same(size, goal) for size, goal in pairs)
    except ops.CannotInfer as error:
        raise tracer.refused("out=: ", error) from None
    return len(shape) <= len(target) and fits


# Containers -------------------------------------------------------------------------------------------------------
def _sequences(tracer: Tracer, symbol: str, left: SequenceValue, right: SequenceValue) -> Value:
    if symbol == "+=" and isinstance(left, ListValue):
        left.extend(tracer, right.values)
        return left
    if symbol in ("+", "+="):
        if isinstance(left, TupleValue) and not (left.values and right.values):
            return left if left.values else right  # as CPython does
        return type(left)((*left.values, *right.values))
    if symbol in ("==", "!="):
        items = Unchanging(tracer, left, right)
        same = len(left.values) == len(right.values) and all(map(items.equal, left.values, right.values))
        return Constant(same == (symbol == "=="))
    if symbol in ORDER:
        return _compared(tracer, symbol, left, right)
    raise GraphBreak(f"{left.noun} {symbol} {right.noun} is left to Python")


ORDER = frozenset({"<", "<=", ">", ">="})


def _compared(tracer: Tracer, symbol: str, left: SequenceValue, right: SequenceValue) -> Value:
    """The first items that differ decide, else the lengths."""
    items = Unchanging(tracer, left, right)
    for one, other in zip(left.values, right.values, strict=False):
        if not items.equal(one, other):
            return binary(tracer, symbol, one.real(tracer), other.real(tracer))
    return Constant(OPERATORS[symbol](len(left.values), len(right.values)))


def _extended(tracer: Tracer, symbol: str, left: ListValue, right: Value) -> Value:
    if symbol != "+=":
        raise GraphBreak(f"list {symbol} {right.noun} is left to Python")
    left.extend(tracer, right.items(tracer))
    return left


def _repeated(tracer: Tracer, symbol: str, left: SequenceValue, right: Constant) -> Value:
    count = right.value
    if symbol not in ("*", "*=") or type(count) not in (int, bool):
        raise GraphBreak(f"{left.noun} {symbol} {right.describe()} is left to Python")
    if len(left.values) * max(count, 0) > LARGEST_LENGTH:
        raise GraphBreak("a repeated sequence would be very long", "size")
    values = left.values * max(count, 0)
    if count == 1 and isinstance(left, TupleValue):
        return left  # as CPython does
    if symbol == "*=" and isinstance(left, ListValue):
        left.change(tracer, values)
        return left
    return type(left)(values)


def _formatted(tracer: Tracer, symbol: str, left: Constant, right: Value) -> Value:
    """``"%s" % (value,)``."""
    if symbol in ("%", "%=") and type(left.value) in (str, bytes):
        require_plain(tracer, right)
        return tracer.evaluate(operator.mod, (left, right), {})
    raise GraphBreak(f"{left.describe()} {symbol} {right.describe()} is left to Python")


def _repeated_right(tracer: Tracer, symbol: str, left: Constant, right: SequenceValue) -> Value:
    if type(left.value) in (str, bytes):
        return _formatted(tracer, symbol, left, right)
    return _repeated(tracer, symbol.removesuffix("="), right, left)


def _dicts(tracer: Tracer, symbol: str, left: DictValue, right: DictValue) -> Value:
    if symbol == "|":
        return DictValue({**left.entries, **right.entries})
    if symbol == "|=":
        left.update(tracer, right.entries)
        return left
    if symbol in ("==", "!="):
        same, items = left.entries.keys() == right.entries.keys(), Unchanging(tracer, left, right)
        same = same and all(items.equal(value, right.entries[key]) for key, value in left.entries.items())
        return Constant(same == (symbol == "=="))
    raise GraphBreak(f"dict {symbol} dict is left to Python")


def _pairs(*rows: tuple[Any, Any, Callable[..., Value]]) -> Mapping[tuple[type, type], Callable[..., Value]]:
    table: dict[tuple[type, type], Callable[..., Value]] = {}
    for lefts, rights, function in rows:
        table.update(dict.fromkeys(itertools.product(lefts, rights), function))
    return table


def _apart(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value:
    found = binary_of_sizes(tracer, symbol, left, right)
    if found is not None:
        return found
    return tracer.apart(lambda inside: inside.binary(symbol, left, right))


def _scalar_apart(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value:
    """A NumPy scalar and a number that the graph has computed: an int, of which operations on arrays would have to know
    what it may be, by a program."""
    return first_of(
        tracer,
        lambda: _arrays(tracer, symbol, left, right),
        lambda: tracer.apart(lambda inside: inside.binary(symbol, left, right)),
    )


_OPERANDS = (*FAMILIES, Constant, NumberValue, ComputedNumber)
BINARY = _pairs(
    ((Constant,), (Constant,), _constants),
    ((CallableValue, Constant), (CallableValue,), _constants),
    ((CallableValue,), (Constant,), _constants),
    (FAMILIES, _OPERANDS, _arrays),
    ((Constant, NumberValue, ComputedNumber), FAMILIES, _arrays),
    ((ScalarValue,), (ComputedNumber,), _scalar_apart),
    ((ComputedNumber,), (ScalarValue,), _scalar_apart),
    ((ComputedNumber,), (Constant, NumberValue, ComputedNumber), _apart),
    ((Constant, NumberValue), (ComputedNumber,), _apart),
    ((NumberValue,), (Constant, NumberValue), numbers.binary),
    ((Constant,), (NumberValue,), numbers.binary),
    ((TupleValue,), (TupleValue,), _sequences),
    ((ListValue,), (ListValue,), _sequences),
    ((ListValue,), (TupleValue,), _extended),
    ((TupleValue, ListValue), (Constant,), _repeated),
    ((Constant,), (TupleValue, ListValue), _repeated_right),
    ((Constant,), (DictValue,), _formatted),
    ((DictValue,), (DictValue,), _dicts),
    ((SetValue,), (SetValue, Constant), sets.binary),
    ((Constant,), (SetValue,), sets.binary),
)


def binary(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value:
    """``left symbol right`` of values that have been looked at; comparisons too."""
    row = BINARY.get((type(left), type(right)))
    if row is not None:
        return row(tracer, symbol, left, right)
    plain = tuple(instances.without_class(tracer, value, symbol) for value in (left, right))
    if any(isinstance(value, FAMILIES) for value in plain):
        plain = tuple(_strong(tracer, new, old) for new, old in zip(plain, (left, right), strict=True))
    if plain != (left, right) and not any(isinstance(value, Instance) for value in plain):
        return binary(tracer, symbol, *plain)
    if isinstance(left, Instance) or isinstance(right, Instance):
        return instances.binary(tracer, symbol, left, right)
    raise GraphBreak(f"{left.describe()} {symbol} {right.describe()} is left to Python")


class _Whole(int):
    """An int that is no exact one."""


SUBCLASSES_ARE_WEAK = (np.zeros(1, np.uint8) + _Whole(1)).dtype == np.uint8
"""Whether NumPy takes numbers of subclasses for Python numbers (2.0), not for its own (from 2.1 on)."""


def _strong(tracer: Tracer, value: Value, given: Value) -> Value:
    """A number of a subclass of int or float as NumPy takes it: from 2.1 on only exact Python numbers are weak."""
    if SUBCLASSES_ARE_WEAK or value is given:
        return value
    if not isinstance(value, Constant) or type(value.value) not in (int, float):
        return value
    try:
        return graph_value(tracer.graph.constant(np.array(value.value)[()]))
    except TypeError:  # an int that no dtype holds
        raise GraphBreak(f"{given.describe()} is too large for an array operation", "op") from None


# Unary ------------------------------------------------------------------------------------------------------------
def _unary_constant(tracer: Tracer, symbol: str, value: Constant) -> Value:
    if type(value.value) not in EXACT:
        raise GraphBreak(f"{symbol} of {value.describe()}")
    return tracer.constant(compute(symbol, value.value))


def _unary_array(tracer: Tracer, symbol: str, value: GraphValue) -> Value:
    op = ops.for_operator(symbol)
    if op is None:
        raise GraphBreak(f"the operator {symbol} on arrays has no graph form", "op")
    return first_of(
        tracer,
        lambda: tracer.result(tracer.add_call(op, value.in_graph(tracer))),
        lambda: call_numpy(tracer, ("operator", symbol), (value,), {}),
    )


UNARY: Mapping[type, Callable[..., Value]] = {
    Constant: _unary_constant,
    ArrayValue: _unary_array,
    ScalarValue: _unary_array,
    NumberValue: numbers.unary,
    ComputedNumber: lambda tracer, symbol, value: tracer.apart(lambda inside: inside.unary(symbol, value)),
}


def unary(tracer: Tracer, symbol: str, value: Value) -> Value:
    """``-x``, ``+x``, ``~x``."""
    if tracer.inside is not None and tracer.inside.is_inside(value):
        return tracer.inside.unary(symbol, value)
    if isinstance(value, Instance):
        return instances.unary(tracer, symbol, value)
    row = UNARY.get(type(value))
    if row is None:
        raise GraphBreak(f"{symbol} of {value.describe()} is left to Python")
    return row(tracer, symbol, value)


# Identity and membership ------------------------------------------------------------------------------------------
SINGLETONS = (None, True, False, Ellipsis, NotImplemented)
_FRESH = (TupleValue, SliceValue, MethodValue, NamedTupleValue, BoundMethodValue)
KNOWN_OBJECTS = (FunctionValue, ModuleValue)


def identical(tracer: Tracer, left: Value, right: Value) -> bool:
    """``left is right``."""
    if left is right:
        return True
    pair = (left, right)
    if tracer.inside is not None and any(map(tracer.inside.is_inside, pair)):
        return _not_singleton_inside(tracer, left, right)
    if any(isinstance(value, ChosenValue) for value in pair):
        raise GraphBreak("identity of one of several objects is left to Python")
    if any(isinstance(value, ScalarValue | NumberValue | ComputedNumber) or type(value) in _FRESH for value in pair):
        return _not_singleton(left, right)
    if isinstance(left, Constant | CallableValue) and isinstance(right, Constant | CallableValue):
        return _same_known(left, right)
    if isinstance(left, KNOWN_OBJECTS) and isinstance(right, KNOWN_OBJECTS):
        return left.concrete(tracer) is right.concrete(tracer)
    if isinstance(left, Opaque) and isinstance(right, Opaque):
        return _same_outside(tracer, left, right)
    if left.source is not None and right.source is not None and type(left) is type(right):
        tracer.guard(left.source, DifferentObject(right.source))
    return False  # two families, or two objects of which each has one value


def _not_singleton_inside(tracer: Tracer, left: Value, right: Value) -> bool:
    """Of a value that is known when a loop runs: it is not None, and which of two objects it is nobody can say."""
    if any(isinstance(value, Constant) and (value.value is None or value.value is Ellipsis) for value in (left, right)):
        return False
    raise GraphBreak("identity of objects inside a loop is left to Python")


def _not_singleton(left: Value, right: Value) -> bool:
    if any(_may_be_true(value) for value in (left, right)):
        raise GraphBreak("identity of a truth value that changes is left to Python")
    if any(isinstance(value, Constant) and any(value.value is one for one in SINGLETONS) for value in (left, right)):
        return False
    raise GraphBreak("identity of objects that are made anew is left to Python")


def _may_be_true(value: Value) -> bool:
    """Whether it is one of two singletons."""
    if isinstance(value, ComputedNumber):
        return value.type.python is bool
    return isinstance(value, NumberValue) and value.python is bool


def _same_known(left: Any, right: Any) -> bool:
    if left.value is right.value:
        numbers = type(left.value) in EXACT and not any(left.value is one for one in SINGLETONS)
        if not numbers or (left.source is None and right.source is None):
            return True
        raise GraphBreak("identity of numbers or strings is left to Python")
    if type(left.value) in EXACT and type(left.value) is type(right.value) and left.value == right.value:
        raise GraphBreak("identity of equal numbers or strings is left to Python")
    return False


def _same_outside(tracer: Tracer, left: Opaque, right: Opaque) -> bool:
    if left.example is right.example:
        raise GraphBreak("identity of two ways to one object is left to Python")
    assert left.source is not None and right.source is not None
    tracer.guard(left.source, DifferentObject(right.source))
    return False


def contains(tracer: Tracer, container: Value, item: Value) -> bool:
    """``item in container``."""
    return container.contains(tracer, item)
