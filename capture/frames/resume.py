"""How a frame goes on behind a break: resume functions, and the code that hands over to them.

In: the state of the frames at a break. Out: instructions behind the graph of the traced frame that restore it, run the
broken instruction natively and return ``Continuation(entry, state)``, where ``entry`` is the resume function for the
state behind that instruction. Resume functions are captured like any other function, when they are first called.

A break in an inlined call (root R at call k, callee C at instruction i) gives, in R's code,

    restore R without the call's operands; value = ENTRY_C_i((C's stack and variables)); Continuation(ENTRY_R_k+1, ...)

with the call in R's own exception regions and at its line. With a frame M between them R calls ENTRY_M, a resume
function that first calls ENTRY_C_i with a tuple of state it was given, inside M's regions, and goes on in M's body
behind its call with the value.

Resume functions belong to code, not to a function: the cells of closures are among the state they take, so functions
that are made anew for each call share them.

Code holds entries weakly: the garbage collector does not see what a code object owns, and the entries of a
loop lead to each other. Who runs a variant owns its settings, whose record owns all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import Any

from capture.frames.assemble import Assembler, Slot, resume_at
from capture.frames.bytecode import TERMINATORS, Code, Instruction, decode, null_pair, operands, popped, stack_effect
from capture.frames.hook import Continuation, Entry, WeakEntry
from capture.frames.origins import is_resumed, origin
from capture.frames.rebuild import PARTS, Builder, Needs, every_part, is_in_place
from capture.frames.settings import Settings
from capture.frames.tracer import FrameState
from capture.frames.values.base import NULL, Lazy, Opaque, Value
from capture.frames.values.containers import DictValue, ListValue, TupleValue
from capture.frames.values.functions import CellValue, ClosureValue
from capture.frames.values.instances import Instance
from capture.frames.values.unseen import CHANGES
from capture.frames.values.wrap import WRAP_FOR
from capture.records import dataclass

Miss = Callable[[Entry, tuple[Any, ...]], Any]


@dataclass(frozen=True)
class Target:
    """A resume function, and what it takes, in order."""

    entry: Entry
    parameters: tuple[str, ...]


Namespace = dict[str, Any]

_UNBOUND = CellType()
"""In the closure of every resume function: the cells of the frame that goes on are passed to it."""


class Resumes:
    """Makes resume functions of one compiled function, each once for a namespace of globals."""

    def __init__(self, settings: Settings, miss: Miss) -> None:
        self.settings = settings
        self.miss = miss

    def at(
        self, namespace: Namespace, code: CodeType, index: int, stack: Sequence[Slot], names: Iterable[str]
    ) -> Target:
        """The resume function for the state before instruction ``index`` of ``code``."""
        code, index = landing(code, index)
        stack, names = tuple(stack), frozenset(names)
        key = (id(code), index, stack, names, id(namespace))
        found = self.settings.record.resumes.get(key)
        if found is None:
            made = resume_at(code, index, stack, names)
            found = self._keep(key, namespace, made.code, made.parameters, code)
        return found

    def behind(
        self, namespace: Namespace, code: CodeType, index: int, stack: Sequence[Slot], bound: Mapping[str, Any]
    ) -> Target:
        """The resume function for where jumps lead from ``index``, with what is to be kept of the bound variables."""
        instructions = decode(code).instructions
        while instructions[index].op == "JUMP":
            index = instructions[index].arg
        original, at = landing(code, index)
        source = decode(original)
        own = frozenset(source.slots) - source.free.keys() - source.cells
        kept = {name for name, value in bound.items() if name in own and type(value) not in HARMLESS}
        return self.at(namespace, code, index, stack, source.live_variables(at) & bound.keys() | kept)

    def calling(self, state: FrameState, inner: Target, names: Iterable[str]) -> Target:
        """The resume function that calls ``inner`` in place of a frame's call, with the topmost stack slot's state."""
        index = state.index
        stack = (*template(state.stack[: len(state.stack) - operands(state.instruction)]), Slot.VALUE)
        code, names = state.code.original, frozenset(names)
        key = (id(code), index, stack, names, id(state.globals), inner.entry)
        found = self.settings.record.resumes.get(key)
        if found is None:
            new = Assembler.resuming(code, stack, names)
            new.at(index)
            new.push_stack(stack)
            with new.covered_by(index):
                new.load_const(WeakEntry(inner.entry))
                new.swap(2)
                new.call(1)
            new.jump_to_original(index + 1)
            assert new.parameters is not None
            found = self._keep(key, state.globals, new.build(), new.parameters, code)
        return found

    def _keep(
        self, key: tuple, namespace: Namespace, code: CodeType, parameters: tuple[str, ...], original: CodeType
    ) -> Target:
        """The resume function that is kept: another thread's, if it made one meanwhile that its code relies on."""
        closure = (_UNBOUND,) * len(code.co_freevars)
        made = FunctionType(code, namespace, code.co_name, None, closure or None)
        entry = Entry(made, self.miss, None, self.settings)
        self.settings.record.alive.append(original)  # its id is in the key
        return self.settings.record.resumes.setdefault(key, Target(entry, parameters))  # type: ignore[no-any-return]


