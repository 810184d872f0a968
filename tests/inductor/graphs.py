"""Graphs built by hand, run compiled and with NumPy, and compared.

>>> run = compiled(lambda g, x: g.call("exp", x), np.ones(3))       # raises where the results differ
>>> len(run.plan.kernels)
1
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from capture.inductor.compile import compile_graph, prepare
from capture.inductor.lower import lower
from capture.inductor.schedule import Schedule, schedule
from capture.ir.graph import Graph, Position
from capture.ir.interpret import Interpreter
from capture.ir.types import type_of
from capture.ir.verify import verify

Build = Callable[..., Any]


def graph_of(build: Build, *inputs: Any) -> Graph:
    """The graph that ``build(graph, *placeholders)`` makes; each node stands on a line of its own."""
    graph = Graph("test")
    nodes = [graph.placeholder(f"x{number}", type_of(value)) for number, value in enumerate(inputs)]
    graph.position = Position("user.py", 7, "f", "user")
    results = build(graph, *nodes)
    graph.output(*(results if isinstance(results, tuple) else (results,)))
    verify(graph)
    return graph


def scheduled(build: Build, *inputs: Any) -> Schedule:
    return schedule(lower(prepare(graph_of(build, *inputs))))


def copied(value: Any) -> Any:
    """The same array in memory of its own, with the same strides."""
    if not isinstance(value, np.ndarray):
        return value
    owner = value
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    memory = owner.copy("K")
    offset = value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(value.shape, value.dtype, memory, offset, value.strides)


def compiled(build: Build, *inputs: Any, rtol: float = 0.0, warns: bool = False) -> Any:
    """The executor; its results, types, strides, effects (and with ``warns`` warnings) are those of NumPy."""
    graph = graph_of(build, *inputs)
    run = compile_graph(graph)
    theirs, ours = [copied(value) for value in inputs], [copied(value) for value in inputs]
    expected, told = _warned(Interpreter(graph).run, theirs)
    results, said = _warned(run, ours)
    assert results is not None, "the executor gave up"
    for result, want in zip((*results, *ours), (*expected, *theirs), strict=True):
        assert_same(result, want, rtol)
    if warns:
        assert said == told
    return run


def _warned(function: Callable[..., Any], inputs: list[Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*inputs)
    return result, [str(warning.message) for warning in caught]


def assert_same(result: Any, want: Any, rtol: float) -> None:
    assert type(result) is type(want)
    if not isinstance(want, np.ndarray | np.generic):
        assert result == want
        return
    assert (result.dtype, result.shape) == (want.dtype, want.shape)
    if isinstance(want, np.ndarray) and all(size > 1 for size in want.shape):
        assert result.strides == want.strides
    if rtol and want.dtype.kind == "f":
        scale = float(np.max(np.abs(want), where=np.isfinite(want), initial=0))
        np.testing.assert_allclose(result, want, rtol=rtol, atol=rtol * scale)
    else:
        np.testing.assert_array_equal(result, want)
        if want.dtype.kind == "f":
            zeros = (want == 0) & (result == 0)
            np.testing.assert_array_equal(np.signbit(result) & zeros, np.signbit(want) & zeros)
