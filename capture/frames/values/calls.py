"""Calls of what is not a plain Python function: NumPy's functions, builtins, types.

In: the callable, known by identity, and argument values. Out: nodes for what has a record in ``capture.ir.ops``, values
for the builtins in ``BUILTINS``, constants where a function without effects meets constants only; else a break.
"""

from __future__ import annotations

import contextlib
import math
import operator
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.hook import UNBOUND, WeakEntry, spare
from capture.frames.origins import origin
from capture.frames.sources import Constant as KnownObject
from capture.frames.values import (
    asked,
    copies,
    draws,
    exceptions,
    instances,
    library,
    lookup,
    number_calls,
    numbers,
    protocols,
    sharing,
    size_scalars,
    streams,
    totals,
    writers,
)
from capture.frames.values.arrays import ArrayValue, GraphValue, ScalarValue
from capture.frames.values.base import Lazy, NotConcrete, Opaque, Value
from capture.frames.values.constants import LARGEST_LENGTH, PLAIN, Constant
from capture.frames.values.containers import DictValue, ListValue, SequenceValue, TupleValue
from capture.frames.values.exceptions import ExceptionValue, Raised
from capture.frames.values.functions import CellValue, CodeValue, FunctionValue
from capture.frames.values.generators import next_item, stop_of
from capture.frames.values.grown import GrownList, as_arrays
from capture.frames.values.instances import METHODS_OF_OBJECT, NamedTupleValue
from capture.frames.values.iterators import EnumerateIterator, IteratorValue, ReversedIterator, ZipIterator
from capture.frames.values.keys import SliceValue
from capture.frames.values.lookup import MISSING, MissingAttribute, find
from capture.frames.values.numbers import NumberValue
from capture.frames.values.numpy_calls import call_numpy, first_of
from capture.frames.values.objects import CallableValue
from capture.frames.values.operations import EXACT, SCALARS, binary, require_out, write_result
from capture.frames.values.ranges import open_range
from capture.frames.values.special import special_meaning
from capture.frames.values.streams import known_iterator
from capture.ir import op as ops
from capture.ir.graph import Node, map_nodes, map_params
from capture.ir.ops.places import place_of_call
from capture.ir.sizes import asking
from capture.ir.types import NumberType

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer


# NumPy operations -------------------------------------------------------------------------------------------------
def call_op(
    tracer: Tracer, op: ops.Op | None, args: Sequence[Value], kwargs: Mapping[str, Value], instead: Hashable = None
) -> Value:
    """A call of an operation that has a record; where that refuses, NumPy is called from inside the graph.

    ``instead`` is what the user calls, as ``ops.for_fallback`` knows it.
    """
    if tracer.inside is not None:
        return tracer.inside.call_op(op, args, kwargs, instead)
    args = [arg.real(tracer) for arg in args]
    kwargs = {name: arg.real(tracer) for name, arg in kwargs.items()}
    op, args, kwargs = as_arrays(tracer, op, args, kwargs)
    if op is None:
        return call_numpy(tracer, instead, args, kwargs)

    def compute() -> Value:
        with tracer.graph.within(place_of_call(instead)):
            return _call_record(tracer, op, args, dict(kwargs))

    return first_of(tracer, compute, lambda: call_numpy(tracer, instead, args, kwargs))


