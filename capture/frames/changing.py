"""What is left open in a trace: numbers and sizes that were others at earlier calls, or are declared to change.

In: the variants there are, the call at hand, and ``dynamic``. Out: a set of places (``x.shape[0]``, ``rate``) whose
values become inputs and symbols rather than constants. With ``dynamic=None`` these are places where a guard of every
variant fails now; with ``True`` all sizes and int arguments; with ``False`` none; else the declared ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from capture.frames.dims import Declared
from capture.frames.guards import ArrayIs, EqualsConstant, Guard, KeysAre, Length, NumberIs
from capture.frames.hook import Variant
from capture.frames.peek import Absent
from capture.frames.sources import Argument, Dimension, Len, Source, State, resolve
from capture.records import dataclass, field, replace

MOST_VALUES = 2
"""So many variants are made for single values of a number before it is left unknown even where the graph then ends;
where everything is open from the start, none is.
"""


@dataclass(frozen=True)
class Changing:
    """A set of places. ``found`` says for how many values of each there are variants; ``everything``: all sizes and int
    arguments; ``known``: places that are in it no more, because their values turned out to be needed; ``declared``: the
    places that must stay in it.
    """

    found: Mapping[Source, int] = field(default_factory=dict)
    everything: bool = False
    known: frozenset[Source] = frozenset()
    declared: Declared = field(default_factory=Declared)

    def __contains__(self, source: Source) -> bool:
        if source in self.known:
            return False
        declared = source in self.declared.dims or source in self.found
        return declared or (self.everything and isinstance(source, Dimension | Argument))

    def __bool__(self) -> bool:
        return self.everything or bool(self.found) or bool(self.declared.dims)

    def had_its_share(self, source: Source) -> bool:
        """Whether there are as many variants for single values of it as are made for the sake of a longer graph."""
        return self.everything or self.values(source) >= MOST_VALUES

    def without(self, known: frozenset[Source]) -> Changing:
        return replace(self, known=self.known | known)

    def values(self, source: Source) -> int:
        """How many values of it have variants."""
        return self.found.get(source, 0)


def changing_places(variants: Sequence[Variant], state: State, dynamic: Any) -> Changing:
    """What is left open in the trace of this call."""
    if dynamic is False:
        return Changing()
    if isinstance(dynamic, Declared):  # exactly these
        return Changing(declared=dynamic)
    guards = [guard for variant in variants for guard in variant.info.guards]
    return Changing({**_numbers(guards, state), **_sizes(guards, state), **_lengths(guards, state)}, dynamic is True)


def _numbers(guards: Iterable[Guard], state: State) -> dict[Source, int]:
    """Numbers that are open in a variant, or others now than in all."""
    values: dict[Source, set[EqualsConstant]] = {}
    unknown: set[Source] = set()
    for guard in guards:
        if isinstance(guard.check, NumberIs):
            unknown.add(guard.source)
        elif isinstance(guard.check, EqualsConstant) and type(guard.check.value) in (int, float):
            values.setdefault(guard.source, set()).add(guard.check)

    def is_new(value: Any, checks: set[EqualsConstant]) -> bool:
        return not any(check.holds(value) or type(check.value) is not type(value) for check in checks)

    return _open(values, unknown, state, is_new)


def _sizes(guards: Iterable[Guard], state: State) -> dict[Source, int]:
    """The same for sizes of arrays."""
    sizes: dict[Source, set[int]] = {}
    unknown: set[Source] = set()
    for guard in guards:
        if isinstance(guard.check, ArrayIs):
            for axis, size in enumerate(guard.check.shape):
                place = Dimension(guard.source, axis)
                if size is None:
                    unknown.add(place)
                else:
                    sizes.setdefault(place, set()).add(size)
    return _open(sizes, unknown, state, lambda size, seen: size not in seen)


def _lengths(guards: Iterable[Guard], state: State) -> dict[Source, int]:
    """The same for lengths of lists, and numbers of keys."""
    lengths: dict[Source, set[int]] = {}
    unknown: set[Source] = set()
    for guard in guards:
        if isinstance(guard.check, Length):
            lengths.setdefault(Len(guard.source), set()).add(guard.check.count)
        elif isinstance(guard.check, KeysAre):
            lengths.setdefault(Len(guard.source), set()).add(len(guard.check.keys))
        elif isinstance(guard.source, Len):
            unknown.add(guard.source)
    return _open(lengths, unknown, state, lambda length, seen: length not in seen)


def _open(
    values: Mapping[Source, set[Any]], unknown: set[Source], state: State, is_new: Callable[[Any, set[Any]], bool]
) -> dict[Source, int]:
    """Places that are open in a variant, or hold a new value; each with how many values of it have variants."""
    found = {source: len(values.get(source, ())) for source in unknown}
    for source, seen in values.items():
        with contextlib.suppress(Absent):
            if is_new(resolve(source, state), seen):
                found[source] = len(seen)
    return found
