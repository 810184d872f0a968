"""A loop becomes a node of the graph.

In: the traced frame before the head of a loop. Out: True, and the frame stands behind the loop, its variables results
of a ``loop`` node; or False, nothing has changed, and the reason is noted.

What the program writes is copied by the node and comes back as a result: it is the array's newest contents. Of an array
from outside it is stored into it when the region ends (``Memory.rename``), so that no write comes before what may fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.loops import growing
from capture.frames.loops.evaluating import MOST_STARTS, Inside, Restart, State
from capture.frames.loops.flow import Part, part_from
from capture.frames.loops.order import is_turned, turned_arrays
from capture.frames.loops.values import (
    UNBOUND,
    EitherValue,
    GrowingList,
    GrowingType,
    InsideNumber,
    InsideScalar,
    InsideValue,
    MaybeValue,
    OneOfValue,
    UnknownValue,
)
from capture.frames.loops.worth import DECISIONS
from capture.frames.loops.writing import OpenBlock
from capture.frames.rebuild import every_part
from capture.frames.values.arrays import ArrayValue, GraphValue, graph_value
from capture.frames.values.base import NeedsNative, Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import TupleValue
from capture.frames.values.grown import Arrays, GrownList, Left
from capture.frames.values.numbers import Specialise, settled
from capture.frames.values.results import ChosenValue, ComputedNumber, computed
from capture.ir import op as ops
from capture.ir.graph import Node, buffer, root
from capture.ir.ops.gathering import INT64
from capture.ir.ops.masks import count_told
from capture.ir.program import STORES, Finish, Program, RankedType, jumps_of, owners_of
from capture.ir.types import NumberType, array_type, scalar_type
from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer


def loop_at(place: str) -> str:
    """What ``native`` calls a loop for which the backend has no code."""
    return f"loop at {place}"


def capture_loop(tracer: Tracer, frame: Frame) -> bool:
    """Put the loop whose head is the frame's current instruction into the graph, if it can be."""
    key = (id(frame.code), frame.index)
    if key in tracer.loops_left:
        return False
    depth, marks, index = len(tracer.frames), tracer.mark(), frame.index
    stack, local, evaluated = list(frame.stack), dict(frame.locals), tracer.evaluated
    position = tracer.graph.position
    loops, place = tracer.settings.record.loops, "{}:{} in {}".format(*frame.place)
    if loop_at(place) in tracer.native:
        tracer.loops_left[key] = "the backend has no code for it"
        return False
    is_loop = frame.instruction.op not in DECISIONS
    try:
        _capture(tracer, frame, marks[0], place)
        loops.pop(place, None)
        return True
    except (GraphBreak, Specialise) as stop:
        tracer.loops_left[key] = str(stop)
        if is_loop:
            loops[place] = "{}, at {}:{} in {}".format(stop, *tracer.frames[-1].place)
    finally:
        tracer.inside = None
        tracer.journal.frozen = False
        tracer.graph.position = position
    tracer.undo(marks, depth)
    tracer.evaluated = evaluated
    frame.stack[:], frame.locals, frame.index, frame.next = stack, local, index, index + 1
    frame.saved_stack, frame.saved_locals = tuple(stack), dict(local)
    return False


def _capture(tracer: Tracer, frame: Frame, start: int, place: str) -> None:
    part = part_from(frame.code, frame.index)
    whole = part if part.end is not None else part_from(frame.code, frame.index, True)
    guesses: dict[Any, Any] = {}
    _settle(tracer, frame)
    marks, depth = tracer.mark(), len(tracer.frames)
    stack, local, index = list(frame.stack), dict(frame.locals), frame.index
    head = tracer._position(frame, frame.instruction)
    for _ in range(MOST_STARTS):
        inside = tracer.inside = Inside(tracer, guesses)
        tracer.journal.frozen = True
        entry = inside.current = inside.open("start")
        inside.lists = growing.lists_of(frame)
        try:
            growing.take_lists(inside, frame)
            state = inside.evaluate(frame, whole)
            break
        except Restart:
            tracer.journal.frozen = False
            tracer.undo(marks, depth)
            frame.stack[:], frame.locals, frame.index = list(stack), dict(local), index
    else:
        raise GraphBreak("a loop whose variables do not settle", "loop")
    results = _Results(inside, tracer, frame, whole, place)
    outcome = results.collect(state)
    tracer.inside = None
    tracer.journal.frozen = False
    _require_only_operands(tracer, start)
    tracer.graph.position = head
    results.finish(entry, outcome)


