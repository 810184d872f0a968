"""Load a plan and its library as one callable object.

In: a ``Plan`` and the path of the shared object made from its source. Out: an ``Executor``, written in C
(``_executor/*.c``), which runs the plan without Python in between::

    executor = load(plan, "/…/1f3c….so")
    executor(x, y)       # (array, …), or None: run the region as plain Python instead
    executor.plan, executor.source, executor.calls, executor.threads

Details the plan leaves open: an input of kind ``scalar`` has no numbers, its value is in its buffer only. An
input of the wrong type, dtype or ndim is a TypeError; unaligned data, a written input that is read-only and an
int beyond int64 make the call exit. So does an extern call in which NumPy would warn of a floating-point error: plain
Python then warns, in order and at the user's line (but once an input has been written, NumPy warns as it is called).
Exceptions that are no ``Exception`` (Ctrl-C), and all exceptions after inputs may have been written, propagate.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from capture import config
from capture.errors import BackendError
from capture.inductor import _executor, errstate  # noqa: F401 (errstate: the executor reads it)
from capture.inductor.plan import (
    FLAG_DIVIDE,
    FLAG_INVALID,
    FLAG_OVERFLOW,
    FLAG_UNDERFLOW,
    Buffer,
    ExternStep,
    Flag,
    Input,
    KernelStep,
    LeaveStep,
    MeasureStep,
    Plan,
    Step,
    View,
)
from capture.ir.op import ListLiteral
from capture.ir.telling import warn_at
from capture.ir.types import MOST_AXES
from capture.records import astuple

Executor = _executor.Executor

# The values of the enumerations in executor.h.
_INPUT_KINDS = {"array": 0, "scalar": 1, "bool": 2, "int": 3, "float": 4, "object": 5}
_BUFFER_KINDS = {"input": 0, "constant": 1, "arena": 2, "output": 3, "extern": 4}
_LITERAL, _VIEW, _TUPLE, _LIST = range(4)
_ANY, _ARRAY, _SCALAR, _NUMBER, _OBJECT = range(5)
_PYTHON_NUMBERS: dict[type | None, int] = {None: 0, bool: 1, int: 2, float: 3}

_SHARE = 1_500
"""Nanoseconds of work that pay for handing it to a thread that waits for it."""

_SHARE_BESIDE_BLAS = 250_000
"""The same in graphs that call a BLAS, whose own threads keep a core busy for some 20 ms after each product, and are
waited for by the next one."""

_OF_BLAS = frozenset({np.matmul, np.dot, np.inner, np.vdot, np.tensordot})
_MODULES_OF_BLAS = ("numpy.linalg", "scipy.linalg", "capture.ir.ops.contracting")

_SLOT_BYTES = 16


def load(plan: Plan, library_path: str | os.PathLike[str], threads: int | None = None) -> Executor:
    """The executor of a plan; ``threads`` bounds the threads of one kernel (default: ``config.threads``).

    A library that cannot be loaded or lacks a kernel, or a plan that contradicts itself, is a ``BackendError``.
    """
    faults = list(_faults(plan))
    if faults:
        raise BackendError(f"the plan of {plan.name} is malformed:\n  " + "\n  ".join(faults))
    limit = config.threads if threads is None else threads
    try:
        return Executor(plan, encode(plan), os.fspath(library_path), limit, report_flags)
    except OSError as error:
        raise BackendError(f"cannot load the kernels of {plan.name}: {error}") from error


def _share(plan: Plan) -> int:
    called = [step.function for step in plan.steps if isinstance(step, ExternStep)]
    return _SHARE_BESIDE_BLAS if any(map(_calls_blas, called)) else _SHARE


def _calls_blas(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return function in _OF_BLAS or module.startswith(_MODULES_OF_BLAS)


def release_memory() -> int:
    """Give the blocks that wait to become outputs again back to the system; tells how many bytes they were."""
    waiting = _executor.memory()["bytes"]
    _executor.set_memory_limit(_executor.set_memory_limit(0))
    return waiting


# ------------------------------------------------------------------ checking


def _faults(plan: Plan) -> Iterator[str]:
    """What would make the executor read or write where it must not."""
    count = plan.number_count
    for where, number in _numbers(plan):
        if not 0 <= number < count:
            yield f"{where}: {number} is none of the {count} numbers"
    if _first_numbers(plan)[-1] > count:
        yield f"the inputs have more than the {count} numbers"
    for id, buffer in enumerate(plan.buffers):
        yield from _buffer_faults(plan, id, buffer)
    for where, view in _all_views(plan):
        if not 0 <= view.buffer < len(plan.buffers):
            yield f"{where}: there is no buffer {view.buffer}"
        elif where.startswith("result") and not view.scalar and plan.buffers[view.buffer].kind == "arena":
            yield f"{where}: an array must not lie in the arena"
    for step in plan.steps:
        if isinstance(step, KernelStep):
            if step.grain < 1:
                yield f"{step.symbol}: the grain is {step.grain}"
        elif isinstance(step, LeaveStep | MeasureStep):
            if not 0 <= step.buffer < len(plan.buffers):
                yield f"{type(step).__name__}: there is no buffer {step.buffer}"
        elif not all(0 <= id < len(plan.buffers) and plan.buffers[id].kind == "extern" for id in _result_ids(step)):
            yield f"{step.function!r}: its results are not buffers of kind extern"


def _buffer_faults(plan: Plan, id: int, buffer: Buffer) -> Iterator[str]:
    if buffer.kind not in _BUFFER_KINDS:
        yield f"buffer {id}: no kind {buffer.kind!r}"
    if len(buffer.shape) != len(buffer.strides) or len(buffer.shape) > MOST_AXES:
        yield f"buffer {id}: {len(buffer.shape)} sizes and {len(buffer.strides)} strides"
    if (buffer.kind == "input") != (id < len(plan.inputs)):
        yield f"buffer {id}: the first {len(plan.inputs)} buffers, and no others, are the inputs"
    if buffer.kind == "constant" and type(buffer.source) is not np.ndarray:
        yield f"buffer {id}: its constant is no array"
    if id < len(plan.inputs):
        entry = plan.inputs[id]
        if entry.kind not in _INPUT_KINDS:
            yield f"input {id}: no kind {entry.kind!r}"
        elif (entry.dtype is None) == (entry.kind in ("array", "scalar")):
            yield f"input {id}: {entry.kind} with dtype {entry.dtype}"
        elif entry.kind == "scalar" and entry.dtype is not None and entry.dtype.itemsize > _SLOT_BYTES:
            yield f"input {id}: a scalar of {entry.dtype.itemsize} bytes"


def _numbers(plan: Plan) -> Iterator[tuple[str, int]]:
    """Every number the executor reads by itself, and where it stands."""
    for id, buffer in enumerate(plan.buffers):
        for number in (*buffer.shape, *buffer.strides):
            yield f"buffer {id}", number
        if buffer.kind == "arena":
            yield f"buffer {id}", buffer.arena_offset
    for where, view in _all_views(plan):
        for number in (view.offset, *view.shape, *view.strides):
            yield where, number
    for step in plan.steps:
        if isinstance(step, KernelStep):
            for number in (step.extent, step.work, *((step.scratch,) if step.scratch != -1 else ())):
                yield step.symbol, number
        elif isinstance(step, MeasureStep):
            yield "a measure step", step.number
        elif isinstance(step, ExternStep) and step.told is not None:
            yield "a size that is told", step.told.number
    if plan.arena_bytes != -1 or any(buffer.kind == "arena" for buffer in plan.buffers):
        yield "the arena", plan.arena_bytes
    for number, _ in plan.constants:
        yield "the constants", number


def _all_views(plan: Plan) -> Iterator[tuple[str, View]]:
    for index, result in enumerate(plan.results):
        for view in _views(result):
            yield f"result {index}", view
    for step in plan.steps:
        if isinstance(step, ExternStep):
            for view in _views((step.args, tuple(value for _, value in step.kwargs))):
                yield f"{step.function!r}", view


def _views(value: Any) -> Iterator[View]:
    """The views inside nested tuples."""
    if isinstance(value, View):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _views(item)


def _result_ids(step: ExternStep) -> tuple[int, ...]:
    """The buffers of the results that somebody reads."""
    return tuple(id for id in _all_results(step) if id != -1)


def _all_results(step: ExternStep) -> tuple[int, ...]:
    return step.result if isinstance(step.result, tuple) else (step.result,)


def _first_numbers(plan: Plan) -> list[int]:
    """The first number of each input, and behind it the first that belongs to none."""
    firsts = [0]
    for entry in plan.inputs:
        size = {"array": 2 * entry.ndim, "scalar": 0}.get(entry.kind, 1)
        firsts.append(firsts[-1] + size)
    return firsts


# ------------------------------------------------------------------ encoding: plain tuples for program.c


def encode(plan: Plan) -> tuple[Any, ...]:
    forms = _forms(plan)
    return (
        tuple(map(_encode_input, plan.inputs, _first_numbers(plan))),
        tuple(_encode_buffer(buffer, forms.get(id, _ANY)) for id, buffer in enumerate(plan.buffers)),
        tuple(map(_encode_step, plan.steps, _after_writes(plan.steps))),
        tuple(map(_encode_item, plan.results)),
        tuple(plan.constants),
        plan.number_count,
        plan.needs_sizes,
        plan.arena_bytes,
        len(plan.flags),
        plan.writes,
        _share(plan),
        plan.functions,
    )


def _forms(plan: Plan) -> dict[int, int]:
    """Which extern results must be arrays, scalars, Python numbers or other objects, as far as views over them tell."""
    forms: dict[int, int] = {}
    for _, view in _all_views(plan):
        if view.whole or view.scalar:
            forms[view.buffer] = _NUMBER if view.python is not None else _SCALAR if view.scalar else _ARRAY
    return forms | {id: _OBJECT for id, buffer in enumerate(plan.buffers) if buffer.dtype.hasobject}


def _encode_input(entry: Input, first: int) -> tuple[Any, ...]:
    return _INPUT_KINDS[entry.kind], entry.dtype, entry.ndim, entry.written, first


def _encode_buffer(buffer: Buffer, form: int) -> tuple[Any, ...]:
    constant = buffer.source if buffer.kind == "constant" else None
    kind = _BUFFER_KINDS[buffer.kind]
    return kind, buffer.dtype, constant, buffer.shape, buffer.strides, buffer.arena_offset, form, buffer.stage


def _encode_item(value: Any) -> tuple[int, Any]:
    if isinstance(value, View):
        number = _PYTHON_NUMBERS[value.python]
        view = (value.buffer, value.offset, value.shape, value.strides, value.dtype, value.scalar, value.whole, number)
        return _VIEW, view
    if isinstance(value, tuple) and (any(_views(value)) or type(value) is ListLiteral):
        return _LIST if type(value) is ListLiteral else _TUPLE, tuple(map(_encode_item, value))
    return _LITERAL, value


def _after_writes(steps: Sequence[Step]) -> Iterator[bool]:
    """For each step whether an input may be written before it."""
    written = False
    for step in steps:
        yield written
        written |= isinstance(step, KernelStep) and step.writes


def _encode_step(step: Step, written: bool) -> tuple[Any, ...]:
    """What comes first tells the kinds apart: a name, a number, a function."""
    if isinstance(step, KernelStep):
        return step.symbol, step.extent, step.work, step.grain, step.scratch, step.writes
    if isinstance(step, LeaveStep):
        return step.buffer, -1, 0, ""
    if isinstance(step, MeasureStep):
        return step.buffer, step.number, step.stage, step.sizes
    arguments = (*step.args, *(value for _, value in step.kwargs))
    names = tuple(sys.intern(name) for name, _ in step.kwargs)
    single = not isinstance(step.result, tuple)
    told = () if step.told is None else astuple(step.told)
    return step.function, tuple(map(_encode_item, arguments)), names, _all_results(step), single, not written, told


# ------------------------------------------------------------------ floating-point warnings

_TEXTS = {  # in NumPy's order
    FLAG_DIVIDE: "divide by zero encountered in ",
    FLAG_OVERFLOW: "overflow encountered in ",
    FLAG_UNDERFLOW: "underflow encountered in ",
    FLAG_INVALID: "invalid value encountered in ",
}


def report_flags(plan: Plan, words: tuple[int, ...], kinds: int) -> None:
    """Warn of what the flag words say, as NumPy would have, of those ``kinds`` whose errstate is ``warn``."""
    for flag, word in zip(plan.flags, words, strict=True):
        for kind, text in _TEXTS.items():
            if word & kinds & kind:
                _warn(text + flag.label, flag)


def _warn(text: str, flag: Flag) -> None:
    position = flag.position
    if position is None:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
        return
    warn_at(position, text, RuntimeWarning)
