"""The graph: a list of frozen, typed nodes in program order.

In: ``placeholder``, ``constant``, ``call``, ``store`` and ``output`` calls of whoever builds it (the tracer, a
pass, a person). Out: an immutable-by-convention sequence that prints, parses, verifies, interprets and compiles.

>>> graph = Graph()
>>> x = graph.placeholder("x", array_type("f4", (3,)))
>>> graph.output(graph.call("multiply", x, 2.0))
>>> [node.name for node in graph]
['x', 'multiply', 'output']

Values are functional; memory is linear. An array that is written has *versions*: ``store`` takes the newest
version of a buffer, a region of it (a chain of views) and a value, and gives the next version, which lives in the
same memory. After a store no later node may read an older version or a view of it (``verify`` checks), so running
the nodes in order, with every store in place, is the meaning of the graph.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from capture import config
from capture.errors import GraphError
from capture.ir import op as ops
from capture.ir.complexes import require_numbers
from capture.ir.shapes import Expr
from capture.ir.sizes import Known, UnknownSize, asking, simplified
from capture.ir.types import ArrayType, NumberType, Type, type_of
from capture.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Position:
    """The user's instruction a node stands for: file, line, qualified function name, name of its module.

    ``within`` is the line of NumPy's own, if it is there that NumPy computes what the node does: its warnings name it.
    """

    file: str
    line: int
    function: str = ""
    module: str = ""
    within: Position | None = None

    @property
    def warned(self) -> Position:
        """Where warnings point to."""
        return self.within or self

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One value. ``kind`` is placeholder, constant, call or output; identity is equality.

    ``args`` hold nodes, literals (Python numbers stay weak in the sense of NEP 50), sizes, dtypes and tuples of
    these; ``params`` the same, by name. ``type`` is a tuple of types for an op with several results.
    """

    name: str
    kind: str
    target: str
    args: tuple[Any, ...]
    params: Mapping[str, Any]
    type: Any
    position: Position | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes this one reads, in order of appearance, each once."""
        return tuple(dict.fromkeys(iterate_nodes((self.args, tuple(self.params.values())))))

    @property
    def op(self) -> ops.Op:
        return ops.get(self.target)

    def __repr__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True, slots=True)
class Step:
    """One view of a region: a view op and its parameters."""

    op: str
    params: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return f"{self.op}({', '.join(f'{key}={value!r}' for key, value in self.params)})"


def iterate_nodes(value: Any) -> Iterator[Node]:
    """All nodes inside nested tuples."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from iterate_nodes(item)


def map_nodes(value: Any, function: Callable[[Node], Any]) -> Any:
    """``value`` with every node inside nested tuples replaced."""
    if isinstance(value, Node):
        return function(value)
    if isinstance(value, tuple):
        items = (map_nodes(item, function) for item in value)
        return ops.ListLiteral(items) if type(value) is ops.ListLiteral else tuple(items)
    return value


def root(node: Node) -> Node:
    """The version whose memory ``node`` shows: follow views back to what owns the memory."""
    while node.kind == "call" and node.op.is_view:
        node = node.args[0]
    return node


def region(node: Node) -> tuple[Step, ...]:
    """The chain of views that leads from ``root(node)`` to ``node``."""
    steps: list[Step] = []
    while node.kind == "call" and node.op.is_view:
        steps.append(Step(node.target, tuple(node.params.items())))
        node = node.args[0]
    return tuple(reversed(steps))


def buffer(node: Node) -> Node:
    """What owns the memory of ``node``: its root with stores undone (version 0)."""
    node = root(node)
    while node.kind == "call" and node.target == "store":
        node = root(node.args[0])
    return node


