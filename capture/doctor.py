"""``python -m capture doctor``: what works on this machine, what falls back to plain Python, and why.

Out comes a table of findings and an exit status, 0 when functions are compiled here, else 1::

    python     3.12.1
    compiler   gcc 12.2.0, x86_64-linux with avx512 (/usr/bin/gcc)
    …
    Everything is in order.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

import numpy as np

from capture import config
from capture._version import __version__
from capture.cli import describe_cache
from capture.errors import CaptureError, FallbackWarning
from capture.inductor import cache, toolchain

_TRIAL = """
double exp(double);
void trial(double *restrict y, const double *restrict x, long n) {
    #pragma omp simd
    for (long i = 0; i < n; i++) y[i] = exp(-x[i] * x[i] / 2);
}
"""


class Finding(NamedTuple):
    """One line of the report. A fault keeps functions from being compiled; a note only makes them slower."""

    text: str
    fault: str = ""
    note: str = ""


def _version() -> Finding:
    return Finding(f"{__version__}, {config.__file__.rpartition('/')[0]}")


def _python() -> Finding:
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    note = (
        "calls from plain code into other functions are not captured on free-threaded Python" if free else ""
    )
    return Finding(
        f"{platform.python_version()}{' free-threaded' if free else ''}, {sys.executable}", note=note
    )


def _numpy() -> Finding:
    return Finding(np.__version__)


def _compiler() -> Finding:
    try:
        found = toolchain.find()
    except CaptureError as error:
        return Finding("none", fault=str(error))
    return Finding(f"{found} ({' '.join(found.command)})")


def _flags() -> Finding:
    found = toolchain.find()
    return Finding(" ".join((*found.flags, *found.libraries)))


def _vectors() -> Finding:
    found = toolchain.find()
    return Finding(f"{found.level}, {found.vector_bytes} bytes")


def _math() -> Finding:
    found = toolchain.find()
    if found.simd_math:
        return Finding("libmvec, called from vectorised loops")
    if not found.libmvec:
        return Finding(
            "libm", note="exp, sin and the like are slow: this machine has no libmvec (glibc 2.22 or later)"
        )
    reason = f"{found.family} does not vectorise them in loops; gcc does (`apt install gcc`)"
    return Finding("libm", note=f"exp, sin and the like are slow: {reason}")


def _trial() -> Finding:
    begin = time.perf_counter()
    try:
        trial = cache.opened(_TRIAL, toolchain.find(), lambda path: ctypes.CDLL(str(path)).trial)
    except (CaptureError, OSError) as error:
        return Finding("failed", fault=f"a small kernel could not be built and loaded: {error}")
    milliseconds = (time.perf_counter() - begin) * 1e3
    x = np.linspace(-3, 3, 1001)
    y = np.empty_like(x)
    trial(ctypes.c_void_p(y.ctypes.data), ctypes.c_void_p(x.ctypes.data), ctypes.c_long(x.size))
    if not np.allclose(y, np.exp(-x * x / 2), rtol=1e-14, atol=0):
        return Finding("failed", fault="a small kernel computes something else than NumPy")
    return Finding(f"a small kernel was built, loaded and checked against NumPy ({milliseconds:.0f} ms)")


def _threads() -> Finding:
    return Finding(f"{config.threads} of {config.usable_cpus()} processors")


def _cache() -> Finding:
    where = cache.directory()
    note = (
        "" if where == config.cache_dir else f"{config.cache_dir} cannot be used, so kernels are built anew"
    )
    return Finding(describe_cache(cache.info()), note=note)


def _extension(name: str) -> Callable[[], Finding]:
    def check() -> Finding:
        try:
            path = import_module(name).__file__
        except ImportError as error:
            return Finding(
                "missing", fault=f"the extension {name} does not load ({error}); reinstall capture"
            )
        if path is None:  # only the folder of its source is there
            return Finding("missing", fault=f"the extension {name} is not built; run `pip install -e .`")
        return Finding(path)

    return check


def _switches() -> Finding:
    changed = [name for name in config.TABLE if getattr(config, name) != getattr(config.Options(), name)]
    text = ", ".join(f"{name}={getattr(config, name)!s}" for name in changed)
    fault = "everything is turned off (CAPTURE_DISABLE or config.disable)" if config.disable else ""
    return Finding(text or "all as by default", fault=fault)


_ALWAYS: tuple[tuple[str, Callable[[], Finding]], ...] = (
    ("capture", _version),
    ("python", _python),
    ("numpy", _numpy),
    ("options", _switches),
    ("hook", _extension("capture.frames._hook")),
    ("executor", _extension("capture.inductor._executor")),
    ("threads", _threads),
    ("cache", _cache),
    ("compiler", _compiler),
)
_WITH_COMPILER: tuple[tuple[str, Callable[[], Finding]], ...] = (
    ("flags", _flags),
    ("vectors", _vectors),
    ("math", _math),
    ("trial", _trial),
)


def examine() -> dict[str, Finding]:
    """All findings, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)  # the report says the same
        findings = {name: check() for name, check in _ALWAYS}
        if not findings["compiler"].fault:
            findings |= {name: check() for name, check in _WITH_COMPILER}
    return findings


def main(words: Sequence[str]) -> int:
    """Print the report; returns 0 when functions are compiled on this machine, else 1."""
    if words:
        print("usage: python -m capture doctor", file=sys.stderr)
        return 2
    findings = examine()
    for name, finding in findings.items():
        print(f"{name:<10} {finding.text}")
    faults = [f"{name}: {finding.fault}" for name, finding in findings.items() if finding.fault]
    notes = [f"{name}: {finding.note}" for name, finding in findings.items() if finding.note]
    print()
    if faults:
        print("Functions run as plain Python here:", *faults, sep="\n- ")
    if notes:
        print("Slower than it could be:", *notes, sep="\n- ")
    if not faults and not notes:
        print("Everything is in order.")
    return 1 if faults else 0
