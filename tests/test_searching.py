"""``searchsorted``, ``digitize`` and ``interp`` in loops: values and types as NumPy's, and what is left to NumPy."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests import helpers

BACKENDS = (eager, inductor)
DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64")


@pytest.fixture(params=BACKENDS, ids=["eager", "inductor"])
def captured(request):
    return lambda function: helpers.captured(function, backend=request.param)


def rising(dtype, size):
    numbers = np.sort(np.random.default_rng(size).integers(0, 2 if dtype == "bool" else 30, size)).astype(dtype)
    if numbers.dtype.kind == "f" and size > 3:
        numbers[-2:] = np.inf, np.nan
    return numbers


def wanted(dtype, shape):
    numbers = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 40, shape).astype(dtype)
    if numbers.dtype.kind == "f" and numbers.size:
        numbers.flat[:3] = np.nan, -np.inf, np.inf
    return numbers


def search(a, v):
    return np.searchsorted(a, v), np.searchsorted(a, v, side="right"), a.searchsorted(v, "left")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 100])
def test_places_in_a_rising_array(captured, dtype, size):
    run = captured(search)
    run(rising(dtype, size), wanted(dtype, (6, 10)))
    run(rising(dtype, size), wanted(dtype, (6, 10)))
    assert run.graphs == 1 and run.breaks == []


@pytest.mark.parametrize("layout", [lambda a: np.repeat(a, 2)[::2], lambda a: a[::-1].copy()[::-1]])
def test_places_in_a_view(captured, layout):
    run = captured(search)
    run(layout(rising("float64", 50)), np.asfortranarray(wanted("float64", (8, 20))))
    assert run.graphs == 1


def test_dtypes_that_differ_meet_before_the_search(captured):
    run = captured(search)
    run(rising("int32", 20), wanted("float32", (30,)))
    run(rising("uint64", 20), wanted("int64", (30,)))
    run(rising("float16", 20), wanted("int8", (30,)))
    assert run.graphs == 3


def test_an_array_that_falls_is_left_to_numpy_at_run_time(captured):
    run = captured(search)
    run(rising("float64", 20), wanted("float64", (30,)))
    run(np.array([3.0, np.nan, 1.0, 2.0] * 5), wanted("float64", (30,)))
    run(rising("float64", 20)[::-1].copy(), wanted("float64", (30,)))
    assert run.graphs == 1


def test_digitize(captured):
    run = captured(lambda x, bins: (np.digitize(x, bins), np.digitize(x, bins, right=True), np.digitize(x, (1.0, 2.0))))
    bins = np.array([0.0, 1.0, 1.0, 2.5, np.inf])
    x = wanted("float64", (4, 9))
    run(x, bins)
    run(x, bins[::-1].copy())
    run(x, np.array([1.0, 3.0, 2.0, 4.0, 5.0]))  # an error
    assert run.graphs == 1


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_interpolation(captured, dtype, size):
    run = captured(np_interp)
    x = np.concatenate([wanted("float64", 70), np.arange(30.0)])
    values = np.random.default_rng(2).standard_normal(size)
    run(x, np.arange(size).astype(dtype), values)
    run(x, np.zeros(size, dtype), values)
    assert run.graphs == 1 and run.breaks == []


def np_interp(x, xp, fp):
    return np.interp(x, xp, fp)


def test_interpolation_at_the_edges(captured):
    run = captured(np_interp)
    x = np.array([-1.0, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.nan, np.inf, -np.inf, 1e308])
    for values in ([0.0, np.inf, 1.0], [np.nan, 1.0, 2.0], [np.inf, np.inf, -np.inf], [1e308, -1e308, 1e308]):
        run(x, np.array([0.0, 1.0, 2.0]), np.array(values))
        run(x, np.array([0.0, 1.0, np.inf]), np.array(values))
        run(x, np.array([-np.inf, 1.0, 2.0]), np.array(values))
        run(x, np.array([1.0, 1.0, 1.0]), np.array(values))
        run(x, np.array([0.0, 1.0, np.nan]), np.array(values))
    assert run.graphs == 1


def test_bounds_that_change_in_size(captured):
    run = captured(search)
    for size in (5, 9, 30, 31, 40):
        run(rising("float64", size), wanted("float64", (60,)))
    assert run.breaks == []
