"""What the writers of C share: lines with indentation, names of types, and what one C file uses.

In: pieces of text. Out: ``Lines``, and a ``CUnit`` that knows the buffers, flags, helpers and functions in use.

>>> lines = Lines()
>>> with lines.block("for (i64 i = 0; i < n; i++)"):
...     lines.add("out[i] = x[i];")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from capture.inductor.helpers import (
    HALF_TEXTS,
    IN_DOUBLE,
    LOOP,
    MATH_USED,
    bits_helper,
    helper_text,
    loop_helper,
    one_helper,
    state_helper,
)
from capture.inductor.loops import Access, Memory, Value
from capture.inductor.numpy_loops import LoopKey
from capture.inductor.vocabulary import C_TYPES, HALF, RULES
from capture.ir.graph import Node
from capture.ir.shapes import Expr, Size, to_c
from capture.records import dataclass, field

CACHE_LINE = 64

VECTOR_BYTES = 32
"""Of a register, where nobody has asked the processor."""


class Lines:
    """Lines of C, indented by the braces around them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def add(self, *texts: str) -> None:
        for text in texts:
            self.lines.append("    " * self.depth + text if text else "")

    @contextmanager
    def block(self, head: str = "") -> Iterator[None]:
        self.add(f"{head} {{" if head else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.add("}")

    def __str__(self) -> str:
        return "\n".join(self.lines)


@dataclass
class CUnit:
    """One C file: the ids of buffers and flags, the C of run-time sizes, and what its kernels use."""

    buffers: dict[Memory, int] = field(default_factory=dict)
    flags: dict[Node, int] = field(default_factory=dict)
    unsure: frozenset[int] = frozenset()  # flags of what only NumPy can tell
    numbers: dict[str, str] = field(default_factory=dict)  # names that size expressions go by
    number_reads: dict[str, str] = field(default_factory=dict)  # C that reads a named size at each call
    unit_steps: frozenset[str] = frozenset()  # strides that are 1 in most calls
    forms: frozenset[str] = frozenset()  # what kernels choose, and have a form of their own for where it is 1
    loops: dict[LoopKey, str] = field(default_factory=dict)  # C that finds each loop of NumPy's in use
    helpers: dict[str, str] = field(default_factory=dict)
    functions: dict[Node, Callable[..., Any]] = field(default_factory=dict)  # of Python, by the steps that call them
    math: dict[str, int] = field(default_factory=dict)
    vector_bytes: int = VECTOR_BYTES  # of a register

    def size(self, size: Size) -> str:
        return to_c(size, self.numbers) if isinstance(size, Expr) else str(size)

    def use(self, value: Value) -> None:
        """Note the functions that the C of ``value`` calls."""
        if value.op == "cast":
            source = value.args[0].dtype
            if source.kind == "f" and value.dtype == np.uint64:
                self.helpers[f"cast_u64_{C_TYPES[source]}"] = helper_text("cast_u64", source)
            if HALF in (source, value.dtype):
                self.use_half()
            return
        if value.op == "bits":
            name, text = bits_helper(value.args[0].dtype, value.dtype)
            self.helpers[name] = text
            return
        rule, dtype = RULES[value.op], value.args[-1].dtype
        if dtype.kind == "f":
            suffix = "f" if dtype == np.float32 and rule.name not in IN_DOUBLE else ""
            for name in (rule.math, *MATH_USED.get(rule.name, ())):
                if name:
                    self.math[name + suffix] = max(
                        1, rule.arity if rule.math == name else 1
                    )
            if rule.name in ("floor_divide", "remainder"):
                self.math["fmodf" if dtype == np.float32 else "fmod"] = 2
        if rule.helper(dtype):
            self.helpers[f"{rule.name}_{C_TYPES[dtype]}"] = helper_text(rule.name, dtype)

    def use_loop(self, arity: int, one: str) -> str:
        """The function that calls a loop of NumPy's, for a single element of the type ``one`` or for a run of them."""
        name = f"{LOOP}{arity}"
        self.helpers[name] = loop_helper(name, arity)
        if one:
            self.helpers[f"{name}_{one}"] = one_helper(name, arity, one)
        return f"{name}_{one}" if one else name

    def use_half(self) -> None:
        """Note the conversions of float16."""
        for number, (name, text) in enumerate(HALF_TEXTS.items()):
            self.helpers[f"_{number}_{name}"] = text

    def state_helper(self, name: str, short: str) -> None:
        """Note a function for the state of a reduction."""
        self.helpers.setdefault(f"{name}_{short}", state_helper(name, short))

    def element(self, place: Access, places: Sequence[str] = ()) -> str:
        """The element of an array that an access means."""
        return f"{pointer(place.memory)}[{self.offset(place, places)}]"

    def offset(self, place: Access, places: Sequence[str] = ()) -> str:
        terms = [self.size(place.base)] if not isinstance(place.base, int) or place.base else []
        for axis, stride in place.strides:
            if isinstance(stride, int) and stride == 1:
                terms.append(axis.name)
            else:
                text = self.size(stride)
                terms.append(
                    f"{axis.name} * {text}" if isinstance(stride, int) and stride > 0 else f"{axis.name} * ({text})"
                )
        for name, step in zip(places, place.steps, strict=True):
            if not isinstance(step, int):
                terms.append(f"{name} * ({self.size(step)})")
            elif step:
                terms.append(f"{name} * {step}" if step != 1 else name)
        if isinstance(place.rest, Expr):
            terms.append(f"({self.size(place.rest)})")
        return " + ".join(terms) or "0"


@dataclass
class Scratch:
    """Memory of one thread: arrays one after the other, each on a cache line of its own, and with one between them:
    arrays whose places differ by whole pages are slow to walk side by side.
    """

    unit: CUnit
    arrays: dict[str, tuple[str, Size]] = field(default_factory=dict)  # C type, offset
    bytes: Size = 0

    def array(self, name: str, dtype: np.dtype, count: Size) -> str:
        if name not in self.arrays:
            self.arrays[name] = (C_TYPES[dtype], self.bytes)
            lines = (count * dtype.itemsize + CACHE_LINE - 1) // CACHE_LINE
            self.bytes = self.bytes + (lines + 1) * CACHE_LINE
        return name

    def declarations(self) -> list[str]:
        return [
            f"{ctype} *restrict {name} = ({ctype} *)(scratch + {self.unit.size(offset)});"
            for name, (ctype, offset) in self.arrays.items()
        ]


def pointer(memory: Memory) -> str:
    return f"{memory.name}_data"


def local_type(dtype: np.dtype) -> str:
    """The C type of a local variable."""
    return "_Bool" if dtype.kind == "b" else C_TYPES[dtype]
