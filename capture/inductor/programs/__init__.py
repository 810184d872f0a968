"""Programs as C: each ``loop`` node of a graph becomes one kernel.

In: a loop node and the memory of its operands and results. Out: the kernel's text.

* ``binding``   where operands come from and results go: buffers, sizes and strides of the call
* ``function``  blocks, jumps, variables
* ``numbers``   Python's computing with numbers, a table
* ``elements``  NumPy's with scalars and elements, by the scalar vocabulary
* ``accesses``  elements read and written at places that are computed
* ``values``    what a value is in C

A kernel touches no memory but its own, so that it may *leave* at any time: where Python or NumPy would raise, warn or
give what C does not hold. The call is then given up, and the code runs as plain Python from its start.
"""

from capture.inductor.programs.binding import Bound, Place, ProgramText, copied_operands, render_program
from capture.inductor.programs.taking import taken_operands

WORK = 10000
"""Nanoseconds that a program is taken for: long enough to run without the GIL."""

BUDGET = 1 << 20
"""Elements, and turns of loops, after which a program looks at signals."""

__all__ = ["BUDGET", "WORK", "Bound", "Place", "ProgramText", "copied_operands", "render_program", "taken_operands"]
