"""Context managers made of generators, inside captured code."""

import contextlib

import pytest

import capture
from tests.helpers import captured, numbers


@pytest.fixture(autouse=True)
def nothing_is_known_of_frames():
    capture.reset()


@contextlib.contextmanager
def scaled(x, scale=2.0):
    y = x * scale
    try:
        yield y
    finally:
        y += 1


@contextlib.contextmanager
def noting(log, name):
    log.append(("enter", name))
    yield name
    log.append(("leave", name))


@contextlib.contextmanager
def swallowing(*kinds):
    try:
        yield
    except kinds:
        print(end="")


@contextlib.contextmanager
def printing(x):
    print("enter")
    y = x * 2
    try:
        yield y
    except ValueError as error:
        print("caught", error)
    finally:
        print("leave", y[0])


def plainly(x, y=None):
    with scaled(x) as y:
        z = y * 3
    return z + y


def with_keywords(x, y=None):
    with scaled(x, scale=3.0) as y, scaled(y) as z:
        return y + z


def noted(x, y=None):
    log = []
    with noting(log, "a"), noting(log, "b") as name:
        x = x * 2
        log.append(name)
    return x + len(log), log


def swallows(x, y=None):
    with swallowing(ValueError, KeyError):
        x = x * 2
        raise KeyError("gone")
    return x + 1


def does_not_swallow(x, y=None):
    try:
        with swallowing(ValueError):
            x = x * 2
            raise KeyError("gone")
    except KeyError:
        x = x + 1
    return x * 3


def breaks_inside(x, y=None):
    with scaled(x) as y:
        z = y * 3
        print("inside")
        z = z + 1
    return z + y


def prints_in_manager(x, y=None):
    with printing(x) as y:
        z = y + 1
    return z * 2


def raises_through(x, y=None):
    with printing(x) as y:
        z = y + 1
        raise ValueError(z.shape)
    return x - 1


def in_a_loop(x, y=None):
    for k in range(3):
        with scaled(x, k + 1.0) as y:
            x = y * 0.5
    return x


def made_before(x, y=None):
    manager = scaled(x)
    x = x + 1
    with manager as y:
        return x * y


def decorates(x, y=None):
    @swallowing(ValueError)
    def inner(y):
        return y * 2

    return inner(x) + 1


def used_twice(x, y=None):
    manager = scaled(x)
    with manager as y:
        x = x + y
    try:
        with manager:
            pass
    except (RuntimeError, AttributeError) as error:
        return x, type(error).__name__


GRAPHS = {
    plainly: 1,
    with_keywords: 1,
    noted: 1,
    in_a_loop: 1,
    made_before: 1,
}
OTHERS = (swallows, does_not_swallow, breaks_inside, prints_in_manager, raises_through, decorates, used_twice)


@pytest.mark.parametrize("function", GRAPHS, ids=lambda function: function.__name__)
def test_managers_of_generators_are_inlined(function):
    run = captured(function)
    for _ in range(2):
        run.on(lambda: (numbers(3),))
    assert (run.graphs, run.breaks) == (GRAPHS[function], [])


@pytest.mark.parametrize("function", OTHERS, ids=lambda function: function.__name__)
def test_managers_with_breaks(function):
    run = captured(function)
    for _ in range(2):
        run.on(lambda: (numbers(3),))
    assert run.graphs >= 1


EVERY = 17


@pytest.mark.parametrize("function", [*GRAPHS, *OTHERS], ids=lambda function: function.__name__)
def test_managers_with_breaks_at_a_share_of_all_instructions(function):
    found = {}
    captured(function, force_break=lambda code, index: found.setdefault((code, index))).on(lambda: (numbers(3),))
    for point in list(found)[::EVERY]:
        run = captured(function, force_break=lambda code, index, point=point: (code, index) == point)
        for _ in range(2):
            run.on(lambda: (numbers(3),))
