"""``np.einsum`` of two operands: products and sums in loops, or a product of matrices by BLAS.

In: subscripts, written out or not, with or without an ellipsis. Out: a ``contract`` node, whose subscripts are written
out and which is taken apart before lowering: both operands are permuted to one order of the labels, multiplied and
summed in one loop nest; where there are rows, columns and something to sum over, of floats, matrices are multiplied.

>>> graph.call("np_einsum", "ij,jk", x, y)         # contract("ij,jk->ik", x, y)  →  matmul
>>> graph.call("np_einsum", "...i,i", x, y)        # contract("ai,i->a", x, y)    →  sum(times(x, y), axis=(1,))

NumPy's einsum neither warns nor gives -0.0. Float sums are added in pairs here, so that their errors are smaller than
NumPy's, which adds one after the other. Left to NumPy: diagonals, float16 and complex numbers, whose products it does
not round as elements are rounded, one operand or more than two, and all under ``math="numpy"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Decompose, Extern, Pointwise, Reduce, define
from capture.ir.ops.common import QUIET, allocated, broadcast_shapes, operand_type, require_array
from capture.ir.ops.library import infer_einsum, value_or_array
from capture.ir.shapes import product
from capture.ir.sizes import asking, same
from capture.ir.types import ArrayType
from capture.records import dataclass

FEW = 4096
"""Products in matrices up to which these are multiplied in loops, which need no call."""


# Elements ---------------------------------------------------------------------------------------------------------
def _infer_times(x: Any, y: Any) -> ArrayType:
    a, b = require_array(x, "a product"), require_array(y, "a product")
    if a.dtype != b.dtype or a.dtype.kind == "c":
        raise CannotInfer("a product of two dtypes, or of complex numbers")
    return allocated(a.dtype, broadcast_shapes((a.shape, b.shape)))


def _times(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.multiply(x, y, order="C") + x.dtype.type(0)


def _product_of_elements(s: Any, x: Any, y: Any) -> Any:
    """Added to the zero with which einsum starts, so that it is not -0.0."""
    found = s.multiply(x, y)
    return s.add(found, s.cast(s.position(0), x.dtype)) if x.dtype.kind == "f" else found


define(
    name="times",
    signature="x, y",
    operands=("x", "y"),
    infer=_infer_times,
    reference=_times,
    lower=Pointwise(_product_of_elements),
    tags=QUIET,
    samples=(([[1.0, -2.0], [3.0, 0.0]], [2.0, -0.0]), (np.array([100], "i1"), np.array([3, 4], "i1"))),
)


def _infer_total(a: Any, axis: tuple[int, ...]) -> ArrayType:
    base = require_array(a, "a sum")
    return value_or_array(base.dtype, [size for k, size in enumerate(base.shape) if k not in axis])


def _total(a: Any, axis: tuple[int, ...]) -> Any:
    with np.errstate(all="ignore"):
        return np.any(a, axis=axis) if a.dtype == bool else np.sum(a, axis=axis, dtype=a.dtype)


define(
    name="total",
    signature="a, axis",
    operands=("a",),
    infer=_infer_total,
    reference=_total,
    lower=Reduce("add", lambda s, x, axis: x),
    tags=QUIET,
    samples=(([[1.0, -2.0], [3.0, 0.0]], {"axis": (0,)}), (np.array([[100, 100]], "i1"), {"axis": (0, 1)})),
)


def _infer_product(x: Any, y: Any) -> ArrayType:
    a, b = require_array(x, "a product"), require_array(y, "a product")
    if a.ndim != b.ndim or a.ndim < 2 or a.dtype != b.dtype or a.dtype.kind != "f":
        raise CannotInfer("matrices of one dtype are multiplied")
    if not all(map(same, a.shape[:-2], b.shape[:-2])) or not same(a.shape[-1], b.shape[-2]):
        raise CannotInfer("matrices do not fit")
    return allocated(a.dtype, (*a.shape[:-1], b.shape[-1]))


def _product(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.matmul(x, y, order="C")


define(
    name="product",
    signature="x, y",
    operands=("x", "y"),
    infer=_infer_product,
    reference=_product,
    lower=Extern(),
    tags=QUIET,
    samples=(([[1.0, -2.0], [3.0, 0.0]], [[1.0, -2.0], [3.0, 0.0]]),),
)


# contract ---------------------------------------------------------------------------------------------------------
def _infer_contract(x: Any, y: Any, subscripts: str) -> ArrayType:
    found = infer_einsum(subscripts, x, y)
    if found.dtype.kind not in "biuf" or found.dtype == np.float16:
        raise CannotInfer(f"einsum of {found.dtype} in loops")
    return found


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels of the operands ``x`` and ``y``, by what becomes of them."""

    x: str
    y: str
    both: str  # in both operands and in the output
    left: str
    right: str
    summed: str

    @staticmethod
    def of(inputs: str, output: str) -> _Labels:
        x, y = inputs.split(",")
        both, left, right = ("".join(name for name in output if (name in x, name in y) == where)
                             for where in ((True, True), (True, False), (False, True)))  # fmt: skip
        summed = "".join(sorted({*x, *y} - {*output}))
        return _Labels(x, y, both, left, right, summed)


