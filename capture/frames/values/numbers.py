"""Python numbers that change from call to call: inputs of the graph, and Python's arithmetic on them.

In: an int or float whose guard has failed because it was another one. Out: a value that array operations take as an
operand of unknown value, and that Python's operators turn into more such values, as long as they cannot raise. What
is computed is not in the graph: where it is needed, Python's own operator runs.

    for i in range(n):
        x = x + y * (i + 1)        # one variant for all rounds: y * placeholder, fed with i + 1

Ints are bounded, by a guard and then by interval arithmetic, so that they fit an int64 and convert to floats exactly.
Any other use needs the number itself: ``Specialise`` starts the trace again with it as a constant.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.guards import NumberIs, TypeIs
from capture.frames.sources import LARGEST_LEN, Dimension, Len
from capture.frames.values.base import Value
from capture.frames.values.constants import OPERATORS, Constant, Failed
from capture.ir.shapes import (
    Expr,
    Relation,
    Symbol,
    TooComplex,
    add,
    eq,
    floordiv,
    ge,
    gt,
    le,
    lt,
    modulo,
    multiply,
    ne,
)
from capture.ir.types import ArrayType, NumberType

if TYPE_CHECKING:
    from capture.frames.loops.evaluating import Inside
    from capture.frames.rebuild import Builder
    from capture.frames.sources import Source
    from capture.frames.tracer import Tracer
    from capture.ir.graph import Graph, Node

Range = tuple[int, int]
Span = tuple[float, float]

EXACT_INTS: Range = (-(2**53), 2**53)
"""The ints that a float64 holds."""
RANGES: Sequence[Range] = ((0, 2**31 - 1), (-(2**31), 2**31 - 1), EXACT_INTS)
"""What is guarded of an int: the first of these that it is in."""
LENGTHS: Sequence[Range] = ((0, LARGEST_LEN),)
"""The same for the length of a list."""

_SINGLE = np.finfo(np.float32)
SINGLES = float(_SINGLE.smallest_normal), float(_SINGLE.max)
"""Sizes of floats that neither overflow nor lose digits at the lower end as float32."""


class Specialise(Exception):
    """Numbers from these places must be known, ``why`` in words. The trace starts again."""

    def __init__(self, sources: frozenset[Source], why: str = "its value is needed") -> None:
        super().__init__(why)
        self.sources = sources
        self.why = why


class NumberValue(Value):
    """A Python int, float or bool that may be another one at the next call.

    ``range`` bounds an int (None: no bound is known), ``single`` says that a float is one of ``SINGLES``. One that is
    computed has no source, but a ``symbol`` (of an operator or the name of a function) and ``parts``. ``example`` is
    what it is this time. ``size`` is an int as a size expression, ``relation`` a bool as a statement about sizes; None
    where it is none. ``span`` bounds a float, unless it is NaN.
    """

    __slots__ = ("example", "function", "node", "parts", "range", "relation", "single", "size", "span")
    noun = "number"
    is_settled_once = True

    def __init__(
        self,
        example: Any,
        bounds: Range | None = None,
        single: bool = False,
        source: Source | None = None,
        function: Callable[..., Any] | None = None,
        parts: Sequence[Value] = (),
        size: Any = None,
        relation: Relation | None = None,
        span: Span | None = None,
    ) -> None:
        super().__init__(source)
        self.span = span
        self.example = example
        self.size: Any = size
        self.relation = relation
        self.range = bounds if bounds is not None or size is None else _range_of(size)
        self.single = single
        self.function = function
        self.parts = tuple(parts)
        self.node: Node | None = None

    def real(self, tracer: Tracer) -> Value:
        return self if tracer.inside is None else tracer.inside.inside(self)

    @property
    def python(self) -> type:
        return type(self.example)

    @property
    def sources(self) -> frozenset[Source]:
        """Where the numbers come from that it depends on."""
        if self.source is not None:
            return frozenset({self.source})
        return frozenset().union(*(part.sources for part in self.parts if isinstance(part, NumberValue)))

    def describe_source(self) -> str:
        return self.source.name() if self.source is not None else "a number"

    def python_type(self, tracer: Tracer) -> type:
        return self.python

    def truth(self, tracer: Tracer) -> bool:
        if self.relation is not None:
            return tracer.sizes.branch(self.relation)
        if self.size is not None:
            return tracer.sizes.branch(ne(self.size, 0))
        raise GraphBreak(f"a branch on {self.describe()}, which changes from call to call", "number")

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if (self.python, name) in PARTS:
            return PARTS[self.python, name](self)
        if (self.python, name) in METHODS:
            return tracer.method(self, name)
        return self.concrete(tracer)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if args or kwargs:
            return super().call_method(tracer, name, args, kwargs)
        return METHODS[self.python, name](self)

    def iterate(self, tracer: Tracer) -> Value:
        raise Failed(TypeError(f"{self.python.__name__!r} object is not iterable"), "iteration", exact=True)

    def concrete(self, tracer: Tracer) -> NoReturn:
        changing = tracer.changing
        if all(source in changing and changing.had_its_share(source) for source in self.sources):
            raise GraphBreak(f"the value of {self.describe()}, which changes from call to call, is needed", "number")
        raise Specialise(self.sources)

    def in_graph(self, tracer: Tracer) -> Any:
        if self.node is None:
            tracer.journal.set(self, "node", self._new_node(tracer))
        return self.node

    def _new_node(self, tracer: Tracer) -> Any:
        if self.relation is not None:
            return self.truth(tracer)
        if self.python is float:
            return tracer.memory.number(self, NumberType(float))
        if self.python is int and self.size is not None and not self.is_input:
            self._require_exact(tracer)
            tracer.sizes.require_inputs(self.size)
            return tracer.graph.call("size_number", size=self.size)
        if self.python is int and self.range is not None and is_within(self.range, EXACT_INTS):
            symbol = self.size if self.size is not None else Symbol(f"number_{len(tracer.graph)}", *self.range)
            return tracer.memory.number(self, NumberType(int, symbol))
        raise GraphBreak(f"{self.describe()} as an operand of an array operation is left to Python", "op")

    @property
    def is_input(self) -> bool:
        """Whether it comes as an int from outside, not from the shape of an array."""
        return self.source is not None and not isinstance(self.source, Dimension)

    def _require_exact(self, tracer: Tracer) -> None:
        """An int in a graph is one that a float64 holds."""
        if self.range is None or not is_within(self.range, EXACT_INTS):
            low, high = EXACT_INTS
            if not all(map(tracer.sizes.answer, (le(low, self.size), le(self.size, high)))):
                raise GraphBreak(f"{self.describe()} is too large for an array operation", "op")

    def rebuild(self, build: Builder) -> None:
        build.call(self.function, self.parts)


def require_constant(tracer: Tracer, value: Value, but_sizes: bool = False) -> None:
    """A break for a number that changes (``but_sizes``: unless it is a size): Python does what is done with it."""
    found = value.real(tracer)
    if isinstance(found, NumberValue) and not (but_sizes and found.size is not None):
        words = f"{found.describe()}, which changes from call to call, is used other than in arithmetic"
        raise GraphBreak(words, "number")


def settled(tracer: Tracer, value: Value) -> Value:
    """What a comparison of numbers that change comes to, as a bool: a guard says so from there on."""
    is_comparison = isinstance(value, NumberValue) and value.relation is not None
    return Constant(value.truth(tracer)) if is_comparison else value


def call_settled(tracer: Tracer, callee: Value, args: Sequence[Value]) -> Value | None:
    """A call with such comparisons as bools; None if there are none."""
    found = [settled(tracer, arg) for arg in args]
    return None if all(map(operator.is_, found, args)) else tracer.call(callee, found, {})


def is_within(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def from_outside(tracer: Tracer, source: Source, example: int | float) -> NumberValue:
    """The value of a number that changes, under the guard on its range, if it has one."""
    if type(example) is float:
        single = _is_single(example)
        low, high = SINGLES if single else (0.0, math.inf)
        tracer.guard(source, NumberIs(low, high), "it changes from call to call")
        return NumberValue(example, None, single, source)
    for bounds in LENGTHS if isinstance(source, Len) else RANGES:
        if bounds[0] <= example <= bounds[1]:
            tracer.guard(source, NumberIs(*bounds), "it changes from call to call")
            found = NumberValue(example, bounds, False, source)
            tracer.sizes.number(found, *bounds)
            return found
    tracer.guard(source, TypeIs(int), "it changes from call to call")
    return NumberValue(example, source=source)


def _range_of(size: Any) -> Range | None:
    """The bounds of a size that follow from those of its symbols."""
    low, high = size.range if isinstance(size, Expr) else (size, size)
    return (int(low), int(high)) if -math.inf < low and high < math.inf else None


def _is_single(number: float) -> bool:
    return number == 0 or not math.isfinite(number) or SINGLES[0] <= abs(number) <= SINGLES[1]


def require_precision(graph: Graph, numbers: Mapping[Node, Any], start: int) -> None:
    """Refuse nodes from ``start`` on that convert a float of any size to a narrower one: NumPy may warn of that."""
    for node in graph.nodes[start:]:
        wide = [operand for operand in node.inputs if _is_wide(numbers.get(operand)) or _is_computed(operand)]
        if wide and any(_is_narrow(other.type) for other in (node, *node.inputs)):
            raise GraphBreak(f"a float that changes may not fit the float32 of {node.target}", "op")


def _is_wide(value: Any) -> bool:
    return isinstance(value, NumberValue) and value.python is float and not value.single


def _is_computed(node: Node) -> bool:
    return node.kind == "call" and node.target == "part" and node.type == NumberType(float)


def _is_narrow(type: Any) -> bool:
    return isinstance(type, ArrayType) and type.dtype.kind in "fc" and type.dtype.itemsize < 8


# Python's arithmetic ------------------------------------------------------------------------------------------------
class Operand:
    """What the rules below see: a Python type, and for ints the range (None: any) and the size expression, if any."""

    def __init__(self, value: Value) -> None:
        self.constant: Any = None
        self.size: Any = None
        self.span: Span | None = None
        if isinstance(value, NumberValue):
            self.python = value.python
            self.span = value.span
            self.size = value.size
            self.range = (0, 1) if self.python is bool else value.range
            self.example = value.example
            return
        assert isinstance(value, Constant)
        self.constant = self.example = value.value
        self.python = type(value.value)
        self.range = (int(value.value),) * 2 if self.python in (int, bool) else None  # type: ignore[assignment]
        self.size = int(value.value) if self.python in (int, bool) and _is_moderate(int(value.value)) else None

        if self.python is float:
            self.span = (self.constant, self.constant)

    @property
    def is_int(self) -> bool:
        return self.python in (int, bool)

    @property
    def bounds(self) -> Span | None:
        """Between which floats it lies."""
        if self.span is None and self.range is not None and is_within(self.range, EXACT_INTS):
            return float(self.range[0]), float(self.range[1])
        return self.span

    @property
    def fits_float(self) -> bool:
        return self.python is float or (self.range is not None and is_within(self.range, EXACT_INTS))


def _ends(function: Callable[[int, int], int]) -> Callable[[Operand, Operand], Range | None]:
    """The range of a result that is smallest and largest at ends of the operands' ranges."""

    def bounds(left: Operand, right: Operand) -> Range | None:
        if left.range is None or right.range is None:
            return None
        found = [function(a, b) for a in left.range for b in right.range]
        return min(found), max(found)

    return bounds


