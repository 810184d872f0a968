"""Guards on sizes: what C decides is what Python says, over shapes, layouts and random relations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.frames.guards import ArrayIs, Guard, holds, why_failed
from capture.frames.size_guards import relation_guard
from capture.frames.sources import LARGEST_SIZE, Argument, Dimension, State
from capture.ir.shapes import Symbol, TooComplex, eq, floordiv, le, lt, maximum, minimum, modulo, ne
from capture.ir.types import Layout
from tests.frames.test_guards import holds_in_c, one, two

X, Y = Argument(0, "x"), Argument(1, "y")
N, M, K = Symbol("s0"), Symbol("s1"), Symbol("k2", None)
PLACES = {"s0": Dimension(X, 0), "s1": Dimension(X, 1), "k2": Y}

sizes = st.recursive(
    st.sampled_from([N, M, K]) | st.integers(-3, 5),
    lambda inner: st.builds(
        lambda combine, a, b: combine(a, b),
        st.sampled_from([lambda a, b: a + b, lambda a, b: a * b, floordiv, modulo, minimum, maximum]), inner, inner,
    ),
    max_leaves=6,
)  # fmt: skip


@given(st.data(), st.sampled_from([eq, ne, lt, le]), st.integers(0, 6), st.integers(0, 6), st.integers(-5, 5))
@settings(deadline=None, max_examples=300)
def test_c_decides_relations_as_python_does(data, relate, n, m, k):
    try:
        relation = relate(data.draw(sizes), data.draw(sizes))
    except (ZeroDivisionError, TooComplex):
        return
    if relation.symbols:
        guard = relation_guard(relation, PLACES, "")
        state = State((np.zeros((n, m)), k), two)
        assert holds_in_c([guard], state) == holds(guard, state), relation


EDGES = (0, 1, 2, 3, 5, LARGEST_SIZE - 1, LARGEST_SIZE)
SHAPES = st.tuples(st.sampled_from(EDGES), st.sampled_from(EDGES)).filter(lambda shape: shape[0] * shape[1] < 2**50)
SIDES = [N, M, K, Symbol("k3", None), *EDGES, -1, -2, 2 * N, LARGEST_SIZE + 1, 2**63 - 1]
TWO = {"s0": Dimension(X, 0), "s1": Dimension(X, 1), "k2": Dimension(Y, 0), "k3": Dimension(Y, 1)}
simple = st.builds(
    lambda relate, a, b: relate(a, b),
    st.sampled_from([eq, ne, lt, le]), st.sampled_from(SIDES), st.sampled_from(SIDES),
)  # fmt: skip


@given(st.lists(simple, max_size=5), SHAPES, SHAPES, st.booleans())
@settings(deadline=None, max_examples=400)
def test_relations_beside_the_checks_of_their_arrays(relations, shape, other, both):
    """Bounds of a size are part of the array's own step in C, and equal sizes are compared without a look at types."""
    guards = [relation_guard(relation, TWO, "") for relation in relations if relation.symbols]
    arrays = [np.broadcast_to(np.zeros(()), shape), np.broadcast_to(np.zeros(()), other)]
    guards += [Guard(place, ArrayIs(np.dtype(float), (None, None))) for place in (X, Y)[: 1 + both]]
    for found in (arrays, arrays[::-1], [arrays[0], None], [np.zeros(3), arrays[1]]):
        state = State(tuple(found), two)
        assert holds_in_c(guards, state) == all(holds(guard, state) for guard in guards), list(map(str, guards))


@pytest.mark.parametrize("x", [None, 3, np.zeros(2), np.float64(1), [[1]]], ids=repr)
def test_what_has_no_such_size_does_not_hold(x):
    guard = relation_guard(le(0, M), PLACES, "")
    state = State((x,), one)
    assert not holds(guard, state)
    assert not holds_in_c([guard], state)


@pytest.mark.parametrize("k", [True, 2.0, 2**70, None])
def test_what_is_no_int64_does_not_hold(k):
    guard = relation_guard(le(0, K * 3), PLACES, "")
    state = State((None, k), two)
    assert not holds(guard, state)
    assert not holds_in_c([guard], state)


def test_in_words():
    guard = relation_guard(eq(N, 2 * M), PLACES, "needed by x @ y")
    assert str(guard) == "x.shape[0] == 2*x.shape[1]"
    state = State((np.zeros((3, 4)),), one)
    assert why_failed([guard], state) == (
        "x: expected x.shape[0] == 2*x.shape[1], but x.shape[0] is 3, x.shape[1] is 4"
    )


# Layouts with open sizes ----------------------------------------------------------------------------------------------
def zoo():
    """Arrays of three axes with sizes 0, 1, 2 and more, in every order, with gaps, steps and repeats."""
    for shape in itertools.product((0, 1, 2, 3), repeat=3):
        for order in itertools.permutations(range(3)):
            base = np.zeros([2 * shape[axis] + 1 for axis in order])
            dense = np.zeros([shape[axis] for axis in order])
            for array, steps in ((dense, (1, 1, 1)), (base, (2, 1, 1)), (base, (1, 1, 2)), (base[:, ::-1], (1, -2, 1))):
                cut = array[tuple(slice(None, None, step) for step in steps)]
                cut = cut[tuple(slice(0, shape[axis]) for axis in order)]
                yield cut.transpose(np.argsort(order))
    for axes in itertools.product((1, 3), repeat=3):
        yield np.broadcast_to(np.zeros(axes), (3, 3, 3))


ZOO = list(zoo())


@pytest.mark.parametrize("open_axes", [(), (0,), (2,), (0, 1), (0, 1, 2)], ids=str)
def test_c_decides_layouts_as_python_does(open_axes):
    random = np.random.default_rng(0)
    for example in [ZOO[k] for k in random.integers(0, len(ZOO), 60)]:
        shape = tuple(None if axis in open_axes else size for axis, size in enumerate(example.shape))
        layout = Layout.of_open(example, open_axes)
        guard = Guard(X, ArrayIs(example.dtype, shape, layout))
        assert holds(guard, State((example,), one)), (example.shape, example.strides, layout)
        for other in [ZOO[k] for k in random.integers(0, len(ZOO), 60)] + [example]:
            state = State((other,), one)
            assert holds_in_c([guard], state) == holds(guard, state), (layout, other.shape, other.strides)


def test_without_open_axes_a_layout_is_exact():
    for example in ZOO[::7]:
        for other in ZOO[::11]:
            if example.shape == other.shape and example.size:
                assert Layout.of(example).fits(other) == (Layout.of(example) == Layout.of(other))
