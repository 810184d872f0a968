"""What the checked form of a kernel asks of each operation.

In: an operation, and the names of its result and operands. Out: C whose value is the ``FLAG_*`` bits that the
operation raises::

    raised_2 |= raised_by2_f32(multiply_3, x_1, y_2, 2);

By IEEE 754 an infinite result of finite operands has overflowed, or divided by zero, and NaN made of numbers is
invalid. What integers raise is found by looking at them, also in the fast form: the processor does not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from capture.inductor.csource import CUnit
from capture.inductor.helpers import raised_helper
from capture.inductor.loops import Value
from capture.inductor.plan import FLAG_DIVIDE, FLAG_INVALID, FLAG_OVERFLOW, FLAG_UNSURE
from capture.inductor.vocabulary import ANY_NAN, C_TYPES, EVERYWHERE, HALF, IEEE, INTEGER, RULES, cast_limits

if TYPE_CHECKING:
    from capture.inductor.nest import Nest

Names = Callable[[Value], str]


def kind_of(value: Value) -> str:
    """How it is found what an operation raises."""
    return IEEE if value.op == "cast" else RULES[value.op].may_raise(value.args[-1].dtype)


def is_asked(value: Value) -> bool:
    """Whether an operation is asked what it raised. It is not where one operand is a constant with which it can neither
    overflow nor make NaN of numbers; it may still underflow, for which kernels do not look.
    """
    if value.node is None:
        return False
    harmless = _HARMLESS.get(value.op)
    return harmless is None or not any(
        harmless(place, arg.data)
        for place, arg in enumerate(value.args)
        if arg.op == "constant" and arg.dtype.kind == "f"
    )


def _vanishes_beside_the_largest(place: int, number: np.floating) -> bool:
    limits = np.finfo(number.dtype)
    return abs(float(number)) < float(limits.max) * float(limits.eps) / 4


_HARMLESS: Mapping[str, Callable[[int, np.floating], bool]] = {
    "add": _vanishes_beside_the_largest,
    "subtract": _vanishes_beside_the_largest,
    "multiply": lambda place, number: bool(0 < abs(number) <= 1),
    "divide": lambda place, number: bool(place == 1 and 1 <= abs(number) < np.inf),
}
"""What a float at some place has to be for that."""


Condition = frozenset[tuple[Value, int]]
"""Which side of which choices is taken: (what decides, 1 or 2)."""

ALWAYS: Condition = frozenset()
MOST_CONDITIONS = 8


def masked_values(nest: Nest) -> frozenset[Value]:
    """Values that are only used where some condition holds: the compiler may compute them there alone, so that the
    processor tells nothing of ``y / x`` in ``np.where(x != 0, y / x, 0)``, of which NumPy warns.

    What both sides of a choice use is used in any case: ``y`` in ``np.where(x > 0, 1 - y, y)``.
    """
    users: dict[Value, list[tuple[Value, int]]] = {}
    for value in nest.values:
        for place, arg in enumerate(value.args):
            users.setdefault(arg, []).append((value, place))
    roots = {root for phase in range(nest.phases) for root in nest.roots(phase)}
    roots |= {value for write in nest.writes for value in write.needs}
    used_where: dict[Value, set[Condition]] = {root: {ALWAYS} for root in roots}
    for value in sorted(users, key=lambda value: -value.number):
        if value not in roots:
            used_where[value] = _joined(
                condition | {(user.args[0], place)} if user.op == "where" and place else condition
                for user, place in users[value]
                for condition in used_where.get(user, {ALWAYS})
            )
    return frozenset(value for value, conditions in used_where.items() if ALWAYS not in conditions)


def _joined(conditions: Iterable[Condition]) -> set[Condition]:
    """The same said by fewer: what holds on both sides of a choice holds whatever decides it."""
    found = set(conditions)
    fresh = list(found)
    while fresh and ALWAYS not in found and len(found) <= MOST_CONDITIONS:
        condition = fresh.pop()
        for decider, side in condition:
            rest = condition - {(decider, side)}
            if rest not in found and any(other <= rest | {(decider, 3 - side)} for other in found):
                found.add(rest)
                fresh.append(rest)
    return {one for one in found if not any(other < one for other in found)}


def suspicion(value: Value, name: Names, masked: bool = False) -> str:
    """C that holds where an operation raises what the processor does not tell; empty where it does."""
    if masked and value.op == "cast":
        return f"({_cast_check(value, name)}) != 0"
    kind = kind_of(value)
    if masked and kind == IEEE:
        result = f"wide({name(value)})" if value.dtype == HALF else name(value)
        return f"!FINITE({result})"
    if kind == ANY_NAN:
        return f"{name(value)} != {name(value)}"
    if kind != INTEGER:
        return ""
    return " || ".join((f"{name(value.args[-1])} == 0", *_wrapping_quotient(value, name)))


def check(value: Value, name: Names, unit: CUnit) -> str:
    """C of what an operation raises."""
    if value.op == "cast":
        return _cast_check(value, name)
    kind = kind_of(value)
    if kind == ANY_NAN:
        return f"{name(value)} != {name(value)} ? {FLAG_INVALID} : 0"
    return _division_check(value, name) if kind == INTEGER else _ieee_check(value, name, unit)


def _wrapping_quotient(value: Value, name: Names) -> tuple[str, ...]:
    """C that holds where a quotient of integers is too large for its dtype, if that can be."""
    if value.op != "floor_divide" or value.dtype.kind != "i":
        return ()
    dividend, divisor = map(name, value.args)
    return (f"({divisor} == -1 && {dividend} == LOWEST_{C_TYPES[value.dtype]})",)


def _division_check(value: Value, name: Names) -> str:
    zero = FLAG_DIVIDE | FLAG_INVALID if value.op == "reciprocal" else FLAG_DIVIDE
    overflow = "".join(f"{wraps} ? {FLAG_OVERFLOW} : " for wraps in _wrapping_quotient(value, name))
    return f"{name(value.args[-1])} == 0 ? {zero} : {overflow}0"


def _ieee_check(value: Value, name: Names, unit: CUnit) -> str:
    rule, dtype, operands = RULES[value.op], value.args[-1].dtype, [name(arg) for arg in value.args]
    short, count = C_TYPES[dtype], len(operands)
    unit.helpers.setdefault(f"raised_by{count}_{short}", raised_helper(count, short))
    if_infinite = str(FLAG_OVERFLOW | (FLAG_INVALID if value.op == "floor_divide" else 0))
    if rule.pole == EVERYWHERE:
        if_infinite = str(FLAG_DIVIDE)
    elif rule.pole is not None:
        if_infinite = f"{operands[rule.pole]} == 0 ? {FLAG_DIVIDE} : {if_infinite}"
    text = f"raised_by{count}_{short}({name(value)}, {', '.join(operands)}, {if_infinite})"
    if value.op == "power" and dtype == np.float32:  # which infinite powers NumPy warns of depends on the processor
        return f"!FINITE({operands[1]}) && !FINITE({name(value)}) ? {FLAG_UNSURE} : {text}"
    return text


def _cast_check(value: Value, name: Names) -> str:
    (operand,) = value.args
    if value.dtype.kind == "f":
        result = f"wide({name(value)})" if value.dtype == HALF else name(value)
        return f"!FINITE({result}) & FINITE({name(operand)}) ? {FLAG_OVERFLOW} : 0"
    low, high = cast_limits(value.dtype)
    return f"!((f64){name(operand)} > {low} && (f64){name(operand)} < {high}) ? {FLAG_INVALID} : 0"
