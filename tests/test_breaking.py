"""Programs that once gave something else than NumPy, by kind."""

import operator

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import capture.backends
from tests.helpers import captured as captured_by


def captured(function):
    return captured_by(function, backend=capture.backends.inductor, exact=False)


PAIR = [0, 1]


def read_pair(x):
    return x[PAIR]


def read_literal(x):
    return x[[0, 1]]


def read_none(x):
    return x[[]]


def read_in_tuple(x):
    return x[[0, 1], 1]


def write_pair(x):
    x[[0, 1]] = 7
    return x


def add_pair(x):
    x[[0, 1]] += 7
    return x


def index_of_lists(x):
    return x[[None]], x[[slice(0, 1)]]


@pytest.mark.parametrize(
    "function", [read_pair, read_literal, read_none, read_in_tuple, write_pair, add_pair, index_of_lists]
)
def test_a_list_is_no_tuple_as_an_index(function):
    run = captured(function)
    for _ in range(2):
        run.on(lambda: (np.arange(12.0).reshape(3, 4),))


def add_to_list(x):
    pair = [1.0, 2.0]
    pair += x
    return pair


def add_to_lists_by_operator(x):
    pair, other = [1.0, 2.0], [3.0]
    return operator.iadd(pair, x), pair, operator.iconcat(other, x), other


@pytest.mark.parametrize("function", [add_to_list, add_to_lists_by_operator])
def test_an_array_is_added_to_a_list_not_appended(function):
    captured(function).on(lambda: (np.ones(2),))
    assert "list += array" in str(capture.explain(function)(np.ones(2)).breaks)


@pytest.mark.parametrize("join", [operator.concat, operator.iconcat])
def test_arrays_are_not_joined_by_operators(join):
    def function(x):
        return join(x * 2, x)

    for run in (function, capture.compile(function)):
        with pytest.raises(TypeError, match="Concatenation operation is not implemented"):
            run(np.ones(2))
    compiled = capture.compile(lambda x: x * len(join([1.0], [2.0])))
    assert compiled(np.ones(2)).tolist() == [2.0, 2.0]
    assert len(compiled.graphs) == 1


@pytest.mark.parametrize(
    ("shape", "strides"), [((3, 3), (8, 8)), ((3, 4), (8, 0)), ((3, 3), (8, 16)), ((2, 2), (8, -8))]
)
@pytest.mark.parametrize("operation", ["w += 1", "w *= 2", "np.add(w, 1, out=w)", "np.exp(w, out=w)"])
def test_arrays_that_overlap_themselves(shape, strides, operation):
    namespace = {"np": np}
    exec(f"def function(w):\n    {operation}\n    return w", namespace)
    plain, compiled = (as_strided(np.zeros(12)[4:], shape, strides) for _ in range(2))
    expected = namespace["function"](plain).tolist()
    assert capture.compile(namespace["function"])(compiled).tolist() == expected


def test_an_array_with_gaps_is_written_in_place():
    def doubled(w):
        w *= 2
        return w

    compiled = capture.compile(doubled)
    base = np.ones((6, 8))
    assert compiled(base[::2, ::2]).base is base
    assert base.sum() == 48 + 12
    assert len(compiled.graphs) == 1


@pytest.mark.parametrize("value", [2.5, 3, True, np.float64(0.5)])
def test_clip_of_numbers(value):
    captured(lambda x: np.clip(x, 0, 2))(value)


ATTEMPTS = """
x.reshape(n, -1) | x.reshape((n, 3)) | np.zeros(n) | np.zeros((n, 2)) | np.ones(n, int) | np.full((n, 2), 1.0)
np.eye(n)
x.sum(axis=n) | x.sum(n) | np.transpose(x[None], (n, 0)) | np.concatenate([x, x], axis=n) | np.argmax(x, axis=n)
np.cumsum(x, axis=n) | np.squeeze(x[None], axis=n)
""".replace("\n", "|")


@pytest.mark.parametrize("expression", [e.strip() for e in ATTEMPTS.split("|") if e.strip()])
@pytest.mark.parametrize("n", [True, False, [0], [0, 1]], ids=str)
def test_bools_and_lists_as_axes_and_shapes(expression, n):
    namespace = {"np": np}
    exec(f"def function(x, n):\n    return {expression}", namespace)
    captured(namespace["function"])(np.arange(3.0), n)


def test_linspace_owns_what_numpys_owns():
    captured(lambda x: np.linspace(0, 1, 5))(np.ones(2))


MOVES = """
a[1:] = (-a)[:-1] | a[1:] = (a + 1)[::-1][1:] | a[:-1] = np.abs(a)[1:] | a[...] = (-a)[::-1] | a[::-1] = a * 2
a[1:] += (-a)[:-1] | a[1:] = (-a)[:-1] * 2 | a[1:] = np.maximum(a, 1)[:-1] + a[1:] | a[:] = np.flip(-a)
a[1:] = a.copy()[:-1] | a[1:] = (a > 0)[:-1] | a[1:] = a.astype(np.float32)[:-1] | a[2:] = (-a)[1:][:-1]
a[1:] = np.where(a > 0, a, 0)[:-1] | np.copyto(a[1:], (-a)[:-1]) | np.add((-a)[:-1], 1, out=a[1:])
""".replace("\n", "|")


@pytest.mark.parametrize("line", [e.strip() for e in MOVES.split("|") if e.strip()])
@pytest.mark.parametrize("shape", [(40,), (9, 7)])
def test_a_view_of_a_value_is_stored_where_the_value_came_from(line, shape):
    namespace = {"np": np}
    exec(f"def function(a):\n    {line}\n    return a", namespace)
    run = captured(namespace["function"])
    run.on(lambda: (np.arange(np.prod(shape)).reshape(shape) - 5.0,))
    assert run.graphs == 1
