"""``ufunc.at``: every ufunc that is compiled, over dtypes, with the values and warnings that NumPy's loops give, the
slow one and the fast ones; Python numbers are arrays of their own dtype there.
"""

from __future__ import annotations

import numpy as np
import pytest

from capture.backends import inductor
from capture.ir.ops.mutation import COMBINING
from tests import helpers

DTYPES = ("?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8")
NUMBERS = {
    "f2": [6e4, 0, np.inf, 1, np.nan],
    "f4": [1e38, 0, np.inf, -1.5, np.nan],
    "f8": [1e308, 0, np.inf, -1.5, np.nan],
    "i1": [1, -1, -128, 0, 7],
    "i4": [1, -1, -(2**31), 0, 7],
    "i8": [1, -1, -(2**63), 0, 7],
}


def numbers(dtype):
    return np.array(NUMBERS.get(dtype, [1, 0, 3, 2, 5])).astype(dtype)


def combining(name):
    ufunc = getattr(np, name)

    def combine(x, places, values):
        ufunc.at(x, places, values)
        return x

    return combine


def operands(dtype):
    x = numbers(dtype)
    yield np.array([0, 1, 1, 3, 2, 4]), x[[0, 1, 4, 2, 3, 1]]
    yield np.array([[0, 1], [1, 3]]), x[[[0, 3], [1, 2]]]
    yield np.arange(5, dtype=np.int32), x[::-1].copy()
    yield np.array([4, -1, 0]), x[2]
    yield [1, 1, 4], x[:3]
    yield np.arange(0), x[:0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMBINING)
def test_interpreted(name, dtype):
    run = helpers.captured(combining(name))
    for places, values in operands(dtype):
        run(numbers(dtype), places, values)
    assert run.graphs or run.breaks


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "f8"])
@pytest.mark.parametrize("name", COMBINING)
def test_compiled(name, dtype):
    run = helpers.captured(combining(name), backend=inductor)
    for places, values in list(operands(dtype))[:3]:
        run(numbers(dtype), places, values)
    assert run.graphs or run.breaks


@pytest.mark.parametrize("name", ["add", "divide", "maximum", "fmin", "remainder"])
def test_floats_stay_in_the_graph(captured, name):
    run = captured(combining(name))
    for places, values in operands("f8"):
        run(numbers("f8"), places, values)
    assert run.breaks == [] and run.graphs


def combining_with(ufunc, value):
    def combine(x):
        ufunc.at(x, [0, 1, 1, 2], value)
        return x

    return combine


LITERALS = (1, 2, -2, 0.5, 0.1, True, 300, 2**40, float("nan"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMBINING)
def test_python_numbers(name, dtype):
    ufunc = getattr(np, name)
    large = np.array([2**63 + 1, 3, 5, 7], np.uint64).astype(dtype) if dtype != "i8" else np.array([2**62 + 1, 3, 5, 7])
    for value in LITERALS:
        run = helpers.captured(combining_with(ufunc, value))
        run(large)
        assert run.graphs or run.breaks


@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8"])
def test_python_numbers_that_change_nothing_stay(captured, dtype):
    def count(x, places):
        np.add.at(x, places, 1)
        np.subtract.at(x, places, 3)
        np.maximum.at(x, places, 2)
        return x

    run = captured(count)
    run(np.arange(5).astype(dtype), np.array([1, 1, 3]))
    assert run.breaks == [] and run.graphs


@pytest.mark.parametrize("name", ["subtract", "logical_and", "negative", "power", "divmod"])
def test_others(name):
    ufunc = getattr(np, name)
    run = helpers.captured(lambda x: ufunc.at(x, [1, 2], *[2.0] * (ufunc.nin - 1)))
    run(np.arange(4.0))
    assert run.graphs or run.breaks
