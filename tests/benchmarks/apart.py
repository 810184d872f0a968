"""A contender in a process of its own: ``python -m tests.benchmarks.apart torch chain float32 0.1 1000 100000``.

In: names of a contender and a program, a dtype, seconds, sizes. Out: a line of JSON for each size, the fields of
``Outcome``, where the ratio is to NumPy in turns in that process. What torch.compile does can take minutes, end its
process, and leave threads behind: the table goes on with the reason. Sizes that were done before that count.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from tests.benchmarks import peers
from tests.benchmarks.measure import Outcome, race
from tests.benchmarks.programs import BY_NAME

LIMIT = 120.0
"""Seconds for a program and dtype: to import, to compile for all sizes, and to find out what is right. A compiler with
an empty cache of its own needs a tenth of it.
"""


def outcomes(
    name: str, program: str, dtype: str, sizes: Sequence[int], seconds: float, limit: float = LIMIT
) -> list[Outcome]:
    """One for each size."""
    given = [name, program, dtype, str(seconds), *map(str, sizes)]
    out, status = output(__name__, given, limit + 2 * seconds * len(sizes))
    late = f"over {limit:.0f} s to compile and run"
    return read(out, late if status is None else f"its process ended with {status}", len(sizes))


def output(module: str, arguments: Sequence[str], limit: float) -> tuple[str, int | None]:
    """What a module that is run as a program prints, and its status; None where it does not come back in ``limit``
    seconds: it is ended then, with all that it has started."""
    child = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        out, _ = child.communicate(timeout=limit)
        return out, child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.communicate()[0], None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def read(out: str, reason: str, count: int) -> list[Outcome]:
    """What the process has told, and for the sizes it did not come to, why not."""
    found = []
    for line in out.splitlines():
        try:
            found.append(Outcome(**{**(told := json.loads(line)), "interval": tuple(told["interval"])}))
        except (ValueError, TypeError, KeyError):
            continue  # what else was printed, or half a line
    return [*found, *(Outcome(None, reason) for _ in range(count - len(found)))]


def main() -> None:
    name, wanted, dtype, seconds, *sizes = sys.argv[1:]
    program = BY_NAME[wanted]
    made = None
    for size in map(int, sizes):
        args = program.arguments(np.random.default_rng(0), size, dtype)
        made = made or peers.CONTENDERS[name](program, args)
        found = race({"numpy": program.function, name: made}, args, float(seconds))[name]
        print(json.dumps(asdict(found)), flush=True)
    os._exit(0)  # threads of compilers are not waited for


if __name__ == "__main__":
    main()
