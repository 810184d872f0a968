"""What a call reaches, and how each of it can be changed.

In: the function of a world and a call of it. Out: ``Change``s by name: each does one thing to one place, and gives what
takes it back. Two worlds give the same names, so that the same can be done in both.

>>> world = World(Name("exceptions", "has_a_default"))
>>> call = world.calls[0].made()
>>> [change.name for change in changes(world.function, call)]
['args[0]: other elements', ..., "CONFIG['steps']: 4", ..., 'CONFIG: a key less', ..., 'code of has_a_default: gives 7']

Places are found by looking at the function's code: arguments and what they hold, globals (through the functions it
calls, too), closures, defaults, attributes of objects and classes, items of lists and dicts, names in modules.
"""

from __future__ import annotations

import builtins
import copy
import enum
import functools
import itertools
import sys
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from capture.frames.bytecode import decode
from tests.compare import attributes
from tests.corpus import Call
from tests.corpus.portrait import global_names, of_corpus

MOST_ITEMS = 4
"""Places in one list, dict or tuple."""
Undo = Callable[[], None]


class Change(NamedTuple):
    """One thing done to one place."""

    name: str
    do: Callable[[], Undo]
    library: bool = False
    """It is seen by everybody, so it must be taken back before anything else runs."""


@dataclass
class Place:
    """Where a value is: ``put`` replaces it, ``drop`` takes it away."""

    path: str
    value: Any
    put: Callable[[Any], None]
    drop: Undo | None = None
    library: bool = False

    def changes(self) -> Iterator[Change]:
        for words, make in replacements(self.value):
            yield Change(f"{self.path}: {words}", functools.partial(self._replace, make), self.library)
        if self.drop is not None:
            yield Change(f"{self.path}: gone", self._remove, self.library)

    def _replace(self, make: Callable[[Any], Any]) -> Undo:
        self.put(make(self.value))
        return lambda: self.put(self.value)

    def _remove(self) -> Undo:
        assert self.drop is not None
        self.drop()
        return lambda: self.put(self.value)


def changes(function: FunctionType, call: Call) -> dict[str, Change]:
    """See the module; the call's arguments must be lists."""
    walk = _Walk()
    for index, value in enumerate(call.args):
        walk.item(f"args[{index}]", call.args, index, value, drop=False)
    for name, value in call.kwargs.items():
        walk.item(f"kwargs[{name!r}]", call.kwargs, name, value)
    walk.function(function.__name__, function)
    found = [*(change for place in walk.places for change in place.changes()), *walk.inside, *_aliases(walk.places)]
    return {change.name: change for change in found}


def _aliases(places: list[Place]) -> Iterator[Change]:
    """One array in two places, and two arrays that overlap."""
    arrays = [place for place in places if type(place.value) is np.ndarray and place.value.ndim]
    for first, second in itertools.pairwise(arrays):
        yield Change(
            f"{second.path}: is {first.path}", lambda first=first, second=second: second._replace(lambda _: first.value)
        )
        if first.value.shape == second.value.shape and first.value.dtype == second.value.dtype:
            yield Change(f"{second.path}: overlaps {first.path}", functools.partial(_overlap, first, second))


def _overlap(first: Place, second: Place) -> Undo:
    rows, *others = first.value.shape
    base = np.zeros((rows + 1, *others), first.value.dtype)
    base[1:] = second.value
    base[:-1] = first.value
    first.put(base[:-1])
    second.put(base[1:])

    def undo() -> None:
        first.put(first.value)
        second.put(second.value)

    return undo


