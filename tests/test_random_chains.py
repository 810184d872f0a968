"""Random programs, compiled, against plain NumPy: bits, types, layouts, flags, sharing, changed arguments, warnings.

Thousands more by ``python -m tests.fuzz_chains COUNT``.
"""

from __future__ import annotations

import pytest

from tests.chains import Program, check, load, make_program

# Lines that once went wrong: of arguments a (float64[3, 4]), b (int16[3, 4]), c (float64 without axes).
KNOWN = (
    "np.asarray(b, dtype=float)",
    "np.roll(a[0], 1)",
    "np.flip(c)",
    "a[:0].reshape(2, -1) + 1",
    "a[:, ::2].ravel()",
    "a.clip(0, 2)",
    "np.clip(a, a - 1, 2.5)",
    "3 / (b != b)",
    "(b & 0) / (b ^ b)",
    "3 / np.zeros_like(a)",
    "np.rint(b.astype(np.int8))",
)
ARGUMENTS = """\
def arguments():
    a = values(1, "float64", (3, 4))
    a[0] = -0.0
    return a, values(2, "int16", (3, 4)), values(3, "float64", ())
"""


@pytest.mark.parametrize("seed", range(40))
def test_random_program(seed):
    check(make_program(seed))


@pytest.mark.parametrize("seed", range(20))
def test_random_program_with_mathematical_functions(seed):
    check(make_program(seed, mathematical=True))


@pytest.mark.parametrize("line", KNOWN)
def test_known_line(line):
    compiled = check(Program(-1, f"def function(a, b, c):\n    return {line},\n", ARGUMENTS))
    assert len(compiled.graphs) == 1


def test_programs_are_made_of_their_seed():
    assert str(make_program(5)) == str(make_program(5)) != str(make_program(6))
    function, make, _ = load(make_program(5))
    assert len(function(*make())) >= 1
