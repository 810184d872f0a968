"""A compiler for existing NumPy code: put ``@capture.compile`` over a function.

>>> import capture, numpy as np
>>> @capture.compile
... def distance(x, y):
...     return np.sqrt(((x - y) ** 2).sum(axis=1))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture import config, errors, log
from capture._version import __version__
from capture.uncollected import importing

if TYPE_CHECKING:
    from capture import ir
    from capture.api import compile, disable, explain, graph_break, is_compiling, reset, scope
    from capture.backends import list_backends, register_backend
    from capture.frames.dims import Dim, mark_dynamic, mark_static

__all__ = [
    "Dim",
    "__version__",
    "compile",
    "config",
    "disable",
    "errors",
    "explain",
    "graph_break",
    "ir",
    "is_compiling",
    "list_backends",
    "log",
    "mark_dynamic",
    "mark_static",
    "register_backend",
    "reset",
    "scope",
]

_HOMES = {
    **dict.fromkeys(("compile", "disable", "explain", "graph_break", "is_compiling", "reset", "scope"), "capture.api"),
    **dict.fromkeys(("list_backends", "register_backend"), "capture.backends"),
    **dict.fromkeys(("Dim", "mark_dynamic", "mark_static"), "capture.frames.dims"),
}


def __getattr__(name: str) -> Any:
    """Import what is asked for: ``import capture`` alone costs next to nothing."""
    import importlib

    if name == "ir":
        return importlib.import_module("capture.ir")
    if name not in _HOMES:
        raise AttributeError(f"module 'capture' has no attribute {name!r}")
    with importing():
        value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
