"""Who races on the corpus of loops: ``CONTENDERS`` by name.

In: a program. Out: functions of its arguments, made in one way or several, of which the fastest counts. Peers are
optional. NumPy, capture and numba get the program as it is; JAX a port by hand (``ports``), with its arguments on the
device already; torch.compile gets the program too, in a process of its own (``apart``), since it can take very long.
"""

from __future__ import annotations

import importlib.util
import math
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.benchmarks import peers
from tests.benchmarks.loops.record import Loops

Function = Callable[..., Any]
Arguments = tuple[Any, ...]
Way = Callable[[Loops], Function]
LIMIT = 60.0
"""Seconds for the first call of a peer, which compiles."""
TRIAL = 10.0
"""Seconds for the first call of a way that is not the first one."""
AGAIN = 2.0
"""Seconds until a limit is said again."""
ON_REQUEST = ("torch",)
"""Peers that race only where they are named."""


class OverTime(BaseException):
    """No ``Exception``: what a compiler catches of its own errors is not this."""


@dataclass(frozen=True)
class Contender:
    """``ways``: each makes a function of a program; ``place``: arguments as it wants them, outside the measured time.

    ``is_functional``: it leaves its arguments alone, and returns what the program writes into them.
    ``rounds_otherwise``: in other places than NumPy. ``limit``: seconds for the first call.
    """

    ways: tuple[Way, ...]
    place: Callable[[Arguments], Arguments] = tuple
    is_functional: bool = False
    rounds_otherwise: bool = False
    limit: float = math.inf


def _numba(parallel: bool) -> Way:
    def way(program: Loops) -> Function:
        if not program.numba:
            raise peers.NotExpressible(program.note or "not tried")
        return peers.numba(program.function, parallel=parallel)

    return way


@contextmanager
def quiet(trial: bool = False) -> Iterator[None]:
    """Without advice. In a trial it is an error where numba finds nothing to run in parallel, which it says before it
    generates code; nowhere else, since what computes must not see filters that raise.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if trial:
            warnings.filterwarnings("error", message="(?s).*no transformation for parallel execution")
        yield


def _jax(program: Loops) -> Function:
    import jax

    from tests.benchmarks.loops.ports import PORTS

    if program.name not in PORTS:
        raise peers.NotExpressible("no port: it would be scalar code of nested loops")
    port = PORTS[program.name]
    return lambda *args: jax.block_until_ready(port(*args))


def _on_device(args: Arguments) -> Arguments:
    import jax

    return tuple(jax.device_put(arg) if isinstance(arg, np.ndarray) else arg for arg in args)


CONTENDERS = {
    "numpy": Contender((lambda program: peers.numpy(program.function),)),
    "capture": Contender((lambda program: peers.capture(program.function),)),
    "numba": Contender((_numba(parallel=False), _numba(parallel=True)), limit=LIMIT),
    "jax": Contender((_jax,), _on_device, is_functional=True, rounds_otherwise=True, limit=LIMIT),
    "torch": Contender((lambda program: peers.torch(program.function),), rounds_otherwise=True, limit=LIMIT),
}


def chosen(names: list[str] | None) -> tuple[list[str], list[str]]:
    """Who races, NumPy and capture first, and lines on who does not. ``names``: peers, or None for those at hand."""
    wanted = [name for name in CONTENDERS if name not in ON_REQUEST] if names is None else names
    racing, said = ["numpy", "capture"], []
    for name in CONTENDERS:
        if name in racing:
            continue
        if importlib.util.find_spec(name) is None:
            said.append(f"{name}: left out, not installed")
        elif name in wanted:
            racing.append(name)
        else:
            said.append(f"{name}: left out, races with `--peers {name}`")
    return racing, said


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises ``OverTime`` in what takes longer; compilers in Python notice soon, others when they come back to it.

    What is raised in a callback from C is lost, so that it is raised again, at the end at the latest: what a compiler
    makes that was interrupted so may be anything, results with no object in them among it.
    """
    if seconds == math.inf:
        yield
        return

    is_over = False

    def stop(number: int, frame: Any) -> None:
        nonlocal is_over
        is_over = True
        raise OverTime

    def lost(raised: Any) -> None:
        if raised.exc_type is not OverTime:
            hook(raised)

    hook, sys.unraisablehook = sys.unraisablehook, lost
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = hook
    if is_over:
        raise OverTime
