"""Code that looks at its variables by name, or has itself watched: as in plain Python, across breaks."""

import sys

import pytest

from tests.helpers import captured, numbers


class Pair:
    def __init__(self):
        self.n, self.m = 10, 20


# Namespaces by name ---------------------------------------------------------------------------------------------------
def makes_locals(x):
    y = x + 1
    exec("z = 3")
    print(y.sum())
    return y, locals().get("z"), sorted(locals())


def keeps_in_locals(x):
    y = x * 2
    locals()["n"] = 5
    print(len(y))
    return y, locals().get("n")


def evaluates(x):
    y = x + 1
    print("break")
    return eval("y * 2 + x"), dir(), vars()["y"] is y


def looks_in_a_loop(x):
    for i in range(3):
        x = x + 1
        exec(f"v{i} = i")
        print(sorted(locals()))
    return x


BY_NAME = [makes_locals, keeps_in_locals, evaluates, looks_in_a_loop]


@pytest.mark.parametrize("function", BY_NAME, ids=lambda f: f.__name__)
def test_variables_by_name(function):
    run = captured(function)
    for _ in range(2):
        run(numbers(3))


def test_a_single_look_is_a_break():
    def f(x, m):
        y = x + 1
        found = sorted(locals())
        return y * 2, found, vars(m)["n"], dir(m)[-1]

    run = captured(f)
    run(numbers(3), Pair())
    assert run.graphs == 2


@pytest.mark.parametrize("name", ["settrace", "setprofile"])
def test_watching_begins_inside(name):
    events = []

    def watch(frame, event, arg):
        if frame.f_code.co_filename == __file__:
            events.append((frame.f_code.co_name, event))
        return watch

    def inner(x):
        return x + 1

    def f(x):
        getattr(sys, name)(None) if x is None else None
        begin = sys.settrace if name == "settrace" else sys.setprofile
        begin(watch)
        y = inner(x)
        begin(None)
        return y * 2

    f(numbers(3))
    expected = list(events)
    events.clear()
    captured(f).entry(numbers(3))
    assert events == expected and expected
