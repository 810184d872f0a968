"""What is known of a value in a graph: dtype, shape, memory layout, and which kind of Python object it is.

In: arrays, scalars and Python numbers (``type_of``). Out: frozen, comparable types.

>>> str(type_of(np.ones((3, 4), np.float32)))
'f32[3, 4]'
>>> str(type_of(np.float64(1))), str(type_of(2.5))
('f64()', 'float')
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any

import numpy as np

from capture.ir.shapes import Expr, Size
from capture.records import dataclass, replace

MOST_AXES, MOST_BYTES = 64, 2**63 - 1
"""Of an array, as NumPy 2 has it."""

SHORT_NAMES = {
    np.dtype(name): short
    for name, short in {
        "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
        "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
        "float16": "f16", "float32": "f32", "float64": "f64", "longdouble": "f128",
        "complex64": "c64", "complex128": "c128",
    }.items()
}  # fmt: skip
DTYPES_BY_SHORT_NAME = {short: dtype for dtype, short in SHORT_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Layout:
    """The class of an array's strides: what guards check and kernels are specialised for.

    ``ranks[k]`` orders the axes by the size of their stride, larger for a larger stride; equal strides share a
    rank, and axes of size 1 or stride 0 have rank 0. ``dense`` says that the elements fill one block of memory
    without gaps, with positive strides, axes nested in the order of the ranks. ``inner`` says that neighbours
    along the axis of the lowest nonzero rank are neighbours in memory.
    """

    ranks: tuple[int, ...]
    dense: bool
    inner: bool

    @staticmethod
    def of(array: np.ndarray) -> Layout:
        return Layout.of_strides(array.shape, array.strides, array.itemsize)

    @staticmethod
    def of_strides(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Layout:
        """The class of concrete ``strides`` (bytes); an array without elements counts as C-contiguous."""
        if 0 in shape:
            return Layout.contiguous(shape)
        moving = [abs(stride) if size > 1 else 0 for size, stride in zip(shape, strides, strict=True)]
        steps = sorted({step for step in moving if step})
        ranks = tuple(steps.index(step) + 1 if step else 0 for step in moving)
        return Layout(ranks, _is_dense(shape, strides, itemsize), not steps or steps[0] == itemsize)

    @staticmethod
    def of_open(array: np.ndarray, open_axes: Collection[int]) -> Layout:
        """The class for an array some of whose sizes are left open: these axes count as moving, whatever they are."""
        shape = [2 if axis in open_axes else size for axis, size in enumerate(array.shape)]
        if array.flags.c_contiguous:
            return Layout.contiguous(shape)
        if array.flags.f_contiguous:
            return Layout.contiguous(shape, range(array.ndim)[::-1])
        shape = [max(size, shape[axis]) for axis, size in enumerate(array.shape)]
        layout = Layout.of_strides(shape, array.strides, array.itemsize)
        return replace(layout, dense=_is_dense(array.shape, array.strides, array.itemsize))

    def fits(self, array: np.ndarray, open_axes: Collection[int] = ()) -> bool:
        """Whether an array is of this class. An open axis that has size 1 this time has no say."""
        if not array.size:
            return True
        shape, strides, dense_stride, last = array.shape, array.strides, array.itemsize, -1
        ordered = inner = True
        still = [axis for axis, rank in enumerate(self.ranks) if not rank]
        dense = all(shape[axis] == 1 for axis in still)
        if any(shape[axis] != 1 and strides[axis] != 0 for axis in still):
            return False
        moving = [axis for axis, rank in enumerate(self.ranks) if rank]
        for place, axis in enumerate(sorted(moving, key=lambda axis: self.ranks[axis])):
            size, stride = shape[axis], abs(strides[axis])
            if size == 1:
                ordered &= axis in open_axes
                inner = self.inner if place == 0 else inner
                continue
            tied = last >= 0 and self.ranks[axis] == self.ranks[last]
            ordered &= stride == abs(strides[last]) if tied else stride > (abs(strides[last]) if last >= 0 else 0)
            dense &= strides[axis] == dense_stride
            dense_stride *= size
            inner = stride == array.itemsize if place == 0 else inner
            last = axis
        return ordered and dense == self.dense and inner == self.inner

    @staticmethod
    def contiguous(shape: Sequence[Size], order: Sequence[int] | None = None) -> Layout:
        """A dense layout whose axes nest in ``order``, outermost first (default: C order)."""
        order = range(len(shape)) if order is None else order
        moving = [axis for axis in order if shape[axis] != 1]
        ranks = [0] * len(shape)
        for rank, axis in enumerate(reversed(moving), 1):
            ranks[axis] = rank
        return Layout(tuple(ranks), True, True)

    def settled(self, shape: Sequence[Size]) -> Layout:
        """The class of an array of this shape: axes that turned out to have one element do not move."""
        if all(not rank or size != 1 for rank, size in zip(self.ranks, shape, strict=True)):
            return self
        moves = [bool(rank) and size != 1 for rank, size in zip(self.ranks, shape, strict=True)]
        kept = sorted({rank for rank, moving in zip(self.ranks, moves, strict=True) if moving})
        ranks = (kept.index(rank) + 1 if moving else 0 for rank, moving in zip(self.ranks, moves, strict=True))
        return Layout(tuple(ranks), self.dense, self.dense or not kept or (self.inner and kept[0] == 1))

    @property
    def order(self) -> tuple[int, ...]:
        """The axes from outermost to innermost; axes that do not move keep their place among their neighbours."""
        return keep_order((self,), len(self.ranks))

    @property
    def is_c(self) -> bool:
        moving = [rank for rank in self.ranks if rank]
        return self.dense and moving == sorted(moving, reverse=True)

    @property
    def is_f(self) -> bool:
        moving = [rank for rank in self.ranks if rank]
        return self.dense and moving == sorted(moving)

    def __str__(self) -> str:
        if self.is_c:
            return "C"
        if self.is_f:
            return "F"
        kind = "dense" if self.dense else "inner" if self.inner else "strided"
        return f"{kind}<{','.join(map(str, self.ranks))}>"


def _is_dense(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    expected = itemsize
    for stride, size in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def keep_order(layouts: Sequence[Layout], ndim: int) -> tuple[int, ...]:
    """The axes of a ufunc's fresh output, outermost first, as ``order='K'`` nests them.

    ``layouts`` are those of the operands after broadcasting to ``ndim`` axes (rank 0 on broadcast axes). It is
    the insertion sort of NumPy's iterator (``npyiter_find_best_axis_ordering``): start from C order; an axis
    moves inward when its stride is smaller in the first operand that can tell, and C order wins conflicts.
    """
    order = list(range(ndim - 1, -1, -1))  # innermost first, as the iterator keeps them
    ranks = [(0,) * (ndim - len(layout.ranks)) + layout.ranks for layout in layouts]
    for start in range(1, ndim):
        position, axis = start, order[start]
        for candidate in range(start - 1, -1, -1):
            verdict = _moves_inward(ranks, axis, order[candidate])
            if verdict is False:
                break
            if verdict:
                position = candidate
        order.insert(position, order.pop(start))
    return tuple(reversed(order))


def _moves_inward(ranks: Sequence[tuple[int, ...]], axis: int, other: int) -> bool | None:
    """Whether ``axis`` belongs inside ``other``; None where every operand leaves it open."""
    verdict: bool | None = None
    for operand in ranks:
        if operand[axis] and operand[other]:
            if operand[other] <= operand[axis]:
                verdict = False
            elif verdict is None:
                verdict = True
    return verdict


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An ndarray, or with ``scalar`` a NumPy scalar (``np.float64(1)``; its shape is ``()``).

    ``layout`` is None where it is not known or of no interest.
    """

    dtype: np.dtype
    shape: tuple[Size, ...]
    layout: Layout | None = None
    scalar: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def may_be(self) -> bool:
        """Whether NumPy can make such an array, as far as sizes are known; sizes of zero do not make it smaller."""
        known = [size for size in self.shape if isinstance(size, int) and size]
        return self.ndim <= MOST_AXES and prod(known) * self.dtype.itemsize <= MOST_BYTES

    def with_layout(self, layout: Layout | None) -> ArrayType:
        return replace(self, layout=layout)

    def __str__(self) -> str:
        name = SHORT_NAMES.get(self.dtype, str(self.dtype))
        if self.scalar:
            return f"{name}()"
        layout = "" if self.layout is not None and self.layout.is_c else f"{{{self.layout or '?'}}}"
        return f"{name}[{', '.join(map(str, self.shape))}]{layout}"


