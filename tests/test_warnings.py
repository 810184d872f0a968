"""Warnings of what nobody reads, or reads in part, and of what NumPy itself computes: each as in plain NumPy."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import capture
from capture.backends import eager, inductor
from capture.inductor.compile import plan_graph
from capture.ir import op as ops
from capture.ir.graph import Graph
from capture.ir.op import CannotInfer
from capture.ir.passes.warnings import may_warn
from capture.ir.types import ArrayType, type_of
from tests import helpers
from tests.compare import assert_same
from tests.ir.test_ops import DTYPES, as_operand, c_order, split

ODD = np.array([[0.0, -1.0, 2.0], [1.0, 2.0, -0.0]])
INTEGERS = np.array([1, 0, 3])
HUGE = np.full((2, 2), 1e308)


def unread(x):
    np.log(x)
    return x + 1


def unread_but_for_its_shape(x):
    return x + 1, np.exp(x * 1e3).shape


def unread_integers(i):
    i // 0
    i % i
    return i + 1


def unread_reduction(x):
    np.exp(x * 1e3).sum(axis=0)
    return x + 1


def unread_store(x):
    kept = np.zeros((2, 3), np.int8)
    kept[...] = 1 / x
    return x + 1


def read_in_part(x):
    y = np.log(x)
    return y[1:, :2]


def read_in_part_through_what_cannot_warn(x):
    y = -np.log(x)
    return np.abs(y)[1:, :2] * 2


def read_once_as_a_whole(x):
    y = 1 / x
    return y[1:], y * 2


def twice_on_two_lines(x):
    a = np.log(x)
    b = np.log(x)
    return a + b


def twice_on_one_line(x):
    return 1 / x + 1 / x


def one_element(x):
    y = np.sqrt(x)
    return y[1, 1]


def empty_part(x):
    return np.log(x)[:0]


def of_constants(x):
    a = 1 / np.zeros(3)
    b = np.log(np.zeros(3))
    c = np.zeros_like(x) / 0
    d = np.full(4, -1.0)
    return a, b, c, np.sqrt(d)


def overwritten(x):
    y = 1 / x
    y[...] = 2
    return y


def overwritten_twice(x):
    y = np.zeros(x.shape)
    y[...] = np.log(x) + 1
    y[...] = x
    return y


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (of_constants, ODD),
        (overwritten, ODD),
        (overwritten_twice, ODD),
        (unread, ODD),
        (unread_but_for_its_shape, ODD),
        (unread_integers, INTEGERS),
        (unread_reduction, ODD),
        (unread_store, ODD),
        (read_in_part, ODD),
        (read_in_part_through_what_cannot_warn, ODD),
        (read_once_as_a_whole, ODD),
        (twice_on_two_lines, ODD),
        (twice_on_one_line, ODD),
        (one_element, ODD),
        (empty_part, ODD),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_operation_warns(function, argument):
    compiled = capture.compile(function)
    check(compiled, function, argument)
    assert len(compiled.graphs) == 1
    check(compiled, function, argument)


def between_kernels(x, y):
    a = x * 2
    b = 1 / y
    c = np.matmul(x, x)
    d = np.log(y)
    return a, b, c, d


def test_what_numpy_computes_warns_in_order():
    compiled = capture.compile(between_kernels)
    zeros = np.zeros((2, 2))
    check(compiled, between_kernels, HUGE, zeros)
    assert len(compiled.graphs) == 1
    check(compiled, between_kernels, HUGE, zeros)
    check(compiled, between_kernels, np.eye(2), zeros)
    with np.errstate(over="ignore"):
        check(compiled, between_kernels, HUGE, zeros)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow encountered in multiply"):
        compiled(HUGE, zeros)


@pytest.mark.parametrize("op", [op for op in ops.all_ops() if op.infer and op.samples], ids=lambda op: op.name)
def test_what_has_flags_in_kernels_may_warn(op):
    """Passes and kernels agree on which operations are silent."""
    flagged = 0
    for sample, dtype in itertools.product(op.samples, DTYPES):
        operands, params = split(sample)
        operands = tuple(as_operand(value, dtype, c_order) for value in operands)
        graph = Graph("one")
        try:
            node = graph.call(op, *(lift(graph, value) for value in operands), **params)
        except CannotInfer:
            continue
        if node.kind == "call" and isinstance(node.type, ArrayType) and not may_warn(node):
            graph.output(node)
            flagged += len(plan_graph(graph).flags)
    assert flagged == 0


def lift(graph, value):
    if isinstance(value, tuple):
        return tuple(lift(graph, item) for item in value)
    return graph.placeholder("x", type_of(value)) if isinstance(value, np.ndarray | np.generic) else value


def check(compiled, function, *args):
    expected, expected_warnings = observed(function, *args)
    got, got_warnings = observed(compiled, *args)
    assert_same(got, expected)
    assert got_warnings == expected_warnings


def observed(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args)
    return result, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]


def written(x, y):
    x[...] = y / 0
    return x


def written_by_a_reduction(x, y):
    z = y - np.inf
    x += (z - z).max()
    return x


def written_through_numpys_python(x, y):
    x += np.mean(y[:0])
    return x


@pytest.mark.parametrize("function", [written, written_by_a_reduction, written_through_numpys_python])
def test_the_eager_backend_warns_at_the_users_line(function):
    helpers.captured(function).on(lambda: (np.ones(3), np.arange(3.0)))


def raised(x, y):
    x += 1
    with np.errstate(divide="raise"):
        x[0] = 7
        x[...] = y / 0
    return x


def raised_and_handled(x, y):
    try:
        with np.errstate(all="raise"):
            y *= 2
            x /= 0 * y
            x += 1
    except FloatingPointError as error:
        return str(error), x
    return x


def raised_by_a_filter(x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x += 1
        try:
            x /= 0
        except RuntimeWarning as error:
            return str(error), x
    return x


def raised_by_a_handler(x, y):
    def refuse(kind, flag):
        raise LookupError(kind, flag)

    before = np.seterrcall(refuse)
    try:
        with np.errstate(divide="call"):
            x *= 3
            x += y / 0
            x += 1
    finally:
        np.seterrcall(before)


@pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])
@pytest.mark.parametrize("function", [raised, raised_and_handled, raised_by_a_filter, raised_by_a_handler])
def test_what_was_written_before_an_error_stays_and_nothing_behind_it_is(function, backend):
    run = helpers.captured(function, backend=backend)
    run.on(lambda: (np.ones(3), np.arange(3.0)))
    run.on(lambda: (np.ones(3), np.arange(3.0)))
    assert run.graphs


SMALL = np.array([1e-200, 1.0, -1e-200, 1e-310])


def rounded_in_a_loop(x):
    found = np.zeros(4)
    for i in range(4):
        found[i] = x[i] * x[i] + i
    return found


def multiplied_in_place(x):
    x *= x
    x += 1


UNDERFLOWS = {
    "multiply": lambda x: x * x + 1,
    "divide": lambda x: x / 1e200,
    "by a half": lambda x: x * 0.5 - 1,
    "power": lambda x: x**2,
    "cast": lambda x: x.astype(np.float32) * 2,
    "reduce": lambda x: np.prod(x) + x.sum(),
    "scalars": lambda x: x[0] * x[0],
    "complex": lambda x: (x * 1j) * (x + 0j),
    "math": lambda x: np.exp(x - 720) > 0,
    "none": lambda x: x + x,
    "in a loop": rounded_in_a_loop,
    "in place": multiplied_in_place,
}


@pytest.mark.parametrize("mode", ["warn", "raise", "ignore"])
@pytest.mark.parametrize("name", UNDERFLOWS)
def test_underflow_is_told_where_somebody_asks(name, mode, captured):
    run = captured(UNDERFLOWS[name])
    with np.errstate(under=mode):
        run.on(lambda: (SMALL.copy(),))
        run.on(lambda: (SMALL.copy(),))
    assert run.graphs


def inverse_before_a_write(x):
    found = np.linalg.inv(np.zeros((2, 2)) * x[0])
    x += 1
    return found


def handled_before_a_write(x):
    try:
        found = np.linalg.inv(np.zeros((2, 2)) * x[0])
        x *= 2
    except np.linalg.LinAlgError as error:
        x += 1
        return str(error), x
    return found


@pytest.mark.parametrize("function", [inverse_before_a_write, handled_before_a_write])
def test_what_raises_before_a_write_is_raised_at_the_users_line(function, captured):
    run = captured(function)
    run(np.ones(3))
    assert run.graphs


HUGE_SIZES = {
    "two axes": lambda x: np.zeros((2**40, 2**40)) + x[0],
    "beside none": lambda x: np.zeros((0, 2**62, 8)) + x[0],
    "repeated": lambda x: x[0] + np.tile(x[:1], (2**40, 2**40)),
}


@pytest.mark.parametrize("name", HUGE_SIZES)
def test_arrays_too_large_for_numpy_are_left_to_it(name, captured):
    run = captured(HUGE_SIZES[name])
    run(np.ones(3))
    assert run.breaks
