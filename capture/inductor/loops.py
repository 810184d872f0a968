"""The loop language: element expressions, accesses to memory, and ways to combine elements.

In: an op's ``element`` function, called with a ``Builder`` as its vocabulary ``s``. Out: ``Value``s, a graph of
scalar operations in which equal ones are one object.

>>> s = Builder()
>>> x = s.load(access)                   # one element of an array
>>> s.multiply(x, s.add(x, s.constant(1, x.dtype)))
%2:f32 = multiply(%0, %1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from capture.inductor.complex_parts import PARTS
from capture.inductor.powers import short_power
from capture.inductor.vocabulary import (
    BOOL_DTYPE,
    CELLS,
    HALF,
    INEXACT,
    INTEGER,
    RULES,
    SINGLE,
    Rule,
    cast_raises,
    cell,
)
from capture.ir.op import Strided
from capture.ir.shapes import Expr, Size, Symbol, add, expand, linear, multiply
from capture.records import dataclass, field, replace

COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))

GATHERED = 1.0
"""Nanoseconds that an element at a computed place costs."""


@dataclass(eq=False, slots=True)
class Memory:
    """A block of memory that kernels read or write; its buffer in the plan is made of it.

    ``kind`` is that of ``plan.Buffer``; ``strides`` count elements. ``source`` is the input's number or the constant.
    """

    name: str
    kind: str
    dtype: np.dtype
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    source: Any = None
    number: int = -1  # the buffer's id, given by ``memory``

    @property
    def whole(self) -> Strided:
        return Strided(0, self.shape, self.strides)


@dataclass(frozen=True, slots=True)
class Access:
    """The element of ``memory`` at ``base + sum(stride * axis) + rest``; ``rest`` is what is not linear in the axes.

    With ``steps``, ``sum(step * place)`` is added over places that are computed, one for each step. All of these count
    cells of the memory: the elements, or their parts where they are complex. A ``pair`` is both parts of an element.
    """

    memory: Memory
    base: Size
    strides: tuple[tuple[Symbol, Size], ...]
    rest: Size = 0
    steps: tuple[Size, ...] = ()
    pair: bool = False

    @property
    def parts(self) -> tuple[Access, ...]:
        """What is read or written: one cell, or the two of a pair."""
        if not self.pair:
            return (self,)
        real = replace(self, pair=False)
        return real, replace(real, base=add((self.base, 1)))

    def with_steps(self, strides: Sequence[Size]) -> Access:
        """The same at computed places; ``strides`` count elements."""
        return replace(self, steps=tuple(multiply(2, step) for step in strides) if self.pair else tuple(strides))

    @property
    def axes(self) -> frozenset[Symbol]:
        moving = frozenset(axis for axis, _ in self.strides)
        return moving | self.rest.symbols if isinstance(self.rest, Expr) else moving

    def stride(self, axis: Symbol) -> Size:
        return dict(self.strides).get(axis, 0)


def access(
    memory: Memory, view: Strided, index: Sequence[Size], axes: frozenset[Symbol], dtype: np.dtype | None = None
) -> Access:
    """The access to ``view[index]``, an index being a size over the symbols ``axes``; ``dtype`` is that of the view, in
    whose elements it counts.
    """
    place = _access(memory, view, index, axes)
    if (dtype or memory.dtype) not in CELLS:
        return place
    strides = tuple((axis, multiply(2, stride)) for axis, stride in place.strides)
    return Access(memory, multiply(2, place.base), strides, multiply(2, place.rest), pair=True)


def _access(memory: Memory, view: Strided, index: Sequence[Size], axes: frozenset[Symbol]) -> Access:
    base: Size = view.offset
    strides: dict[Symbol, Size] = {}
    others: list[Size] = []
    for position, stride in zip(index, view.strides, strict=True):
        if isinstance(position, Symbol) and position in axes:
            strides[position] = add((strides.get(position, 0), stride))
        elif isinstance(position, int):
            base = base + position * stride if position else base
        else:
            others.append(multiply(position, stride))
    if not others:
        return Access(memory, base, _moving(strides))
    rest: list[Size] = []
    terms, constant = linear(add(others))
    base = add((base, constant))
    for factors, coefficient in terms:
        term = multiply(coefficient, expand(factors))
        moving = [atom for atom, _ in factors if atom.symbols & axes]
        if not moving:
            base = add((base, term))
        elif len(moving) == 1 and isinstance(moving[0], Symbol) and dict(factors)[moving[0]] == 1:
            stride = multiply(coefficient, expand(tuple((a, e) for a, e in factors if a is not moving[0])))
            strides[moving[0]] = add((strides.get(moving[0], 0), stride))
        else:
            rest.append(term)
    return Access(memory, base, _moving(strides), add(rest) if rest else 0)


def _moving(strides: Mapping[Symbol, Size]) -> tuple[tuple[Symbol, Size], ...]:
    return tuple(sorted(((a, s) for a, s in strides.items() if not _is_zero(s)), key=lambda item: item[0].name))


def _is_zero(size: Size) -> bool:
    return isinstance(size, int) and size == 0


@dataclass(eq=False, slots=True)
class Value:
    """A scalar of ``dtype``: the rule ``op`` on ``args``, or one of

    ``constant`` (``data``: the number), ``load`` (an ``Access``; its ``args`` are places that are computed, and
    ``data.steps`` their strides), ``index`` (a size over loop symbols), ``cast``, ``bits`` (the number of another dtype
    with the same bits), ``kept`` (a ``Reduction``: its result), ``carried`` (a ``Carry``: what the step before made),
    ``given`` (what has the name ``data`` in C).
    ``node`` is whom to name if the operation raises, None where it cannot. ``axes`` are the loop symbols it depends on,
    ``phase`` is the first pass over the inner axes that can compute it.
    """

    number: int
    op: str
    args: tuple[Value, ...]
    dtype: np.dtype
    data: Any
    node: Any
    axes: frozenset[Symbol]
    phase: int
    label: str = ""  # the graph node whose element it is

    def __repr__(self) -> str:
        args = ", ".join(f"%{arg.number}" for arg in self.args)
        return f"%{self.number}:{self.dtype} = {self.op}({args})"

    @property
    def cost(self) -> float:
        """Nanoseconds per element, for what is not in memory."""
        if self.op == "load" and self.args:
            return GATHERED
        rule = RULES.get(self.op)
        return (rule.cost if rule else 0.05 if self.op == "cast" else 0.0) * (2 if self.dtype.itemsize == 8 else 1)


@dataclass(eq=False, slots=True)
class Reduction:
    """Elements combined along the inner axes; ``kept`` is the value that stands for the result."""

    number: int
    combine: str
    element: Value
    dtype: np.dtype
    node: Any
    position: Size = 0  # of an element, in C order over the reduced dims
    kept: Value | None = None

    @property
    def phase(self) -> int:
        return self.element.phase

    @property
    def may_raise(self) -> bool:
        quiet = self.node is not None and "quiet" in self.node.op.tags
        return self.dtype.kind == "f" and self.combine in ("add", "multiply") and not quiet


@dataclass(eq=False, slots=True)
class Carry:
    """A variable that goes from step to step of a walk: ``next`` is its value for the step behind, ``start`` its first.

    The walk ends when the variable reaches ``limit``, if there is one.
    """

    start: str
    limit: Size | None = None
    next: Value | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """The inner loop of a ufunc of NumPy's for operands of ``dtype``, some of which stand still."""

    name: str
    dtype: np.dtype
    still: tuple[bool, ...]


