"""Complex numbers in loops that are nodes: every bit as NumPy's arrays, NumPy's scalars and Python's numbers give it,
which round products each in a way of their own.
"""

import numpy as np
import pytest

from capture.backends import eager, inductor
from capture.ir.complexes import OTHER, lone_rounding, rounding, scalar_rounding
from tests.helpers import captured

BACKENDS = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e38, -2.5, 1.0, 1e308]


def made(n, seed=0, odd=0.0, dtype="c16"):
    rng = np.random.default_rng(seed)
    found = np.empty(n, dtype)
    for part in (found.real, found.imag):
        with np.errstate(all="ignore"):
            part[...] = np.where(rng.random(n) < odd, rng.choice(ODD, n), rng.standard_normal(n))
    return found


def loops(run):
    return sum(node.target == "loop" for graph in run.record.graphs for node in graph)


# Programs: each is one loop node ----------------------------------------------------------------------------------
def masks(z, w):
    z = z * 1
    count = np.zeros(z.shape, dtype=np.int64)
    for k in range(12):
        inside = np.abs(z) < 2.0
        count[inside] = k
        z[inside] = z[inside] ** 2 + w[inside]
    return count, z


def arrays(z, w):
    found = z
    for k in range(6):
        found = found * w + 0.25j * np.conj(z) - k
        found = found / (w + 3) - (-z)
        z = np.where(found.real > 0, found, z * 0.5)
        w = np.square(w) * np.complex64(0.5) + 1.5
    return found, z, w, found == z, found != w


def parts(z, w):
    size = np.zeros(z.shape[0])
    for k in range(8):
        size += z.real * w.imag + k
        z.imag[...] = w.real - z.real
        w.real[1:] *= 0.5
    return size


def sums(z, w):
    total = np.zeros(z.shape[0], z.dtype)
    for k in range(len(z)):
        total[k] = z.sum() + (z[:k] * w[:k]).sum() + np.mean(w)
    return total.real, total.imag


def scalars(z, w):
    found = z[0]
    for k in range(1, len(z)):
        found = (found * z[k] - w[k] / (found + 1)) ** 2
        found = found / (abs(found) + 1) - (-w[k]).conj()
        if found == z[k] or found != found:
            found = w[k]
        z[k] = found.conjugate() + 1j
        w[k] = found.real + found.imag * 2 + 0.5
    return found


def python_numbers(z, w):
    out = np.zeros(len(z))
    for i in range(len(z)):
        c, x, n = complex(float(z[i].real), float(w[i].imag)), 0j, 0
        while n < 20 and abs(x) <= 2.0:
            x = x**2 + c
            n += 1
        x = (x * c - 2) / (c + 3.5) - (-x) + 1.0
        out[i] = n + x.real * x.imag + (x**3).conjugate().imag + (x == c) + (x != 2) + bool(x)
    return out


def turning(z, w):
    """Python's zero becomes a NumPy scalar."""
    out = np.zeros(len(z), dtype=np.int64)
    for i in range(len(z)):
        x, k = 0j, -1
        for k in range(15):  # noqa: B007
            if abs(x) > 2.0:
                break
            x = x * x + z[i]
        out[i] = k + (x.real > 0)
    return out


def transform(z, w):
    out = np.zeros(len(z), dtype=complex)
    for k in range(len(z)):
        total = 0j
        for t in range(len(z)):
            total += z[t] * complex(0.5 * k, -0.25 * t)
        out[k] = total
    return out


def places(z, w):
    out = np.empty_like(z)
    for k in range(len(z)):
        out[k] = z[-1 - k]
        out[: k + 1] += w[k]
        z[k:], w[k] = w[k:] * 2.0, out[k]
    return out


def in_place(z, w):
    for _ in range(5):
        z *= w
        np.multiply(z, w, out=w)
        w -= z * 1j
    return z


PROGRAMS = [masks, arrays, parts, scalars, python_numbers, turning, transform, places, in_place]


@BACKENDS
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy(function, dtype, backend):
    run = captured(function, backend=backend)
    for n, odd in ((7, 0.0), (9, 0.0), (40, 0.0), (13, 0.3), (1, 0.0)):
        run.on(lambda: (made(n, n, odd, dtype), made(n, n + 1, odd, dtype)))  # noqa: B023
    if dtype == "c16" or function not in (turning, transform):  # a Python number would become a narrower scalar
        assert loops(run) >= 1 and not run.breaks and not run.record.loops


@BACKENDS
def test_sums(backend):
    run = captured(sums, backend=backend, exact=False)
    run.on(lambda: (made(40) + (30 + 50j), made(40, 1)))
    run.on(lambda: (made(700) + (30 + 50j), made(700, 1)))
    assert loops(run) >= 1 and not run.breaks


def by_axis(z):
    out = np.zeros((z.shape[0] - 1, z.shape[1]), z.dtype)
    for k in range(z.shape[0] - 1):
        rows = z[k : k + 2]
        out[k] = rows.sum(axis=0) * (1 + 0j) + rows.sum(axis=1, keepdims=True)[0]
        for number in rows[0]:
            out[k] -= number
    return out.real, out.imag


@BACKENDS
def test_sums_along_axes(backend):
    run = captured(by_axis, backend=backend, exact=False)
    run.on(lambda: (made((8, 5)) + (30 + 50j),))
    run.on(lambda: (made((8, 5), 2) + (30 + 50j),))
    assert loops(run) == 1


def test_strides_are_left():
    """Products over strides are rounded as the signs of these say."""

    def function(z, n):
        for _ in range(n):
            z[::-2] = z[::-2] * z[::2]
        return z

    run = captured(function)
    run.on(lambda: (made(8), 9))
    run.on(lambda: (made(8), 9))
    (reason,) = run.record.loops.values()
    assert "strides" in reason


def test_roundings_are_known():
    for dtype in (np.dtype("c8"), np.dtype("c16")):
        found = rounding(dtype), lone_rounding(dtype), scalar_rounding(dtype)
        assert OTHER not in found, "a processor whose complex products are left to NumPy: fine, but new"


def raising(z, w):
    for k in range(len(z)):
        z[k] = complex(z[k]) / complex(w[k])
    return z


@BACKENDS
def test_division_by_zero_is_pythons(backend):
    run = captured(raising, backend=backend)
    run.on(lambda: (made(6), made(6, 1)))
    run.on(lambda: (made(6), made(6, 1) * (np.arange(6) != 3)))
    assert loops(run) >= 1


def overflowing(z, w):
    for k in range(1, len(z)):
        z[k] = z[k - 1] * z[k - 1]
        w[k] = w[k - 1] / (z[k] - z[k])
    return z, w


@BACKENDS
def test_warnings_are_numpys(backend):
    run = captured(overflowing, backend=backend)
    for _ in range(2):
        run.on(lambda: (made(6) * 1e200, made(6, 1)))
    assert loops(run) >= 1
