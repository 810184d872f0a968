"""From a guard miss to a variant: trace, compile the graph, assemble the code around it.

In: an entry, its function, the objects in its argument slots, settings. Out: a ``Variant`` for the hook, or None: run
plainly. The graph goes to ``settings.backend``, which is told nothing else; what it gives is a callable of the
graph's inputs.

>>> compile_frame(entry, function, (np.ones(3),), Settings(backend=eager))
<Variant ...>
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from capture import config, debug, log
from capture.errors import (
    InternalError,
    LoopRefused,
    RecompileLimitWarning,
    ShapeConstraintError,
    ToolchainError,
    Unsupported,
)
from capture.frames.assemble import Assembler, Label
from capture.frames.breaks import Again, BreakRecord, GraphBreak, record
from capture.frames.bytecode import decode, decode_once
from capture.frames.changing import changing_places
from capture.frames.dims import Declared
from capture.frames.guards import ArrayIs, Guard, Present, compile_guards, why_failed
from capture.frames.hook import Entry, Variant
from capture.frames.landings import emit_landings
from capture.frames.loops.node import loop_at
from capture.frames.marks import meaning_of
from capture.frames.origins import is_resumed
from capture.frames.pairs import NoOverlap
from capture.frames.rebuild import Builder, Needs, Templates, with_slots
from capture.frames.resume import Handover, Resumes
from capture.frames.settings import Record, Runner, Settings
from capture.frames.sources import CERTAIN, Source, State, ancestry
from capture.frames.suspending import generator_of, makes_generators, suspending_code
from capture.frames.trace import Trace, trace_frame
from capture.frames.unsteady import unsteady_places
from capture.frames.values.arrays import GraphValue
from capture.frames.values.base import NeedsNative
from capture.frames.values.binding import why_not_inline
from capture.frames.values.draws import GeneratorValue, undoing
from capture.frames.values.numbers import NumberValue
from capture.ir.graph import Graph, Node
from capture.ir.passes.single_elements import is_of_elements
from capture.ir.passes.warnings import may_warn
from capture.ir.types import ArrayType
from capture.records import dataclass, replace
from capture.uncollected import uncollected


@dataclass(frozen=True)
class VariantInfo:
    """What a variant was made from: ``variant.info``."""

    guards: tuple[Guard, ...]
    graph: Graph | None
    runner: Runner | None
    broke: BreakRecord | None
    settings: Settings
    """Owns the resume functions that the variant's code refers to weakly."""
    runs: int
    """How often graphs of the function had run when this one was made."""
    unsteady: frozenset[Source] = frozenset()
    """Places that were not looked at, since they keep changing."""
    portable: bool = False
    """Whether another process would make the same, where the guards hold."""


def compile_frame(
    entry: Entry, function: FunctionType, arguments: tuple[Any, ...], settings: Settings
) -> Variant | None:
    """A variant for this call, or None to run it plainly."""
    suspends = makes_generators(function.__code__)
    refused = why_not_inline(function.__code__, suspends) or meaning_of(function) == "disabled"
    if refused or not _may_compile(entry, function, arguments, settings):
        entry.plain = True
        return None
    try:
        if suspends:
            return generator_variant(entry, function, arguments, settings)
        compilation = _Compilation(entry, function, arguments, settings)
        try:
            if compilation.is_piecemeal:
                entry.plain = True
                return None
            variant = compilation.variant()
            return settings.judge(entry, arguments, variant) if settings.judge is not None else variant
        finally:
            compilation.trace.memory.release()
    except (Unsupported, ShapeConstraintError):
        raise
    except RecursionError:  # the user's, who is that deep already
        return None
    except ToolchainError as error:
        if settings.options.strict:
            raise
        log.fallback(("toolchain", str(error)), str(error))
        entry.plain = True
        return None
    except Exception as error:  # whatever is wrong with us must not reach the user
        if settings.options.strict:
            raise InternalError(f"capturing {function.__qualname__}: {type(error).__name__}: {error}") from error
        log.fallback(function.__code__, _fallback_words(function, error))
        entry.plain = True
        return None