def _settle(tracer: Tracer, frame: Frame) -> None:
    """Make bools of comparisons of sizes that the loop may read: within it no question of sizes can be asked."""
    live = frame.code.live_variables(frame.index)
    frame.locals.update({name: settled(tracer, value) for name, value in frame.locals.items() if name in live})


def compute_apart(tracer: Tracer, compute: Callable[[Inside], Value]) -> Value:
    """What Python computes with numbers that the graph has computed: a program without a loop."""
    return compute_all_apart(tracer, lambda inside: [compute(inside)])[0]


def compute_all_apart(tracer: Tracer, compute: Callable[[Inside], Sequence[Value]]) -> list[Value]:
    """The same of several numbers at once, by one program."""
    inside = tracer.inside = Inside(tracer, {})
    inside.position = tracer.graph.position
    entry = inside.current = inside.open("start")
    try:
        found = compute(inside)
    finally:
        tracer.inside = None
    made = [value for value in found if isinstance(value, InsideNumber | InsideScalar)]
    if any(inside.is_inside(value) for value in found if value not in made):
        raise GraphBreak("a number or a NumPy scalar, depending on what the graph computes", "number")
    if not made:
        return list(found)
    operands = list(inside.operands)
    entry.parameters[:0] = operands
    inside.current.end = Finish(tuple(value.node for value in made))
    program = Program(tracer.graph.name, tuple(block.closed() for block in inside.blocks))
    if tracer.memory.is_seen_writing():
        raise NeedsNative("late", 1)
    types = tuple(value.type for value in made)
    node = _loop_node(tracer, [inside.outer_node(parameter) for parameter in operands], program, types)
    parts = (tracer.graph.call("part", node, index=index, name="number") for index in range(len(made)))
    return [computed(next(parts)) if value in made else value for value in found]


def _loop_node(tracer: Tracer, given: Iterable[Node], program: Program, types: tuple[Any, ...]) -> Node:
    try:
        return tracer.graph.call("loop", *given, program=program, types=types)
    except ops.CannotInfer as error:
        raise tracer.refused("", error) from None


def _require_only_operands(tracer: Tracer, start: int) -> None:
    """Whatever the evaluation put into the graph itself must be what the program is given."""
    for node in tracer.graph.nodes[start:]:
        if node.kind == "call" and not node.op.is_view and node.target != "size_number":
            raise GraphBreak(f"{node.target} inside a loop", "loop")


@dataclass(frozen=True)
class Grown:
    """A list whose items are the rows of a result; ``count`` is the result that says how many, where that is not known
    before."""

    rows: int
    type: GrowingType
    count: int | None = None


@dataclass(frozen=True)
class OneOf:
    """Of several results the one with a number, which is a result itself."""

    number: Any
    options: list[Any]


