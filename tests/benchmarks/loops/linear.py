"""Linear algebra written out: factorisations, triangular systems, iterations, sparse products, data matrices."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.loops.record import Loops


def lu(a):
    """LU without pivoting, row by row with dots of slices."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]


def lu_pivoting(a):
    """LU with row exchanges, column by column."""
    n = a.shape[0]
    rows = np.arange(n)
    for k in range(n - 1):
        best = k
        largest = abs(a[k, k])
        for i in range(k + 1, n):
            if abs(a[i, k]) > largest:
                largest = abs(a[i, k])
                best = i
        if best != k:
            for j in range(n):
                kept = a[k, j]
                a[k, j] = a[best, j]
                a[best, j] = kept
            kept_row = rows[k]
            rows[k] = rows[best]
            rows[best] = kept_row
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return rows


def cholesky(a):
    """Cholesky's factor in place."""
    n = a.shape[0]
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, n):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])


def cholesky_scalars(a):
    """The same with sums written out, and math.sqrt."""
    n = a.shape[0]
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, j] = math.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    return factor


def gram_schmidt(a):
    """Modified Gram-Schmidt: Q and R."""
    n = a.shape[1]
    q = np.zeros_like(a)
    r = np.zeros((n, n), dtype=a.dtype)
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def householder(a):
    """QR by reflections; R above the diagonal, the vectors apart."""
    m, n = a.shape
    vectors = np.zeros((m, n))
    for k in range(n):
        x = a[k:, k].copy()
        norm = math.sqrt(np.sum(x * x))
        x[0] += norm if x[0] >= 0 else -norm
        x /= math.sqrt(np.sum(x * x))
        vectors[k:, k] = x
        for j in range(k, n):
            a[k:, j] -= 2.0 * np.sum(x * a[k:, j]) * x
    return vectors


def triangular_solve(lower, b):
    """Forward substitution."""
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def back_substitution(upper, b):
    """Backward, with sums written out."""
    n = len(b)
    x = np.empty(n)
    for i in range(n - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, n):
            total -= upper[i, j] * x[j]
        x[i] = total / upper[i, i]
    return x


def durbin(r):
    """Levinson-Durbin recursion for a Toeplitz system."""
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def tridiagonal(a, b, c, d):
    """Thomas' algorithm."""
    n = d.size
    cp = np.zeros(n)
    dp = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def matmul(a, b):
    """A matrix product as three loops."""
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            total = 0.0
            for k in range(m):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    return c


def power_iteration(a, x, tolerance):
    """The largest eigenvalue and its vector."""
    value = 0.0
    while True:
        y = a @ x
        new = np.sqrt((y * y).sum())
        x = y / new
        if abs(new - value) < tolerance:
            return new, x
        value = new


def conjugate_gradient(a, b, tolerance):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rs = r @ r
    for _ in range(10 * len(b)):
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        if np.sqrt(new) < tolerance:
            break
        p = r + new / rs * p
        rs = new
    return x


def sparse_product(values, columns, starts, x):
    """A matrix in compressed rows times a vector."""
    n = len(starts) - 1
    y = np.zeros(n)
    for i in range(n):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
    return y


def sparse_product_slices(values, columns, starts, x):
    """The same by slices and an array of indices."""
    y = np.empty(starts.size - 1, dtype=values.dtype)
    for i in range(starts.size - 1):
        place = columns[starts[i] : starts[i + 1]]
        y[i] = values[starts[i] : starts[i + 1]] @ x[place]
    return y


def page_rank(links, damping, tolerance):
    """Ranks of pages by their links, to convergence."""
    n = links.shape[0]
    rank = np.full(n, 1.0 / n)
    rounds = 0
    error = 1.0
    while error > tolerance and rounds < 200:
        new = damping * (links @ rank) + (1.0 - damping) / n
        error = np.abs(new - rank).sum()
        rank = new
        rounds += 1
    return rank, rounds


def covariance(data):
    """Of the columns: centred, then a triangle of products."""
    n, m = data.shape
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i:m, i] = cov[i, i:m] = data[:, i] @ data[:, i:m] / (n - 1.0)
    return cov


