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
from capture.ir.interpret import Interpreter
from capture.ir.rounding import Filled
from capture.ir.types import array_type
from capture.verified import Slack, Verified, difference


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


def off(target, change):
    """A backend whose graphs give NumPy's results, changed where the graph has an operation of that name."""

    def backend(graph, inputs):
        run = find_backend("eager")(graph, inputs)
        if all(node.target != target for node in graph.calls):
            return run
        return lambda *given: tuple(map(change, run(*given)))

    return backend


def next_up(value):
    return np.nextafter(value, np.inf)


@pytest.mark.parametrize(
    ("function", "target", "change", "told"),
    [
        (lambda x: np.abs((x + 1) * 2) - 3, "add", next_up, "ULP"),
        (lambda x: np.maximum(x, 0) * 2, "maximum", np.negative, "-0.0"),
        (lambda x: np.concatenate((np.exp(x * 300), np.sin(x))), "sin", lambda y: y + 1e-9, "ULP"),
        (lambda x: np.exp(x).sum(), "sum", lambda y: y * (1 + 1e-11), "ULP"),
        (lambda x: np.sqrt(np.abs(x)) + 1, "sqrt", lambda y: y.astype("f4").astype("f8"), "ULP"),
        (lambda x: x * (1 + 2j), "multiply", np.conj, "ULP"),
    ],
)
def test_small_faults_are_found(function, target, change, told):
    compiled = capture.compile(function, backend=off(target, change), options={"verify": True})
    with pytest.raises(InternalError) as caught:
        compiled(np.array([-1.5, 0.0, 0.1, 2.0]))
    _, first, *_ = str(caught.value).splitlines()
    assert f"first different: %{target}" in first
    assert f"{__file__}:{function.__code__.co_firstlineno}" in first
    assert told in str(caught.value)


X = np.linspace(-3, 3, 1000)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (np.sin(x) * 1e5) % 1.0,
        lambda x: np.sin(x) > np.sin(X)[::-1],
        lambda x: np.floor(np.sin(x) / np.sin(X)),
        lambda x: np.argmax(np.sin(x) - np.sin(X)),
        lambda x: x[np.sin(x) >= np.sin(X)],
        lambda x: np.exp(np.sin(x) * 700) / np.exp(np.sin(x) * 699),
        lambda x: (np.sin(x) - np.sin(X)).sum(),
        lambda x: np.sqrt(1 - np.sin(x) ** 2 - np.cos(x) ** 2),
        lambda x: float(np.sin(x).sum()) > 0,
    ],
)
def test_what_rounding_decides_is_no_fault(function):
    compiled = capture.compile(function, backend=sines_off, options={"verify": True, "strict": True})
    with np.errstate(all="ignore"):
        compiled(X.copy())
    assert compiled.graphs


def sines_off(graph, inputs):
    """A backend whose sines are a unit off, at random."""

    class Off(Interpreter):
        def call(self, node, args, params):
            value = super().call(node, args, params)
            if node.target == "sin":
                value = np.where(np.arange(value.size) * 7 % 3 == 0, next_up(value), value)
            return value

    return Off(graph).run


def steady(x):
    before = 0.0
    while x != before:
        before = x
        x = np.cos(x)
    return x


def test_loops_to_a_fixed_point_come_to_their_end():
    compiled = capture.compile(steady, options={"verify": True, "strict": True})
    compiled(np.float64(0.5))
    assert compiled.graphs


def partly_written(x, dtype):
    found = np.empty(4, dtype)
    found[:2] = x[:2]
    return found, np.empty(4, dtype) * 2


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?", "c16", "u1"])
def test_what_was_never_written_may_be_anything(dtype):
    def backend(graph, inputs):
        return Filled(graph, odd=True).run

    compiled = capture.compile(partly_written, backend=backend, options={"verify": True, "strict": True})
    with np.errstate(all="ignore"):
        compiled(X, dtype)
    assert compiled.graphs
    compiled = capture.compile(partly_written, backend=off("empty", np.zeros_like), options={"verify": True})
    with np.errstate(all="ignore"), pytest.raises(InternalError, match=r"at \(0,\)"):
        compiled(X, dtype)


def of_nothing(x):
    return np.nanmean(x[:0]) + x


def test_warnings_are_given_once():
    compiled = capture.compile(of_nothing, options={"verify": True, "strict": True})
    with pytest.warns(RuntimeWarning) as expected:
        of_nothing(X)
    with pytest.warns(RuntimeWarning) as got:
        compiled(X)
    assert [str(w.message) for w in got] == [str(w.message) for w in expected]


def test_every_bit_counts():
    one, next_one = np.array([1.0]), np.nextafter(np.array([1.0]), 2)
    assert "np.float64(1.0000000000000002) instead of np.float64(1.0) (1 ULP)" in difference(next_one, one)
    assert difference(np.array([-0.0]), np.array([0.0])) is not None
    assert difference(np.array([-0.0j]), np.array([0.0j])) is not None
    assert difference(np.array([np.nan, 1]), np.array([np.nan, 1])) is None
    assert difference(np.array([complex(np.nan, 1)]), np.array([complex(np.nan, 1)])) is None


def test_what_other_runs_gave_is_no_difference():
    slack = Slack(np.array([1.0, 2.0, 0.0]))
    slack.widen(np.array([1.25, 2.0, 1e-300]))
    assert difference(np.array([0.75, 2.0, -0.0]), slack.expected, slack) is None
    assert "at (1,)" in difference(np.array([1.0, np.nextafter(2.0, 3), 0.0]), slack.expected, slack)
    assert "at (0,)" in difference(np.array([1.5, 2.0, 0.0]), slack.expected, slack)
    truth = Slack(np.array([True, False]))
    truth.widen(np.array([False, False]))
    assert difference(np.array([False, False]), truth.expected, truth) is None
    assert "at (1,)" in difference(np.array([True, True]), truth.expected, truth)


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
