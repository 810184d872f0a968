"""Grids in time, in JAX."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp
from jax import jit
from jax.lax import fori_loop, scan, while_loop

from tests.benchmarks.loops.ports.recurrence import linear_recurrence


@partial(jit, static_argnames="steps")
def heat_1d(u, steps, r):
    def step(_, u):
        return u.at[1:-1].add(r * (u[2:] - 2.0 * u[1:-1] + u[:-2]))

    return fori_loop(0, steps, step, u)


@partial(jit, static_argnames="steps")
def heat_1d_points(u, steps, r):
    return heat_1d(u, steps, r)


@partial(jit, static_argnames="steps")
def jacobi_2d(a, b, steps):
    def mean(a):
        return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])

    def step(_, state):
        a, b = state
        b = b.at[1:-1, 1:-1].set(mean(a))
        return a.at[1:-1, 1:-1].set(mean(b)), b

    return fori_loop(0, steps, step, (a, b))


@jit
def jacobi_poisson(u, f, h, tolerance):
    source = h * h * f[1:-1, 1:-1]

    def step(state):
        u, _, iterations = state
        new = u.at[1:-1, 1:-1].set(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - source))
        return new, jnp.abs(new - u).max(), iterations + 1

    u, _, iterations = while_loop(lambda state: state[1] > tolerance, step, (u, 1.0, 0))
    return u, iterations


@partial(jit, static_argnames="steps")
def heat_3d(a, b, steps):
    def spread(a):
        inner = a[1:-1, 1:-1, 1:-1]
        return (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * inner + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * inner + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * inner + a[1:-1, 1:-1, :-2])
            + inner
        )

    def step(_, state):
        a, b = state
        b = b.at[1:-1, 1:-1, 1:-1].set(spread(a))
        return a.at[1:-1, 1:-1, 1:-1].set(spread(b)), b

    return fori_loop(0, steps, step, (a, b))


@partial(jit, static_argnames="steps")
def gauss_seidel(u, steps):
    """Along a row the new values are a linear recurrence."""

    def row(i, u):
        known = 0.25 * (u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, 2:])
        return u.at[i, 1:-1].set(linear_recurrence(0.25, known, u[i, 0]))

    def step(_, u):
        return fori_loop(1, u.shape[0] - 1, row, u)

    return fori_loop(0, steps, step, u)


@partial(jit, static_argnames="steps")
def seidel_rows(a, steps):
    def row(i, a):
        known = (
            a[i, 1:-1] + a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:]
            + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
        )  # fmt: skip
        return a.at[i, 1:-1].set(linear_recurrence(1.0 / 9.0, known / 9.0, a[i, 0]))

    def step(_, a):
        return fori_loop(1, a.shape[0] - 1, row, a)

    return fori_loop(0, steps, step, a)


@jit
def fdtd_2d(ex, ey, hz, source):
    def step(state, now):
        ex, ey, hz = state
        ey = ey.at[0, :].set(now)
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    (ex, ey, hz), _ = scan(step, (ex, ey, hz), source)
    return hz, ex, ey


@partial(jit, static_argnames="steps")
def adi(u, steps):
    n = u.shape[0]
    dx, dt = 1.0 / n, 1.0 / steps
    mu1, mu2 = 2.0 * dt / (dx * dx), dt / (dx * dx)
    a, d = -mu1 / 2.0, -mu2 / 2.0
    b, e = 1.0 + mu1, 1.0 + mu2
    ones = jnp.ones(n - 2)

    def solve(right, low, diagonal):
        """Tridiagonal systems, one a column of the right side, all at once; the borders are one."""

        def forth(carry, right):
            p, q = carry
            pivot = low * p + diagonal
            carry = -low / pivot, (right - low * q) / pivot
            return carry, carry

        def back(x, factors):
            x = factors[0] * x + factors[1]
            return x, x

        _, factors = scan(forth, (0.0, ones), right)
        return scan(back, ones, factors, reverse=True)[1]

    def step(_, u):
        right = -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:]
        v = jnp.concatenate((ones[None], solve(right, a, b), ones[None]))
        right = -a * v[:-2] + (1.0 + 2.0 * a) * v[1:-1] - a * v[2:]
        inner = solve(right.T, d, e).T
        return u.at[1:-1, :].set(jnp.concatenate((ones[:, None], inner, ones[:, None]), axis=1))

    return fori_loop(0, steps, step, u)


@partial(jit, static_argnames="steps")
def wave_2d(u, previous, steps, c):
    def step(_, state):
        previous, u, new = state
        inner = u[1:-1, 1:-1]
        near = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        new = new.at[1:-1, 1:-1].set(2.0 * inner - previous[1:-1, 1:-1] + c * (near - 4.0 * inner))
        return u, new, previous

    return fori_loop(0, steps, step, (previous, u, jnp.zeros_like(u)))[1]


@partial(jit, static_argnames="steps")
def gray_scott(u, v, steps, feed, kill):
    def laplacian(u):
        return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4.0 * u

    def step(_, state):
        u, v = state
        uvv = u * v * v
        return (
            u + 0.16 * laplacian(u) - uvv + feed * (1.0 - u),
            v + 0.08 * laplacian(v) + uvv - (feed + kill) * v,
        )

    return fori_loop(0, steps, step, (u, v))


@partial(jit, static_argnames="steps")
def life(board, steps):
    def step(_, board):
        near = jnp.pad(
            board[:-2, :-2] + board[:-2, 1:-1] + board[:-2, 2:]
            + board[1:-1, :-2] + board[1:-1, 2:]
            + board[2:, :-2] + board[2:, 1:-1] + board[2:, 2:], 1
        )  # fmt: skip
        return ((near == 3) | ((near == 2) & (board == 1))).astype(board.dtype)

    return fori_loop(0, steps, step, board)


@partial(jit, static_argnames="steps")
def life_cells(board, steps):
    def step(_, board):
        rows = jnp.roll(board, 1, 0) + board + jnp.roll(board, -1, 0)
        near = jnp.roll(rows, 1, 1) + rows + jnp.roll(rows, -1, 1) - board
        return ((near == 3) | ((near == 2) & (board == 1))).astype(board.dtype)

    return fori_loop(0, steps, step, board)
