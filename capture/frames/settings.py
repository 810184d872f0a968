"""What one compiled function was asked for, and what became of it.

In: ``Settings(backend=..., fullgraph=...)`` made by ``capture.compile``. Out: the same settings, handed unchanged
to every capture of that function, its resume functions included; its ``record`` collects what was captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from capture import config
from capture.config import Options
from capture.records import dataclass, field

if TYPE_CHECKING:
    from types import CodeType

    from capture.frames.breaks import BreakRecord
    from capture.frames.dims import Declared
    from capture.frames.guards import Guard
    from capture.frames.values.sizes import OpenSize
    from capture.ir.graph import Graph

Runner = Callable[..., "tuple[Any, ...] | None"]
Backend = Callable[["Graph", "tuple[Any, ...]"], Runner]


class Later(list[Any]):
    """A list whose last items may be made when somebody looks.

    >>> found = Later()
    >>> found.append_later(lambda: "made")
    >>> list(found)
    ['made']
    """

    def __init__(self) -> None:
        super().__init__()
        self._makers: list[Callable[[], Any]] = []

    def append_later(self, make: Callable[[], Any]) -> None:
        self._makers.append(make)

    def _settle(self) -> None:
        makers, self._makers = self._makers, []
        self.extend(make() for make in makers)

    def __iter__(self) -> Iterator[Any]:
        self._settle()
        return super().__iter__()

    def __len__(self) -> int:
        self._settle()
        return super().__len__()

    def __getitem__(self, index: Any) -> Any:
        self._settle()
        return super().__getitem__(index)

    def __repr__(self) -> str:
        self._settle()
        return super().__repr__()

    def __eq__(self, other: object) -> bool:
        self._settle()
        return super().__eq__(other)

    def clear(self) -> None:
        self._makers.clear()
        super().clear()


@dataclass(eq=False, repr=False)
class Record:
    """What captures of one function found, in order; shared by a function and the resume functions behind it."""

    graphs: Later = field(default_factory=Later)  # of Graph
    runners: list[Runner] = field(default_factory=list)
    breaks: list[BreakRecord] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    variants: list[Any] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)  # in words: no more variants
    sizes: list[tuple[OpenSize, ...]] = field(default_factory=list)  # what is open in each graph
    specialised: dict[str, str] = field(default_factory=dict)  # what is not open any more: why, where
    loops: dict[str, str] = field(default_factory=dict)  # loops that are no nodes of a graph: where, and why
    compile_seconds: float = 0.0
    kept: Any = None  # what earlier processes wrote down of the function, once it has been read
    resumes: dict[Any, Any] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)
    _seen: set[Any] = field(default_factory=set)

    def add_break(self, key: Any, found: BreakRecord) -> bool:
        """Note a break once per place and reason; a callee's break is met again when the callee is resumed."""
        if (key, found.reason) in self._seen:
            return False
        self._seen.add((key, found.reason))
        self.breaks.append(found)
        return True

    def clear(self) -> None:
        """Forget everything; lists stay the same objects, since others look at them."""
        lists = (
            self.graphs,
            self.runners,
            self.breaks,
            self.guards,
            self.sizes,
            self.variants,
            self.misses,
            self.limits,
            self.alive,
        )
        for found in lists:
            found.clear()
        self.resumes.clear()
        self.specialised.clear()
        self.loops.clear()
        self._seen.clear()
        self.compile_seconds = 0.0
        self.kept = None


@dataclass(frozen=True, eq=False)
class Settings:
    """How to capture. ``backend(graph, example_inputs)`` gives a callable of the inputs: a tuple, or None to leave.

    ``force_break(code, index)`` asks for a break before an instruction: a switch for tests. ``patience`` is how many
    instructions without array work are evaluated in one go (None: any number), and ``judge(entry, arguments, variant)``
    decides what becomes of each variant: functions that nobody asked to compile may turn out not to be worth it.
    ``made(entry, variant)`` is told of variants of resume functions; None is one that runs plainly from now on.
    ``always`` has what was evaluated run also where it is no array work, in place of the code as it is: for tests.
    """

    backend: Backend
    fullgraph: bool = False
    dynamic: bool | Declared | Mapping[str, Any] | None = None  # a mapping until the function is known
    options: Options = field(default_factory=config.current)
    record: Record = field(default_factory=Record)
    force_break: Callable[[CodeType, int], bool] | None = None
    patience: int | None = None
    judge: Callable[[Any, tuple[Any, ...], Any], Any] | None = None
    made: Callable[[Any, Any], None] | None = None
    always: bool = False
