"""Facts a compiled variant relies on: what holds, in Python and in C, and why it failed, in words.

In: the tracer installs ``Guard(source, check)`` when it uses a fact. Out: ``compile_guards`` gives the flat program
that the hook evaluates on every call; ``why_failed`` names the first guard that does not hold. Checks run no user code.

>>> from capture.frames.sources import Argument
>>> def f(n): ...
>>> guard = Guard(Argument(0, "n"), EqualsConstant(16), line=3)
>>> why_failed([guard], State((17,), f))
'n: expected 16, got 17'
>>> compile_guards([guard])[0]
(1, (('argument', 0, 0), ('equals', 0, 16)))
"""

from __future__ import annotations

import abc
import math
import struct
from collections.abc import Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any, ClassVar

import numpy as np

from capture.frames.peek import (
    Absent,
    brief,
    class_lacks,
    exact,
    instance_lacks,
    is_plain_constant,
    order_of,
    own_name,
    text,
    type_name,
)
from capture.frames.sources import LARGEST_SIZE, Constant, Global, Source, State, resolve, total_cost
from capture.records import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """A fact about one value, or about one value and others read from ``sources``."""

    cost: ClassVar[int] = 1  # in C, in about half nanoseconds

    @property
    def sources(self) -> tuple[Source, ...]:
        """The further values the fact is about."""
        return ()

    def holds(self, value: Any, *others: Any) -> bool:
        raise NotImplementedError

    def form(self, *slots: int) -> tuple[Any, ...]:
        """The C form: the name of the step and its operands; ``slots`` are those of ``sources``.

        It is empty where reading the value is all there is to check.
        """
        raise NotImplementedError

    def of(self, name: str) -> str:
        """The fact about a value of that name."""
        return f"{name}: {self}"

    def part(self, value: Any) -> str:
        """Which part of the value is wrong, as written after its name."""
        return ""

    def why(self, value: Any, *others: Any) -> str:
        """What was expected of a value for which the check does not hold."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Guard:
    """A fact, the user's line where it was used, and what for."""

    source: Source
    check: Check
    line: int | None = None
    why: str = ""

    def __str__(self) -> str:
        return self.check.of(self.source.name())


# ---- identity and type ----


@dataclass(frozen=True, slots=True, eq=False)
class IdentityCheck(Check):
    """A fact about one known object; such facts are equal if they are about the very same object."""

    @property
    def subject(self) -> Any:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.subject is other.subject

    def __hash__(self) -> int:
        return id(self.subject)


@dataclass(frozen=True, slots=True, eq=False)
class IsObject(IdentityCheck):
    """The value is this very object."""

    object: Any

    @property
    def subject(self) -> Any:
        return self.object

    def __str__(self) -> str:
        return f"is {_describe(self.object)}"

    def holds(self, value: Any, *others: Any) -> bool:
        return value is self.object

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("is", self.object)

    def why(self, value: Any, *others: Any) -> str:
        return f"expected {_describe(self.object)}, got {_describe(value, than=self.object)}"


@dataclass(frozen=True, slots=True, eq=False)
class TypeIs(IdentityCheck):
    """The value is of exactly this type."""

    type: type

    @property
    def subject(self) -> Any:
        return self.type

    def __str__(self) -> str:
        return f"type is {type_name(self.type)}"

    def holds(self, value: Any, *others: Any) -> bool:
        return type(value) is self.type

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("type", self.type)

    def why(self, value: Any, *others: Any) -> str:
        return f"expected type {type_name(self.type)}, got {type_name(type(value))}"


@dataclass(frozen=True, slots=True)
class NumpyScalarIs(Check):
    """The value is a NumPy scalar of exactly this dtype."""

    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"is a scalar of {self.dtype}"

    def holds(self, value: Any, *others: Any) -> bool:
        return type(value) is self.dtype.type

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("type", self.dtype.type)

    def why(self, value: Any, *others: Any) -> str:
        return f"expected a scalar of {self.dtype}, got {type_name(type(value))}"


@dataclass(frozen=True, slots=True, eq=False)
class CodeIs(IdentityCheck):
    """The value is a plain function with this code."""

    code: CodeType

    @property
    def subject(self) -> Any:
        return self.code

    def __str__(self) -> str:
        return f"runs the code of {self.code.co_qualname}"

    def holds(self, value: Any, *others: Any) -> bool:
        return type(value) is FunctionType and value.__code__ is self.code

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("code", self.code)

    def why(self, value: Any, *others: Any) -> str:
        return f"expected the function {self.code.co_qualname}, got {_describe(value)} with other code"


# ---- values ----


