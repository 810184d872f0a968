"""Why code is captured again, in words, as CAPTURE_LOGS=recompiles gives them: one row for each kind of guard."""

import numpy as np
import pytest

from capture import errors, graph_break
from tests.helpers import captured, numbers


class Layer:
    scale = 2.0

    def __init__(self):
        self.weight = numbers(3)

    def forward(self, x):
        return x * self.weight * self.scale


class Other(Layer):
    pass


def with_attribute(name, value):
    layer = Layer()
    setattr(layer, name, value)
    return layer


def plus_one(x):
    return x + 1


def strided(x):
    return np.repeat(x, 2)[::2]


def in_place(x, y):
    x += y
    return x


MEMORY = numbers(8)

ROWS = {
    "size": (plus_one, (numbers(3),), (numbers(4),), "x.shape[0]: expected 3, got 4"),
    "rank": (plus_one, (numbers(3),), (numbers(3, 3),), "x.ndim: expected 1, got 2"),
    "dtype": (plus_one, (numbers(3),), (np.arange(3),), "x.dtype: expected float64, got int64"),
    "layout": (plus_one, (numbers(3),), (strided(numbers(3)),), "x.strides: expected layout C, got "),
    "no array": (plus_one, (numbers(3),), (2.5,), "x: expected an array of float64, got 2.5"),
    "scalar": (plus_one, (np.float64(1),), (np.float32(1),), "x: expected a scalar of float64, got float32"),
    "overlap": (
        in_place,
        (numbers(3), numbers(3)),
        (MEMORY[:3], MEMORY[1:4]),
        "x: expected no overlap with y, got overlapping memory",
    ),
    "constant": (
        lambda x, on: x + 1 if on else x,
        (numbers(3), True),
        (numbers(3), False),
        "on: expected True, got False",
    ),
    "string": (
        lambda x, how: x.sum() if how == "sum" else x,
        (numbers(3), "sum"),
        (numbers(3), "max"),
        "how: expected 'sum', got 'max'",
    ),
    "none": (
        lambda x, y: x if y is None else x + y,
        (numbers(3), None),
        (numbers(3), 2.0),
        "y: expected None, got 2.0",
    ),
    "length": (lambda xs: sum(xs), ([numbers(3)] * 2,), ([numbers(3)] * 3,), "xs: expected length 2, got 3"),
    "keys": (
        lambda d: [v + 1 for v in d.values()],
        ({"a": numbers(3)},),
        ({"b": numbers(3)},),
        "d: expected the keys ['a'], got ['b']",
    ),
    "type": (
        lambda layer, x: layer.forward(x),
        (Layer(), numbers(3)),
        (Other(), numbers(3)),
        "layer: expected type Layer, got Other",
    ),
    "own attribute": (
        lambda layer, x: layer.forward(x),
        (Layer(), numbers(3)),
        (with_attribute("scale", 1.0), numbers(3)),
        "layer: expected no attribute 'scale' of its own, it is there",
    ),
    "attribute": (
        lambda layer, x: x * layer.rate,
        (with_attribute("rate", True), numbers(3)),
        (with_attribute("rate", 2.0), numbers(3)),
        "layer.rate: expected True, got 2.0",
    ),
    "code": (
        lambda f, x: f(x),
        (lambda v: v + 1, numbers(3)),
        (lambda v: v + 2, numbers(3)),
        "f: expected the function <lambda>, got <lambda> with other code",
    ),
    "object": (
        lambda f, x: f(x),
        (np.sin, numbers(3)),
        (np.cos, numbers(3)),
        "f: expected ufunc object, got another ufunc",
    ),
    "same object": (
        lambda x, y: (x + y, x is y),
        (MEMORY, MEMORY),
        (numbers(8), numbers(8)),
        "y: expected the same object as x, got another",
    ),
}


@pytest.mark.parametrize(("function", "first", "second", "words"), ROWS.values(), ids=ROWS)
def test_a_miss_in_words(function, first, second, words, capsys):
    run = captured(function, options={"logs": ("recompiles",)})
    run(*first)
    run(*second)
    assert run.misses[0].startswith(words)
    assert f"[capture:recompiles] {function.__qualname__}: {run.misses[0]}" in capsys.readouterr().err


SCALE = 2.0


def test_a_global_in_words(monkeypatch):
    run = captured(lambda x: x * SCALE)
    run(numbers(3))
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    run(numbers(3))
    assert run.misses == ["SCALE: expected 2.0, got 3.0"]


def test_a_closure_in_words():
    scale = 2.0
    run = captured(lambda x: x * scale)
    run(numbers(3))
    scale = 3.0
    run(numbers(3))
    assert run.misses == ["closure scale: expected 2.0, got 3.0"]


def test_the_limit_is_told_once_and_the_function_stays_right():
    run = captured(plus_one, dynamic=False, options={"recompile_limit": 3})
    for n in range(1, 4):
        run(numbers(n))
    with pytest.warns(errors.RecompileLimitWarning, match=r"has 3 variants .* x\.shape\[0\]: expected 3, got 4\. Keep"):
        assert run.entry(numbers(4)).tolist() == (numbers(4) + 1).tolist()
    for n in range(5, 20):
        run(numbers(n))
    assert (run.graphs, len(run.record.limits)) == (3, 1)


def test_the_limit_is_per_code():
    """What follows a break has variants of its own."""

    def broken(x):
        y = x + 1
        graph_break()
        return y * 2

    run = captured(broken, options={"recompile_limit": 2})
    run(numbers(3))
    run(numbers(4))
    assert run.graphs == 4
    assert run.record.limits == []