@dataclass(slots=True)
class Builder:
    """The vocabulary ``s``: makes ``Value``s. ``node`` is the graph node whose element is being written.

    With ``exact``, mathematical functions are calls of NumPy's loops; ``still`` tells which operands of the node have
    no axes, and so do not move in NumPy's loop. ``alone``: what is computed are NumPy's scalars, for which it has other
    code than its loops.
    """

    node: Any = None
    index_of: Callable[[int], Size] | None = None
    axes: frozenset[Symbol] = frozenset()
    exact: bool = False
    still: tuple[bool, ...] = ()
    alone: bool = False
    values: list[Value] = field(default_factory=list)
    _known: dict[Any, Value] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Callable[..., Value]:
        rule, parts = RULES.get(name), PARTS.get(name)
        if rule is None and parts is None:
            raise AttributeError(f"the scalar vocabulary has no {name}")

        def call(*operands: Any) -> Value:
            like = next(operand.dtype for operand in reversed(operands) if isinstance(operand, Value))
            args = tuple(item if isinstance(item, Value) else self.constant(item, like) for item in operands)
            if parts is not None and like in CELLS:
                return parts(self, *args)
            assert rule is not None, f"{name} of {like}"
            return self.apply(rule, args)

        return call

    def apply(self, rule: Rule, args: tuple[Value, ...]) -> Value:
        like = args[-1].dtype
        if self.exact and rule.name in INEXACT and like.kind == "f":
            return self._make(rule.name, args, like, Loop(rule.name, like, self.still), raises=True)
        if like == HALF and rule.name not in ("where", "signbit"):  # as NumPy: in float32, rounded after each operation
            found = self.apply(rule, tuple(self.cast(arg, SINGLE) if arg.dtype == HALF else arg for arg in args))
            if found.dtype != SINGLE or found.op == "constant":
                return self.cast(found, HALF) if found.dtype == SINGLE else found
            return self._make("cast", (found,), HALF, raises=bool(rule.may_raise(SINGLE)))
        dtypes = {arg.dtype for arg in (args[1:] if rule.name == "where" else args)}
        if len(dtypes) != 1:
            raise TypeError(f"{rule.name} on different dtypes: {', '.join(map(str, dtypes))}")
        if rule.kind(args[-1].dtype) not in rule.c:
            raise TypeError(f"{rule.name} has no form for {args[-1].dtype}")
        if rule.name in COMPARISONS and (verdict := self.choice_compared(rule, args)) is not None:
            return verdict
        if rule.name in ("floor_divide", "remainder") and (shift := _power_of_two(args[1])) is not None:
            bits = (1 << shift) - 1  # of two's complement: both round downwards, as NumPy does
            return self.right_shift(args[0], shift) if rule.name == "floor_divide" else self.bitwise_and(args[0], bits)
        if rule.name == "power" and like.kind == "f" and args[1].op == "constant":
            short = short_power(self, args[0], float(args[1].data))
            if short is not None:
                return short  # type: ignore[no-any-return]
        raises = bool(rule.may_raise(args[-1].dtype)) and not _is_harmless(rule, args)
        return self._make(rule.name, args, rule.dtype(*(arg.dtype for arg in args)), raises=raises)

    def choice_compared(self, rule: Rule, args: tuple[Value, ...]) -> Value | None:
        """``where(c, 1.0, x) < 2.0`` as ``c | (x < 2.0)``: gcc makes ``c ? 1 : x < 2.0`` of it, and then no vectors."""
        for place, choice in enumerate(args):
            other = args[1 - place]
            if choice.op != "where" or other.op != "constant":
                continue
            condition, *arms = choice.args
            for arm, rest, chosen in ((arms[0], arms[1], condition), (arms[1], arms[0], None)):
                if arm.op == "constant":
                    holds = rule.evaluate(*((arm.data, other.data) if place == 0 else (other.data, arm.data)))
                    verdict = self.apply(rule, (rest, other) if place == 0 else (other, rest))
                    first = condition if bool(holds) == (chosen is not None) else self.logical_not(condition)
                    return (self.logical_or if holds else self.logical_and)(first, verdict)
        return None

    def constant(self, value: Any, dtype: Any) -> Value:
        dtype = np.dtype(dtype)
        with np.errstate(all="ignore"):
            number = np.asarray(value).astype(dtype)[()]
        if dtype in CELLS:
            return self.complex(*(self.constant(part, CELLS[dtype]) for part in (number.real, number.imag)))
        return self._make("constant", (), dtype, number, key=number.tobytes())

    # Complex numbers have two parts, each a value of its own, and no form in C. --------------------------------------
    def complex(self, real: Value, imag: Value) -> Value:
        return self._make("complex", (real, imag), np.result_type(real.dtype, np.complex64))

    def real(self, value: Value) -> Value:
        return value.args[0] if value.op == "complex" else value

    def imag(self, value: Value) -> Value:
        return value.args[1] if value.op == "complex" else value

    def cast(self, value: Value, dtype: Any) -> Value:
        dtype = np.dtype(dtype)
        if value.dtype == dtype:
            return value
        if dtype in CELLS:
            number = CELLS[dtype]
            imag = self.cast(value.args[1], number) if value.op == "complex" else self.constant(0, number)
            return self.complex(self.cast(self.real(value), number), imag)
        if value.op == "complex":
            if dtype != BOOL_DTYPE:
                raise TypeError(f"a cast of {value.dtype} to {dtype}")
            return self.logical_or(*value.args)
        if value.op == "constant":
            return self.constant(value.data, dtype)
        by_single = (value.dtype == HALF and dtype != SINGLE) or (dtype == HALF and value.dtype.kind in "iub")
        if by_single:
            single = self.cast(value, SINGLE)
            raises = cast_raises(value.dtype, dtype)
            return self._make("cast", (single,), dtype, raises=raises) if dtype == HALF else self.cast(single, dtype)
        return self._make("cast", (value,), dtype, raises=cast_raises(value.dtype, dtype))

    def index(self, axis: int) -> Value:
        """The position along an axis of the node's result, as int64."""
        assert self.index_of is not None
        return self.position(self.index_of(axis))

    def position(self, size: Size) -> Value:
        if isinstance(size, int):
            return self.constant(size, np.int64)
        return self._make("index", (), np.dtype(np.int64), size, axes=size.symbols & self.axes)

    def given(self, name: str, dtype: Any) -> Value:
        """What is there already, by its name in C."""
        return self._make("given", (), np.dtype(dtype), name)

    def load(
        self, place: Access, *places: Value, walked: frozenset[Symbol] = frozenset(), dtype: np.dtype | None = None
    ) -> Value:
        """What is in memory, seen as ``dtype``; in each step over the ``walked`` axes it may be what the one before has
        written.
        """
        if place.pair:
            return self.complex(*(self.load(part, *places, walked=walked) for part in place.parts))
        stored = cell(place.memory.dtype)
        if stored == BOOL_DTYPE and dtype is not None:
            stored = dtype  # whatever byte is there
        value = self._make("load", places, stored, place, axes=(place.axes | walked) & self.axes)
        return self.bits(value, dtype or stored)

    def bits(self, value: Value, dtype: np.dtype) -> Value:
        """The number of another dtype that has the same bits."""
        if value.dtype == dtype:
            return value
        if value.op == "constant":
            return self.constant(value.data.view(dtype), dtype)
        if value.dtype.kind in "biu" and dtype.kind in "iu":
            return self.cast(value, dtype)
        if value.op == "bits" and value.args[0].dtype == dtype:
            return value.args[0]
        return self._make("bits", (value,), dtype)

    def carried(self, carry: Carry, dtype: np.dtype) -> Value:
        return self._make("carried", (), dtype, carry, axes=self.axes)

    def kept(self, reduction: Reduction, axes: frozenset[Symbol]) -> Value:
        return self._make("kept", (), reduction.dtype, reduction, axes=axes, phase=reduction.phase + 1)

    def _make(
        self,
        op: str,
        args: tuple[Value, ...],
        dtype: np.dtype,
        data: Any = None,
        *,
        key: Any = None,
        raises: bool = False,
        axes: frozenset[Symbol] = frozenset(),
        phase: int = 0,
    ) -> Value:
        node = self.node if raises else None
        identity = (op, args, dtype, data if key is None else key, node)
        known = self._known.get(identity)
        if known is None:
            for arg in args:
                axes |= arg.axes
                phase = max(phase, arg.phase)
            known = Value(len(self.values), op, args, dtype, data, node, axes, phase)
            self._known[identity] = known
            self.values.append(known)
        return known