@dataclass(frozen=True, slots=True)
class NumberType:
    """A Python number that is not known while compiling; ``size``: its value as a size expression, for ints."""

    python: type
    size: Size | None = None

    @property
    def dtype(self) -> np.dtype:
        """What compiled code keeps it in."""
        return np.dtype(self.python)

    def __str__(self) -> str:
        return self.python.__name__ if self.size is None else f"{self.python.__name__}={self.size}"


@dataclass(frozen=True, slots=True)
class ObjectType:
    """An object that operations are called on: a generator of random numbers, the user's or one that a graph makes."""

    python: type
    dtype = np.dtype(object)
    """What NumPy would keep it in."""

    def __str__(self) -> str:
        return f"<{self.python.__name__}>"


OBJECTS = {kind.__name__: kind for kind in (np.random.Generator, np.random.RandomState)}

Type = ArrayType | NumberType | ObjectType
PYTHON_NUMBERS = (bool, int, float, complex)


def array_type(dtype: Any, shape: Sequence[Size], order: Sequence[int] | None = None) -> ArrayType:
    """The type of a freshly allocated dense array (C order unless ``order`` says otherwise)."""
    return ArrayType(np.dtype(dtype), tuple(shape), Layout.contiguous(tuple(shape), order))


def scalar_type(dtype: Any) -> ArrayType:
    return ArrayType(np.dtype(dtype), (), Layout.contiguous(()), scalar=True)


def type_of(value: Any) -> Type:
    """The exact type of a concrete value; TypeError for what graphs do not carry."""
    if type(value) is np.ndarray:
        return ArrayType(value.dtype, value.shape, Layout.of(value))
    if isinstance(value, np.generic):
        return scalar_type(value.dtype)
    if type(value) in PYTHON_NUMBERS:
        return NumberType(type(value))
    if type(value) in OBJECTS.values():
        return ObjectType(type(value))
    raise TypeError(f"no graph type for {type(value).__name__}")


def same_form(type: Any, value: Any) -> bool:
    """Whether a value, or several of them, has the type but for its layout."""
    if isinstance(type, tuple):
        return len(type) == len(value) and all(map(same_form, type, value))
    found = type_of(value)
    if not isinstance(type, ArrayType) or not isinstance(found, ArrayType):
        return type == found
    return (type.dtype, type.scalar, type.shape) == (found.dtype, found.scalar, found.shape)


def is_static(shape: Sequence[Size]) -> bool:
    return not any(isinstance(size, Expr) for size in shape)