class _Results:
    """What comes out of a program."""

    def __init__(self, inside: Inside, tracer: Tracer, frame: Frame, part: Part, place: str) -> None:
        self.inside, self.tracer, self.frame, self.part = inside, tracer, frame, part
        self.place = place
        self.values: list[Any] = []  # what the program finishes with
        self.chosen: dict[int, list[Value]] = {}  # place -> the arrays of which it is the number
        self.parts: list[Node] = []  # the nodes of ``values``, when there is a graph's node for the loop
        self.known: dict[int, Value] = {}  # arrays among them
        self.lists: dict[int, GrownList] = {}  # by the places of their items
        self.grown: dict[Node, GrowingList] = {}  # the lists whose items are these
        self.weak: list[Node] = []  # these must be false, or Python goes another way

    def collect(self, state: State | Value) -> Any:
        """The state behind the loop, with places of results for values of the program."""
        if isinstance(state, Value):
            return self._placed(state)
        live = self.frame.code.live_variables(self.part.end or 0)
        stack = [self._placed(value) for value in state.stack]
        local = {
            name: self._placed(value) for name, value in state.locals.items() if name in live and value is not UNBOUND
        }
        return State(tuple(stack), local)

    def _placed(self, value: Value) -> Any:
        if isinstance(value, UnknownValue):
            value.real(self.tracer)
        if isinstance(value, MaybeValue):
            self.weak.append(value.unbound)
            value = value.value
        if isinstance(value, OneOfValue):
            return OneOf(self._placed(value.number), [self._placed(option) for option in value.options])
        if isinstance(value, GrowingList):
            return self._grown(value)
        if isinstance(value, TupleValue) and self._is_made_inside(value):
            return tuple(self._placed(item) for item in value.values)
        if isinstance(value, EitherValue):
            self.weak.append(value.weak)
            return self._result(value.node)
        if isinstance(value, InsideValue):
            return value.outer if value.outer is not None else self._result(value.node)
        if self._is_made_inside(value):
            raise GraphBreak(f"{value.describe()} that a loop has made is used behind it", "loop")
        return value

    def _grown(self, value: GrowingList) -> Grown:
        """The items as one array."""
        known = next((rows for rows, each in self.grown.items() if each is value), None)
        if known is None:
            known = self._rows(value)
            self.grown[known] = value
        if known.target != "room":
            return Grown(self._result(known), value.type)
        return Grown(self._result(known), value.type, self._result(known.args[1]))

    def _rows(self, value: GrowingList) -> Node:
        """As many rows as there are items. Where their number is not known before it is the second operand."""
        inside = self.inside
        count, counts = inside.arg(value.count), growing.count_of(inside, inside.arg(value.count))
        if counts is not None:  # without any there is no array of them: Python goes on by itself
            self.weak.append(inside.arg(inside.number("==", value.count, Constant(0))))
        items = (("slice", 0, count, None), *[("slice", None, None, None)] * (value.type.buffer.ndim - 1))
        rows = inside.view(value.buffer, items).node
        if counts is not None:
            return rows
        total = inside.step("scalar", count, type=scalar_type(INT64), dtype=INT64)
        return inside.step("room", rows, total, type=value.type.buffer)

    def _is_made_inside(self, value: Value) -> bool:
        """Whether a value is of the program, or has a part that is."""
        return any(
            self.inside.is_inside(part) or isinstance(part, UnknownValue | MaybeValue) for part in every_part([value])
        )

    def _result(self, node: Any) -> int:
        for place, known in enumerate(self.values):
            if known is node:
                return place
        self.values.append(node)
        return len(self.values) - 1

    # the node -----------------------------------------------------------------------------------------------------
    def finish(self, entry: OpenBlock, outcome: Any) -> None:
        inside, tracer = self.inside, self.tracer
        if tracer.memory.is_seen_writing():
            raise NeedsNative("late", 1)
        operands = list(inside.operands)
        entry.parameters[:0] = operands
        roots = owners_of(inside.blocks)
        written = {owner for block in inside.blocks for step in block.steps if step.target in STORES
                   for owner in roots.get(step.args[0], ()) if owner in inside.operands}  # fmt: skip
        outer = {parameter: inside.outer_node(parameter) for parameter in operands}
        self._require_writable(written, outer)
        self.copied = written
        returned = {parameter for parameter in written if self._is_seen(outer[parameter], outcome)}
        while self._choose(written, returned, roots):
            pass
        self._require_own(returned, roots)
        self._require_order(outer)
        places = {parameter: self._result(parameter) for parameter in operands if parameter in returned}
        self._close()
        program = Program(
            tracer.graph.name,
            tuple(block.closed() for block in reachable(inside.blocks)),
            frozenset(number for number, parameter in enumerate(operands) if parameter in written),
        )
        types = tuple(self._type(value, roots, outer) for value in self.values)
        node = _loop_node(tracer, outer.values(), program, types)
        tracer.memory.require_order([node])
        parts = [
            tracer.graph.call("part", node, index=place, name=_name(value)) for place, value in enumerate(self.values)
        ]
        for parameter, place in places.items():
            tracer.memory.rename(outer[parameter], parts[place])
        self._go_on(outcome, parts)

    def _require_writable(self, written: set[Node], outer: Mapping[Node, Node]) -> None:
        """Operands that are written are whole arrays, or views that share memory with no other operand."""
        tracer = self.tracer
        buffers = [buffer(node) for node in outer.values()]
        for parameter in written:
            value, node = self.inside.operands[parameter], outer[parameter]
            owner = buffer(node)
            if not isinstance(value, ArrayValue) or owner.kind == "constant":
                raise GraphBreak("a constant is written inside a loop", "write")
            if buffers.count(owner) > 1 or root(node) is not node:
                raise GraphBreak("an array is written inside a loop and seen in another way there", "overlap")
            tracer.memory.require_writable(node)

    def _choose(self, written: set[Node], returned: set[Node], roots: Mapping[Any, frozenset[Node]]) -> bool:
        """Of a variable that is one of several operands the program tells which; the arrays are there already.

        True if more operands have to be ``returned`` for it.
        """
        operands = self.inside.operands
        for place, value in enumerate(self.values):
            owners = roots.get(value, frozenset())
            seen = owners & returned or owners - written
            if value in returned or not isinstance(getattr(value, "type", None), RankedType) or not seen:
                continue
            options = [parameter for parameter in operands if parameter in owners]
            if len(options) < len(owners) or not all(isinstance(operands[each], ArrayValue) for each in options):
                continue
            self.values[place] = self.inside.step("which", value, *options, type=NumberType(int))
            self.chosen[place] = [operands[each] for each in options]
            returned |= written & owners
            return True
        return False

    def _require_own(self, returned: set[Node], roots: Mapping[Any, frozenset[Node]]) -> None:
        """A result is new memory, or a written operand as a whole: of others it would have to be the same object.

        What depends on how often the loop goes round is looked at when the program has run.
        """
        alone: set[Node] = set()
        for value in self.values:
            if not isinstance(getattr(value, "type", None), RankedType) or value in returned:
                continue
            owners = roots.get(value, frozenset())
            if owners & returned:
                raise GraphBreak("which array a variable is depends on how often a loop has gone round", "loop")
            if not owners or owners <= self.inside.operands.keys() - self.copied or owners <= alone:
                raise GraphBreak("a variable is another array, or part of it, behind a loop", "loop")
            if self.part.start not in self.part.heads and owners & self.inside.operands.keys() - self.copied:
                raise GraphBreak("one of two arrays, or a new one, depending on a decision", "branch")
            alone |= owners if len(owners) == 1 else set()

    def _require_order(self, outer: Mapping[Node, Node]) -> None:
        """New arrays are in C order where NumPy's are."""
        new = [value for value in self.values if isinstance(getattr(value, "type", None), RankedType)]
        if not new:
            return
        turned = turned_arrays(self.inside.blocks, [each for each, node in outer.items() if is_turned(node.type)])
        growing.require_own_items(self.inside, owners_of(self.inside.blocks), self.values, turned)
        if not turned.isdisjoint(set(new) - self.copied):
            raise GraphBreak("an array that is not in C order comes out of a loop", "loop")

    def _is_seen(self, node: Node, outcome: Any) -> bool:
        """Whether anybody has an array behind the loop, other than as a result."""
        owner = buffer(node)
        if self.tracer.memory.is_input(owner):
            return True
        tracer, stores = self.tracer, self.tracer.outside.stores
        if not all(hasattr(store, "value") for store in stores):
            return True
        others = [frame for frame in tracer.frames if frame is not self.frame]
        values = [*_values_in(outcome), *(store.value for store in stores)]  # type: ignore[attr-defined]
        values += [value for frame in others for value in (*frame.stack, *frame.locals.values())]
        return any(
            isinstance(part, GraphValue) and part.node is not None and buffer(tracer.memory.current(part)) is owner
            for part in every_part(values)
        )

    def _close(self) -> None:
        """The last block gives the results; where a variable is still a Python number, or has no value, Python goes on
        by itself."""
        for condition in self.weak:
            if condition is True:
                raise GraphBreak("a loop that leaves a number as it is", "loop")
            self.inside.leave_if(condition)
        self.inside.current.end = Finish(tuple(self.values))

    def _type(self, value: Any, roots: Mapping[Any, frozenset[Node]], outer: Mapping[Node, Node]) -> Any:
        if not isinstance(value, Node):
            raise GraphBreak("a constant comes out of a loop", "loop")
        if value.type == NumberType(complex):
            raise GraphBreak("a complex number comes out of a loop", "loop")
        if not isinstance(value.type, RankedType):
            return value.type
        if value in outer:
            kind = outer[value].type
            return array_type(kind.dtype, kind.shape)
        shape = self._shape(value, set(), outer) if value not in self.grown else self._grown_shape(value, outer)
        if shape is None:
            raise GraphBreak("the shape of an array behind a loop is not known", "loop")
        return array_type(value.type.dtype, shape)

    def _grown_shape(self, value: Node, outer: Mapping[Node, Node]) -> Any:
        """As many rows as there are items, each as large as what is appended."""
        owner = self.grown[value]
        count = growing.count_of(self.inside, self.inside.arg(owner.count))
        if value.target == "room":
            count = growing.most_of(self.inside, self.inside.arg(owner.count), owner.type.item)
        if not isinstance(owner.type.item, RankedType):
            return (count,)
        items = (each.item for each in self.inside.appended if each.number == owner.type.number)
        shapes = (self._shape(item, set(), outer) for item in items)
        return next(((count, *shape) for shape in shapes if shape is not None), None)

    def _shape(self, value: Node, seen: set[Node], outer: Mapping[Node, Node]) -> Any:
        """The sizes that an array is taken to have: those that it had before the loop. The program looks."""
        if value in outer:
            return outer[value].type.shape
        if value in seen or not isinstance(value, Node):
            return None
        seen.add(value)
        known = self.inside.sizes_of.get(value)
        if known is not None and None not in known:
            return known
        if value.kind == "parameter":
            for block in self.inside.blocks:
                for jump in jumps_of(block.end):
                    target = next(each for each in self.inside.blocks if each.name == jump.target)
                    if value in target.parameters:
                        given = jump.args[target.parameters.index(value)]
                        found = self._shape(given, seen, outer)
                        if found is not None:
                            return found
            return None
        if value.target in ("map", "copy"):
            arrays = [arg for arg in value.args if isinstance(arg, Node) and isinstance(arg.type, RankedType)]
            shapes = [self._shape(arg, set(seen), outer) for arg in arrays]
            return _broadcast([shape for shape in shapes if shape is not None], value.type.ndim)
        return None

    # behind the loop ----------------------------------------------------------------------------------------------
    def _go_on(self, outcome: Any, parts: list[Node]) -> None:
        frame = self.frame
        self.parts = parts
        if not isinstance(outcome, State):
            frame.result = self._value(outcome)
            return
        frame.stack[:] = [self._value(found) for found in outcome.stack]
        frame.locals = {name: self._value(found) for name, found in outcome.locals.items()}
        assert self.part.end is not None
        frame.index, frame.next = self.part.end, self.part.end

    def _value(self, found: Any) -> Value:
        """The value outside of what ``_placed`` has put in its place."""
        if isinstance(found, OneOf):
            number = self._value(found.number)
            assert isinstance(number, ComputedNumber)
            return ChosenValue(number, [self._value(option) for option in found.options])
        if isinstance(found, tuple):
            return TupleValue([self._value(item) for item in found])
        if isinstance(found, Grown):
            return self._list(found)
        if isinstance(found, Value):
            return found
        node = self.parts[found]
        if found in self.chosen:
            return ChosenValue(ComputedNumber(node), self.chosen[found])
        return ComputedNumber(node) if isinstance(node.type, NumberType) else self._array(found, node)

    def _list(self, found: Grown) -> GrownList:
        """One value for each list: two names of one list stay so."""
        known = self.lists.get(found.rows)
        if known is None:
            item, record = found.type.item, self.tracer.settings.record.loops
            python = item.python if isinstance(item, NumberType) else None
            left = Left(loop_at(self.place), lambda reason: record.__setitem__(self.place, reason))
            array = self._array(found.rows, self._counted(found))
            assert isinstance(array, ArrayValue)
            is_of_arrays = isinstance(item, RankedType)
            arrays = Arrays(growing.are_distinct(self.inside, found.type.number)) if is_of_arrays else None
            known = self.lists[found.rows] = GrownList(array, python, arrays, left)
        return known

    def _counted(self, found: Grown) -> Node:
        """The rows that are filled."""
        rows, graph = self.parts[found.rows], self.tracer.graph
        if found.count is None:
            return rows
        most, *sizes = rows.type.shape
        size = count_told(graph, self.parts[found.count], most)
        starts, steps = (0,) * rows.type.ndim, (1,) * rows.type.ndim
        return graph.call("slice", rows, starts=starts, steps=steps, sizes=(size, *sizes))  # type: ignore[no-any-return]

    def _array(self, place: int, node: Node) -> Value:
        """One value for each result: two names of one array stay so."""
        found = self.known.get(place)
        if found is None:
            found = self.known[place] = graph_value(node)
        return found


