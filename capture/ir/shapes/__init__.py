"""Sizes as integer expressions, and what is known about them; see the modules for the parts.

>>> n = Symbol("n")
>>> str(maximum(n - 1, 0)), evaluate(n // 2, {"n": 7})
('max(n - 1, 0)', 3)
"""

from capture.ir.shapes.divisions import floordiv, modulo
from capture.ir.shapes.expr import Expr, Size, Symbol, TooComplex, is_static, product
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
from capture.ir.shapes.text import C_HELPERS, parse, to_c, to_python
from capture.ir.shapes.traverse import evaluate, substitute, symbols

__all__ = [
    "C_HELPERS",
    "Contradiction",
    "Expr",
    "Facts",
    "Relation",
    "Size",
    "Symbol",
    "TooComplex",
    "broadcast",
    "eq",
    "evaluate",
    "floordiv",
    "ge",
    "gt",
    "holds",
    "is_static",
    "le",
    "lt",
    "maximum",
    "minimum",
    "modulo",
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
