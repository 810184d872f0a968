"""Variants as plain data, and back: numbers and texts as they are, other objects by where another process finds them.

In: guard programs, code and programs of executors, as nested tuples. Out: what ``marshal`` writes; ``decoded`` gives
the same again, with this process's modules, functions and classes in it::

    encoded(("is", 3, np.tanh), world)  →  ("tuple", "is", 3, ("named", "numpy", "tanh", ("ufunc", 1, 1, …)))

``NotKept``: an object cannot be named; ``Gone``: here is no such object, or it is another one than it was. What tells
them apart are facts that cannot change while a process runs: the code of a function is compared with all that it says;
classes that Python code made are not kept at all. What can change is the guards' business, as ever.
"""

from __future__ import annotations

import hashlib
import importlib
import marshal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any, NamedTuple, Protocol

import numpy as np

from capture.frames.hook import Continuation, Entry, WeakEntry

ATOMS = frozenset({NoneType, bool, int, float, complex, str, bytes, EllipsisType})
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made while running, by Python code or a module's start
_DISPATCHED: type = type(np.sum)
_NUMERIC = "biufc"


class NotKept(Exception):
    """A variant holds what no other process has."""


class Gone(Exception):
    """What a variant was made with is not there, or has changed."""


class World:
    """What goes without names: the function that a variant belongs to, what runs its graph, and its resume functions.

    ``copies`` tells that arrays are meant by what they hold: constants of kernels are, others are objects of the
    program's. ``whole`` is the code of the function that resume functions belong to. To write them down, ``resumed_by``
    tells what the code of one goes on with, and ``landing`` is the class of what leads to them from behind handlers;
    ``rest`` makes both again.
    """

    def __init__(
        self,
        function: FunctionType,
        runner: Any = None,
        *,
        copies: bool = False,
        whole: CodeType | None = None,
        resumed_by: Callable[[CodeType], CodeType | None] | None = None,
        landing: type | None = None,
        rest: Rest | None = None,
    ) -> None:
        self.function, self.runner, self.copies = function, runner, copies
        self.whole, self.resumed_by, self.landing, self.rest = whole, resumed_by, landing, rest


class Rest(Protocol):
    """What makes the resume functions of a kept variant."""

    def entry(self, resume: Resume) -> Entry: ...

    def landing(self, code: CodeType, index: int, depth: int) -> Callable[..., Any]: ...


class Resume(NamedTuple):
    """What a resume function is made of, and a name for all that; the code that it resumes, if it ends with that."""

    name: str
    code: CodeType
    namespace: dict[str, Any]
    original: CodeType | None


# ---- there -------------------------------------------------------------------------------------------------------


def encoded(value: Any, world: World) -> Any:
    """Plain data for a value; NotKept if it is, or holds, what another process cannot find."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is tuple:
        return ("tuple", *(encoded(item, world) for item in value))
    if kind is frozenset:
        return ("frozenset", *(encoded(item, world) for item in sorted(value, key=repr)))
    if kind is range:
        return ("range", value.start, value.stop, value.step)
    if kind is CodeType:
        return _encoded_code(value, world)
    if kind is ModuleType:
        return ("module", _name_of_module(value))
    if kind is dict:
        return _encoded_namespace(value, world)
    if kind is np.ndarray and world.copies:
        return _encoded_array(value)
    if isinstance(value, np.dtype):
        return ("dtype", _encoded_dtype(value))
    if value is world.runner:
        return ("runner",)
    if kind is world.landing:
        return ("landing", _encoded_original(value.code, world), value.index, value.depth)
    if kind is WeakEntry:
        return _encoded_resume(value.reference(), world)
    return ("continuation",) if value is Continuation else _named(value)


def _encoded_resume(entry: Entry | None, world: World) -> Any:
    """A resume function, which has no name in the program."""
    function = None if entry is None else entry.function
    if type(function) is not FunctionType:
        raise NotKept("a resume function that is gone")
    assert world.resumed_by is not None
    code, original = function.__code__, world.resumed_by(function.__code__)
    named = None if original is None else _encoded_original(original, world)
    return ("resume", name_of_resume(function), *(encoded(part, world) for part in (code, function.__globals__)), named)


def _encoded_original(code: CodeType, world: World) -> Any:
    """Code that is gone on with: it must be the same object here and there."""
    named = _encoded_code(code, world)
    if named[0] == "code":
        raise NotKept("the rest of code that has no name")
    return named


def name_of_resume(function: FunctionType) -> str:
    """A name for all that makes a resume function; other processes give it the same."""
    code, world = function.__code__, World(function, resumed_by=lambda code: None)
    facts = (*_form(code), encoded(code.co_consts, world), _name_of_namespace(function.__globals__))
    return hashlib.sha256(marshal.dumps(facts, 2)).hexdigest()


def _encoded_code(code: CodeType, world: World) -> Any:
    if code is world.function.__code__:
        return ("own code",)
    if code is world.whole:
        return ("whole code",)
    owner = _owner_of(code)
    if owner is not None:
        return ("code of", *owner, described(code))
    return ("code", marshal.dumps(code.replace(co_consts=()), 2), encoded(code.co_consts, world))


def _owner_of(code: CodeType) -> tuple[str, str] | None:
    """The function that has this very code."""
    for module in list(sys.modules.values()):
        if type(module) is ModuleType and module.__dict__.get("__file__") == code.co_filename:
            name = module.__dict__.get("__name__")
            try:
                found = find(name, code.co_qualname)
            except Gone:
                continue
            if type(name) is str and code_of(found) is code:
                return name, code.co_qualname
    return None


def code_of(function: Any) -> CodeType | None:
    """The code of a Python function, or of the one inside a function of NumPy's that dispatches."""
    inner: Any = getattr(function, "_implementation", None) if type(function) is _DISPATCHED else function
    return inner.__code__ if type(inner) is FunctionType else None


