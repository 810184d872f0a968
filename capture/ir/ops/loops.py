"""``loop``: a part of the user's code with its control flow, as one node.

In: the arrays and numbers that a ``Program`` reads, and the program. Out: its results, a tuple that ``part`` takes
apart. The program has no effect but these: of operands that it writes it gets copies, whose contents are results.

>>> graph.call("loop", x, n, program=program, types=(scalar_type("f8"),))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Loop, define
from capture.ir.program import Program, run
from capture.ir.types import Type


def _infer(*operands: Any, program: Program, types: tuple[Type, ...]) -> tuple[Type, ...]:
    if len(operands) != len(program.operands):
        raise CannotInfer(f"a program of {len(program.operands)} operands")
    return types


def run_loop(*operands: Any, program: Program, types: tuple[Type, ...], **how: Any) -> tuple[Any, ...]:
    """What the node gives; ``how`` is the way to run a program."""
    given = (
        np.array(operand, order="K") if number in program.written else operand
        for number, operand in enumerate(operands)
    )
    return run(program, tuple(given), **how)


def _source(*operands: str, program: Program, types: tuple[Type, ...]) -> str:
    return f"_op('loop').reference({', '.join([*operands, f'program=_program({str(program)!r})', 'types=()'])})"


define(
    name="loop",
    signature="*operands, program, types",
    operands=("operands",),
    infer=_infer,
    gives=lambda *operands, program, types: tuple,
    reference=run_loop,
    source=_source,
    lower=Loop(),
    samples=(),
)
