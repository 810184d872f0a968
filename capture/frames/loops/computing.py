"""Steps of a program: what Python and NumPy do with values that are known only when it runs.

In: symbols, records of ``capture.ir.ops`` and values. Out: values of new steps; a break for what programs cannot do.

>>> inside.binary("+", InsideNumber(i), Constant(1))         # %i_1: int = number(%i, 1, symbol='+')
>>> inside.binary("*", InsideScalar(x), Constant(2.0))       # %t: f64() = map(%x, 2.0, op='scalar_multiply')

What a step gives is inferred by the record of the operation, as in a graph, from stand-ins of the operands that have
one element along every axis: dtype and rank do not depend on sizes, and how sizes go together is found out when the
program runs. A Python number that is not known is weak, as NEP 50 says; one that may have turned into a scalar
(``EitherValue``) is used where both give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.complexes import (
    is_complex_value,
    leave_where_alone,
    negated,
    part_of,
    require_known_rounding,
    scalar_arithmetic,
)
from capture.frames.loops.indexing import Indexing
from capture.frames.loops.numbers import COMPARISONS
from capture.frames.loops.values import EitherValue, InsideArray, InsideNumber, InsideScalar
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.ir import op as ops
from capture.ir.complexes import is_complex
from capture.ir.graph import Node
from capture.ir.ops.common import LOWERED
from capture.ir.program import DENSE, RankedType
from capture.ir.sizes import Known, asking
from capture.ir.types import ArrayType, NumberType, array_type, scalar_type
from capture.records import dataclass

if TYPE_CHECKING:
    pass

MOST_INSTRUCTIONS = 20_000
MEETS = "what may be a Python number or a NumPy scalar meets a Python number inside a loop"
INTEGRAL = frozenset({"+", "-", "*", "//", "%"})
"""What NumPy's integer scalars warn of when it overflows."""

Inside = InsideNumber | InsideScalar | InsideArray | EitherValue


@dataclass(frozen=True, slots=True)
class Operand:
    """A step's operand as the records of operations see it: a node with the type of its stand-in."""

    value: Any
    type: Any


