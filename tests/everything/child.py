"""One module of tests in one mode, in a process of its own; what happens is written line by line, crash or not.

In: ``python -m tests.everything.child MODE KIND NAME OUTPUT``. Out: a file of JSON lines: ``["begins", test]``,
``["outcome", test, outcome, words]``, and at the end ``["figures", {…}]``.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import re
import sys
import time
from collections import Counter
from typing import Any, TextIO

os.environ["CAPTURE_STRICT"] = "1"  # read once, when capture is imported

import capture  # noqa: F401  all modes have it, so that they differ in nothing else
from tests.everything.capturing import Capturing
from tests.everything.counting import Counting
from tests.everything.reassembling import Reassembling


class Log:
    """Writes what becomes of each test, under a name that is the same in each run."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.names: Counter[str] = Counter()

    def begin(self, test: str) -> str:
        """The name that a test goes by: addresses left out, numbered where several have one."""
        name = re.sub(r"0x[0-9a-fA-F]{6,}", "0x…", test)
        self.names[name] += 1
        name += f" #{self.names[name]}" if self.names[name] > 1 else ""
        self.write("begins", name)
        return name

    def write(self, *words: Any) -> None:
        self.file.write(json.dumps(words) + "\n")
        self.file.flush()


class Plain:
    """A test is run as it is."""

    def begin(self) -> None: ...

    def end(self) -> None: ...

    def figures(self) -> dict[str, Any]:
        return {}


MODES: dict[str, Any] = {"plain": Plain, "count": Counting, "captured": Capturing, "reassembled": Reassembling}
SUITES = {"cpython": "tests.everything.cpython", "numpy": "tests.everything.numpys"}


def main() -> None:
    mode_name, kind, name, output = sys.argv[1:]
    faulthandler.enable()
    del sys.argv[1:]
    run = importlib.import_module(SUITES[kind]).run
    with open(output, "w") as file:
        log = Log(file)
        start = time.perf_counter()
        mode = MODES[mode_name]()
        run(name, log, mode)
        log.write("figures", mode.figures() | {"seconds": round(time.perf_counter() - start, 2)})
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # nothing that a test left behind may keep the process


if __name__ == "__main__":
    main()
