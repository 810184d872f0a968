"""Views: arrays that show the memory of others.

In: ``view``, ``permute`` and ``broadcast`` steps. Out: ``Array``s whose pointers, sizes and strides are computed where
the step stands; slices as Python's, clamped to the array; the program leaves where an index is out of bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capture.errors import BackendError
from capture.inductor.programs.accesses import place_on
from capture.inductor.programs.function import Function
from capture.inductor.programs.ranges import is_int
from capture.inductor.programs.values import C_ELEMENTS, Array, grouped, times
from capture.ir.graph import Node

_CLAMPS = {
    "1_clamp": """\
static inline i64 clamp(i64 a, i64 low, i64 high)
{
    return a < low ? low : a > high ? high : a;
}
""",
    "1_count_of": """\
/* How many places there are from start to stop, in steps. */
static inline i64 count_of(i64 start, i64 stop, i64 step)
{
    const i64 count = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    return count < 0 ? 0 : count;
}
""",
}


def write_view(function: Function, step: Node) -> None:
    node, key = step.args
    if (node, key) in function.views:
        function.arrays[step] = function.views[node, key]
        return
    array = function.in_memory(node)
    terms: list[str] = []
    sizes: list[str] = []
    strides: list[str] = []
    axis = 0
    for item in key:
        if item is None:
            sizes.append("1")
            strides.append("0")
            continue
        size, stride = array.sizes[axis], array.strides[axis]
        if isinstance(item, tuple):
            start, count, factor = sliced(function, size, *item[1:])
            sizes.append(count)
            strides.append("0" if count == "1" else times(factor, stride))
        else:
            start = place_on(function, size, item)
        terms.append(times(start, stride))
        axis += 1
    sizes += array.sizes[axis:]
    strides += array.strides[axis:]
    show(function, step, array, terms, sizes, strides)
    function.views[node, key] = function.in_memory(step)


def write_room(function: Function, step: Node) -> None:
    """The array as it is; how many of a result's rows it fills is looked at where it is given."""
    function.arrays[step] = function.in_memory(step.args[0])


def show(
    function: Function, step: Node, array: Array, terms: Sequence[str], sizes: Sequence[str], strides: Sequence[str]
) -> None:
    """The step's array: other elements of the same memory."""
    terms = [term for term in terms if term != "0"]
    pointer = array.pointer
    if terms:
        pointer = function.variable(step.name, f"{C_ELEMENTS[array.dtype]} *")
        function.lines.add(f"{pointer} = {' + '.join((array.pointer, *terms))};")
    names = [function.named(f"{step.name}_s{axis}", stride) for axis, stride in enumerate(strides)]
    function.arrays[step] = Array(array.dtype, pointer, tuple(sizes), tuple(names), array.base)


def sliced(function: Function, size: str, start: Any, stop: Any, step: Any) -> tuple[str, str, str]:
    """C of the first place, the count of places and the step of ``start:stop:step`` along an axis."""
    step = 1 if step is None else step
    if isinstance(step, Node):
        return _sliced_by(function, size, start, stop, step)
    if step == 0:
        function.leave_if("1")
    if size.isdigit() and not isinstance(start, Node) and not isinstance(stop, Node):
        places = range(*slice(start, stop, step or 1).indices(int(size)))
        return str(places.start if places else 0), str(len(places)), str(step)
    if start is None and stop is None:
        first = "0" if step > 0 else f"({size} - 1)"
        count = size if abs(step) == 1 else function.named("count", f"({size} + {abs(step) - 1}) / {abs(step)}")
        return first, count, f"({step})" if step < 0 else str(step)
    low, high = ("0", size) if step > 0 else ("-1", f"{size} - 1")
    first = _bound(function, "start", start, size, low, high, low if step > 0 else high)
    last = _bound(function, "stop", stop, size, low, high, high if step > 0 else low)
    if step == 1:
        count = _difference(function, last, first)
    else:
        function.help(_CLAMPS)
        count = function.named("count", f"count_of({first}, {last}, {step})")
    if first != "0" and step == 1:  # so that nothing is shown from behind the end
        return first, count, "1"
    return first, count, f"({step})" if step < 0 else str(step)


def _difference(function: Function, last: str, first: str) -> str:
    """C of how many places there are."""
    if first == "0":
        return last
    if not function.at_most(first, last):
        return function.named("count", f"{last} < {first} ? 0 : {last} - {grouped(first)}")
    count = function.named("count", f"{last} - {grouped(first)}")
    if first.isdigit():
        root, offset = function.term(last)
        function.ranges.equate(count, (root, offset - int(first)))
    return count


