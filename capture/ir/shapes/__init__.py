"""The size algebra: sizes as integer expressions, and what is known about them.

- ``expr``: symbols, atoms and sums; the conventions. ``divisions``, ``extremes``: the rules of their atoms.
- ``traverse``: rebuild, evaluate, substitute. ``dialect``, ``text``: Python, C, and text that parses back.
- ``relations``: statements about sizes. ``facts``: what follows from those that hold.
- ``ranges``, ``simplex``, ``lowest``: how facts reason. ``samples``, ``witness``: how they see that there is no proof.

>>> n, m = Symbol("n"), Symbol("m")
>>> str((n + 1) // 2 * 2 + maximum(m - 1, 0)), evaluate(n // 2, {"n": 7}), to_c(n // 2)
('2*((n + 1) // 2) + max(0, m - 1)', 3, 'n / 2')
>>> Facts.of(lt(n, m), le(m, 8)).bounds(n)
(0, 7)
"""

from capture.ir.shapes.divisions import floordiv, modulo
from capture.ir.shapes.expr import Expr, Size, Symbol, TooComplex, add, expand, is_static, linear, multiply, product
from capture.ir.shapes.extremes import maximum, minimum
from capture.ir.shapes.facts import Contradiction, Facts, broadcast
from capture.ir.shapes.relations import (
    Relation,
    eq,
    ge,
    gt,
    holds,
    le,
    lt,
    ne,
    negate,
    parse_relation,
    relation_to_python,
    replace,
    tidy,
)
from capture.ir.shapes.samples import Points
from capture.ir.shapes.text import C_HELPERS, parse, to_c, to_python
from capture.ir.shapes.traverse import evaluate, substitute, symbols

__all__ = [
    "C_HELPERS",
    "Contradiction",
    "Expr",
    "Facts",
    "Points",
    "Relation",
    "Size",
    "Symbol",
    "TooComplex",
    "add",
    "broadcast",
    "eq",
    "evaluate",
    "expand",
    "floordiv",
    "ge",
    "gt",
    "holds",
    "is_static",
    "le",
    "linear",
    "lt",
    "maximum",
    "minimum",
    "modulo",
    "multiply",
    "ne",
    "negate",
    "parse",
    "parse_relation",
    "product",
    "relation_to_python",
    "replace",
    "substitute",
    "symbols",
    "tidy",
    "to_c",
    "to_python",
]
