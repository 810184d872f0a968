"""The body of a kernel: a ``Nest`` as lines of C.

In: a nest, and the ``CUnit`` that collects what its kernels use. Out: the lines inside a kernel's loop over outer
iterations, in one of three modes: *fast* computes; *checked* computes the same on the same inputs, writes nothing,
and notes what each operation raised; *combine* merges the chunks of split reductions and goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from capture.inductor.checking import check, is_asked, masked_values, suspicion
from capture.inductor.combining import (
    LaneStates,
    RowStates,
    carries_position,
    in_one_go,
    is_float_sum,
    state_dtype,
    streams_of,
)
from capture.inductor.csource import CUnit, Lines, Scratch, local_type
from capture.inductor.elements import Write
from capture.inductor.helpers import LOOP, bits_helper
from capture.inductor.loops import Memory, Reduction, Value
from capture.inductor.nest import MOST_SAVED, TILE, Axis, Nest
from capture.inductor.staging import PIECE, Stage, is_call, stages
from capture.inductor.vocabulary import C_TYPES, RULES, cast_text, literal
from capture.inductor.walking import masks_of, write_packed, write_row, write_tallies
from capture.ir.shapes import Expr, Size, Symbol, minimum, product

FAST, CHECKED, COMBINE = "fast", "checked", "combine"

MOST_VECTOR_CHECKS = 32
"""Operations that a vectorised loop may check; to vectorise more would take the compiler too long."""

FEW = 256
"""Elements whose loop the compiler may take apart, to compute all of them itself."""

Run = tuple[Symbol, str, str]
"""Neighbouring elements: their axis, the first of them and how many they are, in C."""

LIGHT = 0.25
"""Nanoseconds per element up to which a sum is bound by the latency of its additions."""


def is_made_of_computed_integer(value: Value) -> bool:
    """Whether a cast to float is of an integer that the compiler must not look into.

    gcc takes float → int → float for ``trunc``, which differs in zeros and overflows; and it divides by an integer that
    it finds to be zero while compiling, and raises nothing. Positions in few elements it computes with, too.
    """
    source = value.args[0]
    if source.op == "index":
        return value.dtype.kind == "f" and isinstance(source.data, Expr) and source.data.range[1] < FEW
    return value.dtype.kind == "f" and source.dtype.kind in "biu" and source.op not in ("load", "index", "constant")


def is_made_of_truth(place: Value) -> bool:
    """Whether the compiler may find that a place is a truth value, as in ``table[(x > 0).astype(int)]``.

    gcc 12 reads other elements there when it makes vectors of elements that are shorter than places.
    """
    seen: set[Value] = set()
    stack = [place]
    while stack:
        value = stack.pop()
        if value in seen or value.op == "load":
            continue
        seen.add(value)
        arms = value.args[1:] if value.op == "where" else value.args if value.op == "cast" else ()
        if any(arm.dtype.kind == "b" for arm in arms) or (arms and not any(arm.axes for arm in arms)):
            return True
        stack.extend(arg for arg in value.args if arg.dtype.kind != "b")
    return False


class Body:
    """Writes the body of one nest in one mode."""

    def __init__(self, nest: Nest, unit: CUnit, mode: str, partials: dict[Reduction, list[Memory]]) -> None:
        self.nest, self.unit, self.mode, self.partials = nest, unit, mode, partials
        self.lines, self.scratch = Lines(), Scratch(unit)
        self.opening: list[str] = []  # what a call of the kernel begins with, and how it ends
        self.closing: list[str] = []
        self.lane = nest.lanes.symbol if nest.lanes else None
        self.suspects = False
        self.hidden: dict[str, str] = {}  # literals that the compiler must not compute with, by declaration
        self.opaque = False  # whether the kernel needs a number that the compiler does not know
        self.noted: dict[str, None] = {}  # variables that gather flags, in the form that notes them
        self.backups = self.keep_inputs()
        self.masked = masked_values(nest) if self.mode == FAST else frozenset()
        self.rows = self.row_values()
        self.crossing = self.crossing_values() if self.lane is not None else set()
        self.names = {reduction: self.local(reduction.kept) for reduction in nest.reductions if reduction.kept}

    # names ------------------------------------------------------------------------------------------------------
    def local(self, value: Value) -> str:
        if value.op == "load":
            return f"{value.data.memory.name}_{value.number}"
        return f"{value.label or 'value'}_{value.number}"

    def name(self, value: Value) -> str:
        """What the value is called where it is used."""
        if value.op == "constant":
            return literal(value.data, value.dtype)
        per_lane = value in self.crossing or (value.op == "carried" and self.lane is not None)
        return f"{self.local(value)}_lanes[lane]" if per_lane else self.local(value)

    def hide(self, value: Value) -> str:
        """A variable whose value the compiler does not know to be this constant."""
        declaration = f"{C_TYPES[value.dtype]} {{}} = {self.name(value)};"
        return self.hidden.setdefault(declaration, f"hidden_{len(self.hidden)}")

    # which values stand where -----------------------------------------------------------------------------------
    def row_values(self) -> list[Value]:
        """The values outside the inner loops that this body needs, in order."""
        nest = self.nest
        stack: list[Value] = []
        if self.mode != COMBINE:
            for phase in range(nest.phases):
                for value in nest.needed(nest.roots(phase), phase):
                    stack.extend(value.args)
                stack.extend(nest.roots(phase))
        if self.mode == COMBINE or not nest.is_split or nest.may_be_whole:
            stack.extend(value for write in self.row_writes() for value in write.needs)
        found: dict[Value, None] = {}
        while stack:
            value = stack.pop()
            if value not in found and not nest.is_inner(value):
                found[value] = None
                stack.extend(value.args)
        return sorted(found, key=lambda value: value.number)

    def row_writes(self) -> list[Write]:
        return [write for write in self.nest.writes if not self.nest.in_loop(write)]

    def crossing_values(self) -> set[Value]:
        """Values of a lane that are used in another loop than the one that computes them."""
        used: set[Value] = set()
        for value in self.rows:
            used.update(arg for arg in value.args if arg.phase < value.phase)
            if value.op == "kept":
                used.add(value)
        used.update(write.value for write in self.row_writes() if write.phase > write.value.phase)
        for phase in range(self.nest.phases):
            for value in (*self.nest.needed(self.nest.roots(phase), phase), *self.nest.roots(phase)):
                used.update((value, *value.args))
        rows = set(self.rows)
        return {value for value in used & rows if self.lane in value.axes and value.op != "constant"}

    def keep_inputs(self) -> dict[Value, str]:
        """Copies of what the nest overwrites, for the checked form, which runs afterwards."""
        nest = self.nest
        if not nest.raises or self.mode == COMBINE:
            return {}
        overwritten = set(nest.overwritten)
        loads = [value for value in nest.values if value.op == "load" and value.data.memory in overwritten]
        return {v: self.scratch.array(f"{self.local(v)}_before", v.dtype, self.items(v) * nest.batch) for v in loads}

    # positions in arrays of one row or block --------------------------------------------------------------------
    def items(self, value: Value) -> Size:
        """How many elements the value has in one outer iteration."""
        nest = self.nest
        count: Size = 1
        if nest.is_inner(value):
            first, *others = nest.inner
            count = product([nest.chunk if nest.has_chunks else first.size, *(axis.size for axis in others)])
        return count * nest.width if self.lane in value.axes else count

    def position(self, value: Value) -> str:
        """The place of the value's element among those of one outer iteration."""
        nest, text = self.nest, "0"
        if nest.is_inner(value):
            first, *others = nest.inner
            text = f"{first.symbol.name} - start" if nest.has_chunks else first.symbol.name
            for axis in others:
                text = f"({text}) * ({self.unit.size(axis.size)}) + {axis.symbol.name}"
        if self.lane in value.axes:
            text = f"({text}) * {nest.width} + lane" if text != "0" else "lane"
        return text

    def backup(self, value: Value) -> str:
        base = "" if self.nest.batch == 1 else f"(row - first) * ({self.unit.size(self.items(value))}) + "
        return f"{self.backups[value]}[{base}{self.position(value)}]"

    # statements -------------------------------------------------------------------------------------------------
    def text(self, value: Value) -> str:
        """The C that computes a value from its operands."""
        if value.op == "load":
            if self.mode == CHECKED and value in self.backups:
                return self.backup(value)
            text = self.unit.element(value.data, tuple(map(self.place, value.args)))
            return f"{text} != 0" if value.dtype.kind == "b" else text
        if value.op == "index":
            return self.unit.size(value.data)
        if is_call(value):
            return self.call_for_one(value)
        self.unit.use(value)
        operands = tuple(map(self.name, value.args))
        is_float = "f" in (value.dtype.kind, value.args[0].dtype.kind)
        if is_float and all(arg.op == "constant" for arg in value.args):
            operands = tuple(map(self.hide, value.args))  # gcc divides 1.0 by 0.0 while compiling, and raises nothing
        if value.op == "cast":
            (operand,) = value.args
            if is_made_of_computed_integer(value):
                self.opaque = True
                operands = (f"({operands[0]} ^ ({C_TYPES[operand.dtype]})no_bits)",)
            return cast_text(operand.dtype, value.dtype, operands[0])
        if value.op == "bits":
            return f"{bits_helper(value.args[0].dtype, value.dtype)[0]}({operands[0]})"
        return RULES[value.op].text(value.args[-1].dtype, operands)

    def place(self, value: Value) -> str:
        if not is_made_of_truth(value):
            return self.name(value)
        self.opaque = True
        return f"({self.name(value)} ^ no_bits)"

    def compute(self, value: Value) -> None:
        """One value, where it is not there yet; in the checked form with what it raises."""
        if value.op in ("constant", "kept", "carried"):
            return
        target = self.local(value)
        if value in self.crossing:
            target = f"{self.scratch.array(f'{target}_lanes', value.dtype, self.nest.width)}[lane]"
            self.lines.add(f"{target} = {self.text(value)};")
        else:
            self.lines.add(f"const {local_type(value.dtype)} {target} = {self.text(value)};")
        if self.mode == FAST and value in self.backups:
            self.lines.add(f"{self.backup(value)} = {target};")
        if is_asked(value):
            self.note(value)

    def note(self, value: Value) -> None:
        """What an operation raises: a suspicion in the fast form, a flag in the others."""
        if is_call(value):
            return  # the call has told
        if self.mode != FAST:
            text = check(value, self.name, self.unit)
            self.lines.add(f"{self.gathers(self.unit.flags[value.node])} |= {text};")
        elif text := suspicion(value, self.name, value in self.masked):
            self.suspects = True
            self.lines.add(f"suspect |= {text};")

    def gathers(self, flag: int) -> str:
        """The variable that gathers what an operation raises."""
        name = f"raised_{flag}"
        self.noted[name] = None
        return name

    def pragma(self, mark: int, clauses: str = "") -> None:
        """Vectorise the loop that starts at line ``mark``; what it gathers are reductions."""
        lines = self.lines.lines
        text = "\n".join(lines[mark:])
        if LOOP in text:
            return
        gathered = [name for name in ("suspect", *self.noted) if f" {name} |=" in text]
        if gathered:
            clauses += f" reduction(|:{', '.join(gathered)})"
        if len(gathered) <= MOST_VECTOR_CHECKS:
            lines.insert(mark, "    " * self.lines.depth + f"#pragma omp simd{clauses}")

    def write(self, write: Write) -> None:
        if self.mode == CHECKED:
            return
        places = tuple(map(self.name, write.places))
        if write.until is None:
            self.lines.add(f"{self.unit.element(write.place, places)} = {self.name(write.value)};")
            return
        write_row(self, write, places[0], self.name(write.until))

    # the body ---------------------------------------------------------------------------------------------------
    def build(self) -> str:
        nest = self.nest
        if nest.form == "columns":
            self.lines.add(f"const i64 lanes = {self.block_lanes()};")
        passes = 0 if self.mode == COMBINE else nest.phases
        if self.mode == COMBINE:
            self.section(0)
            self.merge_chunks()
        for phase in range(passes):
            self.section(phase)
            self.loop(phase)
        if self.mode == COMBINE:
            self.section(1)
        elif nest.may_be_whole:
            self.finish_whole_or_keep(passes)
        elif nest.is_split:
            self.keep_chunk()
        else:
            self.section(passes)
        return str(self.lines)

    def finish_whole_or_keep(self, passes: int) -> None:
        """The end of a kernel for which each call chooses whether there are chunks."""
        with self.lines.block(f"if ({self.chunks()} == 1)"):
            self.section(passes, whole=True)
        if self.mode == FAST:
            with self.lines.block("else"):
                self.keep_chunk()

    def block_lanes(self) -> str:
        assert self.nest.lanes is not None
        size, width = self.nest.lanes.size, self.nest.width
        if isinstance(size, int) and size % width == 0:
            return str(width)
        return f"MINIMUM({width}, {self.unit.size(size)} - block)"

    def section(self, phase: int, whole: bool = False) -> None:
        """What is computed and written outside the inner loops, before pass ``phase``; not yet what is made of the
        results of reductions that are to be combined, unless this one is ``whole``: then what was held back is written.
        """
        values = [value for value in self.rows if value.phase == phase]
        writes = [write for write in self.row_writes() if write.phase == phase or (whole and write.phase < phase)]
        if self.nest.is_split and self.mode != COMBINE and not whole:
            writes = []
        for value in values:
            if self.lane not in value.axes:
                self.compute(value)
        if self.lane is None:
            for write in writes:
                self.write(write)
            return
        values = [v for v in values if self.lane in v.axes and v.op not in ("kept", "constant")]
        if values or (writes and self.mode != CHECKED):
            with self.lane_loop():
                for value in values:
                    self.compute(value)
                for write in writes:
                    self.write(write)

    @contextmanager
    def lane_loop(self) -> Iterator[None]:
        """A loop over the lanes of a block."""
        assert self.lane is not None
        mark = len(self.lines.lines)
        with self.lines.block("for (i64 lane = 0; lane < lanes; lane++)"):
            self.lines.add(f"const i64 {self.lane.name} = block + lane;")
            yield
        self.pragma(mark)

    def reductions(self, phase: int) -> list[Reduction]:
        return [reduction for reduction in self.nest.reductions if reduction.phase == phase]

    def loop(self, phase: int) -> None:
        """One pass over the inner axes."""
        if self.lane is None:
            self.row_loop(phase)
        else:
            self.lane_loops(phase)

    def row_loop(self, phase: int) -> None:
        nest, lines = self.nest, self.lines
        reductions = self.reductions(phase)
        length: Size = 1
        if reductions:
            length = nest.chunk if nest.has_chunks else product(axis.size for axis in nest.inner)
        for value in nest.carried:
            lines.add(f"{local_type(value.dtype)} {self.local(value)} = {value.data.start};")
        if isinstance(length, int) or self.mode != FAST or not all(map(is_float_sum, reductions)):
            self.row_pass(phase, length)
            return
        for reduction in reductions:
            lines.add(f"{local_type(reduction.dtype)} {self.names[reduction]};")
        block = in_one_go(reductions)
        with lines.block(f"if ({self.unit.size(length)} <= {block})"):
            self.row_pass(phase, block, declare=False)
        with lines.block("else"):
            self.row_pass(phase, length, declare=False)

    def row_pass(self, phase: int, length: Size, declare: bool = True) -> None:
        """The loops of a pass over ``length`` elements, and what they leave."""
        nest, lines = self.nest, self.lines
        reductions, checked = self.reductions(phase), self.mode == CHECKED
        states = RowStates(reductions, self.names, lines, self.unit)
        states.begin(length, checked)
        with ExitStack() as stack:
            for axis in nest.inner[:-1]:
                stack.enter_context(lines.block(self.axis_loop(axis)))
            last = nest.inner[-1]
            begin, end = self.axis_range(last)
            if states.tall and self.is_light(phase):
                begin = self.streams(phase, states, begin, end)
            if states.tall:
                stack.enter_context(lines.block(f"for (i64 part = {begin}; part < {end}; part += {states.block})"))
                lines.add(f"const i64 part_end = MINIMUM(part + {states.block}, {end});")
                states.begin_block()
                begin, end = "part", "part_end"
            if self.calls_loops(phase):
                self.pieces(phase, states, begin, end)
            elif self.mode == FAST and nest.tally is not None:
                write_tallies(self, nest.tally, begin, end)
            elif self.mode == FAST and (masks := masks_of(self)):
                write_packed(self, phase, states, begin, end, masks)
            else:
                with self.vector_loop(begin, end, states, states.clauses(checked)):
                    self.elements(phase, states)
            states.end_block()
        for reduction in reductions:
            states.finish(reduction, self.gathered(reduction), declare)

    @contextmanager
    def vector_loop(self, begin: str, end: str, states: RowStates, clauses: str) -> Iterator[None]:
        """The innermost loop of a pass over a row."""
        symbol, mark = self.nest.inner[-1].symbol.name, len(self.lines.lines)
        with self.lines.block(f"for (i64 {symbol} = {begin}; {symbol} < {end}{self.goes_on()}; {symbol}++)"):
            yield
        if states.is_vector and not self.is_serial():
            self.pragma(mark, clauses)

    def is_light(self, phase: int) -> bool:
        """Whether a pass does little else than add."""
        nest = self.nest
        values = nest.needed(nest.roots(phase), phase)
        others = any(write.phase == phase and nest.in_loop(write) for write in nest.writes)
        sums = all(is_float_sum(reduction) for reduction in self.reductions(phase))
        cost = sum(value.cost for value in values)
        return self.mode == FAST and sums and not others and cost <= LIGHT and not (self.backups or nest.saved)

    def streams(self, phase: int, states: RowStates, begin: str, end: str) -> str:
        """The loop over as many groups of blocks as there are; where the rest begins."""
        last = self.nest.inner[-1]
        chunked = self.nest.has_chunks and last is self.nest.inner[0]
        count, block = streams_of(self.nest.chunk if chunked else last.size, states.block)
        symbol, step = last.symbol.name, count * block
        rest = f"rest{phase}"
        self.lines.add(f"i64 {rest} = {begin};")
        with self.lines.block(f"for (; {rest} + {step} <= {end}; {rest} += {step})"):
            clauses = states.begin_streams(count)
            mark = len(self.lines.lines)
            with self.lines.block(f"for (i64 place = {rest}; place < {rest} + {block}; place++)"):
                for stream in range(count):
                    states.stream = str(stream)
                    with self.lines.block():
                        self.lines.add(f"const i64 {symbol} = place{f' + {stream * block}' if stream else ''};")
                        self.elements(phase, states)
            states.stream = ""
            self.pragma(mark, clauses)
            states.end_streams(count)
        return rest

    def gathered(self, reduction: Reduction) -> str:
        """The variable that gathers what a reduction raises, empty where nothing is noted."""
        return self.gathers(self.unit.flags[reduction.node]) if self.mode != FAST and reduction.may_raise else ""

    def axis_range(self, axis: Axis) -> tuple[str, str]:
        if self.nest.has_chunks and axis is self.nest.inner[0]:
            return "start", "stop"
        if self.nest.tile and axis is self.nest.inner[-1]:
            return "left", "right"
        return "0", self.unit.size(axis.size)

    def axis_loop(self, axis: Axis) -> str:
        begin, end = self.axis_range(axis)
        name = axis.symbol.name
        return f"for (i64 {name} = {begin}; {name} < {end}{self.goes_on()}; {name}++)"

    def is_serial(self) -> bool:
        """Whether a step of the last loop may depend on the one before: by a variable, or by an equal place."""
        nest = self.nest
        last = nest.inner[-1].symbol
        return bool(nest.carried) or any(last in place.axes for write in nest.writes for place in write.places)

    def goes_on(self) -> str:
        """What holds as long as a walk is not at its end."""
        limits = [(value, value.data.limit) for value in self.nest.carried if value.data.limit is not None]
        return "".join(f" && {self.local(value)} < {self.unit.size(limit)}" for value, limit in limits)

    def lane_loops(self, phase: int) -> None:
        nest, lines = self.nest, self.lines
        reductions, checked = self.reductions(phase), self.mode == CHECKED
        with lines.block():
            states = LaneStates(reductions, self.names, lines, self.unit, self.scratch)
            length: Size = product(axis.size for axis in nest.inner)
            starts = states.begin(length if reductions else 1, nest.width, checked)
            for value in nest.carried:
                array = self.scratch.array(f"{self.local(value)}_lanes", value.dtype, nest.width)
                starts.append(f"{array}[lane] = {value.data.start};")
            self.each_lane(starts)
            with ExitStack() as stack:
                for axis in nest.inner:
                    stack.enter_context(lines.block(self.axis_loop(axis)))
                if self.calls_loops(phase):
                    assert self.lane is not None
                    self.staged(phase, states, lambda _: self.lane_loop(), "lane", (self.lane, "block", "lanes"))
                else:
                    with self.lane_loop():
                        self.elements(phase, states)
                states.end_row()
            self.each_lane(states.finish({r: self.gathered(r) for r in reductions}))

    def each_lane(self, statements: Sequence[str]) -> None:
        if statements:
            with self.lines.block("for (i64 lane = 0; lane < lanes; lane++)"):
                self.lines.add(*statements)

    # calls of NumPy's loops: a pass over a piece after the other, in stages ---------------------------------------
    def calls_loops(self, phase: int) -> bool:
        """Whether NumPy's loops work on pieces in this pass; steps that need the one before call them one by one."""
        return not self.is_serial() and any(map(is_call, self.nest.needed(self.nest.roots(phase), phase)))

    def pieces(self, phase: int, states: RowStates, begin: str, end: str) -> None:
        checked = self.mode == CHECKED
        with self.lines.block(f"for (i64 piece = {begin}; piece < {end}; piece += {PIECE})"):
            self.lines.add(f"const i64 piece_end = MINIMUM(piece + {PIECE}, {end});")

            def loop(is_last: bool) -> AbstractContextManager[None]:
                return self.vector_loop("piece", "piece_end", states, states.clauses(checked) if is_last else "")

            symbol = self.nest.inner[-1].symbol
            self.staged(phase, states, loop, f"{symbol.name} - piece", (symbol, "piece", "piece_end - piece"))

    def staged(
        self,
        phase: int,
        states: RowStates | LaneStates,
        loop: Callable[[bool], AbstractContextManager[None]],
        place: str,
        run: Run,
    ) -> None:
        """The stages of a pass over one run of elements: a piece of a row, or the lanes of a block."""
        nest = self.nest
        roots = [*nest.roots(phase), *(value for value, first in nest.saved.items() if first == phase)]
        values = nest.needed(roots, phase)
        ready = [v for v in values if nest.saved.get(v, phase) < phase and not isinstance(nest.saves, Expr)]
        dense = {value for value in values if self.is_dense(value, run[0])}
        for stage in stages(values, roots, ready, dense):
            with loop(not stage.calls) if stage.computes or stage.keeps or not stage.calls else nullcontext():
                for value in stage.loads:
                    text = f"{self.piece(value)}[{place}]"
                    self.lines.add(f"const {local_type(value.dtype)} {self.local(value)} = {text};")
                if stage.calls:
                    self.compute_all(stage.computes, phase)
                    for value in stage.keeps:
                        self.lines.add(f"{self.piece(value)}[{place}] = {self.name(value)};")
                else:
                    self.elements(phase, states, stage)
            for call in stage.calls:
                self.call_for_piece(call, dense, run)

    def is_dense(self, value: Value, axis: Symbol) -> bool:
        """Whether the elements of a run are neighbours in memory, and stay what they are."""
        if value.op != "load" or value.args or value in self.backups:
            return False
        steps = [stride for symbol, stride in value.data.strides if symbol == axis]
        return steps == [1] and not isinstance(value.data.rest, Expr)

    def piece(self, value: Value) -> str:
        """The array with a value for each element of a piece, or each lane."""
        return self.scratch.array(f"{self.local(value)}_piece", value.dtype, max(PIECE, self.nest.width))

    def call_for_piece(self, call: Value, dense: set[Value], run: Run) -> None:
        axis, first, count = run
        operands: list[str] = []
        before: dict[str, None] = {}
        for number, (arg, still) in enumerate(zip(call.args, call.data.still, strict=True)):
            size = arg.dtype.itemsize
            if still:
                before[f"const {C_TYPES[arg.dtype]} same_{number} = {self.name(arg)};"] = None
                operands.append(f"&same_{number}, 0")
            elif arg in dense:
                before[f"const i64 {axis.name} = {first};"] = None
                operands.append(f"&{self.unit.element(arg.data)}, {size}")
            else:
                operands.append(f"{self.piece(arg)}, {size}")
        results = (self.piece(call), f"{call.dtype.itemsize}", count)
        with self.lines.block() if before else nullcontext():
            self.lines.add(*before, f"{self.call_text(call, '', [*operands, *results])};")

    def call_for_one(self, call: Value) -> str:
        """The C of a single value."""
        steps = [0 if still else arg.dtype.itemsize for arg, still in zip(call.args, call.data.still, strict=True)]
        operands = [f"{self.name(arg)}, {step}" for arg, step in zip(call.args, steps, strict=True)]
        return self.call_text(call, C_TYPES[call.dtype], operands)

    def call_text(self, call: Value, one: str, operands: Sequence[str]) -> str:
        """A call for one element of the type ``one``, or for a run of elements."""
        name = self.unit.use_loop(len(call.args), one)
        loop = self.unit.loops[call.data.name, call.dtype]
        flags = "0" if self.mode == FAST else f"&{self.gathers(self.unit.flags[call.node])}"
        return f"{name}({', '.join((loop, *operands, flags))})"

    def is_saved_before(self, value: Value, phase: int) -> bool:
        """Whether an earlier pass has kept the value; calls are made again where that depends on sizes."""
        is_certain = not (is_call(value) and isinstance(self.nest.saves, Expr))
        return is_certain and self.nest.saved.get(value, phase) < phase

    def compute_all(self, values: Sequence[Value], phase: int) -> None:
        for value in values:
            if self.is_saved_before(value, phase):
                self.lines.add(f"const {local_type(value.dtype)} {self.local(value)} = {self.saved_text(value)};")
            else:
                self.compute(value)

    def elements(self, phase: int, states: RowStates | LaneStates, stage: Stage | None = None) -> None:
        """The innermost statements of a pass, or of its last stage."""
        nest = self.nest
        self.compute_all(stage.computes if stage else nest.needed(nest.roots(phase), phase), phase)
        for value in (*stage.loads, *stage.computes) if stage else nest.needed(nest.roots(phase), phase):
            if nest.saved.get(value) == phase:
                count = minimum(self.items(value), MOST_SAVED)
                array = self.scratch.array(f"{self.local(value)}_saved", value.dtype, count)
                where = f"if ({self.unit.size(nest.saves)}) " if isinstance(nest.saves, Expr) else ""
                self.lines.add(f"{where}{array}[{self.position(value)}] = {self.local(value)};")
        for reduction in self.reductions(phase):
            position = self.unit.size(reduction.position)
            element = reduction.element
            is_hidden = element.op == "constant" and element.dtype.kind == "f"
            text = self.hide(element) if is_hidden else self.name(element)
            states.step(reduction, text, f"({position})", self.mode == CHECKED)
        for write in nest.writes:
            if nest.in_loop(write) and write.phase == phase:
                self.write(write)
        for value in nest.carried:
            self.lines.add(f"{self.name(value)} = {self.name(value.data.next)};")

    def saved_text(self, value: Value) -> str:
        """A value that an earlier pass has kept, or that is computed again where it has not."""
        text = f"{self.local(value)}_saved[{self.position(value)}]"
        if isinstance(self.nest.saves, Expr):
            text = f"{self.unit.size(self.nest.saves)} ? {text} : {self.text(value)}"
        return text

    # chunks of a split reduction --------------------------------------------------------------------------------
    def chunk_index(self, chunk: str, row: str) -> str:
        """The place of a chunk's state: rows, then chunks, then lanes."""
        place = f"{row} * ({self.chunks()}) + {chunk}"
        return f"({place}) * ({self.unit.size(self.nest.lanes.size)}) + block + lane" if self.nest.lanes else place

    def chunks(self) -> str:
        return self.unit.size(self.nest.chunks)

    def keep_chunk(self) -> None:
        """The state of each reduction after one chunk goes to memory."""
        place = self.chunk_index("chunk", "outer")
        texts: list[str] = []
        for reduction in self.nest.reductions:
            name, (memory, *where) = self.names[reduction], self.partials[reduction]
            result = f"{name}_lanes[lane]" if self.lane is not None else name
            best = f"{name}_best[lane]" if self.lane is not None else f"{name}_state"
            texts.append(f"{memory.name}_data[{place}] = {best if carries_position(reduction) else result};")
            texts += [f"{memory.name}_data[{place}] = {result};" for memory in where]
        if self.mode == CHECKED:
            return
        if self.lane is not None:
            self.each_lane(texts)
        else:
            self.lines.add(*texts)

    def merge_chunks(self) -> None:
        """Combine the states of all chunks, as if each were an element."""
        reductions, head = self.nest.reductions, f"for (i64 chunk = 0; chunk < {self.chunks()}; chunk++)"
        if self.lane is None:
            rows = RowStates(reductions, self.names, self.lines, self.unit)
            rows.begin(TILE, seen=True, merges=True)
            with self.lines.block(head):
                rows.begin_block()
                self.merge_one(rows)
                rows.end_block()
            for reduction in reductions:
                rows.finish(reduction, self.gathered(reduction))
            return
        lanes = LaneStates(reductions, self.names, self.lines, self.unit, self.scratch)
        self.each_lane(lanes.begin(TILE, self.nest.width, seen=True))
        with self.lines.block(head):
            with self.lane_loop():
                self.merge_one(lanes)
            lanes.end_row()
        self.each_lane(lanes.finish({r: self.gathered(r) for r in reductions}))

    def merge_one(self, states: RowStates | LaneStates) -> None:
        place = self.chunk_index("chunk", "outer")
        for reduction in self.nest.reductions:
            name, (memory, *where) = self.names[reduction], self.partials[reduction]
            self.lines.add(f"const {local_type(state_dtype(reduction))} {name}_chunk = {memory.name}_data[{place}];")
            position = f"{where[0].name}_data[{place}]" if where else "0"
            states.step(reduction, f"{name}_chunk", position, True)
