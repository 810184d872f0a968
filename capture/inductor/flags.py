"""What compilers are told: flags, levels of vector instructions, ways to ask for them and to link; data only.

In: nothing. Out: tables, from which ``trials`` takes what a compiler accepts::

    LEVELS["avx2"].flags          # ("-march=x86-64-v3",)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

EVERYWHERE = (
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

FAST_MATH = ("-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-ffp-contract=fast")
"""Not -ffast-math: that would also take NaN away, and flush denormals in the whole process."""

BY_FAMILY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "gcc": (
            "-fno-stack-protector",
            "-fcf-protection=none",
            # Without it -O1 leaves values in the upper halves of vector registers behind kernels, and with those every
            # SSE instruction of NumPy's and Python's costs up to three times as much.
            "-fexpensive-optimizations",
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


LEVELS: Mapping[str, Level] = MappingProxyType(
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

PLAIN = Level(16, (), (), ())
"""A processor none of whose vector instructions are known here."""

NATIVE = ("-march=native",), ("-mcpu=native",), ()
"""Ways to ask for all of this machine's instructions, tried in order."""

LIBRARIES = (
    ("-lmvec", "-lm"),
    ("{folder}/libmvec.so.1", "-lm"),
    ("{folder}/libmvec.so.1", "{folder}/libm.so.6"),
)
"""Ways to link libmvec, tried in order: by name, and for machines without development files by path."""

TRIALS = 1
"""Part of the key of kept trials: raise it when what is tried changes."""

TABLES = repr((EVERYWHERE, FAST_MATH, dict(BY_FAMILY), dict(LEVELS), NATIVE, LIBRARIES))
"""Part of the key of kept trials, so that trials made with other tables are made again."""
