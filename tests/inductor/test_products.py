"""Products of vectors and matrices in loops: where NumPy's own functions compute them, and where kernels do."""

from __future__ import annotations

import numpy as np
import pytest

import capture
from capture import config
from capture.inductor import tuning
from capture.inductor.choices import DEFAULT, Choices
from capture.inductor.compile import load_plan, plan_graph
from capture.inductor.plan import ExternStep, KernelStep
from tests.helpers import captured

RANDOM = np.random.default_rng(7)


class Runs:
    """A backend by one choice of products, and the steps of its plans."""

    def __init__(self, products, **params):
        self.choices, self.params, self.plans = Choices(products=products), params, []

    def __call__(self, graph, inputs):
        self.plans.append(plan_graph(graph, choices=self.choices, **self.params))
        return load_plan(self.plans[-1])

    @property
    def calls(self):
        """How often NumPy is called in all of the plans."""
        return sum(isinstance(step, ExternStep) for plan in self.plans for step in plan.steps)

    @property
    def kernels(self):
        return sum(isinstance(step, KernelStep) for plan in self.plans for step in plan.steps)


def floats(*shape, dtype=np.float64):
    """Of one sign, so that sums in another order differ by little."""
    return RANDOM.uniform(0.5, 1.5, shape).astype(dtype)


def whole(*shape, dtype=np.int64):
    return RANDOM.integers(-9, 9, shape).astype(dtype)


FUNCTIONS = {
    "matmul": lambda x, y: x @ y,
    "np.matmul": lambda x, y: np.matmul(x, y),
    "np.linalg.matmul": lambda x, y: np.linalg.matmul(x, y),
    "dot": lambda x, y: np.dot(x, y),
    "method dot": lambda x, y: x.dot(y),
    "inner": lambda x, y: np.inner(x, y.T),
    "fused": lambda x, y: np.maximum(x @ y, 1),
}
FLAT = [
    ((5,), (5,)),
    ((3, 5), (5,)),
    ((5,), (5, 4)),
    ((3, 5), (5, 4)),
    ((1, 1), (1, 1)),
    ((3, 0), (0, 4)),
    ((40, 70), (70, 9)),
]
STACKED = [
    ((6, 3, 5), (6, 5, 4)),
    ((6, 3, 5), (5, 4)),
    ((3, 5), (6, 5, 4)),
    ((2, 1, 3, 5), (6, 5, 4)),
    ((6, 3, 5), (5,)),
]


