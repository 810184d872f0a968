"""``ufunc.at`` on floats and ``arange`` in halves, with sizes that change from call to call."""

import numpy as np
import pytest

from capture.backends import inductor
from tests import helpers


def captured(function):
    return helpers.captured(function, backend=inductor, dynamic=True)


def add(z, p, v):
    np.add.at(z, p, v)
    return z


def subtract(z, p, v):
    np.subtract.at(z, p, v)
    return z * 2


def multiply(z, p, v):
    np.multiply.at(z, p, v)
    return z


def maximum(z, p, v):
    np.maximum.at(z, p, v)
    return z


def both(z, p, v):
    out = np.zeros((len(z), 3), z.dtype)
    np.add.at(out, (p, p % 3), v)
    np.add.at(out, p, v[:, None])
    return out


def masked(z, p, v):
    np.add.at(z, z > 0.5, z.dtype.type(1))
    return z


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("function", [add, subtract, multiply, maximum, both, masked], ids=lambda f: f.__name__)
def test_at_places(function, dtype):
    run = captured(function)
    draw = np.random.default_rng(0)
    for size, count in ((5, 8), (3, 1), (40, 3000), (2, 0), (300, 300)):
        run(draw.random(size).astype(dtype), draw.integers(-size, size, count), draw.random(count).astype(dtype))
    assert run.breaks == [] and run.graphs == 1


LOTS, NOTHING = np.full(5, np.inf), np.zeros(3, int)
WARNED = {
    "vector": (LOTS, NOTHING, np.full(3, -np.inf)),
    "NumPy scalar": (LOTS, NOTHING, np.float64(-np.inf)),
    "one element": (LOTS, NOTHING, np.array([-np.inf])),
    "small ints": (LOTS, NOTHING.astype("i1"), np.full(3, -np.inf)),
    "matrix": (LOTS, np.zeros((2, 2), int), np.full((2, 2), -np.inf)),
    "rows": (np.full((2, 3), np.inf), np.zeros(2, int), np.full((2, 3), -np.inf)),
    "strided": (np.full(10, np.inf)[::2], NOTHING, np.full(3, -np.inf)),
    "cast": (LOTS, NOTHING, np.full(3, -np.inf, "f4")),
    "float32": (LOTS.astype("f4"), NOTHING, np.full(3, -np.inf, "f4")),
    "float16": (LOTS.astype("f2"), NOTHING, np.full(3, -np.inf, "f2")),
    "mask": (LOTS, LOTS > 0, np.float64(-np.inf)),
    "masked matrix": (np.full((2, 3), np.inf), np.ones((2, 3), bool), np.float64(-np.inf)),
}


def add_number(z, p, v):
    np.add.at(z, p, -np.inf)
    return z


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [add, add_number], ids=lambda f: f.__name__)
@pytest.mark.parametrize("case", WARNED)
def test_warnings_are_named_as_numpy_names_them(case, function, dynamic):
    run = helpers.captured(function, backend=inductor, dynamic=dynamic)
    run(*(each.copy() for each in WARNED[case]))
    assert run.breaks == [] and run.graphs == 1


def test_a_place_that_is_not_there():
    run = captured(add)
    run(np.ones(3), np.array([0, 1]), np.ones(2))
    run(np.ones(3), np.array([0, 3]), np.ones(2))
    assert run.graphs == 1


def stepped(x):
    return (
        np.arange(0, len(x), 0.5),
        np.arange(0.0, len(x), 0.25) * 2,
        np.arange(len(x), -1.0, -0.125),
        np.arange(1.0, len(x)),
        np.arange(0.0, len(x), 3),
        np.arange(-len(x), 2.0, 0.5),
    )


def test_steps_that_are_one_over_a_power_of_two():
    run = captured(stepped)
    for size in (5, 1, 0, 2, 33):
        run(np.ones(size))
    assert run.breaks == [] and run.graphs == 1


def tenths(x):
    return np.arange(0, len(x), 0.1), np.arange(0.5, len(x))


def test_other_steps_have_a_variant_for_each_size():
    run = captured(tenths)
    for size in (5, 2):
        run(np.ones(size))
    assert run.breaks == [] and run.graphs == 2
