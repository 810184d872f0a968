"""Floating-point warnings of kernels: those of NumPy, in program order, also where inputs are overwritten."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.checking import _joined, is_asked
from capture.inductor.compile import compile_graph, plan_graph
from capture.inductor.loops import Builder
from capture.ir import op as ops
from capture.ir.op import CannotInfer
from tests.helpers import captured
from tests.inductor.graphs import compiled, graph_of
from tests.inductor.test_kernels import FLOATS, POINTWISE, normal, numbers

COUNTS = (1, 10, 5000, 20_000)


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("name", [op.name for op in POINTWISE if op.name != "where" and "unsure" not in op.tags])
def test_each_operation_at_each_edge(name, dtype):
    """One result per value: a warning of one element must not hide that of another."""
    operands = len(ops.get(name).operands)
    edges = np.array(FLOATS, dtype)
    if name == "power" and dtype == "f4":
        edges = edges[np.isfinite(edges)]  # NumPy's warnings of infinite exponents depend on the processor
    grids = [grid.ravel() for grid in np.meshgrid(*[edges] * operands)]

    def build(g, *inputs):
        return tuple(
            g.call(name, *[g.call("getitem", each, (slice(place, place + 1),)) for each in inputs])
            for place in range(0, len(grids[0]), 1 if operands == 1 else 7)
        )

    try:
        graph_of(build, *grids)
    except CannotInfer:
        return  # not an operation on floats
    compiled(build, *grids, rtol=1e-6, warns=True)


@pytest.mark.parametrize("dtype", ("i1", "i4", "i8", "u2"))
@pytest.mark.parametrize("name", ("floor_divide", "remainder", "fmod"))
def test_integer_division(name, dtype):
    x, y = numbers(dtype, 1), numbers(dtype, 2)
    compiled(lambda g, x, y: g.call(name, x, y), x, y, warns=True)
    compiled(lambda g, x, y: (g.call(name, x, 7), g.call(name, 7, y)), x, y, warns=True)


@pytest.mark.parametrize("count", COUNTS)
def test_casts(count):
    x = np.resize(np.array([1.5, -2, np.nan, 1e20, 3e200]), count)
    compiled(
        lambda g, x: tuple(g.call("astype", x, dtype=np.dtype(name)) for name in ("i4", "f4", "i8", "u1")),
        x,
        warns=True,
    )


@pytest.mark.parametrize("count", COUNTS)
def test_in_place_with_a_division_by_zero_in_the_middle(count):
    x, y = normal(count), normal(count, seed=1)
    x[0] = y[count // 2] = 0

    def build(g, x, y):
        first = g.store(x, g.call("divide", x, y))
        second = g.store(first, g.call("multiply", first, 2.0))
        part = g.call("getitem", second, (slice(None, None, 2),))
        g.store(part, g.call("log", part))
        return ()

    compiled(build, x, y, rtol=1e-6, warns=True)


def softmax(axis):
    def build(g, x):
        shifted = g.call("exp", g.call("subtract", x, g.call("max", x, axis=axis, keepdims=True)))
        return g.call("divide", shifted, g.call("sum", shifted, axis=axis, keepdims=True))

    return build


def normalised_in_place(axis):
    def build(g, x):
        written = g.store(x, g.call("divide", x, g.call("sum", x, axis=axis, keepdims=True)))
        return g.call("max", written, axis=axis)

    return build


SHAPES = ((50, 60), (5, 3000), (3000, 5), (2, 70_000), (70_000, 2))


@pytest.mark.parametrize("axis", (0, 1))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("program", (softmax, normalised_in_place), ids=lambda program: program.__name__)
def test_passes_over_rows_and_columns(program, shape, axis):
    x = np.abs(normal(*shape)) + 0.5
    x[0, :2] = 0
    x[1] = np.inf
    x[-1] = 0 if program is normalised_in_place else 1
    compiled(program(axis), x, rtol=1e-5, warns=True)


def test_sums_that_overflow_in_any_order():
    x = np.full((3, 4000), 1e305)

    def build(g, x):
        return (
            g.call("sum", x),
            g.call("sum", x, axis=1),
            g.call("sum", x, axis=0),
            g.call("mean", x),
            g.call("prod", x, axis=0),
        )

    compiled(build, x, rtol=1e-12, warns=True)


def test_infinities_of_both_signs_have_no_sum():
    x = np.array([[1.0, np.inf, 2.0, -np.inf], [1.0, 2.0, 3.0, np.inf]])
    compiled(lambda g, x: (g.call("sum", x), g.call("sum", x, axis=1), g.call("mean", x, axis=0)), x, warns=True)


def test_where_the_order_decides_plain_python_must():
    x = np.append(np.full(63, 1e308), np.inf)
    with np.errstate(all="warn"):
        assert compile_graph(graph_of(lambda g, x: g.call("sum", x), x))(x) is None


def test_nothing_is_noted_where_nothing_can_be_raised():
    def build(g, x, y):
        return (
            g.call("where", g.call("less", x, y), x, y),
            g.call("max", x),
            g.call("add", g.call("astype", y, dtype=np.dtype("i8")), 1),
        )

    run = compiled(build, np.array([1.0, np.nan]), np.array([1, 2]), warns=True)
    assert run.plan.flags == () and "raised" not in run.source


def test_flags_are_in_program_order_with_names_and_places():
    def build(g, x):
        quotient = g.call("divide", 1.0, x)
        return g.call("log", x), quotient

    plan = compile_graph(graph_of(build, np.ones(3))).plan
    assert [flag.label for flag in plan.flags] == ["divide", "log"]
    assert [(flag.position.file, flag.position.line) for flag in plan.flags] == [("user.py", 7)] * 2


EXTREMES = [0.0, -0.0, 1.0, -1.0, 0.3, 2.0, np.inf, -np.inf, np.nan]


def extremes(dtype):
    """Numbers that arithmetic raises at, and their neighbours."""
    limits = np.finfo(dtype)
    largest, lost = float(limits.max), float(limits.max) * float(limits.eps) / 4
    numbers = [*EXTREMES, largest, largest / 2, lost, np.nextafter(lost, 0.0), lost * 2, float(limits.tiny)]
    numbers += [float(np.nextafter(dtype(1), dtype(side))) for side in (0, 2)]
    return np.array([*numbers, *(-number for number in numbers)]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_constants_with_which_nothing_raises(name, dtype):
    """Where the kernel asks nothing of an operation NumPy has nothing to say, for any other operand."""
    others, left_out = extremes(dtype), 0
    for number in others:
        for place in (0, 1):
            builder = Builder(node=object())
            operands = [builder.given("x", np.dtype(dtype))] * 2
            operands[place] = builder.constant(number, dtype)
            if is_asked(getattr(builder, name)(*operands)):
                continue
            left_out += 1
            with np.errstate(all="raise", under="ignore"):
                getattr(np, name)(*((number, others) if place == 0 else (others, number)))
    assert left_out > 10


def test_an_operation_that_cannot_raise_is_not_asked():
    source = plan_graph(graph_of(lambda g, x: g.call("add", g.call("multiply", x, 0.5), 1.0), normal(30))).source
    assert "raised(" not in source
    assert "raised(" in plan_graph(graph_of(lambda g, x: g.call("multiply", x, 2.0), normal(30))).source


def inverse(g, x):
    """What may divide by zero, and a condition."""
    return g.call("divide", 1.0, x), g.call("greater", x, 0.5)


def only_where_it_holds(g, x):
    y, condition = inverse(g, x)
    return g.call("where", condition, g.call("multiply", y, y), x)


def on_both_sides(g, x):
    y, condition = inverse(g, x)
    return g.call("where", condition, g.call("subtract", 1.0, y), y)


def on_both_sides_of_a_choice_within(g, x):
    y, condition = inverse(g, x)
    inner = g.call("where", condition, g.call("subtract", 1.0, y), y)
    return g.call("where", g.call("less", x, 0.25), inner, g.call("add", y, 1.0))


def on_both_sides_of_another_choice(g, x):
    y, condition = inverse(g, x)
    one = g.call("where", condition, g.call("subtract", 1.0, y), x)
    return g.call("add", one, g.call("where", g.call("less", x, 0.25), x, g.call("add", y, 1.0)))


def decides(g, x):
    y, _ = inverse(g, x)
    return g.call("where", g.call("greater", y, 3.0), y, x)


@pytest.mark.parametrize(
    ("build", "looks"),
    [
        (only_where_it_holds, True),
        (on_both_sides, False),
        (on_both_sides_of_a_choice_within, False),
        (on_both_sides_of_another_choice, True),
        (decides, False),
    ],
)
def test_what_a_choice_uses_in_any_case_is_not_looked_at(build, looks):
    for x in (np.arange(-3.0, 3.0, 0.25), np.arange(0.25, 9.0), np.tile(np.arange(-4.0, 4.0), 800)):
        compiled(build, x, warns=True)
        assert ("suspect |= !FINITE(divide" in plan_graph(graph_of(build, x)).source) == looks


def test_conditions_are_joined_where_they_cover_both_sides():
    """Against all ways to decide."""
    random = np.random.default_rng(3)
    for _ in range(300):
        conditions = [
            frozenset((k, int(random.integers(1, 3))) for k in random.permutation(3)[: random.integers(1, 4)])
            for _ in range(random.integers(1, 6))
        ]
        found = _joined(conditions)
        for sides in itertools.product((1, 2), repeat=3):
            holds = [condition <= set(enumerate(sides)) for condition in conditions]
            assert any(holds) == any(condition <= set(enumerate(sides)) for condition in found)


def spread_scalar(x, i, scale):
    x[i:3] += scale - scale


def spread_root(x, i, scale):
    return x[i:4] * np.sqrt(-scale), x * np.log(-scale)


def spread_column(x, i, scale):
    return x[:, None][:, 1 : i % 2] * np.sqrt(x - scale)[:, None]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", [spread_scalar, spread_root, spread_column], ids=lambda each: each.__name__)
def test_what_is_spread_over_no_elements_is_computed(function, dynamic):
    """Only the call tells that there are none; NumPy has computed what is spread by then, and warned of it."""
    run = captured(function, backend=inductor, dynamic=dynamic)
    for i in range(6):
        run.on(lambda i=i: (np.zeros(5), i, np.float64(np.inf)))
    run.on(lambda: (np.zeros(0), 0, np.float64(np.inf)))
    assert run.graphs
