"""Python's computing with numbers, in C: one row per symbol and kind of operand.

In: the symbol of a ``number`` step, its operands as C, their kinds. Out: an ``Answer``: the C of the result, and where
Python would raise or give something that C does not hold. There the program leaves.

>>> answer("+", (Operand("i_1", int), Operand("1", int)), int)
Answer(text='i_1 + 1', assigns='__builtin_add_overflow(i_1, 1, &{r})')
>>> answer("math.exp", (Operand("x_2", float),), float).after
'RARE(!FINITE({r})) && x_2 == x_2 && ({r} != {r} || FINITE(x_2))'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from capture.errors import BackendError
from capture.records import dataclass, field, replace

C_NUMBERS: Mapping[type, str] = {int: "i64", float: "f64", bool: "_Bool", complex: "c128"}


_KINDS: Mapping[type, str] = {float: "float", complex: "complex"}


@dataclass(frozen=True, slots=True)
class Operand:
    """C of a Python number, without side effects, its type, and the bounds of an int."""

    text: str
    python: type
    bounds: tuple[int, int] = (-(2**63), 2**63 - 1)

    @property
    def kind(self) -> str:
        """What rows tell apart: bools compute as ints."""
        return _KINDS.get(self.python, "int")


@dataclass(frozen=True, slots=True)
class Answer:
    """``text`` is the result, ``{r}`` the variable that gets it.

    The program leaves where one of ``before`` holds, with the operands; where ``after`` holds, with operands and
    result; where ``assigns``, which gives the variable its value itself, is true: it stands for ``text`` where it is
    not certain that the result fits.
    """

    text: str
    before: tuple[str, ...] = ()
    after: str = ""
    assigns: str = ""
    helpers: tuple[str, ...] = field(default=(), compare=False)
    opaque: bool = False  # it needs ``no_bits``: a zero that the compiler does not know


_EXACT = "!IS_EXACT({0})", "!IS_EXACT({1})"
_LOWEST = "{0} == LOWEST_i64", "{1} == LOWEST_i64"
_DIVIDES = "{1} == 0", "{1} == -1 && {0} == LOWEST_i64"
_INT: Mapping[str, Answer] = {
    "+": Answer("{0} + {1}", assigns="__builtin_add_overflow({0}, {1}, &{r})"),
    "-": Answer("{0} - {1}", assigns="__builtin_sub_overflow({0}, {1}, &{r})"),
    "*": Answer("{0} * {1}", assigns="__builtin_mul_overflow({0}, {1}, &{r})"),
    "/": Answer("(f64){0} / (f64){1}", ("{1} == 0", *_EXACT), helpers=("IS_EXACT",)),
    "//": Answer("floor_quotient({0}, {1})", _DIVIDES, helpers=("floor_quotient",)),
    "%": Answer("floor_rest({0}, {1})", _DIVIDES, helpers=("floor_rest",)),
    "**": Answer("", ("{1} < 0",), assigns="power_overflows({0}, {1}, &{r})", helpers=("power_overflows",)),
    **{symbol: Answer(f"{{0}} {symbol} {{1}}") for symbol in ("&", "|", "^")},
    "<<": Answer("(i64)((u64){0} << {1})", ("{1} < 0", "{1} > 62"), after="{r} >> {1} != {0}"),
    ">>": Answer("{0} >> ({1} > 63 ? 63 : {1})", ("{1} < 0",)),
    "unary -": Answer("-{0}", assigns="__builtin_sub_overflow(0, {0}, &{r})"),
    "unary ~": Answer("~(i64){0}"),
    "abs": Answer("{0} < 0 ? -{0} : {0}", ("{0} == LOWEST_i64",)),
    "float": Answer("(f64){0}"),
    "math.gcd": Answer("common_divisor({0}, {1})", _LOWEST, helpers=("common_divisor",)),
    **{name: Answer("{0}") for name in ("int", "round", "math.floor", "math.ceil", "math.trunc")},
}  # fmt: skip

_FITS = "!({0} > -9223372036854777856.0 && {0} < 9223372036854775808.0)"
"""A float that is no int64, cut off. What it is gets combined with ``no_bits``, lest gcc take float → int → float for
``trunc``, which differs in zeros."""

_POWER = "RARE(!FINITE({r})) && FINITE({0}) && FINITE({1})"
_FLOAT: Mapping[str, Answer] = {
    "+": Answer("{0} + {1}"),
    "-": Answer("{0} - {1}"),
    "*": Answer("{0} * {1}"),
    "/": Answer("{0} / {1}", ("{1} == 0",)),
    "//": Answer("float_quotient({0}, {1})", ("{1} == 0",), helpers=("float_quotient",)),
    "%": Answer("float_rest({0}, {1})", ("{1} == 0",), helpers=("float_rest",)),
    "**": Answer("math_pow({0}, {1})", after=_POWER, helpers=("math_pow",)),
    "unary -": Answer("-{0}"),
    "abs": Answer("__builtin_fabs({0})"),
    "float": Answer("{0}"),
    "int": Answer("(i64){0} ^ no_bits", (_FITS,), opaque=True),
    "math.trunc": Answer("(i64){0} ^ no_bits", (_FITS,), opaque=True),
    "round": Answer("(i64)__builtin_rint({0}) ^ no_bits", (_FITS,), opaque=True),
    "math.floor": Answer("(i64)__builtin_floor({0}) ^ no_bits", (_FITS,), opaque=True),
    "math.ceil": Answer("(i64)__builtin_ceil({0}) ^ no_bits", (_FITS,), opaque=True),
}

_BOTH: Mapping[str, Answer] = {
    **{symbol: Answer(f"{{0}} {symbol} {{1}}") for symbol in ("<", "<=", "==", "!=", ">", ">=")},
    "bool": Answer("{0} != 0"),
    "not": Answer("{0} == 0"),
}

_FINITE_PARTS = "!FINITE(__real__ {r}) || !FINITE(__imag__ {r})"
_COMPLEX: Mapping[str, Answer] = {
    **{symbol: Answer(f"{{0}} {symbol} {{1}}") for symbol in ("+", "-", "==", "!=")},
    "*": Answer("complex_product({0}, {1})", helpers=("complex_product",)),
    "/": Answer("complex_quotient({0}, {1})", ("{1} == 0",), _FINITE_PARTS, helpers=("complex_quotient",)),
    "unary -": Answer("-{0}"),
    "abs": Answer("math_hypot(__real__ {0}, __imag__ {0})", after="!FINITE({r})", helpers=("math_hypot",)),
    "real": Answer("__real__ {0}"),
    "imag": Answer("__imag__ {0}"),
    "conjugate": Answer("~{0}"),
    "complex": Answer("{0}"),
    "bool": Answer("{0} != 0"),
    "not": Answer("{0} == 0"),
}
"""What may be infinite or no number leaves: what Python gives or raises then differs between its versions."""

_ROWS: Mapping[str, Mapping[str, Answer]] = {
    "int": {**_BOTH, **_INT},
    "float": {**_BOTH, **_FLOAT},
    "complex": _COMPLEX,
}

# Functions of math, on floats. What is not a number or not finite comes of what is not, or it is an error.
_UNARY = (
    "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
)  # fmt: skip
_BINARY = ("atan2", "fmod", "pow", "hypot")
_ERROR_1 = "RARE(!FINITE({r})) && {0} == {0} && ({r} != {r} || FINITE({0}))"
_ERROR_2 = "RARE(!FINITE({r})) && ({r} != {r} ? {0} == {0} && {1} == {1} : FINITE({0}) && FINITE({1}))"
_INFINITE = "RARE(!__builtin_isfinite({0})) && {0} == {0}"
_CIRCULAR = ("sin", "cos", "tan")  # errors of infinite angles alone: one test for a sine and a cosine
_MATH: Mapping[str, Answer] = {
    **{f"math.{name}": Answer(f"math_{name}({{0}})", after=_ERROR_1, helpers=(f"math_{name}",)) for name in _UNARY},
    **{f"math.{name}": Answer(f"math_{name}({{0}})", (_INFINITE,), helpers=(f"math_{name}",)) for name in _CIRCULAR},
    **{f"math.{name}": Answer(f"math_{name}({{0}}, {{1}})", after=_ERROR_2, helpers=(f"math_{name}",))
       for name in _BINARY},
    "math.sqrt": Answer("__builtin_sqrt({0})", ("{0} < 0",)),  # rounded rightly by whoever computes it
    "math.fabs": Answer("__builtin_fabs({0})"),
    "math.copysign": Answer("__builtin_copysign({0}, {1})"),
    "math.isnan": Answer("{0} != {0}"),
    "math.isinf": Answer("__builtin_fabs({0}) == __builtin_inf()"),
    "math.isfinite": Answer("__builtin_fabs({0}) < __builtin_inf()"),
}  # fmt: skip

_HELPERS: dict[str, str] = {
    "IS_EXACT": """\
