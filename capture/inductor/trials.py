"""Trials of a compiler: what it accepts, and whether what it makes loads in this process.

In: a command and the options that matter. Out: a ``Toolchain`` with everything decided about how to run it;
``ToolchainError`` with the compiler's words if it does not work::

    try_compiler(("/usr/bin/gcc",), simd="auto", fast_math=False)      # gcc 12.2.0, x86-64 with avx512

A trial takes tens of milliseconds, all of them a third of a second: ``toolchain`` keeps what came out.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from capture.errors import ToolchainError
from capture.inductor.driver import plan_stages, run
from capture.inductor.flags import BY_FAMILY, EVERYWHERE, FAST_MATH, LEVELS, LIBRARIES, NATIVE, PLAIN
from capture.inductor.stages import Stages, run_stages
from capture.inductor.toolchain import Toolchain, file_mark, machine, shorten
from capture.records import dataclass

_LOOP_PROBE = """
{attribute} double exp(double);
void loop(double *restrict y, const double *restrict x, long n) {{
    #pragma omp simd
    for (long i = 0; i < n; i++) y[i] = exp(x[i]);
}}
"""
_SIMD_ATTRIBUTE = '__attribute__((simd("notinbranch"), const))'
_VECTOR_PROBE = """
typedef double vector __attribute__((vector_size(16)));
vector {name}(vector);
vector probe(vector x) {{ return {name}(x); }}
"""
_VECTOR_CALLS: Mapping[str, str] = MappingProxyType({"x86_64": "_ZGVbN2v_sin", "aarch64": "_ZGVnN2v_sin"})
"""A function of libmvec on each architecture, by its vector name."""

_VECTORISED = b"v_exp"
"""How the vector names of what the loop calls end; stands in an object where the loop was vectorised."""


class _Found(NamedTuple):
    """How to compile and link, and what kernels may then use."""

    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    libmvec: bool
    simd_math: bool
    stages: Stages


def try_compiler(command: tuple[str, ...], simd: str, fast_math: bool) -> Toolchain:
    """Everything about one compiler on this machine; ``ToolchainError`` if it does not work."""
    with tempfile.TemporaryDirectory(prefix="capture-") as folder:
        bench = _Bench(command, Path(folder))
        level_flags, macros = _choose_level(bench, simd)
        level = _level_of(macros) if simd == "auto" else simd
        chosen = LEVELS.get(level, PLAIN)
        family = _family(command, macros)
        wanted = (*EVERYWHERE, *level_flags), (*chosen.always, *BY_FAMILY[family]), FAST_MATH if fast_math else ()
        found = (_all_at_once(bench, *wanted) if family == "gcc" else None) or _one_by_one(bench, family, *wanted)
    target = f"{platform.machine()}-{platform.system().lower()}"
    version = macros.get("__VERSION__", "").strip('"')
    identity = [family, version, file_mark(command), command[1:], found.flags, found.libraries, machine()]
    return Toolchain(
        command=command,
        family=family,
        version=_version_number(version),
        target=target,
        level=level,
        vector_bytes=chosen.vector_bytes,
        **found._asdict(),
        identity=hashlib.sha256(repr(identity).encode()).hexdigest(),
    )


def _all_at_once(
    bench: _Bench, required: tuple[str, ...], optional: tuple[str, ...], relaxed: tuple[str, ...]
) -> _Found | None:
    """All that a compiler may have, if one object made by gcc's stages shows that it is there, as on most machines."""
    name = _VECTOR_CALLS.get(platform.machine())
    if name is None:
        return None
    flags, libraries = (*required, *optional, *relaxed), LIBRARIES[0]
    source = _LOOP_PROBE.format(attribute=_SIMD_ATTRIBUTE) + _VECTOR_PROBE.format(name=name)
    stages = bench.stages(source, flags, libraries)
    if not stages or _VECTORISED not in bench.object_path(stages).read_bytes():
        return None
    return _Found(flags, libraries, libmvec=True, simd_math=True, stages=stages)


def _one_by_one(
    bench: _Bench, family: str, required: tuple[str, ...], optional: tuple[str, ...], relaxed: tuple[str, ...]
) -> _Found:
    flags = (*bench.accepted(required, optional), *relaxed)
    libraries, libmvec = _choose_libraries(bench, flags)
    stages = bench.stages(_LOOP_PROBE.format(attribute=""), flags, libraries) if family == "gcc" else ()
    return _Found(flags, libraries, libmvec, libmvec and bench.vectorises(flags, libraries), stages)


