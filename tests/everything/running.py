"""Runs modules in processes of their own, and compares what became of each test.

In: modules, and the mode to compare with a plain run. Out: a ``Report`` for each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.everything.lists import Expected, Module

ROOT = Path(__file__).resolve().parent.parent.parent
AT_ONCE = 2
LARGE_STACK = """
import os, resource, sys
size, most = 1 << 30, resource.getrlimit(resource.RLIMIT_STACK)[1]
resource.setrlimit(resource.RLIMIT_STACK, (size if most == resource.RLIM_INFINITY else min(size, most), most))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Runs Python where a recursion that tests the limit of frames does not come to the end of the C stack before."""


class Outcome(NamedTuple):
    outcome: str
    words: str


class Difference(NamedTuple):
    """A test that ended in another way."""

    test: str
    plain: Outcome
    other: Outcome

    def __str__(self) -> str:
        return f"{self.test}: {self.plain.outcome} -> {self.other.outcome}: {self.other.words or self.plain.words}"


@dataclass
class Run:
    """What one process wrote."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    ended: str = ""  # in words, if not as it should have

    @property
    def complete(self) -> bool:
        return not self.ended


@dataclass
class Report:
    """One module: its tests, and what differs from a plain run."""

    module: Module
    tests: int
    differences: list[Difference]
    figures: dict[str, Any]
    problems: list[str]  # with the plain runs, or with the list of expected differences
    expected: int = 0

    @property
    def frames(self) -> int:
        return self.figures.get("captured", 0) + self.figures.get("plain", 0)

    @property
    def skipped(self) -> float:
        return self.figures.get("plain", 0) / max(self.frames, 1)

    @property
    def symbolic(self) -> float:
        return self.figures.get("evaluated", 0) / max(self.figures.get("executed", 0), 1)


def run_all(modules: Iterable[Module], mode: str, limit: float, known: list[Expected]) -> Iterator[Report]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(lambda module: run_module(module, mode, limit, known), modules)


def run_module(module: Module, mode: str, limit: float, known: list[Expected]) -> Report:
    plain = run(module, "plain", limit)
    other = run(module, mode, limit)
    figures = dict(other.figures)
    problems = [] if plain.complete else [f"the plain run {plain.ended}"]
    if mode == "captured":
        counted = run(module, "count", limit)
        figures["executed"] = counted.figures.get("executed", 0)
        if not counted.complete:
            problems.append(f"the counting run {counted.ended}")
    figures["plain seconds"] = plain.figures.get("seconds")
    report = Report(module, len(plain.outcomes), list(compare(plain, other)), figures, problems)
    settle(report, [entry for entry in known if entry.module == module.file])
    return report


def compare(plain: Run, other: Run) -> Iterator[Difference]:
    """Tests that ended differently; a process that broke off is one difference, not one for each test it left out."""
    for test, outcome in plain.outcomes.items():
        found = other.outcomes.get(test)
        if found is None and other.complete:
            found = Outcome("missing", "")
        if found is not None and found.outcome != outcome.outcome:
            yield Difference(test, outcome, found)
    for test in other.outcomes.keys() - plain.outcomes.keys() if plain.complete else ():
        yield Difference(test, Outcome("missing", ""), other.outcomes[test])
    if not other.complete:
        left = len(plain.outcomes) - len(other.outcomes)
        yield Difference("(process)", Outcome("ends", ""), Outcome("broke off", f"{other.ended}; {left} tests left"))


def settle(report: Report, known: list[Expected]) -> None:
    """Take expected differences out of a report; what is expected and does not happen any more is a problem."""
    for entry in known:
        found = [d for d in report.differences if entry.covers(report.module.file, d.test)]
        report.expected += len(found)
        report.differences = [d for d in report.differences if d not in found]
        if not found and report.module.file == report.module.name:
            report.problems.append(f"{entry.test} passes: remove it from the list of expected differences")


def run(module: Module, mode: str, limit: float) -> Run:
    """One process, and what it wrote until it ended."""
    with tempfile.TemporaryDirectory(prefix="everything-") as folder:
        output, errors = Path(folder) / "outcomes", Path(folder) / "errors"
        command = [sys.executable, "-c", LARGE_STACK, "-m", "tests.everything.child", mode, *module, str(output)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "TMPDIR": folder}
        with errors.open("w") as stream:
            try:
                status: int | None = subprocess.run(
                    command,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    env=environment,
                    cwd=ROOT,
                    timeout=limit,
                ).returncode
            except subprocess.TimeoutExpired:
                status = None
        return read(output, status, errors)


def read(output: Path, status: int | None, errors: Path) -> Run:
    found, last = Run(), ""
    for line in output.read_text().splitlines() if output.exists() else ():
        kind, *words = json.loads(line)
        if kind == "begins":
            last = words[0]
        elif kind == "outcome":
            found.outcomes[words[0]] = Outcome(*words[1:])
        else:
            found.figures |= words[0]
    if status != 0 or "seconds" not in found.figures:
        how = "took too long" if status is None else f"ended with {status}"
        tail = errors.read_text(errors="replace").strip().splitlines()[-3:] if errors.exists() else []
        found.ended = f"{how} in {last or 'the beginning'}: {' | '.join(tail)[:300]}"
    return found
