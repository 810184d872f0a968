"""Threads that compile the same function at once: what one relies on may not end with what the other has made."""

import contextlib
import gc
import threading

import numpy as np
import pytest

from capture.frames import resume
from capture.frames.marks import marked
from tests.helpers import captured, numbers

TOGETHER = 3


@marked("disabled")
def left_to_python(x):
    return float(x.sum())


def breaks(x):
    return x * left_to_python(x) + 1


def breaks_in_a_call(x):
    def inner(y):
        return y * left_to_python(y)

    return inner(x + 1) - 1


def breaks_in_a_loop(x):
    total = 0.0
    for row in (x, x + 1):
        with np.errstate(all="ignore"):
            total += left_to_python(row)
    return total * x


@pytest.mark.parametrize("function", [breaks, breaks_in_a_call, breaks_in_a_loop])
@pytest.mark.parametrize("make", ["resume_at", "Assembler.build"])
def test_threads_that_break_at_the_same_place_at_once(function, make, monkeypatch):
    """All of them have begun to make a resume function before the first has ended, as often as they make one."""
    owner, name = (resume, make) if "." not in make else (resume.Assembler, "build")
    plain, ready = getattr(owner, name), threading.Barrier(TOGETHER)

    def together(*args):
        made = plain(*args)
        with contextlib.suppress(threading.BrokenBarrierError):  # some had nothing to make
            ready.wait(10)
        gc.collect()
        return made

    run = captured(function)
    expected, found = function(numbers(3)), []
    monkeypatch.setattr(owner, name, together)

    def call():
        try:
            found.append(run.entry(numbers(3)))
        except BaseException as error:
            found.append(error)
        finally:
            ready.abort()

    threads = [threading.Thread(target=call) for _ in range(TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    assert len(found) == TOGETHER
    for each in found:
        np.testing.assert_array_equal(each, expected)
    run(numbers(3))
    assert run.breaks and run.graphs
