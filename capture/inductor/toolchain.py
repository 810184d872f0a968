"""The C compiler: which one, what it can do here, and how a source becomes a shared object.

In come the options in force (``compiler``, ``simd``, ``fast_math``), out comes a frozen ``Toolchain``::

    toolchain = find()           # gcc 12.2.0, x86-64 with avx512, libmvec; ToolchainError when there is none
    toolchain.compile("double twice(double x) { return x + x; }", "twice.so")

Candidates are tried in order until one builds an object that loads in this process. What was learned is kept
in the disk cache, keyed by the compiler's file, the processor and the C library, so that only the first
process on a machine pays for the trials.
"""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from capture import config
from capture._version import __version__
from capture.errors import ToolchainError
from capture.inductor import cache
from capture.inductor.driver import Stages, plan_stages, run, run_stages

FIXES = 'install one (`apt install gcc`, or `pip install "capture-compiler[toolchain]"`)'
"""What to do without a compiler; stands in every message that is about that."""

_SHOWN_LINES = 8

# ------------------------------------------------------------------ flags

_ON_PATH = ("gcc", "cc", "clang")
"""gcc before cc: where cc is clang, gcc's vector math is still worth having."""

_EVERYWHERE = (
    "-O1",  # with `omp simd` as fast as -O3, and a quarter of the compile time less
    "-w",
    "-shared",
    "-fPIC",
    "-nostdlib",
    "-fopenmp-simd",
    "-fno-math-errno",
    "-fno-trapping-math",  # kernels read the status flags as a filter only
    "-fwrapv",  # NumPy's integers wrap
    "-ffp-contract=off",  # NumPy rounds after each operation
    "-fno-strict-aliasing",  # `a.view(dtype)` is a second type for the same memory
)

_FAST_MATH = ("-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-ffp-contract=fast")
"""Not -ffast-math: that would also take NaN away, and flush denormals in the whole process."""

_BY_FAMILY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "gcc": (
            "-fno-stack-protector",
            "-fcf-protection=none",
            "-fexpensive-optimizations",  # else -O1 does not clear the upper halves of registers, and SSE code is slow
        ),
        "clang": ("-fno-stack-protector", "-fcf-protection=none"),
        "zig": ("-fno-stack-protector", "-fcf-protection=none", "-fno-sanitize=undefined"),
    }
)
"""Flags that are dropped where the compiler refuses them."""


class Level(NamedTuple):
    """A set of vector instructions: a vector's size, what processor and compiler must have, how to ask."""

    vector_bytes: int
    cpu: tuple[str, ...]
    macros: tuple[str, ...]
    flags: tuple[str, ...]
    always: tuple[str, ...] = ()
    """Flags also given when the level was chosen by -march=native."""


_LEVELS: Mapping[str, Level] = MappingProxyType(
    {
        "avx512": Level(
            64,
            ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
            ("__AVX512F__", "__AVX512BW__", "__AVX512DQ__", "__AVX512VL__"),
            ("-march=x86-64-v4",),
            ("-mprefer-vector-width=512",),
        ),
        "avx2": Level(32, ("avx2", "fma", "bmi2"), ("__AVX2__", "__FMA__"), ("-march=x86-64-v3",)),
        "sse": Level(16, ("sse4_2",), ("__SSE2__",), ("-march=x86-64-v2",)),
        "neon": Level(16, ("asimd",), ("__ARM_NEON",), ()),
    }
)
"""Best first."""

_PLAIN = Level(16, (), (), ())
"""A processor none of whose vector instructions are known here."""

_NATIVE = ("-march=native",), ("-mcpu=native",), ()
"""Ways to ask for all of this machine's instructions, tried in order."""

_LIBRARIES = (
    ("-lmvec", "-lm"),
    ("{folder}/libmvec.so.1", "-lm"),
    ("{folder}/libmvec.so.1", "{folder}/libm.so.6"),
)
"""Ways to link libmvec, tried in order: by name, and for machines without development files by path."""

