"""Sizes that depend on what arrays hold, as Python ints: in shapes, slices, loops, arithmetic, and as results."""

import numpy as np
import pytest


def length(x):
    return len(x[x > 0])


def places(x):
    found = np.flatnonzero(x > 0)
    return found.size, found.shape, found.nbytes, np.argwhere(x > 0).shape


def share(x):
    kept = x[x > 0]
    return len(kept) / len(x), len(kept) // 2 + 1, 3 * len(kept) - 1, len(kept) % 2, -len(kept)


def with_arrays(x):
    kept = x[x > 0]
    return x * len(kept), kept.sum() / (len(kept) + 1), np.sqrt(len(kept)), x.astype(np.float32) + len(kept)


def shapes(x):
    n = len(x[x > 0])
    return np.zeros(n), np.arange(n), np.ones((n, 2), np.float32), np.full(n, 2), np.zeros((n, n)).sum()


def slices(x):
    n = len(x[x > 0])
    return x[:n], x[n:] * 2, x[::-1][:n], x[:n].sum(), np.concatenate((x[:n], -x[n:]))


def written(x):
    n = len(x[x > 0])
    x[:n] = 0.5
    x[n:] *= 2
    return n


def compacted(x):
    kept, out = x[x > 0], np.zeros(len(x))
    out[: len(kept)] = kept
    return out, len(kept)


def rows(x):
    n, total = len(x[x > 0]), 0.0
    for i in range(n):
        total += x[i] * i
    return total


def decided(x):
    n = len(x[x > 0])
    return x + 1 if n > 2 else x - 1


def compared(x):
    n = len(x[x > 0])
    return n > 2, n == n, n >= 0, n < 0, n != 3, [n == 1]


def counted(x):
    counts = np.bincount(x.astype(np.int64) % 7 + 1)
    spread = np.repeat(x, np.arange(len(x)) % 3)
    return len(counts), counts[: len(counts) // 2], len(spread), spread.size * 2


def reshaped(x):
    kept = x[x > 0]
    return kept.reshape(-1, 1), kept.reshape(len(kept), 1), kept[:, None] * kept, np.zeros_like(kept), np.tile(kept, 2)


ALL = [
    length, places, share, with_arrays, shapes, slices, compacted, rows, decided, compared, counted, reshaped,
]  # fmt: skip


def numbers(size, seed):
    return np.random.default_rng(seed).integers(-4, 5, size).astype(float)


@pytest.mark.parametrize("function", ALL, ids=lambda function: function.__name__)
def test_sizes_are_ints(captured, function):
    run = captured(function)
    for seed in range(4):
        run(numbers(30, seed))
    run(np.zeros(30))
    run(np.ones(30))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize("function", [*ALL, written], ids=lambda function: function.__name__)
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_few_elements(captured, function, size):
    run = captured(function)
    for seed in range(3):
        run(numbers(size, seed))
    assert run.graphs or run.breaks or size == 0  # then all may be known


def test_what_is_written_behind_a_size(captured):
    run = captured(written)
    for seed in range(3):
        run(numbers(30, seed))
    assert run.breaks == [] and run.graphs == 1


def changed_then_counted(x):
    n = len(x[x > 0])
    x += 1
    return n, len(x[x > 0])


def test_sizes_before_and_behind_a_change(captured):
    run = captured(changed_then_counted)
    for seed in range(3):
        run(numbers(30, seed))
    assert run.graphs >= 1


def two(x, y):
    a, b = x[x > 0], y[y > 0]
    return len(a) + len(b), len(a) - len(b), np.concatenate((a, b)).size, np.zeros((len(a), len(b)))


def test_two_sizes(captured):
    run = captured(two)
    for seed in range(3):
        run(numbers(30, seed), numbers(20, seed + 7))
    assert run.breaks == [] and run.graphs == 1


def as_text(x):
    return f"{len(x[x > 0])} of {len(x)}", str(len(x[x > 0]))


def test_a_text_ends_the_graph(captured):
    run = captured(as_text)
    run(numbers(30, 1))
    run(numbers(30, 2))
    assert run.graphs >= 1 and run.breaks


def late(x):
    y = x * 2
    n = len(y[y > 0])
    return x[n]


def test_an_index_that_may_be_out_of_bounds(captured):
    run = captured(late)
    run(numbers(30, 1))
    run(np.ones(30))  # raises IndexError
    assert run.graphs >= 1
