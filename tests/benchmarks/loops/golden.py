"""What is captured of each program of loops: graphs, breaks, loop nodes. ``python -m tests.benchmarks.loops.golden``
prints how that differs from ``golden.txt``, ``--update`` writes it.

In: names of programs. Out: figures of two calls at small size on the eager backend, both compared with plain NumPy.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from capture.frames import hook
from tests.benchmarks.loops import PROGRAMS
from tests.helpers import Captured, captured

FILE = Path(__file__).with_name("golden.txt")


class Figures(NamedTuple):
    graphs: int
    breaks: int
    loops: int


def figures(run: Captured) -> Figures:
    loops = sum(node.target == "loop" for graph in run.record.graphs for node in graph.calls)
    return Figures(run.graphs, len(run.breaks), loops)


def run(name: str, **settings) -> Captured:
    """Two calls of the program, the second one with what the first has compiled."""
    hook.reset()  # nothing is known of frames that ran before
    program = PROGRAMS[name]
    found = captured(program.function, options={"recompile_limit": 1000}, **settings)
    for _ in range(2):
        found.on(lambda: program.arguments("small"))
    return found


def read() -> dict[str, Figures]:
    rows = (line.split() for line in FILE.read_text().splitlines())
    return {name: Figures(*map(int, numbers)) for name, *numbers in rows}


def main() -> int:
    known, now = read() if FILE.exists() else {}, {name: figures(run(name)) for name in PROGRAMS}
    for name in (name for name in now if now[name] != known.get(name)):
        print(f"{name}: {now[name]} instead of {known.get(name)}")
    if "--update" in sys.argv:
        FILE.write_text("".join(f"{name} {' '.join(map(str, row))}\n" for name, row in now.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
