"""Code objects that replace others, and code objects that resume others in the middle.

In go a code object and calls that write new instructions; out comes a checked code object. What is kept of the
original is kept whole: its bytes, exception table and line table are moved as one block behind the new part, which
jumps into it (all jumps of CPython 3.11 and later are relative). A function that prints before it runs::

    new = Assembler(f.__code__)
    new.load_const(print)
    new.load_local("x")
    new.call(1)
    new.pop_top()
    new.jump_to_original(1)  # behind RESUME
    f.__code__ = new.build()

A resume function continues a frame from a state between two instructions. It takes that state as positional
parameters, in the order of ``Resume.parameters``: what was on the operand stack, then the variables that are still
wanted. A variable that is a cell is passed as the *cell object*, which goes straight into the variable's slot, so
closures made before and after share it. Cells of free variables are passed too, if they are wanted, so that one resume
function serves all closures of the code; they are moved to the slots of free variables, which they remain. Stack
slots are described by a template: ``Slot.VALUE`` takes a parameter, ``Slot.NULL`` does not, ``Slot.HANDLED`` is where
CPython keeps the outer exception while a handler runs and takes the exception that is being handled there,
``Lasti(index)`` is the place of a failed instruction that a clean-up handler will re-raise from.
An exception on the stack must have been raised: CPython takes for granted that it has a traceback.

Constants are held by identity and may be any object. Code objects are not tracked by the garbage collector: a
constant that leads back to its own code is never freed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from types import CodeType
from typing import Any, NamedTuple

from capture.errors import InternalError
from capture.frames.bytecode import (
    Code,
    Position,
    decode,
    decode_before,
    decode_behind,
    decode_once,
    prepare,
    slot_names,
)
from capture.frames.encode import (
    NOWHERE,
    Encoded,
    Handler,
    Item,
    Label,
    encode,
    exception_table,
    handler_entries,
    location_table,
)
from capture.frames.hook import Region
from capture.frames.instructions import EFFECTS, JUMPS, TERMINATORS, Instruction, peak, stack_effect
from capture.frames.origins import origin, origin_offset, passed_cell, remember_origin
from capture.frames.preserve import (
    Diversions,
    Layout,
    back_to_first_line,
    kept_bytes,
    kept_items,
    moved_entries,
    same_code,
)
from capture.frames.versions import BINARY_OPERATORS, DIALECT, SLOT_ARGUMENTS

__all__ = ["Assembler", "Label", "Lasti", "Resume", "Slot", "check", "resume_at", "same_code"]


GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


_MAKES_GENERATOR = frozenset({"RETURN_GENERATOR", "POP_TOP"})
"""What stands before the RESUME of a generator, and is no part of a function."""


class Slot(Enum):
    """What a slot of the operand stack holds where a frame is resumed.

    A slot with an outer exception whose handler has been left already (in clean-up code, between POP_EXCEPT and
    RERAISE) is a VALUE that nothing looks at.
    """

    VALUE = "value"
    NULL = "null"
    HANDLED = "handled"


class Lasti(NamedTuple):
    """A stack slot with the place of the original's instruction ``index``, where an exception came from."""

    index: int  # type: ignore[assignment]  # hides tuple.index, of no use here


StackSlot = Slot | Lasti


class Resume(NamedTuple):
    """Code that continues a frame, and the names of its parameters in order."""

    code: CodeType
    parameters: tuple[str, ...]


