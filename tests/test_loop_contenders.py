"""The race of the corpus of loops: what counts as right, who takes part, what it comes to. Peers need not be there."""

import math
import time

import numpy as np
import pytest

from tests.benchmarks.loops import PROGRAMS, Loops, apart, summary, timing
from tests.benchmarks.loops.agreement import Expected
from tests.benchmarks.loops.contenders import CONTENDERS, Contender, OverTime, at_most, chosen
from tests.benchmarks.loops.timing import Race, Timed


def doubled(x, scratch):
    """Writes both arguments, returns neither."""
    x *= 2.0
    scratch[:] = 1.0
    return float(x.sum())


PROGRAM = Loops(doubled, lambda rng, n: (np.arange(float(n)), np.zeros(n)), (4,), (5,), (6,))


# What is right --------------------------------------------------------------------------------------------------------
def test_a_functional_contender_returns_what_is_written_but_scratch():
    expected = Expected(PROGRAM, "small")
    x, ones = np.array([0.0, 2.0, 4.0, 6.0]), np.ones(4)
    assert expected.agrees_returned((12.0, x, ones))
    assert expected.agrees_returned((12.0, x))
    assert expected.agrees_returned(12.0)
    assert not expected.agrees_returned((12.0, ones))
    assert not expected.agrees_returned((12.0, x, ones, ones))
    assert not expected.agrees_returned(())


def test_another_contender_writes_its_arguments():
    expected = Expected(PROGRAM, "small")
    x, ones = np.array([0.0, 2.0, 4.0, 6.0]), np.ones(4)
    assert expected.agrees(12.0, (x, ones))
    assert not expected.agrees(12.0, (x, 2 * ones))
    assert not expected.agrees(12.5, (x, ones))


def test_a_program_that_returns_nothing_needs_what_it_writes():
    expected = Expected(PROGRAMS["lu"], "small")
    (a,) = PROGRAMS["lu"].arguments("small")
    assert not expected.agrees_returned(None)
    assert not expected.agrees_returned(a)
    PROGRAMS["lu"].function(a)
    assert expected.agrees_returned(a)


# Who takes part -------------------------------------------------------------------------------------------------------
def race(monkeypatch, *ways, **settings):
    monkeypatch.setitem(CONTENDERS, "other", Contender(ways, **settings))
    return Race(PROGRAM, "medium").run(["numpy", "other"], 0.0)["other"]


def test_ways_of_a_contender_are_timed_apart_and_the_fastest_counts(monkeypatch):
    found = race(monkeypatch, lambda program: program.function, lambda program: program.function)
    assert not found.failure and found.ways and all(found.ways)
    assert Timed(ways=[[3.0, 5.0, 4.0], [1.0, 2.0, 9.0]]).seconds == 2.0
    assert Timed().seconds is None


def test_the_first_way_says_why_it_fails(monkeypatch):
    def wrong(program):
        return lambda x, scratch: 0.0

    assert race(monkeypatch, wrong).failure == "Differs: from NumPy"
    assert race(monkeypatch, lambda program: {}["no such name"]).failure == "KeyError: 'no such name'"


def test_another_way_that_fails_is_left_out(monkeypatch):
    found = race(monkeypatch, lambda program: program.function, lambda program: {}["no such name"])
    assert not found.failure and len(found.ways) == 1


def test_what_takes_too_long_is_left_out(monkeypatch):
    def endless(program):
        while True:
            pass

    def slow(program):
        return lambda x, scratch: endless(program)

    assert race(monkeypatch, slow, limit=0.01).failure == "over 0 s to compile"


def test_a_limit_is_said_again_when_it_was_lost():
    caught = 0
    with pytest.raises(OverTime), at_most(0.01):
        try:
            while True:
                time.perf_counter()
        except OverTime:
            caught += 1
            raise
    assert caught == 1
    with at_most(math.inf):
        pass


