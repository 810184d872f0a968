"""Objects of classes that Python code made: attributes, special methods, and new objects.

In: an object from outside (``ObjectValue``: its exact type is guarded), or a call of a class (``NewValue``: the object
exists only while tracing, and is made if it escapes). Out: attributes by ``lookup``, operators and other protocols by
evaluating the class's special methods inline. An attribute that is assigned is kept in ``own``; where the object
outlives the frame the assignment is also noted as an effect (``effects.AttributeStore``).

>>> model.attribute(tracer, "weights")     # an entry of the object's own dict
<array model.weights>
"""

from __future__ import annotations

import contextlib
import enum
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.guards import InstanceLacks, IsObject, OrderIs, Present
from capture.frames.peek import Absent, instance_lacks, is_own_dict, order_of, type_name
from capture.frames.sources import Constant as KnownObject
from capture.frames.sources import InstanceAttribute, Member, Source, State
from capture.frames.stores import AttributeDelete, AttributeStore
from capture.frames.values import abstract, assigning, lookup
from capture.frames.values.base import NULL, NotConcrete, Opaque, Value
from capture.frames.values.constants import NUMBERS, PLAIN, Constant
from capture.frames.values.containers import TupleValue
from capture.frames.values.functions import BoundMethodValue
from capture.frames.values.iterators import IteratorValue
from capture.frames.values.keys import require_no_finalizer
from capture.frames.values.lookup import MISSING, OWN, find, holds, lacks, special
from capture.frames.values.numbers import NumberValue, require_constant

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer


