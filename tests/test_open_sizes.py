"""What NumPy users write of sizes: one variant serves all of them, or as many as the row says; each call is as NumPy's.

A row is an expression over a matrix ``x`` whose number of rows is another one at each call.
"""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest

from tests.helpers import captured
from tests.row_programs import matrix

FIRST, REST = 7, (0, 1, 2, 3, 16, 17, 1000)

ONE_VARIANT = {
    "reshape": """
        x.reshape(-1)
        x.reshape(-1, 2)
        x.reshape(2, -1)
        x.reshape(x.shape[0] * x.shape[1])
        x.reshape((x.shape[1], -1))
        x.reshape(tuple(reversed(x.shape)))
        x.ravel() + np.arange(x.size)
        x.flatten(), x.T.flatten(), (x + 1).T.flatten()
        x[:, None, :] - x[None, :, :]
        np.moveaxis(x[None], 0, -1), np.swapaxes(x, 0, 1), np.rot90(x)
    """,
    "join": """
        np.concatenate([x, x], axis=1), np.concatenate([x, x], axis=None)
        np.vstack([x, x[1:]]), np.hstack([x, x]), np.stack([x, x], -1)
        np.block([[x, x], [x, x]]), np.c_[x, x], np.r_[x[:, 0], 1.0]
        np.append(x, x), np.array([x[:, 0], x[:, 1]])
    """,
    "repeat": """
        np.repeat(x, 2, axis=0), np.repeat(x, x.shape[1])
        np.repeat(x, x.shape[0], axis=1)
        np.pad(x, 1), np.pad(x, ((1, 2), (0, 0)))
        np.split(x, 2, axis=1), np.split(x, [1, 3]), np.array_split(x, 3)
        np.split(x, [len(x) // 3, 2 * (len(x) // 3)]), np.split(x, [len(x), len(x) + 3])
        np.pad(x, len(x)), np.pad(x, (1, len(x))), np.pad(x[:, 0], (3, len(x))), np.pad(x, ((0, 0), (len(x), 1)))
        np.pad(x, ((0, -len(x) % 8), (0, 0))).reshape(-1, 8, x.shape[1]).sum(axis=1)
        np.pad(x, ((0, max(0, 32 - len(x))), (0, 0))), np.pad(x[:, :4], ((0, 0), (len(x), 2)), mode="wrap")
        np.roll(x, 1), np.roll(x, x.shape[0] // 2, axis=0), np.flip(x)
        np.lib.stride_tricks.sliding_window_view(x, 2, axis=1) * 2
    """,
    "made": """
        np.arange(x.shape[0]), np.arange(0, x.shape[0], 3), np.arange(x.shape[0], 0, -2)
        np.arange(len(x), dtype=np.float32) / 7, np.arange(2, len(x), 3, dtype=np.float32) * np.float32(0.1)
        np.zeros(x.shape) + np.ones(x.shape[:1])[:, None], np.full((x.shape[0] + 1, 2), x.shape[0])
        np.eye(x.shape[0]), np.eye(x.shape[0], x.shape[1]), np.identity(x.shape[0]) * 2, np.tri(x.shape[0])
        np.broadcast_to(x[:, :1], x.shape), np.broadcast_to(np.ones(x.shape[1]), x.shape) + x
        np.diag(x), np.diag(x[:, 0]), np.diag(x[:, 0], 2), np.diag(x[:, 0], -1), np.diagonal(x, 1), np.trace(x)
        np.triu(x), np.tril(x, -1), np.indices(x.shape)
    """,
    "windows": """
        windows(x, 3, axis=1), windows(x, 3, axis=1) * 2, windows(x, 3, axis=1).sum(axis=-1)
        windows(np.concatenate([x, x, np.zeros((3, x.shape[1]))]), 3, axis=0).mean(axis=-1)
        windows(x, len(x), axis=0).sum(axis=-1), windows(x[:, 0], min(3, len(x))).sum()
        windows(x.T, 2, axis=0) + 1, windows(x, x.shape[1] // 2, axis=1).max(axis=-1) - x[:, :4]
        windows(x, 3, axis=1)[:, ::2] @ np.ones(3), windows(np.pad(x[:, 0], 3), 5).max(axis=-1)
    """,
    "slices": """
        x[: x.shape[0] // 2], x[x.shape[0] // 2 :], x[x.shape[0] % 3 :]
        x[-3:], x[:-3], x[1:-1], x[::-1][: len(x) - 2], x[len(x) - 1 :]
        x[x.shape[0] // 3 : 2 * x.shape[0] // 3 : 2]
        x[min(len(x), 5) :], x[max(0, len(x) - 4) :]
        x[np.arange(len(x)), 0], x[np.arange(len(x)) % 2 == 0], np.take(x, np.arange(x.shape[0])[::-1], axis=0)
        x[np.ix_(np.arange(len(x)), [0, 1])]
        x[:: len(x) // 3 + 1], x[1 :: len(x) + 1] * 2, x[:: -(len(x) // 2 + 1)] + 1, x[len(x) // 2 :: len(x) // 3 + 1]
        x[:, :: max(1, len(x) // 3)] * 2, x.T[:: len(x) // 2 + 1, :: len(x) // 2 + 1].sum(), x.ravel()[:: len(x) + 1]
        x[:, x.shape[1] // 2], x[:, x.shape[1] - 1]
    """,
    "numbers": """
        x / math.sqrt(x.shape[0] + 1), x + math.log2(x.shape[1]), x * x.shape[0] ** 0.5, x * x.shape[1] ** -0.5
        x + 1 / (len(x) + 1), x * float(x.shape[0]), np.float64(len(x)) * x, np.int64(len(x)) + x
        x + sum(x.shape), x * math.prod(x.shape), x - min(x.shape), x + max(x.shape), x * len(x) ** 3
        divmod(len(x), 3), x * 2, -len(x) // 2, abs(len(x) - 5), tuple(s + 1 for s in x.shape)
        np.prod(x.shape), np.sum(x.shape), np.max(x.shape), np.min(x.shape), np.prod([len(x), 3]), np.sum((2, len(x)))
        x + int(np.prod(x.shape[1:])), x * int(np.prod(x.shape)), float(np.prod(x.shape)), np.prod(x.shape).item()
        np.zeros(np.prod(x.shape)), np.zeros((np.max(x.shape), np.int64(2))), np.arange(np.int64(len(x)))
        x.reshape(np.prod(x.shape)), x.reshape(-1, int(np.prod(x.shape[1:]))), x.reshape(-1, np.int64(x.shape[1]))
        x[: np.int64(len(x))], x[np.prod(x.shape[:1]) :], np.repeat(x, np.int64(x.shape[1]), axis=0)
        np.pad(x.astype(np.int8), 1, constant_values=np.prod((len(x), 300))), np.roll(x, np.sum(x.shape))
        np.ones(5, np.int8) + np.int64(len(x)), np.ones(5, np.float32) * np.prod(x.shape), np.prod(()), np.max((2, 3))
        x[x > 1].reshape(np.prod(x[x > 1].shape)), int(np.prod(x[x > 1].shape))
        np.clip(x, 0, len(x)), x.size, x.nbytes, np.asarray([len(x), 2])
    """,
    "data": """
        x[x > 0], x[x > 0].sum(), x[x > 0] * 2 + 1, np.nonzero(x > 0), np.argwhere(x > 0), np.flatnonzero(x) + 1
        x[np.nonzero(x[:, 0] > 0)[0]] * 2, np.where(x > 0)[0]
        x[x[:, 0] > 0].sum(axis=1), x[x[:, 0] > 0] @ np.ones(x.shape[1])
        np.concatenate([x[x[:, 0] > 0], x]), x[x[:, 0] > 0].reshape(-1), x[x > 0].reshape(-1, 1) + np.ones(3)
    """,
    "functions": """
        np.cumsum(x, axis=0), np.diff(x, axis=0), np.sort(x, axis=0), np.argsort(x, axis=1), np.gradient(x, axis=1)
        np.median(x, axis=1), np.percentile(x, 30, axis=1), np.quantile(x, [0.1, 0.5], axis=1), np.ptp(x, axis=1)
        np.linalg.norm(x, axis=1), np.linalg.svd(x, full_matrices=False), np.linalg.qr(x), np.linalg.pinv(x)
        np.linalg.inv(x @ x.T + np.eye(len(x))), np.linalg.solve(x @ x.T + np.eye(len(x)), x)
        np.kron(x, np.ones((2, 2))), np.kron(x[:, 0], x[:, 0]), np.outer(x[:, 0], x[:, 1])
        np.interp(np.arange(4.0), np.arange(len(x) + 1), np.arange(len(x) + 1) * 2.0)
        np.searchsorted(np.arange(len(x) + 1), x[:, 0]), np.searchsorted(x[:, 0], [1.0, 2.0])
        np.tensordot(x, x, axes=([1], [1])), np.einsum("ij,kj->ik", x, x), np.inner(x, x)
        np.fft.fft(x, axis=1), np.fft.rfft(x, axis=1), np.interp(x[:, 0], np.arange(4.0), np.arange(4.0))
        np.searchsorted(np.arange(10.0), x[:, 0]), np.digitize(x, [0.0, 1.0]), np.isin(x, [1.0, 2.0])
        np.count_nonzero(x), np.lexsort((x[:, 0], x[:, 1])), np.partition(x, 2, axis=1)
        np.insert(x, 0, 1.0, axis=0), np.delete(x, 0, axis=1), np.cross(x[:, :3], x[:, 3:6])
        np.maximum.accumulate(x), np.add.reduceat(x, [0, 2], axis=1), np.add.outer(x[:, 0], x[:, 1])
        np.take_along_axis(x, np.argsort(x, axis=1), axis=1), np.take_along_axis(x, np.argsort(x, axis=0), axis=0)
        np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), axis=1), np.take_along_axis(x, x.argsort(None), None)
        put_along(x, np.argsort(x, axis=0), axis=0), put_along(x, np.argsort(x, axis=1), axis=1)
        np.meshgrid(x[:, 0], x[0 : x.shape[1], 1]), np.allclose(x, x + 1), np.vander(x[:, 0], 3)
    """,
}

