"""Sizes as integer expressions, and what is known about them; see the modules for the parts.

>>> n = Symbol("n")
>>> str(maximum(n - 1, 0)), evaluate(n // 2, {"n": 7})
('max(n - 1, 0)', 3)
"""

from capture.ir.shapes.divisions import floordiv, modulo
from capture.ir.shapes.expr import Expr, Size, Symbol, TooComplex, is_static, product
from capture.ir.shapes.extremes import maximum, minimum
from capture.ir.shapes.traverse import evaluate, substitute, symbols

__all__ = [
    "Expr",
    "Size",
    "Symbol",
    "TooComplex",
    "evaluate",
    "floordiv",
    "is_static",
    "maximum",
    "minimum",
    "modulo",
    "product",
    "substitute",
    "symbols",
]
