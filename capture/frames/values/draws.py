"""Generators of random numbers: ``np.random.Generator``, and what stands behind the functions of ``np.random``.

In: the user's object, guarded by its exact type. Out: calls of its methods that stay in the graph, which takes the
object as an input: each draws once, in program order.

>>> noise = rng.standard_normal(x.shape)       # random_standard_normal(%rng, (3,)): f64[3]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.guards import IsObject, TypeIs
from capture.frames.sources import Bound, Source
from capture.frames.values.base import Opaque, Value
from capture.frames.values.functions import MethodValue
from capture.frames.values.numpy_calls import call_numpy
from capture.ir import op as ops
from capture.ir.ops.random import Undo
from capture.ir.passes.aliasing import repeats
from capture.ir.types import ObjectType

if TYPE_CHECKING:
    from capture.frames.settings import Runner
    from capture.frames.tracer import Tracer
    from capture.ir.graph import Graph

KINDS = (np.random.Generator, np.random.RandomState)


class GeneratorValue(Opaque):
    """A generator of random numbers."""

    __slots__ = ()

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if ops.for_fallback((type(self.example), name)) is not None:
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return call_numpy(tracer, (type(self.example), name), (self, *args), kwargs)

    def in_graph(self, tracer: Tracer) -> Any:
        return tracer.memory.object(self, ObjectType(type(self.example)))


def generator(tracer: Tracer, source: Source, example: Any) -> Value:
    tracer.guard(source, TypeIs(type(example)))
    return GeneratorValue(example, source)


def bound(tracer: Tracer, source: Source, example: MethodType) -> Value | None:
    """A function of ``np.random``, which is a method of one generator; None for any other method."""
    owner, name = example.__self__, getattr(example.__func__, "__name__", "")
    if type(owner) not in KINDS or vars(type(owner)).get(name) is not example.__func__:
        return None
    tracer.guard(source, TypeIs(MethodType))
    tracer.guard(Bound(source, 0), IsObject(example.__func__))
    return MethodValue(tracer.lazy(Bound(source, 1), owner).real(tracer), name)


def draws(graph: Graph) -> bool:
    return any(node.op.is_extern and not repeats(node.op) for node in graph.calls)


class Drawing:
    """The runner of a graph that draws: when it leaves the region to plain Python, generators are as it found them.

    ``plan`` is passed on, for reports.
    """

    def __init__(self, runner: Callable[..., Any]) -> None:
        self.runner = runner
        self.plan = getattr(runner, "plan", None)

    def __call__(self, *inputs: Any) -> Any:
        with Undo() as undo:
            results = self.runner(*inputs)
            if results is None:
                undo.restore()
        return results


def undoing(graph: Graph, runner: Runner) -> Runner:
    return Drawing(runner) if draws(graph) else runner