class _Walk:
    def __init__(self) -> None:
        self.places: list[Place] = []
        self.inside: list[Change] = []  # to the value itself
        self.seen: set[Any] = set()

    def item(self, path: str, owner: Any, key: Any, value: Any, drop: bool = True) -> None:
        """What a list or dict holds."""
        put = functools.partial(owner.__setitem__, key)
        self.places.append(Place(path, value, put, functools.partial(owner.pop, key, None) if drop else None))
        self.look(path, value)

    def attribute(self, path: str, owner: Any, name: str, value: Any, library: bool = False) -> None:
        set_, delete = (type.__setattr__, type.__delattr__) if isinstance(owner, type) else (_assign, _delete)
        put, drop = functools.partial(set_, owner, name), functools.partial(delete, owner, name)
        self.places.append(Place(path, value, put, drop, library))
        if not library:
            self.look(path, value)

    def look(self, path: str, value: Any) -> None:
        for kind, into in INTO:
            if issubclass(type(value), kind):
                if id(value) not in self.seen:
                    self.seen.add(id(value))
                    into(self, path, value)
                return
        if of_corpus(type(value)) and id(value) not in self.seen:
            self.seen.add(id(value))
            self.instance(path, value)

    # families -----------------------------------------------------------------------------------------------------
    def function(self, path: str, value: FunctionType) -> None:
        if not of_corpus(value):
            return
        for words, code in (("gives 7", _seven), ("gives its argument", _first)):
            new = _with_closure(code, value)
            self.inside.append(Change(f"code of {path}: {words}", functools.partial(_swap, value, "__code__", new)))
        self._defaults(path, value)
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            self._cell(f"{path}.<{name}>", cell)
        self._library(value)
        for name in dict.fromkeys(global_names(value.__code__)):
            if name in value.__globals__:
                self.item(name, value.__globals__, name, value.__globals__[name])
            elif hasattr(builtins, name):
                self.inside.append(Change(f"builtin {name}: hidden", functools.partial(_hide, value.__globals__, name)))

    def _defaults(self, path: str, value: FunctionType) -> None:
        for index, default in enumerate(value.__defaults__ or ()):
            put = functools.partial(_put_default, value, index)
            self.places.append(Place(f"{path}.__defaults__[{index}]", default, put))
            self.look(f"{path}.__defaults__[{index}]", default)
        if value.__defaults__:
            ways = {"no defaults": None, "a default less": value.__defaults__[1:], "one more": (5, *value.__defaults__)}
            for words, new in ways.items():
                do = functools.partial(_swap, value, "__defaults__", new)
                self.inside.append(Change(f"{path}: {words}", do))
        for name, default in (value.__kwdefaults__ or {}).items():
            self.item(f"{path}.__kwdefaults__[{name!r}]", value.__kwdefaults__, name, default)
        for name, item in vars(value).items():
            self.item(f"{path}.{name}", vars(value), name, item)

    def _cell(self, path: str, cell: Any) -> None:
        try:
            value = cell.cell_contents
        except ValueError:
            return
        if id(cell) in self.seen:
            return
        self.seen.add(id(cell))
        put, drop = functools.partial(setattr, cell, "cell_contents"), lambda: delattr(cell, "cell_contents")
        self.places.append(Place(path, value, put, drop))
        self.look(path, value)

    def _library(self, function: FunctionType) -> None:
        """What the function reads out of modules, such as ``np.linalg.norm``."""
        for path, module, name in read_from_modules(function.__code__, function.__globals__):
            value = vars(module).get(name)
            ours = isinstance(value, type | ModuleType)  # whoever replaces int or ndarray breaks anything
            if value is not None and not ours and (id(module), name) not in self.seen:
                self.seen.add((id(module), name))
                self.attribute(path, module, name, value, library=True)

    def tuple(self, path: str, value: tuple) -> None:
        for index, item in enumerate(value[:MOST_ITEMS]):
            self.look(f"{path}[{index}]", item)

    def list(self, path: str, value: list) -> None:
        for index, item in enumerate(value[:MOST_ITEMS]):
            self.item(f"{path}[{index}]", value, index, item, drop=False)
        self._inside(path, value, LISTS)

    def dict(self, path: str, value: dict) -> None:
        for key, item in list(value.items())[:MOST_ITEMS]:
            self.item(f"{path}[{key!r}]", value, key, item)
        self._inside(path, value, DICTS)

    def set(self, path: str, value: set) -> None:
        self._inside(path, value, SETS)

    def _inside(self, path: str, value: Any, ways: dict[str, Callable[[Any], Any]]) -> None:
        for words, do in ways.items():
            self.inside.append(Change(f"{path}: {words}", functools.partial(_inside, value, do)))

    def array(self, path: str, value: np.ndarray) -> None:
        if value.flags.writeable and value.dtype.kind in "biufc":
            self.inside.append(Change(f"{path}: elements in place", functools.partial(_fill, value)))

    def instance(self, path: str, value: Any) -> None:
        for name, item in attributes(value).items():
            self.attribute(f"{path}.{name}", value, name, item)
        cls = type(value)
        for name, item in vars(cls).items():
            if isinstance(item, FunctionType) and not name.startswith("__") and hasattr(value, "__dict__"):
                self.inside.append(Change(f"{path}.{name}: hidden", functools.partial(_hide, vars(value), name)))
        self.inside.append(Change(f"{path}: of a subclass", functools.partial(_derive, value)))
        self.look(cls.__qualname__, cls)

    def type(self, path: str, value: type) -> None:
        if not of_corpus(value):
            return
        for name, item in list(vars(value).items()):
            plain = callable(getattr(item, "__get__", None)) or not name.startswith("__")
            if plain and name not in ("__dict__", "__weakref__"):
                self.attribute(f"{value.__qualname__}.{name}", value, name, item)
        for base in value.__bases__:
            self.look(base.__qualname__, base)

    def method(self, path: str, value: MethodType) -> None:
        self.look(f"{path}.__func__", value.__func__)
        self.look(f"{path}.__self__", value.__self__)

    def partial(self, path: str, value: functools.partial) -> None:
        self.look(f"{path}.func", value.func)
        self.look(f"{path}.args", value.args)
        self.look(f"{path}.keywords", value.keywords)

    def property(self, path: str, value: property) -> None:
        for name in ("fget", "fset"):
            self.look(f"{path}.{name}", getattr(value, name))

    def wrapper(self, path: str, value: Any) -> None:
        self.look(path, value.__func__)


