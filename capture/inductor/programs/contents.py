"""Which element of which array a step reads or writes, and which of them are different ones for certain.

In: a program. Out: ``Key``s, equal where two places are the same whatever their roots are, and whether a store may
change the element of another key:

    x[j], x[j + 1] = x[j + 1], x[j]     # (x, j + 1) is read, and once more: the store of (x, j) is elsewhere
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.inductor.programs.facts import find_owners
from capture.inductor.programs.ranges import Ranges, Term, affine
from capture.ir.graph import Node
from capture.ir.program import STORES, Block, Program
from capture.ir.types import NumberType, scalar_type

Key = tuple[Node, tuple[Term, ...]]
"""An array, and a place on each axis: a root and what is added to it."""


def key_of(step: Node) -> Key:
    """The element that a ``load`` or ``store_at`` means."""
    return step.args[0], tuple(map(affine, step.args[1]))


def stored_value(store: Node) -> Any:
    """What is loaded behind a ``store_at``: its value, or a new step that makes a scalar of the number; None where
    that is not certain."""
    dtype, value = store.args[0].type.dtype, store.args[2]
    if not isinstance(value, Node):
        fits = type(value) is float or (type(value) is int and abs(value) <= 2**24)
        return dtype.type(value) if dtype.kind == "f" and dtype.itemsize >= 4 and fits else None
    if value.type == scalar_type(dtype):
        return value
    if isinstance(value.type, NumberType) and value.type.dtype == dtype and value.type.python is not bool:
        params = {"dtype": dtype}
        return Node(f"{value.name}_stored", "step", "scalar", (value,), params, scalar_type(dtype), store.position)
    return None


class Contents:
    """What may change an element, asked block by block."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.owners = find_owners(program)
        self.ranges = Ranges(program)
        self.entered: Block | None = None

    def may_change(self, block: Block, step: Node, key: Key) -> bool:
        """Whether a step of the block may write the element."""
        if step.target not in STORES:
            return False
        array, (other, places) = step.args[0], key
        if array in self.owners and other in self.owners and self.owners[array].isdisjoint(self.owners[other]):
            return False
        if step.target != "store_at" or array is not other:
            return True
        pairs = zip(key_of(step)[1], places, strict=True)
        return not any(self.differ(block, one, two) for one, two in pairs)

    def differ(self, block: Block, one: Term, other: Term) -> bool:
        """Whether two places along an axis are different ones: neither is counted from the end."""
        return one[0] is other[0] and one[1] != other[1] and self.is_from_start(block, min(one, other, key=_offset))

    def is_from_start(self, block: Block, place: Term) -> bool:
        if place[0] is None:
            return place[1] >= 0
        if block is not self.entered:
            self.ranges.enter(block)
            self.entered = block
        return self.ranges.proves((None, 0), place)


def _offset(term: Term) -> int:
    return term[1]


def anything(dtype: np.dtype) -> np.generic:
    """A literal that stands where nobody reads it."""
    return dtype.type(0)
