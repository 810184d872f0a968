"""Scalars in the place of arrays, in loops that are nodes: reductions of one element (``x[i].sum()``), and arrays of
rank 0 that are made of elements (``np.where``)."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured

BACKENDS = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])

REDUCTIONS = [
    "x[0].sum()", "x[0].prod()", "x[0].min()", "x[0].max()", "x[0].any()", "x[0].all()", "np.sum(x[k])",
    "np.max(x[k] * 2)", "np.any(x[k] > 2)", "(x[k] > 2).sum()", "x.sum().sum()", "x[0:1].sum()",
    "np.sum(x[k].astype(np.float32))",
]  # fmt: skip

LOOPS = {
    "while": "while {} < 50 and k < 5: x += 1; k += 1",
    "for": "for k in range(len(x)): total += {}; x[k] = total",
}


def function_of(loop, reduction):
    namespace = {"np": np}
    body = LOOPS[loop].format(reduction)
    exec(f"def function(x):\n    k, total = 0, 0.0\n    {body}\n    return x, k, total\n", namespace)
    return namespace["function"]


@BACKENDS
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_as_numpy(reduction, loop, backend):
    run = captured(function_of(loop, reduction), backend=backend, exact=backend is eager)
    for first in (1.0, -0.0, np.nan, np.inf):
        run.on(lambda: (np.array([first, 0.0, 2.0, 3.0, -1.0, 0.5] * 4),))  # noqa: B023
    assert run.graphs == 1 and run.breaks == [] and not run.record.loops
    assert any(node.target == "loop" for graph in run.record.graphs for node in graph)


def after_a_write(x, y):
    x.put([0], y)
    while x[0].sum() < 5:
        x += 1
    return x


@BACKENDS
def test_behind_a_write(backend):
    run = captured(after_a_write, backend=backend)
    run.on(lambda: (np.ones(3), np.ones(3)))
    assert run.graphs and not run.record.loops


CHOICES = [
    "np.where(x[k] > 1, x[k], 0)", "np.where(x[k] > 1, 2, k) * 2.0",
    "np.where(x[k] > 1, 1, 0) + np.where(x[0] > 2, x[1], 1.5)",
    "np.where(x[k] > 1, x[k], 0).sum()", "-np.where(x[k] > 1, 3, 0)", "np.where(x[k] > 1, True, False)",
    "np.sqrt(np.where(x[k] > 1, x[k], 0))", "np.where(np.where(x[k] > 1, True, False), 1.0, x[0])",
]  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_between_elements_is_an_array_of_rank_0(choice, loop, backend):
    run = captured(function_of(loop, choice), backend=backend, exact=backend is eager)
    for first in (1.0, -0.0, 4.0):
        run.on(lambda: (np.array([first, 0.0, 2.0, 3.0, 1.0, 0.5] * 4),))  # noqa: B023
    assert run.graphs and run.breaks == []
