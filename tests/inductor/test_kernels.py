"""Compiled graphs compute what NumPy computes: element-wise operations, layouts, reductions, stores, joins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from capture.inductor.combining import streams_of
from capture.inductor.compile import compile_graph, plan_graph
from capture.inductor.vocabulary import RULES
from capture.ir import op as ops
from capture.ir.graph import Graph
from capture.ir.interpret import Interpreter
from capture.ir.op import CannotInfer, Pointwise
from capture.ir.shapes import Symbol
from capture.ir.types import array_type, type_of
from tests.inductor.fuzz_kernels import Case
from tests.inductor.graphs import assert_same, compiled, graph_of

CLOSE = 2e-5
DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16")
FLOATS = [-2.5, -1, -0.0, 0.0, 0.5, 1, 3, 100, np.inf, -np.inf, np.nan, 1e-30, -7.25, 2.0**31, -1e10, 6.5, 1e-45, 3e38]


def numbers(dtype: Any, seed: int, count: int = 70) -> np.ndarray:
    """Values at and between the edges of a dtype, in an order of their own for each seed."""
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return random.integers(0, 2, count).astype(bool)
    if kind.kind == "c":
        parts = np.finfo(kind).dtype
        return numbers(parts, seed, count) + numbers(parts, seed + 50, count) * kind.type(1j)
    if kind.kind == "f":
        values = np.resize(FLOATS, count)
    else:
        limits = np.iinfo(kind)
        edges = [0, 1, limits.min, limits.max, 7, 3, 5, limits.max // 2]
        small = random.integers(max(limits.min, -100), min(limits.max, 100), count - 2 * len(edges))
        values = np.array([*edges, *edges, *map(int, small)], dtype=object)
    with np.errstate(all="ignore"):
        return random.permutation(values).astype(kind)


def normal(*shape: int, dtype: str = "f4", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def parameters(op: ops.Op) -> set[str]:
    """What a call of the op must be given."""
    return {name for name in op.parameters.parameters if name not in op.defaults}


APPROXIMATE = {rule.name for rule in RULES.values() if rule.math and rule.name not in ("fmod", "nextafter")}
APPROXIMATE |= {"logaddexp", "logaddexp2", "float_power"}

POINTWISE = [
    op
    for op in ops.all_ops()
    if isinstance(op.lower, Pointwise)
    and op.operands
    and set(op.operands) == parameters(op)
    and not op.name.startswith(("scalar", "clip"))
]


@pytest.mark.parametrize("op", POINTWISE, ids=lambda op: op.name)
def test_each_operation_on_each_dtype(op):
    graph, inputs, results = Graph("each"), [], []
    for dtype in DTYPES:
        operands = [numbers(dtype, seed) for seed, _ in enumerate(op.operands)]
        types = [type_of(operand) for operand in operands]
        try:
            op.infer(*types, **op.complete({}))
        except (CannotInfer, TypeError):
            continue
        nodes = [graph.placeholder(f"x{len(inputs) + n}", type) for n, type in enumerate(types)]
        inputs += operands
        results.append(graph.call(op.name, *nodes))
    assert results
    graph.output(*results)
    with np.errstate(all="ignore"):
        expected = Interpreter(graph).run(*inputs)
        values = compile_graph(graph)(*inputs)
    for result, want in zip(values, expected, strict=True):
        assert result.dtype == want.dtype
        if want.dtype.kind == "f":
            assert distance(result, want).max(initial=0) <= (4 if op.name in APPROXIMATE else 0)
        else:
            np.testing.assert_array_equal(result, want)


@pytest.mark.parametrize("bounds", ((-1, 3), (0, 0), (5, 2), (-0.0, 0.0), (np.nan, 1.0)), ids=str)
def test_clip(bounds):
    compiled(
        lambda g, *xs: tuple(g.call("clip", x, *map(float, bounds)) for x in xs), numbers("f4", 1), numbers("f8", 2)
    )


def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many floats lie between two arrays' elements; NaNs are equal, and so are zeros only of the same sign."""
    integers = np.dtype(f"i{a.dtype.itemsize}")

    def ordered(values: np.ndarray) -> np.ndarray:
        bits = values.view(integers).astype(object)
        return np.where(bits < 0, int(np.iinfo(integers).min) - bits - 1, bits)

    nan = (a != a) & (b != b)
    return np.where(nan, 0, np.abs(ordered(a) - ordered(b)))


@pytest.mark.parametrize("source", ("f4", "f8", "i2", "u8", "?"))
def test_casts(source):
    x = numbers(source, 3)

    def build(g, x):
        return tuple(
            g.call("astype", x, dtype=np.dtype(target)) for target in DTYPES if target != "u4" or source[0] != "f"
        )

    compiled(build, x)


