"""A schedule's nests as one file of C, and what the plan needs to know of each kernel.

In: nests, with the memory they use. Out: ``Rendered``: the source of the unit, and per kernel its symbol, outer
iterations, work and scratch. The text depends on nothing but the graph, so it is the key of the disk cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from capture.inductor.checking import is_asked
from capture.inductor.combining import carries_position, state_dtype
from capture.inductor.csource import CUnit, pointer
from capture.inductor.emit import CHECKED, COMBINE, FAST, Body
from capture.inductor.loops import Memory, Reduction
from capture.inductor.nest import Nest
from capture.inductor.plan import FLAG_DIVIDE, FLAG_INVALID, FLAG_OVERFLOW, FLAG_UNSURE, STATUS_RAISED, KernelInfo
from capture.inductor.programs import BUDGET, ProgramText
from capture.inductor.template import unit_template
from capture.inductor.vocabulary import C_TYPES, VECTOR_MATH, cell
from capture.ir.graph import Node
from capture.ir.shapes import C_HELPERS, Size, Symbol, maximum, minimum, product
from capture.records import dataclass, field

SIGNED = {np.dtype(f"i{n}"): 8 * n for n in (1, 2, 4, 8)}

LIMITS = [
    *((f"LOWEST_{C_TYPES[t]}", f"((i{bits})((u64)1 << {bits - 1}))") for t, bits in SIGNED.items()),
    *((f"HIGHEST_i{bits}", f"((i{bits})(((u64)1 << {bits - 1}) - 1))") for bits in SIGNED.values()),
    *((f"HIGHEST_u{bits}", f"((u{bits})~(u64)0)") for bits in SIGNED.values()),
]


@dataclass(frozen=True, slots=True)
class KernelText:
    """One C function, as the template takes it."""

    name: str
    comment: tuple[str, ...]
    declarations: tuple[str, ...]
    decode: tuple[str, ...]
    body: str
    batch: str
    suspects: bool
    checked: str  # the function to call when something was raised
    is_checked: bool
    closing: tuple[str, ...] = ()
    steps: tuple[tuple[str, str], ...] = ()  # strides for whose being 1 the kernel has a form of its own, and their C
    forms: tuple[tuple[str, str], ...] = ()  # the same for what it chooses

    @property
    def single_batch(self) -> bool:
        return self.is_checked or (self.batch == "1" and not self.suspects)

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        return self.steps + self.forms

    @property
    def versions(self) -> list[tuple[str, str]]:
        """The forms that the kernel has: where, and with which numbers; the last one is for all that is left."""
        ones = [self.parameters, self.steps] if self.steps and self.forms else [self.parameters]
        found = [(" && ".join(f"{name} == 1" for name, _ in known), known) for known in ones]
        return [
            (where, ", ".join("1" if parameter in known else parameter[0] for parameter in self.parameters))
            for where, known in (*found, ("", ()))
        ]


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is run: ``extent`` outer iterations of ``work`` nanoseconds each."""

    symbol: str
    extent: Size
    work: Size
    grain: int
    scratch: Size


@dataclass
class Rendered:
    unit: CUnit
    texts: list[KernelText] = field(default_factory=list)
    launches: dict[Nest, list[Launch]] = field(default_factory=dict)
    programs: dict[Node, ProgramText] = field(default_factory=dict)

    def programs_shown(self) -> Iterable[KernelInfo]:
        return (KernelInfo(text.name, (node.name,), text.text, 0, 0) for node, text in self.programs.items())


def flagged_nodes(nests: Sequence[Nest], order: dict[Node, int]) -> list[Node]:
    """The nodes that may raise floating-point warnings, in program order."""
    nodes = {value.node for nest in nests for value in nest.values if value.node is not None}
    nodes |= {r.node for nest in nests for r in nest.reductions if r.may_raise}
    return sorted(nodes, key=order.__getitem__)


def partials_of(nest: Nest) -> dict[Reduction, list[Memory]]:
    """Memory for the states of the chunks of split reductions."""
    if not nest.is_split:
        return {}
    count = product([*(axis.size for axis in nest.outer), nest.chunks, nest.lanes.size if nest.lanes else 1])
    count = count * minimum(1, nest.chunks - 1)  # a single one is the result
    result: dict[Reduction, list[Memory]] = {}
    for reduction in nest.reductions:
        name = f"{reduction.node.name}_chunks{reduction.number or ''}"
        result[reduction] = [Memory(name, "arena", state_dtype(reduction), (count,), (1,))]
        if carries_position(reduction):
            result[reduction].append(Memory(f"{name}_where", "arena", np.dtype(np.int64), (count,), (1,)))
    return result


