"""Lines of NumPy's own which its warnings name.

In: the name of a place in those functions of NumPy that are written in Python. Out: its ``Position``, which the graph's
nodes that are computed there carry within the user's; the warnings of kernels name it, as NumPy's do.

>>> with graph.within(place_of("var square")):
...     squared = graph.call("square", deviation)

No line is known beforehand: NumPy is made to warn there, once. Where it does not, the user's line is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from capture.ir.graph import Position
from capture.ir.warned import noted

_LARGE = np.full(3, 1.7e308)
_APART = np.array([1.7e308, -1.7e308, -1.7e308])
_ROW = _LARGE.reshape(1, 3)

_WARNING: Mapping[str, tuple[Callable[[], Any], int]] = {
    "sum": (partial(np.sum, _LARGE), 0),
    "prod": (partial(np.prod, _LARGE), 0),
    "x.sum": (_LARGE.sum, 0),
    "x.prod": (_LARGE.prod, 0),
    "cumsum": (partial(np.cumsum, _LARGE), 0),
    "cumprod": (partial(np.cumprod, _LARGE), 0),
    "round": (partial(np.round, _LARGE, 2), 0),
    "clip": (partial(np.clip, _LARGE, -1e308, 1e308, out=np.empty(3, np.float32)), 0),
    "full": (partial(np.full, 3, np.float64(1e300), np.float32), 0),
    "mean": (_LARGE.mean, 0),
    "mean divide": ((_LARGE + 0j).mean, 1),
    "var mean": (_LARGE.var, 0),
    "var subtract": (_APART.var, 0),
    "var square": (np.array([1e200, -1e200]).var, 0),
    "var sum": (np.array([1.3e154, -1.3e154]).var, 0),
    "ptp": (partial(np.ptp, _APART), 0),
    "diff": (partial(np.diff, _APART), 0),
    "outer": (partial(np.outer, _LARGE, _LARGE), 0),
    "norm square": (partial(np.linalg.norm, _ROW, axis=0), 0),
    "norm sum": (partial(np.linalg.norm, np.full((3, 1), 1.3e154), axis=0), 0),
    **{f"cross {number}": (partial(np.cross, _ROW, _ROW), number) for number in range(9)},
}
"""By place: a call that warns there, and which of its warnings that is."""

CALLS: Mapping[Hashable, str] = {
    np.sum: "sum", np.prod: "prod", np.cumsum: "cumsum", np.cumprod: "cumprod", np.round: "round", np.around: "round",
    np.clip: "clip", np.full: "full", ("method", "sum"): "x.sum", ("method", "prod"): "x.prod",
    ("method", "clip"): "clip",
}  # fmt: skip
"""Where what the user calls is computed at one place."""


@lru_cache(maxsize=64)
def place_of(name: str) -> Position | None:
    """The line of NumPy's; None where NumPy warns at none of its own."""
    function, number = _WARNING[name]
    with np.errstate(all="warn"), noted() as found:
        function()
    if len(found) <= number:
        return None
    file = found[number].filename
    root = os.path.dirname(os.path.dirname(np.__file__))
    if not file.startswith(os.path.join(root, "numpy", "")):
        return None
    module = os.path.splitext(os.path.relpath(file, root))[0].replace(os.sep, ".")
    return Position(file, found[number].lineno, "", module)


def place_of_call(called: Hashable) -> Position | None:
    """The same for what the user calls: a function of NumPy's or ("method", name)."""
    name = CALLS.get(called)
    return None if name is None else place_of(name)
