"""Trials of NumPy's functions on arrays whose sizes change from call to call.

In: a function, operands whose shapes are size expressions, parameters. Out: the type of its result, whose sizes are
expressions too (of several results, a tuple of types), and what the results come in.

>>> n, m = Symbol("n"), Symbol("m")
>>> str(found_for_open_sizes(np.kron, (array_type("f8", (n, 2)), array_type("f8", (m, 3))), {})[0])
'f64[m*n, 6]'

The function is called with several choices of all symbols. A size of the result is the first expression of a short
list that is right in all of them. Where sizes must be equal (a matrix that is inverted), those that are equal this
time are asked to be so, as few as will do. Then one symbol after the other is small, down to zero: where NumPy raises,
warns or gives something else there, the symbol is asked to be larger. Should a call give something else all the same,
the graph exits, as it does for every extern op that is not as predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer
from capture.ir.ops.stand_ins import arrays_in, call_on_stand_ins, numeric
from capture.ir.shapes import Expr, Size, Symbol, TooComplex, eq, evaluate, maximum, minimum, product
from capture.ir.shapes.ranges import Range
from capture.ir.sizes import UnknownSize, ask, at_least, example_of, range_of_size
from capture.ir.types import ArrayType, Layout, scalar_type
from capture.records import dataclass

type_of = type

Point = Mapping[Symbol, int]
Leaders = Mapping[Symbol, Symbol]
"""For each symbol the one that it must be equal to, which may be itself."""

CHOICES: Sequence[tuple[int, int]] = ((5, 2), (9, 3), (21, -4))
"""First value and step of the symbols, one pair a call, above the ints that stand in it. In the last one the order of
sizes is the other way round.
"""

FEW = 3
"""The value of all symbols in one more choice, if NumPy does not raise there."""

MOST_SYMBOLS, MOST_TRIES = 8, 256

MOST_ELEMENTS = 1 << 12
"""Of operands with which a call is tried with the sizes at hand."""

FEWEST_SMALL, MOST_SMALL = 2, 16
"""What counts as such an int, at least and at most."""

OTHER_NUMBER = 3
"""What numbers stand for in another call: the form of the result must not depend on it."""

_known: dict[str, Any] = {}
_MOST_KNOWN = 1024


@dataclass(frozen=True)
class Call:
    """A call of NumPy's, to be made with values for its symbols."""

    function: Callable[..., Any]
    operands: tuple[Any, ...]
    params: Mapping[str, Any]

    @property
    def arrays(self) -> tuple[ArrayType, ...]:
        return tuple(arrays_in((self.operands, tuple(self.params.values()))))

    @property
    def sizes(self) -> tuple[Size, ...]:
        """Of the operands, each once."""
        return tuple(dict.fromkeys(size for array in self.arrays for size in array.shape))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        found = {symbol for size in self.sizes if isinstance(size, Expr) for symbol in size.symbols}
        return tuple(sorted(found, key=lambda symbol: symbol.name))

    def at(self, point: Point, number: int = 1) -> Any:
        """What it gives; CannotInfer where it raises or warns."""
        standing: dict[Size, int] = {size: _value(size, point) for size in self.sizes if isinstance(size, Expr)}
        if any(value < 0 for value in standing.values()):
            raise CannotInfer("a negative size")
        return call_on_stand_ins(self.function, self.operands, self.params, standing, number)


@dataclass(frozen=True)
class Answer:
    """What trials told: sizes that must be equal, the least value of each symbol, the types, what they come in."""

    equal: tuple[tuple[Symbol, Symbol], ...]
    least: Mapping[Symbol, int]
    type: Any
    container: type


def found_for_open_sizes(
    function: Callable[..., Any], operands: tuple[Any, ...], params: Mapping[str, Any]
) -> tuple[Any, type]:
    call = Call(function, operands, params)
    examples = {symbol: example_of(symbol) for symbol in call.symbols}
    ranges = {symbol: range_of_size(symbol) for symbol in call.symbols}
    key = f"{id(function)} {operands!r} {params!r} {examples} {ranges}"
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        try:
            _known[key] = _answer(call, examples, ranges)
        except CannotInfer as refused:
            _known[key] = refused.with_traceback(None)
    answer = _known[key]
    if isinstance(answer, CannotInfer):
        raise answer.with_traceback(None)
    for symbol, other in answer.equal:
        ask(eq(symbol, other))
    for symbol, least in answer.least.items():
        example = examples[symbol]
        if (example is not None and example < least) or not at_least(symbol, least):
            raise UnknownSize("a function of NumPy's is called on sizes that change", symbol)
    return answer.type, answer.container


