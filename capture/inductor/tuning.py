"""The fastest of several ways to compile a graph on this machine: measured where it is compiled, and remembered.

In: a graph, and the inputs of the call at hand. Out: the executor of the plan that ran fastest on them.

>>> compile_fastest(graph, (x, y)).plan.tuned
'tiles of 8 by 128: 1.21 times as fast as by estimates'

One field of ``Choices`` after the other is tried on top of the best so far; where that gives a plan that was tried
before, nothing is measured. Two executors take turns, so that whatever else the machine does meets both. What was
found is kept in the cache, for the default plan, the compiler and machine, threads, and sizes to the next power of two.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from capture import config, log
from capture.errors import BackendError
from capture.inductor import cache, toolchain
from capture.inductor.choices import ALTERNATIVES, DEFAULT, Choices
from capture.inductor.compile import load_plan, plan_for
from capture.inductor.plan import KernelStep, Plan
from capture.inductor.toolchain import Toolchain
from capture.ir.graph import Graph
from capture.ir.types import ObjectType
from capture.records import asdict, replace

ROUNDS = 15
"""How often each of two executors has its turn."""

TURN, MOST = 2e-4, 0.3
"""Seconds that a turn takes at least, and all turns of a pair should take at most."""

GAIN = 1.05
"""How many times as fast another plan must be, so that it is not chance."""

Executor = Any


def compile_fastest(graph: Graph, inputs: Sequence[Any]) -> Executor:
    """Like ``compile_graph``, under the options in force. Graphs that change objects (of random numbers, say) run when
    they are called and not before: they are compiled by estimates.
    """
    found = toolchain.find()
    plan = plan_for(graph, found)
    if any(isinstance(node.type, ObjectType) for node in graph.placeholders):
        return load_plan(plan)
    name = _name_of(plan, found, inputs)
    best = _parsed(cache.load_entry(name))
    if best is None:
        best = _measured(graph, found, plan, inputs)
        cache.store_entry(name, json.dumps([asdict(best[0]), best[1]]).encode())
    choices, times = best
    if choices != DEFAULT:
        plan = plan_for(graph, found, choices)
        words = f"{choices.differences}: {times:.2f} times as fast as by estimates"
    else:
        words = "nothing that was measured is faster than by estimates"
    log.emit("perf", lambda: f"graph {graph.name}: {words}")
    return load_plan(replace(plan, tuned=words))


def _name_of(plan: Plan, found: Toolchain, inputs: Sequence[Any]) -> str:
    sizes = [[size.bit_length() for size in np.shape(value)] for value in inputs if isinstance(value, np.ndarray)]
    return f"choices:{cache.key(plan.source, found)}:{_identity(plan)[1:]}:{config.threads}:{sizes}"


def _parsed(record: bytes | None) -> tuple[Choices, float] | None:
    """What a record says; None where there is none, or one of another version."""
    if record is None:
        return None
    try:
        fields, times = json.loads(record)
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
        return Choices(**values), times
    except (ValueError, TypeError):
        return None


def _identity(plan: Plan) -> tuple[Any, ...]:
    """What tells two plans of one graph apart."""
    return plan.source, tuple(step for step in plan.steps if isinstance(step, KernelStep)), plan.constants


def _measured(graph: Graph, found: Toolchain, plan: Plan, inputs: Sequence[Any]) -> tuple[Choices, float]:
    """The best choices, and how many times as fast they are as the default."""
    written = set(graph.written)
    pairs = zip(graph.placeholders, inputs, strict=True)
    own = [_own_copy(value) if node in written else value for node, value in pairs]
    best, choices, gain = load_plan(plan), DEFAULT, 1.0
    tried = {_identity(plan)}
    with np.errstate(all="ignore"):
        for field in ALTERNATIVES:
            for other in choices.others(field):
                runner = _untried(graph, found, other, tried)
                times = 0.0 if runner is None else _times_as_fast(runner, best, own)
                if times > GAIN:
                    best, choices, gain = runner, other, gain * times
    return choices, gain


def _untried(graph: Graph, found: Toolchain, choices: Choices, tried: set[Any]) -> Executor | None:
    """The executor of the plan by these choices, unless it is one that was tried, or there is none."""
    try:
        plan = plan_for(graph, found, choices)
    except BackendError:
        return None
    if _identity(plan) in tried:
        return None
    tried.add(_identity(plan))
    return load_plan(plan)


def _own_copy(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides, which measuring may write to."""
    low, high = np.lib.array_utils.byte_bounds(array)
    start = array.__array_interface__["data"][0]
    block = np.empty(high - low + array.itemsize, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, block, start - low, array.strides)
    copy[...] = array
    return copy


def _times_as_fast(runner: Executor, other: Executor, inputs: Sequence[Any]) -> float:
    """How many times as fast as the other one; 0 where either leaves the work to Python."""
    seconds = [found for each in (runner, other) if (found := _seconds(each, inputs, 1)) is not None]
    if len(seconds) < 2:
        return 0.0
    once = max(*seconds, 1e-7)
    calls = max(1, int(TURN / once))
    rounds = max(1, min(ROUNDS, int(MOST / (2 * calls * once))))
    return median(_ratio(runner, other, inputs, calls) for _ in range(rounds))


def _ratio(runner: Executor, other: Executor, inputs: Sequence[Any], calls: int) -> float:
    mine, others = _seconds(runner, inputs, calls), _seconds(other, inputs, calls)
    return others / mine if mine and others else 0.0


def _seconds(runner: Executor, inputs: Sequence[Any], calls: int) -> float | None:
    """Of so many calls; None where one of them left the work to Python."""
    start = time.perf_counter()
    for _ in range(calls):
        if runner(*inputs) is None:
            return None
    return time.perf_counter() - start
