"""Reductions in programs.

In: ``reduce`` steps. Out: loop nests. What is combined is computed in the innermost loop, also where it
is made of maps; long sums of floats are sums of blocks that are added in pairs (see ``combining``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from capture.errors import BackendError
from capture.inductor.combining import PAIRWISE, TOWER, formatted
from capture.inductor.csource import local_type
from capture.inductor.loops import COMBINES, Combine, Value
from capture.inductor.programs.facts import is_array
from capture.inductor.programs.function import Function
from capture.inductor.programs.memory import make
from capture.inductor.programs.nests import Nest, fill
from capture.inductor.programs.values import Array, offset
from capture.inductor.vocabulary import C_TYPES, CELLS, cell
from capture.ir import op as ops
from capture.ir.graph import Node
from capture.ir.op import Reduce
from capture.ir.program import RankedType

FEW = 16
"""Elements that are combined one by one: where single elements were written lately, reading them back as a vector
waits for these writes to come to memory."""

KEEPS_NAN = {"maximum": "{1} > {0} || {1} != {1} ? {1} : {0}", "minimum": "{1} < {0} || {1} != {1} ? {1} : {0}"}
"""The next state of an extreme, written so that it stays what is not a number."""


def write_reduce(function: Function, step: Node) -> None:
    _Reduction(function, step).write()


class _Reduction:
    def __init__(self, function: Function, step: Node) -> None:
        self.function, self.step = function, step
        (operand,) = step.args
        op, params = ops.get(step.params["op"]), dict(step.params["params"])
        if not isinstance(op.lower, Reduce) or step.type.dtype == np.float16:
            raise BackendError(f"{op.name} in a program, of {step.type}")
        self.combine: Combine = COMBINES[op.lower.combine]
        self.name = op.lower.combine
        self.axes = tuple(params["axis"])
        self.sizes = function.sizes(operand) if is_array(operand) else ()  # an element is the sum of itself
        self.kept = [axis for axis in range(len(self.sizes)) if axis not in self.axes]
        self.keepdims = bool(params.get("keepdims"))
        self.nest = Nest(function, self.sizes)
        element = self.nest.value(operand)
        builder = self.nest.elements.builder
        builder.node = step
        if op.lower.prepare is not None:
            element = op.lower.prepare(builder, element, **params)
        elif not self.finds_place:
            element = builder.cast(element, step.type.dtype)
        self.element: Value = element
        self.dtype = element.dtype if self.finds_place else step.type.dtype
        if self.dtype in CELLS and self.name != "add":
            raise BackendError(f"{op.name} of complex numbers in a program")
        function.raises |= self.dtype.kind in "fc" and self.name in ("add", "multiply")

    @property
    def finds_place(self) -> bool:
        return self.combine.special == "where"

    @property
    def is_short(self) -> bool:
        sizes = [self.sizes[axis] for axis in self.axes]
        return all(map(str.isdigit, sizes)) and math.prod(map(int, sizes)) <= FEW

    def write(self) -> None:
        function, step = self.function, self.step
        if self.name not in ("add", "multiply", "logical_or", "logical_and"):
            function.leave_if(*(f"{self.sizes[axis]} == 0" for axis in self.axes if not self.sizes[axis].isdigit()))
            if any(self.sizes[axis] == "0" for axis in self.axes):
                function.leave_if("1")
        if not isinstance(step.type, RankedType):
            self.nest.expect(self.element)
            self.into(function.target(step))
            self.nest.settle()
            function.keep(step)
            return
        sizes = ["1" if axis in self.axes else size for axis, size in enumerate(self.sizes)]
        if not self.keepdims:
            sizes = [sizes[axis] for axis in self.kept]
        target = make(function, step.name, step.name, step.type.dtype, sizes, checked=False)
        function.arrays[step] = target
        place = self.place_in(target)
        last = len(self.sizes) - 1
        self.nest.expect(self.element)
        if last in self.axes or self.finds_place:
            with self.nest.loops(self.kept, simd=False, share=self.nest.share(0, within=self.axes)):
                self.into(place)
        else:
            self.along_kept(target, place)
        self.nest.settle()

    def place_in(self, target: Array) -> str:
        places = [self.nest.places[axis] for axis in self.kept]
        if self.keepdims:
            places = ["0" if axis in self.axes else place for axis, place in enumerate(self.nest.places)]
        return f"{target.pointer}[{offset(places, target.strides)}]"

    def outer_loops(self, axes: Sequence[int]) -> Any:
        return self.nest.loops(axes, simd=False)

    # states -------------------------------------------------------------------------------------------------------
    def start(self) -> str:
        return formatted(self.combine.identity, self.dtype)

    def next(self, state: str, element: str) -> str:
        if self.name in KEEPS_NAN and self.dtype.kind == "f":
            return KEEPS_NAN[self.name].format(state, element)
        return formatted(self.combine.step, cell(self.dtype), state, element)

    def along_kept(self, target: Array, place: str) -> None:
        """Rows are combined with the row of results, one after the other."""
        fill(self.function, target, np.array(_identity(self.name, self.dtype), self.dtype)[()])
        with self.nest.loops([*self.axes, *self.kept], share=self.nest.share(self.dtype.itemsize, cut=self.kept)):
            for element, cell in self.cells(place):
                text = self.nest.elements.text(element)
                self.function.lines.add(f"{cell} = {self.next(cell, text)};")

    def cells(self, place: str) -> list[tuple[Value, str]]:
        """What is combined, and where: of complex numbers each part."""
        if self.element.op != "complex":
            return [(self.element, place)]
        return list(zip(self.element.args, (f"__real__ {place}", f"__imag__ {place}"), strict=True))

    def into(self, target: str) -> None:
        """All elements along the reduced axes become one."""
        if self.element.op == "complex":
            whole, names = (self.element, self.dtype), dict(self.nest.elements.names)
            for part, place in self.cells(target):
                self.element, self.dtype, self.nest.elements.names = part, CELLS[whole[1]], dict(names)
                self.into(place)
            self.element, self.dtype = whole
        elif self.finds_place:
            self.find_place(target)
        elif self.name == "add" and self.dtype.kind == "f":
            self.add_floats(target)
        elif self.name in KEEPS_NAN and self.dtype.kind == "f":
            self.find_extreme(target)
        else:
            self.combine_all(target)

    def combine_all(self, target: str) -> None:
        function, ctype = self.function, local_type(self.dtype)
        with function.lines.block():
            function.lines.add(f"{ctype} state = {self.start()};")
            clauses = f" reduction({self.combine.clause}:state)" if self.combine.clause else ""
            with self.nest.loops(self.axes, clauses, simd=not self.is_short):
                function.lines.add(f"state = {self.next('state', self.nest.elements.text(self.element))};")
            function.lines.add(f"{target} = state;")

    def find_extreme(self, target: str) -> None:
        """A number, or what is not one, which is carried beside."""
        function, ctype = self.function, local_type(self.dtype)
        with function.lines.block():
            function.lines.add(f"{ctype} state = {self.start()};", "u32 is_nan = 0;")
            clauses = f" reduction({self.combine.clause}:state) reduction(|:is_nan)"
            with self.nest.loops(self.axes, clauses, simd=not self.is_short):
                text = self.nest.elements.text(self.element)
                function.lines.add(f"state = {formatted(self.combine.step, self.dtype, 'state', text)};")
                function.lines.add(f"is_nan |= {text} != {text};")
            suffix = "f" if self.dtype == np.float32 else ""
            function.lines.add(f'{target} = is_nan ? __builtin_nan{suffix}("") : state;')

    def find_place(self, target: str) -> None:
        """The first of the extremes; what is not a number is before all numbers."""
        moving = [axis for axis in self.axes if self.sizes[axis] != "1"]
        if len(moving) == 1 and self.element.op == "given" and self.dtype.kind in "iuf" and self.dtype != np.float16:
            self.find_value_then_place(target, moving[0])
        else:
            self.find_place_in_turn(target)

    def find_value_then_place(self, target: str, axis: int) -> None:
        """Elements that are in memory are read twice: an extreme is found in vectors, then where it stands first."""
        function, place, names = self.function, self.nest.places[axis], dict(self.nest.elements.names)
        with function.lines.block():
            function.lines.add(f"{local_type(self.dtype)} extreme;", "i64 found = 0;")
            self.name = {"argmax": "maximum", "argmin": "minimum"}[self.name]
            self.combine = COMBINES[self.name]
            if self.dtype.kind == "f":
                self.find_extreme("extreme")
            else:
                self.combine_all("extreme")
            self.nest.elements.names = names
            with self.nest.loops([axis], simd=False):
                text = self.nest.elements.text(self.element)
                is_it = f"{text} == extreme"
                if self.dtype.kind == "f":
                    is_it = f"{is_it} || {text} != {text}"
                with function.lines.block(f"if ({is_it})"):
                    function.lines.add(f"found = {place};", "break;")
            function.lines.add(f"{target} = found;")

    def find_place_in_turn(self, target: str) -> None:
        function, ctype = self.function, local_type(self.dtype)
        with function.lines.block():
            function.lines.add(f"{ctype} state = {self.start()};", "i64 at = 0, found = -1;")
            with self.nest.loops(self.axes, simd=False):
                text = self.nest.elements.text(self.element)
                better = formatted(self.combine.step, self.dtype, "state", text)
                if self.dtype.kind == "f":
                    better = f"state == state && ({better} || {text} != {text})"
                with function.lines.block(f"if (found < 0 || ({better}))"):
                    function.lines.add(f"state = {text};", "found = at;")
                function.lines.add("at++;")
            function.lines.add(f"{target} = found;")

    def add_floats(self, target: str) -> None:
        """Up to so many in one go; more as blocks, which are added in pairs."""
        moving = [axis for axis in self.axes if self.sizes[axis] != "1"]
        inner = self.sizes[moving[-1]] if moving else "1"
        if len(moving) <= 1 and inner.isdigit() and int(inner) <= PAIRWISE:
            self.combine_all(target)
        elif len(moving) <= 1:
            names = dict(self.nest.elements.names)
            with self.function.lines.block(f"if ({inner} <= {PAIRWISE})"):
                self.combine_all(target)
            self.nest.elements.names = names
            with self.function.lines.block("else"):
                self.add_blocks(target, moving)
        else:
            with self.function.lines.block():
                self.add_blocks(target, moving)

    def add_blocks(self, target: str, moving: Sequence[int]) -> None:
        function, short = self.function, C_TYPES[self.dtype]
        function.unit.state_helper("push", short)
        lines, inner = function.lines, self.sizes[moving[-1]]
        lines.add(f"{short} tower[{TOWER}];", "i64 blocks = 0;")
        with self.outer_loops(moving[:-1]), lines.block(f"for (i64 part = 0; part < {inner}; part += {PAIRWISE})"):
            lines.add(f"const i64 part_end = MINIMUM(part + {PAIRWISE}, {inner});", f"{short} state = 0;")
            with self.nest.loops([moving[-1]], " reduction(+:state)", last=("part", "part_end")):
                lines.add(f"state = state + {self.nest.elements.text(self.element)};")
            lines.add(f"push_{short}(tower, blocks++, state);")
        lines.add(f"{target} = total_{short}(tower, blocks);")


def _identity(name: str, dtype: np.dtype) -> Any:
    """What a reduction starts from."""
    if name in ("add", "logical_or"):
        return 0
    if name in ("multiply", "logical_and"):
        return 1
    lowest = name == "maximum"
    if dtype.kind == "f":
        return -np.inf if lowest else np.inf
    if dtype.kind == "b":
        return not lowest
    return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max
