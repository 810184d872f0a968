"""From a graph to a callable; plans are kept on the disk, so that a graph is lowered by one process only.

In: a verified graph. Out: an executor, called with the graph's inputs.

>>> run = compile_graph(graph)
>>> run(x, y)
(array([...]),)

A plan comes from the cache where one was kept for the same graph (all of it, positions and facts about sizes
included), the same options, compiler, libraries and files of this package: then nothing of the compiler is imported.
What is not data is not kept: plans that call functions without a name, and those under ``math="numpy"``, which hold
addresses. Under ``strict`` nothing is kept, so that whoever works on the compiler sees what it does.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from capture import config, log
from capture.inductor import cache, executor, toolchain
from capture.inductor.plan import Plan
from capture.inductor.toolchain import Toolchain
from capture.ir.graph import Graph

_FORMAT = 1
"""Part of every key: raise it when what is kept changes its meaning."""

_UNFIT = (pickle.PicklingError, AttributeError, TypeError, RecursionError)
"""What pickle says of what is not data."""


def compile_graph(graph: Graph, options: Mapping[str, Any] | None = None) -> Any:
    """The executor of a graph, under ``options`` (fields of ``capture.config``) over those in force.

    ToolchainError without a working compiler, BackendError for what cannot be compiled.
    """
    with config.applied(config.with_options(options or {})):
        found = toolchain.find()
        plan = _plan_of(graph, found)
        return executor.load(plan, str(cache.load(plan.source, found)))


def _plan_of(graph: Graph, toolchain: Toolchain) -> Plan:
    name = None if config.strict or config.math == "numpy" else _name(graph, toolchain)
    if name is None:
        return _make(graph, toolchain)
    content = cache.load_entry(name)
    if content is not None:
        log.emit("cache", lambda: f"plan of graph {graph.name} was kept")
        plan: Plan = pickle.loads(content)
        return plan
    plan = _make(graph, toolchain)
    try:
        content = pickle.dumps(plan)
    except _UNFIT:
        return plan
    cache.store_entry(name, content)
    return plan


def _make(graph: Graph, toolchain: Toolchain) -> Plan:
    from capture.inductor.compile import plan_graph

    return plan_graph(graph, simd_math=toolchain.simd_math, exact=config.math == "numpy")


def _name(graph: Graph, toolchain: Toolchain) -> str | None:
    """All that decides about a plan, hashed; None for a graph that is more than data."""
    try:
        content = pickle.dumps((graph.nodes, graph.name, graph.known, toolchain.identity, config.current()))
    except _UNFIT:
        return None
    return f"plan:{_FORMAT}:{_package()}:{hashlib.sha256(content).hexdigest()}"


@lru_cache(maxsize=1)
def _package() -> str:
    """What changes when the compiler does, or a library whose functions plans name."""
    folder = Path(__file__).parent.parent
    files = sorted(entry for part in ("ir", "inductor") for entry in _files(folder / part))
    situation = [sys.version, np.__version__, *files]
    return hashlib.sha256(repr(situation).encode()).hexdigest()


def _files(folder: Path) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    for entry in os.scandir(folder):
        if entry.is_dir():
            found += _files(Path(entry.path)) if entry.name != "__pycache__" else []
        else:
            status = entry.stat()
            found.append((entry.path, status.st_size, status.st_mtime_ns))
    return found
