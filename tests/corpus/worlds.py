"""A corpus module brought to life as often as wanted.

In: the name of a module and of a function in it. Out: ``World``: the function, in globals of its own, and its calls.

>>> world = World("statements", "for_else")
>>> world.function(*world.calls[0].made().args)
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from tests.corpus import MODULES, Call


class Name(NamedTuple):
    """A function of the corpus."""

    module: str
    function: str

    def __str__(self) -> str:
        return f"{self.module}.{self.function}"


@functools.cache
def _compiled(module: str) -> CodeType:
    path = Path(__file__).with_name(f"{module}.py")
    return compile(path.read_text("utf-8"), str(path), "exec", dont_inherit=True)


def namespace(module: str) -> dict[str, Any]:
    """What a new run of a module leaves in its globals."""
    found: dict[str, Any] = {"__name__": f"tests.corpus.{module}", "__file__": f"{module}.py"}
    exec(_compiled(module), found)
    return found


class World:
    """A run of a corpus module for the sake of one function in it."""

    def __init__(self, name: Name) -> None:
        self.globals = namespace(name.module)
        self.function: FunctionType = self.globals[name.function]
        self.calls: list[Call] = self.globals["CASES"][name.function]


def names(module: str) -> list[Name]:
    """The functions of a module, in order."""
    return [Name(module, function) for function in namespace(module)["CASES"]]


def every(pattern: str = "") -> Iterator[Name]:
    """All functions of the corpus whose name contains ``pattern``."""
    for module in MODULES:
        yield from (name for name in names(module) if pattern in str(name))


def functions(module: str) -> list[FunctionType]:
    """The functions of one run of a module that have calls, in order: to be tested in other ways."""
    found = namespace(module)
    return [found[function] for function in found["CASES"]]
