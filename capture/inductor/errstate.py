"""NumPy's errstate as the executor reads it at each call: in C where this NumPy keeps it there, else by asking.

In: this module's import. Out: an executor that knows the modes in force, packed as NumPy packs them, three bits a kind:

>>> with np.errstate(divide="raise", over="ignore", under="ignore", invalid="ignore"):
...     _executor.errstate()
2
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from capture.inductor import _executor

MODES = {"ignore": 0, "warn": 1, "raise": 2, "call": 3, "print": 4, "log": 5}


def read_errstate() -> int:
    """NumPy's modes packed as it does itself: what C falls back on."""
    modes = np.geterr()
    kinds = (modes["divide"], modes["over"], modes["under"], modes["invalid"])
    return sum(MODES[mode] << (3 * index) for index, mode in enumerate(kinds))


def reads_errstate() -> bool:
    """Whether C finds the modes in this NumPy: two settings that differ in every kind."""
    with np.errstate(divide="warn", over="raise", under="ignore", invalid="print"):
        first = _agrees()
    with np.errstate(divide="raise", over="ignore", under="log", invalid="warn"):
        return first and _agrees()


def _agrees() -> bool:
    try:
        return _executor.errstate() == read_errstate()
    except (ValueError, RuntimeError):  # no such capsule
        return False


@lru_cache(maxsize=256)
def raising_state(modes: int) -> Any:
    """NumPy's state for packed modes, with every kind raised that is not ignored: for calls of NumPy from graphs."""
    kinds = ("divide", "over", "under", "invalid")
    raised = {kind: "raise" for index, kind in enumerate(kinds) if modes >> (3 * index) & 7 != MODES["ignore"]}
    with np.errstate(**raised):  # type: ignore[arg-type]
        return np._core.umath._extobj_contextvar.get()  # type: ignore[attr-defined]


_executor.set_errstate_maker(raising_state)
if not reads_errstate():
    _executor.set_errstate_reader(read_errstate)
