"""Models: recurrent cells over time, decoding, clustering, descent."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.loops.record import Loops


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm(x, h, c, wx, wh, b):
    """A layer over all time steps."""
    steps, batch, _ = x.shape
    n = h.shape[1]
    out = np.empty((steps, batch, n), dtype=x.dtype)
    for t in range(steps):
        gates = x[t] @ wx + h @ wh + b
        i = sigmoid(gates[:, :n])
        f = sigmoid(gates[:, n : 2 * n])
        o = sigmoid(gates[:, 2 * n : 3 * n])
        g = np.tanh(gates[:, 3 * n :])
        c = f * c + i * g
        h = o * np.tanh(c)
        out[t] = h
    return out, h, c


def gru(x, h, wx, wh, b):
    """A gated layer over all time steps; its outputs in a list."""
    n = h.shape[1]
    out = []
    for t in range(x.shape[0]):
        a = x[t] @ wx + b
        s = h @ wh
        z = sigmoid(a[:, :n] + s[:, :n])
        r = sigmoid(a[:, n : 2 * n] + s[:, n : 2 * n])
        new = np.tanh(a[:, 2 * n :] + r * s[:, 2 * n :])
        h = (1.0 - z) * h + z * new
        out.append(h)
    return np.stack(out)


def greedy_decoding(token, steps, embedding, wq, wk, wv, wo):
    """One head of attention with a cache of keys and values; the likeliest token goes on."""
    n = wq.shape[1]
    keys = np.zeros((steps, n))
    values = np.zeros((steps, n))
    tokens = np.zeros(steps, dtype=np.int64)
    for t in range(steps):
        x = embedding[token]
        q = x @ wq
        keys[t] = x @ wk
        values[t] = x @ wv
        scores = keys[: t + 1] @ q / np.sqrt(n)
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        y = weights @ values[: t + 1]
        token = np.argmax((x + y @ wo) @ embedding.T)
        tokens[t] = token
    return tokens


def k_means(points, centres, rounds):
    """Lloyd's algorithm on whole arrays."""
    k = centres.shape[0]
    labels = np.zeros(points.shape[0], dtype=np.int64)
    for _ in range(rounds):
        distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = distance.argmin(axis=1)
        for c in range(k):
            mine = labels == c
            if mine.any():
                centres[c] = points[mine].mean(axis=0)
    return centres, labels


def k_means_scalars(points, centres, rounds):
    """The same point by point."""
    n, d = points.shape
    k = centres.shape[0]
    labels = np.zeros(n, dtype=np.int64)
    for _ in range(rounds):
        sums = np.zeros((k, d))
        counts = np.zeros(k, dtype=np.int64)
        for i in range(n):
            best = 0
            nearest = np.inf
            for c in range(k):
                distance = 0.0
                for j in range(d):
                    step = points[i, j] - centres[c, j]
                    distance += step * step
                if distance < nearest:
                    nearest = distance
                    best = c
            labels[i] = best
            counts[best] += 1
            for j in range(d):
                sums[best, j] += points[i, j]
        for c in range(k):
            if counts[c] > 0:
                for j in range(d):
                    centres[c, j] = sums[c, j] / counts[c]
    return labels


def logistic_regression(x, y, w, rate, rounds):
    """Gradient descent on whole arrays."""
    n = x.shape[0]
    for _ in range(rounds):
        p = 1.0 / (1.0 + np.exp(-(x @ w)))
        w -= rate / n * (x.T @ (p - y))
    return w


def perceptron(x, y, rounds):
    """A sample at a time, as long as one is wrong."""
    w = np.zeros(x.shape[1])
    for _ in range(rounds):
        wrong = 0
        for i in range(x.shape[0]):
            if y[i] * (x[i] @ w) <= 0.0:
                w += y[i] * x[i]
                wrong += 1
        if wrong == 0:
            break
    return w, wrong


def adam(x, y, w, rounds, rate):
    """Least squares by Adam, with powers of the moments' factors."""
    m = np.zeros_like(w)
    v = np.zeros_like(w)
    for t in range(1, rounds + 1):
        g = 2.0 * x.T @ (x @ w - y) / len(y)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        w = w - rate * (m / (1.0 - 0.9**t)) / (np.sqrt(v / (1.0 - 0.999**t)) + 1e-8)
    return w


