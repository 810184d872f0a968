"""Random sizes and facts against brute force: ``python -m tests.ir.fuzz_shapes --cases 1000000 --seed 1``.

A case is one expression, or one set of facts with questions, compared with Python's own arithmetic at several
values of its symbols. The first difference ends the run with what is needed to repeat it. The same checks run in
small numbers under pytest.
"""

from __future__ import annotations

import argparse
import itertools
import operator
import time
from collections.abc import Callable, Iterator
from functools import reduce
from random import Random

from capture.ir.shapes import (
    Facts,
    Relation,
    Size,
    Symbol,
    TooComplex,
    evaluate,
    holds,
    maximum,
    minimum,
    negate,
    parse,
    parse_relation,
    substitute,
    tidy,
    to_python,
)
from capture.ir.shapes.relations import COMPARE
from capture.ir.shapes.samples import GENERAL, Points
from capture.ir.shapes.traverse import ALGEBRA, fold, without_modulo

Tree = int | Symbol | tuple
Env = dict[str, int]

OPERATIONS: dict[str, tuple[Callable[..., Size], Callable[..., int]]] = {
    "+": (operator.add, operator.add),
    "-": (operator.sub, operator.sub),
    "*": (operator.mul, operator.mul),
    "//": (operator.floordiv, operator.floordiv),
    "%": (operator.mod, operator.mod),
    "min": (minimum, min),
    "max": (maximum, max),
}
NAMES = tuple(OPERATIONS)
LOWS, SPANS = (0, 0, 0, 1, 2, -3, None), (0, 3, 6, None, None, None)


def random_symbols(random: Random, count: int = 3) -> list[Symbol]:
    found = []
    for name in "nmk"[:count]:
        low, span = random.choice(LOWS), random.choice(SPANS)
        found.append(Symbol(name, low, None if span is None else (low or 0) + span))
    return found


def random_tree(random: Random, leaves: list[Symbol], depth: int) -> Tree:
    if depth == 0 or random.random() < 0.15:
        return random.choice(leaves) if random.random() < 0.7 else random.randint(-4, 12)
    left = random_tree(random, leaves, depth - 1)
    if random.random() < 0.35:
        return (random.choice(("//", "%", "*")), left, random.choice((2, 3, 4, 6, 12, -3)))
    return (random.choice(NAMES), left, random_tree(random, leaves, depth - 1))


def build(tree: Tree) -> Size:
    """The tree in the algebra; ZeroDivisionError where it divides by the constant zero."""
    if not isinstance(tree, tuple):
        return tree
    return OPERATIONS[tree[0]][0](*map(build, tree[1:]))


def direct(tree: Tree, env: Env) -> int:
    """The tree in plain Python."""
    if isinstance(tree, Symbol):
        return env[tree.name]
    if isinstance(tree, int):
        return tree
    return OPERATIONS[tree[0]][1](*(direct(part, env) for part in tree[1:]))


def value_or_none(tree: Tree, env: Env) -> int | None:
    try:
        return direct(tree, env)
    except ZeroDivisionError:
        return None


def random_env(random: Random, leaves: list[Symbol]) -> Env:
    env = {}
    for symbol in leaves:
        low = symbol.low if symbol.low is not None else (symbol.high or 0) - 7
        high = symbol.high if symbol.high is not None else low + random.choice((3, 8, 40))
        env[symbol.name] = random.randint(low, max(low, high))
    return env


def box(leaves: list[Symbol]) -> Iterator[Env]:
    """All small values of the symbols."""
    sides = []
    for symbol in leaves:
        low = symbol.low if symbol.low is not None else (symbol.high or 0) - 4
        high = min(symbol.high if symbol.high is not None else low + 6, low + 6)
        sides.append(range(low, high + 1))
    names = [symbol.name for symbol in leaves]
    return (dict(zip(names, values, strict=True)) for values in itertools.product(*sides))


def check_expression(random: Random) -> None:
    """Normal form, bounds, text and substitution of one random expression."""
    leaves = random_symbols(random)
    tree = random_tree(random, leaves, random.choice((1, 2, 2, 3, 3, 4)))
    try:
        size = build(tree)
    except (ZeroDivisionError, TooComplex):
        return
    envs = [random_env(random, leaves) for _ in range(8)]
    forms = {"normal form": size, "parsed": parse(str(size))}
    try:
        low, high = Facts().bounds(size)
        forms["simplified"] = Facts().simplify(size)
        forms["without modulo"] = without_modulo(size)
    except ZeroDivisionError:
        assert all(value_or_none(tree, env) is None for env in envs), f"{size} has values"
        return
    except TooComplex:  # only the last form may grow
        pass
    assert forms["parsed"] == size and hash(forms["parsed"]) == hash(size), (tree, str(size))
    assert fold(size, lambda atom: None, ALGEBRA) == size, f"not stable: {size}"
    python = compile(to_python(size), "<size>", "eval")
    for point, value in enumerate(GENERAL.of(size)):
        expected = value_or_none(tree, {symbol.name: GENERAL.of(symbol)[point] for symbol in leaves})
        assert expected is None or value == expected, f"{value} for {size} at point {point}, not {expected}"
    for env in envs:
        expected = value_or_none(tree, env)
        if expected is None:
            continue
        for kind, form in forms.items():
            assert evaluate(form, env) == expected, f"{kind} {form} of {tree} at {env} should be {expected}"
        assert eval(python, {}, dict(env)) == expected, (to_python(size), tree, env)
        assert (low is None or low <= expected) and (high is None or expected <= high), (str(size), low, high, env)
        constants = {symbol: env[symbol.name] for symbol in leaves[:2]}
        assert evaluate(substitute(size, constants), env) == expected, (str(size), constants)


