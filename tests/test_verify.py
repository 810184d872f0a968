"""Verify mode compares compiled graphs with NumPy while a program runs; a debug folder keeps all of a compile."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import capture
from capture.backends import find_backend
from capture.errors import InternalError
from capture.ir.graph import Graph
from capture.ir.types import array_type
from capture.verified import Verified, difference


def doubled() -> Graph:
    graph = Graph("doubled")
    x = graph.placeholder("x", array_type("f8", (3,)))
    graph.output(graph.call("multiply", graph.store(x, 1.5), 2.0))
    return graph


def test_a_right_runner_passes_and_a_wrong_one_is_told_from_it():
    def right(x):
        x[...] = 1.5
        return (x * 2.0,)

    def wrong(x):
        x[...] = 1.5
        return (np.array([3.0, 3.0, 3.1]),)

    def careless(x):
        return (np.array([3.0, 3.0, 3.0]),)

    assert Verified(doubled(), right)(np.zeros(3))[0].tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(InternalError, match=r"result 0 of graph doubled differs at \(2,\)"):
        Verified(doubled(), wrong)(np.zeros(3))
    with pytest.raises(InternalError, match=r"argument x of graph doubled differs at \(0,\)"):
        Verified(doubled(), careless)(np.zeros(3))
    assert Verified(doubled(), lambda x: None)(np.zeros(3)) is None


def test_the_first_node_that_differs_is_named_with_its_line():
    """A backend that gets every sine of what is above 2 wrong."""
    def backend(graph, inputs):
        run = find_backend("eager")(graph, inputs)
        wrong = any(node.target == "sin" for node in graph.calls)

        def runner(*given):
            results = run(*given)
            return tuple(np.where(given[0] > 2, r + 1e-3, r) for r in results) if wrong else results

        return runner

    def f(x):
        a = x * 2
        b = np.sin(a)
        return np.cos(b) + a

    compiled = capture.compile(f, backend=backend, options={"verify": True})
    with pytest.raises(InternalError) as caught:
        compiled(np.array([0.5, 1.0, 3.0]))
    line = f.__code__.co_firstlineno + 2
    assert f"first different: %sin, {__file__}:{line}, differs at (2,)" in str(caught.value)
    assert "ULP)" in str(caught.value)


def test_under_numpys_mathematics_every_bit_counts():
    one, next_one = np.array([1.0]), np.nextafter(np.array([1.0]), 2)
    assert difference(next_one, one) is None
    assert "np.float64(1.0000000000000002) instead of np.float64(1.0) (1 ULP)" in difference(next_one, one, exact=True)
    assert difference(np.array([-0.0]), np.array([0.0]), exact=True) is not None
    assert difference(np.array([np.nan, 1]), np.array([np.nan, 1]), exact=True) is None


def test_examples_verify(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["example"])
    root = Path(__file__).parent.parent / "examples"
    with capture.config.patch(verify=True):
        for name in ("option_prices.py", "pipeline.py", "graph_breaks.py", "decoder.py"):
            runpy.run_path(str(root / name), run_name="__main__")


@pytest.mark.parametrize(
    ("got", "expected", "words"),
    [
        (np.float64(1), np.array(1.0), "is a float64 instead of a ndarray"),
        (np.zeros(3), np.zeros(3, "f4"), "is float64[3] instead of float32[3]"),
        (np.zeros(3), np.zeros(4), "is float64[3] instead of float64[4]"),
        (2, 3, "is 2 instead of 3"),
        (np.array([1, 2]), np.array([1, 3]), "differs at (1,)"),
        (np.array([np.nan, 1.0]), np.array([np.nan, np.inf]), "differs at (1,)"),
    ],
)
def test_differences_in_words(got, expected, words):
    assert words in difference(got, expected)


def test_rounding_is_no_difference():
    assert difference(np.array([1.0, np.nan]), np.array([1.0 + 1e-15, np.nan])) is None
    assert difference(np.float32(1), np.float32(1)) is None


def test_verify_is_an_option_of_a_function():
    def f(x):
        x += 1
        return np.tanh(x) / x.sum()

    compiled = capture.compile(f, options={"verify": True})
    x, y = np.linspace(0, 1, 100), np.linspace(0, 1, 100)
    np.testing.assert_allclose(compiled(x), f(y))
    np.testing.assert_array_equal(x, y)
    assert isinstance(compiled.variants[0].info.runner, Verified)


def test_debug_folder(tmp_path):
    def f(x):
        return np.exp(x) * 2

    capture.compile(f, options={"debug_dir": tmp_path / "all"})(np.ones(4))
    (folder,) = (tmp_path / "all").iterdir()
    assert folder.name.startswith("0001-") and folder.name.endswith("_f")
    names = {place.name for place in folder.iterdir()}
    assert names >= {"graph.txt", "graph.py", "guards.txt", "bytecode.txt", "kernels.c"}
    assert "exp" in (folder / "graph.txt").read_text()
    assert "x: is an array of float64[4] C" in (folder / "guards.txt").read_text()
