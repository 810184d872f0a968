"""Single elements, sizes: what programs do with arrays apart from whole ones.

In: ``load``, ``store_at``, ``size`` steps. Out: their lines; places count from the end where they are negative, and the
program leaves where there is no such place, or where NumPy would not write the value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.errors import BackendError
from capture.inductor.programs.chains import CHOOSE, CHOSEN, PICK, picked
from capture.inductor.programs.choosing import compared
from capture.inductor.programs.circular import HELPER
from capture.inductor.programs.elements import Elements, outside
from capture.inductor.programs.function import Function
from capture.inductor.programs.intervals import HIGHEST, LOWEST, fits
from capture.inductor.programs.numbers import C_NUMBERS, Answer, Operand, answer, as_float, helper_texts
from capture.inductor.programs.overflows import kept
from capture.inductor.programs.ranges import is_int
from capture.inductor.programs.values import Array, c_type, grouped, number_operand
from capture.inductor.vocabulary import C_TYPES, DOUBLE
from capture.ir.graph import Node
from capture.ir.ops.common import converts_by_python
from capture.ir.types import NumberType

OVERFLOWS = {"+": "add", "-": "sub", "*": "mul"}


def write_number(function: Function, step: Node) -> None:
    """A ``number`` step."""
    operands = [function.operand(argument) for argument in step.args]
    if any(text.startswith("(f64)wide(") for text in (operand.text for operand in operands)):
        function.unit.use_half()
    found = answer(step.params["symbol"], operands, step.type.python)
    function.help(helper_texts(found.helpers))
    function.opaque |= found.opaque
    if step in function.circular:
        _write_circle(function, step, operands[0], found)
        return
    function.leave_if(*found.before)
    target = function.target(step)
    if limits := _limits(function, step):
        function.leave_if(*limits)
        function.assign(step, found.text)
        return
    if step in function.deferred and not function.fits(step):
        _write_wrapping(function, step, *(operand.text for operand in operands))
        return
    if found.assigns:
        if not (step.params.get("wraps") or (found.text and function.fits(step))):
            function.leave_if(found.assigns.format(r=target))
            return
        function.fitting.add(step)
    if not found.text:
        raise BackendError(f"{step.params['symbol']} that wraps")
    function.assign(step, found.text)
    if found.after:
        function.leave_if(found.after.format(r=target))


def _write_circle(function: Function, step: Node, angle: Operand, found: Answer) -> None:
    """A sine and the cosine of the same angle, where the first of them stands: what is no error of that is none of the
    other."""
    pair = function.circular[step]
    if any(node in function.texts for node in pair if node is not step):
        return
    function.leave_if(*found.before)
    function.help(HELPER)
    sine, cosine = map(function.target, pair)
    with function.lines.block():
        function.lines.add("f64 sine, cosine;", f"math_sincos({as_float(angle)}, &sine, &cosine);")
        function.lines.add(f"{sine} = sine;", f"{cosine} = cosine;")


def _limits(function: Function, step: Node) -> list[str]:
    """C that holds where a multiple of an int does not fit: cheaper than to see what the product is like."""
    left, right = step.args[0], step.args[-1]
    factor, value = (left, right) if not isinstance(left, Node) else (right, left)
    if step.params["symbol"] != "*" or type(factor) is not int or factor < 2 or not is_int(value):
        return []
    if step.params.get("wraps") or function.fits(step):
        return []
    low, high = function.intervals.of(value)
    text = function.text(value)
    tests = [f"{text} > {HIGHEST // factor}"] if high > HIGHEST // factor else []
    return tests + ([f"{text} < {-(-LOWEST // factor)}"] if low * factor < LOWEST else [])


def write_scalar(function: Function, step: Node) -> None:
    """A Python number as a scalar."""
    function.assign(step, converted(function, step.args[0], step.type.dtype))


def write_integer(function: Function, step: Node) -> None:
    """Arithmetic of integer scalars: where it overflows or divides by zero NumPy warns."""
    symbol, dtype, target = step.params["symbol"], step.type.dtype, function.target(step)
    elements = Elements(function)
    elements.builder.node = step
    operands = [elements.cast(argument, elements.operand(argument), dtype) for argument in step.args]
    texts = [elements.text(operand) for operand in operands]
    if step.params.get("wraps"):
        function.assign(step, f"{texts[0]} {symbol} {texts[1]}")
    elif symbol == "unary -":
        function.leave_if(f"{texts[0]} == LOWEST_{C_TYPES[dtype]}" if dtype.kind == "i" else f"{texts[0]} != 0")
        function.assign(step, f"-{texts[0]}")
    elif symbol in OVERFLOWS and function.fits(step):
        function.fitting.add(step)
        function.assign(step, f"{texts[0]} {symbol} {texts[1]}")
    elif step in function.deferred:
        _write_wrapping(function, step, *texts)
    elif symbol in OVERFLOWS:
        function.leave_if(f"__builtin_{OVERFLOWS[symbol]}_overflow({', '.join(texts)}, &{target})")
    else:
        rule = {"//": elements.builder.floor_divide, "%": elements.builder.remainder}[symbol]
        function.assign(step, elements.text(rule(*operands)))


def _write_wrapping(function: Function, step: Node, left: str, right: str) -> None:
    """A sum or difference that may overflow: whether it has is asked behind the loop."""
    function.assign(step, f"{left} {step.params['symbol']} {right}")
    function.overflow()
    function.lines.add(kept(function.target(step), step.params["symbol"], left, right))


def write_which(function: Function, step: Node) -> None:
    """The number of the array among others."""
    array, *others = (function.in_memory(node) for node in step.args)
    number = str(-1)
    for index, other in reversed(list(enumerate(others))):
        number = f"{array.identity} == {other.identity} ? {index} : {number}"
    function.assign(step, number)
    function.leave_if(f"{function.target(step)} < 0")


def write_size(function: Function, step: Node) -> None:
    array, axis = step.args
    size = function.sizes(array)[axis]
    function.assign(step, size)
    function.ranges.equate(step, function.term(size))


def write_select(function: Function, step: Node) -> None:
    condition, one, other = step.args
    texts = [function.text(value, step.type) for value in (one, other)]
    if function.block.name in function.lanes.blocks and (pick := picked(c_type(step.type))) is not None:
        function.help({"1_pick": PICK})
        function.assign(step, f"{pick}({function.text(condition)}, {', '.join(texts)})")
        return
    choose = CHOSEN.get(c_type(step.type)) if function.block.name in function.chains else None
    if choose is not None and set(compared(condition)) != {one, other}:  # processors have minima and maxima
        function.help({"1_choose": CHOOSE})
        function.assign(step, f"{choose}({function.text(condition)}, {', '.join(texts)})")
        return
    if is_int(step):
        for chosen, rest, sign in ((one, other, ""), (other, one, "!")):
            if (change := _change(chosen, rest)) is not None:
                part = f"{function.text(change)} & -(i64){sign}{grouped(function.text(condition))}"
                function.assign(step, f"{function.text(rest)} {chosen.params['symbol']} ({part})")
                return
    function.assign(step, f"{function.text(condition)} ? {texts[0]} : {texts[1]}")


def _change(value: Any, other: Any) -> Any:
    """What an int differs from another by: what is added to that, or what it is combined with."""
    if not isinstance(value, Node) or value.target != "number" or value.params["symbol"] not in ("+", "-", "^", "|"):
        return None
    if not all(map(is_int, value.args)) or not isinstance(other, Node):
        return None
    if value.args[0] is other:
        return value.args[1]
    return value.args[0] if value.args[1] is other and value.params["symbol"] != "-" else None


def write_load(function: Function, step: Node) -> None:
    node, places = step.args
    array = function.in_memory(node)
    text = array.element(placed(function, step, array, places))
    function.assign(step, f"{text} != 0" if array.dtype.kind == "b" else text)


def write_store_at(function: Function, step: Node) -> None:
    node, places, value = step.args
    array = function.in_memory(node)
    element = array.element(placed(function, step, array, places))
    text = converted(function, value, array.dtype)
    function.lines.add(f"{element} = {text};")


def placed(function: Function, step: Node, array: Array, places: tuple[Any, ...]) -> list[str]:
    """C of an index for each axis, which is one of the array's."""
    found: list[str] = []
    for axis, place in enumerate(places):
        if axis in step.params.get("sure", ()):
            found.append(function.text(place))
            continue
        mark = len(function.lines.lines)
        found.append(place_on(function, array.sizes[axis], place))
        if len(function.lines.lines) > mark:
            function.tested.add((step, axis))
        elif isinstance(place, Node) and found[-1] == function.text(place):
            function.certain.add((step, axis))
    return found


