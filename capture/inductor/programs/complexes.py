"""Arithmetic of NumPy's complex scalars in C.

In: ``complex`` steps. Out: lines that compute with both parts, as NumPy's scalar arithmetic does; it rounds products in
a way of its own (``ir.complexes``). The program leaves where NumPy would warn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from capture.inductor.csource import local_type
from capture.inductor.loops import Builder, Value
from capture.inductor.programs.elements import Elements
from capture.inductor.programs.function import Function
from capture.ir.graph import Node

TYPES = "typedef float _Complex c64;\ntypedef double _Complex c128;\n"

_HYPOT: Mapping[np.dtype, tuple[str, str]] = {
    np.dtype("f4"): ("0_math_hypotf", 'f32 math_hypotf(f32, f32) __asm__("hypotf");\n'),
    np.dtype("f8"): ("0_math_hypot", 'f64 math_hypot(f64, f64) __asm__("hypot");\n'),
}

_RULES: Mapping[str, Callable[..., Value]] = {
    "+": lambda s, x, y: s.add(x, y),
    "-": lambda s, x, y: s.subtract(x, y),
    "*": lambda s, x, y: s.multiply(x, y),
    "/": lambda s, x, y: s.divide(x, y),
    "==": lambda s, x, y: s.equal(x, y),
    "!=": lambda s, x, y: s.not_equal(x, y),
    "unary -": lambda s, x: s.negative(x),
    "conjugate": lambda s, x: s.conjugate(x),
    "real": lambda s, x: s.real(x),
    "imag": lambda s, x: s.imag(x),
}


def write_complex(function: Function, step: Node) -> None:
    """A ``complex`` step."""
    symbol, dtype = step.params["symbol"], step.params["dtype"]
    with function.lines.block():
        elements = Elements(function, Builder(alone=True))
        operands = [elements.cast(argument, elements.operand(argument), dtype) for argument in step.args]
        if symbol == "abs":
            _write_absolute(function, step, elements, operands[0])
            return
        elements.builder.node = step
        function.assign(step, elements.text(_RULES[symbol](elements.builder, *operands)))


def _write_absolute(function: Function, step: Node, elements: Elements, operand: Value) -> None:
    """What ``hypot`` of the mathematical library gives; an infinite one of finite parts has overflowed."""
    name, text = _HYPOT[step.type.dtype]
    function.help({name: text})
    parts = [elements.text(part) for part in operand.args]
    size = function.fresh("size")
    function.lines.add(f"const {local_type(step.type.dtype)} {size} = {name.removeprefix('0_')}({', '.join(parts)});")
    function.leave_if(f"!FINITE({size}) && FINITE({parts[0]}) && FINITE({parts[1]})")
    function.assign(step, size)