@dataclass(frozen=True, slots=True)
class Present(Check):
    """There is a value, whatever it is: code loads it that must not find nothing there."""

    cost: ClassVar[int] = 0

    def __str__(self) -> str:
        return "is there"

    def holds(self, value: Any, *others: Any) -> bool:
        return True

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ()  # reading the source is all

    def why(self, value: Any, *others: Any) -> str:
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class EqualsConstant(Check):
    """The same type and the same bits: 1, 1.0 and True differ, as do 0.0 and -0.0; a NaN equals itself."""

    value: Any
    cost: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not is_plain_constant(self.value):
            raise TypeError(f"not a plain constant: {type(self.value).__name__}")

    def __eq__(self, other: object) -> bool:
        return type(other) is EqualsConstant and same_constant(self.value, other.value)

    def __hash__(self) -> int:
        return hash(exact(self.value))

    def __str__(self) -> str:
        return f"equals {text(self.value)}"

    def holds(self, value: Any, *others: Any) -> bool:
        return same_constant(value, self.value)

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("equals", self.value)

    def why(self, value: Any, *others: Any) -> str:
        return f"expected {text(self.value)}, got {_describe(value)}"


def same_constant(value: Any, expected: Any) -> bool:
    """The same type and the same bits, all the way down; ``expected`` is a plain constant."""
    kind = type(expected)
    if type(value) is not kind:
        return False
    if kind is float:
        return struct.pack("d", value) == struct.pack("d", expected)
    if kind is complex:
        return same_constant(value.real, expected.real) and same_constant(value.imag, expected.imag)
    if kind is tuple:
        return len(value) == len(expected) and all(map(same_constant, value, expected))
    return value == expected


@dataclass(frozen=True, slots=True, eq=False)
class NumberIs(Check):
    """An int, or a float by its size, from ``low`` to ``high``, which are of that type and fit int64 or float64.

    Floats that are zero, infinite or NaN hold always.
    """

    low: int | float
    high: int | float
    cost: ClassVar[int] = 2

    def __eq__(self, other: object) -> bool:
        return type(other) is NumberIs and same_constant((self.low, self.high), (other.low, other.high))

    def __hash__(self) -> int:
        return hash((type(self.low), self.low, self.high))

    def __str__(self) -> str:
        return f"is a {type_name(type(self.low))} within {self.low} and {self.high}"

    def holds(self, value: Any, *others: Any) -> bool:
        if type(value) is not type(self.low):
            return False
        if type(value) is int:
            return self.low <= value <= self.high
        return value == 0 or not math.isfinite(value) or self.low <= abs(value) <= self.high

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("within", (self.low, self.high))

    def why(self, value: Any, *others: Any) -> str:
        return f"expected a {type_name(type(self.low))} within {self.low} and {self.high}, got {_describe(value)}"


# ---- arrays ----


@dataclass(frozen=True, slots=True)
class ArrayIs(Check):
    """A plain aligned ndarray of this dtype and these sizes (``None``: any size up to ``LARGEST_SIZE``).

    ``layout`` is the class of its strides (``ir.types.Layout``) or ``None``, ``writeable`` its flag or ``None``.
    An array without elements has no layout.
    """

    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    layout: Any = None
    writeable: bool | None = None
    cost: ClassVar[int] = 6

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        layout = "" if self.layout is None else f" {self.layout}"
        access = {None: "", True: " writeable", False: " read-only"}[self.writeable]
        return f"is an array of {self.dtype}[{sizes}]{layout}{access}"

    def holds(self, value: Any, *others: Any) -> bool:
        return self._fault(value) is None

    def form(self, *slots: int) -> tuple[Any, ...]:
        sizes = tuple(-1 if size is None else size for size in self.shape)
        layout = self.layout and (tuple(self.layout.ranks), self.layout.dense, self.layout.inner)
        return ("array", self.dtype, sizes, -1 if self.writeable is None else int(self.writeable), layout)

    def part(self, value: Any) -> str:
        fault = self._fault(value)
        return "" if fault is None else fault[0]

    def why(self, value: Any, *others: Any) -> str:
        fault = self._fault(value)
        return "" if fault is None else f"expected {fault[1]}, got {fault[2]}"

    def _fault(self, value: Any) -> tuple[str, Any, Any] | None:
        """The first wrong part, what was expected of it and what it is."""
        if type(value) is not np.ndarray:
            return "", f"an array of {self.dtype}", _describe(value)
        if not _same_dtype(value.dtype, self.dtype):
            return ".dtype", self.dtype, value.dtype
        if value.ndim != len(self.shape):
            return ".ndim", len(self.shape), value.ndim
        for axis, size in enumerate(self.shape):
            if size is not None and value.shape[axis] != size:
                return f".shape[{axis}]", size, value.shape[axis]
            if value.shape[axis] > LARGEST_SIZE:
                return f".shape[{axis}]", f"at most {LARGEST_SIZE}", value.shape[axis]
        if not value.flags.aligned:
            return ".flags.aligned", True, False
        if self.writeable is not None and value.flags.writeable != self.writeable:
            return ".flags.writeable", self.writeable, value.flags.writeable
        if self.layout is not None and value.size:
            open_axes = [axis for axis, size in enumerate(self.shape) if size is None]
            if not self.layout.fits(value, open_axes):
                return ".strides", f"layout {self.layout}", type(self.layout).of_open(value, open_axes)
        return None


