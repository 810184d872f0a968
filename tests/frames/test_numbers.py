"""Python numbers that change from call to call: constants first, inputs of the graph then, never a wrong result."""

import math

import numpy as np
import pytest

from tests.helpers import captured, numbers


def scaled(x, t):
    return x * t + t


def derived(x, t):
    u = t + 1
    return x * (u * 0.5) - (-u) / 2, u, t


def ufuncs(x, t):
    return np.maximum(x, t) + np.sqrt(t) * np.where(x > 1, x, t)


def power(x, t):
    return x**t


def decides(x, t):
    return x + t if t > 2 else x - t


def indexes(x, t):
    return x[t], x[:t], x * t


def divides(x, t):
    return x * (1 / t)


def in_place(x, t):
    x *= t
    x[0] = t
    return x


def in_containers(x, t):
    return [t, (x * t, t + 1)], {"t": t}


def with_break(x, t):
    y = x * t
    u = t * 2
    print(t)
    return y + u


FUNCTIONS = [scaled, derived, ufuncs, power, decides, indexes, divides, in_place, in_containers, with_break]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "values",
    [(1, 2, 3, 2, 1, -1, 0), (1.0, 2.5, 0.5, -0.0, 0.0, np.nan, np.inf, 1e300), (1, 2, 2.0, True, 3, 1 << 70, "a", 2)],
    ids=["ints", "floats", "mixed"],
)
def test_numbers(function, values):
    run = captured(function, options={"recompile_limit": 20})
    for value in values:
        run(numbers(4), value)


def test_one_graph_serves_all():
    run = captured(scaled)
    for value in (0.5, 1.5, 2.5, 3.5, 4.5):
        run(numbers(3), value)
    assert run.graphs == 2 and run.misses == ["t: expected 0.5, got 1.5"]


def test_dynamic_false_keeps_constants():
    run = captured(scaled, dynamic=False)
    for value in (0.5, 1.5, 2.5):
        run(numbers(3), value)
    assert run.graphs == 3


def test_loop_over_a_long_range():
    def f(x, dt, n):
        for k in range(n):
            x = x + k * dt
        return x

    run = captured(f)
    run(numbers(3), 0.5, 200)
    assert run.graphs == 1
    run(numbers(3), 0.25, 300)
    assert run.graphs == 2
    run(numbers(3), 0.125, 400)
    assert run.graphs == 2 and not run.entry.plain


def test_number_that_keeps_deciding_is_left_to_python():
    run = captured(lambda x, t: (math.sin(t), x * t))
    for value in range(12):
        run(numbers(20), value)
    assert not run.entry.plain
    assert run.kinds[-1] == "number"


def test_number_that_keeps_choosing_an_element():
    run = captured(indexes, fullgraph=True)
    for value in range(12):
        run(numbers(20), value)
    assert run.graphs == 2


def test_global_number(monkeypatch):
    run = captured(reads_global)
    for value in (2.0, 3.0, 4.0):
        monkeypatch.setitem(globals(), "SCALE", value)
        run(numbers(3))
    assert run.graphs == 2


SCALE = 1.0


def reads_global(x):
    return x * SCALE


def test_errors_of_early_arithmetic_are_in_place():
    def f(x, t):
        x += 1
        try:
            y = x * (1 // t)
        except ZeroDivisionError:
            y = x
        return y

    run = captured(f)
    for value in (1, 2, 0, 3):
        run(numbers(3), value)
