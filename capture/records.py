"""``dataclass``, as of the standard library, made in a tenth of the time: a first call imports two hundred of them.

In: a class with annotations. Out: the same class with ``__init__``, ``__repr__``, ``__eq__`` and ``__hash__``::

    @dataclass(frozen=True, slots=True)
    class Unit:
        node: Node
        kind: str = "pointwise"

    replace(Unit(node), kind="loop")

The standard library writes each of six methods as text and compiles it when the class is made. Here only ``__init__``
is made that way, when the first object is; the others are the same functions for all classes. Arguments and behaviour
are those of ``dataclasses`` as far as this package uses them (a test compares the two), but that ``asdict`` and
``astuple`` do not look into what the fields hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType, MemberDescriptorType
from typing import Any, TypeVar, dataclass_transform, overload

Class = TypeVar("Class", bound=type)
Record = TypeVar("Record")

_ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "<absent>"})()
_FIELDS = "__record_fields__"


class Field:
    """What is known of one field."""

    __slots__ = ("compare", "default", "default_factory", "init", "metadata", "name", "repr")

    def __init__(
        self,
        *,
        default: Any = _ABSENT,
        default_factory: Any = _ABSENT,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
        metadata: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name = ""
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.metadata = metadata


def field(**facts: Any) -> Any:
    """A field with more than a default: ``field(default_factory=list, compare=False)``."""
    return Field(**facts)


@overload
def dataclass(cls: Class, /) -> Class: ...
@overload
def dataclass(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False
) -> Callable[[Class], Class]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(
    cls: Any = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Any:
    """Add to a class the methods of a record; with ``slots`` to a copy of it."""

    def made(cls: type) -> type:
        own = _own_fields(cls)
        known = {name: each for base in reversed(cls.__mro__[1:]) for name, each in vars(base).get(_FIELDS, {}).items()}
        every = {**known, **own}
        if slots:
            cls = _with_slots(cls, own, every)
        methods = {_FIELDS: every, "__init__": _first_init(cls, every, frozen, kw_only)}
        methods["__match_args__"] = () if kw_only else tuple(name for name, each in every.items() if each.init)
        if repr:
            methods["__repr__"] = _repr
        if eq:
            values = _reader([name for name, each in every.items() if each.compare])
            methods["__eq__"] = _equality(values)
        for name, method in methods.items():
            if name not in vars(cls):
                setattr(cls, name, method)
        if eq and vars(cls).get("__hash__") is None:
            cls.__hash__ = _hashing(values) if frozen else None  # type: ignore[assignment]
        if frozen:
            cls.__setattr__ = _refuse_to_set  # type: ignore[assignment]
            cls.__delattr__ = _refuse_to_delete  # type: ignore[assignment]
        return cls

    return made if cls is None else made(cls)


# The class ------------------------------------------------------------------------------------------------------------
def _own_fields(cls: type) -> dict[str, Field]:
    """The fields that the class itself declares; what stays in the class are the defaults."""
    found: dict[str, Field] = {}
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        if str(annotation).startswith("ClassVar"):
            continue
        given = getattr(cls, name, _ABSENT)
        if isinstance(given, MemberDescriptorType):  # a slot of a base
            given = _ABSENT
        if not isinstance(given, Field):
            given = Field(default=given)
        elif given.default is _ABSENT:
            delattr(cls, name)
        else:
            setattr(cls, name, given.default)
        given.name = name
        found[name] = given
    return found


def _with_slots(cls: type, own: Mapping[str, Field], every: Mapping[str, Field]) -> type:
    """A copy of the class whose own fields are slots."""
    held = {slot for base in cls.__mro__[1:-1] for slot in vars(base).get("__slots__", ())}
    kept = {name: value for name, value in vars(cls).items() if name not in every}
    for name in ("__dict__", "__weakref__"):
        kept.pop(name, None)
    kept["__slots__"] = tuple(name for name in every if name not in held)
    kept.setdefault("__getstate__", _state)
    kept.setdefault("__setstate__", _set_state)
    copy = type(cls)(cls.__name__, cls.__bases__, kept)
    copy.__qualname__ = cls.__qualname__
    return copy


# Methods --------------------------------------------------------------------------------------------------------------
def _first_init(cls: type, every: Mapping[str, Field], frozen: bool, kw_only: bool) -> Callable[..., None]:
    """``__init__`` as long as there is no object; the first one has the real one made."""

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        made = _compiled_init(cls, every, frozen, kw_only)
        cls.__init__ = made  # type: ignore[misc]
        made(self, *args, **kwargs)

    return __init__


def _compiled_init(cls: type, every: Mapping[str, Field], frozen: bool, kw_only: bool) -> Callable[..., None]:
    """A function with a parameter for each field, which sets them one after the other."""
    space: dict[str, Any] = {"_absent": _ABSENT, "_set": object.__setattr__}
    parameters, lines = ["self"], []
    for name, each in every.items():
        value = name
        if each.default_factory is not _ABSENT:
            space[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _absent else {name}" if each.init else f"_make_{name}()"
        if each.init:
            has_default = each.default is not _ABSENT or each.default_factory is not _ABSENT
            space[f"_default_{name}"] = each.default
            parameters.append(f"{name}=_default_{name}" if has_default else name)
        elif each.default_factory is _ABSENT:
            continue
        slot = getattr(cls, name, None)
        if not frozen:
            lines.append(f"self.{name} = {value}")
        elif isinstance(slot, MemberDescriptorType):
            space[f"_set_{name}"] = slot.__set__
            lines.append(f"_set_{name}(self, {value})")
        else:
            lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    if kw_only and len(parameters) > 1:
        parameters.insert(1, "*")
    text = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])
    exec(compile(text, f"<fields of {cls.__qualname__}>", "exec"), space)
    made: Callable[..., None] = space["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _reader(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of some attributes as one tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda record: ()
    only = attrgetter(*names)
    return lambda record: (only(record),)


def _equality(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or values(self) == values(other)

    return __eq__


def _hashing(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise AttributeError(f"cannot assign to field {name!r} of a frozen {type(self).__qualname__}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise AttributeError(f"cannot delete field {name!r} of a frozen {type(self).__qualname__}")


def _state(self: Any) -> tuple[Any, ...]:
    """For pickle, which would set the slots of a frozen record by ``setattr``."""
    return astuple(self)


def _set_state(self: Any, state: tuple[Any, ...]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


# Records as a whole ---------------------------------------------------------------------------------------------------
def fields(record: Any) -> tuple[Field, ...]:
    """The fields of a record or of its class, those of bases first."""
    found: Mapping[str, Field] = getattr(record, _FIELDS)
    return tuple(found.values())


def replace(record: Record, /, **changes: Any) -> Record:
    """A record that differs in some fields."""
    for each in fields(record):
        if each.init and each.name not in changes:
            changes[each.name] = getattr(record, each.name)
    return type(record)(**changes)


def astuple(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, each.name) for each in fields(record))


def asdict(record: Any) -> dict[str, Any]:
    return {each.name: getattr(record, each.name) for each in fields(record)}