def generator_variant(
    entry: Entry, function: FunctionType, arguments: tuple[Any, ...], settings: Settings
) -> Variant | None:
    """What makes generators whose frames are plain, with captured pieces between the yields; None: there are none."""
    generator = generator_of(function.__code__, settings.always)
    if generator is None:
        entry.plain = True
        return None
    code = function.__code__
    where = code.co_filename, generator.first_yield, code.co_qualname
    found = record(GraphBreak(f"a generator of {code.co_name} stops here for its next item", "yield"), [where])
    if settings.fullgraph:
        raise Unsupported(f"the function is not one graph\n{found}")
    if settings.record.add_break(where, found):
        log.emit("breaks", lambda: str(found))
    info = VariantInfo((), None, None, found, settings, runs_of_graphs(settings.record))
    replacement = suspending_code(function, generator, settings, on_piece)
    variant = Variant(compile_guards(())[0], replacement, None, True, info)
    settings.record.variants.append(variant)
    return settings.judge(entry, arguments, variant) if settings.judge is not None else variant


def _fallback_words(function: FunctionType, error: Exception) -> str:
    code = function.__code__
    return (
        f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno}) could not be captured and runs as plain"
        f" Python: {type(error).__name__}: {error}. Please report this; CAPTURE_STRICT=1 shows where it happens."
    )


def _may_compile(entry: Entry, function: FunctionType, arguments: tuple[Any, ...], settings: Settings) -> bool:
    """Note why no variant fits, and whether there may be one more."""
    variants = entry.variants
    if not variants:
        return True
    state = State(arguments, function)
    reason = why_failed(variants[0].info.guards, state)
    settings.record.misses.append(reason)
    log.emit("recompiles", lambda: f"{function.__qualname__}: {reason}")
    if len(variants) < settings.options.recompile_limit:
        return True
    if any(variant.info.graph is not None for variant in variants):
        words = (
            f"{function.__qualname__} has {len(variants)} variants and runs as plain Python from now on; the last"
            f" guard to fail was {reason}. Keep that constant, pass it as an array, or raise config.recompile_limit."
        )
        settings.record.limits.append(words)
        if settings.judge is None:  # else nobody asked for this function: the program's own output stays as it is
            log.warn(words, RecompileLimitWarning)
    return False


