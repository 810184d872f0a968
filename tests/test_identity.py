"""Which objects are one: NumPy returns its argument from some calls and a new view from others."""

import numpy as np
import pytest

import capture
from tests.test_table import build

EXPRESSIONS = """
x | x[:] | x[...] | x.T | x.ravel() | x.reshape(x.shape) | np.reshape(x, x.shape) | x.squeeze() | np.squeeze(x) | x.real
np.real(x) | x.conj() | np.asarray(x) | np.asanyarray(x) | np.ascontiguousarray(x) | np.atleast_1d(x) | np.atleast_2d(x)
x.transpose() | np.transpose(x) | x.swapaxes(0, 0) | np.moveaxis(x, 0, 0) | np.expand_dims(x, 0)[0] | x.copy() | x + 0
x.astype(x.dtype, copy=False) | x.astype(x.dtype) | np.array(x) | np.array(x, copy=False) | +x
np.broadcast_to(x, x.shape) | np.conjugate(x) | x.flatten() | x.view() | np.positive(x) | x[0:]
x.reshape(-1) | np.float64(x)
""".replace("\n", "|")


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.split("|") if e.strip()])
@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_identity_and_sharing(expression, shape):
    function = build(f"identity {expression}", [expression, expression])
    compiled = capture.compile(function)
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    for run in (function, compiled, compiled):
        first, second = run(x, x)
        seen = first is x, second is x, first is second, np.shares_memory(first, x), np.shares_memory(first, second)
        if run is function:
            expected = seen
            flags = first.flags.owndata, first.flags.writeable
        assert seen == expected
        assert (first.flags.owndata, first.flags.writeable) == flags
