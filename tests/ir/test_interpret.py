"""The interpreter: NumPy's own objects, stores in place, analyses by overriding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from capture.errors import GraphError
from capture.ir.graph import Graph, Node
from capture.ir.interpret import Interpreter, interpret
from capture.ir.types import NumberType, array_type, scalar_type


def graph_of(*types: Any) -> tuple[Graph, list[Node]]:
    graph = Graph("g")
    return graph, [graph.placeholder(f"x{number}", type) for number, type in enumerate(types)]


def test_inputs_are_not_copied_and_literals_pass_through() -> None:
    graph, (x, n) = graph_of(array_type("f8", (3,)), NumberType(float))
    graph.output(x, graph.call("multiply", x, n), (x, 5), None)
    array = np.arange(3.0)
    same, product, pair, nothing = interpret(graph, array, 2.0)
    assert same is array and pair[0] is array and pair[1] == 5 and nothing is None
    np.testing.assert_array_equal(product, [0, 2, 4])


def test_results_are_numpys_objects() -> None:
    graph, (x,) = graph_of(array_type("f4", (2, 3)))
    graph.output(graph.call("sum", x), graph.call("sum", x, keepdims=True), graph.call("permute", x, axes=(1, 0)))
    array = np.ones((2, 3), "f4")
    total, kept, view = interpret(graph, array)
    assert type(total) is np.float32 and total == 6
    assert type(kept) is np.ndarray and kept.shape == (1, 1)
    assert view.base is array and np.shares_memory(view, array)


def test_stores_are_in_place_and_in_order() -> None:
    graph, (x,) = graph_of(array_type("f8", (4,)))
    before = graph.call("sum", x)
    first = graph.store(graph.call("getitem", x, key=slice(1, 3)), 10.0)
    after = graph.call("sum", first)
    second = graph.store(graph.call("getitem", first, key=slice(None, None, -1)), first)
    graph.output(second, before, after)
    array = np.arange(4.0)
    result, total, later = interpret(graph, array)
    assert result is array and total == 6.0 and later == 23.0
    np.testing.assert_array_equal(array, [3, 10, 10, 0])


def test_constants_belong_to_the_graph() -> None:
    graph, (x,) = graph_of(scalar_type("f8"))
    graph.output(graph.call("add", graph.constant(np.arange(3.0)), x))
    np.testing.assert_array_equal(interpret(graph, np.float64(1))[0], [1, 2, 3])


def test_a_graph_can_run_again() -> None:
    graph, (x,) = graph_of(array_type("f8", (3,)))
    graph.output(graph.call("exp", x))
    interpreter = Interpreter(graph)
    for value in (0.0, 1.0):
        np.testing.assert_array_equal(interpreter.run(np.full(3, value))[0], np.exp(np.full(3, value)))


def test_values_are_dropped_after_their_last_use() -> None:
    alive = []

    class Watching(Interpreter):
        def call(self, node: Node, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            alive.append(sorted(value.name for value in self.values))
            return super().call(node, args, params)

    graph, (x,) = graph_of(array_type("f8", (3,)))
    y = graph.call("exp", x)
    z = graph.call("sin", y)
    graph.output(graph.call("cos", z))
    Watching(graph).run(np.ones(3))
    assert alive == [["x0"], ["exp"], ["sin"]]


def test_analyses_override_what_they_change() -> None:
    class Counting(Interpreter):
        def placeholder(self, node: Node, value: Any) -> int:
            return 0

        def call(self, node: Node, args: tuple[Any, ...], params: dict[str, Any]) -> int:
            return 1 + max(arg for arg in args if isinstance(arg, int))

    graph, (x,) = graph_of(array_type("f8", (3,)))
    graph.output(graph.call("add", graph.call("exp", graph.call("sin", x)), x))
    assert Counting(graph).run(np.ones(3)) == (3,)


def test_wrong_number_of_inputs_and_missing_output() -> None:
    graph, _ = graph_of(array_type("f8", (3,)))
    with pytest.raises(GraphError, match="takes 1 inputs, 2 were given"):
        interpret(graph, 1, 2)
    with pytest.raises(GraphError, match="no output"):
        interpret(graph, np.ones(3))