def _is_harmless(rule: Rule, args: Sequence[Value]) -> bool:
    """Whether these operands cannot raise: an integer is divided by a number that is neither 0 nor -1."""
    divisor = args[-1]
    is_division = rule.may_raise(divisor.dtype) == INTEGER
    return is_division and divisor.op == "constant" and int(divisor.data) not in (0, -1)


def _power_of_two(divisor: Value) -> int | None:
    """Which power of two an integer is that is known."""
    if divisor.op != "constant" or divisor.dtype.kind not in "iu":
        return None
    number = int(divisor.data)
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None


# Combining --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Combine:
    """How a reduction combines elements. ``identity`` is C for the start, by class of dtype, ``{T}`` its type;
    ``step`` is C of the next state of ``{0}`` by the element ``{1}``; ``clause`` is OpenMP's name of it, if any.
    """

    identity: Mapping[str, str]
    step: Mapping[str, str]
    clause: str = ""
    special: str = ""  # "nan": NaN is carried beside the state; "where": so is the position


_LOWEST = {"b": "0", "i": "LOWEST_{T}", "u": "0", "f": "-__builtin_inf{f}()"}
_HIGHEST = {"b": "1", "i": "HIGHEST_{T}", "u": "HIGHEST_{T}", "f": "__builtin_inf{f}()"}