class _Unknown(Exception):
    """The trials do not tell."""


def _answer(call: Call, examples: Mapping[Symbol, int | None], ranges: Mapping[Symbol, Range]) -> Answer:
    unknown = UnknownSize("a function of NumPy's is called on sizes that change", *call.symbols)
    leaders = _leaders(call, examples, ranges) if len(call.symbols) <= MOST_SYMBOLS else None
    if leaders is None:
        _refuse_what_always_raises(call, examples)
        raise unknown
    points = [_point(call, choice, leaders, ranges) for choice in CHOICES]
    found = [call.at(point) for point in points]
    few = {symbol: _within(FEW, ranges[symbol]) for symbol in call.symbols}
    type = None
    with suppress(_Unknown, CannotInfer):  # an expression that is right for few elements, too, is better
        type = _joined(call, [*points, few], [*found, call.at(few)])
    try:
        type = type or _joined(call, points, found)
    except _Unknown:
        raise unknown from None
    has_numbers = any(array.scalar for array in call.arrays)
    if has_numbers and not _is_as_told(type, call.at(points[0], OTHER_NUMBER), points[0]):
        raise CannotInfer("a number that the graph computes decides the form of the result")
    least = {symbol: _least(call, type, points[0], leaders, symbol, ranges) for symbol in set(leaders.values())}
    equal = tuple((symbol, leader) for symbol, leader in leaders.items() if symbol is not leader)
    return Answer(equal, least, type, type_of(found[0]))


def _refuse_what_always_raises(call: Call, examples: Mapping[Symbol, int | None]) -> None:
    """What NumPy refuses is no question of sizes that change: it says so where the call is made."""
    point = {symbol: example for symbol, example in examples.items() if example is not None}
    if len(point) < len(examples):
        return
    if sum(prod(_value(size, point) for size in array.shape) for array in call.arrays) <= MOST_ELEMENTS:
        call.at(point)


# Points ---------------------------------------------------------------------------------------------------------------
def _leaders(call: Call, examples: Mapping[Symbol, int | None], ranges: Mapping[Symbol, Range]) -> Leaders | None:
    """The symbols with those that they must be equal to, themselves or others: as many different ones as will do."""
    ways = sorted(_groups(call.symbols, examples), key=lambda found: -len(set(found.values())))
    for leaders in ways[:MOST_TRIES]:
        with suppress(CannotInfer):
            call.at(_point(call, CHOICES[0], leaders, ranges))
            return leaders
    return None


def _groups(symbols: Sequence[Symbol], examples: Mapping[Symbol, int | None]) -> Iterator[Leaders]:
    """All ways to take symbols for equal that are equal this time."""
    if not symbols:
        yield {}
        return
    *others, last = symbols
    for leaders in _groups(others, examples):
        yield {**leaders, last: last}
        for leader in dict.fromkeys(leaders.values()):
            if examples[last] is not None and examples[leader] == examples[last]:
                yield {**leaders, last: leader}


def _point(call: Call, choice: tuple[int, int], leaders: Leaders, ranges: Mapping[Symbol, Range]) -> Point:
    first, step = choice
    wanted = {symbol: _largest_small(call) + first + step * number for number, symbol in enumerate(leaders)}
    return {symbol: _within(wanted[leader], ranges[leader]) for symbol, leader in leaders.items()}


def _within(value: int, limits: Range) -> int:
    return int(min(max(value, limits[0]), limits[1]))