class _Compilation:
    """One trace on its way to a variant."""

    trace: Trace

    def __init__(self, entry: Entry, function: FunctionType, arguments: tuple[Any, ...], settings: Settings) -> None:
        self.entry = entry
        self.function = function
        self.settings = settings
        self.runs = runs_of_graphs(settings.record)
        self.native: dict[str, int] = {}  # what is left to Python, as ``trace_frame`` is told
        while not self._is_compiled(arguments):
            pass

    def _is_compiled(self, arguments: tuple[Any, ...]) -> bool:
        """Trace and compile; False if that is to be done again, without a loop for which the backend has no code."""
        self._follow(arguments)
        self.broke = self._note_break()
        self.nodes = [self.trace.memory.current(value) for value in self.needs.arrays]
        self.outputs = {id(value): index for index, value in enumerate(self.needs.arrays)}
        self.graph = self._finish_graph()
        self.is_piecemeal = self._is_piecemeal()
        if self.is_piecemeal:
            return True
        try:
            self.runner = self._run_backend()
        except LoopRefused as refusal:
            self.trace.memory.release()
            if loop_at(refusal.place) in self.native:
                raise
            loops = {name: 1 for name in self.native if name.startswith(loop_at(""))}
            self.native = {**loops, loop_at(refusal.place): 1}  # other numbers were those of another trace
            self.settings.record.loops[refusal.place] = f"{refusal}, at {refusal.place}"
            return False
        return True

    def _is_piecemeal(self) -> bool:
        """Whether this is the body of a loop that computes with single elements only, at places that keep changing:
        Python is as fast."""
        if self.graph is None or self.settings.fullgraph or self.settings.always:
            return False
        return is_resumed(self.function.__code__) and is_of_elements(self.graph)

    def _follow(self, arguments: tuple[Any, ...]) -> None:
        """Trace, with a break at the first exception or generator whose object turns out to be needed, or the like."""
        while True:
            trace = None
            try:
                trace = self.trace = self._trace(arguments, self.native)
                if self.settings.fullgraph:
                    self._note_break()
                self.handover = self._plan_handover()
                self.needs = self._find_needs()
                return
            except NeedsNative as need:
                self.native[need.what] = need.number
                if trace is not None:
                    trace.memory.release()

    def _trace(self, arguments: tuple[Any, ...], native: Mapping[str, int]) -> Trace:
        """Numbers that change are left unknown only for the sake of array work, here or in the same loop."""
        variants, settings = self.entry.variants, self.settings
        state = State(arguments, self.function)
        self.unsteady = self._unsteady(state)
        dynamic = settings.dynamic
        if isinstance(dynamic, Declared):
            dynamic = self._declared(dynamic, arguments)
        changing = changing_places(variants, state, dynamic)
        trace = trace_frame(self.function, arguments, settings, changing, native, self.unsteady)
        idle = all(variant.info.runs == self.runs for variant in variants)
        optional = bool(changing) and not changing.declared.dims and not settings.always
        if not optional or trace.error is None or not idle or trace.graph.calls:
            return trace
        if trace.numbers and all(map(changing.had_its_share, trace.numbers)):
            return trace
        known = trace_frame(self.function, arguments, settings, None, native)
        further = known.error is None or known.evaluated > trace.evaluated
        (trace if further else known).memory.release()
        return known if further else trace

    def _unsteady(self, state: State) -> frozenset[Source]:
        """Behind a break these are texts: the program made them, and makes others at each call."""
        if self.settings.always:
            return unsteady_places(self.entry.variants, state)
        return unsteady_places(self.entry.variants, state, str) if is_resumed(self.function.__code__) else frozenset()

    def _declared(self, declared: Declared, arguments: tuple[Any, ...]) -> Declared | None:
        """The user's dims, which this call keeps to; None for what is left of a function behind a break."""
        if is_resumed(self.function.__code__):
            return None
        wrong = declared.violation(arguments)
        if wrong:
            raise ShapeConstraintError(f"call of {self.function.__qualname__}: {wrong}")
        return declared

    def _note_break(self) -> BreakRecord | None:
        trace, settings = self.trace, self.settings
        if trace.error is None:
            return None
        found = record(trace.error, trace.places)
        if trace.error.kind == "resume":
            return found
        if settings.fullgraph:
            raise Unsupported(f"the function is not one graph\n{found}") from None
        if settings.record.add_break((found.file, found.line, found.function), found):
            log.emit("breaks", lambda: str(found))
        return found

    def _plan_handover(self) -> Handover | None:
        if not self.trace.frames:
            return None
        again = isinstance(self.trace.error, Again)
        return Handover(self.trace.frames, Resumes(self.settings, on_miss), again)

    def _find_needs(self) -> Needs:
        needs = Needs({id(cell): name for name, cell in self.trace.cells.items()}, self.trace.stores)
        if self.handover is not None:
            self.handover.add_needs(needs)
        else:
            needs.add(self.trace.result)
        needs.finish()
        return needs

    # the graph ----------------------------------------------------------------------------------------------------
    def _finish_graph(self) -> Graph | None:
        """The graph with its outputs; None where nothing in it is of use."""
        graph = self.trace.graph
        graph.output(*self.nodes)
        graph.position = None
        if not self.nodes and not graph.written and not any(map(may_warn, graph.calls)):
            return None
        if self.settings.options.strict or self.settings.options.verify:
            graph.lint()
        log.emit("graph", lambda: f"{graph}\n{graph.python_code()}")
        return graph

    def _run_backend(self) -> Runner | None:
        if self.graph is None:
            return None
        examples = tuple(self._input(node).example for node in self.graph.placeholders)
        runner = undoing(self.graph, self.settings.backend(self.graph, examples))
        self.settings.record.graphs.append(self.graph)
        self.settings.record.sizes.append(self.trace.sizes)
        self.settings.record.runners.append(runner)
        return runner

    def _input(self, node: Node) -> GraphValue | NumberValue | GeneratorValue:
        return self.trace.memory.inputs[node]

    def _guards(self) -> tuple[Guard, ...]:
        """The guards of the trace, and what writes to the caller's arrays rely on."""
        if self.graph is None or not self.graph.written:
            return self.trace.guards
        written = {_source(self._input(node)) for node in self.graph.written}
        arrays = [_source(self._input(node)) for node in self.graph.placeholders if _is_array(node)]
        guards: list[Guard] = []
        for guard in self.trace.guards:
            if guard.source not in written or not isinstance(guard.check, ArrayIs):
                guards.append(guard)
                continue
            guards.append(replace(guard, check=replace(guard.check, writeable=True), why="it is written"))
            for other in arrays:
                if other not in written or arrays.index(guard.source) < arrays.index(other):
                    guards.append(Guard(guard.source, NoOverlap(other), guard.line, "it is written"))
        return tuple(guards)

    # the variant --------------------------------------------------------------------------------------------------
    def variant(self) -> Variant:
        guards = self._guards()
        code: CodeType | None = None
        loaded: tuple[Source, ...] = ()
        if self.graph is not None or self.handover is not None or self.settings.always:
            code, loaded = self._assemble()
        guards = with_presence(guards, loaded)
        info = VariantInfo(
            guards, self.graph, self.runner, self.broke, self.settings, self.runs, self.unsteady, self.trace.portable
        )
        variant = self._without_graph(guards, info) if code is None else self._with_code(code, guards, info)
        self.settings.record.guards.extend(guards)
        self.settings.record.variants.append(variant)
        self._report(guards, variant)
        return variant

    def _report(self, guards: Sequence[Guard], variant: Variant) -> None:
        texts: dict[str, Callable[[], str]] = {
            "guards": lambda: "\n".join(map(str, guards)),
            "bytecode": lambda: f"{decode(self.function.__code__)}\n->\n{decode_once(variant.code)}",
        }
        for topic, text in texts.items():
            log.emit(topic, lambda text=text: f"{self.function.__qualname__}\n{text()}")  # type: ignore[misc]
        files = {f"{topic}.txt": text for topic, text in texts.items()}
        if (graph := self.graph) is not None:
            files |= {"graph.txt": lambda: str(graph), "graph.py": graph.python_code}
        if (plan := getattr(self.runner, "plan", None)) is not None:
            files["kernels.c"] = lambda: plan.source
        debug.write(self.function.__qualname__, files)

    def _without_graph(self, guards: Sequence[Guard], info: VariantInfo) -> Variant:
        """Nothing to compute with arrays: the plain code, as long as these guards hold."""
        program, _ = compile_guards(guards)
        code = self.function.__code__.replace()  # frames of the original can still be captured
        return Variant(program, code, None, self.trace.makes_generators, info, self.trace.kept)

    def _with_code(self, code: CodeType, guards: Sequence[Guard], info: VariantInfo) -> Variant:
        direct, program = None, compile_guards(guards)[0]
        if self.handover is None and self.graph is not None:
            found = self._template(guards)
            if found is not None:
                program, direct = found
        native = self.handover is not None or self.trace.makes_generators
        return Variant(program, code, direct, native, info, self.trace.kept)

    def _template(self, guards: Sequence[Guard]) -> tuple[Any, Any] | None:
        """Guard program and template for a call that needs no Python frame, where the result allows it."""
        assert self.trace.result is not None and self.graph is not None
        needs = self.needs
        if needs.shared or needs.cells or needs.own or needs.stores:
            return None
        templates = Templates(self.outputs, self.needs)
        template = templates.value(self.trace.result)
        if template is None:
            return None
        given = [self._input(node).source for node in self.graph.placeholders]
        inputs = [source for source in given if source is not None]
        if len(inputs) < len(given):  # a number is computed first
            return None
        program, slots = compile_guards(guards, (*inputs, *templates.held))
        return program, (self.runner, slots[: len(inputs)], with_slots(template, slots[len(inputs) :]))

    def _assemble(self) -> tuple[CodeType, tuple[Source, ...]]:
        """The code of the variant, and from where it loads."""
        new = Assembler(self.function.__code__)
        build = Builder(new, self.function.__globals__, self.outputs, self.needs)
        plainly = new.label()
        if self.graph is not None:
            self._emit_run(new, build, plainly)
        if self.handover is not None:
            self.handover.emit(build)
        else:
            self._emit_return(new, build)
        if self.graph is not None:
            new.place(plainly)
            new.pop_top()
            new.jump_to_original(decode(self.function.__code__).body)
        emit_landings(new, Resumes(self.settings, on_miss))
        return new.build(), tuple(build.loaded)

    def _emit_run(self, new: Assembler, build: Builder, plainly: Label) -> None:
        """Call the compiled graph; with None for an answer the region runs as plain Python."""
        assert self.graph is not None
        new.load_const(self.runner)
        for node in self.graph.placeholders:
            build.value(self._input(node))
        new.call(len(self.graph.placeholders))
        new.copy(1)
        new.jump_if_none(plainly)
        build.hold_results()

    def _emit_return(self, new: Assembler, build: Builder) -> None:
        build.prepare()
        assert self.trace.result is not None
        build.value(self.trace.result)
        build.slide()
        for name in reversed(build.load_own_cells()):
            new.store_deref(name)
        build.store()
        build.drop_base()
        new.return_value()


