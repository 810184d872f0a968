"""The records of all operations, one family a file; importing this package defines them."""

from capture.ir.ops import (
    casting,
    creation,
    indexing,
    joining,
    library,
    linalg,
    logic,
    mutation,
    operators,
    ordering,
    pointwise,
    reductions,
    sizes,
    views,
)

__all__ = [
    "casting",
    "creation",
    "indexing",
    "joining",
    "library",
    "linalg",
    "logic",
    "mutation",
    "operators",
    "ordering",
    "pointwise",
    "reductions",
    "sizes",
    "views",
]
