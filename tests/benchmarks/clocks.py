"""What a call costs besides its work, and what compiling takes: ``python -m tests.benchmarks --clocks``.

In: nothing but the contenders. Out: lines of Markdown, a clock each with its aim; then the stages of compiling programs
of many operations, with the power of their number that the time grows with.

What is measured in new processes is the median of several; the cache of each first call is a folder of its own.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import capture
from tests.benchmarks import peers
from tests.benchmarks.dynamic import least
from tests.benchmarks.measure import race
from tests.benchmarks.programs import BY_NAME
from tests.benchmarks.programs.program import Program, normal, vector

PROCESSES = 5
COUNTS = (250, 500, 1000, 2000)
"""Of operations; a quick report has one process and the first half of these."""
TRACED = ("gelu", "black_scholes", "layer_norm", "lstm_cell", "gpt2_block", "quaternion_product", "forces", "mlp")


def report(options: argparse.Namespace) -> list[str]:
    lines = ["| clock | measured | aim |", "|---|---|---|"]
    for clock, measured, aim in (*_calls(), *_first_calls(1 if options.quick else PROCESSES), _tracing(), _peak()):
        lines.append(f"| {clock} | {measured} | {aim} |")
    return [*lines, "", *_small_call(options.peers), "", *_many_operations(COUNTS[:2] if options.quick else COUNTS)]


# A call ---------------------------------------------------------------------------------------------------------------
def multiply_add(a, b, c):
    return a * b + c


def _small_call(names: list[str]) -> list[str]:
    program = Program(multiply_add, normal(3, vector), numexpr="a * b + c")
    args = program.arguments(np.random.default_rng(0), 10, "float64")
    made = {name: peers.CONTENDERS[name](program, args) for name in names if name != "c"}
    lines = ["| `a * b + c`, three 10-element float64 arrays | ns a call |", "|---|---|"]
    for name, outcome in race(made, args, 1.0).items():
        lines.append(f"| {name} | {outcome.seconds * 1e9:,.0f} |" if outcome.seconds else f"| {name} | - |")
    return lines


NAMES = tuple(f"scale_{number}" for number in range(20))


class Model:
    """Twenty numbers that a method reads."""

    def __init__(self) -> None:
        for number, name in enumerate(NAMES):
            setattr(self, name, 1.0 + number)


exec(  # twenty attributes written out would be a page of noise
    f"def total(self, x):\n    return x * ({' + '.join(f'self.{name}' for name in NAMES)})", globals()
)
Model.total = globals()["total"]  # type: ignore[attr-defined]


def _sum_of(count: int) -> Any:
    names = [f"x{number}" for number in range(count)]
    space: dict[str, Any] = {}
    exec(f"def added({', '.join(names)}):\n    return {' + '.join(names)}", space)
    return space["added"]


def _calls() -> Iterator[tuple[str, str, str]]:
    x = np.arange(10.0)
    adding = peers.capture(multiply_add)
    model = Model()
    method = peers.capture(model.total)  # type: ignore[attr-defined]
    few, many = (peers.capture(_sum_of(count)) for count in (4, 16))
    arrays = [x + shift for shift in range(16)]
    first, second, four, sixteen = (
        seconds * 1e9
        for seconds in least(
            [partial(adding, x, x, x), partial(method, x), partial(few, *arrays[:4]), partial(many, *arrays)], 1.0
        )
    )
    yield "`a * b + c`, three 10-element arrays", f"{first:.0f} ns", "250 ns"
    yield "a method of an object with 20 guarded attributes", f"{second:.0f} ns", "1,000 ns"
    yield "each further array argument", f"{(sixteen - four) / 12:.1f} ns", "25 ns"


# New processes --------------------------------------------------------------------------------------------------------
_FIRST_CALL = """
import time, numpy as np
from tests.benchmarks.programs import BY_NAME
from tests.benchmarks.programs.program import Program
program = BY_NAME["{name}"]
args = program.arguments(np.random.default_rng(0), {size}, "float32")
start = time.perf_counter()
import capture
imported = time.perf_counter()
compiled = capture.compile(program.function)
compiled(*args)
print(imported - start, time.perf_counter() - imported)
"""

_FIND = "from capture.inductor import toolchain; toolchain.find()"
_ANOTHER = "import capture, numpy as np; capture.compile(lambda x: x + 1.0)(np.ones(3))"


def _first_calls(processes: int) -> Iterator[tuple[str, str, str]]:
    empty, known, another, warm = _in_processes("gelu", 1000, processes)
    block = _in_processes("gpt2_block", 100_000, processes)
    yield "`import capture`, NumPy being there", f"{warm[0]:.0f} ms", "60 ms"
    yield "first call of gelu, nothing known, not even the compiler", f"{empty[1]:.0f} ms", "150 ms"
    yield "first call of gelu, empty cache", f"{known[1]:.0f} ms", "150 ms"
    yield "first call of gelu, another function in the cache", f"{another[1]:.0f} ms", "150 ms"
    yield "first call of gelu, new process, warm cache", f"{warm[1]:.0f} ms", "15 ms"
    yield "first call of gpt2_block, empty cache", f"{block[1][1]:.0f} ms", "1,000 ms"
    yield "first call of gpt2_block, new process, warm cache", f"{block[3][1]:.0f} ms", ""


def _in_processes(name: str, size: int, processes: int) -> list[tuple[float, float]]:
    """Milliseconds of the import and of the first call: nothing known, only the compiler known, also what compiling
    another function has left, everything known."""
    taken: list[list[tuple[float, float]]] = [[], [], [], []]
    with tempfile.TemporaryDirectory() as compiled:
        _in_process(name, size, compiled, compiled)  # as an installed package, all modules are bytecode
        for _ in range(processes):
            with tempfile.TemporaryDirectory() as folder:
                taken[0].append(_in_process(name, size, folder, compiled))
            with tempfile.TemporaryDirectory() as folder:
                _run(_FIND, folder, compiled)
                taken[1].append(_in_process(name, size, folder, compiled))
            with tempfile.TemporaryDirectory() as folder:
                _run(_ANOTHER, folder, compiled)
                taken[2].append(_in_process(name, size, folder, compiled))
                taken[3].append(_in_process(name, size, folder, compiled))
    return [(statistics.median(one for one, _ in each), statistics.median(two for _, two in each)) for each in taken]


def _in_process(name: str, size: int, folder: str, compiled: str) -> tuple[float, float]:
    imported, called = _run(_FIRST_CALL.format(name=name, size=size), folder, compiled).split()
    return float(imported) * 1e3, float(called) * 1e3


def _run(text: str, folder: str, compiled: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**kept, "CAPTURE_CACHE_DIR": folder, "CAPTURE_WARM_START": "1", "PYTHONPYCACHEPREFIX": compiled},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


# Tracing and memory ---------------------------------------------------------------------------------------------------
def _tracing() -> tuple[str, str, str]:
    from capture.frames import tracer

    evaluated, taken = 0, 0.0
    begin = tracer.Tracer.run
    counts_of: dict[int, int] = {}

    def noting(self: Any, frame: Any) -> Any:
        result = begin(self, frame)
        counts_of[id(self)] = self.evaluated
        return result

    with _replaced(tracer.Tracer, "run", noting):
        for name in TRACED:
            program = BY_NAME[name]
            args = program.arguments(np.random.default_rng(0), 1000, program.dtypes[0])
            seconds = []
            for _ in range(4):  # the first time imports what is used
                counts_of.clear()
                backend, inside = _timed_eager()
                function = capture.compile(program.function, backend=backend)
                start = time.perf_counter()
                function(*args)
                seconds.append(time.perf_counter() - start - sum(inside))
            taken += min(seconds)
            evaluated += sum(counts_of.values())
    text = f"{taken / evaluated * 1e6:.0f} µs ({evaluated:,} instructions of {len(TRACED)} programs)"
    return "tracing, an instruction", text, "50 µs"


def _timed_eager() -> tuple[Callable[..., Any], list[float]]:
    """A backend that does the least, and the seconds that it and its graphs take."""
    seconds: list[float] = []

    def backend(graph: Any, inputs: tuple[Any, ...]) -> Any:
        from capture.ir.interpret import Interpreter

        run = Interpreter(graph).run

        def timed(*inputs: Any) -> Any:
            start = time.perf_counter()
            try:
                return run(*inputs)
            finally:
                seconds.append(time.perf_counter() - start)

        return timed

    return backend, seconds


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


_PEAK = """
import numpy as np, capture
from pathlib import Path
from tests.benchmarks.programs import BY_NAME

