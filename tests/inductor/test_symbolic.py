"""Graphs whose sizes are symbols: one compiled graph serves every size, as NumPy does."""

import warnings

import numpy as np
import pytest

import capture
from capture import backends
from capture.inductor.compile import compile_graph
from capture.ir.graph import Graph
from capture.ir.interpret import interpret
from capture.ir.shapes import Facts, Symbol, ge
from capture.ir.sizes import Known, UnknownSize
from capture.ir.text import parse_graph
from capture.ir.types import array_type
from tests.helpers import captured

N, M = Symbol("n"), Symbol("m")
SHAPES = ((3, 4), (17, 5), (2, 2), (40, 300), (1000, 3))


def softmax(g, x):
    shifted = g.call("exp", g.call("subtract", x, g.call("max", x, axis=-1, keepdims=True)))
    return g.call("divide", shifted, g.call("sum", shifted, axis=-1, keepdims=True))


def neighbours(g, x):
    after, before = (g.call("getitem", x, key=key) for key in (slice(1, None), slice(None, -1)))
    return g.call("subtract", after, before)


def regrouped(g, x):
    return g.call("reshape", g.call("np_reshape", g.call("add", x, 1.0), (-1,)), shape=(M, N))


def cut(key):
    def program(g, x):
        return g.call("multiply", g.call("getitem", x, key=key), 0.5)

    return program


def counted(g, x):
    return g.call("add", g.call("arange", start=N), g.call("sum", x, axis=1))


def stored(g, x):
    y = g.call("add", x, 0.0)
    return g.store(g.call("getitem", y, key=(slice(1, None), slice(None, None, 2))), 7.0)