@pytest.mark.parametrize("shapes", FLAT, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8", "u4", "?"])
def test_loops_give_the_product(name, shapes, dtype):
    runs = Runs("loops")
    one, other = (floats(*s, dtype=dtype) if dtype[0] == "f" else whole(*s, dtype=dtype) for s in shapes)
    captured(FUNCTIONS[name], backend=runs, exact=dtype[0] != "f")(one, other)
    assert runs.kernels and not runs.calls


@pytest.mark.parametrize("shapes", STACKED, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_loops_give_products_of_stacks(shapes, dtype):
    runs = Runs("loops")
    one, other = (floats(*s, dtype=dtype) if dtype[0] == "f" else whole(*s, dtype=dtype) for s in shapes)
    captured(lambda x, y: x @ y, backend=runs, exact=dtype[0] != "f")(one, other)
    assert runs.kernels and not runs.calls


@pytest.mark.parametrize("one", [lambda x: x, lambda x: x.T, lambda x: x[::-1, ::2], lambda x: np.asfortranarray(x)])
@pytest.mark.parametrize("other", [lambda x: x, lambda x: x.T, lambda x: x[::2, ::-1]])
def test_operands_in_any_layout(one, other):
    runs = Runs("loops")
    x, y = one(floats(12, 12)), other(floats(12, 12))
    if x.shape[1] == y.shape[0]:
        captured(lambda x, y: x @ y, backend=runs, exact=False)(x, y)
        assert runs.kernels and not runs.calls


@pytest.mark.parametrize("dtypes", [("i4", "f8"), ("f4", "f8"), ("i1", "i8"), ("?", "f4"), ("u1", "i1")])
def test_operands_of_two_dtypes(dtypes):
    runs = Runs("loops")
    x, y = whole(4, 5).astype(dtypes[0]), whole(5, 3).astype(dtypes[1])
    captured(lambda x, y: x @ y, backend=runs)(x, y)  # whole numbers: exact in any order
    assert runs.kernels and not runs.calls


@pytest.mark.parametrize("dtype", ["f2", "c8", "c16"])
def test_what_numpy_rounds_in_its_own_way_is_left_to_it(dtype):
    runs = Runs("loops")
    captured(lambda x, y: x @ y, backend=runs)(floats(4, 5).astype(dtype), floats(5, 3).astype(dtype))
    assert runs.calls == 1


def test_without_measuring_floats_are_left_to_numpy_and_integers_are_not():
    runs = Runs("estimates")
    captured(lambda x, y: x @ y, backend=runs)(floats(4, 5), floats(5, 3))
    assert runs.calls == 1
    for shapes in FLAT:
        runs = Runs("estimates")
        captured(lambda x, y: x @ y, backend=runs)(*(whole(*shape) for shape in shapes))
        assert runs.kernels and not runs.calls
    runs = Runs("blas")
    captured(lambda x, y: x @ y, backend=runs)(whole(4, 5), whole(5, 3))
    assert runs.calls == 1


def test_integers_wrap_as_they_do_in_numpy():
    runs = Runs("estimates")
    big = np.array([[127, -128], [100, 77]], np.int8)
    captured(lambda x, y: (x @ y, np.dot(x, y[0]), np.inner(x, y), np.vdot(x[0], y[0])), backend=runs)(big, big[::-1])
    assert runs.kernels and not runs.calls


def test_sizes_may_be_open():
    runs = Runs("loops")
    run = captured(lambda x, y: x @ y, backend=runs, exact=False, dynamic=True)
    for rows, inner in ((3, 5), (4, 6), (1, 1), (7, 300)):
        run(floats(rows, inner), floats(inner))
    assert runs.kernels and not runs.calls


def test_large_matrices_are_left_to_the_blas():
    runs = Runs("loops")
    captured(lambda x, y: x @ y, backend=runs)(floats(100, 90), floats(90, 80))
    assert runs.calls == 1


def test_numpys_mathematics_keeps_numpys_products():
    runs = Runs("loops", exact=True)
    captured(lambda x, y: (x @ y, (x * 2).astype(int) @ (y * 2).astype(int)), backend=runs)(floats(4, 5), floats(5, 3))
    assert runs.calls == 2


def test_negative_zero_is_as_in_numpy():
    for shapes in (((1,), (1,)), ((2, 1), (1, 2)), ((2, 3), (3,)), ((3,), (3, 2))):
        runs = Runs("loops")
        result = captured(lambda x, y: x @ y, backend=runs)(-np.zeros(shapes[0]), np.ones(shapes[1]))
        assert not np.signbit(result).any() and not runs.calls


ODD = {
    "an infinite product": ([1e300, 1.0], [1e300, 1.0]),
    "an infinite sum": ([1e308, 1e308], [1.0, 1.0]),
    "both": ([1e300, 1e308, 1e308], [1e300, 1.0, 1.0]),
    "infinity times zero": ([np.inf, 1.0], [0.0, 1.0]),
    "infinities of two signs": ([np.inf, -np.inf], [1.0, 1.0]),
    "infinity": ([np.inf, 1.0], [1.0, 1.0]),
    "not a number": ([np.nan, 1.0], [1.0, 1.0]),
    "nothing": ([1.0, 2.0], [1.0, 1.0]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("function", ["matmul", "dot", "inner"])
def test_warnings_are_numpys(name, function):
    x, y = map(np.array, ODD[name])
    for one, other in ((x, y), (x[None], y), (x, y[:, None]), (x[None], y[:, None])):
        runs = Runs("loops")
        run = captured(FUNCTIONS[function], backend=runs)
        run(one, other)  # compares warnings and where they point
        assert not runs.calls and runs.kernels
        with np.errstate(all="raise", under="ignore"):
            run(one, other)  # compares errors
        with np.errstate(all="ignore"):
            run(one, other)


def test_numpy_multiplies_where_arguments_are_written_so_that_nothing_is_done_twice():
    def add(x, y):
        total = x @ y
        x += 1.0
        return total

    runs = Runs("loops")
    captured(add, backend=runs)(np.full(3, 1e308), np.full(3, 2.0))
    assert runs.calls == 1


# Measuring --------------------------------------------------------------------------------------------------------
def layer(x, weights):
    return np.maximum(x @ weights + 1.0, 0.0)


def contracted(x, y):
    return np.einsum("ij,jk->ik", x, y)


@pytest.fixture
def own_cache(tmp_path):
    with config.patch(cache_dir=tmp_path):
        yield tmp_path


def prefers(monkeypatch, products):
    """Measuring finds the plans of one choice to be twice as fast as others; all choices of products measured."""
    measured, choices_of = [], {}
    untried = tuning._untried

    def note(graph, found, choices, seen):
        runner = untried(graph, found, choices, seen)
        if runner is not None:
            choices_of[id(runner)] = choices.products
        return runner

    def times_as_fast(runner, other, inputs):
        assert runner(*inputs) is not None and other(*inputs) is not None
        pair = tuple(choices_of.get(id(each), DEFAULT.products) for each in (runner, other))
        measured.append(pair)
        if pair[0] == pair[1]:
            return 1.0
        return 2.0 if pair[0] == products else 0.5 if pair[1] == products else 1.0

    monkeypatch.setattr(tuning, "_untried", note)
    monkeypatch.setattr(tuning, "_times_as_fast", times_as_fast)
    return measured


CASES = [
    (layer, (floats(4, 5), floats(5, 3)), "loops", "products in loops"),
    (layer, (floats(4, 5), floats(5, 3)), "estimates", None),
    (contracted, (floats(4, 5), floats(5, 3)), "blas", "products by BLAS"),
    (contracted, (floats(4, 5), floats(5, 3)), "estimates", None),
    (contracted, (floats(40, 50), floats(50, 30)), "loops", "products in loops"),
    (lambda x, y: x @ y, (whole(4, 5), whole(5, 3)), "blas", "products by BLAS"),
]


@pytest.mark.parametrize(("function", "args", "products", "words"), CASES)
def test_both_are_measured_and_the_faster_one_is_kept(own_cache, monkeypatch, function, args, products, words):
    measured = prefers(monkeypatch, products)
    report = capture.explain(function, mode="max-autotune")(*args)
    others = {pair for pair in measured if pair[0] != pair[1]}
    assert others and all("estimates" in pair or products in pair for pair in others)
    told = f"{words}: 2.00 times as fast as by estimates" if words else "nothing that was measured is faster"
    assert told in str(report)
    np.testing.assert_allclose(report.result, function(*args), rtol=1e-12, atol=1e-12)
    if function is layer:
        assert ("terms" in str(report)) == (products == "loops")


def test_both_are_run_on_the_arguments_at_hand(own_cache, monkeypatch):
    ran = []
    seconds = tuning._seconds

    def note(runner, inputs, calls):
        ran.append(any(isinstance(step, ExternStep) for step in runner.plan.steps))
        return seconds(runner, inputs, calls)

    monkeypatch.setattr(tuning, "_seconds", note)
    capture.compile(layer, mode="max-autotune")(floats(4, 5), floats(5, 3))
    assert {True, False} <= set(ran), "only one of the two was timed"


def test_where_only_one_exists_nothing_is_measured(own_cache, monkeypatch):
    measured = prefers(monkeypatch, "loops")
    capture.compile(layer, mode="max-autotune")(floats(100, 90), floats(90, 80))
    assert not [pair for pair in measured if pair[0] != pair[1]]
