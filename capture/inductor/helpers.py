"""C of the scalar operations that are more than an expression, by name and class of dtype.

In: the name of a rule and a dtype. Out: the text of a ``ALWAYS`` function, written into a unit only when
it is used. All are free of branches on the data where that lets loops be vectorised.
"""

from __future__ import annotations

import numpy as np

from capture.inductor.vocabulary import C_TYPES, CLASSES

_SIGNED_DIVISION = """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    const int special = b == 0 | (b == -1 & a == {low});  /* zero, or a quotient that wraps */
    const {T} divisor = special ? ({T})1 : b;
    {body}
}}
"""

_TEXTS: dict[tuple[str, str], str] = {
    ("floor_divide", "i"): _SIGNED_DIVISION.replace(
        "{body}",
        """const {T} quotient = ({T})(a / divisor), rest = ({T})(a - quotient * divisor);
    return b == 0 ? ({T})0 : ({T})(quotient - (rest != 0 & ((rest < 0) != (divisor < 0))));""",
    ),
    ("remainder", "i"): _SIGNED_DIVISION.replace(
        "{body}",
        """const {T} rest = ({T})(a % divisor);
    return (rest != 0 & ((rest < 0) != (divisor < 0))) ? ({T})(rest + divisor) : rest;""",
    ),
    ("fmod", "i"): _SIGNED_DIVISION.replace("{body}", "return ({T})(a % divisor);"),
    ("floor_divide", "u"): """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    return b == 0 ? ({T})0 : ({T})(a / (b == 0 ? ({T})1 : b));
}}
""",
    ("remainder", "u"): """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    return b == 0 ? ({T})0 : ({T})(a % (b == 0 ? ({T})1 : b));
}}
""",
    ("remainder", "f"): """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    const {T} rest = fmod{f}(a, b);
    if (b == 0)
        return rest;
    if (rest == 0)
        return __builtin_copysign{f}(0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}}
""",
    ("floor_divide", "f"): """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    if (b == 0)
        return a / b;
    const {T} rest = fmod{f}(a, b);
    {T} quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        quotient -= 1;
    if (quotient == 0)
        return __builtin_copysign{f}(0, a / b);
    const {T} whole = __builtin_floor{f}(quotient);
    return quotient - whole > ({T})0.5 ? whole + 1 : whole;
}}
""",
    ("reciprocal", "i"): """\
ALWAYS {T} {name}({T} a)
{{
    return a == 0 ? {of_infinity} : a == 1 ? ({T})1 : ({T})-(a == ({T})-1 & ({T})-1 < 0);
}}
""",
    ("power", "i"): """\
ALWAYS {T} {name}({T} base, {T} exponent)
{{
    {T} result = 1;
    for (; exponent > 0; exponent >>= 1) {{
        result = exponent & 1 ? ({T})(result * base) : result;
        base = ({T})(base * base);
    }}
    return result;
}}
""",
    ("left_shift", "i"): """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    return (u64)b < {bits} ? ({T})(a << (b & ({bits} - 1))) : ({T})0;
}}
""",
    ("right_shift", "i"): """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    return (u64)b < {bits} ? ({T})(a >> (b & ({bits} - 1))) : a < 0 ? ({T})-1 : ({T})0;
}}
""",
    ("clip", "i"): """\
ALWAYS {T} {name}({T} a, {T} low, {T} high)
{{
    const {T} raised = a < low ? low : a;
    return raised > high ? high : raised;
}}
""",
    ("clip", "f"): """\
ALWAYS {T} {name}({T} a, {T} low, {T} high)
{{
    const {T} raised = a < low || low != low ? low : a;
    return raised > high || high != high ? high : raised;
}}
""",
    ("logaddexp", "f"): """\
/* In double also for floats. `lost` is what rounding has taken from the size of the difference. */
ALWAYS {T} {name}({T} a, {T} b)
{{
    const f64 x = a, y = b, difference = x - y, larger = difference > 0 ? x : y;
    const f64 back = difference - x, rest = (x - (difference - back)) - (y + back);
    const f64 lost = !FINITE(rest) ? 0 : difference > 0 ? rest : -rest;
    const f64 ratio = exp(-__builtin_fabs(difference));
    const f64 sum = larger + log1p(ratio - ratio * lost);
    return ({T})(x == y ? x + 0.693147180559945309417232121458176568 : difference != difference ? difference : sum);
}}
""",
    ("logaddexp2", "f"): """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    const f64 x = a, y = b, difference = x - y, larger = difference > 0 ? x : y;
    const f64 back = difference - x, rest = (x - (difference - back)) - (y + back);
    const f64 lost = !FINITE(rest) ? 0 : difference > 0 ? rest : -rest;
    const f64 ratio = exp2(-__builtin_fabs(difference));
    const f64 more = log1p(ratio - ratio * (lost * 0.693147180559945309417232121458176568));
    const f64 sum = larger + 1.442695040888963407359924681001892137 * more;
    return ({T})(x == y ? x + 1 : difference != difference ? difference : sum);
}}
""",
    ("cast_u64", "f"): """\
ALWAYS u64 cast_{T}_u64({T} a)
{{
    const {T} half = ({T})9223372036854775808.0;
    return a >= half ? (u64)(i64)(a - half) ^ 0x8000000000000000u : (u64)(i64)a;
}}
""",
}
HALF_TEXTS = {
    "wide": """\
ALWAYS f32 wide(f16 half)
{
    union { u32 bits; f32 number; } result = { (u32)(half & 0x7fff) << 13 };
    result.number *= 0x1p112f;  /* the exponents' biases differ by 112; denormal numbers become normal */
    result.bits |= ((half & 0x7fff) >= 0x7c00 ? 0x7f800000u : 0) | (u32)(half & 0x8000) << 16;
    return result.number;
}
""",
    "narrow": """\
/* To nearest, ties to even. What is too large is multiplied, so that the processor notes an overflow. */
ALWAYS f16 narrow(f32 number)
{
    union { f32 number; u32 bits; } given = { number }, small;
    given.number *= (given.bits & 0x7fffffff) >= 0x477ff000 ? 0x1p127f : 1.0f;
    const u32 size = given.bits & 0x7fffffff;
    small.bits = size;
    small.number += 0.5f;  /* a denormal result lies in the lowest bits of this sum */
    const u32 denormal = small.bits - 0x3f000000;
    const u32 normal = (size + 0xc8000fff + (size >> 13 & 1)) >> 13;
    const u32 large = size > 0x7f800000 ? 0x7e00 : 0x7c00;
    const u32 rounded = size >= 0x47800000 ? large : size < 0x38800000 ? denormal : normal;
    return (f16)(rounded | (given.bits >> 16 & 0x8000));
}
""",
    "odd": """\
/* Rounded such that `narrow` rounds as if it saw the number itself: what is not exact becomes odd. */
ALWAYS f32 odd(f64 number)
{
    union { f32 number; u32 bits; } result = { (f32)number };
    const f64 back = (f64)result.number;
    if (back != number && FINITE(result.number) && !(result.bits & 1))
        result.bits += (back < 0 ? -back : back) < (number < 0 ? -number : number) ? 1 : -1;
    return result.number;
}
""",
}
"""Conversions of float16, whose elements are their bits."""