def _contract(graph: Any, x: Any, y: Any, subscripts: str) -> Any:
    """In the memory order that NumPy gives it: by way of an array of that order, whose axes are then named anew."""
    inputs, _, output = subscripts.partition("->")
    with asking(graph.known):
        wanted = _infer_contract(x.type, y.type, subscripts)
    given = x, y
    x, y = (graph.call("astype", a, dtype=wanted.dtype) if a.type.dtype != wanted.dtype else a for a in given)
    labels = _Labels.of(inputs, output)
    nested = "".join(output[axis] for axis in wanted.layout.order) if wanted.layout is not None else output
    if _are_matrices(x.type, y.type, labels):
        if nested == labels.both + labels.right + labels.left:
            x, y, labels = y, x, _Labels(labels.y, labels.x, labels.both, labels.right, labels.left, labels.summed)
        found, made = _by_matrices(graph, x, y, labels), labels.both + labels.left + labels.right
    else:
        found, made = _by_loops(graph, x, y, labels, nested), nested
    if made != nested:
        found = graph.call("copy", _named(graph, found, made, nested), order="C")
    if found.type != wanted or found.op.is_view:
        found = graph.call("copy", _named(graph, found, nested, output), order="K")
    return found if found.type == wanted else graph.call("einsum", subscripts, *given)


def _named(graph: Any, a: Any, labels: str, wanted: str) -> Any:
    """A view with the axes in the wanted order."""
    return a if labels == wanted else graph.call("permute", a, axes=tuple(map(labels.index, wanted)))


def _by_loops(graph: Any, x: Any, y: Any, labels: _Labels, nested: str) -> Any:
    order = nested + labels.summed
    spread = [_spread(graph, a, names, order) for a, names in ((x, labels.x), (y, labels.y))]
    products = graph.call("times", *spread)
    return graph.call("total", products, axis=tuple(range(len(nested), len(order)))) if labels.summed else products


def _spread(graph: Any, a: Any, names: str, order: str) -> Any:
    """A view with an axis for each label, of size 1 where the array has none."""
    a = _named(graph, a, names, "".join(name for name in order if name in names))
    new = tuple(axis for axis, name in enumerate(order) if name not in names)
    return graph.call("expand", a, axes=new) if new else a


def _are_matrices(x: ArrayType, y: ArrayType, labels: _Labels) -> bool:
    """Whether rows and columns of floats are multiplied, many of them."""
    shared = labels.both + labels.summed
    if x.dtype.kind != "f" or not (labels.left and labels.right and labels.summed):
        return False
    if not all(name in labels.x and name in labels.y for name in labels.summed):
        return False
    if any(x.shape[labels.x.index(name)] != y.shape[labels.y.index(name)] for name in shared):
        return False
    sizes = [*x.shape, *(y.shape[labels.y.index(name)] for name in labels.right)]
    known = [size for size in sizes if isinstance(size, int)]
    return len(known) < len(sizes) or prod(known) > FEW


