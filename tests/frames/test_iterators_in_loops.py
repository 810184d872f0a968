"""Iterators that somebody else has when a loop takes them: what is left of them afterwards is as in Python."""

import numpy as np
import pytest

from capture.backends import eager
from tests.helpers import captured

X = np.arange(20.0)


def what_is_left_of_an_enumerated(x):
    it, total = iter(x), 0.0
    for i, v in enumerate(it):
        total = total + v * i
    return total, list(it)


def what_is_left_of_a_zipped(x):
    it, total = iter(x), 0.0
    for i, v in zip(range(5), it, strict=False):
        total = total + v * i
    return total, list(it)


def what_is_left_of_a_range(x):
    it, total = iter(range(30)), 0.0
    for i, v in zip(it, x, strict=False):
        total = total + v * i
    return total, list(it)


def handed_to_a_function(x):
    def total_of(pairs):
        total = 0.0
        for i, v in pairs:
            total = total + v * i
        return total

    it = enumerate(x)
    return total_of(it), list(it)


def left_and_taken_up(x):
    it, total = iter(x), 0.0
    for v in it:
        total = total + v
        if total > 10:
            break
    return total, np.array([v + 1 for v in it])


def in_a_list(x):
    held, total = [iter(x)], 0.0
    for v in held[0]:
        total = total + v
        if total > 10:
            break
    return total, np.array([v + 1 for v in held[0]])


def comprehended(x):
    it = iter(x)
    return np.array([v * 2 for v in it]), list(it)


def gone_through_in_each_round(x):
    it, total, rounds = iter(x), 0.0, 0
    for i in range(10):
        rounds += 1
        for v in it:
            total = total + v * i + 1
    return total, rounds


def enumerated_in_each_round(x):
    it, total = iter(x), 0.0
    for i in range(10):
        for j, v in enumerate(it):
            total = total + v * j + i
    return total


def zipped_in_each_round(x):
    it, total = iter(range(20)), 0.0
    for i in range(10):
        for j, v in zip(range(3), it, strict=False):
            total = total + v * j + x[i]
    return total


def listed_in_each_round(x):
    held, total = [iter(x)], 0.0
    for i in range(10):
        for v in held[0]:
            total = total + v * i
    return total


def one_by_one(x):
    it, total = iter(x), 0.0

    def following():
        for v in it:
            return v
        return 0.0

    for i in range(10):
        total = total + following() * i
    return total


PROGRAMS = [what_is_left_of_an_enumerated, what_is_left_of_a_zipped, what_is_left_of_a_range, handed_to_a_function,
            left_and_taken_up, in_a_list, comprehended, gone_through_in_each_round, enumerated_in_each_round,
            zipped_in_each_round, listed_in_each_round, one_by_one]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_iterators_of_others(function):
    run = captured(function, backend=eager)
    run(X)
    run(X)
    assert run.graphs
