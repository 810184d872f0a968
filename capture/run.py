"""Whole programs: ``python -m capture run [--explain] [--dynamic] [--include PACKAGE]… (script.py | -m module) args…``.

In: a script or module and its arguments. Out: what ``python script.py args…`` gives, exit status, output and
tracebacks included; functions of the script and of the packages named are captured as if they were decorated, on all
threads, until the interpreter exits. With ``--explain``, a report of each of them follows on stderr.
"""

from __future__ import annotations

import argparse
import atexit
import io
import os
import pkgutil
import signal
import sys
import zipfile
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

from capture import api, config, scopes
from capture.frames import hook
from capture.report import Report, make_report

MAIN = "__main__"


def main(words: Sequence[str]) -> int:
    """Run one program; returns 0 where the program ends by itself, and lets its exceptions through."""
    options, module, arguments = parse(words)
    if not config.current().disable:
        _begin(options)
    if module is not None:
        run_module(module, arguments)
    elif os.path.isdir(arguments[0]) or zipfile.is_zipfile(arguments[0]):
        run_archive(arguments)
    else:
        run_script(arguments)
    return 0


def parse(words: Sequence[str]) -> tuple[argparse.Namespace, str | None, list[str]]:
    """Our options, the module if it is one, and the program's arguments: with the script's name, first of all.

    >>> parse(["--explain", "-m", "tool", "--verbose"])[1:]
    ('tool', ['--verbose'])
    """
    parser = argparse.ArgumentParser(
        prog="python -m capture run",
        usage="python -m capture run [--explain] [--dynamic] [--include PACKAGE]… (script.py | -m module) args…",
        description="Run a Python program with its functions captured; the program itself is not changed.",
        allow_abbrev=False,
    )
    parser.add_argument("--explain", action="store_true", help="report at exit what was captured, on stderr")
    parser.add_argument("--dynamic", action="store_true", help="leave sizes and int arguments open from the start")
    parser.add_argument("--include", action="append", default=[], metavar="PACKAGE", help="also capture this package")
    own = _own_words(words)
    options = parser.parse_args(words[:own])
    rest = list(words[own:])
    if rest[:1] == ["-m"]:
        if len(rest) == 1:
            parser.error("-m needs the name of a module")
        return options, rest[1], rest[2:]
    if not rest:
        parser.error("what is to be run? Give a script, or -m and a module")
    return options, None, rest


def _own_words(words: Sequence[str]) -> int:
    """How many words are for us: all before the script, or before ``-m``."""
    index = 0
    while index < len(words) and words[index].startswith("-") and words[index] != "-m":
        index += 2 if words[index] == "--include" else 1
    return min(index, len(words))


