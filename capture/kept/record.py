"""What is kept of a function: rows, one a variant, under a name that says all that they rely on without a guard.

In: a function, its settings, the toolchain. Out: ``key_of``: a name that changes with Python, NumPy, this package, the
compiler, the options and every part of the function's code; ``rows_of``: what is kept under it.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import platform
import sys
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from capture import backends
from capture._version import __version__
from capture.frames.settings import Settings
from capture.inductor import cache
from capture.kept.encoding import described

if TYPE_CHECKING:
    from capture.inductor.toolchain import Toolchain

MOST_ROWS = 8
_FORMAT = 1
"""Part of every name: raise it when rows change."""


class Row(NamedTuple):
    """One variant as plain data: what ``hook.Variant`` takes, and what an executor is made of."""

    guards: Any
    code: Any
    direct: Any
    native: bool
    evaluated: int
    program: Any
    kernels: str  # the name of the shared object in the cache
    plan: bytes  # pickled, for reports, and to build the shared object again
    graph: str


def may_be_kept(settings: Settings) -> bool:
    """Whether variants under these settings are what any process would make of the function."""
    options, run = settings.options, settings.backend
    return (
        options.warm_start
        and not (options.verify or options.logs or options.debug_dir)
        and options.math == "libmvec"  # else kernels hold addresses in this process
        and getattr(run, "args", ())[:1] == (backends.inductor,)
        and not getattr(run, "keywords", {}).get("background")
        and settings.dynamic in (None, True, False)
        and settings.force_break is settings.patience is settings.judge is None
        and not settings.always
    )


def key_of(function: FunctionType, settings: Settings, toolchain: Toolchain) -> str:
    """The name of the record of a function's variants."""
    relied_on = (
        *(_FORMAT, __version__, _our_files(), np.__version__, sys.version, platform.machine(), toolchain.identity),
        *(repr(settings.options), repr(settings.dynamic), settings.fullgraph),
        *(repr(function.__module__), function.__qualname__, described(function.__code__)),
    )
    return f"variants:{hashlib.sha256(marshal.dumps(relied_on, 2)).hexdigest()}"


def rows_of(name: str) -> list[Row]:
    """The variants kept under a name, newest first."""
    content = cache.load_entry(name)
    return [] if content is None else [Row(*row) for row in marshal.loads(content)]


@lru_cache(maxsize=1)
def _our_files() -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of this package's files: who works on it has many versions of one number."""
    top = Path(__file__).resolve().parent.parent
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(names):
            status = os.stat(os.path.join(folder, name))
            found.append((os.path.join(folder[len(str(top)) :], name), status.st_size, status.st_mtime_ns))
    return tuple(found)
