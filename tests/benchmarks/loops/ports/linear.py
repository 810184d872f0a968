"""Linear algebra written out, in JAX: slices that grow are masks."""

from __future__ import annotations

import jax.numpy as jnp
from jax import jit
from jax.lax import dynamic_slice, fori_loop, scan, while_loop
from jax.ops import segment_sum


def _eliminate(k, a):
    behind = jnp.arange(a.shape[0]) > k
    column = jnp.where(behind, a[:, k] / a[k, k], 0.0)
    a = a - jnp.outer(column, jnp.where(behind, a[k], 0.0))
    return a.at[:, k].set(jnp.where(behind, column, a[:, k]))


@jit
def lu(a):
    return fori_loop(0, a.shape[0], _eliminate, a)


@jit
def lu_pivoting(a):
    n = a.shape[0]

    def step(k, state):
        a, rows = state
        best = jnp.argmax(jnp.where(jnp.arange(n) >= k, jnp.abs(a[:, k]), -1.0))
        these, those = jnp.array([k, best]), jnp.array([best, k])
        return _eliminate(k, a.at[these].set(a[those])), rows.at[these].set(rows[those])

    a, rows = fori_loop(0, n - 1, step, (a, jnp.arange(n)))
    return rows, a


@jit
def cholesky(a):
    return cholesky_scalars(a) + jnp.triu(a, 1)


@jit
def cholesky_scalars(a):
    places = jnp.arange(a.shape[0])

    def column(j, factor):
        left = a[:, j] - factor @ factor[j]
        return factor.at[:, j].set(jnp.where(places >= j, left / jnp.sqrt(left[j]), 0.0))

    return fori_loop(0, a.shape[0], column, jnp.zeros_like(a))


@jit
def gram_schmidt(a):
    n = a.shape[1]

    def step(k, state):
        a, q, r = state
        norm = jnp.sqrt(jnp.dot(a[:, k], a[:, k]))
        unit = a[:, k] / norm
        row = jnp.where(jnp.arange(n) > k, unit @ a, 0.0)
        return a - jnp.outer(unit, row), q.at[:, k].set(unit), r.at[k].set(row.at[k].set(norm))

    a, q, r = fori_loop(0, n, step, (a, jnp.zeros_like(a), jnp.zeros((n, n), a.dtype)))
    return q, r, a


@jit
def householder(a):
    m, n = a.shape

    def step(k, state):
        a, vectors = state
        x = jnp.where(jnp.arange(m) >= k, a[:, k], 0.0)
        norm = jnp.sqrt(jnp.sum(x * x))
        x = x.at[k].add(jnp.where(x[k] >= 0, norm, -norm))
        x = x / jnp.sqrt(jnp.sum(x * x))
        a = a - jnp.outer(2.0 * x, jnp.where(jnp.arange(n) >= k, x @ a, 0.0))
        return a, vectors.at[:, k].set(x)

    a, vectors = fori_loop(0, n, step, (a, jnp.zeros((m, n))))
    return vectors, a


def _substitution(a, b, reverse):
    """What is not yet known of x is zero, so whole rows are multiplied."""

    def step(x, given):
        i, row, value = given
        return x.at[i].set((value - row @ x) / row[i]), None

    return scan(step, jnp.zeros_like(b), (jnp.arange(len(b)), a, b), reverse=reverse)[0]


@jit
def triangular_solve(lower, b):

    return _substitution(lower, b, reverse=False)


@jit
def back_substitution(upper, b):
    return _substitution(upper, b, reverse=True)


@jit
def durbin(r):
    n = r.shape[0]
    zeros = jnp.zeros_like(r)
    flipped = jnp.concatenate((r[::-1], zeros))

    def step(k, state):
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + jnp.dot(dynamic_slice(flipped, (n - k,), (n,)), y)) / beta
        turned = dynamic_slice(jnp.concatenate((y[::-1], zeros)), (n - k,), (n,))
        return (y + alpha * turned).at[k].set(alpha), alpha, beta

    return fori_loop(1, n, step, (zeros.at[0].set(-r[0]), -r[0], 1.0))[0]


@jit
def tridiagonal(a, b, c, d):
    def forth(carry, row):
        cp, dp = carry
        a, b, c, d = row
        m = b - a * cp
        carry = c / m, (d - a * dp) / m
        return carry, carry

    def back(x, row):
        x = row[1] - row[0] * x
        return x, x

    _, rows = scan(forth, (0.0, 0.0), (a.at[0].set(0.0), b, c, d))
    rows = rows[0].at[-1].set(0.0), rows[1]
    return scan(back, 0.0, rows, reverse=True)[1]


@jit
def matmul(a, b):
    return a @ b


@jit
def power_iteration(a, x, tolerance):
    def step(state):
        x, value, _ = state
        y = a @ x
        new = jnp.sqrt((y * y).sum())
        return y / new, new, jnp.abs(new - value)

    x, value, _ = while_loop(lambda state: state[2] >= tolerance, step, (x, 0.0, jnp.inf))
    return value, x


@jit
def conjugate_gradient(a, b, tolerance):
    def step(state):
        x, r, p, rs, rounds = state
        ap = a @ p
        alpha = rs / (p @ ap)
        r = r - alpha * ap
        new = r @ r
        return x + alpha * p, r, r + new / rs * p, new, rounds + 1

    def going(state):
        return (state[4] == 0) | ((state[4] < 10 * len(b)) & (jnp.sqrt(state[3]) >= tolerance))

    return while_loop(going, step, (jnp.zeros_like(b), b, b, b @ b, 0))[0]


@jit
def sparse_product(values, columns, starts, x):
    n = len(starts) - 1
    rows = jnp.repeat(jnp.arange(n), jnp.diff(starts), total_repeat_length=len(values))
    return segment_sum(values * x[columns], rows, num_segments=n, indices_are_sorted=True)


@jit
def sparse_product_slices(values, columns, starts, x):
    return sparse_product(values, columns, starts, x)


@jit
def page_rank(links, damping, tolerance):
    n = links.shape[0]

    def step(state):
        rank, rounds, _ = state
        new = damping * (links @ rank) + (1.0 - damping) / n
        return new, rounds + 1, jnp.abs(new - rank).sum()

    def going(state):
        return (state[2] > tolerance) & (state[1] < 200)

    return while_loop(going, step, (jnp.full(n, 1.0 / n), 0, 1.0))[:2]


@jit
def covariance(data):
    data = data - data.mean(axis=0)
    return data.T @ data / (data.shape[0] - 1.0), data


@jit
def correlation(data):
    n, m = data.shape
    centred = data - data.mean(axis=0)
    spread = jnp.sqrt((centred**2).mean(axis=0))
    scaled = centred / (jnp.sqrt(n) * jnp.where(spread <= 0.1, 1.0, spread))
    return jnp.where(jnp.eye(m, dtype=bool), 1.0, scaled.T @ scaled)


@jit
def symmetric_update(alpha, beta, c, a, b):
    product = a @ b.T
    whole = beta * c + alpha * (product + product.T)
    return jnp.where(jnp.tri(len(c), dtype=bool), whole, c)
