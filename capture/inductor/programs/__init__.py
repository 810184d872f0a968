"""Programs as C: each ``loop`` node of a graph becomes one kernel.

In: a loop node and the memory of its operands and results. Out: the kernel's text.

* ``bound``     what is said of a kernel before and after it is written
* ``binding``   where operands come from and results go: buffers, sizes and strides of the call
* ``function``  blocks, jumps, variables
* ``numbers``   Python's computing with numbers, a table
* ``elements``  NumPy's with scalars and elements, by the scalar vocabulary
* ``accesses``  elements read and written at places that are computed
* ``values``    what a value is in C
* ``sharing``   loops over many elements, shared out over threads
* ``rounds``    loops whose rounds have nothing to do with each other, which ``sharing_rounds`` shares out

A kernel touches no memory but its own, so that it may *leave* at any time: where Python or NumPy would raise, warn or
give what C does not hold. The call is then given up, and the code runs as plain Python from its start.
"""

from capture.inductor.csource import CUnit
from capture.inductor.programs.bound import Bound, Place, ProgramText, copied_operands
from capture.inductor.programs.taking import taken_operands
from capture.ir.graph import Node

WORK = 10000
"""Nanoseconds that a program is taken for: long enough to run without the GIL."""

BUDGET = 1 << 20
"""Elements, and turns of loops, after which a program looks at signals."""


def render_program(node: Node, bound: Bound, unit: CUnit) -> ProgramText:
    """The kernel of a loop node; the two dozen modules that write it are imported by the first graph with a loop."""
    from capture.inductor.programs import binding

    return binding.render_program(node, bound, unit)


__all__ = ["BUDGET", "WORK", "Bound", "Place", "ProgramText", "copied_operands", "render_program", "taken_operands"]
