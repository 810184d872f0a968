"""Array-valued steps: loops over the elements of what they give.

In: ``map``, ``store``, ``copy``, ``new`` and ``reduce`` steps. Out: one loop nest each; maps that need no memory are
``Expression``s, whose elements are computed inside the nest of the step that reads them.

    for (i64 i_1 = 0; i_1 < n; i_1++)
        #pragma omp simd
        for (i64 i_2 = 0; i_2 < m; i_2++)
            y_3[i_1 * m + i_2] = …;

The innermost loop may always be vectorised: what is written is read, if at all, only at the very element that is
written, or it goes through memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from capture.errors import BackendError
from capture.inductor.checking import kind_of
from capture.inductor.loops import Value
from capture.inductor.programs.accesses import converted
from capture.inductor.programs.arrays import aligned, common_sizes, require_fit
from capture.inductor.programs.elements import Elements, shorten
from capture.inductor.programs.facts import is_array
from capture.inductor.programs.function import Function
from capture.inductor.programs.memory import make
from capture.inductor.programs.sharing import Share, close_region, open_region
from capture.inductor.programs.together import join, shows_same
from capture.inductor.programs.values import Array, offset, variable_type
from capture.inductor.vocabulary import ANY_NAN, INTEGER
from capture.ir.graph import Node
from capture.records import dataclass

FEW = ("2", "3", "4")
"""Neighbours that are less than a vector: loops over them are unrolled, within a loop of at least ``LONG`` turns."""
LONG = 16


@dataclass(frozen=True, slots=True)
class Expression:
    """A map that is in no memory: it is computed element by element where it is read."""

    step: Node
    dtype: np.dtype
    sizes: tuple[str, ...]


class Nest:
    """Loops over ``sizes``, which compute one element ``value``.

    In order: make the nest, say what the element is made of (tests of what must be so come before the loops), open
    the loops, write the element.
    """

    def __init__(self, function: Function, sizes: Sequence[str]) -> None:
        self.function, self.sizes = function, tuple(sizes)
        self.elements = Elements(function)
        self.places = tuple("0" if size == "1" else function.fresh("i") for size in sizes)
        self.known: dict[tuple[Any, tuple[str, ...]], Value] = {}
        self.depth = 0  # loops within loops of the nest are part of these, also in what they cost

    def value(self, argument: Any, places: Sequence[str] | None = None) -> Value:
        """The element of an operand (an array, a number, a literal) that meets the nest's element."""
        places = self.places if places is None else tuple(places)
        if not is_array(argument):
            return self.elements.operand(argument)
        key = argument, places
        if key not in self.known:
            self.known[key] = self.element(argument, places)
        return self.known[key]

    def element(self, node: Node, places: tuple[str, ...]) -> Value:
        entry = self.function.arrays[node]
        sizes = entry.sizes
        own = places[len(places) - len(sizes) :]
        own = tuple("0" if size == "1" else place for size, place in zip(sizes, own, strict=True))
        if isinstance(entry, Array):
            text = entry.element(own)
            return self.elements.element(f"{text} != 0" if entry.dtype.kind == "b" else text, entry.dtype)
        return self.elements.step(entry.step, [self.value(argument, own) for argument in entry.step.args])

    def expect(self, *elements: Value) -> None:
        """Have a variable that is set where an operation raises what the processor does not tell."""
        if any(kind_of(value) in (INTEGER, ANY_NAN) for value in _operations(elements) if value.node is not None):
            self.elements.suspect_name = self.function.variable("suspect", "u32")
            self.function.lines.add(f"{self.elements.suspect_name} = 0;")

    @contextmanager
    def loops(self, order: Sequence[int], clauses: str = "", simd: bool = True, last: tuple[str, str] | None = None,
              share: Share | None = None, apart: bool = False) -> Iterator[None]:  # fmt: skip
        """Loops over the axes in this order, outermost first; ``last`` are the bounds of the innermost one. ``apart``:
        elements have nothing to do with each other, whichever loop is made of vectors."""
        function = self.function
        order = [axis for axis in order if self.sizes[axis] != "1"]
        vectors = len(order) - 1 - (apart and self.is_short(order))  # the loop of which vectors are made
        region = open_region(function, self.sizes, order, share)
        self.depth += 1
        with ExitStack() as stack:
            for number, axis in enumerate(order):
                innermost = number == len(order) - 1
                begin, end = last if last and innermost else ("0", self.sizes[axis])
                if region is not None and axis == region.axis:
                    begin, end = region.begin, region.end
                if number == vectors:
                    mark, indent = len(function.lines.lines), "    " * function.lines.depth
                elif number > vectors:
                    function.lines.add(f"#pragma GCC unroll {self.sizes[axis]}")
                place = self.places[axis]
                stack.enter_context(function.lines.block(f"for (i64 {place} = {begin}; {place} < {end}; {place}++)"))
            if not order:
                stack.enter_context(function.lines.block())
            yield
        if order and simd:
            found = clauses
            if self.elements.suspect_name:
                found += f" reduction(|:{self.elements.suspect_name})"
            function.lines.lines.insert(mark, f"{indent}#pragma omp simd{found}")
        if region is not None:
            close_region(function, region, self.elements.suspect_name)
        self.depth -= 1
        if not self.depth:
            self.spend()

    def is_short(self, order: Sequence[int]) -> bool:
        """Whether the innermost loop is of fewer elements than a vector, within a longer one: of points in space."""
        if len(order) < 2:
            return False
        outer, inner = (self.sizes[axis] for axis in order[-2:])
        return inner in FEW and not (outer.isdigit() and int(outer) < LONG)

    def spend(self) -> None:
        """What the loops have cost, so that signals are looked at in time."""
        text = " * ".join(size for size in self.sizes if size != "1")
        if text:
            self.function.loops = True
            self.function.lines.add(f"budget -= {text};")

    def share(self, written: int, cut: Sequence[int] | None = None, within: Sequence[int] = ()) -> Share:
        """That the loops may be shared out, with a guess at what an element costs that is read, computed and
        ``written`` (bytes)."""
        values = self.elements.builder.values
        read = sum(value.dtype.itemsize for value in values if value.op == "given")
        computed = sum(value.cost * min(1.0, value.dtype.itemsize / 4) for value in values)  # small ones: more at once
        time = 0.02 + 0.02 * read + computed + 0.03 * written
        return Share(time, None if cut is None else tuple(cut), tuple(within))

    def settle(self) -> None:
        """After the loops: leave where an operation has raised something."""
        if self.elements.suspect_name:
            self.function.leave_if(self.elements.suspect_name)


