"""``isinstance`` and ``issubclass`` with abstract base classes of the library: ``Sequence``, ``Number``, ``Callable``.

In: a class and an abstract one. Out: Python's own answer, if only code of the library's is asked; it stays as long as
nobody registers another subclass anywhere, which is guarded by the count that ``abc`` keeps of that.

>>> is_subclass(tracer, np.ndarray, collections.abc.Sequence)
False
"""

from __future__ import annotations

import abc
from types import FunctionType
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.guards import OrderIs, RegistrationsAre
from capture.frames.peek import is_fixed, order_of, type_name
from capture.frames.sources import Constant as KnownObject
from capture.frames.values.lookup import MISSING, OWN, find, holds

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer

MODULES = frozenset({"abc", "numbers", "typing", "collections.abc", "_collections_abc"})
MOST_CLASSES = 2000
_REGISTRY = type(OWN(abc.ABC)["_abc_impl"])


def is_subclass(tracer: Tracer, cls: type, kind: type) -> bool:
    if not issubclass(type(kind), type):
        raise GraphBreak("isinstance() or issubclass() with something that is no class")
    if type(kind) is not abc.ABCMeta or not _asks_the_library(kind):
        raise GraphBreak(f"{type_name(kind)} decides itself what its subclasses are")
    for name in ("__instancecheck__", "__subclasscheck__"):
        holds(tracer, abc.ABCMeta, name, OWN(abc.ABCMeta)[name])
    if not is_fixed(cls):
        tracer.guard(KnownObject(cls), OrderIs(order_of(cls)))
        if find(kind, "__subclasshook__") is not OWN(object)["__subclasshook__"] and not _is_below(cls, kind):
            raise GraphBreak(f"{type_name(cls)} may change what decides whether it is a {type_name(kind)}")
    tracer.guard(KnownObject(kind), RegistrationsAre(registrations()))
    holds(tracer, kind, "_abc_impl", OWN(kind)["_abc_impl"])
    return issubclass(cls, kind)


def registrations() -> int:
    count = abc.get_cache_token()
    assert isinstance(count, int)
    return count


def _is_below(cls: type, kind: type) -> bool:
    return any(base is kind for base in order_of(cls))


def _asks_the_library(kind: type) -> bool:
    """Whether neither the class nor what is below or registered runs code of the user's."""
    waiting, seen = [kind], set()
    while waiting:
        cls = waiting.pop()
        if id(cls) in seen:
            continue
        seen.add(id(cls))
        known = type(cls) is type or type(cls).__module__ in MODULES
        if len(seen) > MOST_CLASSES or not known or not _has_known_methods(cls):
            return False
        if type(cls) is not type:
            if type(OWN(cls).get("_abc_impl")) is not _REGISTRY:
                return False
            waiting += type.__subclasses__(cls)
            waiting += filter(None, (reference() for reference in _registered(cls)))
    return True


def _registered(cls: type) -> Any:
    return abc._get_dump(cls)[0] if hasattr(abc, "_get_dump") else ()  # type: ignore[attr-defined]


def _has_known_methods(cls: type) -> bool:
    if find(cls, "__subclasses__") is not MISSING:  # which is asked as the class has it
        return False
    hook = find(cls, "__subclasshook__")
    function = getattr(hook, "__func__", None)
    if hook is OWN(object)["__subclasshook__"]:
        return True
    return type(function) is FunctionType and function.__module__ in MODULES
