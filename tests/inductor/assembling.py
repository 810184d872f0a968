"""Programs built by hand, run compiled and with NumPy, and compared.

>>> asm = Assembling(x=array("f8", 1), n=INT)
>>> asm.loop("n", body)                              # a counted loop
>>> check(asm.done(s), np.ones(3), 3)                # raises where the results differ
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capture.inductor.compile import compile_graph
from capture.ir import op as ops
from capture.ir.graph import Graph, Node, Position
from capture.ir.interpret import interpret
from capture.ir.program import ANY, DENSE, Block, Branch, Finish, Jump, Program, RankedType, run
from capture.ir.types import ArrayType, NumberType, scalar_type, type_of
from tests.inductor.graphs import copied

INT, FLOAT, BOOL = NumberType(int), NumberType(float), NumberType(bool)


def array(dtype: Any, ndim: int, layout: str = ANY, ones: Sequence[int] = ()) -> RankedType:
    return RankedType(np.dtype(dtype), ndim, layout, frozenset(ones))


def scalar(dtype: Any) -> ArrayType:
    return scalar_type(np.dtype(dtype))


class Assembling:
    """A program that is being written; ``start`` is its first block, with the operands as parameters."""

    def __init__(self, **operands: Any) -> None:
        self.count = 0
        self.blocks: list[Block] = []
        self.steps: list[Node] = []
        self.name = "start"
        self.parameters = tuple(self.node(name, type) for name, type in operands.items())
        for node in self.parameters:
            setattr(self, node.target, node)

    def node(self, name: str, type: Any) -> Node:
        self.count += 1
        return Node(f"{name}{self.count}", "parameter", name, (), {}, type)

    def step(self, target: str, *args: Any, type: Any = None, **params: Any) -> Node:
        self.count += 1
        node = Node(f"v{self.count}", "step", target, args, params, type, Position(__file__, 1, "f", "m"))
        self.steps.append(node)
        return node

    # steps ------------------------------------------------------------------------------------------------------
    def number(self, symbol: str, *args: Any, type: Any, **params: Any) -> Node:
        return self.step("number", *args, type=type, symbol=symbol, **params)

    def map(self, op: str, *args: Any, type: Any = None, **params: Any) -> Node:
        """Its type is that of the arrays or scalars among the operands, by default, in the op's own dtype."""
        return self.step("map", *args, type=type or _mapped(op, args, params), op=op, params=tuple(params.items()))

    def load(self, a: Node, *places: Any) -> Node:
        return self.step("load", a, places, type=scalar(a.type.dtype))

    def put(self, a: Node, *places_and_value: Any) -> None:
        *places, value = places_and_value
        self.step("store_at", a, tuple(places), value)

    def view(self, a: Node, *key: Any, ones: Sequence[int] = ()) -> Node:
        ints = sum(item is not None and not isinstance(item, tuple) for item in key)
        ndim = a.type.ndim - ints + key.count(None)
        return self.step("view", a, key, type=array(a.type.dtype, ndim, ANY, ones))

    def store(self, a: Node, value: Any) -> None:
        self.step("store", a, value)

    def reduce(self, op: str, a: Node, axis: tuple[int, ...], **params: Any) -> Node:
        dtype = ops.get(op).result_type(_as_graph_type(a), axis=axis, **{"keepdims": False, **params}).dtype
        ndim = a.type.ndim - (0 if params.get("keepdims") else len(axis))
        ones = axis if params.get("keepdims") else ()
        type = array(dtype, ndim, DENSE, ones) if ndim else scalar(dtype)
        return self.step("reduce", a, type=type, op=op, params=(("axis", axis), *params.items()))

    def matmul(self, a: Node, b: Node) -> Node:
        ndim = a.type.ndim + b.type.ndim - 2
        return self.step("matmul", a, b, type=array(a.type.dtype, ndim, DENSE) if ndim else scalar(a.type.dtype))

    def new(self, *sizes: Any, dtype: Any, value: Any = None) -> Node:
        dtype = np.dtype(dtype)
        return self.step("new", *sizes, type=array(dtype, len(sizes), DENSE), dtype=dtype, value=value)

    def size(self, a: Node, axis: int = 0) -> Node:
        return self.step("size", a, axis, type=INT)

    # blocks -----------------------------------------------------------------------------------------------------
    def end(self, end: Any, name: str = "", parameters: Sequence[Node] = ()) -> None:
        """End the block with ``end``; the next one is called ``name``."""
        self.blocks.append(Block(self.name, tuple(self.parameters), tuple(self.steps), end))
        self.name, self.parameters, self.steps = name, tuple(parameters), []

    def loop(self, count: Any, carried: Sequence[tuple[Any, Any]], body: Callable[..., Sequence[Any]],
             start: int = 0, step: int = 1) -> list[Node]:  # fmt: skip
        """Count up (or down) to ``count``; ``carried`` are values with their types. Gives what they are at the end."""
        self.count += 1
        head, inside, behind = f"head{self.count}", f"body{self.count}", f"behind{self.count}"
        i = self.node("i", INT)
        values = [self.node("c", type) for type, _ in carried]
        self.end(Jump(head, (start, *(value for _, value in carried))), head, (i, *values))
        more = self.number("<" if step > 0 else ">", i, count, type=BOOL)
        self.end(Branch(more, Jump(inside), Jump(behind)), inside)
        changed = body(i, *values)
        following = self.number("+", i, step, type=INT, wraps=True)
        self.end(Jump(head, (following, *changed)), behind)
        return values

    def choose(self, condition: Any, then: Callable[[], Any], other: Callable[[], Any], type: Any) -> Node:
        """A conditional expression."""
        self.count += 1
        names = [f"{name}{self.count}" for name in ("then", "other", "both")]
        value = self.node("chosen", type)
        self.end(Branch(condition, Jump(names[0]), Jump(names[1])), names[0])
        self.end(Jump(names[2], (then(),)), names[1])
        self.end(Jump(names[2], (other(),)), names[2], (value,))
        return value

    def done(self, *values: Any, written: Sequence[int] = ()) -> Program:
        self.end(Finish(values))
        return Program("test", tuple(self.blocks), frozenset(written))


