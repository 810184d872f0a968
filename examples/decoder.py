"""A small GPT that generates text token by token, with keys and values kept in a cache that grows by a row a token.

python examples/decoder.py [TOKENS]

The step is plain NumPy. It is captured for the first length of the cache; the second one leaves the length open, and
what is compiled then serves all others. Prints how often that compiled, and the time for a token beside plain NumPy's.
"""

import sys
import time

import numpy as np

import capture

WIDTH, HEADS, LAYERS, TOKENS = 128, 4, 4, 512
SCALE = np.float32((WIDTH // HEADS) ** -0.5)


def make_model(rng):
    def weights(*shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    layers = [
        {"attention": weights(WIDTH, 3 * WIDTH), "out": weights(WIDTH, WIDTH), "up": weights(WIDTH, 4 * WIDTH)}
        | {"down": weights(4 * WIDTH, WIDTH)}
        for _ in range(LAYERS)
    ]
    return {"embedding": weights(TOKENS, WIDTH), "layers": layers}


def normalised(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5))


def gelu(x):
    return x * 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def attend(x, layer, keys, values):
    """Each head looks back at all tokens so far; keys and values are (tokens, heads, width of a head)."""
    query, key, value = (x @ layer["attention"]).reshape(3, 1, HEADS, WIDTH // HEADS)
    keys, values = np.concatenate((keys, key)), np.concatenate((values, value))
    scores = (query.transpose(1, 0, 2) @ keys.transpose(1, 2, 0)) * SCALE
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (weights / weights.sum(axis=-1, keepdims=True)) @ values.transpose(1, 0, 2)
    return mixed.reshape(1, WIDTH) @ layer["out"], keys, values


def step(model, token, cache):
    """The logits of the next token, and the longer cache."""
    x = model["embedding"][token : token + 1]
    longer = []
    for layer, (keys, values) in zip(model["layers"], cache, strict=True):
        change, keys, values = attend(normalised(x), layer, keys, values)
        longer.append((keys, values))
        x = x + change
        x = x + gelu(normalised(x) @ layer["up"]) @ layer["down"]
    return (normalised(x) @ model["embedding"].T)[0], longer


def generate(step, model, count):
    """Tokens, each the likeliest after those before it, and the seconds each of them took."""
    sink = np.zeros((1, HEADS, WIDTH // HEADS), np.float32)  # what heads look at that look for nothing
    token, cache = 1, [(sink.copy(), sink.copy()) for _ in range(LAYERS)]
    tokens, seconds = [], []
    for _ in range(count):
        start = time.perf_counter()
        logits, cache = step(model, token, cache)
        token = int(logits.argmax())
        seconds.append(time.perf_counter() - start)
        tokens.append(token)
    return tokens, seconds


def main(count=500):
    model = make_model(np.random.default_rng(0))
    compiled = capture.compile(step, fullgraph=True)
    generate(compiled, model, 10)  # compiles
    expected, plain = generate(step, model, count)
    tokens, captured = generate(compiled, model, count)
    same = sum(a == b for a, b in zip(tokens, expected, strict=True))
    print(f"{count} tokens, {same} as in plain NumPy; {len(compiled.variants)} compiles")
    for name, seconds in (("NumPy", plain), ("captured", captured)):
        print(f"{name:9} {np.median(seconds) * 1e6:7.0f} µs a token")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
