"""Comparisons of Python numbers that change, used as numbers: a guard says what they come to, and they are bools."""

import math

import numpy as np
import pytest

from tests.helpers import captured, numbers

PROGRAMS = {
    "builtins": lambda x, n, b: (x * n, max(b, 2), min(b, 1), abs(b), int(b), float(b), round(b), max(b, n)),
    "functions": lambda x, n, b: (x * n, math.sqrt(b), math.floor(b), math.hypot(b, n)),
    "operators": lambda x, n, b: (x * n, b + n, b - 1, b * 2.5, b**2, b // 1, b << 2, b ^ (n > 2), b & True, ~int(b)),
    "comparisons": lambda x, n, b: (x * n, b < n, b == n, b == (n > 2), b is True, b >= 0.5),
    "an operand of arrays": lambda x, n, b: (x * b, x + n + b, np.where(b, x, n), max(b, n) * x, b * x.sum()),
    "a place": lambda x, n, b: (x[b], x[b:] * n, [1, 2][b], {True: 3}.get(b), "ab"[b]),
    "with what is computed": lambda x, n, b: (int(x[1] > 1) + b, min(b, float(x[0])), abs(b - int(x[0])) * b),
    "text": lambda x, n, b: (x * n, f"{b} {b:d}", str(b), b.bit_length(), divmod(b, 2), complex(b), type(b)),
}
VALUES = (5, 3, 4, 1, 1000, 2)


@pytest.mark.parametrize("compared", [lambda x, n: n == 3, lambda x, n: n + 1 > 4, lambda x, n: x.shape[0] > n])
@pytest.mark.parametrize("name", PROGRAMS)
def test_comparisons_are_numbers(name, compared):
    program = PROGRAMS[name]

    def f(x, n):
        return program(x, n, compared(x, n))

    run = captured(f, dynamic=True)
    for n in VALUES:
        run(numbers(4), n)
    assert 1 <= len(run.entry.variants) <= len(VALUES) / 2 + 1


def in_a_sum(x, n, b):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * b
        if b:
            total += 1
    return total


def replaced_in_a_round(x, n, b):
    count = 0
    for i in range(x.shape[0]):
        count = count + b
        b = x[i] > n
    return count, b


def the_larger_one(x, n, b):
    best = 0
    for i in range(x.shape[0]):
        best = max(best, int(b), i * b)
    return best


@pytest.mark.parametrize("program", [in_a_sum, replaced_in_a_round, the_larger_one])
def test_comparisons_in_loops(program):
    def f(x, n):
        return program(x, n, n == 3)

    run = captured(f, dynamic=True, fullgraph=True)
    for n in VALUES:
        for size in (9, 8, 10):
            run(numbers(size), n)
    assert run.graphs
