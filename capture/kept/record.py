"""What is kept of a function: rows, one a variant, under a name that says all that they rely on without a guard.

In: a function, its settings, the toolchain. Out: ``found_of``: rows, and their name, which changes with Python, NumPy,
this package, the compiler, the options and every part of the function's code. They are read once: when a function is
compiled, its first call uses what was found then.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import platform
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from capture import backends
from capture._version import __version__
from capture.frames.settings import Settings
from capture.inductor import cache, toolchain
from capture.kept.encoding import described

MOST_ROWS = 8
_FORMAT = 1
"""Part of every name: raise it when rows change."""


class Row(NamedTuple):
    """One variant as plain data: what ``hook.Variant`` takes, and what an executor is made of, if there is a graph."""

    guards: Any
    code: Any
    direct: Any
    native: bool
    evaluated: int
    program: Any = None  # None: no graph
    kernels: str = ""  # the name of the shared object in the cache
    plan: bytes = b""  # pickled, for reports, and to build the shared object again
    graph: str = ""


class Found(NamedTuple):
    """What is kept of a function, and for which."""

    name: str
    rows: list[Row]
    code: CodeType
    names: tuple[Any, Any]
    is_kept: bool = False
    """This process has written a variant down."""


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


def found_of(function: FunctionType, settings: Settings) -> Found:
    """What is kept of a function under its settings, as it was when this was first asked."""
    found, names = settings.record.kept, (function.__module__, function.__qualname__)
    if found is None or found.code is not function.__code__ or found.names != names:
        name = _key_of(function, settings)
        found = settings.record.kept = Found(name, rows_of(name), function.__code__, names)
    return found


def _key_of(function: FunctionType, settings: Settings) -> str:
    """The name of the record of a function's variants."""
    compiler = toolchain.find().identity
    relied_on = (
        *(_FORMAT, __version__, _our_files(), np.__version__, sys.version, platform.machine(), compiler),
        *(repr(settings.options), repr(settings.dynamic), settings.fullgraph),
        *(repr(function.__module__), function.__qualname__, described(function.__code__)),
    )
    return f"variants:{hashlib.sha256(marshal.dumps(relied_on, 2)).hexdigest()}"


def rows_of(name: str) -> list[Row]:
    """The variants kept under a name, newest first."""
    content = cache.load_entry(name)
    return [] if content is None else [Row(*row) for row in marshal.loads(content)]


def add_row(name: str, row: Row) -> None:
    """Keep one more variant, in place of an older one with the same guards."""
    others = [other for other in rows_of(name) if _bits(other.guards) != _bits(row.guards)]
    cache.store_entry(name, marshal.dumps([tuple(each) for each in (row, *others)][:MOST_ROWS]))


def _bits(guards: Any) -> bytes:
    """Guards as they can be compared: 1, 1.0 and True are equal."""
    return marshal.dumps(guards, 2)


def rest_of(name: str, resume: str) -> str:
    """The name of the record of a resume function, in the record ``name`` of the function it belongs to."""
    return f"{name}:{resume}"


def runs_plainly(name: str) -> bool:
    """Whether a resume function was left to Python."""
    return cache.load_entry(f"{name}:plain") is not None


def note_plain(name: str) -> None:
    cache.store_entry(f"{name}:plain", b"")


@lru_cache(maxsize=1)
def _our_files() -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of this package's files: who works on it has many versions of one number."""
    top = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    return tuple(sorted((path[len(top) :], size, time) for path, size, time in _files_in(top)))


def _files_in(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif entry.name != "__pycache__":
                yield from _files_in(entry.path)
