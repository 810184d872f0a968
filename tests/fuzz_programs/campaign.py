"""Tries seeds one after the other, in processes that may die, and cuts down what fails.

In: seeds and modes. Out: lines about failures, figures at the end. A worker says what it begins and what came of it, a
line of JSON each; when it dies or hangs, the program it had begun is the failure.
"""

from __future__ import annotations

import faulthandler
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from threading import Lock, Thread
from typing import Any

from tests.fuzz_programs.check import MODES, Failure, Figures, Mode, check, fails_alike
from tests.fuzz_programs.modules import make_module
from tests.fuzz_programs.repair import repaired
from tests.fuzz_programs.shrink import shrink

BATCH = 25
"""Programs of one worker process."""
PATIENCE = 300
"""Seconds until a program, or one step of cutting it down, is taken for endless."""


@dataclass(frozen=True)
class Made:
    source: str
    used: Counter[str]


def make_program(seed: int, mode: Mode) -> Made | None:
    """The program of a seed; None where it would be endless."""
    module = make_module(seed, mode.exact)
    source = repaired(module.source, Random(seed), f"<program {seed}>")
    return None if source is None else Made(source, module.used)


def show(seed: int, mode: str) -> str:
    made = make_program(seed, MODES[mode])
    return made.source if made is not None else "this seed gives an endless program, which is not tried"


def shrunk(source: str, mode: Mode, kind: str, folder: Path) -> str:
    """The smallest program that fails in the same kind of way."""

    def fails(candidate: str) -> bool:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        return fails_alike(lambda: check(candidate, mode, folder), kind)

    return shrink(source, fails)


# the process of a batch -------------------------------------------------------------------------------------------
def tell(**facts: Any) -> None:
    sys.__stdout__.write(json.dumps(facts) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


def work(seeds: Sequence[int], modes: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        for seed in seeds:
            for mode in modes:
                _try(seed, MODES[mode], Path(name))


def _try(seed: int, mode: Mode, folder: Path) -> None:
    tell(begin=seed, mode=mode.name)
    made = make_program(seed, mode)
    if made is None:
        return
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        figures = check(made.source, mode, folder)
    except Failure as failure:
        tell(failed=seed, mode=mode.name, kind=failure.kind, text=str(failure))
        tell(shrunk=shrunk(made.source, mode, failure.kind, folder))
    else:
        tell(done=seed, figures=asdict(figures), used=dict(made.used))
    faulthandler.cancel_dump_traceback_later()


# the process that looks on ----------------------------------------------------------------------------------------
class _Campaign:
    def __init__(self, modes: Sequence[str], keep: str) -> None:
        self.modes = modes
        self.keep = Path(keep) if keep else None
        self.lock = Lock()
        self.failures: Counter[str] = Counter()
        self.figures = Figures()
        self.used: Counter[str] = Counter()

    def batch(self, first: int, count: int) -> None:
        command = [sys.executable, "-m", "tests.fuzz_programs.campaign", str(first), str(count), ",".join(self.modes)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stderr is not None
        begun: dict[str, Any] = {}
        failed: dict[str, Any] = {}
        for line in process.stdout:
            facts = json.loads(line)
            with self.lock:
                if "begin" in facts:
                    begun = facts
                elif "failed" in facts:
                    failed = facts
                elif "shrunk" in facts:
                    self.report(failed["failed"], failed["mode"], failed["kind"], failed["text"], facts["shrunk"])
                else:
                    self.figures += Figures(**facts["figures"])
                    self.used.update(facts["used"])
        errors = process.stderr.read()
        if process.wait():
            with self.lock:
                seed, mode = begun["begin"], begun["mode"]
                self.report(seed, mode, "the process died", errors[-2000:], show(seed, mode))
            if (rest := first + count - seed - 1) > 0:
                self.batch(seed + 1, rest)

    def report(self, seed: int, mode: str, kind: str, text: str, source: str) -> None:
        self.failures[kind] += 1
        words = f"# seed {seed}, mode {mode}: {kind}\n# " + text.replace("\n", "\n# ") + f"\n{source}"
        print(f"{words}\n{'-' * 80}", flush=True)
        if self.keep is not None:
            self.keep.mkdir(parents=True, exist_ok=True)
            (self.keep / f"{seed}-{mode}.py").write_text(words)


def campaign(first: int, minutes: float, jobs: int, modes: Sequence[str], *, only: bool = False, keep: str = "") -> int:
    """Try programs until the time is up; 1 if one failed."""
    state = _Campaign(modes, keep)
    end = time.monotonic() + minutes * 60
    batches = iter([(first, 1)]) if only else _batches(first, end)

    def run() -> None:
        while True:
            with state.lock:
                batch = next(batches, None)
            if batch is None:
                return
            state.batch(*batch)

    threads = [Thread(target=run) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(state.figures)
    print("statements:", dict(sorted((name, n) for name, n in state.used.items() if ":" not in name)))
    print(f"{state.failures.total()} failed", dict(state.failures))
    return state.failures.total() > 0


def _batches(first: int, end: float) -> Iterator[tuple[int, int]]:
    while time.monotonic() < end:
        yield first, BATCH
        first += BATCH


if __name__ == "__main__":
    work(range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])), sys.argv[3].split(","))
