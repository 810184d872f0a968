"""A contender in a process of its own: ``python -m tests.benchmarks.loops.apart torch heat_1d medium 0.3``.

In: names of a contender and a program, a size, seconds. Out: one line of JSON, the fields of ``Timed``. Its calls do
not take turns with those of the others; they come right after them.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from tests.benchmarks.apart import output
from tests.benchmarks.loops.contenders import LIMIT
from tests.benchmarks.loops.record import Loops

GRACE = 60
"""Seconds to import, to be told of the limit, to find out what is right, and to measure."""


def run(name: str, program: Loops, size: str, seconds: float) -> dict[str, Any]:
    """The fields of ``Timed``."""
    out, status = output(__name__, [name, program.name, size, str(seconds)], LIMIT + GRACE + seconds)
    if status is None:
        return {"failure": f"over {LIMIT:.0f} s to compile"}
    try:
        return json.loads(out.splitlines()[-1])
    except (IndexError, ValueError):
        return {"failure": f"its process ended with {status}"}


def main() -> None:
    from tests.benchmarks.loops import PROGRAMS
    from tests.benchmarks.loops.timing import Race

    name, program, size, seconds = sys.argv[1:]
    found = Race(PROGRAMS[program], size).run([name], float(seconds))[name]
    print(json.dumps(asdict(found)), flush=True)
    os._exit(0)  # threads of compilers are not waited for


if __name__ == "__main__":
    main()