def _name_of_module(module: ModuleType) -> str:
    name = module.__dict__.get("__name__")
    if type(name) is not str or sys.modules.get(name) is not module:
        raise NotKept("a module that is not imported under its name")
    return name


def _encoded_namespace(namespace: dict[str, Any], world: World) -> Any:
    if namespace is world.function.__globals__:
        return ("own globals",)
    return ("namespace", _name_of_namespace(namespace))


def _name_of_namespace(namespace: dict[str, Any]) -> str:
    name = namespace.get("__name__")
    module = sys.modules.get(name) if type(name) is str else None
    if type(name) is not str or type(module) is not ModuleType or module.__dict__ is not namespace:
        raise NotKept("a dict that is no module's")
    return name


def _encoded_array(array: np.ndarray) -> Any:
    if array.dtype.kind not in _NUMERIC or not array.flags.c_contiguous:
        raise NotKept(f"a constant of {array.dtype}")
    return ("array", _encoded_dtype(array.dtype), array.shape, array.tobytes(), bool(array.flags.writeable))


def _encoded_dtype(dtype: np.dtype) -> str:
    if dtype.kind not in _NUMERIC or not dtype.isnative or dtype.metadata is not None:
        raise NotKept(f"{dtype}")
    return dtype.str


def _named(value: Any) -> Any:
    identity = identified(value)
    module, name = ("numpy", value.__name__) if type(value) is np.ufunc else (value.__module__, value.__qualname__)
    try:
        found = find(module, name)
    except Gone as error:
        raise NotKept(str(error)) from None
    if found is value:
        return ("named", module, name, identity)
    if type(found) is _DISPATCHED and getattr(found, "_implementation", None) is value:
        return ("inside", module, name, identified(found))
    raise NotKept(f"{module}.{name} is another object")


def identified(value: Any) -> tuple[Any, ...]:
    """What cannot change of a function or class, so that one of the same name with the same is the same.

    >>> identified(np.negative)[:4]
    ('ufunc', 'negative', 1, 1)
    """
    kind = type(value)
    if kind is np.ufunc:
        return ("ufunc", value.__name__, value.nin, value.nout, *value.types)
    if kind is BuiltinFunctionType and type(value.__self__) in (ModuleType, NoneType):
        return ("builtin", value.__name__, value.__module__, getattr(value.__self__, "__name__", None))
    if kind is _DISPATCHED:
        return ("dispatched", identified(value._implementation))
    if kind is FunctionType and value.__closure__ is None:
        return ("function", described(value.__code__), _name_of_namespace(value.__globals__))
    if kind is type and not value.__flags__ & _HEAP_TYPE:
        return ("class", value.__module__, value.__name__)
    raise NotKept(f"an object of {kind.__module__}.{kind.__qualname__}")


def described(code: CodeType) -> bytes:
    """All that a code object says, in bytes that are the same in every process."""
    return marshal.dumps(_facts(code), 2)  # the last format that does not note which objects are one and the same


