"""What NumPy warns of where a ufunc's result is converted to the dtype of ``out=``: all of it in the ufunc's name, each
kind once; an assignment warns in the name of the cast.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import capture
from tests.compare import assert_same


def into(x, y, o, m):
    np.multiply(x, y, out=o)
    return o


def of_one(x, y, o, m):
    np.square(x, out=o)
    return o


def where_true(x, y, o, m):
    np.multiply(x, y, out=o, where=m)
    return o


def divided_where_true(x, y, o, m):
    return np.divide(y, x, out=o, where=m)


def in_place(x, y, o, m):
    o *= y
    return o


def in_place_in_part(x, y, o, m):
    o[1:] *= y[1:]
    return o


def into_itself(x, y, o, m):
    return np.multiply(o, y, out=o)


def into_a_neighbour(x, y, o, m):
    return np.multiply(o[1:], y[1:], out=o[:-1])


def into_what_is_masked_by_a_neighbour(x, y, o, m):
    return np.multiply(o[1:], y[1:], out=o[:-1], where=m[1:])


def two_lines(x, y, o, m):
    np.multiply(x, y, out=o)
    o += y
    return o


def assigned(x, y, o, m):
    o[...] = x * y
    return o


def copied(x, y, o, m):
    np.copyto(o, x * y)
    return o


def mathematical(x, y, o, m):
    return np.expm1(x, out=o)


def power(x, y, o, m):
    o **= y
    return o


NEIGHBOURS = (into_a_neighbour, into_what_is_masked_by_a_neighbour)
FUNCTIONS = (
    into, of_one, where_true, divided_where_true, in_place, in_place_in_part, into_itself, two_lines, assigned, copied,
    mathematical, power,
)  # fmt: skip
NUMBERS = {
    "too large": [1e30, 2.0, 1e5, 3e4],
    "too large for half": [3e4, 3e4, 2.0, 0.5],
    "too large for both": [1e300, 1e30, -1.0, 0.0],
    "inf and nan": [np.inf, np.nan, 0.0, 3.0],
    "small": [1.0, 2.0, 3.0, 0.5],
}


@pytest.mark.parametrize("function", (*FUNCTIONS, *NEIGHBOURS), ids=lambda function: function.__name__)
@pytest.mark.parametrize(("source", "target"), [("f8", "f4"), ("f8", "f2"), ("f4", "f2"), ("f4", "f8")])
def test_ufuncs_warn_of_casts_in_their_own_name(function, source, target):
    compiled = capture.compile(function, options={"math": "numpy"})
    told = 0
    layouts = ((1, 1), (2, 1), (1, 2))
    for (step, step_out), size, (name, numbers) in itertools.product(layouts, (4, 20_000), NUMBERS.items()):
        if size > 4 and name in ("too large for both", "small"):
            continue
        x = spread(numbers, source, size, step)
        y = spread([*numbers[:2], 2.0, 0.5], source, size, step)
        outs = [spread(np.nan_to_num(numbers, posinf=3.0), target, size, step_out) for _ in range(2)]
        m = np.resize([True, False, True, True], size)
        expected, texts = observed(function, x, y, outs[0], m)
        got, own = observed(compiled, x, y, outs[1], m)
        assert own == texts, (name, size, step, step_out)
        assert_same(got, expected)
        told += len(texts)
    assert told or source < target
    wider = source < target and function in (where_true, divided_where_true)  # NumPy narrows the old elements
    if function not in (*NEIGHBOURS, mathematical, power) and not wider:
        assert all(len(graph.calls) > 1 for graph in compiled.graphs) and compiled.graphs


def test_one_flag_for_a_product_and_its_cast():
    compiled = capture.compile(into)
    x = np.array([1e300, 1e30, 2.0])
    check = [observed(compiled, x, x, np.zeros(3, np.float32), None)[1] for _ in range(2)]
    assert [[text for _, text, *_ in texts] for texts in check] == [["overflow encountered in multiply"]] * 2
    assert len(compiled.graphs) == 1


def test_what_numpy_computes_aside_is_left_to_it():
    compiled = capture.compile(into_a_neighbour)
    o, y = np.full(20_000, 1e30, np.float32), np.full(20_000, 1e30)
    expected, texts = observed(into_a_neighbour, None, y, o.copy(), None)
    assert [text for _, text, *_ in texts] == ["overflow encountered in cast"]
    got, own = observed(compiled, None, y, o.copy(), None)
    assert own == texts
    assert_same(got, expected)
    assert not any(graph.written for graph in compiled.graphs)


def test_sizes_that_change_stay_open_with_out():
    compiled = capture.compile(into, fullgraph=True)
    for size in (3, 5, 8, 1, 13):
        x, o = np.arange(size, dtype=float), np.zeros(size)
        assert_same(compiled(x, x, o, None), x * x)
    assert len(compiled.graphs) <= 3


def spread(numbers, dtype, size, step):
    base = np.zeros(size * step, dtype)
    with np.errstate(all="ignore"):
        base[::step] = np.resize(np.array(numbers), size).astype(dtype)
    return base[::step] if step > 1 else base


def observed(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args)
    return result, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]
