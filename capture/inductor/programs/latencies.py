"""How long a round of a loop waits for the one before, and how much it does: whether several at once are faster.

In: the blocks of a loop. Out: whether what a processor could do in the time that one round waits is much more than the
round: the longest way from what a round is given to what it gives the next one, in cycles by a rough estimate, against
the cycles that its steps take one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from capture.inductor.vocabulary import RULES
from capture.ir.graph import Node, iterate_nodes
from capture.ir.program import Block

AT_LEAST = 1.5
"""How many times as fast lanes must be, by the estimate."""
LANE = 2.7
"""Cycles that a lane costs in each turn besides its steps."""

_LONG = {"/": (13.0, 5.0), "//": (20.0, 10.0), "%": (20.0, 10.0), "**": (60.0, 40.0)}
"""How long a result is waited for, and for how long nothing else of the kind begins."""
_CALL = (40.0, 20.0)
_LOADS = ((1 << 15, 5.0), (1 << 19, 14.0), (math.inf, 40.0))
"""How long an element of an array of so many bytes is waited for."""
_WHOLE = (1.0, 0.3)
_FLOAT = (4.0, 0.5)
_CHOICE = (2.0, 1.0)


Size = Callable[[Node], int | None]
"""How many bytes an array has, where that is known."""


def gains(head: Block, blocks: Sequence[Block], lanes: int, size: Size) -> bool:
    """Whether so many rounds at once are much faster than one after the other."""
    work = sum(_times(step, size)[1] for block in blocks for step in block.steps)
    wait = _longest(head, blocks, size)
    return wait >= AT_LEAST * max(wait / lanes, work + LANE)


def _longest(head: Block, blocks: Sequence[Block], size: Size) -> float:
    """The cycles from the beginning of a round until all that it gives to the next one is there."""
    by_name = {block.name: block for block in blocks}
    known = dict.fromkeys(head.parameters, 0.0)
    given = [0.0]
    for block in (head, *(block for block in blocks if block is not head)):
        for step in block.steps:
            made_of = [known[node] for node in iterate_nodes(step.args) if node in known]
            if made_of:
                known[step] = max(made_of) + _times(step, size)[0]
        for jump in block.jumps:
            if jump.target not in by_name:
                continue
            for node, value in zip(by_name[jump.target].parameters, jump.args, strict=True):
                time = known.get(value, 0.0) if isinstance(value, Node) else 0.0
                if jump.target == head.name:
                    given.append(time)
                else:
                    known[node] = max(known.get(node, 0.0), time)
    return max(given)


def _times(step: Node, size: Size) -> tuple[float, float]:
    symbol = str(step.params.get("symbol", step.params.get("op", "")))
    dtype = getattr(step.type, "dtype", np.dtype(np.int64))
    if step.target == "load":
        bytes = size(step.args[0])
        return next(wait for most, wait in _LOADS if bytes is None or bytes <= most), 0.5
    if step.target == "select":
        return _CHOICE
    if symbol.startswith("math.") and symbol not in ("math.floor", "math.ceil", "math.trunc", "math.fabs"):
        return _LONG["/"] if symbol == "math.sqrt" else _CALL
    if symbol in _LONG and not _is_power_of_two(step.args[-1]):
        return _LONG[symbol]
    if step.target == "map" and (rule := RULES.get(symbol)) is not None and rule.cost > 1:
        return 6.0 * rule.cost, 3.0 * rule.cost
    return _FLOAT if dtype.kind in "fc" else _WHOLE


def _is_power_of_two(value: object) -> bool:
    return type(value) is int and value > 0 and value & (value - 1) == 0