# Running ----------------------------------------------------------------------------------------------------------
def run_script(arguments: list[str]) -> None:
    """As ``python script.py``: the script's folder leads the path, and its frame is the outermost."""
    script = arguments[0]
    try:
        with io.open_code(os.path.abspath(script)) as file:
            source = file.read()
    except OSError as error:
        where = os.path.abspath(script)
        print(f"{sys.executable}: can't open file {where!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    sys.argv[:] = arguments
    _lead_path(os.path.dirname(os.path.realpath(script)))
    module = _new_main(script)
    try:
        hook.call_at_base(_compiled(source, os.path.abspath(script)), vars(module))
    except BaseException as error:
        _leave(error, interruptible=True)


def _compiled(source: bytes, script: str) -> CodeType:
    """A script is source, or what Python compiled a module to."""
    code = pkgutil.read_code(io.BytesIO(source))
    return code if isinstance(code, CodeType) else compile(source, script, "exec", dont_inherit=True)


def run_module(name: str, arguments: list[str]) -> None:
    """As ``python -m name``."""
    sys.argv[:] = ["-m", *arguments]
    _lead_path(os.getcwd())
    _run_as_main(name, alter_argv=True)


def run_archive(arguments: list[str]) -> None:
    """As ``python folder`` or ``python archive.zip``, which have a module ``__main__``."""
    sys.argv[:] = arguments
    _lead_path(os.path.abspath(arguments[0]))
    _run_as_main(MAIN, alter_argv=False)


def _run_as_main(name: str, alter_argv: bool) -> None:
    import runpy

    _new_main(None)
    try:
        hook.call_at_base(runpy._run_module_as_main, name, alter_argv)  # type: ignore[attr-defined]
    except BaseException as error:
        _leave(error, interruptible=False)


def _lead_path(folder: str) -> None:
    """What Python puts first on the path; it has put there what belongs to us."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _new_main(script: str | None) -> ModuleType:
    """A fresh ``__main__`` with what Python gives a program."""
    module = ModuleType(MAIN)
    names: dict[str, Any] = {"__annotations__": {}, "__builtins__": sys.modules["builtins"]}
    if script is not None:
        path = os.path.abspath(script)
        names |= {"__file__": path, "__cached__": None, "__loader__": SourceFileLoader(MAIN, path)}
    vars(module).update(names)
    sys.modules[MAIN] = module
    return module


def _leave(error: BaseException, interruptible: bool) -> NoReturn:
    """Let an exception through as if the program's frames were the outermost."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_globals is globals():
        traceback = traceback.tb_next
    if not isinstance(error, SystemExit):
        sys.excepthook = _Excepthook(traceback)
    if isinstance(error, KeyboardInterrupt) and interruptible:
        _finish.interrupted = True
    raise error


class _Excepthook:
    """Shows an exception by the hook that was in force, without our frames."""

    def __init__(self, traceback: TracebackType | None) -> None:
        self.traceback = traceback
        self.before = sys.excepthook

    def __call__(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        sys.excepthook = self.before
        error.__traceback__ = sys.last_traceback = self.traceback
        self.before(kind, error, self.traceback)


# What was captured ------------------------------------------------------------------------------------------------
class _Finish:
    """The last thing to happen: capturing ends, the report is given, an interrupted program is seen to be so."""

    def __init__(self) -> None:
        self.include: list[str] = []
        self.captured: list[scopes.Captured] = []
        self.explain = False
        self.interrupted = False

    def __call__(self) -> None:
        api.capture_process(None)
        for name in self.include:
            if name not in sys.modules:
                print(f"capture: --include {name}: the program imported no module of that name", file=sys.stderr)
        if self.explain:
            print(summary(self.captured), file=sys.stderr)
        self.captured.clear()
        api.reset()  # captured code would keep the program's globals alive beyond their end
        if self.interrupted:
            sys.stdout.flush()
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)


_finish = _Finish()


def _begin(options: argparse.Namespace) -> None:
    _finish.include, _finish.explain = options.include, options.explain
    if options.explain:
        scopes.listen(_finish.captured.append)
    atexit.register(_finish)  # before any of the program's, so that it comes last
    api.capture_process(MAIN, options.include, dynamic=options.dynamic or None)


def summary(captured: Sequence[scopes.Captured]) -> str:
    """One report for each function with array work, in the order they were called, and what stayed plain."""
    reports = [_report(each) for each in captured if each.record.graphs]
    plain = len(captured) - len(reports)
    totals = (
        f"capture: {_count(len(reports), 'function')} captured in "
        f"{_count(sum(report.graph_count for report in reports), 'graph')} and "
        f"{_count(sum(len(report.kernels) for report in reports), 'kernel')}, with "
        f"{_count(sum(report.graph_break_count for report in reports), 'break')}; "
        f"{_count(plain, 'function')} without array work left plain"
    )
    limits = [words for each in captured for words in each.record.limits]
    return "\n".join([totals, *map(str, reports), *limits])


def _report(captured: scopes.Captured) -> Report:
    """Guards are left out: they are many, and ``CAPTURE_LOGS=guards`` has them."""
    place = f"{captured.name} ({os.path.relpath(captured.file)}:{captured.line})"
    report = make_report(place, None, captured.record)
    return Report(**{**vars(report), "guards": ()})


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
