"""Running a C compiler through its driver.

In comes a command line, out comes None or what the compiler said::

    run(["gcc", "-O1", "-shared", "kernel.c", "-o", "kernel.so"])

gcc is a driver that starts ``cc1``, ``as`` and, through ``collect2``, ``ld``, each waiting for the one before.
``plan_stages`` asks it (``gcc -###``) what it would start; ``stages`` then starts the three itself.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from capture import config
from capture.inductor import cache
from capture.inductor.stages import OBJECT, OUT, SOURCE, TIMEOUT_SECONDS, Stages


def run(command: Sequence[str]) -> str | None:
    """Run a compiler: None if it succeeded, else what it said."""
    with _surroundings() as (folder, environment):
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT_SECONDS,
                env=environment,
                cwd=folder,
            )
        except subprocess.TimeoutExpired:
            return f"no result after {TIMEOUT_SECONDS:.0f} s"
        except OSError as error:
            return error.strerror or str(error)
    if done.returncode == 0:
        return None
    return done.stdout.decode(errors="replace").strip() or f"exit status {done.returncode} without a word"


def plan_stages(command: Sequence[str], flags: Sequence[str], libraries: Sequence[str]) -> Stages:
    """What gcc would start to make a shared object of one C file; empty when its answer is not understood."""
    with _surroundings() as (folder, environment):
        source, out = f"{folder}/source.c", f"{folder}/out.so"
        asked = [*command, *flags, "-###", source, "-o", out, *libraries]
        try:
            done = subprocess.run(
                asked, capture_output=True, env=environment, cwd=folder, timeout=TIMEOUT_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            return ()
    # Commands are indented in what it prints, all else is not.
    lines = [
        shlex.split(line) for line in done.stderr.decode(errors="replace").splitlines() if line[:1] == " "
    ]
    if [os.path.basename(line[0]) for line in lines] != ["cc1", "as", "collect2"]:
        return ()
    compiler, assembler, linker = lines
    try:
        assembly, compiled = (line[line.index("-o") + 1] for line in (compiler, assembler))
    except (ValueError, IndexError):
        return ()
    programs = compiler[0], shutil.which(assembler[0]), shutil.which(_linker(command))
    names = {source: SOURCE, assembly: "-", compiled: OBJECT, out: OUT}
    planned = compiler, assembler, _without_plugin(linker)
    return tuple(
        (program, *(names.get(word, word) for word in line[1:]))
        for program, line in zip(programs, planned, strict=True)
        if program is not None
    )


def _linker(command: Sequence[str]) -> str:
    """The program that collect2 would run in its turn."""
    asked = subprocess.run([*command, "-print-prog-name=ld"], capture_output=True, text=True)
    return asked.stdout.strip() or "ld"


def _without_plugin(linker: Sequence[str]) -> list[str]:
    words = list(linker)
    while "-plugin" in words:
        at = words.index("-plugin")
        del words[at : at + 2]
    return [word for word in words if not word.startswith("-plugin-opt=")]


@contextlib.contextmanager
def _surroundings() -> Iterator[tuple[str, dict[str, str]]]:
    """A folder to run a compiler in, and its environment.

    What it leaves behind (also when it is killed) goes with the folder, but for the C library that zig makes
    once, in seconds. The user's own working directory may be gone, and is not to get files dropped into it.
    """
    with tempfile.TemporaryDirectory(prefix="capture-", ignore_cleanup_errors=True) as folder:
        kept = str(Path(cache.directory(), "zig"))
        yield (
            folder,
            config.child_environment(TMPDIR=folder, ZIG_LOCAL_CACHE_DIR=folder, ZIG_GLOBAL_CACHE_DIR=kept),
        )
