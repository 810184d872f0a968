"""gcc's own stages, started without its driver: what each kernel is compiled by, where that is known to work.

In: the commands of ``cc1``, ``as`` and ``ld``, as ``driver.plan_stages`` found them, and two files. Out: whether the
second is now the shared object of the first::

    run_stages(toolchain.stages, "kernel.c", "kernel.so")

The assembler reads while the compiler writes, and the plugin for link-time optimisation is left out. It is a short cut
only: whoever gets False from it asks the driver. A first call imports this: hence ``os`` where ``subprocess``, which
takes longer to import than the linker runs, would do the same.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Sequence

from capture import config

Stages = tuple[tuple[str, ...], ...]
"""The commands behind a compiler's driver; empty where they are not known."""

TIMEOUT_SECONDS = 120.0

SOURCE, OBJECT, OUT = "<source>", "<object>", "<out>"
"""Words in place of file names in planned stages."""

_STANDARD = 2
"""The last of the descriptors that every program has."""


def run_stages(stages: Stages, source_path: str | os.PathLike, out_path: str | os.PathLike) -> bool:
    """Make a shared object of a C file by planned stages; False when that did not work, for whatever reason."""
    if len(stages) != 3:
        return False
    object_path = f"{os.fspath(out_path)}.o"
    names = {SOURCE: os.fspath(source_path), OBJECT: object_path, OUT: os.fspath(out_path)}
    compiler, assembler, linker = ([names.get(word, word) for word in stage] for stage in stages)
    try:
        return _run_chain([compiler, assembler]) and _run_chain([linker])
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            os.unlink(object_path)


def _run_chain(commands: Sequence[list[str]]) -> bool:
    """Run programs, each of which reads what the one before writes; whether all have succeeded."""
    environment = config.child_environment()
    heard, said = os.pipe()  # what they complain of; it ends when all of them have
    opened, children, in_time = [heard, said], [], False
    try:
        nothing = reads = os.open(os.devnull, os.O_RDWR)
        opened.append(nothing)
        for command in commands:
            if command is commands[-1]:
                following = writes = nothing
            else:
                following, writes = os.pipe()
                opened += [following, writes]
            if min(opened) <= _STANDARD:  # the program has closed its own: one would be put in another's place
                return False
            ends = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate((reads, writes, said))]
            children.append(os.posix_spawnp(command[0], command, environment, file_actions=ends))
            reads = following
        while len(opened) > 1:
            os.close(opened.pop())
        in_time = _hear_out(heard)
    finally:
        for end in opened:
            os.close(end)
        statuses = [_status(child, in_time) for child in children]
    return in_time and not any(statuses)


def _hear_out(heard: int) -> bool:
    """Wait until nobody can say any more; False if that takes too long. What is said the driver says again."""
    end = time.monotonic() + TIMEOUT_SECONDS
    waiting = select.poll()
    waiting.register(heard)
    while waiting.poll(max(0.0, end - time.monotonic()) * 1e3):
        if not os.read(heard, 4096):
            return True
    return False


def _status(child: int, has_ended: bool) -> int:
    """What a program ended with, which is ended now if it has not; not 0 where somebody else was told."""
    try:
        if not has_ended and os.waitpid(child, os.WNOHANG) == (0, 0):
            import signal  # its tables of names take as long to make as a program to start

            os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        return os.waitpid(child, 0)[1] if has_ended else 1
    except ChildProcessError:
        return 1
