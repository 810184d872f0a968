"""What questions about the sizes of real programs cost: ``python -m tests.ir.size_costs``.

In: the row programs, the benchmark programs and the decoder of the examples, captured with open sizes. Out: each kind
of question to ``Facts`` with how often it was asked, the milliseconds of processor time it took on average and at most,
and the most calls of Python functions that one question took, which is what the test suite looks at.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from capture import backends
from capture.ir.shapes import Facts
from tests.benchmarks.programs import BY_NAME
from tests.helpers import captured
from tests.row_programs import ROWS, matrix

QUESTIONS = ("decide", "learn", "assume", "simplify", "bounds", "minimal")


@dataclass
class Cost:
    """Of one kind of question: processor time of each in milliseconds, calls of functions of the costliest."""

    times: list[float] = field(default_factory=list)
    most_calls: int = 0
    costliest: str = ""


@contextmanager
def observed(counts_calls: bool) -> Iterator[dict[str, Cost]]:
    """Costs of all questions that are asked inside; those asked while answering another one are part of it."""
    costs = {name: Cost() for name in QUESTIONS}
    inside = False

    def wrap(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def ask(facts: Facts, question: Any, *others: Any) -> Any:
            nonlocal inside
            if inside:
                return method(facts, question, *others)
            inside, calls = True, 0

            def count(frame: Any, event: str, arg: Any) -> None:
                nonlocal calls
                calls += event == "call"

            if name == "minimal":
                question = tuple(question)
            start = time.thread_time()
            if counts_calls:
                sys.setprofile(count)
            try:
                return method(facts, question, *others)
            finally:
                if counts_calls:
                    sys.setprofile(None)
                inside = False
                cost = costs[name]
                cost.times.append((time.thread_time() - start) * 1e3)
                if calls > cost.most_calls or (not counts_calls and cost.times[-1] == max(cost.times)):
                    words = list(map(str, question)) if name == "minimal" else question
                    cost.most_calls, cost.costliest = calls, f"{words} under {[*map(str, facts.relations)]}"

        return ask

    with mock.patch.multiple(Facts, **{name: wrap(name, getattr(Facts, name)) for name in QUESTIONS}):
        yield costs


def run_programs() -> None:
    """Capture all of the programs at a few sizes."""
    for program in ROWS:
        run = captured(program, dynamic=True)
        for n in (3, 7, 0, 1):
            run(matrix(n))
    for benchmark in BY_NAME.values():
        run = captured(benchmark.function, dynamic=True, backend=backends.eager, exact=False)
        for n in (100, 400):
            run(*benchmark.arguments(np.random.default_rng(0), n, "f8"))
    decoder = runpy.run_path(str(Path(__file__).parent.parent.parent / "examples" / "decoder.py"))
    model = decoder["make_model"](np.random.default_rng(0))
    run = captured(decoder["step"], exact=False)
    decoder["generate"](run.entry, model, 4)


def main() -> None:
    with observed(counts_calls=False) as timed:
        run_programs()
    with observed(counts_calls=True) as counted:
        run_programs()
    for name, cost in timed.items():
        if cost.times:
            mean, most = sum(cost.times) / len(cost.times), max(cost.times)
            print(f"{name:8} {len(cost.times):6} questions, {mean:.3f} ms on average, {most:.2f} ms at most, ", end="")
            print(f"{counted[name].most_calls} calls at most: {counted[name].costliest}")


if __name__ == "__main__":
    main()
