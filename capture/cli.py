"""The command line: ``python -m capture <command> …``.

In come words, out come text on stdout and an exit status; each command is loaded when it is asked for::

    $ python -m capture cache info
    /home/someone/.cache/capture: 12 kernels and 1 record, 214.7 KiB of 512.0 MiB
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import NamedTuple

from capture import config
from capture._version import __version__
from capture.inductor import cache


class Command(NamedTuple):
    """A command: what runs it (a function of its words, or ``module:function``), and what it does in words."""

    run: Callable[[Sequence[str]], int] | str
    summary: str


def cache_command(words: Sequence[str]) -> int:
    """``cache info`` and ``cache clear``."""
    if list(words) == ["info"]:
        print(describe_cache(cache.info()))
    elif list(words) == ["clear"]:
        print(f"removed {_count(cache.clear(), 'file')} from {cache.directory()}")
    else:
        return _misused("cache info|clear")
    return 0


def options_command(words: Sequence[str]) -> int:
    """``options``: the documentation of all options, as Markdown."""
    if words:
        return _misused("options")
    print(config.document(), end="")
    return 0


def breaks_command(words: Sequence[str]) -> int:
    """``breaks``: the kinds of graph breaks, as Markdown."""
    if words:
        return _misused("breaks")
    from capture.frames.breaks import document

    print(document(), end="")
    return 0


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "demo": Command("capture.demo:main", "run a model plain and compiled, and show what was captured"),
        "run": Command("capture.run:main", "run a program with its functions captured, without a change to it"),
        "explain": Command("capture.report:main", "show what is captured of one function, and what is not"),
        "doctor": Command("capture.doctor:main", "check compiler, processor, cache and extensions"),
        "cache": Command(cache_command, "info: what the kernel cache holds; clear: empty it"),
        "breaks": Command(breaks_command, "print the kinds of graph breaks, and what to do about each"),
        "options": Command(options_command, "print every option, its environment variable and its default"),
    }
)


def main(words: Sequence[str]) -> int:
    """Run one command; returns the exit status."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    if words[0] == "--version":
        print(f"capture {__version__}")
        return 0
    if words[0] not in COMMANDS:
        print(config.unknown("command", words[0], COMMANDS), file=sys.stderr)
        return 2
    run = COMMANDS[words[0]].run
    if isinstance(run, str):
        module, _, function = run.partition(":")
        run = getattr(import_module(module), function)
    return run(list(words[1:])) or 0


def describe_cache(info: cache.Info) -> str:
    """What the cache holds, in one line."""
    held = f"{_count(info.kernels, 'kernel')} and {_count(info.records, 'record')}"
    return f"{info.directory}: {held}, {_size(info.bytes)} of {_size(info.limit)}"


def _help() -> str:
    rows = (f"  {name:<9} {command.summary}" for name, command in COMMANDS.items())
    return "\n".join(["usage: python -m capture <command> …", "", *rows])


def _misused(usage: str) -> int:
    print(f"usage: python -m capture {usage}", file=sys.stderr)
    return 2


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _size(number: int) -> str:
    """Bytes for people: 214.7 KiB."""
    power = min((max(number, 1).bit_length() - 1) // 10, len(_UNITS) - 1)
    return f"{number / 1024**power:.{min(power, 1)}f} {_UNITS[power]}"


_UNITS = ("bytes", "KiB", "MiB", "GiB")
