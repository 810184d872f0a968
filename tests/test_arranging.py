"""Functions that arrange, choose and count elements, in one graph each, over layouts and dtypes, against NumPy."""

import itertools

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured

ARRANGED = """
np.repeat(x, 2, axis=0) | np.repeat(x, 3, axis=1) | np.repeat(x, 0, axis=1) | np.repeat(x, 2) | x.repeat(2, axis=-1)
np.tile(x, 2) | np.tile(x, (2, 1)) | np.tile(x, (2, 1, 3)) | np.roll(x, (1, 2), axis=(0, 1)) | np.roll(x, 1, (0, 1))
np.pad(x, 1) | np.pad(x, ((1, 2), (0, 1)), constant_values=3) | np.pad(x, (2, 1), mode="edge") | np.rot90(x)
np.pad(x, 2, mode="reflect") | np.pad(x, 2, mode="symmetric") | np.pad(x, ((3, 2), (1, 0)), mode="wrap")
np.rot90(x, 2) | np.rot90(x, 3) | np.rot90(x, k=-1, axes=(1, 0)) | np.rot90(x, 4)
np.split(x, 4) | np.split(x, [1, 3, 9], axis=1) | np.array_split(x, 3) | np.array_split(x, 4, axis=1)
np.hsplit(x, 3) | np.vsplit(x, 2) | np.hsplit(x[0], 3)
np.diag(x) | np.diag(x, 1) | np.diag(x, -2) | np.diagonal(x, 9) | x.diagonal(offset=-1) | np.diag(x) * 2
np.diag(x[0]) | np.diag(x[0], 2) | np.diag(x[:, 1], k=-1) | np.diagonal(x[None] + x[0, 0], 1, 2, 0)
"""
CHOSEN = """
np.choose(x[:, 0] % 3, (x[:, 1], x[:, 2], x[:, 3])) | np.choose((x > 2).astype(np.int64), (x + 0.5, x * 2.0))
np.select([x > 3, x < 1], [x * 2, x + 1], 0) | np.select([x > 3], [x * 1.5], -1.0)
np.ravel_multi_index((x[:, 0], x[:, 1]), (99, 99)) | np.ravel_multi_index((x, x), (50, 99)) | np.tril_indices(4)
np.triu_indices(4, 1, 3) | x[np.tril_indices(4)] | np.ix_([0, 1], [2, 3]) | x[np.ix_([0, 1], [2, 3])] | np.ix_(x[0])
np.ix_(x[:, 0] > 2, [0, 1]) | np.unravel_index(np.argmax(x), (4, 6)) | np.unravel_index(x.max(), (99,))
np.bincount(x[0]) | np.bincount(x.ravel(), minlength=60) | np.count_nonzero(x, axis=1)
np.count_nonzero(x > 2, axis=0, keepdims=True)
"""
WITHOUT_NAN = """
np.nansum(x, axis=0) | np.nanprod(x, axis=1) | np.nanmax(x) | np.nanmin(x, axis=1) | np.nanargmax(x, axis=0)
np.nanargmin(x) | np.nancumsum(x, axis=1) | np.nancumprod(x, axis=0) | np.nansum(x, axis=1, keepdims=True)
np.nanmean(x, axis=0) | np.nanmean(x, axis=(0, 1))
"""
BACKENDS = (eager, inductor)
BASE = np.arange(24).reshape(4, 6) * 5 % 17
LAYOUTS = (BASE, np.asfortranarray(BASE), BASE[::-1, ::-1], np.repeat(np.repeat(BASE, 2, 0), 2, 1)[::2, ::2])


def function_of(table):
    expressions = [part.strip() for line in table.strip().splitlines() for part in line.split(" | ")]
    lines = "".join(f"    r{n} = {each}\n" for n, each in enumerate(expressions))
    namespace = {"np": np}
    names = ", ".join(f"r{n}" for n in range(len(expressions)))
    exec(compile(f"def function(x):\n{lines}    return [{names}]\n", "<table>", "exec"), namespace)
    return namespace["function"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["i8", "f4", "?"])
