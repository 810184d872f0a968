"""What running a program gave: everything that can be seen, as plain data, and the first place where two differ.

In: the source of a module (``modules``) and what to put in place of its ``main``. Out: one ``Outcome`` per call: result
or exception, arguments and globals afterwards, which of them are one object or share memory, output, warnings.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from capture.errors import RecompileLimitWarning
from capture.ir.types import Layout

OURS = tuple(str(Path(__file__).resolve().parents[2] / part) for part in ("capture", "tests"))
ATOMS = (type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented))
LONGEST = 10
"""So many items are taken from iterators and generators that are left."""


def call(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def values(seed: int, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Small numbers with few binary digits."""
    rng = np.random.default_rng(seed)
    low, high = {"b": (0, 2), "u": (0, 9)}.get(np.dtype(dtype).kind, (-6, 9))
    numbers = np.asarray(rng.integers(low, high, shape))
    return (numbers / 2).astype(dtype) if np.dtype(dtype).kind == "f" else numbers.astype(dtype)


@dataclass(frozen=True)
class Outcome:
    """``seen`` is the snapshot; ``told`` the warnings: category, text, line or None if not in the program."""

    seen: dict[str, Any]
    told: tuple[tuple[str, str, int | None], ...]
    lines: list[int] | None

    @property
    def raised(self) -> bool:
        return self.lines is not None

    def lines_of_error(self) -> list[int]:
        """The lines of the program in the traceback."""
        return self.lines or []


class Program:
    """A module, executed; ``entry(main)`` stands for its ``main``."""

    def __init__(self, source: str, file: str, entry: Callable[[Any], Any] = lambda main: main) -> None:
        self.file = file
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        sys.modules["program"] = self.module = types.ModuleType("program")
        self.scope = vars(self.module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(source, file, "exec"), self.scope)
        self.main = entry(self.scope["main"])

    def outcomes(self) -> Iterator[Outcome]:
        for make in self.scope["CALLS"]:
            yield self.outcome(make)

    def outcome(self, make: Callable[[], Any]) -> Outcome:
        result = error = None
        output = io.StringIO()
        args, kwargs = make()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(output):
            warnings.simplefilter("always")
            try:
                result = self.main(*args, **kwargs)
            except Exception as raised:
                error = raised
            snapshot = Snapshot(self.file)
            parts = {"error": error, "result": result, "args": args, "kwargs": kwargs, "globals": self.variables()}
            seen = {name: snapshot.of(value) for name, value in parts.items()}
            seen["left over"] = snapshot.drained()
            seen["sharing"] = snapshot.sharing()
        seen["output"] = output.getvalue()
        told = [w for w in caught if not issubclass(w.category, RecompileLimitWarning)]
        lines = ((w.category.__name__, str(w.message), w.lineno if w.filename == self.file else None) for w in told)
        return Outcome(seen, tuple(lines), snapshot.lines(error) if error is not None else None)

    def variables(self) -> dict[str, Any]:
        """The module's data, and that of its classes."""
        found: dict[str, Any] = {}
        for name, value in self.scope.items():
            if isinstance(value, type) and value.__module__ == "program":
                found |= {f"{name}.{key}": item for key, item in vars(value).items() if isinstance(item, ATOMS)}
            elif name.isupper() and name != "CALLS":
                found[name] = value
        return found


