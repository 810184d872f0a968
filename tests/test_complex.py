"""Complex numbers in loops: every bit, warning and view as NumPy's, in every layout; and what is left to NumPy."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from capture.inductor.complex_parts import PARTS
from capture.ir.complexes import FUSED, OTHER, PLAIN, RECORDS, UFUNCS, rounding
from capture.ir.op import all_ops
from tests.helpers import captured

BACKENDS = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])
DTYPES = pytest.mark.parametrize("dtype", ["complex64", "complex128"])
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e38, -2.5, 1.0]
LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
}


def numbers(shape, dtype, seed=0, odd=0.2):
    random = np.random.default_rng(seed)
    found = np.empty(shape, dtype)
    for part in (found.real, found.imag):
        with np.errstate(all="ignore"):
            part[...] = np.where(random.random(shape) < odd, random.choice(ODD, shape), random.standard_normal(shape))
    return found


def arithmetic(x, y):
    return x + y, x - y, x * y, x / y, -x, abs(x), np.square(x), x**2, x.conj(), 2.5j * x + y, x / 3 + 1j


def comparisons(x, y):
    orders = x < y, x <= y, x > y, x >= y, x == y, x != y
    return *orders, np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, y)


def logic(x, y):
    truth = np.logical_and(x, y), np.logical_or(x, y), np.logical_xor(x, y), np.logical_not(x)
    return *truth, np.isnan(x), np.isinf(x), np.isfinite(x), x.any(), np.all(y, axis=0), np.count_nonzero(x, axis=0)


def parts(x, y):
    return x.real, x.imag, x.real + y.imag, (x + y).real, x.real[::2], x.imag.T, np.real(y), np.imag(x)


def moved(x, y):
    joined = np.concatenate((x, y)), np.stack((x, y), axis=-1), np.where(x.real > 0, x, y), np.tile(x, 2)
    taken = x[[0, -1]], x[x.imag > 0], np.take(y, [0, 0]), np.roll(x, 1), np.diff(y, axis=0), np.repeat(x, 2), x[::-1]
    return *joined, *taken, x.astype("c8"), y.astype("c16"), x.astype(bool), np.nonzero(x), x.cumsum(axis=0)


@BACKENDS
@DTYPES
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", [arithmetic, comparisons, logic, parts, moved], ids=lambda f: f.__name__)
def test_as_numpy_in_every_layout(function, layout, dtype, backend):
    run = captured(function, backend=backend)
    shapes = ((5, 6), (1, 3), (30, 40), (0, 2))
    if backend is inductor:  # kernels take their time: each dtype has half of the shapes
        shapes = shapes[::2] if dtype == "complex64" else shapes[1::2]
    for shape in shapes:
        odd = 0 if function is moved else 0.2  # np.diff warns at lines of NumPy's own
        run(*(LAYOUTS[layout](numbers(shape, dtype, seed, odd)) for seed in (1, 2)))
    assert run.graphs and run.breaks == []


def test_products_are_rounded_as_numpy_rounds_them_at_every_length():
    run = captured(lambda x, y: (x * y, np.square(x), abs(y), x * y[:1], x[:, None] * y))
    for size in range(2, 40):
        for dtype in ("c8", "c16"):
            run(numbers(size, dtype, size, 0), numbers(size, dtype, size + 1, 0))
    assert run.breaks == []


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_the_rounding_here_is_known(dtype):
    assert rounding(np.dtype(dtype)) in (FUSED, PLAIN, OTHER)
    assert rounding(np.dtype(dtype)) != OTHER, "a processor whose complex products are left to NumPy: fine, but new"


def test_single_products_are_numpys_own():
    """NumPy rounds them by how they are called."""
    run = captured(lambda x, y: (x * y, x[0] * y[0], x[:1] * y[:1]), backend=inductor)
    run(numbers(1, "c16", 1, 0), numbers(1, "c16", 2, 0))
    assert {"multiply"}.isdisjoint(node.target for graph in run.record.graphs for node in graph.calls)


@BACKENDS
def test_writes(backend):
    def write(z, w, x):
        z += w
        z[1:] *= 2
        z[:, 0] = w[:, 1]
        z.real[...] = z.real + x
        z.imag *= 3
        z[x > 0.5] = 1j
        z[[0, 2]] = w[:2]
        np.multiply(z, w, out=w)
        np.add(z, w, out=z[::-1])
        z[x < -0.5] = w[x < -0.5]
        return z.imag, w

    run = captured(write, backend=backend)
    x = np.random.default_rng(5).standard_normal((6, 7))
    run(numbers((6, 7), "c16", 1, 0), numbers((6, 7), "c16", 2, 0), x)
    run(numbers((6, 14), "c8", 1, 0)[:, ::2], numbers((6, 7), "c8", 2, 0), x.astype("f4"))
    assert run.graphs > 1


@BACKENDS
def test_a_part_is_read_before_the_whole_is_written(backend):
    def write(z):
        z.real[...] = z.imag
        z[...] = z[::-1]
        z.imag[1:] = z.real[:-1]
        z[1:] = z.real[:-1]
        return z * 2

    captured(write, backend=backend)(numbers(12, "c16", 3, 0))


@BACKENDS
def test_sums(backend):
    run = captured(lambda z: (z.sum(), z.sum(axis=0), np.mean(z, axis=-1), z.mean()), backend=backend)
    for shape in ((3, 4), (7, 1000), (1000, 7), (200_000,)):
        whole = numbers(shape, "c16", 1, 0)
        whole.real, whole.imag = np.round(whole.real * 64), np.round(whole.imag * 64)  # whose sums are exact
        run(whole)
    assert run.breaks == []


@BACKENDS
def test_real_and_complex_meet(backend):
    def meet(z, x, n):
        return z * x, x + 1j, z / n, n * 2j, z == x, np.where(x > 0, z, x), z + True

    run = captured(meet, backend=backend)
    for dtype in ("c8", "c16"):
        run(numbers((4, 5), dtype, 1), np.linspace(-1, 1, 20, dtype="f4").reshape(4, 5), np.arange(5))
    assert run.breaks == []


def test_imaginary_parts_are_not_dropped_without_a_warning():
    def drop(z, x):
        x[...] = z
        return z.astype(float)

    run = captured(drop)
    run(np.array([1 + 1j, 2]), np.zeros(2))


def test_what_has_no_loops_is_called():
    run = captured(lambda z: (np.exp(z), np.sqrt(z), np.prod(z), z.var(), z.max(), z**3, np.sort(z)), backend=inductor)
    run(numbers(9, "c16", 1, 0))
    assert run.graphs == 1 and run.breaks == []


def test_mandelbrot_is_one_kernel():
    def mandelbrot(c):
        z, count = np.zeros_like(c), np.zeros(c.shape, int)
        for _ in range(4):  # so few rounds are no loop of the graph
            count += np.abs(z) < 2
            z = z * z + c
        return count

    run = captured(mandelbrot, backend=inductor)
    x, y = np.meshgrid(np.linspace(-2, 1, 60), np.linspace(-1, 1, 40))
    run(x + 1j * y)
    run(x - 1j * y)
    (runner,) = run.record.runners
    assert run.graphs == 1 and run.breaks == [] and len(runner.plan.kernels) == 1


def test_names_stand_for_records():
    names = {op.name for op in all_ops() if op.replaces is None}
    assert names >= RECORDS and UFUNCS - {"positive"} <= PARTS.keys()


def single(z):
    z.real[0] = 5
    z.imag[-1] = True
    return z


def single_of_reshaped(z):
    z.reshape(1, -1).imag[0, 1] = 3
    return z.real, z.imag + 1


def both_of_one(z):
    z.real[1], z.imag[1] = 1, np.nan
    return z * 2


def slices(z):
    r = np.real(z)
    r[1:3] = 7
    r[::-1][0] = -0.0
    z.imag[...] = 0
    return r


def chosen(z):
    z.imag[z.real > 1] = 5
    z.real[[0, 1]] = 3
    return z


@DTYPES
@pytest.mark.parametrize("function", [single, single_of_reshaped, both_of_one, slices, chosen])
def test_numbers_are_stored_in_parts(function, dtype, captured):
    run = captured(function)
    run(numbers((5,), dtype))
    run(numbers((8,), dtype)[::-1])
    assert run.graphs and not run.breaks
