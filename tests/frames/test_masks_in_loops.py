"""Masks of first axes, reshapes by axes of one element, and rolls by elements, in loops that are nodes."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from capture.inductor.programs.masking import with_whole_masked_stores
from tests.helpers import captured

BACKENDS = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])


def rows(x, places):
    out = np.zeros(x.shape[1:])
    for k in range(6):
        mine = places == k % 3
        chosen = x[mine]
        if mine.any():
            out = out + chosen.max(axis=0) * k - chosen[-1]
        x[places == k] = k
        out[0] += len(x[mine]) + chosen.size
    return out, x


def columns(x, places):
    total = np.zeros(x.shape)
    for k in range(6):
        total = total + places.reshape(-1, 1) * x[k].reshape(1, -1) + places.reshape((places.shape[0], 1)) * k
        flat = total[:, k % 4].reshape(1, -1, 1)
        total[0, 0] = flat.sum() + flat[0, k, 0]
    return total


def rolled(x, places):
    for k in range(6):
        x = np.roll(x, places[k], axis=0) + np.roll(x, -places[k] * 7, axis=1) * 0.5
        x[k] = np.roll(x[k], int(places[k]))
    return x


@BACKENDS
@pytest.mark.parametrize("function", [rows, columns, rolled], ids=lambda f: f.__name__)
def test_as_numpy(function, backend):
    run = captured(function, backend=backend, exact=backend is eager)
    for seed in range(3):
        run.on(lambda: (np.random.default_rng(seed).random((7, 4)), np.array([0, 1, 2, 0, 5, 1, 1])))  # noqa: B023
    assert sum(node.target == "loop" for graph in run.record.graphs for node in graph) == 1
    assert not run.breaks and not run.record.loops


def cubes(x, n):
    found = 0.0
    for k in range(n):
        mask = x[:, :, 0] > k * 0.2
        found += x[mask][:, 1].max() if mask.any() else -1.0
    return found


def wrong_mask(x, n):
    for k in range(n):
        x = x + x[np.zeros(k + 4, dtype=bool)].sum()
    return x


@BACKENDS
def test_masks_of_two_axes_and_of_the_wrong_size(backend):
    run = captured(cubes, backend=backend)
    for _ in range(2):
        run.on(lambda: (np.random.default_rng(1).random((3, 4, 5)), 8))
    assert not run.breaks
    run = captured(wrong_mask, backend=backend, exact=backend is eager)
    run.on(lambda: (np.ones((4, 2)), 1))
    run.on(lambda: (np.ones((4, 2)), 6))


def test_what_is_left():
    """Reshapes that change sizes, and arrays that go to rows that a mask chooses."""

    def function(x, n):
        for k in range(n):
            x = x.reshape(4, 3) + k
            x = x.reshape(3, 4)
            x[x[:, 0] > k] = x[0]
        return x

    run = captured(function)
    for _ in range(2):
        run.on(lambda: (np.random.default_rng(1).random((3, 4)), 7))
    assert len(run.record.loops) == 1


# Elements that a mask chooses, and that are put back ------------------------------------------------------------------
def put_back(x, y, n):
    for k in range(n):
        inside = x < 2.0 + k
        x[inside] = x[inside] * y[inside] - 0.5 * k
        y[inside] = np.sqrt(np.abs(x[inside])) + y[inside] / 4
    return x, y


def shifted(x, y, n):
    """What is read lies elsewhere in what is written, or is written in between, or is wanted by others too."""
    for k in range(n):
        inside = x > 0.5 + 0.1 * k
        view = x[::-1]
        x[inside] = view[inside] + 1.0
        chosen = x[inside] * 0.5
        x[0] = 3.0
        x[inside] = chosen
        some = y[inside]
        y[inside] = some * 2.0
        y[0] += some.sum()
    return x, y


def masks_in_what_is_written(x, y, n):
    flags = x > 0.5
    for k in range(n):
        flags[flags] = ~flags[flags] if k % 2 else flags[flags]
        flags[k % len(flags)] = True
        x[flags] = x[flags] + k
    return x, flags


def guarded(x, y, n):
    """Where the mask does not hold nothing is computed, and nothing warns."""
    x[::3] = 0.0
    whole = (x * 8).astype(np.int64)
    for k in range(n):
        safe = x != 0
        y[safe] = y[safe] / x[safe] * 1e-3
        odd = whole != 0
        whole[odd] = 100 // whole[odd] + k
    return y, whole


@BACKENDS
@pytest.mark.parametrize(
    "function", [put_back, shifted, masks_in_what_is_written, guarded], ids=lambda f: f.__name__
)
def test_put_back(function, backend):
    run = captured(function, backend=backend, exact=False)
    for seed, n in enumerate((12, 12, 1, 40)):
        run.on(lambda: (*np.random.default_rng(seed).random((2, n)), 6))  # noqa: B023
    assert not run.breaks and not run.record.loops
    assert sum(node.target == "loop" for graph in run.record.graphs for node in graph) >= 1


def test_arrays_of_other_sizes_are_refused():
    def function(x, y, n):
        for k in range(n):
            inside = x > 0.1 * k
            x[inside] = x[inside] * y[inside]
        return x

    run = captured(function, backend=inductor)
    run.on(lambda: (np.ones(5), np.ones(5), 5))
    run.on(lambda: (np.ones(5), np.ones(5), 5))
    run.on(lambda: (np.ones(5), np.ones(6), 5))


def test_one_loop_does_it():
    run = captured(put_back, backend=inductor, exact=False)
    run.on(lambda: (np.ones(8), np.ones(8), 6))
    (node,) = [node for graph in run.record.graphs for node in graph if node.target == "loop"]
    stores = [step for step in with_whole_masked_stores(node.params["program"]).steps if step.target == "store_picked"]
    assert [step.params.get("whole") for step in stores] == [True, True]
