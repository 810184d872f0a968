"""Attributes and methods of Python numbers that change, and small exponents: one variant for all values."""

import numpy as np
import pytest

from tests.helpers import captured, numbers

PROGRAMS = {
    "bit_length": lambda x, n: x * n.bit_length() + (n - 1).bit_length(),
    "bit_count": lambda x, n: x * n.bit_count(),
    "next power of two": lambda x, n: (x * (1 << (n % 100).bit_length()), 1 << (n % 100).bit_length()),
    "power of two": lambda x, n: (x * 2 ** (n % 8), (-3) ** (n % 5) * x, x * (n % 1000 << n % 4), 1000 >> n % 7),
    "parts": lambda x, n: (x * n.real, n.imag, n.numerator * x, n.denominator),
    "conjugate": lambda x, n: n.conjugate() * x,
    "of sizes": lambda x, n: x * len(x).bit_length() * n + x.shape[0].numerator,
}
WHAT_FLOATS_HAVE = {
    "parts": lambda x, t: (x * t.real, t.imag),
    "conjugate": lambda x, t: t.conjugate() * x,
    "is_integer": lambda x, t: (x * t, t.is_integer()),
}
INTS = (5, 17, 0, 1, 2, 3, 1000, 16, 2**31 - 1)
FLOATS = (0.5, 2.0, 3.25, -0.0, 1e30, float("inf"))


@pytest.mark.parametrize("dynamic, most", [(True, 1), (None, 2)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_ints(name, dynamic, most):
    run = captured(PROGRAMS[name], dynamic=dynamic, fullgraph=True)
    for n in INTS:
        run(numbers(n % 100 if name == "of sizes" else 3), n)
    assert run.graphs == len(run.record.variants) == most and not run.breaks


@pytest.mark.parametrize("name", PROGRAMS)
def test_negative_and_large_ints(name):
    run = captured(PROGRAMS[name])
    for n in (-5, -1, 7, -(2**31), 2**40, -(2**53), 2**63, 2**70):
        run(numbers(3), n)


@pytest.mark.parametrize("name", WHAT_FLOATS_HAVE)
def test_floats(name):
    run = captured(WHAT_FLOATS_HAVE[name], fullgraph=True)
    for t in FLOATS:
        run(numbers(3), t)
    assert run.graphs == len(run.record.variants) == 2


LEFT_TO_PYTHON = {
    "to_bytes": lambda x, n: (x + 1, n.to_bytes(4, "big")),
    "as_integer_ratio": lambda x, n: (x + 1, n.as_integer_ratio()),
    "__index__": lambda x, n: (x + 1, n.__index__()),
    "no such attribute": lambda x, n: (x + 1, n.missing),
    "too many arguments": lambda x, n: (x + 1, n.bit_length(2)),
}


@pytest.mark.parametrize("name", LEFT_TO_PYTHON)
def test_what_has_no_rule_ends_the_graph(name):
    run = captured(LEFT_TO_PYTHON[name], dynamic=True)
    for n in INTS:
        run(numbers(3), n)
    assert run.breaks and len(run.entry.variants) == 1


@pytest.mark.parametrize("dynamic, most", [(True, 1), (None, 3)])  # a graph that ends is not made for the first change
def test_padding_to_a_power_of_two(dynamic, most):
    def padded(x):
        n = len(x)
        size = 1 << (n - 1).bit_length()
        y = np.zeros(size)
        y[:n] = x
        return y, size

    run = captured(padded, dynamic=dynamic)
    for n in (5, 17, 1, 2, 3, 1000, 16):
        run(numbers(n))
    assert len(run.entry.variants) == most
