"""One evaluation of a frame, and again with more known until it need not be.

In: a function, the objects its argument slots hold this time, settings. Out: a ``Trace``: the graph of the
array work from the start of the frame, the guards under which it holds, and how it ends: with the returned value,
or with a break and the state of every frame (inlined calls included) before the instruction that broke.

>>> trace = trace_frame(function, (np.ones(3), 2), settings)
>>> trace.error, [frame.index for frame in trace.frames]
(GraphBreak('call of print'), [17])
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

from capture.errors import ShapeConstraintError
from capture.frames.breaks import GraphBreak
from capture.frames.bytecode import Code
from capture.frames.changing import Changing
from capture.frames.effects import Memory
from capture.frames.guards import Guard
from capture.frames.placing import resumable_depth
from capture.frames.settings import Settings
from capture.frames.sources import Source
from capture.frames.stores import Store, in_order
from capture.frames.tracer import FrameState, Tracer
from capture.frames.values.base import NeedsNative, Value
from capture.frames.values.functions import CellValue
from capture.frames.values.generators import NEW
from capture.frames.values.numbers import Specialise
from capture.frames.values.sizes import OpenSize
from capture.ir.graph import Graph
from capture.ir.sizes import Known
from capture.records import dataclass


@dataclass(frozen=True)
class Trace:
    """What evaluating a frame gave. ``frames`` is empty when it ended by returning ``result``."""

    function: FunctionType
    code: Code
    graph: Graph
    guards: tuple[Guard, ...]
    memory: Memory  # its ``inputs``: placeholder -> value, with source and example
    stores: tuple[Store, ...]  # assignments that outlive the frame, in order
    result: Value | None
    error: GraphBreak | None
    cells: Mapping[str, CellValue]  # in the slots of the frame itself when the graph runs
    frames: tuple[FrameState, ...]
    places: tuple[tuple[str, int, str], ...]
    sizes: tuple[OpenSize, ...]
    numbers: frozenset[Source]  # those that change and were operands of what broke
    evaluated: int  # instructions
    kept: int  # of these are in what runs
    makes_generators: bool  # that have not begun: they may come to exist
    portable: bool  # another process would find the same, where the guards hold


def trace_frame(
    function: FunctionType,
    arguments: Sequence[Any],
    settings: Settings,
    changing: Changing | None = None,
    native: Mapping[str, int] = MappingProxyType({}),
    unsteady: Collection[Source] = (),
) -> Trace:
    """Evaluate a call of ``function`` whose argument slots hold ``arguments``.

    ``changing`` says which numbers and sizes are left open: numbers are inputs of the graph and sizes are symbols,
    unless they must be known, or the trace gets further if they are.
    ``native`` has the number of an exception that is not to be followed to its handler ("raise"), of a generator that
    Python is to make ("generator"), and of an instruction that makes an iterator, which another region is to do
    ("iterator"); with "late" the caller's arrays are written at the end of the region, and loops that are named there
    (``loop_at``) are no nodes. ``unsteady`` are the places that are not to be looked at.
    """
    changing = changing or Changing()
    known: frozenset[Source] = frozenset()
    best: Trace | None = None
    stopped: dict[str, str] = {}  # numbers taken as constants since the graph ended where they were open
    while True:
        tracer = Tracer(function, arguments, settings, changing.without(known), native, unsteady)
        try:
            trace = _trace_once(tracer)
        except Specialise as use:
            try:
                _note_specialised(tracer, use)
            finally:
                tracer.release()
            known |= use.sources
            continue
        fixed = known | tracer.must_stay_open  # asked now: a tracer whose trace is released has nothing left
        if best is not None:
            further = trace.error is None or trace.evaluated > best.evaluated
            (best if further else trace).memory.release()
            trace = trace if further else best
        free = trace.numbers - fixed
        few = {source for source in free if not changing.had_its_share(source)}
        more = free if settings.fullgraph else few
        if trace is best or not more:
            if trace is not best:
                settings.record.specialised |= stopped
            return trace
        best, known = trace, known | more
        stopped |= dict.fromkeys((source.name() for source in more), _why_stopped(trace))


def _why_stopped(trace: Trace) -> str:
    file, line, name = trace.places[-1]
    return f"{trace.error} at {file}:{line} in {name}"


def _note_specialised(tracer: Tracer, use: Specialise) -> None:
    """Say why a number or size is no longer open; it is an error where the user declared it to be."""
    why = tracer.sizes.text_in_words(use.why)
    file, line, name = tracer.frames[-1].place if tracer.frames else ("", 0, "")
    place = f"{file}:{line} in {name}" if file else "the arguments"
    for source in use.sources:
        if source in tracer.must_stay_open:
            raise ShapeConstraintError(f"{source.name()} is declared to change, but {why} at {place}") from None
        tracer.settings.record.specialised.setdefault(source.name(), f"{why} at {place}")


def _trace_once(tracer: Tracer) -> Trace:
    result, error = None, None
    frames: tuple[FrameState, ...] = ()
    places: tuple[tuple[str, int, str], ...] = ()
    numbers: frozenset[Source] = frozenset()
    try:
        result = tracer.run(tracer.root)
    except GraphBreak as stop:
        error = stop.reworded(tracer.sizes.text_in_words(stop.reason))
        error = error.with_traceback(None)  # whose frames would keep the arguments alive
        error.__context__ = None
        places = tuple(frame.place for frame in tracer.frames)
        numbers = tracer.changing_operands()
        tracer.roll_back(resumable_depth(tracer.frames, tracer.graph))
        frames = tuple(
            FrameState(frame.owner, frame.code, frame.globals, frame.index, frame.saved_stack, dict(frame.saved_locals))
            for frame in tracer.frames
        )
    try:
        for generator in tracer.generators:
            generator.require_finished()
    except NeedsNative:
        tracer.release()
        raise
    tracer.memory.finish()
    tracer.sizes.finish()
    guards = tracer.guards
    tracer.graph.known = Known(tracer.sizes.facts, tracer.sizes.testable)
    sizes = tuple(tracer.sizes.describe())
    tracer.sizes.release()
    return Trace(
        tracer.function,
        tracer.root.code,
        tracer.graph,
        guards,
        tracer.memory,
        in_order(tracer.outside.stores),
        result,
        error,
        tracer.cells,
        frames,
        places,
        sizes,
        numbers,
        tracer.evaluated,
        tracer.kept,
        any(generator.phase == NEW for generator in tracer.generators),
        tracer.portable,
    )
