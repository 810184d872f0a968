"""Every program of the suites with arrays of sizes 0, 1, 2, 3, 7, 16, 17, 1000 in random order.

python -m tests.changing_sizes                 all programs: is each call as in plain Python, how many variants are made
python -m tests.changing_sizes corpus.arrays   those whose name contains this
python -m tests.changing_sizes --update        write docs/variants.md: the programs that take more than the fewest
python -m tests.changing_sizes --seed 3        another order

The fewest are one variant where all sizes are open from the start (``dynamic=True``), and two where they are left
open when they change (``dynamic=None``). A program is a function of the corpus with an array among its arguments, whose
first axis and all first axes like it are resized; a benchmark program; one of the examples; or one of the row programs.
"""

from __future__ import annotations

import argparse
import copy
import os
import random
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("CAPTURE_STRICT", "1")  # before capture is imported

from capture.backends import eager, inductor
from capture.errors import RecompileLimitWarning
from capture.frames.settings import Record
from capture.frames.size_guards import SizesAre
from tests.benchmarks.programs import BY_NAME
from tests.corpus import Call
from tests.corpus.twins import Twins
from tests.corpus.worlds import Name, World, every
from tests.helpers import captured
from tests.row_programs import ROWS, matrix

SIZES = (0, 1, 2, 3, 7, 16, 17, 1000)
FEWEST = {True: 1, None: 2}

WARM, WARM_UP = 16, 3
"""Rows and number of calls that tell whether a program takes a variant a call, whatever the sizes."""

PAGE = Path(__file__).parent.parent / "docs" / "variants.md"
EXAMPLES = Path(__file__).parent.parent / "examples"


@dataclass(frozen=True)
class Outcome:
    """What came of one program: variants by ``dynamic``, of the function or of what is behind a break, whichever has
    most; what told sizes apart, in words; what differed.

    A program that takes a variant a call, whatever the sizes, has none.
    """

    name: str
    variants: tuple[tuple[bool | None, int], ...]
    reasons: tuple[str, ...]
    differences: tuple[str, ...]

    @property
    def exceeds(self) -> bool:
        return any(count > FEWEST[dynamic] for dynamic, count in self.variants)

    def __str__(self) -> str:
        counts = ", ".join(f"{count} under {dynamic}" for dynamic, count in self.variants)
        return f"{self.name}: {counts}" + "".join(f"\n    {words}" for words in (*self.differences, *self.reasons))


@dataclass(frozen=True)
class Program:
    """``start(dynamic)`` gives what calls it with arrays of ``n`` rows and says what differs, and its record."""

    name: str
    start: Callable[[bool | None], tuple[Callable[[int], str], Record, Any]]


# Programs -------------------------------------------------------------------------------------------------------------
def programs(pattern: str = "") -> Iterator[Program]:
    """All of them whose name contains ``pattern``."""
    found = [*_rows(), *_benchmarks(), *_examples(), *_of_corpus()]
    return (program for program in found if pattern in program.name)


def _of_corpus() -> Iterator[Program]:
    for name in every():
        calls = World(name).calls
        number = next((number for number, call in enumerate(calls) if _first_array(call.made()) is not None), None)
        if number is not None:
            yield Program(f"corpus.{name}", lambda dynamic, name=name, number=number: _twins(name, number, dynamic))


def _twins(name: Name, number: int, dynamic: bool | None) -> tuple[Callable[[int], str], Record, Any]:
    twins = Twins(name, dynamic=dynamic)

    def run(n: int) -> str:
        plain, compiled = (resized(world.calls[number].made(), n) for world in (twins.plain, twins.compiled))
        found = twins.call_with(plain, compiled)
        return "" if RecompileLimitWarning.__name__ in found else found  # there are as many as there may be

    return run, twins.record, twins.entry


