"""Functions with a meaning of their own while a frame is captured: which, not what it is (``values/special.py``).

>>> @marked("breaks")
... def graph_break(msg=""): ...
>>> meaning_of(graph_break)
'breaks'
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_marked: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def marked(meaning: str) -> Callable[[Function], Function]:
    """Calls of the function are "disabled" (run as plain Python), one of it "breaks" the graph, or it tells whether the
    code that calls it is "compiling".
    """

    def mark(function: Function) -> Function:
        _marked[function] = meaning
        return function

    return mark


def meaning_of(function: Any) -> str | None:
    """What a function is marked as; None for all others."""
    return _marked.get(function)