INTO: list[tuple[Any, Callable[[_Walk, str, Any], None]]] = [
    ((enum.Enum, enum.EnumMeta), lambda walk, path, value: None),
    (FunctionType, _Walk.function),
    (type, _Walk.type),
    (tuple, _Walk.tuple),
    (list, _Walk.list),
    (dict, _Walk.dict),
    (set, _Walk.set),
    (np.ndarray, _Walk.array),
    (MethodType, _Walk.method),
    (functools.partial, _Walk.partial),
    (property, _Walk.property),
    ((staticmethod, classmethod), _Walk.wrapper),
]


def read_from_modules(code: CodeType, namespace: dict[str, Any]) -> Iterator[tuple[str, ModuleType, str]]:
    """Each name that a code object and those inside it read out of a module: path, module, name."""
    path, found, imported = "", None, None
    for instruction in decode(code).instructions:
        op, name = instruction.op, instruction.arg
        if op == "LOAD_GLOBAL":
            path, found = name, namespace.get(name)
        elif op == "IMPORT_NAME":
            path, found = name, sys.modules.get(name)
            imported = found
        elif op in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
            module = imported if op == "IMPORT_FROM" else found
            found = None
            if isinstance(module, ModuleType):
                path = f"{module.__name__}.{name}" if op == "IMPORT_FROM" else f"{path}.{name}"
                yield path, module, name
                found = vars(module).get(name)
        else:
            found = None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from read_from_modules(constant, namespace)


# Doing --------------------------------------------------------------------------------------------------------------
def _assign(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, ModuleType):
        setattr(owner, name, value)
    else:
        object.__setattr__(owner, name, value)


def _delete(owner: Any, name: str) -> None:
    if isinstance(owner, ModuleType):
        delattr(owner, name)
    else:
        object.__delattr__(owner, name)


def _swap(owner: Any, name: str, value: Any) -> Undo:
    old = getattr(owner, name)
    setattr(owner, name, value)
    return lambda: setattr(owner, name, old)


def _put_default(function: FunctionType, index: int, value: Any) -> None:
    defaults = list(function.__defaults__ or ())
    defaults[index] = value
    function.__defaults__ = tuple(defaults)


