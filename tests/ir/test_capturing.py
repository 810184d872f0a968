"""Calls as users write them: NumPy's functions, ndarray methods, properties and operators, against NumPy itself.

Each case runs as a graph by the interpreter and as plain Python; value, type, layout, identity with the argument
and shared memory must agree.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from capture.ir import op as ops
from capture.ir.graph import Graph
from capture.ir.interpret import interpret
from capture.ir.op import CannotInfer
from capture.ir.ops.indexing import region_of
from capture.ir.types import type_of
from capture.ir.verify import verify
from tests.ir.test_ops import LAYOUTS, check_type, compare

SYMBOLS = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.matmul: "@", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>", operator.lt: "<", operator.le: "<=",
    operator.eq: "==", operator.ne: "!=", operator.gt: ">", operator.ge: ">=", operator.neg: "unary -",
    operator.pos: "unary +", operator.invert: "unary ~",
}  # fmt: skip


def method(name: str) -> Callable[..., Any]:
    def call(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, name)(*args, **kwargs)

    call.record = lambda: ops.for_method(name)  # type: ignore[attr-defined]
    return call


def attribute(name: str) -> Callable[..., Any]:
    def call(array: Any) -> Any:
        return getattr(array, name)

    call.record = lambda: ops.for_property(name)  # type: ignore[attr-defined]
    return call


def getitem(array: Any, key: Any) -> Any:
    return array[key]


def record_of(function: Any) -> ops.Op:
    if function is getitem:
        return ops.get("getitem")
    if function in SYMBOLS:
        found = ops.for_operator(SYMBOLS[function])
    else:
        found = function.record() if hasattr(function, "record") else ops.for_call(function)
    assert found is not None, f"{function} is not captured"
    return found


def captured(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Graph, list[Any]]:
    """The graph of one call, and its inputs."""
    op = record_of(function)
    graph, inputs = Graph("one"), []

    def lift(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return tuple(map(lift, value))
        if isinstance(value, np.ndarray | np.generic):
            inputs.append(value)
            return graph.placeholder(f"x{len(inputs)}", type_of(value))
        return value

    if function is getitem:
        lifted: tuple[Any, ...] = (lift(args[0]), args[1])
    else:
        lifted = tuple(map(lift, args))
    operands, params = op.bind(lifted, {key: lift(value) for key, value in kwargs.items()})
    graph.output(graph.call(op, *operands, **params))
    return verify(graph), inputs


def agree(function: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether the call is captured; then it must agree with NumPy."""
    try:
        graph, inputs = captured(function, args, kwargs)
    except CannotInfer:
        return False
    plain = [value.copy("K") if isinstance(value, np.ndarray) else value for value in inputs]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        (actual,) = interpret(graph, *inputs)
        for value, kept in zip(inputs, plain, strict=True):
            if isinstance(value, np.ndarray) and np.shares_memory(value, actual) and value is actual:
                value[...] = kept
        expected = function(*args, **kwargs)
    compare(actual, expected)
    check_type(getattr(graph.outputs[0], "type", None), actual, exact=False)
    for value in inputs:
        assert (value is actual) == (value is expected)
        if isinstance(value, np.ndarray):
            assert np.shares_memory(value, actual) == np.shares_memory(value, expected)
    return True


def arrays(shape: tuple[int, ...], dtype: str = "f8") -> list[np.ndarray]:
    """One array of the shape in every layout."""
    values = np.random.default_rng(sum(shape)).normal(size=shape) * 20
    return [layout(values.astype(dtype)) for layout in LAYOUTS]


# Views, copies, creation ------------------------------------------------------------------------------------------
KEYS = [
    0, -1, (0, 1), (slice(1, None), 0), (..., 0), (slice(None, None, -1),), (None, 0, ..., None), (),
    ..., (0, 1, 2), (0, 1, 2, ...), (slice(0, 0),), (slice(None), slice(1, 9, 2), slice(-1, None, -3)),
    (slice(2, 3), 1), (slice(None, None, 2), slice(None, None, 2)), None, slice(-2, None), np.int64(1),
]  # fmt: skip


