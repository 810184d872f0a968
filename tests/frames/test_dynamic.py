"""Sizes that change from call to call: how often that compiles, what it guards, and what users may declare."""

import math
import random
import sys

import numpy as np
import pytest

import capture
from capture import Dim
from capture.backends import inductor
from capture.errors import ShapeConstraintError
from tests.benchmarks.programs import elementwise, finance, normalising, reducing
from tests.helpers import captured
from tests.row_programs import ROWS, largest, matrix, softmax, standardised

SIZES = (0, 1, 2, 3, 7, 16, 17, 1000)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("program", ROWS, ids=lambda f: f.__name__)
def test_one_variant_for_all_sizes(program, dynamic, backend):
    options = {} if backend == "eager" else {"backend": inductor, "exact": False}
    run = captured(program, dynamic=dynamic, **options)
    sizes = list(SIZES)
    random.Random(program.__name__).shuffle(sizes)
    for n in sizes * 2:
        run(matrix(n))
    assert run.breaks == [] or program in (largest, standardised)  # of nothing: NumPy raises, or warns
    assert len(run.entry.variants) <= ROWS[program] + (dynamic is None)
    assert run.graphs >= 1


def test_both_sizes_change_one_after_the_other():
    run = captured(softmax)
    for n, d in ((16, 4), (17, 4), (18, 4), (18, 5), (2, 7), (1, 1)):
        run(matrix(n, d))
    assert run.misses == ["x.shape[0]: expected 16, got 17", "x.shape[1]: expected 4, got 5"]


def test_never_dynamic():
    run = captured(softmax, dynamic=False)
    for n in (3, 4, 5):
        run(matrix(n))
    assert run.graphs == 3


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (normalising.softmax, lambda n: (matrix(n),)),
        (normalising.layer_norm, lambda n: (matrix(n), np.ones(6), np.ones(6))),
        (reducing.gaussian_sum, lambda n: (matrix(n), np.ones(6), np.ones(6))),
        (elementwise.gelu, lambda n: (matrix(n),)),
        (elementwise.chain, lambda n: (matrix(n)[:, 0].copy(), matrix(n)[:, 1].copy())),
        (finance.black_scholes, lambda n: (matrix(n)[:, 0] + 3, matrix(n)[:, 1] + 4, np.ones(n))),
        (reducing.variance_rows, lambda n: (matrix(n),)),
        (reducing.masked_sum, lambda n: (matrix(n), matrix(n) + 1)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_benchmark_programs(program, arguments):
    run = captured(program, dynamic=True, backend=inductor, exact=False)
    for n in (7, 1, 16, 0, 1000, 17, 3):
        run(*arguments(n))
    assert (run.graphs, run.breaks) == (1, [])


# What sizes have to do with each other ------------------------------------------------------------------------------
def test_equal_by_chance_is_not_equal():
    run = captured(lambda x, y: (x * 2, y + 1), dynamic=True)
    run(matrix(4), matrix(4))
    run(matrix(4), matrix(9))
    assert run.graphs == 1


def test_equality_that_is_needed_is_one_guard():
    run = captured(lambda x, y: x @ y + x.sum(), dynamic=True)
    run(matrix(4, 5), matrix(5, 3))
    run(matrix(2, 7), matrix(7, 1))
    assert run.graphs == 1
    assert [str(g.check) for g in run.record.guards if "shape" in str(g.check)] == ["x.shape[1] == y.shape[0]"]
    with pytest.raises(ValueError, match="mismatch"):
        run.entry(matrix(4, 5), matrix(4, 5))


def test_broadcasting_of_one_row_is_another_case():
    run = captured(lambda x, y: x + y, dynamic=True)
    run(matrix(4), matrix(4))
    run(matrix(4), matrix(1))
    run(matrix(9), matrix(1))
    run(matrix(1), matrix(1))
    assert run.graphs == 2
    assert run.misses == ["x: expected x.shape[0] == y.shape[0], but x.shape[0] is 4, y.shape[0] is 1"]


def test_guards_that_follow_from_others_are_dropped():
    def f(x):
        if len(x) > 2 and len(x) > 1 and x.shape[0] >= 3:
            return x[1:] + x[:-1] + x[0]
        return x

    run = captured(f, dynamic=True)
    run(matrix(5))
    assert [str(g.check) for g in run.record.guards if "shape" in str(g.check)] == ["3 <= x.shape[0]"]


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: x[:, ::2], lambda x: x[::-1], lambda x: x.T])
def test_one_more_variant_for_another_layout(layout):
    run = captured(lambda x: x * 2 + 1, dynamic=True)
    for n in (4, 9, 2, 6):
        run(matrix(n))
        run(layout(matrix(n)))
    assert run.graphs <= 2


