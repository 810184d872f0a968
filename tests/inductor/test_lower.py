"""Units, the memory they read, accesses, and the order in which they must run."""

from __future__ import annotations

import numpy as np
import pytest

from capture.errors import BackendError
from capture.inductor.compile import prepare
from capture.inductor.loops import Builder, Memory, access
from capture.inductor.lower import dense_strides, lower
from capture.inductor.overlap import Overlaps
from capture.inductor.vocabulary import RULES, cast_text, literal
from capture.ir.graph import Graph
from capture.ir.op import Strided
from capture.ir.shapes import Symbol
from capture.ir.types import array_type, type_of
from tests.inductor.graphs import graph_of
from tests.inductor.test_kernel_warnings import softmax
from tests.inductor.test_kernels import normal

F4, F8 = np.dtype("f4"), np.dtype("f8")
ROW, COLUMN = Symbol("i", 0, 4), Symbol("j", 0, 5)
X = Memory("x", "input", F4, (5, 6), (6, 1))


def units(build, *inputs):
    return [str(unit) for unit in lower(prepare(graph_of(build, *inputs))).units]


def test_softmax_is_three_units():
    assert units(softmax(1), normal(8, 16)) == [
        "reduce max over (8, 16)",
        "reduce sum over (8, 16)",
        "map divide over (8, 16)",
    ]


def test_dear_values_with_several_readers_are_units():
    def build(g, x):
        dear = g.call("exp", g.call("tanh", x))
        return g.call("sum", dear), g.call("add", dear, 1.0)

    assert "map exp over (3, 4)" in units(build, normal(3, 4))


def test_dead_nodes_have_none():
    assert units(lambda g, x: (g.call("exp", x), g.call("negative", x))[:1], normal(3)) == ["map exp over (3,)"]


def test_a_reduction_of_one_element_is_a_map():
    assert units(lambda g, x: g.call("exp", g.call("sum", x, axis=1)), normal(3, 1)) == ["map exp over (3,)"]


def test_what_has_no_lowering_is_refused():
    graph = Graph("g")
    x = graph.placeholder("x", type_of(np.ones(3)))
    graph.output(graph.call("var", x))
    with pytest.raises(BackendError, match="var has no lowering"):
        lower(graph)


def test_what_must_come_first():
    def build(g, x):
        total = g.call("sum", x)
        written = g.store(x, g.call("multiply", x, 2.0))
        return total, g.call("max", written)

    total, store, maximum = lower(prepare(graph_of(build, normal(5)))).units
    assert total in store.before
    assert store in maximum.before
    assert total not in maximum.before


# Accesses ---------------------------------------------------------------------------------------------------------
AXES = frozenset((ROW, COLUMN))


@pytest.mark.parametrize(
    "index, base, strides",
    (
        ((ROW, COLUMN), 0, {ROW: 6, COLUMN: 1}),
        ((ROW, 3), 3, {ROW: 6}),
        ((4 - ROW, 2 * COLUMN + 1), 25, {ROW: -6, COLUMN: 2}),
        ((ROW, ROW), 0, {ROW: 7}),
        ((0, 0), 0, {}),
    ),
)
def test_linear_accesses(index, base, strides):
    place = access(X, X.whole, index, AXES)
    assert (place.base, dict(place.strides), place.rest) == (base, strides, 0)