@pytest.mark.parametrize("key", [*KEYS, True, (..., False)], ids=str)
def test_basic_indexing(key: Any) -> None:
    for array in arrays((3, 4, 5)):
        assert agree(getitem, array, key)


REFUSED = [3, (0, 0, 0, 0), (0, True), (slice(None, None, 0),), ([0, 1],), (..., ...), 1.0]


@pytest.mark.parametrize("key", REFUSED, ids=str)
def test_other_keys_are_refused(key: Any) -> None:
    assert not agree(getitem, np.ones((3, 4, 5)), key)


VIEWS: list[tuple[Any, ...]] = [
    (np.transpose,), (np.transpose, (1, 2, 0)), (np.transpose, (-1, 0, 1)), (method("transpose"),),
    (method("transpose"), 2, 0, 1), (method("transpose"), (2, 0, 1)), (method("transpose"), None),
    (attribute("T"),), (attribute("mT"),), (attribute("real"),), (method("conj"),), (np.matrix_transpose,),
    (np.swapaxes, 0, -1), (method("swapaxes"), 1, 2), (np.moveaxis, 0, -1), (np.moveaxis, (0, 1), (-1, 0)),
    (np.expand_dims, 1), (np.expand_dims, (0, -1)), (np.squeeze,), (np.atleast_1d,), (np.atleast_2d,),
    (np.atleast_3d,), (np.flip,), (np.flip, 1), (np.flip, (0, 2)), (np.flipud,), (np.fliplr,),
    (np.broadcast_to, (2, 3, 4, 5)), (np.asarray,), (np.asarray, "f4"), (np.array,), (np.array, np.float32),
    (np.copy,), (method("copy"),), (method("copy"), "K"), (method("copy"), "F"), (method("copy"), "A"),
    (method("astype"), "f4"), (method("astype"), int), (method("astype"), "f8"), (method("astype"), "f8", "C"),
    (method("flatten"),), (np.float32,), (np.float64,), (np.zeros_like,), (np.ones_like, "i4"),
    (np.tril,), (np.triu, 1), (np.tril, -1), (np.round,), (np.round, 2), (np.round, -1), (method("round"), 1),
]  # fmt: skip


@pytest.mark.parametrize("call", VIEWS, ids=lambda call: f"{getattr(call[0], '__name__', call[0])}{call[1:]}")
def test_views_and_copies(call: tuple[Any, ...]) -> None:
    function, *rest = call
    for array in arrays((3, 4, 5)):
        assert agree(function, array, *rest)


@pytest.mark.parametrize("shape", [(60,), (12, 5), (3, 20), (3, 2, 2, 5), (1, 3, 4, 1, 5), (-1,), (4, -1, 3), 60])
def test_reshape(shape: Any) -> None:
    for array in arrays((3, 4, 5))[:2] + arrays((3, 4, 5))[4:5]:
        assert agree(np.reshape, array, shape)
        assert agree(method("reshape"), array, shape)
        assert agree(np.ravel, array)
    for array in arrays((3, 4, 5)):
        agree(np.reshape, array, shape)
        agree(method("ravel"), array)


def test_reshape_of_slices_of_dense_memory() -> None:
    """Whether NumPy copies follows from the strides, which the graph knows."""
    base = np.arange(240.0).reshape(4, 6, 10)
    for key, shape in [
        ((slice(None), slice(1, 4), slice(2, 5)), (4, 9)),
        ((slice(1, 3),), (120,)),
        ((slice(None), slice(0, 6), slice(0, 10)), (240,)),
        ((slice(None), 2), (2, 2, 10)),
    ]:
        graph = Graph("g")
        view = graph.call("getitem", graph.placeholder("x", type_of(base)), key=key)
        graph.output(graph.call("np_reshape", view, shape=shape))
        (actual,) = interpret(verify(graph), base)
        expected = base[key].reshape(shape)
        np.testing.assert_array_equal(actual, expected)
        assert np.shares_memory(actual, base) == np.shares_memory(expected, base)


