"""Values that live in the graph: arrays and NumPy scalars.

In: a graph node, or the input that becomes one when it is first used. Out: more nodes. What may be known of an
array beforehand (shape, dtype) is answered with constants, under the guard on the array's type; what depends on
its elements is a break.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.origins import is_resumed
from capture.frames.sources import Dimension
from capture.frames.values.array_parts import FlagsValue, FlatValue, strides_value
from capture.frames.values.base import Value, has_method
from capture.frames.values.constants import Constant
from capture.frames.values.containers import ListValue, TupleValue
from capture.frames.values.keys import SliceValue
from capture.frames.values.numbers import NumberValue, Specialise
from capture.ir import op as ops
from capture.ir.graph import Node
from capture.ir.ops import assigning
from capture.ir.shapes import product
from capture.ir.types import ArrayType, Type, is_static

if TYPE_CHECKING:
    from capture.frames.loops.evaluating import Inside
    from capture.frames.rebuild import Builder
    from capture.frames.sources import Source
    from capture.frames.tracer import Tracer


class GraphValue(Value):
    """A value computed by the graph, or one of its inputs (``example`` is then what it was this time)."""

    __slots__ = ("example", "node", "type")
    noun = "value"
    type: Any  # an ir Type
    is_settled_once = True

    def __init__(self, of: Type, node: Node | None = None, source: Source | None = None, example: Any = None):
        super().__init__(source)
        self.type = of
        self.node = node  # None: an input that no node has read yet
        self.example = example

    def real(self, tracer: Tracer) -> Value:
        return self if tracer.inside is None else tracer.inside.inside(self)

    def describe(self) -> str:
        name = self.source.name() if self.source is not None else self.node.name if self.node else ""
        return f"{self.noun} {name}"

    def truth(self, tracer: Tracer) -> bool:
        raise GraphBreak(f"a branch on the value of {self.describe()}", "branch")

    def in_graph(self, tracer: Tracer) -> Any:
        return tracer.memory.current(self)

    def rebuild(self, build: Builder) -> None:
        build.output(self)

    def template(self, build: Any) -> Any:
        return build.output_template(self)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        special = METHODS.get(name)
        if special is not None:
            return special(tracer, self, *args, **kwargs)
        op = ops.for_method(name)
        if op is None and ops.for_fallback(("method", name)) is None:
            raise GraphBreak(f"method {name!r} of arrays has no graph form", "call")
        return tracer.call_op(op, (self, *args), kwargs, ("method", name))

    def item(self, tracer: Tracer, key: Value) -> Value:
        require_known(tracer, self, key)
        return tracer.call_op(ops.get("getitem"), (self, key), {})


def require_known(tracer: Tracer, array: GraphValue, key: Value) -> None:
    """Behind a break single elements are chosen by constants and sizes of arrays: of a loop that stays Python's, each
    round would be slower in a graph. One that such a loop keeps changing is left open all the same, since there may be
    work on arrays beside it (see ``is_of_elements``).
    """
    if not is_resumed(tracer.root.code.original):
        return
    changing = tracer.changing
    parts = [part.real(tracer) for part in (key.values if isinstance(key, TupleValue) else (key,))]
    if len(parts) < array.type.ndim or not all(isinstance(part, NumberValue | Constant) for part in parts):
        return
    for part in parts:
        if not isinstance(part, NumberValue) or all(isinstance(source, Dimension) for source in part.sources):
            continue
        if not all(source in changing and changing.had_its_share(source) for source in part.sources):
            raise Specialise(part.sources)


class ArrayValue(GraphValue):
    """An ndarray."""

    __slots__ = ()
    noun = "array"

    def python_type(self, tracer: Tracer) -> Any:
        return np.ndarray

    def truth(self, tracer: Tracer) -> bool:
        raise GraphBreak(f"a branch on the elements of {self.describe()}", "branch")

    def length(self, tracer: Tracer) -> int:
        if not self.type.shape:
            raise GraphBreak("len() of an array without axes", "python")
        size = self.type.shape[0]
        if tracer.sizes.had_their_share(size):
            raise GraphBreak(f"a loop over the rows of {self.describe()}, whose number changes", "loop")
        return tracer.known_size(size)

    def attribute(self, tracer: Tracer, name: str) -> Value:
        return _attribute(tracer, self, name)

    def store_attribute(self, tracer: Tracer, name: str, value: Value) -> None:
        if name != "flat":
            super().store_attribute(tracer, name, value)
        FlatValue(self).store_item(tracer, SliceValue(Constant(None), Constant(None), Constant(None)), value)

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        require_known(tracer, self, key)
        tracer.memory.store_item(self, key, value)

    def items(self, tracer: Tracer) -> tuple[Value, ...]:
        rows = self.length(tracer)
        if rows > tracer.settings.options.unroll_limit:
            raise GraphBreak(f"iteration over the {rows} rows of {self.describe()}", "loop")
        return tuple(self.item(tracer, Constant(row)) for row in range(rows))

    def iterate(self, tracer: Tracer) -> Value:
        self.length(tracer)
        return tracer.iterator(self)


class ScalarValue(GraphValue):
    """A NumPy scalar, such as ``x.sum()``. It never changes."""

    __slots__ = ()
    noun = "NumPy scalar"

    def python_type(self, tracer: Tracer) -> Any:
        return self.type.dtype.type

    def attribute(self, tracer: Tracer, name: str) -> Value:
        return _attribute(tracer, self, name)


FAMILIES: tuple[type[GraphValue], ...] = (ArrayValue, ScalarValue)


def graph_value(node: Node) -> GraphValue:
    """The value of a node that was just computed."""
    if not isinstance(node.type, ArrayType):
        raise GraphBreak(f"{node.target} gives a Python number", "op")
    return (ScalarValue if node.type.scalar else ArrayValue)(node.type, node)


# Attributes -------------------------------------------------------------------------------------------------------
def _shape(tracer: Tracer, value: Any) -> Value:
    return TupleValue([tracer.sizes.value(size) for size in value.type.shape])


def _size(tracer: Tracer, value: Any) -> Value:
    return tracer.sizes.value(product(value.type.shape))


def _of_array(part: Callable[..., Value], tracer: Tracer, value: Any) -> Value:
    if not isinstance(value, ArrayValue):
        raise GraphBreak(f"{value.describe()} is asked for its memory", "attribute")
    return part(tracer, value)


ATTRIBUTES: Mapping[str, Callable[[Any, Any], Value]] = {
    "shape": _shape,
    "size": _size,
    "ndim": lambda tracer, value: Constant(value.type.ndim),
    "dtype": lambda tracer, value: Constant(value.type.dtype),
    "itemsize": lambda tracer, value: Constant(value.type.dtype.itemsize),
    "__class__": lambda tracer, value: tracer.constant(value.python_type(tracer)),
    "strides": partial(_of_array, strides_value),
    "flags": partial(_of_array, lambda tracer, array: FlagsValue(array)),
    "flat": partial(_of_array, lambda tracer, array: FlatValue(array)),
    "nbytes": lambda tracer, value: tracer.sizes.value(product(value.type.shape) * value.type.dtype.itemsize),
}


def _attribute(tracer: Tracer, value: Any, name: str) -> Value:
    known = ATTRIBUTES.get(name)
    if known is not None:
        return known(tracer, value)
    op = ops.for_property(name)
    if op is not None:
        return tracer.call_op(op, (value,), {})
    if name in METHODS or ops.for_method(name) is not None or has_method(value.python_type(tracer), name):
        return tracer.method(value, name)
    raise GraphBreak(f"attribute {name!r} of {value.describe()} has no graph form", "attribute")


# Elements as Python numbers ---------------------------------------------------------------------------------------
PYTHON_OF: Mapping[str, type] = {"b": bool, "i": int, "u": int, "f": float}
"""What Python number a NumPy scalar of a kind of dtype becomes."""


def only_element(tracer: Tracer, array: GraphValue) -> Value:
    """The NumPy scalar that an array of one element holds."""
    if any(size != 1 for size in array.type.shape):
        raise GraphBreak(f"{array.describe()} as one number", "python")
    if isinstance(array, ScalarValue):
        return array
    return tracer.call_op(ops.get("getitem"), (array, TupleValue([Constant(0)] * array.type.ndim)), {})


def as_programs_have_it(tracer: Tracer, scalar: ScalarValue, function: Any) -> Value:
    """The same number in a dtype that programs compute with, for ``bool``, ``int`` or ``float`` of it."""
    dtype = WIDER.get(scalar.type.dtype)
    if dtype is None:
        return scalar
    if function is int and scalar.type.dtype.kind == "u":
        raise GraphBreak(f"{scalar.describe()} may be no int64", "python")
    return tracer.call_op(ops.get("astype"), (scalar, Constant(dtype if function is not bool else np.dtype(bool))), {})


WIDER: Mapping[np.dtype, np.dtype] = {
    np.dtype(np.float16): np.dtype(np.float64), np.dtype(np.uint64): np.dtype(np.float64),
}  # fmt: skip
"""Dtypes that programs do not compute with, and what a float of such a number is rounded to."""


def _item(tracer: Tracer, array: GraphValue, *key: Value) -> Value:
    """``x.item()``, of one element, or ``x.item(2)``, ``x.item(0, 1)``."""
    kind = PYTHON_OF.get(array.type.dtype.kind)
    if kind is None or array.type.dtype.itemsize > 8:
        raise GraphBreak(f"item of {array.describe()}, of {array.type.dtype}", "python")
    if not key:
        element = only_element(tracer, array)
    elif len(key) == array.type.ndim and isinstance(array, ArrayValue):
        element = tracer.call_op(ops.get("getitem"), (array, TupleValue(key)), {})
    else:
        raise GraphBreak(f"item of {array.describe()} with another number of places than axes", "python")
    if not isinstance(element, ScalarValue):
        raise GraphBreak(f"item of {array.describe()} at what are no ints", "python")
    return tracer.call(tracer.constant(kind), (element,), {})


MOST_LISTED = 16
"""Elements of which a list is made: for more of them Python's own list is made sooner than that many results."""


