"""Every frame goes through the tracer: the hook armed for all code but our own, whether there is array work or not.

In: code between ``begin`` and ``end``. Out: what the hook counted, how many operations graphs
have and how often they ran, and why regions ended.

>>> mode = Capturing()
>>> mode.begin(), run_test(), mode.end()
>>> mode.figures()["captured"]
12
"""

from __future__ import annotations

import os
import re
from collections import Counter
from types import CodeType
from typing import Any

from capture import config
from capture.backends import eager
from capture.frames import frontend, hook
from capture.frames.settings import Backend, Runner, Settings
from capture.frames.values.binding import why_not_inline
from capture.ir.graph import Graph
from tests.everything.counting import LEFT_OUT

OPTIONS = config.with_options({"strict": True})
MOST_REASONS = 60


class Capturing:
    """Frames of this thread that start between ``begin`` and ``end`` are captured."""

    def __init__(self) -> None:
        self.keeps = "EVERYTHING_REASONS" in os.environ  # what is kept alive for them may change outcomes
        self.variants: list[hook.Variant] = []
        self.plain: Counter[str] = Counter()
        self.totals = Counter(graphs=0, operations=0, **{"operations run": 0})
        self.backend = counting(self.totals)
        hook.set_nested(False)
        hook.set_callbacks(self._miss, is_wanted)

    def begin(self) -> None:
        hook.arm()

    def end(self) -> None:
        hook.disarm()

    def figures(self) -> dict[str, Any]:
        hook.set_callbacks(None, None)
        found: dict[str, Any] = {**hook.counts(), **self.totals}
        if self.keeps:
            found["reasons"] = self._reasons().most_common(MOST_REASONS)
            found["left plain"] = self.plain.most_common(MOST_REASONS)
        return found

    def _miss(self, entry: hook.Entry, arguments: tuple[Any, ...]) -> hook.Variant | None:
        settings = vars(entry).get("settings")
        if settings is None:
            settings = entry.settings = Settings(self.backend, options=OPTIONS, judge=self._judge, always=True)
        variant = frontend.compile_call(entry, arguments, settings)
        if variant is None and self.keeps:
            self.plain[f"{why_not_inline(entry.code) or 'limit'}: {entry.code.co_qualname}"] += 1
        return variant

    def _judge(self, entry: hook.Entry, arguments: tuple[Any, ...], variant: hook.Variant) -> hook.Variant:
        if self.keeps:
            self.variants.append(variant)
        hook.mark(entry, True, False)
        return variant

    def _reasons(self) -> Counter[str]:
        """How often regions ended for each reason; an empty one is the end of the function."""
        found: Counter[str] = Counter()
        for variant in self.variants:
            broke = variant.info.broke
            found["" if broke is None else f"{broke.kind}: {general(broke.reason)}"] += variant.hits
        return found


def general(words: str) -> str:
    """A reason without what differs from place to place."""
    return re.sub(r"'[^']*'|0x[0-9a-f]+|\d+", "…", words)


def is_wanted(code: CodeType) -> bool:
    return not code.co_filename.startswith(LEFT_OUT)


def counting(totals: Counter[str]) -> Backend:
    """The eager backend; the Python code that it runs is not the program's. Operations and their runs are counted."""

    def quietly(graph: Graph, examples: tuple[Any, ...]) -> Runner:
        run, size = eager(graph, examples), len(graph.calls)
        totals["graphs"] += 1
        totals["operations"] += size

        def run_quietly(*inputs: Any) -> tuple[Any, ...] | None:
            hook.begin_quiet()
            try:
                found = run(*inputs)
            finally:
                hook.end_quiet()
            totals["operations run"] += 0 if found is None else size
            return found

        return run_quietly

    return quietly
