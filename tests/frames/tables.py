"""Tables of small programs: how they are written down, and every break that can be forced in them.

>>> programs = expressions("sum :: sum(a * 2 for a in (x, y))", globals())
>>> programs["sum"](1, 2)
6
"""

from __future__ import annotations

from types import CodeType

from capture.frames.bytecode import decode
from capture.frames.handlers import can_break
from tests.helpers import captured, numbers


def expressions(text, namespace):
    """A function of two arrays for each row ``name :: expression``."""
    rows = (row.split(" :: ", 1) for row in text.strip().splitlines())
    return {name: eval(f"lambda x, y: {expression}", dict(namespace)) for name, expression in rows}


def whole(function, rounds=3):
    """Run it, with the same outcome as plain Python, as one graph without a break and without a second variant."""
    run = captured(function)
    for _ in range(rounds):
        run(numbers(3), numbers(3) + 1)
    assert run.breaks == []
    assert run.graphs == 1 and len(run.record.variants) == 1


def broken(function, rounds=3):
    """Run it; the numbers of graphs and breaks."""
    run = captured(function)
    for _ in range(rounds):
        run(numbers(3), numbers(3) + 1)
    return run.graphs, len(run.breaks)


def break_everywhere(function, *others):
    """Run it with a break at each instruction of it, of the functions written in it and of ``others``; and at all."""
    for code in codes(function.__code__, *(other.__code__ for other in others)):
        for instruction in decode(code).instructions:
            if can_break(instruction):
                at = instruction.index
                _run_twice(function, lambda c, i, code=code, at=at: c is code and i == at)
    _run_twice(function, lambda code, index: True)


def codes(*found):
    """Code objects and those in them."""
    for code in found:
        yield code
        yield from codes(*(value for value in code.co_consts if isinstance(value, CodeType)))


def _run_twice(function, force):
    run = captured(function, force_break=force)
    run(numbers(3), numbers(3) + 1)
    run(numbers(3), numbers(3) + 1)
