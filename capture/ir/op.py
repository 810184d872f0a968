"""The record of an operation, and the table of all records.

In: ``define(...)`` calls of the files in ``capture/ir/ops``, one per operation, with all of its facts. Out: look-up
by name, by captured callable, by ndarray method or property, by operator.

>>> define(
...     name="tanh",
...     calls=(np.tanh,),                # what it captures
...     signature="x",
...     infer=like_ufunc(np.tanh),       # types in, type out
...     lower=Pointwise(lambda s, x: s.tanh(x)),
...     reference=np.tanh,               # what it means
...     samples=(([-2.0, 0.0, 3.5],),),
... )

Three kinds of records:

* an *op* has ``infer`` and ``reference`` and stands in graphs; ``lower`` is data that says how it becomes loops
  (``Pointwise``, ``Reduce``, ``Gather``, ``Join``, ``Flatten``, ``Decompose``, ``ViewOf``, ``Loop``), or ``Extern``:
  call NumPy;
* a *view* op is an op whose result shows its operand's memory (``lower=ViewOf(...)``);
* a *macro* has ``expand`` instead: a call of it adds other ops to the graph (``np.matrix_transpose`` becomes
  ``permute``), so that the graph's vocabulary stays small.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from capture.records import dataclass, field

RAISED_AGAIN = (ArithmeticError, ValueError, TypeError, LookupError, MemoryError, RecursionError, np.linalg.LinAlgError)
"""What NumPy raises for values, and raises again where the same code runs as plain Python."""


class CannotInfer(Exception):
    """The op refuses these operands or parameters: the call runs as plain Python, which may well raise there."""


class ListLiteral(tuple[Any, ...]):
    """A list in a user's call: a tuple to records, but for those that ask, since NumPy tells the two apart as an
    index and as an axis.
    """

    __slots__ = ()


# Lowerings: data over the scalar vocabulary ``s`` (see capture/inductor/loops.py), never C ------------------------
@dataclass(frozen=True, slots=True)
class Pointwise:
    """One result element from the operands' elements at the same (broadcast) index.

    ``element(s, *elements, **params)``; the result is cast to the node's dtype. ``loop(*operands, **params)`` gives
    the dtypes to which the operands are cast first (default: as they are; a literal takes the loop's dtype).
    Creation ops have no operands and use ``s.index(axis)``.
    """

    element: Callable[..., Any]
    loop: Callable[..., tuple[Any, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Reduce:
    """Combine the elements along the axes in the node's ``axis`` parameter.

    ``combine`` is a name of ``inductor.loops.COMBINES``: add, multiply, maximum, minimum, logical_and, logical_or,
    argmax, argmin. ``prepare(s, element, **params)`` maps each element first (default: cast to the node's dtype).
    """

    combine: str
    prepare: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class ViewOf:
    """A view. ``strided(view, **params)`` maps a ``Strided``; ``index(out_index, in_shape, **params)`` gives the
    operand's index for a result index, for operands without memory.
    """

    strided: Callable[..., Any]
    index: Callable[..., tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Gather:
    """Elements of the first operand at places that the other operands, integers, compute; only the op ``gather``."""


@dataclass(frozen=True, slots=True)
class Search(Gather):
    """How many elements of the first operand, which rises, come before each of the second; only the op ``search``."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The call of the graph is given up where the operand, a truth value, is true; only the op ``leave_if``."""


@dataclass(frozen=True, slots=True)
class Pack:
    """Elements, or their places, in C order, one after the other: where the last operand is true, or as often as it
    says (``repeats``)."""

    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    """Each element is combined with all before it along the node's ``axis`` parameter, one after the other.

    ``combine`` is a name of the scalar vocabulary: add, multiply, maximum, minimum.
    """

    combine: str


@dataclass(frozen=True, slots=True)
class Measure:
    """The operand, an integer, is from here on the value of a size; only the op ``measure``."""


@dataclass(frozen=True, slots=True)
class Join:
    """Operands laid one after the other along the node's ``axis`` parameter (concatenate)."""


@dataclass(frozen=True, slots=True)
class Flatten:
    """The operand's elements in C order, along one axis, in new memory."""


@dataclass(frozen=True, slots=True)
class Decompose:
    """``expand(graph, *operands, **params) -> node``: other ops that compute the same, put in before lowering."""

    expand: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Extern:
    """NumPy's own function (the record's ``reference``) is called on arrays."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the results of an extern op that gives several; only the op ``part``."""


@dataclass(frozen=True, slots=True)
class Store:
    """The write of a value into a region of a version; only the op ``store``."""


READONLY, WARNED = "readonly", "warned"
"""Tags of views that NumPy gives without permission to write, or that warn when they are written: graphs write neither,
and whoever returns one must say so.
"""
UNWRITTEN = frozenset({READONLY, WARNED})

TALLY = "tally"
"""How a store combines as ``np.bincount`` does: it adds without a warning, to places that are known to exist."""


@dataclass(frozen=True, slots=True)
class Loop:
    """The node's program as one function; only the op ``loop``."""


Lowering = (
    Pointwise | Reduce | Scan | ViewOf | Gather | Pack | Join | Flatten | Store | Decompose | Extern | Part | Leave
    | Measure | Loop
)


@dataclass(frozen=True, slots=True)
class Strided:
    """A view of a block of memory: all numbers are sizes, counted in elements."""

    offset: Any
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Op:
    """All facts of one operation; see the module's docstring. Fields that do not apply stay empty."""

    name: str
    signature: str = ""
    operands: tuple[str, ...] = ()  # names in the signature that are arrays; the rest are static parameters
    calls: tuple[Callable[..., Any], ...] = ()
    methods: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    canonical: Callable[..., dict[str, Any]] | None = None  # (*types, **params): the one form that graphs hold
    infer: Callable[..., Any] | None = None
    reference: Callable[..., Any] | None = None
    source: str | Callable[..., str] = ""  # NumPy source: a format of operands {0}, {1} and params, or a function
    lower: Lowering | None = None
    expand: Callable[..., Any] | None = None
    otherwise: str = ""  # the op that takes what this one's ``infer`` refuses: NumPy's own loops for more dtypes
    accepts_out: bool = False  # ``out=`` may be turned into a store of the result
    gives: Callable[..., type] | None = None  # (*types, **params): tuple, list or named tuple of several results
    replaces: Hashable = None  # what it stands in for where no other record serves: see ``for_fallback``
    label: str = ""  # the name NumPy's floating-point warnings give it ("divide", "reduce", …)
    vjp: Callable[..., Any] | None = None
    onnx: Any = None
    samples: tuple[Any, ...] = ()
    tags: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_macro(self) -> bool:
        return self.expand is not None

    @property
    def is_view(self) -> bool:
        return isinstance(self.lower, ViewOf)

    @property
    def is_extern(self) -> bool:
        return isinstance(self.lower, Extern)

    @cached_property
    def parameters(self) -> inspect.Signature:
        namespace: dict[str, Any] = {}
        exec(f"def {self.name}({self.signature}): pass", {}, namespace)
        return inspect.signature(namespace[self.name])

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        empty = inspect.Parameter.empty
        return {
            name: parameter.default
            for name, parameter in self.parameters.parameters.items()
            if name not in self.operands and parameter.default is not empty
        }

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Sort a user's call into operands and given parameters; ``CannotInfer`` for what the record does not know."""
        try:
            bound = self.parameters.bind(*args, **kwargs)
        except TypeError as error:
            raise CannotInfer(f"{self.name}: {error}") from None
        operands: list[Any] = []
        params: dict[str, Any] = {}
        for name, parameter in self.parameters.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                params.update(bound.arguments.get(name, {}))
            elif name not in self.operands:
                params.update({name: bound.arguments[name]} if name in bound.arguments else {})
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                operands.extend(bound.arguments.get(name, ()))
            else:  # operands are given by position, so that one that is left out needs its default
                operands.append(bound.arguments.get(name, parameter.default))
        return tuple(operands), params

    def result_type(self, *types: Any, **params: Any) -> Any:
        """What ``infer`` says; a macro has no result of its own."""
        if self.infer is None:
            raise TypeError(f"{self.name} is a macro: calls of it add other ops")
        return self.infer(*types, **params)

    def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """``params`` with the defaults filled in, in the order of the signature."""
        if self.replaces is not None:
            return dict(params)
        unknown = params.keys() - self.parameters.parameters.keys()
        if unknown:
            raise CannotInfer(f"{self.name} takes no parameter {', '.join(sorted(unknown))}")
        names = [name for name in self.parameters.parameters if name in params or name in self.defaults]
        return {name: params.get(name, self.defaults.get(name)) for name in names if name not in self.operands}

    def __repr__(self) -> str:
        return f"<op {self.name}>"


_by_name: dict[str, Op] = {}
_by_call: dict[int, tuple[Callable[..., Any], Op]] = {}
_fallbacks: dict[Hashable, Op] = {}
_tables: dict[str, dict[Hashable, Op]] = {"methods": {}, "properties": {}, "operators": {}}
_OPS_PACKAGE = "capture.ir.ops"


def define(**facts: Any) -> Op:
    """Add a record; a name, callable, method, property or operator that is taken already is an error."""
    op = Op(**facts)
    if op.name in _by_name:
        raise ValueError(f"op {op.name} is defined twice")
    if (op.infer is None) == (op.expand is None):
        raise ValueError(f"op {op.name} needs exactly one of infer and expand")
    if op.infer is not None and (op.lower is None or op.reference is None):
        raise ValueError(f"op {op.name} needs lower and reference")
    _by_name[op.name] = op
    if op.replaces is not None:
        _fallbacks[op.replaces] = op
    for function in op.calls:
        if id(function) in _by_call:
            raise ValueError(f"{function!r} is captured by {_by_call[id(function)][1].name} and {op.name}")
        _by_call[id(function)] = (function, op)
    for table, entries in _tables.items():
        for key in getattr(op, table):
            if key in entries:
                raise ValueError(f"{table[:-1]} {key!r} is captured by {entries[key].name} and {op.name}")
            entries[key] = op
    return op


def get(name: str) -> Op:
    """The record called ``name``; KeyError when there is none."""
    _load()
    if name not in _by_name:
        _define_more(name)
    return _by_name[name]


def all_ops() -> tuple[Op, ...]:
    """All records of NumPy's functions."""
    _load()
    _define_more("numpy_polynomial")
    return tuple(_by_name.values())


def for_call(function: Any) -> Op | None:
    """The record that captures a call of this very function object."""
    _load()
    entry = _by_call.get(id(function))
    return entry[1] if entry is not None else None


def for_fallback(key: Hashable) -> Op | None:
    """The record that calls NumPy for a function, ``(ufunc, method)``, ("method", name) or ("operator", symbol)."""
    _load()
    if key not in _fallbacks:
        _define_more(key)
    return _fallbacks.get(key)


def _define_more(wanted: Any) -> None:
    """Records of functions that are only known once their module is imported."""
    importlib.import_module(f"{_OPS_PACKAGE}.fallback").define_later(wanted)


def for_method(name: str) -> Op | None:
    """The record that captures ``array.name(...)``; the array is the first operand."""
    _load()
    return _tables["methods"].get(name)


def for_property(name: str) -> Op | None:
    """The record that captures reading ``array.name``."""
    _load()
    return _tables["properties"].get(name)


def for_operator(symbol: str) -> Op | None:
    """The record of a binary operator ("+", "<"), or a unary one ("unary -")."""
    _load()
    return _tables["operators"].get(symbol)


def _load() -> None:
    """Import the records on first use: they need this module to be complete."""
    if not _by_name or "store" not in _by_name:
        importlib.import_module(_OPS_PACKAGE)
