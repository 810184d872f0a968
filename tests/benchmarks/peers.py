"""The contenders: each turns a benchmark program into a function of NumPy arrays, or says why it cannot.

A peer takes part when it is installed. All get the same source: numba and torch.compile the function itself, jax the
same code with ``np`` bound to ``jax.numpy``; numexpr the same as an expression, ``c`` the same written by hand, for
the programs that have these.
"""

from __future__ import annotations

import dis
import importlib.metadata
import importlib.util
import types
from collections.abc import Callable
from typing import Any

from tests.benchmarks import handwritten
from tests.benchmarks.programs import Program

Function = Callable[..., Any]
Arguments = tuple[Any, ...]
Contender = Callable[[Program, Arguments], Function]
Globals = dict[str, Any]
THREADS = 2


class NotExpressible(Exception):
    """A contender that has no such program."""


def numpy(function: Function) -> Function:
    return function


def capture(function: Function) -> Function:
    import capture

    return capture.compile(function, options={"threads": THREADS, "strict": True})


def numba(function: Function, parallel: bool = True) -> Function:
    import numba

    numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))
    return _ported(function, {}, numba.njit(parallel=parallel, error_model="numpy"))


def jax(function: Function) -> Function:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(_ported(function, {"np": jnp}))
    return lambda *args: jax.block_until_ready(compiled(*args))


def torch(function: Function) -> Function:
    import torch

    torch.set_num_threads(THREADS)
    return torch.compile(function)


def numexpr(program: Program, args: Arguments) -> Function:
    import numexpr

    if program.numexpr is None:
        raise NotExpressible("no expression of numexpr")
    numexpr.set_num_threads(THREADS)
    names = program.function.__code__.co_varnames[: program.function.__code__.co_argcount]
    text = program.numexpr
    return lambda *args: numexpr.evaluate(text, dict(zip(names, args, strict=True)))


def c(program: Program, args: Arguments) -> Function:
    if not handwritten.available(program.name):
        raise NotExpressible("not written by hand")
    return handwritten.made(program.name, args)


def _ported(function: Function, changes: Globals, wrap: Callable[[Function], Function] = lambda made: made) -> Function:
    """The function and those of the programs that it calls, under other globals."""
    names = {step.argval for step in dis.get_instructions(function) if step.opname == "LOAD_GLOBAL"}
    called = {
        name: _ported(value, changes, wrap)
        for name in names
        if isinstance(value := function.__globals__.get(name), types.FunctionType)
        and value.__module__.startswith(__package__)
    }
    return wrap(_with_globals(function, {**changes, **called}))


def _with_globals(function: Function, changes: Globals) -> Function:
    """The same code under other globals."""
    made = types.FunctionType(
        function.__code__, {**function.__globals__, **changes}, function.__name__, function.__defaults__
    )
    made.__module__ = function.__module__
    return made


def _of_functions(port: Callable[[Function], Function]) -> Contender:
    return lambda program, args: port(program.function)


CONTENDERS: dict[str, Contender] = {
    **{port.__name__: _of_functions(port) for port in (numpy, capture, numba, jax, torch)},
    "numexpr": numexpr,
    "c": c,
}

OF_ARGUMENTS = ("c",)
"""Contenders that are made anew for other arguments."""

APART = ("torch",)
"""Contenders that have a process of their own for each program and dtype: compiling can take minutes, or end it."""

BUILT_IN = ("capture", "c")
"""Contenders that are here already."""


def installed() -> list[str]:
    """The contenders of this environment, NumPy and capture first."""
    return [name for name in CONTENDERS if name in BUILT_IN or importlib.util.find_spec(name)]


def versions() -> str:
    names = [name for name in installed() if name not in BUILT_IN]
    return ", ".join(["capture (source tree)", *(f"{name} {importlib.metadata.version(name)}" for name in names)])
