"""``options={"math": "numpy"}``: every result has NumPy's bits, whatever is fused, however large it is and laid out."""

import warnings

import numpy as np
import pytest

from capture.backends import inductor
from capture.inductor.vocabulary import INEXACT
from capture.ir.ops.exact import IN_LOOPS
from tests.helpers import captured

UNARY = sorted(name for name in IN_LOOPS if getattr(np, name).nin == 1)
BINARY = [*sorted(name for name in IN_LOOPS if getattr(np, name).nin == 2), "float_power"]
DTYPES = ("f2", "f4", "f8")
SIZES = (0, 1, 2, 15, 16, 17, 511, 512, 513, 1000, 4096, 4097, 12289)


def exact(function, **settings):
    return captured(function, backend=inductor, options={"math": "numpy"}, **settings)


def any_numbers(rng, dtype, shape):
    """Numbers of all kinds: any bits, normal ones, small and large ones."""
    dtype, count = np.dtype(dtype), int(np.prod(shape))
    raw = rng.bytes(count * dtype.itemsize)
    bits = np.frombuffer(raw, dtype)
    normal = rng.standard_normal(count)
    kinds = rng.integers(0, 4, count)
    with np.errstate(all="ignore"):
        return np.choose(kinds, [bits, normal, normal / 16, normal * 64]).astype(dtype).reshape(shape)