def render_nest(rendered: Rendered, nest: Nest, partials: dict[Reduction, list[Memory]]) -> None:
    """The functions of one nest: its kernel, the checked form of it, and what combines its chunks."""
    unit = rendered.unit
    fast = Body(nest, unit, FAST, partials)
    text = fast.build()
    needs_check = (nest.raises and any(map(is_asked, nest.values))) or any(
        r.may_raise for r in nest.reductions
    )
    scratch = fast.scratch.bytes
    if needs_check:
        checked = Body(nest, unit, CHECKED, partials)
        body = checked.build()
        scratch = maximum(scratch, checked.scratch.bytes)
        rendered.texts.append(_function(nest, checked, body, f"{nest.name}_checked", ""))
    rendered.texts.append(_function(nest, fast, text, nest.name, f"{nest.name}_checked" if needs_check else ""))
    grain = nest.batch if isinstance(nest.batch, int) else 1
    launches = [Launch(nest.name, extent(nest, FAST), _work(nest), grain, scratch)]
    if nest.is_split:
        combine = Body(nest, unit, COMBINE, partials)
        body = combine.build()
        rendered.texts.append(_function(nest, combine, body, f"{nest.name}_combine", ""))
        launches.append(Launch(f"{nest.name}_combine", extent(nest, COMBINE), 100, 1, combine.scratch.bytes))
    rendered.launches[nest] = launches


def _function(nest: Nest, body: Body, text: str, name: str, checked: str) -> KernelText:
    first = ("const i64 first = begin;",) if body.mode == CHECKED else ()
    opaque = ["i64 no_bits = 0;", '__asm__("" : "+r"(no_bits));'] if body.opaque else []
    for declaration, hidden in body.hidden.items():
        opaque += [declaration.format(hidden), f'__asm__("" : "+m"({hidden}));']
    gathered = [f"u32 {name} = 0;" for name in body.noted]
    decode = tuple(_decode(nest, body.unit, body.mode))
    batch = body.unit.size(nest.batch) if body.mode != COMBINE else "1"
    written = "\n".join((*body.opening, text, *body.closing))
    pointers, arrays = _pointers(nest, body, written), body.scratch.declarations()
    numbers, steps, forms = _numbers(body, "\n".join((written, *decode, batch, *arrays)))
    sources = (*pointers, *numbers, *arrays, *body.opening)
    declarations = (*sources, *first, *opaque, *gathered)
    return KernelText(
        name,
        _comment(nest, body.mode),
        declarations,
        decode,
        text,
        batch,
        body.suspects,
        checked,
        body.mode == CHECKED,
        (*body.closing, *(_noted(name, body.unit) for name in body.noted)),
        steps,
        forms,
    )


def _noted(name: str, unit: CUnit) -> str:
    """What becomes of a variable that gathers what an operation raises."""
    number = int(name.removeprefix("raised_"))
    return f"flags[{number}] |= {f'{name} ? RAISED_UNSURE : 0' if number in unit.unsure else name};"


def _pointers(nest: Nest, body: Body, text: str) -> list[str]:
    """Declarations of the buffers that the text names."""
    memories: dict[Memory, bool] = {}
    for value in nest.values:
        if value.op == "load":
            memories.setdefault(value.data.memory, False)
    for write in nest.writes:
        memories[write.place.memory] = True
    for group in body.partials.values():
        memories.update(dict.fromkeys(group, True))
    lines = []
    for memory, written in memories.items():
        if f"{pointer(memory)}[" in text:
            constant = "" if written and body.mode != CHECKED else "const "
            ctype = C_TYPES[cell(memory.dtype)]
            number = body.unit.buffers[memory]
            lines.append(f"{constant}{ctype} *restrict {pointer(memory)} = ({constant}{ctype} *)buffers[{number}];")
    return lines


Reads = tuple[tuple[str, str], ...]


def _numbers(body: Body, text: str) -> tuple[list[str], Reads, Reads]:
    """Declarations of the sizes that the text names; apart from them, in the fast form, strides that are mostly 1 and
    numbers that are chosen.
    """
    reads = [(name, value) for name, value in body.unit.number_reads.items() if re.search(rf"\b{name}\b", text)]
    apart = reads if body.mode == FAST else []
    steps = tuple(read for read in apart if read[0] in body.unit.unit_steps)
    forms = tuple(read for read in apart if read[0] in body.unit.forms)
    return [f"const i64 {name} = {value};" for name, value in reads if (name, value) not in steps + forms], steps, forms


def extent(nest: Nest, mode: str) -> Size:
    count = product([axis.size for axis in nest.outer] + [count for _, count in _digits(nest, mode)])
    return count * minimum(1, nest.chunks - 1) if mode == COMBINE and nest.may_be_whole else count


