"""The table of one-line functions against NumPy: ``python -m tests.table [share] [word]``.

In: expressions over arrays ``x``, ``y``, an integer array ``n``, a mask ``m``, NumPy scalars ``a``, ``i`` and a Python
number, by family, dtype, layout and shape; ``share`` of the batches (default all), and a word that a batch must have in
its name. Out: every difference in value (bits, or 4 ULP), dtype, type, shape, strides, flags, memory shared with the
arguments, changed arguments, warnings, and the type and text of exceptions.

One function holds the expressions of a batch, one a line, so that a compile serves dozens of cases.
"""

from __future__ import annotations

import sys
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import capture
from tests.compare import assert_same, assert_same_form
from tests.helpers import duplicate

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64", "longdouble")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
SHAPES: tuple[tuple[int, ...], ...] = ((7,), (1,), (0,), (3, 5), (1, 4), (0, 3), (2, 3, 4), (16, 33), ())

UFUNCS_1 = """
negative positive absolute fabs sign square sqrt cbrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin
arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint isnan isinf isfinite signbit logical_not
invert conjugate deg2rad rad2deg spacing bitwise_count modf frexp
"""
UFUNCS_2 = """
add subtract multiply divide floor_divide remainder fmod divmod power float_power maximum minimum fmax fmin less
less_equal equal not_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
left_shift right_shift arctan2 hypot copysign heaviside nextafter logaddexp logaddexp2 gcd lcm ldexp
"""
APPROXIMATE = frozenset(
    [
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
        *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "arctan2", "hypot", "logaddexp"),
        *("logaddexp2", "power", "float_power", "angle"),
    ]
)
SUMS = ("sum", "mean", "var", "std", "prod", "reduce", "cov", "fft", "accumulate", "average", "trapezoid")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", ">=", "&", "|", "^", "<<", ">>")
NUMBERS = ("2", "-1", "0", "300", "2.5", "True", "a", "i", "1j")
REDUCTIONS = ("sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "argmin", "argmax", "ptp", "cumsum")
AXES = ("", "axis=0", "axis=-1", "axis=(0, -1)", "axis=None", "axis=0, keepdims=True", "axis=5")
REDUCTION_KEYWORDS = (
    *("np.sum(x, where=m)", "np.max(x, initial=1)", "np.min(x, where=m, initial=0)", "np.prod(x, where=m, axis=0)"),
    *("np.any(x, where=m)", "np.all(x, where=m, axis=-1)", "np.sum(x, dtype=np.float64)", "np.sum(x, initial=2)"),
    *("np.mean(x, dtype=np.float64)", "np.var(x, ddof=1)", "np.add.reduce(x)", "np.multiply.reduce(x, axis=-1)"),
    *("np.maximum.reduce(x)", "np.add.accumulate(x)", "np.maximum.accumulate(x)", "np.multiply.outer(x, x)"),
    *("np.add.reduceat(x, [0])", "np.logical_or.reduce(x)", "np.minimum.reduce(x, axis=None)"),
)
UFUNC_KEYWORDS = (
    *("np.add(x, y, dtype=np.float64)", "np.add(x, y, out=o)", "np.add(x, y, o)", "np.multiply(x, y, out=(o,))"),
    *("np.divide(x, y, out=o, where=m)", "np.sqrt(x, out=o)", "np.add(x, y, casting='unsafe')"),
    *("np.add(x, 1, order='F')", "np.subtract(x, y, dtype=x.dtype)", "np.maximum(x, y, out=x)"),
    *("np.add(x, 1, out=x, where=m)", "np.square(x, out=x)", "np.less(x, y, dtype=bool)"),
    *("np.add(x, y, subok=False)", "np.negative(x, out=x)", "np.multiply(x, x, dtype='f4')"),
)
OTHERS = """
x.T | x.ravel() | x.flatten() | x.copy() | x.copy('F') | x[...] | x[None] | x.reshape(-1) | np.squeeze(x)
x.astype('f4') | x.astype('i8') | x.astype(bool) | x.astype('f2') | x.astype('c8') | np.zeros_like(x) | np.ones_like(x)
np.full_like(x, 1) | np.where(x, x, y) | np.where(m, x, 0) | np.where(m, 1, x) | np.clip(x, 0, 3) | np.clip(x, y, 3)
np.round(x, 1) | x.round() | np.concatenate((x, y)) | np.stack((x, y)) | np.hstack((x, y)) | np.sort(x)
np.argsort(x, kind='stable') | np.flip(x)
np.roll(x, 1) | np.tile(x, 2) | np.repeat(x, 2) | np.diff(x) | np.outer(x, y) | np.dot(x, y) | np.inner(x, y) | x @ y
np.isclose(x, y) | np.nan_to_num(x) | np.median(x) | np.percentile(x, 30) | np.real_if_close(x) | np.fft.fft(x)
np.linalg.norm(x) | np.broadcast_to(x, (2, *x.shape)) | np.expand_dims(x, 0) | np.moveaxis(x, 0, -1) | x.swapaxes(0, -1)
np.atleast_2d(x) | np.count_nonzero(x) | np.partition(x, 0) | np.cross(x, y) | np.kron(x, y) | np.tensordot(x, y, 1)
np.trapezoid(x) | np.gradient(x) | np.average(x) | np.append(x, y) | np.vander(x) | np.polyval(x, 2) | np.isreal(x)
np.angle(x) | np.sinc(x) | np.cov(x) | np.histogram(x, 3) | np.pad(x, 1) | np.trace(x)
np.pad(x, 2, mode='reflect') | np.pad(x, (2, 1), mode='symmetric') | np.pad(x, 5, mode='wrap') | np.pad(x, 1, 'edge')
np.minimum.accumulate(x, axis=-1) | np.histogram(x, [0, 1, 2]) | np.histogram(x, 3, range=(-1, 2)) | np.histogram(x, y)
np.linalg.det(x) | np.interp(x, [0, 1], [1, 2]) | x[m] | x[[0, -1]] | np.take(x, [0, 0]) | np.take(x, 99)
np.cumsum(x, axis=0) | np.cumprod(x) | np.nansum(x) | np.nanmax(x) | np.nancumsum(x, axis=-1) | np.nanmean(x)
np.searchsorted(np.sort(x), y) | np.searchsorted(np.sort(x), y, side='right') | np.digitize(y, np.sort(x))
np.digitize(x, np.array([0, 1, 2.5]), right=True) | np.digitize(x, np.array([2, 1])) | np.interp(y, np.sort(x), x)
np.interp(x, np.arange(4.0), np.arange(4.0) ** 2) | np.searchsorted(x, y) | np.sort(x).searchsorted(1)
x.real | x.imag | x.conj() | (x * y).real | x.real + x.imag | np.where(m, x, y).imag | x.real[::-1] | np.real(x)
np.add.at(o, 0, 1) | np.maximum.at(o, [0, 0], 2) | np.compress([True], x) | np.select([m], [x]) | np.triu(x)
"""


@dataclass(frozen=True)
class Batch:
    """The expressions of a family on operands of one kind."""

    family: str
    dtype: str
    layout: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.family} {self.dtype} {self.layout} {'x'.join(map(str, self.shape)) or 'scalar'}"


