"""Loops over the elements of large arrays, shared out over threads.

In: a loop nest in the middle of a program, as lines of C, of which one axis may be cut anywhere. Out: a function of its
own that goes over a part of that axis, and lines that have the executor's threads call it, where there is enough to do:

    if (n * m >= 4000) {
        struct total_part_1 context = {x, y, n, m};
        done = share_out(total_part_1, &context, n, 1, …);
    }
    if (done < 0) {                      /* too little to do, or nobody to help: as without threads */
        const i64 begin = 0, end = n;
        for (i64 i = begin; i < end; i++)
            …
    }

A part has copies of the variables that it reads. What it finds suspicious it tells in its context; the processor's
status of all threads is joined by the executor. Nothing that is computed depends on where an axis is cut.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from capture.records import dataclass

if TYPE_CHECKING:
    from capture.inductor.programs.function import Function

LEAST = 100_000
"""Nanoseconds of work, by a rough guess, from which threads are asked for: the guess may be several times too high, and
within loops they are asked again and again."""

FEW = 8
"""Places of an axis that are too few to be cut evenly."""

GRAIN = 64
"""Neighbours in memory that stay together: cache lines, and rounds of vectors as they would be without threads."""

HELPER = {
    "1_share": """\
/* Set by whoever loads this: runs a part of the program on several threads; -1 where it has not. */
int (*capture_share)(int (*part)(void *context, i64 begin, i64 end), void *context, i64 count, i64 grain, i64 time);

static inline int share_out(int (*part)(void *, i64, i64), void *context, i64 count, i64 grain, i64 time)
{
    return capture_share ? capture_share(part, context, count, grain, time) : -1;
}
""",
}

NAME = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Share:
    """That loops may be shared out: nanoseconds of one element; which axes may be cut, if not all; axes over which
    other loops within them go."""

    time: float
    cut: tuple[int, ...] | None = None
    within: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """A nest that is shared out: which axis is cut, C of its size and of the number of all elements, and the names of
    the bounds of a part."""

    axis: int
    size: str
    elements: str
    grain: int
    time: float  # nanoseconds per element
    begin: str
    end: str
    mark: int


def open_region(
    function: Function, sizes: Sequence[str], order: Sequence[int], share: Share | None, grain: int = 1
) -> Region | None:
    """What a nest over these axes (outermost first) makes of itself when it begins: None where it is too small."""
    if share is None or not function.shares:
        return None
    free = [axis for axis in order if share.cut is None or axis in share.cut]
    if not free:
        return None
    texts = [sizes[axis] for axis in (*order, *share.within) if sizes[axis] != "1"]
    known = math.prod(int(text) for text in texts if text.isdigit())
    unknown = [text for text in texts if not text.isdigit()]
    if not unknown and known * share.time < LEAST:
        return None
    axis = next((axis for axis in free if not (sizes[axis].isdigit() and int(sizes[axis]) < FEW)), free[0])
    elements = " * ".join([*unknown, *([str(known)] if known != 1 or not unknown else [])])
    if axis == order[-1] and not share.within:
        grain = GRAIN
    names = function.fresh("begin"), function.fresh("end")
    return Region(axis, sizes[axis], elements, grain, share.time, *names, len(function.lines.lines))


def close_region(function: Function, region: Region, suspect: str = "") -> None:
    """Put the lines since the region was opened into a function of their own, beside those that do it here."""
    lines = function.lines
    body = lines.lines[region.mark :]
    del lines.lines[region.mark :]
    indent = "    " * lines.depth
    inside = [line.removeprefix(indent) for line in body]
    text = "\n".join(inside)
    read = free_names(function, text, {region.begin, region.end, suspect, "budget"})
    if "goto " in text.replace("goto leave;", "") or _written(text, read):
        _here(function, region, body)
        return
    inside = [line.replace("goto leave;", "return 1;") for line in inside]
    function.help(HELPER)
    part = f"{function.name}_part_{len(function.parts) + 1}"
    function.parts.append(_part(part, region, read, inside, suspect, "budget" in text))
    done = function.variable("done", "int")
    least = math.ceil(LEAST / region.time)
    is_large = region.elements.isdigit()
    lines.add(f"{done} = -1;")
    with lines.block("" if is_large else f"if ({region.elements} >= {least})"):
        values = ", ".join(f".{name} = {name}" for name in read)
        time = f"(i64)(({region.elements}) * {region.time:.3f})"
        lines.add(f"struct {part} context = {{{values}}};")
        lines.add(f"{done} = share_out({part}, &context, {region.size}, {region.grain}, {time});")
        if is_large:
            lines.add(f"if ({done} < 0)", f"    {done} = {part}(&context, 0, {region.size});")
        if suspect:
            lines.add(f"{suspect} |= context.suspect;")
    lines.add(f"if ({done} == 2)", "    goto interrupt;")
    if "goto leave;" in text:
        lines.add(f"if ({done} == 1)", "    goto leave;")
    function.loops = True
    if not is_large:
        with lines.block(f"if ({done} < 0)"):
            lines.add(f"const i64 {region.begin} = 0, {region.end} = {region.size};")
            lines.lines += [f"    {line}" if line else "" for line in body]


def _here(function: Function, region: Region, body: Sequence[str]) -> None:
    with function.lines.block():
        function.lines.add(f"const i64 {region.begin} = 0, {region.end} = {region.size};")
        function.lines.lines += [f"    {line}" if line else "" for line in body]


def _part(
    name: str, region: Region, read: dict[str, str], body: Iterable[str], suspect: str, spends: bool
) -> str:
    fields = [*(f"{ctype} {variable}" for variable, ctype in read.items()), *(["u32 suspect"] if suspect else [])]
    lines = [f"struct {name} {{", *(f"    {field};" for field in fields), "};", ""]
    lines += [
        '__attribute__((noinline, optimize("O3,trapping-math")))',
        f"static int {name}(void *given, i64 {region.begin}, i64 {region.end})",
        "{",
        f"    struct {name} *context = given;",
        *(f"    {ctype} {variable} = context->{variable};" for variable, ctype in read.items()),
    ]
    if suspect:
        lines.append(f"    u32 {suspect} = 0;")
    if spends:
        lines.append("    i64 budget = 0;")
    lines += [f"    {line}" if line and not line.startswith("#") else line for line in body]
    if suspect:
        lines += [f"    if ({suspect})", "        __atomic_fetch_or(&context->suspect, 1, __ATOMIC_RELAXED);"]
    return "\n".join([*lines, "    return 0;", "}"])


def free_names(function: Function, text: str, without: set[str]) -> dict[str, str]:
    """The variables of the function that the text names, with their C types."""
    found = dict.fromkeys(NAME.findall(text))
    types = {name: function.type_of(name) for name in found if name not in without}
    return {name: ctype for name, ctype in types.items() if ctype}


def _written(text: str, names: Iterable[str]) -> bool:
    """Whether one of these variables is assigned in the text, or its address taken."""
    return any(
        re.search(rf"(?<![\w.>\]]){name}\s*([-+|^*/]?=(?!=)|\+\+|--)|(?<!&)&{name}\b(?!\[)", text) for name in names
    )