def _by_matrices(graph: Any, x: Any, y: Any, labels: _Labels) -> Any:
    """Stacked products of matrices, with several labels of a kind in one axis."""
    left = _matrices(graph, x, labels.x, labels.both, labels.left, labels.summed)
    right = _matrices(graph, y, labels.y, labels.both, labels.summed, labels.right)
    found = graph.call("product", left, right)
    sizes = dict(zip(labels.x + labels.y, x.type.shape + y.type.shape, strict=True))
    shape = tuple(sizes[name] for name in labels.both + labels.left + labels.right)
    return found if found.type.shape == shape else graph.call("reshape", found, shape=shape)


def _matrices(graph: Any, a: Any, names: str, both: str, rows: str, columns: str) -> Any:
    a = _named(graph, a, names, both + rows + columns)
    if len(rows) == len(columns) == 1:
        return a
    sizes, first, last = a.type.shape, len(both), len(both) + len(rows)
    shape = (*sizes[:first], product(sizes[first:last]), product(sizes[last:]))
    try:
        return graph.call("np_reshape", a, shape)
    except CannotInfer:  # whether that is a view depends on strides
        return graph.call("reshape", graph.call("copy", a, order="C"), shape=shape)


def _einsum_of_two(x: Any, y: Any, subscripts: str) -> Any:
    return np.einsum(subscripts, x, y)


define(
    name="contract",
    signature="x, y, subscripts",
    operands=("x", "y"),
    infer=_infer_contract,
    reference=_einsum_of_two,
    source="np.einsum({subscripts!r}, {0}, {1})",
    lower=Decompose(_contract),
    tags=QUIET,
    samples=(
        ([[1.0, -2.0], [3.0, 0.0]], [[1.0, -2.0], [3.0, 0.5]], {"subscripts": "ij,jk->ik"}),
        ([[1.0, -2.0], [3.0, 0.0]], [1.0, -2.0], {"subscripts": "ij,j->j"}),
        ([1.0, -2.0, 4.0], [1.0, -2.0], {"subscripts": "i,j->ji"}),
    ),
)


# einsum -----------------------------------------------------------------------------------------------------------
def written_out(subscripts: Any, types: Sequence[ArrayType]) -> str:
    """Subscripts with an output and without an ellipsis."""
    if not isinstance(subscripts, str):
        raise CannotInfer("einsum without a string")
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(types):
        raise CannotInfer(f"einsum cannot parse {subscripts!r}")
    more = [type.ndim - len(term) + 3 if "..." in term else 0 for term, type in zip(terms, types, strict=True)]
    most = max(more)
    if min(more) < 0 or (arrow and most and "..." not in output):
        raise CannotInfer(f"einsum cannot parse {subscripts!r}")
    new = "".join(name for name in ascii_letters if name not in text)[:most]
    if not arrow:
        single = (name for name in sorted({*inputs} - {*",."}) if inputs.count(name) == 1)
        output = "..." + "".join(single) if most else "".join(single)
    terms = [term.replace("...", new[most - count :]) for term, count in zip(terms, more, strict=True)]
    return f"{','.join(terms)}->{output.replace('...', new)}"


def _einsum(graph: Any, subscripts: Any, *operands: Any) -> Any:
    types = [require_array(operand_type(operand), "einsum") for operand in operands]
    text = written_out(subscripts, types)
    if len(operands) == 2:
        try:
            return graph.call("contract", *operands, subscripts=text)
        except CannotInfer:
            pass
    return graph.call("einsum", text, *operands)


define(
    name="np_einsum",
    signature="subscripts, /, *operands",
    operands=("subscripts", "operands"),
    calls=(np.einsum,),
    expand=_einsum,
)
