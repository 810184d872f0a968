"""``unique`` and the set functions stay in the graph: values, types, layouts, sizes from data, what is done with it."""

import numpy as np
import pytest

DTYPES = ("bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128")


def numbers(dtype, shape, seed=0):
    values = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 9, shape)
    return np.asarray(values).astype(dtype)


# unique -----------------------------------------------------------------------------------------------------------
def unique(x):
    return (
        np.unique(x),
        np.unique(x, return_counts=True),
        np.unique(x, True),
        np.unique(x, return_inverse=True, equal_nan=False),
        np.unique(x, return_index=True, return_inverse=True, return_counts=True),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (30,), (5, 4), (2, 3, 4), (0, 3)])
def test_unique(captured, dtype, shape):
    run = captured(unique)
    for seed in range(2):
        run(numbers(dtype, shape, seed))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: a[::-1], lambda a: np.repeat(a, 2, 1)[:, ::2]])
def test_layouts(captured, layout):
    run = captured(unique)
    run(layout(numbers("float64", (6, 5))))
    assert run.breaks == []


def rows(x):
    return np.unique(x, axis=0), np.unique(x, axis=-1, return_inverse=True, return_counts=True), np.unique(x, axis=1)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(6, 2), (3, 1), (1, 4), (4, 2, 3)])
def test_unique_rows(captured, dtype, shape):
    run = captured(rows)
    for seed in range(2):
        run(numbers(dtype, shape, seed) // 3 if dtype == "int64" else numbers(dtype, shape, seed))
    assert run.breaks == [] and run.graphs == 1


def test_special_floats(captured):
    run = captured(unique)
    run(np.array([0.0, -0.0, np.nan, np.inf, np.nan, -np.inf, 1.0, -0.0]))
    assert run.breaks == []


def named(x):
    return np.unique_all(x), np.unique_counts(x), np.unique_inverse(x), np.unique_values(x)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float64"])
def test_named_results(captured, dtype):
    run = captured(named)
    for seed in range(2):
        run(numbers(dtype, 30, seed))
    run(numbers(dtype, (5, 4)))
    assert run.breaks == []


def used(x):
    values, counts = np.unique(x, return_counts=True)
    most = values[np.argmax(counts)]
    return most, values[counts > 1] * 2, len(values), counts / counts.sum(), values.max() - values.min(), values[:2]


def test_what_is_done_with_results(captured):
    run = captured(used)
    for seed in range(3):
        run(numbers("float64", 30, seed))
    run(np.ones(30))
    assert run.breaks == [] and run.graphs == 1


def labelled(x, y):
    labels, places = np.unique(x, return_inverse=True)
    sums = np.zeros(len(labels))
    np.add.at(sums, places, y)
    return labels, sums, np.bincount(places, weights=y, minlength=len(labels)), np.eye(len(labels))[places]


def test_groups(captured):
    run = captured(labelled)
    for seed in range(3):
        run(numbers("int64", 30, seed), numbers("float64", 30, seed + 3) / 7)
    assert run.graphs >= 1


def only_counted(x):
    return len(np.unique(x)), np.unique(x % 3).size, x + len(np.unique(x))


def test_only_the_number_is_asked_for(captured):
    run = captured(only_counted)
    for seed in range(3):
        run(numbers("int64", 30, seed))
    assert run.breaks == [] and run.graphs == 1


def written(x):
    first = np.unique(x)
    x += 1
    return first, np.unique(x), len(first)


def test_before_and_behind_a_change(captured):
    run = captured(written)
    for seed in range(3):
        run(numbers("int64", 30, seed))
    assert run.graphs >= 1


# Two sets ---------------------------------------------------------------------------------------------------------
def two(x, y):
    return (
        np.union1d(x, y),
        np.intersect1d(x, y),
        np.intersect1d(x, y, return_indices=True),
        np.setdiff1d(x, y),
        np.setxor1d(x, y),
        np.isin(x, y),
        np.isin(x, y, invert=True),
    )


@pytest.mark.parametrize("one", ["bool", "int8", "int64", "float32", "complex64"])
@pytest.mark.parametrize("other", ["bool", "uint64", "float64"])
def test_two_sets(captured, one, other):
    run = captured(two)
    for seed in range(2):
        run(numbers(one, 20, seed), numbers(other, 9, seed + 5))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize("shapes", [((0,), (3,)), ((3,), (0,)), ((0,), (0,)), ((2, 3), (4,)), ((), (3,)), ((1,), (1,))])
def test_few_elements(captured, shapes):
    run = captured(two)
    run(*(numbers("int64", shape, seed) for seed, shape in enumerate(shapes)))
    assert run.graphs >= 1


def assumed(x, y):
    return (
        np.intersect1d(x, y, True),
        np.intersect1d(x, y, assume_unique=True, return_indices=True),
        np.setdiff1d(x, y, True),
        np.setxor1d(x, y, assume_unique=True),
    )


def test_what_is_assumed_need_not_be_so(captured):
    run = captured(assumed)
    run(np.array([3, 1, 2, 9]), np.array([2, 3, 4]))
    run(np.array([3, 1, 3, 1]), np.array([3, 3, 3]))
    assert run.breaks == [] and run.graphs == 1


def lists(x):
    return np.unique([3, 1, 3]), np.union1d(x, [1, 2]), np.setdiff1d(x, [1]), np.intersect1d([1, 2], x), np.unique(2.5)


def test_lists(captured):
    run = captured(lists)
    run(numbers("int64", 9))
    assert run.breaks == []


def chained(x, y):
    both = np.intersect1d(x, y)
    return np.union1d(both, x[x > 3]), len(both), np.setdiff1d(x, both).sum(), both * 2 + len(both)


def test_sets_of_sets(captured):
    run = captured(chained)
    for seed in range(3):
        run(numbers("int64", 30, seed), numbers("int64", 7, seed + 3))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.unique(x, axis=3),
        lambda x: np.unique(x, axis=0.5),
        lambda x: np.unique(x, return_nothing=True),
        lambda x: np.union1d(x),
        lambda x: np.intersect1d(x, x, axis=0),
    ],
)
def test_errors_are_numpys(captured, function):
    run = captured(function)
    run(numbers("int64", 9))
    assert run.breaks
