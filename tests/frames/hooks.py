"""What the tests of the hook share: functions to replace, ways to make entries and variants, callbacks that note."""

from __future__ import annotations

import sys
import traceback
from types import CodeType, FunctionType
from typing import Any

from capture.frames import hook
from capture.frames.guards import Guard, compile_guards
from capture.frames.hook import Entry, Variant
from capture.frames.sources import Argument

ALWAYS = (0, ())
X = Argument(0, "x")


def when(*guards: Guard) -> Any:
    return compile_guards(guards)[0]


def variant(replacement: FunctionType, *guards: Guard, **options: Any) -> Variant:
    return Variant(when(*guards), replacement.__code__.replace(), **options)


def larger(function: FunctionType, slots: int) -> Variant:
    """A variant with the code of ``function`` whose frames are larger by a number of slots."""
    code = function.__code__
    return Variant(ALWAYS, code.replace(co_stacksize=code.co_stacksize + slots))


def entry_of(function: FunctionType, replacement: FunctionType, *guards: Guard, **options: Any) -> Entry:
    """An entry whose only variant runs the code of ``replacement``."""
    entry = Entry(function)
    entry.add(variant(replacement, *guards, **options))
    return entry


def direct_entry(function: FunctionType, executor: Any, inputs: Any, outputs: Any, guards: Any = ()) -> Entry:
    """An entry whose only variant runs ``executor``."""
    program, slots = compile_guards(guards, inputs)
    entry = Entry(function)
    entry.add(Variant(program, function.__code__.replace(), (executor, slots, outputs)))
    return entry


class Capture:
    """Callbacks that give each code object in a table its variant, and note what they are asked."""

    def __init__(self, table: dict[FunctionType, Variant | None]):
        self.table = {function.__code__: variant for function, variant in table.items()}
        self.decisions: list[CodeType] = []
        self.misses: list[tuple[str, tuple[Any, ...]]] = []
        hook.set_callbacks(self.miss, self.should_capture)

    def should_capture(self, code: CodeType) -> bool:
        self.decisions.append(code)
        return code in self.table

    def miss(self, entry: Entry, arguments: tuple[Any, ...]) -> Variant | None:
        assert entry.function.__code__ is entry.code
        self.misses.append((entry.code.co_name, arguments))
        return self.table[entry.code]


class Tracked:
    """Something whose death can be seen."""


def plain(x):
    return ("plain", x)


def replaced(x):
    return ("replaced", x)


def calls_plain(x):
    return plain(x), plain(x + 1)


# ---- signatures and calls ----


def no_arguments():
    return ()


def positional(x, y):
    return x, y


def defaults(x, y=2, z=3):
    return x, y, z


def positional_only(x, y=2, /, z=3):
    return x, y, z


def keyword_only(x, *, k, m=5):
    return x, k, m


def rest(x, *args):
    return x, args


def keywords(x=1, **kwargs):
    return x, kwargs


def everything(x, y=2, /, z=3, *args, k=4, m, **kwargs):
    return x, y, z, args, k, m, kwargs


def only_rest(*args, **kwargs):
    return args, kwargs


SIGNATURES = [
    no_arguments,
    positional,
    defaults,
    positional_only,
    keyword_only,
    rest,
    keywords,
    everything,
    only_rest,
]
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((1, 2), {}),
    ((1, 2, 3), {}),
    ((1, 2, 3, 4, 5), {}),
    ((), {"x": 1}),
    ((1,), {"x": 1}),
    ((1,), {"y": 7}),
    ((), {"y": 7, "x": 1}),
    ((1,), {"z": 8}),
    ((1,), {"k": 9}),
    ((1,), {"k": 9, "m": 10}),
    ((1, 2, 3, 4), {"m": 10, "other": 11, "x": 12}),
    ((1,), {"m": 10, "".join(["other", "wise"]): 11}),
    ((), {"args": 1, "kwargs": 2}),
]


def outcome(function: Any, args: Any, kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        return str(error)


# ---- what users see of frames ----


def outline(error: BaseException) -> list[tuple[str, int | None, str | None]]:
    return [(frame.name, frame.lineno, frame.line) for frame in traceback.extract_tb(error.__traceback__)]


def failing(x):
    y = x
    return y / 0


def caught(function: Any) -> list[Any]:
    try:
        function(1)
    except ZeroDivisionError as error:
        return outline(error)[1:]
    return []


def stack_of(x):
    frame, names = sys._getframe(), []
    while frame is not None:
        names.append((frame.f_code.co_name, frame.f_locals.get("x")))
        frame = frame.f_back
    return names
