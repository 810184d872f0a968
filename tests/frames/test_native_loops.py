"""Loops with a break in them stay native loops: the body is captured once, and every iteration runs it again."""

import numpy as np
import pytest

import capture
from capture.frames import hook
from capture.frames.marks import marked
from tests.helpers import captured, numbers

SHORT, LONG = 80, 400  # both too long to be unrolled


@pytest.fixture(autouse=True)
def nothing_is_known_of_frames():
    hook.reset()


@marked("breaks")
def stop(*args):
    """Ends the graph where it is called."""


def over_range(x, n):
    for _ in range(n):
        x = x * 0.5 + 1
        stop()
        x = x - 0.25
    return x


def over_numbers(x, n):
    total = x
    for k in range(n):
        total = total * 0.5 + k
        stop(k)
    return total


def over_list(x, n):
    for y in [x] * n:
        x = x * 0.5 + y
        stop()
    return x


def over_generator(x, n):
    for y in (x * 0.5 for _ in range(n)):
        x = x * 0.5 + y
        stop()
    return x


def over_dict(x, n):
    for key, y in dict(zip(range(n), [x] * n, strict=True)).items():
        x = x * 0.5 + y
        stop(key)
    return x


def over_zip(x, n):
    for k, y in zip(range(n), [x] * n, strict=True):
        x = x * 0.5 + y
        stop(k)
    return x


def over_enumerate(x, n):
    for k, y in enumerate([x] * n):
        x = x * 0.5 + y
        stop(k)
    return x


def counting(x, n):
    k = 0
    while k < n:
        x = x * 0.5 + 1
        stop()
        k += 1
    return x, k


def nested(x, n):
    for _ in range(n // 8):
        for _ in range(8):
            x = x * 0.5 + 1
            stop()
        x = x + 1
    return x


def inside_with(x, n):
    with np.errstate(all="ignore"):
        for _ in range(n):
            x = x * 0.5 + 1
            stop()
    return x


def with_inside(x, n):
    for _ in range(n):
        with np.errstate(all="ignore"):
            x = x * 0.5 + 1
            stop()
    return x


def try_inside(x, n):
    for k in range(n):
        try:
            x = x * 0.5 + 1
            stop()
            if k % 7 == 3:
                raise ValueError
        except ValueError:
            x = x + 1
            continue
        finally:
            x = x * 0.5
    return x


def leaving(x, n):
    for k in range(2 * n):
        x = x * 0.5 + 1
        stop()
        if k % 3 == 0:
            continue
        x = x - 1
        if k >= n:
            break
    else:
        return None
    return x, k


def returning(x, n):
    k = 0
    while True:
        x = x * 0.5 + 1
        stop()
        k += 1
        if k == n:
            return x


def collecting(x, n):
    found, total = [], 0
    for k in range(n):
        x = x * 0.5 + 1
        stop()
        total += k
        if k % 20 == 0:
            found.append(x)
    return x, found, total


def body(x):
    x = x * 0.5 + 1
    stop()
    return x - 1


def in_a_callee(x, n):
    y = looped(x * 2, n)
    return y + x


def looped(x, n):
    for _ in range(n):
        x = body(x)
    return x


def comprehension(x, n):
    return [stop() or x * k for k in range(n)][-1] + 1


def through_closure(x, n):
    scale = x * 0.5

    def step(y):
        stop()
        return y * 0.5 + scale

    for _ in range(n):
        x = step(x)
    return x


def deciding(x, n):
    count = 0
    for _ in range(n):
        x = x * 0.5 + 1
        if x.sum() > 5:
            x = x * 0.25
            count += 1
    return x, count


LOOPS = [
    over_range, over_numbers, over_list, over_generator, over_dict, over_zip, over_enumerate, counting, nested,
    inside_with, with_inside, try_inside, leaving, returning, collecting, in_a_callee, comprehension, through_closure,
    deciding,
]  # fmt: skip


@pytest.mark.parametrize("function", LOOPS, ids=lambda function: function.__name__)
def test_more_rounds_capture_nothing_more(function):
    few, many = captured(function), captured(function)
    few(numbers(3), SHORT)
    hook.reset()
    many(numbers(3), LONG)
    assert many.graphs == few.graphs > 0
    assert len(many.record.variants) == len(few.record.variants) < 20
    assert len(many.record.resumes) == len(few.record.resumes) < 12
    many(numbers(3), LONG)
    assert many.graphs == few.graphs
    assert many.record.limits == []


def test_a_loop_neither_nests_nor_stops():
    """Far more rounds than there is room for frames."""
    run = captured(over_range)
    run(numbers(3), 20_000)
    assert run.graphs <= 3


def test_the_body_is_captured_again_where_its_types_change():
    def changing(x, n):
        for k in range(n):
            stop()
            x = x + (1 if k < 100 else 0.5)
        return x

    run = captured(changing)
    run(np.arange(3), 200)
    assert run.graphs <= 6
    assert any("expected int64, got float64" in miss for miss in run.misses)
    graphs = run.graphs
    run(np.arange(3), 300)
    assert run.graphs == graphs


def _growing(x, n):
    for _ in range(n):
        stop()
        x = np.append(x, 1.0)
    return x


def test_sizes_that_change_in_every_round_are_symbols():
    run = captured(_growing)
    run(numbers(3), 10)
    graphs = run.graphs
    run(numbers(3), 50)
    assert (graphs, run.graphs, run.record.limits) == (2, 2, [])


def test_sizes_that_change_in_every_round_come_to_the_limit_where_they_are_constants():
    run = captured(_growing, dynamic=False)
    with pytest.warns(capture.errors.RecompileLimitWarning, match=r"x\.shape\[0\]: expected"):
        run.entry(numbers(3), 200)
    assert len(run.record.limits) == 1


def test_a_million_rounds():
    """By the public name, as plain as can be."""

    @capture.compile
    def plainly(x, n):
        for _ in range(n):
            capture.graph_break()
            x = x * 0.5
        return x

    assert plainly(numbers(3), 1_000_000).tolist() == [0, 0, 0]
    assert len(plainly.graphs) <= 3
