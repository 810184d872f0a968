"""Calls of NumPy's functions on odd operands, and what that has found."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured
from tests.odd_calls import differences


def test_a_share_of_all():
    assert list(differences(share=0.1, seed=1)) == []


def test_a_few_kernels():
    assert list(differences(share=0.005, seed=2, backend=inductor)) == []


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.divmod(x, x),
        lambda x: np.divmod(x, True),
        lambda x: np.flipud(x[0]),
        lambda x: np.flipud(np.array(3)),
        lambda x: np.fliplr(x),
        lambda x: x[:1].squeeze().reshape(),
        lambda x: x[:1].reshape(()),
        lambda x: np.add.outer([1, 2], x),
        lambda x: np.subtract.outer(x, [[1], [2]]),
    ],
)
@pytest.mark.parametrize("dtype", ["?", "i1", "f8"])
def test_found(function, dtype):
    run = captured(function, backend=eager)
    run(np.array([1, 0, 1]).astype(dtype))
    assert run.graphs or run.breaks
