"""Whole programs: how many graphs, breaks and kernels they take, and what they must not allocate."""

import io
import math
import operator
import runpy
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import capture.backends
from tests.benchmarks.programs import elementwise, finance, normalising, reducing
from tests.compare import assert_same
from tests.helpers import captured as captured_by


def captured(function, **options):
    return captured_by(function, backend=capture.backends.inductor, exact=False, options=options)


def materialised_bytes(report) -> int:
    """The most memory that kernels use besides inputs and results: arena, and buffers that are no result."""
    worst = 0
    for runner in report.runners:
        plan = runner.plan
        constants = dict(plan.constants)
        returned = {view.buffer for view in plan.results if hasattr(view, "buffer")}
        total = constants[plan.arena_bytes] if plan.arena_bytes >= 0 else 0
        for index, buffer in enumerate(plan.buffers):
            if buffer.kind in ("output", "extern") and index not in returned:
                total += math.prod(constants[size] for size in buffer.shape) * buffer.dtype.itemsize
        worst = max(worst, total)
    return worst


def weighted_density(x, w, b):
    return (np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * w + b).sum(axis=1)


ROWS, COLUMNS = 300, 400
MATRIX = ((ROWS, COLUMNS),)
WITH_VECTORS = ((ROWS, COLUMNS), (COLUMNS,), (COLUMNS,))
ONE_GRAPH = [
    (weighted_density, WITH_VECTORS, 1),
    (elementwise.chain, ((ROWS * COLUMNS,),) * 2, 1),
    (reducing.gaussian_sum, WITH_VECTORS, 1),
    (normalising.softmax, MATRIX, 2),
    (normalising.layer_norm, WITH_VECTORS, 2),
    (elementwise.gelu, MATRIX, 1),
    (finance.black_scholes, ((ROWS * COLUMNS,),) * 3, 2),
    (reducing.variance_columns, MATRIX, 2),
    (reducing.variance_rows, MATRIX, 2),
    (reducing.masked_sum, MATRIX * 2, 1),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("function", "shapes", "most_kernels"), ONE_GRAPH, ids=lambda v: getattr(v, "__name__", None))
