"""The functions of the array API standard, each compiled by itself, in NumPy's namespace.

The cases are those of the standard's own suite (``array-api-tests``, which is no package): every function, on every
dtype it takes, on shapes with no, one and many elements, broadcast against each other, and on the values for which
the standard has special rules. Each result is compared with NumPy's: type, dtype, shape, layout, bits (under
``math="numpy"``, so that those of mathematical functions count, too), warnings.
"""

import itertools
import re
import warnings

import numpy as np
import pytest

from capture.backends import inductor
from tests.helpers import captured

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS, COMPLEX = ("float32", "float64"), ("complex64", "complex128")
REAL, NUMERIC = (*INTEGERS, *FLOATS), (*INTEGERS, *FLOATS, *COMPLEX)
FLOATING, ANY, BITS = (*FLOATS, *COMPLEX), ("bool", *NUMERIC), ("bool", *INTEGERS)
LEFT_TO_PYTHON = (
    *("imag", "real"),
    # NumPy 2.0 gives a Python int, and the very array that it was given.
    *(["np.count_nonzero(x)"] if type(np.count_nonzero([1])) is int else []),
    *(["round"] if np.round(whole := np.ones(1, int)) is whole else []),
)

UNARY = {
    FLOATING: "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt tan tanh",
    REAL: "ceil floor trunc",
    NUMERIC: "reciprocal abs negative positive round sign square conj imag real isfinite isinf isnan",
    BITS: "bitwise_invert",
    FLOATS: "signbit",
    ("bool",): "logical_not",
}
BINARY = {
    FLOATS: "atan2 copysign hypot logaddexp nextafter",
    FLOATING: "divide",
    REAL: "floor_divide remainder maximum minimum greater greater_equal less less_equal",
    NUMERIC: "add multiply subtract",
    ANY: "equal not_equal",
    BITS: "bitwise_and bitwise_or bitwise_xor",
    ("bool",): "logical_and logical_or logical_xor",
}
# Integer powers and shifts want small numbers on the right.
SMALL = {INTEGERS: "bitwise_left_shift bitwise_right_shift", (*FLOATS, *INTEGERS): "pow"}

OTHERS = {
    # dtypes: expressions over x, of shape (3, 4)
    ANY: """
    np.astype(x, np.float64) | np.broadcast_to(x, (2, 3, 4)) | np.concat((x, x)) | np.concat((x, x), axis=1)
    np.concat((x, x), axis=None) | np.expand_dims(x, axis=1) | np.flip(x) | np.flip(x, axis=0) | np.moveaxis(x, 0, 1)
    np.permute_dims(x, (1, 0)) | np.repeat(x, 2) | np.repeat(x, 2, axis=0) | np.reshape(x, (4, 3))
    np.reshape(x, (-1,)) | np.roll(x, 1) | np.roll(x, 1, axis=1) | np.squeeze(x[None], axis=0) | np.stack((x, x))
    np.stack((x, x), axis=-1) | np.tile(x, (2, 1)) | np.matrix_transpose(x) | x.T | x.mT
    np.take(x, np.array([2, 0]), axis=0) | np.where(x == x, x, x)
    np.take_along_axis(x, np.array([[1, 0, 2, 1]]), axis=0) | np.nonzero(x) | np.count_nonzero(x) | np.full_like(x, 1)
    np.ones_like(x) | np.zeros_like(x) | np.tril(x) | np.triu(x, k=1) | np.all(x) | np.any(x, axis=0)
    np.all(x, axis=1, keepdims=True) | np.meshgrid(x[0], x[1]) | np.broadcast_arrays(x, x[0]) | x[0] | x[1, 2]
    x[..., 1] | x[None] | x[::-1, 1:3] | x[x == x] | np.unstack(x) | np.asarray(x) | np.asarray(x, copy=True)
    bool(np.isdtype(x.dtype, "bool"))
    """,
    NUMERIC: """
    np.sum(x) | np.sum(x, axis=0) | np.prod(x, axis=1) | np.cumulative_sum(x, axis=0) | np.matmul(x, x.T) | x @ x.T
    np.tensordot(x, x, axes=((1,), (1,))) | np.vecdot(x, x) | np.diff(x) | np.diff(x, n=2, axis=0)
    np.matmul(x, x[0]) | np.cumulative_sum(x, axis=1, include_initial=True) | np.cumulative_prod(x, axis=0) | abs(x)
    -x | x + x | x * 2 | x - x | np.linalg.outer(x[0], x[1]) | np.linalg.vecdot(x, x) | np.linalg.diagonal(x)
    np.linalg.trace(x)
    """,
    REAL: """
    np.max(x) | np.min(x, axis=1, keepdims=True) | np.argmax(x) | np.argmin(x, axis=0) | np.sort(x)
    np.argsort(x, axis=0) | np.clip(x, 1, 3) | np.clip(x, None, 2) | np.searchsorted(np.sort(x[0]), x[1]) | x // 2
    x % 2 | x > 1 | x <= x | np.unique_values(x) | np.sort(x, axis=0, stable=True)
    """,
    FLOATING: "np.mean(x) | np.mean(x, axis=0) | x / 2 | np.linalg.vector_norm(x, axis=1)",
    FLOATS: """
    np.std(x) | np.var(x, axis=1) | np.std(x, axis=0, correction=1) | np.linalg.matrix_norm(x) | np.linalg.svdvals(x)
    np.linalg.qr(x).R | np.linalg.solve(x[:, :3] + 9 * np.eye(3), x[:, :1]) | np.linalg.inv(x[:, :3] + 9 * np.eye(3))
    """,
}
CREATION = """
np.arange(5) | np.arange(1, 9, 2) | np.arange(0.0, 1.0, 0.25) | np.arange(3, dtype=np.float32) | np.eye(3)
np.eye(2, 3, k=1)
np.full((2, 3), 7) | np.full(2, 1.5, dtype=np.float32) | np.linspace(0, 1, 5) | np.linspace(0, 1, 4, endpoint=False)
np.ones((2, 2)) | np.ones(3, dtype=np.int8) | np.zeros(()) | np.zeros((0, 3)) | np.zeros(2, dtype=bool)
"""

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.0, 3.0, 5.0, -7.5]
SPECIAL += [1e-310, 1e30, -1e30, *(np.pi * k / 4 for k in (1, -1, 2, -2, 3, -3, 4, -4))]


