"""Every record against NumPy: the inferred type is exactly the result's, and the interpreter gives the result."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from capture.ir import op as ops
from capture.ir.graph import Graph, map_nodes
from capture.ir.interpret import Interpreter
from capture.ir.op import CannotInfer
from capture.ir.types import ArrayType, Layout, type_of
from capture.ir.verify import verify

DTYPES = ("?", "i1", "i4", "i8", "u1", "u8", "f4", "f8")


# Layouts: the same values in other memory -------------------------------------------------------------------------
def c_order(array: np.ndarray) -> np.ndarray:
    return np.array(array, order="C")


def f_order(array: np.ndarray) -> np.ndarray:
    return np.array(array, order="F")


def strided(array: np.ndarray) -> np.ndarray:
    base = np.zeros([2 * size + 1 for size in array.shape], array.dtype)
    view = base[tuple(slice(1, None, 2) for _ in array.shape)] if array.ndim else base
    view[...] = array
    return view


def reversed_rows(array: np.ndarray) -> np.ndarray:
    return c_order(array[::-1])[::-1] if array.ndim else array


def rotated(array: np.ndarray) -> np.ndarray:
    """The last axis outermost."""
    return np.moveaxis(c_order(np.moveaxis(array, -1, 0)), 0, -1) if array.ndim > 1 else array


def cut(array: np.ndarray) -> np.ndarray:
    """Rows with a gap between them."""
    if not array.ndim:
        return array
    base = np.zeros((*array.shape[:-1], array.shape[-1] + 3), array.dtype)
    base[..., : array.shape[-1]] = array
    return base[..., : array.shape[-1]]


LAYOUTS = (c_order, f_order, strided, reversed_rows, rotated, cut)


# Checking one call ------------------------------------------------------------------------------------------------
def check(target: Any, operands: tuple[Any, ...], params: dict[str, Any], reference: Any = None) -> Any:
    """Build a graph of one call, run it, and compare with the reference on copies; None where inference refuses."""
    graph = Graph("one")
    nodes: list[Any] = []
    inputs: list[Any] = []

    def lift(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(lift, value))
        if isinstance(value, np.ndarray | np.generic):
            inputs.append(value)
            nodes.append(graph.placeholder(f"x{len(inputs)}", type_of(value)))
            return nodes[-1]
        return value

    lifted = tuple(map(lift, operands))
    try:
        result = graph.call(target, *lifted, **params)
    except CannotInfer:
        return None
    graph.output(result)
    verify(graph)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        (actual,) = Interpreter(graph).run(*inputs)
        if reference is not None:
            compare(actual, reference(*operands, **params))
    op = ops.get(target) if isinstance(target, str) else target
    check_type(getattr(result, "type", result), actual, exact="uninitialised" not in op.tags)
    return actual


def compare(actual: Any, expected: Any) -> None:
    assert type(actual) is type(expected)
    np.testing.assert_array_equal(actual, expected)
    assert actual.dtype == expected.dtype
    assert np.array_equal(np.signbit(actual), np.signbit(expected)) or actual.dtype.kind != "f"
    if isinstance(actual, np.ndarray):
        assert Layout.of(actual) == Layout.of(expected)


def check_type(predicted: Any, actual: Any, exact: bool = True) -> None:
    """``dense`` and ``inner`` are promises that inference may leave out; everything else is exact."""
    expected = type_of(actual)
    assert isinstance(predicted, ArrayType)
    assert (predicted.dtype, predicted.shape, predicted.scalar) == (expected.dtype, expected.shape, expected.scalar)
    if predicted.layout is not None:
        assert predicted.layout.ranks == expected.layout.ranks, f"{predicted} {expected}"
        assert expected.layout.dense or not predicted.layout.dense
        assert expected.layout.inner or not predicted.layout.inner


def as_operand(value: Any, dtype: str, layout: Any) -> Any:
    """A sample's list as an array; numbers stay Python numbers, tuples of arrays stay tuples."""
    if isinstance(value, tuple):
        return tuple(as_operand(item, dtype, layout) for item in value)
    if not isinstance(value, list):
        return value
    array = np.array(value)
    if np.dtype(dtype).kind in "iu":
        array = np.nan_to_num(array, nan=7, posinf=100, neginf=-100)
    return layout(array.astype(dtype))


def split(sample: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A sample is its operands, then perhaps a dict of parameters."""
    return (sample[:-1], sample[-1]) if sample and isinstance(sample[-1], dict) else (sample, {})


REAL_OPS = [op for op in ops.all_ops() if not op.is_macro]


@pytest.mark.parametrize("op", REAL_OPS, ids=lambda op: op.name)
def test_samples(op: ops.Op) -> None:
    assert op.samples, f"{op.name} has no samples"
    taken = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for sample, dtype, layout in itertools.product(op.samples, DTYPES, LAYOUTS):
            operands, params = split(sample)
            operands = tuple(as_operand(value, dtype, layout) for value in operands)
            taken += check(op, operands, params) is not None
    assert taken, f"{op.name} refused every sample"