def correlation(data):
    """Of the columns; a column without spread counts as spread 1."""
    n, m = data.shape
    mean = data.sum(axis=0) / n
    spread = np.sqrt(((data - mean) ** 2).sum(axis=0) / n)
    for j in range(m):
        if spread[j] <= 0.1:
            spread[j] = 1.0
    scaled = (data - mean) / (np.sqrt(n) * spread)
    corr = np.eye(m)
    for i in range(m - 1):
        for j in range(i + 1, m):
            corr[i, j] = (scaled[:, i] * scaled[:, j]).sum()
            corr[j, i] = corr[i, j]
    return corr


def symmetric_update(alpha, beta, c, a, b):
    """C := alpha (A B' + B A') + beta C on the lower triangle."""
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]


def _dominant(rng, n):
    return (rng.random((n, n)) + n * np.eye(n),)


def _definite(rng, n):
    a = rng.random((n, n))
    return (a @ a.T + n * np.eye(n),)


def _solvable(rng, n):
    return (*_dominant(rng, n), rng.random(n))


def _compressed(rng, n, width):
    counts = rng.integers(0, 2 * width, n)
    starts = np.concatenate(([0], np.cumsum(counts)))
    return rng.random(starts[-1]), rng.integers(0, n, starts[-1]), starts, rng.random(n)


def _links(rng, n, digits):
    links = (rng.random((n, n)) < 0.3) + np.eye(n)
    return links / links.sum(axis=0), 0.85, 10.0**-digits


PROGRAMS = (
    Loops(lu, _dominant, (12,), (200,), (800,)),
    Loops(lu_pivoting, lambda rng, n: (rng.random((n, n)),), (12,), (120,), (500,)),
    Loops(cholesky, _definite, (12,), (250,), (1000,)),
    Loops(cholesky_scalars, _definite, (12,), (70,), (400,)),
    Loops(gram_schmidt, lambda rng, n: (rng.random((n + 4, n)),), (12,), (150,), (500,)),
    Loops(householder, lambda rng, n: (rng.random((n + 4, n)),), (12,), (100,), (400,)),
    Loops(
        triangular_solve,
        lambda rng, n: (np.tril(rng.random((n, n))) + np.eye(n), rng.random(n)),
        (14,),
        (2000,),
        (8000,),
    ),
    Loops(
        back_substitution,
        lambda rng, n: (np.triu(rng.random((n, n))) + n * np.eye(n), rng.random(n)),
        (14,),
        (500,),
        (4000,),
    ),
    Loops(durbin, lambda rng, n: (rng.random(n) / n,), (14,), (2000,), (8000,)),
    Loops(
        tridiagonal,
        lambda rng, n: (rng.random(n), 3.0 + rng.random(n), rng.random(n), rng.random(n)),
        (20,),
        (100_000,),
        (3_000_000,),
    ),
    Loops(matmul, lambda rng, n: (rng.random((n, n + 1)), rng.random((n + 1, n + 2))), (10,), (80,), (400,)),
    Loops(
        power_iteration,
        lambda rng, n, digits: (rng.random((n, n)), rng.random(n), 10.0**-digits),
        (12, 9),
        (300, 13),
        (2000, 12),
    ),
    Loops(
        conjugate_gradient,
        lambda rng, n, digits: (*_definite(rng, n), rng.random(n), 10.0**-digits),
        (12, 9),
        (400, 10),
        (2000, 10),
    ),
    Loops(sparse_product, _compressed, (20, 5), (20_000, 10), (400_000, 20)),
    Loops(sparse_product_slices, _compressed, (20, 5), (40_000, 20), (400_000, 40)),
    Loops(page_rank, _links, (12, 8), (500, 10), (3000, 10)),
    Loops(
        covariance,
        lambda rng, n: (rng.random((n + 6, n)),),
        (12,),
        (200,),
        (800,),
        numba=False,
        note="numba has no mean along an axis",
    ),
    Loops(correlation, lambda rng, n: (rng.random((n + 6, n)),), (12,), (120,), (500,)),
    Loops(symmetric_update, lambda rng, n: (1.5, 1.2, *rng.random((3, n, n))), (12,), (120,), (500,)),
)