@pytest.mark.parametrize("order", ["C", "F"])
def test_sizes_of_one_and_none_fit_any_order(order):
    run = captured(lambda x: (x + 1, x.T), dynamic=True)
    for n, d in ((4, 5), (1, 5), (4, 1), (1, 1), (0, 3), (3, 0)):
        run(np.asarray(matrix(n, d), order=order))
    assert run.graphs <= 2


# Ints ----------------------------------------------------------------------------------------------------------------
def test_ints_are_sizes():
    def f(x, n, k):
        return x[:n].sum() + np.zeros((n, 2)).shape[0] + np.arange(k).sum(), x[k:] * n, x.reshape(n + 2, -1)

    run = captured(f, dynamic=True)
    for n, k in ((4, 1), (1, 2), (0, 3), (10, 0)):
        run(matrix(60, 1)[:, 0].copy(), n, k)
    assert len(run.record.variants) == 1


def test_a_counter_costs_one_recompile():
    run = captured(lambda x, step, rate: x * rate if step % 10 else x + step)
    for step in range(1, 30):
        run(matrix(3), step, 0.5 / step)
    assert len(run.record.variants) <= 4


@pytest.mark.parametrize("base", [0.99, 1.0, -0.5, 0.01])
def test_what_decays_with_a_counter_stays_in_the_graph(base):
    run = captured(lambda x, step: x * base**step)
    for step in (0, 1, 2, 7, 1000, 3):
        run(matrix(3), step)
    assert (len(run.entry.variants), run.breaks) == (2, [])


# Declared dims -------------------------------------------------------------------------------------------------------
BATCH, LINE = Dim("batch", min=1, max=64), sys._getframe().f_lineno


@pytest.fixture
def declared():
    def f(x, y, n):
        return x.sum(axis=0) + y.mean(axis=0) * n

    width = Dim("width")
    dynamic = {"x": {0: BATCH, 1: width}, "y": {0: 2 * BATCH, 1: width}, "n": Dim("n")}
    return capture.compile(f, dynamic=dynamic, backend="eager")


def test_declared_dims_are_open_and_related(declared):
    for n, d in ((3, 4), (5, 4), (64, 7), (1, 1)):
        x, y = matrix(n, d), matrix(2 * n, d)
        np.testing.assert_array_equal(declared(x, y, n), declared.__wrapped__(x, y, n))
    assert len(declared.variants) == 1


@pytest.mark.parametrize(
    ("rows", "others", "message"),
    [
        (65, 130, "x.shape[0] is 65, but the maximum of 'batch' is 64"),
        (0, 0, "x.shape[0] is 0, but the minimum of 'batch' is 1"),
        (3, 5, "y.shape[0] is 5, but it is declared as 2*batch, and 'batch' is 3 (x.shape[0])"),
    ],
)
def test_calls_against_the_declaration(declared, rows, others, message):
    declared(matrix(2), matrix(4), 1)
    with pytest.raises(ShapeConstraintError) as caught:
        declared(matrix(rows), matrix(others), 1)
    assert f"{message} (declared at test_dynamic.py:{LINE})" in str(caught.value)
    declared(matrix(3), matrix(6), 1)
    assert len(declared.variants) == 1


def test_arrays_where_an_int_is_declared():
    run = capture.compile(lambda x: x * 2, dynamic={"x": Dim("n")}, backend="eager")
    with pytest.raises(ShapeConstraintError, match="x is an array, but it is declared as Dim"):
        run(matrix(3))
    assert run(np.float64(2.0)) == 4.0


HALVES = Dim("halves", min=1, max=3)