def _tolist(tracer: Tracer, array: GraphValue) -> Value:
    """``x.tolist()``: lists of Python numbers, all of them made by one program."""
    shape, kind = array.type.shape, PYTHON_OF.get(array.type.dtype.kind)
    if not shape:
        return _item(tracer, array)
    if not is_static(shape) or math.prod(shape) > MOST_LISTED or tracer.inside is not None:
        raise GraphBreak(f"a list of the numbers in {array.describe()}, which are many or change in number", "python")
    if kind is None or array.type.dtype.itemsize > 8:
        raise GraphBreak(f"tolist of {array.describe()}, of {array.type.dtype}", "python")
    places = [TupleValue(list(map(Constant, place))) for place in np.ndindex(shape)]
    elements = [tracer.call_op(ops.get("getitem"), (array, place), {}) for place in places]
    scalars = [as_programs_have_it(tracer, element, kind) for element in elements]  # type: ignore[arg-type]
    numbers = tracer.all_apart(lambda inside: [_converted(inside, kind, scalar) for scalar in scalars])
    return _nested(iter(numbers), shape)


def _converted(inside: Inside, kind: type, scalar: Value) -> Value:
    found = inside.call_known(kind, [scalar], {})
    assert found is not None, "programs make Python's numbers"
    return found


