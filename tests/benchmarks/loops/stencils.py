"""Grids in time: finite differences, relaxation, waves, reaction and diffusion."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.loops.record import Loops


def heat_1d(u, steps, r):
    """Explicit Euler steps of the heat equation."""
    for _ in range(steps):
        u[1:-1] = u[1:-1] + r * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def heat_1d_points(u, steps, r):
    """The same, point by point, with two arrays that change places."""
    new = u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = u[i] + r * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, new = new, u
    return u


def jacobi_2d(a, b, steps):
    """Means of five points, back and forth between two arrays."""
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def jacobi_poisson(u, f, h, tolerance):
    """Jacobi's method for Poisson's equation until an iteration changes little."""
    change = 1.0
    iterations = 0
    while change > tolerance:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - h * h * f[1:-1, 1:-1])
        change = np.abs(new - u).max()
        u = new
        iterations += 1
    return u, iterations


def heat_3d(a, b, steps):
    """Second differences along three axes, two steps a round."""
    for _ in range(1, steps + 1):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = (
            0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[:-2, 1:-1, 1:-1])
            + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1])
            + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, 1:-1, :-2])
            + b[1:-1, 1:-1, 1:-1]
        )


def gauss_seidel(u, steps):
    """Relaxation in place: every point sees its neighbours' new values."""
    n = u.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def seidel_rows(a, steps):
    """A nine point sweep: what is known before along whole rows, then along the row."""
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0


def fdtd_2d(ex, ey, hz, source):
    """Maxwell's equations on a staggered grid."""
    for t in range(source.shape[0]):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return hz


def adi(u, steps):
    """Alternating directions: tridiagonal systems by columns, then by rows."""
    n = u.shape[0]
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    dx, dt = 1.0 / n, 1.0 / steps
    mu1, mu2 = 2.0 * dt / (dx * dx), dt / (dx * dx)
    a, d = -mu1 / 2.0, -mu2 / 2.0
    b, e = 1.0 + mu1, 1.0 + mu2
    c, f = a, d
    for _ in range(1, steps + 1):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (-d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]) / (
                a * p[1:-1, j - 1] + b
            )
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -f / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (-a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1]) / (
                d * p[1:-1, j - 1] + e
            )
        u[1:-1, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return u


def wave_2d(u, previous, steps, c):
    """Leapfrog steps of the wave equation; three arrays change places."""
    new = np.zeros_like(u)
    for _ in range(steps):
        new[1:-1, 1:-1] = (
            2.0 * u[1:-1, 1:-1]
            - previous[1:-1, 1:-1]
            + c * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        )
        previous, u, new = u, new, previous
    return u


def gray_scott(u, v, steps, feed, kill):
    """Two substances that react and diffuse, on a torus."""
    for _ in range(steps):
        lu = np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0) + np.roll(u, 1, axis=1) + np.roll(u, -1, axis=1) - 4.0 * u
        lv = np.roll(v, 1, axis=0) + np.roll(v, -1, axis=0) + np.roll(v, 1, axis=1) + np.roll(v, -1, axis=1) - 4.0 * v
        uvv = u * v * v
        u = u + 0.16 * lu - uvv + feed * (1.0 - u)
        v = v + 0.08 * lv + uvv - (feed + kill) * v
    return u, v


def life(board, steps):
    """Conway's game of life, whole array by whole array."""
    for _ in range(steps):
        near = np.zeros(board.shape, dtype=np.uint8)
        near[1:-1, 1:-1] = (
            board[:-2, :-2] + board[:-2, 1:-1] + board[:-2, 2:]
            + board[1:-1, :-2] + board[1:-1, 2:]
            + board[2:, :-2] + board[2:, 1:-1] + board[2:, 2:]
        )  # fmt: skip
        born = (near == 3) & (board == 0)
        stays = ((near == 2) | (near == 3)) & (board == 1)
        board[...] = 0
        board[born | stays] = 1
    return board


def life_cells(board, steps):
    """The same on a torus, cell by cell."""
    rows, columns = board.shape
    for _ in range(steps):
        new = np.zeros_like(board)
        for i in range(rows):
            for j in range(columns):
                near = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            near += board[(i + di) % rows, (j + dj) % columns]
                if near == 3 or (near == 2 and board[i, j] == 1):
                    new[i, j] = 1
        board = new
    return board


def _grids(count):
    def make(rng, n, *rest):
        return (*(rng.random((n, n)) for _ in range(count)), *rest)

    return make


def _board(rng, n, steps):
    return (rng.random((n, n)) < 0.35).astype(np.uint8), steps


def _fdtd(rng, n, steps):
    return (*(rng.random((n, n + 3)) for _ in range(3)), np.sin(np.arange(steps) / 5.0))


PROGRAMS = (
    Loops(heat_1d, lambda rng, n, steps: (rng.random(n), steps, 0.25), (24, 12), (4000, 20_000), (100_000, 10_000)),
    Loops(heat_1d_points, lambda rng, n, steps: (rng.random(n), steps, 0.25), (24, 11), (1000, 300), (10_000, 1000)),
    Loops(jacobi_2d, _grids(2), (16, 10), (200, 500), (1000, 200)),
    Loops(
        jacobi_poisson,
        lambda rng, n, digits: (np.zeros((n, n)), rng.random((n, n)), 1.0 / n, 10.0**-digits),
        (16, 6),
        (100, 7),
        (300, 7),
    ),
    Loops(
        heat_3d,
        lambda rng, n, steps: (rng.random((n, n, n)), rng.random((n, n, n)), steps),
        (10, 9),
        (40, 50),
        (120, 50),
    ),
    Loops(gauss_seidel, _grids(1), (12, 10), (80, 20), (400, 50)),
    Loops(seidel_rows, _grids(1), (12, 10), (80, 20), (400, 50)),
    Loops(fdtd_2d, _fdtd, (14, 10), (200, 500), (1000, 200)),
    Loops(adi, _grids(1), (14, 10), (100, 50), (500, 100)),
    Loops(
        wave_2d,
        lambda rng, n, steps: (rng.random((n, n)), np.zeros((n, n)), steps, 0.25),
        (16, 10),
        (200, 500),
        (1000, 200),
    ),
    Loops(
        gray_scott,
        lambda rng, n, steps: (*rng.random((2, n, n)), steps, 0.04, 0.06),
        (16, 10),
        (128, 300),
        (512, 300),
        numba=False,
        note="numba has no roll along an axis",
    ),
    Loops(
        life,
        _board,
        (16, 10),
        (200, 500),
        (1000, 200),
        dtype="uint8",
        numba=False,
        note="numba has no assignment by a 2-D mask",
    ),
    Loops(life_cells, _board, (12, 9), (60, 10), (300, 50), dtype="uint8"),
)
