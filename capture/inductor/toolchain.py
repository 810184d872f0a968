"""The C compiler: which one, what it can do here, and how a source becomes a shared object.

In come the options in force (``compiler``, ``simd``, ``fast_math``), out comes a frozen ``Toolchain``::

    toolchain = find()           # gcc 12.2.0, x86-64 with avx512, libmvec; ToolchainError when there is none
    toolchain.compile("double twice(double x) { return x + x; }", "twice.so")

Candidates are tried in order until one builds an object that loads in this process (``trials``). What was learned is
kept in the disk cache, keyed by the compiler's file, the processor and the C library, so that only the first process on
a machine pays for the trials; others import nothing that starts programs.
"""

from __future__ import annotations

import marshal
import os
import platform
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from capture import config
from capture._version import __version__
from capture.errors import ToolchainError
from capture.inductor import cache
from capture.inductor.flags import LEVELS, TABLES, TRIALS

if TYPE_CHECKING:
    from capture.inductor.stages import Stages

FIXES = 'install one (`apt install gcc`, or `pip install "capture-compiler[toolchain]"`)'
"""What to do without a compiler; stands in every message that is about that."""

_SHOWN_LINES = 8

_ON_PATH = ("gcc", "cc", "clang")
"""gcc before cc: where cc is clang, gcc's vector math is still worth having."""

# ------------------------------------------------------------------ the result


class Toolchain(NamedTuple):
    """A compiler that works here, with everything decided about how to run it."""

    command: tuple[str, ...]
    family: str
    version: str
    target: str
    level: str
    vector_bytes: int
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    libmvec: bool
    """libmvec is linked: its functions can be called by their vector names (``_ZGVbN2v_exp``)."""
    simd_math: bool
    """A math function declared ``__attribute__((simd("notinbranch"), const))`` is vectorised in loops."""
    stages: Stages
    """How to do without the compiler's driver; empty where that is not known to work."""
    identity: str
    """Hash of all that, but for the source, decides what a compiled file contains."""

    def __str__(self) -> str:
        return f"{self.family} {self.version}, {self.target} with {self.level}"

    def compile(self, source: str, out_path: str | os.PathLike) -> None:
        """Write the shared object made from a C source, keeping the source beside it as ``.c``."""
        text = Path(out_path).with_suffix(".c")
        text.write_text(source)
        self.compile_file(text, out_path)

    def compile_file(self, source_path: str | os.PathLike, out_path: str | os.PathLike) -> None:
        """Write the shared object made from a C file; ``ToolchainError`` with the compiler's words."""
        from capture.inductor.stages import run_stages

        if run_stages(self.stages, source_path, out_path):
            return
        from capture.inductor.driver import run

        output = run([*self.command, *self.flags, str(source_path), "-o", str(out_path), *self.libraries])
        if output is not None:
            shown = shorten(output).replace("\n", "\n  ")
            raise ToolchainError(f"{self} could not compile {source_path}:\n  {shown}")


def find() -> Toolchain:
    """The compiler to use under the options in force; ``ToolchainError`` naming the fixes if none works."""
    outcome = _find(config.compiler, config.simd, config.fast_math)
    if isinstance(outcome, str):
        raise ToolchainError(outcome)
    return outcome


def forget() -> None:
    """Look again at the next ``find``: a compiler may have been installed since."""
    _find.cache_clear()


@lru_cache(maxsize=32)
def _find(compiler: str | None, simd: str, fast_math: bool) -> Toolchain | str:
    """A toolchain, or why there is none. Both are remembered: a trial costs more than a NumPy call saves."""
    missing = () if simd == "auto" else tuple(flag for flag in LEVELS[simd].cpu if flag not in cpu_flags())
    if missing:
        return f"option simd={simd!r}: this processor has no {', '.join(missing)}"
    faults = []
    for command in _candidates(compiler):
        try:
            return _probe(command, simd, fast_math)
        except ToolchainError as error:
            import shlex

            faults.append(f"{shlex.join(command)}: {error}")
    if compiler is not None:
        return f"the compiler set by CAPTURE_CC or config.compiler does not work: {faults[0]}"
    if faults:
        tried = "\n".join(f"  {fault}" for fault in faults)
        return f"no working C compiler; {FIXES}, or set CAPTURE_CC. Tried:\n{tried}"
    return f"no C compiler found; {FIXES}, or set CAPTURE_CC"


def _candidates(compiler: str | None) -> Iterator[tuple[str, ...]]:
    if compiler is not None:
        import shlex

        program, *arguments = shlex.split(compiler)
        yield (_which(program) or program, *arguments)
        return
    found = {os.path.realpath(path): path for name in reversed(_ON_PATH) if (path := _which(name))}
    yield from ((path,) for path in reversed(found.values()))
    from importlib.util import find_spec

    package = find_spec("ziglang")
    for folder in (package.submodule_search_locations or ()) if package else ():
        # Its own program, not `python -m ziglang`, which would start a Python for each kernel.
        yield (os.path.join(folder, "zig"), "cc")


def _which(program: str) -> str | None:
    """``shutil.which``, whose module takes a tenth as long to import as all that a kept variant needs."""
    places = [program] if os.path.dirname(program) else [os.path.join(each, program) for each in os.get_exec_path()]
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), None)


def _probe(command: tuple[str, ...], simd: str, fast_math: bool) -> Toolchain:
    """What a compiler can do, from the disk cache or by trying; ``ToolchainError`` if it does not work."""
    form = __version__, TRIALS, TABLES, Toolchain._fields
    situation = form, command, file_mark(command), simd, fast_math, machine()
    key = f"toolchain:{situation!r}"
    record = cache.load_entry(key)
    if record is not None:
        return Toolchain(*marshal.loads(record))
    from capture.inductor.trials import try_compiler

    toolchain = try_compiler(command, simd, fast_math)
    cache.store_entry(key, marshal.dumps(tuple(toolchain), 2))
    return toolchain


# ------------------------------------------------------------------ keys


def file_mark(command: Sequence[str]) -> list[int | str]:
    """What changes when the compiler is upgraded. For a wrapper (`ccache gcc`) each named file counts."""
    marks: list[int | str] = []
    for word in command:
        path = _which(word)
        if path is not None:
            status = os.stat(path)
            marks += [os.path.realpath(path), status.st_size, status.st_mtime_ns]
    return marks


@lru_cache(maxsize=1)
def machine() -> list[str]:
    """The processor and the C library that kernels are made for."""
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else "libc"
    return [platform.machine(), " ".join(sorted(cpu_flags())), libc or "libc"]


@lru_cache(maxsize=1)
def cpu_flags() -> frozenset[str]:
    """The processor's features as Linux names them; empty where there is no such list."""
    try:
        with open("/proc/cpuinfo") as lines:  # of the first processor alone: there may be hundreds
            rows = (line.partition(":") for line in lines)
            lists = (words.split() for name, _, words in rows if name.strip() in ("flags", "Features"))
            return frozenset(next(lists, ()))
    except OSError:
        return frozenset()


def shorten(text: str) -> str:
    return "\n".join(text.splitlines()[:_SHOWN_LINES])
