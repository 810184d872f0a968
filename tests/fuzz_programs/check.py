"""Runs a program plain and captured, and compares.

In: source, and a ``Mode``: the backend, and how often breaks are forced. Out: ``Figures``: what was captured, so that
nobody mistakes a run that captured nothing for one that found nothing; or ``Failure``.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self
from unittest import mock

from capture import backends, config
from capture.frames import frontend, hook
from capture.frames.settings import Settings
from tests.fuzz_programs.outcome import Outcome, Program, difference

MOST_LINES, DEEPEST = 4000, 40
"""Programs that run more lines, or whose calls are nested deeper, are not tried."""


@dataclass(frozen=True)
class Mode:
    """``exact``: only forms whose bits do not depend on an order. ``forced``: one instruction in so many breaks."""

    name: str
    backend: Callable[..., Any]
    exact: bool = False
    forced: int = 0


MODES = {
    mode.name: mode
    for mode in (
        Mode("eager", backends.eager),
        Mode("forced", backends.eager, forced=12),
        Mode("inductor", backends.inductor, exact=True),
    )
}


class Sums:
    """Figures that are added up field by field."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True)
class Figures(Sums):
    programs: int = 0
    calls: int = 0
    raised: int = 0
    graphs: int = 0
    operations: int = 0
    instructions: int = 0
    breaks: int = 0
    recompiles: int = 0


class Failure(AssertionError):
    """A program did not do what plain Python does. ``kind`` names what differed, for shrinking to keep to it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class TooLong(BaseException):
    """A program runs too many lines."""


def fails_alike(check: Callable[[], object], kind: str) -> bool:
    """Whether a check fails in the kind of way that is shrunk; what fails otherwise is another matter."""
    try:
        check()
    except Failure as failure:
        return failure.kind == kind
    except (TooLong, Exception):
        return False
    return False


def rehearse(source: str, file: str) -> list[Outcome]:
    """The outcomes of a plain run, with few enough lines; raises what is wrong with the program as such."""
    left, depth = MOST_LINES, 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left, depth
        if frame.f_code.co_filename != file:
            return None
        left -= event == "line"
        depth += {"call": 1, "return": -1}.get(event, 0)
        if left < 0 or depth > DEEPEST:
            left = -1
            raise TooLong
        return count

    before = sys.gettrace()
    program = Program(source, file)
    sys.settrace(count)
    try:
        outcomes = list(program.outcomes())
    finally:
        sys.settrace(before)
    if left < 0:  # raised, and then swallowed
        raise TooLong
    return outcomes


def forced_breaks(share: int) -> Callable[[CodeType, int], bool] | None:
    """A break before one instruction in so many, the same in every run."""
    if not share:
        return None
    return lambda code, index: zlib.crc32(f"{code.co_qualname} {index}".encode()) % share == 0


def check(source: str, mode: Mode, folder: Path) -> Figures:
    """Compare every call; raises ``Failure``.

    There is a file of the program, else functions that plain code calls would not be captured.
    """
    path = folder / "program.py"
    path.write_text(source)
    file = str(path)
    rehearse(source, file)
    expected = list(Program(source, file).outcomes())
    options = config.with_options({"strict": True})
    settings = Settings(backend=mode.backend, options=options, force_break=forced_breaks(mode.forced))
    program = Program(source, file, lambda main: hook.Entry(main, frontend.on_miss, None, settings))
    instructions = 0
    internal: list[Exception] = []  # a program may swallow them

    def noted(*args: Any) -> Any:
        try:
            return _compile_call(*args)
        except Exception as error:
            internal.append(error)
            raise

    def counted(*args: Any) -> Any:
        nonlocal instructions
        trace = _trace_frame(*args)
        instructions += trace.evaluated
        return trace

    with mock.patch.multiple(frontend, trace_frame=counted, compile_call=noted):
        for number, want in enumerate(expected):
            got = program.outcome(program.scope["CALLS"][number])
            if internal:
                raise Failure(f"{type(internal[0]).__name__}", f"call {number}: {internal[0]}") from internal[0]
            if found := difference(got, want):
                raise Failure(kind_of(found), f"call {number}{found}")
    record = settings.record
    operations = sum(len(graph.calls) for graph in record.graphs)
    figures = (len(record.graphs), operations, instructions, len(record.breaks), len(record.misses))
    return Figures(1, len(expected), sum(outcome.raised for outcome in expected), *figures)


_trace_frame, _compile_call = frontend.trace_frame, frontend.compile_call


def kind_of(found: str) -> str:
    """The part of the outcome that differs."""
    return found.split(":")[0].split("[")[0].strip(".")
