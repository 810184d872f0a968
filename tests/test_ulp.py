"""Mathematical functions are within 4 units of the exact result; ``python -m tests.benchmarks --ulp`` has more."""

import numpy as np
import pytest

from capture.inductor.vocabulary import INEXACT
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
