"""Elements: the scalar vocabulary in the C of programs.

In: an op with a ``Pointwise`` lowering, its operands as numbers, scalars and elements of arrays. Out: lines that
compute its element, and the text of it.

>>> computed(function, add_step, [Given("x_1", f8), Given("y_2", f8)])
'x_1 + y_2'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capture.errors import BackendError
from capture.inductor.checking import suspicion
from capture.inductor.csource import local_type
from capture.inductor.loops import Builder, Value
from capture.inductor.programs.function import Function
from capture.inductor.programs.intervals import fits
from capture.inductor.programs.values import builtin_type
from capture.inductor.vocabulary import C_TYPES, CELLS, DOUBLE, HALF, RULES, cast_text, literal
from capture.ir import op as ops
from capture.ir.graph import Node
from capture.ir.op import Pointwise
from capture.ir.program import RankedType
from capture.ir.types import ArrayType, NumberType, scalar_type


class Elements:
    """Writes values into variables; each once, where it is needed first."""

    def __init__(self, function: Function, builder: Builder | None = None) -> None:
        self.function = function
        self.builder = builder or Builder()
        self.names: dict[Value, str] = {}
        self.suspect_name = ""  # the variable that is set, inside loops, where an operation raises

    def step(self, step: Node, elements: Sequence[Value]) -> Value:
        """The element of a ``map`` step, as a value of its dtype."""
        op = ops.get(step.params["op"])
        if not isinstance(op.lower, Pointwise):
            raise BackendError(f"{op.name} in a map")
        params = dict(step.params.get("params", ()))
        self.builder.node = step
        operands = [
            self.cast(argument, element, dtype)
            for argument, element, dtype in zip(step.args, elements, loop_dtypes(op, step.args, params), strict=True)
        ]
        found = self.builder.cast(op.lower.element(self.builder, *operands, **params), step.type.dtype)
        self.leave_where_it_warns(step, op.name, operands)
        return found

    def leave_where_it_warns(self, step: Node, name: str, operands: Sequence[Value]) -> None:
        """NumPy's scalars warn where an integer overflows."""
        if not name.startswith("scalar_") or step.type.dtype.kind not in "iu":
            return
        symbol = {"scalar_add": "add", "scalar_subtract": "sub", "scalar_multiply": "mul"}.get(name)
        if symbol is not None:
            texts = ", ".join(map(self.text, operands))
            unused = self.function.variable("unused", C_TYPES[step.type.dtype])
            self.function.leave_if(f"__builtin_{symbol}_overflow({texts}, &{unused})")
        elif name == "scalar_power":
            raise BackendError("a power of integer scalars")

    def cast(self, argument: Any, element: Value, dtype: np.dtype) -> Value:
        """An operand in the dtype of the loop: Python numbers are weak, and must fit."""
        type = getattr(argument, "type", None)
        if isinstance(type, NumberType) and type.python is int:
            if dtype.kind in "iu" and not fits(self.function.intervals.of(argument), dtype):
                self.function.leave_if(*outside(self.names[element], dtype))
            elif dtype.kind == "f":
                element = self.builder.cast(element, DOUBLE)
        return self.builder.cast(element, dtype)

    def element(self, text: str, dtype: np.dtype, given: Callable[[str, np.dtype], Value] | None = None) -> Value:
        """What a variable or a place in memory holds; of complex numbers both parts."""
        given = given or self.builder.given
        if dtype not in CELLS:
            return given(text, dtype)
        return self.builder.complex(*(given(f"{part} {text}", CELLS[dtype]) for part in ("__real__", "__imag__")))

    def given(self, text: str, dtype: np.dtype) -> Value:
        """A value that is C already."""
        value = self.builder.given(text, dtype)
        self.names[value] = text
        return value

    def operand(self, argument: Any) -> Value:
        """A number, a scalar or a literal as a value."""
        if isinstance(argument, Node):
            return self.element(self.function.text(argument), argument.type.dtype, self.given)
        if isinstance(argument, np.generic):
            return self.builder.constant(argument, argument.dtype)
        return self.builder.constant(argument, np.dtype(builtin_type(argument)))

    # C ------------------------------------------------------------------------------------------------------------
    def text(self, value: Value) -> str:
        """C of a value; the lines that compute it come first."""
        if value.op == "constant":
            return literal(value.data, value.dtype)
        if value.op == "complex":
            return f"__builtin_complex({', '.join(map(self.text, value.args))})"
        if value not in self.names:
            for operand in value.args:
                self.text(operand)
            text = value.data if value.op == "given" else self.operation(value)
            self.names[value] = name = self.function.fresh("element" if value.op == "given" else value.op)
            self.function.lines.add(f"const {local_type(value.dtype)} {name} = {text};")
            self.note(value)
        return self.names[value]

    def operation(self, value: Value) -> str:
        """C of what an operation does with its operands."""
        function, unit = self.function, self.function.unit
        unit.use(value)
        operands = tuple(map(self.text, value.args))
        if value.node is not None and value.args[0].dtype.kind == "f" and all(a.op == "constant" for a in value.args):
            operands = tuple(function.hide(t, C_TYPES[a.dtype]) for t, a in zip(operands, value.args, strict=True))
        if value.op != "cast":
            return RULES[value.op].text(value.args[-1].dtype, operands)
        source = value.args[0].dtype
        text = cast_text(source, value.dtype, operands[0])
        if source.kind == "f" and value.dtype.kind in "iu" and source != HALF:  # see ``numbers._FITS``
            function.opaque = True
            return f"({C_TYPES[value.dtype]})({text} ^ no_bits)"
        return text

    def note(self, value: Value) -> None:
        """What an operation raises: the processor knows, or a test does, which is an occasion to leave."""
        if value.node is None:
            return
        self.function.raises = True
        if text := suspicion(value, self.text):
            self.suspect(text)

    def suspect(self, text: str) -> None:
        if self.suspect_name:
            self.function.lines.add(f"{self.suspect_name} |= {text};")
        else:
            self.function.leave_if(text)