def _mapped(op: str, args: Sequence[Any], params: Any) -> Any:
    """The type of a map over arrays of any size and scalars."""
    seen = [_as_graph_type(arg) for arg in args]
    found = ops.get(op).result_type(*seen, **params)
    ndim = max((arg.type.ndim for arg in args if isinstance(getattr(arg, "type", None), RankedType)), default=None)
    return scalar_type(found.dtype) if ndim is None else RankedType(found.dtype, ndim, DENSE)


def _as_graph_type(arg: Any) -> Any:
    type = getattr(arg, "type", arg)
    if isinstance(type, RankedType):
        return ArrayType(type.dtype, (2,) * type.ndim, type_of(np.ones((2,) * type.ndim)).layout)
    if isinstance(type, NumberType) and type.python is int:
        return NumberType(int, 0)
    return scalar_type(arg.dtype) if isinstance(arg, np.generic) else type


def graph_of(program: Program, *inputs: Any, literals: bool = False) -> Graph:
    """A graph of one loop node; all operands are its inputs, but for numbers if these are ``literals``."""
    graph = Graph("test")
    operands = [
        value if literals and type(value) in (int, float, bool) else graph.placeholder(f"x{number}", type_of(value))
        for number, value in enumerate(inputs)
    ]
    types = tuple(map(type_of, _expected(program, inputs)))
    node = graph.call("loop", *operands, program=program, types=types)
    graph.output(*(graph.call("part", node, index=index) for index in range(len(types))))
    graph.lint()
    return graph


def _expected(program: Program, inputs: Sequence[Any]) -> tuple[Any, ...]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return run(program, tuple(map(copied, inputs)))


def check(program: Program, *inputs: Any, literals: bool = False, rtol: float = 0.0) -> Any:
    """The executor; its results are those of the interpreter, to the last bit and type."""
    graph = graph_of(program, *inputs, literals=literals)
    compiled = compile_graph(graph)
    given = [value for value in inputs if not (literals and type(value) in (int, float, bool))]
    before = [copied(value) for value in given]
    results = compiled(*given)
    assert results is not None, "the call was given up"
    for mine, old in zip(given, before, strict=True):
        np.testing.assert_array_equal(mine, old)
    for mine, expected in zip(results, interpret(graph, *before), strict=True):
        assert type(mine) is type(expected), (mine, expected)
        if isinstance(expected, np.ndarray):
            assert type_of(mine) == type_of(expected)
        if rtol:
            np.testing.assert_allclose(mine, expected, rtol=rtol)
        else:
            np.testing.assert_array_equal(mine, expected, strict=isinstance(expected, np.ndarray | np.generic))
            np.testing.assert_array_equal(np.signbit(mine), np.signbit(expected))
    return compiled


def leaves(program: Program, types: Sequence[Any], *inputs: Any) -> Any:
    """The executor; the call is given up."""
    graph = Graph("test")
    operands = [graph.placeholder(f"x{number}", type_of(value)) for number, value in enumerate(inputs)]
    node = graph.call("loop", *operands, program=program, types=tuple(types))
    graph.output(*(graph.call("part", node, index=index) for index in range(len(types))))
    compiled = compile_graph(graph)
    assert compiled(*map(copied, inputs)) is None
    return compiled
