"""Every error and warning the project raises on purpose.

Each message says what happened, where in the user's code, and what to do.
"""

from __future__ import annotations


class CaptureError(Exception):
    """Base of all errors raised by capture itself (never of errors raised by the user's own code)."""


class Unsupported(CaptureError):
    """A graph break under ``fullgraph=True``: the message names reason, file and line, and a hint."""


class BackendError(CaptureError):
    """A backend failed to turn a captured graph into a callable, or is not registered."""


class LoopRefused(BackendError):
    """A backend has no code for one of the loops of a graph: ``place`` is where it begins, in the words of reports."""

    def __init__(self, reason: str, place: str) -> None:
        super().__init__(reason)
        self.place = place


class ToolchainError(CaptureError):
    """No working C compiler, or the compiler refused a generated file."""


class ExportError(CaptureError):
    """A function cannot be exported as one whole graph."""


class ShapeConstraintError(CaptureError):
    """An argument violates a declared size constraint; names argument, axis, value and bound."""


class GraphError(CaptureError):
    """A graph is malformed: the verifier, the text parser or the graph builder lists every fault."""


class InternalError(CaptureError):
    """A fault of capture itself; reaches the user only under ``CAPTURE_STRICT=1``."""


class RecompileLimitWarning(UserWarning):
    """A function was compiled for too many guard sets and now runs as plain Python."""


class FallbackWarning(UserWarning):
    """Something internal failed and the code runs as plain Python instead; given once per cause."""


class Undone(Exception):
    """A run is given up before anybody has seen anything of it; plain Python does it all again."""
