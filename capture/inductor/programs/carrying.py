"""Elements that a round of a loop has written, and the next one reads: they are carried in variables.

In: a program. Out: the same with parameters for such elements, which their readers have in place of loads:

    for x in range(1, width - 1):                       head(x, old):        %old: what was stored at (y, x)
        old = image[y, x]                       →         …
        …                                                 store_at(image, (y, x + 1), next)
        image[y, x + 1] += error * 7 / 16                 jump head(x + 1, next)

A processor waits longer for what goes through memory than for what it has in a register. What the first round reads
is loaded before the loop, where that has a round; a loop none of whose elements are written is left to the compiler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capture.inductor.programs.choosing import Chosen
from capture.inductor.programs.contents import Contents, Key, anything, key_of, stored_value
from capture.inductor.programs.counting import find_counted, natural_loops
from capture.inductor.programs.passing import passed_on, without_parameters
from capture.inductor.programs.ranges import affine, find_dominators, is_int
from capture.inductor.programs.repeating import with_others
from capture.ir.graph import Node, map_nodes
from capture.ir.program import NUMBERS, Block, Branch, Jump, Program
from capture.records import dataclass, field, replace

MOST = 6
"""Elements that one loop carries."""

Edge = tuple[str, int]
"""A jump: the block it is from, and which of its jumps."""


class _Unknown(Exception):
    """What is in an element is not known."""


@dataclass
class _Found:
    """What is known of the elements: parameters that hold them, what jumps give to these, what has been loaded before
    a loop, and steps that are made to have stored numbers as scalars.
    """

    parameters: dict[tuple[str, Key], Node] = field(default_factory=dict)
    given: dict[tuple[Edge, Node], Any] = field(default_factory=dict)
    loaded: dict[Edge, list[Node]] = field(default_factory=dict)
    behind: dict[Node, Node] = field(default_factory=dict)
    same: dict[Node, Any] = field(default_factory=dict)

    def copy(self) -> _Found:
        loaded = {edge: list(steps) for edge, steps in self.loaded.items()}
        return _Found(dict(self.parameters), dict(self.given), loaded, dict(self.behind), dict(self.same))

    def value(self, value: Any) -> Any:
        while isinstance(value, Node) and value in self.same:
            value = self.same[value]
        return value


def with_carried_elements(chosen: Chosen) -> Chosen:
    carrying = _Carrying(chosen.program)
    for block in chosen.program.blocks:
        for step in block.steps:
            if step.target == "load":
                carrying.attempt(block, step)
    found = carrying.found
    if not found.same:
        return chosen
    program = _with_parameters(chosen.program, found)
    passed = passed_on(program, set(found.parameters.values()), found.value)
    same = {**found.same, **passed}
    program = with_others(without_parameters(program, passed), same)
    return Chosen(program, _renamed(chosen.supposed, same))


def _renamed(supposed: Mapping[Node, Any], same: Mapping[Node, Any]) -> dict[Node, Any]:
    def other(node: Any) -> Any:
        while isinstance(node, Node) and node in same:
            node = same[node]
        return node

    return {other(step): map_nodes(what, other) for step, what in supposed.items() if isinstance(other(step), Node)}


class _Carrying:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.contents = Contents(program)
        self.dominators = find_dominators(program)
        self.loops = natural_loops(program)
        self.counted = find_counted(program)
        self.home = {node: block.name for block in program.blocks for node in (*block.parameters, *block.steps)}
        self.blocks = {block.name: block for block in program.blocks}
        self.edges: dict[str, list[Edge]] = {block.name: [] for block in program.blocks}
        for block in program.blocks:
            for number, jump in enumerate(block.jumps):
                self.edges[jump.target].append((block.name, number))
        self.found = _Found()
        self.carried = Counter[str]()

    # a load -----------------------------------------------------------------------------------------------------
    def attempt(self, block: Block, load: Node) -> None:
        """Have the value of a load from elsewhere, where a round before has written it."""
        heads = [head for head, names in self.loops.items() if block.name in names]
        if not heads:
            return
        before, carried = self.found, self.carried
        self.found, self.carried = before.copy(), Counter(carried)
        self.load, self.home_block, self.stored = load, block, set[str]()
        self.around: list[str] = []
        try:
            place = block.steps.index(load)
            value = self.at_step(block, place, key_of(load))
            if not self.is_worth_it(set(self.found.parameters) - set(before.parameters)):
                raise _Unknown
            self.found.same[load] = value
        except _Unknown:
            self.found, self.carried = before, carried

    def is_worth_it(self, new: set[tuple[str, Key]]) -> bool:
        """Whether the element comes from a store of the round before, or from a round of a loop that is no vectors'."""
        heads = {name for name, _ in new if name in self.loops and self.home_block.name in self.loops[name]}
        if not new:
            return True
        return bool(heads) and all(head in self.stored or head not in self.counted for head in heads)

    def at_step(self, block: Block, number: int, key: Key) -> Any:
        """What is in an element before a step of a block."""
        for step in reversed(block.steps[:number]):
            if step.target == "load" and key_of(step) == key:
                return step
            if step.target == "store_at" and key_of(step) == key:
                return self.stored_by(step)
            if self.contents.may_change(block, step, key):
                raise _Unknown
        return self.at_start(block, key)

    def stored_by(self, step: Node) -> Any:
        value = self.found.behind.get(step) or stored_value(step)
        if value is None:
            raise _Unknown
        if isinstance(value, Node) and value not in self.home:
            self.found.behind[step] = value
        self.stored.update(self.around)
        return value

    def at_start(self, block: Block, key: Key) -> Any:
        """What is in an element where control comes to a block."""
        if (block.name, key) in self.found.parameters:
            return self.found.value(self.found.parameters[block.name, key])
        edges = self.edges[block.name]
        if not edges or not self.is_defined(block, key):
            raise _Unknown
        if len(edges) == 1:
            return self.at_end(edges[0], self.translated(block, edges[0], key))
        parameter = Node(f"{self.load.name}_kept", "parameter", "", (), {}, self.load.type)
        self.found.parameters[block.name, key] = parameter
        given = {edge: self.from_edge(block, edge, key) for edge in edges}
        around = [self.found.value(given[edge]) for edge in edges if edge[0] in self.loops.get(block.name, ())]
        if around and all(value is parameter or value is self.load for value in around):
            raise _Unknown  # it stays the same: compilers load it once
        others = [value for value in map(self.found.value, given.values()) if value is not parameter]
        if all(value is others[0] for value in others):
            del self.found.parameters[block.name, key]
            self.found.same[parameter] = others[0]
            return others[0]
        self.carried[block.name] += 1
        if self.carried[block.name] > MOST:
            raise _Unknown
        self.found.given.update({(edge, parameter): value for edge, value in given.items()})
        return parameter

    def from_edge(self, block: Block, edge: Edge, key: Key) -> Any:
        """What a jump to a block brings."""
        inside = edge[0] in self.loops.get(block.name, ())
        if inside:
            self.around.append(block.name)
        found = self.found.copy()
        try:
            return self.at_end(edge, self.translated(block, edge, key))
        except _Unknown:
            if inside or not self.may_load(block):
                raise
            self.found = found
            return self.loaded(block, edge, key)
        finally:
            if inside:
                self.around.pop()

    def at_end(self, edge: Edge, key: Key) -> Any:
        block = self.blocks[edge[0]]
        return self.at_step(block, len(block.steps), key)

    # keys -------------------------------------------------------------------------------------------------------
    def is_defined(self, block: Block, key: Key) -> bool:
        """Whether all that a key is made of was there before the block, or comes as its parameters."""
        array, places = key
        roots = [root for root in (array, *(root for root, _ in places)) if isinstance(root, Node)]
        above = self.dominators[block.name]
        return all(
            root in block.parameters or (self.home[root] in above and self.home[root] != block.name) for root in roots
        )

    def translated(self, block: Block, edge: Edge, key: Key) -> Key:
        """The same element by what a jump to the block gives."""
        given = dict(zip(block.parameters, self.jump(edge).args, strict=True))
        array, places = key
        moved = []
        for root, offset in places:
            other, more = affine(given[root]) if root in given else (root, 0)
            moved.append((other, more + offset))
        source = given.get(array, array)
        if not isinstance(source, Node):
            raise _Unknown
        return source, tuple(moved)

    def jump(self, edge: Edge) -> Jump:
        return self.blocks[edge[0]].jumps[edge[1]]

    # before a loop ----------------------------------------------------------------------------------------------
    def may_load(self, head: Block) -> bool:
        """Whether the element of the first round may be loaded before the loop. It need not be read in that round; the
        program leaves where there is no such element."""
        if head.name not in self.loops or head.name in self.around or self.home_block.name not in self.loops[head.name]:
            return False
        if self.home_block is head:
            return True
        return _is_plain(head, self.loops[head.name])

    def loaded(self, head: Block, edge: Edge, key: Key) -> Node:
        if _entered(head, self.jump(edge)) is False:
            raise _Unknown
        array, places = self.translated(head, edge, key)
        steps: list[Node] = []
        nodes = tuple(_number(place, steps) for place in places)
        load = replace(self.load, args=(array, nodes))
        self.found.loaded.setdefault(edge, []).extend((*steps, load))
        self.home[load] = edge[0]
        return load


