"""Makes most calls of a random program end: what raises in a plain run, and is not caught, mostly goes.

In: source whose statements stand on lines of their own. Out: source in which about one in so many such statements is
left. A program whose first line raises would try nothing of what follows.
"""

from __future__ import annotations

import ast
import re
from random import Random

from tests.fuzz_programs.check import TooLong, rehearse

SAFE = {
    "int": "1",
    "float": "0.5",
    "bool": "True",
    "str": "'a'",
    "array": "WEIGHT + 1",
    "any": "WEIGHT + 1",
    "mask": "WEIGHT > 0",
    "scalar": "WEIGHT.max()",
    "ints": "[1, 2, 3]",
    "arrays": "[WEIGHT + 1, WEIGHT]",
    "table": "{'a': 1, 'b': 2}",
    "params": "{'w': WEIGHT, 'b': WEIGHT + 1}",
    "pair": "(1, WEIGHT)",
    "set": "{1, 2}",
    "box": "Box(1, WEIGHT)",
    "fi": "abs",
    "fn": "np.abs",
    "gen": "iter([1, 2, 3])",
    "agen": "iter([WEIGHT])",
    "failure": "Wrong('kept')",
    "num": "1",
}
"""Values for variables whose own could not be computed; kinds are the beginnings of names."""
ROUNDS = 40
KEPT = 0.12
"""The share of statements that are left although they raise."""


def repaired(source: str, random: Random, file: str) -> str | None:
    """None if the program is not worth trying: endless, or wrong before the first call."""
    tree = ast.parse(source)
    kept: set[str] = set()
    for _ in range(ROUNDS):
        source = ast.unparse(tree) + "\n"
        try:
            outcomes = rehearse(source, file)
        except (TooLong, Exception):
            return None
        places = {lines[-1] for outcome in outcomes if (lines := outcome.lines_of_error())}
        places = {line for line in places if source.splitlines()[line - 1] not in kept}
        if not places:
            return source
        tree = ast.parse(source)
        for line in sorted(places):
            if random.random() < KEPT:
                kept.add(source.splitlines()[line - 1])
            else:
                _Without(line).visit(tree)
        ast.fix_missing_locations(tree)
    return source


class _Without(ast.NodeTransformer):
    """Takes the innermost statement that covers a line out."""

    def __init__(self, line: int) -> None:
        self.line = line

    def visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, ast.stmt):
            return super().generic_visit(node)
        if not self.covered(node):
            return node
        inside = any(self.covered(child) for child in ast.walk(node) if child is not node)
        return super().generic_visit(node) if inside else _instead(node)

    def covered(self, node: ast.AST) -> bool:
        """Whether it is a statement that the line is part of; new ones have no line."""
        if not isinstance(node, ast.stmt) or not hasattr(node, "lineno"):
            return False
        return node.lineno <= self.line <= (node.end_lineno or node.lineno)


def _instead(node: ast.stmt) -> ast.stmt:
    """The same variables with values that can be computed; otherwise nothing."""
    if isinstance(node, ast.Return):
        return ast.Return(ast.Constant(1))
    if isinstance(node, ast.Assign):
        names = [part.id for part in ast.walk(ast.Tuple(node.targets)) if isinstance(part, ast.Name)]
        kinds = [match[0] for name in names if (match := re.match("[a-z]+", name))]
        if names and len(kinds) == len(names) and all(kind in SAFE for kind in kinds):
            text = "; ".join(f"{name} = {SAFE[kind]}" for name, kind in zip(names, kinds, strict=True))
            return ast.If(ast.Constant(1), ast.parse(text).body, []) if len(names) > 1 else ast.parse(text).body[0]
    return ast.Pass()