def _remainders(left: Operand, right: Operand) -> Range | None:
    if right.range is None:
        return None
    low, high = right.range
    return min(low + 1, 0), max(high - 1, 0)


def _quotients(left: Operand, right: Operand) -> Range | None:
    """A divisor that is an int makes nothing larger, but may turn it round."""
    if right.constant is not None:
        return _ends(operator.floordiv)(left, right)
    if left.range is None:
        return None
    largest = max(map(abs, left.range))
    return -largest - 1, largest


def _masked(left: Operand, right: Operand) -> Range:
    return 0, right.constant


def _as_wide(left: Operand, right: Operand) -> Range | None:
    """No bit is set, or differs from the sign, beyond those of the operands."""
    if left.range is None or right.range is None:
        return None
    ends = (*left.range, *right.range)
    limit = 1 << max(number.bit_length() for number in ends)
    return (0 if min(ends) >= 0 else -limit), limit - 1


def _always(tracer: Tracer, left: Operand, right: Operand) -> bool:
    return True


def _divides(tracer: Tracer, left: Operand, right: Operand) -> bool:
    if right.constant is not None:
        return bool(right.constant != 0)
    if right.bounds is not None and (right.bounds[0] > 0 or right.bounds[1] < 0):
        return True
    return right.size is not None and tracer.sizes.answer(ne(right.size, 0))