def _same_dtype(have: np.dtype[Any], want: np.dtype[Any]) -> bool:
    """The same object, or the same built-in numeric type in native order without metadata."""
    return have is want or (
        want.kind in "biufc"
        and have.num == want.num
        and bool(have.isnative and want.isnative)
        and have.metadata is None
        and want.metadata is None
    )


# ---- containers ----


@dataclass(frozen=True, slots=True)
class Length(Check):
    """The value is a list, dict or (also of a subclass) tuple with this many elements."""

    count: int

    def __str__(self) -> str:
        return f"has length {self.count}"

    def holds(self, value: Any, *others: Any) -> bool:
        return _length(value) == self.count

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("length", self.count)

    def why(self, value: Any, *others: Any) -> str:
        got = _length(value)
        return f"expected length {self.count}, got {_describe(value) if got is None else got}"


@dataclass(frozen=True, slots=True)
class LengthAtLeast(Check):
    """The value is a list, dict or (also of a subclass) tuple with so many elements or more."""

    count: int

    def __str__(self) -> str:
        return f"has {self.count} elements or more"

    def holds(self, value: Any, *others: Any) -> bool:
        found = _length(value)
        return found is not None and found >= self.count

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("at_least", self.count)

    def why(self, value: Any, *others: Any) -> str:
        got = _length(value)
        return f"expected {self.count} elements or more, got {_describe(value) if got is None else got}"


def _length(value: Any) -> int | None:
    if issubclass(type(value), tuple):
        return tuple.__len__(value)
    return len(value) if type(value) in (list, dict) else None


@dataclass(frozen=True, slots=True, eq=False)
class KeysAre(Check):
    """The value is a dict with exactly these keys in this order."""

    keys: tuple[Any, ...]
    cost: ClassVar[int] = 10

    def __post_init__(self) -> None:
        if not is_plain_constant(self.keys):
            raise TypeError("keys must be plain constants")

    def __eq__(self, other: object) -> bool:
        return type(other) is KeysAre and same_constant(self.keys, other.keys)

    def __hash__(self) -> int:
        return hash(exact(self.keys))

    def __str__(self) -> str:
        return f"has the keys [{', '.join(map(text, self.keys))}]"

    def holds(self, value: Any, *others: Any) -> bool:
        return type(value) is dict and same_constant(tuple(value), self.keys)

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("keys", self.keys)

    def why(self, value: Any, *others: Any) -> str:
        got = f"[{', '.join(map(_describe, value))}]" if type(value) is dict else _describe(value)
        return f"expected the keys [{', '.join(map(text, self.keys))}], got {got}"


@dataclass(frozen=True, slots=True)
class Missing(Check):
    """The value is a dict without this key."""

    key: Any
    cost: ClassVar[int] = 6

    def __str__(self) -> str:
        return f"lacks {text(self.key)}"

    def holds(self, value: Any, *others: Any) -> bool:
        if type(value) is not dict:
            return False
        return not any(is_plain_constant(key) and key == self.key for key in value)

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("missing", self.key)

    def why(self, value: Any, *others: Any) -> str:
        got = "it is there" if type(value) is dict else f"got {_describe(value)}"
        return f"expected no {text(self.key)}, {got}"


# ---- attributes ----


@dataclass(frozen=True, slots=True)
class ClassLacks(Check):
    """The value is a class that has no attribute of this name, nor has one of its bases."""

    attribute: str
    cost: ClassVar[int] = 8

    def __str__(self) -> str:
        return f"has no {self.attribute}"

    def holds(self, value: Any, *others: Any) -> bool:
        return class_lacks(value, self.attribute)

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("class_lacks", self.attribute)

    def why(self, value: Any, *others: Any) -> str:
        return f"expected no attribute {self.attribute!r}, it is there"


@dataclass(frozen=True, slots=True)
class InstanceLacks(Check):
    """The value has no attribute of this name of its own, whatever its class has."""

    attribute: str
    cost: ClassVar[int] = 6

    def __str__(self) -> str:
        return f"has no {self.attribute} of its own"

    def holds(self, value: Any, *others: Any) -> bool:
        return instance_lacks(value, self.attribute)

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("instance_lacks", self.attribute)

    def why(self, value: Any, *others: Any) -> str:
        return f"expected no attribute {self.attribute!r} of its own, it is there"


