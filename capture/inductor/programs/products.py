"""Products of matrices and vectors in programs.

In: ``matmul`` steps. Out: loops, or calls of functions (``product_texts``) whose sums stay in registers. Which form a
product of floats takes follows from what lies side by side in memory:

* rows of the right operand (``x @ w``), or columns of the left one times a vector (``x.T @ v``): *blocks*, rows of
  numbers times rows of vectors;
* rows of the left one and columns of the right one (``x @ v``, ``x @ w.T``): *dots*, four sums of products at a time;
* else the right operand is first copied to rows, or sums are computed one by one.

Integers are computed in loops that compilers make vectors of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from capture.errors import BackendError
from capture.inductor.programs.function import Function
from capture.inductor.programs.memory import make
from capture.inductor.programs.product_texts import (
    HEIGHT,
    ONE,
    PARTS,
    SIZES,
    TALL,
    block_name,
    block_texts,
    depth_of,
    dot_texts,
    dots_texts,
    panels_name,
    panels_texts,
    width_of,
)
from capture.inductor.programs.sharing import Share, close_region, open_region
from capture.inductor.programs.values import Array, grouped
from capture.inductor.vocabulary import C_TYPES
from capture.ir.graph import Node
from capture.ir.program import RankedType
from capture.records import dataclass, replace

LONG = 64
"""Elements from which on a single sum of products is worth a call."""

SHORT = 16
"""Elements from which on sums of four rows at a time are."""

PRODUCT_TIME = 0.15
"""Nanoseconds that one of the products of a sum is taken for; in blocks it is one lane of a vector's."""

BLOCK_TIME = 0.4
"""Nanoseconds that the products of a vector are taken for."""

GRAIN = HEIGHT * TALL // 2
"""Rows that stay together where threads share them, as they would be without: blocks of both heights end there."""

MANY, DEEP = 16, 32
"""Rows and places of a product from which on panels of the right operand may be worth copying; of so many rows they are
where places do not fit in one panel."""

TINY = 64
"""Products in all, below which a call takes longer than they do."""


def write_matmul(function: Function, step: Node) -> None:
    left, right = (function.in_memory(node) for node in step.args)
    dtype = step.type.dtype
    if left.dtype != dtype or right.dtype != dtype or dtype.kind not in "iuf" or dtype == np.float16:
        raise BackendError(f"matmul of {left.dtype} and {right.dtype}")
    function.raises |= dtype.kind == "f"
    inner, other = left.sizes[-1], right.sizes[0 if len(right.sizes) == 1 else -2]
    if not function.same(inner, other):
        function.leave_if(f"{inner} != {other}")
    product = _Product(function, left, right, inner)
    if not isinstance(step.type, RankedType):
        product.dot(function.target(step), "0", "0")
        function.keep(step)
        return
    sizes = (*left.sizes[:-1], *(right.sizes[-1:] if len(right.sizes) == 2 else ()))
    target = make(function, step.name, step.name, dtype, sizes, checked=False)
    function.arrays[step] = target
    product.into(target)


@dataclass(frozen=True, slots=True)
class Panel:
    """Columns that are computed together: where they begin, what vectors they are, where the last one begins."""

    at: str
    part: str
    vectors: int
    last: str


def panels_of(columns: int, lanes: int, width: int, least: int) -> Iterator[tuple[int, Panel]]:
    """How often, one behind the other, and what: all columns of a matrix, with vectors of up to so many lanes."""
    part = 0
    while lanes > max(columns, least):
        part, lanes = part + 1, lanes // 2
    if lanes > columns:
        yield 1, Panel("0", ONE, 1, "0")
        return
    wide = width * lanes
    whole, left = columns // wide, -(-(columns % wide) // lanes)
    if whole:
        yield whole, Panel("0", PARTS[part], width, str(wide - lanes))
    if left:
        at = whole * wide
        yield 1, Panel(str(at), PARTS[part], left, str(columns - lanes - at))


