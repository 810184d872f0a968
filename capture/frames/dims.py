"""What users declare of sizes: named dims with bounds, and arrays some of whose sizes change.

In: ``compile(f, dynamic={"x": {0: Dim("batch", min=1, max=1024)}, "n": Dim("n")})``, ``mark_dynamic(x, 0)``. Out: which
sizes are left open, and what must be true of them. Equal names mean equal sizes; ``2 * batch`` and ``batch + 1`` are
derived sizes. A call that does not keep to it is refused with ``ShapeConstraintError``.

>>> batch = Dim("batch", max=8)
>>> declared = declare(lambda x, y: ..., {"x": {0: batch}, "y": {0: 2 * batch}})
>>> declared.violation((np.ones(3), np.ones(5)))
"y.shape[0] is 5, but it is declared as 2*batch, and 'batch' is 3 (x.shape[0]) (declared at model.py:4)"
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from capture.frames.sources import Argument, Dimension, Source
from capture.ir.shapes import Size, Symbol, evaluate, linear, to_python
from capture.records import dataclass, field


class DerivedDim:
    """A size computed from named dims, such as ``2 * batch + 1``; immutable."""

    __slots__ = ("dims", "size")

    def __init__(self, size: Size, dims: frozenset[Dim]) -> None:
        self.size = size
        self.dims = dims

    def _with(self, other: Any, combine: Callable[[Any, Any], Size]) -> DerivedDim:
        if type(other) is int:
            return DerivedDim(combine(self.size, other), self.dims)
        if isinstance(other, DerivedDim):
            return DerivedDim(combine(self.size, other.size), self.dims | other.dims)
        return NotImplemented

    def __add__(self, other: Any) -> DerivedDim:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> DerivedDim:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> DerivedDim:
        return self._with(other, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> DerivedDim:
        return self._with(other, lambda a, b: a // b)

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self) -> str:
        return to_python(self.size)


class Dim(DerivedDim):
    """A named size of ``min`` to ``max`` elements, inclusive (None: no bound). Equal names mean equal sizes."""

    __slots__ = ("max", "min", "name", "place")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if type(name) is not str:
            raise TypeError(f"the name of a Dim is a str, not {name!r}")
        if any(bound is not None and (type(bound) is not int or bound < 0) for bound in (min, max)):
            raise ValueError(f"the bounds of Dim {name!r} are sizes: ints that are not negative")
        if min is not None and max is not None and min > max:
            raise ValueError(f"Dim {name!r} has a minimum of {min} above its maximum of {max}")
        super().__init__(Symbol(name), frozenset())
        self.name, self.min, self.max = name, min, max
        self.dims = frozenset({self})
        self.place = _line_of_caller()

    def __repr__(self) -> str:
        bounds = [f", {word}={bound}" for word, bound in (("min", self.min), ("max", self.max)) if bound is not None]
        return f"Dim({self.name!r}{''.join(bounds)})"


def _line_of_caller() -> str:
    """Where a Dim is made, in words: the bounds that a call does not keep to stand there."""
    frame = sys._getframe(2)
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


@dataclass(frozen=True)
class Declared:
    """The declared dims of one function, by place: ``x.shape[0]`` or an int argument."""

    dims: Mapping[Source, DerivedDim] = field(default_factory=dict)

    def violation(self, arguments: Sequence[Any]) -> str:
        """What is wrong with a call's argument slots, in words; empty if nothing is."""
        seen: dict[str, tuple[int, str]] = {}
        for place, dim, size in self._sizes(arguments):
            if isinstance(size, str):
                return size
            if isinstance(dim, Dim):
                value, where = seen.setdefault(dim.name, (size, place.name()))
                wrong = _out_of_bounds(dim, size) or ("" if value == size else f"{dim.name!r} is {value} ({where})")
                if wrong:
                    return f"{place.name()} is {size}, but {wrong}{_declared(dim)}"
        for place, dim, size in self._sizes(arguments):
            if isinstance(dim, Dim):
                continue
            assert isinstance(size, int)
            if not all(each.name in seen for each in dim.dims):
                wrong = _unreachable(dim, size, seen, place.name())
                if wrong:
                    return f"{place.name()} is {size}, but {wrong}{_declared(*dim.dims)}"
                continue
            if evaluate(dim.size, {each.name: seen[each.name][0] for each in dim.dims}) != size:
                told = ", ".join(f"{e.name!r} is {seen[e.name][0]} ({seen[e.name][1]})" for e in dim.dims)
                return f"{place.name()} is {size}, but it is declared as {dim!r}, and {told}{_declared(*dim.dims)}"
        return ""

    def _sizes(self, arguments: Sequence[Any]) -> Iterator[tuple[Source, DerivedDim, int | str]]:
        """Each declared place with its size in this call, or with what is wrong there."""
        for place, dim in self.dims.items():
            if isinstance(place, Dimension):
                assert isinstance(place.whole, Argument)
                value = arguments[place.whole.index]
                if type(value) is np.ndarray:
                    missing = f"{place.whole.name()} has {value.ndim} axes, but {place.name()} is declared as {dim!r}"
                    yield place, dim, value.shape[place.axis] if place.axis < value.ndim else missing
            else:
                assert isinstance(place, Argument)
                value = arguments[place.index]
                if type(value) is np.ndarray and value.ndim:
                    yield place, dim, f"{place.name()} is an array, but it is declared as {dim!r}, as ints are"
                if type(value) is int:
                    yield place, dim, value