def resized(call: Call, n: int) -> Call:
    """The call with ``n`` rows in each array that has as many rows as the first one."""
    first = _first_array(call)
    assert first is not None
    rows = len(first)
    memo: dict[int, Any] = {}

    def change(value: Any) -> Any:
        if type(value) is np.ndarray and value.ndim and len(value) == rows and value.dtype.kind != "O":
            if id(value) not in memo:
                memo[id(value)] = np.resize(value, (n, *value.shape[1:])), value
            return memo[id(value)][0]
        if type(value) in (tuple, list):
            return type(value)(map(change, value))
        return {key: change(item) for key, item in value.items()} if type(value) is dict else value

    return Call(change(call.args), change(call.kwargs))


def _first_array(value: Any) -> np.ndarray | None:
    if type(value) is np.ndarray:
        return value if value.ndim and value.dtype.kind != "O" and len(value) else None
    parts = value.values() if type(value) is dict else value if isinstance(value, tuple | list) else ()
    return next((found for part in parts if (found := _first_array(part)) is not None), None)


def _rows() -> Iterator[Program]:
    for program in ROWS:
        yield _compared(f"rows.{program.__name__}", program, lambda n: (matrix(n),))


def _benchmarks() -> Iterator[Program]:
    arguments: dict[str, Callable[[int], tuple[np.ndarray, ...]]] = {
        "chain": lambda n: (matrix(n)[:, 0].copy(), matrix(n)[:, 1].copy()),
        "gaussian_sum": lambda n: (matrix(n), np.ones(6), np.ones(6)),
        "softmax": lambda n: (matrix(n),),
        "layer_norm": lambda n: (matrix(n), np.ones(6), np.ones(6)),
        "gelu": lambda n: (matrix(n),),
        "black_scholes": lambda n: (matrix(n)[:, 0] + 3, matrix(n)[:, 1] + 4, np.ones(n)),
        "variance_columns": lambda n: (matrix(n),),
        "variance_rows": lambda n: (matrix(n),),
        "masked_sum": lambda n: (matrix(n), matrix(n) + 1),
    }
    for name, make in arguments.items():
        yield _compared(f"benchmarks.{name}", BY_NAME[name].function, make)