def _least(
    call: Call, type: Any, point: Point, leaders: Leaders, symbol: Symbol, ranges: Mapping[Symbol, Range]
) -> int:
    """The smallest value of a symbol from which on the result is as told."""
    low = _within(0, ranges[symbol])
    for value in range(point[symbol] - 1, low - 1, -1):
        small = {**point, **{other: value for other, leader in leaders.items() if leader is symbol}}
        try:
            told = _is_as_told(type, call.at(small), small)
        except CannotInfer:
            told = False
        if not told:
            return value + 1
    return low


def _largest_small(call: Call) -> int:
    """One more than the numbers that a result may depend on whether a size is above them."""
    numbers = [*_ints((call.operands, tuple(call.params.values()))), *(n for n in call.sizes if isinstance(n, int))]
    return max([FEWEST_SMALL, *(abs(number) + 1 for number in numbers if abs(number) < MOST_SMALL)])


def _ints(value: Any) -> Iterator[int]:
    if type(value) is int:
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _ints(item)


def _value(size: Size, point: Point) -> int:
    return evaluate(size, {symbol.name: value for symbol, value in point.items()})


# Results --------------------------------------------------------------------------------------------------------------
def _joined(call: Call, points: Sequence[Point], results: Sequence[Any]) -> Any:
    """The type of what all the calls gave."""
    first = results[0]
    if any(type_of(result) is not type_of(first) for result in results):
        raise CannotInfer("a result whose form depends on sizes")
    if isinstance(first, tuple | list):
        if any(len(result) != len(first) for result in results):
            raise _Unknown
        return tuple(_joined(call, points, parts) for parts in zip(*results, strict=True))
    if isinstance(first, np.generic):
        return scalar_type(numeric(first.dtype))
    if type_of(first) is not np.ndarray:
        raise CannotInfer(f"a result of type {type_of(first).__name__}")
    layout = Layout.of(first)
    if not layout.dense or len(set(filter(None, layout.ranks))) != sum(rank > 0 for rank in layout.ranks):
        raise CannotInfer("a result whose memory has gaps")
    if any((array.ndim, array.dtype, Layout.of(array)) != (first.ndim, first.dtype, layout) for array in results):
        raise _Unknown
    shape = tuple(_size([array.shape[axis] for array in results], call, points) for axis in range(first.ndim))
    return ArrayType(numeric(first.dtype), shape, layout)


def _size(values: Sequence[int], call: Call, points: Sequence[Point]) -> Size:
    """The first expression that is right at all points."""
    if len(set(values)) == 1:
        return values[0]
    for size in _candidates(values, call, points):
        if [_value(size, point) for point in points] == list(values):
            return size
    raise _Unknown


def _candidates(values: Sequence[int], call: Call, points: Sequence[Point]) -> Iterator[Size]:
    """Sizes that a result may have, up to a number that is added: as an operand, twice that, half, sums, products."""
    sizes = [size for size in call.sizes if isinstance(size, Expr)]
    yield from sizes
    with suppress(TooComplex):
        for shape in _shapes(call, sizes):
            yield from (shape + (values[0] - _value(shape, points[0])), shape)


def _shapes(call: Call, sizes: Sequence[Expr]) -> Iterator[Size]:
    yield from (c * size for size in sizes for c in (1, 2, 3, 4))
    yield from ((size + c) // 2 for size in sizes for c in (0, 1))
    yield from (a * a for a in sizes)
    for a, b in combinations(call.sizes, 2):
        yield from (a + b, a - b, b - a, a * b, minimum(a, b), maximum(a, b))
    yield from (product(array.shape) for array in call.arrays)
    yield from (c * size for size in sizes for c in range(5, MOST_SMALL))


def _is_as_told(type: Any, result: Any, point: Point) -> bool:
    """What the executor looks at: dtype, sizes, strides along axes that have any."""
    if isinstance(type, tuple):
        told = isinstance(result, tuple | list) and len(result) == len(type)
        return told and all(_is_as_told(one, part, point) for one, part in zip(type, result, strict=True))
    if type.scalar or not isinstance(result, np.ndarray):
        return type.scalar and isinstance(result, np.generic) and result.dtype == type.dtype
    if result.dtype != type.dtype or result.shape != tuple(_value(size, point) for size in type.shape):
        return False
    return type.layout.fits(result, range(result.ndim))