class Assembler:
    """Writes code that replaces ``code``: same parameters, flags, names, file, free variables.

    With ``parameters`` given it writes a resume function instead, which takes those. An ``outline`` is a generator's
    code as that of a plain function. Every emitter appends one instruction (or the few that it takes on this version)
    at the position set by ``at`` and in the regions set by ``covered_by``; indices are those of ``decode(code)``.
    """

    def __init__(self, code: CodeType, parameters: Sequence[str] | None = None, outline: bool = False) -> None:
        self.code = code
        self.outline = outline
        self.source: Code = decode(code)
        self.parameters = None if parameters is None else tuple(parameters)
        self._arguments = tuple(passed_cell(name) if name in self.source.free else name for name in parameters or ())
        self._items: list[Item] = []
        self._consts: list[Any] = list(code.co_consts)
        self._const_index: dict[int, int] = {id(value): i for i, value in enumerate(code.co_consts)}
        self._names: dict[str, int] = {name: i for i, name in enumerate(code.co_names)}
        self._added: list[str] = []  # new local variables
        self._body: dict[int, Label] = {}  # labels in the kept original, by byte offset
        self._diverted: dict[int, Label] = {}  # where the kept original goes instead, by byte offset
        self._places: list[tuple[int, int]] = []  # constants to become places: (index of constant, byte offset)
        self._loop_ends: list[tuple[Label, Label, Position, Handler | None]] = []
        self._handler: Handler | None = None
        self._position: Position = NOWHERE
        self._depth: int | None = 0
        self._max_depth = 0
        if parameters is not None and code.co_flags & GENERATORS:
            raise InternalError(f"{code.co_qualname} is a generator, whose frame cannot be made by a call")
        self._write_prologue()

    @classmethod
    def resuming(cls, code: CodeType, stack: Sequence[StackSlot], variables: Iterable[str]) -> Assembler:
        """An assembler of a resume function for a stack and the variables to keep; see ``push_stack``."""
        return cls(code, resume_parameters(code, stack, variables))

    def _write_prologue(self) -> None:
        """Up to RESUME as in the original; a resume function gets its cells made."""
        for instruction in self.source.instructions:
            self._position = instruction.position
            if self.parameters is not None:
                if instruction.op in ("COPY_FREE_VARS", "RESUME"):
                    self._write_native(instruction)
            elif not self.outline:
                with self.covered_by(instruction.index):
                    self._write_native(instruction)
            elif instruction.op not in _MAKES_GENERATOR:
                self._write_native(instruction)
            if instruction.op == "RESUME":
                break
        else:
            raise InternalError(f"{self.code.co_qualname} has no RESUME")
        for name in self.parameters or ():
            if name in self.source.free:
                self.move_local(passed_cell(name))
                self.store_local(name)

    # ------------------------------------------------------------------------ where and under what
    def at(self, place: int | Position) -> None:
        """Source position of what follows: a position, or that of an instruction of the original."""
        self._position = self.source.instructions[place].position if isinstance(place, int) else place

    @contextmanager
    def covered_by(self, index: int) -> Iterator[None]:
        """What is written inside is handled as the original's instruction ``index`` is."""
        outer = self._handler
        region = self.source.region_at(index)
        if region is None:
            self._handler = None
        else:
            label = self._body_label(self.source.instructions[region.target].offset)
            self._handler = Handler(label, region.depth, region.lasti)
        try:
            yield
        finally:
            self._handler = outer

    @contextmanager
    def handled_at(self, label: Label, depth: int | None = None) -> Iterator[None]:
        """What is written inside is handled at ``label``, with the stack cut to ``depth``, or to what it is now."""
        outer, depth = self._handler, (self._depth or 0) if depth is None else depth
        label.depth = depth + 1
        self._handler = Handler(label, depth, False)
        try:
            yield
        finally:
            self._handler = outer

    def label(self) -> Label:
        return Label()

    def place(self, label: Label) -> None:
        """The next instruction is what ``label`` stands for."""
        if label.place is not None:
            raise InternalError("a label is placed twice")
        if self._depth is not None and label.depth not in (None, self._depth):
            raise InternalError(f"stack depth {label.depth} where a jump comes in, {self._depth} before the label")
        if label.depth is not None:
            self._depth = label.depth
        label.place = len(self._items)
        label.depth = self._depth

    @property
    def depth(self) -> int | None:
        """Depth of the operand stack here; None where control does not come."""
        return self._depth

    # ---------------------------------------------------------------------------- writing one item
    def _write(self, name: str, arg: int | str = 0, effect: int = 0, label: Label | None = None) -> None:
        if self._depth is None:
            raise InternalError(f"{name} would never be reached")
        self._items.append(Item(name, arg, label, self._position, self._handler))
        self._depth += effect
        self._max_depth = max(self._max_depth, self._depth)
        if self._depth < 0:
            raise InternalError(f"{name} pops an empty stack")

    def _write_jump(self, name: str, label: Label, fall: int = 0, taken: int = 0) -> None:
        before = self._depth
        self._write(name, 0, fall, label)
        arrives = (before or 0) + taken
        if label.depth not in (None, arrives):
            raise InternalError(f"{name} arrives with stack depth {arrives} where it is {label.depth}")
        label.depth = arrives
        if name == "JUMP":
            self._depth = None

    def plain(self, op: str, arg: int = 0) -> None:
        """An instruction whose spelling and number are the same everywhere: ``plain("BUILD_TUPLE", 2)``."""
        effect = EFFECTS[op]
        self._write(op, arg, effect if isinstance(effect, int) else effect(arg))
        if op in TERMINATORS:
            self._depth = None

    # -------------------------------------------------------------------------------------- values
    def _const(self, value: Any) -> int:
        index = self._const_index.get(id(value))
        if index is None:
            index = self._const_index[id(value)] = len(self._consts)
            self._consts.append(value)
        return index

    def load_const(self, value: Any) -> None:
        """Push this very object."""
        if _keeps_identity(value):
            self.plain("LOAD_CONST", self._const(value))
        else:
            self.plain("LOAD_CONST", self._const([value]))
            self.plain("LOAD_CONST", self._const(0))
            self.plain("BINARY_SUBSCR")

    def _slot(self, name: str) -> str:
        if name not in self.source.slots and name not in self._added and name not in self._arguments:
            raise InternalError(f"{self.code.co_qualname} has no variable {name!r}")
        return name

    def add_local(self, name: str) -> None:
        """A new local variable. Prefer the stack: this renumbers the cells of the original."""
        if name not in self.source.slots:
            self._added.append(name)

    def load_local(self, name: str, bound: bool = True) -> None:
        """Push a local variable; ``bound=False`` if it may be unbound, which then raises as it should."""
        checked = "LOAD_FAST" if bound or "LOAD_FAST_CHECK" not in DIALECT.rows else "LOAD_FAST_CHECK"
        self._write(checked, self._slot(name), +1)

    def move_local(self, name: str) -> None:
        """Push a local variable and unbind it, so that the stack has the only reference."""
        if "LOAD_FAST_AND_CLEAR" in DIALECT.rows:
            self._write("LOAD_FAST_AND_CLEAR", self._slot(name), +1)
        else:
            self._write("LOAD_FAST", self._slot(name), +1)
            self._write("DELETE_FAST", self._slot(name))

    def store_local(self, name: str) -> None:
        self._write("STORE_FAST", self._slot(name), -1)

    def delete_local(self, name: str) -> None:
        self._write("DELETE_FAST", self._slot(name))

    def load_cell(self, name: str) -> None:
        """Push the cell of a cell or free variable itself."""
        self._write(DIALECT.load_cell, self._slot(name), +1)

    def load_deref(self, name: str) -> None:
        self._write("LOAD_DEREF", self._slot(name), +1)

    def store_deref(self, name: str) -> None:
        self._write("STORE_DEREF", self._slot(name), -1)

    def _name(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def load_global(self, name: str) -> None:
        self._write("LOAD_GLOBAL", self._name(name) << 1, +1)

    def store_global(self, name: str) -> None:
        self._write("STORE_GLOBAL", self._name(name), -1)

    def load_attr(self, name: str) -> None:
        self._write("LOAD_ATTR", self._name(name) << DIALECT.attr_shift)

    def store_attr(self, name: str) -> None:
        """[value, object] -> []"""
        self._write("STORE_ATTR", self._name(name), -2)

    def delete_attr(self, name: str) -> None:
        self._write("DELETE_ATTR", self._name(name), -1)

    def binary_op(self, symbol: str) -> None:
        self._write("BINARY_OP", BINARY_OPERATORS.index(symbol), -1)

    # ------------------------------------------------------------------------------ stack and calls
    def push_null(self) -> None:
        self.plain("PUSH_NULL")

    def pop_top(self) -> None:
        self.plain("POP_TOP")

    def copy(self, depth: int) -> None:
        """Push a copy of the slot ``depth`` from the top, counted from 1."""
        self.plain("COPY", depth)

    def swap(self, depth: int) -> None:
        if depth > 1:
            self.plain("SWAP", depth)

    def build_tuple(self, count: int) -> None:
        self.plain("BUILD_TUPLE", count)

    def build_list(self, count: int) -> None:
        self.plain("BUILD_LIST", count)

    def build_set(self, count: int) -> None:
        self.plain("BUILD_SET", count)

    def build_map(self, count: int) -> None:
        """[key, value, …] -> [dict], ``count`` pairs."""
        self.plain("BUILD_MAP", count)

    def build_slice(self, count: int) -> None:
        self.plain("BUILD_SLICE", count)

    def unpack_sequence(self, count: int) -> None:
        """The first element ends on top."""
        self.plain("UNPACK_SEQUENCE", count)

    def binary_subscr(self) -> None:
        """[container, key] -> [value]"""
        self.plain("BINARY_SUBSCR")

    def store_subscr(self) -> None:
        """[value, container, key] -> []"""
        self.plain("STORE_SUBSCR")

    def delete_subscr(self) -> None:
        self.plain("DELETE_SUBSCR")

    def call(self, count: int, keywords: tuple[str, ...] = ()) -> None:
        """[callable, argument, …] -> [result]; ``count`` arguments in all, the last ones named by ``keywords``.

        This order is good on every version: no NULL is needed, since the first argument takes the second slot of
        the pair, as with a method. Without arguments the pair is completed here.
        """
        if count == 0:
            self.push_null()
            if DIALECT.null_first:
                self.plain("SWAP", 2)
        pieces = DIALECT.call(max(count, 1), self._const(keywords) if keywords else None)
        for name, arg in pieces[:-1]:
            self._write(name, arg)
        if pieces[0][0] == "LOAD_CONST":
            self._max_depth = max(self._max_depth, (self._depth or 0) + 1)
        self._write(*pieces[-1], effect=-max(count, 1))

    def call_with(self, keywords: bool = False) -> None:
        """[callable, argument tuple] or, with ``keywords``, [callable, tuple, dict] -> [result]"""
        self.push_null()
        for depth in range(2 + keywords + DIALECT.null_first, 1, -1):  # down to its place beside the callable
            self.plain("SWAP", depth)
        self._write("CALL_FUNCTION_EX", int(keywords), -2 - keywords)

    # ---------------------------------------------------------------------------------------- flow
    def return_value(self) -> None:
        self.plain("RETURN_VALUE")

    def raise_exception(self) -> None:
        """[exception] -> raised"""
        self.plain("RAISE_VARARGS", 1)

    def jump(self, label: Label) -> None:
        self._write_jump("JUMP", label)

    def _jump_if(self, condition: str, label: Label) -> None:
        if condition in ("TRUE", "FALSE"):
            for name in DIALECT.truth:
                self._write(name)
        self._write_jump(f"POP_JUMP_IF_{condition}", label, -1, -1)

    def jump_if_true(self, label: Label) -> None:
        """[object] -> [], by its truth; ``label`` must be placed later."""
        self._jump_if("TRUE", label)

    def jump_if_false(self, label: Label) -> None:
        self._jump_if("FALSE", label)

    def jump_if_none(self, label: Label) -> None:
        self._jump_if("NONE", label)

    def jump_if_not_none(self, label: Label) -> None:
        self._jump_if("NOT_NONE", label)

    # -------------------------------------------------------------------------------- the original
    def _body_label(self, offset: int) -> Label:
        return self._body.setdefault(offset, Label())

    def native(self, index: int) -> None:
        """The original's instruction ``index``, just that, at its own position and in its own region."""
        instruction = self.source.instructions[index]
        if instruction.op in JUMPS:
            raise InternalError(f"{instruction.op} at {index} needs native_jump")
        with self.covered_by(index):
            self._write_native(instruction)

    def native_jump(self, index: int, taken: Label) -> None:
        """The original's conditional jump or FOR_ITER at ``index``, going to ``taken`` when it jumps."""
        instruction = self.source.instructions[index]
        with self.covered_by(index):
            label = taken
            if instruction.op == "FOR_ITER" and DIALECT.loop_end:
                label = Label()
                self._loop_ends.append((label, taken, instruction.position, self._handler))
            self._write_native_jump(instruction, label, taken)

    def _write_native(self, instruction: Instruction) -> None:
        before = self._depth or 0
        position = self._position
        for raw in instruction.raws:
            self._position = raw.position
            self._write(raw.name, self.source.slots[raw.arg] if raw.name in SLOT_ARGUMENTS else raw.arg)
        self._position = position
        self._depth = before + stack_effect(instruction)
        self._max_depth = max(self._max_depth, self._depth, before + peak(instruction))
        if instruction.op in TERMINATORS:
            self._depth = None

    def _write_native_jump(self, instruction: Instruction, label: Label, arrival: Label) -> None:
        """``arrival`` is where the stack is as after the canonical jump: ``label``, or behind a loop's end."""
        position = self._position
        for raw in instruction.raws[:-1]:
            self._position = raw.position
            self._write(raw.name, raw.arg)
        self._position = instruction.raws[-1].position
        fall, taken = stack_effect(instruction), stack_effect(instruction, jump=True)
        if label is arrival:
            self._write_jump(instruction.op, label, fall, taken)
        else:
            arrives = (self._depth or 0) + taken
            if arrival.depth not in (None, arrives):
                raise InternalError(f"{instruction.op} leaves depth {arrives} where it is {arrival.depth}")
            arrival.depth = arrives
            self._write(instruction.op, 0, fall, label)
        self._position = position

    def jump_to_original(self, index: int) -> None:
        """Go on in the original, which is then kept, from the state before its instruction ``index``.

        A later piece of a split instruction has no address of its own: the rest of the split is written here.
        """
        expected = self.source.depths()[index]
        if self._depth != expected:
            raise InternalError(f"{self.code.co_qualname} has depth {expected} at {index}, not {self._depth}")
        for instruction in map(self.source.instructions.__getitem__, range(index, len(self.source))):
            if instruction.resumable:
                self.jump(self._body_label(instruction.offset))
                return
            if instruction.raws[0].part == 0:
                raise InternalError(f"{self.code.co_qualname} cannot be entered before it has made its cells")
            with self.covered_by(instruction.index):
                target = instruction.raws[-1].target
                if target is None:
                    self._write_native(instruction)
                else:
                    label = self._body_label(target)
                    self._write_native_jump(instruction, label, label)
            if self._depth is None:
                return

    @property
    def keeps_original(self) -> bool:
        """Whether anything written so far leads into the original."""
        return bool(self._body or self._places)

    def divert(self, index: int) -> None:
        """What follows runs when the kept original comes to its instruction ``index``, in place of that.

        ``jump_to_original(index)`` still enters the original there.
        """
        label = self.label()
        label.depth = self.source.depths()[index]
        self._diverted[self.source.instructions[index].offset] = label
        self.at(index)
        self.place(label)

    def push_stack(self, stack: Sequence[StackSlot]) -> None:
        """In a resume function: rebuild the operand stack from the parameters."""
        for i, slot in enumerate(stack):
            if isinstance(slot, Lasti):
                self.push_place(slot.index)
            elif slot is Slot.NULL:
                self.push_null()
            else:
                self.move_local(stack_parameter(i))
                if slot is Slot.HANDLED:
                    self.plain("PUSH_EXC_INFO")
                    self.pop_top()

    def push_place(self, index: int) -> None:
        """Push the place of the original's instruction ``index``, as CPython counts."""
        # An object of its own: it becomes the right number when the layout is known.
        const = len(self._consts)
        self._consts.append(None)
        self._places.append((const, self.source.instructions[index].offset))
        self.plain("LOAD_CONST", const)

    # --------------------------------------------------------------------------------------- build
    def build(self) -> CodeType:
        """The finished code object, checked."""
        if self._depth is not None:
            raise InternalError(f"the new part of {self.code.co_qualname} runs off its end")
        for label, taken, position, handler in self._loop_ends:
            self._finish_loop(label, taken, position, handler)
        code = self.code
        keeps_body = self.keeps_original
        layout = self._layout()
        items = [
            item._replace(arg=layout.slots[item.arg]) if isinstance(item.arg, str) else item for item in self._items
        ]
        block = kept_bytes(code, layout) if keeps_body and not self._diverted else None
        if block is not None:
            items.extend(back_to_first_line(items, code))
        labels = self._body
        for _, offset in self._places:
            self._body_label(offset)
        new = len(items)
        if keeps_body and block is None:
            items.extend(kept_items(code, layout, labels, len(items), self._diversions()))
        else:
            for offset, label in labels.items():
                label.place, label.extra = len(items), offset // 2
        encoded = encode(items)
        entries = list(handler_entries(items, encoded))
        lines = location_table(items, encoded.units, code.co_firstlineno)
        if block is not None:
            entries.extend(moved_entries(code, encoded.units[-1]))
            lines += code.co_linetable
        for index, offset in self._places:
            self._consts[index] = encoded.unit(labels[offset])
        built = code.replace(
            co_code=encoded.code + (block or b""),
            co_consts=tuple(self._consts),
            co_names=tuple(self._names),
            co_linetable=lines,
            co_exceptiontable=exception_table(entries),
            co_stacksize=max(1, self._max_depth, code.co_stacksize if keeps_body else 0),
            **layout.changes,
        )
        if keeps_body and self.parameters is not None:
            decoded = self._decoded(built, layout, block is not None)
            prepare(decoded)
            remember_origin(built, self.source)
        elif self.outline:
            return built
        elif keeps_body and block is None:
            decoded = self._decoded_before(built, encoded, encoded.units[new])
        else:
            decoded = self._decoded(built, layout, block is not None)
        return check(built, decoded)

    def _decoded(self, built: CodeType, layout: Layout, ends_with_source: bool) -> Code:
        numbers = [layout.slots[name] for name in self.source.slots]
        return decode_behind(built, self.source, numbers) if ends_with_source else decode_once(built)

    def _decoded_before(self, built: CodeType, encoded: Encoded, new: int) -> Code:
        """The new part, and where it leads, where the original has been written anew and left in places."""
        known = self.source.entrances
        entrances = {2 * encoded.unit(label): known[offset] for offset, label in self._body.items()}
        back = {2 * encoded.unit(label): known[offset] for offset, label in self._diverted.items()}
        return decode_before(built, self.source, 2 * new, entrances, back)

    def _diversions(self) -> Diversions:
        ahead = origin_offset(self.code)
        return Diversions(self._diverted, self.source.instructions[ahead].offset)

    def _finish_loop(self, label: Label, taken: Label, position: Position, handler: Handler | None) -> None:
        """Where a FOR_ITER jumps to there must stand what it steps over; a generator's end runs it."""
        label.place = len(self._items)
        self._items.extend(Item(name, 0, None, position, handler) for name in DIALECT.loop_end)
        self._items.append(Item("JUMP", 0, taken, position, handler))

    def _layout(self) -> Layout:
        code = self.code
        if self.parameters is None:
            varnames = (*code.co_varnames, *self._added)
            changes: dict[str, Any] = {"co_varnames": varnames, "co_nlocals": len(varnames)} if self._added else {}
            if self.outline:
                changes["co_flags"] = code.co_flags & ~GENERATORS
        else:
            others = (name for name in (*code.co_varnames, *self._added) if name not in self._arguments)
            varnames = (*self._arguments, *others)
            changes = {
                "co_argcount": len(self.parameters),
                "co_posonlyargcount": 0,
                "co_kwonlyargcount": 0,
                "co_varnames": varnames,
                "co_nlocals": len(varnames),
                "co_flags": code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
            }
        slots = slot_names(varnames, code.co_cellvars, code.co_freevars)
        return Layout({name: i for i, name in enumerate(slots)}, changes)


def _keeps_identity(value: Any) -> bool:
    """Whether a code object keeps this constant as it is: it interns strings, also inside tuples."""
    if type(value) is str:
        is_name = value.isascii() and (value.replace("_", "a").isalnum() or not value)
        return not is_name or sys.intern(value) is value
    if type(value) in (tuple, frozenset):
        return all(map(_keeps_identity, value))
    return True


# ------------------------------------------------------------------------------------------ resume
def stack_parameter(slot: int) -> str:
    return f"___stack{slot}"


def resume_parameters(code: CodeType, stack: Sequence[StackSlot], variables: Iterable[str]) -> tuple[str, ...]:
    """Parameters of a resume function in order: stack slots from the bottom, variables as the original has them.

    ``super()`` looks for its object in the frame's first slot, so where it may be called that one comes first.
    """
    source = decode(code)
    wanted = set(variables)
    unknown = wanted.difference(source.slots)
    if unknown:
        raise InternalError(f"{code.co_qualname} has no variables {sorted(unknown)}")
    values = [stack_parameter(i) for i, slot in enumerate(stack) if isinstance(slot, Slot) and slot is not Slot.NULL]
    if not wanted.isdisjoint(values):
        raise InternalError(f"{code.co_qualname} uses {sorted(wanted.intersection(values))} as its own variables")
    kept = [name for name in source.slots if name in wanted]
    if "__class__" in source.free and kept and kept[0] == source.slots[0]:
        return (kept[0], *values, *kept[1:])
    return (*values, *kept)


def resume_at(code: CodeType, index: int, stack: Sequence[StackSlot], variables: Iterable[str]) -> Resume:
    """Code that continues ``code`` from the state before instruction ``index``.

    If ``code`` is itself a resume function the new one is made from the code it resumes.
    """
    stack = [Lasti(origin(code, slot.index)[1]) if isinstance(slot, Lasti) else slot for slot in stack]
    code, index = origin(code, index)
    new = Assembler.resuming(code, stack, variables)
    new.at(index)
    new.push_stack(stack)
    new.jump_to_original(index)
    built = new.build()
    assert new.parameters is not None
    return Resume(built, new.parameters)


# ------------------------------------------------------------------------------------------- check
def check(code: CodeType, decoded: Code | None = None) -> CodeType:
    """Look at finished code, decoded again; raises InternalError if CPython could not run it safely."""
    decoded = decoded or decode_once(code)
    decoded.depths()
    if decoded.max_depth > code.co_stacksize:
        raise InternalError(f"{code.co_qualname} needs {decoded.max_depth} stack slots, has {code.co_stacksize}")
    arguments = code.co_argcount + code.co_kwonlyargcount
    arguments += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    missing = decoded.required_locals(0) - set(code.co_varnames[:arguments])
    if missing and not any(type(value) is Region for value in code.co_consts):  # which binds them out of sight
        raise InternalError(f"{code.co_qualname} reads {', '.join(sorted(missing))} without a value")
    return code
