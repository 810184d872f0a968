"""The executor's threads: sharing work out, concurrent calls, signals, fork."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from capture.inductor import _executor, executor
from capture.inductor.plan import FLAG_DIVIDE, FLAG_INVALID, Flag
from capture.ir.graph import Position
from capture.records import replace
from tests.inductor.hand_made import F8, VECTOR, WRITTEN, Numbers, muladd_plan, twice_plan, warned


def test_work_is_shared_out(library):
    size = 100_003
    x = np.arange(float(size))
    run = executor.load(twice_plan(size, work=100, grain=64), library, threads=3)
    for _ in range(20):
        assert np.array_equal(run(x)[0], 2 * x)
    assert _executor.worker_count() >= 2 and run.threads == 3
    alone = executor.load(twice_plan(size, work=100), library, threads=1)
    assert np.array_equal(alone(x)[0], 2 * x)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_run_at_once(library, threads):
    n = Numbers(WRITTEN)
    plan = n.plan([], [n.step("meet", threads, 100_000)], [], writes=True)
    run = executor.load(plan, library, threads=threads)
    for _ in range(5):
        counts = np.zeros(threads, "i8").view(F8)
        run(counts)
        assert counts.view("i8")[:2].tolist() == [threads, threads]


@pytest.mark.parametrize("size, grain", [(1, 1), (5, 8), (8, 8), (17, 8), (1000, 999), (64, 1)])
def test_every_iteration_runs_once(library, size, grain):
    n = Numbers(WRITTEN)
    plan = n.plan([], [n.step("increment", size, 1_000_000 // size, grain=grain)], [], writes=True)
    run = executor.load(plan, library, threads=4)
    x = np.zeros(size)
    for _ in range(50):
        run(x)
    assert (x == 50).all()


def test_scratch_and_flags_are_private_to_a_thread(library):
    n = Numbers(VECTOR)
    size = 50_000
    step = replace(n.step("private", size, 100), scratch=n(8))
    plan = n.plan([n.buffer("output", (size,))], [step], [n.view(1, (size,), whole=True)])
    x = np.arange(float(size))
    run = executor.load(plan, library, threads=4)
    for _ in range(20):
        assert np.array_equal(run(x)[0], x * x)
    n = Numbers(VECTOR)
    step = n.step("raise_flags", size, 100)
    view = n.view(1, (size,), whole=True)
    flags = [Flag(label, Position("user.py", 1)) for label in "abc"]
    run = executor.load(n.plan([n.buffer("output", (size,))], [step], [view], flags=flags), library, threads=4)
    x = np.zeros(size)
    x[[3, size - 1]] = FLAG_DIVIDE, FLAG_INVALID
    _, caught = warned(run, x)
    assert sorted(text[-1] for text, *_ in caught) == sorted("abc"[i % 3] for i in (3, size - 1))


def test_empty_extents_run_no_kernel(library):
    n = Numbers(WRITTEN)
    run = executor.load(n.plan([], [n.step("increment", 0)], [], writes=True), library)
    x = np.zeros(1)
    assert run(x) == () and x[0] == 0


def test_long_kernels_run_in_slices(library):
    size = 1000
    x = np.arange(float(size))
    run = executor.load(twice_plan(size, work=10**10, grain=7), library, threads=1)  # an estimate, not the truth
    assert np.array_equal(run(x)[0], 2 * x)


def test_signals_are_seen_after_long_kernels(library):
    def interrupt(*_):
        raise InterruptedError("from the handler")

    n = Numbers(WRITTEN)
    x = np.zeros(3)
    steps = [n.step("interrupt", 3, 10**8), n.step("increment", 3)]
    run = executor.load(n.plan([], steps, [], writes=True), library, threads=1)
    previous = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(InterruptedError, match="from the handler"):
            run(x)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert not x.any()


def test_concurrent_calls(library):
    size = 20_000
    run = executor.load(muladd_plan(size, work=10), library, threads=2)
    wrong = []

    def work(seed):
        a, b, c = np.random.default_rng(seed).random((3, size))
        expected = a * b + c
        for _ in range(100):
            if not np.array_equal(run(a, b, c)[0], expected):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and run.calls == 400


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork(library):
    size = 100_000
    x = np.arange(float(size))
    run = executor.load(twice_plan(size, work=100), library, threads=2)
    assert run(x) is not None and _executor.worker_count() >= 1
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if _executor.worker_count() == 0 and all(np.array_equal(run(x)[0], 2 * x) for _ in range(10)):
                status = 0 if _executor.worker_count() >= 1 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(run(x)[0], 2 * x)
