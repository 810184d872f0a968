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

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from capture.frames.breaks import GraphBreak
from capture.frames.dims import DerivedDim, Dim
from capture.frames.guards import Guard
from capture.frames.size_guards import in_words, relation_guard
from capture.frames.sources import LARGEST_SIZE, Dimension, Source
from capture.frames.values.base import Value
from capture.frames.values.constants import Constant
from capture.frames.values.numbers import NumberValue, Specialise
from capture.ir.shapes import (
    Expr,
    Facts,
    Relation,
    Size,
    Symbol,
    eq,
    evaluate,
    ge,
    holds,
    le,
    negate,
    substitute,
    tidy,
    to_python,
)
from capture.ir.sizes import Known, UnknownSize

if TYPE_CHECKING:
    from capture.frames.tracer import Tracer
    from capture.frames.values.arrays import ArrayValue

MOST_ROUNDS = 1
"""How often an instruction may ask something new about sizes: a loop that does so has a length that changes."""


class Sizes(Known):
    """The symbols of one trace, and the facts about them."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer
        self.numbers: dict[str, NumberValue] = {}  # by symbol
        self.owners: dict[str, ArrayValue] = {}  # whose sizes the symbols are; the others are ints
        self.asked: dict[Relation, tuple[int | None, str]] = {}  # what became a fact: line, what for
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
        self.numbers[symbol.name] = NumberValue(example, source=Dimension(owner.source, axis), size=symbol)
        return symbol

    def number(self, value: NumberValue, low: int, high: int) -> None:
        """Give a Python int from outside its symbol."""
        value.size = Symbol(f"k{len(self.numbers)}", low, high)
        self.numbers[value.size.name] = value

    def example(self, size: Size) -> int | None:
        """What a size is this time; None if it depends on what arrays hold."""
        if isinstance(size, int):
            return size
        if any(symbol.name not in self.numbers for symbol in size.symbols):
            return None
        return evaluate(size, {symbol.name: self.numbers[symbol.name].example for symbol in size.symbols})

    def sources(self, *sizes: Size) -> frozenset[Source] | None:
        """Where the symbols of sizes come from; None if one comes from what arrays hold."""
        symbols = frozenset[Symbol]().union(*(size.symbols for size in sizes if isinstance(size, Expr)))
        if any(symbol.name not in self.numbers for symbol in symbols):
            return None
        return frozenset[Source]().union(*(self.numbers[symbol.name].sources for symbol in symbols))

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
        size = value.size if isinstance(value, NumberValue) else None
        if isinstance(size, Expr):
            self.require_inputs(size)
        return size

    def finish(self) -> None:
        """What tells the sizes that stand for those of the graph's inputs is an input too."""
        for name, number in list(self.numbers.items()):
            owner = self.owners.get(name, number)
            if owner.node is not None:
                self.require_inputs(self.facts.simplify(number.size))

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
            raise UnknownSize(f"whether {relation} depends on what an array holds", relation.left, relation.right)
        env = {symbol.name: self.numbers[symbol.name].example for symbol in relation.symbols}
        answer = holds(relation, env)
        fact = tidy(relation if answer else negate(relation))
        facts = self.facts.assume(fact)
        fixed = [symbol for symbol, size in facts.solved.items() if isinstance(size, int)]
        if fixed:
            raise Specialise(self.sources(*fixed) or frozenset(), f"{self.in_words(fact)} is needed{self._by()}")
        self._note(fact, facts, self.doing)
        return answer

    def _by(self) -> str:
        return f" by {self.doing}" if self.doing else ""

    def _note(self, fact: Relation, facts: Facts, why: str) -> None:
        tracer = self.tracer
        line = tracer.frames[-1].instruction.line if tracer.frames else None
        tracer.journal.set(self, "facts", facts)
        tracer.journal.put(self.asked, fact, (line, why))

    def in_words(self, relation: Relation) -> str:
        """A relation in the user's terms."""
        return in_words(relation, {name: number.describe_source() for name, number in self.numbers.items()})

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
        return tuple(relation_guard(fact, places, *self.asked[fact]) for fact in Facts().minimal(self.asked))

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
            raise GraphBreak(f"the size {size} depends on what an array holds", "python")
        names = sorted(symbol.name for symbol in size.symbols)
        parts = [self.numbers[name] for name in names]
        return NumberValue(example, function=function_of(size, tuple(names)), parts=parts, size=size)

    def known(self, size: Size) -> int:
        """A size that the trace needs as a number: it starts again with it as a constant."""
        size = self.facts.simplify(size) if isinstance(size, Expr) else size
        if isinstance(size, int):
            return size
        raise self.refusal(UnknownSize(f"the size {size} must be known", size))

    def refusal(self, error: UnknownSize) -> Exception:
        """What to do about sizes that an operation must know."""
        sources = self.sources(*error.sizes)
        return GraphBreak(str(error), "op") if not sources else Specialise(sources, f"{error}{self._by()}")


@lru_cache(maxsize=1024)
def function_of(size: Size, names: tuple[str, ...]) -> Callable[..., int]:
    """Python's way from the symbols to the size."""
    found: Mapping[str, Any] = {"min": min, "max": max, "__builtins__": {}}
    return eval(f"lambda {', '.join(names)}: {to_python(size)}", dict(found))  # type: ignore[no-any-return]
