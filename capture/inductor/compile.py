"""From a graph to a callable: the whole of code generation, step by step.

In: a verified graph. Out: an executor, called with the graph's inputs; ``plan_graph`` stops at the plan, which
needs no compiler.

>>> run = compile_graph(graph)
>>> run(x, y)
(array([...]),)

decompose → lower → schedule → build nests → place memory → render → compile (cached) → load
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.errors import BackendError, LoopRefused
from capture.inductor.choices import DEFAULT, Choices
from capture.inductor.csource import VECTOR_BYTES, CUnit
from capture.inductor.loops import Loop, Memory, Reduction
from capture.inductor.lower import Lowered, Unit, known_size, lower
from capture.inductor.memory import Numbers, all_memory, is_own_array, make_buffers, number_inputs, place_in_arena
from capture.inductor.nest import Nest, build_nest
from capture.inductor.numpy_loops import LoopKey, addresses_of
from capture.inductor.overlap import copy_moved_memory
from capture.inductor.plan import (
    ExternStep,
    Flag,
    Input,
    KernelInfo,
    KernelStep,
    LeaveStep,
    MeasureStep,
    Plan,
    Step,
    Told,
    View,
)
from capture.inductor.programs import WORK, Bound, Place, render_program
from capture.inductor.render import Rendered, flagged_nodes, partials_of, render_nest, render_unit
from capture.inductor.schedule import Group, Schedule, schedule
from capture.ir.graph import Graph, Node, buffer, map_nodes
from capture.ir.op import Strided
from capture.ir.ops.fallback import directly
from capture.ir.ops.mutation import label_of_store, said_with
from capture.ir.passes.drop_dead import told_size
from capture.ir.shapes import Expr, Size, multiply, product
from capture.ir.types import ArrayType, NumberType, ObjectType

if TYPE_CHECKING:
    from capture.inductor.toolchain import Toolchain

Partials = dict[Nest, dict[Reduction, list[Memory]]]


def compile_graph(graph: Graph, options: Mapping[str, Any] | None = None) -> Any:
    """The executor of a graph, under ``options`` (fields of ``capture.config``) over those in force.

    ToolchainError without a working compiler, BackendError for what cannot be compiled.
    """
    from capture import config
    from capture.inductor import toolchain

    with config.applied(config.with_options(options or {})):
        return load_plan(plan_for(graph, toolchain.find()))


def plan_for(graph: Graph, found: Toolchain, choices: Choices = DEFAULT) -> Plan:
    """The plan of a graph for a compiler, under the options in force."""
    from capture import config

    exact = config.math == "numpy"
    return plan_graph(
        graph, simd_math=found.simd_math, exact=exact, choices=choices, vector_bytes=found.vector_bytes
    )


def load_plan(plan: Plan) -> Any:
    """The executor of a plan, compiled now if its kernels are not in the cache."""
    from capture.inductor import cache, executor, toolchain

    return executor.load(plan, str(cache.load(plan.source, toolchain.find())))


def plan_graph(
    graph: Graph,
    *,
    simd_math: bool = True,
    exact: bool = False,
    choices: Choices = DEFAULT,
    vector_bytes: int = VECTOR_BYTES,
) -> Plan:
    """The plan of a graph: C source, buffers, steps. ``simd_math``: the compiler vectorises mathematical functions;
    ``exact``: NumPy's loops compute them; ``vector_bytes``: of a register.
    """
    prepared = prepare(graph, exact=exact, choices=choices)
    return lay_out(schedule(lower(prepared, exact=exact, choices=choices)), simd_math, vector_bytes)


def prepare(graph: Graph, *, exact: bool = False, choices: Choices = DEFAULT) -> Graph:
    """The graph that is lowered: composed ops taken apart, then what every graph gains from."""
    from capture.ir.passes import (
        check_bounds,
        choose_products,
        count_masks,
        decompose,
        find_positions,
        optimize,
        settle_sizes,
    )

    graph = settle_sizes(graph)
    graph = decompose(graph if exact else choose_products(graph, choices.products))
    graph = count_masks(check_bounds(optimize(graph)))
    return copy_moved_memory(graph if exact else find_positions(graph))


def lay_out(scheduled: Schedule, simd_math: bool, vector_bytes: int) -> Plan:
    lowered = scheduled.lowered
    nests = _build_nests(scheduled)
    partials: Partials = {nest: partials_of(nest) for nest in nests.values()}
    numbers = number_inputs(lowered)
    for symbol in scheduled.told:
        numbers.measure(symbol)
    for nest in nests.values():
        for symbol, choice in nest.chosen.items():
            numbers.choose(symbol, choice)
    _allocate_late([*lowered.memory.values(), *_states(partials)], numbers)
    memories, offsets, arena = _place(scheduled, nests, partials, numbers)
    loops = _add_loops(nests.values(), memories)
    flagged = flagged_nodes(list(nests.values()), lowered.order)
    rendered = Rendered(_c_unit(memories, flagged, numbers, lowered.hints))
    rendered.unit.loops = loops
    rendered.unit.vector_bytes = vector_bytes
    rendered.unit.forms = frozenset(name for nest in nests.values() for name in nest.forms)
    for nest in nests.values():
        render_nest(rendered, nest, partials[nest])
    for unit in scheduled.loops:
        try:
            rendered.programs[unit.node] = render_program(unit.node, _bound(unit, lowered), rendered.unit)
        except BackendError as error:
            raise LoopRefused(f"{error} has no compiled form", _place_of(unit.node)) from error
    steps = _steps(scheduled, nests, rendered, numbers)
    results = tuple(map_nodes(value, lambda node: _view(node, lowered, numbers)) for value in lowered.graph.outputs)
    buffers = make_buffers(memories, offsets, numbers)
    arena_number = numbers.of(arena) if any(memory.kind == "arena" for memory in memories) else -1
    source = render_unit(rendered, f"graph {lowered.graph.name}", _sizes(numbers), simd_math)
    written = {unit.memory for unit in lowered.units if unit.memory is not None and unit.memory.kind == "input"}
    return Plan(
        name=lowered.graph.name,
        source=source,
        inputs=tuple(_input(node, lowered.memory[node] in written) for node in lowered.graph.placeholders),
        number_count=numbers.count,
        constants=tuple((number, value) for value, number in numbers.constants.items()),
        needs_sizes=bool(numbers.lines(0)),
        buffers=buffers,
        arena_bytes=arena_number,
        steps=steps,
        results=results,
        flags=tuple(Flag(_label(node), node.position and node.position.warned) for node in flagged),
        writes=bool(written),
        functions=tuple(rendered.unit.functions.values()),
        kernels=tuple(_info(nest, rendered) for nest in nests.values()) + tuple(rendered.programs_shown()),
    )


def _add_loops(nests: Iterable[Nest], memories: list[Memory]) -> dict[LoopKey, str]:
    """C of each loop of NumPy's that kernels call; their addresses are in one more buffer, a constant."""
    used = dict.fromkeys(
        (value.data.name, value.dtype) for nest in nests for value in nest.values if isinstance(value.data, Loop)
    )
    if not used:
        return {}
    addresses = np.array([addresses_of(name, dtype) for name, dtype in used], np.uintp)
    table = Memory("loops", "constant", addresses.dtype, addresses.shape, (3, 1), addresses, len(memories))
    memories.append(table)
    return {key: f"(const Loop *)buffers[{table.number}] + {row}" for row, key in enumerate(used)}


