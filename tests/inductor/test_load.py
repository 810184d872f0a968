"""Plans that are kept: another process lowers nothing, and what is not the same graph is not taken for it."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from capture import config
from capture.inductor import cache, load, toolchain
from capture.inductor.load import compile_graph
from tests.inductor.graphs import graph_of

PROGRAM = """
import sys, warnings
import numpy as np, capture

def f(x, y):
    return np.sqrt(x * {factor}) + y, np.argsort(x), (x - x.mean()).sum()

x, y = np.arange(5.0) - 1, np.ones(5)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    found = capture.compile(f)(x, y)
with warnings.catch_warnings(record=True) as expected:
    warnings.simplefilter("always")
    wanted = f(x, y)
assert all(map(np.array_equal, found, wanted, (True, False, False)))
assert [(str(w.message), w.lineno) for w in told] == [(str(w.message), w.lineno) for w in expected] and told
print("capture.inductor.lower" in sys.modules, "jinja2" in sys.modules)
"""


@pytest.fixture
def in_process(tmp_path):
    def run(factor, **variables):
        environment = {**os.environ, "CAPTURE_CACHE_DIR": str(tmp_path), "CAPTURE_STRICT": "0", **variables}
        text = PROGRAM.format(factor=factor)
        command = [sys.executable, "-c", text]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    return run


def test_a_second_process_lowers_nothing(in_process):
    assert in_process(2.0) == ["True", "True"]
    assert in_process(2.0) == ["False", "False"]
    assert in_process(3.0) == ["True", "True"]  # another constant
    assert in_process(2.0, CAPTURE_STRICT="1") == ["True", "True"]


def twice(factor):
    return graph_of(lambda g, x: g.call("multiply", x, factor), np.arange(3.0))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The names under which plans are looked for; what is found is counted by ``made``."""
    names, made = [], []
    monkeypatch.setattr(load, "_make", lambda *given, make=load._make: made.append(1) or make(*given))
    monkeypatch.setattr(cache, "load_entry", lambda name, find=cache.load_entry: names.append(name) or find(name))
    with config.patch(cache_dir=tmp_path, strict=False):
        yield names, made


def test_what_decides_is_in_the_name(kept):
    _, made = kept
    x = np.arange(3.0)
    for factor in (2.0, -2.0, 0.0, -0.0, 2):
        for _ in range(2):
            (result,) = compile_graph(twice(factor))(x)
            np.testing.assert_array_equal(np.signbit(result), np.signbit(x * factor))
    assert len(made) == 5
    compile_graph(twice(2.0), {"fast_math": True})
    assert len(made) == 6
    for _ in range(2):  # these hold addresses
        compile_graph(twice(2.0), {"math": "numpy"})
    assert len(made) == 8


def test_a_plan_that_is_no_data_is_made_each_time(kept, monkeypatch):
    _, made = kept

    def refuse(*given):
        raise pickle.PicklingError("a function without a name")

    monkeypatch.setattr(load.pickle, "dumps", refuse)
    for _ in range(2):
        compile_graph(twice(2.0))(np.arange(3.0))
    assert len(made) == 2


def test_a_change_of_the_package_is_another_name(monkeypatch):
    found = toolchain.find()
    with config.patch(strict=False):
        before = load._name(twice(2.0), found)
        assert before == load._name(twice(2.0), found)
        monkeypatch.setattr(load, "_package", lambda: "another")
        assert before != load._name(twice(2.0), found)
