"""Graphs built by hand: building, versions, text round trip, source, verifier."""

import numpy as np
import pytest

from capture.errors import GraphError
from capture.ir.graph import Graph, Position, Transformer, buffer, region, root
from capture.ir.text import format_table, parse_graph, parse_type
from capture.ir.types import Layout, NumberType, array_type, keep_order, scalar_type, type_of
from capture.ir.verify import verify


def softmax_graph() -> Graph:
    graph = Graph("softmax")
    x = graph.placeholder("x", array_type("f4", (4, 5)))
    graph.position = Position("model.py", 12, "softmax", "model")
    shifted = graph.call("subtract", x, graph.call("max", x, axis=(1,), keepdims=True))
    e = graph.call("exp", shifted, name="e")
    graph.output(graph.call("divide", e, graph.call("sum", e, axis=(1,), keepdims=True)))
    return graph


def writing_graph() -> Graph:
    graph = Graph("writing")
    x = graph.placeholder("x", array_type("f8", (4, 5)))
    row = graph.call("squeeze", graph.call("slice", x, starts=(1, 0), steps=(1, 1), sizes=(1, 5)), axes=(0,))
    newer = graph.store(row, graph.call("multiply", row, 2.0))
    graph.output(graph.call("sum", newer, axis=(0, 1)))
    return graph


def constant_graph() -> Graph:
    graph = Graph("constants")
    x = graph.placeholder("x", array_type("f8", (3,)))
    odd = graph.constant(np.array([np.nan, -0.0, np.inf]))
    large = graph.constant(np.arange(40.0).reshape(8, 5))
    one = graph.constant(np.float32(1.5))
    n = graph.placeholder("n", NumberType(float))
    graph.output(graph.call("add", x, odd), large, one, 3, 2.5, None, (True, -0.0), n)
    return graph


GRAPHS = (softmax_graph, writing_graph, constant_graph)


@pytest.mark.parametrize("build", GRAPHS)
def test_text_parses_back(build):
    graph = verify(build())
    again = parse_graph(str(graph))
    assert again == graph
    assert str(again) == str(graph)


def test_text_names_the_line_that_does_not_parse():
    with pytest.raises(GraphError, match="%b: f8"):
        parse_graph("graph g:\n  %a: f64[3] = placeholder()\n  %b: f8[3] = add(%a %)\n  return %b\n")
    with pytest.raises(GraphError, match="begins with"):
        parse_graph("nonsense")


def test_table_has_a_row_for_each_node():
    graph = softmax_graph()
    lines = format_table(graph).splitlines()
    assert len(lines) == len(graph) + 2
    assert "model.py:12" in lines[3]


@pytest.mark.parametrize("build", GRAPHS)
def test_source_runs_and_gives_what_the_graph_means(build):
    from capture.ir.interpret import Interpreter

    graph = build()
    namespace: dict = {}
    exec(graph.python_code(), namespace)
    rng = np.random.default_rng(0)
    inputs = [
        2.5 if isinstance(node.type, NumberType) else rng.standard_normal(node.type.shape).astype(node.type.dtype)
        for node in graph.placeholders
    ]
    copies = [np.copy(value) if isinstance(value, np.ndarray) else value for value in inputs]
    expected, got = Interpreter(graph).run(*inputs), namespace[graph.name](*copies)
    assert len(expected) == len(got)
    for left, right in zip((*expected, *inputs), (*got, *copies), strict=True):
        np.testing.assert_array_equal(left, right)


def test_drawing_has_an_arrow_for_each_use():
    drawing = softmax_graph().to_dot()
    assert drawing.count("->") == 8
    assert drawing.startswith("digraph softmax {")


def test_stores_make_versions():
    graph = writing_graph()
    store = next(node for node in graph.calls if node.target == "store")
    x = graph.placeholders[0]
    assert buffer(store) is x and root(store) is store
    assert [step.op for step in store.params["region"]] == ["slice", "squeeze"]
    assert store.name == "x_1" and graph.written == (x,)
    view = graph.nodes[2]
    assert root(view) is x and region(view) == store.params["region"]


def test_verify_reports_all_faults_at_once():
    graph = Graph()
    x = graph.placeholder("x", array_type("f8", (3,)))
    older = graph.call("slice", x, starts=(0,), steps=(1,), sizes=(2,))
    graph.store(x, 1.0)
    late = graph.call("negative", older)
    bad = late.__class__("bad", "call", "negative", (x,), {}, scalar_type("f4"))
    graph.append(bad)
    with pytest.raises(GraphError) as caught:
        graph.lint()
    text = str(caught.value)
    assert "reads %slice of %x, which %x_1 has overwritten" in text
    assert "%bad" in text and "inference gives" in text
    assert "the graph has no output" in text


def test_constants_cannot_be_written():
    graph = Graph()
    with pytest.raises(GraphError, match="constant"):
        graph.store(graph.constant(np.zeros(3)), 1.0)


def test_transformer_copies():
    for build in GRAPHS:
        graph = build()
        assert verify(Transformer(graph).run()) == graph


@pytest.mark.parametrize(
    "text",
    ["f32[3, 4]", "f64()", "f64[]", "i64[2, 3]{F}", "bool[5]{?}", "f32[2, 3, 4]{dense<2,3,1>}", "f32[6]{strided<1>}",
     "f32[4, 4]{inner<2,1>}", "int", "float", "(f32[3], i64[3],)"],
)  # fmt: skip
def test_types_parse_back(text):
    from capture.ir.text import format_type

    assert format_type(parse_type(text)) == text


LAYOUTS = [
    np.zeros((3, 4)),
    np.zeros((3, 4), order="F"),
    np.zeros((3, 4, 5)).transpose(1, 2, 0),
    np.zeros((6, 8))[::2, ::2],
    np.zeros((3, 8))[:, :4],
    np.zeros((3, 4))[::-1],
    np.broadcast_to(np.zeros(4), (3, 4)),
    np.zeros((3, 1, 4)),
    np.zeros((1, 1)),
    np.zeros(()),
    np.zeros((0, 3)),
    np.zeros((2, 3, 4), order="F")[:, 1:2],
    np.zeros((4, 4)).diagonal(),
]


@pytest.mark.parametrize("array", LAYOUTS, ids=lambda array: f"{array.shape}{array.strides}")
def test_layout_of_arrays(array):
    layout = Layout.of(array)
    if array.size:
        assert layout.is_c == array.flags.c_contiguous
        assert layout.is_f == array.flags.f_contiguous
    assert type_of(array).layout == layout


def test_keep_order_is_numpys():
    shapes = [np.zeros((2, 3, 4)), np.zeros((2, 3, 4), order="F"), np.zeros((4, 2, 3)).transpose(1, 2, 0),
              np.zeros((2, 4, 3)).transpose(0, 2, 1), np.zeros((2, 3, 4))[:, ::-1], np.zeros((2, 1, 4)), np.zeros(4),
              np.broadcast_to(np.zeros((3, 1)), (2, 3, 4)), np.zeros((3, 4), order="F")]  # fmt: skip
    for left in shapes:
        for right in shapes:
            result = left + right
            order = keep_order((Layout.of(left), Layout.of(right)), result.ndim)
            assert Layout.contiguous(result.shape, order) == Layout.of(result), (left.strides, right.strides)
