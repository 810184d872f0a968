"""Random programs: chains of element-wise operations, views, reductions and writes in place.

In: a seed. Out: a ``Program``: the source of a function and of what makes its arguments, in which every line is
certain to run under plain NumPy; ``check`` compares its compiled form with the plain one, bit for bit.

>>> print(make_program(3).source)
def function(a, b):
    v0 = a[::-1]
    v0[1:] += b[:-1]
    …
"""

from __future__ import annotations

import linecache
import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

import capture
from tests.compare import assert_same

DTYPES = ("bool", "int8", "uint8", "int16", "int32", "int64", "uint32", "uint64", "float32", "float64", "float64")
SHAPES = ((5,), (1,), (3, 4), (4, 3), (1, 4), (3, 1), (2, 3, 4), (2, 1, 3), (17, 9), (40, 70), (0, 3), (), (4, 4))

# What is left out: the sign of a NaN (copysign, signbit), which NumPy's vectors and scalars give differently;
# np.negative(x, out=x), of which NumPy 2.4 makes nonsense for int32 with certain strides. Float sums and
# transcendentals are exact only under ``options={"math": "numpy"}``.
# Expressions over x, y and z, which are values of the program; c is a number, t a dtype, n an axis, k a bool.
UNARY = """
-x; abs(x); np.square(x); np.sign(x); np.floor(x); np.ceil(x); np.trunc(x); np.isnan(x); np.isfinite(x); ~x
np.logical_not(x); x.copy(); np.copy(x); x.astype(t); np.asarray(x, dtype=t); np.sqrt(x); np.fabs(x)
x + c; c - x; x * c; x / c; c / x; x // c; x % c; x ** 2; x > c; x == c; x & c; x | c; x ^ c; x << 1; x >> 1
np.clip(x, 0, c); np.maximum(x, c); np.minimum(c, x); np.where(x, c, x); x[x.ndim * (0,)]; np.zeros_like(x)
np.full_like(x, c); np.ones(x.shape, t); np.array(x); np.reciprocal(x); np.positive(x); x.round(1)
"""
BINARY = """
x + y; x - y; x * y; x / y; x // y; x % y; np.maximum(x, y); np.minimum(x, y); np.fmod(x, y)
x < y; x <= y; x == y; x != y; x > y; x >= y; np.logical_and(x, y); np.logical_or(x, y); np.logical_xor(x, y)
x & y; x | y; x ^ y; x << (y & 7); x >> (y & 7); np.where(x > y, x, y); np.where(z, x, y); np.heaviside(x, y)
np.concatenate((x, y)); np.stack((x, y)); np.concatenate((x, y), axis=-1); np.vstack((x, y)); (x + y) * z; x * y + z
(x > c) * y; np.where(np.isnan(x), y, z); np.clip(x, y, z); np.hstack((x, y)); x - y.max(); np.outer(x, y)
"""
REDUCTIONS = """
x.max(); x.min(axis=n); np.max(x, axis=n, keepdims=k); np.any(x, axis=n); np.all(x); x.any(); x.argmax(); x.argmin(n)
np.argmax(x, axis=n); x.min(); np.count_nonzero(x); np.ptp(x); x.all(axis=n, keepdims=True)
"""
INTEGER_REDUCTIONS = """
x.sum(); x.sum(axis=n); np.sum(x, axis=n, keepdims=k); np.prod(x); x.cumsum(); np.cumsum(x, axis=n)
"""
MATHEMATICAL = """
np.exp(x); np.log(x); np.sin(x) * y; np.cos(x + y); np.tanh(x); np.log1p(x * x); np.exp(-(x * x)); x ** 1.5; x ** -0.5
np.power(x, y); x ** y; np.arctan2(x, y); np.hypot(x, y); np.logaddexp(x, y); np.exp(x - x.max()); np.cbrt(x) / c
np.exp2(x)[..., None]; np.arcsinh(x); np.sin(x.T); np.exp(x) > c; np.where(x > y, np.exp(y), np.cos(x)); np.exp(x) * c
x.sum(); x.sum(axis=n); np.sum(x, axis=n, keepdims=k); np.prod(x); x.mean(); x.mean(axis=n); np.var(x, axis=n); x.std()
np.exp(x).sum(axis=n, keepdims=True); np.tanh(x).max(axis=n); np.add.reduce(x); x - x.mean(); np.float_power(x, c)
"""
VIEWS = """
x.T; x[1:]; x[:-1]; x[::-1]; x[..., 0]; x[None]; x[:, None]; x[:, ::2]; x[..., ::-1]; x[0]; x[-1]; x[1:, 1:]; x[:2, :2]
x.reshape(-1); x.ravel(); x.flatten(); np.ravel(x); x.swapaxes(0, 1); np.expand_dims(x, 0); np.squeeze(x); x[0, 0]
np.moveaxis(x, 0, -1); np.broadcast_to(x, (2, *x.shape)); np.flip(x); x[...]; x.reshape(x.shape[::-1]); np.transpose(x)
x[::2]; x[:, 1]; np.atleast_2d(x); x.T[1:]; x[::-2]; np.roll(x, 1); np.tile(x, 2); np.sort(x)
x.reshape(2, -1); x[0, ...]; x.view(); x.view('u1'); x.view('u2'); x.view('f4'); x.view('f8'); x.view(x.dtype)
x.ravel('F'); x.flatten('F'); x.reshape(-1, order='F'); x.flat[::2]; x.flat[1]; x[True]; x[..., False]; np.atleast_3d(x)
"""
WRITES = """
x += y; x -= y; x *= y; x += c; x *= c; x -= c; x[...] = y; x[1:] = c; x[0] = y; x[1:] += x[:-1]; x[:-1] = x[1:]
x[::2] = c; x[..., 0] = c; x[:, 0] = y; x[::-1] = x; x[:] = y; x //= c; x %= c; x &= y; x |= y; x ^= c; x[...] = x.T
np.add(x, y, out=x); np.multiply(x, c, out=x); np.square(x, out=x); x[1:, 1:] *= c; x[-1] -= y; x.T[...] += y; x /= c
x.reshape(-1)[::2] = c; x[:2] = y[:2]; x[::-1] += y; x.fill(c); np.copyto(x, y); np.maximum(x, y, out=x); x[0] += x[-1]
x.view('u1')[...] = c; x.view('f8')[...] += 1; x.view('u2')[1:] = 3; x.flat[1:3] = c; x.flat[0] = c; x.flat = c
x[:2] = [c, c]; x[[1, 0]] = [c, 1]; x[True] = c; x.ravel('F')[1:] = c; np.add.at(x, 0, y); np.fmax.at(x, [0, 0], c)
"""
KINDS = {"unary": 30, "binary": 35, "reduction": 8, "view": 30, "write": 22}
MORE_KINDS = {**KINDS, "mathematical": 50}


