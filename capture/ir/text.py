"""Graphs as text, table and drawing; the text parses back: ``parse_graph(str(graph)) == graph``.

    graph softmax:
      %x: f32[4, 5] = placeholder()
      %max: f32[4, 1] = max(%x, axis=(1,), keepdims=True)  # model.py:12 softmax
      %subtract: f32[4, 5] = subtract(%x, %max)  # model.py:12 softmax
      return %subtract

Literals are Python's, dtypes are written ``@f32``, sizes that are not constant ``{n + 1}``, views of a store's
region ``<slice starts=(0,), …>``. What is known of sizes stands in the first line: ``graph f where n == m; 1 <= n:``.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from capture.errors import GraphError
from capture.ir.graph import Graph, Node, Position, Step
from capture.ir.op import ListLiteral
from capture.ir.shapes import Expr, Facts, evaluate, parse, parse_relation
from capture.ir.sizes import Known
from capture.ir.types import DTYPES_BY_SHORT_NAME, OBJECTS, SHORT_NAMES, ArrayType, Layout, NumberType, ObjectType
from capture.records import replace

_READABLE = 16  # constants up to this many elements are written out, larger ones as base64


# Formatting -------------------------------------------------------------------------------------------------------
def format_graph(graph: Graph) -> str:
    facts = "; ".join(map(str, graph.known.facts.relations))
    header = f"graph {graph.name} where {facts}:" if facts else f"graph {graph.name}:"
    programs = [text for node in graph if node.target == "loop" for text in _format_program(node)]
    return "\n".join([header, *(f"  {_format_node(node)}" for node in graph), *programs, ""])


def _format_program(node: Node) -> list[str]:
    from capture.ir.program_text import format_program

    return format_program(node.params["program"], node.name).splitlines()


def _format_node(node: Node) -> str:
    if node.kind == "output":
        return f"return {', '.join(map(format_value, node.args))}".rstrip()
    if node.kind == "constant":
        call = f"constant({_format_array(node)})"
    elif node.kind == "placeholder":
        call = "placeholder()"
    else:
        call = f"{node.target}({', '.join(_format_arguments(node))})"
    return f"%{node.name}: {format_type(node.type)} = {call}{format_position(node.position)}"


def format_position(position: Position | None) -> str:
    """The user's line, as a comment."""
    return f"  # {position} {position.function} {position.module}".rstrip() if position else ""


def _format_arguments(node: Node) -> Iterable[str]:
    """Operands, then the parameters that differ from the op's defaults."""
    yield from map(format_value, node.args)
    defaults = node.op.defaults
    for name, value in node.params.items():
        if name == "program":
            yield f"program={node.name}"
        elif name not in defaults or format_value(value) != format_value(defaults[name]):
            yield f"{name}={format_value(value)}"


def _format_array(node: Node) -> str:
    (value,) = node.args
    if value.size <= _READABLE and value.dtype.kind in "biuf":
        return format_value(_nested_tuple(value.tolist()))
    return f"'{base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()}'"


def _nested_tuple(value: Any) -> Any:
    return tuple(map(_nested_tuple, value)) if isinstance(value, list) else value


def format_type(type: Any) -> str:
    if isinstance(type, tuple):
        return f"({', '.join(map(format_type, type))},)"
    return str(type)


def format_value(value: Any) -> str:
    """An argument or parameter as the text of graphs writes it."""
    if type(value) is ListLiteral:
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(format_value, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, Expr):
        return f"{{{value}}}"
    if isinstance(value, np.dtype):
        return f"@{SHORT_NAMES.get(value, value.str)}"
    if isinstance(value, ArrayType | NumberType):
        return f"|{value}|"
    if isinstance(value, np.generic):
        return f"@{SHORT_NAMES[value.dtype]}({value.item()!r})"
    if isinstance(value, Step):
        return f"<{value.op} {', '.join(f'{key}={format_value(item)}' for key, item in value.params)}>"
    return repr(value)


