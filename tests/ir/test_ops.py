"""Every record against NumPy: the inferred type is exactly the result's, and the interpreter gives the result."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from capture.ir import op as ops
from capture.ir.graph import Graph
from capture.ir.interpret import Interpreter
from capture.ir.op import CannotInfer
from capture.ir.shapes import Symbol
from capture.ir.types import ArrayType, Layout, NumberType, type_of
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
    if isinstance(expected, tuple):
        for pair in zip(actual, expected, strict=True):
            compare(*pair)
        return
    np.testing.assert_array_equal(actual, expected)
    assert actual.dtype == expected.dtype
    assert np.array_equal(np.signbit(actual), np.signbit(expected)) or actual.dtype.kind != "f"
    if isinstance(actual, np.ndarray):
        assert Layout.of(actual) == Layout.of(expected)


def check_type(predicted: Any, actual: Any, exact: bool = True) -> None:
    """``dense`` and ``inner`` are promises that inference may leave out; everything else is exact."""
    if isinstance(actual, tuple):
        for part, value in zip(predicted, actual, strict=True):
            check_type(part, value, exact)
        return
    expected = type_of(actual)
    if isinstance(predicted, NumberType):
        assert predicted in (NumberType(expected.python, actual), NumberType(expected.python, Symbol("trues")))
        return
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


REAL_OPS = [op for op in ops.all_ops() if not op.is_macro and op.replaces is None and op.name not in ("part", "loop")]


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


# Lowerings, evaluated with NumPy ----------------------------------------------------------------------------------
class Elements:
    """The scalar vocabulary over whole arrays: what ``lower`` means, without the compiler."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        assert condition.dtype == bool and x.dtype == y.dtype
        return np.where(condition, x, y)

    def cast(self, x: Any, dtype: np.dtype) -> Any:
        return x.astype(dtype)

    def ldexp(self, x: Any, exponent: Any) -> Any:
        return np.ldexp(x, exponent.astype("i4"))

    def frexp_mantissa(self, x: Any) -> Any:
        return np.frexp(x)[0]

    def frexp_exponent(self, x: Any) -> Any:
        return np.frexp(x)[1]

    def bits(self, value: Any, dtype: np.dtype) -> Any:
        return value.view(dtype)

    def constant(self, value: Any, dtype: np.dtype) -> Any:
        return np.array(value, dtype)

    def index(self, axis: int) -> Any:
        return np.indices(self.shape)[axis]

    def position(self, size: int) -> Any:
        return np.array(size)


def loop_operands(op: ops.Op, operands: tuple[Any, ...], params: dict[str, Any]) -> list[np.ndarray]:
    """The operands as the kernel sees them: cast to the loop's dtypes."""
    types = [value if not isinstance(value, np.ndarray | np.generic) else type_of(value) for value in operands]
    assert isinstance(op.lower, ops.Pointwise)
    if op.lower.loop is None:
        return [np.asarray(value) for value in operands]
    dtypes = op.lower.loop(*types, **params)
    return [
        np.asarray(value).astype(dtype) if isinstance(value, np.ndarray | np.generic) else np.array(value, dtype)
        for value, dtype in zip(operands, dtypes, strict=True)
    ]


@pytest.mark.parametrize("op", [op for op in REAL_OPS if isinstance(op.lower, ops.Pointwise)], ids=lambda op: op.name)
def test_elements_mean_what_the_reference_does(op: ops.Op) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for sample, dtype in itertools.product(op.samples, DTYPES):
            operands, params = split(sample)
            operands = tuple(as_operand(value, dtype, c_order) for value in operands)
            graph = Graph("one")
            nodes = [
                graph.placeholder("x", type_of(value)) if isinstance(value, np.ndarray | np.generic) else value
                for value in operands
            ]
            try:
                node = graph.call(op, *nodes, **params)
            except CannotInfer:
                continue
            if node.op is not op:
                continue  # NumPy's own loop stands in
            shape = getattr(node.type, "shape", ())
            element = op.lower.element(
                Elements(shape), *loop_operands(op, operands, dict(node.params)), **node.params
            )
            actual = np.broadcast_to(element.astype(node.type.dtype), shape)
            expected = np.asarray(op.reference(*operands, **node.params))
            if "uninitialised" not in op.tags:
                np.testing.assert_array_equal(actual, expected)
                assert actual.dtype.kind != "f" or np.array_equal(np.signbit(actual), np.signbit(expected))