def test_a_flat_index_of_a_dense_array_is_linear():
    n = Symbol("i", 0, 29)
    place = access(X, X.whole, (n // 6, n % 6), frozenset((n,)))
    assert (dict(place.strides), place.rest) == ({n: 1}, 0)


def test_other_indices_keep_what_is_not_linear():
    n = Symbol("i", 0, 29)
    place = access(X, Strided(0, (5, 6), (1, 5)), (n // 6, n % 6), frozenset((n,)))
    assert place.rest != 0 and n in place.axes


def test_dense_strides_follow_the_layout():
    assert dense_strides(array_type("f4", (2, 3, 4))) == (12, 4, 1)
    assert dense_strides(array_type("f4", (2, 3, 4), order=(2, 0, 1))) == (3, 1, 6)


# Overlaps ---------------------------------------------------------------------------------------------------------
REGIONS = {
    "same": (lambda g, x: (x, g.call("multiply", x, x)), False),
    "same view": (lambda g, x: (lambda v: (v, g.call("add", v, 1.0)))(g.call("getitem", x, (slice(1, None),))), False),
    "shifted": (
        lambda g, x: (
            g.call("getitem", x, (slice(1, None),)),
            g.call("exp", g.call("getitem", x, (slice(None, -1),))),
        ),
        True,
    ),
    "broadcast": (lambda g, x: (x, g.call("add", x, g.call("getitem", x, (slice(0, 1),)))), True),
    "computed, then viewed": (
        lambda g, x: (x, g.call("getitem", g.call("exp", x), (slice(None, None, -1),))),
        True,
    ),
    "its sum": (lambda g, x: (x, g.call("divide", x, g.call("sum", x))), False),
}


@pytest.mark.parametrize("name", REGIONS)
def test_overlaps(name):
    build, clashes = REGIONS[name]
    graph = Graph("g")
    x = graph.placeholder("x", type_of(np.ones((6, 6))))
    target, value = build(graph, x)
    store = graph.store(target, value)
    graph.output()
    lowered = lower(graph)
    overlaps = Overlaps(graph, lowered.strided)
    for node in graph:
        overlaps.add(node)
    assert overlaps.clash(store) is clashes


# The vocabulary ---------------------------------------------------------------------------------------------------
def test_equal_values_are_one_object():
    s = Builder(axes=AXES)
    x = s.load(access(X, X.whole, (ROW, COLUMN), AXES))
    assert s.add(x, 1.0) is s.add(x, s.constant(1, F4))
    assert s.add(x, 1.0) is not s.add(x, 2.0)
    assert s.constant(0.0, F8) is not s.constant(-0.0, F8)


def test_operands_must_agree():
    s = Builder()
    with pytest.raises(TypeError, match="different dtypes"):
        s.add(s.constant(1, F4), s.constant(1, F8))
    with pytest.raises(TypeError, match="no form"):
        s.bitwise_and(s.constant(1, F4), s.constant(1, F4))
    with pytest.raises(AttributeError, match="no frobnicate"):
        _ = s.frobnicate


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_each_rule_means_a_function_of_numpy(rule):
    assert callable(rule.means or getattr(np, rule.name))
    for kind, dtype in (("b", "?"), ("i", "i4"), ("u", "u2"), ("f", "f4")):
        if kind in rule.c:
            text = rule.text(np.dtype(dtype), ("x", "y", "z")[: rule.arity])
            assert "{" not in text and text.count("(") == text.count(")")


@pytest.mark.parametrize(
    "value, dtype, text",
    (
        (0.1, "f8", "0.1"),
        (0.1, "f4", "0.1f"),
        (-2.5, "f8", "(-2.5)"),
        (np.inf, "f4", "__builtin_inff()"),
        (-(2**63), "i8", "(-9223372036854775807 - 1)"),
        (2**64 - 1, "u8", "18446744073709551615u"),
        (True, "?", "1"),
    ),
)
def test_literals(value, dtype, text):
    assert literal(value, np.dtype(dtype)) == text


@pytest.mark.parametrize("bits", np.random.default_rng(0).integers(0, 2**63, 50))
def test_literals_are_exact(bits):
    value = np.int64(bits).view(np.float64)
    if np.isfinite(value):
        text = literal(value, F8).strip("()")
        assert (float.fromhex(text) if "0x" in text else float(text)) == value


def test_casts_go_the_way_of_x86():
    assert cast_text(F8, np.dtype("u1"), "x") == "(u8)((i32)x)"
    assert cast_text(F8, np.dtype("u4"), "x") == "(u32)((i64)x)"
    assert cast_text(F4, np.dtype("?"), "x") == "(x != 0)"