class Snapshot:
    """Turns objects into plain data; those with an identity are numbered in the order they are met."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []
        self.arrays: list[np.ndarray] = []
        self.waiting: list[Any] = []

    def of(self, value: Any) -> Any:
        if isinstance(value, type | types.ModuleType | types.BuiltinFunctionType | np.ufunc | np.dtype):
            return "named", getattr(value, "__qualname__", None) or str(getattr(value, "__name__", value))
        if type(value) in ATOMS:
            return type(value).__name__, repr(value)
        if isinstance(value, np.generic):
            return type(value).__name__, bits(np.asarray(value)).tolist()
        if type(value) is tuple:
            return ("tuple", *map(self.of, value))
        if id(value) in self.numbers:
            return "again", self.numbers[id(value)]
        self.numbers[id(value)] = number = len(self.numbers)
        self.alive.append(value)
        return type(value).__qualname__, number, self.content(value)

    def content(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            self.arrays.append(value)
            flags = tuple(value.flags[name] for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "OWNDATA"))
            return str(value.dtype), value.shape, str(Layout.of(value)), flags, bits(value).tolist()
        if isinstance(value, list | set | frozenset):
            return [self.of(item) for item in value]
        if isinstance(value, dict):
            return {repr(key): self.of(item) for key, item in value.items()}
        if isinstance(value, types.FunctionType):
            cells = [self.of(_content(cell)) for cell in value.__closure__ or ()]
            return value.__qualname__, self.of(value.__defaults__), self.of(value.__kwdefaults__), cells
        if isinstance(value, types.MethodType):
            return self.of(value.__self__), self.of(value.__func__)
        if isinstance(value, partial):
            return self.of(value.func), self.of(value.args), self.of(value.keywords)
        if isinstance(value, BaseException):
            return self.error(value)
        if isinstance(value, types.MethodWrapperType | type(repr)):
            return value.__qualname__
        if hasattr(value, "__next__"):
            self.waiting.append(value)
            return None
        return self.of(dict(vars(value))) if hasattr(value, "__dict__") else repr(type(value))

    def error(self, error: BaseException) -> Any:
        frames = [self.place(frame) for frame in traceback.extract_tb(error.__traceback__)]
        links = [self.of(error.__cause__), self.of(error.__context__), error.__suppress_context__]
        return str(error), self.of(error.args), self.of(vars(error)), [place for place in frames if place], links

    def lines(self, error: BaseException) -> list[int]:
        """The program's lines in a traceback."""
        frames = traceback.extract_tb(error.__traceback__)
        return [frame.lineno for frame in frames if frame.filename == self.file and frame.lineno]

    def place(self, frame: traceback.FrameSummary) -> Any:
        if frame.filename == self.file:
            return frame.lineno, frame.name
        return None if frame.filename.startswith(OURS) else frame.name

    def drained(self) -> Any:
        """What is left in generators and iterators, taken last since it runs the program's code."""
        found = []
        for value in self.waiting:
            try:
                found.append([self.of(item) for item in islice(value, LONGEST)])
            except Exception as error:
                found.append([self.of(error)])
        return found

    def sharing(self) -> list[tuple[int, int]]:
        """Which arrays share memory."""
        arrays = list(enumerate(self.arrays))
        return [(i, j) for i, a in arrays for j, b in arrays[:i] if np.shares_memory(a, b)]


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "unbound"


def bits(value: np.ndarray) -> np.ndarray:
    """Integers that are equal exactly when the values are, every NaN alike, -0.0 and 0.0 apart."""
    value = np.array(value, order="C")
    if value.dtype.kind != "f":
        return value
    return np.where(np.isnan(value), np.nan, value).astype(value.dtype).view(f"i{value.itemsize}")


def difference(got: Outcome, expected: Outcome) -> str:
    """The first thing that differs, in words; empty if nothing does."""
    if found := _difference(got.seen, expected.seen, ""):
        return found
    same = [mine[:2] for mine in got.told] == [theirs[:2] for theirs in expected.told]
    lines = zip(got.told, expected.told, strict=False)
    # Where NumPy blames a line of its own (functions written in Python), captured code names the program's.
    if same and all(theirs[2] in (None, mine[2]) for mine, theirs in lines):
        return ""
    return f"warnings: {got.told} instead of {expected.told}"


def _difference(got: Any, expected: Any, path: str) -> str:
    if got == expected:
        return ""
    if type(got) is type(expected) and isinstance(got, dict) and list(got) == list(expected):
        return next(filter(None, (_difference(got[key], expected[key], f"{path}.{key}") for key in got)))
    if type(got) is type(expected) and isinstance(got, list | tuple) and len(got) == len(expected):
        pairs = enumerate(zip(got, expected, strict=True))
        return next(filter(None, (_difference(a, b, f"{path}[{n}]") for n, (a, b) in pairs)))
    return f"{path}: {_short(got)} instead of {_short(expected)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "…"
