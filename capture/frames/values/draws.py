"""Generators of random numbers: ``np.random.Generator``, and what stands behind the functions of ``np.random``.

In: the user's object, guarded by its exact type, or a seed. Out: calls of methods that stay in the graph, each of which
draws once, in program order; the graph takes the user's object as an input and makes those with a seed, which leave it
as results.

>>> noise = rng.standard_normal(x.shape)       # random_standard_normal(%rng, (3,)): f64[3]
>>> rng = np.random.default_rng(7)             # made_default_rng(7): <Generator>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.guards import IsObject, TypeIs
from capture.frames.origins import is_resumed
from capture.frames.sources import Bound, Source
from capture.frames.sources import Constant as KnownObject
from capture.frames.values.arrays import ArrayValue, GraphValue
from capture.frames.values.base import Opaque, Value
from capture.frames.values.constants import Constant
from capture.frames.values.functions import MethodValue
from capture.frames.values.numpy_calls import call_numpy
from capture.frames.values.results import ComputedNumber
from capture.ir import op as ops
from capture.ir.ops import random
from capture.ir.ops.assigning import Assigned
from capture.ir.passes.aliasing import repeats
from capture.ir.types import NumberType, ObjectType

if TYPE_CHECKING:
    from capture.frames.settings import Runner
    from capture.frames.tracer import Tracer
    from capture.ir.graph import Graph, Node

KINDS = (np.random.Generator, np.random.RandomState)


class GeneratorValue(Opaque):
    """A generator of random numbers that was there before."""

    __slots__ = ()

    def attribute(self, tracer: Tracer, name: str) -> Value:
        kind = type(self.example)
        return tracer.method(self, name) if _is_known(kind, name) else super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return _call_method(tracer, self, type(self.example), name, args, kwargs)

    def in_graph(self, tracer: Tracer) -> Any:
        return tracer.memory.object(self, ObjectType(type(self.example)))


class MadeGenerator(GraphValue):
    """A generator that the graph has made from a seed."""

    __slots__ = ()
    noun = "generator"

    def __init__(self, node: Node) -> None:
        super().__init__(node.type, node)

    def python_type(self, tracer: Tracer) -> Any:
        return self.type.python

    def truth(self, tracer: Tracer) -> bool:
        return True

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if _is_known(self.type.python, name):
            return tracer.method(self, name)
        raise GraphBreak(f"attribute {name!r} of {self.describe()} has no graph form", "attribute")

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return _call_method(tracer, self, self.type.python, name, args, kwargs)

    def item(self, tracer: Tracer, key: Value) -> Value:
        raise GraphBreak(f"an item of {self.describe()}", "python")


# Methods ----------------------------------------------------------------------------------------------------------
def _is_known(kind: type, name: str) -> bool:
    return ops.for_fallback((kind, name)) is not None


def _call_method(
    tracer: Tracer,
    generator: GeneratorValue | MadeGenerator,
    kind: type,
    name: str,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
) -> Value:
    if name == "shuffle":
        return _shuffle(tracer, generator, kind, *args, **kwargs)
    if name != "seed":
        found = call_numpy(tracer, (kind, name), (generator, *args), kwargs)
        if isinstance(found, ComputedNumber):
            _require_few(tracer)
        return found
    tracer.add_call(ops.get("legacy_seed"), generator.in_graph(tracer), _seed(tracer, args, kwargs))
    return Constant(None)


FEW = 4
"""Single numbers that one graph draws: a call from the graph takes longer than one from Python, which pays only for the
break that it saves."""


def _require_few(tracer: Tracer) -> None:
    drawn = [node for node in tracer.graph.calls if "random" in node.op.tags and isinstance(node.type, NumberType)]
    if len(drawn) > FEW or is_resumed(tracer.root.code.original):
        raise GraphBreak("numbers that are drawn one by one are left to Python", "op")


def _shuffle(
    tracer: Tracer,
    generator: GeneratorValue | MadeGenerator,
    kind: type,
    x: Value | None = None,
    *axis: Value,
    **more: Any,
) -> Value:
    """What the elements are in their new order is written in their place."""
    op = ops.for_fallback((kind, "shuffle"))
    assert op is not None
    array = x.real(tracer) if x is not None else None
    if not isinstance(array, ArrayValue):
        raise GraphBreak("something else than an array is shuffled", "call")

    def shuffled(graph: Graph, a: Any, *operands: Any, **named: Any) -> Assigned:
        return Assigned(a, graph.call(op.name, generator.in_graph(tracer), a, *operands, **named))

    tracer.memory.assign(shuffled, array, *axis, **more)
    return Constant(None)


# Seeds ------------------------------------------------------------------------------------------------------------
def _make(maker: Callable[..., Any], tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """``np.random.default_rng(seed)``; the seed may be another number each time. A generator is given back."""
    if maker is np.random.default_rng and len(args) == 1 and not kwargs:
        seed = args[0].real(tracer)
        if isinstance(seed, GeneratorValue | MadeGenerator) and seed.python_type(tracer) is np.random.Generator:
            return seed
    op = ops.for_fallback(maker)
    assert op is not None
    return MadeGenerator(tracer.add_call(op, _seed(tracer, args, kwargs)))


GLOBAL: np.random.RandomState = np.random.rand.__self__  # type: ignore[attr-defined]
"""The generator behind the functions of ``np.random``: NumPy changes its state, never the object."""


def _seed_global(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """``np.random.seed(seed)``."""
    return GeneratorValue(GLOBAL, KnownObject(GLOBAL)).call_method(tracer, "seed", args, kwargs)


ROWS: Mapping[int, Callable[..., Value]] = {
    **{id(maker): partial(_make, maker) for maker in random.MAKERS},
    id(np.random.seed): _seed_global,
}
"""Functions that have to do with seeds, by identity: their type need not be hashable by what Python compares."""


def _seed(tracer: Tracer, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Any:
    given = (*args, *kwargs.values())
    if len(given) != 1 or kwargs.keys() - {"seed"}:
        raise GraphBreak("a generator without a seed, which the operating system gives", "call")
    return given[0].real(tracer).in_graph(tracer)


# Inputs -----------------------------------------------------------------------------------------------------------


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
        with random.Undo() as undo:
            results = self.runner(*inputs)
            if results is None:
                undo.restore()
        return results


def undoing(graph: Graph, runner: Runner) -> Runner:
    return Drawing(runner) if draws(graph) else runner
