"""Sets of plain constants.

In: the elements in the order in which they came, or an operation on sets that gives another one. Out: membership,
length, and items in the very order that Python's own set has: ``contents`` is a set made by the same steps, and the
order depends on nothing else within a process.

>>> SetValue((3, 1, 3)).items(tracer)
(Constant(1), Constant(3))

What is done to a set of one's own is noted and done again where the set is needed: its order depends on all of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant, attempt
from capture.frames.values.containers import DictValue, SequenceValue, call_row
from capture.frames.values.iterators import CountedIterator, IteratorValue
from capture.frames.values.keys import plain_key
from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer


class SetValue(Value):
    """A set made inside the frame: of ``added`` elements, or by a ``function`` of other values."""

    __slots__ = ("added", "contents", "fixed", "function", "parts", "steps")
    noun = "set"

    def __init__(
        self, added: Sequence[Any] = (), function: Callable[..., Any] | None = None, parts: Sequence[Value] = (),
        contents: set[Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.added = tuple(added)
        self.function = function
        self.parts = tuple(parts)
        self.contents = set(self.added) if contents is None else contents
        self.steps: tuple[Step, ...] = ()  # what was done to it since
        self.fixed = function is not None  # something else was made of it, or it is being iterated over

    def python_type(self, tracer: Tracer) -> type:
        return set

    def truth(self, tracer: Tracer) -> bool:
        return bool(self.contents)

    def length(self, tracer: Tracer) -> int:
        return len(self.contents)

    def contains(self, tracer: Tracer, item: Value) -> bool:
        return plain_key(tracer, item) in self.contents

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        tracer.portable = False  # the order of texts is another one in each process
        return tuple(map(Constant, self.contents))

    def iterate(self, tracer: Tracer) -> Value:
        tracer.portable = False
        tracer.journal.set(self, "fixed", True)
        return CountedIterator(self)

    def concrete(self, tracer: Tracer) -> Any:
        tracer.portable = False
        return set(self.contents)

    def attribute(self, tracer: Tracer, name: str) -> Value:
        if name in METHODS:
            return tracer.method(self, name)
        return super().attribute(tracer, name)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return call_row(tracer, self, METHODS, name, [arg.real(tracer) for arg in args], kwargs)

    def add(self, tracer: Tracer, elements: Sequence[Any]) -> None:
        if self.steps:
            self.change(tracer, "update", tuple(elements))
            return
        self._require_alone()
        added = (*self.added, *elements)
        tracer.journal.set(self, "added", added)
        tracer.journal.set(self, "contents", set(added))

    def change(self, tracer: Tracer, method: str, *args: Any) -> Any:
        """Do something else to it; the same steps give a set in the same order. Gives what the method gives."""
        self._require_alone()
        steps = (*self.steps, (method, args))
        contents = follow(Recipe(self.added, self.steps))
        found = attempt(take, (contents, steps[-1]), {}, f"set.{method}")
        tracer.journal.set(self, "steps", steps)
        tracer.journal.set(self, "contents", contents)
        return found

    def _require_alone(self) -> None:
        if self.fixed:
            raise GraphBreak("a set on which something else depends is changed")

    def rebuild(self, build: Builder) -> None:
        if self.function is not None:
            build.call(self.function, self.parts)
        elif self.steps:
            build.call(follow, (Constant(Recipe(self.added, self.steps)),))
        else:
            build.sequence("build_set", tuple(map(Constant, self.added)))


Step = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Recipe:
    """How a set came about that was an operand of a step."""

    added: tuple[Any, ...]
    steps: tuple[Step, ...]


def take(contents: set[Any], step: Step) -> Any:
    name, args = step
    return getattr(contents, name)(*(follow(arg) if type(arg) is Recipe else arg for arg in args))


def follow(recipe: Recipe) -> set[Any]:
    contents = set(recipe.added)
    for step in recipe.steps:
        take(contents, step)
    return contents


def plain_items(tracer: Tracer, values: Value) -> list[Any]:
    return [plain_key(tracer, item) for item in values.items(tracer)]


def make_set(tracer: Tracer, values: Value | None = None) -> Value:
    """``set(values)``: of other than sequences its table has another size."""
    if values is None or isinstance(values, SequenceValue | IteratorValue):
        return SetValue(plain_items(tracer, values) if values is not None else ())
    known = _contents(tracer, values)
    if known is None and isinstance(values, Constant) and type(values.value) in (str, bytes, range):
        known = values.value
    if known is None and isinstance(values, DictValue) and values.source is None:
        known = dict.fromkeys(values.entries)
    if known is None:
        raise GraphBreak(f"a set of {values.describe()} is left to Python")
    if isinstance(values, DictValue):  # which may change before the set is made
        return SetValue(function=_set_of_keys, parts=tuple(map(Constant, known)), contents=set(known))
    return SetValue(function=set, parts=(values,), contents=set(known))


def _set_of_keys(*keys: Any) -> set[Any]:
    return set(dict.fromkeys(keys))


def _contents(tracer: Tracer, value: Value) -> Any:
    """The set or frozenset that a value stands for, or None; it must not change from now on."""
    if isinstance(value, SetValue):
        tracer.journal.set(value, "fixed", True)
        return value.contents
    if isinstance(value, Constant) and type(value.value) is frozenset:
        return value.value
    return None


# Operators ----------------------------------------------------------------------------------------------------------
MAKING: Mapping[str, Callable[[Any, Any], Any]] = {
    "|": operator.or_, "&": operator.and_, "-": operator.sub, "^": operator.xor,
}  # fmt: skip
ASKING: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def binary(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value:
    """Operators of sets and frozensets, at least one of them a set."""
    if symbol not in MAKING and symbol not in ASKING:
        return _in_place(tracer, symbol, left, right)
    a, b = _contents(tracer, left), _contents(tracer, right)
    if a is None or b is None:
        raise GraphBreak(f"{left.describe()} {symbol} {right.describe()} is left to Python")
    if symbol in ASKING:
        return Constant(ASKING[symbol](a, b))
    function = MAKING[symbol]
    result = function(a, b)
    if type(result) is frozenset:
        return Constant(result)
    return SetValue(function=function, parts=(left, right), contents=result)


IN_PLACE: Mapping[str, str] = {
    "|=": "update", "&=": "intersection_update", "-=": "difference_update", "^=": "symmetric_difference_update",
}  # fmt: skip


def _in_place(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value:
    if isinstance(left, Constant):
        return binary(tracer, symbol.removesuffix("="), left, right)
    if not isinstance(left, SetValue) or not isinstance(right, Constant | SetValue) or symbol not in IN_PLACE:
        raise GraphBreak(f"set {symbol} {right.noun} is left to Python", "write")
    left.change(tracer, IN_PLACE[symbol], _operand(tracer, symbol, right))
    return left


# Methods ------------------------------------------------------------------------------------------------------------
def _add(tracer: Tracer, owner: SetValue, item: Value) -> Value:
    owner.add(tracer, (plain_key(tracer, item),))
    return Constant(None)


def _update(tracer: Tracer, owner: SetValue, values: Value) -> Value:
    if isinstance(values, SequenceValue | IteratorValue):
        owner.add(tracer, plain_items(tracer, values))
    else:
        owner.change(tracer, "update", _operand(tracer, "update", values))
    return Constant(None)


def _operand(tracer: Tracer, name: str, other: Value) -> Any:
    """What a method of sets may be given, as a constant whose order of items is the same."""
    if isinstance(other, SetValue) and other.function is None:
        return Recipe(other.added, other.steps)
    if isinstance(other, Constant) and type(other.value) in (frozenset, str, bytes, range):
        return other.value
    if isinstance(other, SequenceValue | IteratorValue):
        return tuple(plain_items(tracer, other))
    raise GraphBreak(f"{name} of a set and {other.describe()} is left to Python")


def _changed(name: str) -> Callable[..., Value]:
    def method(tracer: Tracer, owner: SetValue, other: Value) -> Value:
        owner.change(tracer, name, _operand(tracer, name, other))
        return Constant(None)

    return method


def _removed(name: str) -> Callable[..., Value]:
    def method(tracer: Tracer, owner: SetValue, item: Value) -> Value:
        owner.change(tracer, name, plain_key(tracer, item))
        return Constant(None)

    return method


def _pop(tracer: Tracer, owner: SetValue) -> Value:
    tracer.portable = False
    return Constant(owner.change(tracer, "pop"))


def _clear(tracer: Tracer, owner: SetValue) -> Value:
    owner.change(tracer, "clear")
    return Constant(None)


def _made(function: Callable[..., Any]) -> Callable[..., Value]:
    def method(tracer: Tracer, owner: SetValue, other: Value) -> Value:
        known = _contents(tracer, other)
        if known is None:
            known = _operand(tracer, function.__name__, other)
            other = Constant(known)  # made when it is needed: nothing changes it
        contents = _contents(tracer, owner)
        return SetValue(function=function, parts=(owner, other), contents=function(contents, known))

    return method


def _asked(function: Callable[..., bool]) -> Callable[..., Value]:
    def method(tracer: Tracer, owner: SetValue, other: Value) -> Value:
        return Constant(function(owner.contents, plain_items(tracer, other)))

    return method


def _copy(tracer: Tracer, owner: SetValue) -> Value:
    return SetValue(function=set.copy, parts=(owner,), contents=set.copy(_contents(tracer, owner)))


METHODS: Mapping[str, Callable[..., Value]] = {
    "add": _add,
    "update": _update,
    "remove": _removed("remove"),
    "discard": _removed("discard"),
    "pop": _pop,
    "clear": _clear,
    "difference_update": _changed("difference_update"),
    "intersection_update": _changed("intersection_update"),
    "symmetric_difference_update": _changed("symmetric_difference_update"),
    "copy": _copy,
    "union": _made(set.union),
    "intersection": _made(set.intersection),
    "difference": _made(set.difference),
    "symmetric_difference": _made(set.symmetric_difference),
    "issubset": _asked(set.issubset),
    "issuperset": _asked(set.issuperset),
    "isdisjoint": _asked(set.isdisjoint),
}
