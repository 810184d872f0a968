"""What is said of a loop node's kernel before and after it is written, and so also where there is none.

In: where the operands and results of the node are in memory (``Bound``), and which operands the program writes. Out:
``ProgramText``, the kernel as the file of C takes it.

>>> copied_operands(program)          # def f(x): x[0] = 1; return x
{0: 0}
"""

from __future__ import annotations

from collections.abc import Mapping

from capture.inductor.loops import Memory
from capture.ir.op import Strided
from capture.ir.program import Finish, Program
from capture.records import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value of the graph is in memory."""

    memory: Memory
    view: Strided


@dataclass(frozen=True, slots=True)
class Bound:
    """The memory of a loop node: of operands (None for literals and sizes), of results that are read, by number, of the
    copies of operands that are written, and of the status.
    """

    operands: tuple[Place | None, ...]
    results: Mapping[int, Memory]
    copies: Mapping[int, Memory]
    status: Memory


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A kernel. ``raises``: its status may tell of floating-point errors. ``polls``: it looks at signals."""

    name: str
    text: str
    raises: bool
    polls: bool


def copied_operands(program: Program) -> dict[int, int | None]:
    """The written operands, each with the result that is the same array wherever the program ends, if there is one."""
    ends = [block.end.values for block in program.blocks if isinstance(block.end, Finish)]
    found: dict[int, int | None] = {}
    for number in sorted(program.written):
        operand = program.operands[number]
        same = [index for index in range(len(ends[0]) if ends else 0) if all(end[index] is operand for end in ends)]
        found[number] = same[0] if same else None
    return found