TOLD_APART = {  # by NumPy or by the expression itself: variants under dynamic=True, and what is told apart
    "x.reshape(x.shape[0], 2, -1)": 2,  # of no rows: NumPy raises
    "x.mean(axis=0)": 2,  # of nothing: NumPy warns
    "x.max()": 2,  # of nothing: NumPy raises
    "np.pad(x, 1, mode='edge')": 2,  # of nothing: NumPy raises
    "np.pad(x, ((len(x), 0), (0, 0)), mode='edge')": 2,
    "np.pad(x, ((2, 3), (0, 0)), mode='wrap')": 2,
    "np.pad(x, ((2, 3), (0, 0)), mode='symmetric')": 2,
    "np.pad(x, ((2, 3), (0, 0)), mode='reflect')": 3,  # of nothing, and of one row
    "np.ravel(x.T)": 3,  # a view of one row or none, else a copy
    "np.ascontiguousarray(x.T)": 3,
    "x.T.reshape(-1)": 3,
    "(x + 1).T.reshape(-1)": 2,  # a view of one row; of none it cannot be seen
    "np.histogram(x, bins=4)[0]": 2,  # of nothing: between 0 and 1
    "np.tile(x, 2)": 2,  # of nothing: a view
    "x.squeeze()": 2,  # one row has fewer axes
    "np.searchsorted(x[:, 0], x[:, 0])": 2,  # in nothing
    "np.convolve(x[:, 0], np.ones(3), 'same')": 2,  # of nothing: NumPy raises
    "windows(x, 2, axis=0) * 2": 2,  # of one row: NumPy raises
    "np.linspace(0, 1, len(x))": 2,  # where there is an interval: a view
    "np.linspace(-1, 3, len(x), endpoint=False)": 2,
    "x * (x.shape[0] > 4)": 2,
    "x * (3 if x.shape[0] % 2 else 2)": 2,
}


def expressions():
    for family, lines in ONE_VARIANT.items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            yield pytest.param(line, 1, id=f"{family}: {line}")
    for line, variants in TOLD_APART.items():
        yield pytest.param(line, variants, id=f"told apart: {line}")


def put_along(x, indices, axis):
    result = x.copy()
    np.put_along_axis(result, indices, np.sort(x, axis=axis), axis=axis)
    return result


NAMES = {"np": np, "math": math, "windows": np.lib.stride_tricks.sliding_window_view, "put_along": put_along}


def variants_of(run):
    return max(len(each.variants) for each in (run.entry, *(rest.entry for rest in run.record.resumes.values())))


@pytest.mark.parametrize(("line", "variants"), expressions())
def test_variants_for_all_numbers_of_rows(line, variants):
    run = captured(eval(f"lambda x: ({line})", NAMES), dynamic=True)
    rest = random.Random(line).sample(REST, len(REST))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (FIRST, *rest):
            run(matrix(n))
    assert variants_of(run) == variants
    assert run.graphs >= 1