def forms(text: str) -> list[str]:
    return [form.strip() for line in text.strip().splitlines() for form in line.split(";")]


FORMS = {
    "unary": forms(UNARY),
    "binary": forms(BINARY),
    "reduction": forms(REDUCTIONS),
    "integer": forms(INTEGER_REDUCTIONS),
    "mathematical": forms(MATHEMATICAL),
    "view": forms(VIEWS),
    "write": forms(WRITES),
}


@dataclass(frozen=True)
class Program:
    seed: int
    source: str
    arguments: str  # source of a function that makes them anew
    mathematical: bool = False

    def __str__(self) -> str:
        return f"# seed {self.seed}\n{self.arguments}\n\n{self.source}"


def namespace() -> dict[str, Any]:
    return {"np": np, "values": values}


def values(seed: int, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Small numbers, and now and then extreme ones."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(0 if kind == "u" else -4, 6, shape)
        extreme = rng.choice(np.array([info.min, info.max], object), shape)
        return np.asarray(np.where(rng.random(shape) < 0.1, extreme, small)).astype(dtype)
    odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e30], shape)
    return np.asarray(np.where(rng.random(shape) < 0.1, odd, np.round(rng.standard_normal(shape) * 4, 1))).astype(dtype)


class _Writer:
    """Adds lines that run; the values so far are those of plain NumPy."""

    def __init__(self, seed: int, mathematical: bool) -> None:
        self.seed = seed
        self.kinds = MORE_KINDS if mathematical else KINDS
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.env: dict[str, Any] = {}

    def pick(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def arguments(self) -> str:
        lines = ["def arguments():"]
        names = ["a", "b", "c"][: int(self.rng.integers(1, 4))]
        shape = self.pick(SHAPES)
        for number, name in enumerate(names):
            shape = shape if self.rng.random() < 0.6 else self.pick(SHAPES)
            lines.append(f"    {name} = {self.argument(number, names[:number], shape)}")
        lines.append(f"    return {', '.join(names)},")
        return "\n".join(lines) + "\n"

    def argument(self, number: int, others: list[str], shape: tuple[int, ...]) -> str:
        if others and self.rng.random() < 0.12:
            return f"{self.pick(others)}{self.pick(['', '.T', '[...]', '.reshape(-1)'])}"
        dtype = self.pick(DTYPES)
        make = f"values({self.seed + number}, {dtype!r}, {{}})"
        ndim = len(shape)
        if ndim == 0:
            return make.format(shape)
        plain = make.format(shape)
        wide = make.format((*shape[:-1], 2 * shape[-1]))
        forms = [plain, plain, f"np.asfortranarray({plain})", f"{wide}[..., ::2]", f"{plain}[::-1]"]
        if 0 not in shape:
            forms.append(f"np.broadcast_to({make.format(shape[1:])}, {shape})")
        if ndim > 1:
            forms.append(f"{make.format(shape[::-1])}.T")
        return self.pick(forms)

    def program(self, length: int) -> Program:
        arguments = self.arguments()
        scope = namespace()
        exec(arguments, scope)
        names = [name for name in ("a", "b", "c") if f"    {name} = " in arguments]
        self.env = dict(zip(names, scope["arguments"](), strict=True))
        while len(self.lines) < length:
            self.add_line()
        results = list(self.env)[-6:]
        body = [*self.lines, f"return {', '.join(results)},"]
        source = f"def function({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in body)
        return Program(self.seed, source, arguments, self.kinds is MORE_KINDS)

    def add_line(self) -> None:
        kinds = list(self.kinds)
        weights = np.array([self.kinds[kind] for kind in kinds], float)
        kind = kinds[int(self.rng.choice(len(kinds), p=weights / weights.sum()))]
        x = self.pick(list(self.env))
        if kind == "reduction" and np.asarray(self.env[x]).dtype.kind in "biu" and self.rng.random() < 0.5:
            kind = "integer"
        form = self.filled(self.pick(FORMS[kind]), x)
        if kind == "write":
            if isinstance(self.env[x], np.ndarray):
                self.try_line(form)
        else:
            self.try_line(f"v{len(self.lines)} = {form}")

    def other(self, x: str, names: list[str]) -> str:
        """Rather another value than ``x``."""
        return self.pick([name for name in names if name != x] or names)

    def filled(self, form: str, x: str) -> str:
        names = list(self.env)
        like = [name for name in names if np.shape(self.env[name]) == np.shape(self.env[x])]
        dtype = np.asarray(self.env[x]).dtype
        numbers = [0, 1, 2, 3, 7, True] if dtype.kind in "bu" else [0, 1, 2, 3, -1, -3]
        if dtype.kind == "f":
            numbers = [*numbers, 0.5, 2.5, -1.5, 0.1]
        words = {
            "x": x,
            "y": self.other(x, like if self.rng.random() < 0.7 else names),
            "z": self.other(x, like if self.rng.random() < 0.8 else names),
            "c": repr(self.pick(numbers)),
            "t": f"np.{self.pick(DTYPES)}" if self.rng.random() < 0.8 else "float",
            "n": str(int(self.rng.integers(-1, 2))),
            "k": repr(bool(self.rng.integers(2))),
        }
        text = ""
        for position, letter in enumerate(form):
            around = form[max(position - 1, 0) : position + 2].replace(letter, "", 1)
            alone = not any(other.isalnum() or other == "_" for other in around)
            text += words[letter] if letter in words and alone and form[position - 1 : position] != "." else letter
        return text.replace("bool", "bool_") if "np.bool" in text and "bool_" not in text else text

    def try_line(self, line: str) -> None:
        """Keep the line if it runs, and if its value is of a size and kind to go on with."""
        trial = {**self.env}
        backup = {name: (value, value.copy()) for name, value in self.env.items() if isinstance(value, np.ndarray)}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                exec(line, {"np": np}, trial)
                fine = all(_is_fine(value) for value in trial.values())
            except Exception:
                fine = False
        if fine:
            self.env = trial
            self.lines.append(line)
            return
        for value, old in backup.values():
            if value.flags.writeable:
                value[...] = old


def _is_fine(value: Any) -> bool:
    if not isinstance(value, np.ndarray | np.generic) or value.dtype not in map(np.dtype, DTYPES):
        return False
    return value.size <= 20_000 and value.ndim <= 5


def make_program(seed: int, mathematical: bool = False) -> Program:
    writer = _Writer(seed, mathematical)
    return writer.program(int(writer.rng.integers(5, 16)))


# Comparing --------------------------------------------------------------------------------------------------------
@dataclass
class Outcome:
    results: tuple[Any, ...]
    arguments: tuple[Any, ...]
    warnings: list[tuple[int | None, str]]

    @property
    def sharing(self) -> list[bool]:
        """Which arrays share memory, of all pairs of results and arguments."""
        arrays = [*self.arguments, *self.results]
        return [a is b or _overlap(a, b) for a, b in combinations(arrays, 2)]


def _overlap(a: Any, b: Any) -> bool:
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.shares_memory(a, b)


def outcome(function: Any, make: Any, file: str) -> Outcome:
    arguments = make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = function(*arguments)
    told = [(w.lineno if w.filename == file else None, str(w.message)) for w in caught if w.category is RuntimeWarning]
    return Outcome(results, arguments, told)


def load(program: Program) -> tuple[Any, Any, str]:
    """The function, the maker of its arguments, and the name of its file."""
    file = f"<chain {program.seed}>"
    linecache.cache[file] = (len(program.source), None, program.source.splitlines(True), file)
    scope = namespace()
    exec(program.arguments, scope)
    exec(compile(program.source, file, "exec"), scope)
    return scope["function"], scope["arguments"], file


def check(program: Program) -> Any:
    """Two calls of the compiled function, each compared with plain NumPy; gives the compiled function."""
    function, make, file = load(program)
    compiled = capture.compile(function, options={"math": "numpy" if program.mathematical else "libmvec"})
    expected = outcome(function, make, file)
    for _ in range(2):
        got = outcome(compiled, make, file)
        assert_same(got.results, expected.results, "results")
        assert_same(got.arguments, expected.arguments, "arguments")
        assert got.sharing == expected.sharing, "other arrays share memory"
        assert_same_warnings(got.warnings, expected.warnings)
    return compiled


def assert_same_warnings(got: list[tuple[int | None, str]], expected: list[tuple[int | None, str]]) -> None:
    """Where NumPy blames a line of its own (functions written in Python), compiled code names the user's."""
    assert [text for _, text in got] == [text for _, text in expected], f"{got} instead of {expected}"
    for (line, text), (known, _) in zip(got, expected, strict=True):
        assert known in (None, line), f"{text}: at line {line} instead of {known}"