_TEXTS.update({
    ("spacing", "f"): """\
/* The distance to the next number away from zero, with the sign of the number. */
ALWAYS {T} {name}({T} a)
{{
    const {T} size = __builtin_fabs{f}(a);
    if (!(size < {largest}))
        return a != a ? a : size + size;  /* of the largest number, which overflows */
    union {{ {T} number; {U} bits; }} next = {{ size }};
    next.bits++;
    return a < 0 ? size - next.number : next.number - size;
}}
""",
    ("exp", "f"): """\
/* The vector functions leave each number whose result is no normal one to scalar code, 25 times as slow. Where the
 * result vanishes, as under a mask of -inf or -1e10, they are given a zero instead. Numbers are told by their bits,
 * which raises nothing and lets NaN pass; a choice of operands would have the compiler call for both. */
ALWAYS {T} {name}({T} a)
{{
    union {{ {T} number; {U} bits; }} given = {{a}}, found;
    const {U} kept = -({U})(given.bits - {vanishing} > {lowest} - {vanishing});
    given.bits &= kept;
    found.number = {function}{f}(given.number);
    found.bits &= kept;
    return found.number;
}}
""",
    ("ldexp", "f"): """\
ALWAYS {T} {name}({T} a, {T} exponent)
{{
    const int power = exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : (int)exponent;
    return __builtin_ldexp{f}(a, power);
}}
""",
    ("frexp_mantissa", "f"): """\
ALWAYS {T} {name}({T} a)
{{
    int exponent;
    return __builtin_frexp{f}(a, &exponent);
}}
""",
    ("frexp_exponent", "f"): """\
ALWAYS i32 {name}({T} a)
{{
    int exponent = 0;
    __builtin_frexp{f}(a, &exponent);
    return exponent;
}}
""",
    ("gcd", "i"): """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    u64 large = a < 0 ? -(u64)a : (u64)a, small = b < 0 ? -(u64)b : (u64)b;
    while (small) {{
        const u64 rest = large % small;
        large = small;
        small = rest;
    }}
    return ({T})large;
}}
""",
    ("lcm", "i"): """\
ALWAYS {T} {name}({T} a, {T} b)
{{
    const u64 one = a < 0 ? -(u64)a : (u64)a, other = b < 0 ? -(u64)b : (u64)b;
    u64 large = one, small = other;
    while (small) {{
        const u64 rest = large % small;
        large = small;
        small = rest;
    }}
    return large ? ({T})(one / large * other) : ({T})0;
}}
""",
})  # fmt: skip
_TEXTS["exp2", "f"] = _TEXTS["exp", "f"]
for _name in ("gcd", "lcm"):
    _TEXTS[_name, "u"] = _TEXTS[_name, "i"]
