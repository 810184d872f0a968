"""The corpus of loops by hand in JAX, as somebody who knows it well would write it; ``PORTS`` by name of the program.

In: nothing; importing this imports JAX and makes 64 bits its default. Out: functions under ``jax.jit`` that take the
program's arguments and return what it returns, then the arguments that it writes and does not return; what a port
leaves out of these is scratch.

A port keeps the program's algorithm. What JAX has an operation for is that operation (a matrix product, a convolution,
sums, running sums), and rounds that do not need each other are one array or a ``vmap``; but a factorisation is not a
call of LAPACK. Loops whose rounds need each other are ``scan``, ``fori_loop`` and ``while_loop``, a linear recurrence
is an ``associative_scan``; slices that grow are masks. Counts and sizes are static.

>>> PORTS["heat_1d"](*PROGRAMS["heat_1d"].arguments("small"))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

jax.config.update("jax_enable_x64", True)

from tests.benchmarks.loops import PROGRAMS  # noqa: E402
from tests.benchmarks.loops.ports import (  # noqa: E402 (constants of 64 bits)
    fluids,
    integers,
    learning,
    linear,
    physics,
    signals,
    stencils,
    tables,
)

_FIELDS = (stencils, fluids, linear, tables, physics, integers, signals, learning)

PORTS: dict[str, Callable[..., Any]] = {
    name: function for field in _FIELDS for name, function in vars(field).items() if name in PROGRAMS
}

__all__ = ["PORTS"]
