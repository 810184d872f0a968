"""Powers with small exponents that are known: products, quotients and roots instead of ``pow``."""

import math
import warnings

import numpy as np
import pytest

import capture
from capture import backends
from capture.inductor import powers
from tests.helpers import captured

EXPONENTS = sorted(powers._POWERS)


def bases(dtype):
    """Of all sizes and signs, and the edges; where powers overflow and vanish, their neighbours."""
    info, rng = np.finfo(dtype), np.random.default_rng(3)
    edges = [0.0, math.inf, math.nan, 1.0, 2.0, 3.0, info.tiny, info.max, info.smallest_subnormal, 5 * info.tiny / 8]
    for exponent in EXPONENTS:
        for limit in (info.max, info.tiny, info.smallest_subnormal):
            with np.errstate(over="ignore"):
                edge = dtype(float(np.longdouble(limit) ** (1 / np.longdouble(exponent))))
            edges += [edge, *(edge * dtype(1 + step * 2.0**-9) for step in range(-40, 41))]
    exponents = rng.uniform(math.log2(info.smallest_subnormal), math.log2(info.max), 4000)
    sizes = (2.0 ** np.clip(exponents, -1074, 1023.9)).astype(dtype)
    with np.errstate(all="ignore"):
        found = np.concatenate([np.array(edges).astype(dtype), sizes])
    return np.concatenate([found, -found])


def units_apart(got, expected):
    """Units in the last place between numbers of one sign."""
    integer = {4: np.int32, 8: np.int64}[got.itemsize]
    return np.abs(got.view(integer) - expected.view(integer))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_results(exponent, dtype):
    x = bases(dtype)

    def power(x):
        return np.power(x, exponent)

    with np.errstate(all="ignore"):
        got = capture.compile(power)(x.copy())
        exact = np.longdouble if dtype is np.float64 else np.float64
        expected = np.power(x.astype(exact), exact(exponent)).astype(dtype)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[there]), np.signbit(expected[there]))
    assert units_apart(got[there], expected[there]).max() <= 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_warnings(exponent, dtype):
    """Base by base: what overflows, is invalid or divides by zero is what NumPy says, of the same name."""

    def power(x):
        return np.power(x, exponent)

    def found(function, x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(x)
        return [str(each.message) for each in caught]

    run, seen = capture.compile(power), set()
    everything = bases(dtype)
    for base in [*everything[:10], *everything[10::97], *-everything[:10]]:
        x = np.full(3, base)
        expected = found(power, x)
        with np.errstate(all="ignore"):  # NumPy's own vectors differ by what is lost at the border
            result = np.power(np.longdouble(base), np.longdouble(exponent))
        if 0.99 < abs(result) / np.longdouble(np.finfo(dtype).max) < 1.01:
            continue
        assert found(run, x) == expected, (base, exponent)
        seen.update(expected)
    assert seen


def test_kernels_and_loops():
    """No ``pow`` in what is compiled; other exponents, and those that are not known, have it."""

    def known(x):
        return np.power(x, 3) + x**-1.5

    def looped(x, rounds):
        for _ in range(rounds):
            x = x**-1.5 + x**3.0 * 0.25
        return x

    def others(x, y):
        return x**1.75 + x**y

    sources = {}
    for function, arguments in ((known, (np.ones(5),)), (looped, (np.ones(5), 9)), (others, (np.ones(5), np.ones(5)))):
        run = captured(function, backend=backends.inductor, exact=False)
        run(*arguments)
        assert run.graphs == 1
        sources[function] = "".join(kernel.source for kernel in capture.explain(function)(*arguments).kernels)
    assert "pow(" not in sources[known] and "pow(" not in sources[looped] and "pow(" in sources[others]


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_all_halves(exponent):
    """Computed in float32, and rounded."""
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        got = capture.compile(lambda x: np.power(x, np.float16(exponent)))(x)
        expected = np.power(x.astype(np.float64), exponent).astype(np.float16)
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(got), ~there)
    np.testing.assert_array_equal(np.signbit(got[there]), np.signbit(expected[there]))
    assert np.abs(got[there].view(np.int16) - expected[there].view(np.int16)).max() <= 1