def _masks(tracer: Tracer, left: Operand, right: Operand) -> bool:
    return left.is_int and right.python is int and right.constant is not None and right.constant >= 0


def _shifts(tracer: Tracer, left: Operand, right: Operand) -> bool:
    return right.python is int and right.range is not None and is_within(right.range, (0, FARTHEST_SHIFT))


FARTHEST_SHIFT = 1 << 10
MOST_BITS = 1 << 16
"""Of two ints that are computed with while tracing."""

INTEGRAL: Mapping[str, tuple[Callable[..., bool], Callable[..., Range | None]]] = {
    "+": (_always, _ends(operator.add)),
    "-": (_always, _ends(operator.sub)),
    "*": (_always, _ends(operator.mul)),
    "//": (_divides, _quotients),
    "%": (_divides, _remainders),
    "&": (_masks, _masked),
    "|": (_always, _as_wide),
    "^": (_always, _as_wide),
    "<<": (_shifts, _ends(operator.lshift)),
    ">>": (_shifts, _ends(operator.rshift)),
}
"""Operators that give ints of ints: when they cannot raise, and the range of the result."""

FLOATING: Mapping[str, Callable[[Any, Operand, Operand], bool]] = {
    "+": _always, "-": _always, "*": _always, "/": _divides, "//": _divides, "%": _divides,
}  # fmt: skip
"""Operators that give a float: when they cannot raise."""