/* Whether a float holds the int. */
static inline int IS_EXACT(i64 a)
{
    return (u64)a + 0x20000000000000u <= 0x40000000000000u;
}
""",
    "floor_quotient": """\
static inline i64 floor_quotient(i64 a, i64 b)
{
    const i64 quotient = a / b;
    return quotient - (a % b != 0 & (a < 0) != (b < 0));
}
""",
    "floor_rest": """\
static inline i64 floor_rest(i64 a, i64 b)
{
    const i64 rest = a % b;
    return rest != 0 & (rest < 0) != (b < 0) ? rest + b : rest;
}
""",
    "power_overflows": """\
static inline int power_overflows(i64 base, i64 exponent, i64 *result)
{
    i64 power = 1;
    int large = 0;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            large |= __builtin_mul_overflow(power, base, &power);
        if (exponent > 1)
            large |= __builtin_mul_overflow(base, base, &base);
    }
    *result = power;
    return large;
}
""",
    "common_divisor": """\
static inline i64 common_divisor(i64 a, i64 b)
{
    while (b) {
        const i64 rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}
""",
    "float_rest": """\
ALWAYS f64 float_rest(f64 a, f64 b)
{
    const f64 rest = math_fmod(a, b);
    if (rest == 0)
        return __builtin_copysign(0.0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}
""",
    "float_quotient": """\
ALWAYS f64 float_quotient(f64 a, f64 b)
{
    const f64 rest = math_fmod(a, b);
    f64 quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        quotient -= 1.0;
    if (quotient == 0)
        return __builtin_copysign(0.0, a / b);
    const f64 whole = __builtin_floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}
""",
    "complex_product": """\
ALWAYS c128 complex_product(c128 a, c128 b)
{
    const f64 real = __real__ a * __real__ b - __imag__ a * __imag__ b;
    return __builtin_complex(real, __real__ a * __imag__ b + __imag__ a * __real__ b);
}
""",
    "complex_quotient": """\
ALWAYS c128 complex_quotient(c128 a, c128 b)
{
    const f64 x = __real__ a, y = __imag__ a, c = __real__ b, d = __imag__ b;
    if (__builtin_fabs(c) >= __builtin_fabs(d)) {
        const f64 ratio = d / c, divisor = c + d * ratio;
        return __builtin_complex((x + y * ratio) / divisor, (y - x * ratio) / divisor);
    }
    const f64 ratio = c / d, divisor = c * ratio + d;
    return __builtin_complex((x * ratio + y) / divisor, (y * ratio - x) / divisor);
}
""",
}
_USES = {"float_rest": ("math_fmod",), "float_quotient": ("math_fmod",)}


def answer(symbol: str, operands: Sequence[Operand], python: type) -> Answer:
    """The C of a step whose result is a ``python``; ``BackendError`` for what has no row."""
    if symbol in ("min", "max"):
        return _extreme(symbol, operands, python)
    kinds = {operand.kind for operand in operands}
    if symbol == "complex" and len(operands) == 2:
        return Answer(f"__builtin_complex({', '.join(as_float(operand) for operand in operands)})")
    if symbol == "complex" or "complex" in kinds:
        if symbol not in _COMPLEX:
            raise BackendError(f"{symbol} of complex numbers")
        return _filled(_COMPLEX[symbol], [_as_complex(operand) for operand in operands])
    if symbol in _MATH:
        return _filled(_MATH[symbol], [as_float(operand) for operand in operands])
    kind = "float" if "float" in kinds else "int"
    row = _ROWS[kind].get(symbol)
    if row is None or (symbol == "**" and kind == "int" and python is not int):
        raise BackendError(f"{symbol} of {', '.join(operand.python.__name__ for operand in operands)}")
    if kinds == {"int"}:
        row = _simpler(symbol, operands) or row
    if len(kinds) == 1:
        return _filled(row, [operand.text for operand in operands])
    found = _filled(row, [as_float(operand) for operand in operands])
    inexact = [f"!IS_EXACT({operand.text})" for operand in operands if operand.kind == "int" and not _is_exact(operand)]
    if symbol not in ("<", "<=", "==", "!=", ">", ">="):
        return found
    before = (*found.before, *(test for test in inexact if not _never(test)))
    return Answer(found.text, before, found.after, helpers=(*found.helpers, "IS_EXACT"))


def _simpler(symbol: str, operands: Sequence[Operand]) -> Answer | None:
    """A row for ints that are not any ints."""
    rule = _SIMPLER.get(symbol)
    return None if rule is None else rule(*operands)


def _is_exact(operand: Operand) -> bool:
    return operand.bounds[0] >= -(2**53) and operand.bounds[1] <= 2**53


def _ratio(a: Operand, b: Operand) -> Answer | None:
    row = _INT["/"]
    tests = [] if b.bounds[0] > 0 or b.bounds[1] < 0 else [row.before[0]]
    tests += [test for test, operand in zip(_EXACT, (a, b), strict=True) if not _is_exact(operand)]
    return replace(row, before=tuple(tests))


def _quotient(a: Operand, b: Operand) -> Answer | None:
    low, high = b.bounds
    if low == high and low > 0 and low & (low - 1) == 0:
        return Answer(f"{{0}} >> {low.bit_length() - 1}")
    if low > 0 and a.bounds[0] >= 0:
        return Answer(_small("/", a, b) or "{0} / {1}")
    return replace(_INT["//"], before=()) if low > 0 else None


def _rest(a: Operand, b: Operand) -> Answer | None:
    low, high = b.bounds
    if low == high and low > 0 and low & (low - 1) == 0:
        return Answer(f"{{0}} & {low - 1}")
    if low > 0 and a.bounds[0] >= 0:
        return Answer("{0} < {1} ? {0} : {0} - {1}" if a.bounds[1] < 2 * low else _small("%", a, b) or "{0} % {1}")
    return replace(_INT["%"], before=()) if low > 0 else None


def _small(sign: str, a: Operand, b: Operand) -> str:
    """A division in 32 bits, where it is one: half the time."""
    return f"(i64)((u32){{0}} {sign} (u32){{1}})" if max(a.bounds[1], b.bounds[1]) < 2**32 else ""


def _shift_right(a: Operand, b: Operand) -> Answer | None:
    if b.bounds[0] < 0:
        return None
    return Answer("{0} >> {1}") if b.bounds[1] <= 63 else replace(_INT[">>"], before=())


def _shift_left(a: Operand, b: Operand) -> Answer | None:
    if b.bounds[0] < 0 or b.bounds[1] > 62:
        return None
    fits = all(-(2**63) <= each << b.bounds[1] < 2**63 for each in a.bounds)
    return replace(_INT["<<"], before=(), after="" if fits else _INT["<<"].after)


def _absolute(a: Operand) -> Answer | None:
    if a.bounds[0] >= 0:
        return Answer("{0}")
    return replace(_INT["abs"], before=()) if a.bounds[0] > -(2**63) else None


_SIMPLER: Mapping[str, Callable[..., Answer | None]] = {
    "/": _ratio,
    "//": _quotient,
    "%": _rest,
    ">>": _shift_right,
    "<<": _shift_left,
    "abs": _absolute,
}


def as_float(operand: Operand) -> str:
    """C of what Python makes of an operand where floats are computed with."""
    if operand.kind == "float":
        return operand.text
    return f"{operand.text}.0" if operand.text.isdigit() and len(operand.text) < 16 else f"(f64){operand.text}"


def _as_complex(operand: Operand) -> str:
    return operand.text if operand.kind == "complex" else f"__builtin_complex({as_float(operand)}, 0.0)"


def _extreme(symbol: str, operands: Sequence[Operand], python: type) -> Answer:
    """Of equal ones, and where one is not a number, the first stays."""
    if any(operand.python is not python for operand in operands):
        raise BackendError(f"{symbol} of different types")
    sign = "<" if symbol == "min" else ">"
    text, *others = [operand.text for operand in operands]
    for other in others:
        text = f"({other} {sign} {text} ? {other} : {text})"
    return Answer(text)


def _filled(row: Answer, texts: Sequence[str]) -> Answer:
    """The row with its operands put in; tests of literals that never hold are left out."""

    def fill(template: str) -> str:
        return template.format(*texts, r="{r}")

    before = tuple(test for test in map(fill, row.before) if not _never(test))
    return Answer(fill(row.text), before, fill(row.after), fill(row.assigns), row.helpers, row.opaque)


_LITERAL = r"\(?(-?\d+)\)?"
_COMPARISON = re.compile(rf"{_LITERAL} (==|<|>) {_LITERAL}")
_INEXACT = re.compile(rf"!IS_EXACT\({_LITERAL}\)")
_HOLDS = {"==": int.__eq__, "<": int.__lt__, ">": int.__gt__}


def _never(test: str) -> bool:
    """Whether a test, for its literals, can be seen to hold never."""
    for part in test.split(" && "):
        if (found := _COMPARISON.fullmatch(part)) and not _HOLDS[found[2]](int(found[1]), int(found[3])):
            return True
        if (found := _INEXACT.fullmatch(part)) and abs(int(found[1])) <= 2**53:
            return True
    return False


def helper_texts(names: Sequence[str]) -> dict[str, str]:
    """The functions that answers call, and those that these call, by what they are sorted by."""
    found: dict[str, str] = {}
    for name in names:
        for inner in (*_USES.get(name, ()), name):
            if inner.startswith("math_"):
                found[f"0_{inner}"] = _libm(inner.removeprefix("math_"))
            else:
                found[f"1_{inner}"] = _HELPERS[inner]
    return found


def _libm(name: str) -> str:
    """A function of the mathematical library by another name: the compiler does not compute with it by itself, and
    gives the bits that Python gives."""
    parameters = "f64, f64" if name in _BINARY else "f64"
    return f'f64 math_{name}({parameters}) __asm__("{name}");\n'