def nearest_neighbours(points, queries):
    """The nearest point of each query."""
    found = np.empty(len(queries), dtype=np.int64)
    for i, query in enumerate(queries):
        found[i] = np.argmin(((points - query) ** 2).sum(axis=1))
    return found


def pairwise(points):
    """All distances, half of them computed."""
    n = points.shape[0]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            out[i, j] = out[j, i] = np.sqrt(np.sum((points[i] - points[j]) ** 2))
    return out


def softmax_rows(x):
    """Row by row, in place."""
    for row in x:
        row -= row.max()
        np.exp(row, out=row)
        row /= row.sum()
    return x


def q_learning(rewards, following, alpha, gamma, actions):
    """A table of values learnt along given actions."""
    q = np.zeros(rewards.shape)
    state = 0
    for a in actions:
        new = following[state, a]
        q[state, a] += alpha * (rewards[state, a] + gamma * q[new].max() - q[state, a])
        state = new
    return q


def _recurrent(gates, with_state):
    def make(rng, steps, batch, width):
        arrays = [rng.standard_normal((steps, batch, width))] + [np.zeros((batch, width))] * with_state
        weights = [0.3 * rng.standard_normal((width, gates * width)) for _ in range(2)]
        return tuple(each.astype(np.float32) for each in (*arrays, *weights, rng.random(gates * width)))

    return make


def _decoder(rng, steps, vocabulary, width):
    return 1, steps, rng.standard_normal((vocabulary, width)), *rng.standard_normal((4, width, width))


def _clusters(rng, n, k, rounds):
    return rng.random((n, 9)), rng.random((k, 9)), rounds


def _samples(rng, n, d):
    x = rng.standard_normal((n, d))
    return x, (x[:, 0] + 0.2 * rng.standard_normal(n) > 0).astype(float)


def _walk(rng, states, actions, steps):
    return (
        rng.random((states, actions)),
        rng.integers(0, states, (states, actions)),
        0.1,
        0.9,
        rng.integers(0, actions, steps),
    )


PROGRAMS = (
    Loops(
        lstm,
        _recurrent(4, 2),
        (10, 3, 12),
        (100, 16, 64),
        (100, 64, 256),
        dtype="float32",
        numba=False,
        note="matmul of 3-D rows",
    ),
    Loops(
        gru,
        _recurrent(3, 1),
        (10, 3, 12),
        (100, 16, 64),
        (100, 64, 256),
        dtype="float32",
        numba=False,
        note="stack of a list",
    ),
    Loops(greedy_decoding, _decoder, (10, 12, 9), (200, 500, 64), (500, 4000, 256)),
    Loops(
        k_means,
        _clusters,
        (20, 9, 10),
        (2000, 16, 20),
        (50_000, 16, 20),
        numba=False,
        note="reductions along an axis with keywords",
    ),
    Loops(k_means_scalars, _clusters, (20, 9, 10), (500, 10, 10), (20_000, 16, 20)),
    Loops(
        logistic_regression,
        lambda rng, n, d, rounds: (*_samples(rng, n, d), np.zeros(d), 0.1, rounds),
        (20, 9, 10),
        (1000, 20, 2000),
        (20_000, 50, 500),
    ),
    Loops(
        perceptron,
        lambda rng, n, d, rounds: ((s := _samples(rng, n, d))[0], 2.0 * s[1] - 1.0, rounds),
        (20, 9, 10),
        (500, 10, 50),
        (5000, 50, 100),
    ),
    Loops(
        adam,
        lambda rng, n, d, rounds: (*_samples(rng, n, d), np.zeros(d), rounds, 0.01),
        (20, 9, 10),
        (500, 20, 400),
        (20_000, 50, 500),
    ),
    Loops(
        nearest_neighbours,
        lambda rng, n, m: (rng.random((n, 9)), rng.random((m, 9))),
        (20, 10),
        (500, 3000),
        (10_000, 5000),
    ),
    Loops(pairwise, lambda rng, n: (rng.random((n, 9)),), (12,), (150,), (1000,)),
    Loops(
        softmax_rows,
        lambda rng, n, m: (rng.random((n, m)),),
        (12, 10),
        (10_000, 50),
        (100_000, 100),
        numba=False,
        note="out= of a function",
    ),
    Loops(q_learning, _walk, (12, 9, 20), (100, 9, 20_000), (1000, 20, 500_000)),
)