def test_one_graph_few_kernels_no_large_intermediate(function, shapes, most_kernels, dtype):
    rng = np.random.default_rng(0)
    args = [rng.uniform(0.5, 2.0, shape).astype(dtype) for shape in shapes]
    report = capture.explain(function)(*args)
    assert (report.graph_count, report.graph_break_count) == (1, 0), str(report)
    assert 1 <= len(report.kernels) <= most_kernels, str(report)
    assert materialised_bytes(report) < args[0].nbytes / 4
    expected = function(*args)
    assert type(report.result) is type(expected) and report.result.dtype == expected.dtype
    tolerance = 3e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(report.result, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def printing(x):
    y = x * 2 + 1
    print("shape", y.shape)
    return np.sqrt(y).sum()


opaque = operator.methodcaller("tolist")


def calling(x):
    y = x * 2 + 1
    z = opaque(y)
    return np.sqrt(y).sum(), z


@pytest.mark.parametrize("function", [printing, calling], ids=lambda f: f.__name__)
def test_a_break_in_the_middle(function):
    x = np.linspace(0.0, 1.0, 50)
    plain, output = io.StringIO(), io.StringIO()
    with redirect_stdout(plain):
        expected = function(x)
    with redirect_stdout(output):
        report = capture.explain(function)(x)
    assert (report.graph_count, report.graph_break_count) == (2, 1), str(report)
    found = report.breaks[0]
    assert found.file == __file__
    assert found.line == function.__code__.co_firstlineno + 2
    assert found.function == function.__name__
    assert found.reason and found.kind == "call"
    assert output.getvalue() == plain.getvalue()
    assert_same(report.result, expected, exact=False)


def in_place(x, y):
    x *= 2.0
    x[1:4] /= y
    x += 1.0


def test_writes_to_arguments_and_their_warnings():
    y = np.array([1.0, 0.0, 2.0])
    compiled = capture.compile(in_place)
    seen = []
    for function in (in_place, compiled):
        x = np.arange(6.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert function(x, y) is None
        seen.append((x.tolist(), [(str(w.message), w.category, w.filename, w.lineno) for w in caught]))
    assert seen[0] == seen[1]
    line = in_place.__code__.co_firstlineno + 2
    assert seen[1][1] == [("divide by zero encountered in divide", RuntimeWarning, __file__, line)]
    assert len(compiled.graphs) == 1


@pytest.mark.parametrize("mode", ["ignore", "raise", "warn"])
def test_errstate_is_honoured(mode):
    def inverse(x):
        y = x + 0.0
        return 1.0 / y

    run = captured(inverse)
    run(np.array([1.0, 2.0]))
    with np.errstate(divide=mode):
        run(np.array([1.0, 0.0]))
    assert run.graphs == 1


FACTOR = 2.0


def scaled(x, twice=True, offset=(1.0, 2.0)):
    return x * FACTOR + offset[0] if twice else x - offset[1]


def test_every_kind_of_change_gives_the_new_answer():
    global FACTOR
    run = captured(scaled, recompile_limit=20)
    x = np.linspace(-1.0, 1.0, 12)
    run(x)
    run(x.astype(np.float32))
    run(x.reshape(3, 4))
    run(x[::2])
    run(x[::-1])
    run(np.asfortranarray(x.reshape(3, 4)))
    run(x, twice=False)
    run(x, offset=(3.0, 4.0))
    run(x, True, (5, 4.0))
    run(np.arange(3))
    FACTOR = 3.0
    try:
        run(x)
        FACTOR = np.float32(3)
        run(x)
        FACTOR = np.arange(12.0)
        run(x)
    finally:
        FACTOR = 2.0
    scaled.__defaults__ = (False, (1.0, 2.0))
    run(x)
    scaled.__defaults__ = (True, (1.0, 2.0))
    run(x)


def test_closure_value_and_helper_body_are_guarded():
    weight = 2.0

    def helper(x):
        return x * weight

    def outer(x):
        return helper(x) + 1

    run = captured(outer)
    x = np.arange(4.0)
    run(x)
    weight = 5.0
    run(x)
    helper.__code__ = (lambda x: x - weight).__code__
    run(x)
    assert run.graphs == 3


def test_more_variants_than_the_limit_run_plainly_with_one_warning():
    compiled = capture.compile(lambda x: x * 2 + 1, dynamic=False, options={"recompile_limit": 2})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for size in range(2, 8):
            x = np.arange(float(size))
            assert_same(compiled(x), x * 2 + 1)
    assert len(compiled.graphs) == 2
    messages = [str(w.message) for w in caught if w.category is capture.errors.RecompileLimitWarning]
    assert len(messages) == 1 and "x.shape[0]" in messages[0]
    (place,) = [(w.filename, w.lineno) for w in caught if w.category is capture.errors.RecompileLimitWarning]
    assert place[0] == __file__


def test_coroutines_are_left_alone():
    async def later(x):
        return x * 2

    assert capture.compile(later) is later


def test_a_growing_cache_compiles_twice():
    """The example, with fewer tokens."""
    path = Path(__file__).parent.parent / "examples" / "decoder.py"
    decoder = runpy.run_path(str(path))
    model = decoder["make_model"](np.random.default_rng(0))
    step = capture.compile(decoder["step"], fullgraph=True, options={"strict": True})
    tokens, _ = decoder["generate"](step, model, 60)
    assert tokens == decoder["generate"](decoder["step"], model, 60)[0]
    assert len(step.variants) == 2


def late_row(x, n, y):
    row = x[n : n + 1] * 2  # of how many rows, is told by the last line
    centred = row - row.mean(axis=-1, keepdims=True)
    return centred.reshape(2, -1), centred + y


def test_a_size_that_turns_out_to_be_one_later():
    run = captured_by(late_row, backend=capture.backends.inductor, exact=False, fullgraph=True)
    for n in range(1, 7):
        run(np.arange(60.0).reshape(10, 6), n, np.ones((1, 6)))
    assert run.graphs == 2
