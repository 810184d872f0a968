"""What a function of NumPy's gives, found out by calling it on small stand-ins.

In: the types of the operands and the parameters of a call. Out: the type of its result, or of each of its results.

>>> str(by_trial(np.kron)(array_type("f4", (2, 3)), array_type("f8", (4,))))
'f64[2, 12]'

The stand-ins have the operands' dtypes, numbers of axes and memory order, and made-up elements. Small arrays have
their own sizes. Large ones get other sizes, in the same order, twice: a size of the result that is in both calls the
one that stands for ``n`` is ``n``, one that does not change is that number, and any other is not known. Sizes that
change from call to call are refused, since what holds for some stand-ins need not hold for all. What the elements
decide is found out when the graph runs: an extern call whose result is not as predicted makes the graph exit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from capture.ir.op import CannotInfer, ListLiteral
from capture.ir.shapes import Expr, Size
from capture.ir.sizes import UnknownSize
from capture.ir.types import SHORT_NAMES, ArrayType, Layout, NumberType, scalar_type

SMALL, LARGEST = 1 << 12, 1 << 18
"""Numbers of elements up to which an operand stands for itself: at once, and where other sizes tell nothing."""

OTHER_NUMBER = 3
"""What numbers stand for in a second call: the form of the result must not depend on it."""

SPREADS = ((11, 2), (101, 4))
"""First size and step of the stand-ins for sizes, one pair a call."""

_known: dict[str, Any] = {}
_MOST_KNOWN = 4096


class _Unknown(Exception):
    """The stand-ins do not tell a size of the result."""


def by_trial(function: Callable[..., Any]) -> Callable[..., Any]:
    """Inference for the record of an extern op whose ``reference`` is ``function``."""
    return lambda *operands, **params: _found(function, operands, params)[0]


def container_by_trial(function: Callable[..., Any]) -> Callable[..., type]:
    """What several results of it come in."""
    return lambda *operands, **params: _found(function, operands, params)[1]


def _found(function: Callable[..., Any], operands: tuple[Any, ...], params: Mapping[str, Any]) -> tuple[Any, type]:
    sizes = [size for array in _arrays((operands, tuple(params.values()))) for size in array.shape]
    unknown = [size for size in sizes if isinstance(size, Expr)]
    if unknown:
        raise UnknownSize("a function of NumPy's is called on sizes that change", *unknown)
    key = f"{id(function)} {operands!r} {params!r}"
    found = _known.get(key)
    if found is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        try:
            found = _try(function, operands, params)
            _refuse_sizes_from_numbers(function, operands, params, found)
        except CannotInfer as refused:
            found = str(refused)
        _known[key] = found
    if isinstance(found, str):
        raise CannotInfer(found)
    return found


def _try(
    function: Callable[..., Any], operands: tuple[Any, ...], params: Mapping[str, Any], number: int = 1
) -> tuple[Any, type]:
    shapes = [cast(tuple[int, ...], array.shape) for array in _arrays((operands, tuple(params.values())))]
    largest = max(map(prod, shapes), default=0)
    if largest <= SMALL:
        return _own_sizes(function, operands, params, number)
    sizes = sorted({size for shape in shapes for size in shape if size >= SPREADS[0][0]})
    try:
        trials = []
        for first, step in SPREADS:
            standing: dict[Size, int] = {size: first + step * k for k, size in enumerate(sizes)}
            trials.append((_call(function, operands, params, standing, number), {v: k for k, v in standing.items()}))
        return _joined(trials), type(trials[0][0])
    except (_Unknown, CannotInfer) as refused:
        if largest <= LARGEST:
            return _own_sizes(function, operands, params, number)
        raise CannotInfer(str(refused)) from None


def _own_sizes(
    function: Callable[..., Any], operands: tuple[Any, ...], params: Mapping[str, Any], number: int
) -> tuple[Any, type]:
    found = _call(function, operands, params, {}, number)
    return _joined([(found, {})]), type(found)


def _refuse_sizes_from_numbers(
    function: Callable[..., Any], operands: tuple[Any, ...], params: Mapping[str, Any], found: Any
) -> None:
    """A number that the graph computes may be how many elements there are: then the result never is as predicted."""
    if not any(array.scalar for array in _arrays((operands, tuple(params.values())))):
        return
    try:
        again = _try(function, operands, params, OTHER_NUMBER)
    except CannotInfer:
        again = None
    if again != found:
        raise CannotInfer("a number that the graph computes decides the form of the result")


def _arrays(value: Any) -> Iterator[ArrayType]:
    if isinstance(value, ArrayType):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _arrays(item)


# Stand-ins --------------------------------------------------------------------------------------------------------
def _call(
    function: Callable[..., Any],
    operands: tuple[Any, ...],
    params: Mapping[str, Any],
    standing: Mapping[Size, int],
    number: int,
) -> Any:
    values = _stand_in(operands, standing, number)
    named = {name: _stand_in(value, standing, number) for name, value in params.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")  # a warning must name the user's line, which an extern call does not know
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


def _stand_in(operand: Any, standing: Mapping[Size, int], number: int) -> Any:
    if isinstance(operand, NumberType):
        raise CannotInfer("a number that is not known")
    if isinstance(operand, tuple):
        items = (_stand_in(item, standing, number) for item in operand)
        return ListLiteral(items) if type(operand) is ListLiteral else tuple(items)
    if not isinstance(operand, ArrayType):
        return operand
    if operand.scalar:
        return operand.dtype.type(number)
    shape = tuple(standing.get(size, size) for size in operand.shape)
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


# Results ----------------------------------------------------------------------------------------------------------
def _joined(trials: Sequence[tuple[Any, Mapping[int, Size]]]) -> Any:
    """The type of what all the calls gave."""
    results = [result for result, _ in trials]
    first = results[0]
    if isinstance(first, tuple | list):
        if any(len(result) != len(first) for result in results):
            raise _Unknown("how many results there are is not known")
        parts = [[(result[k], back) for result, back in trials] for k in range(len(first))]
        return tuple(_joined(part) for part in parts)
    if isinstance(first, np.generic):
        return scalar_type(_numeric(first.dtype))
    if type(first) is not np.ndarray:
        raise CannotInfer(f"a result of type {type(first).__name__}")
    layout = Layout.of(first)
    shape = tuple(_size([(array.shape[axis], back) for array, back in _pairs(trials)]) for axis in range(first.ndim))
    if not layout.dense or len(set(filter(None, layout.ranks))) != sum(rank > 0 for rank in layout.ranks):
        raise CannotInfer("a result whose memory has gaps")
    return ArrayType(_numeric(first.dtype), shape, layout)


def _pairs(trials: Sequence[tuple[Any, Mapping[int, Size]]]) -> Sequence[tuple[np.ndarray, Mapping[int, Size]]]:
    ranks = {(result.ndim, result.dtype, Layout.of(result)) for result, _ in trials}
    if len(ranks) != 1:
        raise _Unknown("a result whose form depends on sizes")
    return trials


def _size(sizes: Sequence[tuple[int, Mapping[int, Size]]]) -> Size:
    origins = {back.get(size) for size, back in sizes}
    if len(origins) == 1 and None not in origins:
        (origin,) = origins
        return origin  # type: ignore[return-value]
    if len({size for size, _ in sizes}) == 1:
        return sizes[0][0]
    raise _Unknown("a size of the result is not known")


def _numeric(dtype: np.dtype) -> np.dtype:
    if dtype not in SHORT_NAMES:
        raise CannotInfer(f"a result of dtype {dtype}")
    return dtype
