"""Running a C compiler: through its driver, or gcc's own stages one by one.

In comes a command line, out comes None or what the compiler said::

    run(["gcc", "-O1", "-shared", "kernel.c", "-o", "kernel.so"])

gcc is a driver that starts ``cc1``, ``as`` and, through ``collect2``, ``ld``, each waiting for the one before.
``plan_stages`` asks it (``gcc -###``) what it would start; ``run_stages`` then starts the three itself, with the
assembler reading while the compiler writes and without the plugin for link-time optimisation: 20 ms instead of
25 for a kernel. It is a short cut only: whoever gets False from it asks the driver.
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
from typing import IO

from capture import config
from capture.inductor import cache
from capture.inductor.toolchain import Stages

TIMEOUT_SECONDS = 120.0

_SOURCE, _OBJECT, _OUT = "<source>", "<object>", "<out>"
"""Words in place of file names in planned stages: the commands of cc1, as and ld."""


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
    names = {source: _SOURCE, assembly: "-", compiled: _OBJECT, out: _OUT}
    planned = compiler, assembler, _without_plugin(linker)
    return tuple(
        (program, *(names.get(word, word) for word in line[1:]))
        for program, line in zip(programs, planned, strict=True)
        if program is not None
    )


def run_stages(stages: Stages, source_path: str | os.PathLike, out_path: str | os.PathLike) -> bool:
    """Make a shared object of a C file by planned stages; False when that did not work, for whatever reason."""
    if len(stages) != 3:
        return False
    with _surroundings() as (folder, environment):
        names = {_SOURCE: os.fspath(source_path), _OBJECT: f"{folder}/object.o", _OUT: os.fspath(out_path)}
        compiler, assembler, linker = ([names.get(word, word) for word in stage] for stage in stages)
        with contextlib.ExitStack() as children:

            def start(command: list[str], reads: IO[bytes] | int, writes: int) -> subprocess.Popen[bytes]:
                child = subprocess.Popen(
                    command,
                    stdin=reads,
                    stdout=writes,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                    cwd=folder,
                )
                children.callback(_end, child)
                return child

            try:
                compiling = start(compiler, subprocess.DEVNULL, subprocess.PIPE)
                assert compiling.stdout is not None
                assembling = start(assembler, compiling.stdout, subprocess.DEVNULL)
                compiling.stdout.close()  # so that the compiler notices when the assembler ends early
                statuses = [child.wait(TIMEOUT_SECONDS) for child in (compiling, assembling)]
                if any(statuses):
                    return False
                return start(linker, subprocess.DEVNULL, subprocess.DEVNULL).wait(TIMEOUT_SECONDS) == 0
            except (OSError, subprocess.TimeoutExpired):
                return False


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()


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