_TRIALS = 1
"""Part of the key of kept trials: raise it when what is tried changes."""

_TABLES = repr((_EVERYWHERE, _FAST_MATH, dict(_BY_FAMILY), dict(_LEVELS), _NATIVE, _LIBRARIES))
"""Part of the key of kept trials, so that trials made with other tables are made again."""


# ------------------------------------------------------------------ the result


@dataclass(frozen=True)
class Toolchain:
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
        if run_stages(self.stages, source_path, out_path):
            return
        output = run([*self.command, *self.flags, str(source_path), "-o", str(out_path), *self.libraries])
        if output is not None:
            shown = _shorten(output).replace("\n", "\n  ")
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
    missing = () if simd == "auto" else tuple(flag for flag in _LEVELS[simd].cpu if flag not in _cpu_flags())
    if missing:
        return f"option simd={simd!r}: this processor has no {', '.join(missing)}"
    faults = []
    for command in _candidates(compiler):
        try:
            return _probe(command, simd, fast_math)
        except ToolchainError as error:
            faults.append(f"{shlex.join(command)}: {error}")
    if compiler is not None:
        return f"the compiler set by CAPTURE_CC or config.compiler does not work: {faults[0]}"
    if faults:
        tried = "\n".join(f"  {fault}" for fault in faults)
        return f"no working C compiler; {FIXES}, or set CAPTURE_CC. Tried:\n{tried}"
    return f"no C compiler found; {FIXES}, or set CAPTURE_CC"


def _candidates(compiler: str | None) -> Iterator[tuple[str, ...]]:
    if compiler is not None:
        program, *arguments = shlex.split(compiler)
        yield (shutil.which(program) or program, *arguments)
        return
    found = {os.path.realpath(path): path for name in reversed(_ON_PATH) if (path := shutil.which(name))}
    yield from ((path,) for path in reversed(found.values()))
    package = importlib.util.find_spec("ziglang")
    for folder in (package.submodule_search_locations or ()) if package else ():
        # Its own program, not `python -m ziglang`, which would start a Python for each kernel.
        yield (os.path.join(folder, "zig"), "cc")


# ------------------------------------------------------------------ trials


_LOOP_PROBE = """
{attribute} double exp(double);
void probe(double *restrict y, const double *restrict x, long n) {{
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
_VECTOR_CALLS: Mapping[str, str] = MappingProxyType({"x86_64": "_ZGVbN2v_exp", "aarch64": "_ZGVnN2v_exp"})
"""A function of libmvec on each architecture, by its vector name."""


def _probe(command: tuple[str, ...], simd: str, fast_math: bool) -> Toolchain:
    """What a compiler can do, from the disk cache or by trying; ``ToolchainError`` if it does not work."""
    names = [field.name for field in dataclasses.fields(Toolchain)]
    situation = [__version__, _TRIALS, _TABLES, names, command, _file_mark(command), simd, fast_math, _machine()]
    key = f"toolchain:{json.dumps(situation)}"
    record = cache.load_entry(key)
    if record is not None:
        fields: dict[str, Any] = json.loads(record)
        return Toolchain(**{name: _frozen(value) for name, value in fields.items()})
    toolchain = _try(command, simd, fast_math)
    cache.store_entry(key, json.dumps(dataclasses.asdict(toolchain)).encode())
    return toolchain


def _frozen(value: Any) -> Any:
    """A value read from JSON as it was before: lists were tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _try(command: tuple[str, ...], simd: str, fast_math: bool) -> Toolchain:
    with tempfile.TemporaryDirectory(prefix="capture-") as folder:
        bench = _Bench(command, Path(folder))
        level_flags, macros = _choose_level(bench, simd)
        level = _level_of(macros) if simd == "auto" else simd
        chosen = _LEVELS.get(level, _PLAIN)
        family = _family(command, macros)
        flags = bench.accepted((*_EVERYWHERE, *level_flags), (*chosen.always, *_BY_FAMILY[family]))
        if fast_math:
            flags += _FAST_MATH
        libraries, libmvec = _choose_libraries(bench, flags)
        simd_math = libmvec and bench.vectorises(flags, libraries)
        stages = bench.stages(flags, libraries) if family == "gcc" else ()
    target = f"{platform.machine()}-{platform.system().lower()}"
    version = macros.get("__VERSION__", "").strip('"')
    identity = [family, version, _file_mark(command), command[1:], flags, libraries, _machine()]
    return Toolchain(
        command=command,
        family=family,
        version=_version_number(version),
        target=target,
        level=level,
        vector_bytes=chosen.vector_bytes,
        flags=flags,
        libraries=libraries,
        libmvec=libmvec,
        simd_math=simd_math,
        stages=stages,
        identity=hashlib.sha256(json.dumps(identity).encode()).hexdigest(),
    )


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
            raise ToolchainError(_shorten(fault))
        return required + tuple(flag for flag in optional if self.refusal(source, (*required, flag)) is None)

    def stages(self, flags: Sequence[str], libraries: Sequence[str]) -> Stages:
        """The stages behind the driver, if an object made by them loads here."""
        stages = plan_stages(self.command, flags, libraries)
        text, out = self.folder / "probe.c", self.object_path(stages)
        text.write_text(_LOOP_PROBE.format(attribute=""))
        return stages if run_stages(stages, text, out) and _loading_fault(out) is None else ()

    def vectorises(self, flags: Sequence[str], libraries: Sequence[str]) -> bool:
        """Whether a loop over a math function declared with the simd attribute calls its vector form."""
        source = _LOOP_PROBE.format(attribute=_SIMD_ATTRIBUTE)
        if self.refusal(source, flags, libraries) is not None:
            return False
        return b"_ZGV" in self.object_path(source, flags, libraries).read_bytes()


