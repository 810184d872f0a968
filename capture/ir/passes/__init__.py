"""Passes: a graph in, a graph out, one a file.

>>> graph = optimize(graph)
"""

from __future__ import annotations

from capture.ir.graph import Graph
from capture.ir.passes.check_bounds import check_bounds
from capture.ir.passes.choose_products import choose_products
from capture.ir.passes.count_masks import count_masks
from capture.ir.passes.decompose import decompose
from capture.ir.passes.drop_dead import drop_dead
from capture.ir.passes.find_positions import find_positions
from capture.ir.passes.fold_constants import fold_constants
from capture.ir.passes.settle_sizes import settle_sizes
from capture.ir.passes.share_common import share_common
from capture.ir.passes.simplify import simplify

PIPELINE = (drop_dead, fold_constants, simplify, share_common, drop_dead)

__all__ = [
    "PIPELINE",
    "check_bounds",
    "choose_products",
    "count_masks",
    "decompose",
    "drop_dead",
    "find_positions",
    "fold_constants",
    "optimize",
    "settle_sizes",
    "share_common",
    "simplify",
]


def optimize(graph: Graph) -> Graph:
    """The standard pipeline; the result computes the same and warns of the same."""
    for run in PIPELINE:
        graph = run(graph)
    return graph