def _same(text: str, boolean: str) -> dict[str, str]:
    return {"b": boolean, "i": f"({{T}})({text})", "u": f"({{T}})({text})", "f": text}


COMBINES: Mapping[str, Combine] = {
    "add": Combine(dict.fromkeys("biuf", "0"), _same("{0} + {1}", "{0} | {1}"), "+"),
    "multiply": Combine(dict.fromkeys("biuf", "1"), _same("{0} * {1}", "{0} & {1}"), "*"),
    "maximum": Combine(_LOWEST, _same("{1} > {0} ? {1} : {0}", "{0} | {1}"), "max", "nan"),
    "minimum": Combine(_HIGHEST, _same("{1} < {0} ? {1} : {0}", "{0} & {1}"), "min", "nan"),
    "logical_or": Combine(dict.fromkeys("biuf", "0"), dict.fromkeys("biuf", "{0} | ({1} != 0)"), "|"),
    "logical_and": Combine(dict.fromkeys("biuf", "1"), dict.fromkeys("biuf", "{0} & ({1} != 0)"), "&"),
    "argmax": Combine(_LOWEST, _same("{1} > {0}", "{1} & !{0}"), "", "where"),
    "argmin": Combine(_HIGHEST, _same("{1} < {0}", "!{1} & {0}"), "", "where"),
}