def _states(partials: Partials) -> Iterable[Memory]:
    return (memory for groups in partials.values() for group in groups.values() for memory in group)


def _allocate_late(memories: Iterable[Memory], numbers: Numbers) -> None:
    """What is only as large as the call finds out on its way has no place in the arena, which is there before."""
    for memory in memories:
        if memory.kind == "arena" and numbers.stage(memory.shape):
            memory.kind = "output"


def _sizes(numbers: Numbers) -> dict[str, list[str]]:
    """The functions that compute sizes, by name."""
    functions = {_sizes_name(stage): numbers.lines(stage) for stage in range(len(numbers.measured) + 1)}
    return {name: lines for name, lines in functions.items() if lines or name != "sizes"}


def _sizes_name(stage: int) -> str:
    return f"sizes_{stage}" if stage else "sizes"


def _build_nests(scheduled: Schedule) -> dict[Group, Nest]:
    """A nest for each group that has anything to do: domains without elements have no kernel."""
    nests: dict[Group, Nest] = {}
    for group in scheduled.groups:
        if _is_empty(group):
            continue
        last = group.units[-1].node
        nests[group] = build_nest(f"{last.name}_kernel{len(nests)}", group, scheduled)
    return nests


def _is_empty(group: Group) -> bool:
    return any(isinstance(group.axes[axis], int) and group.axes[axis] == 0 for axis in group.kept)


