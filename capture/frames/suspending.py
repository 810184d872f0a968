"""Generators as objects: their frames stay CPython's, and what is between their yields is captured.

In: a generator function that is called. Out: code for it that makes such a generator. Of the generator's body an
*outline* is made, a plain function's code that returns where the body would do something native (``zones.py``); resume
functions of the outline are captured like any other. In the code of the generator each entry of a captured piece calls
its ``Region`` with what is on the stack, and goes on natively where that says:

    yield x                     # native
    ___region3(())              # -> (2, (y,)): variables are back in the frame, on the stack goes y
    yield y                     # native, exit number 2

So ``send``, ``throw``, ``close``, ``yield from`` and all that is seen of a generator are CPython's own. A variable
that is not read any more comes back only if its end could be noticed, as at any break.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Collection
from functools import cached_property
from types import CodeType, FunctionType

from capture.frames.assemble import Assembler, Label, Slot
from capture.frames.bytecode import Code, decode
from capture.frames.bytecode import Region as Handled
from capture.frames.hook import LEFT_ALONE, UNBOUND, Entry, Region, region_left, spare
from capture.frames.origins import remember_added
from capture.frames.resume import Namespace, Resumes
from capture.frames.settings import Settings
from capture.frames.zones import SUSPENDING, Zones, certainly_bound, is_stop_iteration, zones_of
from capture.records import dataclass, field

STACK, TAKEN, UNUSED, SHARED = range(4)
"""Where a region's parameter comes from; see _hook/region.c."""


def makes_generators(code: CodeType) -> bool:
    """Whether calls of the code make generators, and nothing else that is suspended."""
    return bool(code.co_flags & inspect.CO_GENERATOR) and not code.co_flags & LEFT_ALONE


@dataclass(eq=False)
class Generator:
    """What is known of a generator's code before any of it is captured."""

    zones: Zones
    exits: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.exits = tuple(sorted({index for entry in self.zones.entries for index in self.zones.exits(entry)}))

    @property
    def code(self) -> Code:
        return self.zones.code

    def number(self, index: int) -> int:
        """Exit 0 is the entry itself, where the piece is not captured."""
        return self.exits.index(index) + 1

    def caught(self, index: int) -> Handled | None:
        """What of the code is handled at an exit."""
        return next((region for region in self.code.regions if region.target == index), None)

    def passed_on(self, index: int) -> int:
        """How many stack slots go with control to an exit: all but the place of what failed."""
        region = self.caught(index)
        return (self.code.depths()[index] or 0) - (region is not None and region.lasti)

    @cached_property
    def stop_iteration(self) -> Handled | None:
        return next((region for region in self.code.regions if is_stop_iteration(self.code, region.target)), None)

    @property
    def first_yield(self) -> int:
        """Its line."""
        lines = (i.line for i in self.code.instructions if i.op in SUSPENDING and i.line is not None)
        return next(lines, self.code.original.co_firstlineno)


def generator_of(code: CodeType, everything: bool = False) -> Generator | None:
    """None where nothing between the yields can be captured, or is worth it unless ``everything`` is wanted."""
    decoded = decode(code)
    if decoded.sees_locals:
        return None
    generator = Generator(zones_of(decoded, everything))
    shared = decoded.cells.union(decoded.free).intersection(generator.zones.written)
    return None if shared or not generator.zones.entries else generator


# The outline --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Outline:
    """A generator's body as that of a plain function, and where each of its instructions went."""

    code: CodeType
    places: dict[int, int]


def outline_of(generator: Generator) -> Outline:
    code = generator.code
    new = Assembler(code.original, outline=True)
    for index in generator.zones.entries:
        _emit_way_in(new, code, index)
    new.jump_to_original(code.body + 1)
    bound = certainly_bound(code)
    for index in generator.exits:
        new.divert(index)
        _emit_exit(new, generator, index, bound[index])
    if generator.stop_iteration is not None:  # the generator's own frame does that
        new.divert(generator.stop_iteration.target)
        new.plain("RERAISE", 0)
    built = new.build()
    diverted = sorted({*generator.exits, *((generator.stop_iteration.target,) if generator.stop_iteration else ())})
    ahead = len(decode(built)) - len(code) - len(diverted)
    places = {i: ahead + i + sum(other < i for other in diverted) for i in (*generator.zones.entries, *diverted)}
    remember_added(built, ahead, frozenset(places[index] for index in diverted))
    return Outline(built, places)


def _emit_way_in(new: Assembler, code: Code, index: int) -> None:
    """A way from the start to an entry, which nobody goes: code that cannot be reached has no known stack."""
    other = new.label()
    new.load_const(None)
    new.jump_if_none(other)
    for _ in range(code.depths()[index] or 0):
        new.load_const(None)
    new.jump_to_original(index)
    new.place(other)


