"""The demonstration behind ``python -m capture demo``: real digits through a NumPy vision transformer.

It classifies the 1,797 handwritten digits that ship with the package (UCI "Optical Recognition of Handwritten
Digits", CC BY 4.0, E. Alpaydin and C. Kaynak, 1998), plain and compiled, checks that both agree, and prints what was
captured, the kernels, the compile time and the speed-up.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from capture.demo import model

FOLDER = Path(__file__).parent


def load_images() -> tuple[np.ndarray, np.ndarray]:
    """Images as float32 of shape (1797, 8, 8), values 0..1, and their labels, 0..9."""
    with np.load(FOLDER / "digits.npz") as data:
        return data["images"].astype(np.float32) / np.float32(16), data["labels"]


def load_model() -> dict[str, Any]:
    """The trained parameters as nested dicts of float32 arrays; ``blocks`` is the list of the layers'."""
    parameters: dict[str, Any] = {"blocks": []}
    with np.load(FOLDER / "weights.npz") as data:
        for name in data.files:
            place, _, leaf = name.rpartition(".")
            target = parameters
            if place:
                blocks, index = parameters["blocks"], int(place.split(".")[1])
                blocks.extend({} for _ in range(index + 1 - len(blocks)))
                target = blocks[index]
            target[leaf] = data[name].astype(np.float32)
    return parameters


def main(argv: list[str] | None = None) -> int:
    """Run the demonstration; exit status 1 when compiled and plain results disagree."""
    parser = argparse.ArgumentParser(prog="python -m capture demo", description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7, help="timed calls of each kind (default 7)")
    parser.add_argument("--batch", type=int, default=1797, help="images a call (default: all 1797)")
    parser.add_argument("--graphs", action="store_true", help="print the captured graphs in full")
    options = parser.parse_args(argv)

    import capture

    images, labels = load_images()
    images, labels = images[: options.batch], labels[: options.batch]
    parameters = load_model()
    print(f"{len(images)} handwritten digits through a vision transformer written in NumPy")

    report = capture.explain(model.classify)(images, parameters)
    print(report)
    if options.graphs:
        for graph in report.graphs:
            print(graph)

    compiled = capture.compile(model.classify)
    plain_scores = model.classify(images, parameters)
    scores = compiled(images, parameters)
    agree = _compare(plain_scores, scores, labels)
    plain_time, compiled_time = _race(
        lambda: model.classify(images, parameters), lambda: compiled(images, parameters), options.repeat
    )
    print(f"plain NumPy  {plain_time * 1e3:8.2f} ms")
    print(f"compiled     {compiled_time * 1e3:8.2f} ms   {plain_time / compiled_time:.2f} times as fast")
    return 0 if agree else 1


def _compare(plain: np.ndarray, compiled: np.ndarray, labels: np.ndarray) -> bool:
    """Print and judge the agreement: float32 scores that differ by rounding only, the same digits."""
    worst = float(np.abs(plain - compiled).max())
    same = bool((plain.argmax(axis=1) == compiled.argmax(axis=1)).all())
    correct = float((compiled.argmax(axis=1) == labels).mean())
    scale = float(np.abs(plain).max())
    agree = same and compiled.dtype == plain.dtype and worst <= 1e-5 * scale
    print(f"accuracy {correct:.1%}, same digits: {same}, largest difference of a score {worst:.1e} of {scale:.1f}")
    return agree


def _race(plain: Callable[[], Any], compiled: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """Median seconds of both, taken in turns so that a drift of the machine hits both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        for function, taken in zip((plain, compiled), times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])