def test_a_limit_that_was_lost_is_said_at_the_end():
    with pytest.raises(OverTime), at_most(0.01):
        try:
            while True:
                time.perf_counter()
        except OverTime:
            pass


def test_torch_takes_part_only_by_name():
    racing, said = chosen(None)
    assert racing[:2] == ["numpy", "capture"] and "torch" not in racing
    assert any(line.startswith("torch: left out") for line in said)
    assert chosen([])[0] == ["numpy", "capture"]


def test_a_contender_in_a_process_of_its_own():
    found = Timed(**apart.run("numpy", PROGRAMS["crc32"], "small", 0.0))
    assert not found.failure and len(found.ways) == 1 and found.seconds


# What it comes to -----------------------------------------------------------------------------------------------------
def test_summary():
    def timed(seconds):
        return Timed(first=2.0, ways=[[seconds]]) if seconds else Timed(failure="no port")

    rows = {
        "one": {"numpy": timed(8.0), "capture": timed(1.0), "numba": timed(2.0), "jax": timed(4.0)},
        "two": {"numpy": timed(8.0), "capture": timed(2.0), "numba": timed(1.0), "jax": timed(None)},
    }
    names = list(rows["one"])
    assert summary.row("one", rows["one"]) == "| one | 8000.00 | 8.00 | 4.00 | 2.00 | 1.00 |"
    assert summary.summary(rows, names) == [
        "geometric mean of capture: 5.66 times NumPy; 2 of 2 programs run, 5.66 over these, first call 2.00 s",
        "geometric mean of numba: 5.66 times NumPy; 2 of 2 programs run, 5.66 over these, first call 2.00 s",
        "geometric mean of jax: 1.41 times NumPy; 1 of 2 programs run, 2.00 over these, first call 2.00 s",
        "at least as fast as numba on 1 of 2 programs, within a tenth on 0 more; slower for certain on 1",
        "at least as fast as jax on 1 of 1 programs, within a tenth on 0 more; slower for certain on 0",
        "at least as fast as the best of numpy, numba, jax on 1 of 2 programs, within a tenth on 0 more; "
        "slower for certain on 1",
        "behind on: two 0.50 (numba)",
        "slower than NumPy: none",
        "compile time of capture: median 0.50 s; over 1 s: none",
    ]
    assert summary.failures(rows) == ["- jax on two: no port"]


@pytest.mark.parametrize(
    ("own", "others", "slower"),
    [
        ([1.0] * 9, [0.98] * 9, False),  # less than 3 % behind
        ([1.0] * 9, [0.9] * 9, True),
        ([1.0] * 5 + [0.5] * 4, [0.9] * 9, False),  # its median may be less
        ([1.0] * 9, [0.9] * 5 + [1.0] * 4, False),
        ([1.0], [], False),
    ],
)
def test_slower_for_certain(own, others, slower):
    rows = {"one": {name: Timed(2.0, ways=[times]) for name, times in [("numpy", [8.0]), ("capture", own)]}}
    rows["one"]["numba"] = Timed(2.0, ways=[others])
    (line,) = [line for line in summary.summary(rows, list(rows["one"])) if "the best of" in line]
    assert line.endswith(f"slower for certain on {int(slower)}")


def test_a_hopeless_way_does_not_go_on():
    contender = CONTENDERS["numba"]
    fast, slow = (timing.Way(contender, doubled, [seconds]) for seconds in (1.0, 4.0))
    alone = timing.Way(CONTENDERS["numpy"], doubled, [9.0])
    assert [timing.is_hopeless(way, [fast, slow, alone]) for way in (fast, slow, alone)] == [False, True, False]


def test_ports_give_what_programs_give():
    pytest.importorskip("jax", reason="the package jax is not installed")
    from tests.benchmarks.loops.ports import PORTS

    assert len(PORTS) >= 45
    for name, port in PORTS.items():
        given = port(*CONTENDERS["jax"].place(PROGRAMS[name].arguments("small")))
        assert Expected(PROGRAMS[name], "small").agrees_returned(given), name
