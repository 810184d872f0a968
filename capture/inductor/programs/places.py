"""Many elements at once, at places that are computed: masks, and integers along the first axis.

In: ``pick``, ``gather``, ``store_picked`` and ``store_gathered`` steps. Out: loops that go through the places in C
order; the program leaves where a place does not exist, or where the number of values is not that of places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from capture.errors import BackendError
from capture.inductor.loops import GATHERED
from capture.inductor.programs.accesses import converted
from capture.inductor.programs.arrays import aligned, require_fit
from capture.inductor.programs.facts import is_array
from capture.inductor.programs.function import Function
from capture.inductor.programs.memory import make
from capture.inductor.programs.nests import Nest
from capture.inductor.programs.sharing import Share
from capture.inductor.programs.values import Array, any_literal, offset, variable_type
from capture.inductor.vocabulary import CELLS, cast_text
from capture.ir.graph import Node


def write_gather(function: Function, step: Node) -> None:
    array, places = (function.in_memory(node) for node in step.args)
    sizes = (*places.sizes, *array.sizes[1:])
    target = make(function, step.name, step.name, step.type.dtype, sizes, checked=False)
    nest = Nest(function, sizes)
    count = len(places.sizes)
    with nest.loops(range(len(sizes)), simd=False, share=Share(GATHERED)):
        at = _place(function, array, places, nest.places[:count])
        element = array.element([at, *nest.places[count:]])
        function.lines.add(f"{target.pointer}[{offset(nest.places, target.strides)}] = {element};")
    function.arrays[step] = target


def write_store_gathered(function: Function, step: Node) -> None:
    node, where, value = step.args
    array, places = function.in_memory(node), _apart(function, where, node)
    sizes = (*places.sizes, *array.sizes[1:])
    count = len(places.sizes)
    given = _given(function, node, value, array.dtype)
    if isinstance(given, Array):
        require_fit(function, given.sizes, sizes)
        strides = aligned(function, given.sizes, given.strides, sizes)
    with function.lines.block():
        if not isinstance(given, Array):
            function.lines.add(f"const {variable_type(array.dtype)} fill = {given};")
        nest = Nest(function, sizes)
        with nest.loops(range(len(sizes)), simd=False):
            at = _place(function, array, places, nest.places[:count])
            text = "fill"
            if isinstance(given, Array):
                text = _cast(f"{given.pointer}[{offset(nest.places, strides)}]", given.dtype, array.dtype)
            function.lines.add(f"{array.element([at, *nest.places[count:]])} = {text};")


def write_pick(function: Function, step: Node) -> None:
    node, mask_node = step.args
    array, mask = function.in_memory(node), function.in_memory(mask_node)
    axes = len(mask.sizes)
    count = _count(function, mask, array.sizes[:axes])
    target = make(function, step.name, step.name, step.type.dtype, [count, *array.sizes[axes:]], checked=False)
    with function.lines.block():
        function.lines.add("i64 found = 0;")
        nest, rest = Nest(function, array.sizes[:axes]), Nest(function, array.sizes[axes:])
        chosen = f"if ({mask.element(nest.places)})"
        with nest.loops(range(axes), simd=False), function.lines.block(chosen):
            if axes == len(array.sizes):
                function.lines.add(f"{target.pointer}[found++] = {array.element(nest.places)};")
            else:
                _copy_row(function, target, array, nest.places, rest)
    function.arrays[step] = target


def _copy_row(function: Function, target: Array, array: Array, chosen: Sequence[str], rest: Nest) -> None:
    """What a mask has chosen, where it stands for more than an element."""
    with rest.loops(range(len(rest.sizes)), simd=False):
        place = offset(["found", *rest.places], target.strides)
        function.lines.add(f"{target.pointer}[{place}] = {array.element([*chosen, *rest.places])};")
    function.lines.add("found++;")


def write_store_picked(function: Function, step: Node) -> None:
    node, mask_node, value = step.args
    array, mask = function.in_memory(node), _apart(function, mask_node, node)
    if step.params.get("whole"):
        _store_where(function, array, mask, value)
        return
    given = _given(function, node, value, array.dtype)
    with function.lines.block():
        if isinstance(given, Array) and given.sizes:
            if len(given.sizes) > 1:
                raise BackendError("an array of several axes is stored by a mask")
            count = _count(function, mask, array.sizes)
            if given.sizes != ("1",):
                function.leave_if(f"{given.sizes[0]} != {count}")
            stride = "0" if given.sizes == ("1",) else given.strides[0]
            function.lines.add("i64 found = 0;")
            text = _cast(f"{given.pointer}[{offset(['found'], [stride])}]", given.dtype, array.dtype)
            following = ["found++;"]
        else:
            if isinstance(given, Array):
                given = _cast(f"*{given.pointer}", given.dtype, array.dtype)
            _require_same(function, mask, array.sizes[: len(mask.sizes)])
            function.lines.add(f"const {variable_type(array.dtype)} fill = {given};")
            function.given["fill"] = variable_type(array.dtype)
            text, following = "fill", []
        nest = Nest(function, array.sizes)
        chosen = f"if ({mask.element(nest.places[: len(mask.sizes)])})"
        share = None if following else nest.share(array.dtype.itemsize)
        with nest.loops(range(len(array.sizes)), simd=not following, share=share), function.lines.block(chosen):
            function.lines.add(f"{array.element(nest.places)} = {text};", *following)
        function.given.pop("fill", None)


def _store_where(function: Function, array: Array, mask: Array, value: Node) -> None:
    """A map over whole arrays, computed only where the mask holds."""
    _require_same(function, mask, array.sizes)
    for sizes in _sizes_read(function, value):
        _require_same(function, mask, sizes)
    nest = Nest(function, array.sizes)
    element = nest.elements.builder.cast(nest.value(value), array.dtype)
    nest.expect(element)
    chosen = f"if ({mask.element(nest.places)})"
    share = nest.share(array.dtype.itemsize)
    with nest.loops(range(len(array.sizes)), simd=False, share=share), function.lines.block(chosen):
        function.lines.add(f"{array.element(nest.places)} = {nest.elements.text(element)};")
    nest.settle()


def _sizes_read(function: Function, value: Node) -> Iterator[Sequence[str]]:
    """The sizes of the arrays that a map reads."""
    entry = function.arrays[value]
    if isinstance(entry, Array):
        yield entry.sizes
        return
    for part in entry.step.args:
        if is_array(part):
            yield from _sizes_read(function, part)


def _count(function: Function, mask: Array, sizes: Sequence[str]) -> str:
    """How many elements of a mask, of these sizes, are true."""
    _require_same(function, mask, sizes)
    count = function.variable("count", "i64")
    function.lines.add(f"{count} = 0;")
    nest = Nest(function, mask.sizes)
    with nest.loops(range(len(mask.sizes)), f" reduction(+:{count})"):
        function.lines.add(f"{count} += {mask.element(nest.places)} != 0;")
    return count


def _require_same(function: Function, mask: Array, sizes: Sequence[str]) -> None:
    require_fit(function, mask.sizes, sizes)
    function.leave_if(*(f"{size} != 1" for mine, size in zip(mask.sizes, sizes, strict=True) if mine == "1" != size))


def _place(function: Function, array: Array, places: Array, at: Sequence[str]) -> str:
    """A place along the first axis of an array."""
    size, given = array.sizes[0], places.element(at)
    place = function.fresh("place")
    if places.dtype.kind == "u":
        function.lines.add(f"const i64 {place} = (i64){given};")
    else:
        read = function.fresh("given")
        function.lines.add(
            f"const i64 {read} = {given};", f"const i64 {place} = {read} < 0 ? {read} + {size} : {read};"
        )
    function.leave_if(f"(u64){place} >= (u64){size}")
    return place


def _apart(function: Function, node: Node, written: Node) -> Array:
    """An array that is read while another is written. Where they may be the same NumPy's own order would matter."""
    if not function.owners[node].isdisjoint(function.owners[written]):
        function.leave_if("1")
    return function.in_memory(node)


def _given(function: Function, node: Node, value: Any, dtype: np.dtype) -> Array | str:
    """What is stored: an array, or C of an element."""
    return _apart(function, value, node) if is_array(value) else converted(function, value, dtype)


def _cast(text: str, source: np.dtype, target: np.dtype) -> str:
    if source == target:
        return text
    if np.float16 in (source, target) or source.kind == "c" or (source.kind == "f" and target.kind in "iu"):
        raise BackendError(f"elements of {source} are stored by places as {target}")
    if target.kind == "c":
        return f"__builtin_complex({cast_text(source, CELLS[target], f'({text})')}, {any_literal(0, CELLS[target])})"
    return cast_text(source, target, f"({text})")
