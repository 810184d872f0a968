"""The scalar vocabulary: what an op's ``element`` is written in, one row per operation.

In: names of NumPy ufuncs on elements of one dtype, plus ``where``, ``clip``, ``cast``. Out: for each its result
dtype, its C by class of dtype, what it may raise, what it costs, and what it means (NumPy's own function).

>>> RULES["maximum"].text(np.dtype("f4"), ("x", "y"))
'((x > y || x != x) ? x : y)'
>>> RULES["add"].text(np.dtype("u1"), ("x", "y"))
'(u8)(x + y)'

Arithmetic is bit-identical to NumPy's: each rule says what NumPy's loops say, ties and edges included (of equal
zeros ``maximum`` gives the second, ``sign(-0.0)`` is ``0.0``, an integer divided by zero is zero).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capture.records import dataclass

BOOL, SIGNED, UNSIGNED, FLOAT = "b", "i", "u", "f"
BITS = "bits"  # of float16, for what looks at its bits
CLASSES = {"b": BOOL, "i": SIGNED, "u": UNSIGNED, "f": FLOAT}

C_TYPES: Mapping[np.dtype, str] = {
    np.dtype(name): short
    for name, short in {
        "bool": "bool8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
        "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
        "float16": "f16", "float32": "f32", "float64": "f64",
    }.items()
}  # fmt: skip
"""Dtypes of elements and their names in C; every other dtype is left to NumPy."""

CELLS: Mapping[np.dtype, np.dtype] = {np.dtype("c8"): np.dtype("f4"), np.dtype("c16"): np.dtype("f8")}
"""Complex dtypes, and what their real and imaginary parts are: two cells of memory each."""


def cell(dtype: np.dtype) -> np.dtype:
    """What memory of this dtype is made of, as C sees it."""
    return CELLS.get(dtype, dtype)


BOOL_DTYPE = np.dtype(bool)
HALF, SINGLE, DOUBLE = np.dtype("f2"), np.dtype("f4"), np.dtype("f8")

SAME, TRUTH, LAST, COUNT, EXPONENT = "same", "bool", "last", "count", "exponent"
FIXED = {TRUTH: BOOL_DTYPE, COUNT: np.dtype("u1"), EXPONENT: np.dtype("i4")}
"""What the result is: of the operands' dtype, of the last one's, or of this one."""

NOTHING, IEEE, INTEGER, ANY_NAN = "", "ieee", "integer", "nan"
"""What an operation may raise: nothing; what IEEE 754 says, seen from operands and result; division by zero, found in
software; an invalid operation for each NaN, also of a NaN (where NumPy compares with ``<``), found in software."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One operation.

    ``c`` maps classes of the (first) operand's dtype to C with ``{0} {1} {2}`` for operands, ``{T}`` for the type,
    ``{f}`` for the suffix of math functions, and ``{helper}`` for a function of ``helpers.py`` by the rule's name.
    ``raises`` likewise by class. ``pole`` is the operand at whose zeros an infinite result of finite operands is a
    division by zero, not an overflow; ``EVERYWHERE`` where it always is. ``cost`` is in nanoseconds per element, for
    float32.
    """

    name: str
    c: Mapping[str, str]
    arity: int = 2
    result: str = SAME
    raises: Mapping[str, str] | None = None
    pole: int | None = None
    cost: float = 0.05
    math: str = ""  # the C function behind it, when it is one of the mathematical library
    means: Callable[..., Any] | None = None

    def dtype(self, *operands: np.dtype) -> np.dtype:
        return FIXED.get(self.result, operands[-1] if self.result == LAST else operands[0])

    def kind(self, dtype: np.dtype) -> str:
        """The class of dtypes whose C serves ``dtype``."""
        return CLASSES[dtype.kind]

    def text(self, dtype: np.dtype, operands: tuple[str, ...]) -> str:
        template = self.c[BITS if dtype == HALF and BITS in self.c else self.kind(dtype)]
        return template.format(
            *operands,
            T=C_TYPES[dtype],
            f="f" if dtype == np.float32 else "",
            helper=f"{self.name}_{C_TYPES[dtype]}",
        )

    def helper(self, dtype: np.dtype) -> bool:
        """Whether the C calls a function of ``helpers.py``."""
        return "{helper}" in self.c[self.kind(dtype)]

    def may_raise(self, dtype: np.dtype) -> str:
        return (self.raises or {}).get(self.kind(dtype), NOTHING)

    def evaluate(self, *operands: Any) -> Any:
        function = self.means or getattr(np, self.name)
        return function(*operands)


def _numbers(text: str, boolean: str | None = None) -> dict[str, str]:
    """The same C for all numbers; small integers are brought back to their width."""
    table = {SIGNED: f"({{T}})({text})", UNSIGNED: f"({{T}})({text})", FLOAT: f"({text})"}
    return table if boolean is None else {BOOL: boolean, **table}


def _all(text: str) -> dict[str, str]:
    return dict.fromkeys((BOOL, SIGNED, UNSIGNED, FLOAT), text)


def _integers(text: str, boolean: str | None = None) -> dict[str, str]:
    table = {SIGNED: text, UNSIGNED: text}
    return table if boolean is None else {BOOL: boolean, **table}


_FLOAT_RAISES = {FLOAT: IEEE}
_DIVISION = {FLOAT: IEEE, SIGNED: INTEGER, UNSIGNED: INTEGER}


def _arithmetic() -> list[Rule]:
    whole = {BOOL: "{0}", SIGNED: "{0}", UNSIGNED: "{0}"}
    return [
        Rule("add", _numbers("{0} + {1}", "({0} | {1})"), raises=_FLOAT_RAISES),
        Rule("subtract", _numbers("{0} - {1}"), raises=_FLOAT_RAISES),
        Rule("multiply", _numbers("{0} * {1}", "({0} & {1})"), raises=_FLOAT_RAISES),
        Rule("divide", {FLOAT: "({0} / {1})"}, raises=_FLOAT_RAISES, pole=1, cost=0.25),
        Rule("floor_divide", dict.fromkeys("iuf", "{helper}({0}, {1})"), raises=_DIVISION, pole=1, cost=6.0),
        Rule("remainder", dict.fromkeys("iuf", "{helper}({0}, {1})"), raises=_DIVISION, cost=6.0),
        Rule("fmod", {**_integers("{helper}({0}, {1})"), FLOAT: "fmod{f}({0}, {1})"}, raises=_DIVISION, cost=5.0,
             math="fmod"),
        Rule("negative", _numbers("-{0}"), 1),
        Rule("positive", _numbers("{0}"), 1, cost=0.0),
        Rule("absolute", {BOOL: "{0}", SIGNED: "({T})({0} < 0 ? -{0} : {0})", UNSIGNED: "{0}",
                          FLOAT: "__builtin_fabs{f}({0})"}, 1),
        Rule("fabs", {FLOAT: "__builtin_fabs{f}({0})"}, 1),
        Rule("sign", {SIGNED: "({T})(({0} > 0) - ({0} < 0))", UNSIGNED: "({T})({0} > 0)",
                      FLOAT: "({0} > 0 ? ({T})1 : {0} < 0 ? ({T})-1 : {0} == 0 ? ({T})0 : {0})"}, 1, cost=0.1),
        Rule("square", _numbers("{0} * {0}", "{0}"), 1, raises=_FLOAT_RAISES),
        Rule("reciprocal", {**_integers("{helper}({0})"), FLOAT: "(1 / {0})"}, 1, raises=_DIVISION, pole=0,
             cost=0.25),
        Rule("fma", {FLOAT: "__builtin_fma{f}({0}, {1}, {2})"}, 3, raises=_FLOAT_RAISES, cost=0.06,
             means=lambda x, y, z: x * y + z),
        Rule("sqrt", {FLOAT: "__builtin_sqrt{f}({0})"}, 1, raises=_FLOAT_RAISES, cost=0.3),
        Rule("power", {**_integers("{helper}({0}, {1})"), FLOAT: "pow{f}({0}, {1})"}, raises=_FLOAT_RAISES,
             pole=0, cost=2.5, math="pow"),
        Rule("floor", {**whole, FLOAT: "__builtin_floor{f}({0})"}, 1),
        Rule("ceil", {**whole, FLOAT: "__builtin_ceil{f}({0})"}, 1),
        Rule("trunc", {**whole, FLOAT: "__builtin_trunc{f}({0})"}, 1),
        Rule("rint", {FLOAT: "__builtin_rint{f}({0})"}, 1),
        Rule("copysign", {FLOAT: "__builtin_copysign{f}({0}, {1})"}),
        Rule("maximum", {BOOL: "({0} | {1})", **_integers("({0} > {1} ? {0} : {1})"),
                         FLOAT: "(({0} > {1} || {0} != {0}) ? {0} : {1})"}),
        Rule("minimum", {BOOL: "({0} & {1})", **_integers("({0} < {1} ? {0} : {1})"),
                         FLOAT: "(({0} < {1} || {0} != {0}) ? {0} : {1})"}),
        Rule("fmax", {BOOL: "({0} | {1})", **_integers("({0} > {1} ? {0} : {1})"),
                      FLOAT: "(({0} > {1} || {1} != {1}) ? {0} : {1})"}),
        Rule("fmin", {BOOL: "({0} & {1})", **_integers("({0} < {1} ? {0} : {1})"),
                      FLOAT: "(({0} < {1} || {1} != {1}) ? {0} : {1})"}),
        Rule("clip", {BOOL: "(({0} | {1}) & {2})", **dict.fromkeys("iuf", "{helper}({0}, {1}, {2})")}, 3, cost=0.1),
        Rule("nextafter", {FLOAT: "nextafter{f}({0}, {1})"}, raises=_FLOAT_RAISES, cost=3.0, math="nextafter"),
        Rule("spacing", {FLOAT: "{helper}({0})"}, 1, raises=_FLOAT_RAISES, cost=0.5),
        Rule("ldexp", {FLOAT: "{helper}({0}, {1})"}, raises=_FLOAT_RAISES, cost=2.0),
        Rule("frexp_mantissa", {FLOAT: "{helper}({0})"}, 1, cost=2.0, means=lambda x: np.frexp(x)[0]),
        Rule("frexp_exponent", {FLOAT: "{helper}({0})"}, 1, result=EXPONENT, cost=2.0, means=lambda x: np.frexp(x)[1]),
        Rule("gcd", _integers("{helper}({0}, {1})"), cost=20.0),
        Rule("lcm", _integers("{helper}({0}, {1})"), cost=20.0),
        Rule("bitwise_count", {SIGNED: "(u8)__builtin_popcountll((u64)({0} < 0 ? -(u64){0} : (u64){0}))",
                               UNSIGNED: "(u8)__builtin_popcountll({0})"}, 1, result=COUNT, cost=0.5),
        Rule("known", {FLOAT: "{0}"}, 1, raises={FLOAT: ANY_NAN}, cost=0.0, means=lambda x: x),
        Rule("heaviside", {FLOAT: "({0} != {0} ? {0} : {0} == 0 ? {1} : {0} < 0 ? ({T})0 : ({T})1)"}, cost=0.1),
        Rule("deg2rad", {FLOAT: "({0} * (({T})3.14159265358979323846 / ({T})180))"}, 1, raises=_FLOAT_RAISES),
        Rule("rad2deg", {FLOAT: "({0} * (({T})180 / ({T})3.14159265358979323846))"}, 1, raises=_FLOAT_RAISES),
    ]  # fmt: skip


def _logic() -> list[Rule]:
    compare = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
    return [
        *(Rule(name, _all(f"({{0}} {sign} {{1}})"), result=TRUTH) for name, sign in compare.items()),
        Rule("logical_and", _all("(({0} != 0) & ({1} != 0))"), result=TRUTH),
        Rule("logical_or", _all("(({0} != 0) | ({1} != 0))"), result=TRUTH),
        Rule("logical_xor", _all("(({0} != 0) ^ ({1} != 0))"), result=TRUTH),
        Rule("logical_not", _all("({0} == 0)"), 1, result=TRUTH),
        Rule("isnan", {BOOL: "0", **_integers("0"), FLOAT: "({0} != {0})"}, 1, result=TRUTH),
        Rule("isinf", {BOOL: "0", **_integers("0"), FLOAT: "(__builtin_fabs{f}({0}) == __builtin_inf{f}())"}, 1,
             result=TRUTH),
        Rule("isfinite", {BOOL: "1", **_integers("1"), FLOAT: "(__builtin_fabs{f}({0}) < __builtin_inf{f}())"}, 1,
             result=TRUTH),
        Rule("signbit", {SIGNED: "({0} < 0)", FLOAT: "(__builtin_signbit({0}) != 0)", BITS: "({0} >> 15)"}, 1,
             result=TRUTH),
        Rule("bitwise_and", _integers("({0} & {1})", "({0} & {1})")),
        Rule("bitwise_or", _integers("({0} | {1})", "({0} | {1})")),
        Rule("bitwise_xor", _integers("({0} ^ {1})", "({0} ^ {1})")),
        Rule("invert", _integers("({T})~{0}", "(!{0})"), 1),
        Rule("left_shift", _integers("{helper}({0}, {1})"), cost=0.1),
        Rule("right_shift", _integers("{helper}({0}, {1})"), cost=0.1),
        Rule("where", _all("({0} ? {1} : {2})"), 3, result=LAST, means=np.where),
    ]  # fmt: skip


EVERYWHERE = -1

TOTAL = frozenset(("arctan", "tanh", "arcsinh", "cbrt"))
"""Mathematical functions that never raise."""

VANISHING = frozenset(("exp", "exp2"))
"""Mathematical functions that are called by way of a function of ``helpers.py``."""

_MATH: Mapping[str, tuple[str, float, int | None]] = {
    # NumPy's name: the C function, ns per element, pole
    "exp": ("exp", 0.35, None),
    "exp2": ("exp2", 0.35, None),
    "expm1": ("expm1", 0.5, None),
    "log": ("log", 0.4, EVERYWHERE),
    "log2": ("log2", 0.4, EVERYWHERE),
    "log10": ("log10", 0.4, EVERYWHERE),
    "log1p": ("log1p", 0.6, EVERYWHERE),
    "sin": ("sin", 0.4, None),
    "cos": ("cos", 0.4, None),
    "tan": ("tan", 0.8, None),
    "arcsin": ("asin", 0.6, None),
    "arccos": ("acos", 0.6, None),
    "arctan": ("atan", 0.6, None),
    "sinh": ("sinh", 0.9, None),
    "cosh": ("cosh", 0.9, None),
    "tanh": ("tanh", 0.5, None),
    "arcsinh": ("asinh", 1.0, None),
    "arccosh": ("acosh", 1.0, None),
    "arctanh": ("atanh", 1.0, EVERYWHERE),
    "cbrt": ("cbrt", 0.8, None),
}


def _transcendental() -> list[Rule]:
    unary = [
        Rule(
            name,
            {FLOAT: "{helper}({0})" if name in VANISHING else f"{function}{{f}}({{0}})"},
            1,
            pole=pole,
            cost=cost,
            math=function,
            raises=None if name in TOTAL else _FLOAT_RAISES,
        )
        for name, (function, cost, pole) in _MATH.items()
    ]
    return [
        *unary,
        Rule("arctan2", {FLOAT: "atan2{f}({0}, {1})"}, cost=1.2, math="atan2"),
        Rule("hypot", {FLOAT: "hypot{f}({0}, {1})"}, raises=_FLOAT_RAISES, cost=1.0, math="hypot"),
        Rule("logaddexp", {FLOAT: "{helper}({0}, {1})"}, raises={FLOAT: ANY_NAN}, cost=1.5),
        Rule("logaddexp2", {FLOAT: "{helper}({0}, {1})"}, raises={FLOAT: ANY_NAN}, cost=1.5),
    ]


RULES: Mapping[str, Rule] = {rule.name: rule for rule in (*_arithmetic(), *_logic(), *_transcendental())}

INEXACT = frozenset(_MATH) | {"arctan2", "hypot", "logaddexp", "logaddexp2", "power"}
"""Rules that other libraries than NumPy round in other ways, for floats."""

DEAR = 0.25
"""Nanoseconds from which a value is kept, not computed again."""

VECTOR_MATH = frozenset({function for function, _, _ in _MATH.values()} | {"atan2", "hypot", "pow", "erf", "erfc"})
"""Functions that libmvec has for float and double; the attribute on any other leaves symbols unresolved."""


# Casts ------------------------------------------------------------------------------------------------------------
def cast_text(source: np.dtype, target: np.dtype, operand: str) -> str:
    """C of ``astype``: as NumPy on x86-64, where a float out of range wraps through a wider integer."""
    if source == target:
        return operand
    name = C_TYPES[target]
    if target == HALF:
        return f"narrow({operand})" if source == SINGLE else f"narrow(odd({operand}))"
    if source == HALF:
        return f"wide({operand})"
    if target.kind == "b":
        return f"({operand} != 0)"
    if source.kind == "f" and target.kind in "iu":
        if target == np.uint64:
            return f"cast_{C_TYPES[source]}_u64({operand})"
        through = "i32" if target.itemsize < 4 or target == np.int32 else "i64"
        return f"(i64){operand}" if name == "i64" else f"({name})(({through}){operand})"
    return f"({name}){operand}"


_LIMITS = {
    # target: (lowest, exclusive; highest, exclusive) of what converts without an invalid operation
    "i8": ("-2147483649.0", "2147483648.0"), "i16": ("-2147483649.0", "2147483648.0"),
    "u8": ("-2147483649.0", "2147483648.0"), "u16": ("-2147483649.0", "2147483648.0"),
    "i32": ("-2147483649.0", "2147483648.0"), "u32": ("-2147483649.0", "4294967296.0"),
    "i64": ("-9223372036854777856.0", "9223372036854775808.0"),
    "u64": ("-9223372036854777856.0", "18446744073709551616.0"),
}  # fmt: skip


def cast_raises(source: np.dtype, target: np.dtype) -> bool:
    """Whether the cast may overflow (float64 → float32, int32 → float16) or be invalid (float → int)."""
    if target == HALF and source.kind in "iu":
        return source.itemsize > (2 if source.kind == "i" else 1)
    return source.kind == "f" and (target.kind in "iu" or (target.kind == "f" and target.itemsize < source.itemsize))


def cast_limits(target: np.dtype) -> tuple[str, str]:
    """Between which numbers, exclusive, a float must lie for the cast to an integer dtype to be valid."""
    return _LIMITS[C_TYPES[target]]


# Literals ---------------------------------------------------------------------------------------------------------
def literal(value: Any, dtype: np.dtype) -> str:
    """A number of ``dtype`` in C, to the last bit."""
    if dtype == HALF:
        return f"{HALF.type(value).view(np.uint16):#06x}"
    if dtype.kind == "f":
        return _float_literal(dtype.type(value), "f" if dtype == np.float32 else "")
    number = int(value)
    if dtype == np.int64 and number == np.iinfo(np.int64).min:
        return "(-9223372036854775807 - 1)"
    if dtype == np.int32 and number == np.iinfo(np.int32).min:
        return "(-2147483647 - 1)"
    text = f"{number}u" if dtype in (np.uint32, np.uint64) and number > 0x7FFFFFFF else str(number)
    return f"({text})" if number < 0 else text


def _float_literal(value: np.floating, suffix: str) -> str:
    if np.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if np.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    text = (
        np.format_float_positional(value, trim="0") if 1e-5 <= abs(value) < 1e16 or value == 0 else repr(float(value))
    )
    if float(text) != float(value) and suffix == "":
        text = float(value).hex()
    text = f"{text}{suffix}"
    return f"({text})" if text.startswith("-") else text
