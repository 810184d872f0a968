"""Views: five primitives that graphs hold, and everything users write in terms of them.

In: ``x.T``, ``np.moveaxis(x, 0, -1)``, ``x.reshape(2, -1)``. Out: ``permute``, ``squeeze``, ``expand``, ``reshape``,
``broadcast_to`` (and ``slice``, see indexing.py), each with the layout of its result, its effect on strides, and its
effect on indices.

>>> str(graph.call("transpose", x).type)       # x: f64[3, 4] in C order
'f64[4, 3]{F}'
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capture.ir.complexes import PARTS, is_complex
from capture.ir.op import READONLY, WARNED, CannotInfer, Strided, ViewOf, define
from capture.ir.ops.common import (
    broadcast_shapes,
    given_shape,
    is_array,
    many_axes,
    number_of_elements,
    one_axis,
    operand_type,
    require_array,
)
from capture.ir.ops.strides import (
    copies_on_reshape,
    reshape_groups,
    reshaped_layout,
    reshaped_strides,
)
from capture.ir.shapes import Size, floordiv, maximum, modulo
from capture.ir.sizes import same, same_shape
from capture.ir.types import ArrayType, Layout
from capture.records import replace

SAMPLES = ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],)


def viewed(base: ArrayType, shape: Sequence[Size], layout: Layout | None) -> ArrayType:
    """The type of a view; one without elements counts as C-contiguous."""
    shape = tuple(shape)
    return ArrayType(base.dtype, shape, Layout.contiguous(shape) if 0 in shape else layout)


# permute ----------------------------------------------------------------------------------------------------------
def _canonical_permute(a: Any, axes: Any) -> dict[str, Any]:
    ndim = require_array(a, "transpose").ndim
    if not isinstance(axes, tuple | list):
        raise CannotInfer("axes that are no tuple")
    axes = tuple(one_axis(axis, ndim) for axis in axes)
    if sorted(axes) != list(range(ndim)):
        raise CannotInfer("axes don't match array")
    return {"axes": axes}


def _infer_permute(a: Any, axes: tuple[int, ...]) -> ArrayType:
    base = require_array(a, "transpose")
    layout = base.layout and replace(base.layout, ranks=tuple(base.layout.ranks[axis] for axis in axes))
    return viewed(base, [base.shape[axis] for axis in axes], layout)


def _permute_strided(view: Strided, axes: tuple[int, ...]) -> Strided:
    return Strided(view.offset, tuple(view.shape[a] for a in axes), tuple(view.strides[a] for a in axes))


def _permute_index(index: tuple[Any, ...], in_shape: tuple[Size, ...], axes: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(index[axes.index(axis)] for axis in range(len(axes)))


define(
    name="permute",
    signature="a, axes",
    operands=("a",),
    canonical=_canonical_permute,
    infer=_infer_permute,
    reference=np.transpose,
    lower=ViewOf(_permute_strided, _permute_index),
    samples=((*SAMPLES, {"axes": (1, 0)}),),
)


# squeeze ----------------------------------------------------------------------------------------------------------
def _without(items: Sequence[Any], axes: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(item for axis, item in enumerate(items) if axis not in axes)


def _canonical_squeeze(a: Any, axes: Any) -> dict[str, Any]:
    return {"axes": many_axes(axes, require_array(a, "squeeze").ndim)}


def _infer_squeeze(a: Any, axes: tuple[int, ...]) -> ArrayType:
    base = require_array(a, "squeeze")
    if not all(same(base.shape[axis], 1) for axis in axes):
        raise CannotInfer("cannot select an axis to squeeze out which has size not equal to one")
    layout = base.layout and replace(base.layout, ranks=_without(base.layout.ranks, axes))
    return viewed(base, _without(base.shape, axes), layout)


def _squeeze_strided(view: Strided, axes: tuple[int, ...]) -> Strided:
    return Strided(view.offset, _without(view.shape, axes), _without(view.strides, axes))


def _squeeze_index(index: tuple[Any, ...], in_shape: tuple[Size, ...], axes: tuple[int, ...]) -> tuple[Any, ...]:
    rest = iter(index)
    return tuple(0 if axis in axes else next(rest) for axis in range(len(in_shape)))


define(
    name="squeeze",
    signature="a, axes",
    operands=("a",),
    canonical=_canonical_squeeze,
    infer=_infer_squeeze,
    reference=lambda a, axes: np.squeeze(a, axes),
    source="np.squeeze({0}, {axes})",
    lower=ViewOf(_squeeze_strided, _squeeze_index),
    samples=(([[[1.0], [2.0]]], {"axes": (0, 2)}), ([[[1.0], [2.0]]], {"axes": (2,)})),
)


# expand -----------------------------------------------------------------------------------------------------------
def _with(items: Sequence[Any], axes: tuple[int, ...], new: Any) -> tuple[Any, ...]:
    rest = iter(items)
    return tuple(new if axis in axes else next(rest) for axis in range(len(items) + len(axes)))


def _canonical_expand(a: Any, axes: Any) -> dict[str, Any]:
    axes = axes if isinstance(axes, tuple) else (axes,)
    return {"axes": many_axes(axes, require_array(a, "expand_dims").ndim + len(axes))}


def _infer_expand(a: Any, axes: tuple[int, ...]) -> ArrayType:
    base = require_array(a, "expand_dims")
    layout = base.layout and replace(base.layout, ranks=_with(base.layout.ranks, axes, 0))
    return viewed(base, _with(base.shape, axes, 1), layout)


def _expand_strided(view: Strided, axes: tuple[int, ...]) -> Strided:
    return Strided(view.offset, _with(view.shape, axes, 1), _with(view.strides, axes, 0))


def _expand_index(index: tuple[Any, ...], in_shape: tuple[Size, ...], axes: tuple[int, ...]) -> tuple[Any, ...]:
    return _without(index, axes)


define(
    name="expand",
    signature="a, axes",
    operands=("a",),
    canonical=_canonical_expand,
    infer=_infer_expand,
    reference=lambda a, axes: np.expand_dims(a, axes),
    source="np.expand_dims({0}, {axes})",
    lower=ViewOf(_expand_strided, _expand_index),
    samples=((*SAMPLES, {"axes": (0,)}), (*SAMPLES, {"axes": (1, 3)})),
)


# broadcast_to -----------------------------------------------------------------------------------------------------
def _canonical_broadcast_to(a: Any, shape: Any) -> dict[str, Any]:
    return {"shape": given_shape(shape)}


def _infer_broadcast_to(a: Any, shape: tuple[Size, ...]) -> ArrayType:
    base = require_array(a, "broadcast_to")
    if len(shape) < base.ndim or not same_shape(broadcast_shapes([base.shape, shape]), shape):
        raise CannotInfer(f"shape {base.shape} does not broadcast to {shape}")
    new = len(shape) - base.ndim
    repeats = shape != (1,) * new + base.shape  # for all that is known; a layout may call dense less than is
    layout = base.layout and replace(
        base.layout, ranks=(0,) * new + base.layout.ranks, dense=base.layout.dense and not repeats
    )
    return viewed(base, shape, layout)


def _broadcast_strided(view: Strided, shape: tuple[Size, ...]) -> Strided:
    new = len(shape) - len(view.shape)
    strides = tuple(
        stride if old == size else 0 for old, size, stride in zip(view.shape, shape[new:], view.strides, strict=True)
    )
    return Strided(view.offset, shape, (0,) * new + strides)


def _broadcast_index(index: tuple[Any, ...], in_shape: tuple[Size, ...], shape: tuple[Size, ...]) -> tuple[Any, ...]:
    new = len(shape) - len(in_shape)
    return tuple(0 if old == 1 else position for old, position in zip(in_shape, index[new:], strict=True))


define(
    name="broadcast_to",
    signature="array, shape",
    operands=("array",),
    calls=(np.broadcast_to,),
    canonical=_canonical_broadcast_to,
    infer=_infer_broadcast_to,
    reference=np.broadcast_to,
    lower=ViewOf(_broadcast_strided, _broadcast_index),
    samples=((*SAMPLES, {"shape": (2, 2, 3)}), ([[1.0], [2.0]], {"shape": (2, 4)})),
    tags=frozenset({READONLY}),
)


# broadcast_arrays -------------------------------------------------------------------------------------------------
define(
    name="broadcast_array",
    signature="array, shape",
    operands=("array",),
    canonical=_canonical_broadcast_to,
    infer=_infer_broadcast_to,
    reference=lambda array, shape: np.broadcast_arrays(array, np.broadcast_to(np.False_, shape))[0],
    source="np.broadcast_arrays({0}, np.broadcast_to(np.False_, {shape}))[0]",
    lower=ViewOf(_broadcast_strided, _broadcast_index),
    samples=(([[1.0], [2.0]], {"shape": (2, 4)}),),
    tags=frozenset({WARNED}),
)


def _broadcast_arrays(graph: Any, *args: Any, subok: Any = False) -> Any:
    """An array that has the shape already is given back itself."""
    if subok is not False:
        raise CannotInfer("broadcast_arrays of subclasses")
    arrays = [each if is_array(operand_type(each)) else graph.call("asarray", each) for each in args]
    shape = broadcast_shapes(each.type.shape for each in arrays)
    return tuple(
        each if same_shape(each.type.shape, shape) else graph.call("broadcast_array", each, shape=shape)
        for each in arrays
    )


define(
    name="broadcast_arrays",
    signature="*args, subok=False",
    operands=("args",),
    calls=(np.broadcast_arrays,),
    expand=_broadcast_arrays,
)


# reshape ----------------------------------------------------------------------------------------------------------
def canonical_reshape(a: Any, shape: Any) -> dict[str, Any]:
    base = require_array(a, "reshape")
    sizes = shape if isinstance(shape, tuple) else (shape,)
    unknown = [axis for axis, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if len(unknown) > 1:
        raise CannotInfer("can only specify one unknown dimension")
    if unknown:
        rest = number_of_elements(given_shape(tuple(size for axis, size in enumerate(sizes) if axis != unknown[0])))
        total = number_of_elements(base.shape)
        if same(rest, 0) or not same(modulo(total, rest), 0):
            raise CannotInfer(f"cannot reshape array of size {total} into shape {sizes}")
        sizes = (*sizes[: unknown[0]], floordiv(total, rest), *sizes[unknown[0] + 1 :])
    sizes = given_shape(sizes)
    if not same(number_of_elements(sizes), number_of_elements(base.shape)):
        raise CannotInfer(f"cannot reshape array of shape {base.shape} into shape {sizes}")
    return {"shape": sizes}


def _infer_reshape(a: Any, shape: tuple[Size, ...]) -> ArrayType:
    base = require_array(a, "reshape")
    if copies_on_reshape(base, shape) is not False:
        raise CannotInfer("whether this reshape is a view depends on strides that are not known")
    return viewed(base, shape, reshaped_layout(base, shape))


def _reshape_strided(view: Strided, shape: tuple[Size, ...]) -> Strided:
    return Strided(view.offset, shape, reshaped_strides(view.shape, view.strides, shape))


def _reshape_index(index: tuple[Any, ...], in_shape: tuple[Size, ...], shape: tuple[Size, ...]) -> tuple[Any, ...]:
    result: list[Any] = [0] * len(in_shape)
    if 0 in in_shape:
        return tuple(result)  # there is no element to find
    for old, new in reshape_groups(in_shape, shape):
        flat: Any = 0
        for axis in new:
            flat = flat * shape[axis] + index[axis]
        for axis in reversed(old[1:]):
            result[axis] = flat % in_shape[axis]
            flat = flat // in_shape[axis]
        if old:
            result[old[0]] = flat
    return tuple(result)


define(
    name="reshape",
    signature="a, shape",
    operands=("a",),
    canonical=canonical_reshape,
    infer=_infer_reshape,
    reference=lambda a, shape: np.reshape(a, shape),
    source="np.reshape({0}, {shape})",
    lower=ViewOf(_reshape_strided, _reshape_index),
    samples=((*SAMPLES, {"shape": (3, 2)}), (*SAMPLES, {"shape": (6,)}), (*SAMPLES, {"shape": (1, 2, 3, 1)})),
)


# What users write -------------------------------------------------------------------------------------------------
def spread(items: Any) -> Any:
    """``*args`` that may be one tuple."""
    return items[0] if isinstance(items, tuple) and len(items) == 1 and isinstance(items[0], tuple) else items


def _transpose(graph: Any, a: Any, axes: Any = None) -> Any:
    ndim = require_array(operand_type(a), "transpose").ndim
    axes = spread(axes)
    if axes is None or axes in ((), (None,)):
        axes = tuple(reversed(range(ndim)))
    return graph.call("permute", a, axes=axes)


def _matrix_transpose(graph: Any, a: Any) -> Any:
    ndim = require_array(operand_type(a), "matrix_transpose").ndim
    if ndim < 2:
        raise CannotInfer("matrix transpose with ndim < 2 is undefined")
    return graph.call("permute", a, axes=(*range(ndim - 2), ndim - 1, ndim - 2))


def _swapaxes(graph: Any, a: Any, axis1: Any, axis2: Any) -> Any:
    ndim = require_array(operand_type(a), "swapaxes").ndim
    axes = list(range(ndim))
    one, other = one_axis(axis1, ndim), one_axis(axis2, ndim)
    axes[one], axes[other] = axes[other], axes[one]
    return graph.call("permute", a, axes=tuple(axes))


def _moveaxis(graph: Any, a: Any, source: Any, destination: Any) -> Any:
    ndim = require_array(operand_type(a), "moveaxis").ndim
    sources = [one_axis(axis, ndim) for axis in (source if isinstance(source, tuple) else (source,))]
    places = [one_axis(axis, ndim) for axis in (destination if isinstance(destination, tuple) else (destination,))]
    if len(set(sources)) != len(sources) or len(set(places)) != len(places) or len(sources) != len(places):
        raise CannotInfer("moveaxis needs as many different sources as destinations")
    axes = [axis for axis in range(ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        axes.insert(place, axis)
    return graph.call("permute", a, axes=tuple(axes))


define(name="transpose", signature="a, axes=None", operands=("a",), calls=(np.transpose,), expand=_transpose)
define(name="ndarray_transpose", signature="a, *axes", operands=("a",), methods=("transpose",), expand=_transpose)
define(name="ndarray_T", signature="a", operands=("a",), properties=("T",), expand=_transpose)
define(
    name="matrix_transpose",
    signature="a, /",
    operands=("a",),
    calls=(np.matrix_transpose, np.linalg.matrix_transpose),
    properties=("mT",),
    expand=_matrix_transpose,
)
define(
    name="swapaxes",
    signature="a, axis1, axis2",
    operands=("a",),
    calls=(np.swapaxes,),
    methods=("swapaxes",),
    expand=_swapaxes,
)
define(name="moveaxis", signature="a, source, destination", operands=("a",), calls=(np.moveaxis,), expand=_moveaxis)


def _squeeze(graph: Any, a: Any, axis: Any = None) -> Any:
    """NumPy gives the very same array when there is nothing to squeeze."""
    base = require_array(operand_type(a), "squeeze")
    if axis is None:
        axes = tuple(position for position, size in enumerate(base.shape) if same(size, 1))
        return graph.call("squeeze", a, axes=axes) if axes else a
    return graph.call("squeeze", a, axes=axis)


def _expand_dims(graph: Any, a: Any, axis: Any) -> Any:
    return graph.call("expand", a, axes=axis)


define(
    name="np_squeeze",
    signature="a, axis=None",
    operands=("a",),
    calls=(np.squeeze,),
    methods=("squeeze",),
    expand=_squeeze,
)
define(name="expand_dims", signature="a, axis", operands=("a",), calls=(np.expand_dims,), expand=_expand_dims)


def _flip(graph: Any, m: Any, axis: Any = None) -> Any:
    base = require_array(operand_type(m), "flip")
    if not base.ndim and axis is None:
        return graph.call("scalar", m)
    axes = many_axes(axis, base.ndim)
    return graph.call(
        "slice",
        m,
        starts=tuple(maximum(size - 1, 0) if k in axes else 0 for k, size in enumerate(base.shape)),
        steps=tuple(-1 if k in axes else 1 for k in range(base.ndim)),
        sizes=base.shape,
    )


define(name="flip", signature="m, axis=None", operands=("m",), calls=(np.flip,), expand=_flip)
define(name="flipud", signature="m", operands=("m",), calls=(np.flipud,), expand=lambda graph, m: _flip(graph, m, 0))
define(name="fliplr", signature="m", operands=("m",), calls=(np.fliplr,), expand=lambda graph, m: _flip(graph, m, 1))


# Parts of complex numbers -----------------------------------------------------------------------------------------
def _infer_part(a: Any) -> ArrayType:
    base = require_array(a, "a part")
    if not is_complex(base.dtype):
        raise CannotInfer("a part of numbers that have none")
    layout = base.layout
    if layout is not None:
        still = not any(layout.ranks)
        layout = Layout(layout.ranks, still, still)
    return replace(viewed(base, base.shape, layout), dtype=np.empty(0, base.dtype).real.dtype)


def _part_strided(part: int) -> Callable[[Strided], Strided]:
    return lambda view: Strided(view.offset * 2 + part, view.shape, tuple(stride * 2 for stride in view.strides))


for _name, _place in PARTS.items():
    define(
        name=_name,
        signature="a, /",
        operands=("a",),
        infer=_infer_part,
        reference=operator.attrgetter(_name.removesuffix("_part")),
        source=f"{{0}}.{_name.removesuffix('_part')}",
        lower=ViewOf(_part_strided(_place), lambda index, in_shape: index),
        samples=((np.array([[1 + 2j, -1j], [3, 0]]),),),
    )


def _or_part(what: str, of_complex: str) -> Callable[..., Any]:
    """Real arrays are their own real part and conjugate: the same object."""

    def expand(graph: Any, a: Any) -> Any:
        if not is_array(operand_type(a)):
            raise CannotInfer(f"the {what} of what is no array")
        if is_complex(require_array(a.type, what).dtype):
            return graph.call(of_complex, a)
        if what == "imaginary part":
            raise CannotInfer("zeros that are read-only")
        return a

    return expand


for _name, _what, _of_complex, _key in (
    ("real", "real part", "real_part", {"properties": ("real",)}),
    ("imag", "imaginary part", "imag_part", {"properties": ("imag",)}),
    ("conj", "conjugate", "conjugate", {"methods": ("conj", "conjugate")}),
):
    define(name=_name, signature="a, /", operands=("a",), expand=_or_part(_what, _of_complex), **_key)
