"""Constants: numbers, strings, None, dtypes, types and other immutable objects that are known for certain.

In: the object. Out: Python's own answers, computed at once by Python itself, since operations on exact built-in
types run no user code. An operation that raises becomes a break, so that it raises where the user expects it.

>>> Constant(7).binary("//", Constant(2))
<constant 3>
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.peek import brief
from capture.frames.values.base import NotConcrete, Value
from capture.ir.warned import raised

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.sources import Source
    from capture.frames.tracer import Tracer

NUMBERS = (bool, int, float, complex)
PLAIN = frozenset({*NUMBERS, str, bytes, type(None), type(Ellipsis), type(NotImplemented)})
"""Exact types whose operators, comparisons and methods are Python's own and have no effects."""

SIZED = (str, bytes, range, frozenset)
LARGEST_BITS = 1 << 14
LARGEST_LENGTH = 1 << 16
LONG_NUMBER = 1 << 13
"""Bits of a number, and digits of a text, from which CPython may divide, write or read it by Python code."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


DTYPE_ATTRIBUTES = _names(
    "type kind char num name str itemsize alignment byteorder isnative isalignedstruct ndim shape subdtype names"
    " hasobject base"
)
FLOAT_INFO = _names(
    "eps epsneg max min tiny smallest_normal smallest_subnormal bits dtype precision resolution nmant nexp maxexp"
    " minexp iexp machep negep"
)
ATTRIBUTES: Mapping[type, frozenset[str]] = {
    int: frozenset({"real", "imag", "numerator", "denominator"}),
    bool: frozenset({"real", "imag", "numerator", "denominator"}),
    range: frozenset({"start", "stop", "step"}),
    float: frozenset({"real", "imag"}),
    complex: frozenset({"real", "imag"}),
    np.finfo: FLOAT_INFO,
    np.iinfo: frozenset({"max", "min", "bits", "dtype"}),
}
"""Attributes that are constant and whose reading runs nothing."""

METHODS: Mapping[type, frozenset[str]] = {
    kind: frozenset(name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name)))
    | ({"__format__"} if kind is str else set())
    for kind in (*NUMBERS, str, bytes, range)
}
"""Methods, none of which has effects; the arguments must be constants too."""


OF_SCALARS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "real", "imag", "T"})
"""Attributes of NumPy's own scalar types."""


def attributes_of(kind: type) -> frozenset[str]:
    return OF_SCALARS if issubclass(kind, np.generic) else ATTRIBUTES.get(kind, frozenset())


def methods_of(kind: type) -> frozenset[str]:
    return frozenset({"item", "is_integer"}) if issubclass(kind, np.generic) else METHODS.get(kind, frozenset())


def formats_itself(value: Any) -> bool:
    """Whether the text of a value runs no code of the user's, and tells neither addresses nor the order of a set."""
    if type(value) in (tuple, list):
        return all(map(formats_itself, value))
    return type(value) in PLAIN or isinstance(value, np.dtype)


def has_plain_items(value: Any) -> bool:
    return type(value) is not frozenset or all(type(item) in PLAIN for item in value)


