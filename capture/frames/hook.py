"""The hook: running compiled variants in place of plain code.

In: functions, and variants made for them: guards (``guards.compile_guards``), replacement code (``assemble``), perhaps
an executor. Out: callables (``Entry``) that behave as the functions do and run a variant wherever its guards hold; and,
while the hook is armed, the same for every captured function that is called below.

>>> def f(x):
...     return x + 1
>>> def g(x):
...     return x - 1
>>> entry = Entry(f, miss=lambda entry, arguments: Variant((0, ()), g.__code__))
>>> entry(1), f(1), entry.__name__
(0, 2, 'f')

Entries are called a thousand times more often than anything here: all of that is in C, in ``_hook``.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, NamedTuple

try:
    from capture.frames import _hook
except ImportError as error:
    raise ImportError(
        f"the extension capture.frames._hook does not load ({error}); build it for this Python with"
        " `pip install -e .` or `python setup.py build_ext --inplace`, and see `python -m capture doctor`"
    ) from error
from capture.frames._hook import (
    UNBOUND,
    Continuation,
    Entry,
    Region,
    Variant,
    WeakEntry,
    arm,
    armed_depth,
    begin_quiet,
    call_apart,
    call_at_base,
    counts,
    current_info,
    disarm,
    end_quiet,
    enter_scope,
    forget,
    forget_scope,
    leave_scope,
    mark,
    region_left,
    set_in_scope,
    set_process_scope,
    spare,
    watch_function,
)

__all__ = [
    "UNBOUND",
    "CodeRecord",
    "Continuation",
    "Entry",
    "Region",
    "Variant",
    "WeakEntry",
    "arm",
    "armed",
    "armed_depth",
    "begin_quiet",
    "call_apart",
    "call_at_base",
    "code_record",
    "counts",
    "current_info",
    "disarm",
    "end_quiet",
    "enter_scope",
    "forget",
    "forget_scope",
    "leave_scope",
    "mark",
    "nested",
    "quiet",
    "region_left",
    "reset",
    "set_callbacks",
    "set_in_scope",
    "set_nested",
    "set_process_scope",
    "spare",
    "watch_function",
]

LEFT_ALONE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
"""Flags of code that is neither captured nor compiled."""

Miss = Callable[[Entry, tuple[Any, ...]], Variant | None]
ShouldCapture = Callable[[CodeType], bool]
Callbacks = tuple[Miss | None, ShouldCapture | None]


class CodeRecord(NamedTuple):
    """What the hook knows of a code object: ``decision`` is undecided, skip, capture or replacement."""

    decision: str
    entries: tuple[Entry, ...]


def set_callbacks(miss: Miss | None, should_capture: ShouldCapture | None) -> Callbacks:
    """Whom to ask about frames seen while armed; returns who was asked before.

    ``should_capture(code)`` is asked once per code object. ``miss(entry, arguments)`` is asked when no variant's guards
    hold; ``entry.function`` is the running function while it is asked, and ``current_info()`` is the ``info`` of the
    decorated function whose code armed the hook. Both are called with capturing off.
    """
    return _hook.set_callbacks(miss, should_capture)


def set_nested(on: bool) -> bool:
    """Whether running a variant with native parts arms the hook; returns the setting before."""
    return _hook.set_nested(on)


@contextmanager
def nested(on: bool) -> Iterator[None]:
    """``set_nested`` for the duration of a block."""
    before = set_nested(on)
    try:
        yield
    finally:
        set_nested(before)


@contextmanager
def armed() -> Iterator[None]:
    """Frames of this thread are captured inside the block."""
    arm()
    try:
        yield
    finally:
        disarm()


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing is captured on this thread inside the block, and entries run plain functions."""
    begin_quiet()
    try:
        yield
    finally:
        end_quiet()


def code_record(code: CodeType) -> CodeRecord:
    """What is known of a code object whose frames have been seen."""
    return CodeRecord(*_hook.code_record(code))


def reset() -> None:
    """Forget everything about frames; entries of decorated functions keep their variants."""
    _hook.forget_all()


os.register_at_fork(after_in_child=_hook.after_fork)
