"""Sizes that are left open while tracing: their symbols, what is known of them, and sizes as Python ints.

In: arrays some of whose sizes may be others at the next call, ints that may. Out: a symbol for each; answers to the
questions that inference and the program ask about them. What the facts do not tell is answered by the sizes at hand,
and that answer becomes a fact and a guard:

    def f(x, y):                 # x: f64[s0], y: f64[s1]
        z = x[1:] + y            # max(0, s0 - 1) == s1  becomes a guard, because it holds this time
        if len(z) > 4: ...       # so does 5 <= s1

A size that is found to be one certain number is no symbol any more: the trace starts again with the number.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.dims import DerivedDim, Dim, multiple_of
from capture.frames.guards import Guard
from capture.frames.size_guards import in_words, relation_guard, size_in_words
from capture.frames.sources import LARGEST_SIZE, Dimension, Source
from capture.frames.values.arrays import ScalarValue
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.numbers import NumberValue, Specialise
from capture.frames.values.results import ComputedNumber, computed_size
from capture.ir.graph import Node
from capture.ir.shapes import (
    Expr,
    Facts,
    Points,
    Relation,
    Size,
    Symbol,
    eq,
    evaluate,
    ge,
    holds,
    le,
    modulo,
    negate,
    substitute,
    tidy,
    to_python,
)
from capture.ir.shapes.text import ANNOTATION
from capture.ir.sizes import Known, UnknownSize
from capture.records import dataclass

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer
    from capture.frames.values.arrays import ArrayValue

LONGEST_TEXT = 60
"""Characters of the user's source that are told of a fact."""

MOST_ROUNDS = 1
"""How often an instruction may ask something new about sizes: a loop that does so has a length that changes."""


@dataclass(frozen=True)
class OpenSize:
    """A symbol of a graph, the place that tells its value, and what is known of it, in words."""

    symbol: str
    place: str
    known: str

    def __str__(self) -> str:
        return f"{self.symbol} is {self.place}: {self.known}"


