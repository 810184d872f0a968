"""Images: filters, colours, thresholds, histograms."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.programs.program import Program, draw, pixels, square, uniform


def box_blur(image):
    padded = np.pad(image, 1, mode="edge")
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    return (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 9


def sobel(image):
    across = image[:, 2:] - image[:, :-2]
    down = image[2:, :] - image[:-2, :]
    dx = across[:-2] + 2 * across[1:-1] + across[2:]
    dy = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    return np.sqrt(dx * dx + dy * dy)


def luma(image):
    return 0.299 * image[..., 0] + 0.587 * image[..., 1] + 0.114 * image[..., 2]


def rgb_to_ycc(image):
    r, g, b = image[..., 0], image[..., 1], image[..., 2]
    y = 0.299 * r + 0.587 * g + 0.114 * b
    return np.stack([y, 0.564 * (b - y) + 0.5, 0.713 * (r - y) + 0.5], axis=-1)


def contrast(image):
    """Of an image of bytes."""
    low, high = image.min(), image.max()
    return ((image - low) * (255.0 / (high - low))).astype(np.uint8)


def blend(below, above, opacity):
    return below * (1 - opacity[..., None]) + above * opacity[..., None]


def histogram(image):
    return np.histogram(image, bins=64, range=(0, 1))[0]


def byte_histogram(image):
    return np.bincount(image.ravel(), minlength=256)


def frequency_filter(x):
    spectrum = np.fft.rfft(x)
    spectrum[len(spectrum) // 8 :] = 0
    return np.fft.irfft(spectrum, len(x))


def _bytes(rng, n, dtype):
    return (rng.integers(0, 256, square(n)).astype(dtype),)


def _layers(rng, n, dtype):
    shape = pixels(n)
    return tuple(rng.random(size).astype(dtype) for size in (shape, shape, shape[:2]))


def _signal(rng, n, dtype):
    return (draw(rng, (n,), dtype),)


PROGRAMS = (
    Program(box_blur, uniform(0, 1, square)),
    Program(sobel, uniform(0, 1, square)),
    Program(luma, uniform(0, 1, pixels)),
    Program(rgb_to_ycc, uniform(0, 1, pixels)),
    Program(contrast, _bytes, ("uint8",)),
    Program(blend, _layers),
    Program(histogram, uniform(0, 1, square)),
    Program(byte_histogram, _bytes, ("uint8",)),
    Program(frequency_filter, _signal),
)
