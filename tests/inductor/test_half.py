"""float16 in loops: computed in float32 and rounded after each operation, with the overflows that NumPy warns of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import capture

OPERATIONS = {
    "sum of two": lambda x: x + x,
    "product": lambda x: -x * x,
    "quotient": lambda x: x / np.float16(1e-3),
    "sum": lambda x: x.sum(),
    "sum of axis": lambda x: x.reshape(-1, 3).sum(axis=0),
    "running sum": lambda x: np.cumsum(x),
    "running product": lambda x: np.cumprod(x),
    "mean": lambda x: x.mean(),
    "variance": lambda x: x.var(),
    "square": lambda x: x**2,
    "sum at places": lambda x: np.add.at(x, 0, x[0]),
    "from float32": lambda x: (x.astype("f4") * 2).astype("f2"),
    "from float64": lambda x: (x.astype("f8") * 2e300 * 1e5).astype("f2"),
    "from integers": lambda x: (x > 0).astype("i4") * np.int32(70000) + np.float16(1),
    "chosen": lambda x: np.where(x > 0, x * x, x),
    "in place": lambda x: np.add(x, x, out=x),
    "power of two": lambda x: np.ldexp(x, 3),
    "without nan": lambda x: np.nansum(x),
}
NUMBERS = [
    [60000, 60000, 2], [1, 2, 3], [65504, 1, 1], [np.inf, 1, 2], [np.nan, -60000, 3], [65472, 32, 16], [2047, 33, 1],
    [6e-8, 1e-7, 2e-7],
]  # fmt: skip


def seen(function, x):
    """Result, argument, and the texts of warnings: NumPy blames lines of its own for those of reductions."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(x)
    return result, x, [str(warning.message) for warning in caught]


def compare(function, compiled, x):
    expected, got = seen(function, x.copy()), seen(compiled, x.copy())
    assert got[2] == expected[2]
    for left, right in zip(got[:2], expected[:2], strict=True):
        assert type(left) is type(right)
        np.testing.assert_array_equal(left, right, strict=left is not None)


@pytest.mark.parametrize("function", OPERATIONS.values(), ids=OPERATIONS)
def test_results_and_warnings(function):
    compiled = capture.compile(function)
    for repeats in (1, 50):
        for numbers in NUMBERS:
            compare(function, compiled, np.array(numbers * repeats, "f2"))
    assert compiled.graphs


@pytest.mark.parametrize("dtype", ["u4", "i4", "i8", "f4", "f8"])
def test_a_cast_to_float16_may_overflow(dtype):
    def cast(x):
        return x.astype("f2")

    compiled = capture.compile(cast)
    for value in (1, 65519, 65520, 10**9):
        compare(cast, compiled, np.full(5, value).astype(dtype))
    assert len(compiled.graphs) == 1
