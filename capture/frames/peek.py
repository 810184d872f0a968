"""Looking at the user's objects without running the user's code.

In: any object. Out: whether it is a plain constant, its name, what its class and its own dict hold, read as ``object``
and ``type`` keep it, past every ``__getattribute__``, ``__eq__`` and metaclass; ``Absent`` where there is nothing.

>>> class_attribute(bool, "real"), class_lacks(bool, "shape"), text((1, "a"))
(<attribute 'real' of 'int' objects>, True, "(1, 'a')")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

PLAIN_TYPES = frozenset({type(None), bool, int, float, complex, str, bytes, type(...)})


def is_plain_constant(value: object) -> bool:
    """True for constants that can be compared without running user code."""
    if type(value) is tuple:
        return all(map(is_plain_constant, value))
    return type(value) in PLAIN_TYPES


def exact(value: object) -> str:
    """A text that only this plain constant has; Python may refuse to write long ints as decimals."""
    if type(value) is tuple:
        return f"({', '.join(map(exact, value))})"
    return hex(value) if type(value) is int else repr(value)


def text(value: object) -> str:
    """A plain constant for people."""
    try:
        return repr(value)
    except ValueError:
        return exact(value)


def brief(value: object) -> str:
    """The same, cut short."""
    words = text(value)
    return words if len(words) <= 60 else f"{words[:57]}..."


class Absent(LookupError):
    """A source has no value in this state."""


_FIXED = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def is_fixed(cls: type) -> bool:
    """Whether nobody can change the attributes of a class."""
    return bool(type.__dict__["__flags__"].__get__(cls) & _FIXED)


def type_name(kind: Any) -> str:
    """The name of a class, whatever its metaclass does; of something else that stands in place of one, its text."""
    return type.__dict__["__name__"].__get__(kind) if issubclass(type(kind), type) else brief(kind)


def own_name(value: Any) -> str | None:
    """The name of a class, function, module or builtin; None for anything else."""
    if issubclass(type(value), type):
        return type_name(value)
    if type(value) in (FunctionType, BuiltinFunctionType, ModuleType):
        name = value.__dict__.get("__name__") if type(value) is ModuleType else value.__name__
        return name if type(name) is str else None  # a module may have been made without one
    return None


def dict_item(mapping: Mapping[Any, Any], key: Any) -> Any:
    if type(mapping) is not dict:
        raise Absent
    if all(map(is_plain_constant, mapping)):
        return mapping[key]
    for candidate, value in mapping.items():  # a look-up might compare with keys of user classes
        if is_plain_constant(candidate) and candidate == key:
            return value
    raise Absent


_own_dict = type.__dict__["__dict__"].__get__
_order: Callable[[type], tuple[type, ...] | None] = type.__dict__["__mro__"].__get__


def order_of(cls: type) -> tuple[type, ...]:
    """A class and its bases in the order in which attributes are looked up; none while its ``mro()`` is running."""
    return _order(cls) or ()


def class_attribute(cls: type, attribute: str) -> Any:
    return _first(order_of(cls), attribute)


def super_attribute(cls: type, after: type, attribute: str) -> Any:
    """What the classes behind ``after`` in the order of ``cls`` hold under a name; raises ``Absent``."""
    order = order_of(cls)
    places = [place for place, base in enumerate(order) if base is after]
    return _first(order[places[0] + 1 :] if places else (), attribute)


def _first(classes: Iterable[type], attribute: str) -> Any:
    for base in classes:
        namespace = _own_dict(base)
        if attribute in namespace:
            return namespace[attribute]
    raise Absent


def checked_class(value: Any) -> type:
    if not issubclass(type(value), type):
        raise Absent
    return value


def is_own_dict(descriptor: Any, cls: type) -> bool:
    """Whether a ``__dict__`` gives an object's own attributes as they are: none made up, nor that of another class."""
    kinds = (GetSetDescriptorType, MemberDescriptorType)
    return type(descriptor) in kinds and any(base is descriptor.__objclass__ for base in order_of(cls))


def instance_lacks(value: Any, attribute: str) -> bool:
    """Whether an object that is no class has no attribute of its own of this name."""
    if issubclass(type(value), type):
        return False
    try:
        dict_item(instance_dict(value), attribute)
    except (Absent, KeyError):
        return True
    return False


def class_lacks(cls: Any, attribute: str) -> bool:
    try:
        class_attribute(checked_class(cls), attribute)
    except Absent:
        return issubclass(type(cls), type)
    return False


def is_instance_dict(value: Any, owner: Any) -> bool:
    """Whether a value is the dict that holds the attributes of an object."""
    try:
        return type(value) is dict and not issubclass(type(owner), type) and instance_dict(owner) is value
    except Absent:
        return False


def instance_dict(value: Any) -> dict[str, Any]:
    descriptor = class_attribute(type(value), "__dict__")
    if not is_own_dict(descriptor, type(value)):
        raise Absent
    namespace = descriptor.__get__(value)
    return dict(namespace) if issubclass(type(value), type) else namespace