def on_miss(entry: Entry, arguments: tuple[Any, ...]) -> Variant | None:
    """The miss callback of resume functions: their settings are those of the function they resume."""
    settings = entry.info
    variant = compile_call(entry, arguments, settings)
    if settings.made is not None and (variant is not None or entry.plain):
        settings.made(entry, variant)
    return variant


def on_piece(entry: Entry, arguments: tuple[Any, ...]) -> Variant | None:
    """The same for a piece of a generator, which goes on in the generator's frame if there is nothing to gain."""
    variant = compile_call(entry, arguments, entry.info)
    pointless = variant is not None and variant.info.graph is None and not variant.native and not entry.info.always
    if pointless and entry.variants and all(known.info.graph is None and not known.native for known in entry.variants):
        entry.plain = True
    return variant


def compile_call(entry: Entry, arguments: tuple[Any, ...], settings: Settings) -> Variant | None:
    """``compile_frame`` for a miss, under the options of its settings; the time it takes is noted."""
    start = time.perf_counter()
    try:
        with uncollected(), config.applied(settings.options):
            return compile_frame(entry, entry.function, arguments, settings)  # type: ignore[arg-type]
    finally:
        settings.record.compile_seconds += time.perf_counter() - start


def runs_of_graphs(record: Record) -> int:
    """How often graphs of a function have run so far."""
    return sum(variant.hits for variant in record.variants if variant.info.graph is not None)


def with_presence(guards: Sequence[Guard], loaded: Sequence[Source]) -> tuple[Guard, ...]:
    """Guards that also say that there is something wherever code loads from, where none of them reads the place."""
    facts = [guard for guard in guards if not isinstance(guard.check, Present)]
    known = {source for guard in facts for read in (guard.source, *guard.check.sources) for source in ancestry(read)}
    asked = {guard.source: guard for guard in guards if isinstance(guard.check, Present)}
    found = asked | {source: Guard(source, Present()) for source in loaded if type(source) not in CERTAIN}
    return (*facts, *(guard for source, guard in found.items() if source not in known))


def _source(value: GraphValue | NumberValue | GeneratorValue) -> Source:
    assert value.source is not None
    return value.source


def _is_array(node: Node) -> bool:
    return isinstance(node.type, ArrayType) and not node.type.scalar


def forget(found: Record) -> None:
    """Empty a record, and the resume functions in it: each other's code holds them, where no collector looks."""
    for target in list(found.resumes.values()):  # another thread may add to them
        target.entry.clear()
    found.clear()
