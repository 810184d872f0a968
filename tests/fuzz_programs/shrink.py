"""Cuts a failing program down: statements, clauses and sub-expressions go as long as it fails in the same way.

In: source, and ``fails(source) -> bool``, which is False also for programs that do not run. Out: source from which
nothing can be taken away any more. It works on Python's own syntax tree, so whatever programs are made of shrinks.

>>> shrink("x = 1\\nif x:\\n    y = (2, 3)\\n    print(y)\\n", lambda source: "2" in source)
'(2,)\\n'
"""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

Edit = Callable[[], None]
LISTS = ("body", "orelse", "finalbody", "handlers", "cases", "items", "elts", "args", "keywords", "generators")
OPTIONAL = {"cause", "msg", "guard", "optional_vars", "name"}
HAVE_OPTIONAL = ast.ExceptHandler | ast.Raise | ast.Assert | ast.match_case | ast.withitem


def shrink(source: str, fails: Callable[[str], bool]) -> str:
    """The smallest program that is found; passes go over the whole tree until none takes anything away."""
    best = normal(source)
    if not fails(best):
        return source
    while True:
        smaller = _one_pass(best, fails)
        if smaller == best:
            return best
        best = smaller


def normal(source: str) -> str:
    return ast.unparse(ast.parse(source)) + "\n"


def _one_pass(source: str, fails: Callable[[str], bool]) -> str:
    """Try every edit of every node once, from the outside in; an edit that keeps the failure stays."""
    number = 0
    tried: set[str] = {source}
    while True:
        tree = ast.parse(source)
        edit = next((edit for at, edit in enumerate(_edits(tree)) if at == number), None)
        if edit is None:
            return source
        edit()
        number += 1
        candidate = _text(tree)
        if candidate is None or candidate in tried or _size(candidate) >= _size(source):
            continue
        tried.add(candidate)
        if fails(candidate):
            source = candidate
            number -= 1


def _size(source: str) -> tuple[int, int]:
    """Nodes, then characters: what gets smaller."""
    return sum(1 for _ in ast.walk(ast.parse(source))), len(source)


def _text(tree: ast.AST) -> str | None:
    try:
        source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            compile(source, "<shrunk>", "exec")
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return source


def _edits(tree: ast.AST) -> Iterator[Edit]:
    """Changes of the tree in place, the largest first."""
    nodes = list(ast.walk(tree))  # breadth first
    for node in nodes:
        for name in LISTS:
            found = getattr(node, name, None)
            if isinstance(found, list) and found:
                yield from _cuts(node, name, found)
    for node in nodes:
        for name in ("body", "orelse", "finalbody"):
            found = getattr(node, name, None)
            if isinstance(found, list):
                yield from (edit for index, part in enumerate(found) for edit in _unwrapped(found, index, part))
    for node in nodes:
        for name, part in list(ast.iter_fields(node)):
            if isinstance(part, ast.expr):
                yield from (_set(node, name, smaller) for smaller in _smaller(part))
            elif isinstance(part, list):
                for index, item in enumerate(part):
                    if isinstance(item, ast.expr):
                        yield from (_put(part, index, smaller) for smaller in _smaller(item))
            if part is not None and name in OPTIONAL and isinstance(node, HAVE_OPTIONAL):
                yield _set(node, name, None)


def _cuts(node: ast.AST, name: str, found: list[Any]) -> Iterator[Edit]:
    """Without halves, quarters …, single ones of a list; a body keeps ``pass``."""
    step = max(len(found) // 2, 1)
    while True:
        for start in range(0, len(found), step):
            yield lambda start=start, step=step: _cut(node, name, found, start, step)  # type: ignore[misc]
        if step == 1:
            return
        step = step // 2


def _cut(node: ast.AST, name: str, found: list[Any], start: int, step: int) -> None:
    if isinstance(node, ast.Dict):
        del node.keys[start : start + step]
    if isinstance(node, ast.arguments) and name == "args":
        node.defaults = node.defaults[: max(len(found) - step, 0)]
    del found[start : start + step]
    if not found and name == "body" and not isinstance(node, ast.Module):
        found.append(ast.Pass())


def _unwrapped(found: list[Any], index: int, part: ast.AST) -> Iterator[Edit]:
    """The statements inside a compound one in its place."""
    if isinstance(part, ast.FunctionDef | ast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(part, name, None)
        if isinstance(inner, list) and inner:
            yield lambda inner=inner: found.__setitem__(slice(index, index + 1), inner)  # type: ignore[misc]
    for name in ("handlers", "cases"):
        for clause in getattr(part, name, ()):
            yield lambda clause=clause: found.__setitem__(slice(index, index + 1), clause.body)  # type: ignore[misc]


def _smaller(part: ast.expr) -> Iterator[ast.expr]:
    """What may stand for an expression: its own parts, or a number."""
    if isinstance(part, ast.Constant | ast.Name):
        if isinstance(part, ast.Constant) and part.value not in (0, 1, None):
            yield ast.Constant(1)
        return
    for child in ast.iter_child_nodes(part):
        if isinstance(child, ast.expr):
            yield copy.deepcopy(child)
        elif isinstance(child, ast.keyword):
            yield copy.deepcopy(child.value)
    yield ast.Constant(1)


def _set(node: ast.AST, name: str, value: Any) -> Edit:
    return lambda: setattr(node, name, value)


def _put(found: list[Any], index: int, value: Any) -> Edit:
    return lambda: found.__setitem__(index, value)
