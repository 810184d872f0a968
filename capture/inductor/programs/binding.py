"""A loop node's kernel: its program between the buffers of a plan.

In: a loop node and where its operands and results are in memory (``Bound``). Out: the text of its kernel, which first
copies the operands that the program writes, and at the end writes its results and its status.

>>> render_program(node, bound, unit).name
'loop_program'
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capture.inductor.csource import CUnit, Lines
from capture.inductor.loops import Memory
from capture.inductor.plan import STATUS_INTERRUPTED, STATUS_LEAVE
from capture.inductor.programs.accesses import (
    write_integer,
    write_load,
    write_number,
    write_scalar,
    write_select,
    write_size,
    write_store_at,
    write_which,
)
from capture.inductor.programs.arrays import write_broadcast, write_part, write_permute, write_room, write_view
from capture.inductor.programs.bound import Bound, Place, ProgramText
from capture.inductor.programs.calls import write_call
from capture.inductor.programs.carrying import with_carried_elements
from capture.inductor.programs.choosing import Chosen, without_short_decisions
from capture.inductor.programs.columns import with_columns_as_rows
from capture.inductor.programs.complexes import TYPES, write_complex
from capture.inductor.programs.facts import find_needed, is_array
from capture.inductor.programs.function import Function, comment
from capture.inductor.programs.hoisting import with_maps_before_loops
from capture.inductor.programs.intervals import Interval, Intervals, is_integer
from capture.inductor.programs.lanes import NONE, with_lanes
from capture.inductor.programs.masking import with_whole_masked_stores
from capture.inductor.programs.nests import write_array_map, write_copy, write_new, write_scalar_map, write_store
from capture.inductor.programs.peeling import with_ends_apart
from capture.inductor.programs.places import write_gather, write_pick, write_store_gathered, write_store_picked
from capture.inductor.programs.products import write_matmul
from capture.inductor.programs.reductions import write_reduce
from capture.inductor.programs.repeating import without_repeated_loads
from capture.inductor.programs.tiling import with_tiles
from capture.inductor.programs.values import C_ELEMENTS, Array, c_type, grouped, literal_of
from capture.inductor.programs.versions import with_versions, write_exist
from capture.ir.graph import Node
from capture.ir.op import Strided
from capture.ir.program import Program, RankedType
from capture.ir.shapes import Expr, Size
from capture.ir.types import ArrayType


def write_map(function: Function, step: Node) -> None:
    (write_array_map if is_array(step) else write_scalar_map)(function, step)


STEPS = {
    "number": write_number,
    "map": write_map,
    "load": write_load,
    "store_at": write_store_at,
    "scalar": write_scalar,
    "integer": write_integer,
    "complex": write_complex,
    "which": write_which,
    "size": write_size,
    "select": write_select,
    "pick": write_pick,
    "gather": write_gather,
    "store_picked": write_store_picked,
    "store_gathered": write_store_gathered,
    "view": write_view,
    "permute": write_permute,
    "broadcast": write_broadcast,
    "part": write_part,
    "store": write_store,
    "new": write_new,
    "room": write_room,
    "copy": write_copy,
    "reduce": write_reduce,
    "matmul": write_matmul,
    "call": write_call,
    "exist": write_exist,
}
"""Who writes each kind of step."""


PASSES = (without_repeated_loads, with_maps_before_loops, with_whole_masked_stores, with_tiles, with_ends_apart)
"""What is done to a program first."""


def render_program(node: Node, bound: Bound, unit: CUnit) -> ProgramText:
    """The kernel of a loop node.

    Its arrays are parameters of a function of their own, as the only way to what is written: of what a program writes
    nothing else shows the memory, and compilers believe that of parameters.
    """
    kernel = _Kernel(node, bound, unit)
    text = kernel.text()
    if any(_names(text, name) for name in ("c64", "c128")):
        unit.helpers["00_complex"] = TYPES
    return ProgramText(kernel.name, text, kernel.function.raises, kernel.function.loops)


class _Kernel:
    def __init__(self, node: Node, bound: Bound, unit: CUnit) -> None:
        self.name, self.node, self.bound, self.unit = f"{node.name}_program", node, bound, unit
        given: Program = node.params["program"]
        self.program = functools.reduce(lambda each, renew: renew(each), PASSES, given)
        chosen = without_short_decisions(with_columns_as_rows(self.program, self.known()[1]))
        chosen = with_carried_elements(chosen)
        self.program, self.supposed = chosen.program, chosen.supposed
        self.intervals = Intervals(self.program, *self.known(), self.supposed)
        self.lanes = NONE
        self.write()
        with_some, lanes = with_lanes(chosen, self.function)
        if lanes is not NONE:
            chosen, self.lanes = with_some, lanes
            self.rewrite(chosen)
        chosen = with_versions(chosen, frozenset(self.function.tested))
        if chosen.program is not self.program:
            self.rewrite(chosen)
        settled = self.function.settle()
        if settled:
            self.write(settled)

    def rewrite(self, chosen: Chosen) -> None:
        """Write another program that does the same."""
        self.program, self.supposed = chosen.program, chosen.supposed
        self.intervals = Intervals(self.program, *self.known(), self.supposed, self.lanes.bounds)
        self.write()

    def known(self) -> tuple[dict[Node, Interval], dict[Node, tuple[Size, ...]]]:
        """What is certain of numbers among the operands, and the sizes of arrays."""
        numbers: dict[Node, Interval] = {}
        sizes: dict[Node, tuple[Size, ...]] = {}
        for parameter, place, given in zip(self.program.operands, self.bound.operands, self.node.args, strict=True):
            size = getattr(getattr(given, "type", None), "size", given)
            if is_integer(parameter) and isinstance(size, int | np.integer | np.bool):
                numbers[parameter] = int(size), int(size)
            elif place is not None and is_array(parameter):
                sizes[parameter] = place.view.shape
        return numbers, sizes

    def write(self, settled: Mapping[str, str] | None = None) -> None:
        self.function = Function(
            self.program, self.unit, STEPS, self.intervals, self.supposed, settled, self.name, self.lanes
        )
        self.function.needed = find_needed(self.program, frozenset(self.bound.results))
        self.head = Lines()
        self.head.depth = 1
        self.pointers: dict[str, tuple[str, str]] = {}  # the arrays over buffers: their C types, and where they begin
        for number, parameter in enumerate(self.program.operands):
            self.take(number, parameter)
        self.function.build(self.finish)

    def text(self) -> str:
        status = self.status()
        body = str(self.function.lines)
        head = "\n".join((*self.head.lines, *(f"    {line}" for line in self.function.declarations())))
        interrupt = (
            ["interrupt:", f"    status = {STATUS_INTERRUPTED};", "    goto done;"] if self.function.loops else []
        )
        free = [f"    give_back({ring}[{n}]);" for ring, _, count in self.function.rings for n in range(count)]
        text = "\n".join(
            (
                head,
                body,
                "",
                *interrupt,
                "leave:",
                f"    status = {STATUS_LEAVE};",
                "done:",
                *self.keep_arrays(),
                *free,
                f"    {status} = status;",
            )
        )
        parameters = [f"{ctype} *restrict {pointer}" for pointer, (ctype, _) in self.pointers.items()]
        arguments = [start for _, start in self.pointers.values()]
        inner = f"{self.name}_on_arrays"
        return "\n".join(
            [
                *(f"{part}\n" for part in self.function.parts),
                *self.title(),
                f'__attribute__((noinline, optimize("{self.function.optimizing()}")))',
                *wrapped(f"static void {inner}(", ["char *const *buffers", "const i64 *numbers", *parameters], ")"),
                "{",
                "    u8 status;",
                *self.sizes(text),
                text,
                "}",
                "",
                f"void {self.name}(",
                "    char *const *buffers, const i64 *numbers, i64 begin, i64 end, char *scratch, u32 *flags)",
                "{",
                *self.sizes("\n".join(arguments)),
                *wrapped(f"    {inner}(", ["buffers", "numbers", *arguments], ");"),
                "}",
            ]
        )

    def keep_arrays(self) -> list[str]:
        """What is written is written, read or not: NumPy may warn of it."""
        names = self.function.fixed_names if self.function.raises else ()  # each for itself: registers are few
        return [f'    __asm__ volatile("" : : "r"({name}) : "memory");' for name in names]

    def title(self) -> list[str]:
        title = f"{self.node.name}: the program {self.program.name}"
        return [comment(title), *([comment(str(self.node.position))] if self.node.position else [])]

    def sizes(self, text: str) -> list[str]:
        """Sizes and strides of the call that the text names."""
        return [f"    const i64 {name} = {c};" for name, c in self.unit.number_reads.items() if _names(text, name)]

    def status(self) -> str:
        return f"*(u8 *)buffers[{self.unit.buffers[self.bound.status]}]"

    # operands ---------------------------------------------------------------------------------------------------
    def take(self, number: int, parameter: Node) -> None:
        place, given = self.bound.operands[number], self.node.args[number]
        size = getattr(getattr(given, "type", None), "size", None)
        if size is not None or type(given) is int:
            text = self.size(self.function.fresh(parameter.name), given if size is None else size)
            self.function.texts[parameter] = text
            self.function.ranges.equate(parameter, self.function.term(text))
        elif place is None:
            self.function.texts[parameter] = literal_of(given, parameter.type)
        elif not isinstance(parameter.type, RankedType):
            name = self.function.fresh(parameter.name)
            self.function.given[name] = c_type(parameter.type)
            pointer = self.pointer(place.memory, place.view.offset)
            self.head.add(f"const {c_type(parameter.type)} {name} = *{pointer};")
            self.function.texts[parameter] = name
        else:
            self.function.arrays[parameter] = self.take_array(number, parameter, place)

    def take_array(self, number: int, parameter: Node, place: Place) -> Array:
        given = self.bind(parameter.name, place.memory, place.view, parameter.type.dtype)
        copy = self.bound.copies.get(number)
        if copy is None or copy is place.memory:
            return given
        own = self.bind(parameter.name, copy, copy.whole, copy.dtype)
        self.copy(self.head, own, given)
        return own

    def bind(self, name: str, memory: Memory, view: Strided, dtype: np.dtype) -> Array:
        """An array over a buffer of the plan; its elements are those of the memory, or parts of complex ones."""
        fresh = self.function.fresh(name)
        self.pointers[fresh] = C_ELEMENTS[dtype], self.pointer(memory, view.offset, dtype)
        self.function.given[fresh] = f"{C_ELEMENTS[dtype]} *"
        sizes = tuple(self.size(f"{fresh}_n{axis}", size) for axis, size in enumerate(view.shape))
        strides = tuple(self.size(f"{fresh}_s{axis}", size) for axis, size in enumerate(view.strides))
        return Array(dtype, fresh, sizes, strides, f"(char *){fresh}", f"(char *){fresh}")

    def size(self, name: str, size: Size) -> str:
        if not isinstance(size, Expr):
            return str(size)
        text = self.unit.size(size)
        if text.isidentifier():
            return text
        self.head.add(f"const i64 {name} = {text};")
        self.function.given[name] = "i64"
        return name

    def pointer(self, memory: Memory, start: Size, dtype: np.dtype | None = None) -> str:
        base = f"({C_ELEMENTS[dtype or memory.dtype]} *)buffers[{self.unit.buffers[memory]}]"
        return base if isinstance(start, int) and start == 0 else f"({base} + {self.unit.size(start)})"

    # results ----------------------------------------------------------------------------------------------------
    def finish(self, values: Sequence[Any]) -> None:
        function = self.function
        self.require_apart([value for value in values if is_array(value)])
        for index, value in enumerate(values):
            memory = self.bound.results.get(index)
            if memory is not None:
                self.give(memory, self.node.type[index], value)
        function.lines.add(f"status = {'raised_status()' if function.raises else '0'};", "goto done;")

    def give(self, memory: Memory, type: Any, value: Any) -> None:
        function = self.function
        if not isinstance(type, ArrayType) or type.scalar:
            function.lines.add(f"*{self.pointer(memory, 0)} = {function.text(value, type)};")
            return
        array = function.in_memory(value)
        sizes = [self.unit.size(size) for size in memory.shape]
        if any(
            self.bound.copies.get(number) is memory and operand is value
            for number, operand in enumerate(self.program.operands)
        ):
            return
        if value.target == "room":
            function.leave_if(f"{array.sizes[0]} > {grouped(sizes[0])}")
            sizes[0] = array.sizes[0]
        function.leave_if(*(f"{a} != {grouped(b)}" for a, b in zip(array.sizes, sizes, strict=True) if a != b))
        strides = [self.unit.size(stride) for stride in memory.strides]
        pointer = function.fresh("result")
        with function.lines.block():
            function.lines.add(f"{C_ELEMENTS[memory.dtype]} *{pointer} = {self.pointer(memory, 0)};")
            self.copy(function.lines, Array(memory.dtype, pointer, tuple(sizes), tuple(strides), ""), array)

    def require_apart(self, values: Sequence[Node]) -> None:
        """Leave where results show one memory, or that of an operand which is not written: new arrays would not."""
        function, owners = self.function, self.function.owners
        tests: dict[str, None] = {}
        new = [value for value in values if value not in self.program.operands]
        for number, value in enumerate(new):
            base = function.in_memory(value).base
            for other in (*new[:number], *(value for value in values if value not in new)):
                if owners[value] & owners[other]:
                    tests[f"{base} == {function.in_memory(other).base}"] = None
            for index, operand in enumerate(self.program.operands):
                if is_array(operand) and index not in self.program.written and owners[value] & owners[operand]:
                    tests[f"{base} == {function.in_memory(operand).base}"] = None
        function.leave_if(*tests)

    def copy(self, lines: Lines, target: Array, source: Array) -> None:
        """All elements, the neighbours in the target's memory innermost."""
        order = sorted(range(len(target.sizes)), key=lambda axis: target.strides[axis] == "1")
        places = [f"i{axis}" for axis in range(len(target.sizes))]
        for axis in order:
            lines.add(f"for (i64 i{axis} = 0; i{axis} < {target.sizes[axis]}; i{axis}++)")
            lines.depth += 1
        lines.add(f"{target.element(places)} = {source.element(places)};")
        lines.depth -= len(order)


def wrapped(head: str, parts: Sequence[str], tail: str) -> list[str]:
    """C of a list of parameters or arguments, on as many lines as it needs."""
    lines, indent = [head], " " * (len(head) - len(head.lstrip()) + 4)
    for number, part in enumerate(parts):
        text = part + (tail if number == len(parts) - 1 else ", ")
        if len(lines[-1]) + len(text) > 110:
            lines[-1] = lines[-1].rstrip()
            lines.append(indent)
        lines[-1] += text
    return lines


def _names(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None
