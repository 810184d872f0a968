"""What an array says of its memory: ``x.flags``, ``x.strides``, and ``x.flat``, its elements in C order.

In: an array, whose guard tells the class of its strides. Out: answers that follow from the class for certain; elements
of the array as if it had one axis, read and written. What depends on more than the class, such as the strides of axes
of one element, is a break. The objects themselves are made only if they escape.

>>> FlagsValue(x).attribute(tracer, "c_contiguous")
<constant True>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.frames.breaks import GraphBreak
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.containers import TupleValue
from capture.ir import op as ops
from capture.ir.graph import Node, buffer
from capture.ir.ops.strides import contiguity, dense_strides
from capture.ir.shapes import product
from capture.ir.sizes import asking, at_least, same_shape

if TYPE_CHECKING:
    from capture.frames.rebuild import Builder
    from capture.frames.tracer import Tracer


class ArrayPart(Value):
    """An object that belongs to an array and can be asked for again."""

    __slots__ = ("owner",)
    name: str

    def __init__(self, owner: Any) -> None:
        super().__init__()
        self.owner = owner

    def describe(self) -> str:
        return f"{self.owner.describe()}.{self.name}"

    def python_type(self, tracer: Tracer) -> type:
        return type(getattr(np.empty(0), self.name))

    def rebuild(self, build: Builder) -> None:
        build.attribute(self.owner, self.name)


# Flags ------------------------------------------------------------------------------------------------------------
def _in_c(tracer: Tracer, array: Any) -> bool:
    return _contiguous(tracer, array, turned=False)


def _in_fortran(tracer: Tracer, array: Any) -> bool:
    return _contiguous(tracer, array, turned=True)


def _contiguous(tracer: Tracer, array: Any, turned: bool) -> bool:
    with asking(tracer.graph.known):
        found = contiguity(array.type, array.node, turned)
    if found is None:
        raise GraphBreak(f"whether {array.describe()} is contiguous depends on strides that are not known", "attribute")
    return found


FLAGS: Mapping[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(("c_contiguous", "contiguous"), _in_c),
    **dict.fromkeys(("f_contiguous", "fortran"), _in_fortran),
    "forc": lambda tracer, array: _in_c(tracer, array) or _in_fortran(tracer, array),
    "fnc": lambda tracer, array: not _in_c(tracer, array) and _in_fortran(tracer, array),
}
KEYS: Mapping[str, str] = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "c_contiguous"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "f_contiguous"),
    "FORC": "forc",
    "FNC": "fnc",
}
"""Flags by the names that ``x.flags["C"]`` has for them."""


class FlagsValue(ArrayPart):
    """``x.flags``."""

    __slots__ = ()
    noun, name = "flags", "flags"

    def attribute(self, tracer: Tracer, name: str) -> Value:
        flag = FLAGS.get(name)
        if flag is None:
            raise GraphBreak(f"the flag {name!r} of {self.owner.describe()} is left to Python", "attribute")
        return Constant(flag(tracer, self.owner))

    def item(self, tracer: Tracer, key: Value) -> Value:
        name = KEYS.get(key.value) if isinstance(key, Constant) and type(key.value) is str else None
        if name is None:
            raise GraphBreak(f"an item of {self.describe()} is left to Python", "attribute")
        return self.attribute(tracer, name)


# Strides ----------------------------------------------------------------------------------------------------------
def strides_value(tracer: Tracer, array: Any) -> Value:
    """The strides of dense memory, if every axis has several elements."""
    with asking(tracer.graph.known):
        strides = dense_strides(array.type)
        if strides is None or not all(at_least(size, 2) for size in array.type.shape):
            raise GraphBreak(f"the strides of {array.describe()} do not follow from their class", "attribute")
    itemsize = array.type.dtype.itemsize
    return TupleValue([tracer.sizes.value(stride * itemsize) for stride in strides])


# Elements in C order ----------------------------------------------------------------------------------------------
class FlatValue(ArrayPart):
    """``x.flat``: indexed, its elements are copies; written, they are those of the array."""

    __slots__ = ()
    noun, name = "flat iterator", "flat"

    def length(self, tracer: Tracer) -> int:
        return tracer.known_size(product(self.owner.type.shape))

    def item(self, tracer: Tracer, key: Value) -> Value:
        row = tracer.call_op(ops.get("in_a_row"), (self.owner,), {})
        found = row.item(tracer, self._key(key))
        return found if found.type.scalar else tracer.call_op(ops.get("copy"), (found,), {})  # type: ignore[attr-defined]

    def store_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        """Values are repeated until they fill the places: here they must be one, or as many as there are. NumPy may
        read what it has just written.
        """
        with asking(tracer.graph.known):
            if self.owner.type.ndim != 1 and not contiguity(self.owner.type, self.owner.node):
                raise GraphBreak(f"elements of {self.describe()}, which are not neighbours, are written", "write")
        row = tracer.call_op(ops.get("in_a_row"), (self.owner,), {})
        places = row.item(tracer, self._key(key)).type  # type: ignore[attr-defined]
        given = value.real(tracer).in_graph(tracer)
        shape = getattr(getattr(given, "type", None), "shape", ())
        with asking(tracer.graph.known):
            fits = not shape or (not places.scalar and same_shape(shape, places.shape))
        if not fits:
            raise GraphBreak(f"another number of values is written to {self.describe()} than there are places", "write")
        if isinstance(given, Node) and buffer(given) is buffer(tracer.memory.current(self.owner)):
            raise GraphBreak(f"values that share memory with {self.describe()} are written to it", "overlap")
        row.store_item(tracer, key, value)

    def call_method(self, tracer: Tracer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if name == "copy" and not args and not kwargs:
            return tracer.call_op(ops.get("flatten"), (self.owner,), {})
        return super().call_method(tracer, name, args, kwargs)

    def _key(self, key: Value) -> Value:
        """Ints, slices and arrays of one axis mean the same as for an array of one axis."""
        if isinstance(key, TupleValue) or (isinstance(key, Constant) and type(key.value) is not int):
            raise GraphBreak(f"{self.describe()} with a key that is no int, slice or array", "python")
        return key