def _words(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split(" | ") if part.strip()]


def expressions(family: str) -> list[str]:
    return {
        "ufuncs of one": lambda: [f"np.{name}(x)" for name in UFUNCS_1.split()] + ["-x", "+x", "~x", "abs(x)"],
        "ufuncs of two": lambda: [f"np.{name}(x, y)" for name in UFUNCS_2.split() if hasattr(np, name)],
        "operators": lambda: [f"x {sign} y" for sign in OPERATORS] + [f"x {sign} y[:1]" for sign in OPERATORS],
        "numbers": lambda: [f"x {sign} {number}" for sign in OPERATORS for number in NUMBERS],
        "reflected numbers": lambda: [f"{number} {sign} x" for sign in OPERATORS for number in NUMBERS],
        "scalars": lambda: [f"a {sign} {number}" for sign in OPERATORS for number in ("a", "i", "2", "2.5", "True")],
        "reductions": lambda: [f"x.{name}({axes})" for name in REDUCTIONS if name != "ptp" for axes in AXES]
        + ["np.ptp(x)", "np.ptp(x, axis=0)"],
        "reduction keywords": lambda: list(REDUCTION_KEYWORDS),
        "ufunc keywords": lambda: list(UFUNC_KEYWORDS),
        "others": lambda: _words(OTHERS),
    }[family]()


