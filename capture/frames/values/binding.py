"""Calls as Python binds them: arguments to parameters, names to builtins.

In: a function value, argument values. Out: the frame's first variables, by name. Where Python would raise
TypeError there is a break, so that it does.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.bytecode import decode
from capture.frames.guards import Missing
from capture.frames.sources import Constant as KnownObject
from capture.frames.sources import Global
from capture.frames.values.base import Value
from capture.frames.values.containers import DictValue, TupleValue

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer
    from capture.frames.values.functions import CodeValue

SUSPENDING = {
    inspect.CO_GENERATOR: "is a generator",
    inspect.CO_COROUTINE: "is a coroutine",
    inspect.CO_ASYNC_GENERATOR: "is an asynchronous generator",
    inspect.CO_ITERABLE_COROUTINE: "is a coroutine",
}


SEES_FRAMES = frozenset(
    {
        *("_getframe", "currentframe", "f_locals", "f_back", "_getframemodulename", "_current_frames"),
        *("settrace", "setprofile", "settrace_all_threads", "setprofile_all_threads", "set_trace", "breakpoint"),
    }
)
"""Names through which code may look at frames, or have the rest of its own watched."""


def is_generator(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_GENERATOR)


def why_not_inline(code: CodeType, as_generator: bool = False) -> str:
    """What keeps a code object from being evaluated; empty if nothing does."""
    for flag, words in SUSPENDING.items():
        if code.co_flags & flag and not (as_generator and flag == inspect.CO_GENERATOR):
            return words
    if not code.co_flags & inspect.CO_NEWLOCALS or not code.co_flags & inspect.CO_OPTIMIZED:
        return "has no fast locals"
    if not SEES_FRAMES.isdisjoint(code.co_names):
        return "looks at frames"  # a frame with breaks is several, one after the other
    if decode(code).sees_locals_again:
        return "looks at its variables by name more than once"  # which it may have put where no resumed code has them
    if code.co_cellvars and decode(code).sees_locals:
        return "may read its variables by name"  # in resumed code CPython would show it the cells themselves
    if "__class__" in code.co_freevars and _hides_first_argument(code):
        return "may call super() without a first argument"
    return ""


def _hides_first_argument(code: CodeType) -> bool:
    """Whether ``super()`` might not find its object in the first slot, where resumed code has another argument."""
    if code.co_argcount == 0:
        return True
    first = code.co_varnames[0]
    return any(found.op == "DELETE_FAST" and found.arg == first for found in decode(code).instructions)


def bind(tracer: Tracer, function: CodeValue, args: Sequence[Value], kwargs: Mapping[str, Value]) -> dict[str, Value]:
    """The variables of a call's new frame."""
    code = function.code
    names = code.co_varnames
    positional, keyword_only = code.co_argcount, code.co_kwonlyargcount
    bound: dict[str, Value] = dict(zip(names[:positional], args, strict=False))
    extra = tuple(args[positional:])
    if extra and not code.co_flags & inspect.CO_VARARGS:
        raise GraphBreak(f"{function.describe()} gets too many arguments", "call")
    by_keyword = names[code.co_posonlyargcount : positional + keyword_only]
    rest: dict[str, Value] = {}
    for name, value in kwargs.items():
        if name not in by_keyword:
            rest[name] = value
        elif name in bound:
            raise GraphBreak(f"{function.describe()} gets {name!r} twice", "call")
        else:
            bound[name] = value
    if rest and not code.co_flags & inspect.CO_VARKEYWORDS:
        raise GraphBreak(f"{function.describe()} has no parameter {next(iter(rest))!r}", "call")
    _fill_defaults(function, bound, names[:positional], names[positional : positional + keyword_only])
    place = positional + keyword_only
    if code.co_flags & inspect.CO_VARARGS:
        bound[names[place]] = TupleValue(extra)
        place += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        bound[names[place]] = DictValue(rest)
    return bound


def _fill_defaults(
    function: CodeValue, bound: dict[str, Value], positional: Sequence[str], keyword_only: Sequence[str]
) -> None:
    for name, value in zip(reversed(positional), reversed(function.positional_defaults()), strict=False):
        bound.setdefault(name, value)
    for name, value in function.keyword_defaults().items():
        bound.setdefault(name, value)
    for name in (*positional, *keyword_only):
        if name not in bound:
            raise GraphBreak(f"{function.describe()} lacks the argument {name!r}", "call")


def builtin_source(tracer: Tracer, namespace: dict[str, Any], name: str) -> tuple[Global, Any] | None:
    """Where a builtin is read, and what it is; the module must go on not to define the name."""
    found = namespace.get("__builtins__", builtins)
    table = vars(found) if type(found) is ModuleType else found
    if type(table) is not dict or name not in table:
        return None
    tracer.guard(KnownObject(namespace), Missing(name), f"{name} is a builtin")
    return Global(table, name), table[name]