def format_table(graph: Graph) -> str:
    """One row a node: name, kind, target, arguments, type, the user's line."""
    rows = [("name", "kind", "target", "arguments", "type", "line")]
    for node in graph:
        arguments = _format_arguments(node) if node.kind == "call" else map(format_value, node.args)
        text = "" if node.kind == "constant" else ", ".join(arguments)
        line = str(node.position) if node.position else ""
        rows.append((f"%{node.name}", node.kind, node.target, text, format_type(node.type), line))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def format_dot(graph: Graph) -> str:
    """Graphviz source: a box a node, an arrow from each value to who reads it."""
    lines = [f"digraph {graph.name} {{", "  node [shape=box, fontname=monospace];"]
    for node in graph:
        label = f"{node.name}\\n{node.target} {format_type(node.type)}".replace('"', '\\"')
        lines.append(f'  {node.name} [label="{label}"];')
        lines.extend(f"  {value.name} -> {node.name};" for value in node.inputs)
    return "\n".join([*lines, "}", ""])


# Parsing ----------------------------------------------------------------------------------------------------------
_TOKEN = re.compile(
    r"\s*(?:(?P<node>%\w+)|(?P<type>\|[^|]*\|)|(?P<scalar>@\w+\([^)]*\))|(?P<dtype>@[\w<>|=]+)|(?P<size>\{[^}]*\})|(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<number>-?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?|inf|nan)(?![\w.]))|(?P<word>[A-Za-z_]\w*)|(?P<mark>[][()<>,=+-]))"
)
_WORDS = {"True": True, "False": False, "None": None, "Ellipsis": Ellipsis}
_LINE = re.compile(r"%(?P<name>\w+): (?P<type>.*?) = (?P<target>\w+)\((?P<arguments>.*)\)(?:  # (?P<position>.*))?$")


def parse_graph(text: str) -> Graph:
    """The graph that ``text`` writes; GraphError names the line that does not parse."""
    from capture.ir.program_text import parse_program

    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or not (header := re.fullmatch(r"graph (\w+)(?: where (.*))?:", lines[0])):
        raise GraphError("a graph's text begins with a line 'graph NAME:' or 'graph NAME where RELATION; …:'")
    facts = Facts.of(*map(parse_relation, (header[2] or "").split("; "))) if header[2] else Facts()
    graph = Graph(header[1], known=Known(facts))
    nodes: dict[str, Any] = {}
    end = next((place for place, line in enumerate(lines) if line.startswith("program ")), len(lines))
    for part in "\n".join(lines[end:]).split("\nprogram "):
        if part:
            program = parse_program(part if part.startswith("program ") else f"program {part}")
            nodes[f"program {program.name}"] = program
    for line in lines[1:end]:
        try:
            _parse_line(graph, nodes, line)
        except (ValueError, KeyError, IndexError, TypeError, StopIteration) as error:
            raise GraphError(f"cannot parse {line!r}: {error}") from error
    return graph


def _parse_line(graph: Graph, nodes: dict[str, Any], line: str) -> None:
    if line == "return" or line.startswith("return "):
        args, _ = Reader(line[len("return") :], nodes).arguments()
        graph.output(*args)
        return
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError("expected '%name: type = op(arguments)'")
    name, type, target = match["name"], parse_type(match["type"]), match["target"]
    args, params = Reader(match["arguments"], nodes).arguments()
    if target == "constant":
        args = (_parse_array(args[0], type),)
    kind = target if target in ("placeholder", "constant") else "call"
    position = parse_position(match["position"])
    node = Node(name, kind, name if kind == "placeholder" else target, args, params, type, position)
    if kind == "call":
        node = replace(node, params=node.op.complete(params))
    nodes[name] = graph.append(node)
    if nodes[name].name != name:
        raise ValueError(f"%{name} is defined twice")


def parse_position(text: str | None) -> Position | None:
    if not text:
        return None
    place, _, rest = text.partition(" ")
    file, _, line = place.rpartition(":")
    function, _, module = rest.partition(" ")
    return Position(file, int(line), function, module)


def _parse_array(value: Any, type: ArrayType) -> np.ndarray | np.generic:
    if isinstance(value, str):
        array = np.frombuffer(base64.b64decode(value), type.dtype).copy()
    else:
        array = np.array(value, type.dtype)
    array = array.reshape(tuple(evaluate(size, {}) for size in type.shape))
    return array[()] if type.scalar else array


