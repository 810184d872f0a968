"""Where everything is: the numbers of a plan, its buffers, and the arena that temporaries share.

In: a schedule, the nests and the memory they use. Out: the plan's ``Buffer``s, with temporaries at offsets in one
arena such that two share bytes only if one is dead before the other is written; and ``Numbers``, which gives every
size, stride and offset its place in the array of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from capture.inductor.loops import Memory
from capture.inductor.lower import Lowered
from capture.inductor.nest import Choice
from capture.inductor.plan import Buffer
from capture.ir.graph import Node
from capture.ir.shapes import Expr, Size, Symbol, product, to_c
from capture.ir.types import ArrayType, NumberType
from capture.records import dataclass, field

ALIGNMENT = 64
LONGEST_SUM = 64
"""Nodes of the expression of an offset."""


@dataclass
class Numbers:
    """Gives sizes their numbers: constants, what the inputs hold, and what is computed from it at each call."""

    count: int = 0
    constants: dict[int, int] = field(default_factory=dict)  # value → number
    computed: dict[Expr, int] = field(default_factory=dict)
    choices: dict[Symbol, tuple[Choice, int]] = field(default_factory=dict)  # what kernels choose → number
    reads: dict[Symbol, str] = field(default_factory=dict)  # C that reads a symbol
    measured: dict[Symbol, int] = field(default_factory=dict)  # numbers that a call finds out on its way, in order

    def of(self, size: Size) -> int:
        table: dict = self.computed if isinstance(size, Expr) else self.constants
        if size not in table:
            table[size] = self.count
            self.count += 1
        return table[size]

    def all_of(self, sizes: Iterable[Size], scale: int = 1) -> tuple[int, ...]:
        return tuple(self.of(size * scale) for size in sizes)

    def measure(self, symbol: Symbol) -> None:
        """A size that the next measure step of the plan finds out."""
        self.measured[symbol] = self.count
        self.reads[symbol] = f"numbers[{self.count}]"
        self.count += 1

    def choose(self, symbol: Symbol, choice: Choice) -> None:
        """A number that each call chooses."""
        self.choices[symbol] = choice, self.count
        self.reads[symbol] = f"numbers[{self.count}]"
        self.count += 1

    def stage(self, sizes: Iterable[Size]) -> int:
        """Behind how many measure steps all of these sizes are known."""
        symbols = {symbol for size in sizes if isinstance(size, Expr) for symbol in size.symbols}
        order = list(self.measured)
        stages = [order.index(symbol) + 1 for symbol in symbols if symbol in self.measured]
        stages += [self.stage(self.choices[symbol][0].sizes) for symbol in symbols if symbol in self.choices]
        return max(stages, default=0)

    def lines(self, stage: int) -> list[str]:
        """The body of the function that computes the sizes which are known from a stage on."""
        names = {symbol.name: f"({text})" for symbol, text in self.reads.items()}
        chosen = [(c, number) for c, number in self.choices.values() if self.stage(c.sizes) == stage]
        sizes = [(size, number) for size, number in self.computed.items() if self.stage((size,)) == stage]
        lines = [f"numbers[{number}] = {_choice_text(choice, names)};" for choice, number in chosen]
        return lines + [f"numbers[{number}] = {to_c(size, names)};" for size, number in sizes]


def _choice_text(choice: Choice, names: Mapping[str, str]) -> str:
    """C that evaluates a choice."""
    value = to_c(choice.value, names)
    if not choice.where:
        return value
    tests = (f"{to_c(test.left, names)} {test.op} {to_c(test.right, names)}" for test in choice.where)
    return f"{' && '.join(tests)} ? {value} : {to_c(choice.otherwise, names)}"


def number_inputs(lowered: Lowered) -> Numbers:
    """The numbers of the inputs, and the symbols that are read from them."""
    numbers = Numbers()
    first: list[int] = []
    for node in lowered.graph.placeholders:
        first.append(numbers.count)
        if not isinstance(node.type, ArrayType):
            if isinstance(node.type, NumberType) and isinstance(node.type.size, Symbol):
                numbers.reads.setdefault(node.type.size, f"numbers[{numbers.count}]")
            numbers.count += 1
        elif not node.type.scalar:
            for axis, size in enumerate(node.type.shape):
                if isinstance(size, Symbol):
                    numbers.reads.setdefault(size, f"numbers[{numbers.count + axis}]")
            numbers.count += 2 * node.type.ndim
    placeholders = lowered.graph.placeholders
    for symbol, (number, axis) in lowered.symbols.items():
        type = placeholders[number].type
        place = first[number] + type.ndim + axis
        numbers.reads[symbol] = f"numbers[{place}] / {type.dtype.itemsize}"
    return numbers


def byte_size(memory: Memory) -> Size:
    return product(memory.shape) * memory.dtype.itemsize


def place_in_arena(lives: Mapping[Memory, tuple[int, int]], numbers: Numbers) -> tuple[dict[Memory, Size], Size]:
    """Offsets of temporaries that live from step to step, and the size of the arena.

    Larger ones first, each at the lowest offset where no other that lives at the same time is in the way. Those of open
    sizes stand behind them in a row; where their sum becomes long it is a number of its own.
    """
    offsets: dict[Memory, Size] = {}
    placed: list[tuple[int, int, tuple[int, int]]] = []
    highest = 0
    static = [memory for memory in lives if isinstance(byte_size(memory), int)]
    for memory in sorted(static, key=lambda memory: -_aligned(byte_size(memory))):
        size, (born, dies) = _aligned(byte_size(memory)), lives[memory]
        offset = 0
        for low, high, (other_born, other_dies) in sorted(placed):
            if born <= other_dies and other_born <= dies and low < offset + size and offset < high:
                offset = high
        offsets[memory] = offset
        placed.append((offset, offset + size, (born, dies)))
        highest = max(highest, offset + size)
    end: Size = highest
    for memory in lives:
        if memory not in offsets:
            offsets[memory] = end
            end = end + (byte_size(memory) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
            if isinstance(end, Expr) and end.nodes > LONGEST_SUM:
                so_far = Symbol(f"arena_{len(offsets)}", 0)
                numbers.choose(so_far, Choice(end))
                end = so_far
    return offsets, end


def _aligned(size: Size) -> int:
    assert isinstance(size, int)
    return max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)


def make_buffers(memories: Sequence[Memory], offsets: Mapping[Memory, Size], numbers: Numbers) -> tuple[Buffer, ...]:
    """The plan's buffers; every memory has its number already."""
    buffers: list[Buffer] = []
    for memory in memories:
        if memory.kind in ("output", "extern"):
            shape = numbers.all_of(memory.shape)
            strides = numbers.all_of(memory.strides, memory.dtype.itemsize)
            stage = numbers.stage((*memory.shape, *memory.strides))
            buffers.append(Buffer(memory.kind, memory.dtype, shape=shape, strides=strides, stage=stage))
        elif memory.kind == "arena":
            buffers.append(Buffer("arena", memory.dtype, arena_offset=numbers.of(offsets[memory])))
        else:
            buffers.append(Buffer(memory.kind, memory.dtype, source=memory.source))
    return tuple(buffers)


def all_memory(lowered: Lowered, used: Iterable[Memory]) -> list[Memory]:
    """Inputs first, in order, then everything else that is used; each gets its number."""
    inputs: list[Memory] = [lowered.memory[node] for node in lowered.graph.placeholders]
    others: dict[Memory, None] = dict.fromkeys(used)
    memories = inputs + [memory for memory in others if memory.kind != "input"]
    for number, memory in enumerate(memories):
        memory.number = number
    return memories


def is_own_array(node: Node, memory: Memory) -> bool:
    """Whether the node is the very array that owns the memory, not a view of it."""
    return not (node.kind == "call" and node.op.is_view) and memory.kind != "arena"