def random_relation(random: Random, leaves: list[Symbol]) -> tuple[Tree, Tree, Relation] | None:
    depth = random.choice((0, 1, 1, 2))
    left, right = random_tree(random, leaves, depth), random_tree(random, leaves, random.choice((0, 0, 1)))
    try:
        return left, right, Relation(random.choice(tuple(COMPARE)), build(left), build(right))
    except ZeroDivisionError:
        return None


def truth(relation: tuple[Tree, Tree, Relation], env: Env) -> bool | None:
    """By plain Python; None where a side has no value."""
    left, right = value_or_none(relation[0], env), value_or_none(relation[1], env)
    return None if left is None or right is None else COMPARE[relation[2].op](left, right)


def random_facts(random: Random, leaves: list[Symbol]) -> tuple[list[tuple[Tree, Tree, Relation]], Env]:
    """Relations that all hold at some place, and that place."""
    witness = random.choice(list(box(leaves)))
    found = []
    for _ in range(random.choice((1, 2, 3, 4))):
        left, right, relation = random_relation(random, leaves) or (0, 0, Relation("==", 0, 0))
        verdict = truth((left, right, relation), witness)
        if verdict is not None:
            found.append((left, right, relation) if verdict else negated(left, right, relation))
    return found, witness


def negated(left: Tree, right: Tree, relation: Relation) -> tuple[Tree, Tree, Relation]:
    opposite = negate(relation)
    return (left, right, opposite) if opposite.op in ("==", "!=") else (right, left, opposite)


def check_facts(random: Random) -> None:
    """Decisions, bounds, simpler sizes and minimal guards under random facts."""
    leaves = random_symbols(random, random.choice((2, 3)))
    assumed, witness = random_facts(random, leaves)
    relations = [relation for *_, relation in assumed]
    at_hand = random.choice((None, witness, random_env(random, leaves)))
    facts = reduce(Facts.assume, relations, Facts(points=Points(at_hand)))
    where = [env for env in box(leaves) if all(truth(relation, env) for relation in assumed)]
    try:
        check_question(facts, random_relation(random, leaves), where)
        check_size(facts, random_tree(random, leaves, 2), where)
        kept = Facts().minimal(relations)
        check_guards(assumed, kept, list(box(leaves)))
        assert Facts().minimal(relations, witness) == kept, f"near {witness} other relations are needed"
    except AssertionError as error:
        raise AssertionError(f"under {list(map(str, relations))}, {at_hand} at hand: {error}") from error


def check_question(facts: Facts, question: tuple[Tree, Tree, Relation] | None, where: list[Env]) -> None:
    if question is None:
        return
    truths = [truth(question, env) for env in where]
    try:
        answer = facts.decide(question[2])
    except ZeroDivisionError:
        assert set(truths) <= {None}, f"{question[2]} can be decided"
        return
    assert answer is None or set(truths) <= {answer, None}, f"{question[2]} is not {answer}"


def check_size(facts: Facts, tree: Tree, where: list[Env]) -> None:
    values = [value_or_none(tree, env) for env in where]
    try:
        size = build(tree)
        simple, (low, high) = facts.simplify(size), facts.bounds(size)
    except ZeroDivisionError:
        assert set(values) <= {None}, f"{tree} has values"
        return
    for env, value in zip(where, values, strict=True):
        if value is not None:
            assert evaluate(simple, env) == value, f"{size} is not {simple} at {env}"
            assert (low is None or low <= value) and (high is None or value <= high), f"{size}, {low}, {high}, {env}"


def check_guards(assumed: list[tuple[Tree, Tree, Relation]], kept: tuple[Relation, ...], where: list[Env]) -> None:
    """The relations that are kept hold only where all do; their text and tidy forms say the same."""
    for *_, relation in assumed:
        assert parse_relation(str(relation)) == relation, str(relation)
    for env in where:
        truths = [truth(relation, env) for relation in assumed]
        if None in truths:
            continue
        for (*_, relation), expected in zip(assumed, truths, strict=True):
            assert holds(tidy(relation), env) == expected, f"{relation} is not {tidy(relation)} at {env}"
        assert all(truths) or not all(holds(relation, env) for relation in kept), f"{list(map(str, kept))} at {env}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    for case in range(options.cases):
        check = check_facts if case % 4 == 3 else check_expression
        try:
            check(Random(f"{options.seed}/{case}"))
        except Exception as error:
            raise SystemExit(f"{check.__name__}(Random('{options.seed}/{case}')): {error!r}") from error
    print(f"{options.cases} cases agree, in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
