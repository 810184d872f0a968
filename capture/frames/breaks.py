"""Graph breaks: what they are called, how they are raised, and what is told to people.

In: ``raise GraphBreak("np.save has no graph form", "call")`` anywhere while a frame is traced. The tracer restores
the state before the instruction; the rest of the frame is resumed behind it. Out: a ``BreakRecord`` with the
user's file and line, for ``explain``, logs and ``fullgraph``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from capture.records import dataclass

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "call": "a call of something that has no graph form and is no plain Python function",
        "op": "a NumPy operation that refuses these operands or parameters, or whose result cannot be predicted",
        "branch": "a decision that depends on the values in an array",
        "loop": "a loop over something whose length or items are not known, or over too many items",
        "unroll": "a loop that goes on after many rounds were put into the graph",
        "attribute": "an attribute that is not found by the rules of modules, arrays, dtypes and plain classes",
        "write": "a change of something that outlives the frame",
        "overlap": "a write to memory that another array may share",
        "order": "an operation that may fail after an array of the caller was written",
        "python": "an operation on Python objects that is left to Python",
        "instruction": "a bytecode instruction that is left to Python",
        "depth": "calls nested too deep to be evaluated inline",
        "number": "a number that is another one at each call decides what is computed",
        "generator": "a generator that must exist as an object, or something that is done to it",
        "yield": "a yield of a generator that exists as an object; what is before and behind it is captured",
        "size": "a graph or a result that would become too large",
        "requested": "capture.graph_break() was called",
        "disabled": "a function marked with capture.disable was called",
        "forced": "a break asked for by a test",
        "resume": "the rest of a call that was interrupted by another break; never reported",
    }
)

HINTS: Mapping[str, str] = MappingProxyType(
    {
        "call": "call it before or after the array code, or write it as plain Python over NumPy",
        "op": "use operands and parameters that NumPy computes without a special case, or move the call out",
        "branch": "use np.where, or decide outside the compiled function",
        "loop": "write the loop as array operations, or loop over a tuple, list or short range",
        "unroll": "write the loop as array operations, or raise config.unroll_limit",
        "attribute": "read the attribute before the array code and pass the value as an argument",
        "number": "keep the number out of shapes, indices and branches, or loop outside",
        "write": "return the new value instead of changing an object of the caller",
        "overlap": "pass arrays that do not overlap, or copy one of them",
        "order": "do it before the write",
        "generator": "consume the generator where it is made to have one graph; its pieces are captured all the same",
        "yield": "consume the generator in the compiled code that makes it to have one graph",
    }
)


class GraphBreak(Exception):
    """This instruction cannot be captured; raised by handlers and values, caught by the tracer."""

    def __init__(self, reason: str, kind: str = "python", hint: str | None = None) -> None:
        if kind not in KINDS:
            raise KeyError(kind)
        super().__init__(reason)
        self.reason = reason
        self.kind = kind
        self.hint = HINTS.get(kind, "") if hint is None else hint

    def reworded(self, reason: str) -> GraphBreak:
        """The same with other words."""
        self.reason, self.args = reason, (reason,)
        return self


class Again(GraphBreak):
    """The region ends, since its writes must be done before this instruction; the next one begins with it."""


@dataclass(frozen=True, slots=True)
class BreakRecord:
    """One place where a graph ended early. ``calls`` are the places of the calls that led there, outermost first."""

    reason: str
    kind: str
    file: str
    line: int
    function: str
    hint: str
    calls: tuple[tuple[str, int, str], ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.file}:{self.line} in {self.function}: {self.reason} [{self.kind}]"]
        lines += [f"  called from {file}:{line} in {function}" for file, line, function in reversed(self.calls)]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


def record(error: GraphBreak, places: Sequence[tuple[str, int, str]]) -> BreakRecord:
    """The record of a break whose frames stand at ``places`` (file, line, function), outermost first."""
    file, line, function = places[-1]
    return BreakRecord(error.reason, error.kind, file, line, function, error.hint, tuple(places[:-1]))


def document() -> str:
    """docs/breaks.md, written from the table (a test keeps the file equal)."""
    rows = [f"| `{kind}` | {words} | {HINTS.get(kind, '')} |" for kind, words in KINDS.items()]
    return "\n".join([_DOCUMENT_HEAD, *rows, ""])


_DOCUMENT_HEAD = """\
# Graph breaks

<!-- Written by `python -m capture breaks`; change the tables in capture/frames/breaks.py instead. -->

Where an instruction cannot be captured, the graph ends before it, the instruction runs as plain Python, and a new graph
begins after it. `capture.explain(f)(*args).breaks` and `CAPTURE_LOGS=breaks` name each break's kind, reason, file, line
and what to do; with `fullgraph=True` a break raises `capture.errors.Unsupported`.

| kind | what it is | what to do |
|---|---|---|"""