def shorten(function: Function) -> None:
    """A block of one line, or of one variable that is assigned at once, needs no braces."""
    lines = function.lines.lines
    if len(lines) >= 3 and lines[-3].strip() == "{":
        lines[-3:] = [lines[-2][4:]]
    elif len(lines) >= 4 and lines[-4].strip() == "{" and lines[-3].lstrip().startswith("const "):
        target, _, source = lines[-2].strip().rstrip(";").partition(" = ")
        declared, _, text = lines[-3].partition(" = ")
        if declared.endswith(f" {source}"):
            lines[-4:] = [f"{'    ' * function.lines.depth}{target} = {text}"]


def loop_dtypes(op: Any, arguments: Sequence[Any], params: Any) -> tuple[np.dtype, ...]:
    """The dtypes in which the op computes."""
    types = [_seen(argument) for argument in arguments]
    if op.lower.loop is not None:
        return tuple(map(np.dtype, op.lower.loop(*types, **params)))
    dtypes = [type.dtype for type in types if isinstance(type, ArrayType)]
    return tuple(type.dtype if isinstance(type, ArrayType) else dtypes[0] for type in types)


def _seen(argument: Any) -> Any:
    """An operand as inference sees it; that a Python int fits is tested when the program runs."""
    if isinstance(argument, np.generic):
        return scalar_type(argument.dtype)
    type = getattr(argument, "type", argument)
    if isinstance(type, RankedType):
        return ArrayType(type.dtype, (2,) * type.ndim)
    if isinstance(type, NumberType) and type.python in (int, complex):
        return NumberType(int, 0) if type.python is int else 1j
    return type


def outside(text: str, dtype: np.dtype, source: np.dtype = np.dtype(np.int64)) -> tuple[str, ...]:  # noqa: B008
    """C that holds where an integer, an int64 if nothing else is said, does not fit in another integer dtype."""
    info, given = np.iinfo(dtype), np.iinfo(source)
    low = (f"{text} < {info.min}",) if given.min < info.min else ()
    return (*low, f"{text} > {info.max}") if given.max > info.max else low
