"""What "the same as NumPy" means to the tests: value bits, dtype, type, shape, layout, flags."""

from __future__ import annotations

import contextlib

import numpy as np

from capture.ir.types import Layout

REFERENCE = {np.dtype("f4"): np.float64, np.dtype("f8"): np.longdouble}


def assert_same(got, expected, what="", *, exact=True):
    """``got`` is what plain Python would have given: containers by structure, arrays down to their strides."""
    assert type(got) is type(expected), f"{what}: {type(got)} instead of {type(expected)}"
    if isinstance(expected, tuple | list):
        assert len(got) == len(expected), what
        for index, (left, right) in enumerate(zip(got, expected, strict=True)):
            assert_same(left, right, f"{what}[{index}]", exact=exact)
    elif isinstance(expected, dict):
        assert list(got) == list(expected), what
        for key in expected:
            assert_same(got[key], expected[key], f"{what}[{key!r}]", exact=exact)
    elif _is_object(expected):
        _assert_same_object(got, expected, what, exact)
    elif isinstance(expected, np.ndarray | np.generic):
        _assert_same_array(got, expected, what, exact)
    elif isinstance(expected, float):
        assert repr(got) == repr(expected), what
    elif isinstance(expected, int | str | bytes | bool | None | complex):
        assert got == expected, f"{what}: {got!r} instead of {expected!r}"


def _is_object(value):
    """Whether a value is an object of a class of the tests."""
    return type(value).__module__.startswith("tests.") and not isinstance(value, np.ndarray)


def attributes(value):
    """The attributes of an object: those in its dict, in order, and those in slots."""
    read = object.__getattribute__
    names = [name for cls in type(value).__mro__ for name in vars(cls).get("__slots__", ())]
    try:
        found = dict(read(value, "__dict__")) if "__dict__" in dir(type(value)) else {}
    except TypeError:  # its class has the ``__dict__`` of another class
        found = dict(object.__getstate__(value) or {})
    for name in names:
        with contextlib.suppress(AttributeError):
            found[name] = read(value, name)
    return found


_BUSY = set()


def _assert_same_object(got, expected, what, exact):
    if id(expected) in _BUSY:
        return
    _BUSY.add(id(expected))
    try:
        assert_same(attributes(got), attributes(expected), f"{what}.__dict__", exact=exact)
    finally:
        _BUSY.discard(id(expected))


def assert_same_form(got, expected, what):
    """Everything but the values of two arrays or NumPy scalars."""
    assert type(got) is type(expected), f"{what}: {type(got)} instead of {type(expected)}"
    assert got.dtype == expected.dtype, f"{what}: {got.dtype} instead of {expected.dtype}"
    assert got.shape == expected.shape, f"{what}: {got.shape} instead of {expected.shape}"
    if isinstance(expected, np.ndarray):
        assert Layout.of(got) == Layout.of(expected), f"{what}: strides {got.strides} instead of {expected.strides}"
        for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED", "OWNDATA"):
            assert got.flags[flag] == expected.flags[flag], f"{what}: {flag} is {got.flags[flag]}"


def _assert_same_array(got, expected, what, exact):
    assert_same_form(got, expected, what)
    if exact or expected.dtype.kind != "f":
        np.testing.assert_array_equal(_bits(got), _bits(expected), err_msg=what, strict=True)
    else:
        tolerance = 64 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=0, equal_nan=True, err_msg=what)


def _bits(value):
    """Integers that are equal exactly when the values are, every NaN alike, -0.0 and 0.0 apart."""
    value = np.ascontiguousarray(value)
    if value.dtype.kind != "f":
        return value
    value = np.where(np.isnan(value), np.nan, value).astype(value.dtype)
    return value.view(f"i{value.itemsize}")


def assert_within_ulp(got, expected, ulp, expression, x):
    """``got`` has the form of ``expected`` and lies within ``ulp`` of the value in higher precision."""
    assert type(got) is type(expected) and got.dtype == expected.dtype and got.shape == expected.shape, expression
    if isinstance(expected, np.ndarray):
        assert Layout.of(got) == Layout.of(expected), expression
    if got.dtype.kind != "f" or got.size == 0:
        return
    with np.errstate(all="ignore"):
        wide = x.astype(REFERENCE[got.dtype]) if x.dtype.kind == "f" else x
        exact = eval(expression, {"np": np}, {"x": wide})
        rounded = np.asarray(exact).astype(got.dtype)
        spacing = np.spacing(np.abs(rounded))
        error = np.abs(got.astype(REFERENCE[got.dtype]) - exact) / spacing
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    bad = ~same & ~(error <= ulp)
    assert not np.any(bad), f"{expression}: {np.max(error[bad])} ULP"
    zero = rounded == 0
    assert np.array_equal(np.signbit(got)[zero & same], np.signbit(rounded)[zero & same]), f"{expression}: sign of zero"
