"""What an array says of its memory: ``x.flags``, ``x.strides``, ``x.flat``."""

from __future__ import annotations

import numpy as np
import pytest

from tests import helpers

BASE = np.arange(24.0).reshape(2, 3, 4)
ARRAYS = {
    "C": BASE,
    "Fortran": np.asfortranarray(BASE),
    "turned": BASE.transpose(1, 0, 2),
    "rows": BASE[:, ::2],
    "columns": BASE[..., ::2],
    "backward": BASE[:, ::-1],
    "one axis": np.arange(5.0),
    "one axis, steps": np.arange(9.0)[::2],
    "one axis, backward": np.arange(5.0)[::-1],
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "a column": BASE[0, :, :1],
    "a row": BASE[0, :1],
    "one element": BASE[:1, :1, :1],
    "no elements": BASE[:, :0],
    "no axes": np.array(2.5),
    "small": np.arange(3, dtype=np.int8),
}


def flags(x):
    found = x.flags
    keys = ("C", "F", "C_CONTIGUOUS", "F_CONTIGUOUS", "CONTIGUOUS", "FORTRAN", "FNC", "FORC")
    names = found.c_contiguous, found.f_contiguous, found.contiguous, found.fortran, found.fnc, found.forc
    return names, [found[key] for key in keys], np.isfortran(x)


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
def test_flags(captured, x):
    run = captured(lambda x: (flags(x), x.sum()))
    run(x)
    assert run.breaks == [] and run.graphs == 1


def made(x):
    y = x + 1
    return [flags(each) for each in (y, y.T, y[1:], y[..., ::2], y[..., :1], y.reshape(-1), y[None], y * y.T)], y


@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (0, 0)])
@pytest.mark.parametrize("order", "CF")
def test_flags_of_what_is_made(captured, shape, order):
    run = captured(made)
    run(np.ones(shape, order=order))
    assert run.breaks == [] and run.graphs == 1


def test_flags_change_with_the_layout(captured):
    run = captured(lambda x: x * 2 if x.flags.c_contiguous else x + 1)
    for x in ARRAYS.values():
        run(x) if x.ndim == 3 else None
    for size in (1, 2, 3, 5):
        run(np.ones((4, size, 3))[:, ::2])
    assert run.breaks == [] and run.graphs


def test_flags_as_objects(captured):
    def ask(x):
        found = x.flags
        return found.c_contiguous, found.num, found.owndata

    run = captured(ask)
    run(np.arange(3.0))
    assert run.kinds == ["attribute"] * 2


def test_unknown_flags():
    run = helpers.captured(lambda x: x.flags["NO"])
    run(np.arange(3.0))
    assert run.kinds == ["attribute"]


@pytest.mark.parametrize("name", ["C", "Fortran", "turned", "one axis", "small"])
def test_strides(captured, name):
    run = captured(lambda x: (x.strides, x.T.strides, (x + x).strides, x.sum()))
    for repeats in (1, 2, 3):
        run(np.repeat(ARRAYS[name], repeats, axis=0))
    assert run.breaks == [] and run.graphs


@pytest.mark.parametrize("name", ARRAYS)
def test_strides_alone(captured, name):
    run = captured(lambda x: x.strides)
    run(ARRAYS[name])
    run(np.ones((2, 1, 3))[:, :, ::2])
    assert run.graphs == 0


def read(x):
    flat = x.flat
    return flat[3], flat[-1], flat[1:7:2], flat[::-1], flat[[0, 4]], x.flat[np.array([1, -1])], len(flat), flat.copy()


@pytest.mark.parametrize("name", [name for name, x in ARRAYS.items() if x.size >= 5])
@pytest.mark.parametrize("dtype", ["f8", "i2", "?", "c8"])
def test_flat(captured, name, dtype):
    run = captured(read)
    run(ARRAYS[name].astype(dtype))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize("size", [0, 1, 2])
def test_flat_of_few(captured, size):
    run = captured(lambda x: (x.flat[:1], x.flat[::2], x.flat[3:], x.flat[np.arange(0)], len(x.flat)))
    run(np.arange(float(size)))
    assert run.breaks == [] and run.graphs


def written(x, y):
    x.flat[3] = 7
    x.flat[-1] = y[0]
    x.flat[1:5] = [1, 2, 3, 4]
    x.flat[[0, 2]] = y
    x.flat[::4] = 2.5
    x.flat[np.array([1, 1])] = y
    return x, x.flat[2:]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "?"])
@pytest.mark.parametrize("name", ["C", "one axis", "one axis, steps", "one axis, backward"])
def test_flat_is_written(captured, name, dtype):
    run = captured(written)
    x = ARRAYS[name].astype(dtype)
    run(np.repeat(x, 2, -1)[..., ::2] if x.ndim == 1 else x, np.array([5, 6]).astype(dtype))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize("value", [3, 2.5, True, np.float32(1.5), np.arange(12)])
@pytest.mark.parametrize("dtype", ["f8", "i4"])
def test_all_of_flat(captured, dtype, value):
    def fill(x, value):
        x.flat = value
        x.flat[1:] = 2
        return x

    run = captured(fill)
    run(np.arange(12).astype(dtype).reshape(3, 4), value)
    assert run.graphs or run.breaks


def repeated(x):
    x.flat[:] = [1, 2]


def all_repeated(x):
    x.flat = np.arange(2.0)


def moved(x):
    x.flat[1:] = x.reshape(-1)[:-1]


def not_neighbours(x):
    x.T.flat[1:3] = 0.0


def too_large(x):
    x.flat[99] = 1.0


@pytest.mark.parametrize("function", [repeated, all_repeated, moved, not_neighbours, too_large])
def test_writes_that_are_left_to_python(function):
    run = helpers.captured(function)
    run(np.arange(12.0).reshape(3, 4))
    assert len(run.breaks) == 1


READ = {
    "a tuple": lambda x: x.flat[(1,)],
    "no index": lambda x: x.flat[...],
    "a bool": lambda x: x.flat[True],
    "too large": lambda x: x.flat[99],
    "a float": lambda x: x.flat[1.0],
    "an item too large": lambda x: x.flat[np.array([99])],
}


@pytest.mark.parametrize("function", READ.values(), ids=READ)
def test_reads_that_are_left_to_python(function):
    run = helpers.captured(function)
    run(np.arange(12.0).reshape(3, 4))
    assert run.breaks or run.graphs


def test_iteration(captured):
    def add(x):
        total = 0.0
        for number in x.flat:
            total += number
        flat = x.flat
        return total, next(flat), next(flat), list(flat)

    run = captured(add)
    run(np.arange(6.0).reshape(2, 3))
    assert run.breaks
