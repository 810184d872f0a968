"""Statistics and classical learning: columns, distances, clusters, regression."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.programs.networks import sigmoid
from tests.benchmarks.programs.program import Program, draw, matrix, normal, rows_of, weights

CLUSTERS = 8


def column_statistics(x):
    return np.stack([x.mean(axis=0), x.std(axis=0), x.min(axis=0), x.max(axis=0)])


def polynomial_features(x):
    i, j = np.triu_indices(x.shape[1])
    return np.concatenate([np.ones((x.shape[0], 1), x.dtype), x, x[:, i] * x[:, j]], axis=1)


def pairwise_distances(x, y):
    return np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1))


def kmeans_step(x, centres):
    nearest = ((x[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return np.stack([x[nearest == k].mean(axis=0) for k in range(CLUSTERS)])


def logistic_step(x, y, w):
    error = sigmoid(x @ w) - y
    return w - 0.1 * (x.T @ error) / len(y)


def mahalanobis(x, mean, inverse):
    centred = x - mean
    return np.sqrt(np.einsum("ij,jk,ik->i", centred, inverse, centred))


def correlation(x):
    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred / (len(x) - 1)
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation)


def _two_sets(rng, n, dtype):
    """As many pairs as ``n``."""
    side = math.isqrt(n)
    return draw(rng, (side, 8), dtype), draw(rng, (side, 8), dtype)


def _clusters(rng, n, dtype):
    columns = 4 if n < 10**4 else 16
    x = draw(rng, (max(4 * CLUSTERS, n // columns), columns), dtype)
    x += 4 * np.arange(len(x), dtype=dtype)[:, None] % CLUSTERS  # each of the clusters has members
    return x, x[:CLUSTERS].copy()


def _labelled(rng, n, dtype):
    columns = min(64, math.isqrt(n))
    x = draw(rng, (n // columns, columns), dtype)
    return x, (rng.random(len(x)) > 0.5).astype(dtype), weights(rng, (columns,), dtype)


def _metric(rng, n, dtype):
    columns = 8 if n < 10**4 else 32
    factor = draw(rng, (columns, columns), np.float64)
    inverse = (factor @ factor.T / columns + np.eye(columns)).astype(dtype)
    return draw(rng, (n // columns, columns), dtype), draw(rng, (columns,), dtype), inverse


PROGRAMS = (
    Program(column_statistics, normal(1, matrix)),
    Program(polynomial_features, normal(1, rows_of(8))),
    Program(pairwise_distances, _two_sets),
    Program(kmeans_step, _clusters),
    Program(logistic_step, _labelled),
    Program(mahalanobis, _metric),
    Program(correlation, normal(1, rows_of(32))),
)
