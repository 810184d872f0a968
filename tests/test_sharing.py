"""``np.shares_memory``, ``np.may_share_memory``, ``np.frombuffer``."""

from __future__ import annotations

import numpy as np
import pytest

from tests import helpers

MEMORY = np.arange(24.0)


def asked(x, y):
    return np.shares_memory(x, y), np.may_share_memory(x, y)


def views(x):
    y = x + 1
    flat, row = y.reshape(-1), y[0]
    pairs = [
        (x, x), (x, x[1:]), (x[:1], x[1:]), (x[::2], x[1::2]), (x, y), (y, flat), (y[0], y[1]), (y[:, 0], y[:, 1]),
        (flat[::2], flat[1::2]), (flat[:3], flat[2:]), (row, y.T), (y.view("i8"), y[1]), (x[:0], x), (y, y.copy()),
        (x[::-1], x[:1]), (y[:, ::-1], y[:, -1:]), (x[..., None], x), (np.broadcast_to(row, (3, 4)), y),
    ]  # fmt: skip
    return [asked(one, other) for one, other in pairs], y


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(3, 4), (2, 4), (9, 4)])
def test_views_of_one_array(captured, shape, order):
    run = captured(views)
    run(np.ones(shape, order=order))
    assert run.graphs and (run.breaks == [] or run.settings.dynamic)


@pytest.mark.parametrize("shape", [(1,), (0,), (0, 3), (1, 1), ()])
def test_few_elements(captured, shape):
    def ask(x):
        y = x + 1
        return asked(x, x), asked(x, y), asked(y, y), asked(x[..., None], x), x.sum()

    run = captured(ask)
    run(np.ones(shape) if shape else np.ones(3)[1:2].reshape(()))
    assert run.graphs


def test_strides_that_are_not_known(captured):
    run = captured(lambda x: (asked(x, x), asked(x[::2], x[1::2])))
    run(np.ones((8, 8))[::2, ::2])
    assert run.breaks[0].startswith("views share memory or not")


def test_arrays_of_the_caller(captured):
    run = captured(asked)
    for one, other in ((MEMORY[:4], MEMORY[4:8]), (MEMORY[:4].copy(), MEMORY[:4])):
        run(one, other)
    assert run.breaks == []
    run(MEMORY[:4], MEMORY[2:6])
    run(MEMORY[::2], MEMORY[1::2])
    assert run.kinds.count("overlap") == len(run.breaks) >= 1
    assert any("shares no memory" in guard for guard in run.guards)


def test_parts_of_complex_numbers(captured):
    run = captured(lambda z: (asked(z.real, z.imag), asked(z.real, z), asked(z.real, z.real), z + 1))
    run(np.arange(4) * 1j)
    assert run.graphs and (run.breaks == [] or run.settings.dynamic)


def test_others():
    run = helpers.captured(lambda x: np.shares_memory(x, x[1:], 100))
    run(np.arange(3.0))
    assert len(run.breaks) == 1


BUFFER = np.arange(6.0).tobytes()


def from_bytes():
    return (
        np.frombuffer(BUFFER), np.frombuffer(BUFFER, np.uint8) * 2, np.frombuffer(BUFFER, "i4", 3),
        np.frombuffer(BUFFER, dtype=np.float64, offset=8), np.frombuffer(b"\0\1", bool),
        np.frombuffer(BUFFER)[1:].sum(),
    )  # fmt: skip


def test_frombuffer(captured):
    run = captured(from_bytes)
    found = run()
    assert run.breaks == [] and run.graphs == 1
    assert not found[0].flags.writeable and found[1].flags.writeable and not found[3].flags.owndata


def test_frombuffer_is_not_written(captured):
    def write(x):
        y = np.frombuffer(BUFFER)
        x += y
        y[0] = 1.0

    run = captured(write)
    run(np.arange(6.0))
    assert run.graphs and run.breaks


FAILING = {
    "too short": lambda x: np.frombuffer(b"123"),
    "too many": lambda x: np.frombuffer(BUFFER, count=99),
    "objects": lambda x: np.frombuffer(BUFFER, object),
    "an array": lambda x: np.frombuffer(x),
    "swapped": lambda x: np.frombuffer(BUFFER, ">f8"),
    "that may be written": lambda x: np.frombuffer(bytearray(BUFFER)),
}


@pytest.mark.parametrize("function", FAILING.values(), ids=FAILING)
def test_left_to_python(function):
    run = helpers.captured(function)
    run(np.arange(3.0))
    assert run.breaks