def _place(
    scheduled: Schedule, nests: Mapping[Group, Nest], partials: Partials, numbers: Numbers
) -> tuple[list[Memory], Mapping[Memory, Size], Size]:
    """All memory in use, the offsets of what is in the arena, and the arena's size."""
    lowered = scheduled.lowered
    lives: dict[Memory, tuple[int, int]] = {}
    used: dict[Memory, None] = {}
    for number, step in enumerate(scheduled.steps):
        for memory in _memory_of_step(step, scheduled, nests, partials):
            used[memory] = None
            if memory.kind == "arena":
                born, _ = lives.get(memory, (number, number))
                lives[memory] = (born, number)
    for value in lowered.graph.outputs:
        for node in _nodes(value):
            memory = lowered.memory[buffer(node)]
            used[memory] = None
            if memory.kind == "arena":
                lives[memory] = (lives.get(memory, (0, 0))[0], len(scheduled.steps))
    offsets, arena = place_in_arena(lives, numbers)
    return all_memory(lowered, used), offsets, arena


def _nodes(value: Any) -> Iterable[Node]:
    found: list[Node] = []
    map_nodes(value, found.append)
    return found


def _memory_of_step(
    step: Group | Unit, scheduled: Schedule, nests: Mapping[Group, Nest], partials: Partials
) -> Iterable[Memory]:
    lowered = scheduled.lowered
    if isinstance(step, Unit):
        if step.memory is not None:
            yield step.memory
        yield from (lowered.memory[part] for part in step.parts)
        yield from step.copies.values()
        for operand in step.node.inputs:
            if step.kind != "loop" or known_size(operand) is None:
                yield lowered.memory[buffer(operand)]
        return
    for unit in step.units:
        if unit.memory is not None:
            yield unit.memory
    nest = nests.get(step)
    if nest is not None:
        yield from (value.data.memory for value in nest.values if value.op == "load")
        for group in partials[nest].values():
            yield from group


def _c_unit(memories: list[Memory], flagged: list[Node], numbers: Numbers, hints: Mapping[str, int]) -> CUnit:
    unit = CUnit()
    unit.buffers = {memory: memory.number for memory in memories}
    numbers_of = {node: number for number, node in enumerate(flagged)}
    unit.flags = {node: numbers_of.get(said_with(node) or node, number) for node, number in numbers_of.items()}
    unit.unsure = frozenset(number for node, number in numbers_of.items() if "unsure" in node.op.tags)
    unit.unit_steps = frozenset(name for name, hint in hints.items() if hint == 1)
    unit.number_reads = {symbol.name: text for symbol, text in numbers.reads.items()}
    return unit


def _label(node: Node) -> str:
    """What NumPy's warnings call the operation."""
    if node.target == "store":
        return label_of_store(node)
    return node.op.label or node.op.name


# Steps, inputs, results -------------------------------------------------------------------------------------------
def _steps(scheduled: Schedule, nests: Mapping[Group, Nest], rendered: Rendered, numbers: Numbers) -> tuple[Step, ...]:
    steps: list[Step] = []
    weight = scheduled.lowered.choices.threads
    for step in scheduled.steps:
        if isinstance(step, Unit) and step.kind == "loop":
            steps.append(KernelStep(rendered.programs[step.node].name, numbers.of(1), numbers.of(WORK)))
            steps.append(LeaveStep(scheduled.lowered.memory[step.node].number))
        elif isinstance(step, Unit):
            steps.append(_LOOPLESS[step.kind](step, scheduled.lowered, numbers))
        elif step in nests:
            for launch in rendered.launches[nests[step]]:
                scratch = numbers.of(launch.scratch) if isinstance(launch.scratch, Expr) or launch.scratch else -1
                extent, work = numbers.of(launch.extent), numbers.of(multiply(launch.work, weight))
                writes = any(unit.memory is not None and unit.memory.kind == "input" for unit in step.units)
                steps.append(KernelStep(launch.symbol, extent, work, launch.grain, scratch, writes))
    return tuple(steps)


def _extern(unit: Unit, lowered: Lowered, numbers: Numbers) -> ExternStep:
    node = unit.node

    def operand(value: Any) -> Any:
        return map_nodes(value, lambda each: _view(each, lowered, numbers))

    args = tuple(map(operand, node.args))
    kwargs = tuple((name, operand(value)) for name, value in node.params.items())
    assert node.op.reference is not None  # macros do not stand in graphs
    function, told = directly(node.op.reference, *node.args, *node.params.values()), _told(node, numbers)
    if not isinstance(node.type, tuple):
        return ExternStep(function, args, kwargs, lowered.memory[node].number, told)
    numbers_of = {part.params["index"]: lowered.memory[part].number for part in unit.parts}
    result = tuple(numbers_of.get(index, -1) for index in range(len(node.type)))
    return ExternStep(function, args, kwargs, result, told)