def place_on(function: Function, size: str, place: Any) -> str:
    if not isinstance(place, Node):
        return _literal_place(function, size, int(place))
    text = function.text(place)
    if place.type.dtype.kind not in "iu":
        raise BackendError(f"a place that is a {place.type}")
    if (text, size) not in function.places:
        function.places[text, size] = _tested_place(function, size, place, text)
    return function.places[text, size]


def _tested_place(function: Function, size: str, place: Node, text: str) -> str:
    """A place, after a test that there is such a one, where that is not certain."""
    is_known = is_int(place)
    if is_known and function.at_most(0, place):
        if not function.at_most(place, size, -1):
            function.leave_if(f"{text} >= {size}")
            function.ranges.add(function.term(place), function.term(size), -1)
        return text
    if is_known and function.at_most(place, 0, -1):
        at = function.named(f"{place.name}_at", f"{text} + {size}")
        function.leave_if(f"{at} < 0")
    else:
        at = function.variable(f"{place.name}_at", "i64")
        if is_known and _is_within(function, place, size):
            function.lines.add(f"{at} = {text} < 0 ? {text} + {size} : {text};")
            return at
        function.lines.add(f"{at} = {text};")  # what lies within, as most does, is looked at once
        with function.lines.block(f"if ((u64){at} >= (u64){size})"):
            function.lines.add(f"{at} += {size};")
            function.leave_if(f"(u64){at} >= (u64){size}")
    return at