def _number(place: tuple[Any, int], steps: list[Node]) -> Any:
    """A place as a value, by a step if need be."""
    root, offset = place
    if root is None or not offset:
        return offset if root is None else root
    step = Node(f"{root.name}_at", "step", "number", (root, offset), {"symbol": "+"}, root.type)
    steps.append(step)
    return step


def _is_plain(head: Block, names: frozenset[str]) -> bool:
    """Whether a block only compares ints, and goes into its loop where that holds."""
    end = head.end
    if not isinstance(end, Branch) or not isinstance(end.condition, Node) or head.steps != (end.condition,):
        return False
    condition = end.condition
    is_number = condition.target == "number" and all(map(is_int, condition.args))
    return is_number and end.then.target in names and end.other.target not in names


def _entered(head: Block, jump: Jump) -> bool | Node:
    """Whether a loop that a block tests has a first round when control comes by a jump: a step that finds out, where it
    is not certain; True of a loop that its first block does not test."""
    if not isinstance(head.end, Branch) or head.steps != (head.end.condition,):
        return True
    given = dict(zip(head.parameters, jump.args, strict=True))
    condition: Node = head.end.condition
    args = map_nodes(condition.args, lambda node: given.get(node, node))
    if not any(isinstance(arg, Node) for arg in args):
        return bool(NUMBERS[condition.params["symbol"]](*args))
    return replace(condition, args=args)


