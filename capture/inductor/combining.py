"""How reductions are written: their state, a step, the result; as numbers (rows) or as arrays of lanes (columns).

In: the reductions of one pass, and the names of element values. Out: lines of C before the loops, in the innermost
loop, and after the loops. Long sums are sums of blocks that are added in pairs, through a *tower*: level ``k`` holds
the sum of ``2**k`` blocks, so the error grows with the logarithm of the length, as NumPy's does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capture.inductor.csource import CUnit, Lines, Scratch, local_type
from capture.inductor.loops import COMBINES, Combine, Reduction
from capture.inductor.vocabulary import C_TYPES, CLASSES
from capture.ir.shapes import Size

PAIRWISE = 256
"""Elements of a row that are added in one go: vector lanes add at most 32 of them one after the other."""

PAIRWISE_BYTES = 8 * PAIRWISE
"""The same in bytes, for what has more lanes."""

PAIRWISE_ROWS = 32
"""Rows of columns that are added one after the other."""

STREAMS = 4
"""Blocks that are added up side by side where little else is done, so that additions need not wait for each other."""

LANES = 16
"""What the length of such blocks is a multiple of, where it is open: vectors have no more elements."""

HUGE = 2**63
"""As many elements as states of chunks may stand for."""

TOWER = 48
"""Levels of a tower; the count of blocks has fewer bits."""

U32, F64 = np.dtype(np.uint32), np.dtype(np.float64)


def state_dtype(reduction: Reduction) -> np.dtype:
    return reduction.element.dtype if combine_of(reduction).special == "where" else reduction.dtype


def state_type(reduction: Reduction, length: Size) -> str:
    """Of a state in a local variable, over so many elements. For truth a byte: gcc does not vectorise what is gathered
    in a _Bool. Counts of truths take half the time in 32 bits."""
    dtype = state_dtype(reduction)
    if counts_truths(reduction) and isinstance(length, int) and length < 2**32:
        return "u32"
    return "u8" if dtype.kind == "b" else local_type(dtype)


def counts_truths(reduction: Reduction) -> bool:
    element = reduction.element
    is_truth = element.op == "cast" and element.args[0].dtype.kind == "b"
    return reduction.combine == "add" and reduction.dtype.kind in "iu" and reduction.dtype.itemsize == 8 and is_truth


def combine_of(reduction: Reduction) -> Combine:
    return COMBINES[reduction.combine]


def formatted(texts: object, dtype: np.dtype, *operands: str) -> str:
    short = C_TYPES[dtype]
    text = texts[CLASSES[dtype.kind]]  # type: ignore[index]
    return text.format(*operands, T=short, f="f" if short == "f32" else "")


def identity(reduction: Reduction) -> str:
    return formatted(combine_of(reduction).identity, state_dtype(reduction))


def step_text(reduction: Reduction, state: str, element: str) -> str:
    return formatted(combine_of(reduction).step, state_dtype(reduction), state, element)


def carries_nan(reduction: Reduction) -> bool:
    return combine_of(reduction).special == "nan" and reduction.dtype.kind == "f"


def carries_position(reduction: Reduction) -> bool:
    return combine_of(reduction).special == "where"


def is_float_sum(reduction: Reduction) -> bool:
    return reduction.combine == "add" and reduction.dtype.kind == "f"


def in_one_go(reductions: Sequence[Reduction]) -> int:
    """Elements of a row that all of the sums of a pass add in one go."""
    sizes = [max(4, reduction.dtype.itemsize) for reduction in reductions if is_float_sum(reduction)]
    return PAIRWISE_BYTES // max(sizes, default=8)


def streams_of(length: Size, block: int) -> tuple[int, int]:
    """How many blocks are added up side by side, and how long they are, so that little is left of a row.

    >>> streams_of(1000, 256), streams_of(600, 512), streams_of(Symbol("n"), 256)
    ((4, 240), (2, 288), (4, 256))
    """
    if not isinstance(length, int):
        return STREAMS, block
    streams = min(STREAMS, -(-length // block))
    rounds = -(-length // (streams * block))
    return streams, max(LANES, length // (streams * rounds) // LANES * LANES)


def takes(reduction: Reduction, state: str, where: str, element: str, position: str) -> str:
    """C that holds where an element takes the place of the best so far: NaN beats all, the first of equals wins."""
    better = f"{step_text(reduction, state, element)} || ({element} == {state} && {position} < {where})"
    if state_dtype(reduction).kind != "f":
        return better
    return f"{state} != {state} ? {element} != {element} && {position} < {where} : {element} != {element} || {better}"


class RowStates:
    """The reductions of a pass, each in local variables."""

    def __init__(self, reductions: Sequence[Reduction], names: dict[Reduction, str], lines: Lines, unit: CUnit) -> None:
        self.reductions, self.names, self.lines, self.unit = reductions, names, lines, unit
        self.tall: list[Reduction] = []
        self.block = in_one_go(reductions)
        self.stream = ""  # which of several states a step adds to

    def begin(self, length: Size, seen: bool, merges: bool = False) -> None:
        """``merges``: what comes are states of chunks in place of elements."""
        long = not isinstance(length, int) or length > self.block
        self.tall = [r for r in self.reductions if is_float_sum(r) and long]
        for reduction in self.reductions:
            name, ctype = self.names[reduction], state_type(reduction, HUGE if merges else length)
            if reduction in self.tall:
                self.lines.add(f"{ctype} {name}_tower[{TOWER}];", f"i64 {name}_count = 0;")
            else:
                self.lines.add(f"{ctype} {name}_state = {identity(reduction)};")
            if carries_nan(reduction):
                self.lines.add(f"u32 {name}_nan = 0;")
            if carries_position(reduction):
                self.lines.add(f"i64 {name}_where = HIGHEST_i64;")
            if seen and reduction.may_raise:
                self.lines.add(f"u32 {name}_seen = 0;", f"f64 {name}_weight = {identity(reduction)};")

    def begin_block(self) -> None:
        for reduction in self.tall:
            self.lines.add(f"{local_type(reduction.dtype)} {self.names[reduction]}_state = 0;")

    def begin_streams(self, count: int) -> str:
        """States of blocks that are added side by side; the clauses of their loop."""
        names = [f"{self.names[r]}_state{stream}" for r in self.tall for stream in range(count)]
        for reduction in self.tall:
            own = [name for name in names if name.startswith(f"{self.names[reduction]}_state")]
            self.lines.add(f"{local_type(reduction.dtype)} {', '.join(f'{name} = 0' for name in own)};")
        return f" reduction(+:{', '.join(names)})"

    def end_streams(self, count: int) -> None:
        for reduction in self.tall:
            name, short = self.names[reduction], C_TYPES[reduction.dtype]
            sums = [f"{name}_state{stream}" for stream in range(count)]
            while len(sums) > 1:
                sums = [" + ".join(sums[k : k + 2]) for k in range(0, len(sums), 2)]
                sums = [f"({text})" for text in sums] if len(sums) > 1 else sums
            self.unit.state_helper("push", short)
            self.lines.add(f"push_{short}({name}_tower, {name}_count++, {sums[0]});")

    def end_block(self) -> None:
        for reduction in self.tall:
            name = self.names[reduction]
            self.unit.state_helper("push", C_TYPES[reduction.dtype])
            self.lines.add(f"push_{C_TYPES[reduction.dtype]}({name}_tower, {name}_count++, {name}_state);")

    def clauses(self, seen: bool) -> str:
        """OpenMP's names of what the loop combines."""
        by_sign: dict[str, list[str]] = {}
        for reduction in self.reductions:
            name, combine = self.names[reduction], combine_of(reduction)
            sign = combine.clause
            if reduction.dtype.kind == "b" and combine.clause in ("+", "max"):
                sign = "|"
            elif reduction.dtype.kind == "b" and combine.clause in ("*", "min"):
                sign = "&"
            by_sign.setdefault(sign, []).append(f"{name}_state")
            if carries_nan(reduction):
                by_sign.setdefault("|", []).append(f"{name}_nan")
            if seen and reduction.may_raise:
                by_sign.setdefault("|", []).append(f"{name}_seen")
                by_sign.setdefault(sign, []).append(f"{name}_weight")
        return "".join(f" reduction({sign}:{', '.join(names)})" for sign, names in by_sign.items())

    @property
    def is_vector(self) -> bool:
        return not any(carries_position(reduction) for reduction in self.reductions)

    def step(self, reduction: Reduction, element: str, position: str, seen: bool) -> None:
        name, short = self.names[reduction], C_TYPES[state_dtype(reduction)]
        if carries_position(reduction):
            with self.lines.block(f"if ({takes(reduction, f'{name}_state', f'{name}_where', element, position)})"):
                self.lines.add(f"{name}_state = {element};", f"{name}_where = {position};")
            return
        if carries_nan(reduction):
            self.lines.add(f"{name}_nan |= {element} != {element};")
        if seen and reduction.may_raise:
            weigh = f"weigh_{reduction.combine}"
            self.unit.state_helper(weigh, short)
            sign = combine_of(reduction).clause
            self.lines.add(
                f"{name}_seen |= {weigh}_sees_{short}({element});",
                f"{name}_weight {sign}= {weigh}_takes_{short}({element});",
            )
        state = f"{name}_state{self.stream}"
        self.lines.add(f"{state} = {step_text(reduction, state, element)};")

    def finish(self, reduction: Reduction, gathers: str, declare: bool = True) -> None:
        """The result, in a variable that is there already or is declared."""
        name, short = self.names[reduction], C_TYPES[reduction.dtype]
        result = f"{name}_state"
        if carries_position(reduction):
            result = f"{name}_where"
        elif reduction in self.tall:
            self.unit.state_helper("push", short)
            result = f"total_{short}({name}_tower, {name}_count)"
        elif carries_nan(reduction):
            result = f"{name}_nan ? {not_a_number(reduction)} : {result}"
        self.lines.add(f"const {local_type(reduction.dtype)} {name} = {result};" if declare else f"{name} = {result};")
        if gathers:
            self.lines.add(f"{gathers} |= raised_by_{reduction.combine}_{short}({name}, {name}_seen, {name}_weight);")


