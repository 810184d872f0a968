"""Keywords of ufuncs and reductions where NumPy does more than the operation: it converts the old elements of ``out=``,
begins without an identity, lays out what it computes of copies as the originals lie.
"""

from __future__ import annotations

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured

BOTH = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])
OUTS = (
    ("f4", "f8", False), ("f8", "f4", True), ("f4", "c8", False), ("f8", "c16", False), ("f8", "f8", True),
    ("f4", "c16", False), ("f2", "c8", False),
)  # fmt: skip
"""The dtypes of operands and out=, and whether NumPy can convert the old elements without a warning."""


@BOTH
@pytest.mark.parametrize(("dtype", "out", "is_kept"), OUTS)
@pytest.mark.parametrize("name", ["negative", "sqrt", "square"])
def test_old_elements_are_converted(name, dtype, out, is_kept, backend):
    def compute(x, mask, out):
        kept = x * 2
        getattr(np, name)(x, where=mask, out=out)
        return kept, out

    run = captured(compute, backend=backend, options={"math": "numpy"})
    run(np.arange(1, 8).astype(dtype), np.arange(7) % 2 == 0, np.full(7, 1e30).astype(out))
    run(np.arange(0).astype(dtype), np.arange(0) == 0, np.zeros(0, out))
    assert run.graphs
    assert is_kept is not any("old elements" in reason for reason in run.breaks)


WITHOUT_IDENTITY = (
    lambda x, m: np.multiply.reduce(x, initial=None),
    lambda x, m: np.multiply.reduce(x, initial=None, where=m),
    lambda x, m: np.add.reduce(x, initial=None, axis=0),
    lambda x, m: x.sum(initial=None, where=m),
    lambda x, m: np.prod(x, initial=None, axis=-1),
    lambda x, m: np.logical_or.reduce(x, initial=None),
    lambda x, m: np.maximum.reduce(x, initial=None),
    lambda x, m: x.min(initial=None, where=m),
)


@pytest.mark.parametrize("shape", [(0,), (3,), (2, 0), (2, 3)])
@pytest.mark.parametrize("function", WITHOUT_IDENTITY)
def test_reductions_begin_without_an_identity(function, shape):
    run = captured(lambda x, m: (x + 1, function(x, m)))
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    run(x, np.ones(shape, bool))
    assert run.graphs


ORDERS = {
    "repeated rows": lambda: np.broadcast_to(np.ones((1, 3), "u2"), (4, 3)),
    "repeated columns": lambda: np.broadcast_to(np.ones((4, 1), "u2"), (4, 3)),
    "Fortran": lambda: np.ones((4, 3), "u2", order="F"),
    "C": lambda: np.ones((4, 3), "u2"),
    "repeated planes": lambda: np.broadcast_to(np.ones((2, 1, 3), "u2").swapaxes(0, 2), (3, 4, 2)),
}


@BOTH
@pytest.mark.parametrize("layout", ORDERS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "u2"])
def test_results_lie_as_the_operands(layout, dtype, backend):
    run = captured(lambda x: (x + x, np.add(x, x, dtype=dtype), np.negative(x, dtype=dtype)), backend=backend)
    run(ORDERS[layout]())
    assert run.graphs and ("repeated" in layout or not run.breaks)


PLACED = (
    lambda x: np.place(x, x > 0, x[::-1]),
    lambda x: np.place(x, x > 0, x),
    lambda x: np.place(x, x > 0, x.T),
    lambda x: np.place(x[1:], x[1:] > 0, x[:-1]),
    lambda x: np.place(x, x > 0, x * 2),
    lambda x: np.place(x, x > 0, [1, x[0]]),
    lambda x: np.putmask(x, x > 0, x[::-1]),
)


@BOTH
@pytest.mark.parametrize("shape", [(12,), (1, 12), (3, 4)])
@pytest.mark.parametrize("place", PLACED)
def test_places_are_written_while_values_are_read(place, shape, backend):
    def function(x):
        kept = x * 2
        place(x)
        return kept, x + x

    run = captured(function, backend=backend)
    run(np.arange(-3, 9.0).reshape(shape))
    assert run.graphs
