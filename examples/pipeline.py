"""An ordinary program that knows nothing of capture: a classifier trained on batches from a generator.

python examples/pipeline.py
python -m capture run --explain examples/pipeline.py
"""

import logging

import numpy as np

CONFIG = {"features": 16, "hidden": 64, "classes": 4, "batch": 256, "batches": 30, "rate": 0.3}

log = logging.getLogger("pipeline")


class Layer:
    def __init__(self, rng, inputs, outputs):
        self.weights = rng.normal(0.0, inputs**-0.5, (inputs, outputs))
        self.bias = np.zeros(outputs)

    def __call__(self, x):
        return x @ self.weights + self.bias


class Classifier:
    def __init__(self, config, rng):
        self.config = config
        self.first = Layer(rng, config["features"], config["hidden"])
        self.second = Layer(rng, config["hidden"], config["classes"])

    def hidden(self, x):
        return np.tanh(self.first(x))

    def probabilities(self, h):
        scores = self.second(h)
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    def train(self, x, wanted):
        """One step of gradient descent; returns the loss and how many were right."""
        h = self.hidden(x)
        p = self.probabilities(h)
        error = (p - wanted) / len(x)
        back = (error @ self.second.weights.T) * (1.0 - h * h)
        rate = self.config["rate"]
        for layer, inputs, change in ((self.second, h, error), (self.first, x, back)):
            layer.weights -= rate * (inputs.T @ change)
            layer.bias -= rate * change.sum(axis=0)
        loss = -np.log((p * wanted).sum(axis=1)).mean()
        return loss, (p.argmax(axis=1) == wanted.argmax(axis=1)).mean()


def batches(config, rng):
    """Points around one centre for each class, and which class it is, one-hot."""
    centres = rng.normal(0.0, 1.5, (config["classes"], config["features"]))
    for _ in range(config["batches"]):
        labels = rng.integers(config["classes"], size=config["batch"])
        noise = rng.normal(0.0, 1.0, (config["batch"], config["features"]))
        yield centres[labels] + noise, np.eye(config["classes"])[labels]


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    rng = np.random.default_rng(0)
    model = Classifier(CONFIG, rng)
    for step, (x, wanted) in enumerate(batches(CONFIG, rng)):
        loss, right = model.train(x, wanted)
        if step % 10 == 0:
            log.info("step %d: loss %.3f", step, loss)
    print(f"loss {loss:.4f}, {right:.1%} right")


if __name__ == "__main__":
    main()
