"""A variant that an earlier process wrote down, put to use: what a first call needs where all is as it was then.

In: an entry that has no variant for a call. Out: one from its record whose guards hold, or None: compile. Nothing of
the tracer or the code generator is imported for it. As soon as no kept variant fits, those in use are dropped and the
function is compiled as if there had been none: what has changed from call to call is seen by comparing live variants.
What follows a break is kept with it: resume functions are made again, and have records of their own.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable
from functools import cached_property, partial
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from capture import config, log
from capture.errors import InternalError
from capture.frames.hook import Entry, Variant
from capture.frames.settings import Settings
from capture.inductor import _executor, cache, errstate, toolchain  # noqa: F401 (errstate: the executor reads it)
from capture.kept.encoding import Gone, Resume, World, decoded
from capture.kept.record import Found, Row, found_of, may_be_kept, rest_of, rows_of, runs_plainly
from capture.uncollected import uncollected

if TYPE_CHECKING:
    from capture.inductor.plan import Plan
    from capture.ir.graph import Graph


class Restored(NamedTuple):
    """``variant.info`` of a variant that was not made in this process."""

    settings: Settings


class KeptPlan:
    """A plan that is read only if somebody asks for its parts."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled

    @cached_property
    def _plan(self) -> Plan:
        return pickle.loads(self._pickled)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)


def is_known(function: FunctionType, settings: Settings) -> bool:
    """Whether variants of a function are kept."""
    return may_be_kept(settings) and bool(found_of(function, settings).rows)


def restored(entry: Entry, arguments: tuple[Any, ...], settings: Settings) -> Variant | None:
    """A kept variant whose guards hold for these arguments."""
    if not may_be_kept(settings) or any(type(variant.info) is not Restored for variant in entry.variants):
        return None
    function: FunctionType = entry.function  # type: ignore[assignment]
    found = found_of(function, settings)
    rest = Rest(settings, found)
    variant = _fitting(found.rows, function, arguments, settings, rest)
    if variant is not None:
        settings.record.alive.append(rest)
        settings.record.kept = found._replace(is_kept=True)
    elif entry.variants:
        _drop(entry, settings)
    return variant


def _drop(entry: Entry, settings: Settings) -> None:
    """Let a function be compiled as if nothing were kept. What runs now needs its resume functions still."""
    record, found = settings.record, settings.record.kept
    alive = list(record.alive)
    entry.clear()
    record.clear()
    record.alive.extend(alive)
    if found is not None:
        record.kept = found._replace(rows=[])


class Rest:
    """The resume functions behind a kept variant, each once for a name."""

    def __init__(self, settings: Settings, found: Found) -> None:
        self.settings, self.found = settings, found
        self._entries: dict[str, Entry] = {}

    def entry(self, resume: Resume) -> Entry:
        if resume.name not in self._entries:
            closure = tuple(CellType() for _ in resume.code.co_freevars)
            function = FunctionType(resume.code, resume.namespace, resume.code.co_name, None, closure or None)
            self._entries[resume.name] = Entry(function, partial(self._miss, resume), None, self.settings)
        return self._entries[resume.name]

    def landing(self, code: CodeType, index: int, depth: int) -> Callable[..., Any]:
        return partial(_land, weakref.ref(self.settings), code, index, depth)

    def _miss(self, resume: Resume, entry: Entry, arguments: tuple[Any, ...]) -> Variant | None:
        """A kept variant that fits; else the compiler goes on from here."""
        settings = self.settings
        if all(type(variant.info) is Restored for variant in entry.variants):
            try:
                with config.applied(settings.options):
                    variant = self._kept(resume, entry, arguments)
                if variant is not None or entry.plain:
                    return variant
                _prepare(resume)
            except Exception as error:
                words = f"variants that are kept: {type(error).__name__}: {error}"
                if settings.options.strict:
                    raise InternalError(words) from error
                code = entry.function.__code__  # type: ignore[attr-defined]
                log.fallback(code, f"{code.co_qualname} ({code.co_filename}) runs as plain Python: {words}")
                entry.plain = True
                return None
            entry.clear()
        from capture.frames.frontend import on_miss

        return on_miss(entry, arguments)

    def _kept(self, resume: Resume, entry: Entry, arguments: tuple[Any, ...]) -> Variant | None:
        name = rest_of(self.found.name, resume.name)
        function: FunctionType = entry.function  # type: ignore[assignment]
        variant = _fitting(rows_of(name), function, arguments, self.settings, self)
        entry.plain = variant is None and runs_plainly(name)
        return variant


def _land(settings: weakref.ref[Settings], code: CodeType, index: int, depth: int, *state: Any) -> Any:
    """What a ``Landing`` does, which comes with the compiler."""
    with uncollected():
        from capture.frames.frontend import on_miss
        from capture.frames.landings import Landing
        from capture.frames.resume import Resumes
    owner = settings()
    if owner is None:
        raise InternalError("code runs whose owner is gone")
    return Landing(Resumes(owner, on_miss), code, index, depth)(*state)


def _prepare(resume: Resume) -> None:
    """Have the compiler know what a resume function resumes."""
    with uncollected():
        from capture.frames import frontend  # noqa: F401 (all of it, while nothing is collected)
        from capture.frames.bytecode import decode
        from capture.frames.origins import remember_origin
    if resume.original is not None:
        whole, original = decode(resume.code), decode(resume.original)
        tail = whole.instructions[len(whole) - len(original) :]
        if [found.op for found in tail] != [found.op for found in original.instructions]:
            raise InternalError(f"{resume.code.co_qualname} does not end with what it resumes")
        remember_origin(resume.code, original)


def _fitting(
    rows: list[Row], function: FunctionType, arguments: tuple[Any, ...], settings: Settings, rest: Rest
) -> Variant | None:
    """The first variant whose guards hold, of those that can be made here."""
    for row in rows:
        try:
            guards = decoded(row.guards, World(function))
            if Variant(guards, function.__code__).holds(arguments, function):
                return _variant(row, guards, function, settings, rest)
        except Gone:
            continue
    return None


def _variant(row: Row, guards: Any, function: FunctionType, settings: Settings, rest: Rest) -> Variant:
    runner = None if row.program is None else _runner(row, function, settings)
    world = World(function, runner, whole=rest.found.code, rest=rest)
    variant = Variant(
        guards,
        decoded(row.code, world),
        decoded(row.direct, world),
        row.native,
        Restored(settings),
        row.evaluated,
    )
    if runner is not None:
        settings.record.graphs.append_later(lambda: _graph(row.graph))
    return variant


def _runner(row: Row, function: FunctionType, settings: Settings) -> _executor.Executor:
    plan = KeptPlan(row.plan)
    path = cache.sound(row.kernels) or cache.load(plan.source, toolchain.find())
    program = decoded(row.program, World(function))
    return _executor.Executor(cast("Plan", plan), program, str(path), settings.options.threads, _report_flags)


def _report_flags(plan: Any, words: tuple[int, ...], kinds: int) -> None:
    from capture.inductor.executor import report_flags

    report_flags(plan, words, kinds)


def _graph(text: str) -> Graph:
    from capture.ir.text import parse_graph

    return parse_graph(text)
