"""Where a value came from: how to name it to the user and how to read it again.

In: the tracer builds a ``Source`` for each value it did not make itself. Out: the user's words for it (``name``), its
value in a plain Python state (``resolve``, for tests and for explaining misses), and the step that loads it in C
(``load``; see ``guards.compile_guards``). Reading a source runs no user code.

>>> def f(x, cfg): ...
>>> rate = Item(Argument(1, "cfg"), "lr")
>>> rate.name()
"cfg['lr']"
>>> resolve(rate, State((None, {"lr": 0.5}), f))
0.5
"""

from __future__ import annotations

from collections.abc import Iterator
from types import (
    CellType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, ClassVar

import numpy as np

from capture.frames.peek import (
    Absent,
    brief,
    checked_class,
    class_attribute,
    dict_item,
    exact,
    instance_dict,
    is_fixed,
    is_plain_constant,
    own_name,
    super_attribute,
    type_name,
)
from capture.records import dataclass

LARGEST_LEN = 256
"""The largest length of a list that may be left open: Python keeps the ints up to there."""
LARGEST_SIZE = 2**40
"""The largest size of an array that may be left open: only views that repeat themselves are longer."""


@dataclass(frozen=True, slots=True)
class State:
    """What a call provides: the values of the argument slots, and the running function."""

    arguments: tuple[Any, ...]
    function: FunctionType


@dataclass(frozen=True, slots=True)
class Source:
    """A place a value can be read from; places inside another value have a ``parent``."""

    cost: ClassVar[int] = 1  # of reading it in C, in about half nanoseconds

    @property
    def parent(self) -> Source | None:
        return None

    def name(self) -> str:
        """The value in the user's words."""
        raise NotImplementedError

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        """The C form: the name of the step and its operands, without the slot it fills."""
        raise NotImplementedError

    def read(self, parent: Any, state: State) -> Any:
        """The value, given the parent's; raises ``Absent``, ``LookupError`` or ``ValueError`` where there is none."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Part(Source):
    """A value read out of another one."""

    whole: Source

    @property
    def parent(self) -> Source | None:
        return self.whole


@dataclass(frozen=True, slots=True)
class Argument(Source):
    """An argument slot of the running function: positional, keyword-only, then ``*args`` and ``**kwargs``."""

    index: int
    argument: str
    cost: ClassVar[int] = 0

    def name(self) -> str:
        return self.argument

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("argument", self.index)

    def read(self, parent: Any, state: State) -> Any:
        return state.arguments[self.index]


@dataclass(frozen=True, slots=True)
class Dimension(Part):
    """A size of an array. Guards on it are about the array: it has no form in C."""

    axis: int

    def name(self) -> str:
        return f"{self.whole.name()}.shape[{self.axis}]"

    def read(self, parent: Any, state: State) -> Any:
        if type(parent) is not np.ndarray:  # whose shape may be a property of the user's
            raise Absent
        return parent.shape[self.axis]


@dataclass(frozen=True, slots=True)
class Len(Part):
    """The length of a list, or of a dict. Only a guard on a small one can be evaluated in C."""

    cost: ClassVar[int] = 2

    def name(self) -> str:
        return f"len({self.whole.name()})"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("len", parent_slot)

    def read(self, parent: Any, state: State) -> Any:
        if type(parent) not in (list, dict):
            raise Absent
        return len(parent)


@dataclass(frozen=True, slots=True)
class Function(Source):
    """The running function itself."""

    cost: ClassVar[int] = 0

    def name(self) -> str:
        return "this function"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("function",)

    def read(self, parent: Any, state: State) -> Any:
        return state.function


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Source):
    """A known object; two constants are equal if they are the same object."""

    value: Any
    cost: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        return type(other) is Constant and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def name(self) -> str:
        return own_name(self.value) or type_name(type(self.value))

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("constant", self.value)

    def read(self, parent: Any, state: State) -> Any:
        return self.value


@dataclass(frozen=True, slots=True, eq=False)
class Global(Source):
    """A name in a namespace: a function's globals, or the builtins.

    A builtin takes two facts: that the function's globals lack the name (``Missing`` on their ``Constant``) and what
    the builtins hold; ``guards.builtin_guards`` gives both.
    """

    namespace: dict[str, Any]
    variable: str
    cost: ClassVar[int] = 3

    def __eq__(self, other: object) -> bool:
        return type(other) is Global and self.namespace is other.namespace and self.variable == other.variable

    def __hash__(self) -> int:
        return hash((id(self.namespace), self.variable))

    def name(self) -> str:
        return self.variable

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("global", self.namespace, self.variable)

    def read(self, parent: Any, state: State) -> Any:
        return dict_item(self.namespace, self.variable)


@dataclass(frozen=True, slots=True)
class Cell(Source):
    """The contents of a closure cell of the running function."""

    index: int
    variable: str

    def name(self) -> str:
        return f"closure {self.variable}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("cell", -1, self.index)

    def read(self, parent: Any, state: State) -> Any:
        return _cell_contents(state.function, self.index)


@dataclass(frozen=True, slots=True)
class CellOf(Part):
    """The contents of a closure cell of another function."""

    index: int
    variable: str
    cost: ClassVar[int] = 2

    def name(self) -> str:
        return f"{self.whole.name()}'s closure {self.variable}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("cell", parent_slot, self.index)

    def read(self, parent: Any, state: State) -> Any:
        return _cell_contents(parent, self.index)


@dataclass(frozen=True, slots=True)
class ClosureCell(Source):
    """A closure cell itself; of the running function without a parent. Only guards read it: which cells are one."""

    owner: Source | None
    index: int
    variable: str
    cost: ClassVar[int] = 2

    @property
    def parent(self) -> Source | None:
        return self.owner

    def name(self) -> str:
        return f"the variable {self.variable} of {_owner_name(self.owner)}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("closure_cell", parent_slot, self.index)

    def read(self, parent: Any, state: State) -> Any:
        return (_function(parent, state, self.owner).__closure__ or ())[self.index]


@dataclass(frozen=True, slots=True)
class Contents(Part):
    """The contents of a cell that is itself a value: resume functions get the cells of the frame they continue."""

    def name(self) -> str:
        return self.whole.name().removesuffix(".cell")

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("contents", parent_slot)

    def read(self, parent: Any, state: State) -> Any:
        if type(parent) is not CellType:
            raise Absent
        return parent.cell_contents  # an empty cell raises ValueError


@dataclass(frozen=True, slots=True)
class Globals(Part):
    """The global namespace of a function: functions made again and again share their code, and nearly always this."""

    def name(self) -> str:
        return f"{self.whole.name()}.__globals__"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("globals", parent_slot)

    def read(self, parent: Any, state: State) -> Any:
        return _checked_function(parent).__globals__


@dataclass(frozen=True, slots=True)
class FunctionPart(Part):
    """What a function says of itself: its name, documentation and module."""

    index: int
    cost: ClassVar[int] = 2

    NAMES: ClassVar[tuple[str, ...]] = ("__name__", "__qualname__", "__doc__", "__module__")

    def name(self) -> str:
        return f"{self.whole.name()}.{self.NAMES[self.index]}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("function_part", parent_slot, self.index)

    def read(self, parent: Any, state: State) -> Any:
        return getattr(_checked_function(parent), self.NAMES[self.index])


@dataclass(frozen=True, slots=True)
class ClassPart(Part):
    """What a class that Python code made is called."""

    index: int
    cost: ClassVar[int] = 2

    NAMES: ClassVar[tuple[str, ...]] = ("__name__", "__qualname__")

    def name(self) -> str:
        return f"{self.whole.name()}.{self.NAMES[self.index]}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("class_part", parent_slot, self.index)

    def read(self, parent: Any, state: State) -> Any:
        if is_fixed(checked_class(parent)):
            raise Absent
        return type.__dict__[self.NAMES[self.index]].__get__(parent)


@dataclass(frozen=True, slots=True)
class Attribute(Part):
    """A name in a module."""

    attribute: str
    cost: ClassVar[int] = 4

    def name(self) -> str:
        return f"{self.whole.name()}.{self.attribute}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("attribute", parent_slot, self.attribute)

    def read(self, parent: Any, state: State) -> Any:
        if type(parent) is not ModuleType:
            raise Absent
        return dict_item(parent.__dict__, self.attribute)


@dataclass(frozen=True, slots=True)
class InstanceAttribute(Part):
    """A value in an object's own attributes, whatever its class says."""

    attribute: str
    cost: ClassVar[int] = 5

    def name(self) -> str:
        return f"{self.whole.name()}.{self.attribute}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("instance_attribute", parent_slot, self.attribute)

    def read(self, parent: Any, state: State) -> Any:
        return dict_item(instance_dict(parent), self.attribute)


@dataclass(frozen=True, slots=True)
class TypeAttribute(Part):
    """What the classes of an object hold under a name: methods, properties, class attributes, unbound."""

    attribute: str
    cost: ClassVar[int] = 8

    def name(self) -> str:
        return f"type({self.whole.name()}).{self.attribute}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("type_attribute", parent_slot, self.attribute)

    def read(self, parent: Any, state: State) -> Any:
        return class_attribute(type(parent), self.attribute)


@dataclass(frozen=True, slots=True)
class ClassAttribute(Part):
    """What a class and its bases hold under a name, unbound."""

    attribute: str
    cost: ClassVar[int] = 8

    def name(self) -> str:
        return f"{self.whole.name()}.{self.attribute}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("class_attribute", parent_slot, self.attribute)

    def read(self, parent: Any, state: State) -> Any:
        return class_attribute(checked_class(parent), self.attribute)


@dataclass(frozen=True, slots=True)
class SuperAttribute(Part):
    """What the classes behind ``after``, in the order of a class, hold under a name: ``super(after, ...).name``."""

    after: type
    attribute: str
    cost: ClassVar[int] = 12

    def name(self) -> str:
        return f"super({type_name(self.after)}, {self.whole.name()}).{self.attribute}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("super_attribute", parent_slot, self.after, self.attribute)

    def read(self, parent: Any, state: State) -> Any:
        return super_attribute(checked_class(parent), self.after, self.attribute)


@dataclass(frozen=True, slots=True, eq=False)
class Member(Part):
    """A value that an object keeps in a slot of its class (``__slots__``); ``member`` is the slot's descriptor."""

    member: MemberDescriptorType
    cost: ClassVar[int] = 2

    def __eq__(self, other: object) -> bool:
        return type(other) is Member and self.whole == other.whole and self.member is other.member

    def __hash__(self) -> int:
        return hash((self.whole, id(self.member)))

    def name(self) -> str:
        return f"{self.whole.name()}.{self.member.__name__}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("member", parent_slot, self.member)

    def read(self, parent: Any, state: State) -> Any:
        try:
            return self.member.__get__(parent)
        except (AttributeError, TypeError) as error:
            raise Absent from error


@dataclass(frozen=True, slots=True)
class Bound(Part):
    """The function (0) or the object (1) of a bound method."""

    index: int
    cost: ClassVar[int] = 2

    def name(self) -> str:
        return f"{self.whole.name()}.{'__self__' if self.index else '__func__'}"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("bound", parent_slot, self.index)

    def read(self, parent: Any, state: State) -> Any:
        if type(parent) is not MethodType:
            raise Absent
        return parent.__self__ if self.index else parent.__func__


@dataclass(frozen=True, slots=True, eq=False)
class Item(Part):
    """An element of a list or (also of a subclass) a tuple, or the value of a constant key of a dict."""

    key: Any
    cost: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if not is_plain_constant(self.key):
            raise TypeError(f"a key must be a plain constant, not {type(self.key).__name__}")

    def __eq__(self, other: object) -> bool:
        return type(other) is Item and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return (self.whole, exact(self.key))  # 1, 1.0 and True are equal keys of a dict, but not indices of a list

    def name(self) -> str:
        return f"{self.whole.name()}[{brief(self.key)}]"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("item", parent_slot, self.key)

    def read(self, parent: Any, state: State) -> Any:
        if type(parent) is dict:
            return dict_item(parent, self.key)
        if type(parent) is list and type(self.key) is int:
            return parent[self.key]
        if issubclass(type(parent), tuple) and type(self.key) is int:
            return tuple.__getitem__(parent, self.key)
        raise Absent


@dataclass(frozen=True, slots=True)
class Default(Source):
    """A positional default of a function; of the running function without a parent.

    Counted from the end, an index names a parameter however many defaults there are.
    """

    owner: Source | None
    index: int
    cost: ClassVar[int] = 2

    @property
    def parent(self) -> Source | None:
        return self.owner

    def name(self) -> str:
        return f"{_owner_name(self.owner)}.__defaults__[{self.index}]"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("default", parent_slot, self.index)

    def read(self, parent: Any, state: State) -> Any:
        return (_function(parent, state, self.owner).__defaults__ or ())[self.index]


@dataclass(frozen=True, slots=True)
class KeywordDefault(Source):
    """The default of a keyword-only parameter of a function; of the running function without a parent."""

    owner: Source | None
    parameter: str
    cost: ClassVar[int] = 3

    @property
    def parent(self) -> Source | None:
        return self.owner

    def name(self) -> str:
        return f"{_owner_name(self.owner)}.__kwdefaults__[{self.parameter!r}]"

    def load(self, parent_slot: int) -> tuple[Any, ...]:
        return ("keyword_default", parent_slot, self.parameter)

    def read(self, parent: Any, state: State) -> Any:
        return dict_item(_function(parent, state, self.owner).__kwdefaults__ or {}, self.parameter)


def resolve(source: Source, state: State) -> Any:
    """The value of ``source`` in ``state``; raises ``Absent`` where the C form would not find one."""
    parent = source.parent
    try:
        return source.read(None if parent is None else resolve(parent, state), state)
    except (LookupError, ValueError) as error:
        raise Absent(f"{source.name()} is not there") from error


CERTAIN = frozenset({Argument, Dimension, Function, Constant})
"""Kinds of sources that always have a value; the array of a ``Dimension`` is guarded."""


def ancestry(source: Source | None) -> Iterator[Source]:
    """A source and all that it is read from."""
    while source is not None:
        yield source
        source = source.parent


def total_cost(source: Source) -> int:
    """What reading a source costs in C, with everything it is read from."""
    return source.cost + (0 if source.parent is None else total_cost(source.parent))


def _cell_contents(function: Any, index: int) -> Any:
    closure: tuple[CellType, ...] = _checked_function(function).__closure__ or ()
    return closure[index].cell_contents  # an empty cell raises ValueError


def _checked_function(value: Any) -> FunctionType:
    if type(value) is not FunctionType:
        raise Absent
    return value


def _function(parent: Any, state: State, owner: Source | None) -> FunctionType:
    return _checked_function(state.function if owner is None else parent)


def _owner_name(owner: Source | None) -> str:
    return "this function" if owner is None else owner.name()


