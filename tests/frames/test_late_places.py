"""Places that are computed from what was written before: those that exist for certain need no test, whose failing
would come too late."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured

BACKENDS = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])
WRITES = pytest.mark.parametrize("write", ["x[...] = x * 2", "x += 1", "np.multiply(x, 2, out=x)", "x[x > 1] = 2"])

DISTINCT = [
    "x > 0", "np.nonzero(x > 0)", "np.nonzero(x > 0)[0]", "np.where(x > 0)[0][::-1]", "np.flatnonzero(x)",
    "np.argwhere(x > 0)[:, 0]", "np.nonzero(x > 9)",
]  # fmt: skip
OTHERS = ["np.argwhere(x > 0)", "np.nonzero(x)[0].astype(np.int32)", "x.astype(np.int64) % 3", "x.astype(np.uint8) % 3"]
USES = [(places, "x[i] = x[i][::-1]") for places in DISTINCT]
USES += [(places, "y[0] = x[i].sum()") for places in DISTINCT + OTHERS]
UNKNOWN = ["x.astype(np.int64) & 1", "np.cumsum(x > 0) % len(y.tobytes())", "np.sort(np.flatnonzero(x))"]


def function_of(*lines):
    namespace = {"np": np}
    exec(compile("\n    ".join(("def function(x, y):", *lines, "return x, y\n")), "<places>", "exec"), namespace)
    return namespace["function"]


def arguments():
    return np.array([1.0, 0.0, 2.0]), np.array([4.0, 5.0, 6.0])


@BACKENDS
@WRITES
@pytest.mark.parametrize(("places", "use"), USES)
def test_places_that_exist(places, use, write, backend):
    run = captured(function_of(write, f"i = {places}", use), backend=backend)
    run.on(arguments)
    assert run.graphs == 1 and run.breaks == []


@BACKENDS
@WRITES
@pytest.mark.parametrize("places", UNKNOWN)
def test_places_that_may_not_exist_end_the_graph(places, write, backend):
    run = captured(function_of(write, f"i = {places}", "y[i] = x[i][::-1]"), backend=backend)
    run.on(arguments)
    assert run.graphs and run.breaks


def masked(x, grid):
    grid *= 2
    x[...] = grid[grid > 3][: x.size]
    rows, columns = np.nonzero(grid > 5)
    grid[rows, columns] = grid[rows, columns][::-1]
    grid[grid < 4] += 1
    return rows, columns


@BACKENDS
@pytest.mark.parametrize("shape", [(3, 4), (1, 12), (12, 1)])
def test_places_along_several_axes(shape, backend):
    run = captured(masked, backend=backend)
    run.on(lambda: (np.zeros(2), np.arange(12.0).reshape(shape)))
    assert run.graphs
