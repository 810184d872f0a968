"""Stand-ins for operands: small arrays of their dtypes, numbers of axes and memory order, with made-up elements.

In: operands and parameters of a call, what stands for their sizes and numbers. Out: what NumPy gives for these.

>>> stand_in(array_type("f4", (Symbol("n"), 2)), {Symbol("n"): 3}, 1).shape
(3, 2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, ListLiteral
from capture.ir.shapes import Size, is_static
from capture.ir.sizes import simplified
from capture.ir.types import SHORT_NAMES, ArrayType, Layout, NumberType
from capture.ir.warned import raised
from capture.records import replace


def arrays_in(value: Any) -> Iterator[ArrayType]:
    if isinstance(value, ArrayType):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from arrays_in(item)


def in_simplest_form(value: Any) -> Any:
    """Operands whose sizes are in the simplest form that what is known allows: equal ones are one symbol."""
    if isinstance(value, tuple):
        items = map(in_simplest_form, value)
        return ListLiteral(items) if type(value) is ListLiteral else tuple(items)
    if not isinstance(value, ArrayType) or is_static(value.shape):
        return value
    shape = tuple(map(simplified, value.shape))
    return replace(value, shape=shape, layout=None if value.layout is None else value.layout.settled(shape))


def call_on_stand_ins(
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    params: Mapping[str, Any],
    standing: Mapping[Size, int],
    number: int,
) -> Any:
    values = stand_in(operands, standing, number)
    named = {name: stand_in(value, standing, number) for name, value in params.items()}
    with raised(), np.errstate(all="ignore"):  # a warning must name the user's line, which an extern call does not know
        try:
            found = function(*values, **named)
        except Exception as error:  # NumPy says it again where the call is made
            raise CannotInfer(f"{type(error).__name__}: {error}") from None
    given = list(_concrete((values, tuple(named.values()))))
    for result in found if isinstance(found, tuple | list) else (found,):
        if isinstance(result, np.ndarray) and any(np.may_share_memory(result, array) for array in given):
            raise CannotInfer("a result that shows the memory of an operand")
    return found


def _concrete(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _concrete(item)


MOST_ELEMENTS = 1 << 27


def stand_in(operand: Any, standing: Mapping[Size, int], number: int) -> Any:
    if isinstance(operand, NumberType):
        raise CannotInfer("a number that is not known")
    if isinstance(operand, tuple):
        items = (stand_in(item, standing, number) for item in operand)
        return ListLiteral(items) if type(operand) is ListLiteral else tuple(items)
    if not isinstance(operand, ArrayType):
        return operand
    if operand.scalar:
        return operand.dtype.type(number)
    shape: tuple[Any, ...] = tuple(standing.get(size, size) for size in operand.shape)
    if prod(size for size in shape if size) > MOST_ELEMENTS:
        raise CannotInfer("operands too large to stand for")
    return _laid_out(_elements(shape, operand.dtype), operand.layout)


def _elements(shape: Sequence[Any], dtype: np.dtype) -> np.ndarray:
    """Rising numbers; square matrices are positive definite, so that they have all that linear algebra asks for."""
    count = prod(shape)
    if dtype.kind == "b":
        return (np.arange(count) % 2 == 0).reshape(shape)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        rows = np.arange(shape[-1])
        matrix = 1 / (1 + np.abs(rows[:, None] - rows)) + np.diag(np.full(shape[-1], shape[-1] % 50 + 1))
        return np.broadcast_to(matrix, shape).astype(dtype)
    numbers = np.arange(1, count + 1)
    return (numbers % 2 if dtype.kind in "iu" else numbers).reshape(shape).astype(dtype)


def _laid_out(array: np.ndarray, layout: Layout | None) -> np.ndarray:
    """The same elements in memory of the given class."""
    if array.ndim == 0 or array.size == 0:
        return array
    if layout is None:
        raise CannotInfer("strides that are not known")
    for axis, (rank, size) in enumerate(zip(layout.ranks, array.shape, strict=True)):
        if rank == 0 and size > 1:
            array = np.repeat(array.take([0], axis), size, axis)  # its elements are one in memory
    order = layout.order
    gap = 1 if layout.dense else 2
    shape = [array.shape[axis] for axis in order]
    shape[-1] *= gap
    places = np.zeros(shape, array.dtype)[..., ::gap].transpose(np.argsort(order))
    places[...] = array
    return places


def numeric(dtype: np.dtype) -> np.dtype:
    if dtype not in SHORT_NAMES:
        raise CannotInfer(f"a result of dtype {dtype}")
    return dtype
