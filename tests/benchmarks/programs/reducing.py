"""Reductions: over everything, rows or columns, with what comes before and behind, and running ones."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.programs.program import Program, matrix, normal, rows_with_vectors, vector


def gaussian_sum(x, w, b):
    return (np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * w + b).sum(axis=1)


def variance_columns(x):
    return x.var(axis=0)


def variance_rows(x):
    return x.var(axis=1)


def masked_sum(x, y):
    return np.where(x > y, x, 0).sum()


def squared_error(x, y):
    return ((x - y) ** 2).mean()


def cosine(x, y):
    return np.sum(x * y, axis=1) / np.sqrt(np.sum(x * x, axis=1) * np.sum(y * y, axis=1))


def column_extremes(x):
    return x.max(axis=0) - x.min(axis=0)


def running_mean(x):
    total = np.cumsum(x)
    return (total[16:] - total[:-16]) / 16


PROGRAMS = (
    Program(gaussian_sum, rows_with_vectors(2)),
    Program(variance_columns, normal(1, matrix)),
    Program(variance_rows, normal(1, matrix)),
    Program(masked_sum, normal(2, vector), numexpr="sum(where(x > y, x, 0))"),
    Program(squared_error, normal(2, vector)),
    Program(cosine, normal(2, matrix)),
    Program(column_extremes, normal(1, matrix)),
    Program(running_mean, normal(1, vector)),
)