class _Product:
    """Loops over rows of ``left`` and columns of ``right``; a vector has one of them."""

    def __init__(self, function: Function, left: Array, right: Array, inner: str) -> None:
        self.function, self.left, self.right, self.inner = function, left, right, inner
        self.ctype = C_TYPES[left.dtype]
        self.width = width_of(function.unit.vector_bytes)
        self.rows = left.sizes[0] if len(left.sizes) == 2 else ""
        self.columns = right.sizes[1] if len(right.sizes) == 2 else ""

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.function.unit.vector_bytes // SIZES[self.ctype]

    @property
    def wide(self) -> int:
        """Columns of the widest panels."""
        return self.width * self.lanes

    def a(self, row: str, place: str) -> str:
        return self.left.element([row, place] if self.rows else [place])

    def b(self, place: str, column: str) -> str:
        return self.right.element([place, column] if self.columns else [place])

    # which form -------------------------------------------------------------------------------------------------
    def into(self, target: Array) -> None:
        goes_by_rows = bool(self.columns) and self.right.strides[1] == "1"
        goes_by_columns = bool(self.rows) and self.left.strides[0] == "1" and not self.columns
        if self.ctype not in SIZES or self.is_tiny:
            (self.by_rows if goes_by_rows else self.by_columns if goes_by_columns else self.by_dots)(target)
        elif goes_by_rows:
            self.by_blocks(target)
        elif goes_by_columns:
            self.turned().by_blocks(target)
        elif self.columns not in ("", "1") and _may_be(self.rows, HEIGHT) and not self.goes_by_dots:
            self.with_right_in_rows().by_blocks(target)
        else:
            self.by_dots(target)

    @property
    def is_tiny(self) -> bool:
        sizes = [size for size in (self.rows, self.columns, self.inner) if size]
        known = [int(size) for size in sizes if size.isdigit()]
        return len(known) == len(sizes) and int(np.prod(known)) < TINY

    @property
    def goes_by_dots(self) -> bool:
        """Whether columns of the right operand are known to be of neighbours."""
        return self.right.strides[0] == "1" and self.may_be_long(SHORT)

    def may_be_long(self, least: int) -> bool:
        """Whether sums may be at least so long, and of neighbours in memory."""
        steps = self.left.strides[-1], self.right.strides[0]
        return self.ctype in SIZES and not any(map(str.isdigit, set(steps) - {"1"})) and _may_be(self.inner, least)

    def is_long(self, least: int) -> str:
        """C of what is not certain of that; "" where nothing is."""
        tests = [f"{step} == 1" for step in (self.left.strides[-1], self.right.strides[0]) if step != "1"]
        return " && ".join([*dict.fromkeys(tests), *([] if self.inner.isdigit() else [f"{self.inner} >= {least}"])])

    def turned(self) -> _Product:
        """Of columns of the left operand times a vector: that vector times rows."""
        left, right = self.right, replace(self.left, sizes=self.left.sizes[::-1], strides=self.left.strides[::-1])
        return _Product(self.function, left, right, self.inner)

    def with_right_in_rows(self) -> _Product:
        """The product with a copy of the right operand whose rows are neighbours in memory."""
        function, right = self.function, self.right
        name, step = f"{right.pointer}_rows", right.strides[1]
        copy = make(function, name, name, right.dtype, right.sizes, checked=False)
        if not step.isdigit():
            pointer, stride = function.variable(name, f"{self.ctype} *"), function.variable(f"{name}_s", "i64")
            function.lines.add(f"{pointer} = {right.pointer};", f"{stride} = {right.strides[0]};")
            with function.lines.block(f"if ({step} != 1)"):
                function.lines.add(f"{pointer} = {copy.pointer};", f"{stride} = {copy.strides[0]};")
                self.copy_right(copy)
            copy = replace(copy, pointer=pointer, strides=(stride, "1"))
        else:
            self.copy_right(copy)
        return _Product(function, self.left, copy, self.inner)

    def copy_right(self, copy: Array) -> None:
        with self.loop("place", self.inner):
            self.function.lines.add("#pragma omp simd")
            with self.loop("column", self.columns):
                self.function.lines.add(f"{copy.element(['place', 'column'])} = {self.b('place', 'column')};")
        self.spend(self.inner, self.columns)

    # what all forms write ---------------------------------------------------------------------------------------
    def help(self, texts: Mapping[str, str]) -> None:
        self.function.help(texts)

    def loop(self, place: str, size: str, first: str = "0", step: int = 1) -> Any:
        onward = f"{place}++" if step == 1 else f"{place} += {step}"
        return self.function.lines.block(f"for (i64 {place} = {first}; {place} < {size}; {onward})")

    @contextmanager
    def part_of_rows(self, time: float, grain: int = 1, others: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
        """The rows from here to there: all of them, or those of a thread. ``time``: of one of the products."""
        sizes = (self.rows or "1", *others)
        share = Share(time, within=tuple(range(1, len(sizes)))) if self.rows not in ("", "1") else None
        region = open_region(self.function, sizes, (0,), share, grain=grain)
        yield (region.begin, region.end) if region else ("0", sizes[0])
        if region:
            close_region(self.function, region)

    @contextmanager
    def each_row(self) -> Iterator[None]:
        others = self.columns or "1", self.inner
        with self.part_of_rows(PRODUCT_TIME, 1, others) as (begin, end), self.loop("row", end, begin):
            yield

    def spend(self, *sizes: str) -> None:
        self.function.loops = True
        self.function.lines.add(f"budget -= {' * '.join(size for size in sizes if size)};")

    # blocks -----------------------------------------------------------------------------------------------------
    def by_blocks(self, target: Array) -> None:
        """Blocks of results in registers: four rows at a time, then those that are left."""
        with self.part_of_rows(BLOCK_TIME / self.lanes, GRAIN, (self.columns, self.inner)) as (begin, end):
            if self.columns.isdigit():
                for count, panel in panels_of(int(self.columns), self.lanes, self.width, 2):
                    if panel == self.wide_panel("0"):
                        self.wide_panels(target, str(count * self.wide), begin, end)
                    else:
                        self.panel(target, panel, begin, end)
            else:
                self.open_panels(target, begin, end)
        self.spend(self.inner, self.columns, self.rows)

    def wide_panel(self, at: str) -> Panel:
        return Panel(at, PARTS[0], self.width, str(self.wide - self.lanes))

    def wide_panels(self, target: Array, columns: str, begin: str, end: str) -> None:
        """Columns from the first one on, a number of whole panels: of many rows they are brought near first."""
        least = MANY * depth_of(self.function.unit.vector_bytes)
        sizes = (self.rows, MANY), (self.inner, DEEP)
        is_known = self.rows.isdigit() and self.inner.isdigit()
        if not all(_may_be(*size) for size in sizes) or (is_known and int(self.rows) * int(self.inner) <= least):
            self.far_panels(target, columns, begin, end)
            return
        tests = [] if is_known else [f"{self.rows} * {self.inner} > {least}"]
        tests += [f"{size} >= {bound}" for size, bound in sizes if not size.isdigit()]
        if not tests:
            self.near_panels(target, columns, begin, end, False)
            return
        with self.function.lines.block(f"if ({' && '.join(tests)})"):
            self.near_panels(target, columns, begin, end, False)
        with self.function.lines.block("else"):
            self.far_panels(target, columns, begin, end)

    def far_panels(self, target: Array, columns: str, begin: str, end: str) -> None:
        with self.loop("column", columns, step=self.wide):
            self.panel(target, self.wide_panel("column"), begin, end)

    def near_panels(self, target: Array, columns: str, begin: str, end: str, turned: bool) -> None:
        """Columns from the first one on, a number of whole panels."""
        self.help(panels_texts(self.ctype, self.function.unit.vector_bytes, turned))
        arguments = [
            f"&{target.element([begin, '0'])}", target.strides[0], f"&{self.a(begin, '0')}", self.left.strides[0],
            self.left.strides[1], self.right.pointer, self.right.strides[1 if turned else 0],
            f"{end} - {begin}", columns, self.inner,
        ]  # fmt: skip
        self.function.lines.add(f"{panels_name(self.ctype, turned)}({', '.join(arguments)});")

    def open_panels(self, target: Array, begin: str, end: str) -> None:
        """Columns whose number is open: wide panels, then single vectors; fewer than those have are left to loops."""
        lines, columns = self.function.lines, self.columns
        with lines.block(f"if ({columns} >= {self.lanes})"):
            lines.add(f"const i64 wide = {columns} / {self.wide} * {self.wide};")
            self.wide_panels(target, "wide", begin, end)
            with self.loop("column", columns, "wide", self.lanes):
                lines.add(f"const i64 at = MINIMUM(column, {columns} - {self.lanes});")
                self.panel(target, Panel("at", PARTS[0], 1, "0"), begin, end)
        with lines.block("else"), self.loop("row", end, begin):
            self.row_by_rows(target)

    def panel(self, target: Array, panel: Panel, begin: str, end: str) -> None:
        lines = self.function.lines
        known = int(self.rows) if self.rows.isdigit() else 1 if not self.rows else None
        if known == 1:
            lines.add(self.block(target, panel, 1, "0"))
            return
        lines.add("{", f"    i64 row = {begin};")
        lines.depth += 1
        if known is None or known >= HEIGHT:
            lines.add(f"for (; row + {HEIGHT} <= {end}; row += {HEIGHT})")
            lines.add(f"    {self.block(target, panel, HEIGHT, 'row')}")
        if known is None or known % HEIGHT:
            lines.add(f"for (; row < {end}; row++)", f"    {self.block(target, panel, 1, 'row')}")
        lines.depth -= 1
        lines.add("}")

    def block(self, target: Array, panel: Panel, rows: int, row: str) -> str:
        """C of a call."""
        self.help(block_texts(self.ctype, panel.part, rows, panel.vectors, self.function.unit.vector_bytes))
        two = len(target.sizes) == 2
        to_row, a_row = (target.strides[0] if two else "0"), (self.left.strides[0] if self.rows else "0")
        arguments = [
            f"&{target.element([row, panel.at] if two else [panel.at])}", to_row,
            f"&{self.a(row, '0')}", a_row, self.left.strides[-1],
            f"&{self.b('0', panel.at)}", self.right.strides[0], panel.last, self.inner,
        ]  # fmt: skip
        return f"{block_name(self.ctype, panel.part, rows, panel.vectors)}({', '.join(arguments)});"

    # dots -------------------------------------------------------------------------------------------------------
    def by_dots(self, target: Array) -> None:
        """Sums along neighbours: of four rows of the left operand, or of four columns of the right one, at a time."""
        many = self.columns or self.rows
        is_in_turn = target.strides[-1] == "1" or many == "1"
        if not (self.may_be_long(SHORT) and is_in_turn and _may_be(many, HEIGHT)):
            self.by_single_dots(target)
            return
        condition = self.is_long(SHORT)
        if not condition:
            self.dots(target)
            return
        with self.function.lines.block(f"if ({condition})"):
            self.dots(target)
        with self.function.lines.block("else"):
            self.by_single_dots(target)

    def dots(self, target: Array) -> None:
        self.help(dots_texts(self.ctype))
        if self.columns:
            self.dots_of_columns(target)
        else:
            with self.part_of_rows(PRODUCT_TIME, HEIGHT, (self.inner,)) as (begin, end):
                step = self.left.strides[0]
                to, first = f"{target.pointer} + {begin}", f"{self.left.pointer} + {begin} * {grouped(step)}"
                arguments = f"{to}, {first}, {step}, {self.right.pointer}, {end} - {begin}, {self.inner}"
                self.function.lines.add(f"dots_{self.ctype}({arguments});")
        self.spend(self.inner, self.columns, self.rows)

    def dots_of_columns(self, target: Array) -> None:
        """Of each row; of many rows only what is left of turned panels."""
        sizes = (self.rows, MANY), (self.inner, DEEP), (self.columns, self.wide)
        if not all(_may_be(size, least) for size, least in sizes):
            with self.each_row():
                self.row_of_dots(target, "0")
            return
        lines, wide = self.function.lines, self.wide
        tests = [f"{size} >= {least}" for size, least in sizes if not size.isdigit()]
        others = self.columns, self.inner
        with self.part_of_rows(BLOCK_TIME / self.lanes, GRAIN, others) as (begin, end), lines.block():
            if tests:
                lines.add(f"const i64 whole = {' && '.join(tests)} ? {self.columns} / {wide} * {wide} : 0;")
            else:
                lines.add(f"const i64 whole = {int(self.columns) // wide * wide};")
            lines.add("if (whole)")
            lines.depth += 1
            self.near_panels(target, "whole", begin, end, True)
            lines.depth -= 1
            if not (self.columns.isdigit() and int(self.columns) % wide == 0 and not tests):
                with lines.block(f"if (whole < {self.columns})"), self.loop("row", end, begin):
                    self.row_of_dots(target, "whole")

    def row_of_dots(self, target: Array, column: str) -> None:
        """The columns from here on of a row."""
        first = target.element(["row", column] if self.rows else [column])
        right = f"&{self.b('0', column)}, {self.right.strides[1]}"
        count = self.columns if column == "0" else f"{self.columns} - {column}"
        self.function.lines.add(f"dots_{self.ctype}(&{first}, {right}, &{self.a('row', '0')}, {count}, {self.inner});")

    def by_single_dots(self, target: Array) -> None:
        with self.each_row(), self.loop("column", self.columns or "1"):
            places = (["row"] if self.rows else []) + (["column"] if self.columns else [])
            self.dot(target.element(places), "row", "column")

    def dot(self, target: str, row: str, column: str) -> None:
        """One sum of products; where it is long, in several vectors side by side."""
        lines = self.function.lines
        if self.may_be_long(LONG):
            self.help(dot_texts(self.ctype))
            first = f"&{self.a(row, '0')}, &{self.b('0', column)}, {self.inner}"
            lines.add(f"if ({self.is_long(LONG) or 1})", f"    {target} = dot_{self.ctype}({first});", "else")
        with lines.block():
            lines.add(f"{self.ctype} state = 0;", "#pragma omp simd reduction(+:state)")
            with self.loop("place", self.inner):
                lines.add(f"state += {self.a(row, 'place')} * {self.b('place', column)};")
            lines.add(f"{target} = state;")
        self.spend(self.inner)

    # loops that compilers make vectors of -----------------------------------------------------------------------
    def by_rows(self, target: Array) -> None:
        """Rows of the right operand, each times a number, are added to a row of results."""
        with self.each_row():
            self.row_by_rows(target)
        self.spend(self.inner, self.columns, self.rows)

    def row_by_rows(self, target: Array) -> None:
        lines = self.function.lines
        first = target.element(["row", "0"] if self.rows else ["0"])
        lines.add(f"{self.ctype} *line = &{first};", "#pragma omp simd")
        with self.loop("column", self.columns):
            lines.add("line[column] = 0;")
        with self.loop("place", self.inner):
            lines.add(f"const {self.ctype} factor = {self.a('row', 'place')};", "#pragma omp simd")
            with self.loop("column", self.columns):
                lines.add(f"line[column] += factor * {self.b('place', 'column')};")

    def by_columns(self, target: Array) -> None:
        """Columns of the left operand, each times a number, are added to the vector of results."""
        lines = self.function.lines
        lines.add("#pragma omp simd")
        with self.loop("row", self.rows):
            lines.add(f"{target.pointer}[row] = 0;")
        with self.loop("place", self.inner):
            lines.add(f"const {self.ctype} factor = {self.b('place', '0')};", "#pragma omp simd")
            with self.loop("row", self.rows):
                lines.add(f"{target.pointer}[row] += factor * {self.a('row', 'place')};")
        self.spend(self.inner, self.rows)


def _may_be(size: str, least: int) -> bool:
    """Whether a size is, or may be, so large."""
    return bool(size) and (not size.isdigit() or int(size) >= least)
