"""A graph as runnable NumPy source: one assignment a node.

    import numpy as np

    def softmax(x):
        subtract = np.subtract(x, maximum)  # model.py:12
        ...

An op is written as its record's ``source`` says: a format over the operands ``{0}``, ``{1}`` and the parameters
by name, or a function of the written operands and parameters; by default its ``reference`` is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from capture.ir.graph import Graph, Node, Step
from capture.ir.interpret import new_symbols
from capture.ir.op import TALLY, Op, get
from capture.ir.shapes import Expr, to_python

_IMPORTS = {
    "_op(": "from capture.ir.op import get as _op",
    "_program(": "from capture.ir.program_text import parse_program as _program",
}


def python_source(graph: Graph) -> str:
    """Source of a module with one function, named as the graph, from the graph's inputs to the tuple of its results."""
    inputs = ", ".join(node.name for node in graph.placeholders)
    lines = [f"def {graph.name}({inputs}):"]
    sizes: set[str] = set()
    for node in graph:
        if node.kind != "placeholder":
            comment = f"  # {node.position}" if node.position else ""
            lines.extend(f"    {line}{comment}" for line in _statements(node))
        for symbol, axis in new_symbols(node, sizes):
            sizes.add(symbol.name)
            lines.append(f"    {symbol.name} = {node.name}{'' if axis is None else f'.shape[{axis}]'}")
    needed = [text for mark, text in _IMPORTS.items() if any(mark in line for line in lines)]
    imports = ["import numpy as np", *needed]
    return "\n".join([*imports, "", "", *lines, ""])


def _statements(node: Node) -> list[str]:
    if node.kind == "output":
        return [f"return {write(node.args)}"]
    if node.kind == "constant":
        return [f"{node.name} = {_write_array(node)}"]
    if node.target == "store":
        version, value, *indices = node.args
        region = version.name
        for step in node.params["region"]:
            region = _write_step(region, step)
        return [_write_store(region, write(value), indices, node.params), f"{node.name} = {version.name}"]
    return [f"{node.name} = {write_call(node.op, tuple(map(write, node.args)), dict(node.params))}"]


def _write_store(region: str, value: str, indices: list[Any], params: Mapping[str, Any]) -> str:
    if not indices:
        return f"{region}[...] = {value}"
    if params["axes"] != tuple(range(len(indices))):
        region = f"np.moveaxis({region}, {params['axes']}, {tuple(range(len(indices)))})"
    key = ", ".join(map(write, indices))
    if params["combine"]:
        ufunc = "add" if params["combine"] == TALLY else params["combine"]
        return f"np.{ufunc}.at({region}, ({key},), {value})"
    return f"{region}[{key}] = {value}"


def _write_step(operand: str, step: Step) -> str:
    return write_call(get(step.op), (operand,), dict(step.params))


def write_call(op: Op, operands: tuple[str, ...], params: dict[str, Any]) -> str:
    """The expression that applies ``op`` to operands that are written already."""
    if callable(op.source) and not any(map(_has_sizes, params.values())):
        return op.source(*operands, **params)
    written = {name: write(value) for name, value in params.items()}
    if op.source and not callable(op.source):
        return op.source.format(*operands, **written)
    given = [f"{name}={text}" for name, text in written.items() if text != write(op.defaults.get(name))]
    return f"{_callee(op)}({', '.join([*operands, *given])})"


def _has_sizes(value: Any) -> bool:
    return isinstance(value, Expr) or (isinstance(value, tuple) and any(map(_has_sizes, value)))


def _callee(op: Op) -> str:
    name = getattr(op.reference, "__name__", "")
    if getattr(np, name, None) is op.reference:
        return f"np.{name}"
    return f"_op({op.name!r}).reference"


def write(value: Any) -> str:
    """A literal, size, node or tuple of these as Python source."""
    if isinstance(value, Node):
        return value.name
    if isinstance(value, tuple):
        return f"({', '.join(map(write, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Expr):
        return to_python(value)
    if isinstance(value, np.dtype):
        return f"np.dtype({value.str!r})"
    if isinstance(value, float) and not np.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def _write_array(node: Node) -> str:
    (value,) = node.args
    code = f"np.frombuffer(bytes.fromhex({value.tobytes().hex()!r}), {write(value.dtype)})"
    code = f"{code}.reshape({write(value.shape)}).copy()"
    return f"{code}[()]" if node.type.scalar else code
