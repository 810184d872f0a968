"""Where a break is placed: in the frame that broke, or in one of its callers.

In: the frames at a break, outermost first, and the graph so far. Out: the number of the innermost frame that is to be
resumed; the instruction that broke is then the one that this frame stands at: its own, or the call of the next one.

>>> resumable_depth([frame of f, frame of an inlined g], graph)
1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from capture.frames.libraries import is_library
from capture.frames.values.arrays import ArrayValue
from capture.frames.values.base import Lazy, Value
from capture.ir.graph import Graph

if TYPE_CHECKING:
    from capture.frames.tracer import Frame


def resumable_depth(frames: Sequence[Frame], graph: Graph) -> int:
    """The innermost frame that a break can be placed in: all frames up to there can be rebuilt.

    Library code that has computed nothing yet and holds no array is not worth it: its call runs natively.
    """
    depth = 0
    while depth + 1 < len(frames):
        inner = frames[depth + 1]
        if not inner.exact:
            break
        computed = graph.nodes[frames[depth].marks[0] : frames[-1].marks[0]]
        is_at_work = any(node.kind == "call" for node in computed) or any(map(_is_array, inner.saved_locals.values()))
        if is_library(inner.code.original) and not is_at_work:
            break
        depth += 1
    return depth


def _is_array(value: Value) -> bool:
    return isinstance(value, ArrayValue) or (isinstance(value, Lazy) and type(value.example) is np.ndarray)
