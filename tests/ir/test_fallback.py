"""Functions of NumPy's that stand in graphs as they are: what they warn of, and sizes that change."""

from __future__ import annotations

import types
import warnings

import numpy as np
import numpy.polynomial.polynomial
import pytest

from capture.backends import eager
from capture.ir.ops import fallback
from tests.helpers import captured

# What warns of types, shapes and parameters alone, by which the trial warns too.
BY_FORM = {
    "average": "mean of nothing", "corrcoef": "cov of too few", "median": "mean of nothing", "pad": "mean of nothing",
    "cross": "vectors of two", "histogram": "bools", "histogram_bin_edges": "bools", "polydiv": "isclose of numbers",
    "qr": "names of modes", "fix": "the name", "tri": "parameters", "tril": "parameters", "triu": "parameters",
    "tril_indices": "parameters", "triu_indices": "parameters", "tril_indices_from": "parameters",
    "triu_indices_from": "parameters",
    **{f"{kind}{axes}": "parameters" for kind in ("fft", "ifft", "rfft", "irfft") for axes in "2n"},
}  # fmt: skip
MEANS = {"mean", "var", "std", "_mean", "_var", "_std"}


def source_of(function: object) -> types.FunctionType | None:
    function = getattr(function, "_implementation", function)
    return function if isinstance(function, types.FunctionType) else None


def names_in(code: types.CodeType) -> set[str]:
    inner = [names_in(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*inner)


def warns(function: types.FunctionType) -> bool:
    """Whether NumPy's Python code that it may reach warns, or computes a mean, which does."""
    waiting, seen = [function], set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        names = names_in(one.__code__)
        if "warn" in names or names & MEANS:
            return True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # np.str
            places = [one.__globals__, vars(np), vars(np.linalg)]
        found = (source_of(place.get(name)) for place in places for name in names)
        waiting.extend(f for f in found if f is not None and f.__module__.startswith("numpy"))
    return False


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="the sources of NumPy 2.4 and later are read")
def test_warnings_that_elements_decide_on_are_known():
    spaces = {
        np: fallback.FUNCTIONS, np.linalg: fallback.LINALG, np.fft: fallback.FFT,
        numpy.polynomial.polynomial: fallback.POLYNOMIAL,
    }  # fmt: skip
    functions = {
        name: function
        for space, names in spaces.items()
        for name in names.split()
        if (function := source_of(getattr(space, name, None))) is not None
    }
    warning = {name for name, function in functions.items() if warns(function)}
    assert len(functions) > 100
    assert warning - BY_FORM.keys() <= fallback.DECIDING.keys()
    assert "cov" in warning and "sort" not in warning


def few(x):
    return np.cov(x, ddof=9)


def no_weights(x, w):
    return np.cov(x, aweights=w)


def tolerance(x, w):
    return np.isclose(x, x, rtol=w)


def nan_tolerance(x):
    return np.isclose(x, x, atol=np.nan)


def plane(x):
    return np.cross(x[:2], x[1:3])


def masked(x, w):
    return (x + 0j).mean(where=w > 5)


def economic(x):
    return np.linalg.qr(np.outer(x, x), mode="economic")[0].shape


def nothing(x):
    return np.median(x[:0])


@pytest.mark.parametrize("function", [few, nan_tolerance, plane, economic, nothing])
def test_warnings_by_form_stay_with_python(function):
    run = captured(function)
    for _ in range(2):
        run(np.arange(3.0))
    assert run.breaks


@pytest.mark.parametrize(("function", "weights"), [
    (no_weights, [1.0, 0.0, 0.0]), (tolerance, [np.inf, 1.0, 1.0]), (masked, [0.0, 0.0, 0.0]),
])  # fmt: skip
def test_warnings_by_element_stay_with_python(function, weights):
    run = captured(function)
    run(np.arange(3.0), np.ones(3) * 9)
    run(np.arange(3.0), np.array(weights))
    assert run.breaks


def test_quiet_calls_are_in_the_graph():
    def f(x, y):
        means = np.median(x), np.average(x, weights=y), (x + 1j).mean()
        return np.cov(x, y), np.isclose(x, y), np.corrcoef(x, y), *means

    run = captured(f)
    for size in (3, 4, 5):
        run(np.arange(float(size)), np.ones(size) + np.arange(size))
    assert not run.breaks
    assert run.graphs == 2  # one for all sizes but the first


@pytest.mark.parametrize("dynamic", [None, True])
def test_singular_values_are_as_many_as_the_smaller_size(dynamic):
    run = captured(lambda x: np.linalg.svdvals(x) * 2, dynamic=dynamic)
    for shape in ((3, 6), (4, 7), (6, 6), (7, 3), (9, 2), (2, 9), (11, 30), (30, 11)):
        run(np.random.default_rng(1).random(shape))
    assert not run.breaks


def test_reduction_of_numbers_that_change():
    run = captured(lambda n: np.multiply.reduce((3, n)))
    for n in (4, 5, 6, 7):
        run(n)
    assert run.graphs


def test_largest_of_no_rows():
    run = captured(lambda x: x.max(axis=0), dynamic=True)
    for rows in (0, 4, 5, 0):
        run(np.arange(3.0 * rows).reshape(rows, 3))
    assert run.graphs


def test_lists_stay_lists():
    run = captured(lambda x: np.lexsort([x, -x]) + np.linalg.multi_dot([x[None], x[:, None]]), backend=eager)
    run(np.arange(3.0))
    assert not run.breaks


def test_numbers_of_the_graph_that_are_sizes():
    """A function whose result has as many elements as a computed number says is not predicted: it ends the graph."""
    run = captured(lambda x: np.arange(1, np.prod((3, 1), dtype=int) + 1) * x, backend=eager)
    run(np.arange(3.0))
    assert run.kinds == ["op"]
    assert run.graphs == 2
