"""Loops whose rounds have nothing to do with each other, shared out over threads.

In: a loop of a program (``rounds``), and the C that the function has for it. Out: a function of its own that goes over
a part of the rounds, and lines before the loop that have the executor's threads call it, where there is enough to do;
the loop then finds its counter at the end. Otherwise it runs where it stands, as if there were no threads.

What the rounds compute in are variables of the part, what they make is memory of the part. A part that leaves makes the
program leave; it looks at signals as loops do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from capture.inductor.csource import Lines
from capture.inductor.programs import sharing
from capture.inductor.programs.counting import is_single, natural_loops
from capture.inductor.programs.facts import is_array
from capture.inductor.programs.lanes import LANES, STRIP
from capture.inductor.programs.overflows import NAME as OVERFLOW
from capture.inductor.programs.ranges import affine
from capture.inductor.programs.rounds import Rounds, only_leaves, trips
from capture.inductor.vocabulary import RULES
from capture.ir.graph import Node
from capture.ir.program import VIEWS, Block, Branch

if TYPE_CHECKING:
    from capture.inductor.programs.function import Function

UNKNOWN = 8.0
"""Elements, and rounds of inner loops, where nothing is known of them before the loop."""

VECTORS = 20
"""How many times as fast vectors of exchanged loops may be."""

STEP_TIME, ELEMENT_TIME, PRODUCT_TIME = 0.4, 0.3, 0.15
"""Nanoseconds that a step, an element of an array, and one of the products of a sum are taken for."""

DEAR = 6
"""How many times its cost in a vector an operation takes on its own."""

_ASSIGNED = re.compile(r"(?<![\w.>\]])(\w+)\s*(?:(?:<<|>>|[-+|^&*/%])?=(?!=)|\+\+|--)|(?<!&)&(\w+)\b(?!\[)")
_ALREADY = re.compile(r"^\s*(\w+):;", re.MULTILINE)
_GOTO = re.compile(r"goto (\w+);")

Term = tuple[float, tuple[str, ...]]


class SharedLoop:
    """A loop while its blocks are written: ``starts`` and ``enters`` are called for each, ``close`` behind the last."""

    def __init__(self, function: Function, rounds: Rounds) -> None:
        self.function, self.rounds = function, rounds
        self.head = rounds.blocks[0]
        self.marks: dict[str, int] = {}
        self.is_proved = False
        self.entry: list[str] = []
        self.label = function.labels[self.head.name]

    def starts(self, block: Block) -> None:
        self.marks[block.name] = len(self.function.lines.lines)

    def enters(self, block: Block) -> None:
        """At its head, say that no place is negative; then write how a round begins."""
        if block is self.head:
            self.is_proved = all(self.function.at_most(0, counter, lowest) for counter, lowest in self.rounds.lowest)

    def is_last(self, block: Block) -> bool:
        return block is self.rounds.blocks[-1]

    def close(self) -> None:
        lines = self.function.lines.lines
        mark = self.marks[self.head.name]
        before = Lines()
        before.add("", f"{self.label}_rounds:;")
        before.depth = 1
        if self.is_proved and len(self.rounds.blocks) > 1 and self.function.shares:
            self.share(before, [line for block in self.rounds.blocks[1:] for line in self.written(block)])
        lines[mark:mark] = before.lines

    def written(self, block: Block) -> list[str]:
        """The lines of a block."""
        ends = [mark for mark in self.marks.values() if mark > self.marks[block.name]]
        return self.function.lines.lines[self.marks[block.name] : min(ends, default=None)]

    # the rounds -------------------------------------------------------------------------------------------------
    def share(self, before: Lines, body: Sequence[str]) -> None:
        function, rounds = self.function, self.rounds
        text = self.moved("\n".join((*self.first(), *body)))
        labels = {*_ALREADY.findall(text), "leave", "interrupt", "next_round"}
        if not labels.issuperset(_GOTO.findall(text)):
            return
        counter, bound = function.text(rounds.counter), function.text(rounds.bound)
        named = dict.fromkeys(sharing.NAME.findall(text))
        types = {name: function.type_of(name) for name in named}
        assigned = {name for names in _ASSIGNED.findall(text) for name in names}
        own = {name for name in named if name in function.variables and name in assigned}
        own |= {function.text(each) for each in rounds.steps}
        time = self.time(own)
        least = sharing.LEAST * (VECTORS if self.may_be_vectors() else 1)
        if isinstance(time, float) and bound.isdigit() and int(bound) * time < least:
            return
        rings = [ring for ring in function.rings if ring[0] in named]
        made = [name for name in named if function.fixed_homes.get(name) in rounds.names]
        apart = {*own, *made, "budget", OVERFLOW, *(name for ring in rings for name in ring[:2])}
        read = {name: ctype for name, ctype in types.items() if ctype and name not in apart}
        part = f"{function.name}_part_{len(function.parts) + 1}"
        function.parts.append(self.part(part, read, {name: types[name] or "i64" for name in own}, rings, made, text))
        function.help(sharing.HELPER)
        function.loops = True
        done = function.variable("done", "int")
        step = rounds.steps[rounds.counter]
        left = " - 1" if rounds.runs_last else ""
        with before.block():
            before.add(
                f"const i64 count = {counter} < {bound} ? "
                f"(i64)(((u64){bound} - (u64){counter} + {step - 1}) / {step}){left} : 0;",
                f"const f64 time = (f64)count * ({time});",
            )
            different = [f"{function.arrays[a].base} != {function.arrays[b].base}" for a, b in rounds.apart]
            tests = " && ".join(("count > 1", f"time >= {least}", *different))
            with before.block(f"if ({tests})"):
                counters = [function.text(each) for each in rounds.steps]
                values = ", ".join(f".{name} = {name}" for name in (*read, *counters))
                before.add(
                    f"struct {part} context = {{{values}}};",
                    f"{done} = share_out({part}, &context, count, 1, time < 1e15 ? (i64)time : 1000000000000000);",
                    f"if ({done} == 2)",
                    "    goto interrupt;",
                    f"if ({done} == 1)",
                    "    goto leave;",
                )
                with before.block(f"if ({done} == 0)"):
                    before.add(*(f"{function.text(each)} += count * {by};" for each, by in rounds.steps.items()))
                    before.add(*(f"{function.text(each)} = {self.last(each)};" for each in rounds.last))

    def may_be_vectors(self) -> bool:
        """Whether a compiler may exchange these loops and make vectors of them: it sees less of a part."""
        blocks = self.rounds.blocks
        is_single_only = all(is_single(step) for block in blocks for step in block.steps)
        return is_single_only and self.function.chains.isdisjoint(block.name for block in blocks)

    def last(self, node: Node) -> str:
        """C of what the last round gives to a value, behind it."""
        value = self.rounds.last[node]
        if not isinstance(value, tuple):
            return self.function.text(value, node.type)
        counter, offset = value
        return f"{self.function.text(counter)} + {offset - self.rounds.steps[counter]}"

    def first(self) -> list[str]:
        """How a round begins: what the head gives to the block behind it."""
        function, end = self.function, self.head.end
        assert isinstance(end, Branch)
        outer, function.lines = function.lines, Lines()
        function.lines.depth = 1
        try:
            function.jump(self.head, end.then, self.rounds.blocks[1].name)
            return function.lines.lines
        finally:
            function.lines = outer

    def moved(self, text: str) -> str:
        """The text of the loop in a function of its own: where it goes back or leaves, it does so there."""
        text = re.sub(rf"goto {self.label}(_turn)?;", "goto next_round;", text)
        for block in self.function.program.blocks:
            if only_leaves(block):
                text = text.replace(f"goto {self.function.labels[block.name]};", "goto leave;")
        return text

    def part(
        self,
        name: str,
        read: dict[str, str],
        own: dict[str, str],
        rings: Sequence[tuple[str, str, int]],
        made: Sequence[str],
        text: str,
    ) -> str:
        function, rounds = self.function, self.rounds
        counters = {function.text(each): by for each, by in rounds.steps.items()}
        fields = [f"    {ctype} {variable};" for variable, ctype in {**read, **dict.fromkeys(counters, "i64")}.items()]
        only_given = all(variable in function.given for variable, ctype in read.items() if ctype.endswith("*"))
        lines = [f"struct {name} {{", *fields, "};", ""]
        lines += [
            f'__attribute__((noinline, optimize("{function.optimizing()}")))',
            f"static int {name}(void *given, i64 begin, i64 end)",
            "{",
            f"    struct {name} *context = given;",
        ]
        for variable, ctype in read.items():
            kind = "restrict " if ctype.endswith("*") and only_given else ""
            lines.append(f"    {ctype}{kind} {variable} = context->{variable};")
        lines += [f"    {ctype} {variable}{' = 0' if ctype.endswith('*') else ''};" for variable, ctype in own.items()]
        lines += [f"    {line}" for line in function.fixed if any(f" {each}[" in line for each in made)]
        for ring, room, count in rings:
            lines += [f"    char *{ring}[{count}] = {{0}};", f"    i64 {room}[{count}] = {{0}};"]
        lines += [
            "    i64 budget = BUDGET;",
            "    int outcome = 0;",
            "    for (i64 round = begin; round < end; round++) {",
            *(f"        {each} = context->{each} + round * {by};" for each, by in counters.items()),
        ]
        if self.head.name not in function.counted:
            lines += ["        if (--budget < 0) {", "            if (interrupted())"]
            lines += ["                goto interrupt;", "            budget = BUDGET;", "        }"]
        lines += [f"    {line}" if line and not line.startswith("#") else line for line in text.split("\n")]
        lines += ["    next_round:;", "    }"]
        if re.search(rf"\b{OVERFLOW}\b", text):
            lines.insert(lines.index("    int outcome = 0;"), f"    i64 {OVERFLOW} = 0;")
            lines += [f"    if ({OVERFLOW} < 0)", "        goto leave;"]
        lines += ["    goto done;", "interrupt:", "leave:", "    outcome = 1;", "done:"]
        if function.raises:
            lines += [f'    __asm__ volatile("" : : "r"({each}) : "memory");' for each in made]
        lines += [f"    give_back({ring}[{number}]);" for ring, _, count in rings for number in range(count)]
        return "\n".join([*lines, "    return outcome;", "}"])

    # what a round costs -----------------------------------------------------------------------------------------
    def time(self, own: set[str]) -> Any:
        """C of a guess at the nanoseconds of a round; a number where it does not depend on anything."""
        program = self.function.program
        loops = {head: names for head, names in natural_loops(program).items() if head in self.rounds.names}
        terms: dict[tuple[str, ...], float] = {}
        for block in self.rounds.blocks:
            around = [head for head in loops if head != self.head.name and block.name in loops[head]]
            turns = [self.turns(loops, head, own) for head in around]
            for step in block.steps:
                factor, sizes = self.step_time(step, own)
                for turn, more in turns:
                    factor, sizes = factor * turn, (*sizes, *more)
                key = tuple(sorted(sizes))
                terms[key] = terms.get(key, 0.0) + factor
        if not any(terms):
            return float(sum(terms.values()))
        parts = ([f"{factor:.3f}", *(f"(f64){size}" for size in key)] for key, factor in terms.items())
        return " + ".join(map(" * ".join, parts))

    def turns(self, loops: dict[str, frozenset[str]], head: str, own: set[str]) -> Term:
        """How many rounds an inner loop has."""
        if head in self.function.lanes.heads:
            return UNKNOWN * STRIP / LANES, ()
        found = trips(self.function.program, loops, head)
        if found is None:
            return UNKNOWN, ()
        (start, start_half), (stop, stop_half) = (self.number(value, own) for value in found[:2])
        half = 0.5 if start_half or stop_half else 1.0
        if stop is None or start is None:
            return UNKNOWN, ()
        if stop.isdigit() and start.isdigit():
            return max(int(stop) - int(start), 0) / found[2] * half, ()
        return half / found[2], (stop if start_half or start == "0" else f"({stop} - {start})",)

    def number(self, value: Any, own: set[str]) -> tuple[str | None, bool]:
        """C of an int, where it is known before the loop; of the counter its bound, and that it is half of it."""
        root, offset = affine(value)
        if root is self.rounds.counter:
            return self.number(self.rounds.bound, own)[0], True
        if root is None:
            return str(offset), False
        text = self.function.text(root) if isinstance(root, Node) and root in self.function.texts else None
        return (None if text is None or text in own else text), False

    def step_time(self, step: Node, own: set[str]) -> Term:
        function = self.function
        if step.target in VIEWS or step.target == "size":
            return 0.0, ()
        arrays = [value for value in (*step.args, step) if is_array(value) and value in function.arrays]
        if step.target in ("load", "store_at") or not arrays:
            rule = RULES.get(step.params.get("op", ""))
            is_dear = str(step.params.get("symbol", "")).startswith("math.")
            return STEP_TIME + (rule.cost * DEAR if rule else 0.0) + (5.0 if is_dear else 0.0), ()
        if step.target == "matmul":
            left, right = (function.sizes(value) for value in step.args)
            return self.elements((*left, *(right[1:])), own, PRODUCT_TIME)
        sizes = max((function.sizes(value) for value in arrays), key=len)
        rule = RULES.get(step.params.get("op", ""))
        return self.elements(sizes, own, ELEMENT_TIME + (rule.cost * 2 if rule else 0.0))

    def elements(self, sizes: Sequence[str], own: set[str], each: float) -> Term:
        known: list[str] = []
        for number, size in enumerate(sizes):
            if size.isdigit():
                each *= int(size)
            elif size.isidentifier() and size not in own:
                known.append(size)
            elif self.rounds.tile is not None and not number:
                known.append(self.function.text(self.rounds.tile))
            else:
                each *= UNKNOWN
        return each, tuple(known)