def landing(code: CodeType, index: int) -> tuple[CodeType, int]:
    """The instruction of the original that control comes to at ``index`` of a resume function."""
    instructions = decode(code).instructions
    while is_resumed(code) and origin(code, index)[0] is code and instructions[index].op == "JUMP":
        index = instructions[index].arg
    return origin(code, index)


def template(stack: Iterable[Value]) -> tuple[Slot, ...]:
    return tuple(Slot.NULL if value is NULL else Slot.VALUE for value in stack)


# What an instruction leaves ---------------------------------------------------------------------------------------
def slots_after(instruction: Instruction, before: Sequence[Slot], jump: bool, bound: Iterable[str]) -> list[Slot]:
    """The stack's template behind an instruction that ran natively."""
    slots, op, arg = list(before), instruction.op, instruction.arg
    if op == "COPY":
        return [*slots, slots[-arg]]
    if op == "SWAP":
        slots[-arg], slots[-1] = slots[-1], slots[-arg]
        return slots
    if op == "PUSH_NULL":
        return [*slots, Slot.NULL]
    if op == "LOAD_FAST_AND_CLEAR":
        return [*slots, Slot.VALUE if arg in bound else Slot.NULL]
    if op in PAIRS:
        return [*slots[: len(slots) + stack_effect(instruction) - 2], *null_pair(Slot.VALUE, Slot.NULL)]
    depth = len(slots) + stack_effect(instruction, jump)
    touched = popped(instruction)
    kept = slots[: min(len(slots) - touched, depth)]
    return kept + [Slot.VALUE] * (depth - len(kept))


PAIRS = frozenset({"LOAD_METHOD", "LOAD_SUPER_METHOD"})
"""Operations that push (function, self) or (NULL, attribute); they run as the plain load and a NULL."""


def bound_after(instruction: Instruction, stack: Sequence[Value], bound: Mapping[str, Value]) -> dict[str, Value]:
    """The variables that have a value behind an instruction that ran natively."""
    names = dict(bound)
    if instruction.op in ("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"):
        names.pop(instruction.arg, None)
    if instruction.op == "STORE_FAST" and stack[-1] is not NULL:
        names[instruction.arg] = stack[-1]
    return names


