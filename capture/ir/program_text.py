"""Programs as text, which parses back: ``parse_program(str(program)) == program``.

    program total writes 0:
      start(%x: f64[:], %n: int):
        jump head(0, 0.0)
      head(%i: int, %s: float):
        %more: bool = number(%i, %n, symbol='<')
        branch %more body() done()
      ...

The text of a graph has its programs behind it; a ``loop`` node names its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from capture.errors import GraphError
from capture.ir.graph import Node
from capture.ir.program import ANY, DENSE, Block, Branch, End, Finish, Jump, Leave, Program, RankedType
from capture.ir.text import Reader, format_position, format_value, parse_dtype, parse_position, parse_type, split_parts


def format_program(program: Program, name: str = "") -> str:
    """The program as text, under a name of its own or its graph's for it."""
    written = "".join(f" writes {', '.join(map(str, sorted(program.written)))}" if program.written else "")
    lines = [f"program {name or program.name}{written}:"]
    for block in program.blocks:
        parameters = ", ".join(f"%{node.name}: {node.type}" for node in block.parameters)
        lines.append(f"  {block.name}({parameters}):")
        lines += [f"    {_format_step(step)}" for step in block.steps]
        lines.append(f"    {_format_end(block.end)}")
    return "\n".join(lines)


def _format_step(step: Node) -> str:
    given = [*map(format_value, step.args), *(f"{name}={format_value(value)}" for name, value in step.params.items())]
    return f"%{step.name}: {step.type} = {step.target}({', '.join(given)}){format_position(step.position)}"


def _format_end(end: End) -> str:
    if isinstance(end, Jump):
        return f"jump {_format_jump(end)}"
    if isinstance(end, Branch):
        return f"branch {format_value(end.condition)} {_format_jump(end.then)} {_format_jump(end.other)}"
    return f"finish {', '.join(map(format_value, end.values))}".rstrip() if isinstance(end, Finish) else "leave"


def _format_jump(jump: Jump) -> str:
    return f"{jump.target}({', '.join(map(format_value, jump.args))})"


# Parsing ----------------------------------------------------------------------------------------------------------
_HEADER = re.compile(r"program (\w+)(?: writes ([\d, ]+))?:")
_BLOCK = re.compile(r"(\w+)\((.*)\):")
_STEP = re.compile(r"%(?P<name>\w+): (?P<type>.*?) = (?P<target>\w+)\((?P<arguments>.*)\)(?:  # (?P<position>.*))?$")
_BRANCH = re.compile(r"branch (\S+) (\w+)\((.*?)\) (\w+)\((.*)\)")


def parse_program(text: str) -> Program:
    """The program that ``text`` writes; GraphError names the line that does not parse."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    header = _HEADER.fullmatch(lines[0]) if lines else None
    if header is None:
        raise GraphError("a program's text begins with a line 'program NAME:' or 'program NAME writes 0, 1:'")
    nodes: dict[str, Node] = {}
    blocks: list[Block] = []
    place = 1
    while place < len(lines):
        stop = next((number for number in range(place + 1, len(lines)) if _BLOCK.fullmatch(lines[number])), len(lines))
        try:
            blocks.append(_parse_block(lines[place:stop], nodes))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise GraphError(f"cannot parse the block {lines[place]!r}: {error}") from error
        place = stop
    written = frozenset(int(number) for number in (header[2] or "").split(",") if number.strip())
    return Program(header[1], tuple(blocks), written)


def _parse_block(lines: Sequence[str], nodes: dict[str, Node]) -> Block:
    header = _BLOCK.fullmatch(lines[0])
    assert header is not None
    parameters = []
    for part in split_parts(header[2]):
        name, _, text = part.partition(": ")
        nodes[name[1:]] = node = Node(name[1:], "parameter", "", (), {}, _parse_kind(text))
        parameters.append(node)
    steps = []
    for line in lines[1:-1]:
        match = _STEP.fullmatch(line)
        if match is None:
            raise ValueError(f"{line!r} is no step")
        args, params = Reader(match["arguments"], nodes).arguments()
        kind = None if match["type"] == "None" else _parse_kind(match["type"])
        position = parse_position(match["position"])
        nodes[match["name"]] = step = Node(match["name"], "step", match["target"], args, params, kind, position)
        steps.append(step)
    return Block(header[1], tuple(parameters), tuple(steps), _parse_end(lines[-1], nodes))


def _parse_end(line: str, nodes: dict[str, Node]) -> End:
    word, _, rest = line.partition(" ")
    if word == "leave":
        return Leave()
    if word == "finish":
        return Finish(Reader(rest, nodes).arguments()[0])
    if word == "jump":
        target, _, args = rest[:-1].partition("(")
        return _parse_jump(target, args, nodes)
    match = _BRANCH.fullmatch(line)
    if match is None:
        raise ValueError(f"{line!r} is no end of a block")
    (condition,), _ = Reader(match[1], nodes).arguments()
    return Branch(condition, _parse_jump(match[2], match[3], nodes), _parse_jump(match[4], match[5], nodes))


def _parse_jump(target: str, args: str, nodes: dict[str, Node]) -> Jump:
    return Jump(target, Reader(args, nodes).arguments()[0])


def _parse_kind(text: str) -> Any:
    """A type of a program's value."""
    match = re.fullmatch(r"(\w+)\[([:1, ]*)\](?:\{(\w+)\})?", text)
    if match is None or re.search(r"\d\d", match[2]):
        return parse_type(text)
    sizes = split_parts(match[2])
    ones = frozenset(axis for axis, size in enumerate(sizes) if size == "1")
    layout = match[3] or DENSE
    return RankedType(parse_dtype(match[1]), len(sizes), layout if layout != "any" else ANY, ones)