def test_squeeze_of_ones() -> None:
    for array in arrays((1, 3, 1, 4)):
        assert agree(np.squeeze, array)
        assert agree(method("squeeze"), array, 0)
        assert agree(np.squeeze, array, (0, -2))
    assert not agree(np.squeeze, np.ones((2, 1)), 0)


CREATION: list[tuple[Any, ...]] = [
    (np.zeros, 3), (np.zeros, (2, 3), "f4"), (np.ones, (2, 0)), (np.ones, (2, 3), int, "F"), (np.zeros, ()),
    (np.full, (2, 3), 7), (np.full, 3, 2.5), (np.full, (2,), True), (np.full, 2, 2.7, int), (np.eye, 3),
    (np.eye, 3, 4, -1, int), (np.identity, 2), (np.tri, 3, 4, 1), (np.arange, 7), (np.arange, 1, 8, 3),
    (np.arange, 0.1, 1.0, 0.1), (np.arange, 5, 0, -2, "f4"), (np.arange, 3.5), (np.arange, 2, 2),
    (np.linspace, 0, 1), (np.linspace, 1, 3, 5, False), (np.linspace, 0.1, 0.7, 13), (np.array, 2.5),
    (np.array, (1, 2, 3)), (np.array, ((1, 2.5), (3, 4))), (np.asarray, 3), (np.asarray, (True, False)),
    (np.float32, 2.5), (np.int8, 3), (np.arange, 0.1, 3, 0.3, "f4"), (np.arange, 10, {"dtype": "u1"}),
]  # fmt: skip


@pytest.mark.parametrize("call", CREATION, ids=lambda call: f"{call[0].__name__}{call[1:]}")
def test_creation(call: tuple[Any, ...]) -> None:
    function, *args = call
    kwargs = args.pop() if isinstance(args[-1], dict) else {}
    assert agree(function, *args, **kwargs)


def test_arrays_of_scalars_and_arrays() -> None:
    x, y, z = np.float32(1.5), np.float64(2), np.int8(3)
    for items in ((x, y), (x, 2.0), (x, 1), (x, x), (z, True), ((x, y), (1, z)), (np.arange(3), np.ones(3))):
        assert agree(np.array, items)
    assert agree(np.array, (x, z), "f4") and agree(np.asarray, (z, 1, 2))
    assert agree(np.array, (np.ones((2, 3)), np.ones((2, 3)))) and not agree(np.array, (x, (y, y)))
    assert not agree(np.array, (x, y), int) and not agree(np.array, (np.ones((2, 3)), np.ones((3, 2)).T))


@pytest.mark.parametrize(
    "call",
    [(np.full, 2, 300, "u1"), (np.full, 2, np.nan, int), (np.zeros, (2, -1)), (np.arange, 0, 1, 0), (np.int8, 300)],
    ids=lambda call: f"{call[0].__name__}{call[1:]}",
)
def test_creation_that_raises_or_warns_is_refused(call: tuple[Any, ...]) -> None:
    function, *args = call
    assert not agree(function, *args)


def test_where_and_clip() -> None:
    for array in arrays((3, 4, 5)):
        assert agree(np.where, array > 0, array, 0.0)
        assert agree(np.where, array[0] > 0, array, np.ones((3, 1, 1), "f4"))
        assert agree(np.where, array > 0, 1, 2)
        assert agree(np.clip, array, -1, 2.5)
        assert agree(np.clip, array, None, 2)
        assert agree(np.clip, array, 0, None)
        assert not agree(np.clip, array, a_max=3)
        assert agree(method("clip"), array, min=0)
        assert agree(np.clip, array, array * 0.5, np.float64(5))
        assert not agree(np.clip, array, array[0], 5.0)  # which loop of NumPy's runs is not certain
    assert not agree(np.where, np.ones(3) > 0, np.ones(3, "u1"), 300)
    assert not agree(np.clip, np.ones(3, "u1"), -1, 300)


