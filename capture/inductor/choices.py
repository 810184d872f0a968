"""What code generation may decide one way or another: the operations are the same, the time they take is not.

In: nothing. Out: the ``Choices`` that are best by the costs known in advance, and the others worth measuring
(``tuning`` does, for ``mode="max-autotune"``).

>>> Choices(threads=0).differences
'one thread'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from capture.records import dataclass, fields, replace


@dataclass(frozen=True)
class Choices:
    fusion: str = "all"
    """Which units share a kernel: ``all`` for which that is possible, those that use each other's values (``used``), or
    ``none``.
    """
    recomputed: float = 0.6
    """Nanoseconds per element up to which a value is rather computed in two places than kept in memory."""
    products: str = "estimates"
    """Who multiplies vectors and matrices: ``blas``, or ``loops`` where they may gain (``passes.choose_products``)."""
    block: int = 512
    """Columns of one block: fewer would read too little of each page, more would leave threads without work."""
    crossing: tuple[int, int] = (16, 512)
    """Steps of the outer and of the inner axis in one tile, where memory is read across, so that its lines and pages
    stay near.
    """
    threads: int = 1
    """How many times its work a kernel is taken for where that decides about threads: 0 for one thread."""

    @property
    def differences(self) -> str:
        """What differs from the default, in words."""
        names = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        return ", ".join(WORDS[name](getattr(self, name)) for name in names)

    def others(self, field: str) -> Iterator[Choices]:
        """The same with other values of one field."""
        for value in ALTERNATIVES[field]:
            if value != getattr(self, field):
                yield replace(self, **{field: value})


DEFAULT = Choices()

ALTERNATIVES: Mapping[str, tuple[Any, ...]] = {
    "products": ("loops", "blas"),
    "fusion": ("used", "none"),
    "recomputed": (0.0, 4.0),
    "crossing": ((8, 128), (32, 1024)),
    "block": (128, 2048),
    "threads": (0, 8),
}
"""What is measured beside the default, in this order: what makes most of a difference first."""

WORDS: Mapping[str, Any] = {
    "fusion": {"used": "kernels for what uses each other's values", "none": "a kernel for each result"}.__getitem__,
    "products": {"loops": "products in loops", "blas": "products by BLAS"}.__getitem__,
    "recomputed": lambda limit: "nothing is computed twice" if not limit else "more is computed twice",
    "crossing": "tiles of {0[0]} by {0[1]}".format,
    "block": "blocks of {} columns".format,
    "threads": lambda weight: "more threads" if weight else "one thread",
}