FAMILIES = (
    *("ufuncs of one", "ufuncs of two", "operators", "numbers", "reflected numbers", "scalars", "reductions"),
    *("reduction keywords", "ufunc keywords", "others"),
)


# Layouts ------------------------------------------------------------------------------------------------------------
def _strided(array: np.ndarray) -> np.ndarray:
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


LAYOUTS = {
    "contiguous": lambda array: array,
    "fortran": np.asfortranarray,
    "strided": lambda array: _strided(array) if array.ndim else array,
    "reversed": lambda array: np.ascontiguousarray(array[::-1])[::-1] if array.ndim else array,
    "permuted": lambda array: np.ascontiguousarray(array.T).T if array.ndim > 1 else array,
    "broadcast": lambda array: np.broadcast_to(array[:1], array.shape) if array.ndim and array.size else array,
    "read-only": lambda array: _read_only(array),
}


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def elements(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Small numbers, and some at the edges of the dtype."""
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    small = rng.integers(0 if dtype.kind == "u" else -4, 5, shape)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        extreme = rng.choice(np.array([info.min, info.max, 0], object), shape)
        return np.asarray(np.where(rng.random(shape) < 0.15, extreme, small)).astype(dtype)
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            parts = np.empty(shape, dtype)
            parts.real, parts.imag = (_floats(rng, shape, 0.1) for _ in range(2))
            return parts
        return _floats(rng, shape, 0.2).astype(dtype)


def _floats(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
    odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e30, -2.5, 0.5, 1.0], shape)
    return np.asarray(np.where(rng.random(shape) < share, odd, rng.standard_normal(shape) * 3))


def operands(batch: Batch) -> dict[str, Any]:
    rng = np.random.default_rng(zlib.crc32(str(batch).encode()))
    dtype, layout = np.dtype(batch.dtype), LAYOUTS[batch.layout]
    x, y = (layout(elements(rng, batch.shape, dtype)) for _ in range(2))
    return {
        "x": x,
        "y": y,
        "m": rng.random(batch.shape) < 0.6,
        "o": np.zeros(batch.shape, dtype),
        "a": elements(rng, (3,), dtype)[1],
        "i": np.int32(3),
    }


# Running ------------------------------------------------------------------------------------------------------------
def batches(share: float = 1.0) -> Iterator[Batch]:
    """A share of all batches, spread evenly; each family is run in every dtype, in a few layouts and shapes."""
    number, taken = 0, 0
    for family in FAMILIES:
        for dtype in DTYPES:
            for place, layout in enumerate(LAYOUTS):
                for shape in (SHAPES[(place + k) % len(SHAPES)] for k in (0, 4)):
                    number += 1
                    if taken < number * share:
                        taken += 1
                        yield Batch(family, dtype, layout, shape)
                    if family == "scalars":
                        break
                if family == "scalars":
                    break


@dataclass
class Seen:
    """All that can be seen of one expression."""

    value: Any = None
    error: Exception | None = None
    shared: tuple[bool, ...] = ()


def _function(name: str, lines: list[str]) -> Any:
    source = "\n".join(["def function(x, y, m, o, a, i):", *(f"    r{k} = {line}" for k, line in enumerate(lines))])
    source += f"\n    return {', '.join(f'r{k}' for k in range(len(lines)))},\n"
    namespace = {"np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(source, f"<table {name}>", "exec"), namespace)
    return namespace["function"]


def _observe(function: Any, values: dict[str, Any]) -> tuple[Seen, list[tuple[int | None, str]]]:
    seen = Seen()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            seen.value = function(**values)
        except Exception as error:
            seen.error = error
    return seen, [(w.lineno if "<table" in w.filename else None, str(w.message)) for w in caught]


def differences(batch: Batch) -> Iterator[str]:
    """What compiled code does differently from NumPy."""
    usable, raising = [], []
    for line in expressions(batch.family):
        seen, _ = _observe(_function(str(batch), [line]), duplicate(operands(batch)))
        (raising if seen.error is not None else usable).append(line)
    for line in raising:
        yield from _compare(batch, [line])
    if usable:
        yield from _compare(batch, usable)


def _compare(batch: Batch, lines: list[str]) -> Iterator[str]:
    plain = _function(str(batch), lines)
    compiled = capture.compile(plain)
    ours, theirs = duplicate(operands(batch)), duplicate(operands(batch))
    expected, expected_warnings = _observe(plain, theirs)
    got, got_warnings = _observe(compiled, ours)
    if expected.error is not None or got.error is not None:
        if (type(got.error), str(got.error)) != (type(expected.error), str(expected.error)):
            yield f"{batch}: {lines}: {got.error!r} instead of {expected.error!r}"
        return
    for line, left, right in zip(lines, got.value, expected.value, strict=True):
        fault = _fault(line, left, right, ours, theirs)
        if fault:
            yield f"{batch}: {line}: {fault}"
    for name, value in theirs.items():
        fault = _fault(f"argument {name}", ours[name], value, {}, {})
        if fault:
            yield f"{batch}: {fault}"
    yield from _warning_faults(batch, lines, got_warnings, expected_warnings)


def _warning_faults(batch: Batch, lines: list[str], got: list[Any], expected: list[Any]) -> Iterator[str]:
    """Warnings line by line; those of mathematical functions depend on the width of NumPy's vectors."""
    exact = [name for name in APPROXIMATE if name not in ("power", "float_power")]
    for number, line in enumerate(lines, 2):
        left = [text for place, text in got if place == number]
        right = [text for place, text in expected if place == number]
        loose = any(f".{name}(" in line for name in exact) or "**" in line or "power" in line
        if left != right and not (loose or any(place is None for place, _ in expected)):
            yield f"{batch}: {line}: warns {left} instead of {right}"


def _fault(line: str, got: Any, expected: Any, ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    try:
        if isinstance(expected, tuple | list):
            assert type(got) is type(expected) and len(got) == len(expected), f"{type(got)}"
            return next((f for pair in zip(got, expected, strict=True) if (f := _fault(line, *pair, ours, theirs))), "")
        assert type(got) is type(expected), f"{type(got)} instead of {type(expected)}"
        if not isinstance(expected, np.ndarray | np.generic):
            assert repr(got) == repr(expected), f"{got!r} instead of {expected!r}"
            return ""
        assert_same_form(got, expected, line)
        _assert_value(line, got, expected)
        for name in ours:
            mine = isinstance(ours[name], np.ndarray) and np.may_share_memory(got, ours[name])
            other = isinstance(theirs[name], np.ndarray) and np.may_share_memory(expected, theirs[name])
            assert mine == other, f"{'shows' if mine else 'does not show'} the memory of {name}"
            assert (got is ours[name]) == (expected is theirs[name]), f"identity with {name}"
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return ""


def _assert_value(line: str, got: Any, expected: Any) -> None:
    kind = expected.dtype.kind
    loose = any(f".{name}(" in line for name in (*APPROXIMATE, *SUMS))
    loose = loose or "**" in line or "fft" in line
    if "fmax" in line or "fmin" in line or "maximum" in line or "minimum" in line:
        got, expected = got + 0, expected + 0  # of two zeros NumPy gives the one or the other by its vectors
    if kind in "fc" and loose:
        with np.errstate(all="ignore"):
            scale = np.max(np.abs(expected), initial=0, where=np.isfinite(expected)) if expected.size else 0
            sums = any(word in line for word in SUMS)
            spacing = np.finfo(expected.dtype).eps * (scale if sums else np.abs(expected)) * (64 if sums else 4)
            tiny = np.finfo(expected.dtype).smallest_subnormal * 4
            close = np.abs(got - expected) <= np.maximum(spacing, tiny)
        same = close | (got == expected) | (np.isnan(got) & np.isnan(expected))
        bad = ~np.asarray(same)
        assert np.all(same), f"{np.asarray(got)[bad][:3]} instead of {np.asarray(expected)[bad][:3]}"
    elif kind == "c":
        _assert_value(line, got.real.copy(), expected.real.copy())
        _assert_value(line, got.imag.copy(), expected.imag.copy())
    elif expected.dtype.char == "g":
        assert np.array_equal(got, expected, equal_nan=True), f"{got} instead of {expected}"
    else:
        assert_same(got, expected, line)


def main(share: float = 1.0, word: str = "") -> int:
    faults, cases = 0, 0
    for batch in batches(share):
        if word not in str(batch):
            continue
        cases += len(expressions(batch.family))
        for fault in differences(batch):
            faults += 1
            print(fault, flush=True)
    print(f"{cases} cases, {faults} differences")
    return faults


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(float(given[0]) if given else 1.0, " ".join(given[1:])) > 0)
