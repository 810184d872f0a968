"""Normalisations: rows or columns brought to a common scale."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.programs.program import Program, matrix, normal, rows_with_vectors


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def log_softmax(x):
    shifted = x - x.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def layer_norm(x, scale, shift):
    mean = x.mean(axis=1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * scale + shift


def rms_norm(x, scale):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale


def unit_rows(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def standardise(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-8)


PROGRAMS = (
    Program(softmax, normal(1, matrix)),
    Program(log_softmax, normal(1, matrix)),
    Program(layer_norm, rows_with_vectors(2)),
    Program(rms_norm, rows_with_vectors(1)),
    Program(unit_rows, normal(1, matrix)),
    Program(standardise, normal(1, matrix)),
)