def _bound(function: Function, name: str, place: Any, size: str, low: str, high: str, default: str) -> str:
    """C of where a slice begins or ends: counted from the end where negative, and within the array."""
    if place is None:
        return default
    if not isinstance(place, Node):
        if place == 0 and low == "0":
            return "0"
        text = f"{size} - {-place}" if place < 0 else str(place)
    else:
        given = function.text(place)
        if place.type.dtype.kind not in "iu":
            raise BackendError(f"a slice that is bounded by a {place.type}")
        text = f"{given} < 0 ? {given} + {size} : {given}"
        if low == "0" and is_int(place) and function.at_most(0, place):
            if function.at_most(place, high):
                return given
            return function.named(name, f"MINIMUM({given}, {high})")
    function.help(_CLAMPS)
    return function.named(name, f"clamp({text}, {low}, {high})")


def _sliced_by(function: Function, size: str, start: Any, stop: Any, step: Node) -> tuple[str, str, str]:
    """A slice whose step is known only when the program runs."""
    factor = function.text(step)
    function.leave_if(f"{factor} == 0")
    low = function.named("low", f"{factor} > 0 ? 0 : -1")
    high = function.named("high", f"{factor} > 0 ? {size} : {size} - 1")
    first = _bound(function, "start", start, size, low, high, f"({factor} > 0 ? {low} : {high})")
    last = _bound(function, "stop", stop, size, low, high, f"({factor} > 0 ? {high} : {low})")
    function.help(_CLAMPS)
    count = function.named("count", f"count_of({first}, {last}, {factor})")
    return function.named("start", f"{count} ? {first} : 0"), count, factor


def write_permute(function: Function, step: Node) -> None:
    (node,), axes = step.args, step.params["axes"]
    array = function.in_memory(node)
    sizes, strides = (tuple(texts[axis] for axis in axes) for texts in (array.sizes, array.strides))
    function.arrays[step] = Array(array.dtype, array.pointer, sizes, strides, array.base)


def write_part(function: Function, step: Node) -> None:
    """The real or imaginary parts of complex elements: every second cell of their memory."""
    (node,), index = step.args, step.params["index"]
    array, dtype = function.in_memory(node), step.type.dtype
    pointer = function.variable(step.name, f"{C_ELEMENTS[dtype]} *")
    function.lines.add(f"{pointer} = ({C_ELEMENTS[dtype]} *){array.pointer}{' + 1' if index else ''};")
    strides = tuple(function.named(f"{step.name}_s", times(stride, "2")) for stride in array.strides)
    function.arrays[step] = Array(dtype, pointer, array.sizes, strides, array.base)


def write_broadcast(function: Function, step: Node) -> None:
    node, like = step.args
    array, sizes = function.in_memory(node), function.sizes(like)
    strides = aligned(function, array.sizes, array.strides, sizes)
    function.arrays[step] = Array(array.dtype, array.pointer, sizes, strides, array.base)


def aligned(function: Function, sizes: Sequence[str], strides: Sequence[str], result: Sequence[str]) -> tuple[str, ...]:
    """The strides with which an array of these sizes meets the elements of a result, which it must fit."""
    require_fit(function, sizes, result)
    missing = len(result) - len(sizes)
    return ("0",) * missing + tuple("0" if size == "1" else stride for size, stride in zip(sizes, strides, strict=True))


def require_fit(function: Function, sizes: Sequence[str], result: Sequence[str]) -> None:
    """Leave where sizes differ that are not known to be 1; from there on they are known to be alike."""
    pairs = zip(sizes, result[len(result) - len(sizes) :], strict=True)
    unlike = [(mine, theirs) for mine, theirs in pairs if mine != "1" and not function.same(mine, theirs)]
    function.leave_if(*(f"{mine} != {theirs}" for mine, theirs in unlike))
    for mine, theirs in unlike if not function.under else ():
        for one, other in ((mine, theirs), (theirs, mine)):
            function.ranges.add(function.term(one), function.term(other), 0)


def common_sizes(function: Function, shapes: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The sizes of what is computed from arrays of these sizes, and of rank 0 from none."""
    ndim = max(map(len, shapes), default=0)
    result: list[str] = []
    for axis in range(ndim):
        found = dict.fromkeys(
            shape[axis - ndim] for shape in shapes if len(shape) >= ndim - axis and shape[axis - ndim] != "1"
        )
        literals = [size for size in found if size.isdigit()]
        result.append((literals or list(found) or ["1"])[0])
    for shape in shapes:
        require_fit(function, shape, result)
    return tuple(result)
