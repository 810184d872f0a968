"""Lists of an array's elements: ``x.tolist()``, whose numbers one program makes, and ``list(x)``."""

from __future__ import annotations

import numpy as np
import pytest

from tests import helpers

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "f2", "f4", "f8")
SHAPES = ((3,), (1,), (0,), (), (2, 3), (2, 0), (0, 2), (2, 1, 2), (16,))
LAYOUTS = {
    "C": lambda a: a,
    "turned": lambda a: np.asfortranarray(a),
    "backward": lambda a: a[::-1] if a.size > 1 else a,
}


def listed(x):
    return x.tolist(), (x == x).tolist(), x.T.tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers(dtype, layout):
    for shape in SHAPES:
        run = helpers.captured(listed)
        x = (np.arange(float(np.prod(shape))) * 7 % 5 - 2).astype(dtype).reshape(shape)
        if x.dtype.kind == "f" and x.size > 2:
            x.flat[:2] = np.nan, -0.0
        run(LAYOUTS[layout](x))
        assert run.breaks == [] and (run.graphs or not x.size)


@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "u4", "f2", "f4", "f8"])
def test_compiled(captured, dtype):
    run = captured(listed)
    run(np.array([[3, 1], [0, 2]]).astype(dtype))
    assert run.breaks == [] and run.graphs == 1


def test_further_computation(captured):
    def compute(x):
        a, b, c = x.tolist()
        total = 0.0
        for number in (x * 2).tolist():
            total += number
        scale = max(a, b) - c / 4
        return x * a, np.full(3, scale) + x, total, [a, b * 2], {"c": c}

    run = captured(compute)
    run(np.array([2.5, -1.0, 0.75]))
    run(np.array([-0.5, 8.0, 2.0]))
    assert run.breaks == [] and run.graphs == 1


def test_sums_of_ints(captured):
    def compute(x):
        total = 0
        for row in x.tolist():
            for number in row:
                total = total * 3 + number
        return total

    run = captured(compute)
    run(np.array([[1, 2], [3, 4]]))
    run(np.array([[5, 2], [3, 2**62]]))
    assert run.breaks == [] and run.graphs == 1


def test_rows(captured):
    run = captured(lambda x: (list(x), [*x[0]], tuple(x[:, 0]), [row * 2 for row in x]))
    run(np.arange(6.0).reshape(3, 2))
    assert run.breaks == [] and run.graphs == 1


def test_lists_that_change_are_made_anew(captured):
    def compute(x):
        first, second = x.tolist(), x.tolist()
        first.append(x[0].item())
        return first, second

    run = captured(compute)
    run(np.arange(3.0))
    assert run.breaks == [] and run.graphs == 1


REFUSED = {
    "many": np.arange(17.0),
    "complex": np.array([1j]),
    "large": np.array([2**64 - 1], np.uint64),
    "bytes": np.array([b"a"]),
}


@pytest.mark.parametrize("x", REFUSED.values(), ids=REFUSED)
def test_refused(x):
    run = helpers.captured(lambda x: x.tolist())
    run(x)
    assert len(run.breaks) == 1


def test_in_a_loop_that_is_a_node(captured):
    def compute(x, y):
        total = 0.0
        for i in range(len(x)):
            total += x[i] * y.tolist()[0]
        return total

    run = captured(compute)
    run(np.arange(40.0), np.arange(3.0))
    assert run.record.loops