# Emitting ---------------------------------------------------------------------------------------------------------
class Handover:
    """Writes the end of a region that broke. ``again`` says that the instruction is left to the next region."""

    def __init__(self, frames: Sequence[FrameState], resumes: Resumes, again: bool = False) -> None:
        self.again = again
        self.frames = frames
        self.root = frames[0]
        self.resumes = resumes
        self.state: list[Value] = []  # arguments of the innermost frames' resume function
        self.target: Target | None = None
        for depth in range(len(frames) - 1, 0, -1):
            self._plan(frames[depth], innermost=depth == len(frames) - 1)

    def _plan(self, state: FrameState, innermost: bool) -> None:
        """Choose the resume function of an inlined frame, and the values it takes."""
        if innermost:
            stack = state.stack
            names = wanted(state.code, state.index, state.locals, state.stack)
            self.target = self.resumes.at(state.globals, state.code.original, state.index, template(stack), names)
        else:
            assert self.target is not None
            stack = (*state.stack[: len(state.stack) - operands(state.instruction)], TupleValue(self.state))
            names = wanted(state.code, state.index, state.locals, state.stack)  # of the call's handlers, too
            self.target = self.resumes.calling(state, self.target, names)
        self.state = [_parameter(name, stack, state.locals) for name in self.target.parameters]

    @property
    def stack(self) -> tuple[Value, ...]:
        """What the root frame's operand stack holds when it goes on natively."""
        if self.target is None:
            return self.root.stack
        return self.root.stack[: len(self.root.stack) - operands(self.root.instruction)]

    @property
    def variables(self) -> dict[str, Value]:
        """The root's variables that are wanted from there on; a cell may be, by a closure, though no code here is."""
        names = wanted(self.root.code, self.root.index, self.root.locals, self.root.stack) | self.root.code.cells
        return {name: value for name, value in self.root.locals.items() if name in names}

    def add_needs(self, needs: Needs) -> None:
        for value in (*self.stack, *self.variables.values(), *self.state):
            needs.add(value)

    def emit(self, build: Builder) -> None:
        new, index = build.assembler, self.root.index
        new.at(index)
        build.prepare()
        for value in self.stack:
            build.value(value)
            build.slide()
        if self.target is not None:
            self._emit_call_operands(build)
        self._emit_effects(build)
        build.drop_base()
        if self.target is None:
            self._emit_native(new)
        else:
            with new.covered_by(index):
                new.call(1)
            self._emit_continuation(new, index + 1, [*template(self.stack), Slot.VALUE], self.root.locals)

    def _emit_call_operands(self, build: Builder) -> None:
        assert self.target is not None
        build.constant(WeakEntry(self.target.entry))
        build.slide()
        build.sequence("build_tuple", self.state)
        build.slide()

    def _emit_effects(self, build: Builder) -> None:
        """Load all new values of variables, then store them, since they may be read from each other's places.

        Writes that outlive the frame come in between: what a variable held may end with it, which they came before.
        """
        new, names, kept = build.assembler, [], self.variables
        for name, value in kept.items():
            its_own = isinstance(value, CellValue) and name in (value.free, build.cell_names.get(id(value)))
            if not its_own and not is_in_place(name, value):
                build.value(value)
                names.append(name)
        cells = build.load_own_cells()
        build.store()
        for name in reversed(cells):
            new.store_deref(name)
        for name in reversed(names):
            new.store_local(name)
        for name in dict.fromkeys((*self._arguments(), *build.cell_names.values())):
            if name not in kept and not is_in_place(name, self.root.locals.get(name)):
                new.delete_local(name)  # it holds nothing of the frame any more, and would outlive a ``del`` of that

    def _arguments(self) -> tuple[str, ...]:
        code = self.root.code.original
        extra = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + extra]

    def _emit_native(self, new: Assembler) -> None:
        """The broken instruction as Python runs it, and where it leads."""
        instruction, before = self.root.instruction, template(self.root.stack)
        op, arg, index, bound = instruction.op, instruction.arg, self.root.index, self.root.locals
        if op == "JUMP" or self.again:
            self._emit_continuation(new, index if self.again else instruction.arg, before, bound)
            return
        after = slots_after(instruction, before, False, bound)
        names = bound_after(instruction, self.root.stack, bound)
        if op == "FOR_ITER" or op.startswith("POP_JUMP"):
            taken = new.label()
            new.native_jump(index, taken)
            self._emit_continuation(new, index + 1, after, names)
            new.place(taken)
            self._emit_continuation(new, instruction.arg, slots_after(instruction, before, True, bound), names)
            return
        if op in PAIRS:
            _emit_pair(new, instruction)
        else:
            new.native(index)
        if op == "LOAD_FAST" and arg not in bound:  # which raises: the code behind relies on it
            new.raise_exception()
        elif op not in TERMINATORS:
            self._emit_continuation(new, index + 1, after, names)

    def _emit_continuation(self, new: Assembler, index: int, slots: Sequence[Slot], bound: Mapping[str, Value]) -> None:
        """[slots] -> return Continuation(entry, (what the resume function at ``index`` takes))"""
        new.at(self.root.index)
        names = wanted(self.root.code, index, bound, self.root.stack)
        target = self.resumes.at(self.root.globals, self.root.code.original, index, slots, names)
        _emit_without_nulls(new, slots)
        values = [name for name in target.parameters if name.startswith("___stack")]
        variables = [name for name in target.parameters if not name.startswith("___stack")]
        first = variables[: target.parameters.index(values[0])] if values else []
        for position, name in enumerate(variables):
            (new.load_cell if name in self.root.code.cells or name in self.root.code.free else new.load_local)(name)
            if position < len(first):
                _rotate_down(new, len(values) + position + 1, len(values))
        new.build_tuple(len(target.parameters))
        new.load_const(Continuation)
        new.swap(2)
        new.load_const(WeakEntry(target.entry))
        new.swap(2)
        new.call(2)
        new.return_value()