def _emit_exit(new: Assembler, generator: Generator, index: int, bound: Collection[str]) -> None:
    """[slots] -> return (number, slots, variables that were written …)"""
    code, region = generator.code, generator.caught(index)
    if region is not None and region.lasti:
        new.swap(2)
        new.pop_top()
    new.build_tuple(generator.passed_on(index))
    new.load_const(generator.number(index))
    new.swap(2)
    live = code.live_variables(index)
    unbound: list[tuple[Label, Label]] = []
    for name in generator.zones.written:
        if name in live:
            _emit_load(new, name, name in bound, unbound)
        else:
            new.load_const(spare)
            _emit_load(new, name, False, unbound)
            new.call(1)
    new.build_tuple(2 + len(generator.zones.written))
    new.return_value()
    for handler, after in unbound:
        new.place(handler)
        new.plain("PUSH_EXC_INFO")
        new.pop_top()
        new.plain("POP_EXCEPT")
        new.load_const(UNBOUND)
        new.jump(after)


def _emit_load(new: Assembler, name: str, bound: bool, unbound: list[tuple[Label, Label]]) -> None:
    """A variable's value, or UNBOUND."""
    if bound:
        new.load_local(name)
        return
    handler, after = new.label(), new.label()
    with new.handled_at(handler):
        new.load_local(name, bound=False)
    new.place(after)
    unbound.append((handler, after))


# Regions ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Piece:
    """What is captured from one entry on. Code holds this: it must not own what owns the code."""

    generator: Generator
    outline: Outline
    entry: int

    def region(self, resumes: Resumes, namespace: Namespace, missing: Collection[str] = ()) -> Region:
        """For frames in which the variables ``missing`` have no value."""
        code, written = self.generator.code, self.generator.zones.written
        live = code.live_variables(self.entry).difference(missing)
        stack = (Slot.VALUE,) * (code.depths()[self.entry] or 0)
        names = live.union(written).difference(missing)
        target = resumes.at(namespace, self.outline.code, self.outline.places[self.entry], stack, names)
        parameters = tuple(self._parameter(name, live) for name in target.parameters)
        slots = tuple(map(code.slots.index, written))
        return Region(target.entry, parameters, slots, Without(self, target.entry, resumes.miss))

    def _parameter(self, name: str, live: Collection[str]) -> tuple[int, int]:
        code = self.generator.code
        if name.startswith("___stack"):
            return STACK, int(name.removeprefix("___stack"))
        written = name in self.generator.zones.written
        kind = SHARED if not written else TAKEN if name in live else UNUSED
        return kind, code.slots.index(name)


class Without:
    """Makes the region for a frame that lacks variables; None if nobody owns the others any more."""

    def __init__(self, piece: Piece, entry: Entry, miss: Callable[..., object]) -> None:
        self.piece = piece
        self.entry = weakref.ref(entry)
        self.miss = miss

    def __call__(self, slots: tuple[int, ...]) -> Region | None:
        entry = self.entry()
        if entry is None:
            return None
        code = self.piece.generator.code
        missing = [code.slots[slot] for slot in slots]
        namespace = entry.function.__globals__  # type: ignore[attr-defined]
        return self.piece.region(Resumes(entry.info, self.miss), namespace, missing)


# The generator's code -----------------------------------------------------------------------------------------------
def suspending_code(function: FunctionType, generator: Generator, settings: Settings, miss: Callable) -> CodeType:
    """Code for ``function`` whose generators run captured pieces between their yields."""
    outline = outline_of(generator)
    resumes, namespace = Resumes(settings, miss), function.__globals__
    code, entries = generator.code, generator.zones.entries
    new = Assembler(code.original)
    start, begins = code.body + 1, new.label()
    if start in entries:
        new.jump(begins)
    else:
        new.jump_to_original(start)
    for index in entries:
        new.divert(index)
        if index == start:
            new.place(begins)
        _emit_region(new, generator, index, Piece(generator, outline, index).region(resumes, namespace))
    return new.build()


def _emit_region(new: Assembler, generator: Generator, index: int, region: Region) -> None:
    """[slots] -> on in the original, where the region says"""
    failed = new.label()
    new.build_tuple(generator.code.depths()[index] or 0)
    new.load_const(region)
    new.swap(2)
    with new.handled_at(failed, 0):
        new.call(1)
    new.unpack_sequence(2)
    for target in generator.zones.exits(index):
        other = new.label()
        new.copy(1)
        new.load_const(generator.number(target))
        new.plain("IS_OP", 0)
        new.jump_if_false(other)
        new.pop_top()
        _emit_arrival(new, generator, target)
        new.place(other)
    new.pop_top()
    new.unpack_sequence(generator.code.depths()[index] or 0)
    new.jump_to_original(index)
    new.place(failed)
    new.load_const(region_left)
    new.copy(2)
    new.call(1)
    new.pop_top()
    outermost = generator.stop_iteration
    if outermost is None:
        new.plain("RERAISE", 0)
    else:
        with new.covered_by(outermost.start):
            new.plain("RERAISE", 0)


def _emit_arrival(new: Assembler, generator: Generator, target: int) -> None:
    """[what goes along, from the top] -> on at an exit"""
    new.unpack_sequence(generator.passed_on(target))
    region = generator.caught(target)
    if region is not None and region.lasti:
        new.push_place(region.start)
        new.swap(2)
    new.jump_to_original(target)
