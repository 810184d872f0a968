"""``unravel_index``, ``ravel_multi_index``, ``broadcast_arrays``, histograms of points, arrays without the zeros at
their ends, and questions about dtypes: all without a break.
"""

import warnings

import numpy as np
import numpy.polynomial.polynomial as polynomial
import pytest


# Places -----------------------------------------------------------------------------------------------------------
def unravelled(n):
    return np.unravel_index(n, (2, 3, 4)), np.unravel_index(n, 24), np.unravel_index(n, (4, 6), order="F")


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64"])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (7,), (2, 3), (2, 1, 3)])
def test_places_in_an_array(captured, dtype, shape):
    run = captured(unravelled)
    run(np.asarray(np.random.default_rng(0).integers(0, 24, shape)).astype(dtype))
    assert run.breaks == [] and run.graphs == 1


def ravelled(i, j):
    return (
        np.ravel_multi_index((i, j), (4, 5)),
        np.ravel_multi_index((i, j), (4, 5), order="F"),
        np.ravel_multi_index((i - 2, j + 3), (4, 5), mode="clip"),
        np.ravel_multi_index((i - 2, j + 3), (3, 4), "wrap"),
        np.ravel_multi_index((i,), (4,)),
        np.ravel_multi_index((i, 2), (4, 5)),
    )


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (7,), (2, 3)])
def test_one_place_for_several_coordinates(captured, dtype, shape):
    run = captured(ravelled)
    draw = np.random.default_rng(0).integers
    run(np.asarray(draw(0, 4, shape)).astype(dtype), np.asarray(draw(0, 5, shape)).astype(dtype))
    assert run.breaks == [] and run.graphs == 1


def test_coordinates_broadcast(captured):
    run = captured(lambda i, j: np.ravel_multi_index((i, j), (4, 5)))
    run(np.array([[0], [3]]), np.array([1, 2, 4]))
    assert run.breaks == []


def test_there_and_back(captured):
    run = captured(lambda x: (np.unravel_index(np.argmax(x), x.shape), np.unravel_index(np.argsort(x, None), (3, 4))))
    run(np.random.default_rng(0).random((3, 4)))
    assert run.breaks == []


@pytest.mark.parametrize(
    "function",
    [
        lambda n: np.unravel_index(n + 30, (2, 3)),
        lambda n: np.unravel_index(n - 9, (2, 3)),
        lambda n: np.ravel_multi_index((n, n), (2, 2)),
        lambda n: np.ravel_multi_index((n, n, n), (9, 9)),
        lambda n: np.ravel_multi_index((n, n), (9, 9), mode="no"),
        lambda n: np.unravel_index(n * 1.0, (2, 3)),
    ],
)
def test_errors_are_numpys(captured, function):
    run = captured(function)
    run(np.arange(5))
    assert run.graphs or run.breaks


# Broadcasting -----------------------------------------------------------------------------------------------------
def broadcast(x, y):
    a, b = np.broadcast_arrays(x, y)
    return a + b, a.sum(axis=0), b[0] * 2, a.shape


SHAPES = [((3, 1), (4,)), ((3, 4), (3, 4)), ((2, 1, 4), (3, 1)), ((1,), (5,)), ((3, 4), (1, 4))]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", ["int64", "float32", "complex128"])
def test_broadcast_arrays(captured, shapes, dtype):
    run = captured(broadcast)
    run(*(np.arange(np.prod(shape)).reshape(shape).astype(dtype) for shape in shapes))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_broadcast_arrays_are_returned(captured):
    run = captured(lambda x, y: (np.broadcast_arrays(x, y), np.broadcast_arrays(x, 2.0), np.broadcast_arrays(x)))
    run(np.ones((3, 1)), np.arange(4.0))
    run(np.ones((3, 4)), np.ones((3, 4)))
    assert run.breaks == []


def test_broadcast_arrays_warn_when_they_are_written(captured):
    run = captured(lambda x, y: np.broadcast_arrays(x, y))
    x = np.ones((3, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, _ = run(x, np.arange(4.0))
    with pytest.warns(DeprecationWarning, match="writing to an array"):
        made[0, 0] = 5.0
    assert x[0, 0] == 5.0


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_write_to_broadcast_arrays_is_left_to_numpy(captured):
    def write(x, y):
        a, b = np.broadcast_arrays(x, y)
        b[...] = 3
        return a

    run = captured(write)
    run(np.ones((3, 1)), np.arange(4.0))
    assert len(run.breaks) == 1 and "warns" in run.breaks[0]


# Histograms of points ---------------------------------------------------------------------------------------------
def histograms(p, w):
    counts, edges = np.histogramdd(p, bins=4, weights=w)
    return (
        counts * 2,
        edges,
        np.histogramdd(p, (2, 3, 4), density=True),
        np.histogram2d(p[:, 0], p[:, 1]),
        np.histogram2d(p[:, 0], w, bins=[3, 4], range=[[0, 1], [0.2, 0.8]]),
        np.histogram2d(p[:, 0], w, np.linspace(0, 1, 6), weights=w),
        np.histogramdd([w, p[:, 1]], 3),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("points", [1, 2, 50])
def test_histograms_of_points(captured, dtype, points):
    run = captured(histograms)
    draw = np.random.default_rng(0).random
    run(draw((points, 3)).astype(dtype), draw(points).astype(dtype))
    assert run.breaks == []


def test_edges_are_the_arrays_given(captured):
    run = captured(lambda p, e: np.histogram2d(p[:, 0], p[:, 1], bins=[e, 3]))
    run(np.random.default_rng(0).random((50, 2)), np.linspace(0, 1, 5))
    assert run.breaks == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_points_that_are_not_finite(captured, bad):
    run = captured(lambda p: np.histogramdd(p, 3))
    run(np.array([[1.0, 2.0], [bad, 3.0]]))
    assert run.graphs


# Zeros at the ends ------------------------------------------------------------------------------------------------
VECTORS = ([0, 0, 1, 0, 2, 0], [0, 0, 0], [3, 1], [0], [5], [0, 7], [7, 0])


def trimmed(x):
    view = np.trim_zeros(x)
    return view, np.trim_zeros(x, "f"), np.trim_zeros(x, "b") * 2, len(view), np.trim_zeros(x > 0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float64", "complex64"])
def test_trim_zeros(captured, dtype):
    run = captured(trimmed)
    for values in VECTORS:
        run(np.array(values, dtype))
    if dtype != "complex64":
        assert run.breaks == []


def test_what_is_trimmed_is_a_view(captured):
    def write(x):
        np.trim_zeros(x)[...] = 9
        return x

    run = captured(write)
    run(np.array([0.0, 1, 0, 2, 0]))
    run(np.array([0.0, 0, 0, 0, 4]))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
def test_polytrim(captured, dtype):
    run = captured(lambda c: (polynomial.polytrim(c), polynomial.polytrim(c, 1) * 2, len(polynomial.polytrim(c))))
    for values in VECTORS:
        run(np.array(values, dtype))
    assert run.breaks == []


# Dtypes -----------------------------------------------------------------------------------------------------------
def dtypes(x, y):
    return np.isdtype(x.dtype, "numeric"), x.astype(np.common_type(x, y)), np.min_scalar_type(300), x + y


def test_questions_about_dtypes(captured):
    run = captured(dtypes)
    run(np.arange(3), np.ones(3, np.float32))
    assert run.breaks == [] and run.graphs == 1
