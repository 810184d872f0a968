"""Small functions of every kind of construct, with the arguments to call them with.

A module of the corpus holds functions; ``@case`` gives one of them arguments, once for each call:

    @case(numbers(3), 2)
    @case(numbers(3), k=0)
    def scaled(x, k):
        return x * k

Nobody imports these modules to run them. ``worlds.World`` executes one as often as it is needed, each time with globals
and classes of its own: one world runs as plain Python, another compiled, and afterwards they must look the same.

``breaking``, ``mutating``, ``lifetimes`` and ``golden`` (also commands) are what is done to all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from tests.helpers import duplicate

MODULES = (
    "statements",
    "exceptions",
    "handlers",
    "samples",
    "closures",
    "containers",
    "generators",
    "classes",
    "records",
    "control",
    "arrays",
    "people",
)

Function = TypeVar("Function", bound=Callable[..., Any])


class Call(NamedTuple):
    """Arguments of one call; ``made()`` copies them, so that each call has its own."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def made(self) -> Call:
        args, kwargs = duplicate((self.args, self.kwargs))
        return Call(tuple(map(_made, args)), {name: _made(value) for name, value in kwargs.items()})


class Fresh(NamedTuple):
    """An argument that cannot be copied, such as a generator: it is made for each call."""

    make: Callable[[], Any]

    def __call__(self) -> Any:  # a callable is handed on as it is by ``duplicate``
        return self.make()


def _made(value: Any) -> Any:
    return value() if type(value) is Fresh else value


def case(*args: Any, **kwargs: Any) -> Callable[[Function], Function]:
    """Enter a function into the table of its module, to be called with these arguments."""

    def enter(function: Function) -> Function:
        cases = function.__globals__.setdefault("CASES", {})
        cases.setdefault(function.__name__, []).insert(0, Call(args, kwargs))
        return function

    return enter
