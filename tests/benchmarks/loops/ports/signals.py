"""Signals and images, in JAX."""

from __future__ import annotations

import math
from functools import partial

import jax.numpy as jnp
from jax import jit
from jax.lax import conv_general_dilated, max, reduce_window, scan

from tests.benchmarks.loops.ports.recurrence import linear_recurrence


@jit
def deriche(image, alpha):
    e = jnp.exp(-alpha)
    k = (1.0 - e) * (1.0 - e) / (1.0 + 2.0 * alpha * e - jnp.exp(-2.0 * alpha))
    a1, a2 = k, k * e * (alpha - 1.0)
    a3, a4 = k * e * (alpha + 1.0), -k * jnp.exp(-2.0 * alpha)
    b1, b2 = 2.0**-alpha, -jnp.exp(-2.0 * alpha)

    def along(rows):
        """Both filters along the first axis."""
        zeros = jnp.zeros_like(rows[:1])

        def step(state, term):
            new = term + b1 * state[0] + b2 * state[1]
            return (new, state[0]), new

        start = zeros[0], zeros[0]
        forth = a1 * rows + a2 * jnp.concatenate((zeros, rows[:-1]))
        back = a3 * jnp.concatenate((rows[1:], zeros)) + a4 * jnp.concatenate((rows[2:], zeros, zeros))
        return scan(step, start, forth)[1] + scan(step, start, back, reverse=True)[1]

    return along(along(image.T).T)


@jit
def biquad(x, b0, b1, b2, a1, a2):
    def step(state, x):
        z1, z2 = state
        out = b0 * x + z1
        return (b1 * x - a1 * out + z2, b2 * x - a2 * out), out

    return scan(step, (0.0, 0.0), x, unroll=8)[1]


@jit
def convolution(image, weights, bias):
    return conv_general_dilated(image, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias


@jit
def convolution_scalars(image, weights):
    k = weights.shape[0]
    height, width = image.shape[0] - k + 1, image.shape[1] - k + 1
    return sum(image[i : i + height, j : j + width] * weights[i, j] for i in range(k) for j in range(k))


@jit
def max_pooling(image):
    batch, height, width, channels = image.shape
    whole = image[:, : height // 2 * 2, : width // 2 * 2]
    return whole.reshape(batch, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


@jit
def median_3(image):
    height, width = image.shape[0] - 2, image.shape[1] - 2
    windows = jnp.stack([image[i : i + height, j : j + width] for i in range(3) for j in range(3)])
    return image.at[1:-1, 1:-1].set(jnp.sort(windows, axis=0)[4])


@jit
def moving_average(x, alpha):
    return jnp.concatenate((x[:1], linear_recurrence(1.0 - alpha, alpha * x[1:], x[0])))


@jit
def welford(x):
    """A stream is an array here."""
    return x.mean(), x.var(ddof=1), x.min(), x.max()


@partial(jit, static_argnames="window")
def rolling_maximum(x, window):
    return reduce_window(x, -jnp.inf, max, (window,), (1,), "VALID")


@jit
def kalman(z, f, h, q, r, x, p):
    eye = jnp.eye(x.shape[0])

    def step(state, measured):
        x, p = state
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        gain = p @ h.T @ inverse
        x = x + gain @ (measured - h @ x)
        return (x, (eye - gain @ h) @ p), x

    return scan(step, (x, p), z)[1]


@jit
def kalman_scalar(z, q, r):
    def step(state, measured):
        x, p = state
        p = p + q
        gain = p / (p + r)
        x = x + gain * (measured - x)
        return (x, (1.0 - gain) * p), x

    return scan(step, (0.0, 1.0), z)[1]


@jit
def fourier(x):
    n = len(x)
    k = jnp.arange(n)
    angle = 2.0 * math.pi * k[:, None] * k[None, :] / n
    return jnp.cos(angle) @ x, -(jnp.sin(angle) @ x)


@jit
def dither(image):
    """Along a row the error is carried; the row below gets what comes to it at once."""

    def along(error, old):
        old = old + error * 7 / 16
        new = jnp.where(old > 0.5, 1.0, 0.0)
        return old - new, (new, old - new)

    def row(now, below):
        last, (new, errors) = scan(along, 0.0, now[1:-1])
        below = below.at[:-2].add(errors * 3 / 16).at[1:-1].add(errors * 5 / 16).at[2:].add(errors * 1 / 16)
        return below, now.at[1:-1].set(new).at[-1].add(last * 7 / 16)

    last, rows = scan(row, image[0], image[1:])
    return jnp.concatenate((rows, last[None]))