def values(dtype):
    """What the standard has rules for, in this dtype."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([True, False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 3, 7, info.max, info.min, info.max - 1, max(info.min, -5), max(info.min, -1)], dtype)
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            few = np.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan])
            return (few[:, None] + 1j * few).ravel().astype(dtype)
        return np.array(SPECIAL).astype(dtype)


def functions(table):
    return [(name, dtypes) for dtypes, names in table.items() for name in names.split()]


def expressions(text):
    """Those whose functions this NumPy has."""
    parts = [part.strip() for line in text.strip().splitlines() for part in line.split("|") if part.strip()]
    return [part for part in parts if all(hasattr(np, name) for name in re.findall(r"\bnp\.(\w+)", part))]


def exact(function):
    return captured(function, backend=inductor, options={"math": "numpy", "recompile_limit": 64})


def compare(run, *args):
    with np.errstate(all="ignore"):
        run(*args)


@pytest.mark.parametrize(("name", "dtypes"), functions(UNARY))
def test_unary(name, dtypes):
    function = getattr(np, name)
    run = exact(lambda *arrays: [function(x) for x in arrays])
    every = [values(dtype) for dtype in dtypes]
    compare(run, *every)
    shapes = [np.resize(x, shape) for x in every[-1:] for shape in ((), (0,), (1,), (2, 0, 3), (2, 3), (2, 1, 3))]
    compare(run, *shapes)
    assert run.breaks == [] or name in LEFT_TO_PYTHON


@pytest.mark.parametrize(("name", "dtypes"), functions(BINARY))
def test_binary(name, dtypes):
    function = getattr(np, name)
    run = exact(lambda *pairs: [function(x, y) for x, y in zip(pairs[::2], pairs[1::2], strict=True)])
    pairs = []
    for dtype in dtypes:
        x = values(dtype)
        pairs += [np.repeat(x, len(x)), np.tile(x, len(x))]
    compare(run, *pairs)
    run = exact(lambda *pairs: [function(x, y) for x, y in zip(pairs[::2], pairs[1::2], strict=True)])
    shapes = [((), ()), ((0,), (1,)), ((3, 1), (4,)), ((2, 1, 3), (4, 1)), ((1,), (2, 3)), ((0, 3), (1, 3))]
    x = values(dtypes[-1])
    compare(run, *(np.resize(x, shape) for pair in shapes for shape in pair))
    assert run.breaks == []
    run = exact(lambda *pairs: [function(x, y) for x, y in itertools.pairwise(pairs)])  # promotion
    compare(run, *(np.resize(values(dtype), 4) for dtype in dtypes if dtype != "uint64"))
    assert run.breaks == []


@pytest.mark.parametrize(("name", "dtypes"), functions(SMALL))
def test_small_right_operands(name, dtypes):
    function = getattr(np, name)
    run = exact(lambda *pairs: [function(x, y) for x, y in zip(pairs[::2], pairs[1::2], strict=True)])
    pairs = []
    for dtype in dtypes:
        x = values(dtype)
        y = np.array([0, 1, 2, 5], dtype) if np.dtype(dtype).kind in "iu" else x
        pairs += [np.repeat(x, len(y)), np.tile(y, len(x))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(run, *pairs)


@pytest.mark.parametrize(
    ("expression", "dtypes"),
    [(expression, dtypes) for dtypes, text in OTHERS.items() for expression in expressions(text)],
)
def test_other_functions(expression, dtypes):
    namespace = {"np": np}
    exec(f"def function(*arrays):\n    return [{expression} for x in arrays]\n", namespace)
    numbers = np.resize(np.arange(1, 6), (3, 4))
    run = exact(namespace["function"])
    compare(run, *(numbers.astype(dtype) for dtype in dtypes if dtype not in COMPLEX))
    assert (run.breaks == []) == (expression not in LEFT_TO_PYTHON)
    compare(exact(namespace["function"]), *(numbers.astype(dtype) for dtype in dtypes if dtype in COMPLEX))


@pytest.mark.parametrize("expression", expressions(CREATION))
def test_creation(expression):
    namespace = {"np": np}
    exec(f"def function(x):\n    return {expression}, x + 1\n", namespace)
    run = exact(namespace["function"])
    compare(run, np.ones(3))
    assert run.graphs == 1 and run.breaks == []


def test_promotion_answers_questions_at_once():
    def f(x, y):
        kind = np.result_type(x, y)
        if np.can_cast(np.int32, np.float64) and np.isdtype(kind, "real floating"):
            return x + y * np.finfo(kind).eps, np.iinfo(np.int16).max
        return x

    run = exact(f)
    compare(run, np.ones(3, np.float32), np.ones(3))
    assert run.graphs == 1