@pytest.mark.parametrize(
    ("dims", "allowed", "refused", "words"),
    [
        ((2 * HALVES,), ((2,), (6,)), (3,), "x.shape[0] is 3, but it is declared as 2*halves"),
        ((2 * HALVES,), ((4,),), (8,), "so that 'halves' is 4, and the maximum of 'halves' is 3"),
        ((HALVES + 1,), ((2,), (4,)), (1,), "so that 'halves' is 0, and the minimum of 'halves' is 1"),
        ((2 * HALVES, HALVES + 1), ((4, 3), (6, 4)), (6, 3), "as halves + 1, and 'halves' is 3 (by x.shape[0])"),
    ],
)
def test_derived_dims_whose_own_dim_no_size_tells(dims, allowed, refused, words):
    dynamic = {name: {0: dim} for name, dim in zip("xy", dims, strict=False)}
    function = (lambda x: x * 2) if len(dims) == 1 else (lambda x, y: (x * 2, y * 2))
    run = capture.compile(function, dynamic=dynamic, backend="eager")
    for rows in allowed:
        run(*map(matrix, rows))
    assert len(run.variants) == 1
    with pytest.raises(ShapeConstraintError) as caught:
        run(*map(matrix, refused))
    assert words in str(caught.value)


def test_a_declared_dim_that_must_be_known():
    run = capture.compile(lambda x: x + np.arange(4), dynamic={"x": {0: Dim("n")}}, backend="eager")
    with pytest.raises(ShapeConstraintError, match=r"to change, but x.shape\[0\] == 4 is needed by x \+ np.arange"):
        run(np.ones(4))


@pytest.mark.parametrize(
    ("dynamic", "error", "words"),
    [
        ({"z": {0: BATCH}}, ValueError, "names 'z', but"),
        ({"x": {0: 3}}, TypeError, "is a int, not a Dim"),
        ({"x": {-1: BATCH}}, TypeError, "a dict from axes to Dims"),
        ({"x": {0: BATCH, 1: Dim("batch")}}, ValueError, "not the same bounds"),
        ("yes", ValueError, "None, False, True or a dict"),
    ],
)
def test_bad_declarations(dynamic, error, words):
    with pytest.raises(error, match=words):
        capture.compile(lambda x: x, dynamic=dynamic)


@pytest.mark.parametrize("bounds", [{"min": -1}, {"min": 3, "max": 2}, {"max": 1.5}])
def test_bad_bounds(bounds):
    with pytest.raises(ValueError, match="Dim 'n'"):
        Dim("n", **bounds)


# Marks ---------------------------------------------------------------------------------------------------------------
def test_marked_dynamic_is_open_at_once():
    run = capture.compile(lambda x: x * 2, backend="eager")
    x = matrix(4)
    capture.mark_dynamic(x, 0, max=100)
    run(x)
    run(matrix(9))
    assert len(run.variants) == 1
    with pytest.raises(ValueError, match="the maximum of 'size' is 3"):
        capture.mark_dynamic(x, 0, max=3)


def test_marked_static_stays_a_constant():
    run = capture.compile(lambda x: x * 2, dynamic=True, backend="eager")
    for n in (3, 4):
        x = matrix(n)
        capture.mark_static(x, 0)
        run(x)
    assert len(run.variants) == 2


# A decoder ------------------------------------------------------------------------------------------------------------
class Decoder:
    """One attention layer over a cache of keys and values that grows by a token a call."""

    def __init__(self, width, tokens, rng):
        self.embedding = rng.standard_normal((tokens, width))
        self.query, self.key, self.value = rng.standard_normal((3, width, width)) / math.sqrt(width)

    def step(self, token, keys, values):
        x = self.embedding[token : token + 1]
        keys = np.concatenate((keys, x @ self.key))
        values = np.concatenate((values, x @ self.value))
        scores = (x @ self.query) @ keys.T / math.sqrt(keys.shape[1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        x = x + (scores / scores.sum(axis=-1, keepdims=True)) @ values
        return (x @ self.embedding.T)[0], keys, values


def generate(step, tokens, width):
    token, keys, values, told = 1, np.zeros((0, width)), np.zeros((0, width)), []
    for _ in range(tokens):
        logits, keys, values = step(token, keys, values)
        token = int(logits.argmax())
        told.append(token)
    return told


def test_a_growing_cache_compiles_twice():
    decoder = Decoder(16, 50, np.random.default_rng(0))
    step = capture.compile(decoder.step, fullgraph=True)
    assert generate(step, 100, 16) == generate(decoder.step, 100, 16)
    assert len(step.__func__.variants) == 2


class Shaped:
    """Its shape is the user's code."""

    @property
    def shape(self):
        raise AssertionError("user code ran")

    def __mul__(self, other):
        return "product"


@pytest.mark.parametrize("dynamic", [True, None])
def test_looking_for_sizes_that_changed_runs_no_user_code(dynamic):
    run = captured(lambda x: x * 2, dynamic=dynamic)
    run(matrix(3))
    assert run.entry(Shaped()) == "product"
