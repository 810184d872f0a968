"""Calls that stay in the graph: what leaves NaN out, fits, sorting in place, placing in turn, orders of memory."""

import warnings

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests.helpers import captured

rng = np.random.default_rng(3)
FULL = rng.standard_normal((5, 6))
SOME = np.where(rng.random((5, 6)) < 0.2, np.nan, FULL)
ROW = SOME.copy()
ROW[3] = np.nan
ARRAYS = {
    "full": FULL,
    "some": SOME,
    "float32": SOME.astype("f4"),
    "Fortran": np.asfortranarray(SOME),
    "reversed": SOME[::-1, ::2],
    "a row of NaN": ROW,
    "infinite": np.where(FULL > 1, np.inf, SOME),
    "huge": SOME * 1e200,
    "int": (FULL * 9).astype(int),
    "nothing": SOME[:0],
}
IGNORING = """
np.nanvar(x) | np.nanstd(x) | np.nanvar(x, axis=0) | np.nanstd(x, axis=-1, ddof=1) | np.nanvar(x, keepdims=True)
np.nanmedian(x) | np.nanmedian(x, axis=0) | np.nanmedian(x, axis=-1, keepdims=True) | np.nanpercentile(x, 50)
np.nanquantile(x, [0.2, 0.5], axis=-1) | np.nanpercentile(x, 30, method='lower')
""".strip().replace("\n", " | ").split(" | ")
SETTINGS = ({"backend": eager}, {"backend": inductor}, {"backend": inductor, "dynamic": True})


def function_of(call, names="x"):
    return eval(f"lambda {names}: {call}", {"np": np})


@pytest.mark.parametrize("settings", SETTINGS, ids=["eager", "inductor", "open"])
@pytest.mark.parametrize("call", IGNORING)
def test_what_is_no_nan(call, settings):
    for name, array in ARRAYS.items():
        run = captured(function_of(call), exact=False, **settings)
        run(array.copy(order="K"))
        run(array.copy(order="K"))
        assert run.breaks == [] or name == "nothing"


@pytest.mark.parametrize("call", ["np.nanmedian(x, overwrite_input=True)", "np.nanvar(x, where=x > 0)"])
def test_other_parameters_warn_as_well(call):
    run = captured(function_of(call), exact=False, backend=inductor)
    for name in ("some", "a row of NaN", "full"):
        run(ARRAYS[name].copy())
    run(ROW * np.nan)


IN_PLACE = """
x.sort() | x.sort(axis=0) | x.sort(-1, 'stable') | x.T.sort() | x[::2].sort() | x[:, ::-1].sort(axis=0)
x.sort(0, kind='heapsort') | x.partition(2) | x.partition(1, axis=0) | x.partition(kth=(1, 3))
""".strip().replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("settings", SETTINGS[:2], ids=["eager", "inductor"])
@pytest.mark.parametrize("call", IN_PLACE)
def test_sorting_in_place(call, settings):
    run = captured(function_of(f"({call}, x, x + 1)"), **settings)
    for array in (FULL, SOME, np.asfortranarray(SOME), ARRAYS["int"], FULL.astype("f4"), FULL > 0):
        run(array.copy(order="K"))
    assert run.breaks == [] and run.graphs


RAISING = ("x.sort(axis=5)", "x.partition(99)", "x.sort(axis=None)", "x.sort(foo=1)", "x.sort(9, 9, 9)")


@pytest.mark.parametrize("call", RAISING)
def test_sorting_that_raises(call):
    captured(function_of(call))(FULL.copy())


def test_a_read_only_array_is_not_sorted():
    array = FULL.copy()
    array.flags.writeable = False
    captured(function_of("x.sort()"))(array)


@pytest.mark.parametrize("settings", SETTINGS[:2], ids=["eager", "inductor"])
def test_places_take_values_in_turn(settings):
    run = captured(function_of("np.place(x, m, y)", "x, m, y"), **settings)
    for size in (2, 5, 40):
        run(FULL.copy(), FULL > 0, np.arange(size) * 0.5)
        run(FULL.copy(), FULL > 9, np.arange(size))
    assert run.breaks == []


FITS = ("np.polyfit(x, y, 1)", "np.polyfit(x, y, 3)", "np.polynomial.polynomial.polyfit(x, y, 2)")


@pytest.mark.parametrize("settings", SETTINGS[:2], ids=["eager", "inductor"])
@pytest.mark.parametrize("call", FITS)
def test_fits(call, settings):
    run = captured(function_of(call, "x, y"), **settings)
    x = np.array([3.0, 1.0, 2.0, 5.0, 4.5])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        run(x, np.array([1.0, 2.0, 0.0, 4.0, 7.0]))
        run(x.astype(int), rng.standard_normal((5, 2)))
        run(x * 0, x)  # of a rank that is too low: NumPy warns
    assert run.breaks == []


@pytest.mark.parametrize("array", [FULL, np.asfortranarray(FULL), FULL[::2], FULL[0], FULL[:, :1], FULL[None]])
def test_memory_in_fortran_order(array):
    for call in ("np.asfortranarray(x)", "np.asarray(x, order='F')", "np.asfortranarray(x, 'f4')"):
        run = captured(function_of(f"({call}, {call} is x)"), backend=inductor)
        run(array)
        assert run.breaks == []
