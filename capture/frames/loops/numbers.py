"""Python's computing with numbers inside a program.

In: symbols of operators and builtins, values. Out: values of ``number`` steps.

>>> inside.number("+", InsideNumber(i), Constant(1))         # %i_1: int = number(%i, 1, symbol='+')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.complexes import is_complex_value, number_kind, number_power
from capture.frames.loops.values import (
    UNBOUND,
    EitherType,
    EitherValue,
    GrowingList,
    InsideArray,
    InsideNumber,
    InsideScalar,
    Kind,
    MaybeType,
    MaybeValue,
    Stream,
    UnknownValue,
    joined,
)
from capture.frames.loops.writing import OpenBlock, Writer
from capture.frames.values.base import Value
from capture.frames.values.constants import OPERATORS, Constant
from capture.ir.graph import Node
from capture.ir.program import NUMBERS
from capture.ir.types import PYTHON_NUMBERS, NumberType, scalar_type

COMPARISONS = frozenset({"<", "<=", "==", "!=", ">", ">="})


class Numbers(Writer):
    """What is done to numbers."""

    # operands -----------------------------------------------------------------------------------------------------
    def arg(self, value: Value) -> Any:
        """A value as an argument of a step: a node or a literal."""
        found = value.real(self.tracer)
        if isinstance(found, InsideNumber | InsideScalar | InsideArray):
            return found.node
        if isinstance(found, Constant) and (
            type(found.value) in PYTHON_NUMBERS or isinstance(found.value, np.generic)
        ):
            if type(found.value) is int and not -(2**62) < found.value < 2**62:
                raise GraphBreak("a very large int inside a loop", "loop")
            return found.value
        raise GraphBreak(f"{value.describe()} is no operand inside a loop", "loop")

    def number_of(self, value: Any) -> Value:
        return InsideNumber(value) if isinstance(value, Node) else Constant(value)

    def _is_number(self, value: Value) -> bool:
        return isinstance(value, InsideNumber) or (
            isinstance(value, Constant) and type(value.value) in PYTHON_NUMBERS
        )

    def python_of(self, value: Value) -> type:
        return value.python if isinstance(value, InsideNumber) else type(value.value)  # type: ignore[attr-defined]

    # kinds --------------------------------------------------------------------------------------------------------
    def kinds(self, values: Sequence[Value]) -> Kind | None:
        found: Kind | None = None
        for number, value in enumerate(values):
            kind = self.kind(value)
            found = kind if number == 0 else joined(found, kind)
            if found is None:
                return None
        return found

    def kind(self, value: Value) -> Kind | None:
        """What a parameter must be to hold the value."""
        if isinstance(value, UnknownValue):
            return None
        if value is UNBOUND:
            return MaybeType(None)
        if isinstance(value, MaybeValue):
            return MaybeType(self.kind(value.value))
        found = value.real(self.tracer) if not isinstance(value, Stream) else value
        if isinstance(found, EitherValue):
            return EitherType(found.python, found.type)
        if isinstance(found, InsideNumber | InsideScalar | InsideArray | GrowingList):
            return found.type  # type: ignore[no-any-return]
        if isinstance(found, Constant):
            if type(found.value) in PYTHON_NUMBERS:
                return NumberType(type(found.value))
            if isinstance(found.value, np.generic) and found.value.dtype.kind in "biufc":
                return scalar_type(found.value.dtype)
        return None

    # numbers ------------------------------------------------------------------------------------------------------
    def number(self, symbol: str, *values: Value, wraps: bool = False) -> Value:
        """Python's own operator or function on numbers; scalars for ``bool``, ``int`` and ``float``."""
        found = [value.real(self.tracer) for value in values]
        if all(isinstance(value, Constant) for value in found):
            return self.tracer.evaluate(OPERATORS.get(symbol) or NUMBERS[symbol], found, {})
        if symbol == "**" and any(map(is_complex_value, found)):
            return number_power(self, *found)  # type: ignore[arg-type]
        kind = self._number_kind(symbol, found)
        params: dict[str, Any] = {"symbol": symbol, **({"wraps": True} if wraps else {})}
        return InsideNumber(self.step("number", *map(self.arg, found), type=NumberType(kind), **params))

    def _number_kind(self, symbol: str, values: Sequence[Value]) -> type:
        if symbol in _KINDS or symbol.startswith("math."):
            return _KINDS.get(symbol, float)
        kinds = [self.python_of(value) for value in values if self._is_number(value)]
        if len(kinds) != len(values):
            raise GraphBreak(f"{symbol} of {', '.join(value.describe() for value in values)} inside a loop", "loop")
        if complex in kinds:
            if symbol in ("==", "!="):
                self._require_small(values)
            return number_kind(symbol)
        if symbol in COMPARISONS:
            if len(set(kinds) - {bool}) > 1:
                self._require_small(values)
            return bool
        if symbol == "/":
            return float
        if symbol == "**":
            return self._power_kind(kinds, values[1])
        if symbol in ("&", "|", "^") and kinds == [bool, bool]:
            return bool
        if symbol in ("&", "|", "^", "<<", ">>", "unary ~") and float in kinds:
            raise GraphBreak(f"{symbol} of a float", "loop")
        if symbol in ("min", "max"):
            if len(set(kinds)) > 1:
                raise GraphBreak(f"{symbol} of numbers of several types inside a loop", "loop")
            return kinds[0]
        if symbol == "round":
            return int
        return float if float in kinds else int

    def _require_small(self, values: Sequence[Value]) -> None:
        """Python compares ints and floats exactly: compiled code does for constants that a float holds."""
        ints = [value for value in values if self.python_of(value) is int]
        if not all(isinstance(value, Constant) and abs(value.value) < 2**53 for value in ints):
            raise GraphBreak("an int is compared with a float inside a loop", "loop")

    def _power_kind(self, kinds: Sequence[type], exponent: Value) -> type:
        if float in kinds:
            return float
        if not isinstance(exponent, Constant):
            raise GraphBreak("an int to the power of an int inside a loop", "loop")
        return int if exponent.value >= 0 else float

    def advanced(self, value: Value, step: int | Value) -> Value:
        """A counter that has not reached its end, one step on: by one it cannot leave the 64 bits that hold the end."""
        if isinstance(step, Value):
            return self.number("+", value, step)
        return self.number("+", value, Constant(step), wraps=abs(step) == 1)

    def both(self, one: Value, other: Value) -> Value:
        return self.number("&", one, other)

    def truth(self, value: Value) -> Any:
        """A bool as a node."""
        found = value.real(self.tracer)
        if isinstance(found, InsideNumber) and found.python is bool:
            return found.node
        if isinstance(found, InsideArray):
            if found.type.ndim:
                raise GraphBreak("a decision on an array inside a loop", "branch")
            found = InsideScalar(self.step("load", found.node, (), type=scalar_type(found.type.dtype)))
        if isinstance(found, EitherValue):
            found = InsideScalar(found.node)
        return self.arg(self.number("bool", found))

    def either_parts(self, value: Value, kind: EitherType, block: OpenBlock | None = None) -> tuple[Any, Any]:
        """What makes up an ``EitherValue`` for a number, a scalar or one of these: a scalar, and whether it is weak."""
        if isinstance(value, EitherValue):
            return value.node, value.weak
        weak = self._is_number(value)
        return (self.as_scalar(value, kind.scalar.dtype, block) if weak else self.arg(value)), weak

    def as_scalar(self, value: Value, dtype: np.dtype, block: OpenBlock | None = None) -> Any:
        """A Python number as a scalar of a dtype."""
        arg = self.arg(value)
        if not isinstance(arg, Node):
            return dtype.type(arg)
        return self.step("scalar", arg, type=scalar_type(dtype), block=block, dtype=dtype)


_KINDS: Mapping[str, type] = {
    "bool": bool, "int": int, "float": float, "complex": complex, "not": bool,
    "math.floor": int, "math.ceil": int, "math.trunc": int,
    "math.isnan": bool, "math.isinf": bool, "math.isfinite": bool, "math.gcd": int,
}  # fmt: skip
