"""Dynamic programming and graphs: tables that are filled from earlier entries."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.loops.record import Loops


def floyd_warshall(path):
    """All shortest ways, an intermediate node a round."""
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            path[i, :] = np.minimum(path[i, :], path[i, k] + path[k, :])
    return path


def floyd_warshall_scalars(path):
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if path[i, k] + path[k, j] < path[i, j]:
                    path[i, j] = path[i, k] + path[k, j]
    return path


def smith_waterman(a, b, match, mismatch, gap):
    """The best local alignment of two sequences: its score and where it ends."""
    n, m = len(a), len(b)
    score = np.zeros((n + 1, m + 1), dtype=np.int64)
    best = 0
    best_i = 0
    best_j = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            diagonal = score[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
            score[i, j] = max(0, diagonal, score[i - 1, j] + gap, score[i, j - 1] + gap)
            if score[i, j] > best:
                best = score[i, j]
                best_i = i
                best_j = j
    return score, best, best_i, best_j


def pairs(a, b):
    return 1 if a + b == 3 else 0


def nussinov(sequence):
    """The largest number of base pairs of an RNA sequence, with a helper that knows which bases pair."""
    n = sequence.shape[0]
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs(sequence[i], sequence[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def levenshtein(a, b):
    """Edit distance, two rows of the table at a time."""
    previous = np.arange(len(b) + 1)
    for i in range(len(a)):
        current = np.empty_like(previous)
        current[0] = i + 1
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            current[j + 1] = min(previous[j + 1] + 1, current[j] + 1, previous[j] + cost)
        previous = current
    return previous[-1]


def longest_common(a, b):
    """The longest common subsequence, and itself by walking back."""
    n, m = a.size, b.size
    length = np.zeros((n + 1, m + 1), dtype=np.int32)
    for i in range(n):
        for j in range(m):
            if a[i] == b[j]:
                length[i + 1, j + 1] = length[i, j] + 1
            else:
                length[i + 1, j + 1] = np.maximum(length[i, j + 1], length[i + 1, j])
    found = np.zeros(min(n, m), dtype=a.dtype)
    i, j, k = n, m, int(length[n, m])
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1]:
            k -= 1
            found[k] = a[i - 1]
            i -= 1
            j -= 1
        elif length[i - 1, j] >= length[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return found, length[n, m]


def matrix_chain(sizes):
    """The cheapest order of a chain of matrix products."""
    n = len(sizes) - 1
    cost = np.zeros((n, n))
    split = np.zeros((n, n), dtype=np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = np.inf
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if c < cost[i, j]:
                    cost[i, j] = c
                    split[i, j] = k
    return cost, split


def knapsack(weights, values, capacity):
    """0-1 knapsack over one row."""
    best = np.zeros(capacity + 1, dtype=np.int64)
    for weight, value in zip(weights, values):  # noqa: B905
        for room in range(capacity, weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + value)
    return best[capacity]


def viterbi(start, transition, emission, observed):
    """The most likely states of a hidden Markov model, in logarithms."""
    states, steps = transition.shape[0], observed.shape[0]
    score = np.empty((steps, states))
    back = np.zeros((steps, states), dtype=np.int64)
    score[0] = start + emission[:, observed[0]]
    for t in range(1, steps):
        for s in range(states):
            candidates = score[t - 1] + transition[:, s]
            back[t, s] = np.argmax(candidates)
            score[t, s] = candidates[back[t, s]] + emission[s, observed[t]]
    path = np.empty(steps, dtype=np.int64)
    path[-1] = np.argmax(score[-1])
    for t in range(steps - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path


def dijkstra(distance):
    """Shortest ways from node 0 over a full matrix, without a heap."""
    n = distance.shape[0]
    found = np.full(n, np.inf)
    done = np.zeros(n, dtype=np.bool_)
    found[0] = 0.0
    for _ in range(n):
        node = -1
        nearest = np.inf
        for j in range(n):
            if not done[j] and found[j] < nearest:
                nearest = found[j]
                node = j
        if node < 0:
            break
        done[node] = True
        for j in range(n):
            if not done[j] and nearest + distance[node, j] < found[j]:
                found[j] = nearest + distance[node, j]
    return found


def dynamic_time_warping(a, b):
    n, m = len(a), len(b)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = abs(a[i - 1] - b[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


def _ways(rng, n):
    return (rng.integers(1, 100, (n, n)).astype(float),)


def _letters(rng, n, *rest):
    return rng.integers(0, 4, n), rng.integers(0, 4, n + 5), *rest


def _markov(rng, states, steps):
    return (
        np.log(rng.random(states)),
        np.log(rng.random((states, states))),
        np.log(rng.random((states, 6))),
        rng.integers(0, 6, steps),
    )


PROGRAMS = (
    Loops(floyd_warshall, _ways, (12,), (150,), (600,)),
    Loops(floyd_warshall_scalars, _ways, (12,), (60,), (400,)),
    Loops(smith_waterman, lambda rng, n: _letters(rng, n, 2, -1, -1), (14,), (200,), (2000,), dtype="int64"),
    Loops(nussinov, lambda rng, n: (rng.integers(0, 4, n),), (14,), (60,), (400,), dtype="int32"),
    Loops(levenshtein, _letters, (14,), (300,), (3000,), dtype="int64"),
    Loops(longest_common, _letters, (14,), (300,), (3000,), dtype="int32"),
    Loops(matrix_chain, lambda rng, n: (rng.integers(1, 50, n),), (14,), (80,), (400,)),
    Loops(
        knapsack,
        lambda rng, n, capacity: (rng.integers(1, 30, n), rng.integers(1, 100, n), capacity),
        (12, 60),
        (100, 2000),
        (500, 20_000),
        dtype="int64",
    ),
    Loops(viterbi, _markov, (10, 14), (30, 1000), (100, 3000)),
    Loops(dijkstra, _ways, (12,), (300,), (2000,)),
    Loops(dynamic_time_warping, lambda rng, n: (rng.random(n), rng.random(n + 3)), (14,), (300,), (2000,)),
)
