"""``np.einsum`` of two operands or more: products and sums in loops, or products of matrices by BLAS.

In: subscripts, written out or not, with or without an ellipsis. Out: a ``contract`` node, whose subscripts are written
out and which is taken apart before lowering: two operands are permuted to one order of the labels, multiplied and
summed in one loop nest; where there are rows, columns and something to sum over, of floats, matrices are multiplied.

>>> graph.call("np_einsum", "ij,jk", x, y)         # contract(x, y, "ij,jk->ik")  →  matmul
>>> graph.call("np_einsum", "...i,i", x, y)        # contract(x, y, "ai,i->a")    →  sum(times(x, y), axis=(1,))
>>> graph.call("np_einsum", "ij,jk,ik->i", x, y, z)  # contract(x, y, z, …)  →  sum(times(matmul(x, y), z), axis=(1,))

More operands are taken one after the other, and what no later one needs is summed at once. NumPy multiplies in the same
order, so that each product is the one it makes, and none overflows or vanishes that does not there.

NumPy's einsum neither warns nor gives -0.0. Float sums are added in pairs here, so that their errors are smaller than
NumPy's, which adds one after the other. Left to NumPy: diagonals, float16 and complex numbers, whose products it does
not round as elements are rounded, one operand, several of which a partial result could be larger than all of them, what
NumPy is asked to plan (``optimize``), and all under ``math="numpy"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Decompose, Extern, Pointwise, Reduce, define
from capture.ir.ops.common import QUIET, allocated, broadcast_shapes, operand_type, require_array
from capture.ir.ops.library import infer_einsum, value_or_array
from capture.ir.shapes import product
from capture.ir.sizes import UnknownSize, asking, same
from capture.ir.types import ArrayType
from capture.records import dataclass

FEW = 4096
"""Products in matrices up to which these are multiplied in loops, which need no call."""

_FEWEST = {"estimates": FEW, "loops": 2**22, "blas": 0}
"""The same, by who multiplies."""


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
def _infer_contract(*operands: Any, subscripts: str, by: str = "estimates") -> ArrayType:
    found = infer_einsum(subscripts, *operands)
    if found.dtype.kind not in "biuf" or found.dtype == np.float16:
        raise CannotInfer(f"einsum of {found.dtype} in loops")
    if len(operands) < 2:
        raise CannotInfer("einsum of one operand in loops")
    _require_room(operands, subscripts)
    return found


def partial_outputs(terms: Sequence[str], output: str) -> list[str]:
    """The labels of each partial result, of the first two operands, three, …: those that are needed behind it, first
    those of both factors, then of the one before, then of the new one, as products of matrices have them.

    >>> partial_outputs(["ij", "jk", "ik"], "i")
    ['ik']
    """
    needed, found, labels = [output], [], terms[0]
    for term in reversed(terms[2:]):
        needed.append(needed[-1] + term)
    for term, later in zip(terms[1:-1], reversed(needed[1:]), strict=True):
        kept = [name for name in dict.fromkeys(labels + term) if name in later]
        labels = "".join(sorted(kept, key=lambda name: (name not in labels) * 2 + (name not in term)))
        found.append(labels)
    return found


def _require_room(operands: Sequence[Any], subscripts: str) -> None:
    """Partial results are not larger than what NumPy holds in memory; that is known of some even if sizes are not."""
    inputs, _, output = subscripts.partition("->")
    terms = inputs.split(",")
    sizes: dict[str, Any] = {}
    for term, type in zip(terms, operands, strict=True):
        sizes |= {name: size for name, size in zip(term, type.shape, strict=True) if sizes.get(name, 1) == 1}
    known = all(isinstance(size, int) for size in sizes.values())
    most = max(FEW, *(prod(sizes[name] for name in whole) for whole in (*terms, output))) if known else 0
    for labels in partial_outputs(terms, output):
        if not labels:
            raise CannotInfer("einsum whose partial results are numbers")
        wholes = (dict(zip(term, type.shape, strict=True)) for term, type in zip(terms, operands, strict=True))
        if known:
            fits = prod(sizes[name] for name in labels) <= most
        else:
            fits = any(
                {*labels} <= whole.keys() and all(same(whole[name], sizes[name]) for name in labels) for whole in wholes
            )
        if not fits:
            raise CannotInfer("einsum whose partial results are larger than its operands")


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
    def of(x: str, y: str, output: str) -> _Labels:
        both, left, right = ("".join(name for name in output if (name in x, name in y) == where)
                             for where in ((True, True), (True, False), (False, True)))  # fmt: skip
        summed = "".join(sorted({*x, *y} - {*output}))
        return _Labels(x, y, both, left, right, summed)


def _contract(graph: Any, *given: Any, subscripts: str, by: str) -> Any:
    """In the memory order that NumPy gives it: by way of an array of that order, whose axes are then named anew."""
    inputs, _, output = subscripts.partition("->")
    terms = inputs.split(",")
    with asking(graph.known):
        wanted = _infer_contract(*(operand.type for operand in given), subscripts=subscripts)
    operands = [graph.call("astype", a, dtype=wanted.dtype) if a.type.dtype != wanted.dtype else a for a in given]
    nested = "".join(output[axis] for axis in wanted.layout.order) if wanted.layout is not None else output
    found, names = operands[0], terms[0]
    for operand, term, made in zip(operands[1:], terms[1:], (*partial_outputs(terms, output), nested), strict=True):
        labels = _Labels.of(names, term, made)
        with asking(graph.known):
            are_matrices = _are_matrices(found.type, operand.type, labels, _FEWEST[by])
        found, names = (_by_matrices if are_matrices else _by_loops)(graph, found, operand, labels, made), made
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


def _are_matrices(x: ArrayType, y: ArrayType, labels: _Labels, few: int) -> bool:
    """Whether rows and columns of floats are multiplied, more than a few of them."""
    shared = labels.both + labels.summed
    if x.dtype.kind != "f" or not (labels.left and labels.right and labels.summed):
        return False
    if not all(name in labels.x and name in labels.y for name in labels.summed):
        return False
    try:
        if not all(same(x.shape[labels.x.index(name)], y.shape[labels.y.index(name)]) for name in shared):
            return False
    except UnknownSize:
        return False
    sizes = [*x.shape, *(y.shape[labels.y.index(name)] for name in labels.right)]
    known = [size for size in sizes if isinstance(size, int)]
    return len(known) < len(sizes) or prod(known) > few


def _by_matrices(graph: Any, x: Any, y: Any, labels: _Labels, nested: str) -> Any:
    """Stacked products of matrices, with several labels of a kind in one axis."""
    if nested == labels.both + labels.right + labels.left:
        x, y, labels = y, x, _Labels(labels.y, labels.x, labels.both, labels.right, labels.left, labels.summed)
    left = _matrices(graph, x, labels.x, labels.both, labels.left, labels.summed)
    right = _matrices(graph, y, labels.y, labels.both, labels.summed, labels.right)
    found = graph.call("product", left, right)
    sizes = dict(zip(labels.x + labels.y, x.type.shape + y.type.shape, strict=True))
    made = labels.both + labels.left + labels.right
    shape = tuple(sizes[name] for name in made)
    found = found if found.type.shape == shape else graph.call("reshape", found, shape=shape)
    return found if made == nested else graph.call("copy", _named(graph, found, made, nested), order="C")


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


def _reference(*operands: Any, subscripts: str, by: str) -> Any:
    return np.einsum(subscripts, *operands)


def _source(*operands: str, subscripts: str, by: str) -> str:
    return f"np.einsum({subscripts!r}, {', '.join(operands)})"


define(
    name="contract",
    signature="*operands, subscripts, by='estimates'",
    operands=("operands",),
    infer=_infer_contract,
    reference=_reference,
    source=_source,
    lower=Decompose(_contract),
    tags=QUIET,
    samples=(
        ([[1.0, -2.0], [3.0, 0.0]], [[1.0, -2.0], [3.0, 0.5]], {"subscripts": "ij,jk->ik"}),
        ([[1.0, -2.0], [3.0, 0.0]], [1.0, -2.0], {"subscripts": "ij,j->j"}),
        ([1.0, -2.0, 4.0], [1.0, -2.0], {"subscripts": "i,j->ji"}),
        ([[1.0, -2.0], [3.0, 0.0]], [[1.0, -2.0], [3.0, 0.5]], [[2.0, 1.0]], {"subscripts": "ij,jk,ik->i"}),
    ),
)


# einsum -----------------------------------------------------------------------------------------------------------
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


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
    new = "".join(name for name in _LETTERS if name not in text)[:most]
    if not arrow:
        single = (name for name in sorted({*inputs} - {*",."}) if inputs.count(name) == 1)
        output = "..." + "".join(single) if most else "".join(single)
    terms = [term.replace("...", new[most - count :]) for term, count in zip(terms, more, strict=True)]
    return f"{','.join(terms)}->{output.replace('...', new)}"


def _einsum(graph: Any, subscripts: Any, *operands: Any) -> Any:
    types = [require_array(operand_type(operand), "einsum") for operand in operands]
    text = written_out(subscripts, types)
    try:
        return graph.call("contract", *operands, subscripts=text)
    except CannotInfer:
        return graph.call("einsum", text, *operands)


define(
    name="np_einsum",
    signature="subscripts, /, *operands",
    operands=("subscripts", "operands"),
    calls=(np.einsum,),
    expand=_einsum,
)