def parse_type(text: str) -> Any:
    """The inverse of ``str(type)``, tuples of types included."""
    text = text.strip()
    if text.startswith("("):
        return tuple(parse_type(part) for part in split_parts(text[1:-1]))
    if match := re.fullmatch(r"(bool|int|float|complex)(?:=(.*))?", text):
        python = {"bool": bool, "int": int, "float": float, "complex": complex}[match[1]]
        return NumberType(python, parse(match[2]) if match[2] else None)
    if match := re.fullmatch(r"<(\w+)>", text):
        return ObjectType(OBJECTS[match[1]])
    if match := re.fullmatch(r"(\S+)\(\)", text):
        return ArrayType(parse_dtype(match[1]), (), Layout.contiguous(()), scalar=True)
    if match := re.fullmatch(r"([^\[]+)\[(.*)\](?:\{(.*)\})?", text):
        shape = tuple(parse(part) for part in split_parts(match[2]))
        return ArrayType(parse_dtype(match[1]), shape, _parse_layout(match[3], shape))
    raise ValueError(f"{text!r} is no type")


def parse_dtype(name: str) -> np.dtype:
    return DTYPES_BY_SHORT_NAME.get(name) or np.dtype(name)


def _parse_layout(text: str | None, shape: tuple[Any, ...]) -> Layout | None:
    if text == "?":
        return None
    if text in (None, "C"):
        return Layout.contiguous(shape)
    if text == "F":
        return Layout.contiguous(shape, tuple(reversed(range(len(shape)))))
    kind, ranks = text.rstrip(">").split("<")
    return Layout(tuple(int(rank) for rank in ranks.split(",")), kind == "dense", kind != "strided")


def split_parts(text: str) -> list[str]:
    """Parts between commas outside of brackets; a trailing comma does not count."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


class Reader:
    """Recursive descent over one line's arguments."""

    def __init__(self, text: str, nodes: dict[str, Any]) -> None:
        self.nodes = nodes
        self.tokens: list[tuple[str, str]] = []
        position, text = 0, text.strip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"unexpected {text[position : position + 10]!r}")
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()
        self.index = 0

    def peek(self, mark: str, ahead: int = 0) -> bool:
        place = self.index + ahead
        return place < len(self.tokens) and self.tokens[place] == ("mark", mark)

    def take(self, mark: str) -> None:
        if not self.peek(mark):
            raise ValueError(f"expected {mark!r}")
        self.index += 1

    def arguments(self, end: str | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Values, then name=value pairs, separated by commas, up to the mark ``end`` or the end of the line."""
        args: list[Any] = []
        params: dict[str, Any] = {}
        while self.index < len(self.tokens) and not (end and self.peek(end)):
            if self.tokens[self.index][0] == "word" and self.peek("=", 1):
                name = self.tokens[self.index][1]
                self.index += 2
                params[name] = self.value()
            else:
                args.append(self.value())
            if self.peek(","):
                self.index += 1
        return tuple(args), params

    def value(self) -> Any:
        kind, text = self.tokens[self.index]
        self.index += 1
        if kind == "mark":
            return self._bracket(text)
        return _ATOMS[kind](self, text)

    def _bracket(self, mark: str) -> Any:
        if mark == "(":
            args, _ = self.arguments(")")
            self.take(")")
            return args
        if mark == "[":
            args, _ = self.arguments("]")
            self.take("]")
            return ListLiteral(args)
        if mark == "<":
            op = self.tokens[self.index][1]
            self.index += 1
            _, params = self.arguments(">")
            self.take(">")
            return Step(op, tuple(params.items()))
        raise ValueError(f"unexpected {mark!r}")


def _scalar(text: str) -> np.generic:
    name, _, value = text[1:-1].partition("(")
    found = _WORDS[value] if value in _WORDS else _number(value)
    return parse_dtype(name).type(found)  # type: ignore[no-any-return]


def _number(text: str) -> int | float | complex:
    for convert in (int, float, complex):
        try:
            return convert(text)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no number")


_ATOMS: dict[str, Callable[[Reader, str], Any]] = {
    "node": lambda reader, text: reader.nodes[text[1:]],
    "dtype": lambda reader, text: parse_dtype(text[1:]),
    "type": lambda reader, text: parse_type(text[1:-1]),
    "scalar": lambda reader, text: _scalar(text),
    "size": lambda reader, text: parse(text[1:-1]),
    "string": lambda reader, text: re.sub(r"\\(.)", r"\1", text[1:-1]),
    "number": lambda reader, text: _number(text),
    "word": lambda reader, text: _WORDS[text] if text in _WORDS else reader.nodes[f"program {text}"],
}
