"""The programs of the benchmarks: each is one graph, gives NumPy's results, and what stands beside it agrees."""

import numpy as np
import pytest

from tests.benchmarks import apart, clocks, handwritten
from tests.benchmarks.measure import Outcome, close, interval
from tests.benchmarks.programs import BY_NAME, PROGRAMS
from tests.helpers import captured

SMALL = 400


def arguments(program, dtype):
    return program.arguments(np.random.default_rng(0), SMALL, dtype)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_is_one_graph(program):
    for dtype in program.dtypes:
        run = captured(program.function)  # the graph run with NumPy: bit for bit the same
        run(*arguments(program, dtype))
        assert (run.graphs, run.breaks) == (1, [])


def test_names_are_unique_and_there_are_as_many_as_there_should_be():
    assert len(BY_NAME) == len(PROGRAMS) >= 40


@pytest.mark.parametrize("program", filter(lambda p: handwritten.available(p.name), PROGRAMS), ids=lambda p: p.name)
def test_c_by_hand_is_right(program):
    for dtype in program.dtypes:
        args = arguments(program, dtype)
        assert close(handwritten.made(program.name, args)(*args), program.function(*args))


def test_the_interval_of_a_median():
    assert interval([3.0] * 7) == (3.0, 3.0)
    assert interval([1.0, 2, 3, 4, 5, 6, 7]) == (1.0, 7.0)
    low, high = interval([*range(100)])
    assert 35 < low < 45 < 55 < high < 65


def test_the_peak_of_a_fused_chain_is_its_result_however_large_this_process_was():
    before = np.ones(30_000_000)
    assert 0.9 < clocks.peak_in_results(3_000_000) < 1.3
    del before


TOLD = '{"seconds": 1.5, "failure": "", "ratio": 2.0, "interval": [1.0, 3.0]}'


@pytest.mark.parametrize(
    ("out", "kept"),
    [("", 0), (TOLD, 1), (f"note\n{TOLD}\n", 1), (f"{TOLD}\n{TOLD}\n", 2), (f"{TOLD}\n" + TOLD[:20], 1), ("3\n", 0)],
)
def test_sizes_that_a_process_did_before_it_ended_count(out, kept):
    found = apart.read(out, "ended", 2)
    assert found[:kept] == [Outcome(1.5, "", 2.0, (1.0, 3.0))] * kept
    # A ratio that is not there is NaN, which equals nothing: not even itself, where 3.13 compares the fields.
    assert [(outcome.seconds, outcome.failure) for outcome in found[kept:]] == [(None, "ended")] * (2 - kept)


def test_a_contender_in_a_process_of_its_own_tells_of_every_size():
    found = apart.outcomes("capture", "chain", "float32", [100, 1000], 0.01)
    assert [(outcome.failure, outcome.ratio > 0) for outcome in found] == [("", True)] * 2


def test_a_process_that_does_not_come_back_is_ended():
    (found,) = apart.outcomes("capture", "chain", "float32", [100], 0.0, limit=0.01)
    assert found.seconds is None and found.failure.startswith("over ")
