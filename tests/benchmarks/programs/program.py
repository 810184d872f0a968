"""What a benchmark program is, and makers of arguments.

A program is a plain NumPy function as people write it. It looks ``np`` up in its module's globals, so that a port to
another array library is the same source with other globals (see ``peers``). A maker takes a random generator, ``n``,
the number of elements of the largest array, and a dtype.

>>> Program(chain, normal(2, vector)).arguments(np.random.default_rng(0), 3, "float32")
(array([...], dtype=float32), array([...], dtype=float32))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator, int, Any], tuple[np.ndarray, ...]]
Shape = tuple[int, ...]

FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")


@dataclass(frozen=True)
class Program:
    """A function, how to make its arguments for ``n`` elements of a dtype, and how to say it otherwise."""

    function: Callable[..., Any]
    arguments: Maker
    dtypes: tuple[str, ...] = FLOATS
    numexpr: str | None = None
    """The same as an expression of numexpr over the function's parameters, where there is one."""

    @property
    def name(self) -> str:
        return self.function.__name__


# Shapes ---------------------------------------------------------------------------------------------------------------
def vector(n: int) -> Shape:
    return (n,)


def matrix(n: int) -> Shape:
    """Rows and columns of about n elements: rows of up to 1,000."""
    columns = min(1000, math.isqrt(n))
    return n // columns, columns


def square(n: int) -> Shape:
    return math.isqrt(n), math.isqrt(n)


def rows_of(columns: int) -> Callable[[int], Shape]:
    return lambda n: (max(1, n // columns), columns)


def pixels(n: int) -> Shape:
    """An image of three channels."""
    side = math.isqrt(n // 3)
    return side, side, 3


# Arguments ------------------------------------------------------------------------------------------------------------
def normal(count: int, shape: Callable[[int], Shape]) -> Maker:
    return lambda rng, n, dtype: tuple(draw(rng, shape(n), dtype) for _ in range(count))


def uniform(low: float, high: float, shape: Callable[[int], Shape]) -> Maker:
    return lambda rng, n, dtype: (rng.uniform(low, high, shape(n)).astype(dtype),)


def rows_with_vectors(count: int, shape: Callable[[int], Shape] = matrix) -> Maker:
    """A matrix and vectors as long as its rows."""
    return lambda rng, n, dtype: (
        draw(rng, shape(n), dtype),
        *(draw(rng, shape(n)[-1:], dtype) for _ in range(count)),
    )


def draw(rng: np.random.Generator, shape: Shape, dtype: Any) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def weights(rng: np.random.Generator, shape: Shape, dtype: Any) -> np.ndarray:
    """Of a layer that keeps the size of what goes through it."""
    return draw(rng, shape, dtype) / np.asarray(math.sqrt(shape[0]), dtype)
