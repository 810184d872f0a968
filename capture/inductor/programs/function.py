"""A program as one C function: its variables, its blocks, where it leaves.

In: a loop node's program, and where its operands and results are. Out: the text of a kernel:

    void total_kernel(char *const *buffers, …)
    {
        i64 i_1, i_2;
        …
    head_1:;
        if (i_1 < n_0) goto body_2; else goto done_3;
        …
    leave:
        *status = 1;
    }

Values are variables of the whole function. Each kind of step has a writer in ``STEPS``, which finds operands by
``text`` and ``array``, gives its value by ``assign`` or ``define``, and leaves by ``leave_if``.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from capture.inductor.csource import CUnit, Lines
from capture.inductor.programs.bounded import find_bounded
from capture.inductor.programs.chains import find_chains, has_single_loops
from capture.inductor.programs.choosing import Supposition, find_records
from capture.inductor.programs.circular import find_circular
from capture.inductor.programs.counting import CHUNK, Counted, find_counted, find_left_over
from capture.inductor.programs.facts import delayed, find_owners, is_array
from capture.inductor.programs.intervals import ALL, Interval, Intervals, fits, is_integer
from capture.inductor.programs.lanes import NONE, Lanes
from capture.inductor.programs.numbers import Operand
from capture.inductor.programs.overflows import NAME, find_deferred
from capture.inductor.programs.ranges import Ranges, Term, affine, is_int
from capture.inductor.programs.rounds import find_rounds
from capture.inductor.programs.sharing_rounds import SharedLoop
from capture.inductor.programs.together import Together, may_wait
from capture.inductor.programs.values import C_ELEMENTS, Array, c_type, literal_of, number_operand
from capture.ir.graph import Node
from capture.ir.program import ANY, Block, Branch, Finish, Jump, Leave, Program, RankedType
from capture.records import replace

RAISING = frozenset({"map", "reduce", "matmul", "complex"})
"""Steps of which NumPy may warn."""


class Function:
    """Collects the lines of one program. ``steps`` writes each kind of step, ``finish`` the results."""

    def __init__(
        self,
        program: Program,
        unit: CUnit,
        steps: Mapping[str, Callable[[Function, Node], None]],
        intervals: Intervals,
        supposed: Mapping[Node, Sequence[Supposition]],
        settled: Mapping[str, str] | None = None,
        name: str = "program",
        lanes: Lanes = NONE,
    ) -> None:
        self.name = name
        self.shares = True  # whether loops over many elements may be shared out over threads
        self.parts: list[str] = []  # functions of what is shared out
        self.given: dict[str, str] = {}  # by name, the C types of what whoever calls the function gives it
        self.program, self.unit, self.steps = program, unit, steps
        self.count = 0
        self.lines = Lines()
        self.lines.depth = 1
        self.variables: dict[str, str] = {}  # by name, their C types
        self.hidden: dict[str, str] = {}  # variables with literals that the compiler must not compute with
        self.opaque = False  # whether ``no_bits`` is in use
        self.raises = False  # whether NumPy may warn of floating-point errors
        self.loops = False  # whether there is a ``budget`` of work after which signals are looked at
        self.texts: dict[Node, str] = {}
        self.arrays: dict[Node, Any] = {}  # ``Array``s, and ``Expression``s for maps that are delayed
        self.views: dict[Any, Array] = {}  # those that the block has, by what they show
        self.owners = find_owners(program)
        self.delayed = delayed(program, self.owners)
        self.ranges = Ranges(program)
        self.intervals, self.supposed = intervals, supposed
        self.under = ""  # what must hold where a step leaves, besides its own conditions
        self.roots: dict[str, Node] = {}  # ints, by their variables
        self.places: dict[tuple[str, str], str] = {}  # those that the block has: along axes of sizes, and what they are
        self.tested: set[tuple[Node, int]] = set()  # steps that test a place along an axis
        self.certain: set[tuple[Node, int]] = set()  # steps whose place along an axis exists as it is
        self.fitting: set[Node] = set()  # integer arithmetic whose results need no test
        self.lanes = lanes
        self.counted = find_counted(program)
        self.bounded = find_bounded(program, intervals)  # the turns that are counted before these loops
        self.chains = find_chains(program, self.counted)  # blocks in which nothing is chosen by a jump
        self.left_over = find_left_over(program)
        self.deferred = find_deferred(program, self.counted, self.chains) - set(supposed)
        self.has_single_loops = has_single_loops(program)
        self.rounds = find_rounds(program, self.owners, lanes.strips)  # loops to be shared out, by first blocks
        self.sharing: SharedLoop | None = None  # the one that is being written
        self.records = find_records(program)
        self.circular = find_circular(program)
        self.together: Together | None = None  # array-valued steps that are not written yet
        self.limits: dict[str, str] = {}  # of counted loops, where they have one
        self.settled = settled or {}
        self.size_moves: dict[str, set[str]] = {}  # what jumps give to sizes and strides of parameters
        self.needed: frozenset[Node] = frozenset()
        self.fixed_names: list[str] = []
        self.fixed_types: dict[str, str] = {}
        self.fixed_homes: dict[str, str] = {}  # the blocks in which they are made
        self.fixed: list[str] = []  # declarations of arrays of known sizes
        self.rings: list[tuple[str, str, int]] = []  # blocks that are made: names of block and room, how many
        self.order = {block.name: number for number, block in enumerate(program.blocks)}
        self.labels = {block.name: f"{block.name}_{number}" for number, block in enumerate(program.blocks)}
        self.line: Any = None
        self.block = program.blocks[0]  # the one that is being written

    # names and values -------------------------------------------------------------------------------------------
    def fresh(self, name: str) -> str:
        """A name that nothing else in the function has."""
        self.count += 1
        if f"{name}_{self.count}" in self.unit.number_reads:
            return self.fresh(name)
        return f"{name}_{self.count}"

    def variable(self, name: str, ctype: str) -> str:
        """A new variable of the function."""
        fresh = self.fresh(name)
        self.variables[fresh] = ctype
        return fresh

    def type_of(self, name: str) -> str:
        """The C type of a variable that a part of the function may be given; "" of what is none."""
        for types in (self.variables, self.given, self.fixed_types):
            if name in types:
                return types[name]
        hidden = next((text for text, each in self.hidden.items() if each == name), "")
        if hidden:
            return hidden.partition(" {}")[0]
        return "i64" if name in self.unit.number_reads or (name == "no_bits" and self.opaque) else ""

    def text(self, value: Any, type: Any = None) -> str:
        """C of a number or scalar."""
        return self.texts[value] if isinstance(value, Node) else literal_of(value, type)

    def in_memory(self, node: Node) -> Array:
        """An array that is in memory."""
        array = self.arrays[node]
        assert isinstance(array, Array), node
        return array

    def sizes(self, node: Node) -> tuple[str, ...]:
        return self.arrays[node].sizes  # type: ignore[no-any-return]

    def named(self, name: str, text: str) -> str:
        """A variable with this size or stride; names and literals are their own."""
        if text.isidentifier() or text.strip("()-").isdigit():
            return text
        variable = self.variable(name, "i64")
        self.lines.add(f"{variable} = {text};")
        return variable

    def ring(self, name: str, count: int) -> tuple[str, str]:
        """Blocks for what a step makes: their variable and that of their sizes."""
        ring = self.fresh(f"{name}_ring"), self.fresh(f"{name}_room")
        self.rings.append((*ring, count))
        return ring

    def bases(self, owner: str) -> list[str]:
        """The variables that name the blocks which parameters show, of those that may be the owner's."""
        carried = (node for block in self.program.blocks[1:] for node in block.parameters if is_array(node))
        return [self.arrays[node].base for node in carried if owner in self.owners[node]]

    def assign(self, node: Node, text: str) -> None:
        """The value of a step that is a number or scalar."""
        self.lines.add(f"{self.target(node)} = {text};")
        self.keep(node)

    def keep(self, node: Node) -> None:
        """Have a value computed, also where nobody needs it."""
        if self.raises and node.target in RAISING and (node not in self.needed or node in self.left_over):
            self.lines.add(f'__asm__ volatile("" : : "m"({self.target(node)})); /* computed for what it warns of */')

    def target(self, node: Node) -> str:
        """The variable of a number or scalar."""
        if node not in self.texts:
            self.texts[node] = self.variable(node.name, c_type(node.type))
            self.roots[self.texts[node]] = node
        return self.texts[node]

    # what is certain --------------------------------------------------------------------------------------------
    def term(self, value: Any) -> Term:
        """An int, a size or C of one of them, as ``ranges`` sees it."""
        if isinstance(value, Node) or type(value) is int:
            return affine(value)
        if value.strip("()-").isdigit():
            return None, int(value.strip("()"))
        return affine(self.roots[value]) if value in self.roots else (value, 0)

    def at_most(self, left: Any, right: Any, bound: int = 0) -> bool:
        """Whether ``left - right <= bound`` for certain."""
        one, other = self.term(left), self.term(right)
        if self.bounds(one)[1] - self.bounds(other)[0] <= bound:
            return True
        return self.ranges.proves(one, other, bound)

    def bounds(self, term: Term) -> Interval:
        root, offset = term
        if root is None:
            return offset, offset
        low, high = self.intervals.of(root) if is_int(root) else ALL
        return low + offset, high + offset

    def fits(self, step: Node) -> bool:
        """Whether the result of integer arithmetic is one of its type for certain."""
        found = self.intervals.natural(step)
        return found is not None and fits(found, np.dtype(np.int64) if is_int(step) else step.type.dtype)

    def operand(self, value: Any) -> Operand:
        """An operand of a ``number`` step."""
        found = number_operand(value, self.text(value))
        return replace(found, bounds=self.intervals.of(value)) if is_integer(value) else found

    def same(self, left: str, right: str) -> bool:
        return left == right or (self.at_most(left, right) and self.at_most(right, left))

    def leave_if(self, *conditions: str) -> None:
        if conditions:
            text = " || ".join(conditions)
            self.lines.add(f"if ({f'{self.under} & ({text})' if self.under else text})", "    goto leave;")

    def overflow(self) -> str:
        """The variable whose sign tells whether an integer has overflowed."""
        declaration = f"i64 {NAME} = 0;"
        if declaration not in self.fixed:
            self.fixed.append(declaration)
        return NAME

    def supposition(self, step: Node) -> str:
        """C of what led to a step that is computed also where control would not have come to it."""
        parts = [f"{'' if holds else '!'}{self.text(condition)}" for condition, holds in self.supposed.get(step, ())]
        return " & ".join(parts)

    def help(self, texts: Mapping[str, str]) -> None:
        """Have these functions in the unit."""
        self.unit.helpers.update(texts)

    def hide(self, literal: str, ctype: str) -> str:
        """A variable whose value the compiler does not know to be this literal."""
        return self.hidden.setdefault(f"{ctype} {{}} = {literal};", f"hidden_{len(self.hidden)}")

    # blocks -----------------------------------------------------------------------------------------------------
    def build(self, finish: Callable[[Sequence[Any]], None]) -> None:
        """All blocks; ``finish`` writes results."""
        first = self.program.blocks[0]
        for block in self.program.blocks:
            if block is not first:
                self.declare_parameters(block)
        heads = {
            jump.target
            for block in self.program.blocks
            for jump in block.jumps
            if self.goes_back(block, jump) and block.name not in getattr(self.counted.get(jump.target), "blocks", ())
        }.difference(self.bounded)
        kept: dict[str, tuple[dict[Any, Array], dict[tuple[str, str], str]]] = {}
        for number, block in enumerate(self.program.blocks):
            behind = self.program.blocks[number + 1 : number + 2]
            if block.name in self.rounds:
                self.sharing = SharedLoop(self, self.rounds[block.name])
            if self.sharing is not None:
                self.sharing.starts(block)
            if block is not first:
                self.label(f"{self.labels[block.name]}")
            if self.bounded.get(block.name):
                self.lines.add(f"budget -= {self.bounded[block.name]};")
                self.look()
                self.label(f"{self.labels[block.name]}_turn")
            elif block.name in heads:
                self.lines.add('__asm__("" : "+r"(budget)); /* whence control comes does not matter */')
                self.look()
                self.label(f"{self.labels[block.name]}_turn")
            above = [kept[name] for name in self.ranges.dominators[block.name] if name in kept]
            self.views = {key: view for views, _ in above for key, view in views.items()}
            self.places = {key: place for _, places in above for key, place in places.items()}
            kept[block.name] = self.views, self.places
            self.block = block
            self.ranges.enter(block)
            self.intervals.enter(block)
            if self.sharing is not None:
                self.sharing.enters(block)
            for step in block.steps:
                if self.together is not None and not may_wait(self.together, step):
                    self.settle_together()
                self.tell(step)
                self.under = self.supposition(step)
                self.steps[step.target](self, step)
            self.under = ""
            self.settle_together()
            self.end(block, finish, behind[0].name if behind else "")
            if self.sharing is not None and self.sharing.is_last(block):
                self.sharing.close()
                self.sharing = None

    def settle_together(self) -> None:
        """Write the steps that wait; their arrays are in memory from here on."""
        group, self.together = self.together, None
        if group is not None:
            group.write(self, group.outputs)
            self.arrays.update(group.waiting)

    def declare_parameters(self, block: Block) -> None:
        for node in block.parameters:
            if isinstance(node.type, RankedType):
                self.arrays[node] = self.carried(node.name, node.type)
            else:
                self.target(node)

    def carried(self, name: str, type: RankedType) -> Array:
        """An array that jumps bring: what of it is not certain is in variables."""
        pointer = self.variable(name, f"{C_ELEMENTS[type.dtype]} *")
        sizes = tuple(
            "1" if axis in type.ones else self.size_variable(f"{pointer}_n{axis}") for axis in range(type.ndim)
        )
        strides = ["0" if axis in type.ones else "" for axis in range(type.ndim)]
        if type.layout != ANY and strides and not strides[-1]:
            strides[-1] = "1"
        strides = [stride or self.size_variable(f"{pointer}_s{axis}") for axis, stride in enumerate(strides)]
        base = self.variable(f"{pointer}_base", "char *")
        asks = any(step.target == "which" for step in self.program.steps)
        identity = self.variable(f"{pointer}_is", "char *") if asks else "0"
        return Array(type.dtype, pointer, sizes, tuple(strides), base, identity)

    def tell(self, step: Node) -> None:
        """A comment with the user's line, where it is another than before."""
        if step.position is not None and step.position != self.line:
            self.line = step.position
            source = linecache.getline(step.position.file, step.position.line).strip()
            self.lines.add(comment(f"{step.position.line}: {source}"))

    def end(self, block: Block, finish: Callable[[Sequence[Any]], None], behind: str) -> None:
        end = block.end
        if isinstance(end, Jump):
            self.jump(block, end, behind)
        elif isinstance(end, Branch):
            if block.name in self.counted:
                self.end_counted(block, self.counted[block.name])
                return
            mark = len(self.lines.lines)
            condition = self.text(end.condition)
            with self.lines.block(f"if ({f'RARE({condition})' if block.name in self.records else condition})"):
                self.jump(block, end.then)
            if len(self.lines.lines) == mark + 3:  # a mere jump needs no braces
                self.lines.lines[mark:] = [self.lines.lines[mark].removesuffix(" {"), self.lines.lines[mark + 1]]
            self.jump(block, end.other, behind)
        elif isinstance(end, Finish):
            finish(end.values)
        elif isinstance(end, Leave):
            self.lines.add("goto leave;")

    def end_counted(self, block: Block, counted: Counted) -> None:
        """The end of a block that tests a counter: look at signals, and set the limit up to which nobody does."""
        counter, bound, end = self.text(counted.counter), self.text(counted.bound), block.end
        assert isinstance(end, Branch)
        with self.lines.block(f"if (!{self.text(end.condition)})"):
            if any(step in self.deferred for each in counted.blocks for step in self.program.block(each).steps):
                self.leave_if(f"{self.overflow()} < 0")
            self.jump(block, end.other)
        low, high, step = (counter, bound, "+") if counted.rises else (bound, counter, "-")
        if block.name in self.bounded:
            self.jump(block, end.then)
            return
        self.look()
        limit = self.limits[block.name] = self.variable("limit", "i64")
        self.lines.add(f"{limit} = (u64){high} - (u64){low} > {CHUNK} ? {counter} {step} {CHUNK} : {bound};")
        self.lines.add(f"budget -= {limit} - {counter};" if counted.rises else f"budget -= {counter} - {limit};")
        self.label(f"{self.labels[block.name]}_turn")
        self.jump(block, end.then)

    def size_variable(self, name: str) -> str:
        """The variable of a size or stride; the number itself where all jumps bring that one."""
        variable = self.variable(name, "i64")
        self.size_moves[variable] = set()
        if variable in self.settled:
            del self.variables[variable]
        return self.settled.get(variable, variable)

    def settle(self) -> dict[str, str]:
        """The sizes and strides of parameters that are one literal whichever way control comes."""
        values: dict[str, str | None] = dict.fromkeys(self.size_moves, "")
        changed = True
        while changed:
            changed = False
            for name, sources in self.size_moves.items():
                found = {values[text] if text in values else text if text.isdigit() else None for text in sources}
                found.discard("")
                value = None if None in found or len(found) > 1 else next(iter(found), "")
                if value != values[name]:
                    values[name], changed = value, True
        return {name: value for name, value in values.items() if value}

    def label(self, name: str) -> None:
        self.lines.depth -= 1
        self.lines.add("", f"{name}:;")
        self.lines.depth += 1

    def goes_back(self, block: Block, jump: Jump) -> bool:
        return self.order[jump.target] <= self.order[block.name]

    def look(self) -> None:
        """Look at signals where much has been done since the last look."""
        self.loops = True
        with self.lines.block("if (budget < 0)"):
            self.lines.add("if (interrupted())", "    goto interrupt;", "budget = BUDGET;")

    def go(self, block: Block, jump: Jump, behind: str) -> None:
        """Go to a block. Back to one it is by a way of its own, on which signals are not looked at: a loop with a call
        in it, however rare, keeps in memory what else would be in registers."""
        label, counted = self.labels[jump.target], self.counted.get(jump.target)
        if jump.target in self.rounds and block.name not in self.rounds[jump.target].names:
            label += "_rounds"
        if self.goes_back(block, jump) and jump.target in self.bounded:
            label += "_turn" if self.bounded[jump.target] else ""
        elif counted is not None and block.name in counted.blocks:
            if jump.target in self.limits:
                sign = "<" if counted.rises else ">"
                self.lines.add(f"if ({self.text(counted.counter)} {sign} {self.limits[jump.target]})")
                self.lines.add(f"    goto {label}_turn;")
        elif self.goes_back(block, jump):
            self.lines.add("if (--budget >= 0)", f"    goto {label}_turn;")
        if jump.target != behind:
            self.lines.add(f"goto {label};")

    def jump(self, block: Block, jump: Jump, behind: str = "") -> None:
        """Give the parameters of a block their values, all at once, and go there."""
        for node, value in zip(self.program.block(jump.target).parameters, jump.args, strict=True):
            if isinstance(node.type, RankedType):
                self.require_type(self.in_memory(node), self.in_memory(value))
        self.move(self.moves(jump))
        self.go(block, jump, behind)

    def moves(self, jump: Jump) -> list[tuple[str, str]]:
        """What a jump assigns."""
        moves: list[tuple[str, str]] = []
        for node, value in zip(self.program.block(jump.target).parameters, jump.args, strict=True):
            if isinstance(node.type, RankedType):
                moves += self.array_moves(self.in_memory(node), self.in_memory(value))
            else:
                moves.append((self.text(node), self.text(value, node.type)))
        return [(target, source) for target, source in moves if target != source]

    def require_type(self, target: Array, source: Array) -> None:
        """Leave where an array is not of the type of the parameter that it goes to."""
        sizes = [f"{theirs} != 1" for mine, theirs in zip(target.sizes, source.sizes, strict=True)
                 if mine == "1" != theirs]  # fmt: skip
        strides = [
            f"({theirs} != 1 && {size} > 1)"
            for mine, theirs, size in zip(target.strides, source.strides, source.sizes, strict=True)
            if mine == "1" and theirs not in ("1", "0")
        ]
        self.leave_if(*sizes, *strides)

    def array_moves(self, target: Array, source: Array) -> Iterator[tuple[str, str]]:
        """What makes one array the other; what is certain of it must be so."""
        yield target.pointer, source.pointer
        yield target.base, source.base
        if target.identity in self.variables:
            yield target.identity, source.identity
        for mine, theirs in (*zip(target.sizes, source.sizes, strict=True), *_strides(target, source)):
            if mine in self.variables:
                self.size_moves[mine].add(theirs)
                yield mine, theirs

    def move(self, moves: Sequence[tuple[str, str]]) -> None:
        """Assign in parallel: what is overwritten before it is read is kept aside, and no move waits without need."""
        left = list(moves)
        while left:
            ready = next((m for m in left if not any(m[0] == other[1] for other in left if other is not m)), None)
            if ready is None:
                source = left[0][1]
                aside = self.variable(f"old_{source}", self.variables[source])
                self.lines.add(f"{aside} = {source};")
                left = [(t, aside if s == source else s) for t, s in left]
                continue
            self.lines.add(f"{ready[0]} = {ready[1]};")
            left.remove(ready)

    def optimizing(self) -> str:
        """How a compiler is to make the function. Loops of single elements have several rounds in a turn, and elements
        side by side are no vectors there: what a round has just written in parts waits long to be read as a whole."""
        single = ("no-tree-slp-vectorize", "unroll-loops") if self.has_single_loops else ()
        return ",".join(("O3", "trapping-math", *single))

    # the text ---------------------------------------------------------------------------------------------------
    def declarations(self) -> list[str]:
        """The variables, those of a type together."""
        by_type: dict[str, list[str]] = {}
        for name, ctype in self.variables.items():
            by_type.setdefault(ctype, []).append(name)
        lines: list[str] = []
        for ctype, names in by_type.items():
            if ctype.endswith("*"):
                lines += [f"{ctype}{name} = 0;" for name in names]
                continue
            line = f"{ctype} {names[0]}"
            for name in names[1:]:
                if len(line) + len(name) > 110:
                    lines.append(f"{line};")
                    line = f"{ctype} {name}"
                else:
                    line += f", {name}"
            lines.append(f"{line};")
        lines += self.fixed
        for block, room, count in self.rings:
            lines += [f"char *{block}[{count}] = {{0}};", f"i64 {room}[{count}] = {{0}};"]
        if self.loops:
            lines.append("i64 budget = BUDGET;")
        if self.opaque:
            lines += ["i64 no_bits = 0;", '__asm__("" : "+r"(no_bits));']
        for declaration, name in self.hidden.items():
            lines += [declaration.format(name), f'__asm__("" : "+m"({name}));']
        return lines


def _strides(target: Array, source: Array) -> Iterator[tuple[str, str]]:
    return zip(target.strides, source.strides, strict=True)


def comment(text: str) -> str:
    text = text.replace("*/", "* /").replace("\\", "/").replace("\n", " ").replace("?", ".")
    return f"/* {text} */"
