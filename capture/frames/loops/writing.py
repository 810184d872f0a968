"""The blocks of a program while they are written, and what they are given from outside.

In: targets, arguments and types of steps; values of the graph. Out: nodes; a value of the graph becomes an operand of
the program when it is first used there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.loops.values import InsideArray, InsideNumber, InsideScalar
from capture.frames.values.arrays import GraphValue
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.numbers import NumberValue
from capture.ir.graph import Node, Position
from capture.ir.ops.common import LOWERED
from capture.ir.program import ANY, DENSE, INNER, Block, Branch, End, Jump, Leave, RankedType
from capture.ir.types import ArrayType, NumberType
from capture.records import dataclass, field

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer

MOST_INSTRUCTIONS = 20_000


@dataclass(eq=False)
class OpenBlock:
    """A block that is being written."""

    name: str
    parameters: list[Node] = field(default_factory=list)
    steps: list[Node] = field(default_factory=list)
    end: End | None = None

    def closed(self) -> Block:
        assert self.end is not None
        return Block(self.name, tuple(self.parameters), tuple(self.steps), self.end)


class Writer:
    """The blocks of a program, and the operands that come from outside."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.blocks: list[OpenBlock] = []
        self.current: OpenBlock = None  # type: ignore[assignment]
        self.operands: dict[Node, Any] = {}  # parameter of the program -> the outer value
        self.loops: dict[Any, Any] = {}
        self.position: Position | None = None
        self.budget = MOST_INSTRUCTIONS
        self.sizes_of: dict[Node, tuple[int | None, ...]] = {}  # what is known of the shapes of arrays
        self._names: dict[str, int] = {}
        self._inside: dict[Any, Value] = {}  # by outer node
        self._tables: dict[int, Any] = {}  # by sequence
        self.appended: list[Any] = []  # arrays that go into lists
        self.rounds: dict[str, Any] = {}  # of loops, by the names of the blocks of their heads
        self.lists: frozenset[int] = frozenset()  # those that variables held before, by id

    def fresh(self, wish: str) -> str:
        """A name that nothing else in the program has."""
        base = "".join(letter if letter.isalnum() else "_" for letter in wish) or "value"
        name, count = base, self._names.get(base, 0)
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names[base] = count
        self._names[name] = 0
        return name

    def step(
        self, target: str, *args: Any, type: Any, name: str = "", block: OpenBlock | None = None, **params: Any
    ) -> Node:
        """A step at the end of the current block."""
        node = Node(self.fresh(name or target), "step", target, args, params, type, self.position)
        (self.current if block is None else block).steps.append(node)
        return node

    def place(self, frame: Frame) -> Any:
        """Which evaluation of which code this is: the calls that led to it."""
        return tuple((id(each.code), each.index) for each in self.tracer.frames[:-1]), id(frame.code)

    # values from outside ------------------------------------------------------------------------------------------
    def inside(self, value: Value) -> Value:
        """A value of the graph, or a number that changes, as an operand of the program."""
        if isinstance(value, NumberValue):
            node = value.in_graph(self.tracer)
        else:
            assert isinstance(value, GraphValue)
            node = self.tracer.memory.current(value)
        if not isinstance(node, Node):  # a comparison of sizes, which is known from there on
            return Constant(node)
        known = self._inside.get(node)
        if known is None:
            known = self._inside[node] = self._operand(value, node)
        return known

    def outer_node(self, parameter: Node) -> Node:
        """What a parameter of the program is given."""
        value = self.operands[parameter]
        node = value.in_graph(self.tracer) if isinstance(value, NumberValue) else self.tracer.memory.current(value)
        assert isinstance(node, Node)
        return node

    def _operand(self, value: Value, node: Node) -> Value:
        kind = node.type
        sizes: tuple[int | None, ...] = ()
        if isinstance(kind, ArrayType):
            if kind.dtype not in LOWERED or kind.dtype == np.float16:
                raise GraphBreak(f"{value.describe()} has a dtype that loops do not compute with", "loop")
            if not kind.scalar:
                sizes = tuple(size if isinstance(size, int) else None for size in kind.shape)
                kind = ranked(kind)
        else:
            kind = NumberType(kind.python)
        parameter = Node(self.fresh(node.name), "parameter", "", (), {}, kind)
        self.operands[parameter] = value
        return self.value_of(parameter, sizes, value)

    def value_of(self, node: Node, sizes: Sequence[int | None] = (), outer: Value | None = None) -> Value:
        """The value of a step or parameter."""
        if isinstance(node.type, NumberType):
            return InsideNumber(node, outer)
        return InsideScalar(node, outer) if isinstance(node.type, ArrayType) else self.array(node, sizes, outer)

    def array(self, node: Node, sizes: Sequence[int | None] = (), outer: Value | None = None) -> InsideArray:
        """The value of an array."""
        found = InsideArray(node, sizes, outer)
        self.sizes_of[node] = found.sizes
        return found

    # blocks -------------------------------------------------------------------------------------------------------
    def open(self, name: str) -> OpenBlock:
        block = OpenBlock(self.fresh(name))
        self.blocks.append(block)
        return block

    def leave_if(self, condition: Any) -> None:
        """Go on only where the condition, a bool, does not hold."""
        if condition is False:
            return
        before, left, following = self.current, self.open("left"), self.open("still")
        left.end = Leave()
        before.end = Branch(condition, Jump(left.name), Jump(following.name))
        self.current = following


def ranked(type: ArrayType) -> RankedType:
    """What a program knows of an array beforehand."""
    layout = type.layout
    kind = DENSE if layout is not None and layout.is_c else ANY
    if kind == ANY and layout is not None and layout.inner and type.ndim and layout.ranks[-1] == 1:
        kind = INNER
    ones = frozenset(axis for axis, size in enumerate(type.shape) if isinstance(size, int) and size == 1)
    return RankedType(type.dtype, type.ndim, kind, ones)