@dataclass(frozen=True)
class _Bench:
    """A compiler on trial, and a folder to try it in."""

    command: tuple[str, ...]
    folder: Path

    def refusal(self, source: str, flags: Sequence[str], libraries: Sequence[str] = ("-lm",)) -> str | None:
        """Why a source does not become an object that loads in this process, or None if it does."""
        text, out = self.folder / "probe.c", self.object_path(source, flags, libraries)
        text.write_text(source)
        output = run([*self.command, *flags, str(text), "-o", str(out), *libraries])
        if output is not None:
            return output
        return _loading_fault(out)

    def object_path(self, *trial: object) -> Path:
        """A name of its own for each trial: the loader takes two files of one name for the same."""
        return self.folder / f"{hashlib.sha256(repr(trial).encode()).hexdigest()}.so"

    def macros(self, flags: Sequence[str]) -> dict[str, str]:
        """The macros the compiler predefines under some flags; empty when it refuses them."""
        empty, out = self.folder / "empty.c", self.folder / "macros"
        empty.touch()
        if run([*self.command, *flags, "-dM", "-E", str(empty), "-o", str(out)]) is not None:
            return {}
        rows = [line.split(None, 2) for line in out.read_text().splitlines()]
        return {row[1]: "".join(row[2:]) for row in rows if len(row) > 1}

    def accepted(self, required: tuple[str, ...], optional: tuple[str, ...]) -> tuple[str, ...]:
        """The required flags and those optional ones that work; ``ToolchainError`` if the former do not."""
        source = _LOOP_PROBE.format(attribute="")
        if self.refusal(source, required + optional) is None:
            return required + optional
        fault = self.refusal(source, required)
        if fault is not None:
            raise ToolchainError(shorten(fault))
        return required + tuple(flag for flag in optional if self.refusal(source, (*required, flag)) is None)

    def stages(self, source: str, flags: Sequence[str], libraries: Sequence[str]) -> Stages:
        """The stages behind the driver, if the object that they make of a source loads here."""
        stages = plan_stages(self.command, flags, libraries)
        text, out = self.folder / "probe.c", self.object_path(stages)
        text.write_text(source)
        return stages if run_stages(stages, text, out) and _loading_fault(out) is None else ()

    def vectorises(self, flags: Sequence[str], libraries: Sequence[str]) -> bool:
        """Whether a loop over a math function declared with the simd attribute calls its vector form."""
        source = _LOOP_PROBE.format(attribute=_SIMD_ATTRIBUTE)
        if self.refusal(source, flags, libraries) is not None:
            return False
        return _VECTORISED in self.object_path(source, flags, libraries).read_bytes()


def _loading_fault(path: Path) -> str | None:
    try:
        ctypes.CDLL(str(path), mode=os.RTLD_NOW)
    except OSError as error:
        return f"its output does not load: {error}"
    return None


def _choose_level(bench: _Bench, simd: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The flags that select the vector instructions, and the macros under them."""
    if simd == "auto":
        ways: Sequence[tuple[str, ...]] = NATIVE
    else:
        ways = (LEVELS[simd].flags,)
    for flags in ways:
        macros = bench.macros(flags)
        if macros:
            return flags, macros
    raise ToolchainError(shorten(bench.refusal("", ways[-1]) or "it does not list its macros"))


def _level_of(macros: Mapping[str, str]) -> str:
    fitting = (name for name, level in LEVELS.items() if all(macro in macros for macro in level.macros))
    return next(fitting, "plain")


def _choose_libraries(bench: _Bench, flags: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """How to link the math library, and whether libmvec is among it."""
    name = _VECTOR_CALLS.get(platform.machine())
    if name is not None:
        source = _VECTOR_PROBE.format(name=name)
        for way in LIBRARIES:
            libraries = tuple(word.format(folder=_libc_folder()) for word in way)
            if bench.refusal(source, flags, libraries) is None:
                return libraries, True
    return ("-lm",), False


def _libc_folder() -> str:
    """Where the C library this process runs on is, and with it libm and libmvec."""
    maps = Path("/proc/self/maps").read_text() if os.path.exists("/proc/self/maps") else ""
    found = re.search(r"(/\S*)/libc[.-]\S*so", maps)
    return found.group(1) if found else "/usr/lib"


def _family(command: Sequence[str], macros: Mapping[str, str]) -> str:
    if "__clang__" not in macros:
        return "gcc"
    return "zig" if any(os.path.basename(word) in ("zig", "ziglang") for word in command) else "clang"


def _version_number(text: str) -> str:
    """The number in a compiler's words for its version: 12.2.0."""
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group() if found else text
