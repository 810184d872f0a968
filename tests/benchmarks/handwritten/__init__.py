"""C as an expert writes it by hand, for eight of the programs: what is there to be had.

A text ``NAME.c`` defines ``void NAME(const REAL *const *in, REAL *out, const long *size)`` over arrays in C order,
``in`` as the program's arguments, ``size`` the shape of the first one. It is compiled by the toolchain that compiles
kernels, once with ``float`` and once with ``double`` as ``REAL``. A call allocates its result, as NumPy does.

What a call through ctypes takes is measured with a function that does nothing, and stands as ``overhead`` beside the
made function: C is not to be blamed for it.
"""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
REAL = {"float32": "float", "float64": "double"}
RESULTS: dict[str, Callable[..., tuple[int, ...]]] = {
    "jacobi": lambda u: (u.shape[0] - 2, u.shape[1] - 2),
    "masked_sum": lambda x, y: (),
    "variance_columns": lambda x: x.shape[1:],
}
"""Shapes of results that are not the first argument's."""


def available(name: str) -> bool:
    return (FOLDER / f"{name}.c").exists()


def made(name: str, args: tuple[np.ndarray, ...]) -> Callable[..., np.ndarray]:
    """The handwritten program for arguments such as these."""
    library = _library(name, str(args[0].dtype))
    shape = RESULTS.get(name, lambda first, *rest: first.shape)(*args)
    dtype = args[0].dtype
    inputs = (ctypes.c_void_p * len(args))(*(arg.ctypes.data for arg in args))
    size = (ctypes.c_long * args[0].ndim)(*args[0].shape)

    def calling(function: Any) -> Callable[..., np.ndarray]:
        function.argtypes, function.restype = (ctypes.c_void_p,) * 3, None

        def call(*_: np.ndarray) -> np.ndarray:
            out = np.empty(shape, dtype)
            function(inputs, out.__array_interface__["data"][0], size)
            return out

        return call

    call: Any = calling(library[name])
    call.overhead = max(0.0, _least(calling(library["nothing"])) - _least(lambda: np.empty(shape, dtype)))
    return call


def _least(function: Callable[[], Any]) -> float:
    found = math.inf
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(50):
            function()
        found = min(found, (time.perf_counter() - start) / 50)
    return found


@lru_cache
def _library(name: str, dtype: str) -> ctypes.CDLL:
    from capture.inductor import toolchain

    os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # its idle threads are not to slow the next contender
    found = toolchain.find()
    threaded = found._replace(flags=(*found.flags, "-fopenmp"), libraries=("-lgomp", *found.libraries), stages=())
    source = "\n".join(
        [f"#define REAL {REAL[dtype]}", (FOLDER / "common.h").read_text(), (FOLDER / f"{name}.c").read_text()]
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.so"
        threaded.compile(source, path)
        return ctypes.CDLL(str(path))
