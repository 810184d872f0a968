"""Programs over a batch of n rows, as people write them; each with how many variants it takes for all n."""

from __future__ import annotations

import math

import numpy as np


def matrix(n, d=6):
    return np.arange(n * d, dtype=float).reshape(n, d) % 7 - 2


# Programs over a batch of n rows, each with the number of variants that all of SIZES take: one under ``dynamic=True``,
# or more where the program itself tells sizes apart, by the line that the comment names.
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def stencil(x):
    y = x.copy()
    y[1:-1] = 0.5 * (x[:-2] + x[2:])
    return y


def attention(x):
    scores = x @ x.T / math.sqrt(x.shape[-1])
    return softmax_columns(scores) @ x


def softmax_columns(x):
    e = np.exp(x)
    return e / e.sum(axis=0)


def heads(x):
    n, d = x.shape
    return x.reshape(n, 2, d // 2).sum(axis=1).transpose(1, 0)


def standardised(x):  # the mean of nothing is a warning: no rows are a case of their own
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1)


def first_rows(x):  # so does the branch
    if x.shape[0] > 4:
        return x[:4] * 2
    return x + 1


def shapes(x):
    return x + len(x), x.shape, x.size, x.shape[0] // 2 + 1, x[1:].shape, x.nbytes


def flattened(x):
    return x.reshape(-1) + 1, x.T * 2, x[::-1] + x


def positions(x):
    return x + np.arange(x.shape[0])[:, None], np.zeros((x.shape[0], 2)) + x[:, :1]


def joined(x):
    return np.concatenate((x, x[:2], x * 2)), np.stack((x, x + 1))


def scaled(x):  # divides by the number of rows
    return x * x.shape[-1] ** -0.5 + 1 / (x.shape[0] + 1)


def windows(x):
    return x[2:, ::2] - x[:-2, ::2], x[::3], x[-3:], np.diff(x, axis=0)


def written(x):
    x[: x.shape[0] // 2] += 1.0
    x *= 2.0
    return x


def centred(x):  # x[:1] of no rows is not of one row
    return x - x[:1]


def largest(x):  # max of nothing raises
    return x.max(axis=0)


def rolled(x):
    return np.roll(x, 2, axis=0), np.flip(x, axis=0)


ROWS = {
    softmax: 1, stencil: 1, attention: 1, heads: 1, standardised: 2, first_rows: 2, shapes: 1, flattened: 1,
    positions: 1, joined: 1, scaled: 1, windows: 1, written: 1, centred: 2, largest: 2, rolled: 1,
}  # fmt: skip
