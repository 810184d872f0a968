"""Element by element: chains, activations, choices, complex numbers."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.programs.program import COMPLEX, Program, draw, matrix, normal, vector

TANH_SCALE = math.sqrt(2 / math.pi)


def chain(x, y):
    return (x * 2.0 + y) * (x - y) / 3.0


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(TANH_SCALE * (x + 0.044715 * (x * x * x))))


def hypotenuse(x, y):
    return np.sqrt(x * x + y * y)


def clipped_ramp(x):
    return np.where(x < 0, 0.1 * x, np.clip(x, 0, 1.5)) + np.minimum(np.abs(x), 1)


def outer_product(x, y):
    return np.exp(-np.abs(x[:, None] - y[None, :]))


def mandelbrot(c):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int32)
    for _ in range(20):
        inside = z.real * z.real + z.imag * z.imag <= 4
        z = np.where(inside, z * z + c, z)
        count += inside
    return count


def _plane(rng, n, dtype):
    return ((draw(rng, (n,), np.float64) - 0.5 + 1j * draw(rng, (n,), np.float64)).astype(dtype),)


def _outer(rng, n, dtype):
    rows, columns = matrix(n)
    return draw(rng, (rows,), dtype), draw(rng, (columns,), dtype)


PROGRAMS = (
    Program(chain, normal(2, vector), numexpr="(x * 2.0 + y) * (x - y) / 3.0"),
    Program(gelu, normal(1, vector), numexpr=f"0.5 * x * (1.0 + tanh({TANH_SCALE} * (x + 0.044715 * (x * x * x))))"),
    Program(hypotenuse, normal(2, vector), numexpr="sqrt(x * x + y * y)"),
    Program(clipped_ramp, normal(1, vector)),
    Program(outer_product, _outer),
    Program(mandelbrot, _plane, COMPLEX),
)