def _examples() -> Iterator[Program]:
    def example(name: str) -> dict[str, Any]:
        return runpy.run_path(str(EXAMPLES / f"{name}.py"))

    breaks, prices, decoder, pipeline = map(example, ("graph_breaks", "option_prices", "decoder", "pipeline"))
    rng = np.random.default_rng(0)
    model, classifier = decoder["make_model"](rng), pipeline["Classifier"](pipeline["CONFIG"], rng)
    shape = decoder["HEADS"], decoder["WIDTH"] // decoder["HEADS"]

    def cache(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
        ones = np.ones((n, *shape), np.float32)
        return [(ones, ones * 2) for _ in range(decoder["LAYERS"])]

    def batch(n: int) -> tuple[np.ndarray, np.ndarray]:
        return matrix(n, pipeline["CONFIG"]["features"]), np.eye(4)[np.arange(n) % 4]

    yield _compared("examples.normalise", breaks["normalise"], lambda n: (matrix(n)[:, 0].copy(),))
    yield _compared("examples.call_price", prices["call_price"], lambda n: (matrix(n)[:, 0] + 3, 4.0, np.ones(n)))
    yield _compared("examples.step", decoder["step"], lambda n: (model, 1, cache(n)), eager)
    yield _compared("examples.train", pipeline["Classifier"].train, lambda n: (copy.deepcopy(classifier), *batch(n)))


def _compared(
    name: str, function: Callable[..., Any], make: Callable[[int], tuple[Any, ...]], backend: Any = inductor
) -> Program:
    def start(dynamic: bool | None) -> tuple[Callable[[int], str], Record, Any]:
        run = captured(function, dynamic=dynamic, backend=backend, exact=False)

        def call(n: int) -> str:
            try:
                run(*make(n))
            except AssertionError as error:
                return str(error)
            return ""

        return call, run.record, run.entry

    return Program(name, start)


# Running --------------------------------------------------------------------------------------------------------------
def outcome(program: Program, seed: int = 0, sizes: Sequence[int] = SIZES) -> Outcome | None:
    """Each size twice, in random order; variants that some calls with one size take, too, do not count."""
    order = [*sizes, *sizes]
    random.Random(f"{program.name}/{seed}").shuffle(order)
    counts: list[tuple[bool | None, int]] = []
    reasons: dict[str, None] = {}
    differences: list[str] = []
    for dynamic in FEWEST:
        call, record, entry = program.start(dynamic)
        for _ in range(WARM_UP):
            call(WARM)
        anyway = _variants(record, entry)
        if anyway == WARM_UP:
            return None
        call, record, entry = program.start(dynamic)
        for n in order:
            found = call(n)
            if found:
                differences.append(f"dynamic={dynamic}, {n} rows: {found}")
        counts.append((dynamic, _variants(record, entry) - max(anyway - 1, 0)))
        reasons.update(dict.fromkeys(_reasons(record)))
    found = Outcome(program.name, tuple(counts), tuple(reasons), tuple(differences))
    return found if found.exceeds else replace(found, reasons=())


def _variants(record: Record, entry: Any) -> int:
    return max(len(each.variants) for each in (entry, *(target.entry for target in record.resumes.values())))


def _reasons(record: Record) -> list[str]:
    """The first things that told sizes apart, and where."""
    found = dict.fromkeys(words for words in _all_reasons(record) if len(words) <= LONGEST)
    return list(found)[:MOST_REASONS]


def _all_reasons(record: Record) -> Iterator[str]:
    yield from (f"{place}: {_short(why)}" for place, why in record.specialised.items())
    for guard in record.guards:
        if isinstance(guard.check, SizesAre):
            yield f"{guard}  ({guard.why})"
    yield from (f"{found.reason} at {os.path.basename(found.file)}:{found.line}" for found in record.breaks)


MOST_REASONS, LONGEST = 4, 160


def _short(words: str) -> str:
    for root in (Path(__file__).parent, EXAMPLES.parent):
        words = words.replace(f"{root}{os.sep}", "")
    return words


# The page -------------------------------------------------------------------------------------------------------------
HEAD = """\
# Programs with several variants for all sizes

Written by `python -m tests.changing_sizes --update`, which calls every program of the suites with arrays of 0, 1, 2, 3,
7, 16, 17 and 1000 rows in random order. All others take one variant where sizes are open from the start
(`dynamic=True`), and two where they are left open when they change (`dynamic=None`). Here the program itself tells
sizes apart, or a graph ends, at the lines given. Programs that take a variant a call whatever the sizes, because they
write to logs of their own, are left out.

| program | `True` | `None` | what tells sizes apart |
|---|---|---|---|
"""


def page(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for found in outcomes:
        if found.exceeds:
            counts = dict(found.variants)
            reasons = "<br>".join(words.replace("|", "\\|") for words in found.reasons)
            rows.append(f"| {found.name} | {counts[True]} | {counts[None]} | {reasons} |\n")
    return HEAD + "".join(rows)


def listed() -> dict[str, tuple[int, int]]:
    """The programs on the page, with their variants."""
    rows = PAGE.read_text("utf-8").removeprefix(HEAD).splitlines()
    cells = (row.removeprefix("| ").split(" | ") for row in rows)
    return {name: (int(true), int(none)) for name, true, none, *_ in cells}


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.changing_sizes", description="Programs with changing sizes.")
    parser.add_argument("pattern", nargs="?", default="", help="part of the programs' names")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--update", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args(words)
    outcomes = []
    for program in programs(options.pattern):
        found = outcome(program, options.seed)
        if found is None:
            continue
        outcomes.append(found)
        if found.exceeds or found.differences:
            print(found, flush=True)
    wrong = sum(bool(found.differences) for found in outcomes)
    more = sum(found.exceeds for found in outcomes)
    print(f"{len(outcomes)} programs: {wrong} differ from plain Python, {more} take more than the fewest variants")
    if options.update:
        PAGE.write_text(page(outcomes), "utf-8")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
