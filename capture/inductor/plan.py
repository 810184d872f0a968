"""The contract between code generation and the executor: what to allocate, run and return.

In: made by ``schedule``/``memory``/``render`` for one graph. Out: handed, as is, to the C executor
(``_executor.Executor``), which does everything at call time from it.

*Numbers* are one int64 array per call. Its first part is read from the inputs: for each array input its ``ndim``
sizes and then its ``ndim`` strides in bytes, for each number input its value (a float as its bit pattern); inputs
in order. The rest is computed by the unit's ``sizes`` function from the first part (nothing to do when all is
static: ``constants`` gives the values of numbers that do not depend on the inputs). Every size, stride, offset
and extent below is an index into the numbers.

The C unit exports ``void sizes(int64_t *numbers)`` when ``needs_sizes``, the like for each measure step that names
one, and for each kernel

    void NAME(char *const *buffers, const int64_t *numbers, int64_t begin, int64_t end, char *scratch,
              uint32_t *flags);

``buffers`` holds the first byte of each buffer, by buffer id; a kernel runs iterations ``begin <= i < end`` of
its outermost loop, so that the executor may split it over threads; ``scratch`` is private to the thread. ``flags``
has one word per entry of ``Plan.flags``; a kernel ORs the ``FLAG_*`` bits of what an op raised into its word.
A kernel assumes nothing about the floating-point status on entry (the executor clears it). A unit whose kernels may
run for long exports ``int (*capture_poll)(void)``, which the executor sets: it looks at signals; one whose kernels need
memory of a size that they find out ``capture_take`` and ``capture_give``: the executor's blocks; one whose programs
call functions of Python has ``capture_call``, and ``capture_functions`` for the plan's; one whose programs share out
work over threads has ``capture_share``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from capture.ir.graph import Position
from capture.records import dataclass

FLAG_DIVIDE, FLAG_OVERFLOW, FLAG_UNDERFLOW, FLAG_INVALID = 1, 2, 4, 8
FLAG_UNSURE = 16  # something was raised and the kernel cannot tell what NumPy would say

STATUS_LEAVE, STATUS_INTERRUPTED, STATUS_RAISED = 1, 2, 16
"""What a leave step may find: that the call is to exit; that the handler of a signal has raised, while the kernel ran;
or-ed with kinds of FLAG_*, that these were raised: unless all of them are ignored, the call exits."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One operation that may raise floating-point warnings, in program order."""

    label: str  # as in "divide by zero encountered in LABEL"
    position: Position | None


@dataclass(frozen=True, slots=True)
class Input:
    """One graph input. ``kind``: array, scalar (a NumPy scalar), bool, int or float (Python numbers), or object, which
    only extern steps see."""

    kind: str
    dtype: np.dtype | None = None
    ndim: int = 0
    written: bool = False


@dataclass(frozen=True, slots=True)
class Buffer:
    """A block of memory. ``kind``:

    * input: the data of input number ``source`` (buffer ids of inputs equal their input numbers; a scalar's or
      number's value is put into 16 bytes of executor memory in its dtype, a Python int as int64, a float as double);
    * constant: the array ``source``;
    * arena: ``arena_offset`` is a number: byte offset in the call's arena, 64-byte aligned;
    * output: a new ndarray, allocated by NumPy: ``shape`` and ``strides`` (bytes) are numbers (a result, or what is
      only as large as the call finds out on its way);
    * extern: bound when the extern step of that id has returned.
    """

    kind: str
    dtype: np.dtype
    source: Any = None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    arena_offset: int = -1
    stage: int = 0  # behind how many measure steps an output is allocated


@dataclass(frozen=True, slots=True)
class View:
    """An array over a buffer: an operand of an extern call, or a result; offset and strides count bytes."""

    buffer: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    scalar: bool = False  # give a NumPy scalar, not a 0-d array
    python: type | None = None  # give a Python number of this type, where the buffer has no object
    whole: bool = False  # exactly the buffer's own array object (an output or extern result as it is)


@dataclass(frozen=True, slots=True)
class KernelStep:
    """Run a kernel over ``extent`` (a number) outer iterations of about ``work`` nanoseconds each (a number)."""

    symbol: str
    extent: int
    work: int
    grain: int = 1  # ranges handed to threads are multiples of this many iterations
    scratch: int = -1  # number: bytes per thread, -1 for none
    writes: bool = False  # whether it writes inputs


@dataclass(frozen=True, slots=True)
class Told:
    """A size that a result of an extern step tells: along ``axis`` of the array at a ``place`` among several results.

    It is the value of ``number`` before results are compared with what was predicted; ``stage`` and ``sizes`` are as in
    a ``MeasureStep``.
    """

    place: int
    axis: int
    number: int
    stage: int
    sizes: str = ""


@dataclass(frozen=True, slots=True)
class ExternStep:
    """Call ``function(*args, **kwargs)``; each ``View`` inside nested tuples stands for an array, all else is literal.

    The result must be an exact ndarray (or NumPy scalar where ``scalar``) of the dtype, shape and strides of the
    buffer ``result``; else the call exits (see ``Plan``). A tuple of buffer ids for a function with several results
    in a tuple or list; -1 for one that nobody reads.
    """

    function: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]
    result: int | tuple[int, ...]
    told: Told | None = None


@dataclass(frozen=True, slots=True)
class LeaveStep:
    """The call exits where the first byte of a buffer is not zero; or it fails, or exits only under some errstate: see
    ``STATUS_INTERRUPTED`` and ``STATUS_RAISED``.
    """

    buffer: int


@dataclass(frozen=True, slots=True)
class MeasureStep:
    """The int64 in a buffer is from here on the value of ``number``; then the function ``sizes``, if any, computes what
    depends on it, and the outputs of this ``stage`` are allocated.
    """

    buffer: int
    number: int
    stage: int
    sizes: str = ""


Step = MeasureStep | KernelStep | ExternStep | LeaveStep


@dataclass(frozen=True, slots=True)
class Plan:
    """All of one compiled graph.

    Calling the executor gives the tuple of ``results`` (each a ``View`` or a literal), or None: the *exit*. It exits
    when an extern step raises or gives something unpredicted, when a leave step finds so, or when floating-point flags
    are up and the errstate in force is neither warn nor ignore (or a flag is unsure, or a filter turns the warning into
    an error), provided that no input was written yet; whoever called it then runs the region as plain Python, which
    does again what was done so far and raises or warns as Python does. A plan that ``writes`` inputs checks errstate
    and filters *before* its first kernel, and its leave steps come before the kernels that write.
    """

    name: str
    source: str  # C of the whole unit
    inputs: tuple[Input, ...]
    number_count: int
    constants: tuple[tuple[int, int], ...]  # (number, value)
    needs_sizes: bool
    buffers: tuple[Buffer, ...]
    arena_bytes: int  # a number, -1 for no arena
    steps: tuple[Step, ...]
    results: tuple[Any, ...]
    flags: tuple[Flag, ...]
    writes: bool
    functions: tuple[Callable[..., Any], ...] = ()  # what programs call, by their numbers in the source
    kernels: tuple[Any, ...] = ()  # what explain shows: one KernelInfo per loop nest over the data
    tuned: str = ""  # what measuring found, in words


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One loop nest over the data, or one program, for people: the nodes it computes, its C text, the bytes and
    operations of a call.
    """

    name: str
    nodes: tuple[str, ...]
    source: str
    bytes: int
    flops: int
