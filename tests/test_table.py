"""Every (op, dtype, layout, shape) against NumPy: value, dtype, type, shape, layout, flags, warnings.

One generated function holds all ops of a family, one a line, so that a compile serves dozens of cases and each
warning can be told from the others by its line.
"""

import linecache
import warnings
import zlib

import numpy as np
import pytest

import capture
from tests.compare import assert_same, assert_same_form, assert_within_ulp
from tests.table import batches, differences

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS)

# name -> (expressions over x, y and the weak scalar s; dtypes they are for)
EXACT_UNARY = """
np.negative(x) | -x | np.positive(x) | +x | np.absolute(x) | abs(x) | np.sign(x) | np.square(x)
np.isnan(x) | np.isinf(x) | np.isfinite(x) | np.logical_not(x) | np.conjugate(x) | x ** 2 | np.clip(x, 1, 3)
x.clip(0, 2)
np.floor(x) | np.ceil(x)
np.trunc(x) | np.rint(x) | x.astype(np.float32) | x.astype(np.float64) | x.astype(bool) | x.astype(np.int64)
x.astype(np.uint8) | x.copy() | np.zeros_like(x) | np.ones_like(x) | np.full_like(x, 3) | np.where(x > 1, x, 0)
x > 1 | x == 1 | x + 1 | x * 2 | 3 - x | x / 2 | x // 2 | x % 3
""".replace("\n", "|")
FLOAT_UNARY = """
np.sqrt(x) | np.fabs(x) | np.reciprocal(x) | np.signbit(x) | 1 / x | x // 0.5 | x % 0.3 | 2.5 // x | x ** 0.5 | x ** -1
""".replace("\n", "|")
INTEGER_UNARY = "~x | x & 3 | x | 1 | x ^ 2 | x << 1 | x >> 1 | np.invert(x)"
APPROXIMATE = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt"),
)
EXACT_BINARY = """
x + y | x - y | x * y | x / y | x // y | x % y | np.add(x, y) | np.maximum(x, y) | np.minimum(x, y) | np.fmax(x, y)
np.fmin(x, y) | x < y | x <= y | x == y | x != y | x > y | x >= y | np.logical_and(x, y) | np.logical_or(x, y)
np.logical_xor(x, y) | np.where(x > y, x, y) | np.where(y, x, 2) | np.concatenate((x, y))
np.stack((x, y)) | (x + y) * (x - y)
""".replace("\n", "|")
INTEGER_BINARY = "x & y | x ^ y | np.bitwise_or(x, y) | x << (y & 7) | x >> (y & 7)"
FLOAT_BINARY = "np.copysign(x, y) | np.heaviside(x, y)"
REDUCTIONS = [
    f"{call}({arguments})"
    for call in ("np.sum", "np.prod", "np.min", "np.max", "np.any", "np.all")
    for arguments in ("x", "x, axis=0", "x, axis=-1, keepdims=True", "x, axis=(0, -1)")
] + [
    *("x.sum()", "x.max(axis=1)", "x.min(1)", "x.any(axis=0)", "x.all(axis=-1)", "x.argmin()", "x.argmax()"),
    *("np.argmin(x, axis=0)", "np.argmax(x, axis=-1)", "np.sum(x, axis=1, dtype=np.float64)"),
]
MEANS = ["x.mean()", "x.mean(axis=0)", "x.mean(axis=-1, keepdims=True)", "x.var()", "x.var(axis=0)", "x.std(axis=-1)",
         "x.var(axis=-1, ddof=1)", "np.std(x)"]  # fmt: skip
VIEWS = """
x.T | x.ravel() | x.flatten() | np.transpose(x) | x[1:] | x[::-1] | x[..., 0] | x[:, None] | x[-1] | x[0, 0]
np.expand_dims(x, 0) | np.squeeze(x) | x.swapaxes(0, 1) | np.moveaxis(x, 0, -1) | x[1:, :-1] | x[::2, ::-2] | x.T + 1
""".replace("\n", "|")
# Whether these are views of arguments whose memory has gaps depends on strides of which only the order is known.
RESHAPES = ["x.reshape(-1)", "x.reshape(-1) * 2", "x.T.reshape(-1)", "x[1:].reshape(-1)"]


def split(text: str) -> list[str]:
    """Expressions between bars that stand alone; ``x | 1`` keeps its bar."""
    parts = [part.strip() for part in text.split(" | ")]
    joined: list[str] = []
    for part in parts:
        for piece in filter(None, (p.strip() for p in part.split("|"))):
            if piece == "1" and joined and joined[-1] == "x":
                joined[-1] = "x | 1"
            else:
                joined.append(piece)
    return joined


def families(dtype: str) -> dict[str, list[str]]:
    kind = np.dtype(dtype).kind
    unary, binary = split(EXACT_UNARY), split(EXACT_BINARY)
    if kind == "b":
        refused = ("-x", "np.negative(x)", "np.positive(x)", "+x", "np.sign(x)", "x - y", "(x + y) * (x - y)")
        unary = [e for e in unary if e not in refused]
        binary = [e for e in binary if e not in refused]
        unary += split("~x | x & True | x ^ True | np.invert(x)")
        binary += split("x & y | x ^ y | np.bitwise_or(x, y)")
    elif kind in "iu":
        unary += split(INTEGER_UNARY)
        binary += split(INTEGER_BINARY)
    else:
        unary += split(FLOAT_UNARY)
        binary += split(FLOAT_BINARY)
    table = {"unary": unary, "binary": binary, "reductions": REDUCTIONS, "views": split(VIEWS), "reshapes": RESHAPES}
    if kind == "f":
        table["approximate"] = [f"np.{name}(x)" for name in APPROXIMATE]
    if dtype in ("int32", "float64"):
        table["approximate reductions"] = MEANS
    return table


