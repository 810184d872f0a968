"""What is known of strides: exact ones where memory is dense, else an order; and what reshaping makes of them.

In: the types of views, and nodes whose memory leads back to a dense array. Out: layouts of slices and reshapes, and
whether ``reshape`` and ``ravel`` copy. An answer of None means that it depends on strides nobody knows here.

>>> copies_on_reshape(type_of(np.ones((3, 4)).T), (12,))
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cmp_to_key
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

from capture.ir.op import Strided
from capture.ir.shapes import Expr, Size
from capture.ir.sizes import UnknownSize, at_least, same
from capture.ir.types import ArrayType, Layout, is_static
from capture.records import replace


def dense_strides(type: ArrayType) -> tuple[Size, ...] | None:
    """Strides in elements, when the layout says that there are no gaps; 0 for axes that do not move."""
    if type.layout is None or not type.layout.dense:
        return None
    strides: list[Size] = [0] * type.ndim
    step: Size = 1
    moving = [axis for axis in range(type.ndim) if type.layout.ranks[axis]]
    for axis in sorted(moving, key=lambda axis: type.layout.ranks[axis]):  # type: ignore[union-attr]
        strides[axis] = step
        step = step * type.shape[axis]
    return tuple(strides)


def strides_of(node: Any) -> tuple[Size, ...] | None:
    """Strides in elements of a node that is a chain of views of dense memory."""
    chain = []
    while node.kind == "call" and node.op.is_view and dense_strides(node.type) is None:
        chain.append(node)
        node = node.args[0]
    strides = dense_strides(node.type)
    if strides is None:
        return None
    view = Strided(0, node.type.shape, strides)
    for step in reversed(chain):
        view = step.op.lower.strided(view, **step.params)
    return view.strides


def contiguity(type: ArrayType, node: Any = None, turned: bool = False) -> bool | None:
    """Whether an array has NumPy's C_CONTIGUOUS flag, or ``turned`` F_CONTIGUOUS. Axes of one element have no say in
    it; empty arrays have both.
    """
    is_view = node is not None and node.kind == "call" and node.op.is_view
    strides = strides_of(node) if is_view else None
    if turned:
        type = replace(type, shape=type.shape[::-1], layout=_turned(type.layout))
        strides = strides and strides[::-1]
    layout = type.layout
    if layout is not None and layout.is_c:
        return True
    if strides is None and layout is None:
        return None
    if not all(at_least(size, 1) for size in type.shape):
        return True
    if strides is not None:
        return _is_contiguous(type.shape, strides)
    assert layout is not None
    if any(not rank and at_least(size, 2) for rank, size in zip(layout.ranks, type.shape, strict=True)):
        return False  # the axis repeats one element
    moving = [axis for axis in sorted(range(type.ndim), key=lambda axis: -layout.ranks[axis]) if layout.ranks[axis]]
    moving = [axis for axis in moving if at_least(type.shape[axis], 2)]
    ranks = [layout.ranks[axis] for axis in moving]
    if moving != sorted(moving) or len(set(ranks)) < len(ranks):
        return False
    if layout.dense or not moving:
        return True
    # What is not a view of something has an exact layout; of a view it may be that nobody could prove it dense.
    return None if is_view and layout.inner else False


def _turned(layout: Layout | None) -> Layout | None:
    return layout and replace(layout, ranks=layout.ranks[::-1])


def _is_contiguous(shape: Sequence[Size], strides: Sequence[Size]) -> bool:
    step: Size = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if at_least(size, 2):
            if not same(stride, step):
                return False
            step = step * size
    return True


# Slices -----------------------------------------------------------------------------------------------------------
def sliced_layout(
    base: ArrayType, steps: Sequence[Size], sizes: Sequence[Size], starts: Sequence[Size]
) -> Layout | None:
    """The layout of ``base[start : … : step]``; None where the order of the new strides is not known.

    ``dense`` and ``inner`` are promises: where they cannot be proved they are False.
    """
    if base.layout is None:
        return None
    strides = dense_strides(base)
    if strides is not None and all(map(is_static, (base.shape, steps, sizes))):
        moved = [stride * step for stride, step in zip(strides, steps, strict=True)]
        return Layout.of_strides(sizes, moved, 1)  # type: ignore[arg-type]
    moving = [axis for axis, size in enumerate(sizes) if size != 1 and base.layout.ranks[axis]]
    # Nested axes stay nested: where the inner one still moves, its new stride is below the whole of its old extent.
    if not base.layout.dense and not is_static(steps):
        return None
    factors = [1 if base.layout.dense or isinstance(step, Expr) else abs(step) for step in steps]
    ranks = _scaled_ranks(base.layout.ranks, moving, factors)
    if ranks is None:
        return None
    inner = not moving or (base.layout.inner and any(base.layout.ranks[k] == 1 and steps[k] in (1, -1) for k in moving))
    return Layout(ranks, base.layout.dense and _stays_dense(base, steps, sizes), inner)


def _scaled_ranks(ranks: Sequence[int], moving: Sequence[int], factors: Sequence[int]) -> tuple[int, ...] | None:
    """Ranks of strides after each is multiplied by its factor, when the old ranks decide them."""

    def compare(one: int, other: int) -> int:
        by_rank, by_factor = ranks[one] - ranks[other], factors[one] - factors[other]
        if by_rank * by_factor < 0:
            raise ArithmeticError("a smaller stride grows by more")
        return by_rank or by_factor

    try:
        order = sorted(moving, key=cmp_to_key(compare))
        if any(compare(one, other) > 0 for k, one in enumerate(order) for other in order[k + 1 :]):
            return None
    except ArithmeticError:
        return None
    result = [0] * len(ranks)
    rank = 0
    for place, axis in enumerate(order):
        rank += place == 0 or compare(order[place - 1], axis) != 0
        result[axis] = rank
    return tuple(result)


def _stays_dense(base: ArrayType, steps: Sequence[Size], sizes: Sequence[Size]) -> bool:
    """A slice of dense memory has no gaps when only the outermost axis that still moves is cut."""
    assert base.layout is not None
    order = sorted(range(base.ndim), key=lambda axis: -base.layout.ranks[axis])  # type: ignore[union-attr]
    moving = [axis for axis in order if sizes[axis] != 1]
    whole = all(sizes[axis] == base.shape[axis] for axis in moving[1:])
    inside = order[order.index(moving[0]) :] if moving else []
    return (
        whole
        and all(steps[axis] == 1 for axis in moving)
        and all(axis in moving or base.shape[axis] == 1 for axis in inside)
    )


# Reshapes ---------------------------------------------------------------------------------------------------------
Group = tuple[tuple[int, ...], tuple[int, ...]]


def reshape_groups(old: Sequence[Size], new: Sequence[Size]) -> list[Group]:
    """Smallest runs of old axes and of new axes with the same number of elements; old axes of size 1 are left out."""
    axes = [axis for axis, size in enumerate(old) if size != 1]
    groups: list[Group] = []
    start_old, start_new = 0, 0
    while start_old < len(axes):
        end_old, end_new = _next_boundary([old[axis] for axis in axes[start_old:]], new[start_new:])
        groups.append((tuple(axes[start_old : start_old + end_old]), tuple(range(start_new, start_new + end_new))))
        start_old, start_new = start_old + end_old, start_new + end_new
    if start_new < len(new):
        groups.append(((), tuple(range(start_new, len(new)))))
    return groups


def _next_boundary(old: Sequence[Size], new: Sequence[Size]) -> tuple[int, int]:
    """The shortest nonempty prefixes with equal products; all of both where there are none."""
    places: dict[Size, int] = {}
    product: Size = 1
    for count, size in enumerate(new, 1):
        product = product * size
        places.setdefault(product, count)
    product = 1
    for count, size in enumerate(old, 1):
        product = product * size
        if product in places:
            return count, places[product]
    return len(old), len(new)


def reshaped_strides(old: Sequence[Size], strides: Sequence[Size], new: Sequence[Size]) -> tuple[Size, ...]:
    """Strides of a reshape that is known to be a view."""
    result: list[Size] = [0] * len(new)
    for axes, places in reshape_groups(old, new):
        step = strides[axes[-1]] if axes else 0
        for place in reversed(places):
            result[place] = step
            step = step * new[place]
    return tuple(result)


def copies_on_reshape(base: ArrayType, shape: Sequence[Size], node: Any = None) -> bool | None:
    """Whether ``np.reshape`` must copy: some run of axes that becomes one run of new axes does not nest."""
    if 0 in base.shape or (base.layout is not None and base.layout.is_c):
        return False
    strides = dense_strides(base) or (strides_of(node) if node is not None else None)
    pairs = (pair for axes, _ in reshape_groups(base.shape, shape) for pair in pairwise(axes))
    verdict: bool | None = True
    for one, other in pairs:
        nests = _nests(base, strides, one, other)
        if nests is False:
            if any(same(one, other) for one, other in _chances(base.shape, shape)):
                raise UnknownSize(
                    "sizes that happen to be equal, so that nothing is copied, must be known", *base.shape, *shape
                )
            return None if _may_be_read_only(node) and any(same(size, 0) for size in base.shape) else True
        verdict = verdict and nests
    return None if verdict is None else False


def _may_be_read_only(node: Any) -> bool:
    """Whether views of a node may refuse writes: where there are no elements that alone tells a view from a copy."""
    while node is not None and node.kind == "call" and node.op.is_view and "readonly" not in node.op.tags:
        node = node.args[0]
    return node is not None and (node.kind != "call" or "readonly" in node.op.tags)


def _chances(old: Sequence[Size], new: Sequence[Size]) -> Iterator[tuple[Size, Size]]:
    """Products of sizes at which runs of axes, old and new, would end together if they were equal."""
    for axes, places in reshape_groups(old, new):
        for one in accumulate((old[axis] for axis in axes[:-1]), mul):
            yield from ((one, other) for other in accumulate((new[place] for place in places[:-1]), mul))


def _nests(base: ArrayType, strides: Sequence[Size] | None, one: int, other: int) -> bool | None:
    """Whether a step along axis ``one`` equals a walk along the whole of axis ``other``."""
    if strides is not None:
        if strides[one] == strides[other] * base.shape[other]:
            return True
        return None if not _move(base, one, other) or _touch(base, strides, one, other) else False
    if base.layout is None:
        return None
    outer, inner = base.layout.ranks[one], base.layout.ranks[other]
    if outer == inner == 0:
        return True
    return None if outer > inner > 0 or not _move(base, one, other) else False


def _touch(base: ArrayType, strides: Sequence[Size], one: int, other: int) -> bool:
    """Whether two axes that move nest; in dense memory: whether those that lie between them have one element."""
    ranks = base.layout.ranks if base.layout is not None and base.layout.dense else (0,) * base.ndim
    outer, inner = ranks[one], ranks[other]
    if not outer or not inner:
        return same(strides[one], strides[other] * base.shape[other])
    between = (size for size, rank in zip(base.shape, ranks, strict=True) if inner < rank < outer)
    return outer > inner and all(same(size, 1) for size in between)


def _move(base: ArrayType, *axes: int) -> bool:
    """Whether none of the axes has one element: such an axis nests in any other. Whether nothing is copied or looked at
    is all the same.
    """
    return not any(same(base.shape[axis], 1) for axis in axes)


def reshaped_layout(base: ArrayType, shape: Sequence[Size]) -> Layout | None:
    """The layout of a reshape that is a view."""
    if base.layout is None or 0 in shape:
        return None if base.layout is None else Layout.contiguous(tuple(shape))
    if base.layout.is_c:
        return Layout.contiguous(tuple(shape))
    strides = dense_strides(base)
    if strides is not None and is_static(base.shape):
        new = reshaped_strides(base.shape, strides, shape)
        return Layout.of_strides(shape, new, 1)  # type: ignore[arg-type]
    return _regrouped_layout(base.layout, base.shape, shape)


def _regrouped_layout(layout: Layout, old: Sequence[Size], new: Sequence[Size]) -> Layout | None:
    """Ranks move along with the one axis of each group; splitting any axis but the outermost hides the order."""
    ranks = [0] * len(new)
    highest = max(layout.ranks, default=0)
    for axes, places in reshape_groups(old, new):
        moving = [place for place in places if new[place] != 1]
        rank = layout.ranks[axes[-1]] if axes else 0
        if not rank or not moving:
            continue
        if len(moving) > 1 and (rank != highest or layout.ranks.count(rank) > 1):
            return None
        for step, place in enumerate(reversed(moving)):
            ranks[place] = rank + step
    return Layout(tuple(ranks), layout.dense, layout.inner)