def test_casts_to_uint32_wrap_through_int64():
    # beyond the range NumPy's own result depends on the element's place in its vector loop
    x = np.array([0.0, 1.5, 4294967295.0, -1.0, 2147483648.0])
    compiled(lambda g, x: g.call("astype", x, dtype=np.dtype("u4")), x)


# Layouts ----------------------------------------------------------------------------------------------------------
LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "part": lambda a: np.pad(a, 3)[3:-3, 3:-3],
    "broadcast": lambda a: np.broadcast_to(a[0], a.shape),
    "row": lambda a: a[:1],
    "column": lambda a: a[:, :1],
    "one axis": lambda a: a[0],
    "0-d": lambda a: np.array(a[0, 0]),
    "scalar": lambda a: a[0, 0],
}


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_layouts(first, second):
    x, y = LAYOUTS[first](normal(5, 7)), LAYOUTS[second](normal(5, 7, seed=1))
    compiled(lambda g, x, y: g.call("multiply", g.call("add", x, y), 2.0), x, y)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("scalar", "0-d", "one axis")])
def test_reductions_of_layouts(layout):
    x = LAYOUTS[layout](normal(5, 7, dtype="f8"))

    def build(g, x):
        axes = ((0,), (1,), None)
        reduced = [g.call(name, x, axis=axis) for name in ("sum", "max", "mean") for axis in axes]
        return (*reduced, g.call("argmin", x))

    compiled(build, x, rtol=1e-14)


@pytest.mark.parametrize("value", (2, 2.5, True, np.float32(3), np.int64(3)), ids=repr)
def test_numbers_as_inputs(value):
    compiled(lambda g, x, n: g.call("multiply", x, n), normal(9), value)


@pytest.mark.parametrize("shape", ((70, 90), (64, 256), (130, 64)), ids=str)
def test_memory_read_across_is_walked_in_tiles(shape):
    x, y, z = normal(*shape), normal(*shape[::-1], seed=1), normal(shape[0], 1, seed=2)

    def build(g, x, y, z):
        turned = g.call("permute", y, axes=(1, 0))
        return g.call("multiply", g.call("add", x, turned), z), g.store(x, g.call("divide", turned, x))

    run = compiled(build, x, y, z)
    assert "left" in run.source


def test_chains_of_views_are_read_in_place():
    def build(g, x):
        y = g.call("multiply", x, 3.0)
        flat = g.call("permute", g.call("reshape", y, shape=(4, 12)), axes=(1, 0))
        return g.call("add", g.call("getitem", flat, (slice(None, None, -2),)), 1.0)

    compiled(build, normal(6, 8))


# Reductions -------------------------------------------------------------------------------------------------------
REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin")
SHAPES = ((12,), (5, 6), (3, 4, 5), (1, 7), (7, 1), (2, 3000), (3000, 2), (70, 300), (300, 70), (1, 1))


@pytest.mark.parametrize("dtype", ("f4", "f8", "i4", "u1", "?"))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions(shape, dtype):
    x = normal(*shape, dtype="f8") * (3 if np.prod(shape) < 100 else 0.5)  # long products must not overflow
    x = (x > 0) if dtype == "?" else np.abs(x).astype(dtype) if dtype == "u1" else x.astype(dtype)

    def build(g, x):
        results = []
        for name in REDUCTIONS:
            for axis in (None, *range(len(shape)), tuple(range(len(shape)))[1:]):
                for keepdims in (False, True):
                    try:
                        results.append(g.call(name, x, axis=axis, keepdims=keepdims))
                    except CannotInfer:
                        continue
        return tuple(results)

    compiled(build, x, rtol=2e-5 if dtype == "f4" else 1e-12)


@pytest.mark.parametrize("shape", ((100_000,), (3, 50_000), (50_000, 3), (40_000, 60)), ids=str)
def test_long_reductions_are_made_in_chunks(shape):
    def build(g, x):
        axis = len(shape) - 1 if shape[-1] > 1000 else 0
        return tuple(g.call(name, x, axis=axis) for name in ("sum", "max", "argmax", "var", "any"))

    run = compiled(build, normal(*shape), rtol=CLOSE)
    assert any(step.symbol.endswith("_combine") for step in run.plan.steps)


@pytest.mark.parametrize("place", (0, 5, 69, 40_000))
def test_nan_and_first_of_equals(place):
    x = np.zeros(50_000, "f4")
    x[[place, place + 7]] = 1
    y = x.copy()
    y[[place, place + 9]] = np.nan

    def build(g, x, y):
        return tuple(g.call(name, each) for name in ("argmax", "argmin", "max", "min") for each in (x, y))

    compiled(build, x, y)