for _name in ("reciprocal", "power", "left_shift", "right_shift", "clip"):
    _TEXTS[_name, "u"] = _TEXTS[_name, "i"]
_TEXTS["fmod", "u"] = _TEXTS["remainder", "u"]

MATH_USED = {
    "remainder": ("fmod",),
    "floor_divide": ("fmod",),
    "logaddexp": ("log1p", "exp"),
    "logaddexp2": ("log1p", "exp2"),
}
"""Functions of the mathematical library that rules call beyond their own ``math`` (for floats)."""

IN_DOUBLE = frozenset(("logaddexp", "logaddexp2"))
"""Rules that call them in double, whatever the dtype."""


_VANISHING = {("exp", "f32"): -104.0, ("exp", "f64"): -746.0, ("exp2", "f32"): -151.0, ("exp2", "f64"): -1076.0}
"""From where on, downwards, results are less than half of the smallest number."""


def _bits(number: float, dtype: np.dtype) -> str:
    return f"{int(np.array(number, dtype).view(f'u{dtype.itemsize}')):#x}{'u' if dtype.itemsize == 4 else 'ull'}"


def helper_text(name: str, dtype: np.dtype) -> str:
    """The C function that ``{helper}`` in the rule ``name`` stands for."""
    short = C_TYPES[dtype]
    is_float = dtype.kind == "f"
    return _TEXTS[name, CLASSES[dtype.kind]].format(
        T=short,
        name=f"{name}_{short}",
        f="f" if short == "f32" else "",
        U="u32" if short == "f32" else "u64",
        largest="0x1.fffffep127f" if short == "f32" else "0x1.fffffffffffffp1023",
        bits=8 * dtype.itemsize,
        low=f"({short})((u64)1 << {8 * dtype.itemsize - 1})",
        function=name,
        vanishing=_bits(_VANISHING.get((name, short), 0.0), dtype) if is_float else "",
        lowest=_bits(-np.inf, dtype) if is_float else "",
        of_infinity=f"({short})((u64)1 << {8 * dtype.itemsize - 1})" if short in ("i32", "i64") else f"({short})0",
    )


# Reductions -------------------------------------------------------------------------------------------------------
_STATE_TEXTS = {
    "push": """\
/* One more block of a long sum: levels of the tower hold sums of 1, 2, 4, ... blocks. */
ALWAYS void push_{T}({T} *tower, i64 count, {T} sum)
{{
    for (; count & 1; count >>= 1)
        sum = *tower++ + sum;
    *tower = sum;
}}

ALWAYS {T} total_{T}(const {T} *tower, i64 count)
{{
    {T} sum = 0;
    for (; count; count >>= 1, tower++)
        if (count & 1)
            sum = *tower + sum;
    return sum;
}}
""",
    "push_lanes": """\
/* The same for a block of columns at once; `part` is empty afterwards. */
static void push_lanes_{T}({T} *restrict tower, i64 count, {T} *restrict part, i64 lanes)
{{
    for (; count & 1; count >>= 1, tower += lanes)
        for (i64 lane = 0; lane < lanes; lane++)
            part[lane] = tower[lane] + part[lane];
    for (i64 lane = 0; lane < lanes; lane++) {{
        tower[lane] = part[lane];
        part[lane] = 0;
    }}
}}

static void total_lanes_{T}(const {T} *restrict tower, i64 count, const {T} *restrict part, {T} *restrict total,
                            i64 lanes)
{{
    for (i64 lane = 0; lane < lanes; lane++)
        total[lane] = part[lane];
    for (; count; count >>= 1, tower += lanes)
        for (i64 lane = 0; count & 1 && lane < lanes; lane++)
            total[lane] = tower[lane] + total[lane];
}}
""",
    "weigh_add": """\
/* What a sum takes in (1: NaN, 2: infinity, 4: above, 8: below zero) and the sum of its magnitudes. */
ALWAYS u32 weigh_add_sees_{T}({T} a)
{{
    return a != a ? 1 : !FINITE(a) ? 2 : a > 0 ? 4 : a < 0 ? 8 : 0;
}}

ALWAYS f64 weigh_add_takes_{T}({T} a)
{{
    return FINITE(a) ? __builtin_fabs(a) : 0;
}}

/* What the sum has raised. Where some orders of adding overflow and others do not, it cannot be told. */
ALWAYS u32 raised_by_add_{T}({T} result, u32 seen, f64 weight)
{{
    if (weight <= {max})
        return result != result && !(seen & 1) ? RAISED_INVALID : 0;
    return (seen & 3) || (seen & 12) == 12 ? RAISED_UNSURE : RAISED_OVERFLOW;
}}
""",
    "weigh_multiply": """\
/* What a product takes in (1: NaN, 2: infinity, 4: below one) and the product of what is above one. */
ALWAYS u32 weigh_multiply_sees_{T}({T} a)
{{
    return a != a ? 1 : !FINITE(a) ? 2 : __builtin_fabs(a) < 1 ? 4 : 0;
}}

ALWAYS f64 weigh_multiply_takes_{T}({T} a)
{{
    return FINITE(a) & (__builtin_fabs(a) > 1) ? __builtin_fabs(a) : 1;
}}

ALWAYS u32 raised_by_multiply_{T}({T} result, u32 seen, f64 weight)
{{
    if (weight <= {max})
        return result != result && !(seen & 1) ? RAISED_INVALID : 0;
    return seen ? RAISED_UNSURE : RAISED_OVERFLOW;
}}
""",
}