# Joining ----------------------------------------------------------------------------------------------------------
def test_joining() -> None:
    for a, b in [(x, y) for x in arrays((3, 4, 5)) for y in arrays((3, 4, 5), "f4")]:
        for axis in (0, 1, -1):
            assert agree(np.concatenate, (a, b), axis)
            assert agree(np.stack, (a, b, a), axis=axis)
        assert agree(np.vstack, (a, b))
        assert agree(np.hstack, [a, b])
        assert agree(np.dstack, (a, b))
    one, two = np.arange(3), np.ones(3)
    for function in (np.vstack, np.hstack, np.dstack, np.column_stack, np.concatenate, np.stack):
        assert agree(function, (one, two))
    assert agree(np.stack, (np.float64(1), np.float32(2)))
    assert agree(np.append, one, two)
    assert not agree(np.concatenate, (np.ones((2, 3)), np.ones((3, 2))))
    assert not agree(np.concatenate, (np.ones(2), 3.0))


# Operators --------------------------------------------------------------------------------------------------------
BINARY = [function for function, symbol in SYMBOLS.items() if not symbol.startswith("unary")]


@pytest.mark.parametrize("function", BINARY, ids=lambda function: function.__name__)
@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "u1", "u8", "f4", "f8"])
def test_operators(function: Any, dtype: str) -> None:
    x, y = np.array([[1, 0, 3], [4, 5, 100]]).astype(dtype), np.array([2, 1, 0]).astype(dtype)
    scalars = [1, 2, True, 3, np.float32(2), np.int64(3), np.uint8(1)]
    scalars += [0.5, 2.0, np.array(2.0)] if np.dtype(dtype).kind == "f" else []
    for other in (x, y, y[:, None], x.T.copy().T, *scalars):
        if function is operator.matmul:
            other = x.T
        try:
            with np.errstate(all="ignore"):
                function(x, other)
        except (TypeError, ValueError, OverflowError):
            assert not agree(function, x, other)
            continue
        taken = agree(function, x, other)
        float_power = function is operator.pow and np.dtype(dtype).kind == "f"
        assert taken or (function is operator.pow and not float_power) or _needs_values(function, other), other


def _needs_values(function: Any, other: Any) -> bool:
    """Operands whose dtype pair NumPy takes by way of float16."""
    return isinstance(other, np.generic | np.ndarray | int) and function in (operator.truediv, operator.pow)


@pytest.mark.parametrize("function", [operator.neg, operator.pos, operator.invert, abs], ids=lambda f: f.__name__)
def test_unary_operators(function: Any) -> None:
    for dtype in ("?", "i1", "u8", "f4"):
        x = np.array([[1, -2, 3]]).astype(dtype)
        try:
            function(x)
        except TypeError:
            assert not agree(function, x)
            continue
        assert agree(function, x)
    assert agree(operator.neg, np.float32(3)) and agree(abs, np.float64(-3))
    assert not agree(operator.neg, np.int8(-128)) and not agree(operator.neg, np.uint8(1))


@pytest.mark.parametrize("function", BINARY, ids=lambda function: function.__name__)
def test_operators_of_scalars(function: Any) -> None:
    """Scalar arithmetic has its own warnings; where the graph takes it, the label says so."""
    numbers = [np.float64(2.5), np.float32(0.0), np.int64(3), np.int8(0), np.uint8(7), np.True_, 2, 0.0, True]
    for x in numbers:
        for y in numbers:
            if not isinstance(x, np.generic) and not isinstance(y, np.generic):
                assert not agree(function, x, y)
                continue
            try:
                with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
                    warnings.simplefilter("always")
                    function(x, y)
                if not agree(function, x, y):
                    continue
            except (TypeError, ValueError, OverflowError):
                assert not agree(function, x, y)
                continue
            graph, _ = captured(function, (x, y), {})
            for warning in caught:
                labels = [f"encountered in {node.op.label}" for node in graph.calls]
                assert str(warning.message).endswith(tuple(labels)), (x, y)


