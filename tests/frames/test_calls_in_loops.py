"""FFTs and LAPACK in loops that are nodes: the program calls NumPy, and leaves where that raises or warns."""

import signal
import threading
import time

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured

BACKENDS = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])


def loops(run):
    return sum(node.target == "loop" for graph in run.record.graphs for node in graph)


def diffusion(u, n):
    damp = np.linspace(1.0, 0.5, u.shape[0])
    for _ in range(n):
        u = np.fft.ifft(np.fft.fft(u) * damp).real
        u = u + 0.1 * u * (1.0 - u)
    return u


def real_transforms(u, n):
    size = u.shape[0]
    for _ in range(n):
        u = np.fft.irfft(np.fft.rfft(u) * 0.75, n=size) + 1.0
    return u


def planes(u, n):
    for k in range(n):
        u = np.fft.irfft2(np.fft.rfft2(u) * 0.5) + k
        u = u + np.fft.fftshift(np.fft.fft(u, axis=0, norm="ortho").real)
    return u


def other_parameters(u, n):
    for k in range(n):
        u = np.fft.irfft2(np.fft.rfft2(u) * 0.5) + k
        u = u + np.fft.fftshift(np.fft.fft(u, axis=0, norm="forward").real)
    return u


def solving(u, n):
    a = np.eye(u.shape[0]) * 4.0 + u[:, 0] * 0.125
    b = u[:, 0] * 1.0
    size = 0.0
    for k in range(n):
        b = b * 0.5 + np.linalg.solve(a, b + k)
        size += np.linalg.det(a) * 1e-3
        a = a + np.linalg.inv(a) * 0.5
    return a, b, size


def windows(u, n):
    """Sizes that differ from round to round."""
    out = np.zeros(u.shape[0])
    for k in range(1, u.shape[0]):
        out[k] = np.abs(np.fft.rfft(u[:k, 0]))[0]
    return out


PROGRAMS = [diffusion, real_transforms, planes, other_parameters, solving, windows]


@BACKENDS
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy(function, backend):
    shape = (16,) if function in (diffusion, real_transforms) else (8, 8)
    run = captured(function, backend=backend, exact=backend is eager)
    for seed in range(3):
        run.on(lambda: (np.random.default_rng(seed).random(shape), 6 + seed))  # noqa: B023
    assert loops(run) >= 1 and not run.breaks and not run.record.loops


def test_not_in_c_order_is_left():
    def function(u, n):
        for _ in range(n):
            u = np.fft.fft(u.T, axis=0).real.copy() * 0.1
        return u

    run = captured(function, backend=inductor, exact=False)
    for _ in range(2):
        run.on(lambda: (np.random.default_rng(1).random((6, 6)), 5))


def singular(a, n):
    found = a * 1.0
    for _ in range(n):
        a[0, 0] -= 1.0
        found = np.linalg.inv(a)
    return found


@BACKENDS
def test_errors_are_numpys(backend):
    run = captured(singular, backend=backend, exact=False)
    run.on(lambda: (np.eye(3) * 9.5, 5))
    run.on(lambda: (np.eye(3) * 9.0, 5))
    run.on(lambda: (np.eye(3) * 9.0, 12))  # singular after nine rounds
    assert loops(run) >= 1


@BACKENDS
def test_warnings_are_numpys(backend):
    run = captured(diffusion, backend=backend, exact=backend is eager)
    run.on(lambda: (np.ones(8), 5))
    run.on(lambda: (np.full(8, 1e308), 5))
    run.on(lambda: (np.array([np.inf, 1.0, 2.0, np.nan, 0, 0, 0, 0]), 5))
    assert loops(run) >= 1


def test_interrupt():
    def endless(u):
        for _ in range(10_000_000):
            u = np.fft.ifft(np.fft.fft(u)).real
        return u

    run = captured(endless, backend=inductor)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run.entry(np.ones(64))
    assert time.monotonic() - start < 20
    timer.join()
