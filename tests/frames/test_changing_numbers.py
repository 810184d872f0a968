"""Python numbers that change from call to call: which variants they make, and that nobody can tell."""

import itertools
import math

import numpy as np
import pytest

from capture import backends
from capture.frames.guards import NumberIs
from tests.helpers import captured, eager, numbers

BACKENDS = {"eager": eager, "inductor": backends.find_backend("inductor")}

OPERATIONS = {
    "sum": lambda x, n: x + n,
    "left": lambda x, n: n - x,
    "product": lambda x, n: n * x,
    "quotient": lambda x, n: (x / n, n / x),
    "floor": lambda x, n: (x // n, x % n),
    "power": lambda x, n: x**n,
    "np.power": lambda x, n: np.power(x, n),
    "comparison": lambda x, n: (x < n, n == x, x != n),
    "bits": lambda x, n: x & n,
    "ufunc": lambda x, n: np.maximum(x, n) + np.sqrt(n + n),
    "number alone": lambda x, n: (np.exp(n / 1000), x + 1),
    "where": lambda x, n: np.where(x > 1, x, n),
    "clip": lambda x, n: np.clip(x, 1, n),
    "full": lambda x, n: np.full(3, n) + x,
    "store": lambda x, n: x.__setitem__(0, n),
    "scalar": lambda x, n: x.sum() * n + x[0] * n,
    "in place": lambda x, n: x.__imul__(n),
    "array of": lambda x, n: np.array([n, n + 1]) + x[:2],
    "arithmetic": lambda x, n: x * (n + 1) + x * (n * 2 - 3) - x * (-n),
    "division": lambda x, n: x * (n / 7) + x * (n // 2) + x * (n % 5),
    "builtins": lambda x, n: x * abs(n) + x * float(n),
    "compared": lambda x, n: (x + 1, n < 5, n == 2),
    "branch": lambda x, n: x + 1 if n > 2 else x - 1,
    "index": lambda x, n: x[n % 3] if type(n) is int else x,
    "returned": lambda x, n: (x * n, n, n + 1, [n]),
    "formatted": lambda x, n: (x + 1, f"{n}", str(n)),
    "truth": lambda x, n: x + 1 if n else x,
    "container": lambda x, n: sum([x, n, n]),
    "shape": lambda x, n: np.ones(abs(int(n)) % 4) + 1,
    "same": lambda x, n: (n is n, n + 1 is n, x + 1),
}  # fmt: skip
VALUES = [
    (2, 3, 5, 2, 11),
    (0, -1, 7, -5),
    (1, 300, 2**31, -(2**31), 2**53, 2**53 + 1, 2**64),
    (0.5, 1.5, 2.5, -1.0, 0.0, -0.0),
    (1.0, float("nan"), float("inf"), 1e300, 1e-310, 1e39, -1e-40),
    (2, 3, 2.0, 3.0, True, 3),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name, backend):
    """Each number after each other, with arrays of several dtypes; kernels, which take longer, with half of them."""
    cases = itertools.product(enumerate(("f8", "f4", "i8", "i4", "u1", "?")), enumerate(VALUES))
    for (place, dtype), (row, values) in cases:
        if backend == "inductor" and (place + row) % 2:
            continue
        run = captured(OPERATIONS[name], backend=BACKENDS[backend], exact=backend == "eager")
        with np.errstate(all="ignore" if backend == "eager" else "warn", under="ignore"):
            for value in values:
                run(numbers(3, dtype=dtype), value)


@pytest.mark.parametrize("name", ["sum", "product", "ufunc", "arithmetic", "division", "builtins", "returned"])
@pytest.mark.parametrize("values", [range(20), [k / 4 for k in range(20)]], ids=["ints", "floats"])
def test_two_variants_for_all(name, values):
    run = captured(OPERATIONS[name], fullgraph=True)
    for value in values:
        run(numbers(3), value)
    assert run.graphs == len(run.record.variants) == 2


COMPARED = ("3.0", "3.5", "-0.5", "-0.0", "2**53 + 0.0", "1e300", "float('inf')", "-float('inf')", "float('nan')")


@pytest.mark.parametrize("number", COMPARED)
@pytest.mark.parametrize("comparison", ["n == k", "n != k", "n < k", "n <= k", "n > k", "n >= k", "k < n", "k >= n"])
def test_ints_against_floats(comparison, number):
    def function(x, n):
        return (x + 1 if compare(n) else x - 1), compare(len(x))

    compare = eval(f"lambda n: {comparison}".replace("k", f"({number})"))
    run = captured(function, dynamic=True, options={"recompile_limit": 50})
    for n in (7, 3, 4, 2, 0, -1, 3, 2**53, 100):
        run(numbers(abs(n) % 11), n)
    assert run.graphs >= 1
    if abs(eval(number)) < 1e18:
        assert run.breaks == [] and run.graphs <= 9


def test_whole_roots():
    run = captured(lambda x, n: (x + math.isqrt(n), math.isqrt(len(x))), dynamic=True, fullgraph=True)
    for n in (7, 0, 1, 24, 25, 2**31 - 1):
        run(numbers(n % 29), n)
    assert run.graphs == 1


SCHEDULES = {  # of a step counter
    "warm up": lambda x, k: x * min(1.0, (k + 1) / 10),
    "never below": lambda x, k: x * max(0.1, 1 - k / 30),
    "cosine": lambda x, k: x * 0.5 * (1 + math.cos(math.pi * k / 20)),
    "inverse root": lambda x, k: x * 0.1 / math.sqrt(k + 1),
    "exponential": lambda x, k: (x * math.exp(-k / 10), x * 2.0**-k, x * 10.0 ** (-k / 5)),
    "polynomial": lambda x, k: x * (1 - k / 100) ** 0.9,
    "logarithm": lambda x, k: x / math.log(k + 2),
    "bias": lambda x, k: x * math.sqrt(1 - 0.999 ** (k + 1)) / (1 - 0.9 ** (k + 1)),
    "sign": lambda x, k: x * (-1) ** k,
    "bits": lambda x, k: x[: k & 3] * (k >> 1) + (k << 2) - (~k) + (k | 4) + (k ^ 1),
    "distance": lambda x, k: x[: abs(k - 2)] * abs(k - 5),
    "element": lambda x, k: x[k % 3] * x,
    "filled": lambda x, k: (np.full(3, k / 7), np.full((2, k), 1 / (k + 1)), np.full_like(x, k)),
    "bounds": lambda x, k: (np.clip(x, -k, k), x.clip(0.1 * k, k)),
}  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_cost_one_recompile(name, backend):
    run = captured(SCHEDULES[name], backend=BACKENDS[backend], exact=backend == "eager", fullgraph=True)
    for k in range(3, 20):
        run(numbers(3), k)
    assert run.graphs == 2


def test_what_may_raise_is_left_when_it_does():
    run = captured(lambda x, t: (x * math.log(t), x * math.sqrt(t - 2.0), x * t**0.5))
    for t in (3.5, 4.5, 2.0, 1.5, 0.0, -1.0, math.inf, math.nan, 5.5):
        run(numbers(3), t)
    assert 2 <= run.graphs <= 4


def test_a_number_that_must_be_known():
    run = captured(lambda x, n: x.sum(axis=n) * n, fullgraph=True)
    for n in range(3):
        run(numbers(8).reshape(2, 2, 2), n)
    assert run.misses == ["n: expected 0, got 1", "n: expected 1, got 2"]
    assert run.graphs == 3


def test_a_flag_makes_few_variants_before_it_breaks():
    run = captured(lambda x, n: x * n if n > 3 else x + n)
    for n in range(20):
        run(numbers(3), n)
    assert run.graphs <= 6


def test_floats_of_any_size_stay_out_of_float32():
    run = captured(lambda x, t: x * (t * t))
    for t in (1.0, 2.0, 1e30, 1e-30, 3.0):
        run(numbers(3, dtype=np.float32), t)


def test_guards():
    run = captured(lambda x, n: x * n)
    run(numbers(3), 2)
    run(numbers(3), 3)
    assert "n: is a int within 0 and 2147483647" in run.guards
    for value in (-3, 2**40, 2.5, True, np.float64(2), np.int64(3)):
        run(numbers(3), value)


def test_numbers_from_everywhere():
    """Globals, closures, attributes of containers, defaults."""
    scale = 0

    def f(x, cfg, *, shift=1):
        return x * scale + cfg["lr"] * x + cfg["steps"][0] + shift + RATE

    global RATE
    run = captured(f, fullgraph=True)
    for scale in range(10):
        RATE = scale / 2
        run(numbers(3), {"lr": scale * 0.1, "steps": (scale, 1)}, shift=scale)
    assert run.graphs <= 3


RATE = 0.0


# Loops --------------------------------------------------------------------------------------------------------------
def counted(x, y, n):
    for k in range(n):
        x = x * 0.5 + y * (k + 1)
    return x


def stepped(x, y, n):
    t, dt = 0.0, 1 / n
    while t < 1:
        x = x + y * dt
        t += dt
    return x, t


def with_a_break(x, y, n):
    total = 0
    for k in range(n):
        x = x * 0.5 + y * k
        print(end="")
        total += k
    return x, total


def prints_sometimes(x, y, n):
    k = 0
    while k < n:
        x = x * 0.5 + y * k
        k += 1
        if k % 100 == 0:
            print(k)
    return x


def enumerated(x, y, n):
    for k, item in enumerate([1.5] * n):
        x = x * item / (k + 1) + y
    return x


def zipped(x, y, n):
    for k, (a, b) in enumerate(zip(range(n), range(n, 2 * n), strict=True)):
        x = x / (a + b + k + 1) + y
    return x


def nested_loops(x, y, n):
    for k in range(n // 10):
        for j in range(k % 10):
            x = x * 0.5 + y * (j + k)
    return x


def with_else(x, y, n):
    for k in range(n):
        x = x * 0.5 + y * k
        if k > n:
            break
    else:
        x = x + 1
    return x


def leaves_early(x, y, n):
    for k in range(n):
        x = x * 0.5 + y * k
        if k > n // 2:
            return x, k
    return y, k


def skips(x, y, n):
    for k in range(n):
        if k % 3 == 0:
            continue
        x = x * 0.5 + y * k
    return x


def collects(x, y, n):
    seen, table = [], {}
    for k in range(n):
        x = x * 0.5 + y * k
        seen.append(x.shape)
        table.setdefault(k % 3, []).append(k)
    return x, seen, table


LOOPS = {
    collects: 4,
    counted: 4,
    stepped: 7,
    with_a_break: 4,
    prints_sometimes: 14,
    enumerated: 4,
    zipped: 4,
    nested_loops: 6,
    with_else: 6,
    leaves_early: 6,
    skips: 8,
}


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_loops_neither_recompile_nor_give_up(function):
    run = captured(function)
    for _ in range(2):
        run(numbers(3), numbers(3), 1000)
    assert run.graphs <= LOOPS[function], run.record.breaks
    before = len(run.record.variants), run.graphs
    run(numbers(3), numbers(3), 1000)
    assert (len(run.record.variants), run.graphs) == before
    run(numbers(3), numbers(3), 2000)
    assert run.graphs <= before[1] + 6  # the number of rounds is open now, and each branch on it is a guard
    resumed = [target.entry for target in run.record.resumes.values()]
    assert not any(entry.plain for entry in (run.entry, *resumed))


def test_a_million_iterations():
    run = captured(counted, backend=BACKENDS["inductor"])
    run(numbers(3), numbers(3), 1_000_000)
    assert run.graphs == 1


def test_a_hundred_thousand_iterations_with_a_break():
    run = captured(with_a_break, backend=BACKENDS["inductor"])
    run(numbers(3), numbers(3), 100_000)
    assert run.graphs <= 4


def test_loops_without_arrays():
    def f(n):
        total = 0
        for k in range(n):
            total += k * k % 7
        return total

    run = captured(f)
    for n in range(1000, 1010):
        run(n)
    assert run.graphs == 2  # for the first number of rounds, and for any


def test_range_of_a_number():
    check = NumberIs(0, 10)
    assert check.holds(3) and not check.holds(3.0) and not check.holds(11) and not check.holds(True)
    assert check.why(11) == "expected a int within 0 and 10, got 11"


def update(weights, gradient, step, rate, nesterov):
    scale = rate / (1 + 0.1 * step)
    change = gradient * scale
    if nesterov:
        change = change * 2 + gradient
    return weights - change


def test_a_step_counter_and_a_learning_rate_cost_one_recompile():
    """In a lifetime; a flag has but two values."""
    run = captured(update, fullgraph=True)
    for step in range(1, 200):
        run(numbers(4), numbers(4), step, 0.9**step, False)
    assert run.graphs == len(run.record.variants) == 2
    run(numbers(4), numbers(4), 200, 0.5, True)
    assert run.graphs == 3


DIVISORS = {
    "above": lambda x, n, t: x * (t / (1 + 0.1 * n)),
    "below": lambda x, n, t: x * (t / (-0.5 - n * 2.0)),
    "product": lambda x, n, t: x * (1.5 / ((n + 1) * 0.25)),
    "quotient": lambda x, n, t: x * (t / (3 / (n + 1.5))),
    "rest": lambda x, n, t: x * (t % (n + 0.5)),
}


@pytest.mark.parametrize("name", DIVISORS)
def test_divisors_that_are_never_zero(name):
    run = captured(DIVISORS[name], fullgraph=True)
    for n in range(12):
        run(numbers(3), n, n / 3 - 1)
    assert run.graphs == len(run.record.variants) == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n, t: x * (t / (0.5 * n - 2)),
        lambda x, n, t: x * (t / (n * 1e-200 * 1e-200)),
        lambda x, n, t: x * (t / (1 - 1.0 * n)),
    ],
)
def test_divisors_that_may_be_zero(function):
    run = captured(function)
    for n in (3, 4, 5, 1, 0, 2):
        run(numbers(3), n, 0.5)


# Elements in loops that Python goes round ---------------------------------------------------------------------------
def sums_by_key(x, n):
    found = {}
    for i in range(n):
        found[str(i)] = (x[i] * x).sum()
    return found


def largest_into_elements(x, n):
    rounds = {}
    for i in range(n):
        x[i] = x.max() * 0.5
        rounds[i] = 1
    return x, len(rounds)


def elements_only(x, n):
    found = []
    for i in range(n):
        found.append(float(x[i]) * 2.0 + i)
    return found


def last_elements(x, n):
    found = {}
    for i in range(n):
        found[str(i)] = x * x[-i]
    return found


@pytest.mark.parametrize("function, graphs", [(sums_by_key, 3), (largest_into_elements, 3), (last_elements, 3)])
def test_the_place_of_an_element_is_left_open_after_a_few(function, graphs):
    """And nothing warns of too many variants."""
    run = captured(function)
    for n in (100, 90):
        run.on(lambda n=n: (np.linspace(0.5, 2.0, 100), n))
    assert run.graphs == graphs and not run.record.limits


def test_elements_alone_are_left_to_python():
    run = captured(elements_only)
    for n in (100, 90):
        run.on(lambda n=n: (np.linspace(0.5, 2.0, 100), n))
    assert run.graphs == 2 and not run.record.limits


def test_a_place_that_is_out_of_bounds_raises_as_in_python():
    run = captured(sums_by_key)
    run.on(lambda: (np.linspace(0.5, 2.0, 100), 100))
    run.on(lambda: (np.linspace(0.5, 2.0, 100), 101))
    run.on(lambda: (np.linspace(0.5, 2.0, 80), 100))


def sum_by(iterate, x, n):
    total = 0.0
    for item in iterate(n):
        i = item[0] if type(item) is tuple else item
        total = total + x[i % 3] * i
    return total


def in_a_loop(x, n):
    total = 0.0
    for k in range(5):
        for i in range(k, 9, n):
            total = total + x[i % 3] * k
    return total


STEPS = {
    "loops": lambda x, n: sum_by(lambda n: range(0, 40, n), x, n),
    "loops over open bounds": lambda x, n: sum_by(lambda n: range(n, 30 + n, n), x, n),
    "enumerated": lambda x, n: sum_by(lambda n: enumerate(range(0, 40, n)), x, n),
    "zipped": lambda x, n: sum_by(lambda n: zip(range(0, 40, n), range(50), strict=False), x, n),
    "within a loop": in_a_loop,
    "up": lambda x, n: x * np.arange(0, 10, n).sum(),
    "down": lambda x, n: x + np.arange(10, 0, -n)[0],
    "all three": lambda x, n: (x, np.arange(n, 3 * n, n)),
    "floats": lambda x, n: (x, np.arange(0.0, 3, n), np.arange(0.5, n, n)),
    "an index": lambda x, n: x[np.arange(0, 5, n)],
    "of slices": lambda x, n: (x[::n], x[::-n], np.insert(x, slice(1, -2, -n), []), np.r_[0:10:n]),
    "of ranges": lambda x, n: ([x[i] for i in range(0, 4, n)], list(range(0, 9, n)), "abcdef"[::n]),
}


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("name", STEPS)
def test_steps_that_change(name, dynamic):
    run = captured(STEPS[name], dynamic=dynamic)
    for n in (2, 3, 1, -1, 5, 0):
        run(numbers(6), n)
    assert run.graphs or run.breaks