def _nested(numbers: Iterator[Value], shape: tuple[int, ...]) -> Value:
    if not shape:
        return next(numbers)
    return ListValue([_nested(numbers, shape[1:]) for _ in range(shape[0])])


# Methods that change the array ------------------------------------------------------------------------------------
def _fill(tracer: Tracer, array: Any, value: Value) -> Value:
    value = value.real(tracer)
    if not isinstance(array, ArrayValue) or value.in_graph(tracer) is None:
        raise GraphBreak(f"fill of {array.describe()}", "call")
    if isinstance(value, ArrayValue) and value.type.shape:
        raise GraphBreak("fill with an array", "op")
    tracer.memory.assign(assigning.filled, array, value)
    return Constant(None)


def _put(tracer: Tracer, array: Any, indices: Value, values: Value, mode: Value = Constant("raise")) -> Value:  # noqa: B008
    if not isinstance(array, ArrayValue):
        raise GraphBreak(f"put into {array.describe()}", "call")
    tracer.memory.assign(assigning.put, array, indices, values, mode)
    return Constant(None)


def _in_place(rule: Callable[..., Any]) -> Callable[..., Value]:
    signature = inspect.signature(rule)

    def write(tracer: Tracer, array: Any, *operands: Value, **named: Any) -> Value:
        try:
            signature.bind(None, array, *operands, **named)
        except TypeError as error:
            raise GraphBreak(f"{rule.__name__}: {error}", "call") from None
        if not isinstance(array, ArrayValue):
            raise GraphBreak(f"{rule.__name__} of {array.describe()}", "call")
        tracer.memory.assign(rule, array, *operands, **named)
        return Constant(None)

    return write


METHODS: Mapping[str, Callable[..., Value]] = {
    "item": _item,
    "tolist": _tolist,
    "fill": _fill,
    "put": _put,
    "sort": _in_place(assigning.sort),
    "partition": _in_place(assigning.partition),
}
