"""Models, in JAX."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp
from jax import jit, vmap
from jax.lax import fori_loop, optimization_barrier, scan, while_loop
from jax.nn import one_hot, sigmoid, softmax


@jit
def lstm(x, h, c, wx, wh, b):
    n = h.shape[1]

    def step(state, x):
        h, c = state
        gates = x @ wx + h @ wh + b
        i = sigmoid(gates[:, :n])
        f = sigmoid(gates[:, n : 2 * n])
        o = sigmoid(gates[:, 2 * n : 3 * n])
        c = f * c + i * jnp.tanh(gates[:, 3 * n :])
        h = o * jnp.tanh(c)
        return (h, c), h

    (h, c), out = scan(step, (h, c), x)
    return out, h, c


@jit
def gru(x, h, wx, wh, b):
    n = h.shape[1]

    def step(h, x):
        a = x @ wx + b
        s = h @ wh
        z = sigmoid(a[:, :n] + s[:, :n])
        r = sigmoid(a[:, n : 2 * n] + s[:, n : 2 * n])
        h = (1.0 - z) * h + z * jnp.tanh(a[:, 2 * n :] + r * s[:, 2 * n :])
        return h, h

    return scan(step, h, x)[1]


@partial(jit, static_argnames="steps")
def greedy_decoding(token, steps, embedding, wq, wk, wv, wo):
    """The cache has its whole length from the start; what is not yet in it has no weight."""
    n = wq.shape[1]
    places = jnp.arange(steps)

    def step(state, t):
        token, keys, values = state
        x = embedding[token]
        keys = keys.at[t].set(x @ wk)
        values = values.at[t].set(x @ wv)
        scores = jnp.where(places <= t, keys @ (x @ wq) / jnp.sqrt(n), -jnp.inf)
        token = jnp.argmax(embedding @ (x + softmax(scores) @ values @ wo))
        return (token, keys, values), token

    empty = jnp.zeros((steps, n))
    return scan(step, (jnp.asarray(token), empty, empty), places)[1]


@partial(jit, static_argnames="rounds")
def k_means(points, centres, rounds):
    k = centres.shape[0]

    def step(_, state):
        centres, _ = state
        labels = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
        mine = one_hot(labels, k, dtype=points.dtype)
        counts = mine.sum(axis=0)[:, None]
        return jnp.where(counts > 0, mine.T @ points / jnp.maximum(counts, 1.0), centres), labels

    return fori_loop(0, rounds, step, (centres, jnp.zeros(len(points), dtype=jnp.int64)))


@partial(jit, static_argnames="rounds")
def k_means_scalars(points, centres, rounds):
    centres, labels = k_means(points, centres, rounds)
    return labels, centres


@partial(jit, static_argnames="rounds")
def logistic_regression(x, y, w, rate, rounds):
    turned = optimization_barrier(x.T)  # once, not every round

    def step(_, w):
        return w - rate / x.shape[0] * (turned @ (sigmoid(x @ w) - y))

    return fori_loop(0, rounds, step, w)


@partial(jit, static_argnames="rounds")
def perceptron(x, y, rounds):
    def sample(state, row):
        w, wrong = state
        x, y = row
        is_wrong = y * (x @ w) <= 0.0
        return (w + jnp.where(is_wrong, y, 0.0) * x, wrong + is_wrong), None

    def through(state):
        w, _, done = state
        (w, wrong), _ = scan(sample, (w, 0), (x, y))
        return w, wrong, done + 1

    def going(state):
        return (state[1] > 0) & (state[2] < rounds)

    return while_loop(going, through, (jnp.zeros(x.shape[1]), 1, 0))[:2]


@partial(jit, static_argnames="rounds")
def adam(x, y, w, rounds, rate):
    def step(t, state):
        w, m, v = state
        g = 2.0 * x.T @ (x @ w - y) / len(y)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        w = w - rate * (m / (1.0 - 0.9**t)) / (jnp.sqrt(v / (1.0 - 0.999**t)) + 1e-8)
        return w, m, v

    return fori_loop(1, rounds + 1, step, (w, jnp.zeros_like(w), jnp.zeros_like(w)))[0]


@jit
def nearest_neighbours(points, queries):
    return vmap(lambda query: jnp.argmin(((points - query) ** 2).sum(axis=1)))(queries)


@jit
def pairwise(points):
    return jnp.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))


@jit
def softmax_rows(x):
    return softmax(x, axis=1)


@jit
def q_learning(rewards, following, alpha, gamma, actions):
    def step(state, a):
        q, place = state
        new = following[place, a]
        change = alpha * (rewards[place, a] + gamma * q[new].max() - q[place, a])
        return (q.at[place, a].add(change), new), None

    return scan(step, (jnp.zeros(rewards.shape), 0), actions)[0][0]