# Views as maps of strides and of indices --------------------------------------------------------------------------
def random_view(graph: Graph, node: Any, random: np.random.Generator) -> Any:
    """One random view of a node."""
    shape = node.type.shape
    kind = random.choice(["slice", "permute", "expand", "squeeze", "reshape", "broadcast_to"])
    if kind == "slice":
        steps = random.choice([1, 1, 1, -1, 2, -2, 3], len(shape))
        keys = [
            slice(*sorted(random.integers(0, size + 1, 2))) if random.random() < 0.5 else slice(None) for size in shape
        ]
        keys = [
            slice(None, None, int(step)) if key == slice(None) else key for key, step in zip(keys, steps, strict=True)
        ]
        return graph.call("getitem", node, key=tuple(slice(*map(as_int, (k.start, k.stop, k.step))) for k in keys))
    if kind == "permute":
        return graph.call("permute", node, axes=tuple(map(int, random.permutation(len(shape)))))
    if kind == "expand":
        return graph.call("expand", node, axes=int(random.integers(0, len(shape) + 1)))
    if kind == "squeeze":
        return graph.call("np_squeeze", node)
    if kind == "broadcast_to":
        return graph.call("broadcast_to", node, shape=tuple(4 if size == 1 else size for size in shape))
    factors = [
        size for size in shape for size in ((size // 2, 2) if size % 2 == 0 and random.random() < 0.5 else (size,))
    ]
    merged = [factors[0] * factors[1], *factors[2:]] if len(factors) > 1 and random.random() < 0.5 else factors
    return graph.call("reshape", node, shape=tuple(merged))


def as_int(value: Any) -> int | None:
    return None if value is None else int(value)


@pytest.mark.parametrize("seed", range(200))
def test_random_chains_of_views(seed: int) -> None:
    """Layouts, strides and indices of chains of views are those of the views that NumPy makes."""
    random = np.random.default_rng(seed)
    shape = tuple(map(int, random.choice([1, 2, 3, 4, 6], random.integers(1, 4))))
    base = LAYOUTS[random.integers(len(LAYOUTS))](np.arange(float(np.prod(shape))).reshape(shape))
    graph = Graph("views")
    chain = [graph.placeholder("x", type_of(base))]
    for _ in range(5):
        try:
            node = random_view(graph, chain[-1], random)
        except CannotInfer:
            continue
        if not node.type.scalar:
            chain.append(node)
    fresh = []
    for node in chain:
        if node.type.layout is not None:
            fresh += [graph.call("negative", node), graph.call("copy", node, order="K")]
            fresh += [graph.call("sum", node, axis=-1)] if node.type.ndim and node.type.shape[-1] else []
            fresh += [graph.call("where", graph.call("less", node, 3), node, 1.5)]
    graph.output(*chain, *fresh)
    results = Interpreter(graph).run(base)
    for node, actual in zip((*chain, *fresh), results, strict=True):
        check_type(node.type, actual)
    check_maps(chain[-1], base, results[len(chain) - 1])


def check_maps(node: Any, base: np.ndarray, actual: np.ndarray) -> None:
    strided = ops.Strided(0, base.shape, tuple(stride // base.itemsize for stride in base.strides))
    steps = []
    while node.kind == "call":
        steps.append(node)
        node = node.args[0]
    for step in reversed(steps):
        strided = step.op.lower.strided(strided, **step.params)
    assert strided.shape == actual.shape
    moving = [axis for axis, size in enumerate(actual.shape) if size > 1]
    if actual.size:
        offset = actual.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        assert strided.offset * base.itemsize == offset
        assert [strided.strides[k] * base.itemsize for k in moving] == [actual.strides[k] for k in moving]
    for place in itertools.islice(np.ndindex(actual.shape), 50):
        index = place
        for step in steps:
            index = step.op.lower.index(index, step.args[0].type.shape, **step.params)
        assert base[tuple(index)] == actual[place]
