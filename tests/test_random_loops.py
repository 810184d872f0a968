"""Random programs of loops, captured, against plain Python; thousands of them by ``python -m tests.fuzz_loops``.

The seeds are fixed, so that what fails here fails everywhere; so much was captured as loop nodes, and what is wrong is
found and cut down.
"""

import functools
from dataclasses import asdict

import pytest

from capture import backends
from tests.random_loops import Failure, Figures, TooLong, check, make_program, shrunk

BATCHES = 8
EACH = 12
FIRST = 700


@functools.cache
def figures(batch, folder):
    """What the programs of a batch gave, or the first failure, cut down."""
    total = Figures()
    for seed in range(FIRST + batch * EACH, FIRST + (batch + 1) * EACH):
        source = make_program(seed)
        try:
            total += check(source, folder)
        except TooLong:
            total += Figures(skipped=1)
        except Failure as failure:
            return f"seed {seed}: {failure}\n\n{shrunk(source, failure.kind, folder)}"
    return total


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("loops")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs(batch, folder):
    found = figures(batch, folder)
    if isinstance(found, str):
        pytest.fail(found, pytrace=False)


def test_enough_was_captured(folder):
    found = [figures(batch, folder) for batch in range(BATCHES)]
    total = sum((each for each in found if isinstance(each, Figures)), Figures())
    least = Figures(programs=80, calls=240, graphs=300, loops=100, whole=12)
    for name, floor in asdict(least).items():
        assert getattr(total, name) >= floor, f"{name}: {total}"
    assert total.skipped < BATCHES * EACH * 0.15 and total.raised < total.calls * 0.6, str(total)


def test_programs_are_made_of_their_seed():
    assert make_program(5) == make_program(5) != make_program(6)
    sums = ("sum()", "mean()", " @ ")
    assert not any(word in make_program(seed, exact=True) for seed in range(40) for word in sums)


def off_by_one(graph, inputs):
    """A backend on which loops give one number too much."""
    run = backends.eager(graph, inputs)
    wrong = any(node.target == "loop" for node in graph.calls)

    def run_wrong(*values):
        results = run(*values)
        return results if results is None or not wrong else tuple(each + 1 for each in results)

    return run_wrong


WRONG = """\
from tests.fuzz_programs.outcome import call
from tests.random_loops import arguments


def main(x, y, m, q, n, k, s):
    z = y + 1
    t = 0.0
    for i in range(n):
        if x[i] > 1:
            t += z[i]
        else:
            m[i, 0] = 2.0
    return t, z


CALLS = [lambda: call(*arguments(1, 10, "f8 f8 f8", "", False))]
"""


def test_what_is_wrong_is_found_and_cut_down(tmp_path):
    check(WRONG, tmp_path)
    with pytest.raises(Failure) as caught:
        check(WRONG, tmp_path, off_by_one)
    smaller = shrunk(WRONG, caught.value.kind, tmp_path, off_by_one)
    assert len(smaller) < len(WRONG) * 0.8 and "for" in smaller and "if" not in smaller
    with pytest.raises(Failure):
        check(smaller, tmp_path, off_by_one)