@pytest.mark.parametrize("count", (10, 512, 1000, 1500, 100_000, 1_000_000))
def test_sums_are_as_accurate_as_pairwise_ones(count):
    x = (np.random.default_rng(0).random(count) + 0.5).astype("f4")
    columns = np.stack([x, x[::-1]], 1)
    exact = float(x.astype("f8").sum())
    total, by_column = compile_graph(
        graph_of(lambda g, x, y: (g.call("sum", x), g.call("sum", y, axis=0)), x, columns)
    )(x, columns)
    bound = max(4 * abs(float(np.sum(x)) - exact), exact * 2e-7)
    for value in (total, *by_column):
        assert abs(float(value) - exact) <= bound


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("count", (255, 257, 316, 512, 513, 600, 1000, 1023, 1025, 2050, 5000))
def test_each_element_of_a_row_is_added_once(dtype, count):
    """Whole numbers below 2**24: every order of adding gives the same."""
    x = np.random.default_rng(count).integers(0, 2000, (3, count)).astype(dtype)
    compiled(lambda g, x: (g.call("sum", x, axis=1), g.call("sum", g.call("multiply", x, 2.0), axis=1)), x)


@pytest.mark.parametrize(("dtype", "count"), (("f4", 512), ("f8", 256)))
def test_rows_of_as_many_bytes_are_added_in_one_go(dtype, count):
    def source(length):
        x = np.ones((30, length), dtype)
        return plan_graph(graph_of(lambda g, x: g.call("sum", x, axis=1), x)).source

    assert "_tower" not in source(count) and "_tower" in source(count + 1)