def _values_in(outcome: Any) -> Iterator[Value]:
    """The values of outside in what ``collect`` gives; places of results are none."""
    if isinstance(outcome, Value):
        yield outcome
    elif isinstance(outcome, State):
        yield from _values_in((*outcome.stack, *outcome.locals.values()))
    elif isinstance(outcome, OneOf):
        yield from _values_in(tuple(outcome.options))
    elif isinstance(outcome, tuple):
        for item in outcome:
            yield from _values_in(item)


def _broadcast(shapes: list[Any], ndim: int) -> Any:
    """A shape that arrays of these have together, as far as can be seen; None if nothing is known of some axis."""
    sizes = []
    for axis in range(-ndim, 0):
        found = [shape[axis] for shape in shapes if len(shape) >= -axis]
        found = [size for size in found if size is not None]
        if not found:
            return None
        sizes.append(next((size for size in found if size != 1), 1))
    return tuple(sizes)


def _name(value: Any) -> str:
    return value.name if isinstance(value, Node) else "result"


def reachable(blocks: list[OpenBlock]) -> list[OpenBlock]:
    """Blocks that control comes to, in their order."""
    by_name = {block.name: block for block in blocks}
    seen, waiting = {blocks[0].name}, [blocks[0]]
    while waiting:
        for jump in jumps_of(waiting.pop().end):
            if jump.target not in seen:
                seen.add(jump.target)
                waiting.append(by_name[jump.target])
    return [block for block in blocks if block.name in seen]
