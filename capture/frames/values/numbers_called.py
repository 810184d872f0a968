"""Calls of builtins on numbers that a graph computes or that change from call to call: who makes the result.

In: a builtin and its arguments. Out: the number, made by the loop that is being captured, by a node of the graph, by a
program of its own (``Tracer.apart``) or by a rule on sizes (``number_calls``); None for other calls.

    n = int(x.sum())      # one element: a number of the graph's
    k = max(n, 3)         # computed behind it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.loops.calling import NUMERIC
from capture.frames.values import number_calls, numbers
from capture.frames.values.arrays import ArrayValue, ScalarValue, as_programs_have_it, only_element
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.numbers import NumberValue
from capture.frames.values.results import ComputedNumber

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer
    from capture.frames.values.objects import CallableValue

NUMBERS_OF_SCALARS = (int, float, bool)
"""What makes a Python number of a NumPy scalar."""


def call(
    tracer: Tracer, callee: CallableValue, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value | None:
    """A call of a builtin inside a loop, or on numbers that a loop has computed; None for others."""
    function = callee.value
    if tracer.inside is not None:
        return tracer.inside.call_known(function, args, kwargs)
    found = [arg.looked_at for arg in args]
    if kwargs:
        return None
    if _is_number_of_array(function, found):
        found = [only_element(tracer, found[0])]  # type: ignore[arg-type]
    if len(found) == 1 and isinstance(found[0], ScalarValue) and _makes_number(function):
        found = [as_programs_have_it(tracer, found[0], function)]
    if _computes_number(function, found):
        return tracer.apart(lambda inside: inside.call_known(function, found, {}))  # type: ignore[arg-type, return-value]
    if not _is_of_numbers(function, found):
        return None
    ruled = number_calls.call(tracer, function, found, {}) or numbers.call_settled(tracer, callee, found)
    return ruled or numbers.in_the_graph(tracer, lambda inside: inside.call_known(function, found, {}))  # type: ignore[arg-type, return-value]


def _is_number_of_array(function: Any, args: Sequence[Value]) -> bool:
    """Whether a builtin makes a number of an array of one element, and Python does so without a warning."""
    if len(args) != 1 or not isinstance(args[0], ArrayValue):
        return False
    shape = args[0].type.shape
    return (function is bool and all(size == 1 for size in shape)) or (function in (int, float) and shape == ())


def _computes_number(function: Any, args: Sequence[Value]) -> bool:
    """Whether a builtin gives a number of one that the graph has computed."""
    if len(args) == 1 and isinstance(args[0], ScalarValue):
        return _makes_number(function)
    return any(isinstance(arg, ComputedNumber) for arg in args) and _is_of_numbers(function, args)


def _makes_number(function: Any) -> bool:
    """Whether it is one of these; a class of the user's is not asked whether it is equal."""
    return any(function is kind for kind in NUMBERS_OF_SCALARS)


def _is_of_numbers(function: Any, args: Sequence[Value]) -> bool:
    """Whether a builtin gives a number of numbers of which one is not known."""
    numbers_only = all(isinstance(arg, ComputedNumber | Constant | NumberValue) for arg in args)
    return numbers_only and not all(isinstance(arg, Constant) for arg in args) and function in NUMERIC
