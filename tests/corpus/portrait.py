"""What can be seen of a value and of all that it leads to, so that two worlds can be compared.

In: any value. Out: a list of ``(path, text)``: two values have equal portraits if nobody could tell them apart, except
for the identity of the worlds they live in. An object met again is told by where it was met first: sharing shows.

>>> portrait([1, x := [2.0], x])
[('', 'list 3 #0'), ('[0]', 'int 1'), ('[1]', 'list 1 #1'), ('[1][0]', 'float 2.0'), ('[2]', 'list again #1')]
"""

from __future__ import annotations

import enum
import functools
import itertools
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from capture.ir.types import Layout
from tests.compare import _bits, attributes

HERE = str(Path(__file__).parent)
CORPUS = "tests.corpus."
MOST_ITEMS = 20
"""Of an iterator, which is used up by looking at it."""

Row = tuple[str, str]
PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range, slice, np.dtype, CodeType)


def portrait(value: Any) -> list[Row]:
    """See the module."""
    walk = _Walk()
    walk.look("", value)
    return walk.rows


def difference(got: list[Row], expected: list[Row]) -> str:
    """The first row that differs, in words; empty if none does."""
    if got == expected:
        return ""
    for left, right in itertools.zip_longest(got, expected, fillvalue=("", "nothing")):
        if left != right:
            return f"{left[0]}: {left[1]}\n    instead of {right[0]}: {right[1]}"
    raise AssertionError


def of_corpus(value: Any) -> bool:
    """Whether a class or function was defined in a corpus module."""
    name = value.__globals__.get("__name__") if type(value) is FunctionType else getattr(value, "__module__", "")
    return str(name).startswith(CORPUS)


def global_names(code: CodeType) -> Iterator[str]:
    """The names that a code object and those inside it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from global_names(constant)


def trace(error: BaseException) -> list[str]:
    """The frames of the corpus and of libraries that an exception went through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = ("helpers.py", "interpret.py", "twins.py", "mutating.py")
    return [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames if not f.filename.endswith(ours)]


