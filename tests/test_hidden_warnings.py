"""Warnings of what the compiler would rather not compute: constants, and values that only some elements need."""

import numpy as np
import pytest

from capture.backends import inductor
from tests.helpers import captured


def both(source):
    names = {"np": np}
    exec(f"def f(x, y):\n    {source}", names)
    return [captured(names["f"], backend=inductor, exact=False, dynamic=dynamic) for dynamic in (False, True)]


def listed(text):
    return [part.strip() for line in text.split("\n") for part in line.split(" | ") if part]


CONSTANT = """
return x.sum() / y.sum() | return x.sum() / 0.0, y.sum() * np.inf | return x.prod() / x.sum(), len(x) / x.sum()
return y.sum(axis=1) / y.sum(axis=1) | return np.log(x.sum()), np.sqrt(x.sum() - 1), 1 / x.sum()
return x.max(initial=-np.inf) - x.max(initial=-np.inf), np.dot(x, x) / np.dot(x, x)
z = np.zeros(3); return z.sum() / z.sum(), z.mean() / z.mean(), (-z) / (-z), z.max() / z.min()
z = np.zeros((2, 2)); return z.sum(axis=0) / z.sum(axis=0), z / z, 1 / z, np.log(z)
z = np.zeros(3, int); return z / z, (z - z) / z, z.sum() / z.sum()
z = np.zeros(3, 'f4'); return z / z, np.log(z.sum())
z = np.full(4, np.inf); return z.sum() - z.sum(), z - z, z.max() * 0.0 | return np.arange(1) / 0.0, np.eye(1) * np.inf
z = np.arange(3.0) * 1e-320; return z.sum() / z, z / z.sum(), 1 / z.sum() | z = np.arange(5.0) * 5e-324; return 1 / z
z = np.arange(1.0); return 1 / z.sum(), np.log(z), z.sum() / z
z = np.arange(9.0) * 1e300; return z * z, z.sum() * 1e20
z = np.arange(200.0); return 1 / z, np.log(z - 3), z.sum() / (z - z) | z = np.arange(4); return z / z, np.sqrt(z - 2.0)
z = np.eye(3) * 1e-310; return 1 / z, z.sum() / z.T | z = np.linspace(0, 1, 5); return 1 / z, np.log(z[::2])
"""


@pytest.mark.parametrize("rows", [3, 100])
@pytest.mark.parametrize("source", listed(CONSTANT))
def test_constants(source, rows):
    for run in both(source):
        run(np.ones(0), np.ones((rows, 0)))
        assert run.graphs


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("stop", [1.0, 65504.0, 65520.0, 1e6, 1e39])
def test_casts_of_linspace(stop, dtype):
    """NumPy warns of them where its own code casts."""

    def spaced():
        return np.linspace(0, stop, 5, dtype=dtype), np.linspace(-stop, 1, 3, dtype=dtype)

    run = captured(spaced, backend=inductor)
    run()
    assert run.graphs


MASKED = """
return np.where(x != 0, y / x, 0.0) | return np.where(x > 1, x / x, 2.0) | return np.where(x != 0, 1 / x, y)
z = x - x; return np.where(z > 1, np.sqrt(z - 1), z) | return np.where(x > 0, np.log(x), 0.0)
return np.where(x > 0, (1 / x).astype(int), 0) | return np.where(x > 0, 1 / x.astype('f4'), np.float32(0))
return np.where(x > 0, np.where(x > 1, y / x, 1.0), 0.0) | return np.where((x > 0) & (y / x > 0.1), y / x, 0.0)
return (x != 0) & (y / x > 1) | return np.where(x != 0, y / x, 0.0).sum() | z = y / x; return np.where(x > 0, z, 0.0), z
return np.where(x[:, None] > 0, y / x[:, None], 0).sum(axis=1) | return np.where(x > 0, y // x, y % x)
return np.where(x > 0, np.exp(1000 / x), 0.0) | return np.where(x > 0, (y / x).astype('f2'), np.float16(0))
"""


@pytest.mark.parametrize("zeros", ["all", "some", "none"])
@pytest.mark.parametrize("size", [1, 3, 100, 5000])
@pytest.mark.parametrize("source", listed(MASKED))
def test_values_that_only_some_elements_need(source, size, zeros):
    x = np.full(size, 2.0) if zeros == "none" else np.zeros(size)
    x[:: 3 if zeros == "some" else size] = 2.0 if zeros == "some" else x[0]
    for run in both(source):
        run(x.copy(), np.ones(size))
        assert run.breaks == [] and run.graphs == 1


def test_warnings_that_are_ignored():
    run = captured(lambda x, y: np.where(x != 0, y / x, 0.0), backend=inductor)
    with np.errstate(divide="ignore", invalid="ignore"):
        run(np.array([0.0, 1, 0, 2] * 100), np.ones(400))
    assert run.breaks == [] and run.graphs == 1
