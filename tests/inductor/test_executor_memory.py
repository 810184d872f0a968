"""The executor's memory: recycled outputs, the arena, what does not fit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from capture.inductor import _executor, executor
from tests.inductor.hand_made import VECTOR, Numbers, twice_plan

pytestmark = pytest.mark.usefixtures("empty_pool")

LARGE = 100_000  # elements of 8 bytes: above the size from which blocks are recycled


def test_large_outputs_are_recycled(library):
    run = executor.load(twice_plan(LARGE), library, threads=1)
    x = np.ones(LARGE)
    (first,) = run(x)
    assert first.flags == (2 * x).flags and first.base is None and first.ctypes.data % 64 == 0
    address = first.ctypes.data
    del first
    assert _executor.memory()["blocks"] == 1
    (second,) = run(x)
    (third,) = run(x)
    assert second.ctypes.data == address != third.ctypes.data
    assert np.array_equal(second, 2 * x) and np.array_equal(third, 2 * x)
    view = second[5:]
    del second
    assert run(x)[0].ctypes.data != address and view[0] == 2


def test_large_outputs_keep_their_layout(library):
    n = Numbers(VECTOR)
    for order in "CF":
        expected = np.empty((200, 3, 300), order=order)
        view = n.view(1, expected.shape, whole=True)
        plan = n.plan([n.buffer("output", expected.shape, strides=expected.strides)], [], [view])
        (result,) = executor.load(plan, library)(np.ones(1))
        assert (result.strides, result.flags) == (expected.strides, expected.flags)


def test_recycled_arrays_resize(library):
    run = executor.load(twice_plan(LARGE), library)
    (result,) = run(np.arange(float(LARGE)))
    emptied = False
    for size in (LARGE + 1, 3 * LARGE, LARGE, 10, 0, 1000):
        result.resize(size, refcheck=False)
        kept = min(size, 10)
        values = 2 * np.arange(10.0)[:kept] if emptied is False else np.zeros(kept)
        assert result.shape == (size,) and np.array_equal(result[:kept], values)
        emptied = emptied or size == 0


def test_the_pool_is_bounded(library):
    run = executor.load(twice_plan(LARGE), library)
    x = np.ones(LARGE)
    before = _executor.set_memory_limit(3 * 8 * LARGE + 4096)
    try:
        results = [run(x) for _ in range(10)]
        del results
        assert _executor.memory()["blocks"] == 3
        results = [run(x) for _ in range(70)]
        assert _executor.memory()["blocks"] == 0
        _executor.set_memory_limit(10**9)
        del results
        assert _executor.memory()["blocks"] == 64
        _executor.set_memory_limit(0)
        assert _executor.memory()["bytes"] == 0
        run(x)
        assert _executor.memory()["bytes"] == 0
    finally:
        assert _executor.set_memory_limit(before) == 0


def test_memory_is_released(library):
    executor.load(twice_plan(LARGE), library)(np.ones(LARGE))
    assert 8 * LARGE <= executor.release_memory() < 9 * LARGE
    assert executor.release_memory() == 0 and _executor.memory()["limit"] > 0


def test_blocks_of_quite_another_size_are_not_taken(library):
    large, small = (executor.load(twice_plan(size), library) for size in (10 * LARGE, LARGE))
    large(np.ones(10 * LARGE))
    (result,) = small(np.ones(LARGE))
    assert _executor.memory()["blocks"] == 1
    del result
    assert _executor.memory()["blocks"] == 2


def test_huge_blocks(library):
    size = 5_000_000
    run = executor.load(twice_plan(size), library)
    x = np.ones(size)
    for _ in range(2):
        assert np.array_equal(run(x)[0], 2 * x)
    assert _executor.memory()["blocks"] == 1


def test_large_arenas_go_back_to_the_pool(library):
    n = Numbers(VECTOR)
    arena = n.buffer("arena", (LARGE,), arena_offset=n(0))
    steps = [n.step("twice", LARGE), n.step("twice_again", LARGE)]
    view = n.view(2, (LARGE,), whole=True)
    plan = n.plan([arena, n.buffer("output", (LARGE,))], steps, [view], arena=n(8 * LARGE))
    run = executor.load(plan, library)
    x = np.ones(LARGE)
    (result,) = run(x)
    assert np.array_equal(result, 4 * x) and _executor.memory()["blocks"] == 1


def test_recycled_data_is_traced(library):
    run = executor.load(twice_plan(LARGE), library)
    x = np.ones(LARGE)
    tracemalloc.start()
    try:
        (result,) = run(x)
        held, _ = tracemalloc.get_traced_memory()
        del result
        freed, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held - freed >= 8 * LARGE


def test_outputs_that_do_not_fit_exit(library):
    n = Numbers(VECTOR)
    for shape in ((2**58,), (2**40, 2**40)):
        strides = (8,) if len(shape) == 1 else (2**43, 8)
        plan = n.plan([n.buffer("output", shape, strides=strides)], [], [])
        assert executor.load(plan, library)(np.ones(1)) is None


def test_arenas_that_do_not_fit_exit(library):
    n = Numbers(VECTOR)
    plan = n.plan([n.buffer("arena", (1,), arena_offset=n(0))], [], [], arena=n(2**60))
    assert executor.load(plan, library)(np.ones(1)) is None
