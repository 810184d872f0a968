"""Parts of arrays of open sizes: a kernel's own memory is laid out by sizes that are sums (``n - 1``), not symbols."""

from __future__ import annotations

import re

import numpy as np

import capture
from capture.inductor.compile import plan_graph
from tests.compare import assert_same
from tests.test_out_casts import observed


def neighbours(x, y):
    x[1:] += y[:-1]
    return np.power(x, 2.5)


def test_what_is_overwritten_is_kept_where_there_is_room_for_it():
    """What a tile keeps of its old elements began one element too early, in the memory of the flags."""
    compiled = capture.compile(neighbours, dynamic=True)
    for _ in range(3):
        results = []
        for function in (neighbours, compiled):
            rng = np.random.default_rng(7110)
            x, y = np.asfortranarray(rng.normal(size=(997, 131))), rng.normal(size=(997, 131))
            _, texts = observed(function, x, y)
            results.append((x, [text for _, text, *_ in texts]))
        assert results[0][1] == results[1][1] == ["invalid value encountered in power"]
        assert_same(results[1][0], results[0][0])
    (graph,) = compiled.graphs
    source = plan_graph(graph).source
    assert "* (s0 - 1) + i0" in source
    assert not re.search(r"\) \* s\d+ - \d", source)