STEADY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""NumPy 2.0 takes some neighbours in memory for overlapping, and then computes what has steps in another way: its own
results depend on where arrays happen to be."""

LAYOUTS = {
    "C": lambda make: make((37, 41)),
    "F": lambda make: make((41, 37)).T,
    "3d": lambda make: make((5, 7, 11)).transpose(1, 0, 2),
    "strided": lambda make: make((2001,))[::2],
    "backwards": lambda make: make((2001,))[::-1],
    "inner": lambda make: make((30, 50))[:, 3:47],
    "columns": lambda make: make((30, 50))[:, ::3],
    "flipped": lambda make: make((30, 50))[::-1],
    "one": lambda make: make((1, 1)),
    "row": lambda make: make((1, 600)),
    "column": lambda make: make((600, 1)),
    "offset": lambda make: make((2001,))[3:],
    "broadcast": lambda make: np.broadcast_to(make((50,)), (7, 50)),
    "0-d": lambda make: make(()),
}
if not STEADY:
    LAYOUTS = {name: make for name, make in LAYOUTS.items() if make(np.ones).flags.forc}


def some_layouts(name, dtype):
    """A fifth of the layouts, another one for each function and dtype: each takes a kernel of its own."""
    return list(LAYOUTS.values())[(len(name) + DTYPES.index(dtype)) % 5 :: 5]


def test_the_vocabulary_and_the_records_agree_on_what_is_exact():
    assert set(IN_LOOPS) == INEXACT


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    function = getattr(np, name)
    rng = np.random.default_rng(len(name))
    run = exact(lambda x: function(x) + function(x + x))
    with np.errstate(all="ignore"):
        for size in SIZES:
            run(any_numbers(rng, dtype, (size,)))
        assert run.graphs <= 4 and run.breaks == []
        for make in some_layouts(name, dtype):
            run = exact(lambda x: (function(x), function(x * 1)))
            run(make(lambda shape: any_numbers(rng, dtype, shape)))
            assert run.graphs == 1 and run.breaks == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    function = getattr(np, name)
    rng = np.random.default_rng(len(name))
    with np.errstate(all="ignore"):
        run = exact(lambda x, y: function(x, y) - function(y, x * 2))
        for size in SIZES:
            run(any_numbers(rng, dtype, (size,)), any_numbers(rng, dtype, (size,)))
        assert run.graphs <= 4 and run.breaks == []
        for make in some_layouts(name, dtype):
            run = exact(lambda x, y: (function(x, y), function(x, 1.7), function(0.3, y)))
            made = [make(lambda shape: any_numbers(rng, dtype, shape)) for _ in "xy"]
            run(*made)
            assert run.graphs == 1 and run.breaks == []
        run = exact(lambda x, y: function(x, y))
        run(any_numbers(rng, dtype, (30, 1)), any_numbers(rng, dtype, (40,)))
        run(np.dtype(dtype).type(1.25), any_numbers(rng, dtype, (40,)))


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("exponent", (2.0, 0.5, -1.0, 3.0, 0.0, 1.0, -0.5, 2))
def test_powers(exponent, dtype):
    """NumPy computes a power otherwise where one exponent serves all elements."""

    def f(x, y):
        alike = np.full(x.shape, exponent, x.dtype)
        return np.power(x, exponent), np.power(x * 2, exponent), x**exponent, np.power(x, alike), np.power(x, y)

    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        for shape in ((1000,), (1,), (1, 1), (30, 50)):
            x = any_numbers(rng, dtype, shape)
            run = exact(f)
            run(x, np.full(shape, exponent, dtype))
            assert run.graphs == 1 and run.breaks == []


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


PROGRAMS = {
    "softmax": softmax,
    "columns": lambda x: np.log(np.exp(x).max(axis=0)) + np.tanh(x).min(axis=0),
    "scan": lambda x: np.cumsum(np.exp(x), axis=-1),
    "masked": lambda x: np.exp(x)[x > 0],
    "sums": lambda x: (x.sum(), np.exp(x).mean(axis=0), x.var(axis=-1), x.prod(axis=0), x.std()),
    "some": lambda x: (np.sum(x, axis=0, where=x > 0), np.prod(x, where=x > 0)),
    "others": lambda x: (np.nansum(x), np.nanprod(x, axis=0), np.linalg.norm(x, axis=0)),
    "joined": lambda x: np.concatenate([np.exp(x), np.sin(x) * 2]),
    "turned": lambda x: np.exp(x).T + np.sin(x.T),
    "reversed": lambda x: np.sin(x)[::-1] * np.cos(x[::-1]),
    "maximum": lambda x: (np.exp(x).max(), np.argmax(np.sin(x)), (np.cos(x) > 0.5).any()),
    "gathered": lambda x: np.exp(x)[np.array([2, 0, 1])],
    "numbers": lambda x: np.exp(x.max()) * np.sin(x) + np.power(x.max(), 1.5),
    "integers": lambda x: np.exp((x * 3).astype("i8")) + np.log(np.abs(x.astype("i4")) + 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_programs(name, dtype):
    rng = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        for shape in ((5, 7), (64, 300), (3, 5000), (2000, 3)):
            run = exact(PROGRAMS[name])
            run(rng.standard_normal(shape).astype(dtype))
            assert run.graphs == 1 and run.breaks == []


def test_writes_in_place():
    def f(x, y):
        x[1:] = np.exp(x[:-1]) + y[1:]
        np.sin(y, out=y)
        x *= np.cos(x)
        return x

    run = exact(f)
    run(np.linspace(0, 1, 3000), np.linspace(1, 2, 3000))


def test_warnings_are_those_of_numpy():
    def f(x, y):
        a = np.log(x)
        b = np.exp(y * 2)
        return a + np.sqrt(b) + np.arccosh(y)

    run = exact(f)
    for at in (0, 511, 512, 4999):
        x, y = np.linspace(1, 2, 5000), np.linspace(1, 2, 5000)
        run(x.copy(), y.copy())
        for wrong in (0.0, -1.0, np.nan, np.inf):
            x[at] = wrong
            run(x.copy(), y.copy())
        y[at] = 800.0
        run(x.copy(), y.copy())
    assert run.graphs == 1 and run.breaks == []
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="overflow encountered in exp"):
            run.entry(np.ones(5), np.full(5, 800.0))
        assert not caught


def test_what_numpy_itself_computes_never_follows_a_write():
    def f(x, y):
        x += 1.0
        return x.sum(), np.exp(y)

    run = exact(f)
    run(np.ones(10), np.ones(10))
    assert run.kinds == ["order"]
    run = exact(f)
    run(np.ones(10), np.ones(20)[::2])
    assert run.kinds == ["order"]
