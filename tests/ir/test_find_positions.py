"""Places of extremes: two passes, or NumPy's search, give what one pass gives."""

import numpy as np
import pytest

import capture.backends
from tests.helpers import captured as captured_by

LONG = 100


def captured(function):
    return captured_by(function, backend=capture.backends.inductor)


def searches(x):
    y = x * 2
    return y.argmax(axis=-1), y.argmin(axis=-1), y.argmax(axis=-1, keepdims=True), y.max(axis=-1)


def zoo(dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 3, (7, LONG)).astype(dtype)  # of equals the first one wins
    yield x
    yield np.zeros_like(x)
    if np.dtype(dtype).kind == "f":
        for special in (np.nan, np.inf, -np.inf, -0.0):
            y = x.copy()
            y[:, ::9] = special
            yield y
            yield np.full_like(x, special)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i4", "i8", "u1", "u8"])
def test_the_first_extreme_of_each_row(dtype):
    run = captured(searches)
    for x in zoo(dtype):
        run(x)
        run(np.ascontiguousarray(x.T).T)
    assert run.graphs >= 1 and run.breaks == []


@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_of_one_row_of_few_and_of_open_sizes(dtype):
    run = captured(lambda x: ((x + 1).argmin(axis=0), (x + 1).argmax()))
    for length in (1, 5, LONG, 3 * LONG):
        run((np.arange(length) * 7 % 5).astype(dtype))
    assert run.breaks == []


@pytest.mark.parametrize("axis", [-1, None])
def test_a_large_array_in_memory_is_left_to_numpy(axis):
    def f(x):
        return x.argmax(axis=axis), x.argmin(axis=axis, keepdims=True)

    run = captured(f)
    x = np.random.default_rng(0).standard_normal((LONG, LONG))
    for array in (x, x.astype("f4"), x[:, 3:90], x[::-1]):
        run(array)
    assert run.breaks == []