def kilobytes(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))

program = BY_NAME["gelu"]
compiled = capture.compile(program.function)
small, = program.arguments(np.random.default_rng(0), {size} // 10, "float64")
compiled(small)
large = np.empty({size})
large[:] = 0.5
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
before = kilobytes("VmRSS:")
result = compiled(large)
print((kilobytes("VmHWM:") - before) * 1024 / result.nbytes)
"""


def peak_in_results(size: int = 20_000_000) -> float:
    """The memory that a call takes at most beside its arguments, in sizes of its result. The peak that getrusage tells
    is no less than what the process that started this one has had: beside that, a result is nothing.
    """
    command = [sys.executable, "-c", _PEAK.format(size=size)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _peak() -> tuple[str, str, str]:
    return "memory that gelu takes, in results", f"{peak_in_results():.2f}", "1 and O(1)"


# Many operations ------------------------------------------------------------------------------------------------------
STAGES = ("trace", "prepare", "lower", "schedule", "render", "compile")


def _many_operations(counts: tuple[int, ...]) -> list[str]:
    taken = {count: _stages(count) for count in counts}
    lines = [
        f"| array operations | {' | '.join(STAGES)} | all, s |",
        "|---|" + "---|" * (len(STAGES) + 1),
    ]
    for count, stages in taken.items():
        cells = " | ".join(f"{stages[stage]:.2f}" for stage in STAGES)
        lines.append(f"| {count:,} | {cells} | {sum(stages.values()):.2f} |")
    half, whole = (taken[count] for count in counts[-2:])
    growth = [math.log2(max(whole[stage], 1e-3) / max(half[stage], 1e-3)) for stage in STAGES]
    return [*lines, f"| power at the end | {' | '.join(f'{power:.2f}' for power in growth)} | |"]


def _stages(count: int) -> dict[str, float]:
    """Seconds of each stage for a straight program of so many operations."""
    body = "\n".join(f"    x = {_LINES[number % len(_LINES)]}" for number in range(count // 2))
    space: dict[str, Any] = {"np": np}
    exec(compile(f"def many(x, y):\n{body}\n    return x", f"<{count} operations>", "exec"), space)
    taken: dict[str, float] = {}
    x = np.linspace(0.5, 1.5, 1000)
    with tempfile.TemporaryDirectory() as folder, capture.config.patch(cache_dir=Path(folder)):
        function = capture.compile(space["many"], backend=partial(_staged, taken))
        start = time.perf_counter()
        function(x, x)
        taken["trace"] = time.perf_counter() - start - sum(taken.values())
    return taken


_LINES = ("x * y + 0.5", "np.sqrt(x * x)", "x - y / 3.0", "np.minimum(x, 2.0) + 0.25", "np.tanh(x) * 1.5")


def _staged(taken: dict[str, float], graph: Any, inputs: tuple[Any, ...]) -> Any:
    """The compiler, stage by stage."""
    from capture.inductor import cache, executor, toolchain
    from capture.inductor.compile import lay_out, prepare
    from capture.inductor.lower import lower
    from capture.inductor.schedule import schedule

    found = toolchain.find()

    def stage(name: str, function: Callable[..., Any], *args: Any) -> Any:
        start = time.perf_counter()
        result = function(*args)
        taken[name] = taken.get(name, 0.0) + time.perf_counter() - start
        return result

    prepared = stage("prepare", prepare, graph)
    lowered = stage("lower", partial(lower, exact=False), prepared)
    scheduled = stage("schedule", schedule, lowered)
    plan = stage("render", lay_out, scheduled, found.simd_math, found.vector_bytes)
    return executor.load(plan, str(stage("compile", cache.load, plan.source, found)))