@pytest.mark.parametrize(
    "exponent", [0, 1, 2, 3, -1, -2, 0.0, 0.5, 1.0, 2.0, -1.0, -0.5, True, np.float64(2), np.float32(0.5)], ids=repr
)
def test_powers_run_the_ufunc_that_numpy_runs(exponent: Any) -> None:
    for dtype in ("f4", "f8", "i4", "u1", "?"):
        x = np.array([0, 1, 2, 5]).astype(dtype)
        try:
            x**exponent
        except (ValueError, OverflowError):
            assert not agree(operator.pow, x, exponent)
            continue
        agree(operator.pow, x, exponent)
    x = np.array([-np.inf, -0.0, 1e300, 1e-300])
    if agree(operator.pow, x, exponent):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x**exponent
        graph, _ = captured(operator.pow, (x, exponent), {})
        for warning in caught:
            assert str(warning.message).endswith(f"encountered in {graph.calls[-1].op.label}")


# Products ---------------------------------------------------------------------------------------------------------
def test_products() -> None:
    for a in arrays((3, 4)):
        for b in arrays((4, 5), "f4"):
            for function in (np.matmul, np.dot, operator.matmul, method("dot")):
                assert agree(function, a, b)
        assert agree(np.outer, a.copy(), np.arange(3))
        assert agree(np.inner, a, np.ones((2, 4)))
    for a in arrays((2, 3, 4, 5)):
        for b in arrays((2, 1, 5, 6)):
            assert agree(np.matmul, a, b)
    for a, b in [(np.ones(3), np.ones(3)), (np.ones((2, 3)), np.ones(3)), (np.ones(3), np.ones((3, 2)))]:
        assert agree(np.matmul, a, b) and agree(np.dot, a, b)
    for dtype in ("?", "i1", "u4", "f4"):
        assert agree(np.matmul, np.ones((2, 3), dtype), np.ones((3, 2), dtype))
        assert agree(np.vdot, np.ones(3, dtype), np.ones(3, dtype))
    assert not agree(np.matmul, np.ones(3), np.ones(4)) and not agree(np.matmul, np.ones(3), 2.0)


# Reductions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin"])
def test_reductions_of_every_layout(name: str) -> None:
    for dtype in ("f4", "i1", "u2", "?"):
        for array in arrays((3, 4, 5), dtype):
            for axis in (None, 0, 1, -1, (0, 1), (0, -1), (1, 2)):
                if isinstance(axis, tuple) and name.startswith("arg"):
                    assert not agree(getattr(np, name), array, axis=axis)
                    continue
                assert agree(getattr(np, name), array, axis=axis)
                assert agree(method(name), array, axis, keepdims=True)
    assert agree(getattr(np, name), np.array(2.5))
    assert agree(getattr(np, name), np.float32(2.5))


def test_reductions_with_parameters() -> None:
    x = np.arange(12.0, dtype="f4").reshape(3, 4)
    assert agree(np.sum, x, dtype="f8") and agree(np.sum, x.astype("i1"), 0, "i2") and agree(np.mean, x, 0, "f8")
    assert agree(np.var, x, ddof=1) and agree(np.std, x, axis=1, ddof=1.5)
    assert agree(np.cumsum, x) and agree(method("cumprod"), x, 1) and agree(np.ptp, x, 0)
    assert not agree(np.sum, x, dtype=int) and not agree(np.var, x, 0, ddof=3) and not agree(np.sum, x, axis=(0, 0))
    assert not agree(np.max, np.ones((0, 3))) and not agree(np.mean, np.ones((0, 3)), 0)
    assert agree(np.sum, np.ones((0, 3)), 0) and agree(np.max, np.ones((0, 3)), 1) and not agree(np.sum, x, axis=2)


def test_ordering() -> None:
    for array in arrays((3, 4, 5)):
        for axis in (0, -1):
            assert agree(np.sort, array, axis) and agree(np.argsort, array, axis)
            assert agree(np.roll, array, 2, axis) and agree(np.diff, array, 1, axis)
            assert agree(np.repeat, array, 2, axis)
        assert agree(np.diff, array, n=2)
    assert agree(np.roll, np.arange(5), -2) and agree(np.roll, np.ones((2, 3)), 1)