def wanted(code: Code, index: int, bound: Mapping[str, Value], stack: Iterable[Value]) -> frozenset[str]:
    """The variables to keep where the frame goes on at ``index``.

    An object of whatever type is kept though no code reads it any more: its end may be an event (a lock, a file). So
    are functions made here that the operand stack hands out: they may be referred to weakly.
    """
    handed_out = {id(part) for part in every_part(stack) if isinstance(part, ClosureValue)}
    original, at = landing(code.original, index)
    source = decode(original)
    own = frozenset(source.slots) - source.free.keys()
    kept = {name for name, value in bound.items() if name in own and (_may_end(value) or id(value) in handed_out)}
    return (source.live_variables(at) | kept) & frozenset(bound)


def _may_end(value: Value) -> bool:
    """Whether the end of an object could be noticed: not that of arrays, numbers, strings."""
    if isinstance(value, Lazy):
        return type(value.example) not in HARMLESS
    parts = PARTS[type(value)](value) if type(value) in CONTAINERS else ()
    return isinstance(value, Opaque | Instance) or any(_may_end(part) for part in parts if part is not None)


HARMLESS = frozenset(WRAP_FOR) - {tuple, list, dict, MethodType, FunctionType, BuiltinFunctionType, type, *CHANGES}
CONTAINERS = frozenset({TupleValue, ListValue, DictValue})


def _parameter(name: str, stack: Sequence[Value], variables: Mapping[str, Value]) -> Value:
    if name.startswith("___stack"):
        return stack[int(name.removeprefix("___stack"))]
    return variables[name]


def _emit_pair(new: Assembler, instruction: Instruction) -> None:
    """LOAD_METHOD as LOAD_ATTR, beside a NULL in the order of this version."""
    with new.covered_by(instruction.index):
        new.at(instruction.index)
        if instruction.op == "LOAD_METHOD":
            new.load_attr(instruction.arg)
        else:
            new.plain("LOAD_SUPER_ATTR", instruction.raws[-1].arg & ~1)
    new.push_null()
    if null_pair("callable", "null")[0] == "null":
        new.swap(2)


def _emit_without_nulls(new: Assembler, slots: Sequence[Slot]) -> None:
    """Take NULLs out of the stack, which no tuple can hold: bring each to the top and use it up in a call."""
    above = 0
    for slot in reversed(slots):
        if slot is not Slot.NULL:
            above += 1
            continue
        for depth in range(2, above + 2):
            new.swap(depth)
        new.load_const(tuple)
        if null_pair("callable", "null")[0] == "callable":
            new.swap(2)
        new.call(1)
        new.pop_top()


def _rotate_down(new: Assembler, depth: int, past: int) -> None:
    """Move the top of the stack below the next ``past`` slots."""
    for step in range(past + 1, 1, -1):
        new.swap(step)