@dataclass(frozen=True, slots=True, eq=False)
class OrderIs(IdentityCheck):
    """The value is a class with this very tuple of bases in the order of look-up; other bases make another tuple."""

    order: tuple[type, ...]

    @property
    def subject(self) -> Any:
        return self.order

    def __str__(self) -> str:
        return f"inherits {', '.join(map(type_name, self.order[1:]))}"

    def holds(self, value: Any, *others: Any) -> bool:
        return issubclass(type(value), type) and order_of(value) is self.order

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("mro", self.order)

    def why(self, value: Any, *others: Any) -> str:
        return "its bases have changed"


@dataclass(frozen=True, slots=True)
class RegistrationsAre(Check):
    """So many classes have been registered with abstract base classes, anywhere."""

    count: int
    cost: ClassVar[int] = 60

    def __str__(self) -> str:
        return f"no class has been registered since {self.count}"

    def holds(self, value: Any, *others: Any) -> bool:
        return bool(abc.get_cache_token() == self.count)

    def form(self, *slots: int) -> tuple[Any, ...]:
        return ("registrations", self.count)

    def why(self, value: Any, *others: Any) -> str:
        return "a class has been registered with an abstract one"


# ---- from guards to a program ----


def builtin_guards(
    module_globals: dict[str, Any], builtins: dict[str, Any], name: str, check: Check, line: int | None = None
) -> tuple[Guard, Guard]:
    """What makes a builtin the value of a name: the module does not define the name, and the builtins do."""
    return (
        Guard(Constant(module_globals), Missing(name), line, f"{name} is a builtin"),
        Guard(Global(builtins, name), check, line),
    )


def compile_guards(
    guards: Iterable[Guard], inputs: Sequence[Source] = ()
) -> tuple[tuple[int, tuple[tuple[Any, ...], ...]], tuple[int, ...]]:
    """The program ``(slots, steps)`` for ``hook.Variant``, and the slots that hold ``inputs``.

    Each source is read once, parents before leaves; cheap facts are checked before costly ones and before values that
    cost more to read; inputs no guard is about are read last.
    """
    slots: dict[Source, int] = {}
    steps: list[tuple[Any, ...]] = []

    def slot_of(source: Source) -> int:
        if source not in slots:
            parent_slot = -1 if source.parent is None else slot_of(source.parent)
            name, *operands = source.load(parent_slot)
            slots[source] = len(slots)
            steps.append((name, slots[source], *operands))
        return slots[source]

    distinct = {(guard.source, guard.check): guard for guard in guards}
    for guard in sorted(distinct.values(), key=_guard_cost):
        slot = slot_of(guard.source)
        if form := guard.check.form(*map(slot_of, guard.check.sources)):
            steps.append((form[0], slot, *form[1:]))
    input_slots = tuple(map(slot_of, inputs))
    return (len(slots), tuple(steps)), input_slots


def _guard_cost(guard: Guard) -> int:
    sources = (guard.source, *guard.check.sources)
    return guard.check.cost + sum(map(total_cost, sources))


# ---- evaluation in Python ----


def holds(guard: Guard, state: State) -> bool:
    """Whether a guard holds, decided in Python: the definition of what the C form must answer."""
    try:
        values = [resolve(source, state) for source in (guard.source, *guard.check.sources)]
    except Absent:
        return False
    return guard.check.holds(*values)


def why_failed(guards: Iterable[Guard], state: State) -> str:
    """The first guard that does not hold, in words; empty if all hold.

    >>> from capture.frames.sources import Argument
    >>> why_failed([Guard(Argument(0, "x"), ArrayIs(np.dtype(float), (16,)))], State((np.ones(17),), resolve))
    'x.shape[0]: expected 16, got 17'
    """
    for guard in guards:
        try:
            value, *others = (resolve(source, state) for source in (guard.source, *guard.check.sources))
        except Absent:
            return f"{guard.source.name()}: expected a value, got none"
        if not guard.check.holds(value, *others):
            return f"{guard.source.name()}{guard.check.part(value)}: {guard.check.why(value, *others)}"
    return ""


def _describe(value: Any, than: Any = None) -> str:
    """A short name for a value; constants in full. Runs no user code."""
    if is_plain_constant(value):
        return brief(value)
    name = own_name(value)
    if name is not None:
        return f"another {name}" if than is not None and own_name(than) == name else name
    kind = type_name(type(value))
    return f"another {kind}" if type(than) is type(value) else f"{kind} object"
