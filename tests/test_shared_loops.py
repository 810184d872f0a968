"""Loops over the elements of large arrays, within loops, are shared out over threads: the same results, bit for bit."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import numpy as np
import pytest

import capture
from capture import backends, config
from capture.inductor import _executor
from capture.inductor.programs import sharing
from tests.helpers import captured
from tests.shared_work import everything_shared


def steps(u, v, n):
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) - v[1:-1] * 0.5
        v += np.sqrt(np.abs(u)) * 1e-3
    return u, v


def planes(a, n):
    b = a.copy()
    for _ in range(n):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a, b = b, a
    return a


def turned(a, n):
    b = np.zeros((a.shape[1], a.shape[0]))
    for _ in range(n):
        b += np.flip(a, 0).T * 0.125
        a[:] = b.T - a
    return a


def sums(a, n):
    total = np.zeros(a.shape[0])
    columns = np.zeros(a.shape[1])
    for k in range(n):
        total += (a * (k + 1)).sum(axis=1)
        columns += (a - k).max(axis=0) + a.argmax(axis=0) + a.mean(axis=0)
    return total, columns


def products(a, n):
    x = np.ones(a.shape[1])
    for _ in range(n):
        b = a @ a.T
        x = (b @ x)[: a.shape[1]] * 1e-3
    return x


def masked(z, c, n):
    for _ in range(n):
        inside = np.abs(z) < 2.0
        z[inside] = z[inside] ** 2 + c[inside]
        z[z > 1.5] = 0.25
    return z


def gathered(x, where, n):
    y = np.zeros(where.shape[0])
    for _ in range(n):
        y += x[where] * 0.5
        x[:] = x * 0.75 + 1
    return y


def integers(k, n):
    for i in range(n):
        k[:] = (k * 7 + i) % 1013
        k ^= k >> 2
    return k


def complexes(z, n):
    for _ in range(n):
        z[:] = z * 0.5 + z.conj()
    return z


def small_first_axis(f, n):
    for _ in range(n):
        f[:] = f * 0.9 + f.sum(axis=0) * 0.01
    return f


def rng():
    return np.random.default_rng(3)


CASES = {
    "steps": (steps, lambda: (rng().random(1003), rng().random(1003), 7)),
    "planes": (planes, lambda: (rng().random((61, 47)), 5)),
    "columns": (planes, lambda: (np.asfortranarray(rng().random((61, 47))), 5)),
    "turned": (turned, lambda: (rng().random((33, 57)), 6)),
    "every_second": (planes, lambda: (rng().random((80, 90))[::2, ::-3], 5)),
    "sums": (sums, lambda: (rng().random((37, 301)), 6)),
    "products": (products, lambda: (rng().integers(0, 5, (40, 30)).astype(float), 6)),
    "masked": (masked, lambda: (rng().random((50, 40)), rng().random((50, 40)) - 0.5, 6)),
    "gathered": (gathered, lambda: (rng().random(400), rng().integers(0, 400, 700), 5)),
    "integers": (integers, lambda: (rng().integers(0, 1000, 999), 9)),
    "bytes": (integers, lambda: (rng().integers(0, 100, 999).astype("u2"), 9)),
    "complexes": (complexes, lambda: (rng().random(500) + 1j * rng().random(500), 6)),
    "small_first_axis": (small_first_axis, lambda: (rng().random((3, 40, 50)), 6)),
    "one_column": (planes, lambda: (rng().random((61, 3)), 5)),
}


@pytest.mark.parametrize("threads", (1, 2, 4))
@pytest.mark.parametrize("name", CASES)
def test_results(name, threads):
    function, arguments = CASES[name]
    with everything_shared(threads) as count:
        run = captured(function, backend=backends.inductor, exact=name not in ("products", "sums"))
        run(*arguments())
        run(*arguments())
        assert run.graphs and run.breaks == []
        assert (count() > 0) == (threads > 1)


@pytest.mark.parametrize("dynamic", (False, True))
def test_small_sizes_after_large_ones(dynamic):
    with everything_shared(3) as count:
        run = captured(steps, backend=backends.inductor, dynamic=dynamic)
        for size in (1003, 5, 3, 2, 64, 2000):
            run(rng().random(size), rng().random(size), 6)
        assert count() > 0


def test_small_arrays_are_not_shared_out():
    before = _executor.share_count()
    run = captured(steps, backend=backends.inductor, options={"threads": 4})
    run(rng().random(200), rng().random(200), 5)
    run(rng().random(300), rng().random(300), 5)
    assert run.graphs and _executor.share_count() == before


def test_the_option_of_one_function(monkeypatch):
    monkeypatch.setattr(sharing, "LEAST", 0.001)
    for threads in (1, 3):
        before = _executor.share_count()
        compiled = capture.compile(steps, options={"threads": threads})
        compiled(rng().random(300_000), rng().random(300_000), 6)
        assert (_executor.share_count() > before) == (threads > 1)


# What is raised -------------------------------------------------------------------------------------------------------
def roots(x, n):
    for _ in range(n):
        x[:] = np.sqrt(x) - 0.01
    return x


def quotients(k, d, n):
    for _ in range(n):
        k[:] = k // d + 5
    return k


@pytest.mark.parametrize("place", (0, 500, 998))
def test_warnings_of_threads(place):
    """NumPy warns once for the whole array, of an element that any thread may have had."""
    x = np.full(999, 0.9)
    x[place] = -1.0
    k = np.full(999, 70)
    d = np.ones(999, "i8")
    d[place] = 0
    with everything_shared(4) as count:
        for function, arguments in ((roots, (x, 6)), (quotients, (k, d, 6))):
            run = captured(function, backend=backends.inductor)
            run(np.full(999, 0.9), 6) if function is roots else run(k, np.ones(999, "i8"), 6)
            shared = count()
            assert shared
            run(*arguments)
            assert run.graphs and count() > shared


def test_errors_of_threads():
    """A place that does not exist, found by one of them."""
    with everything_shared(4) as count:
        run = captured(gathered, backend=backends.inductor)
        where = rng().integers(0, 400, 700)
        run(rng().random(400), where, 5)
        assert count()
        for place in (0, 350, 699):
            wrong = where.copy()
            wrong[place] = 400
            run(rng().random(400), wrong, 5)
        run(rng().random(400), where, 5)
        assert run.graphs


def test_errors_are_raised_where_asked():
    with everything_shared(4) as count:
        compiled = capture.compile(roots)
        compiled(np.full(999, 0.9), 6)
        x = np.full(999, 0.9)
        x[700] = -1
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
            compiled(x, 6)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled(np.full(999, 0.9), 6)
        assert count()


# Signals, forks, other threads ----------------------------------------------------------------------------------------
def test_an_interrupt():
    with everything_shared(3) as count:
        compiled = capture.compile(roots)
        compiled(np.full(999, 0.9), 6)
        x = np.full(50_000, 0.9)
        timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            compiled(x, 2**40)
        timer.join()
        assert count() and (x == 0.9).all()
        assert np.array_equal(compiled(x.copy(), 5), roots(x.copy(), 5))


def test_a_handler_that_has_other_threads():
    """What a signal's handler runs may have threads; the program that waits for it has none before and behind it."""
    shared: list[int] = []

    def handle(*_):
        before = count()
        assert np.array_equal(many(np.full(999, 0.9), 6), roots(np.full(999, 0.9), 6))
        shared.append(count() - before)
        again = threading.Timer(0.1, signal.raise_signal, [signal.SIGUSR1])  # it came before the program had begun
        (ends if shared[-1] else again).start()

    with everything_shared(3) as count:
        many = capture.compile(roots)
        many(np.full(999, 0.9), 6)
        with config.patch(threads=1):
            alone = capture.compile(lambda x, rounds: roots(x, rounds))
            for rounds in (6, 7, 8):
                alone(np.full(999, 0.9), rounds)
        before = count()
        starts = threading.Timer(0.1, signal.raise_signal, [signal.SIGUSR1])
        ends = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
        known = signal.signal(signal.SIGUSR1, handle)
        try:
            starts.start()
            with pytest.raises(KeyboardInterrupt):
                alone(np.full(999, 0.9), 2**40)
        finally:
            signal.signal(signal.SIGUSR1, known)
        assert sum(shared) > 0 and count() - before == sum(shared)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork():
    with everything_shared(3) as count:
        compiled = capture.compile(planes)
        a = rng().random((61, 47))
        expected = planes(a.copy(), 5)
        assert np.array_equal(compiled(a.copy(), 5), expected) and count()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                before = count()
                if all(np.array_equal(compiled(a.copy(), 5), expected) for _ in range(5)):
                    status = 0 if count() > before else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert np.array_equal(compiled(a.copy(), 5), expected)


def test_python_threads_at_once():
    """One of them has the threads, the others do without."""
    with everything_shared(3) as count:
        compiled = capture.compile(planes)
        a = rng().random((61, 47))
        expected = planes(a.copy(), 50)
        compiled(a.copy(), 50)
        found: list[bool] = []

        def work():
            found.extend(np.array_equal(compiled(a.copy(), 50), expected) for _ in range(20))

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(found) == 60 and all(found) and count()
