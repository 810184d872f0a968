"""Lists and dicts that have another length at each call: few variants, however long they get."""

import pytest

from tests.helpers import captured, numbers

ONE_FOR_ALL = (
    "l.append(x); l.pop(0); y = x * 2",
    "l.pop(); l.insert(0, x); y = x * 2",
    "y = x * l[0] + l[1]",
    "y = x * d[0] + len([d.get(1), d.get('none')])",
    "l.clear(); y = x * 2",
)
OPEN = (
    "y = x * len(l)",
    "y = x / (len(l) + 1) + len(l)",
    "l.append(x.sum()); y = x * len(l)",
    "l.append(x.sum()); y = (x * 2, len(l), -len(l))",
    "del l[0]; l[0] = len(l); y = x * len(l)",
    "y = (x[: len(l)], x * 2)",
)
"""Statements that use a length as a number; the first length is one variant, all others are another one."""

SETTLED = (
    "y = x * sum(l)",
    "y = x\nfor v in l:\n    y = y + v",
    "y = x * l[len(l) // 2]",
    "l.sort(); y = x * 2",
    "y = x\nfor k in d:\n    y = y + k",
    "y = x * len(d)",
    "y = x * sum(d.values())",
    "y = [x * v for v in l]",
)
"""Statements that need all of it: a variant each for a few lengths, then Python does that."""


def use(statement):
    namespace = {}
    body = "".join(f"    {line}\n" for line in statement.split("\n"))
    exec(f"def function(x, l, d):\n    x = x + 1\n{body}    return y\n", namespace)
    return namespace["function"]


def arguments(count):
    return numbers(40), [float(i) for i in range(count)], dict.fromkeys(range(count), 2.0)


@pytest.mark.parametrize("statement", ONE_FOR_ALL)
def test_lengths_that_nobody_asks_for(statement):
    run = captured(use(statement))
    for count in (3, 4, 5, 2, 30, 300, 3000):
        run(*arguments(count))
    assert (run.graphs, run.breaks, run.misses) == (1, [], [])


@pytest.mark.parametrize("statement", OPEN)
def test_lengths_as_numbers(statement):
    run = captured(use(statement))
    for count in (3, 4, 5, 6, 20, 3, 39, 7):
        run(*arguments(count))
    assert (run.graphs, run.breaks) == (2, [])
    for count in (255, 256, 257, 1000):  # of long ones each length is a variant
        run(*arguments(count))


@pytest.mark.parametrize("statement", SETTLED)
def test_lengths_that_are_needed(statement):
    run = captured(use(statement))
    for count in range(2, 12):
        run(*arguments(count))
    assert {"number"} <= set(run.kinds) <= {"number", "loop"}
    variants, graphs = len(run.record.variants), run.graphs
    assert graphs >= 5
    for count in range(12, 20):
        run(*arguments(count))
    assert (len(run.record.variants), run.graphs) == (variants, graphs)


def test_a_queue_that_fills_and_stays_full():
    def f(x, history):
        history.append(x.sum())
        if len(history) > 5:
            history.pop(0)
        return x / len(history)

    run, history = captured(f), []
    for _ in range(12):
        run(numbers(3), history)
    assert len(history) == 5
    assert (run.graphs, run.breaks) == (3, [])  # empty, filling, full


def test_a_length_in_words():
    def f(x, items):
        return x + 1 if len(items) > 3 else x - 1

    run = captured(f)
    for count in (1, 2, 3, 4, 9):
        run(numbers(3), [0] * count)
    assert run.misses[-1] == "len(items): expected len(items) <= 3, but len(items) is 4"
    assert run.graphs == 3
