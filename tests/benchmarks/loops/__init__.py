"""A corpus of loops: textbook algorithms in plain NumPy, as people write them; ``PROGRAMS`` by name.

In: nothing. Out: records (``record.Loops``) whose functions are pure Python over NumPy arrays that are arguments.

>>> program = PROGRAMS["heat_1d"]
>>> program.function(*program.arguments("small"))
"""

from __future__ import annotations

from tests.benchmarks.loops import fluids, integers, learning, linear, physics, signals, stencils, tables
from tests.benchmarks.loops.record import SIZES, Loops

_FIELDS = (stencils, fluids, linear, tables, physics, integers, signals, learning)

PROGRAMS: dict[str, Loops] = {program.name: program for field in _FIELDS for program in field.PROGRAMS}

__all__ = ["PROGRAMS", "SIZES", "Loops"]