def test_little_is_left_of_a_row_whose_length_is_known():
    for block in (256, 512):
        assert streams_of(Symbol("n"), block) == (4, block)
        for length in (*range(block + 1, 5000, 7), 8192, 100_000):
            count, size = streams_of(length, block)
            assert 2 <= count <= 4 and size <= block and not size % 16
            assert length % (count * size) < max(2 * block, count * 16 * -(-length // (count * block)))


def test_sum_of_negative_zeros_is_zero():
    compiled(lambda g, x: (g.call("sum", x), g.call("sum", x, axis=0), g.call("sum", x, axis=1)), np.full((2, 1), -0.0))


def test_small_integers_wrap_and_sums_are_wide():
    x = np.array([[100, 100, 100]], "i1")
    compiled(lambda g, x: (g.call("add", x, x), g.call("sum", x), g.call("prod", x), g.call("max", x, axis=0)), x)


@pytest.mark.parametrize("shape", ((0,), (0, 3), (3, 0)), ids=str)
def test_nothing(shape):
    def build(g, x):
        return (
            g.call("exp", x),
            g.call("sum", x),
            g.call("sum", x, axis=0),
            g.call("prod", x, axis=-1),
            g.call("any", x),
        )

    compiled(build, np.zeros(shape))


def test_without_axes():
    compiled(
        lambda g, x: (g.call("exp", x), g.call("sum", x), g.call("argmax", x), g.call("add", x, x)),
        np.array(2.5),
        rtol=1e-15,
    )


# Stores -----------------------------------------------------------------------------------------------------------
def sliced(g, x, *key):
    return g.call("getitem", x, key)


STORES = {
    "in place": lambda g, x, y: g.store(x, g.call("multiply", x, y)),
    "number": lambda g, x, y: g.store(x, 7),
    "row": lambda g, x, y: g.store(sliced(g, x, 1), g.call("add", sliced(g, y, 0), 1.0)),
    "broadcast": lambda g, x, y: g.store(x, sliced(g, y, slice(0, 1))),
    "transposed": lambda g, x, y: g.store(g.call("permute", x, axes=(1, 0)), g.call("permute", y, axes=(1, 0))),
    "shifted": lambda g, x, y: g.store(sliced(g, x, slice(1, None)), sliced(g, x, slice(None, -1))),
    "shifted sum": lambda g, x, y: g.store(
        sliced(g, x, slice(1, None)), g.call("add", sliced(g, x, slice(1, None)), sliced(g, x, slice(None, -1)))
    ),
    "reversed": lambda g, x, y: g.store(x, sliced(g, x, slice(None, None, -1))),
    "by its own sum": lambda g, x, y: g.store(x, g.call("divide", x, g.call("sum", x, axis=1, keepdims=True))),
    "first row everywhere": lambda g, x, y: g.store(x, g.call("subtract", x, sliced(g, x, slice(0, 1)))),
}


@pytest.mark.parametrize("dtype", ("f8", "i4"))
@pytest.mark.parametrize("name", STORES)
def test_stores(name, dtype):
    x, y = (normal(8, 9, dtype="f8", seed=seed) * 10 for seed in (0, 1))

    def build(g, x, y):
        written = STORES[name](g, x, y)
        return g.call("sum", written, axis=0), written

    compiled(build, x.astype(dtype), y, rtol=1e-14)


def test_stores_in_a_row_and_values_from_before():
    def build(g, x):
        before = g.call("multiply", x, 3.0)
        first = g.store(x, g.call("add", x, 1.0))
        second = g.store(sliced(g, first, slice(2, None)), 5.0)
        third = g.store(second, g.call("multiply", second, second))
        return g.call("subtract", third, before), g.call("max", third)

    compiled(build, normal(40))


def test_a_local_array_is_written():
    def build(g, x):
        y = g.call("multiply", x, 2.0)
        y = g.store(sliced(g, y, slice(0, 2)), 5.0)
        y = g.store(y, g.call("add", y, 1.0))
        return y, g.call("sum", y, axis=0)

    compiled(build, normal(6, 5), rtol=1e-6)


def test_results_are_separate_arrays():
    graph = graph_of(
        lambda g, x: (g.call("add", x, 1), g.call("multiply", x, 1), x, sliced(g, x, slice(1, None))), np.ones(4)
    )
    x = np.ones(4)
    a, b, same, view = compile_graph(graph)(x)
    assert same is x
    assert np.shares_memory(view, x)
    assert not np.shares_memory(a, b) and not np.shares_memory(a, x)


# Joins, extern calls ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", (0, 1))
def test_concatenate(axis):
    def build(g, x, y):
        joined = g.call("concatenate", x, g.call("exp", y), x, axis=axis)
        return joined, g.call("add", joined, 1.0), g.call("sum", joined, axis=axis)

    compiled(build, normal(3, 4), normal(3, 4, dtype="f8"), rtol=1e-12)


def test_extern_calls_between_kernels():
    def build(g, x, y):
        product = g.call("matmul", g.call("multiply", x, 2.0), y)
        return g.call("maximum", g.call("add", product, 1.0), 0.0)

    compiled(build, normal(5, 6), normal(6, 7), rtol=CLOSE)


# Sizes that are not known ------------------------------------------------------------------------------------------
SYMBOLIC = {
    "element-wise": (lambda g, x: g.call("exp", g.call("multiply", x, x)), 1),
    "two axes": (lambda g, x: g.call("exp", g.call("multiply", x, x)), 2),
    "sum of all": (lambda g, x: g.call("sum", x), 1),
    "sum of rows": (lambda g, x: g.call("sum", x, axis=1), 2),
    "softmax of columns": (lambda g, x: g.call("divide", g.call("exp", x), g.call("sum", g.call("exp", x), axis=0)), 2),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_one_kernel_serves_all_sizes(name):
    build, ndim = SYMBOLIC[name]
    graph = Graph("sized")
    sizes = (Symbol("n", low=1), Symbol("m", low=1))[:ndim]
    graph.output(build(graph, graph.placeholder("x", array_type("f8", sizes))))
    run = compile_graph(graph)
    for shape in ((1, 1), (3, 5), (40, 1), (600, 700), (5000, 2)):
        x = normal(*shape[:ndim], dtype="f8")
        assert_same(run(x)[0], Interpreter(graph).run(x)[0], 1e-13)


# Random graphs -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_random_graphs(seed):
    """More of them: ``python -m tests.inductor.fuzz_kernels --cases 1000``."""
    Case(seed).check()


# Size of programs -------------------------------------------------------------------------------------------------
def test_long_chains_are_cut():
    def build(g, x):
        y = x
        for step in range(700):
            y = g.call("add", g.call("multiply", y, 0.5), x if step % 3 else 1.0)
        return y

    run = compiled(build, normal(50), rtol=1e-5)
    assert 2 <= len(run.plan.kernels) <= 12


def test_repeated_use_stays_linear():
    def build(g, x):
        for _ in range(20):
            x = g.call("add", x, g.call("multiply", g.call("sin", x), 0.01))
        return x

    run = compiled(build, normal(50, dtype="f8"), rtol=1e-13)
    assert len(run.plan.kernels) == 1
    assert run.source.count("sin(") < 60


def test_iterated_stencils_stay_linear():
    def build(g, x):
        for _ in range(12):
            x = g.call("multiply", g.call("add", sliced(g, x, slice(1, None)), sliced(g, x, slice(None, -1))), 0.5)
        return x

    run = compiled(build, normal(60, dtype="f8"), rtol=1e-13)
    assert len(run.source) < 40_000


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype[0] in "iu"])
def test_division_by_powers_of_two(dtype):
    """In shifts and bits."""
    x, bits = numbers(dtype, 1), 8 * np.dtype(dtype).itemsize
    for shift in {0, 1, 3, bits - 2, bits - 1 - (dtype[0] == "i")}:
        for name in ("floor_divide", "remainder"):
            graph = graph_of(lambda g, x, name=name, by=2**shift: g.call(name, x, by), x)
            run = compile_graph(graph)
            assert f"{name}_{'iu'[dtype[0] == 'u']}" not in run.source
            assert_same(run(x)[0], getattr(np, name)(x, 2**shift), 0)
