"""A small vision transformer in plain NumPy: what a user's model code looks like.

It knows nothing of capture. ``classify(images, model)`` takes float32 images of shape (batch, 8, 8) with values in
0..1 and the nested parameters of ``weights.load``, and gives the scores of the ten digits, shape (batch, 10).
"""

import math

import numpy as np

HEADS = 4
PATCH = 2
TANH_SCALE = math.sqrt(2.0 / math.pi)


def layer_norm(x, scale, shift, epsilon=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * scale + shift


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(TANH_SCALE * (x + 0.044715 * (x * x * x))))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, weights):
    batch, tokens, width = x.shape
    mixed = x @ weights["in_weight"] + weights["in_bias"]
    mixed = mixed.reshape(batch, tokens, 3, HEADS, width // HEADS).transpose(2, 0, 3, 1, 4)
    query, key, value = mixed[0], mixed[1], mixed[2]
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width // HEADS)
    context = softmax(scores) @ value
    context = context.transpose(0, 2, 1, 3).reshape(batch, tokens, width)
    return context @ weights["out_weight"] + weights["out_bias"]


def feed_forward(x, weights):
    hidden = gelu(x @ weights["up_weight"] + weights["up_bias"])
    return hidden @ weights["down_weight"] + weights["down_bias"]


def block(x, weights):
    x = x + attention(layer_norm(x, weights["norm1_scale"], weights["norm1_shift"]), weights)
    return x + feed_forward(layer_norm(x, weights["norm2_scale"], weights["norm2_shift"]), weights)


def patches(images):
    batch, height, width = images.shape
    tiles = images.reshape(batch, height // PATCH, PATCH, width // PATCH, PATCH)
    return tiles.transpose(0, 1, 3, 2, 4).reshape(batch, (height // PATCH) * (width // PATCH), PATCH * PATCH)


def classify(images, model):
    x = patches(images) @ model["embed_weight"] + model["embed_bias"] + model["position"]
    for weights in model["blocks"]:
        x = block(x, weights)
    x = layer_norm(x, model["norm_scale"], model["norm_shift"]).mean(axis=1)
    return x @ model["head_weight"] + model["head_bias"]
