"""Bounds of integers: the rules against all numbers of small intervals, programs against what their values are."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from capture.inductor.programs.choosing import without_short_decisions
from capture.inductor.programs.intervals import _RULES, COUNT, HIGHEST, Intervals, is_integer
from capture.ir.graph import map_nodes
from capture.ir.program import NUMBERS, STEPS, Finish, Jump, run
from tests.inductor.assembling import BOOL, INT, Assembling, array, check, leaves

ENDS = (-9, -4, -1, 0, 1, 2, 5, 8)
SMALL = [(low, high) for low in ENDS for high in ENDS if low <= high]


@pytest.mark.parametrize("symbol", sorted(_RULES))
def test_results_are_within_the_bounds_that_a_rule_gives(symbol):
    count = 1 if symbol.startswith(("unary", "math", "abs", "int", "round")) else 2
    for intervals in itertools.product(SMALL, repeat=count):
        low, high = _RULES[symbol](*intervals)
        for values in itertools.product(*(range(one, two + 1) for one, two in intervals)):
            try:
                result = NUMBERS[symbol](*values)
            except (ZeroDivisionError, ValueError):
                continue
            assert low <= result <= high, (symbol, intervals, values)


def intervals_of(program, operands=()):
    known = {node: value for node, value in zip(program.operands, operands, strict=False) if value is not None}
    return Intervals(program, known, {}, {})


def observed(program, operands):
    """What each integer is, whenever it is computed, with its block."""
    blocks = {block.name: block for block in program.blocks}
    values = dict(zip(program.operands, operands, strict=True))
    block = program.blocks[0]
    while True:
        yield from ((block, node, values[node]) for node in block.parameters if is_integer(node))
        for step in block.steps:
            values[step] = STEPS[step.target](*map_nodes(step.args, values.__getitem__), **step.params)
            if is_integer(step):
                yield block, step, values[step]
        end = block.end
        if isinstance(end, Finish):
            return
        jump = end if isinstance(end, Jump) else end.then if map_nodes(end.condition, values.__getitem__) else end.other
        block = blocks[jump.target]
        values.update(zip(block.parameters, map_nodes(jump.args, values.__getitem__), strict=True))


def random_program(seed):
    """A loop with decisions that computes with ints."""
    draw = random.Random(seed)
    asm = Assembling(n=INT, a=INT)

    def some(pool):
        return draw.choice([*pool, draw.choice((0, 1, 2, 3, 7, 16, 100, 2**31, -1, -5))])

    def expression(pool):
        for _ in range(draw.randrange(1, 4)):
            symbol = draw.choice(("+", "-", "*", "&", "|", "^", "min", "max", "%", "//", ">>", "abs", "unary ~"))
            one = some([value for value in pool if value.type is INT])
            if symbol in ("abs", "unary ~"):
                args = (one,)
            elif symbol in ("%", "//"):
                args = (one, draw.choice((1, 2, 3, 8, 10, 2**31, -3)))
            else:
                args = (one, draw.randrange(5) if symbol == ">>" else some(pool))
            pool.append(asm.number(symbol, *args, type=INT))
        return pool[-1]

    def body(i, c, d):
        symbol = draw.choice(("<", "<=", "==", "!=", ">", ">="))
        condition = asm.number(symbol, some([i, c, d, asm.a]), some([i, c, d]), type=BOOL)
        chosen = asm.choose(condition, lambda: expression([i, c, d]), lambda: expression([i, c, d, asm.a]), INT)
        bounded = asm.number(draw.choice(("%", "&")), expression([chosen, c, i]), draw.choice((5, 8, 1000)), type=INT)
        return bounded, asm.number("+", d, draw.choice((1, 2, bounded)), type=INT)

    c, d = asm.loop(asm.n, [(INT, draw.randrange(9)), (INT, 0)], body)
    return asm.done(c, d)


@pytest.mark.parametrize("seed", range(60))
def test_values_of_programs_are_within_their_bounds(seed):
    program = random_program(seed)
    known = (None, None) if seed % 2 else ((12, 12), (-4, -4))
    for operands in ((12, -4), (12, 10**6), (0, 3)) if seed % 2 else ((12, -4),):
        intervals = intervals_of(program, known)
        for block, node, value in observed(program, operands):
            intervals.enter(block)
            low, high = intervals.of(node)
            assert low <= value <= high, (node, value)


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_short_decisions_do_what_long_ones_do(seed):
    program = random_program(seed)
    chosen = without_short_decisions(program).program
    for operands in ((12, -4), (9, 10**6), (0, 3)):
        check(program, *operands)
        assert run(chosen, operands) == run(program, operands)


def test_a_generator_of_numbers_needs_no_test():
    asm = Assembling(n=INT)
    (state, even) = asm.loop(asm.n, [(INT, 12345), (INT, 0)], lambda i, state, even: lcg(asm, state, even))
    program = asm.done(state, even)
    intervals = intervals_of(program)
    steps = {step.params["symbol"]: step for step in program.steps if step.target == "number"}
    for block in program.blocks:
        intervals.enter(block)
        if steps["%"] in block.steps:
            assert intervals.of(steps["%"]) == (0, 2**31 - 1)
            assert intervals.natural(steps["*"])[1] < HIGHEST
    assert intervals.of(even) == (0, COUNT)
    check(program, 500)


def lcg(asm, state, even):
    state = asm.number("%", asm.number("*", 1103515245, state, type=INT), 2**31, type=INT)
    odd = asm.number("&", state, 1, type=INT)
    return state, asm.number("+", even, odd, type=INT)


def test_one_way_that_does_not_fit_leaves_only_there():
    def program():
        asm = Assembling(x=INT, odd=BOOL)
        grown = asm.choose(
            asm.odd,
            lambda: asm.number("+", asm.number("*", 3, asm.x, type=INT), 1, type=INT),
            lambda: asm.number("//", asm.x, 2, type=INT),
            INT,
        )
        return asm.done(grown)

    compiled = check(program(), 7, True)
    third = (2**63 - 1) // 3
    for x in (0, 1, -1, third, third - 1, third + 1, -third, -third - 1, 2**63 - 1, -(2**63)):
        fits = all(-(2**63) <= value < 2**63 for value in (3 * x, 3 * x + 1))
        assert compiled(x, True) == ((3 * x + 1,) if fits else None)
        assert compiled(x, False) == (x // 2,)
    leaves(program(), (INT,), 2**62, True)


@pytest.mark.parametrize("is_small", [False, True])
def test_division_and_shifts_by_literals(is_small):
    asm = Assembling(x=INT)
    x = asm.number("&", asm.x, 255, type=INT) if is_small else asm.x
    results = [
        asm.number(symbol, x, literal, type=INT)
        for symbol in ("//", "%")
        for literal in (1, 2, 3, 8, 200, 2**31, 2**32 + 1, -3, -8)
    ]
    results += [asm.number(">>", x, literal, type=INT) for literal in (0, 1, 31, 63, 64, 100)]
    results += [asm.number("//", literal, asm.number("|", x, 1, type=INT), type=INT) for literal in (7, -100)]
    program = asm.done(*results)
    for value in (0, 1, -1, 7, -7, 200, 255, 2**31, 2**32 + 5, -(2**40), 2**63 - 1, -(2**63) + 1):
        check(program, value)


def test_elements_of_narrow_arrays_need_no_test():
    asm = Assembling(x=array("u1", 1), out=array("i8", 1))

    def body(i):
        item = asm.number("int", asm.load(asm.x, i), type=INT)
        asm.put(asm.out, i, asm.number("+", asm.number("*", item, item, type=INT), i, type=INT))
        return []

    asm.loop(asm.size(asm.x), [], body)
    program = asm.done(asm.out, written=[1])
    product = next(step for step in program.steps if step.params.get("symbol") == "*")
    assert intervals_of(program).natural(product) == (0, 255 * 255)
    check(program, np.arange(9, dtype=np.uint8) * 30, np.zeros(9, np.int64))
