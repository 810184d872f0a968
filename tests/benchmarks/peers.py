"""The contenders: each turns a benchmark program into a function of NumPy arrays, or says why it cannot.

A peer takes part when it is installed. All get the same source: numba and torch.compile the function itself, jax the
same code with ``np`` bound to ``jax.numpy``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import types
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
THREADS = 2


def numpy(function: Function) -> Function:
    return function


def capture(function: Function) -> Function:
    import capture

    return capture.compile(function, options={"threads": THREADS, "strict": True})


def numba(function: Function, parallel: bool = True) -> Function:
    import numba

    numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))
    jit = numba.njit(parallel=parallel, error_model="numpy")
    helpers = {
        name: jit(value)
        for name, value in function.__globals__.items()
        if isinstance(value, types.FunctionType)
        and value.__module__ == function.__module__
        and name != function.__name__
        if name in function.__code__.co_names
    }
    return jit(_with_globals(function, helpers))


def jax(function: Function) -> Function:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    helpers = {
        name: _with_globals(value, {"np": jnp})
        for name, value in function.__globals__.items()
        if isinstance(value, types.FunctionType) and name in function.__code__.co_names
    }
    compiled = jax.jit(_with_globals(function, {"np": jnp, **helpers}))
    return lambda *args: jax.block_until_ready(compiled(*args))


def torch(function: Function) -> Function:
    import torch

    torch.set_num_threads(THREADS)
    return torch.compile(function)


def _with_globals(function: Function, changes: dict[str, Any]) -> Function:
    """The same code under other globals."""
    made = types.FunctionType(
        function.__code__, {**function.__globals__, **changes}, function.__name__, function.__defaults__
    )
    made.__module__ = function.__module__
    return made


CONTENDERS: dict[str, Callable[[Function], Function]] = {
    "numpy": numpy,
    "capture": capture,
    "numba": numba,
    "jax": jax,
    "torch": torch,
}


def installed() -> list[str]:
    """The contenders of this environment, NumPy and capture first."""
    return [name for name in CONTENDERS if name == "capture" or importlib.util.find_spec(name)]


def versions() -> str:
    names = [name if name != "capture" else "capture-compiler" for name in installed()]
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} (source tree)")
    return ", ".join(found)