def _facts(code: CodeType) -> tuple[Any, ...]:
    return (*_form(code), tuple(map(_constant, code.co_consts)))


def _form(code: CodeType) -> tuple[Any, ...]:
    """What code says, but for its constants."""
    return (
        *(code.co_name, code.co_qualname, code.co_filename, code.co_firstlineno, code.co_flags, code.co_stacksize),
        *(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        *(code.co_code, code.co_linetable, code.co_exceptiontable),
        *(code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
    )


def _constant(value: Any) -> tuple[Any, ...]:
    """A constant of code with its type: 1, 1.0 and True are equal, as are 0.0 and -0.0."""
    if type(value) is CodeType:
        return ("code", *_facts(value))
    if type(value) is tuple:
        return ("tuple", *map(_constant, value))
    if type(value) is frozenset:
        return ("frozenset", *map(_constant, sorted(value, key=repr)))
    return (type(value).__name__, repr(value))


# ---- and back ----------------------------------------------------------------------------------------------------


def decoded(value: Any, world: World) -> Any:
    """The value that ``encoded`` was given, with the objects of this process; Gone if one is missing or has changed."""
    if type(value) is not tuple:
        return value
    kind, *rest = value
    if kind == "tuple":
        return tuple([item if type(item) is not tuple else decoded(item, world) for item in rest])
    if kind in _OWN:
        return _OWN[kind](world)
    if kind == "frozenset":
        return frozenset(decoded(item, world) for item in rest)
    if kind == "code":
        code: CodeType = marshal.loads(rest[0])
        return code.replace(co_consts=decoded(rest[1], world))
    if kind == "resume":
        assert world.rest is not None
        return WeakEntry(world.rest.entry(Resume(*(decoded(part, world) for part in rest))))
    if kind == "landing":
        assert world.rest is not None
        return world.rest.landing(decoded(rest[0], world), *rest[1:])
    return _FOUND[kind](*rest)


_OWN: Mapping[str, Callable[[World], Any]] = {
    "runner": lambda world: world.runner,
    "own code": lambda world: world.function.__code__,
    "whole code": lambda world: world.whole,
    "own globals": lambda world: world.function.__globals__,
    "continuation": lambda world: Continuation,
}


def _imported(name: str) -> Any:
    """A module that is there; NumPy imports some of its own when they are asked for, which this does."""
    module = sys.modules.get(name)
    if module is None and name.startswith("numpy."):
        with suppress(ImportError):
            return importlib.import_module(name)
    return module


def _module(name: str) -> ModuleType:
    module = _imported(name)
    if type(module) is not ModuleType:
        raise Gone(f"the module {name}")
    return module


def _array(dtype: str, shape: tuple[int, ...], content: bytes, writeable: bool) -> np.ndarray:
    array = np.frombuffer(content, dtype).reshape(shape)
    return array.copy() if writeable else array


def _again(module: str, name: str, identity: tuple[Any, ...]) -> Any:
    found = find(module, name)
    try:
        if identified(found) == identity:
            return found
    except NotKept:
        pass
    raise Gone(f"{module}.{name} as it was")


def _inside_again(module: str, name: str, identity: tuple[Any, ...]) -> Any:
    dispatched: Any = _again(module, name, identity)
    return dispatched._implementation


def _code_again(module: str, name: str, facts: bytes) -> CodeType:
    code = code_of(find(module, name))
    if code is None or described(code) != facts:
        raise Gone(f"the code of {module}.{name} as it was")
    return code


_FOUND: Mapping[str, Callable[..., Any]] = {
    "module": _module,
    "namespace": lambda name: _module(name).__dict__,
    "dtype": np.dtype,
    "array": _array,
    "range": range,
    "named": _again,
    "inside": _inside_again,
    "code of": _code_again,
}


def find(module: Any, name: str) -> Any:
    """What a module's namespace holds under a dotted name; runs no code of the user's. Gone if there is nothing."""
    value: Any = _imported(module) if type(module) is str else None
    for part in name.split("."):
        if type(value) is ModuleType:
            namespace = value.__dict__
        elif isinstance(value, type):
            namespace = type.__dict__["__dict__"].__get__(value)
        else:
            raise Gone(f"{module}.{name}")
        if part not in namespace:
            raise Gone(f"{module}.{name}")
        value = namespace[part]
    return value
