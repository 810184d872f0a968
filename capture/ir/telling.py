"""Warnings at the user's line, given by code that stands elsewhere.

In: a ``Position`` of a graph's node and what to say. Out: a warning as Python would have given there, once per line
where the filters say so.

>>> warn_at(Position("model.py", 12, "loss", "model"), "divide by zero encountered in divide", RuntimeWarning)
model.py:12: RuntimeWarning: divide by zero encountered in divide
"""

from __future__ import annotations

import sys
import warnings

from capture.ir.graph import Position

_registries: dict[str, dict] = {}
"""By file: the registries of code whose module is not to be found, so that it too warns once per line."""


def warn_at(position: Position, message: str | Warning, category: type[Warning]) -> None:
    module = position.module or "<string>"
    warnings.warn_explicit(message, category, position.file, position.line, module, _registry(position))


def _registry(position: Position) -> dict:
    """Where Python remembers, for the module of the user's code, which warnings it has given."""
    module = sys.modules.get(position.module)
    if module is None:
        return _registries.setdefault(position.file, {})
    return module.__dict__.setdefault("__warningregistry__", {})
