"""Layers of neural networks: products with what follows them, attention, convolutions, lookups."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.programs.elementwise import gelu
from tests.benchmarks.programs.normalising import layer_norm, softmax
from tests.benchmarks.programs.program import Program, draw, weights

HEADS = 4


def mlp(x, w1, b1, w2, b2):
    hidden = np.maximum(x @ w1 + b1, 0)
    return hidden @ w2 + b2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_cell(x, h, c, w, u, b):
    gates = x @ w + h @ u + b
    size = h.shape[1]
    entering, forgetting = sigmoid(gates[:, :size]), sigmoid(gates[:, size : 2 * size])
    showing, fresh = sigmoid(gates[:, 2 * size : 3 * size]), np.tanh(gates[:, 3 * size :])
    kept = forgetting * c + entering * fresh
    return showing * np.tanh(kept)


def last_softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return last_softmax(scores) @ v


def split_heads(x):
    tokens, width = x.shape
    return x.reshape(tokens, HEADS, width // HEADS).transpose(1, 0, 2)


def gpt2_block(x, s1, t1, w_qkv, b_qkv, w_out, b_out, s2, t2, w_up, b_up, w_down, b_down):
    tokens, width = x.shape
    q, k, v = np.split(layer_norm(x, s1, t1) @ w_qkv + b_qkv, 3, axis=1)
    q, k, v = split_heads(q), split_heads(k), split_heads(v)
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // HEADS)
    scores = np.where(np.tri(tokens, dtype=bool), scores, -1e10)
    mixed = (last_softmax(scores) @ v).transpose(1, 0, 2).reshape(tokens, width)
    x = x + mixed @ w_out + b_out
    return x + gelu(layer_norm(x, s2, t2) @ w_up + b_up) @ w_down + b_down


def convolution_im2col(x, w):
    """Images (n, height, width, channels), 3 by 3 filters (9 * channels, out)."""
    _, height, width, channels = x.shape
    windows = [x[:, i : i + height - 2, j : j + width - 2, :] for i in range(3) for j in range(3)]
    return np.concatenate(windows, axis=-1).reshape(-1, 9 * channels) @ w


def convolution_slices(image, kernel):
    height, width = image.shape
    out = np.zeros((height - 2, width - 2), image.dtype)
    for i in range(3):
        for j in range(3):
            out += kernel[i, j] * image[i : i + height - 2, j : j + width - 2]
    return out


def max_pooling(x):
    n, height, width = x.shape
    return x.reshape(n, height // 2, 2, width // 2, 2).max(axis=(2, 4))


def mean_pooling(x):
    return (x[:, ::2, ::2] + x[:, 1::2, ::2] + x[:, ::2, 1::2] + x[:, 1::2, 1::2]) / 4


def embedding_lookup(table, positions, tokens):
    return table[tokens] + positions[: tokens.shape[0]]


def cross_entropy(x, labels):
    shifted = x - x.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(labels)), labels].mean()


def one_hot_gradient(x, labels):
    return (softmax(x) - np.eye(x.shape[1], dtype=x.dtype)[labels]) / len(labels)


def _layers(rng, n, dtype):
    width = max(8, min(256, math.isqrt(n) // 4 * 4))
    rows = max(1, n // width)
    shapes = (width, width), (width,), (width, width), (width,)
    return draw(rng, (rows, width), dtype), *(weights(rng, shape, dtype) for shape in shapes)


def _cell(rng, n, dtype):
    width = max(8, min(128, math.isqrt(n) // 4 * 4))
    rows = max(1, n // (4 * width))
    states = (draw(rng, (rows, width), dtype) for _ in range(3))
    shapes = (width, 4 * width), (width, 4 * width), (4 * width,)
    return *states, *(weights(rng, shape, dtype) for shape in shapes)


def _heads(rng, n, dtype):
    """As many elements of scores as ``n``."""
    heads = 4 if n < 10**6 else 16
    tokens = max(4, math.isqrt(n // heads))
    return tuple(draw(rng, (heads, tokens, 32), dtype) for _ in range(3))


def _block(rng, n, dtype):
    """As many elements of the wide layer's output as ``n``, up to 768 columns."""
    width = max(16, min(768, math.isqrt(n) // 16 * 16))
    tokens = max(4, n // (4 * width))
    tokens = min(tokens, 1024)
    shapes = (width,), (width,), (width, 3 * width), (3 * width,), (width, width), (width,)
    wide = (width,), (width,), (width, 4 * width), (4 * width,), (4 * width, width), (width,)
    return draw(rng, (tokens, width), dtype), *(weights(rng, shape, dtype) for shape in (*shapes, *wide))


def _images(rng, n, dtype):
    """As many elements of windows as ``n``."""
    channels = 4 if n < 10**4 else 16
    side = 6 if n < 10**4 else 26
    count = max(1, n // (9 * channels * (side - 2) ** 2))
    return draw(rng, (count, side, side, channels), dtype), weights(rng, (9 * channels, 2 * channels), dtype)


def _filtered(rng, n, dtype):
    return draw(rng, (math.isqrt(n),) * 2, dtype), draw(rng, (3, 3), dtype)


def _pooled(rng, n, dtype):
    side = 8 if n < 10**4 else 64
    return (draw(rng, (max(1, n // side**2), side, side), dtype),)


def _tokens(rng, n, dtype):
    width = 16 if n < 10**4 else 128
    count = max(1, n // width)
    table, positions = draw(rng, (1000, width), dtype), draw(rng, (count, width), dtype)
    return table, positions, rng.integers(0, 1000, count)


def _labelled(rng, n, dtype):
    columns = 10 if n < 10**4 else 100
    return draw(rng, (n // columns, columns), dtype), rng.integers(0, columns, n // columns)


PROGRAMS = (
    Program(mlp, _layers),
    Program(lstm_cell, _cell),
    Program(attention, _heads),
    Program(gpt2_block, _block),
    Program(convolution_im2col, _images),
    Program(convolution_slices, _filtered),
    Program(max_pooling, _pooled),
    Program(mean_pooling, _pooled),
    Program(embedding_lookup, _tokens),
    Program(cross_entropy, _labelled),
    Program(one_hot_gradient, _labelled),
)
