"""The executor's steps that call Python."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from capture.inductor import executor
from capture.inductor.plan import Buffer, ExternStep, Told, View
from capture.records import replace
from tests.inductor.hand_made import F8, VECTOR, Numbers, Subclass, extern_plan, fail


def test_extern_results_are_bound_and_returned(library):
    seen = []

    def function(x, doubled):
        seen.append(x)
        assert type(doubled) is np.ndarray and doubled.flags.writeable
        return x + doubled

    run = executor.load(extern_plan(function), library)
    x = np.arange(3.0)
    (result,) = run(x)
    assert seen[0] is x and np.array_equal(result, 3 * x) and sys.getrefcount(result) == 2


def test_extern_arguments(library):
    seen = []

    def function(*args, **kwargs):
        seen.append((args, kwargs))
        return np.zeros(3)

    n = Numbers(VECTOR)
    view = n.view(0, (2,), strides=(8,), offset=8)
    args = (1, "two", (3, (view, [4])), *range(9))
    kwargs = (("scalar", n.view(0, scalar=True)), ("part", (view,)))
    step = ExternStep(function, args, kwargs, 1)
    run = executor.load(n.plan([n.buffer("extern", (3,))], [step], []), library)
    x = np.arange(3.0)
    assert run(x) == ()
    ((one, two, (three, (part, four)), *rest), named) = seen[0]
    assert (one, two, three, four, rest) == (1, "two", 3, [4], list(range(9)))
    assert part.base is x and part.tolist() == [1, 2]
    assert type(named["scalar"]) is np.float64 and named["part"][0].tolist() == [1, 2]


def test_matmul_between_kernels(library):
    n = Numbers(VECTOR)
    matrix = np.arange(9.0).reshape(3, 3)
    buffers = [n.buffer("extern", (3,)), n.buffer("output", (3,))]
    steps = [ExternStep(np.matmul, (matrix, n.view(0, (3,), whole=True)), (), 1), n.step("twice_again", 3)]
    run = executor.load(n.plan(buffers, steps, [n.view(2, (3,), whole=True)]), library)
    x = np.arange(3.0)
    assert np.array_equal(run(x)[0], 2 * (matrix @ x))


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(3, "f4"),
        np.zeros(4),
        np.zeros((3, 1)),
        np.zeros(6)[::2],
        np.zeros(3, ">f8"),
        np.zeros(3).view(Subclass),
        np.broadcast_to(np.zeros(3), (3,)),
        np.float64(1),
        [0.0, 0.0, 0.0],
        None,
    ],
    ids=repr,
)
def test_unpredicted_results_exit(library, value):
    assert executor.load(extern_plan(lambda x, y: value), library)(np.ones(3)) is None


def test_strides_that_nothing_steps_over_do_not_matter(library):
    n = Numbers(VECTOR)
    value = np.lib.stride_tricks.as_strided(np.zeros(3), (1, 3), (999, 8))
    step = ExternStep(lambda: value, (), (), 1)
    run = executor.load(n.plan([n.buffer("extern", (1, 3))], [step], [n.view(1, (1, 3), whole=True)]), library)
    assert run(np.ones(1))[0] is value


@pytest.mark.parametrize("value", [np.float64(2), np.array(2.0), np.float32(2), 2.0])
def test_scalar_results(library, value):
    plan = extern_plan(lambda x, y: value, lambda n: [n.view(2, scalar=True)], shape=())
    result = executor.load(plan, library)(np.ones(3))
    if type(value) is np.float64:
        assert result is not None and result[0] is value
    else:
        assert result is None


def test_a_scalar_result_feeds_a_kernel(library):
    n = Numbers(VECTOR)
    steps = [ExternStep(np.sum, (n.view(0, (3,), whole=True),), (), 1), n.step("add_scalar", 3)]
    buffers = [n.buffer("extern"), n.buffer("output", (3,))]
    run = executor.load(n.plan(buffers, steps, [n.view(2, (3,), whole=True)]), library)
    x = np.arange(3.0)
    assert np.array_equal(run(x)[0], x + x.sum())


def test_several_results(library):
    n = Numbers(VECTOR)
    buffers = [n.buffer("extern", (3,)), n.buffer("extern", (3,), np.dtype("i4"))]
    views = [n.view(1, (3,), whole=True), n.view(2, (3,), np.dtype("i4"), whole=True)]
    plan = n.plan(buffers, [ExternStep(np.frexp, (n.view(0, (3,), whole=True),), (), (1, 2))], views)
    x = np.array([1.0, 3.0, 100.0])
    result = executor.load(plan, library)(x)
    assert all(map(np.array_equal, result, np.frexp(x)))
    wrong = replace(plan.steps[0], function=lambda x: np.frexp(x)[::-1])
    assert executor.load(replace(plan, steps=(wrong,)), library)(x) is None


def told_plan(function, several=False):
    """A call whose result tells a size, which an output has that is allocated then."""
    n = Numbers(VECTOR)
    size = n.computed()
    told = Told(1 if several else 0, 0, size, 1)
    step = ExternStep(function, (), (), (-1, 1) if several else 1, told)
    buffers = [Buffer("extern", F8, None, (size,), (n(8),)), Buffer("output", F8, None, (size,), (n(8),), stage=1)]
    views = [View(1, n(0), (size,), (n(8),), F8, whole=True), View(2, n(0), (size,), (n(8),), F8, whole=True)]
    return n.plan(buffers, [step], views)


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("several", [False, True])
def test_a_result_tells_a_size(library, size, several):
    value = np.arange(float(size))
    run = executor.load(told_plan(lambda: (None, value) if several else value, several), library)
    found, allocated = run(np.ones(3))
    assert found is value and allocated.shape == (size,)


@pytest.mark.parametrize("value", [2.0, np.array(2.0), np.ones((2, 2)), np.ones(3, "f4"), np.ones(6)[::2], (), [1.0]])
@pytest.mark.parametrize("several", [False, True])
def test_what_tells_no_size_exits(library, value, several):
    assert executor.load(told_plan(lambda: (None, value) if several else value, several), library)(np.ones(3)) is None
    assert executor.load(told_plan(lambda: value, several), library)(np.ones(3)) is None


def test_an_exception_exits_while_nothing_is_written(library):
    run = executor.load(extern_plan(fail(ZeroDivisionError)), library)
    assert run(np.ones(3)) is None
    run = executor.load(extern_plan(fail(KeyboardInterrupt)), library)
    with pytest.raises(KeyboardInterrupt):
        run(np.ones(3))


def test_an_exception_propagates_once_something_is_written(library):
    x = np.ones(3)
    with pytest.raises(ZeroDivisionError, match="mine"):
        executor.load(extern_plan(fail(ZeroDivisionError), writes=True), library)(x)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="something other than was predicted"):
        executor.load(extern_plan(lambda x, y: None, writes=True), library)(x)


def test_operands_that_are_kept_stay_as_they_were(library):
    kept = []

    def function(x, doubled):
        kept.append(doubled)
        return x.copy()

    run = executor.load(extern_plan(function), library)
    for value in range(4):
        run(np.full(3, float(value)))
    assert [array.tolist() for array in kept] == [[2.0 * value] * 3 for value in range(4)]
    del run
    gc.collect()
    assert [array.tolist() for array in kept] == [[2.0 * value] * 3 for value in range(4)]


def test_results_in_the_arena_exit(library):
    assert executor.load(extern_plan(lambda x, doubled: doubled), library)(np.ones(3)) is None
    assert executor.load(extern_plan(lambda x, doubled: doubled[:]), library)(np.ones(3)) is None


def test_reentrance(library):
    def function(x, doubled):
        if x[0] < 5:
            (inner,) = run(x + 1)
            return inner + doubled
        return doubled.copy()

    run = executor.load(extern_plan(function), library)
    assert run(np.ones(3))[0].tolist() == [2.0 * (1 + 2 + 3 + 4 + 5)] * 3
