"""Types of the C extension; see executor.py."""

from collections.abc import Callable
from typing import Any

from capture.inductor.plan import Plan

class Executor:
    plan: Plan
    source: str
    calls: int
    threads: int
    def __init__(
        self,
        plan: Plan,
        encoded: tuple[Any, ...],
        path: str,
        threads: int,
        report: Callable[[Plan, tuple[int, ...], int], None],
    ) -> None: ...
    def __call__(self, *inputs: Any) -> tuple[Any, ...] | None: ...

def errstate() -> int: ...
def set_errstate_reader(reader: Callable[[], int] | None, /) -> None: ...
def warnings_stay() -> bool: ...
def memory() -> dict[str, int]: ...
def set_memory_limit(bytes: int, /) -> int: ...
def worker_count() -> int: ...
