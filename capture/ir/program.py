"""A program: what a loop node of a graph does, as basic blocks of typed steps.

In: ``Assembler`` calls of whoever builds it (the tracer). Out: a frozen ``Program`` that prints, runs with NumPy
(``run``) and is compiled to one C function. It is the part of a graph in which control flow is left as it is:

    total(x: f64[:], n: int):
    start(x, n):
      jump head(0, 0.0)
    head(i: int, s: float):
      %more: bool = number(%i, %n, symbol='<')
      branch %more body() done()
    body():
      %item: f64() = load(%x, (%i,))
      ...

A block has parameters, steps and an end: a jump, a branch on a bool, or the results. Steps and parameters are nodes;
a value may be used in its own block and wherever control comes only by way of it. Unlike those of graphs, arrays of
programs are as in NumPy: a view shows the memory of its base, a store changes it, steps run one after the other. Sizes
of arrays are known only when the program runs; an array's type says its dtype, rank and what is certain of its strides.

Numbers are Python's: an int has no bound, an error is raised. Compiled programs *leave* where Python would raise or an
int does not fit in 64 bits: their graph's call is given up, and the same code runs as plain Python from its start. So
a program has no effect but its results: arrays that it writes are copies (``loop`` in ``ir/ops/loops.py``).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from capture.ir import op as ops
from capture.ir.graph import Node, iterate_nodes, map_nodes
from capture.ir.types import SHORT_NAMES
from capture.records import dataclass

DENSE, INNER, ANY = "dense", "inner", "any"


@dataclass(frozen=True, slots=True)
class RankedType:
    """An array in a program. ``layout``: dense (C order without gaps), inner (neighbours along the last axis are
    neighbours in memory), or any. ``ones`` are the axes that have one element for certain.
    """

    dtype: np.dtype
    ndim: int
    layout: str = ANY
    ones: frozenset[int] = frozenset()

    def __str__(self) -> str:
        sizes = ", ".join("1" if axis in self.ones else ":" for axis in range(self.ndim))
        layout = "" if self.layout == DENSE else f"{{{self.layout}}}"
        return f"{SHORT_NAMES.get(self.dtype, self.dtype)}[{sizes}]{layout}"


@dataclass(frozen=True, slots=True)
class Jump:
    """Go on at a block, with these values for its parameters: nodes and literals."""

    target: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """Go on at one of two blocks, by a bool."""

    condition: Any
    then: Jump
    other: Jump


@dataclass(frozen=True, slots=True)
class Finish:
    """The program's results.

    It leaves where an array among them, but for operands, shares memory with another result or with an operand that is
    not written: results are new arrays, and which object an array was would matter.
    """

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """Python does something here that the program does not: its graph's call is given up."""


End = Jump | Branch | Finish | Leave


