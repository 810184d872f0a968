"""What is done to programs before they are C: repeated loads, ways that do the same, sines beside cosines."""

import math

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.programs.choosing import without_short_decisions
from capture.inductor.programs.circular import find_circular, is_the_same
from capture.inductor.programs.repeating import without_repeated_loads
from tests.helpers import captured


def program_of(run):
    (node,) = [node for graph in run.record.graphs for node in graph if node.target == "loop"]
    return node.params["program"]


def count(program, target):
    return sum(step.target == target for step in program.steps)


def branches(program):
    return sum(len(block.jumps) == 2 for block in program.blocks)


def upwind(u, out, n):
    for i in range(1, n - 1):
        left, right = u[i - 1], u[i + 1]
        if u[i] > 0:  # noqa: SIM108
            flow = u[i] * (u[i] - left)
        else:
            flow = u[i] * (right - u[i])
        out[i] = u[i] - 0.25 * flow
    return out


def stored(u, out, n):
    """What has been written since is read again; of what was stored the value is known."""
    for i in range(1, n - 1):
        out[i] = u[i] * 2.0
        out[i - 1] = out[i] + u[i]
        u[i - 1] = 3.0
        out[i] += u[i - 1] + u[i] + out[i - 1]
        j = int(out[i]) % n
        u[j] = u[j] + u[i] + out[i]
        out[i - 1] = u[i] - u[j]
    return u, out


def shared(u, out, n):
    """Two names of one array."""
    for i in range(1, n - 1):
        before = u[i]
        v = u[::-1]
        v[n - 1 - i] = before + 1.0
        out[i] = u[i] + before
    return u, out


def decided(u, out, n):
    """Loads of one way are not known behind the other; steps that leave do so on their way alone."""
    for i in range(n):
        if u[i] > 0.25:
            k = int(u[i] * 8) + i
            x = u[(k * 3) % n] / 2
        elif u[i] > -0.5:
            k = i * 5
            x = u[(k * 3) % n] / 2
        else:
            x = u[i] + u[n - 1]
            k = 1 // (k - 1000)
        out[i] = x + u[(k * 3) % n] + k
    return out


def circle(u, out, n):
    for i in range(n):
        angle = 2.0 * math.pi * float(u[i]) * i
        out[i] = math.cos(angle) + 2 * math.sin(angle) + math.sin(angle + 1.0)
        if i % 3 == 0:
            out[i] -= math.cos(angle + 1.0)
    return out


PROGRAMS = [upwind, stored, shared, decided, circle]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(function):
    run = captured(function, backend=inductor)
    for seed in range(4):
        run.on(lambda: (np.random.default_rng(seed).standard_normal(20), np.zeros(20), 20))  # noqa: B023
    run.on(lambda: (np.array([np.inf, np.nan, 1.0, -0.0, -5.0] * 4), np.zeros(20), 20))
    assert not run.breaks and not run.record.loops


def test_loads_and_ways():
    run = captured(upwind, backend=inductor)
    run.on(lambda: (np.linspace(-1, 1, 20), np.zeros(20), 20))
    program = program_of(run)
    once = without_repeated_loads(program)
    assert count(program, "load") > count(once, "load") and branches(once) == branches(program)
    assert branches(without_short_decisions(once).program) < branches(once)


def test_a_load_behind_a_store_stays():
    run = captured(shared, backend=inductor)
    run.on(lambda: (np.linspace(-1, 1, 20), np.zeros(20), 20))
    program = program_of(run)
    assert count(without_repeated_loads(program), "load") == count(program, "load")


def test_circles():
    run = captured(circle, backend=inductor)
    run.on(lambda: (np.linspace(-1, 1, 20), np.zeros(20), 20))
    assert len(find_circular(program_of(run))) == (2 if is_the_same() else 0)
