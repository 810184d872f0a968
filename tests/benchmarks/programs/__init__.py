"""The benchmark programs, by concern."""

from __future__ import annotations

from tests.benchmarks.programs import (
    elementwise,
    finance,
    images,
    integers,
    networks,
    normalising,
    physics,
    reducing,
    selecting,
    statistics,
)
from tests.benchmarks.programs.program import Program

FAMILIES: tuple[tuple[Program, ...], ...] = (
    elementwise.PROGRAMS,
    reducing.PROGRAMS,
    normalising.PROGRAMS,
    networks.PROGRAMS,
    statistics.PROGRAMS,
    finance.PROGRAMS,
    images.PROGRAMS,
    physics.PROGRAMS,
    integers.PROGRAMS,
    selecting.PROGRAMS,
)
PROGRAMS = tuple(program for family in FAMILIES for program in family)
SHARE = tuple(program.name for family in FAMILIES for program in family[:2])
"""A look at each family."""

BY_NAME = {program.name: program for program in PROGRAMS}
