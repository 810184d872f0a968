"""Mathematical functions are within 4 units of the exact result; ``python -m tests.benchmarks --ulp`` has more."""

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.vocabulary import INEXACT
from tests.helpers import captured
from tests.ulp import REFERENCES, worst

NUMPYS = 0.52
"""What NumPy's own float16 functions are within, which are computed in float32."""


def test_every_inexact_function_has_a_reference():
    assert REFERENCES.keys() == INEXACT


@pytest.mark.parametrize("name", sorted(REFERENCES))
@pytest.mark.parametrize("dtype", ("f2", "f4", "f8"))
def test_error(name, dtype):
    found = worst(name, np.dtype(dtype), 4000)
    assert 0 < found.ulp <= (NUMPYS if dtype == "f2" else 4), found
    assert found.disagreements == 0


@pytest.mark.parametrize("name", ("exp", "exp2"))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_where_results_vanish(name, dtype):
    """Around the smallest number, and far below it; each number in a vector with others, and alone."""
    function, limits = getattr(np, name), np.finfo(dtype)
    inverse = {"exp": np.log, "exp2": np.log2}[name](np.float64(limits.smallest_subnormal))
    around = np.linspace(inverse - 3, inverse + 3, 601)
    around = around[(around < inverse - 1) | (around > inverse)]  # NumPy rounds what is between them to zero, or not
    special = [-np.inf, np.nan, -np.nan, -0.0, 0.0, 1.0, -1e10, limits.min, -limits.smallest_subnormal, np.inf]
    numbers = np.concatenate([around, special, np.repeat(special, 40)]).astype(dtype)
    run = captured(lambda x: function(x), backend=inductor, exact=False)
    found = run(numbers)
    assert run.graphs == 1 and run.breaks == []
    wanted = function(numbers)
    assert np.array_equal(found == 0, wanted == 0) and np.array_equal(np.isnan(found), np.isnan(numbers))
    assert np.array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))
    alone = captured(lambda x: function(x), backend=inductor, exact=False)
    for place in range(490, 520):
        assert np.array_equal(alone(numbers[place : place + 1]) == 0, wanted[place : place + 1] == 0)