def test_arranging(backend, dtype):
    for layout in LAYOUTS:
        run = captured(function_of(ARRANGED), backend=backend)
        run.on(lambda: (layout.astype(dtype, order="K"),))  # noqa: B023 (called at once)
        assert (run.graphs, run.breaks) == (1, [])


@pytest.mark.parametrize("backend", BACKENDS)
def test_choosing(backend):
    run = captured(function_of(CHOSEN), backend=backend)
    for array in (BASE, BASE + 2, BASE * 2):
        run.on(lambda: (array.copy(),))  # noqa: B023
    assert (run.graphs, run.breaks) == (1, [])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("places", [(), (3, 10), range(6)])
def test_leaving_nan_out(backend, places):
    x = BASE / 2 - 3
    x.flat[list(places)] = np.nan
    run = captured(function_of(WITHOUT_NAN), backend=backend, exact=False)
    run.on(lambda: (x.copy(),))
    assert (run.graphs, run.breaks) == (1, [])


def choose(x):
    return np.choose(x, (x, x * 2))


def flat_place(x):
    return np.ravel_multi_index((x, x), (3, 3))


def count(x):
    return np.bincount(x)


def position(x):
    return np.unravel_index(x.max(), (2, 2))


def least(x):
    return np.nanmin(x / x, axis=None), np.nanmean(x / x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [choose, flat_place, count, position, least])
def test_numbers_that_numpy_refuses_or_warns_of(backend, function):
    run = captured(function, backend=backend)
    for numbers in ([0, 1, 1], [1, -1, 0], [5, 9, 7], [0, 0, 0]):
        with np.errstate(invalid="ignore"):
            run.on(lambda: (np.array(numbers),))  # noqa: B023
    assert run.breaks == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_fill_diagonal(backend):
    def fill(x):
        np.fill_diagonal(x, 9)
        x[:3, :3].diagonal()
        return x.T.diagonal()

    run = captured(fill, backend=backend)
    for shape in ((4, 6), (6, 4), (3, 3)):
        run.on(lambda: (np.arange(shape[0] * shape[1]).reshape(shape),))  # noqa: B023
    assert run.breaks == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("order", ["K", "A", "C", "F"])
@pytest.mark.parametrize("make", [np.array, np.asarray, np.asanyarray])
def test_the_order_of_what_is_made_of_lists(backend, order, make):
    def f(x):
        made = make([[1, 2, 3], [4, 5, 6]], order=order), make([[x[0, 0], 1.0], [x[1, 1], 2.0]], order=order)
        return [(array, array.flags.c_contiguous, array.flags.f_contiguous, array.strides) for array in made]

    run = captured(f, backend=backend)
    assert [row[1] for row in run(BASE * 0.5)] == [order != "F"] * 2
    assert run.graphs == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_without_axes_are_padded(backend):
    run = captured(lambda x: (np.pad(x, 2), np.pad(x[()], ((1, 1),))), backend=backend)
    run(np.array(2.5))
    assert run.graphs == 1


WIDTHS = {
    1: [2, (3, 0), (0, 1)],
    2: [1, ((2, 0), (0, 3)), ((0, 0), (1, 2)), ((2, 1), (0, 0))],
    3: [2, ((1, 0), (0, 0), (0, 2))],
}


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("shape", [(7,), (1,), (5, 9), (2, 1), (3, 4, 5)], ids=str)
def test_what_is_padded_is_copied_in_runs(mode, shape):
    for dtype, widths in itertools.product(("i2", "f8", "c16", "?"), WIDTHS[len(shape)]):
        run = captured(lambda x, widths=widths: np.pad(x, widths, mode=mode), backend=inductor)
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        for each in (x, np.asfortranarray(x), x[::-1]):
            run(each)
        assert run.graphs and not run.breaks
        graph = run.record.graphs[0]
        assert "concatenate" in str(graph), "the middle is read by an array of places"