class Instance(Value):
    """What objects from outside and new ones share.

    ``own`` has the attributes assigned while tracing; of an object from outside also those deleted, as NULL.
    """

    __slots__ = ()
    own: dict[str, Value]

    @property
    def cls(self) -> type:
        raise NotImplementedError

    def own_attribute(self, tracer: Tracer, name: str) -> Value | None:
        """The attribute in the object itself, whatever its class says."""
        raise NotImplementedError

    def slot(self, tracer: Tracer, member: MemberDescriptorType) -> Value:
        raise NotImplementedError

    def field(self, tracer: Tracer, index: int) -> Value:
        raise GraphBreak(f"a field of {self.describe()} is left to Python", "attribute")

    def keep(self, tracer: Tracer, name: str, value: Value) -> None:
        """Assign to the object's own dict, or to a slot."""
        raise NotImplementedError

    def drop(self, tracer: Tracer, name: str) -> None:
        """Delete from the object's own dict, or from a slot."""
        raise NotImplementedError

    # questions of Python ------------------------------------------------------------------------------------------
    def python_type(self, tracer: Tracer) -> type:
        return self.cls

    def attribute(self, tracer: Tracer, name: str) -> Value:
        return lookup.read(tracer, self, name)

    def store_attribute(self, tracer: Tracer, name: str, value: Value) -> None:
        assigning.store(tracer, self, name, value)

    def delete_attribute(self, tracer: Tracer, name: str) -> None:
        assigning.delete(tracer, self, name)

    def special(self, tracer: Tracer, name: str, *args: Value) -> Value | None:
        """What a special method of the class gives; None if the class has none."""
        function = special(tracer, self.cls, name)
        return None if function is None else tracer.call(function, (self, *args), {})

    def required(self, tracer: Tracer, name: str, *args: Value) -> Value:
        found = self.special(tracer, name, *args)
        if found is None:
            raise GraphBreak(f"{self.describe()} has no {name}")
        return found

    def truth(self, tracer: Tracer) -> bool:
        for name, kinds in (("__bool__", (bool,)), ("__len__", (int, bool))):
            found = self.special(tracer, name)
            if found is not None:
                return bool(_constant(tracer, found, kinds, name))
        return True

    def length(self, tracer: Tracer) -> int:
        return _constant(tracer, self.required(tracer, "__len__"), (int,), "__len__")

    def item(self, tracer: Tracer, key: Value) -> Value:
        return self.required(tracer, "__getitem__", key)

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        self.required(tracer, "__setitem__", key, value)

    def delete_item(self, tracer: Tracer, key: Value) -> None:
        self.required(tracer, "__delitem__", key)

    def contains(self, tracer: Tracer, item: Value) -> bool:
        return self.required(tracer, "__contains__", item).real(tracer).truth(tracer)

    def iterate(self, tracer: Tracer) -> Value:
        found = self.required(tracer, "__iter__").real(tracer)
        if isinstance(found, Instance):
            if lacks(tracer, found.cls, "__next__"):
                raise GraphBreak("iter() of something whose __iter__ gives no iterator", "loop")
        elif not isinstance(found, IteratorValue):
            raise GraphBreak(f"iteration over {found.describe()} is left to Python", "loop")
        return found

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        return self._rest(tracer, self.iterate(tracer))

    def listed(self, tracer: Tracer) -> tuple[Value, ...]:
        found = self.iterate(tracer)
        if not lacks(tracer, self.cls, "__len__"):
            self.length(tracer)
        elif not lacks(tracer, self.cls, "__length_hint__"):
            raise GraphBreak(f"{type_name(self.cls)} has a __length_hint__", "loop")
        return self._rest(tracer, found)

    def _rest(self, tracer: Tracer, found: Value) -> tuple[Value, ...]:
        return (tracer.iterator(found) if isinstance(found, Instance) else found).items(tracer)

    def enter(self, tracer: Tracer) -> tuple[Value, Value]:
        functions = [special(tracer, self.cls, name) for name in ("__enter__", "__exit__")]
        if None in functions:
            raise GraphBreak(f"{self.describe()} is no context manager")
        enter, leave = functions
        assert enter is not None and leave is not None
        return BoundMethodValue(leave, self), tracer.call(enter, (self,), {})

    def called(self, tracer: Tracer, args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        function = special(tracer, self.cls, "__call__")
        if function is None:
            raise GraphBreak(f"call of {self.describe()}", "call")
        return function, (self, *args)


def _constant(tracer: Tracer, value: Value, kinds: tuple[type, ...], what: str) -> Any:
    """The result of a special method that must be a number of Python's, and not negative."""
    value = value.real(tracer)
    require_constant(tracer, value)
    if not isinstance(value, Constant) or type(value.value) not in kinds or value.value < 0:
        raise GraphBreak(f"{what} gives {value.describe()}")
    return value.value


class ObjectValue(Instance, Opaque):
    """An object from outside. Its attributes are read under guards until they are assigned."""

    __slots__ = ("own",)

    def __init__(self, example: Any, source: Source) -> None:
        super().__init__(example, source)
        self.own: dict[str, Value] = {}

    @property
    def cls(self) -> type:
        return type(self.example)

    def own_attribute(self, tracer: Tracer, name: str) -> Value | None:
        if name in self.own:
            return _unless_gone(self.own[name])
        descriptor = find(self.cls, "__dict__")
        if descriptor is MISSING:
            return None
        if not is_own_dict(descriptor, self.cls):
            raise GraphBreak(f"{type_name(self.cls)} has a __dict__ of its own", "attribute")
        assert self.source is not None
        if instance_lacks(self.example, name):
            tracer.guard(self.source, InstanceLacks(name))
            return None
        return self._part(tracer, InstanceAttribute(self.source, name))

    def plain(self, tracer: Tracer, base: type) -> Value:
        """What an object of a subclass of int, float or str is as one of these: an Enum's member that is known."""
        assert self.source is not None
        if base is tuple or not isinstance(self.example, enum.Enum):
            return self
        tracer.guard(self.source, IsObject(self.example))
        return Constant(base.__new__(base, self.example) if base is not str else str.__str__(self.example))

    def slot(self, tracer: Tracer, member: MemberDescriptorType) -> Value:
        assert self.source is not None
        name = member.__name__
        found = self.own[name] if name in self.own else self._part(tracer, Member(self.source, member))
        if found is NULL:
            raise lookup.MissingAttribute(f"{self.describe()} has no {name!r} any more", "attribute")
        return found

    def _part(self, tracer: Tracer, source: InstanceAttribute | Member) -> Value:
        try:
            return tracer.there(source, source.read(self.example, _NO_STATE))
        except (Absent, LookupError):
            raise GraphBreak(f"{source.name()} is not there", "attribute") from None

    def keep(self, tracer: Tracer, name: str, value: Value) -> None:
        assert self.source is not None
        before = self._before(name)
        if before is not None and name not in self.own and value.source == before:
            return  # self.x += y puts the very array back
        tracer.write(self, AttributeStore(self, name, value, not self._plain("__setattr__")))
        tracer.journal.put(self.own, name, value)

    def drop(self, tracer: Tracer, name: str) -> None:
        if name not in self.own:
            place = self._before(name)
            if place is None:
                raise GraphBreak(f"{self.describe()} has no attribute {name!r}", "attribute")
            tracer.guard(place, Present())
        elif self.own[name] is NULL:
            raise GraphBreak(f"{self.describe()} has no {name!r} any more", "attribute")
        tracer.write(self, AttributeDelete(self, name, not self._plain("__delattr__")))
        tracer.journal.put(self.own, name, NULL)

    def _plain(self, method: str) -> bool:
        return find(self.cls, method) is OWN(object)[method]

    def _before(self, name: str) -> Source | None:
        """Where the attribute is that an assignment replaces; None if there is none."""
        assert self.source is not None
        member = find(self.cls, name)
        source: Member | InstanceAttribute = InstanceAttribute(self.source, name)
        if type(member) is MemberDescriptorType:
            source = Member(self.source, member)
        try:
            old = source.read(self.example, _NO_STATE)
        except (Absent, LookupError):
            return None
        require_no_finalizer(old, name)
        return source


def _unless_gone(value: Value) -> Value | None:
    return None if value is NULL else value


_NO_STATE = State((), lambda: None)  # type: ignore[arg-type]


class NewValue(Instance):
    """An object made inside the frame, with ``object.__new__``."""

    __slots__ = ("_cls", "made_of", "own")
    noun = "new object"

    def __init__(self, made_of: Value, cls: type) -> None:
        super().__init__()
        self.made_of = made_of  # the class, as a value
        self._cls = cls
        self.own: dict[str, Value] = {}

    @property
    def cls(self) -> type:
        return self._cls

    def describe(self) -> str:
        return f"new {type_name(self._cls)}"

    def own_attribute(self, tracer: Tracer, name: str) -> Value | None:
        return self.own.get(name)

    def slot(self, tracer: Tracer, member: MemberDescriptorType) -> Value:
        if member.__name__ not in self.own:
            raise GraphBreak(f"{self.describe()} has no {member.__name__} yet", "attribute")
        return self.own[member.__name__]

    def keep(self, tracer: Tracer, name: str, value: Value) -> None:
        tracer.require_no_circle(self, (value,))
        tracer.journal.put(self.own, name, value)

    def drop(self, tracer: Tracer, name: str) -> None:
        if name not in self.own:
            raise GraphBreak(f"{self.describe()} has no attribute {name!r}", "attribute")
        tracer.journal.set(self, "own", {key: value for key, value in self.own.items() if key != name})

    def rebuild(self, build: Builder) -> None:
        build.call(make_object, (self.made_of, Constant(tuple(self.own)), *self.own.values()))


def make_object(cls: type, names: tuple[str, ...], *values: Any) -> Any:
    """An object with these attributes, made as ``__init__`` would have: nothing of the class's runs."""
    made: Any = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


# New objects -------------------------------------------------------------------------------------------------------
def construct(tracer: Tracer, callee: Value, cls: type, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """``cls(*args, **kwargs)``."""
    if not holds(tracer, type(cls), "__call__", OWN(type)["__call__"]):
        of_meta = special(tracer, type(cls), "__call__")
        assert of_meta is not None
        return tracer.call(of_meta, (callee, *args), kwargs)
    return construct_plainly(tracer, callee, cls, args, kwargs)


def construct_plainly(
    tracer: Tracer, callee: Value, cls: type, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    """``type.__call__(cls, *args, **kwargs)``."""
    made, plain = _make(tracer, callee, cls, args, kwargs)
    made_class = made.python_type(tracer)
    if made_class is not cls:
        raise GraphBreak(f"__new__ of {type_name(cls)} gives another kind of object", "call")
    if holds(tracer, cls, "__init__", OWN(object)["__init__"]):
        if plain and (args or kwargs):
            raise GraphBreak(f"{type_name(cls)} takes no arguments", "call")
        return made
    init = special(tracer, cls, "__init__")
    assert init is not None
    result = tracer.call(init, (made, *args), kwargs).real(tracer)
    if not isinstance(result, Constant) or result.value is not None:
        raise GraphBreak("__init__ gives something else than None", "call")
    return made


def _make(
    tracer: Tracer, callee: Value, cls: type, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[Value, bool]:
    """The object before ``__init__``, and whether ``object.__new__`` made it."""
    if holds(tracer, cls, "__new__", OWN(object)["__new__"]):
        return new_object(tracer, callee, cls), True
    found = find(cls, "__new__")
    if type(found) is not staticmethod or type(found.__func__) is not FunctionType:
        raise GraphBreak(f"{type_name(cls)} is made by its own __new__", "call")
    holds(tracer, cls, "__new__", found)
    return tracer.call(lookup.known(tracer, found.__func__), (callee, *args), kwargs).real(tracer), False


def new_object(tracer: Tracer, callee: Value, cls: type) -> Value:
    """``object.__new__(cls)``."""
    if not lacks(tracer, cls, "__del__"):
        raise GraphBreak(f"{type_name(cls)} has a __del__", "call")
    try:
        object.__new__(cls)  # runs nothing of the user's
    except TypeError as error:
        raise GraphBreak(f"{type_name(cls)} is made by Python: {error}", "call") from None
    return NewValue(callee, cls)


# Named tuples ------------------------------------------------------------------------------------------------------
class NamedTupleValue(TupleValue):
    """A tuple of a class made by ``collections.namedtuple`` or ``typing.NamedTuple``."""

    __slots__ = ("cls", "made_of")
    noun = "named tuple"
    own: Mapping[str, Value] = {}

    def __init__(self, made_of: Value | None, cls: type, values: Sequence[Value], source: Source | None = None) -> None:
        super().__init__(values, source)
        self.made_of = made_of
        self.cls = cls

    def python_type(self, tracer: Tracer) -> type:
        return self.cls

    def own_attribute(self, tracer: Tracer, name: str) -> Value | None:
        if find(self.cls, "__dict__") is not MISSING:
            raise GraphBreak(f"attribute {name!r} of a named tuple with a dict", "attribute")
        return None

    def field(self, tracer: Tracer, index: int) -> Value:
        return self.values[index]

    def attribute(self, tracer: Tracer, name: str) -> Value:
        return lookup.read(tracer, self, name)  # type: ignore[arg-type]

    def item(self, tracer: Tracer, key: Value) -> Value:
        return TupleValue(self.values).item(tracer, key)

    def concrete(self, tracer: Tracer) -> Any:
        raise NotConcrete(self.describe())  # its class may compare and print as it likes

    def in_graph(self, tracer: Tracer) -> Any:
        raise GraphBreak("a named tuple is an operand of an array operation", "op")

    def template(self, build: Any) -> Any:
        return None

    def rebuild(self, build: Builder) -> None:
        assert self.made_of is not None
        build.call(make_named_tuple, (self.made_of, *self.values))


def make_named_tuple(cls: type, *values: Any) -> Any:
    return tuple.__new__(cls, values)


TUPLE_METHODS = ("__getitem__", "__len__", "__iter__", "__contains__", "__getattribute__")


def is_named_tuple(cls: type) -> bool:
    """Whether objects of a class are tuples in all but their names: no method of tuples is replaced."""
    if not issubclass(cls, tuple) or type(OWN(cls).get("_fields", find(cls, "_fields"))) is not tuple:
        return False
    return all(find(cls, name) is OWN(tuple)[name] for name in TUPLE_METHODS)


def guard_named_tuple(tracer: Tracer, cls: type) -> None:
    for name in TUPLE_METHODS:
        holds(tracer, cls, name, OWN(tuple)[name])


def new_tuple(tracer: Tracer, kind: Value, values: Value = TupleValue(())) -> Value:  # noqa: B008 (immutable)
    """``tuple.__new__(kind, values)``."""
    cls = kind.concrete(tracer)
    if cls is tuple:
        return TupleValue(values.listed(tracer))
    if not lookup.is_class(cls) or not is_named_tuple(cls):
        raise GraphBreak("tuple.__new__ of a class that is no named tuple", "call")
    guard_named_tuple(tracer, cls)
    return NamedTupleValue(kind, cls, values.listed(tracer))


BUILTIN_BASES = (tuple, int, str, float)


def without_class(tracer: Tracer, value: Value, symbol: str) -> Value:
    """The operand of an operator as a plain tuple, int or string, if its class leaves the operator to that base."""
    if not isinstance(value, NamedTupleValue | ObjectValue):
        return value
    cls = value.cls
    base = next((kind for kind in BUILTIN_BASES if any(each is kind for each in order_of(cls))), None)
    if base is None or not all(_is_inherited(tracer, cls, base, name) for name in _methods_of(symbol)):
        return value
    if isinstance(value, NamedTupleValue):
        return TupleValue(value.values)
    return value.plain(tracer, base)


def _methods_of(symbol: str) -> tuple[str, ...]:
    if symbol in COMPARISONS:
        return (*COMPARISONS[symbol], "__hash__")
    name = ARITHMETIC.get(symbol.removesuffix("="), "")
    return (f"__{name}__", f"__r{name}__", f"__i{name}__")


def _is_inherited(tracer: Tracer, cls: type, base: type, name: str) -> bool:
    """Whether a class has just what a builtin base of it has under a name, perhaps nothing."""
    wanted = find(base, name)
    if name == "__hash__" and base is not tuple:  # Enum has one of its own, which agrees with equality
        return True
    return lacks(tracer, cls, name) if wanted is MISSING else holds(tracer, cls, name, wanted)


# Classes of objects ------------------------------------------------------------------------------------------------
def is_instance(tracer: Tracer, value: Value, kind: Any) -> bool:
    """``isinstance(value, kind)`` with one class."""
    cls = value.python_type(tracer)
    if cls is kind:
        return True
    if type(kind) is not type and not holds(tracer, type(kind), "__instancecheck__", OWN(type)["__instancecheck__"]):
        return abstract.is_subclass(tracer, cls, kind)
    if not lookup.is_fixed(cls):
        tracer.guard(KnownObject(cls), OrderIs(order_of(cls)))
    if any(base is kind for base in order_of(cls)):
        return True
    if lookup.is_fixed(cls) and cls not in weakref.ProxyTypes:
        return False
    lookup.require_generic(tracer, cls)
    if not holds(tracer, cls, "__class__", OWN(object)["__class__"]):
        raise GraphBreak(f"{type_name(cls)} has a __class__ of its own")
    return False


# Operators ---------------------------------------------------------------------------------------------------------
ARITHMETIC: Mapping[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARISONS: Mapping[str, tuple[str, str]] = {
    "<": ("__lt__", "__gt__"), "<=": ("__le__", "__ge__"), ">": ("__gt__", "__lt__"), ">=": ("__ge__", "__le__"),
    "==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__"),
}  # fmt: skip
UNARY: Mapping[str, str] = {"unary -": "__neg__", "unary +": "__pos__", "unary ~": "__invert__"}

Attempt = tuple[Instance, str, Value]


def binary(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value:
    """An operator of which at least one operand is an object of a user's class."""
    if symbol in COMPARISONS:
        return _compare(tracer, symbol, left, right)
    plain = symbol.removesuffix("=")
    if plain not in ARITHMETIC:
        raise GraphBreak(f"{symbol} of {left.describe()} is left to Python")
    name = ARITHMETIC[plain]
    if plain != symbol and isinstance(left, Instance):
        found = left.special(tracer, f"__i{name}__", right)
        if found is not None and not _is_not_implemented(tracer, found):
            return found
    return _first(tracer, _attempts(tracer, left, right, f"__{name}__", f"__r{name}__", False), symbol)


def _first(tracer: Tracer, attempts: Sequence[Attempt], symbol: str) -> Value:
    for owner, method, other in attempts:
        found = owner.special(tracer, method, other)
        if found is not None and not _is_not_implemented(tracer, found):
            return found
    raise GraphBreak(f"no operand of {symbol} knows what to do")


def _is_not_implemented(tracer: Tracer, value: Value) -> bool:
    value = value.real(tracer)
    return isinstance(value, Constant) and value.value is NotImplemented


def _attempts(tracer: Tracer, left: Value, right: Value, name: str, reflected: str, compares: bool) -> list[Attempt]:
    """Which special methods are asked, in order."""
    attempts: list[Attempt] = []
    if isinstance(left, Instance):
        attempts.append((left, name, right))
    elif not _gives_way(left, compares):
        raise GraphBreak(f"an operator of {left.describe()} and {right.describe()} is left to Python")
    if not isinstance(right, Instance):
        return attempts
    if not isinstance(left, Instance):
        return [(right, reflected, left)]
    if left.cls is right.cls:
        return [*attempts, (right, reflected, left)] if compares else attempts
    attempts.append((right, reflected, left))
    if _is_below(tracer, right.cls, left.cls) and (
        compares or find(right.cls, reflected) is not find(left.cls, reflected)
    ):
        attempts.reverse()
    return attempts


def _gives_way(value: Value, compares: bool) -> bool:
    """Whether the operators of a value leave objects of other classes to the other operand."""
    kinds = PLAIN if compares else (*NUMBERS, type(None))
    if isinstance(value, NumberValue):
        return True
    return isinstance(value, Constant) and type(value.value) in kinds


def _is_below(tracer: Tracer, cls: type, other: type) -> bool:
    tracer.guard(KnownObject(cls), OrderIs(order_of(cls)))
    return any(base is other for base in order_of(cls)[1:])


def _compare(tracer: Tracer, symbol: str, left: Value, right: Value) -> Value:
    name, reflected = COMPARISONS[symbol]
    attempts = _attempts(tracer, left, right, name, reflected, True)
    for owner, method, other in attempts:
        found = _compare_one(tracer, owner, method, other)
        if found is not None:
            return found
    if symbol not in ("==", "!=") or not all(isinstance(v, Instance) or _gives_way(v, True) for v in (left, right)):
        raise GraphBreak(f"{left.describe()} {symbol} {right.describe()} is left to Python")
    return Constant(tracer.identical(left, right) == (symbol == "=="))


def _compare_one(tracer: Tracer, owner: Instance, method: str, other: Value) -> Value | None:
    """What one special method says; None for NotImplemented. ``object``'s own know identity only."""
    wanted = OWN(object).get(method)
    if wanted is None or not holds(tracer, owner.cls, method, wanted):
        found = owner.special(tracer, method, other)
        return None if found is None or _is_not_implemented(tracer, found) else found
    if method == "__ne__":
        same = _compare_one(tracer, owner, "__eq__", other)
        return None if same is None else Constant(not same.real(tracer).truth(tracer))
    if method == "__eq__" and tracer.identical(owner, other):
        return Constant(True)
    return None


def unary(tracer: Tracer, symbol: str, value: Instance) -> Value:
    found = value.special(tracer, UNARY[symbol])
    if found is None:
        raise GraphBreak(f"{symbol} of {value.describe()}")
    return found


# super() -----------------------------------------------------------------------------------------------------------
class SuperValue(Value):
    """``super(after, owner)``, which Python refuses unless the class of the owner inherits from ``after``."""

    __slots__ = ("after", "behind", "bound", "cls", "owner")
    noun = "super()"

    def __init__(self, tracer: Tracer, after: Value, owner: Value) -> None:
        super().__init__()
        self.after = after
        self.owner = owner
        self.behind = _class_in(tracer, after)
        self.bound: Any = owner if isinstance(owner, Instance) else None
        self.cls = owner.cls if isinstance(owner, Instance) else _class_in(tracer, owner)
        if self.bound is None and not self._inherits():  # of a metaclass, for one of its classes
            self.cls, self.bound = type(self.cls), owner
        if not self._inherits():
            raise GraphBreak(f"super() of {owner.describe()}", "attribute")
        tracer.guard(KnownObject(self.cls), OrderIs(order_of(self.cls)))

    def _inherits(self) -> bool:
        return any(base is self.behind for base in order_of(self.cls))

    def python_type(self, tracer: Tracer) -> type:
        return super

    def attribute(self, tracer: Tracer, name: str) -> Value:
        return lookup.read_super(tracer, self.behind, self.cls, self.bound, name)

    def rebuild(self, build: Builder) -> None:
        build.call(super, (self.after, self.owner))


def _class_in(tracer: Tracer, value: Value) -> type:
    with contextlib.suppress(NotConcrete):
        found = value.concrete(tracer)
        if lookup.is_class(found):
            return found
    raise GraphBreak(f"super() of {value.describe()}", "attribute")


def _object_setattr(tracer: Tracer, owner: Value, name: Value, value: Value) -> Value:
    key = name.concrete(tracer)
    if not isinstance(owner, Instance) or type(key) is not str:
        raise GraphBreak("object.__setattr__ of something else than an object of a class", "write")
    assigning.store_plainly(tracer, owner, key, value)
    return Constant(None)


def _object_delattr(tracer: Tracer, owner: Value, name: Value) -> Value:
    key = name.concrete(tracer)
    if not isinstance(owner, Instance) or type(key) is not str:
        raise GraphBreak("object.__delattr__ of something else than an object of a class", "write")
    assigning.delete_plainly(tracer, owner, key)
    return Constant(None)


def _object_init(tracer: Tracer, owner: Value) -> Value:
    if not isinstance(owner, Instance):
        raise GraphBreak("object.__init__ of something else than an object of a class", "call")
    return Constant(None)


def _object_new(tracer: Tracer, kind: Value) -> Value:
    cls = kind.concrete(tracer)
    if not lookup.is_class(cls) or lookup.is_fixed(cls):
        raise GraphBreak("object.__new__ of something else than a class of Python's", "call")
    return new_object(tracer, kind, cls)


METHODS_OF_OBJECT: Mapping[int, Callable[..., Value]] = {
    id(OWN(object)["__setattr__"]): _object_setattr,
    id(OWN(object)["__delattr__"]): _object_delattr,
    id(OWN(object)["__init__"]): _object_init,
    id(OWN(object)["__new__"]): _object_new,
    id(OWN(tuple)["__new__"]): new_tuple,
}
"""Methods of ``object`` and ``tuple`` called by name, as ``super().__init__()`` or in frozen dataclasses."""


def call_method_of_object(tracer: Tracer, method: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    row = METHODS_OF_OBJECT[id(method)]
    allowed = row.__code__.co_argcount - 1
    if kwargs or not allowed - len(row.__defaults__ or ()) <= len(args) <= allowed:
        raise GraphBreak(f"{method.__qualname__} with these arguments is left to Python", "call")
    try:
        return row(tracer, *args)
    except NotConcrete as error:
        raise GraphBreak(f"{method.__qualname__} of {error}", "call") from None


__all__ = ["BoundMethodValue", "Instance", "NamedTupleValue", "NewValue", "ObjectValue", "binary", "construct"]