@dataclass(eq=False)
class Graph:
    """Nodes in program order; append-only while it is built."""

    name: str = "graph"
    nodes: list[Node] = field(default_factory=list)
    position: Position | None = None  # given to the nodes that are added next
    known: Known = field(default_factory=Known)  # about its sizes
    _names: set[str] = field(default_factory=set, repr=False)
    _suffixes: dict[str, int] = field(default_factory=dict, repr=False)  # the last one given, by base name

    @contextmanager
    def within(self, place: Position | None) -> Iterator[None]:
        """What is added meanwhile is computed at that line of NumPy's, if it is one."""
        outer = self.position
        if place is not None and outer is not None:
            self.position = replace(outer, within=place)
        try:
            yield
        finally:
            self.position = outer

    # building -------------------------------------------------------------------------------------------------
    def placeholder(self, name: str, type: Type) -> Node:
        """An input. Inputs are given by position, in the order of their placeholders."""
        return self._add(name, "placeholder", name, (), {}, type)

    def constant(self, value: np.ndarray | np.generic, name: str = "constant") -> Node:
        """A fixed array; the graph owns it and nobody may write to it."""
        return self._add(name, "constant", "constant", (value,), {}, type_of(value))

    def call(self, target: str | ops.Op, *args: Any, name: str = "", **params: Any) -> Node:
        """Apply an op. Its type is inferred; ``ops.CannotInfer`` where the op refuses these operands."""
        op = ops.get(target) if isinstance(target, str) else target
        with asking(self.known):
            return self._call(op, args, params, name)

    def _call(self, op: ops.Op, args: tuple[Any, ...], params: dict[str, Any], name: str) -> Any:
        types = map_nodes(args, lambda node: node.type)
        if op.expand is not None:
            require_numbers(op, types, params)
            return op.expand(self, *args, **params)
        params = op.complete(params)
        try:
            require_numbers(op, types, params)
            if op.canonical is not None:
                params = op.canonical(*types, **params)
            params = {key: simplified_all(value) for key, value in params.items()}
            type = simplified_type(op.result_type(*types, **map_params(params)))
            if isinstance(type, ArrayType) and not type.may_be:
                raise ops.CannotInfer("an array that NumPy cannot make")
        except ops.CannotInfer as error:
            if not op.otherwise or isinstance(error, UnknownSize):
                raise
            return self._call(ops.get(op.otherwise), args, params, name)
        name = name or op.name
        if config.math == "numpy":
            from capture.ir.ops.exact import of_numpy

            op = of_numpy(op, types, type)
        return self._add(name, "call", op.name, args, params, type)

    def store(
        self,
        target: Node,
        value: Any,
        indices: tuple[Node, ...] = (),
        axes: tuple[int, ...] = (),
        combine: str = "",
        said: str = "",
    ) -> Node:
        """Write ``value`` (broadcast and cast to fit) through the view ``target``, or to places in it; gives the next
        version. What the cast warns of it warns of as ``said``, the ufunc whose ``out=`` this is.

        ``ops.CannotInfer`` for values that NumPy would not write.
        """
        version = root(target)
        if not isinstance(version.type, ArrayType) or version.type.scalar:
            raise GraphError(f"%{version.name} is no array and cannot be written")
        if version.kind == "constant":
            raise GraphError(f"%{version.name} is a constant and cannot be written")
        args = (version, value, *indices)
        params = {"region": region(target), "axes": axes, "combine": combine, "said": said}
        with asking(self.known):
            type = ops.get("store").result_type(*map_nodes(args, lambda node: node.type), **params)
        return self._add(buffer(target).name, "call", "store", args, params, type)

    def view(self, node: Node, steps: Iterable[Step]) -> Node:
        """Replay a region's chain of views on another version."""
        for step in steps:
            node = self.call(step.op, node, **dict(step.params))
        return node

    def output(self, *values: Any) -> None:
        """End the graph; ``values`` are nodes or literals, in the order in which results are returned."""
        if self.nodes and self.nodes[-1].kind == "output":
            raise GraphError("the graph has an output already")
        types = map_nodes(values, lambda node: node.type)
        self._add("output", "output", "output", values, {}, types)

    def _add(self, name: str, kind: str, target: str, args: tuple, params: Mapping[str, Any], type: Any) -> Node:
        node = Node(self._fresh(name), kind, target, args, params, type, self.position)
        self.nodes.append(node)
        return node

    def _fresh(self, wish: str) -> str:
        base = re.sub(r"\W", "_", wish) or "value"
        if base[0].isdigit() or keyword.iskeyword(base):
            base = f"_{base}"
        name, count = base, self._suffixes.get(base, 0)
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._suffixes[base] = count
        self._names.add(name)
        return name

    def new_name(self, wish: str) -> str:
        """A name that no node has, for a size."""
        return self._fresh(wish)

    def append(self, node: Node) -> Node:
        """Add a node made elsewhere (a pass that keeps it); its name is kept when still free."""
        node = replace(node, name=self._fresh(node.name))
        self.nodes.append(node)
        return node

    def truncate(self, length: int) -> None:
        """Forget the nodes from ``length`` on: the step that added them is given up."""
        for node in self.nodes[length:]:
            self._names.discard(node.name)
        self._suffixes.clear()
        del self.nodes[length:]

    # reading --------------------------------------------------------------------------------------------------
    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def placeholders(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.kind == "placeholder")

    @property
    def calls(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.kind == "call")

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The returned values: nodes and literals."""
        return self.nodes[-1].args if self.nodes and self.nodes[-1].kind == "output" else ()

    @property
    def written(self) -> tuple[Node, ...]:
        """The placeholders whose memory the graph writes: effects that the caller sees."""
        stores = (node for node in self.nodes if node.target == "store" and node.kind == "call")
        return tuple(dict.fromkeys(owner for node in stores if (owner := buffer(node)).kind == "placeholder"))

    def __eq__(self, other: object) -> bool:
        """Same nodes in the same order, constants compared by their bits; positions and the graph's name aside."""
        if not isinstance(other, Graph):
            return NotImplemented
        return len(self) == len(other) and all(map(_same_node, self.nodes, other.nodes))

    __hash__ = object.__hash__

    def users(self) -> dict[Node, list[Node]]:
        """Who reads each node."""
        result: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for value in node.inputs:
                result[value].append(node)
        return result

    # printing, running: one file each, reached from here for convenience ---------------------------------------
    def __str__(self) -> str:
        from capture.ir.text import format_graph

        return format_graph(self)

    def print_tabular(self) -> None:
        from capture.ir.text import format_table

        print(format_table(self))

    def python_code(self) -> str:
        """Runnable NumPy source of a function that does what the graph does."""
        from capture.ir.source import python_source

        return python_source(self)

    def to_dot(self) -> str:
        from capture.ir.text import format_dot

        return format_dot(self)

    def lint(self) -> None:
        """Raise ``GraphError`` with every fault of the graph."""
        from capture.ir.verify import verify

        verify(self)


