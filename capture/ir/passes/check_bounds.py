"""Put a test in front of each node that reads at computed places: that all of these places exist.

    %t = gather(%x, %i, axes=(0,))    →    %o = outside(%i, axis=(0,), size=10)
                                            %l = leave_if(%o)
                                            %t = gather(%x, %i, axes=(0,))

Where ``index_range`` knows that the places exist, and where the same places were tested before, there is no test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from capture.ir.graph import Graph, Node, Transformer
from capture.ir.op import TALLY, Gather, Leave
from capture.ir.ops.mutation import target_of
from capture.ir.passes.count_masks import count_masks
from capture.ir.passes.drop_dead import Keep
from capture.ir.passes.index_range import index_range
from capture.ir.shapes import Size


def check_bounds(graph: Graph) -> Graph:
    """Behind the other passes: nobody reads what a test gives."""
    return _Checker(graph).run() if any(map(places_to_check, graph.calls)) else graph


def bounds_tests(graph: Graph) -> Graph | None:
    """The tests alone, with what they need, as a graph of its own that raises IndexError; None where there are none."""
    checked = count_masks(check_bounds(graph))
    tests = [node for node in checked.calls if isinstance(node.op.lower, Leave)]
    if not tests:
        return None
    live: set[Node] = set()
    for node in reversed(checked.nodes):
        if node in live or node in tests:
            live.update((node, *node.inputs))
    alone = Keep(checked, live)
    for node in checked.nodes[:-1]:
        alone.new[node] = getattr(alone, node.kind)(node)
    alone.graph.output(*(alone.new[test] for test in tests))
    return alone.graph


def places_to_check(node: Node) -> list[tuple[Node, Size]]:
    """The places that a node computes, each with the size that it must be below, where that is not certain."""
    return [(index, size) for index, size in _computed_places(node) if not _is_inside(index, size)]


def _computed_places(node: Node) -> Iterator[tuple[Node, Size]]:
    if node.kind == "call" and type(node.op.lower) is Gather:
        base, *indices = node.args
        yield from _with_sizes(indices, base.type.shape, node.params["axes"])
    elif node.kind == "call" and node.target == "store" and node.params["axes"] and node.params["combine"] != TALLY:
        version, _, *indices = node.args
        yield from _with_sizes(indices, target_of(version.type, node.params["region"]).shape, node.params["axes"])


def _with_sizes(indices: Sequence[Node], shape: Sequence[Size], axes: Sequence[int]) -> Iterator[tuple[Node, Size]]:
    return ((index, shape[axis]) for index, axis in zip(indices, axes, strict=True))


def _is_inside(index: Node, size: Size) -> bool:
    known = index_range(index)
    return known is not None and isinstance(size, int) and -size <= known[0] and known[1] < size


class _Checker(Transformer):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.tested: set[tuple[Node, Size]] = set()

    def call(self, node: Node) -> Any:
        for index, size in places_to_check(node):
            new = self.mapped(index)
            if (new, size) not in self.tested:
                self.tested.add((new, size))
                outside = self.graph.call("outside", new, axis=tuple(range(new.type.ndim)), size=size)
                self.graph.call("leave_if", outside)
        return self.copy(node)