class _Walk:
    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []  # an id tells an object only as long as it lives

    def look(self, path: str, value: Any) -> None:
        for kinds, describe in LOOKS:
            if issubclass(type(value), kinds):  # isinstance would ask the value for its class
                describe(self, path, value)
                return
        if of_corpus(type(value)):
            self.instance(path, value)
        elif issubclass(type(value), Iterator):
            self.iterator(path, value)
        else:
            self.add(path, value, without_addresses(repr(value)))

    def add(self, path: str, value: Any, text: str = "") -> None:
        self.rows.append((path, f"{type(value).__qualname__} {text}"))

    def met(self, path: str, value: Any, text: Any = "") -> bool:
        """Note an object that has an identity; whether it was met before."""
        again = id(value) in self.seen
        if not again:
            self.seen[id(value)] = len(self.seen)
            self.alive.append(value)
        number = self.seen[id(value)]
        self.add(path, value, f"again #{number}" if again else f"{text} #{number}")
        return again

    def parts(self, path: str, named: Iterable[tuple[str, Any]]) -> None:
        for name, value in named:
            self.look(path + name, value)

    # families -----------------------------------------------------------------------------------------------------
    def plain(self, path: str, value: Any) -> None:
        self.add(path, value, without_addresses(repr(value)))

    def scalar(self, path: str, value: np.generic) -> None:
        self.add(path, value, f"{value.dtype} {value!r} {_contents(value)}")

    def array(self, path: str, value: np.ndarray) -> None:
        flags = "".join(name[0] for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED", "OWNDATA")
                        if value.flags[name])  # fmt: skip
        layout = Layout.of(value) if value.size else ""
        if not self.met(path, value, f"{value.dtype}{list(value.shape)} {layout} {flags} {_contents(value)}"):
            self.place(path, value)

    def place(self, path: str, value: np.ndarray) -> None:
        """Whose memory it is, if that belongs to something met before."""
        owner: Any = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner is not value and id(owner) in self.seen:
            start = [array.__array_interface__["data"][0] for array in (value, owner)]
            self.rows.append((f"{path}.base", f"#{self.seen[id(owner)]} + {start[0] - start[1]}"))

    def tuple(self, path: str, value: tuple) -> None:
        self.add(path, value, str(len(value)))
        self.parts(path, ((f"[{index}]", item) for index, item in enumerate(value)))

    def sequence(self, path: str, value: Any) -> None:
        if not self.met(path, value, len(value)):
            self.parts(path, ((f"[{index}]", item) for index, item in enumerate(value)))
            self.extra(path, value)

    def mapping(self, path: str, value: dict) -> None:
        if not self.met(path, value, f"{len(value)} {without_addresses(repr(list(value)))}"):
            self.parts(path, ((f"[{without_addresses(repr(key))}]", item) for key, item in value.items()))
            self.extra(path, value)

    def extra(self, path: str, value: Any) -> None:
        """Attributes of an instance of a class that is derived from a container or exception."""
        if of_corpus(type(value)):
            self.parts(path, ((f".{name}", item) for name, item in attributes(value).items()))

    def instance(self, path: str, value: Any) -> None:
        if not self.met(path, value):
            self.look(f"{path}.__class__", type(value))
            self.extra(path, value)

    def member(self, path: str, value: enum.Enum) -> None:
        self.add(path, value, value.name)

    def iterator(self, path: str, value: Any) -> None:
        """Its next items: this uses it up."""
        if self.met(path, value):
            return
        try:
            items = list(itertools.islice(value, MOST_ITEMS))
        except Exception as error:
            items = [error]
        self.parts(path, ((f".next{index}", item) for index, item in enumerate(items)))

    def error(self, path: str, value: BaseException) -> None:
        if self.met(path, value):
            return
        self.rows.append((f"{path}.trace", str(trace(value))))
        names = ("args", "__cause__", "__context__", "__suppress_context__", "__notes__", "exceptions")
        self.parts(path, ((f".{name}", getattr(value, name)) for name in names if hasattr(value, name)))
        self.extra(path, value)

    def partial(self, path: str, value: functools.partial) -> None:
        if not self.met(path, value):
            self.parts(path, ((f".{name}", getattr(value, name)) for name in ("func", "args", "keywords")))

    def method(self, path: str, value: MethodType) -> None:
        self.add(path, value, value.__func__.__qualname__)
        self.look(f"{path}.__self__", value.__self__)

    def module(self, path: str, value: ModuleType) -> None:
        self.add(path, value, value.__name__)

    def function(self, path: str, value: FunctionType) -> None:
        if self.met(path, value, value.__qualname__) or not of_corpus(value):
            return
        names = ("__defaults__", "__kwdefaults__", "__dict__")
        self.parts(path, ((f".{name}", getattr(value, name)) for name in names))
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            self.cell(f"{path}.<{name}>", cell)
        for name in dict.fromkeys(global_names(value.__code__)):
            if name in value.__globals__:
                self.look(f"{name}", value.__globals__[name])

    def cached(self, path: str, value: Any) -> None:
        if not self.met(path, value, value.cache_info()):
            self.look(f"{path}.__wrapped__", value.__wrapped__)

    def cell(self, path: str, cell: Any) -> None:
        if self.met(path, cell):
            return
        try:
            self.look(path, cell.cell_contents)
        except ValueError:
            self.rows.append((path, "unbound"))

    def type(self, path: str, value: type) -> None:
        """A class, and what it holds that is no part of its definition."""
        if self.met(path, value, value.__qualname__) or not of_corpus(value):
            return
        for name, item in vars(value).items():
            if not name.startswith("_"):
                self.look(f"{path}.{name}", item)


def without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def _contents(value: Any) -> str:
    if value.dtype.hasobject:
        return without_addresses(repr(value))
    data = np.ma.getdata(value)
    parts = [data.real, data.imag] if data.dtype.kind == "c" else [data]
    return " ".join(_bits(part).tobytes().hex() for part in parts)


LOOKS: list[tuple[Any, Callable[[_Walk, str, Any], None]]] = [
    (enum.Enum, _Walk.member),
    (np.generic, _Walk.scalar),
    (np.ndarray, _Walk.array),
    (PLAIN, _Walk.plain),
    (tuple, _Walk.tuple),
    ((list, set, frozenset), _Walk.sequence),
    (dict, _Walk.mapping),
    (BaseException, _Walk.error),
    (FunctionType, _Walk.function),
    (type, _Walk.type),
    (ModuleType, _Walk.module),
    (MethodType, _Walk.method),
    (functools.partial, _Walk.partial),
    (type(functools.cache(int)), _Walk.cached),
]