# The program ----------------------------------------------------------------------------------------------------------
def _with_parameters(program: Program, found: _Found) -> Program:
    """The program with what was found; loads that are known stand in it still."""
    new: dict[str, list[Node]] = {}
    for (name, _), parameter in found.parameters.items():
        new.setdefault(name, []).append(parameter)
    renewed: list[Block] = []
    for block in program.blocks:
        renewed += _blocks_before(program, block, found, new.get(block.name, ()))
        steps = [each for step in block.steps for each in (step, found.behind.get(step)) if each is not None]
        parameters = (*block.parameters, *new.get(block.name, ()))
        pairs = enumerate(block.jumps)
        jumps = [_given(jump, found, (block.name, number), new.get(jump.target, ())) for number, jump in pairs]
        renewed.append(replace(block, parameters=parameters, steps=tuple(steps), end=_end(block, jumps)))
    return replace(program, blocks=tuple(renewed))


def _end(block: Block, jumps: list[Jump]) -> Any:
    if isinstance(block.end, Branch):
        return Branch(block.end.condition, *jumps)
    return jumps[0] if jumps else block.end


def _given(jump: Jump, found: _Found, edge: Edge, new: Sequence[Node]) -> Jump:
    """A jump with what it brings: where something is loaded for it, to a block that does so."""
    if edge in found.loaded:
        return Jump(_name(jump.target, edge))
    return replace(jump, args=(*jump.args, *(found.given[edge, parameter] for parameter in new)))


def _name(target: str, edge: Edge) -> str:
    return f"{target}_from_{edge[0]}_{edge[1]}"


def _blocks_before(program: Program, head: Block, found: _Found, new: Sequence[Node]) -> Iterator[Block]:
    """Blocks on the way to a loop, in which elements of its first round are loaded if it has one."""
    for edge, steps in found.loaded.items():
        block = program.block(edge[0])
        jump = block.jumps[edge[1]]
        if jump.target != head.name:
            continue
        name = _name(head.name, edge)
        loads = [step for step in steps if step.target == "load"]
        full = replace(jump, args=(*jump.args, *(found.given[edge, parameter] for parameter in new)))
        entered = _entered(head, jump)
        if not isinstance(entered, Node):
            yield Block(name, (), tuple(steps), full)
            continue
        empty = [anything(value.type.dtype) if value in loads else value for value in full.args]
        yield Block(name, (), (entered,), Branch(entered, Jump(f"{name}_round"), replace(jump, args=tuple(empty))))
        yield Block(f"{name}_round", (), tuple(steps), full)
