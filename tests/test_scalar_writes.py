"""NumPy scalars of other integer dtypes that are written to elements: NumPy makes a Python int of them on the way to
signed integers, which raises where it does not fit, and wraps them around everywhere else.
"""

from __future__ import annotations

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured

BY_PYTHON = (
    "x[...] = v", "x[:] = v", "x[0] = v", "x[-1:,] = v", "x[:0] = v", "x[i] = v", "x[:] = y[0]", "x[1:][...] = v",
    "x[:] = v * 1", "x.fill(v)", "x[:] = [v, v]", "x.flat[0] = v", "x = np.asarray([v, v], x.dtype)",
)  # fmt: skip
WRAPPING = (
    "x[x == 1] = v", "x[[0]] = v", "np.copyto(x, v, casting='unsafe')", "np.put(x, [0], v)", "np.putmask(x, x == 1, v)",
    "x = np.full(2, v, x.dtype)", "x = np.array(v, x.dtype)", "x[:] = np.array(v)", "x[:] = y",
)  # fmt: skip
SCALARS = (np.uint8(200), np.int16(-3), np.int64(300), np.int64(7), np.uint64(2**63), np.int32(-(2**31)))


def writing(statement):
    namespace = {"np": np}
    exec(f"def write(x, y, i, v):\n    kept = x * 2\n    {statement}\n    return kept, x", namespace)
    return namespace["write"]


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u4"])
@pytest.mark.parametrize("statement", BY_PYTHON + WRAPPING)
def test_one_by_one(statement, dtype):
    for value in SCALARS:
        run = captured(writing(statement), backend=eager)
        run(np.ones(2, dtype), np.array([value, value]), 0, value)
        run(np.ones(2, dtype), np.array([value, value]), 0, type(value)(1))
        assert run.graphs


@pytest.mark.parametrize("statement", ["x[...] = v", "x[:] = y[0]", "x.fill(v)", "x[:] = [v, v]", "x[[0]] = v"])
@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_compiled(statement, dtype):
    run = captured(writing(statement), backend=inductor)
    for number in (7, 300, -1):
        run(np.ones(2, dtype), np.array([number]), 0, np.int64(number))
    assert run.graphs and not run.breaks


def test_in_loops():
    def copy(x, y):
        for i in range(len(x)):
            x[i] = y[i]
        return x

    for dtype, source, low, high in (
        ("i1", "i8", -128, 127), ("i4", "i8", -(2**31), 2**31 - 1), ("i1", "u1", 0, 127), ("i8", "u8", 0, 2**63 - 1),
        ("u1", "i8", 0, 255),
    ):  # fmt: skip
        run = captured(copy, backend=inductor)
        for last in (low, high, low - 1, high + 1):
            if np.iinfo(source).min <= last <= np.iinfo(source).max:
                run(np.zeros(40, dtype), np.array([1] * 39 + [last], source))
        assert any(node.target == "loop" for node in run.record.graphs[0].nodes)