def _operations(elements: Sequence[Value]) -> Iterator[Value]:
    seen: set[Value] = set()
    stack = list(elements)
    while stack:
        value = stack.pop()
        if value not in seen:
            seen.add(value)
            stack.extend(value.args)
            yield value


def loop_order(target: Array) -> list[int]:
    """The axes of a target, its neighbours in memory innermost."""
    return sorted(range(len(target.sizes)), key=lambda axis: target.strides[axis] == "1")


def compute(function: Function, target: Array, value: Any) -> None:
    """Write an array, or a number or scalar of the target's dtype, into all of ``target``."""
    compute_all(function, [(target, value)])


def compute_all(function: Function, outputs: Sequence[tuple[Array, Any]]) -> None:
    """The same of several targets that are alike."""
    first = outputs[0][0]
    nest = Nest(function, first.sizes)
    elements = [nest.elements.builder.cast(nest.value(value), target.dtype) for target, value in outputs]
    nest.expect(*elements)
    written = sum(target.dtype.itemsize for target, _ in outputs)
    with nest.loops(loop_order(first), share=nest.share(written), apart=True):
        texts = [nest.elements.text(element) for element in elements]  # all is read before anything is written
        for (target, _), text in zip(outputs, texts, strict=True):
            function.lines.add(f"{target.pointer}[{offset(nest.places, target.strides)}] = {text};")
    nest.settle()


