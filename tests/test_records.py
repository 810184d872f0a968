"""Records against the standard library's data classes, of which they are a faster form."""

from __future__ import annotations

import dataclasses
import pickle
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from capture import records

NAN = float("nan")


def declared(library: Any, **arguments: Any) -> SimpleNamespace:
    """Classes that use all that there is, made by one of the two libraries."""
    dataclass, field = library.dataclass, library.field

    @dataclass(**arguments)
    class Base:
        kind: ClassVar[str] = "base"
        first: int
        second: Any = None

        @property
        def doubled(self) -> int:
            return 2 * self.first

    @dataclass(**arguments)
    class Derived(Base):
        items: list[int] = field(default_factory=list)
        hidden: int = field(default=7, repr=False, compare=False)

    @dataclass(**arguments)
    class Finished:
        given: int
        made: list[int] = field(init=False, default_factory=list)

        def __post_init__(self) -> None:
            self.made.append(self.given)

    @dataclass(**arguments)
    class Own:
        value: Any

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 3

    @dataclass(**arguments)
    class Empty:
        pass

    return SimpleNamespace(Base=Base, Derived=Derived, Finished=Finished, Own=Own, Empty=Empty)


ARGUMENTS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"eq": False},
    {"frozen": True, "eq": False, "slots": True},
    {"repr": False, "frozen": True},
    {"kw_only": True},
]


def outcome(act: Any) -> Any:
    """What happens, in a form that does not know which library the classes are of."""
    try:
        result = act()
    except (AttributeError, TypeError):  # the standard library gives one for the other where there are slots
        return "refused"
    return result.partition(" object at ")[0] if isinstance(result, str) else result


ACTS = {
    "made": lambda c, r: repr(c.Base(1)),
    "by name": lambda c, r: repr(c.Derived(second="a", first=1)),
    "all given": lambda c, r: repr(c.Derived(first=1, second=2, items=[3], hidden=4)),
    "by position": lambda c, r: repr(c.Derived(1, 2, [3], 4)),
    "too few": lambda c, r: c.Base(),
    "too many": lambda c, r: c.Base(1, 2, 3),
    "unknown": lambda c, r: c.Base(first=1, other=2),
    "class variable": lambda c, r: (c.Base.kind, c.Base(first=1).kind),
    "property": lambda c, r: c.Derived(first=4).doubled,
    "factory": lambda c, r: c.Derived(first=1).items is c.Derived(first=1).items,
    "equal": lambda c, r: c.Base(first=1) == c.Base(first=1),
    "unequal": lambda c, r: c.Base(first=1) != c.Base(first=2),
    "of another class": lambda c, r: c.Base(first=1) == c.Derived(first=1),
    "itself": lambda c, r: (lambda one: one == one)(c.Base(first=1, second=NAN)),
    "not compared": lambda c, r: c.Derived(first=1, hidden=1) == c.Derived(first=1, hidden=2),
    "hashed": lambda c, r: len({c.Base(first=1), c.Base(first=1), c.Base(first=2)}),
    "hash of a list": lambda c, r: hash(c.Derived(first=1)) and "hashable",
    "set": lambda c, r: setattr(c.Base(first=1), "first", 2),
    "set a new one": lambda c, r: setattr(c.Base(first=1), "third", 2),
    "delete": lambda c, r: delattr(c.Base(first=1), "first"),
    "after init": lambda c, r: c.Finished(given=5).made,
    "own methods": lambda c, r: (repr(c.Own(value=1)), hash(c.Own(value=1))),
    "empty": lambda c, r: repr(c.Empty()),
    "both empty": lambda c, r: c.Empty() == c.Empty(),
    "replaced": lambda c, r: repr(r.replace(c.Derived(first=1), second=3)),
    "replaced by unknown": lambda c, r: r.replace(c.Base(first=1), third=3),
    "replaced what is made": lambda c, r: repr(r.replace(c.Finished(given=1), given=2)),
    "as a tuple": lambda c, r: r.astuple(c.Derived(first=1)),
    "as a dict": lambda c, r: r.asdict(c.Derived(first=1)),
    "fields": lambda c, r: [(f.name, f.init, f.repr, f.compare) for f in r.fields(c.Derived)],
    "matched": lambda c, r: (c.Base.__match_args__, c.Derived.__match_args__, c.Finished.__match_args__),
    "names": lambda c, r: (c.Base.__name__, c.Base.__module__, c.Base.__qualname__),
    "slots": lambda c, r: (getattr(c.Base, "__slots__", ()), getattr(c.Derived, "__slots__", ())),
}


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
@pytest.mark.parametrize("act", ACTS)
def test_a_record_is_as_a_data_class(act, arguments):
    one, other = (
        [outcome(lambda library=library, classes=classes: ACTS[act](classes, library)) for _ in range(2)]
        for library in (records, dataclasses)
        for classes in [declared(library, **arguments)]
    )  # twice, since `__init__` is made when the first object is
    assert one == other


@records.dataclass(frozen=True, slots=True)
class Kept:
    name: str
    values: tuple[int, ...] = ()


def test_records_with_slots_are_pickled():
    assert pickle.loads(pickle.dumps(Kept("a", (1, 2)))) == Kept("a", (1, 2))


def test_a_frozen_record_may_keep_what_it_computes():
    @records.dataclass(frozen=True)
    class Square:
        side: int

        @cached_property
        def area(self) -> int:
            return self.side**2

    square = Square(3)
    assert (square.area, vars(square)["area"], square == Square(3)) == (9, 9, True)


def test_defaults_stay_in_the_class():
    @records.dataclass
    class Options:
        limit: int = records.field(default=4, metadata={"unit": "rows"})

    assert Options.limit == 4
    assert records.fields(Options)[0].metadata == {"unit": "rows"}