def _hide(owner: MutableMapping[str, Any], name: str) -> Undo:
    """Put something into a namespace that is looked at first."""
    owner[name] = _seven
    return lambda: owner.pop(name, None)


def _fill(array: np.ndarray) -> Undo:
    old = array.copy()
    array[...] = ~old if old.dtype.kind == "b" else old * 2 + 1

    def undo() -> None:
        array.flags.writeable = True
        array[...] = old

    return undo


def _derive(value: Any) -> Undo:
    cls = type(value)
    try:
        value.__class__ = type(cls.__name__, (cls,), {"__module__": cls.__module__, "__slots__": ()})
    except TypeError:  # an enum, say
        return lambda: None
    return lambda: setattr(value, "__class__", cls)


def _inside(value: Any, do: Callable[[Any], Any]) -> Undo:
    old = value.copy()
    do(value)

    def undo() -> None:
        value.clear()
        (value.extend if isinstance(value, list) else value.update)(old)

    return undo


LISTS: dict[str, Callable[[list], Any]] = {
    "an item more": lambda items: items.append(copy.copy(items[-1]) if items else 1),
    "an item less": lambda items: items and items.pop(),
    "no items": list.clear,
    "reversed": list.reverse,
}
DICTS: dict[str, Callable[[dict], Any]] = {
    "a key more": lambda items: items.update(more=3),
    "a key less": lambda items: items and items.popitem(),
    "no keys": dict.clear,
    "keys in another order": lambda items: items and items.update([(key := next(iter(items)), items.pop(key))]),
}
SETS: dict[str, Callable[[set], Any]] = {
    "an item more": lambda items: items.add(77),
    "an item less": lambda items: items and items.pop(),
}


def _seven(*args: Any, **kwargs: Any) -> Any:
    return 7


def _first(*args: Any, **kwargs: Any) -> Any:
    return args[0] if args else 8


def _with_closure(function: FunctionType, like: FunctionType) -> CodeType:
    """The code of ``function`` with the free variables of another, which it does not use."""
    code = function.__code__
    free = like.__code__.co_freevars
    if not free:
        return code
    names, result = ", ".join(free), "7" if function is _seven else "(args[0] if args else 8)"
    name = code.co_name
    text = f"def outer({names}):\n def {name}(*args, **kwargs):\n  return {result}\n  {names}\n return {name}"
    space: dict[str, Any] = {}
    exec(compile(text, __file__, "exec"), space)
    return space["outer"](*free).__code__


# Replacing ----------------------------------------------------------------------------------------------------------
class Derived(np.ndarray):
    """A subclass, which is never captured."""


Way = tuple[str, Callable[[Any], Any]]


def _ways(text: str) -> tuple[Way, ...]:
    """Rows of ``words :: expression of v``."""
    rows = [row.strip().split(" :: ") for row in text.strip().splitlines()]
    return tuple((words, eval(f"lambda v: {expression}", globals())) for words, expression in rows)