PROGRAMS = {
    "mean along": lambda g, x: g.call("mean", x, axis=1, keepdims=True),
    "mean of all": lambda g, x: g.call("mean", x),
    "variance": lambda g, x: g.call("var", x, axis=0, ddof=1),
    "softmax": softmax,
    "neighbours": neighbours,
    "regrouped": regrouped,
    "flip": lambda g, x: g.call("add", g.call("flip", x), 0.5),
    "roll": lambda g, x: g.call("roll", x, 3, axis=0),
    "arange": counted,
    "linspace": lambda g, x: g.call("linspace", start=0, stop=2.5, num=N),
    "gram": lambda g, x: g.call("matmul", x, g.call("transpose", x)),
    "tril": lambda g, x: g.call("tril", x),
    "concatenate": lambda g, x: g.call("np_concatenate", (x, x), axis=1),
    "size as operand": lambda g, x: g.call("multiply", x, g.call("size_number", size=N * M + 1)),
    "store": stored,
    **{
        str(key): cut(key)
        for key in (
            slice(None, None, -1), slice(None, None, -2), slice(-2, None), slice(1, -1), slice(None, 5), slice(5, None),
            (slice(None), slice(-3, -1)), (slice(None), 1), (-1, slice(None)), slice(None, 0, -1), slice(6, 2, -1),
            (slice(1, None, 3), None, slice(None, None, 2)),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_one_graph_serves_all_sizes(program):
    graph = Graph("g", known=Known(Facts.of(ge(N, 2), ge(M, 2))))
    x = graph.placeholder("x", array_type("f8", (N, M)))
    graph.output(program(graph, x))
    graph.lint()
    assert parse_graph(str(graph)) == graph
    run = compile_graph(graph)
    source: dict = {}
    exec(graph.python_code(), source)
    for shape in SHAPES:
        x = np.arange(shape[0] * shape[1], dtype=float).reshape(shape) % 11 - 3
        (want,), (got,), (written,) = interpret(graph, x), run(x), source["g"](x)
        assert (got.shape, got.dtype, got.strides) == (want.shape, want.dtype, want.strides)
        np.testing.assert_allclose(got, want, rtol=1e-14)
        np.testing.assert_array_equal(written, want)


def test_what_is_not_known_is_refused():
    graph = Graph()
    x = graph.placeholder("x", array_type("f8", (N,)))
    y = graph.placeholder("y", array_type("f8", (M,)))
    with pytest.raises(UnknownSize, match="n == m"):
        graph.call("add", x, y)
    with pytest.raises(UnknownSize, match="1 <= n"):
        graph.call("max", x)
    assert [node.name for node in graph] == ["x", "y"]


# What each call chooses by its sizes ----------------------------------------------------------------------------------
SMALL_AND_LARGE = ((2, 3), (300, 31), (40, 700), (3, 50_000), (50_000, 3), (1, 70_000), (70_000, 1), (2, 70_000))


def standardised(x):
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1)


def shares(x):
    e = np.exp(x)
    return e / e.sum(axis=1, keepdims=True)


def centred_in_place(x):
    x -= x.mean(axis=1, keepdims=True)
    return x


def flattened_sums(x):
    flat = x.reshape(-1)
    return flat.sum(), flat.max(), (flat * flat).sum() / 7


CHOOSING = [
    lambda x: x.sum(),
    lambda x: x.sum(axis=0),
    lambda x: np.exp(x).sum(axis=1) + 1,
    lambda x: (x.max(axis=0), x.min(axis=1)),
    lambda x: (x.argmax(axis=0), x.argmin(axis=1), x.reshape(-1).argmax()),
    lambda x: (x > 1).any(axis=1) & (x < 90).all(axis=1),
    lambda x: x.prod(axis=1),
    lambda x: x.var(axis=0),
    lambda x: x + x[0] * 2,
    lambda x: x + x.T.copy(order="C").T,
    lambda x: x[x > 1].sum() + x[x > 0.5].max(),
    standardised,
    shares,
    centred_in_place,
    flattened_sums,
]


def outcome(function, x):
    """The results as a list, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(x.copy())
    return result if isinstance(result, tuple) else (result,), [str(warning.message) for warning in caught]


def require_close(compiled, program, x):
    (got, told), (want, expected) = outcome(compiled, x), outcome(program, x)
    assert told == expected, x.shape
    for one, other in zip(got, want, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        tolerance = 1e-4 if other.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=str(x.shape))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("program", CHOOSING)
def test_small_and_large_in_one_variant(program, dtype):
    """Chunks, batches, blocks and saved values are there or not; the variant is one."""
    compiled = capture.compile(program, dynamic=True, options={"strict": True})
    for shape in SMALL_AND_LARGE:
        x = (np.arange(shape[0] * shape[1]).reshape(shape) * 7 % 11 / 10).astype(dtype)
        x[-1, -1] = 2  # the largest one is at the end
        if program is not centred_in_place or dtype != "i4":
            require_close(compiled, program, x)
    assert len(compiled.graphs) <= 1


@pytest.mark.parametrize("program", [*CHOOSING[:6], *CHOOSING[7:9]])
def test_they_warn_as_numpy_does(program):
    compiled = capture.compile(program, dynamic=True, options={"strict": True})
    for shape in SMALL_AND_LARGE:
        x = np.full(shape, 0.5)
        x[0, -1] = np.inf
        x[-1, 0] = -np.inf
        x[0, 0] = np.nan if shape[0] % 2 else 1e308
        require_close(compiled, program, x)
    assert len(compiled.graphs) == 1


def test_long_rows_are_cut_and_short_ones_are_not():
    graph = Graph("g")
    x = graph.placeholder("x", array_type("f8", (N, M)))
    graph.output(graph.call("sum", x, axis=1))
    run = compile_graph(graph)
    assert "sum_kernel0_chunk" in run.source and "sum_kernel0_combine" in run.source
    x = np.random.default_rng(0).standard_normal((2, 100_000))
    (cut,), (whole,) = run(x), run(np.repeat(x, 4, axis=0))
    np.testing.assert_allclose(cut, whole[::4], rtol=1e-13)


def test_what_stands_beside_a_sum_is_written_where_the_sum_is_not_cut():
    graph = Graph("g")
    x, y = graph.placeholder("x", array_type("f8", (N,))), graph.placeholder("y", array_type("f8", (1,)))
    spread = graph.call("broadcast_to", y, shape=(N,))
    graph.output(graph.call("sum", graph.call("multiply", x, spread), axis=0), graph.call("add", y, 1.0))
    run = compile_graph(graph)
    for size in (1, 5, 1000, 100_000):
        total, beside = run(np.ones(size), np.array([3.0]))
        assert total == 3.0 * size and beside.tolist() == [4.0]


def first_beside(x):
    first = x[0]
    return first, x[0] * 2.0 + 1.0, np.argmax(x), x.max() + first


def test_what_stands_beside_a_reduction_of_any_length():
    """It is written whether the reduction is made in chunks or in one go."""
    run = captured(first_beside, backend=backends.inductor)
    for count in (5, 7, 9, 40_000, 300_000, 1):
        run.on(lambda count=count: (np.linspace(-1.5, 3.0, count),))
    assert run.graphs == 2


def test_many_temporaries_of_different_open_sizes():
    """Where each of them is takes long sums of sizes."""
    parameters = [f"k{i}" for i in range(12)]
    lines = [f"def function(x, {', '.join(parameters)}):", "    s = 0.0"]
    for name in parameters:
        lines += [
            f"    y = np.exp(x[{name}:])",
            "    s = s + (y - y.max()).sum() / (1 + np.sqrt(np.abs(y - y.min())).sum())",
        ]
    space = {"np": np}
    exec("\n".join([*lines, "    return s"]), space)
    run = captured(space["function"], backend=backends.inductor, dynamic=True, exact=False)
    for n in (50, 80, 33):
        run(np.linspace(-1, 1, n), *(i * 7 % 20 + 1 for i in range(12)))
    assert (run.graphs, run.breaks) == (1, [])
