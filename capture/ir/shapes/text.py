"""Sizes as text: Python and C expressions to generate, and a parser of what ``str`` prints.

In: a size (and names for its symbols). Out: an expression of the other language with the same value.

>>> n, k = Symbol("n"), Symbol("k", low=None)
>>> to_python(n // 2 + k, {"n": "x.shape[0]"}), to_c(n // 2 + k // 2, {"n": "sizes[0]"})
('k + x.shape[0] // 2', 'FLOORDIV(k, 2) + sizes[0] / 2')
>>> parse("min(k[..]*n, 7) % 3") == minimum(k * n, 7) % 3
True
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce

from capture.ir.shapes.dialect import MIDDLE, TIGHT, Dialect, Written
from capture.ir.shapes.expr import DECLARED, FloorDiv, Knowledge, Mod, Size, Symbol
from capture.ir.shapes.extremes import maximum, minimum

C_HELPERS = """\
/* Python's // and %, which round towards minus infinity; a divisor of zero, which guards exclude, gives zero. */
static inline __INT64_TYPE__ FLOORDIV(__INT64_TYPE__ a, __INT64_TYPE__ b) {
    if (b == 0) return 0;
    if (b == -1) return (__INT64_TYPE__)(0 - (__UINT64_TYPE__)a); /* the machine traps on the smallest int / -1 */
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline __INT64_TYPE__ FLOORMOD(__INT64_TYPE__ a, __INT64_TYPE__ b) {
    if (b == 0 || b == -1) return 0;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}
static inline __INT64_TYPE__ MINIMUM(__INT64_TYPE__ a, __INT64_TYPE__ b) { return a < b ? a : b; }
static inline __INT64_TYPE__ MAXIMUM(__INT64_TYPE__ a, __INT64_TYPE__ b) { return a > b ? a : b; }
"""
"""Definitions for what ``to_c`` writes; they need no header. Symbols are 64-bit variables."""

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Renamed(Dialect):
    """Symbols under the names the reader knows them by."""

    def __init__(self, names: Mapping[str, str] | None) -> None:
        self.names = names or {}

    def symbol(self, symbol: Symbol) -> str:
        return self.names.get(symbol.name, symbol.name)


class C(Renamed):
    def __init__(self, names: Mapping[str, str] | None, known: Knowledge) -> None:
        super().__init__(names)
        self.known = known

    def number(self, value: int) -> str:
        if abs(value) > INT64_MAX:
            raise OverflowError(f"{value} does not fit a 64-bit size")
        return str(value) if abs(value) <= INT32_MAX else f"{value}LL"

    def power(self, atom: str, exponent: int) -> str:
        return "*".join([atom] * exponent)

    def floordiv(self, size: FloorDiv) -> Written:
        return self._division(size, "/", "FLOORDIV")

    def modulo(self, size: Mod) -> Written:
        return self._division(size, "%", "FLOORMOD")

    def call(self, name: str, sizes: Sequence[Size]) -> str:
        function = {"min": "MINIMUM", "max": "MAXIMUM"}[name]
        return reduce(lambda a, b: f"{function}({a}, {b})", (self.bound(size, 0) for size in sizes))

    def _division(self, size: FloorDiv | Mod, sign: str, function: str) -> Written:
        a, b = size.numerator, size.divisor
        if self.known.at_least(a, 0) and self.known.at_least(b, 1):  # where C rounds as Python does
            return f"{self.bound(a, TIGHT)} {sign} {self.bound(b, TIGHT)}", MIDDLE
        return f"{function}({self.bound(a, 0)}, {self.bound(b, 0)})", TIGHT


def to_python(size: Size, names: Mapping[str, str] | None = None) -> str:
    """A Python expression; ``names`` gives other expressions for some symbols, such as ``x.shape[0]``."""
    return Renamed(names).bound(size, 0)


def to_c(size: Size, names: Mapping[str, str] | None = None, known: Knowledge = DECLARED) -> str:
    """A C expression of 64-bit integers, with plain ``/`` and ``%`` where ``known`` rules out negative operands."""
    return C(names, known).bound(size, 0)


OPERATORS: Mapping[type, Callable[..., Size]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
FUNCTIONS: Mapping[str, Callable[..., Size]] = {"min": minimum, "max": maximum}
ANNOTATION = re.compile(r"\b([^\W\d]\w*)\[(-?\d*)\.\.(-?\d*)\]")


def parse(text: str, symbols: Iterable[Symbol] = ()) -> Size:
    """What ``str`` printed. A name without a range is the one of ``symbols`` with that name, or else a dim."""
    known = {symbol.name: symbol for symbol in symbols} | annotated(text)
    try:
        tree = ast.parse(ANNOTATION.sub(r"\1", text).strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"not a size: {text!r}") from error
    return build(tree, known, text)


def annotated(text: str) -> dict[str, Symbol]:
    """The symbols whose ranges a text states, by name."""
    found: dict[str, Symbol] = {}
    for name, low, high in ANNOTATION.findall(text):
        symbol = Symbol(name, int(low) if low else None, int(high) if high else None)
        if found.setdefault(name, symbol) != symbol:
            raise ValueError(f"two ranges for {name}: {text!r}")
    return found


def build(tree: ast.expr, symbols: Mapping[str, Symbol], text: str) -> Size:
    match tree:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return symbols[name] if name in symbols else Symbol(name)
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](build(left, symbols, text), build(right, symbols, text))
        case ast.UnaryOp(op, operand) if type(op) in OPERATORS:
            return OPERATORS[type(op)](build(operand, symbols, text))
        case ast.Call(ast.Name(id=name), args, []) if name in FUNCTIONS and args:
            return FUNCTIONS[name](*(build(arg, symbols, text) for arg in args))
    raise ValueError(f"not a size: {ast.unparse(tree)!r} in {text!r}")
