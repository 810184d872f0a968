"""The same elements with other axes: orders of ``reshape`` and ``ravel``, ``copy=``, ``atleast_2d``, truth values as
indices.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests import helpers

BASE = np.arange(24.0).reshape(2, 3, 4)
ARRAYS = {
    "C": BASE,
    "Fortran": np.asfortranarray(BASE),
    "turned": BASE.transpose(1, 2, 0),
    "rows": BASE[:, ::2],
    "columns": BASE[..., ::2],
    "backward": BASE[:, ::-1],
    "one axis": np.arange(12.0),
    "one axis, steps": np.arange(24.0)[::2],
    "a column": BASE[0, :, :1],
    "one element": BASE[:1, :1, :1],
    "no axes": np.array(2.5),
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
}
UNKNOWN = ("rows", "columns", "backward", "one axis, steps", "broadcast", "a column")
"""Layouts with gaps, whose order in memory graphs do not know."""


def check(captured, function, *args, breaks=0):
    """As in NumPy, in one graph; where strides are not known or sizes are open some may be left to Python."""
    run = captured(function)
    run(*args)
    if not breaks and (run.settings.dynamic or any("not known" in reason for reason in run.breaks)):
        assert run.graphs or run.breaks
    else:
        assert len(run.breaks) == breaks and (run.graphs or breaks), run.breaks


def reshaped(x):
    wide, last = (-1, x.shape[0] if x.ndim else 1), (x.size,)
    return [np.reshape(x, shape, order=order) for order in "CFA" for shape in (wide, last, x.shape)]


@pytest.mark.parametrize("name", ARRAYS)
def test_reshape(captured, name):
    check(captured, reshaped, ARRAYS[name])


def raveled(x):
    return [(x.ravel(order), np.ravel(x, order), x.flatten(order)) for order in "CFA"]


@pytest.mark.parametrize("name", ARRAYS)
def test_ravel(captured, name):
    check(captured, raveled, ARRAYS[name])


def in_memory(x):
    return x.ravel("K"), x.flatten("K"), np.ravel(x, order="K")


@pytest.mark.parametrize("name", ARRAYS)
def test_ravel_as_in_memory(name):
    run = helpers.captured(in_memory)
    run(ARRAYS[name])
    assert name in UNKNOWN or run.breaks == []


def test_raveled_views_are_written(captured):
    def write(x):
        x.ravel("F")[1] = 9.0
        x.reshape(4, 6, order="F")[0, 0] = 7.0
        x.ravel("K")[2:4] = 5.0
        return x

    for name in ("Fortran", "C", "turned"):
        check(captured, write, ARRAYS[name].copy("K"))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("order", "CF")
def test_copy(captured, name, order):
    def reshape(x):
        shape = x.shape[::-1]
        return (
            np.reshape(x, shape, copy=True, order=order), x.reshape(shape, copy=None, order=order),
            x.reshape(x.shape, copy=False), x.reshape(x.shape, copy=True),
        )  # fmt: skip

    has_keyword = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
    check(captured, reshape, ARRAYS[name], breaks=0 if has_keyword else 1)


REFUSED = {
    "a copy that is not allowed": lambda x: x.T.reshape(-1, copy=False),
    "an order that there is not": lambda x: x.reshape(-1, order="X"),
    "an order of ravel": lambda x: x.reshape(-1, order="K"),
    "other elements": lambda x: x.reshape(5, 5, order="F"),
}


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_refused(function):
    check(helpers.captured, function, np.arange(24.0).reshape(2, 3, 4), breaks=1)


def at_least(x, n):
    y = x.ravel()[0]
    return (
        np.atleast_1d(x, y), np.atleast_2d(x, y, n), np.atleast_3d(x, [1, 2], y), np.atleast_1d(2.5),
        np.atleast_2d([3, 2]), np.atleast_3d(y), np.atleast_1d([[1.0, y]]), np.atleast_2d(x),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["C", "one axis", "no axes", "a column"])
def test_at_least(captured, name):
    check(captured, at_least, ARRAYS[name], 3)


TRUTHS = {
    "True": lambda x: x[True],
    "False": lambda x: x[False],
    "behind axes": lambda x: x[..., True],
    "behind axes, none": lambda x: x[..., False],
    "in front of axes": lambda x: x[True, ...],
    "with None": lambda x: (x[None, True], x[False, None], x[..., None, True]),
    "a tuple": lambda x: x[(True,)],
}


@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "broadcast"])
@pytest.mark.parametrize("function", TRUTHS.values(), ids=TRUTHS)
def test_truths(function, name):
    check(helpers.captured, function, ARRAYS[name])


def test_truths_between_slices(captured):
    check(captured, lambda x: (x[:, True], x[1:, False, ::2], x[::-1, True, :, None] + 1), ARRAYS["C"])


def test_truths_written(captured):
    def write(x, y):
        x[True] = y
        x[False] = 7.0
        x[..., True] = y[..., None] + x[..., True]
        x[:1, True] = 3.0
        x[1:, True] += 1.0
        return x

    check(captured, write, np.arange(6.0).reshape(2, 3), np.arange(3.0))
    check(captured, write, np.arange(6.0).reshape(3, 2).T, np.arange(3.0))


OTHER_TRUTHS = {
    "two": lambda x: x[True, True],
    "with an int": lambda x: x[0, True],
    "with places": lambda x: x[[0, 1], True],
    "computed": lambda x: x[x.sum() > 1],
    "NumPy's": lambda x: x[np.True_],
}


@pytest.mark.parametrize("function", OTHER_TRUTHS.values(), ids=OTHER_TRUTHS)
def test_other_truths(function):
    check(helpers.captured, function, ARRAYS["C"], breaks=1)
