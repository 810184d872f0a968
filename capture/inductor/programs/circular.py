"""Sine and cosine of one angle, which the mathematical library gives in one call, for little more than one of them.

In: a program. Out: the pairs of ``math.sin`` and ``math.cos`` of the same number in one block; where the first one
stands both are computed. That ``sincos`` gives the same bits as ``sin`` and ``cos`` is looked at once.
"""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Mapping
from functools import cache

from capture.ir.graph import Node
from capture.ir.program import Program

SINE, COSINE = "math.sin", "math.cos"
HELPER = {"0_math_sincos": 'void math_sincos(f64, f64 *, f64 *) __asm__("sincos");\n'}


def find_circular(program: Program) -> Mapping[Node, tuple[Node, Node]]:
    """For each sine and cosine that has the other one: both."""
    found: dict[Node, tuple[Node, Node]] = {}
    for block in program.blocks:
        firsts: dict[tuple[str, object], Node] = {}
        for step in block.steps:
            symbol = step.params.get("symbol") if step.target == "number" else None
            if symbol in (SINE, COSINE):
                firsts.setdefault((symbol, step.args[0]), step)
        for (symbol, angle), step in firsts.items():
            if symbol == SINE and (COSINE, angle) in firsts:
                pair = step, firsts[COSINE, angle]
                found.update(dict.fromkeys(pair, pair))
    return found if found and is_the_same() else {}


@cache
def is_the_same() -> bool:
    """Whether the library's ``sincos``, if there is one, gives what Python's ``math`` gives."""
    try:
        both = ctypes.CDLL(None).sincos
    except (AttributeError, OSError):
        return False
    both.argtypes = [ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double)]
    both.restype = None
    sine, cosine, numbers = ctypes.c_double(), ctypes.c_double(), random.Random(1)
    for _ in range(500):
        angle = numbers.uniform(-1, 1) * 10 ** numbers.uniform(-9, 9)
        both(angle, ctypes.byref(sine), ctypes.byref(cosine))
        if sine.value != math.sin(angle) or cosine.value != math.cos(angle):
            return False
    return True
