"""What a function of NumPy's gives, found out by calling it on small stand-ins.

In: the types of the operands and the parameters of a call. Out: the type of its result, or of each of its results.

>>> str(by_trial(np.kron)(array_type("f4", (2, 3)), array_type("f8", (4,))))
'f64[2, 12]'

The stand-ins have the operands' dtypes, numbers of axes and memory order, and made-up elements. Small arrays have
their own sizes. Large ones get other sizes, in the same order, twice: a size of the result that is in both calls the
one that stands for ``n`` is ``n``, one that does not change is that number, and any other is not known. For sizes that
change from call to call see ``open_trial``. What the elements decide is found out when the graph runs: an extern call
whose result is not as predicted makes the graph exit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from capture.ir.op import CannotInfer
from capture.ir.ops.open_trial import found_for_open_sizes
from capture.ir.ops.stand_ins import arrays_in, call_on_stand_ins, in_simplest_form, numeric
from capture.ir.shapes import Size, is_static
from capture.ir.types import ArrayType, Layout, scalar_type

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
    operands, params = in_simplest_form(operands), {name: in_simplest_form(value) for name, value in params.items()}
    if not all(is_static(array.shape) for array in arrays_in((operands, tuple(params.values())))):
        return found_for_open_sizes(function, operands, params)
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
    shapes = [cast(tuple[int, ...], array.shape) for array in arrays_in((operands, tuple(params.values())))]
    largest = max(map(prod, shapes), default=0)
    if largest <= SMALL:
        return _own_sizes(function, operands, params, number)
    sizes = sorted({size for shape in shapes for size in shape if size >= SPREADS[0][0]})
    try:
        trials = []
        for first, step in SPREADS:
            standing: dict[Size, int] = {size: first + step * k for k, size in enumerate(sizes)}
            found = call_on_stand_ins(function, operands, params, standing, number)
            trials.append((found, {value: size for size, value in standing.items()}))
        return _joined(trials), type(trials[0][0])
    except (_Unknown, CannotInfer) as refused:
        if largest <= LARGEST:
            return _own_sizes(function, operands, params, number)
        raise CannotInfer(str(refused)) from None


def _own_sizes(
    function: Callable[..., Any], operands: tuple[Any, ...], params: Mapping[str, Any], number: int
) -> tuple[Any, type]:
    found = call_on_stand_ins(function, operands, params, {}, number)
    return _joined([(found, {})]), type(found)


def _refuse_sizes_from_numbers(
    function: Callable[..., Any], operands: tuple[Any, ...], params: Mapping[str, Any], found: Any
) -> None:
    """A number that the graph computes may be how many elements there are: then the result never is as predicted."""
    if not any(array.scalar for array in arrays_in((operands, tuple(params.values())))):
        return
    try:
        again = _try(function, operands, params, OTHER_NUMBER)
    except CannotInfer:
        again = None
    if again != found:
        raise CannotInfer("a number that the graph computes decides the form of the result")


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
        return scalar_type(numeric(first.dtype))
    if type(first) is not np.ndarray:
        raise CannotInfer(f"a result of type {type(first).__name__}")
    layout = Layout.of(first)
    shape = tuple(_size([(array.shape[axis], back) for array, back in _pairs(trials)]) for axis in range(first.ndim))
    if not layout.dense or len(set(filter(None, layout.ranks))) != sum(rank > 0 for rank in layout.ranks):
        raise CannotInfer("a result whose memory has gaps")
    return ArrayType(numeric(first.dtype), shape, layout)


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
