"""What shares a kernel: the programs that people write take one pass over their data, or as few as there can be."""

from __future__ import annotations

import numpy as np
import pytest

from capture.ir.shapes import product
from tests.inductor.graphs import scheduled
from tests.inductor.test_kernel_warnings import softmax
from tests.inductor.test_kernels import normal

X = normal(300, 200)
LONG = normal(1_000_000)


def kernels(build, *inputs):
    """The kernels' nodes; no intermediate in memory is as large as the first input."""
    schedule = scheduled(build, *inputs)
    largest = max((product(memory.shape) for memory in schedule.intermediates.values()), default=0)
    assert largest < inputs[0].size, [*schedule.intermediates]
    return [[unit.node.name for unit in group.units] for group in schedule.groups]


def chain(g, x, w, b):
    square = g.call("multiply", g.call("negative", x), x)
    density = g.call("divide", g.call("exp", g.call("divide", square, 2.0)), 2.5066282746310002)
    return g.call("sum", g.call("add", g.call("multiply", density, w), b), axis=1)


def layer_norm(g, x, weight, bias):
    mean, variance = (g.call(name, x, axis=1, keepdims=True) for name in ("mean", "var"))
    normed = g.call("divide", g.call("subtract", x, mean), g.call("sqrt", g.call("add", variance, 1e-5)))
    return g.call("add", g.call("multiply", normed, weight), bias)


def gelu(g, x):
    cubic = g.call("add", x, g.call("multiply", g.call("multiply", g.call("multiply", x, x), x), 0.044715))
    tanh = g.call("tanh", g.call("multiply", cubic, 0.7978845608))
    return g.call("multiply", g.call("multiply", x, 0.5), g.call("add", tanh, 1.0))


def black_scholes(g, s, k, t):
    call = g.call
    spread = call("multiply", call("sqrt", t), 0.2)
    d1 = call("divide", call("add", call("log", call("divide", s, k)), call("multiply", t, 0.07)), spread)
    d2 = call("subtract", d1, spread)
    n1, n2 = (call("multiply", call("add", call("tanh", call("multiply", d, 0.8)), 1.0), 0.5) for d in (d1, d2))
    paid = call("multiply", k, call("exp", call("multiply", t, -0.05)))
    bought = call("subtract", call("multiply", s, n1), call("multiply", paid, n2))
    return bought, call("add", call("subtract", bought, s), paid)


def variance(axis):
    return lambda g, x: g.call("var", x, axis=axis)


def full_softmax(g, x):
    shifted = g.call("exp", g.call("subtract", x, g.call("max", x)))
    return g.call("divide", shifted, g.call("sum", shifted))


PROGRAMS = {
    "chain": (chain, (X, X, X[0]), 1),
    "softmax over rows": (softmax(1), (X,), 1),
    "softmax over columns": (softmax(0), (X,), 1),
    "layer norm": (layer_norm, (X, X[0], X[0]), 1),
    "gelu": (gelu, (X,), 1),
    "black-scholes": (black_scholes, (LONG, LONG, LONG), 1),
    "variance along rows": (variance(1), (X,), 1),
    "variance along columns": (variance(0), (X,), 1),
    "variance of a tall array": (variance(0), (normal(100_000, 10),), 2),
    "variance of all": (variance(None), (LONG,), 2),
    "variance of few": (variance(None), (X[0],), 1),
    "several statistics": (lambda g, x: tuple(g.call(name, x) for name in ("sum", "max", "min", "prod")), (LONG,), 1),
    "siblings": (lambda g, x: (g.call("sin", x), g.call("cos", x), g.call("sum", x, axis=1)), (X,), 1),
    "two results of one dear value": (
        lambda g, x: (lambda e: (g.call("add", e, 1.0), g.call("sum", e, axis=0)))(g.call("exp", x)), (X,), 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    build, inputs, count = PROGRAMS[name]
    assert len(kernels(build, *inputs)) == count


def test_softmax_of_a_long_array_keeps_only_what_it_returns():
    schedule = scheduled(full_softmax, LONG)
    assert len(schedule.groups) == 3
    assert sum(product(memory.shape) == LONG.size for memory in schedule.intermediates.values()) <= 1


def test_units_of_different_axes_do_not_meet():
    groups = kernels(lambda g, x: (g.call("sum", x, axis=0), g.call("sum", x, axis=1)), X)
    assert groups == [["sum"], ["sum_1"]]


def test_a_dear_value_in_two_kernels_is_computed_once():
    def build(g, x):
        dear = g.call("exp", g.call("sin", g.call("tanh", x)))
        return g.call("sum", dear, axis=0), g.call("sum", dear, axis=1)

    schedule = scheduled(build, X)
    assert [memory.shape for memory in schedule.intermediates.values()] == [X.shape]


def test_a_cheap_value_in_two_kernels_is_computed_twice():
    def build(g, x):
        cheap = g.call("subtract", x, 1.0)
        return g.call("sum", cheap, axis=0), g.call("sum", cheap, axis=1)

    assert len(kernels(build, X)) == 2


def test_a_dear_row_is_not_computed_for_each_line():
    def build(g, x, row):
        return g.call("multiply", x, g.call("exp", g.call("tanh", row)))

    assert len(kernels(build, X, X[0])) == 2


def test_a_kernel_waits_for_what_is_between():
    """sum → extern → map over the same axes: one kernel would have to wait for itself."""

    def build(g, x):
        y = g.call("exp", x)
        product = g.call("matmul", y, g.call("permute", y, axes=(1, 0)))
        return g.call("add", y, g.call("sum", product))

    schedule = scheduled(build, X)
    kinds = [type(step).__name__ for step in schedule.steps]
    assert kinds == ["Group", "Unit", "Group", "Group"] or kinds == ["Group", "Unit", "Group"]


def test_readers_of_an_old_version_come_first():
    def build(g, x):
        total = g.call("sum", x)
        g.store(x, g.call("multiply", x, 2.0))
        return total

    steps = scheduled(build, LONG).groups
    names = [unit.node.name for group in steps for unit in group.units]
    assert names.index("sum") < names.index("x0_1")


def test_stores_of_the_same_elements_share_a_pass():
    def build(g, x, y):
        first = g.store(x, g.call("multiply", x, 2.0))
        g.store(first, g.call("add", first, y))
        return ()

    assert len(kernels(build, X, normal(300, 200))) == 1


def test_shifted_reads_of_written_memory_do_not():
    def build(g, x):
        inner = g.call("getitem", x, (slice(1, None),))
        outer = g.call("getitem", x, (slice(None, -1),))
        g.store(inner, g.call("add", inner, outer))
        return ()

    schedule = scheduled(build, X)
    assert len(schedule.groups) == 2 and len(schedule.intermediates) == 1


@pytest.mark.parametrize("count", (100, 2000))
def test_time_grows_with_the_program(count):
    def build(g, x):
        results = []
        for _ in range(count // 4):
            x = g.call("add", g.call("sin", x), g.call("multiply", x, 0.5))
            results.append(g.call("sum", x, axis=0))
        return tuple(results)

    schedule = scheduled(build, np.ones((4, 5)))
    assert len(schedule.groups) <= count // 100 + 2
