"""``np.histogram`` in loops: counts, edges and their types, on every dtype and layout, and what is left to NumPy."""

import numpy as np
import pytest

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
LAYOUTS = {
    "contiguous": lambda a: a,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "Fortran": np.asfortranarray,
}


def numbers(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    if dtype[0] == "f":
        return (rng.standard_normal(shape) * 3).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def equal_bins(x):
    return np.histogram(x), np.histogram(x, 7)[0] * 2, np.histogram(x, bins=100)


def between_bounds(x):
    return np.histogram(x, 5, (-1, 20)), np.histogram(x, 9, range=(0.1, 0.7)), np.histogram(x, 4, (3.0, 3.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [equal_bins, between_bounds])
def test_bins_of_equal_width(captured, function, dtype):
    run = captured(function)
    for size in (1, 2, 30, 1000):
        run(numbers(dtype, size))
    run(np.full(5, 3, dtype))
    run(np.arange(101).astype(dtype))
    run(np.arange(101).astype(dtype) / np.array(10).astype(dtype))
    assert run.breaks == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(captured, layout):
    run = captured(lambda x, w: (np.histogram(x, 6), np.histogram(x, 6, weights=w), np.histogram(x, [-1.0, 0, 0.5, 2])))
    run(LAYOUTS[layout](numbers("float64", (20, 30))), LAYOUTS[layout](numbers("float64", (20, 30), 1)))
    assert run.breaks == [] and run.graphs == 1


@pytest.mark.parametrize("spread", [1e-300, 1e-12, 1.0, 1e12, 1e300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_on_edges_and_beside_them(captured, dtype, spread):
    run = captured(lambda x: (np.histogram(x, 10), np.histogram(x, 37)))
    with np.errstate(over="ignore"):
        edges = np.linspace(-spread, 2 * spread, 371).astype(dtype)
        beside = (np.nextafter(edges, np.dtype(dtype).type(end)) for end in (np.inf, -1e9))
        x = np.concatenate([edges, *beside])
    run(x[np.isfinite(x)])
    run(x)
    assert run.breaks == []


POWERS = ((1, 64), (256, 256), (1, 1), (2.0**-100, 8), (2.0**-140, 16), (2.0**-149, 1), (2.0**53, 2), (8, 8192), (4, 3))


@pytest.mark.parametrize("last, bins", POWERS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64"])
def test_bins_whose_edges_are_powers_of_two(captured, dtype, last, bins):
    run = captured(lambda x: np.histogram(x, bins, (0, last)))
    edges = np.linspace(0, last, 65)
    x = np.concatenate([edges, -edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), [5e-324, 1e-45]])
    run(x.astype(dtype))
    if dtype[0] == "f":
        run(np.concatenate([x.astype(dtype), np.array([np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).max], dtype)]))
    assert run.breaks == []


REFUSED = ([1.0, np.nan], [1.0, np.inf], [-np.inf, 1.0], [-1.7e308, 1.7e308], [1.0, 1.0000000000000002], [0.0, 5e-324])


@pytest.mark.parametrize("x", REFUSED)
def test_numbers_that_raise_or_warn(captured, x):
    run = captured(lambda x: np.histogram(x, 10))
    run(np.array([1.0, 2.0]))
    run(np.array(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("edges", [[0, 1, 2, 5, 9], [-1.5, 0.25, 0.25, 3.5], [2.0, 2.0], (1, 100)])
def test_given_edges(captured, edges, dtype):
    run = captured(lambda x, e: (np.histogram(x, e), np.histogram(x, bins=e)[0] + 1))
    x = np.concatenate([numbers(dtype, 40), np.array([0, 1, 2, 5, 9, 2, 100]).astype(dtype)])
    run(x, np.array(edges))
    run(x, np.array(edges, dtype="float32"))
    assert run.breaks == []


def test_given_edges_are_returned_as_they_are(captured):
    def function(x, e):
        counts, edges = np.histogram(x, e)
        return counts, edges is e, edges

    run = captured(function)
    run(numbers("float64", 100), np.array([-3.0, 0.0, 1.0, 3.0]))
    assert run.breaks == []


def test_edges_that_fall_and_numbers_that_are_none(captured):
    run = captured(lambda x, e: np.histogram(x, e))
    x = np.array([np.nan, 1.0, np.inf, -np.inf, 2.0, 3.0, 0.0, -0.0] * 3)
    for edges in ([-0.0, 1.0, 3.0], [0.0, 3.0, 2.0], [0.0, np.nan, 2.0], [-np.inf, 0.0, np.inf], [0.0, 1.0, np.nan]):
        run(x, np.array(edges))
    assert run.breaks == []


def test_weights(captured):
    run = captured(lambda x, w: (np.histogram(x, 8, weights=w)[0], np.histogram(x, 8, (-1, 1), weights=w)[0]))
    for size in (1, 10, 65536):
        run(numbers("float64", size), numbers("float64", size, 1))
    run(numbers("float64", 10), np.array([np.inf, 1, np.nan, -np.inf, 2, 3, 4, 5, 1e308, 1e308]))
    assert run.breaks == []


def test_weights_of_many_numbers(captured):
    run = captured(lambda x, w: np.histogram(x, 3, weights=w)[0])
    run(numbers("float64", 200_000), np.random.default_rng(1).integers(0, 99, 200_000) * 0.25)
    assert run.breaks == []


LEFT = """
np.histogram(x, 0) | np.histogram(x, -3) | np.histogram(x, 2.5) | np.histogram(x, 5, (2, 1)) | np.histogram([1, 3, 1.5])
np.histogram(x, 5, (0, np.inf)) | np.histogram(x, [[1, 2]]) | np.histogram(x + 1j, 3) | np.histogram(x, density=True)
np.histogram(x > 0) | np.histogram(x.astype('f2')) | np.histogram(x[:0]) | np.histogram(x, 4, weights=x.astype('f4'))
np.histogram(x, [0.0, 1, 2], weights=x) | np.histogram(x, [1.0]) | np.histogram(x, 'sqrt') | np.histogram(5.0)
np.histogram(x, 3, density=True, weights=x * x) | np.histogram(x, 5, weights=x[1:]) | np.histogram(x, True)
""".strip().replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("call", LEFT)
def test_what_is_left_to_numpy(captured, call):
    captured(eval(f"lambda x: {call}", {"np": np}))(numbers("float64", 30))
