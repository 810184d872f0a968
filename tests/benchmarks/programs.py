"""The benchmark programs: plain NumPy functions as people write them, with inputs of any size.

``np`` is looked up in this module's globals, so that a port to another array library is the same source with other
globals (see ``peers``). ``n`` is the number of elements of the largest array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

TANH_SCALE = math.sqrt(2 / math.pi)


def chain(x, y):
    return (x * 2.0 + y) * (x - y) / 3.0


def gaussian_sum(x, w, b):
    return (np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * w + b).sum(axis=1)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, scale, shift):
    mean = x.mean(axis=1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * scale + shift


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(TANH_SCALE * (x + 0.044715 * (x * x * x))))


def normal_cdf(x):
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * series
    return np.where(x > 0, 1.0 - tail, tail)


def black_scholes(spot, strike, years):
    volatility, rate = 0.25, 0.02
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root
    return spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d2)


def variance_columns(x):
    return x.var(axis=0)


def variance_rows(x):
    return x.var(axis=1)


def masked_sum(x, y):
    return np.where(x > y, x, 0).sum()


@dataclass(frozen=True)
class Program:
    """A function and how to make its arguments for ``n`` elements of a dtype."""

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int, Any], tuple[np.ndarray, ...]]

    @property
    def name(self) -> str:
        return self.function.__name__


def _matrix(n: int) -> tuple[int, int]:
    """Rows and columns of about n elements: rows of up to 1,000."""
    columns = min(1000, math.isqrt(n))
    return n // columns, columns


def _normal(count: int, shape: Callable[[int], tuple[int, ...]]) -> Callable[..., tuple[np.ndarray, ...]]:
    return lambda rng, n, dtype: tuple(rng.standard_normal(shape(n)).astype(dtype) for _ in range(count))


def _rows_with_vectors(count: int) -> Callable[..., tuple[np.ndarray, ...]]:
    def make(rng: np.random.Generator, n: int, dtype: Any) -> tuple[np.ndarray, ...]:
        shape = _matrix(n)
        vectors = (rng.standard_normal(shape[1]).astype(dtype) for _ in range(count))
        return (rng.standard_normal(shape).astype(dtype), *vectors)

    return make


def _market(rng: np.random.Generator, n: int, dtype: Any) -> tuple[np.ndarray, ...]:
    return tuple(rng.uniform(low, high, n).astype(dtype) for low, high in ((50, 150), (50, 150), (0.1, 3)))


PROGRAMS = (
    Program(chain, _normal(2, lambda n: (n,))),
    Program(gaussian_sum, _rows_with_vectors(2)),
    Program(softmax, _normal(1, _matrix)),
    Program(layer_norm, _rows_with_vectors(2)),
    Program(gelu, _normal(1, lambda n: (n,))),
    Program(black_scholes, _market),
    Program(variance_columns, _normal(1, _matrix)),
    Program(variance_rows, _normal(1, _matrix)),
    Program(masked_sum, _normal(2, lambda n: (n,))),
)
