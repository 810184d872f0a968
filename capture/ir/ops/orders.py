"""The memory order of new arrays: how their axes nest, outermost first.

In: operands with what is known of their layouts. Out: the order that NumPy gives the result, a tuple of axes.

>>> common_order([type_of(np.ones((3, 4)).T), type_of(np.ones(3))], 2)
(1, 0)

Axes with one element have no say in an order, and arrays without elements have strides that tell nothing. Where sizes
are left open and one of these decides the order, it is asked for: what is in C order throughout never needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer
from capture.ir.shapes import Expr, Size
from capture.ir.sizes import at_least, range_of_size, same
from capture.ir.types import ArrayType, Layout, keep_order

Shape = Sequence[Size]
Sort = Callable[[Sequence[ArrayType]], Sequence[int]]
"""From operands of known sizes to the order of the result's axes."""

MOST_OPEN = 4
"""Sizes of which all cases are gone through before any is asked for."""


def known_layout(array: ArrayType) -> Layout:
    if array.layout is None:
        raise CannotInfer("the memory order of the result depends on strides that are not known")
    return array.layout


def few(size: Size) -> int:
    """0, 1, or 2 for more; of an open size it is asked for."""
    if isinstance(size, int):
        return min(size, 2)
    return 2 if at_least(size, 2) else int(same(size, 1))


def common_order(arrays: Sequence[ArrayType], ndim: int) -> tuple[int, ...]:
    """The memory order of a ufunc's new result over these operands."""
    if ndim < 2:
        return tuple(range(ndim))
    return order_over(arrays, ndim, lambda found: keep_order([known_layout(array) for array in found], ndim))


def order_over(arrays: Sequence[ArrayType], ndim: int, sort: Sort, joined: int | None = None) -> tuple[int, ...]:
    """The order that ``sort`` gives, for open sizes of any number of elements, else for those at hand.

    Operands have ``ndim`` axes or fewer, the last ones; along the axis ``joined`` they lie one behind the other.
    """
    order = tuple(sort(arrays))
    if all(_is_c(known_layout(array)) for array in arrays):
        return order
    sizes = tuple(dict.fromkeys(size for array in arrays for size in array.shape if _is_open(size)))
    if sizes and (len(sizes) > MOST_OPEN or _depends_on_sizes(arrays, ndim, sort, joined, sizes, order)):
        settled = {size: few(size) for size in sizes}
        return tuple(sort([_with_sizes(array, settled) for array in arrays]))
    return order


def _is_c(layout: Layout) -> bool:
    """Whether the axes nest in C order, with gaps or without."""
    moving = [rank for rank in layout.ranks if rank]
    return moving == sorted(moving, reverse=True)


def _is_open(size: Size) -> bool:
    return isinstance(size, Expr) and range_of_size(size)[0] < 2


def _depends_on_sizes(
    arrays: Sequence[ArrayType],
    ndim: int,
    sort: Sort,
    joined: int | None,
    sizes: Sequence[Size],
    order: tuple[int, ...],
) -> bool:
    """Whether a result's order that can be seen is another one where some sizes are 0 or 1."""
    for values in product((2, 1, 0), repeat=len(sizes)):
        found = [_with_sizes(array, dict(zip(sizes, values, strict=True))) for array in arrays]
        shape = _together([array.shape for array in found], ndim, joined)
        if 0 in shape:
            continue
        seen = [axis for axis in order if shape[axis] != 1]
        if len(seen) > 1 and (
            any(0 in array.shape for array in found) or seen != [axis for axis in sort(found) if shape[axis] != 1]
        ):
            return True
    return False


def _with_sizes(array: ArrayType, sizes: dict[Size, int]) -> ArrayType:
    """The type with numbers in place of sizes; any two others stay different from 1."""
    shape = tuple(sizes.get(size, size) for size in array.shape)
    return ArrayType(array.dtype, shape, known_layout(array).settled(shape), array.scalar)


def _together(shapes: Sequence[Shape], ndim: int, joined: int | None) -> tuple[Size, ...]:
    """The shape of a result: broadcast, or along one axis the sum of sizes. Sizes that are not settled count as 2."""
    result: list[Size] = [1] * ndim
    for axis in range(ndim):
        given = [shape[axis - ndim] for shape in shapes if len(shape) >= ndim - axis]
        numbers = [size if isinstance(size, int) else 2 for size in given]
        result[axis] = sum(numbers) if axis == joined else next((size for size in numbers if size != 1), 1)
    return tuple(result)


def require_visible_order(operands: Iterable[ArrayType], shape: Shape) -> None:
    """Refuse to order the axes of a result with elements after operands without: their strides are not tracked."""
    if sum(size != 1 for size in shape) > 1 and 0 not in shape and any(0 in operand.shape for operand in operands):
        raise CannotInfer("the memory order of the result depends on strides of an array without elements")


def new_array(shape: Sequence[int], dtype: Any, order: Sequence[int] | None) -> np.ndarray:
    """An uninitialised array whose axes nest in ``order`` (None: C), as the nodes that allocate one run."""
    if order is None:
        return np.empty(shape, dtype)
    prototype = np.empty([shape[axis] for axis in order], dtype).transpose(np.argsort(order))
    return np.empty_like(prototype)  # owns its memory, unlike the prototype


# Copies -----------------------------------------------------------------------------------------------------------
def copy_order(array: ArrayType) -> tuple[int, ...]:
    """The memory order of a copy with ``order="K"``: by falling stride; axes that do not move come innermost."""
    if array.ndim < 2:
        return tuple(range(array.ndim))
    ranks = known_layout(array).ranks
    return tuple(sorted(range(array.ndim), key=lambda axis: (-ranks[axis], axis)))


def given_order(order: Any, array: ArrayType) -> tuple[int, ...]:
    """The memory order of a copy of ``array`` that ``order=`` ("C", "F", "A" or "K") asks for."""
    if order == "A":
        order = "F" if is_only_f(array) else "C"
    if order == "C":
        return tuple(range(array.ndim))
    if order == "F":
        return tuple(reversed(range(array.ndim)))
    if order == "K":
        return copy_order(array)
    raise CannotInfer(f"order is {order!r}")


def is_only_f(array: ArrayType) -> bool:
    """Whether an array is in Fortran order and not in C order as well, as its flags say."""
    if array.ndim < 2 or _is_c(known_layout(array)):
        return False
    settled = _with_sizes(array, {size: few(size) for size in array.shape if _is_open(size)})
    layout = known_layout(settled)
    moving = [rank for rank in layout.ranks if rank]
    if 0 in settled.shape or _is_c(layout) or moving != sorted(moving):
        return False
    if not layout.dense and settled.shape != array.shape:  # of views that is what could not be proved
        raise CannotInfer("the memory order of the result depends on strides that are not known")
    return layout.dense
