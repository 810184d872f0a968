"""Reshapes of turned and sliced arrays whose sizes are open: views where NumPy makes views, copies where it copies."""

import itertools
import math
import random

import numpy as np
import pytest

from tests.helpers import captured, numbers

SIZES = (0, 1, 2, 3, 5)

SHAPES = {  # of four sizes
    "all in one": lambda a, b, c, d: (a * b * c * d,),
    "the first two": lambda a, b, c, d: (a * b, c, d),
    "the middle two": lambda a, b, c, d: (a, b * c, d),
    "the last two": lambda a, b, c, d: (a, b, c * d),
    "in pairs": lambda a, b, c, d: (a * b, c * d),
    "none": lambda a, b, c, d: (a, 1, b, c, d, 1),
}
ORDERS = [(0, 1, 2, 3), (0, 2, 1, 3), (1, 0, 2, 3), (0, 1, 3, 2), (3, 2, 1, 0), (2, 3, 0, 1)]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_what_is_written_to_a_reshape(name, order):
    def program(x):
        turned = x.transpose(order)
        y = turned.reshape(SHAPES[name](*turned.shape))
        y += 1
        return y

    run = captured(program, dynamic=True, options={"recompile_limit": 1000})
    shapes = list(itertools.product(SIZES, repeat=4))
    for shape in [(5, 3, 2, 5), *random.Random(f"{name}{order}").sample(shapes, 24)]:
        run(numbers(*shape))
    assert run.graphs


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("name", SHAPES)
def test_what_refuses_writes(name, dynamic):
    """A view of no elements of a read-only array is read-only, a copy is not."""

    def program(x):
        turned = x.transpose(2, 0, 1)[:, None]
        return (
            turned.reshape(SHAPES[name](*turned.shape)),
            x.T.reshape(x.size),
            np.broadcast_to(x, (2, *x.shape)).reshape(-1),
        )

    run = captured(program, dynamic=dynamic, options={"recompile_limit": 1000})
    for shape in ((5, 3, 2), (7, 2, 3), (0, 2, 3), (3, 0, 4), (2, 3, 0), (1, 1, 5), (3, 5, 7)):
        for writeable in (True, False):
            x = numbers(*shape)
            x.flags.writeable = writeable
            run(x)
    assert run.graphs


@pytest.mark.parametrize("order", ORDERS[:4], ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_reshapes_of_what_the_graph_has_made(name, order):
    def program(x, k):
        turned = (x[k:] * 2).transpose(order)
        return turned.reshape(SHAPES[name](*turned.shape)), turned[::2].reshape(-1)

    run = captured(program, dynamic=True, options={"recompile_limit": 1000})
    shapes = list(itertools.product(SIZES, repeat=4))
    for shape in [(5, 3, 2, 5), *random.Random(f"{name}{order}").sample(shapes, 12)]:
        run(numbers(*shape), shape[0] // 2)
    assert run.graphs


def heads(x, w, count):
    t, d = x.shape
    q = (x @ w).reshape(t, count, d // count).transpose(1, 0, 2)
    p = np.exp(q @ q.transpose(0, 2, 1) / math.sqrt(d))
    return (p @ q).transpose(1, 0, 2).reshape(t, d)


def batches_of_heads(x, w, count):
    b, t, d = x.shape
    q = (x @ w).reshape(b, t, count, d // count).transpose(0, 2, 1, 3)
    return (q @ q.transpose(0, 1, 3, 2) @ q).transpose(0, 2, 1, 3).reshape(b, t, d)


@pytest.mark.parametrize("program, before", [(heads, ()), (batches_of_heads, (2,))])
def test_attention_is_one_graph(program, before):
    """One row is a case of its own: NumPy copies nothing then."""
    run = captured(program, dynamic=True, fullgraph=True, exact=False)
    for t in (7, 16, 2, 0, 3, 17):
        run(numbers(*before, t, 8) / 8, numbers(8, 8) / 8, 2)
    assert run.graphs == 1
    run(numbers(*before, 1, 8) / 8, numbers(8, 8) / 8, 2)
    assert run.graphs == 2
    assert "x.shape[" in "".join(run.guards) and any("!= 1" in guard for guard in run.guards)


def test_patches_of_an_image_are_one_graph():
    def patches(x):
        c, h, w = x.shape
        return x.reshape(c, h // 4, 4, w // 4, 4).transpose(1, 3, 0, 2, 4).reshape(h // 4 * (w // 4), c * 16)

    run = captured(patches, dynamic=True, fullgraph=True)
    for h, w in ((8, 12), (16, 16), (12, 8), (100, 64)):
        run(numbers(3, h, w))
    assert run.graphs == 1
