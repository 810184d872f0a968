"""What was captured of a function and what was not, for people: ``capture.explain(fn)(*args)``.

In: a function and arguments; it runs once, for real. Out: a ``Report``, printed in a terminal with ``print(report)``
or written as a page with ``report.to_html(path)``. ``python -m capture explain module:function --call '…'`` does the
same from a shell.
"""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.breaks import BreakRecord
    from capture.frames.settings import Record
    from capture.frames.values.sizes import OpenSize
    from capture.ir.graph import Graph


@dataclass(frozen=True)
class GuardLine:
    """One fact that must hold for a graph to be used again, in words, and the user's line that needs it."""

    source: str
    check: str
    line: int | None
    text: str
    why: str = ""

    def __str__(self) -> str:
        known = [f"line {self.line}"] * bool(self.line) + [self.why] * bool(self.why)
        return self.text + (f"  ({', '.join(known)})" if known else "")


@dataclass(frozen=True)
class Report:
    """All that one run of a function showed.

    ``kernels`` has one entry per loop nest over the data; ``runners`` are what the backend made of each graph;
    ``sizes`` the sizes and numbers that each graph leaves open; ``specialised`` says of places that were to be open why
    their values had to be known, and where; ``loops`` of loops that are no nodes of a graph why they are not.
    """

    name: str
    result: Any
    graphs: tuple[Graph, ...]
    breaks: tuple[BreakRecord, ...]
    guards: tuple[GuardLine, ...]
    kernels: tuple[Any, ...]
    runners: tuple[Any, ...]
    sizes: tuple[tuple[OpenSize, ...], ...]
    specialised: Mapping[str, str]
    loops: Mapping[str, str]
    compile_seconds: float

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.breaks)

    @property
    def summary(self) -> str:
        ops = sum(len(graph.calls) for graph in self.graphs)
        return (
            f"{self.name}: {_count(len(self.graphs), 'graph')} with {_count(ops, 'operation')}, "
            f"{_count(len(self.breaks), 'break')}, {_count(len(self.kernels), 'kernel')}, "
            f"compiled in {self.compile_seconds * 1e3:.0f} ms"
        )

    def __str__(self) -> str:
        lines = [self.summary]
        for title, entries in self._sections():
            if entries:
                lines.append(f"{title}:")
                lines.extend(textwrap.indent(str(entry), "  ") for entry in entries)
        return "\n".join(lines)

    def _sections(self) -> tuple[tuple[str, Sequence[str]], ...]:
        return (
            ("breaks", [str(found) for found in self.breaks]),
            ("kernels", [describe_kernel(kernel) for kernel in self.kernels]),
            ("tuned", self._tuned()),
            ("open sizes", self._open_sizes()),
            ("specialised", [f"{place}: {why}" for place, why in self.specialised.items()]),
            ("loops outside of the graphs, or unrolled", [f"{place}: {why}" for place, why in self.loops.items()]),
            ("guards", [str(guard) for guard in self.guards]),
        )

    def _tuned(self) -> list[str]:
        """What measuring found of each graph."""
        plans = (getattr(runner, "plan", None) for runner in self.runners)
        return [f"{plan.name}: {plan.tuned}" for plan in plans if plan is not None and plan.tuned]

    def _open_sizes(self) -> list[str]:
        several = len(self.graphs) > 1
        return [
            f"graph {number}: {size}" if several else str(size)
            for number, sizes in enumerate(self.sizes, 1)
            for size in sizes
        ]

    def to_html(self, path: str | Path) -> None:
        """Write a page of its own, without links to anything outside, to ``path``."""
        from html import escape

        parts = [f"<h1>{escape(self.summary)}</h1>"]
        for title, entries in self._sections():
            items = "".join(f"<li><pre>{escape(entry)}</pre></li>" for entry in entries)
            parts.append(f"<h2>{title}</h2><ul>{items}</ul>" if items else f"<h2>{title}</h2><p>none</p>")
        for index, graph in enumerate(self.graphs, 1):
            parts.append(_fold(f"graph {index}: {graph.name}", str(graph)))
            parts.append(_fold(f"graph {index} as NumPy source", graph.python_code()))
        parts += [_fold(f"kernel {kernel.name}", kernel.source) for kernel in self.kernels]
        page = _PAGE.format(title=escape(self.name), body="\n".join(parts))
        Path(path).write_text(page, encoding="utf-8")


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222 }}
h1 {{ font-size: 1.3em }} h2 {{ font-size: 1.1em; margin-top: 1.5em }}
pre {{ margin: 0; white-space: pre-wrap; font: 13px/1.45 ui-monospace, monospace }}
details {{ margin: .6em 0; border: 1px solid #ddd; border-radius: 4px; padding: .4em .8em }}
</style></head><body>
{body}
</body></html>
"""


def _fold(title: str, text: str) -> str:
    from html import escape

    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def describe_kernel(kernel: Any) -> str:
    """One line: the nodes a loop nest computes, the bytes it moves and the operations it does."""
    shown = ", ".join(kernel.nodes[:8]) + (f", … {len(kernel.nodes) - 8} more" if len(kernel.nodes) > 8 else "")
    cost = f"{kernel.bytes:,} bytes, {kernel.flops:,} operations a call" if kernel.bytes else "over open sizes"
    return f"{kernel.name}: {shown}  ({cost})"


def make_report(name: str, result: Any, record: Record) -> Report:
    """The report of what ``record`` collected."""
    kernels = [
        kernel for runner in record.runners if (plan := getattr(runner, "plan", None)) for kernel in plan.kernels
    ]
    guards = dict.fromkeys(GuardLine(g.source.name(), str(g.check), g.line, str(g), g.why) for g in record.guards)
    return Report(
        name=name,
        result=result,
        graphs=tuple(record.graphs),
        breaks=tuple(record.breaks),
        guards=tuple(guards),
        kernels=tuple(kernels),
        runners=tuple(record.runners),
        sizes=tuple(record.sizes),
        specialised=dict(record.specialised),
        loops=dict(record.loops),
        compile_seconds=record.compile_seconds,
    )


def main(words: list[str] | None = None) -> int:
    """``python -m capture explain module:function --call 'function(np.ones(3))'``"""
    import argparse  # a compiled function must not wait for it

    parser = argparse.ArgumentParser(prog="python -m capture explain", description="Show what is captured of a call.")
    parser.add_argument("target", help="module:function, or path/to/file.py:function")
    parser.add_argument("--call", help="the call, e.g. 'f(np.ones(3))'; np and the module's names can be used")
    parser.add_argument("--dynamic", action="store_true", help="leave all sizes and int arguments open")
    parser.add_argument("--html", help="also write the report as a page to this file")
    parser.add_argument("--graphs", action="store_true", help="print the graphs, too")
    options = parser.parse_args(words)
    namespace, function = _find(options.target)
    call = options.call or f"{options.target.rpartition(':')[2]}()"

    import numpy as np

    from capture.api import explain

    reports: list[Report] = []

    def explained(*args: Any, **kwargs: Any) -> Any:
        reports.append(explain(function, dynamic=options.dynamic or None)(*args, **kwargs))
        return reports[-1].result

    # The shell's own words are evaluated, as they would be in a Python prompt.
    eval(call, {"np": np, **namespace, options.target.rpartition(":")[2].split(".")[-1]: explained})
    for report in reports:
        print(report)
        if options.graphs:
            print(*report.graphs, sep="\n")
    if options.html and reports:
        reports[-1].to_html(options.html)
    if not reports:
        print(f"{call!r} did not call {options.target}", file=sys.stderr)
    return 0 if reports else 1


def _find(target: str) -> tuple[dict[str, Any], Callable[..., Any]]:
    """The module's namespace and the function that ``module:function`` names."""
    module_name, _, path = target.rpartition(":")
    if not module_name:
        raise SystemExit(f"{target!r} names no function; write module:function")
    if module_name.endswith(".py"):
        sys.path.insert(0, str(Path(module_name).resolve().parent))
        module_name = Path(module_name).stem
    module = importlib.import_module(module_name)
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name)
    return vars(module), found