MONOTONE = ("+", "-", "*", "/")
"""Operators whose results are largest and smallest at ends of the operands."""

COMPARISONS: Mapping[str, Callable[[Any, Any], Relation]] = {"<": lt, "<=": le, "==": eq, "!=": ne, ">": gt, ">=": ge}

def _masked_size(size: Any, mask: Any) -> Any:
    """The last bits of an int, also of a negative one, are what is left of it by a power of two."""
    return modulo(size, mask + 1) if isinstance(mask, int) and mask & (mask + 1) == 0 else None


SIZES: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: add((a, b)), "-": lambda a, b: add((a, multiply(b, -1))), "*": multiply,
    "//": floordiv, "%": modulo, "&": _masked_size,
    "<<": lambda a, b: multiply(a, 1 << b) if isinstance(b, int) else None,
    ">>": lambda a, b: floordiv(a, 1 << b) if isinstance(b, int) else None,
}  # fmt: skip
"""Operators that give sizes of sizes, if they do."""


def binary(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value:
    """Python's operator on two numbers of which at least one changes."""
    plain = symbol if symbol in COMPARISONS else symbol.removesuffix("=")
    operands = [value for value in (left, right) if isinstance(value, Constant)]
    if all(type(value.value) in (int, float, bool) for value in operands):
        found = _binary(tracer, plain, left, right)
        if found is None:
            left, right = settled(tracer, left), settled(tracer, right)
            if isinstance(left, Constant) and isinstance(right, Constant):
                return tracer.binary(plain, left, right)
            found = in_the_graph(tracer, lambda inside: inside.binary(plain, left, right))
        if found is not None:
            return found
    raise GraphBreak(f"{left.describe()} {symbol} {right.describe()} is left to Python")


def in_the_graph(tracer: Tracer, compute: Callable[[Inside], Value]) -> Value | None:
    """What may raise is computed in the graph, which then exits; None where it cannot be."""
    if not tracer.settings.options.loops or tracer.memory.is_seen_writing():
        return None
    marks, depth = tracer.mark(), len(tracer.frames)
    try:
        return tracer.apart(compute)
    except GraphBreak:
        tracer.undo(marks, depth)
        return None


def _binary(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value | None:
    a, b = Operand(left), Operand(right)
    function, parts = OPERATORS[symbol], (left, right)
    sized = a.size is not None and b.size is not None
    if symbol in COMPARISONS:
        sides = (a.size, b.size) if sized else _as_whole(symbol, a, b)
        if sides is not None and None in sides:  # no int is equal to what is not whole
            return Constant(symbol == "!=")
        relation = COMPARISONS[symbol](*sides) if sides is not None else None
        return NumberValue(function(a.example, b.example), function=function, parts=parts, relation=relation)
    if a.is_int and b.is_int and symbol in INTEGRAL:
        certain, bounds = INTEGRAL[symbol]
        if certain(tracer, a, b) and a.example.bit_length() + b.example.bit_length() <= MOST_BITS:
            size = _size(symbol, a, b) if sized else None
            if isinstance(size, int):
                return Constant(size)
            return NumberValue(function(a.example, b.example), bounds(a, b), function=function, parts=parts, size=size)
    elif symbol in FLOATING and a.fits_float and b.fits_float and FLOATING[symbol](tracer, a, b):
        span = _span(symbol, a, b)
        return NumberValue(function(a.example, b.example), function=function, parts=parts, span=span)
    elif symbol == "**":
        return _power(tracer, a, b, parts)
    return None


ROUNDED: Mapping[str, Sequence[Callable[[float], int]]] = {
    "<": (math.floor, math.ceil), "<=": (math.ceil, math.floor),
    ">": (math.ceil, math.floor), ">=": (math.floor, math.ceil),
}  # fmt: skip
"""Which int is as good as a float on the left, and on the right, of an int that it is compared with."""


def _as_whole(symbol: str, a: Operand, b: Operand) -> tuple[Any, Any] | None:
    """The sides of a comparison of a size with a float that is known, as sizes: ``n < 3.5`` is ``n < 4``.

    None in place of a float that no int is equal to; None for other operands.
    """
    side = 1 if a.size is not None else 0
    size, number = (b.size, a.constant) if side == 0 else (a.size, b.constant)
    if size is None or type(number) is not float or not abs(number) < MODERATE:
        return None
    whole = ROUNDED[symbol][side](number) if symbol in ROUNDED else int(number) if number.is_integer() else None
    return (size, whole) if side else (whole, size)


def _span(symbol: str, a: Operand, b: Operand) -> Span | None:
    """Bounds of a float: rounding keeps order, so that they are computed as the float itself is."""
    if symbol not in MONOTONE or a.bounds is None or b.bounds is None:
        return None
    if symbol == "/" and b.bounds[0] <= 0 <= b.bounds[1]:
        return None
    found = [OPERATORS[symbol](x, y) for x in a.bounds for y in b.bounds]
    return None if any(map(math.isnan, found)) else (min(found), max(found))


def _size(symbol: str, a: Operand, b: Operand) -> Any:
    """The result as a size; None where it is none, or grows too large to reason about."""
    try:
        size = SIZES[symbol](a.size, b.size) if symbol in SIZES else None
    except TooComplex:
        return None
    return size if size is None or _is_moderate(size) else None


MODERATE = 1 << 62


def _is_moderate(size: Any) -> bool:
    """Whether guards on it can be computed with: its numbers, and the difference of two such, fit an int64."""
    if isinstance(size, int):
        return abs(size) < MODERATE
    terms, constant = size.linear
    return all(abs(number) < MODERATE for number in (constant, *(coefficient for _, coefficient in terms)))


LARGEST_POWER = 8
LARGEST_EXPONENT, LARGEST_BASE = 64, 1 << 16
"""Of a number that is known to an int that changes but is known to be small."""


def _power(tracer: Tracer, a: Operand, b: Operand, parts: Sequence[Value]) -> Value | None:
    """A small power of an int, a size to a float that is known (``d ** -0.5``), what decays (``0.99 ** n``), a sign."""
    if type(a.constant) is float and 0 < abs(a.constant) <= 1 and b.python is int and b.range and b.range[0] >= 0:
        span = (0.0 if a.constant > 0 else -1.0, 1.0)
        return NumberValue(a.constant**b.example, function=operator.pow, parts=parts, span=span)
    if type(a.constant) is int and b.python is int and b.range and b.range[0] >= 0:
        if abs(a.constant) <= 1:
            return NumberValue(a.constant**b.example, (-1, 1), function=operator.pow, parts=parts)
        if b.range[1] <= LARGEST_EXPONENT and abs(a.constant) <= LARGEST_BASE:
            largest = abs(a.constant) ** b.range[1]
            bounds = (1 if a.constant > 0 else -largest, largest)
            return NumberValue(a.constant**b.example, bounds, function=operator.pow, parts=parts)
    if a.size is None or not a.fits_float:
        return None
    if b.python is int and b.constant is not None and 1 <= b.constant <= LARGEST_POWER:
        return _product(tracer, parts[0], b.constant)
    if type(b.constant) is not float or abs(b.constant) > 1:
        return None
    least = 0 if b.constant >= 0 else 1
    if not tracer.sizes.answer(ge(a.size, least)):
        return None
    return NumberValue(a.example**b.constant, function=operator.pow, parts=parts)


def _product(tracer: Tracer, value: Value, count: int) -> Value | None:
    result: Value | None = value
    for _ in range(count - 1):
        result = None if result is None else _binary(tracer, "*", result, value)
    return result


def unary(tracer: Tracer, symbol: str, value: NumberValue) -> Value:
    """``-n``, ``+n``, and of an int ``~n``."""
    if symbol == "unary ~" and value.python is int:
        return binary(tracer, "-", unary(tracer, "unary -", value), Constant(1))
    if symbol not in ("unary -", "unary +") or value.python is bool:
        raise GraphBreak(f"{symbol} of {value.describe()} is left to Python")
    bounds = value.range
    if bounds is not None and symbol == "unary -":
        bounds = -bounds[1], -bounds[0]
    function = OPERATORS[symbol]
    size = None if value.size is None else value.size if symbol == "unary +" else multiply(value.size, -1)
    return NumberValue(function(value.example), bounds, value.single, function=function, parts=(value,), size=size)


# Parts and methods ------------------------------------------------------------------------------------------------
def _bits(count: Callable[[int], int]) -> Rule:
    """``n.bit_length()`` and ``n.bit_count()``: no more than the longer one of the ends of its range has."""

    def rule(value: NumberValue) -> Value:
        bounds = value.range and (0, max(number.bit_length() for number in value.range))
        return NumberValue(count(value.example), bounds, function=count, parts=(value,))

    return rule


def _is_integer(value: NumberValue) -> Value:
    return NumberValue(value.example.is_integer(), function=float.is_integer, parts=(value,))


Rule = Callable[[NumberValue], Value]

PARTS: Mapping[tuple[type, str], Rule] = {
    (int, "real"): lambda value: value,
    (int, "imag"): lambda value: Constant(0),
    (int, "numerator"): lambda value: value,
    (int, "denominator"): lambda value: Constant(1),
    (float, "real"): lambda value: value,
    (float, "imag"): lambda value: Constant(0.0),
}
"""Attributes of a number, whatever it is."""

METHODS: Mapping[tuple[type, str], Rule] = {
    (int, "bit_length"): _bits(int.bit_length),
    (int, "bit_count"): _bits(int.bit_count),
    (int, "conjugate"): lambda value: value,
    (float, "conjugate"): lambda value: value,
    (float, "is_integer"): _is_integer,
}
"""Methods that take nothing and cannot raise."""
