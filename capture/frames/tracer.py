"""The symbolic evaluator: a stack machine over canonical instructions whose values live in a graph.

In: a function, the objects its argument slots hold this time, settings. Out: the graph of the array work from the
start of the frame, guards, and the value it returns, or a ``GraphBreak`` and where every frame was. ``trace`` puts
these together.

>>> tracer = Tracer(function, (np.ones(3), 2), settings, Changing())
>>> tracer.run(tracer.root), tracer.guards
(<array multiply>, (Guard(x: is an array of float64[3] C), ...))

Nothing of the user's runs here. An instruction either completes, or raises ``GraphBreak`` and leaves no trace:
everything it changed goes through the journal, and the graph is cut back.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MappingProxyType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from capture.frames import handlers
from capture.frames.breaks import Again, GraphBreak
from capture.frames.bytecode import Code, Instruction, decode, popped
from capture.frames.changing import Changing
from capture.frames.effects import Journal, Memory
from capture.frames.guards import Check, Guard, IsObject, Present
from capture.frames.loops.node import capture_loop, compute_all_apart, compute_apart
from capture.frames.loops.worth import Entrance, is_worth
from capture.frames.origins import added, is_passed_cell, is_resumed, origin
from capture.frames.outside import Outside
from capture.frames.rebuild import PARTS, every_part
from capture.frames.settings import Settings
from capture.frames.sources import Argument, Cell, ClosureCell, Contents, Global, Source
from capture.frames.sources import Constant as KnownObject
from capture.frames.stores import GlobalStore, Store
from capture.frames.unsteady import require_steady
from capture.frames.values import binding, calls, exceptions, numbers, numbers_called, operations, size_scalars
from capture.frames.values.base import NULL, Lazy, NotConcrete, Value
from capture.frames.values.constants import Constant, attempt, formats_itself
from capture.frames.values.containers import DictValue, ListValue, TupleValue, ViewValue
from capture.frames.values.exceptions import ExceptionValue, OnStack, Raised
from capture.frames.values.functions import CellValue, ClosureValue, CodeValue, EntryValue, MethodValue
from capture.frames.values.generators import GeneratorValue
from capture.frames.values.instances import Instance, ObjectValue
from capture.frames.values.iterators import CountedIterator, IteratorValue, SequenceIterator
from capture.frames.values.looking import without_weaker
from capture.frames.values.lookup import is_class
from capture.frames.values.numbers import NumberValue
from capture.frames.values.objects import CallableValue
from capture.frames.values.results import computed
from capture.frames.values.sizes import Sizes
from capture.frames.values.streams import UserIterator
from capture.frames.values.wrap import SHARED, wrap
from capture.ir import op as ops
from capture.ir.graph import Graph, Node, Position
from capture.ir.shapes import Size
from capture.ir.sizes import Known, UnknownSize
from capture.records import dataclass, field

if TYPE_CHECKING:
    from capture.frames.loops.evaluating import Inside

DEEPEST = 20
"""Calls evaluated inline within each other; deeper ones run as calls."""
LARGEST = 4000
"""Nodes in a graph; a loop that is unrolled beyond that goes on natively."""
LONGEST = 30_000
"""Instructions in one go: loops inside each other, and calls that call twice, multiply."""


@dataclass(eq=False)
class Frame:
    """A frame being evaluated. The fields after ``next`` are the state before the instruction at ``index``."""

    owner: CodeValue | None  # the function, None for the traced one
    code: Code
    globals: dict[str, Any]
    locals: dict[str, Value]  # also cells, by their slot's name
    exact: bool = True  # the caller's instruction gives just what this frame returns
    stack: list[Value] = field(default_factory=list)
    index: int = 0
    next: int = 0
    handling: tuple[ExceptionValue, ...] = ()  # exceptions, innermost last
    rounds: dict[int, int] = field(default_factory=dict)  # jump target -> how often
    loops: dict[int, Value] = field(default_factory=dict)  # FOR_ITER -> the iterator being unrolled
    entrances: dict[int, Entrance] = field(default_factory=dict)  # heads of ``while`` loops -> where they were entered
    came_from: int = -1  # the instruction before
    moved: bool = False  # it has been put back to the head of a loop
    result: Value | None = None
    yields: bool = False  # the result is an item of a generator
    direct: bool = False  # what a generator raises is raised by the instruction that asks for its item
    thrown: ExceptionValue | None = None  # into a generator
    saved_stack: tuple[Value, ...] = ()
    saved_locals: dict[str, Value] = field(default_factory=dict)
    marks: tuple[int, int, int, int] = (0, 0, 0, 0)  # lengths of graph, journal and guards, instructions kept

    def pop(self) -> Value:
        return self.stack.pop()

    def push(self, value: Value) -> None:
        self.stack.append(value)

    def jump(self, target: int) -> None:
        self.next = target

    @property
    def instruction(self) -> Instruction:
        return self.code.instructions[self.index]

    @property
    def place(self) -> tuple[str, int, str]:
        """File, line and function for people."""
        code = self.code.original
        return code.co_filename, self.instruction.line or code.co_firstlineno, code.co_qualname


@dataclass(frozen=True)
class FrameState:
    """A frame before the instruction at ``index``."""

    owner: CodeValue | None
    code: Code
    globals: dict[str, Any]
    index: int
    stack: tuple[Value, ...]
    locals: Mapping[str, Value]

    @property
    def instruction(self) -> Instruction:
        return self.code.instructions[self.index]


class Unwinding(NamedTuple):
    """An exception on its way to frame number ``depth``, which handles it."""

    value: ExceptionValue
    depth: int


class Tracer:
    """State of one evaluation, and the questions that values and handlers ask it."""

    def __init__(
        self,
        function: FunctionType,
        arguments: Sequence[Any],
        settings: Settings,
        changing: Changing,
        native: Mapping[str, int] = MappingProxyType({}),
        unsteady: Collection[Source] = (),
    ) -> None:
        self.changing = changing
        self.unsteady = unsteady
        self.native = native  # what has to be left to Python: kind -> its number in the trace
        self.raised = 0  # exceptions so far
        self.generators: list[GeneratorValue] = []  # made so far
        self.unwinding: Unwinding | None = None
        self.function = function
        self.settings = settings
        self.journal = Journal()
        self.sizes = Sizes(self)
        self.graph = Graph(function.__name__ if function.__name__.isidentifier() else "graph", known=self.sizes)
        self.memory = Memory(self)
        self.frames: list[Frame] = []
        self.cells: dict[str, CellValue] = {}  # that are in the slots of the traced frame when the graph runs
        self._guards: dict[tuple[Source, Check], Guard] = {}
        self._lazy: dict[Source, Lazy] = {}
        self.outside = Outside(self)
        self.globals: dict[tuple[int, str], Value] = {}  # assigned while tracing, by namespace and name
        self.class_attributes: dict[tuple[int, str], Value] = {}  # likewise, by class and name
        self.must_stay_open: set[Source] = set(changing.declared.dims)
        self.evaluated = self.kept = 0
        self.portable = True  # whether another process would find the same
        self.inside: Inside | None = None  # the program of the loop that is being evaluated
        self.loops_left: dict[tuple[int, int], str] = {}  # heads of loops that are no nodes -> why
        self.patience: float = math.inf if settings.patience is None else settings.patience
        self.root = self._root_frame(arguments)

    def release(self) -> None:
        """The trace is given up: let go of the arguments."""
        self.graph.known = Known()
        self.sizes.release()
        self.memory.release()

    # frames -------------------------------------------------------------------------------------------------------
    def _root_frame(self, arguments: Sequence[Any]) -> Frame:
        code = decode(self.function.__code__)
        names = code.original.co_varnames
        frame = Frame(None, code, self.function.__globals__, {})
        resumed = is_resumed(code.original)
        for index, value in enumerate(arguments):
            source = Argument(index, names[index])
            passed = names[index] in code.cells or is_passed_cell(names[index])
            if resumed and passed and type(value) is CellType:
                frame.locals[names[index]] = self.cell(value, Contents(source), source, names[index])
            else:
                frame.locals[names[index]] = self.lazy(source, value)
        return frame

    def free_cells(self, frame: Frame) -> dict[str, CellValue]:
        """The closure of a frame's function, by the names of its slots."""
        if frame.owner is not None:
            return {name: frame.owner.cell(self, index) for name, index in frame.code.free.items()}
        cells = {}
        for name, index in frame.code.free.items():
            cell = self.function.__closure__[index]  # type: ignore[index]
            cells[name] = self.cell(cell, Cell(index, name), ClosureCell(None, index, name), name)
        return cells

    def cell(self, cell: CellType, source: Source, place: Source, free: str = "") -> CellValue:
        """An existing cell, at ``place``, with what is in it, at ``source``; nothing if its variable is unbound."""
        known = self.outside.known(place, cell)
        if isinstance(known, CellValue):
            return known
        try:
            content = self.lazy(source, cell.cell_contents)
        except ValueError:
            content = None
        found = CellValue(content, None if free else source, free, place)
        self.outside.enter(cell, found)
        return found

    def run(self, frame: Frame) -> Value:
        """Evaluate a frame to its end. After a GraphBreak ``self.frames`` still holds where everybody was."""
        if self.inside is not None:
            return self.inside.run_frame(frame)
        self.frames.append(frame)
        instructions = frame.code.instructions
        force = self.settings.force_break
        first, others = added(frame.code.original)
        while frame.result is None:
            instruction = instructions[frame.index]
            frame.next = frame.index + 1
            frame.saved_stack, frame.saved_locals = tuple(frame.stack), dict(frame.locals)
            frame.marks = self.mark()
            self.graph.position = self._position(frame, instruction)
            if is_worth(self, frame) and capture_loop(self, frame):
                frame.moved = False
                continue
            if frame.moved:
                frame.moved = False
                continue
            if force is not None and handlers.can_break(instruction):
                self._force_break(force, frame)
            self.evaluated += 1
            self.kept += frame.index >= first and frame.index not in others
            if self.evaluated == self.native.get("iterator"):
                raise Again("an iterator is made over a dict that has been changed", "write", "")
            if self.evaluated > self.patience and handlers.can_break(instruction):
                self._check_worth()
            try:
                if frame.thrown is not None:
                    thrown, frame.thrown = frame.thrown, None
                    raise Raised(thrown, f"{thrown.describe()} is thrown into a generator", "generator")
                handlers.HANDLERS[instruction.op](self, frame, instruction)
            except GraphBreak as stop:
                if not self._handle(stop, frame):
                    raise
            frame.came_from, frame.index = frame.index, frame.next
        self.frames.pop()
        return frame.result

    def generator_frame(
        self, generator: GeneratorValue, sent: Value, thrown: ExceptionValue | None, direct: bool
    ) -> Frame:
        """The frame of a generator, where it goes on."""
        owner, state = generator.function, generator.state
        if len(self.frames) > DEEPEST:
            raise GraphBreak(f"more than {DEEPEST} calls inside each other", "depth")
        if state is None:
            return Frame(owner, decode(owner.code), owner.globals, dict(generator.bound), False, direct=direct)
        stack = [*state.stack, *(() if thrown is not None else (sent,))]
        index = state.index - (thrown is not None)
        frame = Frame(owner, state.code, owner.globals, dict(state.locals), False, stack, index)
        frame.direct, frame.thrown, frame.rounds = direct, thrown, dict(state.rounds)
        return frame

    # exceptions ---------------------------------------------------------------------------------------------------
    def _handle(self, stop: GraphBreak, frame: Frame) -> bool:
        """Let ``frame`` go on at its handler, if the break stands for an exception that is handled there."""
        if frame is self.frames[-1] and not self._begin_unwinding(stop):
            return False
        if self.unwinding is None or self.frames[self.unwinding.depth] is not frame:
            return False
        value, region = self.unwinding.value, frame.code.region_at(frame.index)
        assert region is not None and value.number is not None
        del self.frames[self.unwinding.depth + 1 :]
        self.unwinding = None
        del frame.stack[region.depth :]
        if region.lasti:
            frame.push(OnStack(value.number))
        frame.push(value)
        frame.jump(region.target)
        return True

    def _begin_unwinding(self, stop: GraphBreak) -> bool:
        """Find the frame that handles what its innermost frame has raised; what this instruction did is undone."""
        value = exceptions.exception_of(stop)
        depth = self._handling_depth()
        if value is None or depth is None:
            return False
        again = value.number is not None
        if not again and self.raised == self.native.get("raise"):
            return False
        frame = self.frames[-1]
        nodes, changes, _, _ = frame.marks
        if not (isinstance(stop, Raised) and stop.late):
            self.graph.truncate(nodes)
            self.journal.undo(changes)
        frame.stack[:], frame.locals = frame.saved_stack, dict(frame.saved_locals)
        if not again:
            self.journal.set(value, "number", self.raised)
            self.raised += 1
        self.unwinding = Unwinding(value, depth)
        return True

    def _handling_depth(self) -> int | None:
        """The number of the innermost frame in which the current instructions are covered by a handler."""
        for depth in range(len(self.frames) - 1, -1, -1):
            frame = self.frames[depth]
            if frame.code.region_at(frame.index) is not None:
                return depth
            if not frame.exact and not self._passes_on(depth):
                return None
        return None

    def _passes_on(self, depth: int) -> bool:
        """Whether what a frame raises is raised as it is by its caller's instruction, which has done nothing else."""
        frame, instruction = self.frames[depth], self.frames[depth - 1].instruction
        if binding.is_generator(frame.code.original):
            return frame.direct or instruction.op == "FOR_ITER"
        in_place = instruction.op == "BINARY_OP" and instruction.arg.endswith("=")
        return instruction.op in handlers.PASSING_ON and not in_place

    def _check_worth(self) -> None:
        """After so many instructions there should be array work."""
        if not self.graph.calls:
            raise GraphBreak(f"no array work in {self.settings.patience} instructions", "python", "")
        self.patience = math.inf

    def _force_break(self, force: Any, frame: Frame) -> None:
        code, index = origin(frame.code.original, frame.index)
        ahead = code is frame.code.original and is_resumed(code)  # before the body of a resume function
        if not ahead and force(code, index):
            raise GraphBreak("asked for by a test", "forced")

    def _position(self, frame: Frame, instruction: Instruction) -> Position:
        code = frame.code.original
        module = frame.globals.get("__name__")
        line, last = instruction.line or code.co_firstlineno, self.graph.position
        module = module if type(module) is str else ""
        known = last is not None and last.line == line and last.function is code.co_qualname
        if known and last.file is code.co_filename and last.module == module:  # type: ignore[union-attr]
            return last  # type: ignore[return-value]
        return Position(code.co_filename, line, code.co_qualname, module)

    def roll_back(self, depth: int) -> None:
        """Restore the state before the current instruction of frame number ``depth``; frames above it are gone.

        Facts that only this instruction looked at are not guarded: it runs natively, whatever they are.
        """
        marks = self.frames[depth].marks
        self.undo(marks, depth + 1)
        self._guards = dict(itertools.islice(self._guards.items(), marks[2]))

    def mark(self) -> tuple[int, int, int, int]:
        return len(self.graph), self.journal.mark(), len(self._guards), self.kept

    def undo(self, marks: tuple[int, int, int, int], depth: int) -> None:
        """Take back everything since ``mark``; frames from ``depth`` on are gone.

        But for guards: values remember what was found out about them.
        """
        nodes, changes, _, self.kept = marks
        del self.frames[depth:]
        self.graph.truncate(nodes)
        self.journal.undo(changes)

    def changing_operands(self) -> frozenset[Source]:
        """Where the changing numbers come from that the current instruction works on."""
        frame = self.frames[-1]
        count = popped(frame.instruction) or frame.instruction.op == "FOR_ITER"
        operands = frame.saved_stack[len(frame.saved_stack) - count :]
        numbers = (part for part in every_part(operands) if isinstance(part, NumberValue))
        return frozenset[Source]().union(*(number.sources for number in numbers))

    # guards -------------------------------------------------------------------------------------------------------
    def guard(self, source: Source, check: Check, why: str = "") -> None:
        """Note a fact that was used, once; not what is certain of a known object."""
        if type(source) is KnownObject and isinstance(check, IsObject):
            return
        require_steady(self, source)
        if (source, check) not in self._guards:
            line = self.frames[-1].instruction.line if self.frames else None
            self._guards[source, check] = Guard(source, check, line, why)

    @property
    def guards(self) -> tuple[Guard, ...]:
        return (*without_weaker(self._guards.values()), *self.sizes.guards())

    # values -------------------------------------------------------------------------------------------------------
    def lazy(self, source: Source, example: Any) -> Lazy:
        """The value at ``source``, the same one each time."""
        found = self._lazy.get(source)
        if found is None:
            found = self._lazy[source] = Lazy(source, example)
        return found

    def there(self, source: Source, example: Any) -> Lazy:
        """``lazy`` for a place that may be empty at another call, which Python would notice."""
        self.guard(source, Present())
        return self.lazy(source, example)

    def wrap(self, source: Source, example: Any) -> Value:
        """Look at an object from outside: its family's value, under guards."""
        require_steady(self, source)
        known = self.outside.known(source, example)
        if known is not None:
            return known
        found = wrap(self, source, example)
        if type(example) in SHARED or isinstance(found, ObjectValue):
            self.outside.enter(example, found)
        return found

    def write(self, owner: Value, store: Store) -> None:
        """Note a change of something that outlives the frame, to be carried out at the end of the region."""
        self.outside.write(owner, store)

    def write_global(self, namespace: dict[str, Any], name: str, value: Value) -> None:
        """``name = value`` in the globals of a function or module."""
        self.outside.write_global(namespace, GlobalStore(namespace, name, value))
        self.journal.put(self.globals, (id(namespace), name), value)

    def constant(self, value: Any) -> Value:
        """A value for an object computed while tracing; mutable ones are taken apart, to be made anew each time."""
        make = MADE_OF.get(type(value))
        if make is not None:
            return make(self, value)
        if type(value) in KNOWN or isinstance(value, np.dtype):
            return Constant(value)
        if type(value) in CALLABLE or is_class(value):
            return CallableValue(value)
        raise GraphBreak(f"an object of type {type(value).__qualname__} is made by Python")

    def code_constant(self, value: Any) -> Value:
        """What LOAD_CONST pushes; the very object is used again where a container of it is needed."""
        if type(value) is tuple:
            return TupleValue([self.code_constant(item) for item in value], KnownObject(value))
        return CallableValue(value) if callable(value) else Constant(value)

    def literal(self, value: Any) -> Any:
        """A constant as an argument of a graph's call."""
        return self.graph.constant(value) if isinstance(value, np.generic) else value

    def known_size(self, size: Size) -> int:
        """A size that the trace needs as a number."""
        return self.sizes.known(size)

    def refused(self, words: str, error: ops.CannotInfer) -> Exception:
        """What to raise where an operation has no place in the graph."""
        return self.sizes.refusal(error) if isinstance(error, UnknownSize) else GraphBreak(f"{words}{error}", "op")

    def sorted(self, items: Sequence[Value], kwargs: Mapping[str, Value]) -> tuple[Value, ...]:
        found = calls.call_known(self, NULL, sorted, [TupleValue(items)], kwargs)
        return found.items(self)

    def method(self, owner: Value, name: str) -> Value:
        return MethodValue(owner, name)

    def constant_items(self, values: Value) -> Value:
        """What iteration gives, for a function that looks at nothing else."""
        return ListValue(values.real(self).items(self))

    def iterator(self, over: Value) -> IteratorValue:
        if isinstance(over, Constant) and type(over.value) is frozenset:
            return CountedIterator(over)
        return UserIterator(over) if isinstance(over, Instance) else SequenceIterator(over)

    def dict_iterator(self, owner: DictValue, over: DictValue | ViewValue) -> Value:
        self.journal.set(owner, "iterated", True)
        late = owner.source is not None and self.outside.is_written(owner)
        return CountedIterator(over, self.evaluated if late else None)

    def global_value(self, frame: Frame, name: str) -> Value:
        """A global, or else a builtin, of a frame's function."""
        stored = self.stored_global(frame.globals, name)
        if stored is not None:
            return stored
        if name in frame.globals:
            return self.lazy(Global(frame.globals, name), frame.globals[name])
        found = binding.builtin_source(self, frame.globals, name)
        if found is None:
            raise GraphBreak(f"the global {name!r} does not exist")
        source, example = found
        return self.stored_global(source.namespace, name) or self.lazy(source, example)

    def stored_global(self, namespace: dict[str, Any], name: str) -> Value | None:
        """What has been assigned to a global while tracing."""
        self.outside.enter_namespace(namespace)
        return self.globals.get((id(namespace), name))

    # computing ----------------------------------------------------------------------------------------------------
    def add_call(self, op: ops.Op, *args: Any, **params: Any) -> Any:
        """A call in the graph: a node, or what a macro gives."""
        start = len(self.graph)
        self.sizes.doing = op.name
        try:
            result = self.graph.call(op, *args, **params)
        except ops.CannotInfer as error:
            self.graph.truncate(start)
            raise self.refused(f"{op.name}: ", error) from None
        finally:
            self.sizes.doing = ""
        numbers.require_precision(self.graph, self.memory.inputs, start)
        self.memory.require_order(self.graph.nodes[start:])
        return result

    call_op = calls.call_op
    call_ufunc_method = calls.call_ufunc_method
    call_known = calls.call_known

    def parameter(self, value: Value) -> Any:
        """A value as an index in the graph."""
        return calls.as_parameter(self, "an index", value.in_graph(self))

    def result(self, found: Any) -> Value:
        """What a graph's call gave, as a value."""
        if isinstance(found, Node):
            return calls.several_results(self, found) if isinstance(found.type, tuple) else computed(found)
        if isinstance(found, ops.ListLiteral):
            return ListValue([self.result(item) for item in found])
        if isinstance(found, tuple):
            return TupleValue([self.result(item) for item in found])
        return self.constant(found)

    def evaluate(self, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """Call something free of effects on constants, at once; a break where an argument is no constant."""
        words = getattr(function, "__name__", str(function))
        for arg in (*args, *kwargs.values()):
            numbers.require_constant(self, arg)
        try:
            concrete = [arg.real(self).concrete(self) for arg in args]
            named = {name: arg.real(self).concrete(self) for name, arg in kwargs.items()}
        except NotConcrete as error:
            raise GraphBreak(f"{words} of {error}") from None
        if words in ("hash", "__hash__") or any(type(value) in (set, frozenset) for value in concrete):
            self.portable &= words == "contains"  # each process hashes texts, and so orders sets, in its own way
        found = attempt(function, concrete, named, words)
        if type(found) in (str, bytes):  # of a function, say: its address is in it
            self.portable &= all(map(formats_itself, (*concrete, *named.values())))
        return self.constant(found)

    def binary(self, symbol: str, left: Value, right: Value) -> Value:
        left, right = left.real(self), right.real(self)
        if self.inside is not None and (self.inside.is_inside(left) or self.inside.is_inside(right)):
            return self.inside.binary(symbol, left, right)
        return operations.binary(self, symbol, left, right)

    def equal(self, left: Value, right: Value) -> bool:
        """``left is right or left == right``, as containers compare."""
        left, right = left.real(self), right.real(self)
        if left is right:
            return True
        return operations.binary(self, "==", left, right).truth(self)

    def identical(self, left: Value, right: Value) -> bool:
        return operations.identical(self, left.real(self), right.real(self))

    def require_no_circle(self, owner: Value, values: Iterable[Value | None]) -> None:
        """Refuse to make something a part of itself: it could not be built in one go."""
        for value in values:
            value = value._real if isinstance(value, Lazy) else value
            if value is owner:
                raise GraphBreak(f"a {owner.noun} becomes part of itself")
            if value is not None and value.source is None and not isinstance(value, CellValue):
                self.require_no_circle(owner, PARTS.get(type(value), lambda _: ())(value))

    def call(self, callee: Value, args: Sequence[Value], kwargs: Mapping[str, Value], exact: bool = False) -> Value:
        callee, before = callee.real(self), None
        while callee is not before:
            before = callee
            callee, args = callee.called(self, args)
            callee = callee.real(self)
        if isinstance(callee, EntryValue) and not is_resumed(callee.plain.code):
            callee = callee.plain
        if isinstance(callee, CodeValue):
            return self.call_function(callee, args, kwargs, exact)
        if isinstance(callee, CallableValue):
            args = size_scalars.as_ints(self, callee.value, args)
            found = numbers_called.call(self, callee, args, kwargs)
            if found is not None:
                return found
        if isinstance(callee, EntryValue):
            raise GraphBreak("the rest of a call that another break interrupted", "resume")
        return callee.call(self, args, kwargs)

    apart, all_apart = compute_apart, compute_all_apart

    def call_function(
        self, function: CodeValue, args: Sequence[Value], kwargs: Mapping[str, Value], exact: bool = False
    ) -> Value:
        """Evaluate a call of a Python function inline."""
        special = calls.special(self, function, args, kwargs)
        if special is not None:
            return special
        code = function.code
        reason = binding.why_not_inline(code, binding.is_generator(code))
        if reason:
            raise GraphBreak(f"{function.describe()} {reason}", "call")
        if binding.is_generator(code):
            return self._make_generator(function, args, kwargs)
        if len(self.frames) > DEEPEST:
            raise GraphBreak(f"more than {DEEPEST} calls inside each other", "depth")
        self.check_size()
        names = binding.bind(self, function, args, kwargs)
        return self.run(Frame(function, decode(code), function.globals, names, exact))

    def _make_generator(self, function: CodeValue, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        number = len(self.generators)
        if number == self.native.get("generator"):
            raise GraphBreak(f"{function.describe()} makes a generator that must exist", "generator")
        bound = binding.bind(self, function, args, kwargs)
        made = GeneratorValue(function, args, kwargs, bound, number)
        self.generators.append(made)
        return made

    def make_function(self, frame: Frame, code: CodeType, parts: Mapping[str, Value]) -> Value:
        return ClosureValue(code, frame.globals, parts)

    def check_size(self) -> None:
        """Where something is repeated: whether it has not been repeated too often."""
        if len(self.graph) > LARGEST:
            raise GraphBreak(f"the graph has more than {LARGEST} nodes", "size")
        if self.evaluated > LONGEST:
            raise GraphBreak(f"more than {LONGEST} instructions before a graph is at its end", "size")


MADE_OF: Mapping[type, Callable[[Tracer, Any], Value]] = {
    tuple: lambda tracer, value: TupleValue([tracer.constant(item) for item in value]),
    list: lambda tracer, value: ListValue([tracer.constant(item) for item in value]),
    dict: lambda tracer, value: DictValue({key: tracer.constant(item) for key, item in value.items()}),
}
KNOWN = operations.EXACT | {range, np.finfo, np.iinfo, frozenset, UnionType}
CALLABLE = frozenset({type, BuiltinFunctionType, np.ufunc})