def jumps_of(end: End | None) -> tuple[Jump, ...]:
    """Where control goes from the end of a block; nowhere from one that is not written yet."""
    if isinstance(end, Jump):
        return (end,)
    return (end.then, end.other) if isinstance(end, Branch) else ()


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    name: str
    parameters: tuple[Node, ...]
    steps: tuple[Node, ...]
    end: End

    @property
    def jumps(self) -> tuple[Jump, ...]:
        """Where control goes from here."""
        return jumps_of(self.end)

    @property
    def reads(self) -> tuple[Any, ...]:
        """What its end reads."""
        values = [value for jump in self.jumps for value in jump.args]
        if isinstance(self.end, Branch):
            values.append(self.end.condition)
        return (*values, *(self.end.values if isinstance(self.end, Finish) else ()))


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Blocks, the first of which is where it starts: its parameters are the program's operands.

    ``written`` are the operands that may be written: they come as copies that nobody else sees.
    """

    name: str
    blocks: tuple[Block, ...]
    written: frozenset[int] = frozenset()

    @property
    def operands(self) -> tuple[Node, ...]:
        return self.blocks[0].parameters

    @property
    def steps(self) -> Iterator[Node]:
        for block in self.blocks:
            yield from block.steps

    def block(self, name: str) -> Block:
        return next(block for block in self.blocks if block.name == name)

    def __str__(self) -> str:
        from capture.ir.program_text import format_program

        return format_program(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class Left(Exception):
    """The program came to a ``Leave``, or to a step that leaves."""


# Steps ------------------------------------------------------------------------------------------------------------
def _power(base: Any, exponent: Any) -> Any:
    return base**exponent


NUMBERS: Mapping[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": _power, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "unary -": operator.neg, "unary ~": operator.invert,
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
    "not": operator.not_, "abs": abs, "min": min, "max": max, "bool": bool, "int": int, "float": float, "round": round,
    "complex": complex, "real": operator.attrgetter("real"), "imag": operator.attrgetter("imag"),
    "conjugate": operator.methodcaller("conjugate"),
    **{f"math.{name}": getattr(math, name) for name in (
        "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "floor", "ceil", "trunc", "fabs", "pow", "isnan",
        "isinf", "isfinite", "copysign", "fmod", "erf", "erfc", "gcd")},
}  # fmt: skip
"""Python's own computing with numbers, by symbol: operands are Python numbers, or scalars for bool, int, float and
complex."""


def _number(*args: Any, symbol: str, wraps: bool = False) -> Any:
    """``wraps``: that the result fits is certain, so that nobody need look."""
    return NUMBERS[symbol](*args)


def _map(*args: Any, op: str, params: tuple[tuple[str, Any], ...] = ()) -> Any:
    """An op whose lowering is ``Pointwise``, on arrays and scalars; numbers are weak, as NEP 50 says."""
    return ops.get(op).reference(*args, **dict(params))  # type: ignore[misc]


def _reduce(a: Any, op: str, params: tuple[tuple[str, Any], ...]) -> Any:
    """An op whose lowering is ``Reduce``; its parameters hold a canonical ``axis``, and perhaps ``keepdims``."""
    return ops.get(op).reference(a, **dict(params))  # type: ignore[misc]


def _item(part: Any) -> Any:
    return slice(*part[1:]) if isinstance(part, tuple) else part


def _view(a: Any, key: tuple[Any, ...]) -> Any:
    """``a[key]`` where each item stands for one axis, but for None, a new one: an int, or ("slice", start, stop, step)
    whose parts are None or ints. The result is an array, also of rank 0."""
    return a[(*map(_item, key), ...)]


def _load(a: Any, places: tuple[Any, ...]) -> Any:
    """One element, a scalar; an int for each axis."""
    return a[places]


def _store(a: Any, value: Any) -> None:
    """``a[...] = value``; of an array that shows the same memory as if it were copied first."""
    a[...] = value


def _store_at(a: Any, places: tuple[Any, ...], value: Any) -> None:
    """Write one element: a number or a scalar."""
    a[places] = value


def _store_chosen(a: Any, places: Any, value: Any) -> None:
    """``a[places] = value``, where places are a mask of the array's shape or integers along its first axis."""
    a[places] = value


def _new(*sizes: Any, dtype: np.dtype, value: Any = None) -> Any:
    """A new array in C order, filled with a literal, or with anything (None)."""
    return np.empty(sizes, dtype) if value is None else np.full(sizes, value, dtype)


def _scalar(number: Any, dtype: np.dtype) -> Any:
    """A Python number as a NumPy scalar."""
    return dtype.type(number)


def _integer(*args: Any, symbol: str) -> Any:
    """Arithmetic of integer scalars, of which one is none: what overflows or divides by zero warns."""
    return NUMBERS[symbol](*args)


def _complex(*args: Any, symbol: str, dtype: np.dtype) -> Any:
    """Arithmetic of complex scalars, which are computed with in a dtype; numbers among the operands are weak."""
    return NUMBERS[symbol](*args)


def _part(a: Any, index: int) -> Any:
    """The real (0) or imaginary parts (1) of a complex array, in its memory."""
    return (a.real, a.imag)[index]


def _call(*args: Any, op: str, params: tuple[tuple[str, Any], ...]) -> Any:
    """A call of a function of NumPy's. Where it raises or warns the program leaves, and where its result is not of the
    step's type or not in C order."""
    try:
        with np.errstate(all="raise"):
            found = ops.get(op).reference(*args, **dict(params))  # type: ignore[misc]
    except (*ops.RAISED_AGAIN, Warning):
        raise Left(op) from None
    if isinstance(found, np.ndarray) and not found.flags.c_contiguous:
        raise Left(op)
    return found


def _matmul(left: Any, right: Any, by: str = "matmul") -> Any:
    """A product of ranks 1 and 2. ``by``: dot rounds otherwise than matmul where neighbours go backward in memory."""
    return np.dot(left, right) if by == "dot" else np.matmul(left, right)


def _which(array: Any, *others: Any) -> int:
    """The number of the array among others, by identity; the program leaves if it is none of them."""
    for number, other in enumerate(others):
        if array is other:
            return number
    raise Left("which")