def _is_within(function: Function, place: Any, size: str) -> bool:
    """Whether there is such a place for certain, counted from either end."""
    low = function.bounds(function.term(place))[0]
    return size.isdigit() and low >= -int(size) and function.at_most(place, size, -1)


def _literal_place(function: Function, size: str, place: int) -> str:
    if size.isdigit():
        if not -int(size) <= place < int(size):
            function.leave_if("1")
        return str(place % max(int(size), 1))
    function.leave_if(f"{size} <= {place}" if place >= 0 else f"{size} < {-place}")
    return str(place) if place >= 0 else f"{size} - {-place}"


def converted(function: Function, value: Any, dtype: np.dtype) -> str:
    """C of a number or scalar as an element of an array that it is written to."""
    elements = Elements(function)
    element = elements.operand(value)
    python = _weak(value)
    if python is float and dtype.kind in "iu":
        text = elements.text(element)
        whole = function.variable("whole", C_NUMBERS[int])
        found = answer("int", [number_operand(value, text)], int)
        function.opaque |= found.opaque
        function.leave_if(*found.before)
        function.lines.add(f"{whole} = {found.text};")
        function.leave_if(*outside(whole, dtype))
        return elements.text(elements.builder.cast(elements.given(whole, np.dtype(np.int64)), dtype))
    if python is int and dtype.kind in "iu":
        if not fits(function.intervals.of(value), dtype):
            function.leave_if(*outside(elements.text(element), dtype))
    elif python is int and dtype.kind == "f":
        element = elements.builder.cast(element, DOUBLE)
    elif python is None and converts_by_python(element.dtype, dtype) and not fits(function.intervals.of(value), dtype):
        function.leave_if(*outside(elements.text(element), dtype, element.dtype))
    elements.builder.node = value
    return elements.text(elements.builder.cast(element, dtype))


def _weak(value: Any) -> type | None:
    """The type of a Python number; None for scalars."""
    if isinstance(value, Node):
        return value.type.python if isinstance(value.type, NumberType) else None
    return None if isinstance(value, np.generic) else type(value)
