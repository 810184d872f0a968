"""What is done to programs before they are C: repeated loads, ways that do the same, sines beside cosines."""

import math

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.programs.carrying import with_carried_elements
from capture.inductor.programs.choosing import without_short_decisions
from capture.inductor.programs.circular import find_circular, is_the_same
from capture.inductor.programs.counting import natural_loops
from capture.inductor.programs.peeling import with_ends_apart
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


def last_of_all(x, y):
    t, low = 1.0, 0.0
    for t, u in zip(x, y):  # noqa: B905
        t = t / u
        for k in range(3, 9):
            low = np.sqrt(u - k)
    return t, low


def test_what_only_the_last_round_needs_warns_in_all(recwarn):
    """A compiler would compute it once, behind the loop."""
    run = captured(last_of_all, backend=inductor)
    for x, y in [([1, 0, 2], [2, 0, 3]), ([1, 3, 2], [2, 0, 30]), ([1, 1, 1], [8, 9, 9])]:
        run.on(lambda x=x, y=y: (np.array(x), np.array(y)))
        run.on(lambda x=x, y=y: (np.array(x) * 1.0, np.array(y) * 1.0))
    assert not run.breaks and not run.record.loops


# Elements that are carried -------------------------------------------------------------------------------------------
def spread(u, out, n):
    """What a round writes beside it, the next one reads."""
    for i in range(1, n - 1):
        error = u[i] - 0.5
        u[i + 1] += error * 0.4375
        out[i - 1] += error * 0.1875
        out[i] += error * 0.3125
        out[i + 1] += error * 0.0625
    return u, out


def sorted_by_neighbours(u, out, n):
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if u[j] > u[j + 1]:
                u[j], u[j + 1] = u[j + 1], u[j]
                swapped = True
        if not swapped:
            break
    return u, out


def inserted(u, out, n):
    for i in range(1, n):
        key = u[i]
        j = i - 1
        while j >= 0 and u[j] > key:
            u[j + 1] = u[j]
            j -= 1
        u[j + 1] = key
    return u, out


def summed_in_place(u, out, n):
    """One element of every round, of a loop that may have no rounds."""
    for k in range(n):
        for t in range(k % 7):
            out[k] += u[t] * 2.0
        out[k - 1] = out[k] + out[k - 2]
    return u, out


def written_elsewhere(u, out, n):
    """A place that may be the same, and one that is counted from the end."""
    for i in range(n - 6):
        j = int(out[i] * 1000.0) % 5
        u[i + 1] = u[i] + 1.0
        u[i + j] = 2.0
        out[i - 3] = u[i + 1]
        out[-i] = out[i] + out[i - 3]
    return u, out


def left_early(u, out, n):
    """A number, not a scalar, is stored; a round may end without a store, and the loop before its end."""
    for i in range(n - 1):
        if u[i] > 100.0:
            break
        if out[i] > 0.5:
            u[i + 1] = 3
            continue
        u[i + 1] = u[i] * 0.5
    else:
        out[0] = 7.0
    return u, out


def outside(u, out, n):
    """The place before the first round's does not exist."""
    for i in range(n + 1):
        out[i - 1 + n % 2] = u[i] + out[i - 1]
    return u, out


CARRIED = [spread, sorted_by_neighbours, inserted, summed_in_place, written_elsewhere, left_early, outside]


@pytest.mark.parametrize("function", CARRIED, ids=lambda f: f.__name__)
def test_carried_as_python(function):
    run = captured(function, backend=inductor)
    for seed in range(5):
        run.on(lambda: (np.random.default_rng(seed).standard_normal(20), np.random.default_rng(9).random(20), 20))  # noqa: B023
    for n in (0, 1, 2, 3, 19):
        run.on(lambda: (np.random.default_rng(1).standard_normal(20), np.random.default_rng(9).random(20), n))  # noqa: B023
    assert not run.breaks and not run.record.loops


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i1", "u4", "i8", "u8", "?"])
def test_carried_elements_of_any_dtype(dtype):
    def running(x, n):
        for k in range(n):
            for i in range(1, k):
                x[i] = x[i] | x[i - 1] if dtype in "i1u4i8u8?" else x[i] - x[i - 1]
        return x

    run = captured(running, backend=inductor)
    for n in (0, 1, 7, 12):
        run.on(lambda: (np.random.default_rng(3).integers(0, 90, 12).astype(dtype), n))  # noqa: B023
    assert not run.breaks and not run.record.loops


@pytest.mark.parametrize(
    ("function", "fewer"), [(spread, 3), (sorted_by_neighbours, 1), (inserted, 1), (left_early, 1)]
)
def test_loads_that_are_carried(function, fewer):
    run = captured(function, backend=inductor)
    run.on(lambda: (np.linspace(-1, 1, 20), np.zeros(20), 20))
    chosen = without_short_decisions(without_repeated_loads(program_of(run)))
    carried = with_carried_elements(chosen)
    inside = [count_in_loops(each.program) for each in (chosen, carried)]
    assert inside[0] - inside[1] == fewer


def count_in_loops(program):
    """Loads in blocks of innermost loops."""
    loops = natural_loops(program)
    innermost = [names for head, names in loops.items() if not any(other in names for other in loops if other != head)]
    names = frozenset[str]().union(*innermost)
    return sum(step.target == "load" for block in program.blocks if block.name in names for step in block.steps)


# First and last rounds -----------------------------------------------------------------------------------------------
def around(u, out, n):
    for i in range(n):
        left, right = u[i - 1], u[(i + 1) % n]
        flow = u[i] * (u[i] - left) if u[i] > 0 else u[i] * (right - u[i])
        out[i] = flow + right - left
    return out, i, left


def around_elsewhere(u, out, n):
    """The other end is that of another array, or of another number; what is written is read in the next round."""
    total = 0
    for i in range(n):
        out[i - 1] = u[(i + 2) % (n + 1)] + out[i]
        total += (i + 1) % n + (i + 1) % 7
    return out, total


def around_in_loops(u, out, n):
    for k in range(5):
        for i in range(1, n):
            out[i] += u[i - 2] * k
            if out[i] > 2.0:
                out[i] -= u[(i + 1) % n]
    return out


def around_until(u, out, n):
    for i in range(n):
        if u[i - 1] > 1.0:
            break
        out[i] = u[(i + 1) % n]
    return out, i


ENDS = [around, around_elsewhere, around_in_loops, around_until]


@pytest.mark.parametrize("function", ENDS, ids=lambda f: f.__name__)
def test_ends_as_python(function):
    run = captured(function, backend=inductor)
    for n in (20, 19, 0, 1, 2, 3):
        run.on(lambda: (np.random.default_rng(1).standard_normal(20), np.random.default_rng(9).random(20), n))  # noqa: B023
    assert not run.breaks and not run.record.loops


def test_rounds_apart():
    run = captured(around, backend=inductor)
    run.on(lambda: (np.linspace(-1, 1, 20), np.zeros(20), 20))
    program = program_of(run)
    apart = with_ends_apart(program)
    assert count(apart, "store_at") == 3 and count(program, "store_at") == 1
    assert sum(step.params.get("symbol") == "%" for step in apart.steps) == 2
    assert with_ends_apart(apart) is apart
