"""What a program of the corpus of loops is: a function, arguments for three sizes, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Loops:
    """A program of loops. ``make(rng, *size)`` gives its arguments, the same ones for every new ``default_rng(0)``.

    ``small`` is for tests: every ``range`` is longer than what is unrolled. ``medium`` takes plain Python about a tenth
    of a second to a second, ``large`` is what a user would wait for. ``numba``: whether ``njit`` takes the source as it
    is. ``dtype`` is that of most of the work. ``chaotic``: the smallest difference grows until nothing is left, so that
    who rounds otherwise is compared at small size.
    """

    function: Callable[..., Any]
    make: Callable[..., tuple[Any, ...]]
    small: tuple[int, ...]
    medium: tuple[int, ...]
    large: tuple[int, ...]
    dtype: str = "float64"
    numba: bool = True
    chaotic: bool = False
    note: str = ""

    @property
    def name(self) -> str:
        return self.function.__name__

    def arguments(self, size: str) -> tuple[Any, ...]:
        """``size`` is one of ``SIZES``."""
        return self.make(np.random.default_rng(0), *getattr(self, size))