def not_a_number(reduction: Reduction) -> str:
    return '__builtin_nanf("")' if reduction.dtype == np.float32 else '__builtin_nan("")'


class LaneStates:
    """The reductions of a pass, each in arrays with one element per lane; the result is in ``NAME_lanes``."""

    def __init__(
        self, reductions: Sequence[Reduction], names: dict[Reduction, str], lines: Lines, unit: CUnit, scratch: Scratch
    ) -> None:
        self.reductions, self.names, self.lines, self.unit, self.scratch = reductions, names, lines, unit, scratch
        self.tall: list[Reduction] = []

    def begin(self, length: Size, width: int, seen: bool) -> list[str]:
        """Statements that start one lane."""
        long = not isinstance(length, int) or length > PAIRWISE_ROWS
        self.tall = [r for r in self.reductions if is_float_sum(r) and long]
        levels = TOWER if not isinstance(length, int) else max(1, (length // PAIRWISE_ROWS).bit_length() + 1)
        starts: list[str] = []
        for reduction in self.reductions:
            name = self.names[reduction]
            self.scratch.array(f"{name}_lanes", reduction.dtype, width)
            if reduction in self.tall:
                self.scratch.array(f"{name}_part", reduction.dtype, width)
                self.scratch.array(f"{name}_tower", reduction.dtype, width * levels)
                starts.append(f"{name}_part[lane] = 0;")
            elif carries_position(reduction):
                self.scratch.array(f"{name}_best", state_dtype(reduction), width)
                starts += [f"{name}_best[lane] = {identity(reduction)};", f"{name}_lanes[lane] = HIGHEST_i64;"]
            else:
                starts.append(f"{name}_lanes[lane] = {identity(reduction)};")
            if carries_nan(reduction):
                self.scratch.array(f"{name}_nan", U32, width)
                starts.append(f"{name}_nan[lane] = 0;")
            if seen and reduction.may_raise:
                self.scratch.array(f"{name}_seen", U32, width)
                self.scratch.array(f"{name}_weight", F64, width)
                starts += [f"{name}_seen[lane] = 0;", f"{name}_weight[lane] = {identity(reduction)};"]
        if self.tall:
            self.lines.add("i64 rows = 0, blocks = 0;")
        return starts

    def step(self, reduction: Reduction, element: str, position: str, seen: bool) -> None:
        name, short = self.names[reduction], C_TYPES[state_dtype(reduction)]
        if carries_position(reduction):
            best, where = f"{name}_best[lane]", f"{name}_lanes[lane]"
            self.lines.add(f"const _Bool {name}_takes = {takes(reduction, best, where, element, position)};")
            self.lines.add(f"{best} = {name}_takes ? {element} : {best};")
            self.lines.add(f"{where} = {name}_takes ? {position} : {where};")
            return
        state = f"{name}_part[lane]" if reduction in self.tall else f"{name}_lanes[lane]"
        if carries_nan(reduction):
            self.lines.add(f"{name}_nan[lane] |= {element} != {element};")
        if seen and reduction.may_raise:
            weigh = f"weigh_{reduction.combine}"
            self.unit.state_helper(weigh, short)
            sign = combine_of(reduction).clause
            self.lines.add(
                f"{name}_seen[lane] |= {weigh}_sees_{short}({element});",
                f"{name}_weight[lane] {sign}= {weigh}_takes_{short}({element});",
            )
        self.lines.add(f"{state} = {step_text(reduction, state, element)};")

    def end_row(self) -> None:
        if not self.tall:
            return
        with self.lines.block(f"if (++rows == {PAIRWISE_ROWS})"):
            for reduction in self.tall:
                name, short = self.names[reduction], C_TYPES[reduction.dtype]
                self.unit.state_helper("push_lanes", short)
                self.lines.add(f"push_lanes_{short}({name}_tower, blocks, {name}_part, lanes);")
            self.lines.add("rows = 0;", "blocks++;")

    def finish(self, gathers: dict[Reduction, str]) -> list[str]:
        """Put the results into ``NAME_lanes``; statements that end one lane."""
        ends: list[str] = []
        for reduction in self.reductions:
            name, short = self.names[reduction], C_TYPES[reduction.dtype]
            if reduction in self.tall:
                self.unit.state_helper("push_lanes", short)
                self.lines.add(f"total_lanes_{short}({name}_tower, blocks, {name}_part, {name}_lanes, lanes);")
            elif carries_nan(reduction):
                result = f"{name}_lanes[lane]"
                ends.append(f"{result} = {name}_nan[lane] ? {not_a_number(reduction)} : {result};")
            if gathers[reduction]:
                operands = f"{name}_lanes[lane], {name}_seen[lane], {name}_weight[lane]"
                ends.append(f"{gathers[reduction]} |= raised_by_{reduction.combine}_{short}({operands});")
        return ends
