"""What builtins ask objects of Python classes for: their special methods, evaluated inline.

In: an ``Instance`` as the argument of ``repr``, ``abs``, ``float``, ``format``, ``round`` and the like. Out: what the
special method gives, if that is of the type that Python insists on; without a method of the class's own a break.

>>> call(tracer, abs, (vector,), {})        # vector.__abs__()
"""

from __future__ import annotations

import dataclasses
import operator
import reprlib
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.functions import CodeValue
from capture.frames.values.instances import Instance
from capture.frames.values.lookup import OWN, holds

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

ANY = (object,)
METHODS: Mapping[Any, tuple[str, tuple[type, ...]]] = {
    abs: ("__abs__", ANY),
    round: ("__round__", ANY),
    reversed: ("__reversed__", ANY),
    operator.abs: ("__abs__", ANY),
    int: ("__int__", (int,)),
    float: ("__float__", (float,)),
    complex: ("__complex__", (complex,)),
    operator.index: ("__index__", (int,)),
    repr: ("__repr__", (str,)),
    format: ("__format__", (str,)),
    bytes: ("__bytes__", (bytes,)),
}
"""Builtins of which a special method is the whole meaning, and the types that it may give."""


def call(tracer: Tracer, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value | None:
    """A builtin on an object of a Python class; None if there is no rule for it."""
    if kwargs or not args or not isinstance(args[0], Instance):
        return None
    owner, *rest = args
    assert isinstance(owner, Instance)
    if function is str and not rest:
        return text(tracer, owner)
    if function is format:
        return formatted(tracer, owner, *rest)
    if function not in METHODS:
        return None
    name, kinds = METHODS[function]
    _require_own(tracer, owner, name)
    found = owner.special(tracer, name, *rest)
    return None if found is None else _checked(tracer, found, kinds, name)


def _require_own(tracer: Tracer, owner: Instance, name: str) -> None:
    wanted = OWN(object).get(name)
    if wanted is not None and holds(tracer, owner.cls, name, wanted):
        raise GraphBreak(f"{name} of {owner.describe()} is that of all objects", "python")


def _checked(tracer: Tracer, value: Value, kinds: tuple[type, ...], name: str) -> Value:
    value = value.real(tracer)
    if kinds is not ANY and not (isinstance(value, Constant) and type(value.value) in kinds):
        raise GraphBreak(f"{name} gives {value.describe()}")
    return value


def text(tracer: Tracer, owner: Instance) -> Value:
    """``str(owner)``."""
    wanted = OWN(object)["__str__"]
    name = "__repr__" if holds(tracer, owner.cls, "__str__", wanted) else "__str__"
    _require_own(tracer, owner, name)
    found = owner.special(tracer, name)
    assert found is not None
    return _checked(tracer, found, (str,), name)


def formatted(tracer: Tracer, owner: Instance, spec: Value = Constant("")) -> Value:  # noqa: B008 (immutable)
    """``format(owner, spec)``."""
    if not isinstance(spec, Constant) or type(spec.value) is not str:
        raise GraphBreak(f"format with the specification {spec.describe()} is left to Python", "call")
    if holds(tracer, owner.cls, "__format__", OWN(object)["__format__"]):
        if spec.value != "":
            raise GraphBreak(f"{owner.describe()} is formatted by Python")
        return text(tracer, owner)
    found = owner.special(tracer, "__format__", spec)
    assert found is not None
    return _checked(tracer, found, (str,), "__format__")


# repr() of what may be part of itself -------------------------------------------------------------------------------
def _sample(self: Any) -> str:
    return ""


def _codes() -> frozenset[CodeType]:
    found = [reprlib.recursive_repr()(_sample)]
    if hasattr(dataclasses, "_recursive_repr"):
        found.append(dataclasses._recursive_repr(_sample))
    return frozenset(function.__code__ for function in found)


RECURSIVE_REPRS = _codes()
"""Functions that call another one unless they are at it already for this object."""


def without_recursion(tracer: Tracer, function: CodeValue) -> Value | None:
    """What a function does that notices when it is called for the same object again, which is not so in a trace."""
    if function.code not in RECURSIVE_REPRS:
        return None
    return function.cell(tracer, function.code.co_freevars.index("user_function")).content
