"""Signals and images: recursive filters, convolution and pooling, statistics of streams, estimation."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.loops.record import Loops


def deriche(image, alpha):
    """Deriche's smoothing: recursive filters along rows and columns, forth and back."""
    e = math.exp(-alpha)
    k = (1.0 - e) * (1.0 - e) / (1.0 + 2.0 * alpha * e - math.exp(-2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * e * (alpha - 1.0)
    a3 = a7 = k * e * (alpha + 1.0)
    a4 = a8 = -k * math.exp(-2.0 * alpha)
    b1 = 2.0**-alpha
    b2 = -math.exp(-2.0 * alpha)
    y1 = np.empty_like(image)
    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y1[:, 0]
    for j in range(2, image.shape[1]):
        y1[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.empty_like(image)
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * image[:, -1]
    for j in range(image.shape[1] - 3, -1, -1):
        y2[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    out = y1 + y2
    y1[0, :] = a5 * out[0, :]
    y1[1, :] = a5 * out[1, :] + a6 * out[0, :] + b1 * y1[0, :]
    for i in range(2, image.shape[0]):
        y1[i, :] = a5 * out[i, :] + a6 * out[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a7 * out[-1, :]
    for i in range(image.shape[0] - 3, -1, -1):
        y2[i, :] = a7 * out[i + 1, :] + a8 * out[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    return y1 + y2


def biquad(x, b0, b1, b2, a1, a2):
    """A recursive filter of second order, a sample a round."""
    y = np.empty_like(x)
    z1 = 0.0
    z2 = 0.0
    for i in range(len(x)):
        out = b0 * x[i] + z1
        z1 = b1 * x[i] - a1 * out + z2
        z2 = b2 * x[i] - a2 * out
        y[i] = out
    return y


def convolution(image, weights, bias):
    """A layer: windows times filters, summed."""
    batch, height, width, _ = image.shape
    k = weights.shape[0]
    out = np.empty((batch, height - k + 1, width - k + 1, weights.shape[3]), dtype=image.dtype)
    for i in range(height - k + 1):
        for j in range(width - k + 1):
            window = image[:, i : i + k, j : j + k, :, np.newaxis]
            out[:, i, j, :] = np.sum(window * weights[np.newaxis, :, :, :], axis=(1, 2, 3))
    return out + bias


def convolution_scalars(image, weights):
    """One channel, all loops written out."""
    height, width = image.shape
    k = weights.shape[0]
    out = np.zeros((height - k + 1, width - k + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            for di in range(k):
                for dj in range(k):
                    total += image[i + di, j + dj] * weights[di, dj]
            out[i, j] = total
    return out


def max_pooling(image):
    """Two by two, channels last."""
    batch, height, width, channels = image.shape
    out = np.empty((batch, height // 2, width // 2, channels), dtype=image.dtype)
    for i in range(height // 2):
        for j in range(width // 2):
            out[:, i, j, :] = np.max(image[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return out


def median_3(image):
    """The median of three by three, by sorting a small array."""
    out = image.copy()
    window = np.empty(9)
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            k = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    v = image[i + di, j + dj]
                    m = k
                    while m > 0 and window[m - 1] > v:
                        window[m] = window[m - 1]
                        m -= 1
                    window[m] = v
                    k += 1
            out[i, j] = window[4]
    return out


def moving_average(x, alpha):
    """Exponential."""
    out = np.empty(x.shape)
    out[0] = x[0]
    for t in range(1, x.shape[0]):
        out[t] = alpha * x[t] + (1.0 - alpha) * out[t - 1]
    return out


def welford(x):
    """Mean and variance of a stream, with the least and the largest."""
    mean, m2, count = 0.0, 0.0, 0
    least, largest = math.inf, -math.inf
    for v in x:
        count += 1
        delta = v - mean
        mean += delta / count
        m2 += delta * (v - mean)
        if v < least:
            least = v
        if v > largest:
            largest = v
    return mean, m2 / (count - 1), least, largest


def rolling_maximum(x, window):
    """Each window by a slice."""
    out = np.empty(len(x) - window + 1, dtype=x.dtype)
    for i in range(len(out)):
        out[i] = x[i : i + window].max()
    return out


def kalman(z, f, h, q, r, x, p):
    """A filter for a state of a few numbers, with matrix products and an inverse written out for 2 by 2."""
    out = np.empty((z.shape[0], x.shape[0]))
    eye = np.eye(x.shape[0])
    for t in range(z.shape[0]):
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = np.empty((2, 2))
        inverse[0, 0] = s[1, 1] / det
        inverse[1, 1] = s[0, 0] / det
        inverse[0, 1] = -s[0, 1] / det
        inverse[1, 0] = -s[1, 0] / det
        gain = p @ h.T @ inverse
        x = x + gain @ (z[t] - h @ x)
        p = (eye - gain @ h) @ p
        out[t] = x
    return out


def kalman_scalar(z, q, r):
    """Of one number."""
    x, p = 0.0, 1.0
    out = np.zeros_like(z)
    for t, measured in enumerate(z):
        p = p + q
        gain = p / (p + r)
        x = x + gain * (measured - x)
        p = (1.0 - gain) * p
        out[t] = x
    return out


def fourier(x):
    """The discrete transform as written in books."""
    n = len(x)
    real = np.zeros(n)
    imaginary = np.zeros(n)
    for k in range(n):
        for t in range(n):
            angle = 2.0 * math.pi * k * t / n
            real[k] += x[t] * math.cos(angle)
            imaginary[k] -= x[t] * math.sin(angle)
    return real, imaginary


def dither(image):
    """Floyd-Steinberg: errors go to neighbours that come later."""
    height, width = image.shape
    for y in range(height - 1):
        for x in range(1, width - 1):
            old = image[y, x]
            new = 1.0 if old > 0.5 else 0.0
            image[y, x] = new
            error = old - new
            image[y, x + 1] += error * 7 / 16
            image[y + 1, x - 1] += error * 3 / 16
            image[y + 1, x] += error * 5 / 16
            image[y + 1, x + 1] += error * 1 / 16
    return image


def _kalman(rng, steps):
    f = np.eye(4)
    f[0, 2] = f[1, 3] = 0.1
    h = np.zeros((2, 4))
    h[0, 0] = h[1, 1] = 1.0
    return rng.standard_normal((steps, 2)), f, h, 0.01 * np.eye(4), 0.1 * np.eye(2), np.zeros(4), np.eye(4)


def _single(rng, *shape):
    return rng.random(shape).astype(np.float32)


PROGRAMS = (
    Loops(deriche, lambda rng, n: (rng.random((n, n + 4)), 0.25), (14,), (800,), (4000,)),
    Loops(biquad, lambda rng, n: (rng.random(n), 0.2, 0.3, 0.1, -0.5, 0.2), (20,), (200_000,), (10_000_000,)),
    Loops(
        convolution,
        lambda rng, b, n: (_single(rng, b, n, n, 3), _single(rng, 3, 3, 3, 8), _single(rng, 8)),
        (2, 12),
        (8, 48),
        (8, 128),
        dtype="float32",
    ),
    Loops(convolution_scalars, lambda rng, n: (rng.random((n, n)), rng.random((9, 9))), (18,), (70,), (600,)),
    Loops(
        max_pooling,
        lambda rng, b, n: (_single(rng, b, n, n, 4),),
        (2, 20),
        (8, 128),
        (8, 512),
        dtype="float32",
        numba=False,
        note="max over two axes",
    ),
    Loops(median_3, lambda rng, n: (rng.random((n, n)),), (12,), (60,), (600,)),
    Loops(moving_average, lambda rng, n: (rng.random(n), 0.3), (20,), (200_000,), (10_000_000,)),
    Loops(welford, lambda rng, n: (rng.random(n),), (20,), (200_000,), (10_000_000,)),
    Loops(rolling_maximum, lambda rng, n, window: (rng.random(n), window), (30, 7), (50_000, 50), (1_000_000, 100)),
    Loops(kalman, _kalman, (12,), (5000,), (100_000,)),
    Loops(kalman_scalar, lambda rng, n: (rng.random(n), 0.01, 0.1), (20,), (200_000,), (10_000_000,)),
    Loops(fourier, lambda rng, n: (rng.random(n),), (12,), (400,), (3000,)),
    Loops(dither, lambda rng, n: (rng.random((n, n)),), (12,), (200,), (2000,)),
)
