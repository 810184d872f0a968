"""Random programs, captured, against plain Python; hours of it by ``python -m tests.fuzz_programs --minutes N``.

The seeds are fixed, so that what fails here fails everywhere. The tests at the end make sure that it means something:
so much was captured, broken and compiled again, and programs that go wrong are found and cut down.
"""

from __future__ import annotations

import functools

import pytest

from capture import backends
from tests.fuzz_programs.campaign import make_program, shrunk
from tests.fuzz_programs.check import MODES, Failure, Figures, Mode, check
from tests.fuzz_programs.forms import forms
from tests.fuzz_programs.grammar import PLACEHOLDER, READ_ONLY
from tests.fuzz_programs.modules import make_module
from tests.fuzz_programs.outcome import Program, difference
from tests.fuzz_programs.shrink import shrink

SEEDS = {"eager": range(100, 122), "forced": range(200, 206), "inductor": range(300, 304)}
FLOORS = {
    "eager": {"programs": 18, "calls": 90, "graphs": 100, "operations": 400, "instructions": 20_000},
    "forced": {"programs": 5, "calls": 20, "graphs": 30, "operations": 60, "instructions": 5000},
    "inductor": {"programs": 3, "calls": 15, "graphs": 20, "operations": 60, "instructions": 3000},
}
"""What all programs of a mode capture, at least."""
BREAKS = {"eager": 150, "forced": 100, "inductor": 30}
RECOMPILES = {"eager": 150, "forced": 60, "inductor": 30}


@functools.cache
def figures(mode, seed, folder):
    made = make_program(seed, MODES[mode])
    if made is None:
        return Figures()
    try:
        return check(made.source, MODES[mode], folder)
    except Failure as failure:
        smaller = shrunk(made.source, MODES[mode], failure.kind, folder)
        return f"seed {seed}, mode {mode}: {failure}\n\n{smaller}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.mark.parametrize(("mode", "seed"), [(mode, seed) for mode, seeds in SEEDS.items() for seed in seeds])
def test_random_program(mode, seed, folder):
    found = figures(mode, seed, folder)
    if isinstance(found, str):
        pytest.fail(found, pytrace=False)


@pytest.mark.parametrize("mode", SEEDS)
def test_enough_was_captured(mode, folder):
    found = [figures(mode, seed, folder) for seed in SEEDS[mode]]
    total = sum((one for one in found if isinstance(one, Figures)), Figures())
    floors = {**FLOORS[mode], "breaks": BREAKS[mode], "recompiles": RECOMPILES[mode]}
    for name, floor in floors.items():
        assert getattr(total, name) >= floor, f"{name}: {total}"
    assert total.raised < total.calls * 0.7, str(total)


def test_programs_are_made_of_their_seed():
    mode = MODES["eager"]
    first, again, other = (make_program(seed, mode) for seed in (3, 3, 4))
    assert first.source == again.source != other.source


def test_every_statement_is_used():
    names = {form.name for form in forms(exact=True).statements}
    assert len(names) > 35
    used = set()
    for seed in range(60):
        used |= set(make_module(seed, exact=True).used)
    assert names <= used


def test_forms_name_what_there_is():
    """A label is given before it is used, a kind is one that has expressions."""
    found = forms(exact=False)
    kinds = {*found.expressions, *READ_ONLY, "me", "return", "yield", "body", "loop", "function"}
    texts = ["\n".join(form.lines) for form in found.statements]
    for text in [*texts, *(form for rows in found.expressions.values() for form in rows)]:
        labels = set()
        placeholders = sorted(PLACEHOLDER.finditer(text), key=lambda match: match[1] != "~")
        for match in placeholders if text not in texts else PLACEHOLDER.finditer(text):
            assert match[2] in kinds if match[2] else match[4] in labels, (text, match[0])
            labels.add(match[4])


def off_by_one(graph, inputs):
    """A backend that adds one where two arrays are subtracted."""
    run = backends.eager(graph, inputs)
    wrong = any(node.op.name == "subtract" for node in graph.calls)

    def run_wrong(*arrays):
        results = run(*arrays)
        return results if results is None or not wrong else (*results[:-1], results[-1] + 1)

    return run_wrong


WRONG = """\
import numpy as np
from tests.fuzz_programs.outcome import call, values


def helper(x, y):
    for _ in range(3):
        if y > 1:
            x = x - y
    return [x, y]


def main(x, y):
    try:
        z = helper(x, y)[0]
        print(z.shape)
    finally:
        y += 1
    return z, y


CALLS = [lambda: call(values(1, 'float64', (3,)), 2), lambda: call(values(2, 'int64', (3,)), 3)]
"""


def test_what_is_wrong_is_found_and_cut_down(tmp_path):
    mode = Mode("wrong", off_by_one)
    with pytest.raises(Failure) as caught:
        check(WRONG, mode, tmp_path)
    smaller = shrunk(WRONG, mode, caught.value.kind, tmp_path)
    assert len(smaller) < len(WRONG) * 0.6 and " - " in smaller and "print" not in smaller
    with pytest.raises(Failure):
        check(smaller, mode, tmp_path)


DIFFERENT = {
    "error": ("raise ValueError(1)", "raise KeyError(1)"),
    "error of another line": ("raise ValueError(1)", "\n    raise ValueError(1)"),
    "result": ("return 1", "return 1.0"),
    "args": ("x += 1", "x += 2"),
    "globals": ("GLOBAL.append(1)", "GLOBAL.append(2)"),
    "sharing": ("return x[:]", "return x.copy()[:]"),
    "identity": ("return x, x", "return x, x[:]"),
    "output": ("print(1)", "print(2)"),
    "warnings": ("np.float64(1) / 0", "np.float64(0) / 0"),
    "left over": ("return (n for n in range(3))", "return (n for n in range(4))"),
    "closure": ("n = 1\n    return lambda: n", "n = 2\n    return lambda: n"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_every_part_of_an_outcome_is_compared(what):
    right, wrong = DIFFERENT[what]
    text = "import numpy as np\nfrom tests.fuzz_programs.outcome import call\nGLOBAL = []\n\n\ndef main(x):\n    {}\n"
    text += "CALLS = [lambda: call(np.ones(3))]\n"
    one, same, other = (next(Program(text.format(line), "program.py").outcomes()) for line in (right, right, wrong))
    assert difference(same, one) == ""
    assert difference(other, one)


def test_shrinking():
    source = "def f(a, b):\n    if a:\n        for i in b:\n            c = (i, [2, a + 3])\n    return c\n"
    assert shrink(source, lambda text: "3" in text) == "def f():\n    c = 3\n"