ARRAYS = _ways("""
other elements :: ~v if v.dtype.kind == "b" else v * 2 + 1
negative :: v if v.dtype.kind in "bu" else -v
zeros :: np.zeros_like(v)
nan :: v * np.nan if v.dtype.kind == "f" else v
float32 :: v.astype("f4")
int64 :: v.astype("i8")
bool :: v.astype(bool)
complex :: v.astype(complex)
objects :: v.astype(object)
big endian :: v.astype(v.dtype.newbyteorder(">"))
one row more :: np.concatenate([v, v[:1]]) if v.ndim else v
one row less :: v[:-1].copy() if v.ndim else v
one row :: v[:1].copy() if v.ndim else v
no rows :: v[:0].copy() if v.ndim else v
one axis more :: v[None].copy()
one axis less :: v.sum(axis=0) if v.ndim else v
backwards :: v[::-1] if v.ndim else v
with gaps :: np.repeat(v, 2, axis=-1)[..., ::2] if v.ndim else v
in Fortran's order :: np.asfortranarray(v)
read-only :: _locked(v)
a subclass :: v.copy().view(Derived)
a list :: v.tolist()
a copy :: v.copy()
none :: None
""")
NUMBERS = _ways("""
one more :: v + 1
one less :: v - 1
negative :: -v
zero :: type(v)(0)
as float :: float(v)
as int :: int(v)
as bool :: bool(v)
as float64 :: np.float64(v)
as an array :: np.array(v)
none :: None
text :: str(v)
""")
FLOATS = _ways("nan :: float('nan')\ninfinite :: float('inf')\nnegative zero :: -0.0\na half more :: v + 0.5")
BOOLS = _ways("the other :: not v\nas int :: int(v)\nas float :: float(v)\nnone :: None\nas bool_ :: np.bool_(v)")
SCALARS = _ways("""
one more :: v if v.dtype.kind == "b" else v + v.dtype.type(1)
as float32 :: np.float32(v)
as Python has it :: v.item()
as an array :: np.array(v)
none :: None
""")
TEXTS = _ways("longer :: v + v[:1]\nempty :: v[:0]\nother case :: v.swapcase()\nnone :: None\nnumber :: 3")
TUPLES = _ways("""
shorter :: v[:-1]
longer :: v + v[-1:]
backwards :: v[::-1]
a list :: list(v)
none :: None
""")
LISTED = _ways("a tuple :: tuple(v)\na copy :: list(v)\nnone :: None\nof a subclass :: type('L', (list,), {})(v)")
MAPPED = _ways("a copy :: dict(v)\nof a subclass :: type('D', (dict,), {})(v)\nnone :: None")
CALLABLES = _ways("gives 7 :: _copied(_seven)\ngives its argument :: _copied(_first)")
FUNCTIONS = _ways("none :: None\na copy :: _copied(v)")
CLASSES = _ways("a subclass :: type(v)('Sub', (v,), {'__module__': v.__module__})\na function :: _copied(_seven)")
PROPERTIES = _ways("gives 7 :: property(_seven)\n7 :: 7\na function :: _copied(_seven)")
STATIC = _ways("gives 7 :: staticmethod(_seven)\n7 :: 7\na function :: _first")
MEMBERS = _ways("another :: list(type(v))[-1]\nthe first :: list(type(v))[0]\nits value :: v.value")
PARTIALS = _ways("without arguments :: functools.partial(v.func)\ngives 7 :: _copied(_seven)")
DTYPES = _ways("float32 :: np.dtype('f4')\nint64 :: np.dtype('i8')\nnone :: None")
NONES = _ways("1 :: 1\nan array :: np.ones(3)\na list :: []")
OBJECTS = _ways("a copy :: copy.copy(v)\nnone :: None\n7 :: 7")
ITERATORS = _ways("a list :: [1, 2]\nnone :: None")


def _locked(value: np.ndarray) -> np.ndarray:
    new = value.copy()
    new.flags.writeable = False
    return new


def _copied(function: FunctionType) -> FunctionType:
    new = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    new.__kwdefaults__ = function.__kwdefaults__
    return new


WAYS: list[tuple[Any, tuple[Way, ...]]] = [
    (enum.Enum, MEMBERS),
    (bool, BOOLS),
    (np.generic, SCALARS),
    (np.ndarray, ARRAYS),
    (int, NUMBERS),
    (float, NUMBERS + FLOATS),
    ((str, bytes), TEXTS),
    (type(None), NONES),
    (tuple, TUPLES),
    (list, LISTED),
    (dict, MAPPED),
    (FunctionType, CALLABLES + FUNCTIONS),
    (type, CLASSES),
    (property, PROPERTIES),
    ((staticmethod, classmethod), STATIC),
    (functools.partial, PARTIALS),
    (np.dtype, DTYPES),
    (ModuleType, ()),
]


def replacements(value: Any) -> tuple[Way, ...]:
    """What a value can be replaced by."""
    for kind, ways in WAYS:
        if issubclass(type(value), kind):
            return ways
    if issubclass(type(value), Iterator) and not of_corpus(type(value)):
        return ITERATORS
    return OBJECTS + CALLABLES if callable(value) else OBJECTS
