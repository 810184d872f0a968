"""Arrays whose axes repeat one element are not contiguous, and divmod by bools has NumPy's dtype."""

import numpy as np
import pytest

from capture.backends import inductor
from tests.helpers import captured


@pytest.mark.parametrize("order", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("shape", [(4,), (3, 1), (2, 3)])
def test_a_broadcast_array_is_copied(order, shape):
    run = captured(lambda x: order(x), backend=inductor)
    run.on(lambda: (np.broadcast_to(np.ones(1), shape),))
    assert run.graphs == 1


def test_divmod_by_bools():
    run = captured(lambda x, y: (divmod(x, y), x + 1), backend=inductor)
    run(np.array([True, False]), np.array([True, True]))
    assert run.graphs >= 1