def bits_helper(source: np.dtype, target: np.dtype) -> tuple[str, str]:
    """The function that gives the number of another dtype with the same bits: its name, and its C."""
    given, made = C_TYPES[source], C_TYPES[target]
    name = f"bits_{given}_{made}"
    text = f"""\
ALWAYS {made} {name}({given} a)
{{
    {made} seen;
    __builtin_memcpy(&seen, &a, {target.itemsize});
    return seen;
}}
"""
    return name, text


def state_helper(name: str, short: str) -> str:
    """Functions for the state of reductions of floats."""
    largest = "3.4028234663852886e38" if short == "f32" else "1.7976931348623157e308"
    return _STATE_TEXTS[name].format(T=short, max=largest)


def raised_helper(arity: int, short: str) -> str:
    """A function that says what an operation has raised, from its result and operands.

    It stands in every kernel that may warn, once for each operation: hence few comparisons, for the compiler's sake.
    """
    names, f = "abc"[:arity], "f" if short == "f32" else ""
    declared = ", ".join(f"{short} {name}" for name in names)
    numbers = {
        1: "(a == a)",
        2: "!__builtin_isunordered(a, b)",
        3: "!__builtin_isunordered(a, b) & (c == c)",
    }[arity]
    finite = " & ".join(f"FINITE({name})" for name in names)
    return f"""\
ALWAYS __attribute__((always_inline)) u32 raised_by{arity}_{short}({short} result, {declared}, u32 if_infinite)
{{
    const u32 if_nan = (result != result) & {numbers} ? RAISED_INVALID : 0;
    return if_nan | ((__builtin_fabs{f}(result) == __builtin_inf{f}()) & {finite} ? if_infinite : 0);
}}
"""


# Loops of NumPy's -------------------------------------------------------------------------------------------------
LOOP = "numpy_loop_"
"""How the names of the functions begin that call them."""


def loop_helper(name: str, arity: int) -> str:
    """A function that runs one of NumPy's loops, and tells what was raised if asked to."""
    names = "abc"[:arity]
    operands = ", ".join(f"const void *{name}, i64 step_{name}" for name in names)
    return f"""\
/* One of NumPy's own loops over `count` elements; steps count bytes. What it raises is added to the flags, if given,
 * else to the status, which some loops clear. */
static __attribute__((noinline)) void {name}(
    const Loop *loop, {operands}, void *result, i64 step, i64 count, u32 *flags)
{{
    char *const data[] = {{{", ".join(f"(char *){name}" for name in names)}, result}};
    const i64 steps[] = {{{", ".join(f"step_{name}" for name in names)}, step}};
    const u32 before = flags ? 0 : status_now();
    if (flags)
        clear_raised();
    loop->run(loop->context, data, &count, steps, loop->auxiliary);
    if (flags)
        *flags |= all_raised();
    else if (before)
        raise_again(before);
}}
"""


def one_helper(name: str, arity: int, short: str) -> str:
    """The same for a single element. NumPy takes what lies side by side for overlapping, and computes it otherwise."""
    names = "abc"[:arity]
    operands = ", ".join(f"{short} {name}, i64 step_{name}" for name in names)
    stored = " ".join(f"places[{row}][0] = {name};" for row, name in enumerate(names))
    given = ", ".join(f"places[{row}], step_{name}" for row, name in enumerate(names))
    return f"""\
ALWAYS {short} {name}_{short}(const Loop *loop, {operands}, u32 *flags)
{{
    {short} places[{arity + 1}][16];
    {stored}
    {name}(loop, {given}, places[{arity}], sizeof(places[0][0]), 1, flags);
    return places[{arity}][0];
}}
"""
