"""Orders and selections: largest elements, ranks, running sums, compressed arrays."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.programs.program import Program, draw, matrix, normal, vector


def top_k(x):
    largest = np.argpartition(-x, 5, axis=1)[:, :5]
    return np.sort(np.take_along_axis(x, largest, axis=1), axis=1)


def best_scores(x, w):
    scores = x * w
    return scores.argmax(axis=1), scores.max(axis=1)


def cumulative_rows(x):
    return np.cumsum(np.abs(x), axis=1)


def positive_mean(x):
    return x[x > 0].mean()


def gathered(x, indices):
    return x[indices] * 0.5 + x[indices - 1] * 0.5


def _scored(rng, n, dtype):
    shape = matrix(n)
    return draw(rng, shape, dtype), draw(rng, shape[1:], dtype)


def _indexed(rng, n, dtype):
    return draw(rng, (n,), dtype), rng.integers(1, n, n)


PROGRAMS = (
    Program(top_k, normal(1, matrix)),
    Program(best_scores, _scored),
    Program(cumulative_rows, normal(1, matrix)),
    Program(positive_mean, normal(1, vector)),
    Program(gathered, _indexed),
)