class Sizes(Known):
    """The symbols of one trace, and the facts about them."""

    is_settled_once = True

    def __init__(self, tracer: Tracer) -> None:
        self.at_hand: dict[str, int] = {}  # what symbols are in this call
        super().__init__(Facts(points=Points(self.at_hand)))
        self.tracer = tracer
        self.numbers: dict[str, NumberValue] = {}  # by symbol
        self.owners: dict[str, ArrayValue] = {}  # whose sizes the symbols are; the others are ints
        self.scalars: dict[Node, Expr] = {}  # NumPy scalars that are sizes
        self.asked: dict[Relation, str] = {}  # what became a fact, and what for
        self.doing = ""
        self._named: dict[str, Symbol] = {}  # by declared dim
        self._derived: list[tuple[Symbol, DerivedDim]] = []
        self._rounds: dict[tuple[int, int], int] = {}

    def release(self) -> None:
        vars(self).clear()

    # symbols ------------------------------------------------------------------------------------------------------
    def dimension(self, owner: ArrayValue, axis: int, example: int) -> Symbol:
        """The symbol of a size of an array from outside."""
        assert owner.source is not None
        symbol = Symbol(f"s{len(self.numbers)}", 0, LARGEST_SIZE)
        self.owners[symbol.name] = owner
        self.at_hand[symbol.name] = example
        self.numbers[symbol.name] = NumberValue(example, source=Dimension(owner.source, axis), size=symbol)
        return symbol

    def number(self, value: NumberValue, low: int, high: int) -> None:
        """Give a Python int from outside its symbol."""
        value.size = Symbol(f"k{len(self.numbers)}", low, high)
        self.numbers[value.size.name] = value
        self.at_hand[value.size.name] = value.example

    def example(self, size: Size) -> int | None:
        """What a size is this time; None if it depends on what arrays hold."""
        if isinstance(size, int):
            return size
        if any(symbol.name not in self.numbers for symbol in size.symbols):
            return None
        return evaluate(size, self.at_hand)

    def sources(self, *sizes: Size) -> frozenset[Source] | None:
        """Where the symbols of sizes come from; None if one comes from what arrays hold."""
        symbols = frozenset[Symbol]().union(*(size.symbols for size in sizes if isinstance(size, Expr)))
        if any(symbol.name not in self.numbers for symbol in symbols):
            return None
        return frozenset[Source]().union(*(self.numbers[symbol.name].sources for symbol in symbols))

    def had_their_share(self, size: Size) -> bool:
        """Whether a size must not be taken as a constant any more: see ``Changing``."""
        sources = self.sources(size)
        changing = self.tracer.changing
        return bool(sources) and all(s in changing and changing.had_its_share(s) for s in sources or ())

    def require_inputs(self, size: Size) -> None:
        """What tells the symbols of a size becomes an input of the graph."""
        for symbol in sorted(size.symbols, key=lambda symbol: symbol.name) if isinstance(size, Expr) else ():
            owner = self.owners.get(symbol.name)
            if owner is not None:
                self.tracer.memory.current(owner)
            elif symbol.name in self.numbers:
                self.numbers[symbol.name].in_graph(self.tracer)

    def of(self, value: Value) -> Expr | None:
        """A Python int that changes as a size for the graph; None for every other value."""
        if isinstance(value, ComputedNumber):
            return value.type.size  # type: ignore[no-any-return]
        size = value.size if isinstance(value, NumberValue) else self.of_scalar(value)
        if isinstance(size, Expr):
            self.require_inputs(size)
        return size

    def of_scalar(self, value: Value | None) -> Expr | None:
        """What a NumPy scalar is if it is a size; None for every other value."""
        return self.scalars.get(value.node) if isinstance(value, ScalarValue) and value.node is not None else None

    def finish(self) -> None:
        """What tells the sizes that stand for those of the graph's inputs is an input too."""
        self._relate_derived()
        for name, number in list(self.numbers.items()):
            owner = self.owners.get(name, number)
            if owner.node is not None:
                self.require_inputs(self.facts.simplify(number.size))

    def _relate_derived(self) -> None:
        """Sizes declared as ``2 * batch`` where no size is ``batch``: they are even, and tell the dim."""
        told: dict[str, tuple[Size, int]] = {}
        for symbol, derived in self._derived:
            found = multiple_of(derived)
            if found is None:
                continue
            dim, factor, more = found
            self.require(eq(modulo(symbol - more, factor), 0))
            self.bound(symbol, factor * (dim.min or 0) + more, None if dim.max is None else factor * dim.max + more)
            other, by = told.setdefault(dim.name, (symbol - more, factor))
            self.require(eq(by * (symbol - more), factor * other))

    # questions ----------------------------------------------------------------------------------------------------
    def answer(self, relation: Relation) -> bool:
        verdict = self.facts.decide(relation)
        if verdict is None:
            return self.tests(relation) or self._look(relation)
        return verdict

    def branch(self, relation: Relation) -> bool:
        """The same for a branch of the program, which may be in a loop."""
        if self.facts.decide(relation) is None:
            frame = self.tracer.frames[-1]
            place = (id(frame), frame.index)
            self._rounds[place] = self._rounds.get(place, 0) + 1
            if self._rounds[place] > MOST_ROUNDS:
                raise GraphBreak("a loop whose length changes from call to call", "number")
        return self.answer(relation)

    def _look(self, relation: Relation) -> bool:
        """Answer by the sizes at hand, from now on for good."""
        if self.sources(relation.left, relation.right) is None:
            words = f"whether {{}} {relation.op} {{}} depends on what an array holds"
            raise UnknownSize(words, relation.left, relation.right)
        answer = holds(relation, self.at_hand)
        told = relation if answer else negate(relation)
        fact = tidy(told)
        facts = self.facts.learn(fact).assume(told)
        fixed = [symbol for symbol, size in facts.solved.items() if isinstance(size, int)]
        needed = f"needed{self._what_for('by')}"
        if fixed:
            raise Specialise(self.sources(*fixed) or frozenset(), f"{self.in_words(fact)} is {needed}")
        self._note(fact, facts, f"{needed}{self._place()}")
        return answer

    def _place(self) -> str:
        if not self.tracer.frames:
            return ""
        file, line, _ = self.tracer.frames[-1].place
        return f" at {os.path.basename(file)}:{line}"

    def _what_for(self, words: str) -> str:
        """What a question is asked for, behind ``words``: the user's expression, or else the operation."""
        text = _source_text(self.tracer.frames[-1]) if self.tracer.frames else ""
        text = text or self.doing
        return f" {words} {text}" if text else ""

    def _note(self, fact: Relation, facts: Facts, why: str) -> None:
        self.tracer.journal.set(self, "facts", facts)
        self.tracer.journal.put(self.asked, fact, why)

    @property
    def names(self) -> Mapping[str, str]:
        """The symbols in the user's terms."""
        return {name: number.describe_source() for name, number in self.numbers.items()}

    def in_words(self, relation: Relation) -> str:
        """A relation in the user's terms."""
        return in_words(relation, self.names)

    def text_in_words(self, text: str) -> str:
        """A text in which sizes were written as they are in graphs, in the user's terms."""
        names = {name: self.names.get(name, name) for name, *_ in ANNOTATION.findall(text)}
        return re.sub(r"[^\W\d]\w*", lambda word: names.get(word[0], word[0]), ANNOTATION.sub(r"\1", text))

    def describe(self) -> Iterator[OpenSize]:
        """The symbols of the trace with what is known of them."""
        for name, number in self.numbers.items():
            if number.source is not None:
                yield OpenSize(name, number.source.name(), self._known_of(number.size))
        for node, value in self.tracer.memory.inputs.items():
            if isinstance(value, NumberValue) and value.size is None and value.source is not None:
                yield OpenSize(node.name, value.source.name(), f"any {value.python.__name__}")

    def _known_of(self, symbol: Symbol) -> str:
        size = self.facts.simplify(symbol)
        if size != symbol:
            return f"as large as {size_in_words(size, self.names)}"
        low, high = self.facts.bounds(symbol)
        if high is not None and high < LARGEST_SIZE:
            return f"{low} to {high}"
        return "any size" if not low else f"{low} or more"

    # declarations -------------------------------------------------------------------------------------------------
    def declare(self, symbol: Symbol, dim: DerivedDim) -> None:
        """A size is of a declared dim: its bounds, and sizes of the same name, become facts."""
        if not isinstance(dim, Dim):
            self._derived.append((symbol, dim))
        else:
            self.bound(symbol, dim.min, dim.max)
            first = self._named.setdefault(dim.name, symbol)
            if first is not symbol:
                self.require(eq(symbol, first))
        for derived, of in list(self._derived):
            if all(each.name in self._named for each in of.dims):
                self._derived.remove((derived, of))
                self.require(eq(derived, substitute(of.size, {Symbol(e.name): self._named[e.name] for e in of.dims})))

    def bound(self, symbol: Symbol, low: int | None, high: int | None) -> None:
        for relation in (*([] if low is None else [ge(symbol, low)]), *([] if high is None else [le(symbol, high)])):
            self.require(relation)

    def require(self, relation: Relation) -> None:
        """What holds in this call by declaration holds from now on."""
        if self.facts.decide(relation) is None:
            self._note(relation, self.facts.assume(relation), "declared")

    def guards(self) -> tuple[Guard, ...]:
        """A guard for each fact that does not follow from the others."""
        places = {name: number.source for name, number in self.numbers.items() if number.source is not None}
        needed = Facts(points=Points(self.at_hand)).minimal(self.asked, self.at_hand)
        return tuple(relation_guard(fact, places, self.asked[fact]) for fact in needed)

    # values -------------------------------------------------------------------------------------------------------
    def value(self, size: Size) -> Value:
        """A size as a Python int."""
        size = self.facts.simplify(size) if isinstance(size, Expr) else size
        if isinstance(size, int):
            return Constant(size)
        if isinstance(size, Symbol) and size.name in self.numbers:
            return self.numbers[size.name]
        example = self.example(size)
        if example is None:
            return computed_size(self.tracer, size)
        names = sorted(symbol.name for symbol in size.symbols)
        parts = [self.numbers[name] for name in names]
        return NumberValue(example, function=function_of(size, tuple(names)), parts=parts, size=size)

    def known(self, size: Size) -> int:
        """A size that the trace needs as a number: it starts again with it as a constant."""
        size = self.facts.simplify(size) if isinstance(size, Expr) else size
        if isinstance(size, int):
            return size
        raise self.refusal(UnknownSize("the size {} must be known", size))

    def refusal(self, error: UnknownSize) -> Exception:
        """What to do about sizes that an operation must know."""
        sources = self.sources(*error.sizes)
        if not sources:
            return GraphBreak(str(error), "op")
        words = error.message.format(*(size_in_words(size, self.names) for size in error.sizes))
        return Specialise(sources, f"{words}{self._what_for('for')}")


def _source_text(frame: Frame) -> str:
    """The expression that a frame evaluates, if it is short and its source can be read."""
    line, end_line, column, end_column = frame.instruction.position
    if line is None or end_line != line or column is None or end_column is None:
        return ""
    text = linecache.getline(frame.code.original.co_filename, line).encode()[column:end_column].decode(errors="replace")
    return text if len(text) <= LONGEST_TEXT else ""


@lru_cache(maxsize=1024)
def function_of(size: Size, names: tuple[str, ...]) -> Callable[..., int]:
    """Python's way from the symbols to the size."""
    found: Mapping[str, Any] = {"min": min, "max": max, "__builtins__": {}}
    return eval(f"lambda {', '.join(names)}: {to_python(size)}", dict(found))  # type: ignore[no-any-return]