def _loading_fault(path: Path) -> str | None:
    try:
        ctypes.CDLL(str(path), mode=os.RTLD_NOW)
    except OSError as error:
        return f"its output does not load: {error}"
    return None


def _choose_level(bench: _Bench, simd: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The flags that select the vector instructions, and the macros under them."""
    if simd == "auto":
        ways: Sequence[tuple[str, ...]] = _NATIVE
    else:
        ways = (_LEVELS[simd].flags,)
    for flags in ways:
        macros = bench.macros(flags)
        if macros:
            return flags, macros
    raise ToolchainError(_shorten(bench.refusal("", ways[-1]) or "it does not list its macros"))


def _level_of(macros: Mapping[str, str]) -> str:
    fitting = (name for name, level in _LEVELS.items() if all(macro in macros for macro in level.macros))
    return next(fitting, "plain")


def _choose_libraries(bench: _Bench, flags: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """How to link the math library, and whether libmvec is among it."""
    name = _VECTOR_CALLS.get(platform.machine())
    if name is not None:
        source = _VECTOR_PROBE.format(name=name)
        for way in _LIBRARIES:
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


# ------------------------------------------------------------------ keys


def _file_mark(command: Sequence[str]) -> list[int | str]:
    """What changes when the compiler is upgraded. For a wrapper (`ccache gcc`) each named file counts."""
    marks: list[int | str] = []
    for word in command:
        path = shutil.which(word)
        if path is not None:
            status = os.stat(path)
            marks += [os.path.realpath(path), status.st_size, status.st_mtime_ns]
    return marks


@lru_cache(maxsize=1)
def _machine() -> list[str]:
    """The processor and the C library that kernels are made for."""
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else "libc"
    return [platform.machine(), " ".join(sorted(_cpu_flags())), libc or "libc"]


@lru_cache(maxsize=1)
def _cpu_flags() -> frozenset[str]:
    """The processor's features as Linux names them; empty where there is no such list."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    rows = (line.partition(":") for line in lines)
    lists = (words.split() for name, _, words in rows if name.strip() in ("flags", "Features"))
    return frozenset(next(lists, ()))


def _shorten(text: str) -> str:
    return "\n".join(text.splitlines()[:_SHOWN_LINES])