class Computing(Indexing):
    """Numbers, scalars and arrays."""

    # operators ----------------------------------------------------------------------------------------------------
    def binary(self, symbol: str, left: Value, right: Value) -> Value:
        """``left symbol right``; for ``+=`` and the like on an array, in its place."""
        plain = symbol if symbol in COMPARISONS else symbol.removesuffix("=")
        left, right = left.real(self.tracer), right.real(self.tracer)
        if self._is_number(left) and self._is_number(right):
            return self.number(plain, left, right)
        if plain != symbol and isinstance(left, InsideArray):
            found = self.operate(plain, left, right)
            self._require_same_kind(found, left)
            if plain == "*" and is_complex_value(left) and is_complex_value(right):
                leave_where_alone(self, left)
            self.write(left, found)
            return left
        return self.operate(plain, left, right)

    def operate(self, symbol: str, left: Value, right: Value) -> Value:
        if all(isinstance(value, EitherValue) or self._is_number(value) for value in (left, right)):
            return self._still_either(symbol, left, right)
        return self._computed(symbol, self.strong((left, right), lambda given: self._computed(symbol, given)))

    def _computed(self, symbol: str, operands: Sequence[Value]) -> Value:
        if any(isinstance(value, InsideArray) for value in operands):
            return self._operated(symbol, operands)
        if (found := scalar_arithmetic(self, symbol, operands)) is not None:
            return found
        if symbol in INTEGRAL:
            found = self._integers(symbol, operands)
            if found is not None:
                return found
        shifts = symbol in ("<<", ">>") and all(not self._is_number(value) for value in operands)
        return self.apply(ops.get(_SHIFTS[symbol]), operands, {}) if shifts else self._operated(symbol, operands)

    def _still_either(self, symbol: str, left: Value, right: Value) -> Value:
        """A number as long as its operands are: in 64 bits both compute the same, and leave for what differs."""
        both = [value for value in (left, right) if isinstance(value, EitherValue)]
        exact = symbol in COMPARISONS and all(value.python is int for value in both)
        alike = exact or all(value.type.dtype in _AS_PYTHON[value.python] for value in both)
        same = ("+", "-", "*", "==", "!=") if is_complex_value(both[0]) else ("+", "-", "*", "/", *COMPARISONS)
        if not alike or symbol not in same:
            raise GraphBreak(MEETS, "loop")
        strong, weak = _both_ways((left, right))
        kind = self._number_kind(symbol, weak)
        found = self.operate(symbol, *strong)
        if not isinstance(found, InsideScalar) or found.type.dtype not in _AS_PYTHON[kind]:
            raise GraphBreak("a result that depends on how often a loop has gone round", "loop")
        flags = [self.number_of(value.weak) for value in both]
        flag = flags[0] if len(flags) == 1 else self.number("&", *flags)
        return EitherValue(found.node, self.arg(flag), kind, found.type)

    def _operated(self, symbol: str, operands: Sequence[Value]) -> Value:
        op = ops.for_operator(symbol)
        if op is None:
            raise GraphBreak(f"{symbol} inside a loop", "loop")
        if symbol == "@":
            left, right = operands
            return self.matmul(left, right)
        return self.apply(op, operands, {})

    def _integers(self, symbol: str, operands: Sequence[Value]) -> Value | None:
        """Arithmetic of integer scalars, which warns where it overflows; None for others."""
        ufunc = {"+": "add", "-": "subtract", "*": "multiply", "//": "floor_divide", "%": "remainder"}[symbol]
        types = [self.operand(value).type for value in operands]
        kind = self._inferred(ops.get(ufunc), types, {})
        if kind.dtype.kind not in "iu":
            return None
        node = self.step("integer", *map(self.arg, operands), type=scalar_type(kind.dtype), symbol=symbol)
        return InsideScalar(node)

    def unary(self, symbol: str, value: Value) -> Value:
        value = value.real(self.tracer)
        if isinstance(value, InsideNumber):
            if symbol == "unary +":
                return value if value.python is not bool else self.number("int", value)
            return self.number(symbol, value)
        (value,) = self.strong((value,), lambda given: self._operated(symbol, given))
        if symbol == "unary -" and isinstance(value, InsideScalar) and value.type.dtype.kind in "iu":
            return InsideScalar(self.step("integer", value.node, type=value.type, symbol=symbol))
        if symbol == "unary -" and isinstance(value, InsideScalar) and is_complex_value(value):
            return negated(self, value)
        return self._operated(symbol, (value,))

    def strong(self, values: Sequence[Value], compute: Callable[[Sequence[Value]], Value]) -> list[Value]:
        """The operands, those that are a number or a scalar as scalars, where it makes no difference which."""
        found = [value.real(self.tracer) for value in values]
        if not any(isinstance(value, EitherValue) for value in found):
            return found
        scalars, weak = _both_ways(found)
        if all(isinstance(value, InsideNumber) or self._is_number(value) for value in weak):
            raise GraphBreak(MEETS, "loop")
        kept = self.current.steps
        kinds = []
        for operands in (scalars, weak):
            self.current.steps = list(kept)
            try:
                kinds.append(compute(operands))
            finally:
                self.current.steps = kept
        if getattr(kinds[0], "type", None) != getattr(kinds[1], "type", 0):
            raise GraphBreak("a result that depends on how often a loop has gone round", "loop")
        return scalars

    def _require_same_kind(self, found: Value, target: InsideArray) -> None:
        kind = found.type  # type: ignore[attr-defined]
        if not np.can_cast(kind.dtype, target.type.dtype, "same_kind"):
            raise GraphBreak("a result is written to an array of another kind", "op")
        if isinstance(found, InsideArray) and found.type.ndim > target.type.ndim:
            raise GraphBreak("a result is written to an array of lower rank", "op")

    def matmul(self, left: Value, right: Value, by: str = "matmul") -> Value:
        raise NotImplementedError

    def selected(self, condition: Value, one: Value, other: Value) -> Value:
        raise NotImplementedError

    def part(self, value: Value, name: str) -> Value:
        """``value.real`` or ``value.imag``."""
        return part_of(self, value, name)

    # records ------------------------------------------------------------------------------------------------------
    def operand(self, value: Value) -> Operand:
        """A value as the records see it."""
        arg = self.arg(value)
        if not isinstance(arg, Node):
            return Operand(arg, scalar_type(arg.dtype) if isinstance(arg, np.generic) else arg)
        if isinstance(arg.type, RankedType):
            size = 2 if is_complex(arg.type.dtype) else 1  # NumPy rounds single ones in ways of their own
            return Operand(arg, array_type(arg.type.dtype, (size,) * arg.type.ndim))
        if arg.type == NumberType(int):
            return Operand(arg, NumberType(int, 0))  # that it fits is looked at when the program runs
        if arg.type == NumberType(complex):
            return Operand(arg, 1j)
        return Operand(arg, arg.type)

    def apply(self, op: ops.Op, values: Sequence[Value], params: Mapping[str, Any]) -> Value:
        """A call of a record on operands."""
        with asking(Known()):
            try:
                found = self.call(op, *map(self.operand, values), **params)
            except ops.CannotInfer as error:
                raise GraphBreak(f"{op.name} inside a loop: {error}", "op") from None
        return self._value(found)

    def _value(self, found: Any) -> Value:
        if isinstance(found, Operand) and isinstance(found.value, Node):
            return self.value_of(found.value)
        if isinstance(found, Operand):
            return Constant(found.value)
        raise GraphBreak("an operation that gives several results inside a loop", "loop")

    def call(self, op: ops.Op | str, *operands: Any, **params: Any) -> Any:
        """The same interface as a graph's, for records that stand for others (``expand``)."""
        op = ops.get(op) if isinstance(op, str) else op
        if op.expand is not None:
            if op.name not in EXPANDED:
                raise GraphBreak(f"{op.name} inside a loop", "op")
            return op.expand(self, *operands, **params)
        if not isinstance(op.lower, ops.Pointwise | ops.Reduce):
            raise GraphBreak(f"{op.name} inside a loop", "op")
        types = [each.type if isinstance(each, Operand) else each for each in operands]
        params = op.complete(params)
        if op.canonical is not None:
            params = op.canonical(*types, **params)
        type = self._inferred(op, types, params)
        require_known_rounding(op.name, [each.value if isinstance(each, Operand) else each for each in operands])
        args = [each.value if isinstance(each, Operand) else each for each in operands]
        target = "map" if isinstance(op.lower, ops.Pointwise) else "reduce"
        node = self.step(
            target, *args, type=self._type(type, args), name=op.name, op=op.name, params=tuple(params.items())
        )
        return Operand(node, type)

    def constant(self, value: Any, name: str = "") -> Any:
        return Operand(value, scalar_type(value.dtype))

    def _inferred(self, op: ops.Op, types: Sequence[Any], params: Mapping[str, Any]) -> Any:
        try:
            type = op.result_type(*types, **params)
        except ops.CannotInfer as error:
            raise GraphBreak(f"{op.name} inside a loop: {error}", "op") from None
        if not isinstance(type, ArrayType) or type.dtype not in LOWERED or type.dtype == np.float16:
            raise GraphBreak(f"{op.name} inside a loop gives what loops do not compute with", "op")
        return type

    def _type(self, type: ArrayType, args: Sequence[Any]) -> Any:
        """A result's type in the program: new memory in C order. Axes of one element in all operands stay so."""
        if type.scalar:
            return type
        arrays = [arg.type for arg in args if isinstance(arg, Node) and isinstance(arg.type, RankedType)]
        ones = (
            frozenset(
                axis
                for axis in range(type.ndim)
                if all(type.ndim - array.ndim > axis or axis - type.ndim + array.ndim in array.ones for array in arrays)
            )
            if arrays and all(array.ndim <= type.ndim for array in arrays)
            else frozenset[int]()
        )
        return RankedType(type.dtype, type.ndim, DENSE, ones)


EXPANDED = frozenset(
    {f"operator_{name}" for name in (
        "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "less", "less_equal", "equal",
        "not_equal", "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
        "right_shift", "negative", "positive", "invert", "absolute")}
    | {"conj", "np_where", "np_clip", "ndarray_clip", "ndarray_astype", "ufunc_dtype"}
)  # fmt: skip
"""Records that stand for others and do not look at sizes."""

_SHIFTS = {"<<": "left_shift", ">>": "right_shift"}
_AS_PYTHON: Mapping[type, tuple[np.dtype, ...]] = {kind: (np.dtype(kind),) for kind in (float, int, bool, complex)}
"""The dtype that holds just what the Python type computes."""


def _both_ways(values: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """The operands with those that are a number or a scalar as scalars, and as numbers."""
    scalars = [InsideScalar(value.node) if isinstance(value, EitherValue) else value for value in values]
    numbers = [InsideNumber(_stand_in(value.python)) if isinstance(value, EitherValue) else value for value in values]
    return scalars, numbers


def _stand_in(python: type) -> Node:
    return Node("number", "parameter", "", (), {}, NumberType(python))