class Constant(Value):
    """A known object. With a source, a guard says that it is this object (or equals it bit by bit)."""

    __slots__ = ("value",)
    noun = "constant"

    def __init__(self, value: Any, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    def describe(self) -> str:
        return brief(self.value)

    def python_type(self, tracer: Tracer) -> type:
        return type(self.value)

    def truth(self, tracer: Tracer) -> bool:
        if type(self.value) in PLAIN or isinstance(self.value, np.generic | type) or type(self.value) in SIZED:
            return bool(self.value)
        return super().truth(tracer)

    def length(self, tracer: Tracer) -> int:
        if type(self.value) in SIZED:
            return len(self.value)
        if type(self.value) in PLAIN:
            raise Failed(TypeError(f"object of type {type(self.value).__name__!r} has no len()"), "len", exact=True)
        return super().length(tracer)

    def attribute(self, tracer: Tracer, name: str) -> Value:
        kind = type(self.value)
        if name in attributes_of(kind) or (isinstance(self.value, np.dtype) and name in DTYPE_ATTRIBUTES):
            return tracer.constant(getattr(self.value, name))
        if name in methods_of(kind):
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call(self, tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return tracer.call_known(self, self.value, args, kwargs)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if name not in methods_of(type(self.value)):
            return super().call_method(tracer, name, args, kwargs)
        if name == "join" and len(args) == 1:
            args = [tracer.constant_items(args[0])]
        for arg in (*args, *kwargs.values()):
            require_plain(tracer, arg)
        return tracer.evaluate(getattr(self.value, name), args, kwargs)

    def item(self, tracer: Tracer, key: Value) -> Value:
        if type(self.value) in (str, bytes, range):
            return tracer.evaluate(operator.getitem, (self, key), {})
        return super().item(tracer, key)

    def contains(self, tracer: Tracer, item: Value) -> bool:
        if type(self.value) is frozenset and not has_plain_items(self.value):
            return super().contains(tracer, item)
        if type(self.value) in SIZED:
            return tracer.evaluate(operator.contains, (self, item), {}).truth(tracer)
        return super().contains(tracer, item)

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        if type(self.value) not in SIZED or not has_plain_items(self.value):
            return super().items(tracer)
        if len(self.value) > LARGEST_LENGTH:
            raise GraphBreak(f"{self.describe()} has too many items to look at each", "loop")
        tracer.portable &= type(self.value) is not frozenset  # whose order is another one in each process
        return tuple(Constant(item) for item in self.value)

    def iterate(self, tracer: Tracer) -> Value:
        if type(self.value) in PLAIN and type(self.value) not in SIZED:
            raise Failed(TypeError(f"{type(self.value).__name__!r} object is not iterable"), "iteration", exact=True)
        if type(self.value) not in SIZED or not has_plain_items(self.value):
            return super().iterate(tracer)
        tracer.portable &= type(self.value) is not frozenset
        return tracer.iterator(self)

    def concrete(self, tracer: Tracer) -> Any:
        return self.value

    def in_graph(self, tracer: Tracer) -> Any:
        return tracer.literal(self.value)

    def rebuild(self, build: Builder) -> None:
        build.constant(self.value)

    def template(self, build: Any) -> Any:
        return ("const", self.value)


def require_plain(tracer: Tracer, arg: Value) -> None:
    """An argument that runs no code of its own where it is compared or printed, and asks for no huge result."""
    try:
        found = arg.real(tracer).concrete(tracer)
    except NotConcrete:
        raise GraphBreak(f"{arg.describe()} is an argument of a method of a constant") from None
    if not is_plain(found):
        raise GraphBreak(f"{arg.describe()} is an argument of a method of a constant")
    if type(found) is int and found > LARGEST_LENGTH:
        raise GraphBreak("a method of a constant may give something very large", "size")


def is_plain(value: Any) -> bool:
    """Whether a constant consists of plain ones, through tuples, lists and dicts."""
    if type(value) in (tuple, list):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    return type(value) in PLAIN or isinstance(value, np.generic | np.dtype)


class Failed(GraphBreak):
    """What was computed on constants has raised ``error``, or warned."""

    def __init__(self, error: Exception, words: str, exact: bool = False) -> None:
        super().__init__(f"{words} raises {type(error).__name__}: {error}", "python")
        self.error = error.with_traceback(None)
        self.exact = exact  # the very words of Python's at this place


# Python's operators on constants ----------------------------------------------------------------------------------
OPERATORS: Mapping[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
    "unary -": operator.neg, "unary +": operator.pos, "unary ~": operator.invert, "unary not": operator.not_,
}  # fmt: skip


def _too_large(symbol: str, values: Sequence[Any]) -> bool:
    """Whether the result may be so large that computing it here could take memory or time."""
    if len(values) < 2:
        return False
    left, right = values
    whole = isinstance(left, int) and isinstance(right, int)
    if symbol == "**":
        return whole and left.bit_length() * max(right, 0) > LARGEST_BITS
    if symbol == "<<":
        return whole and left.bit_length() + max(right, 0) > LARGEST_BITS
    if symbol == "*" and not whole:
        sizes = [len(value) for value in values if isinstance(value, str | bytes | tuple | list)]
        counts = [value for value in values if isinstance(value, int)]
        return bool(sizes and counts) and sizes[0] * max(counts[0], 0) > LARGEST_LENGTH
    return False


def compute(symbol: str, *values: Any) -> Any:
    """The operator on plain Python objects; a break where Python would raise or warn."""
    if _too_large(symbol, values):
        raise GraphBreak(f"the result of {symbol} may be very large", "size")
    return attempt(OPERATORS[symbol], values, {}, symbol)


QUICK = frozenset({*OPERATORS.values()} - {operator.floordiv, operator.mod, operator.pow})
"""Operators that remain C code however long a number is."""


def _is_long(value: Any, is_text: bool) -> bool:
    if type(value) in (tuple, list):
        return any(_is_long(item, is_text) for item in value)
    if type(value) is int:
        return value.bit_length() > LONG_NUMBER
    return is_text and type(value) in (str, bytes) and len(value) > LONG_NUMBER


def attempt(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], words: str) -> Any:
    """Call something that has no effects; a break where it raises or warns, so that it does so at its place."""
    if function not in QUICK and any(_is_long(arg, function is int) for arg in args):
        raise GraphBreak(f"{words} of a number with so many digits is left to Python", "size")
    try:
        with raised(), np.errstate(all="raise", under="ignore"):
            return function(*args, **kwargs)
    except GraphBreak:
        raise
    except Exception as error:  # whatever Python raises here, it raises again when it runs the instruction
        raise Failed(error, words) from None