# Library ----------------------------------------------------------------------------------------------------------
def test_functions_that_stay_numpys() -> None:
    index, rng = np.array([[1, 0]]), np.random.default_rng(1)
    for array in arrays((3, 4, 5)):
        for axis in (None, 0, -1):
            assert agree(np.take, array, index, axis) and agree(method("take"), array, np.int64(1), axis)
        assert agree(np.tile, array, 2) and agree(np.tile, array, (2, 1, 1, 3))
        assert agree(np.searchsorted, np.arange(5.0), array) and agree(np.nan_to_num, array)
        assert agree(np.interp, array, np.arange(3.0), np.arange(3.0))
        assert agree(np.linalg.norm, array, axis=1) and agree(np.linalg.norm, array, 2, -1, keepdims=True)
        for text in ("ijk->kj", "ijk->i", "kji->", "abc"):
            assert agree(np.einsum, text, array) == (text != "abc")
        for text in ("ijk,kl->ijl", "ijk,kl", "ijk,kl->lji", "ijk,kl->kjil"):
            for other in arrays((5, 2), "f4"):
                assert agree(np.einsum, text, array, other)
        assert agree(np.einsum, "ijk,ijk->ki", array, array)
    for matrix in arrays((3, 3)) + arrays((2, 3, 3), "f4"):
        assert agree(np.linalg.inv, matrix) and agree(np.linalg.det, matrix)
    for matrix in arrays((3, 3)):
        assert agree(np.linalg.solve, matrix, rng.normal(size=3)) and agree(np.trace, matrix, 1)
    assert agree(np.linalg.norm, np.arange(5)) and agree(np.linalg.norm, np.ones((2, 3)), keepdims=True)
    assert agree(np.nan_to_num, np.array([np.nan, np.inf, -np.inf, 1.0], "f4"), nan=2, posinf=7.5)
    assert agree(np.convolve, np.arange(5.0), np.ones(2, "f4"), "same") and agree(np.correlate, np.ones(4), np.ones(2))
    assert agree(np.trace, np.ones((2, 2), "i1")) and not agree(np.einsum, "ii->i", np.ones((2, 2)))


# Writing ----------------------------------------------------------------------------------------------------------
VALUES = [7, 2.5, True, np.float32(3), np.ones((1, 1), "i2"), np.arange(5.0), np.ones((3, 4, 5))]


def stored(array: np.ndarray, key: Any, value: Any) -> np.ndarray:
    """``array[key] = value`` as a graph; gives the array."""
    graph = Graph("g")
    x = graph.placeholder("x", type_of(array))
    y = graph.placeholder("y", type_of(value)) if isinstance(value, np.ndarray | np.generic) else value
    view, _ = region_of(graph, x, key)
    graph.output(graph.store(view, y))
    (result,) = interpret(verify(graph), *((array,) if y is value else (array, value)))
    return result


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_item_assignment(key: Any, value: Any) -> None:
    for array in arrays((3, 4, 5), "f4"):
        expected = array.copy("K")
        try:
            expected[key] = value
            assert stored(array, key, value) is array
            np.testing.assert_array_equal(array, expected)
        except (ValueError, CannotInfer):
            assert getattr(value, "ndim", 0) > expected[key].ndim or value.size > 1
            with pytest.raises(CannotInfer):
                stored(array, key, value)


@pytest.mark.parametrize(
    ("dtype", "value"), [("i1", 300), ("i4", np.nan), ("f4", 1e300), ("u1", -1), ("i8", np.float64(2)), ("i4", 1j)]
)
def test_writes_that_raise_or_warn_are_refused(dtype: str, value: Any) -> None:
    with pytest.raises(CannotInfer):
        stored(np.ones(3, dtype), slice(None), value)


def test_read_only_views_are_not_written() -> None:
    graph = Graph("g")
    x = graph.placeholder("x", type_of(np.ones(3)))
    with pytest.raises(CannotInfer, match="read-only"):
        graph.store(graph.call("broadcast_to", x, shape=(2, 3)), 1.0)