# Steps ------------------------------------------------------------------------------------------------------------
def write_array_map(function: Function, step: Node) -> None:
    sizes = common_sizes(function, [function.sizes(argument) for argument in step.args if is_array(argument)])
    expression = Expression(step, step.type.dtype, sizes)
    function.arrays[step] = expression
    if step not in function.delayed:
        target = make(function, step.name, step.name, step.type.dtype, sizes, checked=False)
        join(function, compute_all, target, step, loop_order(target))


def write_scalar_map(function: Function, step: Node) -> None:
    """A ``map`` step on scalars, and on arrays of rank 0."""
    with function.lines.block():
        nest = Nest(function, ())
        value = nest.elements.step(step, [nest.value(argument) for argument in step.args])
        function.assign(step, nest.elements.text(value))
    shorten(function)


def write_copy(function: Function, step: Node) -> None:
    (node,) = step.args
    target = make(function, step.name, step.name, step.type.dtype, function.sizes(node), checked=False)
    compute(function, target, node)
    function.arrays[step] = target


def write_new(function: Function, step: Node) -> None:
    sizes = [function.text(size) for size in step.args]
    target = make(function, step.name, step.name, step.type.dtype, sizes, checked=True)
    function.arrays[step] = target
    if step.params.get("value") is not None:
        fill(function, target, step.params["value"])


def write_store(function: Function, step: Node) -> None:
    node, value = step.args
    target = function.in_memory(node)
    if not is_array(value):
        function.settle_together()
        fill(function, target, value)
        return
    sizes = function.sizes(value)
    extra = len(sizes) - len(target.sizes)
    if extra > 0:
        raise BackendError("a value with more axes than what it is written to")
    require_fit(function, sizes, target.sizes)
    if shows_same(function.arrays[value], target):  # what ``a[i] += x`` ends with: it is there already
        return
    is_elsewhere = _reads_elsewhere(function, value, node, target)
    if not is_elsewhere and sizes == target.sizes:
        join(function, compute_all, target, value, loop_order(target), node)
        return
    function.settle_together()
    if is_elsewhere:
        aside = make(function, f"{node.name} aside", "aside", target.dtype, target.sizes, checked=False)
        compute(function, aside, value)
        _move(function, target, aside)
    else:
        compute(function, target, value)


def fill(function: Function, target: Array, value: Any) -> None:
    """Write a number or scalar into all of an array."""
    with function.lines.block():
        function.lines.add(f"const {variable_type(target.dtype)} fill = {converted(function, value, target.dtype)};")
        nest = Nest(function, target.sizes)
        function.given["fill"] = variable_type(target.dtype)
        with nest.loops(loop_order(target), share=nest.share(target.dtype.itemsize)):
            function.lines.add(f"{target.pointer}[{offset(nest.places, target.strides)}] = fill;")
        del function.given["fill"]


def _move(function: Function, target: Array, source: Array) -> None:
    nest = Nest(function, target.sizes)
    strides = aligned(function, source.sizes, source.strides, target.sizes)
    with nest.loops(loop_order(target), share=nest.share(2 * target.dtype.itemsize)):
        function.lines.add(
            f"{target.pointer}[{offset(nest.places, target.strides)}] = "
            f"{source.pointer}[{offset(nest.places, strides)}];"
        )


def _reads_elsewhere(function: Function, value: Node, target: Node, place: Array) -> bool:
    """Whether the value is made of elements of the memory that is written, but for the one in whose place it goes."""
    entry = function.arrays[value]
    if isinstance(entry, Array):
        apart = function.owners[value].isdisjoint(function.owners[target])
        return not apart and not shows_same(entry, place)
    return any(
        _reads_elsewhere(function, argument, target, place) for argument in entry.step.args if is_array(argument)
    )
