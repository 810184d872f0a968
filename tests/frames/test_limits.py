"""Limits: of how much is evaluated in one go, and of how deep a program may go."""

import sys

import numpy as np
import pytest

from capture.frames import tracer
from tests.helpers import captured, numbers


def rounds_in_rounds(x):
    found = []
    for first in range(40):
        for second in range(40):
            found.append((first, second))
    return x * 2, found


def listed(x):
    return x * 2, [(a, b, c) for a in range(12) for b in range(12) for c in range(12)]


def counted(n):
    return 1 if n == 0 else counted(n - 1) + counted(n - 1)


def calls_in_calls(x):
    return x * 2, counted(11)


def put_together(x):
    found = {}
    for first in range(40):
        for second in range(40):
            found[first, second] = second
    return x * 2, found


@pytest.mark.parametrize("function", [rounds_in_rounds, listed, calls_in_calls, put_together])
def test_what_multiplies_is_not_evaluated_in_one_go(function, monkeypatch):
    monkeypatch.setattr(tracer, "LONGEST", 3000)
    run = captured(function)
    run(numbers(3))
    run(numbers(4))
    assert run.graphs >= 1
    assert "more than 3000 instructions before a graph is at its end" in run.breaks


def test_a_long_list_is_made_without_a_break():
    def f(x):
        return x * 2, [[first, second] for first in range(30) for second in range(30)]

    run = captured(f)
    run(numbers(3))
    assert (run.graphs, run.breaks) == (1, [])


def test_an_item_is_no_part_of_itself():
    def f(x):
        found = [x * 2]
        other = [found]
        found.append(other)
        return len(found), found[0]

    run = captured(f)
    run(numbers(3))
    assert "a list becomes part of itself" in run.breaks


@pytest.fixture
def low_limit():
    """So little is left that there is no room for more than the program itself."""
    before, depth = sys.getrecursionlimit(), len(list(frames()))

    def lower(levels):
        sys.setrecursionlimit(depth + levels)

    yield lower
    sys.setrecursionlimit(before)


def frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def test_the_limit_of_recursion_is_the_programs_own(low_limit):
    def deeper(x, n):
        return x if n == 0 else deeper(x + 1, n - 1)

    run = captured(deeper)
    low_limit(30)
    run(numbers(3), 5)
    assert run.graphs == 1


def test_a_handler_at_the_limit_of_recursion(low_limit):
    def deeper(x, seen):
        y = x + 1
        try:
            deeper(y, seen)
        except RecursionError:
            seen.append("caught")
        z = y * 2
        return z

    run = captured(deeper)
    low_limit(40)
    run(np.zeros(3), [])
    assert run.graphs >= 2
