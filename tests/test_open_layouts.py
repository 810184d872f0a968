"""Results of open sizes are laid out as NumPy's, also where an axis has one element, or none, or two sizes are equal by
chance: an axis of one element has no say in the memory order, though it counts as moving where its size is open.

A row is an expression over an array ``x`` of two or three axes; all shapes of one layout are given to one function.
"""

import numpy as np
import pytest

from capture.backends import inductor
from tests.helpers import captured, numbers

SHAPES = ((5, 7), (1, 7), (7, 1), (2, 2), (7, 7), (1, 1), (0, 7), (7, 0))

EXPRESSIONS = """
    np.concatenate([x, x])
    np.concatenate([x, x], axis=1)
    np.concatenate([x, x[:1]]), np.append(x, x, axis=0)
    np.stack([x, x]), np.stack([x, x], -1)
    x[:, None] + x[None], x + 1, x + x.T.T
    np.expand_dims(x, 1) * np.ones((2, 1))
    x.copy(), x.copy("F"), x.copy("A"), x.copy("K")
    x.astype(np.float32), x.astype(np.int64, order="A"), np.ones_like(x, order="A")
    np.pad(x, 1)
    np.roll(x, 1, axis=0), np.roll(x, 1), np.roll(x, (1, 1), (0, 1))
    x.round(2)
    x.reshape(x.shape[::-1]), x.reshape(x.shape)
    x + 1, x.reshape(-1, x.shape[0]) if x.shape[0] else x
    np.where(x > 2, x, x * 2), np.clip(x, 1, 5)
    x.ravel("A"), x.ravel("K"), x.flatten("A")
"""

LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "of a larger one": lambda x: _cut(np.zeros([size + 3 for size in x.shape]), x),
    "of a larger Fortran one": lambda x: _cut(np.zeros([size + 3 for size in x.shape], order="F"), x),
    "other axes innermost": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, 1)), 1, 0),
}


def _cut(larger, x):
    view = larger[tuple(slice(0, size) for size in x.shape)]
    view[...] = x
    return view


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", filter(None, map(str.strip, EXPRESSIONS.splitlines())))
def test_layouts_of_results(expression, layout):
    run = captured(eval(f"lambda x: ({expression})", {"np": np}), dynamic=True, backend=inductor)
    for shape in SHAPES:
        run(LAYOUTS[layout](numbers(*shape)))
    assert run.graphs >= 1


@pytest.mark.parametrize(
    "expression", ["np.concatenate([x, x])", "np.pad(x, 1)", "np.roll(x, 1, axis=1)", "x[:, None] + x[None]"]
)
def test_layouts_of_results_of_three_axes(expression):
    run = captured(eval(f"lambda x: ({expression})", {"np": np}), dynamic=True, backend=inductor)
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        for n, m in SHAPES[:6]:
            run(np.ascontiguousarray(numbers(n, m, 3).transpose(order)).transpose(np.argsort(order)))
    assert run.graphs >= 1


def test_what_is_in_c_order_is_one_variant():
    run = captured(lambda x, y: (np.concatenate([x, y]), x[:, None] + y[None], x.copy("A"), np.pad(x, 1)), dynamic=True)
    for n, m in ((5, 7), (1, 1), (0, 2), (1, 7), (2, 0)):
        run(numbers(n, m), numbers(3, m))
    assert run.graphs == 1


def test_rolled_arrays_keep_their_order():
    run = captured(lambda x: np.roll(x, 1, axis=0), dynamic=False)
    for n in (1, 2, 3):
        run(np.asfortranarray(numbers(n, 2)))
    assert run.graphs == 3


MANY = np.arange(8.0).reshape((2, 2) + (1,) * 61 + (2,))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.argmax() + a.sum(),
        lambda a: np.nonzero(a > 3)[0],
        lambda a: a[a > 1] * 2,
        lambda a: a.reshape(-1) + 1,
        lambda a: a.max(axis=0) + a.T.sum(),
    ],
)
def test_arrays_of_as_many_axes_as_there_may_be(function, captured):
    run = captured(function)
    run(MANY.copy())
    run(MANY[:1].copy())
    assert run.graphs and not run.breaks


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a[..., None] - 1,
        lambda a: np.expand_dims(a, 0),
        lambda a: np.stack((a, a)),
        lambda a: np.add.outer(a, a),
        lambda a: np.broadcast_to(a, (1, *a.shape)) + 1,
        lambda a: np.zeros((1, *a.shape)),
    ],
)
def test_one_axis_more_is_left_to_numpy(function, captured):
    run = captured(function)
    run(MANY.copy())
    assert run.breaks
