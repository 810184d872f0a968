"""Arrays repeated, padded, cut and turned: copies and views of parts, all of them loops or views.

In: ``np.repeat(x, 2, axis=0)``, ``np.tile(x, 3)``, ``np.pad(x, 1)``, ``np.split(x, 5)``, ``np.rot90(x)``. Out: the
elements of a broadcast view in new memory, gathers at constant places, views.

>>> graph.call("repeat", x, repeats=2, axis=0)       # filled(broadcast_to(expand(x)), shape=(6, 4))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Flatten, ListLiteral, define
from capture.ir.ops.common import (
    QUIET,
    allocated,
    is_literal,
    number_of_elements,
    one_axis,
    operand_type,
    require_array,
    size_or_int,
    static,
    surely_more,
)
from capture.ir.ops.orders import is_only_f
from capture.ir.ops.reshaping import in_a_row
from capture.ir.ops.spreading import repeated
from capture.ir.shapes import Expr, Size, floordiv, is_static, minimum, modulo
from capture.ir.sizes import UnknownSize, at_least, same
from capture.ir.types import ArrayType, NumberType

MATRIX = [[4.0, 1.0, 0.0], [1.0, 3.0, 1.0]]


# The elements of a view in new memory -----------------------------------------------------------------------------
def _infer_filled(a: Any, shape: tuple[Size, ...]) -> ArrayType:
    base = require_array(a, "a copy")
    if not same(number_of_elements(base.shape), number_of_elements(shape)):
        raise CannotInfer("a copy with another number of elements")
    return allocated(base.dtype, shape)


def _filled(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    result = np.empty(shape, a.dtype)
    result.reshape(a.shape)[...] = a
    return result


define(
    name="filled",
    signature="a, shape",
    operands=("a",),
    infer=_infer_filled,
    reference=_filled,
    lower=Flatten(),
    tags=QUIET,
    samples=((MATRIX, {"shape": (3, 2)}), (MATRIX, {"shape": (6,)})),
)


def _repeat(graph: Any, a: Any, repeats: Any, axis: Any = None) -> Any:
    kind = operand_type(repeats)
    if isinstance(repeats, tuple) or isinstance(kind, ArrayType):
        return repeated(graph, a, repeats, axis)
    if isinstance(kind, NumberType) and kind.size is not None:
        repeats = kind.size
    base, count = require_array(operand_type(a), "repeat"), size_or_int(repeats, "the number of repeats")
    if not at_least(count, 0):
        raise CannotInfer("repeats may not contain negative values.")
    if axis is None:
        a, axis = in_a_row(graph, a), 0
        base = a.type
    axis = one_axis(axis, base.ndim)
    before, after = base.shape[: axis + 1], base.shape[axis + 1 :]
    spread = graph.call("broadcast_to", graph.call("expand", a, axes=(axis + 1,)), shape=(*before, count, *after))
    return graph.call("filled", spread, shape=(*before[:-1], before[-1] * count, *after))


define(
    name="repeat",
    signature="a, repeats, axis=None",
    operands=("a",),
    calls=(np.repeat,),
    methods=("repeat",),
    expand=_repeat,
)


def _tile(graph: Any, A: Any, reps: Any) -> Any:
    """A view of a new array, as NumPy reshapes the last of its copies."""
    base = require_array(operand_type(A), "tile")
    counts: tuple[Size, ...] = reps if isinstance(reps, tuple) else (reps,)
    counts = tuple(size_or_int(count, "reps") for count in counts)
    if not all(at_least(count, 0) for count in counts) or not base.ndim or all(same(count, 1) for count in counts):
        raise CannotInfer("tile that copies or refuses")
    if not surely_more(number_of_elements(base.shape), 0):
        raise CannotInfer("tile of nothing, which is a view")
    ndim = max(base.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - base.ndim) + base.shape
    spread = graph.call("expand", A, axes=tuple(range(ndim - base.ndim))) if ndim > base.ndim else A
    spread = graph.call("expand", spread, axes=tuple(range(0, 2 * ndim, 2)))
    pairs = tuple(size for pair in zip(counts, shape, strict=True) for size in pair)
    spread = graph.call("broadcast_to", spread, shape=pairs)
    flat = graph.call("filled", spread, shape=(number_of_elements(pairs),))
    return graph.call("reshape", flat, shape=tuple(size * count for size, count in zip(shape, counts, strict=True)))


define(name="tile", signature="A, reps", operands=("A",), calls=(np.tile,), expand=_tile)


# pad --------------------------------------------------------------------------------------------------------------
PLACED = ("edge", "reflect", "symmetric", "wrap")
"""Modes whose elements are elements of the array, at places that depend on its shape only."""


def _pad(graph: Any, array: Any, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0) -> Any:
    base = require_array(operand_type(array), "pad")
    if not base.ndim:
        raise CannotInfer("pad of an array without axes")
    widths = _pad_widths(pad_width, base.ndim)
    if mode == "constant":
        return _surrounded(graph, array, widths, constant_values)
    if mode not in PLACED or is_literal(constant_values) is False:
        raise CannotInfer(f"pad with mode={mode!r}")
    order = "F" if is_only_f(base) else "C"
    if all(pair == (0, 0) for pair in widths):
        return graph.call("copy", array, order=order)
    known = is_static((*base.shape, *(width for pair in widths for width in pair))) and 0 not in base.shape
    if known and base.layout is not None and base.layout.is_c:
        return _joined(graph, array, widths, mode)
    for axis, (before, after) in enumerate(widths):
        size = base.shape[axis]
        if (before, after) == (0, 0):
            continue
        if not at_least(size, 1):
            raise CannotInfer("can't extend empty axis")
        if is_static((size, before, after)):
            places = graph.constant(np.pad(np.arange(size), (before, after), mode))  # type: ignore[arg-type]
        else:
            places = _OPEN_PLACES[mode](graph, size, graph.call("arange", start=-before, stop=size + after))
        array = graph.call("gather", array, places, axes=(axis,), place=axis, order=order)
    return array


def _joined(graph: Any, array: Any, widths: Sequence[tuple[Any, Any]], mode: Any) -> Any:
    """The array between what stands before and behind it along the last axis that is padded: it is copied once, in runs
    of neighbours, and along the other axes taken from its places on the way.
    """
    shape = array.type.shape
    *others, last = [axis for axis, pair in enumerate(widths) if pair != (0, 0)]
    places = {axis: np.pad(np.arange(shape[axis]), widths[axis], mode) for axis in (*others, last)}
    before, middle = widths[last][0], shape[last]
    parts = []
    for chosen in (places[last][:before], None, places[last][before + middle :]):
        if chosen is None or len(chosen):
            part = array if chosen is None else _taken(graph, array, chosen, last)
            for axis in others:
                part = _taken(graph, part, places[axis], axis)
            parts.append(part)
    return graph.call("concatenate", *parts, axis=last) if len(parts) > 1 else parts[0]


def _taken(graph: Any, array: Any, places: np.ndarray, axis: int) -> Any:
    return graph.call("gather", array, graph.constant(places), axes=(axis,), place=axis, order="C")


def _number(graph: Any, size: Size) -> Any:
    return size if isinstance(size, int) else graph.call("size_number", size=size)


def _edge(graph: Any, size: Size, places: Any) -> Any:
    last = _number(graph, size - 1)
    return graph.call("minimum", graph.call("maximum", places, 0), last)


def _wrap(graph: Any, size: Size, places: Any) -> Any:
    return graph.call("remainder", places, _number(graph, size))


def _symmetric(graph: Any, size: Size, places: Any) -> Any:
    there = graph.call("remainder", places, _number(graph, 2 * size))
    back = graph.call("subtract", _number(graph, 2 * size - 1), there)
    return graph.call("minimum", there, back)


def _reflect(graph: Any, size: Size, places: Any) -> Any:
    if not at_least(size, 2):
        raise UnknownSize("a reflected size must be known", size)
    period = _number(graph, 2 * size - 2)
    there = graph.call("remainder", places, period)
    return graph.call("minimum", there, graph.call("subtract", period, there))


_OPEN_PLACES: Mapping[str, Callable[..., Any]] = {
    "edge": _edge, "wrap": _wrap, "symmetric": _symmetric, "reflect": _reflect,
}  # fmt: skip
"""For each mode, where the elements at places before and behind the array are taken from."""


def _pad_widths(pad_width: Any, ndim: int) -> list[tuple[Size, Size]]:
    """``pad_width`` as NumPy broadcasts it: before and after, for each axis."""
    try:
        pairs = np.broadcast_to(np.array(_as_lists(pad_width), object), (ndim, 2))
    except ValueError as error:
        raise CannotInfer(str(error)) from None
    if not all(isinstance(width, int | Expr) and at_least(width, 0) for width in pairs.flat):
        raise CannotInfer("index can't contain negative values")
    return [(before, after) for before, after in pairs]


def _as_lists(value: Any) -> Any:
    return [_as_lists(item) for item in value] if isinstance(value, tuple) else size_or_int(value, "a pad width")


def _surrounded(graph: Any, array: Any, widths: Sequence[tuple[Size, Size]], value: Any) -> Any:
    """The array in the middle of a new one."""
    base = array.type
    if not is_literal(value):
        raise CannotInfer("pad with values that are no number")
    shape = tuple(before + size + after for size, (before, after) in zip(base.shape, widths, strict=True))
    order = tuple(reversed(range(base.ndim))) if is_only_f(base) else None
    result = graph.call("full", value, shape=shape, dtype=base.dtype, order=order)
    if not shape:
        return graph.store(result, array)
    middle = tuple(slice(before, before + size) for size, (before, _) in zip(base.shape, widths, strict=True))
    return graph.store(graph.call("getitem", result, key=middle), array)


define(
    name="pad",
    signature="array, pad_width, mode='constant', *, constant_values=0",
    operands=("array",),
    calls=(np.pad,),
    expand=_pad,
)


# split ------------------------------------------------------------------------------------------------------------
def _cuts(size: Size, sections: Any, even: bool) -> list[Size]:
    """Where the parts begin, and the end of the last one."""
    if isinstance(sections, tuple):
        bounds = [size_or_int(bound, "a bound") for bound in sections]
        return [0, *bounds, size]
    count = static(sections, "the number of sections")
    if count <= 0 or (even and not same(modulo(size, count), 0)):
        raise CannotInfer("array split does not result in an equal division")
    if even:
        return [floordiv(size, count) * number for number in range(count + 1)]
    each, more = floordiv(size, count), modulo(size, count)  # the first ones have one element more
    return [each * number + minimum(number, more) for number in range(count + 1)]


def _split(even: bool, fixed: int | None = None, least: int = 1) -> Any:
    def expand(graph: Any, ary: Any, indices_or_sections: Any, axis: Any = 0) -> ListLiteral:
        base = require_array(operand_type(ary), "split")
        if base.ndim < least:
            raise CannotInfer("split of an array of fewer axes")
        axis = one_axis(axis if fixed is None else 0 if fixed == 1 and base.ndim == 1 else fixed, base.ndim)
        cuts = _cuts(base.shape[axis], indices_or_sections, even)
        whole = (slice(None),) * axis
        return ListLiteral(
            graph.call("getitem", ary, key=(*whole, slice(start, stop))) for start, stop in pairwise(cuts)
        )

    return expand


for _name, _function, _expand, _signature in (
    ("array_split", np.array_split, _split(False), "ary, indices_or_sections, axis=0"),
    ("split", np.split, _split(True), "ary, indices_or_sections, axis=0"),
    ("hsplit", np.hsplit, _split(True, 1), "ary, indices_or_sections"),
    ("vsplit", np.vsplit, _split(True, 0, 2), "ary, indices_or_sections"),
    ("dsplit", np.dsplit, _split(True, 2, 3), "ary, indices_or_sections"),
):
    define(name=_name, signature=_signature, operands=("ary",), calls=(_function,), expand=_expand)


# rot90 ------------------------------------------------------------------------------------------------------------
def _rot90(graph: Any, m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    """Turns by quarters, as NumPy's: flips and transpositions, all views."""
    base = require_array(operand_type(m), "rot90")
    if not isinstance(axes, tuple) or len(axes) != 2:
        raise CannotInfer("len(axes) must be 2.")
    one, other = (one_axis(axis, base.ndim) for axis in axes)
    if one == other:
        raise CannotInfer("Axes must be different.")
    turns = static(k, "k") % 4
    order = list(range(base.ndim))
    order[one], order[other] = order[other], order[one]
    if turns == 0:
        return graph.call("getitem", m, key=(slice(None),))
    if turns == 2:
        return graph.call("flip", graph.call("flip", m, axis=one), axis=other)
    if turns == 1:
        return graph.call("permute", graph.call("flip", m, axis=other), axes=tuple(order))
    return graph.call("flip", graph.call("permute", m, axes=tuple(order)), axis=other)


define(name="rot90", signature="m, k=1, axes=(0, 1)", operands=("m",), calls=(np.rot90,), expand=_rot90)