def _call_record(tracer: Tracer, op: ops.Op, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """Numbers may vary where they meet arrays element by element."""
    kwargs = dict(kwargs)
    for arg in (*(() if isinstance(op.lower, ops.Pointwise) or "numbers" in op.tags else args), *kwargs.values()):
        numbers.require_constant(tracer, arg, but_sizes=True)
    out = kwargs.pop("out", None) if op.accepts_out else None
    if "ufunc" in op.tags and isinstance(op.reference, np.ufunc) and len(args) == op.reference.nin + 1 and out is None:
        args, out = args[:-1], args[-1]
    mask = _mask(tracer, op, kwargs, out)
    op, args, kwargs = _with_keywords(tracer, op, args, kwargs, mask)
    try:
        operands, params = op.bind(
            tuple(arg.in_graph(tracer) for arg in args),
            {name: arg.in_graph(tracer) for name, arg in kwargs.items()},
        )
    except ops.CannotInfer as error:
        raise GraphBreak(str(error), "op") from None
    params = {name: as_parameter(tracer, op.name, value) for name, value in params.items()}
    found = tracer.add_call(op, *operands, **params)
    if out is not None:
        target = out
        if not (isinstance(target, Constant) and target.value is None):
            return _into(tracer, op, found, target, args, mask)
    if "truth" in op.tags:
        return _truth(tracer, found)
    return _result_or_operand(tracer, found, (*args, *kwargs.values()))


def _result_or_operand(tracer: Tracer, found: Any, args: Sequence[Value]) -> Value:
    """A record that gives its operand's own node stands for a call that gives the very object (x.squeeze(), x.real)."""
    if type(found) is tuple:
        return TupleValue([_result_or_operand(tracer, item, args) for item in found])
    same = _operand(tracer, found, args)
    return tracer.result(found) if same is None else same


def _truth(tracer: Tracer, found: Any) -> Value:
    """What NumPy gives as a Python bool."""
    value = tracer.result(found)
    return tracer.call(tracer.constant(bool), (value,), {}) if isinstance(value, ScalarValue) else value


def as_parameter(tracer: Tracer, what: str, value: Any) -> Any:
    """A parameter of an operation: ints that change are sizes."""
    if isinstance(value, Node) and value in tracer.sizes.scalars:
        return tracer.sizes.scalars[value]
    if isinstance(value, Node) and isinstance(value.type, NumberType):
        if value.type.size is None:
            raise GraphBreak(f"{what}: a parameter changes from call to call", "number")
        tracer.sizes.require_inputs(value.type.size)
        return value.type.size
    if isinstance(value, tuple):
        return type(value)(as_parameter(tracer, what, item) for item in value)
    if isinstance(value, slice):
        return slice(*(as_parameter(tracer, what, part) for part in (value.start, value.stop, value.step)))
    return value


def _mask(tracer: Tracer, op: ops.Op, kwargs: dict[str, Value], out: Value | None) -> Value | None:
    """``where=`` of a ufunc, taken out of ``kwargs``; without ``out`` the result would hold what was in memory."""
    if "ufunc" not in op.tags:
        return None
    mask = kwargs.pop("where", None)
    if mask is None or (isinstance(mask, Constant) and mask.value is True):
        return None
    if not isinstance(mask, ArrayValue) or out is None or (isinstance(out, Constant) and out.value is None):
        raise GraphBreak("where= without out=, or of what is no array", "op")
    return mask


def _with_keywords(
    tracer: Tracer, op: ops.Op, args: Sequence[Value], kwargs: dict[str, Value], mask: Value | None
) -> tuple[ops.Op, Sequence[Value], dict[str, Value]]:
    """The op that does what the keywords say, which all ufuncs and some reductions take."""
    name = Constant(op.name)
    if "ufunc" in op.tags:
        for keyword, neutral in UFUNC_KEYWORDS.items():
            given = kwargs.pop(keyword, None)
            if given is not None and not (isinstance(given, Constant) and given.value in neutral):
                raise GraphBreak(f"{keyword}= of a ufunc", "op")
        dtype = kwargs.pop("dtype", None)
        if dtype is not None and not (isinstance(dtype, Constant) and dtype.value is None):
            if mask is not None:
                raise GraphBreak("dtype= and where= of a ufunc", "op")
            return ops.get("ufunc_dtype"), (name, dtype, *args), kwargs
        if mask is not None:
            return ops.get("ufunc_where"), (name, mask, *args), kwargs
    elif op.name in REDUCTIONS.values() and {"where", "initial"} & kwargs.keys():
        if len(args) != 1:
            raise GraphBreak(f"{op.name} with where= or initial= and parameters by position", "op")
        initial = kwargs.get("initial")
        if op.name not in ("max", "min") and isinstance(initial, Constant) and initial.value is None:
            raise GraphBreak(f"{op.name} that is told to begin without its identity", "op")
        wanted = [_unless(kwargs.pop(keyword, None), neutral) for keyword, neutral in REDUCTION_KEYWORDS.items()]
        return ops.get("reduction_where"), (name, *args, *wanted), kwargs
    return op, args, kwargs


def _unless(value: Value | None, neutral: Any) -> Value:
    """A keyword's value; None where it changes nothing."""
    if value is None or (isinstance(value, Constant) and value.value is neutral):
        return Constant(None)
    return value


UFUNC_KEYWORDS: Mapping[str, tuple[Any, ...]] = {"casting": ("same_kind",), "order": ("K",), "subok": (True, False)}
"""Keywords of ufuncs and the values that change nothing."""

REDUCTION_KEYWORDS: Mapping[str, Any] = {"where": True, "initial": np._NoValue}


def _into(
    tracer: Tracer, op: ops.Op, found: Any, target: Value, operands: Sequence[Value], mask: Value | None = None
) -> Value:
    """``out=target``, where the mask is true."""
    if isinstance(target, TupleValue) and len(target.values) == 1:
        target = target.values[0].real(tracer)
    if not isinstance(target, ArrayValue):
        raise GraphBreak(f"out= is {target.describe()}", "op")
    require_out(tracer, found, target.type)
    is_ufunc = "ufunc" in op.tags or op.name in ("ufunc_dtype", "ufunc_where")
    exact = is_ufunc or found.type.dtype == target.type.dtype  # only ufuncs cast to what they write
    if not exact or not (is_ufunc or found.type.shape == target.type.shape):
        raise GraphBreak("out= of another shape or dtype than the result", "op")
    write_result(tracer, found, target, operands, mask)
    return target


def _operand(tracer: Tracer, found: Any, args: Sequence[Value]) -> Value | None:
    """The argument whose node an operation gave back, if it did."""
    for arg in args if isinstance(found, Node) else ():
        if isinstance(arg, SequenceValue) and not isinstance(arg, NamedTupleValue):
            arg = _operand(tracer, found, [item.real(tracer) for item in arg.values])  # type: ignore[assignment]
        if isinstance(arg, ArrayValue) and arg.node is found:
            return arg
    return None


# Builtins ---------------------------------------------------------------------------------------------------------
Builtin = Callable[..., Value]


def _len(tracer: Tracer, value: Value) -> Value:
    if isinstance(value, ArrayValue) and value.type.shape:
        return tracer.sizes.value(value.type.shape[0])
    return value.size(tracer) if isinstance(value, ListValue | GrownList) else Constant(value.length(tracer))


def _every(wanted: bool) -> Builtin:
    def check(tracer: Tracer, values: Value) -> Value:
        iterator = known_iterator(tracer, values)
        while (item := iterator.advance(tracer)) is not None:
            if item.real(tracer).truth(tracer) != wanted:
                return Constant(not wanted)
        return Constant(wanted)

    return check


def _isinstance(tracer: Tracer, value: Value, kinds: Value) -> Value:
    wanted = kinds.concrete(tracer)
    wanted = wanted if type(wanted) is tuple else (wanted,)
    wanted = tuple(part for kind in wanted for part in (kind.__args__ if type(kind) is types.UnionType else (kind,)))
    return Constant(any(instances.is_instance(tracer, value, kind) for kind in wanted))


def _super(tracer: Tracer, after: Value | None = None, owner: Value | None = None) -> Value:
    if after is None:  # the class the method was written in, and the method's first argument
        frame = tracer.frames[-1]
        first = origin(frame.code.original, frame.index)[0].co_varnames[:1]
        after, owner = (frame.locals.get(name) for name in ("__class__", *first, "")[:2])
        after = after.content if isinstance(after, CellValue) else None
        owner = owner.content if isinstance(owner, CellValue) else owner
    if after is None or owner is None:
        raise GraphBreak("super() with other arguments than a class and an object", "call")
    return instances.SuperValue(tracer, after.real(tracer), owner.real(tracer))


def _type(tracer: Tracer, value: Value) -> Value:
    return tracer.constant(value.python_type(tracer))


def _callable(tracer: Tracer, value: Value) -> Value:
    kind = value.python_type(tracer)
    return Constant(not lookup.lacks(tracer, kind, "__call__"))


def _bool(tracer: Tracer, value: Value = Constant(False)) -> Value:  # noqa: B008
    return Constant(value.truth(tracer))


def _tuple(tracer: Tracer, values: Value | None = None) -> Value:
    if type(values) is TupleValue:
        return values
    return TupleValue(values.listed(tracer) if values is not None else ())


def _list(tracer: Tracer, values: Value | None = None) -> Value:
    return ListValue(values.listed(tracer) if values is not None else ())


def _slice(tracer: Tracer, first: Value, second: Value | None = None, third: Value = Constant(None)) -> Value:  # noqa: B008
    if second is None:
        return SliceValue(Constant(None), first, third)
    return SliceValue(first, second, third)


def _iter(tracer: Tracer, value: Value) -> Value:
    return value.iterate(tracer)


def _next(tracer: Tracer, iterator: Value, default: Value | None = None) -> Value:
    if isinstance(iterator, instances.Instance):
        iterator = streams.UserIterator(iterator)
    if not isinstance(iterator, IteratorValue):
        raise GraphBreak(f"next of {iterator.describe()}", "loop")
    item = next_item(tracer, iterator)
    if item is None:
        item = default
    if item is None:
        raise stop_of(iterator)
    return item


def _enumerate(tracer: Tracer, values: Value, start: Value = Constant(0)) -> Value:  # noqa: B008
    count = start.concrete(tracer)
    if type(count) is not int:
        raise GraphBreak("enumerate from something that is no int")
    return EnumerateIterator(known_iterator(tracer, values), count)


def _zip(tracer: Tracer, *values: Value, strict: Value = Constant(False)) -> Value:  # noqa: B008
    return ZipIterator([known_iterator(tracer, value) for value in values], strict.truth(tracer))


def _reversed(tracer: Tracer, values: Value) -> Value:
    if isinstance(values, SequenceValue):
        return ReversedIterator(values, values.length(tracer))
    if isinstance(values, Constant) and type(values.value) is range:
        return tracer.iterator(Constant(values.value[::-1]))
    raise GraphBreak(f"reversed of {values.describe()}", "loop")


def _range(tracer: Tracer, *bounds: Value) -> Value:
    if 1 <= len(bounds) <= 3:
        found = open_range(tracer, bounds)
        if found is not None:
            return found
    return Constant(tracer.evaluate(range, bounds, {}).value)  # type: ignore[attr-defined]


def _getattr(tracer: Tracer, value: Value, name: Value, default: Value | None = None) -> Value:
    wanted = _attribute_name(tracer, name)
    found = value.attribute(tracer, wanted) if default is None else _attribute_if_any(tracer, value, wanted)
    return default if found is None else found  # type: ignore[return-value]


def _attribute_if_any(tracer: Tracer, value: Value, name: str) -> Value | None:
    """An attribute; None where it is certain that there is none."""
    if _has_by_type(tracer, value, name) is False:
        return None
    depth = len(tracer.frames)
    try:
        return value.attribute(tracer, name)
    except MissingAttribute:
        if len(tracer.frames) != depth:  # inside of a property, which may handle it
            raise
        return None
    except Raised as stop:  # by a __getattr__ of the user's
        if tracer.unwinding is not None or not issubclass(stop.value.kind, AttributeError):
            raise
        del tracer.frames[depth:]
        return None


def _hasattr(tracer: Tracer, value: Value, name: Value) -> Value:
    wanted = _attribute_name(tracer, name)
    if _has_by_type(tracer, value, wanted):
        return Constant(True)
    return Constant(_attribute_if_any(tracer, value, wanted) is not None)


def _has_by_type(tracer: Tracer, value: Value, name: str) -> bool | None:
    """Whether a value has an attribute, where its type says so; None where it does not."""
    families = Constant | GraphValue | SequenceValue | DictValue
    if not isinstance(value, families) or isinstance(value, NamedTupleValue):
        return None
    kind = value.python_type(tracer)
    return find(kind, name) is not MISSING if kind in WITHOUT_OWN else None


def _setattr(tracer: Tracer, value: Value, name: Value, new: Value) -> Value:
    value.store_attribute(tracer, _attribute_name(tracer, name), new)
    return Constant(None)


def _attribute_name(tracer: Tracer, name: Value) -> str:
    wanted = name.concrete(tracer)
    if type(wanted) is not str:
        raise GraphBreak("an attribute's name is no string", "attribute")
    return wanted


BUILTINS: Mapping[Any, Builtin] = {
    **library.ROWS,
    **totals.ROWS,
    len: _len,
    all: _every(True),
    any: _every(False),
    isinstance: _isinstance,
    type: _type,
    bool: _bool,
    tuple: _tuple,
    list: _list,
    slice: _slice,
    iter: _iter,
    next: _next,
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    range: _range,
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _setattr,
    callable: _callable,
    super: _super,
    **asked.ROWS,
    **sharing.ROWS,
    **writers.WRITERS,
}

TYPE_CALL = lookup.OWN(type)["__call__"]

WITHOUT_OWN = EXACT | {np.ndarray, tuple, list, dict, range}
"""Types whose objects have the attributes that the type says, and no others."""

PURE: frozenset[Any] = frozenset(
    {
        *(int, float, complex, str, bytes, round, pow, ord, chr, hex, bin, oct, repr, ascii, format, hash),
        *(frozenset, int.from_bytes, bytes.fromhex, float.fromhex, str.maketrans),
        *(np.dtype, np.finfo, np.iinfo, np.result_type, np.promote_types, np.can_cast, np.issubdtype),
        *(np.isdtype, np.min_scalar_type),
        *(np.lib.array_utils.normalize_axis_index, np.broadcast_shapes),
        operator.index,
        *(value for value in vars(math).values() if type(value) is types.BuiltinFunctionType),
    }
)
"""Functions without effects: on constants they are computed at once."""

FROM_LIBRARY = frozenset({contextlib.nullcontext})
"""Classes of the library whose metaclass is no builtin one, but which have rows."""

TEXTS: frozenset[Any] = frozenset({str, repr, ascii})

CONSUMING: frozenset[Any] = frozenset({frozenset, math.fsum})
"""Those that go through an iterable, whatever kind it is."""

OPERATORS: Mapping[Any, str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.matmul: "@", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.lt: "<", operator.le: "<=", operator.eq: "==", operator.ne: "!=", operator.gt: ">",
    operator.ge: ">=", operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/=",
    operator.ifloordiv: "//=", operator.imod: "%=", operator.ipow: "**=", operator.imatmul: "@=", operator.iand: "&=",
    operator.ior: "|=", operator.ixor: "^=", operator.ilshift: "<<=", operator.irshift: ">>=", operator.lshift: "<<",
    operator.rshift: ">>", operator.concat: "+", operator.iconcat: "+=",
}  # fmt: skip

JOINING = frozenset({operator.concat, operator.iconcat})
"""Those of sequences alone: arrays and numbers are refused."""


def call_known(
    tracer: Tracer, callee: Value, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    """A call of an object known by identity that is no Python function."""
    if type(function) is WeakEntry:
        raise GraphBreak("the rest of a call that another break interrupted", "resume")
    if function is spare:
        return args[0] if isinstance(args[0], Lazy | Opaque) else Constant(UNBOUND)
    args = [arg.real(tracer) for arg in args]
    kwargs = {name: arg.real(tracer) for name, arg in kwargs.items()}
    if id(function) in draws.ROWS:
        return draws.ROWS[id(function)](tracer, args, kwargs)
    if _hashable(function):
        found = number_calls.call(tracer, function, args, kwargs)
        if found is None:
            found = size_scalars.call(tracer, function, args, kwargs)
        if found is None:
            found = protocols.call(tracer, function, args, kwargs)
        if found is not None:
            return found
        if function in TEXTS and len(args) == 1 and isinstance(args[0], ExceptionValue) and not kwargs:
            return Constant(args[0].text(tracer, function))
        if function in exceptions.KINDS:
            return exceptions.make(function, args, kwargs)
        if function in BUILTINS:
            return _call_builtin(tracer, function, args, kwargs)
        if function in OPERATORS and len(args) == 2 and not kwargs:
            if function in JOINING and args[0].python_type(tracer) not in (list, tuple, str, bytes):
                raise GraphBreak(f"{function.__name__} of {args[0].describe()} is left to Python", "call")
            return binary(tracer, OPERATORS[function], *args)
        if type(function) is types.MethodDescriptorType:
            return _call_unbound(tracer, function, args, kwargs)
        if function in PURE or _computes_constants(function, args, kwargs):
            return _call_pure(tracer, function, args, kwargs)
    if function is TYPE_CALL and args and isinstance(args[0], CallableValue) and lookup.is_class(args[0].value):
        return instances.construct_plainly(tracer, args[0], args[0].value, args[1:], kwargs)
    if id(function) in METHODS_OF_OBJECT:
        return instances.call_method_of_object(tracer, function, args, kwargs)
    op = ops.for_call(function)
    if op is not None:
        return call_op(tracer, op, args, kwargs, function if _hashable(function) else None)
    if _hashable(function) and (type(function) is DISPATCHER or ops.for_fallback(function) is not None):
        return call_library(tracer, callee, function, args, kwargs)
    if lookup.is_class(function) and not lookup.is_fixed(function):
        return instances.construct(tracer, callee, function, args, kwargs)
    raise GraphBreak(f"call of {callee.describe()}, which has no graph form", "call")


def several_results(tracer: Tracer, found: Node) -> Value:
    """The several results of a call, in the kind of tuple or list that NumPy gives."""
    values = [tracer.result(tracer.graph.call("part", found, index=index)) for index in range(len(found.type))]
    assert found.op.gives is not None
    with asking(tracer.graph.known):
        gives = found.op.gives(*map_nodes(found.args, lambda node: node.type), **map_params(found.params))
    if gives is tuple:
        return TupleValue(values)
    if gives is list:
        return ListValue(values)
    instances.guard_named_tuple(tracer, gives)
    return NamedTupleValue(CallableValue(gives), gives, values)


PLAIN_FAMILIES = (GraphValue, Constant, NumberValue, CodeValue, CallableValue, SliceValue)


def _call_implementation(tracer: Tracer, callee: Value, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """A function of NumPy's that is written in Python, as if it stood in the user's code: no argument overrides it."""
    implementation = callee.value._implementation  # type: ignore[attr-defined]
    if type(implementation) is not types.FunctionType:
        raise GraphBreak(f"call of {callee.describe()}, which has no graph form", "call")
    _require_no_override(tracer, callee, (*args, *kwargs.values()))
    return tracer.call(lookup.known(tracer, implementation), args, kwargs)


def _require_no_override(tracer: Tracer, callee: Value, args: Sequence[Value]) -> None:
    for arg in args:
        arg = arg.real(tracer)
        if isinstance(arg, SequenceValue) and not isinstance(arg, NamedTupleValue):
            _require_no_override(tracer, callee, arg.values)
        elif not isinstance(arg, PLAIN_FAMILIES) and not _lacks_override(tracer, arg):
            raise GraphBreak(f"call of {callee.describe()} with {arg.describe()}, which may override it", "call")


def _lacks_override(tracer: Tracer, arg: Value) -> bool:
    return isinstance(arg, Opaque | instances.Instance) and lookup.lacks(
        tracer, arg.python_type(tracer), "__array_function__"
    )


DISPATCHER: Any = type(np.sum)
"""The type of NumPy's functions that are written in Python, or dispatched by it."""


class PlainFunction(FunctionValue):
    """A function that is known to have no meaning but its code."""

    __slots__ = ()


def call_library(
    tracer: Tracer, callee: Value, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    """A function of NumPy's without a record: its Python source is evaluated inline, or else NumPy is called."""

    def inline() -> Value:
        if type(function) is types.FunctionType:
            return tracer.call_function(PlainFunction(function, KnownObject(function)), args, kwargs)
        if type(function) is DISPATCHER:
            return _call_implementation(tracer, callee, args, kwargs)
        raise GraphBreak(f"call of {callee.describe()}, which has no graph form", "call")

    if ops.for_fallback(function) is None:
        return inline()
    if tracer.inside is not None and tracer.inside.calls(function):
        return tracer.inside.call_op(None, args, kwargs, function)
    return first_of(tracer, inline, lambda: call_numpy(tracer, function, args, kwargs))


# Methods of ufuncs --------------------------------------------------------------------------------------------------
REDUCTIONS: Mapping[np.ufunc, str] = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_and: "all",
    np.logical_or: "any",
}  # fmt: skip
"""The op that computes ``ufunc.reduce``."""


def call_ufunc_method(
    tracer: Tracer, ufunc: np.ufunc, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    """``np.add.reduce(x)``: as ``np.sum`` where there is such an op, but along the first axis unless told otherwise."""
    args = [arg.real(tracer) for arg in args]
    record = UFUNC_RECORDS.get((ufunc, name))
    if record is None and name == "outer" and ops.for_call(ufunc) is not None:
        record = "ufunc_outer"
    if record is None:
        return call_numpy(tracer, (ufunc, name), args, kwargs)
    if name == "outer":
        args = (Constant(ufunc.__name__), *args)
    elif len(args) == 1 and "axis" not in kwargs:
        kwargs = {**kwargs, "axis": Constant(0)}
    found = ops.get(record)
    instead = (ufunc, name) if name != "outer" else None
    return call_op(tracer, found, args, kwargs, instead)


UFUNC_RECORDS: Mapping[tuple[np.ufunc, str], str] = {
    **{(ufunc, "reduce"): name for ufunc, name in REDUCTIONS.items()},
    (np.add, "accumulate"): "cumsum",
    (np.multiply, "accumulate"): "cumprod",
    (np.maximum, "accumulate"): "running_maximum",
    (np.minimum, "accumulate"): "running_minimum",
}


def _hashable(function: Any) -> bool:
    """Whether its hash is Python's own; a class is asked through its metaclass."""
    if lookup.is_class(function):
        return lookup.is_fixed(type(function)) or function in FROM_LIBRARY
    kinds = (types.BuiltinFunctionType, types.MethodDescriptorType, np.ufunc, type(np.sum))
    return isinstance(function, kinds)


def _call_unbound(tracer: Tracer, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """``str.upper(text)``: the method of the first argument."""
    if not args or not issubclass(args[0].python_type(tracer), function.__objclass__):
        raise GraphBreak(f"call of {function.__qualname__} with these arguments", "call")
    return args[0].call_method(tracer, function.__name__, args[1:], kwargs)


def _call_builtin(tracer: Tracer, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    try:
        return BUILTINS[function](tracer, *args, **kwargs)
    except NotConcrete as error:
        raise GraphBreak(f"{function.__name__} of {error}") from None
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # arguments do not fit the row
            raise GraphBreak(f"{function.__name__} with these arguments is left to Python", "call") from None
        raise


def _call_pure(tracer: Tracer, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    if function is pow and len(args) == 2:
        return binary(tracer, "**", *args)
    if function in CONSUMING and args and isinstance(args[0], IteratorValue):
        args = [tracer.constant_items(args[0]), *args[1:]]
    result = tracer.evaluate(function, args, kwargs)
    if isinstance(result, Constant) and type(result.value) in (str, bytes) and len(result.value) > LARGEST_LENGTH:
        raise GraphBreak(f"{function.__name__} gives a very long string", "size")
    return result


def _computes_constants(function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
    """A ufunc, or a NumPy scalar type, on plain numbers: NumPy itself gives the scalar."""
    if kwargs or not args:
        return False
    ufunc = type(function) is np.ufunc and function.nout == 1 and len(args) == function.nin
    if not ufunc and function not in SCALARS:
        return False
    return all(isinstance(arg, Constant) and type(arg.value) in PLAIN | SCALARS for arg in args)


def special(tracer: Tracer, function: CodeValue, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value | None:
    """What a function with a meaning of its own gives; None for all others, and those that NumPy has a record of."""
    inner = protocols.without_recursion(tracer, function)
    if inner is not None:
        return tracer.call(inner, args, kwargs)
    if not isinstance(function, FunctionValue) or type(function) is PlainFunction:
        return None
    meaning = special_meaning(function.function) or copies.ROWS.get(function.function)
    op = ops.for_call(function.function)
    pure = function.function in PURE
    if meaning is not None or op is not None or pure:
        function.fix(tracer)
    if pure:
        return _call_pure(tracer, function.function, args, kwargs)
    if meaning is not None:
        return meaning(tracer, args, kwargs)
    if op is not None:
        return call_op(tracer, op, args, kwargs, function.function)
    if ops.for_fallback(function.function) is not None:
        function.fix(tracer)
        return call_library(tracer, function, function.function, args, kwargs)
    return None