def _told(node: Node, numbers: Numbers) -> Told | None:
    """Where the results of an extern call have the size that they tell."""
    symbol = told_size(node)
    if symbol is None:
        return None
    types = node.type if isinstance(node.type, tuple) else (node.type,)
    places = ((place, type.shape.index(symbol)) for place, type in enumerate(types) if symbol in type.shape)
    stage = numbers.stage((symbol,))
    return Told(*next(places), numbers.measured[symbol], stage, _sizes_name(stage))


def _bound(unit: Unit, lowered: Lowered) -> Bound:
    """The memory of a loop's operands and results."""
    operands = tuple(
        Place(lowered.memory[buffer(value)], _strided(value, lowered))
        if isinstance(value, Node) and known_size(value) is None
        else None
        for value in unit.node.args
    )
    results = {part.params["index"]: lowered.memory[part] for part in unit.parts}
    return Bound(operands, results, unit.copies, lowered.memory[unit.node])


def _strided(value: Node, lowered: Lowered) -> Strided:
    return lowered.strided(value) if isinstance(value.type, ArrayType) else Strided(0, (), ())


def _place_of(node: Node) -> str:
    where = node.position
    return f"{where.file}:{where.line} in {where.function}" if where is not None else ""


def _leave(unit: Unit, lowered: Lowered, numbers: Numbers) -> LeaveStep:
    return LeaveStep(lowered.memory[buffer(unit.node.args[0])].number)


def _measure(unit: Unit, lowered: Lowered, numbers: Numbers) -> MeasureStep:
    symbol = unit.node.type.size
    stage = numbers.stage((symbol,))
    where = lowered.memory[buffer(unit.node.args[0])].number
    return MeasureStep(where, numbers.measured[symbol], stage, _sizes_name(stage))


_LOOPLESS: Mapping[str, Callable[[Unit, Lowered, Numbers], Step]] = {
    "extern": _extern,
    "leave": _leave,
    "measure": _measure,
}


def _view(node: Node, lowered: Lowered, numbers: Numbers) -> View:
    """A node as an operand of an extern call or as a result."""
    memory = lowered.memory[buffer(node)]
    type = node.type
    if not isinstance(type, ArrayType) or memory.number < 0:
        python = type.python if isinstance(type, NumberType) else None
        return View(memory.number, numbers.of(0), (), (), memory.dtype, scalar=True, python=python, whole=True)
    place = lowered.strided(node)
    size = type.dtype.itemsize
    return View(
        memory.number,
        numbers.of(place.offset * size),
        numbers.all_of(place.shape),
        numbers.all_of(place.strides, size),
        type.dtype,
        scalar=type.scalar,
        whole=is_own_array(node, memory) and not (type.scalar and memory.kind == "constant"),
    )


def _input(node: Node, written: bool) -> Input:
    type = node.type
    if isinstance(type, ObjectType):
        return Input("object")
    if not isinstance(type, ArrayType):
        return Input(type.python.__name__)
    return Input("scalar" if type.scalar else "array", type.dtype, type.ndim, written)


def _info(nest: Nest, rendered: Rendered) -> KernelInfo:
    names = dict.fromkeys(value.label for value in nest.values if value.label)
    names.update((unit.node.name, None) for unit in nest.units)
    texts = [text.body for text in rendered.texts if text.name in (nest.name, f"{nest.name}_combine")]
    points = product(nest.group.axes)
    count = points if isinstance(points, int) else 0
    arithmetic = sum(value.op not in ("load", "constant", "index", "kept") for value in nest.values)
    return KernelInfo(nest.name, tuple(names), "\n".join(texts), _bytes(nest), count * arithmetic)


def _bytes(nest: Nest) -> int:
    """Bytes that one call of the nest reads and writes, each array once."""
    sizes: dict[Memory, int] = {}
    places = [write.place.memory for write in nest.writes]
    for memory in (*places, *(value.data.memory for value in nest.values if value.op == "load")):
        count = product(memory.shape)
        sizes[memory] = count * memory.dtype.itemsize if isinstance(count, int) else 0
    return sum(sizes.values())
