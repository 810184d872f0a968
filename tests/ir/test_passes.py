"""Passes: what they change is stated as graphs before and after; what they must not change is run and compared."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from capture.ir import passes
from capture.ir.graph import Graph
from capture.ir.interpret import interpret
from capture.ir.text import parse_graph
from capture.ir.types import array_type
from capture.ir.verify import verify


def graph_of(text: str) -> Graph:
    return verify(parse_graph("graph g:\n" + textwrap.dedent(text)))


def expect(run: Callable[[Graph], Graph], before: str, after: str) -> None:
    result = verify(run(graph_of(before)))
    assert str(result) == str(graph_of(after))


# drop_dead --------------------------------------------------------------------------------------------------------
def test_unread_nodes_go_and_inputs_stay() -> None:
    expect(
        passes.drop_dead,
        """
        %x: f64[3] = placeholder()
        %y: f64[3] = placeholder()
        %negative: f64[3] = negative(%x)
        %sin: f64[3] = sin(%x)
        return %sin
        """,
        """
        %x: f64[3] = placeholder()
        %y: f64[3] = placeholder()
        %sin: f64[3] = sin(%x)
        return %sin
        """,
    )


def test_what_may_warn_or_raise_stays() -> None:
    text = """
        %x: f64[3] = placeholder()
        %i: i64[3] = placeholder()
        %m: f64[3, 3] = placeholder()
        %log: f64[3] = log(%x)
        %floor_divide: i64[3] = floor_divide(%i, 0)
        %astype: f32[3] = astype(%x, dtype=@f32)
        %matmul: f64[3, 3] = matmul(%m, %m)
        return %x
        """
    expect(passes.drop_dead, text, text)


def test_stores_into_inputs_stay_and_into_dead_buffers_go() -> None:
    expect(
        passes.drop_dead,
        """
        %x: f64[3] = placeholder()
        %full: f64[3] = full(0, shape=(3,), dtype=@f64)
        %full_1: f64[3] = store(%full, 1.0, region=())
        %x_1: f64[3] = store(%x, 2.0, region=())
        return
        """,
        """
        %x: f64[3] = placeholder()
        %x_1: f64[3] = store(%x, 2.0, region=())
        return
        """,
    )


def test_stores_that_are_read_stay() -> None:
    text = """
        %full: f64[3] = full(0, shape=(3,), dtype=@f64)
        %full_1: f64[3] = store(%full, 1.0, region=())
        return %full_1
        """
    expect(passes.drop_dead, text, text)


# fold_constants ---------------------------------------------------------------------------------------------------
def test_scalars_and_small_arrays_are_folded() -> None:
    expect(
        lambda graph: passes.drop_dead(passes.fold_constants(graph)),
        """
        %x: f64[2] = placeholder()
        %c: f64[2] = constant((1.0, 4.0))
        %s: f64() = sqrt(6.25)
        %sqrt: f64[2] = sqrt(%c)
        %a: f64[2] = multiply(%sqrt, %s)
        %b: f64[2] = add(%x, %a)
        return %b
        """,
        """
        %x: f64[2] = placeholder()
        %a: f64[2] = constant((2.5, 5.0))
        %b: f64[2] = add(%x, %a)
        return %b
        """,
    )


def test_what_warns_or_is_returned_or_written_is_not_folded() -> None:
    text = """
        %c: f64[2] = constant((1.0, 0.0))
        %log: f64[2] = log(%c)
        %copy: f64[2] = copy(%c)
        %copy_1: f64[2] = store(%copy, %log, region=())
        %exp: f64[2] = exp(%c)
        return %copy_1, %exp
        """
    expect(passes.fold_constants, text, text)


# share_common -----------------------------------------------------------------------------------------------------
def test_equal_values_are_computed_once() -> None:
    expect(
        passes.share_common,
        """
        %x: f64[3] = placeholder()
        %a: f64[3] = add(%x, 1.0)
        %b: f64[3] = add(%x, 1.0)
        %c: f64[3] = add(%x, 1)
        %d: f64[3] = multiply(%a, %b)
        %e: f64[3] = multiply(%d, %c)
        return %e
        """,
        """
        %x: f64[3] = placeholder()
        %a: f64[3] = add(%x, 1.0)
        %c: f64[3] = add(%x, 1)
        %d: f64[3] = multiply(%a, %a)
        %e: f64[3] = multiply(%d, %c)
        return %e
        """,
    )


def test_returned_arrays_stay_apart_and_versions_are_told_apart() -> None:
    text = """
        %x: f64[3] = placeholder()
        %a: f64[3] = exp(%x)
        %b: f64[3] = exp(%x)
        %x_1: f64[3] = store(%x, 0.0, region=())
        %c: f64[3] = exp(%x_1)
        %d: f64[3] = add(%a, %c)
        return %a, %b, %d
        """
    expect(passes.share_common, text, text)


def test_buffers_that_are_written_stay_apart() -> None:
    text = """
        %full: f64[3] = full(0, shape=(3,), dtype=@f64)
        %full_1: f64[3] = full(0, shape=(3,), dtype=@f64)
        %full_2: f64[3] = store(%full, 1.0, region=())
        %add: f64[3] = add(%full_2, %full_1)
        return %add
        """
    expect(passes.share_common, text, text)


def test_zero_has_a_sign() -> None:
    text = """
        %x: f64[3] = placeholder()
        %a: f64[3] = copysign(%x, 0.0)
        %b: f64[3] = copysign(%x, -0.0)
        %c: f64[3] = add(%a, %b)
        return %c
        """
    expect(passes.share_common, text, text)


# decompose --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["mean", "var", "std"])
@pytest.mark.parametrize("dtype", ["?", "i2", "f4", "f8"])
@pytest.mark.parametrize("params", [{}, {"axis": 0}, {"axis": (0, 2), "keepdims": True}, {"axis": 1, "dtype": "f8"}])
def test_decompositions_give_numpys_bits(name: str, dtype: str, params: dict[str, Any]) -> None:
    x = (np.random.default_rng(3).normal(size=(5, 7, 3)) * 9).astype(dtype)
    graph = Graph("g")
    node = graph.placeholder("x", array_type(x.dtype, x.shape))
    graph.output(graph.call(name, node, **params))
    lowered = verify(passes.decompose(graph))
    assert not {"mean", "var", "std"} & {node.target for node in lowered}
    (actual,) = interpret(lowered, x)
    expected = getattr(np, name)(x, **params)
    assert type(actual) is type(expected)
    np.testing.assert_array_equal(actual, expected)


def test_decomposition_of_a_count_that_float32_rounds() -> None:
    x = np.ones((2, 2**24 + 1), np.int8)
    graph = Graph("g")
    node = graph.placeholder("x", array_type(x.dtype, x.shape))
    graph.output(graph.call("mean", node, axis=1, dtype=np.float32))
    (actual,) = interpret(passes.decompose(graph), x)
    np.testing.assert_array_equal(actual, np.mean(x, axis=1, dtype=np.float32))


# simplify ---------------------------------------------------------------------------------------------------------
def test_neutral_elements_and_double_negation() -> None:
    expect(
        lambda graph: passes.drop_dead(passes.simplify(graph)),
        """
        %x: f32[3, 4] = placeholder()
        %a: f32[3, 4] = multiply(%x, 1)
        %b: f32[3, 4] = negative(%a)
        %c: f32[3, 4] = negative(%b)
        %d: f32[3, 4] = subtract(%c, 0.0)
        %e: f32[3, 4] = exp(%d)
        return %e
        """,
        """
        %x: f32[3, 4] = placeholder()
        %e: f32[3, 4] = exp(%x)
        return %e
        """,
    )


def test_views_that_cancel() -> None:
    expect(
        lambda graph: passes.drop_dead(passes.simplify(graph)),
        """
        %x: f32[3, 4] = placeholder()
        %a: f32[4, 3]{F} = permute(%x, axes=(1, 0))
        %b: f32[3, 4] = permute(%a, axes=(1, 0))
        %c: f32[3, 1, 4] = expand(%b, axes=(1,))
        %d: f32[3, 4] = squeeze(%c, axes=(1,))
        %e: f32[12] = reshape(%d, shape=(12,))
        %f: f32[2, 6] = reshape(%e, shape=(2, 6))
        %g: f32[2, 6] = exp(%f)
        return %g
        """,
        """
        %x: f32[3, 4] = placeholder()
        %reshape: f32[2, 6] = reshape(%x, shape=(2, 6))
        %g: f32[2, 6] = exp(%reshape)
        return %g
        """,
    )


@pytest.mark.parametrize(
    "line",
    [
        "%y: f64[3, 3] = add(%x, 0.0)",  # turns -0.0 into 0.0
        "%y: f64[3, 3] = multiply(%i, 1.0)",  # another dtype
        "%y: f64[3, 3]{strided<2,1>} = slice(%s, starts=(2, 0), steps=(-1, 1), sizes=(3, 3))",
        "%y: f64[3, 3]{F} = permute(%x, axes=(1, 0))",
    ],
)
def test_what_only_looks_like_a_rule(line: str) -> None:
    text = f"""
        %x: f64[3, 3] = placeholder()
        %i: i64[3, 3] = placeholder()
        %s: f64[3, 3]{{strided<2,1>}} = placeholder()
        {line}
        %z: f64[3, 3]{{{"F" if "permute" in line else "C"}}} = exp(%y)
        return %z
        """
    expect(passes.simplify, text, text)


def test_returned_and_written_arrays_are_new_ones() -> None:
    text = """
        %x: f64[3] = placeholder()
        %a: f64[3] = multiply(%x, 1)
        %b: f64[3] = copy(%x)
        %c: f64[3] = copy(%x)
        %b_1: f64[3] = store(%b, 0.0, region=())
        %d: f64[3] = add(%b_1, 1.0)
        %x_1: f64[3] = store(%x, 0.0, region=())
        %e: f64[3] = add(%c, %d)
        return %a, %e
        """
    expect(passes.simplify, text, text)


def test_squares_of_integers_may_be_negative() -> None:
    text = """
        %x: i8[3] = placeholder()
        %a: i8[3] = square(%x)
        %b: i8[3] = absolute(%a)
        %c: i8[3] = negative(%b)
        return %c
        """
    expect(passes.simplify, text, text)


# optimize ---------------------------------------------------------------------------------------------------------
def test_the_pipeline_keeps_the_meaning() -> None:
    graph = Graph("g")
    x = graph.placeholder("x", array_type("f8", (4, 5)))
    mean = graph.call("mean", x, axis=1, keepdims=True)
    again = graph.call("mean", x, axis=-1, keepdims=True)
    centred = graph.call("subtract", graph.call("multiply", x, 1), mean)
    scaled = graph.call("divide", centred, graph.call("std", x, axis=1, keepdims=True))
    first = graph.store(graph.call("slice", scaled, starts=(0, 0), steps=(1, 2), sizes=(4, 3)), again)
    graph.output(first, graph.call("transpose", first), mean)
    value = np.random.default_rng(0).normal(size=(4, 5))
    for result in (passes.optimize(graph), passes.optimize(passes.decompose(graph))):
        verify(result)
        for actual, expected in zip(interpret(result, value), interpret(graph, value), strict=True):
            np.testing.assert_array_equal(actual, expected)
    assert sum(node.target == "mean" for node in passes.optimize(graph)) == 1
