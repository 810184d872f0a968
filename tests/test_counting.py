"""``bincount`` with weights and ``repeat`` with counts in loops: values, types, errors, sizes from data."""

import numpy as np
import pytest

WEIGHTS = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64")
LAYOUTS = {
    "contiguous": lambda a: a,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "Fortran": np.asfortranarray,
    "read-only": lambda a: _read_only(a.copy()),
}


def _read_only(a):
    a.flags.writeable = False
    return a


def numbers(dtype, shape, seed=0):
    return np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 12, shape).astype(dtype)


# bincount ---------------------------------------------------------------------------------------------------------
def weighted(x, w):
    return np.bincount(x, w), np.bincount(x, weights=w, minlength=20), np.bincount(x) * 2


@pytest.mark.parametrize("dtype", WEIGHTS)
def test_weights_are_added_in_order(captured, dtype):
    run = captured(weighted)
    for size in (1, 2, 50, 3000):
        run(numbers("int64", size), numbers(dtype, size, 1) * np.array(0.1).astype(dtype if dtype[0] == "f" else "?"))
    assert run.breaks == []


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool"])
def test_what_is_counted(captured, dtype, layout):
    run = captured(weighted)
    run(LAYOUTS[layout](numbers(dtype, 200)), LAYOUTS[layout](np.random.default_rng(1).standard_normal(200)))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize("bins", [1, 2, 300, 512, 513, 4096, 4097, 9000])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int64", "bool"])
def test_counts_of_many_numbers(captured, dtype, bins):
    """In chunks of 32768, each in tables of its thread, if there are at most 4096 numbers to count."""
    rng = np.random.default_rng(bins)
    run = captured(lambda x: np.bincount(x, minlength=bins))
    for size in (200_001, 32_768, 32_769, 3):
        most = min(bins, np.iinfo(dtype).max + 1 if dtype != "bool" else 2)
        run(rng.integers(0, most, size).astype(dtype))
        run(np.full(size, most - 1, dtype))
    assert run.breaks == []


def test_counts_beside_others(captured):
    """Of numbers that are computed, of several axes, under a mask, with ints for weights, and twice into one array."""

    def f(x, y):
        low = np.bincount(np.where(x > 0.5, (x * 300).astype(np.int64), 299 - (x * 300).astype(np.int64)))
        counts = np.bincount((y % 700).astype(np.int64), minlength=700)
        again = np.bincount(y & 31), np.bincount((y >> 5) & 31, minlength=32)
        return low, counts, again, np.histogram(x, 20, (0, 1)), np.histogram(x * 3, 600), counts.sum()

    run = captured(f)
    for size in (150_000, 70_001):
        rng = np.random.default_rng(size)
        run(rng.random(size), rng.integers(0, 1 << 40, size))
    assert run.breaks == []


def test_weights_do_not_warn(captured):
    run = captured(weighted)
    run(np.array([1, 1, 3, 0]), np.array([1e308, 1e308, np.inf, np.nan]))
    run(np.array([1, 1, 3, 1]), np.array([np.inf, -np.inf, -0.0, 5e-324]))
    assert run.breaks == []


def test_counts_of_nothing(captured):
    run = captured(lambda x, w: (np.bincount(x[:0]), np.bincount(x[:0], w[:0], 3), np.bincount([0, 2, 2], [1, 2, 3.5])))
    run(np.array([1, 2]), np.array([0.5, 1.0]))
    assert run.breaks == []


@pytest.mark.parametrize(
    "x, w",
    [
        ([1, -1, 2], [1.0, 2.0, 3.0]),
        ([1, 2, 2], [1.0, 2.0]),
        ([1.0, 2.0], [1.0, 2.0]),
        ([[1, 2]], [[1.0, 2.0]]),
        ([1, 2], [1j, 2.0]),
    ],
)
def test_counts_that_raise(captured, x, w):
    captured(weighted)(np.array(x), np.array(w))


# repeat -----------------------------------------------------------------------------------------------------------
def often(x, n):
    return np.repeat(x, n), x.repeat(n, axis=0), np.repeat(x, n, axis=-1) + 1, x.repeat(n).sum()


@pytest.mark.parametrize("dtype", [*WEIGHTS, "complex64", "complex128"])
def test_each_element_as_often_as_its_count_says(captured, dtype):
    run = captured(often)
    for size in (1, 2, 3, 40):
        run(numbers(dtype, size), numbers("int64", size, 2) % 7)
        run(numbers(dtype, size), numbers("int64", size, 2) * 0)
        run(numbers(dtype, size), numbers("int64", size, 3) * 11 + 1)
    assert run.breaks == []


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint16", "int32", "uint32", "int64"])
def test_dtypes_of_counts(captured, dtype):
    run = captured(often)
    run(numbers("float64", 30), numbers(dtype, 30, 2))
    run(numbers("float64", 30), numbers(dtype, 1, 2))
    assert run.breaks == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_as_often_as_their_counts_say(captured, layout):
    def rows(x, n, m):
        return np.repeat(x, n, 0), np.repeat(x, m, axis=1) * 2, x.repeat(n[0]), np.repeat(x[0], m, axis=-2)

    run = captured(rows)
    x = np.random.default_rng(1).standard_normal((5, 4, 3))
    run(LAYOUTS[layout](x), numbers("int64", 5), numbers("int64", 4, 1))
    assert run.breaks == [] and run.graphs == 1


def test_equal_counts_give_one_size(captured):
    run = captured(lambda x, y, n: np.repeat(x, n) * np.repeat(y, n) + 1)
    run(numbers("float64", 30), numbers("float32", 30, 1), numbers("int64", 30, 2))
    run(numbers("float64", 30), numbers("float32", 30, 1), numbers("int64", 30, 3))
    assert run.graphs == 1 and run.breaks == []


def test_counts_that_are_written_out(captured):
    def written_out(x):
        return np.repeat(x, [2, 0, 1]), np.repeat(x, [3]), x.repeat((1, 1, 2)), np.repeat(x[:0], x[:0] > 9)

    run = captured(written_out)
    run(numbers("float64", 3))
    assert run.breaks == []


@pytest.mark.parametrize(
    "n", [[1, -1, 2], [1, 2], [[1, 2, 3]], [1.0, 2.0, 3.0], [2**62, 2**62, 2**63 - 1], [-(2**63), 1, 1]]
)
def test_counts_that_are_refused(captured, n):
    run = captured(lambda x, n: np.repeat(x, n))
    run(numbers("float64", 3), np.array([1, 0, 2]))
    run(numbers("float64", 3), np.array(n))