def _out_of_bounds(dim: Dim, size: int) -> str:
    if dim.min is not None and size < dim.min:
        return f"the minimum of {dim.name!r} is {dim.min}"
    return f"the maximum of {dim.name!r} is {dim.max}" if dim.max is not None and size > dim.max else ""


def _declared(*dims: Dim) -> str:
    """Where to look when a call does not keep to it."""
    places = sorted({dim.place for dim in dims})
    return f" (declared at {', '.join(places)})"


def multiple_of(derived: DerivedDim) -> tuple[Dim, int, int] | None:
    """``dim, a, b`` where the derived dim is ``a * dim + b`` of a single dim: then a size of it tells the dim."""
    terms, constant = linear(derived.size)
    if len(derived.dims) != 1 or len(terms) != 1:
        return None
    (dim,) = derived.dims
    factors, coefficient = terms[0]
    return (dim, coefficient, constant) if factors == ((dim.size, 1),) else None


def _unreachable(derived: DerivedDim, size: int, seen: dict[str, tuple[int, str]], where: str) -> str:
    """What is wrong with the size of a derived dim whose own dim no other place tells."""
    found = multiple_of(derived)
    if found is None:
        return ""
    dim, factor, more = found
    value, rest = divmod(size - more, factor)
    if rest:
        return f"it is declared as {derived!r}"
    seen[dim.name] = value, f"by {where}"
    wrong = _out_of_bounds(dim, value) or ("no size is negative" if value < 0 else "")
    return f"it is declared as {derived!r}, so that {dim.name!r} is {value}, and {wrong}" if wrong else ""


def declare(function: FunctionType, dynamic: Mapping[str, Any]) -> Declared:
    """The dims of ``dynamic={"x": {0: Dim("batch")}, "n": Dim("n")}``; ValueError or TypeError for bad ones."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    dims: dict[Source, DerivedDim] = {}
    for name, spec in dynamic.items():
        if name not in names:
            known = ", ".join(names) or "nothing"
            raise ValueError(f"dynamic names {name!r}, but {function.__qualname__} takes {known}")
        source = Argument(names.index(name), name)
        if isinstance(spec, DerivedDim):
            dims[source] = spec
            continue
        if not isinstance(spec, Mapping) or not all(type(axis) is int and axis >= 0 for axis in spec):
            raise TypeError(f"dynamic[{name!r}] is a Dim for an int, or a dict from axes to Dims for an array")
        for axis, dim in spec.items():
            if not isinstance(dim, DerivedDim):
                raise TypeError(f"dynamic[{name!r}][{axis}] is a {type(dim).__name__}, not a Dim")
            dims[Dimension(source, axis)] = dim
    _require_one_meaning(dims)
    return Declared(dims)


def _require_one_meaning(dims: Mapping[Source, DerivedDim]) -> None:
    known: dict[str, Dim] = {}
    for dim in (each for derived in dims.values() for each in derived.dims):
        other = known.setdefault(dim.name, dim)
        if (other.min, other.max) != (dim.min, dim.max):
            raise ValueError(f"{dim!r} and {other!r} have one name but not the same bounds")


# Marks on arrays ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Marks:
    """What was said of one array: open axes with their bounds, and axes that stay constants."""

    dynamic: Mapping[int, tuple[int | None, int | None]] = field(default_factory=dict)
    static: frozenset[int] = frozenset()


_marked: dict[int, tuple[weakref.ref[np.ndarray], Marks]] = {}


def marks_of(array: np.ndarray) -> Marks:
    found = _marked.get(id(array)) if _marked else None
    return found[1] if found is not None and found[0]() is array else Marks()


def _mark(array: np.ndarray, marks: Marks) -> None:
    key = id(array)
    _marked[key] = weakref.ref(array, lambda _: _marked.pop(key, None)), marks


def mark_dynamic(array: np.ndarray, axis: int, min: int | None = None, max: int | None = None) -> None:
    """Leave the size of ``array`` along ``axis`` open from the first capture that sees this array on.

    ``min`` and ``max`` bound it: ShapeConstraintError if the size is out of them, or if the program needs one size.
    """
    axis = _checked_axis(array, axis)
    size = array.shape[axis]
    wrong = _out_of_bounds(Dim("size", min=min, max=max), size)
    if wrong:
        raise ValueError(f"axis {axis} has size {size}: {wrong}")
    known = marks_of(array)
    _mark(array, Marks({**known.dynamic, axis: (min, max)}, known.static - {axis}))


def mark_static(array: np.ndarray, axis: int | None = None) -> None:
    """Take the size of ``array`` along ``axis`` (None: every axis) as a constant, also under ``dynamic=True``."""
    axes = range(array.ndim) if axis is None else (_checked_axis(array, axis),)
    known = marks_of(array)
    dynamic = {place: bounds for place, bounds in known.dynamic.items() if place not in axes}
    _mark(array, Marks(dynamic, known.static | set(axes)))


def _checked_axis(array: Any, axis: int) -> int:
    if type(array) is not np.ndarray:
        raise TypeError(f"only ndarrays can be marked, not {type(array).__name__}")
    if not -array.ndim <= axis < array.ndim:
        raise ValueError(f"axis {axis} is out of bounds for an array of {array.ndim} axes")
    return axis % array.ndim
