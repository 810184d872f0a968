"""A pass in stages: what is computed before, between and behind the calls of NumPy's inner loops.

In: the values of one pass, in order, what the pass is for, and which values are elements of dense memory. Out:
``Stage``s. Each is a loop over one piece of the
data, which is followed by calls that work on all of the piece; the last one has no calls. What a call takes and gives
stands in arrays of one piece; so does what is dear and used again behind a call. What is cheap is computed again.

    exp(x * 2) + x      stage 0:  product = x * 2, kept;   exp is called
                        stage 1:  loads exp, computes x and the sum
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from capture.inductor.loops import Loop, Value
from capture.inductor.vocabulary import DEAR
from capture.records import dataclass

PIECE = 512
"""Elements of a piece: the arrays of a few stages fit the first cache, and the cost of a call is spread."""


@dataclass(frozen=True, slots=True)
class Stage:
    """``computes`` in order; of these and of what is the same for all elements, ``keeps`` go to arrays; ``loads`` come
    from arrays of stages before; then ``calls``.
    """

    computes: tuple[Value, ...]
    loads: tuple[Value, ...]
    keeps: tuple[Value, ...]
    calls: tuple[Value, ...]


def is_call(value: Value) -> bool:
    return isinstance(value.data, Loop)


def moving(call: Value) -> list[Value]:
    """The operands of which NumPy's loop takes another element at each step."""
    return [arg for arg, still in zip(call.args, call.data.still, strict=True) if not still]


def stages(
    values: Sequence[Value], roots: Iterable[Value], ready: Iterable[Value] = (), dense: Container[Value] = ()
) -> list[Stage]:
    """The stages that compute ``roots``; values that are ``ready`` are had without their operands, calls take those
    that are ``dense`` from where they are.
    """
    leaves = set(ready)
    calls = {value for value in values if is_call(value) and value not in leaves}
    levels = _levels(values, calls, leaves)
    last = max((levels[value] + 1 for value in calls), default=0)
    called = [[value for value in values if value in calls and levels[value] == level] for level in range(last)]
    taken = ([arg for call in level for arg in moving(call) if arg not in dense] for level in called)
    goals = [*(list(dict.fromkeys(args)) for args in taken), list(roots)]
    again = _dear_ones(values, goals, calls, leaves)
    found: list[Stage] = []
    kept: set[Value] = set()
    for level, goal in enumerate(goals):
        needed = _closure(goal, set(values), kept, leaves)
        computes = tuple(value for value in values if value in needed and value not in kept)
        arguments = goal if level < last else []
        keeps = [value for value in arguments if value not in kept]
        keeps += [value for value in computes if value in again and value not in keeps and level < last]
        named = {arg for value in computes if value not in leaves for arg in value.args}
        named.update(goal if level == last else ())
        loads = tuple(value for value in values if value in named and value in kept)
        found.append(Stage(computes, loads, tuple(keeps), tuple(called[level] if level < last else ())))
        kept |= {*keeps, *found[-1].calls}
    return found


def masks_ahead(values: Sequence[Value], roots: Iterable[Value], masks: Sequence[Value]) -> tuple[Stage, Stage]:
    """The stages of a walk that keeps the elements under masks: the masks of a piece, then the steps."""
    ahead = _closure(masks, set(values), set(), set())
    behind = _closure(roots, set(values), set(masks), set()) - set(masks)
    first = Stage(tuple(value for value in values if value in ahead), (), tuple(masks), ())
    return first, Stage(tuple(value for value in values if value in behind), tuple(masks), (), ())


def _levels(values: Sequence[Value], calls: set[Value], leaves: set[Value]) -> dict[Value, int]:
    """How many calls come before each value, one after the other."""
    levels: dict[Value, int] = {}
    for value in values:
        below = () if value in leaves else [arg for arg in value.args if arg in levels]
        levels[value] = max((levels[arg] + (arg in calls) for arg in below), default=0)
    return levels


def _closure(goal: Iterable[Value], members: set[Value], kept: set[Value], leaves: set[Value]) -> set[Value]:
    """What is needed for ``goal``, down to what is kept in arrays."""
    needed: set[Value] = set()
    stack = list(goal)
    while stack:
        value = stack.pop()
        if value in needed or value not in members:
            continue
        needed.add(value)
        if value not in kept and value not in leaves:
            stack.extend(value.args)
    return needed


def _dear_ones(
    values: Sequence[Value], goals: Sequence[Iterable[Value]], calls: set[Value], leaves: set[Value]
) -> set[Value]:
    """Values that more than one stage needs and that are not computed twice."""
    seen: set[Value] = set()
    again: set[Value] = set()
    for goal in goals:
        needed = _closure(goal, set(values), calls, leaves)
        again |= {value for value in needed & seen if value.cost >= DEAR and value not in calls}
        seen |= needed
    return again