STEPS: Mapping[str, Callable[..., Any]] = {
    "number": _number,
    "scalar": _scalar,
    "select": lambda condition, a, b: a if condition else b,  # of one type; no arrays
    "integer": _integer,
    "complex": _complex,
    "part": _part,
    "map": _map,
    "reduce": _reduce,
    "call": _call,
    "matmul": _matmul,
    "view": _view,
    "permute": lambda a, axes: a.transpose(axes),
    "load": _load,
    "store": _store,
    "store_at": _store_at,
    "pick": lambda a, mask: a[mask],  # a mask of the first axes, which become one: a new array
    "gather": lambda a, places: a[places],  # integers along the first axis: a new array
    "store_picked": _store_chosen,
    "store_gathered": _store_chosen,
    "size": lambda a, axis: a.shape[axis],
    "new": _new,
    "room": lambda a, count: a,  # a result of so many rows, whose type has room for more: nobody asks what they hold
    "which": _which,
    "copy": lambda a: a.copy(order="C"),
    "broadcast": lambda a, b: np.broadcast_to(a, b.shape),  # against an array of at least the rank
}
"""What a step may do, by target."""


VIEWS = frozenset({"view", "permute", "broadcast", "part", "room"})
"""Those whose result shows the memory of their first operand."""

STORES = frozenset({"store", "store_at", "store_picked", "store_gathered"})
"""Those that write their first operand."""


class AnyBlock(Protocol):
    """A block, or one that is still being written."""

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> Sequence[Node]: ...

    @property
    def steps(self) -> Sequence[Node]: ...

    @property
    def end(self) -> End | None: ...


def owners_of(blocks: Sequence[AnyBlock]) -> dict[Node, frozenset[Node]]:
    """For each array the operands and steps whose memory it may show; for each operand, itself."""
    by_name = {block.name: block for block in blocks}
    owners = {operand: frozenset({operand}) for operand in blocks[0].parameters}
    flows: list[tuple[Node, Node]] = []  # an array, and another whose memory it may show
    for block in blocks:
        for step in block.steps:
            if isinstance(step.type, RankedType):
                owners[step] = frozenset() if step.target in VIEWS else frozenset({step})
                if step.target in VIEWS:
                    flows.append((step, step.args[0]))
        for jump in jumps_of(block.end):
            pairs = zip(by_name[jump.target].parameters, jump.args, strict=True)
            flows += [(parameter, given) for parameter, given in pairs if isinstance(parameter.type, RankedType)]
    changed = True
    while changed:
        changed = False
        for node, source in flows:
            more = owners.get(node, frozenset()) | owners.get(source, frozenset())
            if more != owners.get(node):
                owners[node], changed = more, True
    return owners


# Running ----------------------------------------------------------------------------------------------------------
def _evaluated(step: Node, args: tuple[Any, ...]) -> Any:
    return STEPS[step.target](*args, **step.params)


def run(
    program: Program, operands: tuple[Any, ...], evaluate: Callable[[Node, tuple[Any, ...]], Any] = _evaluated
) -> tuple[Any, ...]:
    """What the program gives, by NumPy and Python; it writes the operands it is given."""
    blocks = {block.name: block for block in program.blocks}
    values: dict[Node, Any] = {}

    def resolve(value: Any) -> Any:
        return map_nodes(value, values.__getitem__)

    block = program.blocks[0]
    values.update(zip(block.parameters, operands, strict=True))
    while True:
        for step in block.steps:
            values[step] = evaluate(step, resolve(step.args))
        end = block.end
        if isinstance(end, Finish):
            return _finished(program, end, operands, resolve(end.values))
        if isinstance(end, Leave):
            raise Left(program.name)
        jump = end if isinstance(end, Jump) else end.then if resolve(end.condition) else end.other
        block = blocks[jump.target]
        values.update(zip(block.parameters, resolve(jump.args), strict=True))


def _finished(program: Program, end: Finish, operands: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    pairs = zip(end.values, values, strict=True)
    new = [value for node, value in pairs if isinstance(value, np.ndarray) and node not in program.operands]
    whole = [value for node, value in zip(end.values, values, strict=True) if node in program.operands]
    kept = [operand for number, operand in enumerate(operands) if number not in program.written]
    others = [value for value in (*whole, *kept) if isinstance(value, np.ndarray)]
    for number, value in enumerate(new):
        if any(np.may_share_memory(value, other) for other in (*others, *new[:number])):
            raise Left(program.name)
    return tuple(value.copy(order="C") if any(value is each for each in new) else value for value in values)


def used(program: Program) -> set[Node]:
    """The values that some step or end reads."""
    found: set[Node] = set()
    for block in program.blocks:
        for step in block.steps:
            found.update(iterate_nodes((step.args, tuple(step.params.values()))))
        found.update(iterate_nodes(block.reads))
    return found