def _same_node(left: Node, right: Node) -> bool:
    return (
        (left.name, left.kind, left.target, left.type) == (right.name, right.kind, right.target, right.type)
        and _comparable(left.args) == _comparable(right.args)
        and _comparable(tuple(left.params.items())) == _comparable(tuple(right.params.items()))
    )


def _comparable(value: Any) -> Any:
    """A stand-in that compares by structure: nodes by name, arrays and floats by bits, numbers with their type."""
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    if isinstance(value, Node):
        return ("node", value.name)
    if isinstance(value, np.ndarray | np.generic):
        return ("array", value.dtype, value.shape, value.tobytes())
    return (type(value).__name__, repr(value) if isinstance(value, float | complex) else value)


def map_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as inference sees them: nodes replaced by their types."""
    return {key: map_nodes(value, lambda node: node.type) for key, value in params.items()}


def simplified_all(value: Any) -> Any:
    """``value`` with every size inside nested tuples in its simplest form."""
    if isinstance(value, Expr):
        return simplified(value)
    if isinstance(value, tuple) and any(isinstance(item, Expr | tuple) for item in value):
        return tuple(map(simplified_all, value))
    return value


def simplified_type(type: Any) -> Any:
    """A type, or a tuple of types, with its sizes in their simplest form."""
    if isinstance(type, tuple):
        return tuple(map(simplified_type, type))
    if isinstance(type, NumberType):
        return replace(type, size=simplified_all(type.size))
    if not isinstance(type, ArrayType):
        return type
    shape = simplified_all(type.shape)
    layout = type.layout.settled(shape) if type.layout is not None else None
    unchanged = shape is type.shape and layout is type.layout
    return type if unchanged else replace(type, shape=shape, layout=layout)


class Transformer:
    """Copies a graph node by node; a pass overrides the kinds it changes.

    ``self.graph`` is the new graph and ``self.new`` maps old nodes to new values (nodes or literals).
    """

    def __init__(self, graph: Graph) -> None:
        self.old = graph
        self.graph = Graph(graph.name, known=graph.known)
        self.new: dict[Node, Any] = {}

    def run(self) -> Graph:
        for node in self.old:
            self.graph.position = node.position
            self.new[node] = getattr(self, node.kind)(node)
        return self.graph

    def mapped(self, value: Any) -> Any:
        return map_nodes(value, self.new.__getitem__)

    def placeholder(self, node: Node) -> Any:
        return self.copy(node)

    def constant(self, node: Node) -> Any:
        return self.copy(node)

    def call(self, node: Node) -> Any:
        return self.copy(node)

    def output(self, node: Node) -> Any:
        self.graph.output(*self.mapped(node.args))

    def copy(self, node: Node) -> Node:
        params = {key: self.mapped(value) for key, value in node.params.items()}
        return self.graph.append(replace(node, args=self.mapped(node.args), params=params))