def ordinary(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(0 if dtype.kind == "u" else -4, 5, shape)
        extreme = rng.choice(np.array([info.min, info.max, 0], dtype=object), shape)
        return np.where(rng.random(shape) < 0.15, extreme, small).astype(dtype)
    values = rng.standard_normal(shape) * 3
    odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e30, -2.5, 0.5, 1.0], shape)
    return np.where(rng.random(shape) < 0.2, odd, values).astype(dtype)


def contiguous(a):
    return a


def fortran(a):
    return np.asfortranarray(a)


def strided(a):
    wide = np.zeros((*a.shape[:-1], a.shape[-1] * 2), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def negative(a):
    return np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]


def permuted(a):
    return np.ascontiguousarray(np.moveaxis(a, 0, -1)).transpose(a.ndim - 1, *range(a.ndim - 1))


def broadcast(a):
    return np.broadcast_to(a[:1], a.shape)


LAYOUTS = (contiguous, fortran, strided, negative, permuted, broadcast)
SHAPES = ((3, 5), (17, 33), (2, 3, 4), (4, 1, 6), (64, 70), (2, 2))
PLACES = [(LAYOUTS[i], SHAPES[(i + k) % len(SHAPES)]) for i in range(len(LAYOUTS)) for k in (0, 3)]


def build(name: str, expressions: list[str]):
    """A function of x and y that returns the tuple of all expressions, one a line, with real source lines."""
    lines = ["def function(x, y):", *(f"    r{i} = {e}" for i, e in enumerate(expressions))]
    lines.append(f"    return {', '.join(f'r{i}' for i in range(len(expressions)))},")
    source = "\n".join(lines) + "\n"
    file = f"<table {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"np": np}
    exec(compile(source, file, "exec"), namespace)
    return namespace["function"]


def observed(function, *args):
    """The results, and the warnings as (line, text).

    The line is None where NumPy blames a line of its own: functions written in Python (np.sum, x.mean()) do. Compiled
    code always names the user's line.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = function(*args)
    mine = function.__code__.co_filename if hasattr(function, "__code__") else None
    return results, [
        (w.lineno if mine in (None, w.filename) else None, str(w.message))
        for w in caught
        if w.category is RuntimeWarning
    ]


def assert_same_warnings(got, expected):
    assert [text for _, text in got] == [text for _, text in expected]
    for (line, text), (known, _) in zip(got, expected, strict=True):
        assert known in (None, line), f"{text}: at line {line} instead of {known}"


def assert_same_sum(got, expected, expression, x):
    """Float sums and products of another order: as near as rounding of the terms allows, odd values alike."""
    assert_same(np.isfinite(got), np.isfinite(expected), expression)
    with np.errstate(all="ignore"):
        terms = eval(expression, {"np": np}, {"x": np.abs(np.where(np.isfinite(x), x, 0).astype(expected.dtype))})
        close = np.abs(got - expected) <= 16 * np.finfo(expected.dtype).eps * np.maximum(terms, np.abs(expected))
    same = close | (got == expected) | (np.isnan(got) & np.isnan(expected))
    assert np.all(same), f"{expression}: {got} instead of {expected}"


CASES = [
    (dtype, family, layout, shape)
    for dtype in DTYPES
    for family in families(dtype)
    for layout, shape in PLACES[:: 1 if family in ("unary", "binary") else 2]
]


@pytest.mark.parametrize(
    ("dtype", "family", "layout", "shape"),
    CASES,
    ids=lambda value: value.__name__ if callable(value) else str(value).replace(" ", ""),
)
def test_family_equals_numpy(dtype, family, layout, shape):
    rng = np.random.default_rng(zlib.crc32(f"{dtype} {family} {shape}".encode()))
    expressions = families(dtype)[family]
    x, y = (layout(ordinary(rng, shape, np.dtype(dtype))) for _ in range(2))
    function = build(f"{dtype} {family}", expressions)
    compiled = capture.compile(function)
    expected, expected_warnings = observed(function, x, y)
    got, got_warnings = observed(compiled, x, y)
    if family != "reshapes" or layout in (contiguous, fortran):
        assert len(compiled.graphs) == 1
    graphs = len(compiled.graphs)
    for expression, left, right in zip(expressions, got, expected, strict=True):
        if family.startswith("approximate"):
            assert_within_ulp(left, right, 4 if family == "approximate" else 64, expression, x)
        elif expression.startswith(("np.sum", "np.prod", "x.sum")) and right.dtype.kind == "f":
            assert_same_form(left, right, expression)
            assert_same_sum(left, right, expression, x)
        elif expression.startswith(("np.fmax", "np.fmin")):  # of zeros, NumPy gives the one or the other by its vectors
            assert_same(left + 0.0, right + 0.0, expression)
        else:
            assert_same(left, right, expression)
    # NumPy's own library functions raise flags that depend on its vector width; the others are exact.
    if not family.startswith("approximate"):
        assert_same_warnings(got_warnings, expected_warnings)
    again, _ = observed(compiled, x, y)
    assert len(compiled.graphs) == graphs
    for left, right in zip(again, got, strict=True):
        assert_same(left, right, "second call")


@pytest.mark.parametrize("batch", list(batches(0.004)), ids=str)
def test_share_of_the_large_table(batch):
    assert list(differences(batch)) == []


def test_the_table_has_thousands_of_cases():
    assert sum(len(families(dtype)[family]) for dtype, family, *_ in CASES) > 5000