def _digits(nest: Nest, mode: str) -> list[tuple[str, Size]]:
    """What the number of an outer iteration counts beside the outer axes, innermost first."""
    digits: list[tuple[str, Size]] = []
    if nest.tile:
        digits.append(("tile", (nest.inner[-1].size + nest.tile - 1) // nest.tile))
    if nest.has_chunks and mode != COMBINE:
        digits.append(("chunk", nest.chunks))
    if nest.lanes:
        digits.append(("block", (nest.lanes.size + nest.width - 1) // nest.width))
    return digits


def _decode(nest: Nest, unit: CUnit, mode: str) -> Iterable[str]:
    """Lines that take the number of an outer iteration apart."""
    rest = "row"
    left = len(nest.outer) + len(_digits(nest, mode))
    split = nest.is_split

    def take(count: Size) -> str:
        nonlocal rest, left
        left -= 1
        text, number = rest, unit.size(count) if isinstance(count, int | Symbol) else f"({unit.size(count)})"
        if left:
            text, rest = f"{rest} % {number}", f"{rest} / {number}"
        return text

    for name, count in _digits(nest, mode):
        scale = f" * {nest.width}" if name == "block" else ""
        text = take(count)
        yield f"const i64 {name} = {f'({text})' if scale and ' ' in text else text}{scale};"
    if split:
        yield f"const i64 outer = {rest if left else 0};"
    for axis in reversed(nest.outer):
        yield f"const i64 {axis.symbol.name} = {take(axis.size)};"
    if nest.tile:
        width = unit.size(nest.inner[-1].size)
        yield f"const i64 left = tile * {nest.tile}, right = MINIMUM(left + {nest.tile}, {width});"
    if nest.has_chunks and mode != COMBINE:
        size, step = unit.size(nest.inner[0].size), unit.size(nest.chunk)
        yield f"const i64 start = chunk * {step}, stop = MINIMUM(start + {step}, {size});"


def _comment(nest: Nest, mode: str) -> tuple[str, ...]:
    what = {FAST: "", CHECKED: "what was raised by ", COMBINE: "the chunks of "}[mode]
    names = ", ".join(unit.node.name for unit in nest.units)
    lines = [f"{what}{names} over ({', '.join(map(str, nest.group.axes))})"]
    if mode == FAST:
        positions = dict.fromkeys(f"{unit.node.position}" for unit in nest.units if unit.node.position is not None)
        lines += [_safe(position) for position in positions]
    return tuple(map(_safe, lines))


def _safe(text: str) -> str:
    """Text that may stand in a comment."""
    return text.replace("*/", "* /").replace("\\", "/").replace("\n", " ").replace("?", ".")


def nanoseconds(nest: Nest) -> float:
    """A guess at the time of one innermost step."""
    total = 0.02
    for value in nest.values:
        if value.op == "load" and nest.is_inner(value):
            total += 0.02 * value.dtype.itemsize
        elif nest.is_inner(value):
            total += value.cost
    return total + sum(0.03 * write.value.dtype.itemsize for write in nest.writes if nest.in_loop(write))


def _work(nest: Nest) -> Size:
    """Nanoseconds of one outer iteration."""
    steps = [axis.size for axis in nest.inner]
    if nest.has_chunks:
        steps[0] = minimum(steps[0], nest.chunk)
    if nest.tile:
        steps[-1] = minimum(steps[-1], nest.tile)
    if nest.lanes:
        steps.append(minimum(nest.lanes.size, nest.width))
    return maximum(1, product(steps) * round(nanoseconds(nest) * 1000) // 1000)


# The unit ---------------------------------------------------------------------------------------------------------
def render_unit(rendered: Rendered, title: str, sizes: Mapping[str, Sequence[str]], simd_math: bool) -> str:
    unit = rendered.unit
    text = unit_template().render(
        title=_safe(title),
        limits=LIMITS,
        raised={
            "divide": FLAG_DIVIDE,
            "invalid": FLAG_INVALID,
            "overflow": FLAG_OVERFLOW,
            "unsure": FLAG_UNSURE,
        },
        loops=bool(unit.loops),
        size_helpers=_size_helpers(rendered, sizes),
        math=[_declaration(name, arity, simd_math) for name, arity in sorted(unit.math.items())],
        checks=bool(unit.loops) or any(kernel.checked for kernel in rendered.texts),
        helpers=[text for _, text in sorted(unit.helpers.items())],
        sizes=sizes,
        kernels=rendered.texts,
        programs=[program.text for program in rendered.programs.values()],
        budget=BUDGET if any(program.polls for program in rendered.programs.values()) else 0,
        status_raised=STATUS_RAISED if any(program.raises for program in rendered.programs.values()) else 0,
    )
    return str(text)


MINIMUM = "static inline i64 MINIMUM(i64 a, i64 b) { return a < b ? a : b; }"


def _size_helpers(rendered: Rendered, sizes: Mapping[str, Sequence[str]]) -> str:
    """The functions that size expressions call; what loops need is always there."""
    lines = [line for lines in sizes.values() for line in lines]
    kernels = [(kernel.body, *kernel.decode, *kernel.declarations) for kernel in rendered.texts]
    programs = [program.text for program in rendered.programs.values()]
    texts = (*lines, *programs, *(text for kernel in kernels for text in kernel))
    used = any(f"{name}(" in text for text in texts for name in ("FLOORDIV", "FLOORMOD", "MAXIMUM"))
    return C_HELPERS.strip() if used else MINIMUM


def _declaration(name: str, arity: int, simd_math: bool) -> str:
    """A function of the mathematical library; with the attribute, gcc calls libmvec's vector form of it in loops."""
    base = name[:-1] if name.endswith("f") and name != "erf" else name
    ctype = "f32" if name.endswith("f") and name != "erf" else "f64"
    vector = 'simd("notinbranch"), ' if simd_math and base in VECTOR_MATH else ""
    return f"__attribute__(({vector}const)) {ctype} {name}({', '.join([ctype] * arity)});"
