"""What is known of the sizes in a graph, and how inference asks about them.

In: a question about two sizes (``same(n, m)``, ``at_least(n, 1)``) while an op's type is inferred. Out: True or False.
Numbers answer for themselves; what the facts of the graph leave open is answered by whoever builds it: the tracer
looks at the sizes it has in hand and notes what it saw as a guard, everybody else refuses with ``UnknownSize``.

>>> n, known = Symbol("n"), Known(Facts.of(le(1, Symbol("n"))))
>>> with asking(known):
...     at_least(n, 1), same(n + 1, n)
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from capture.ir.op import CannotInfer
from capture.ir.shapes import Contradiction, Expr, Facts, Relation, Size, Symbol, add, broadcast, eq, le, lt
from capture.ir.shapes.ranges import Range


class UnknownSize(CannotInfer):
    """The op needs to know more about these sizes than anybody can tell: it takes them as constants, or not at all.

    ``message`` has ``{}`` where a size is told.
    """

    def __init__(self, message: str, *sizes: Size) -> None:
        super().__init__(message.format(*sizes))
        self.message = message
        self.sizes = sizes


TESTED = (2, 1)
"""What a size that depends on data may be asked to be at least, the more first."""


class Known:
    """The facts about the sizes of one graph. They grow while the graph is built."""

    def __init__(self, facts: Facts | None = None, testable: Iterable[Symbol] = ()) -> None:
        self.facts = Facts() if facts is None else facts
        self.testable = set(testable)  # sizes that a call finds out before anything is written

    def least(self, symbol: Symbol) -> int:
        """Calls for which this size, which depends on data, is less are left to plain Python."""
        if symbol not in self.testable:
            return 0
        bounds = (bound for bound in TESTED if bound > (symbol.low or 0))
        return next((bound for bound in bounds if self.facts.implied(le(bound, symbol))), 0)

    def tests(self, relation: Relation) -> bool:
        """Have each call test the relation, where it can: it is a fact from now on."""
        testable = relation.right in self.testable and any(relation == le(bound, relation.right) for bound in TESTED)
        if testable:
            self.facts = self.facts.assume(relation)
        return testable

    def example(self, size: Size) -> int | None:
        """What a size is in the call at hand; None where there is none, or where it depends on what arrays hold."""
        return size if isinstance(size, int) else None

    def answer(self, relation: Relation) -> bool:
        """Whether the relation holds; a subclass may decide it."""
        verdict = self.facts.decide(relation)
        if verdict is None and self.tests(relation):
            return True
        if verdict is None:
            raise UnknownSize(f"whether {{}} {relation.op} {{}} is not known", relation.left, relation.right)
        return verdict


_NOTHING = Known()
_asked: ContextVar[Known] = ContextVar("asked", default=_NOTHING)


@contextmanager
def asking(known: Known) -> Iterator[None]:
    """Questions go to ``known``."""
    token = _asked.set(known)
    try:
        yield
    finally:
        _asked.reset(token)


def ask(relation: Relation) -> bool:
    """Whether the relation holds in the graph that is being built."""
    return _asked.get().answer(relation)


def same(a: Size, b: Size) -> bool:
    """Whether two sizes are equal."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return a == b or ask(eq(a, b))


def same_shape(a: tuple[Size, ...], b: tuple[Size, ...]) -> bool:
    return len(a) == len(b) and all(map(same, a, b))


def broadcast_together(a: Size, b: Size) -> Size:
    """The size of two dims together; ``ValueError`` where they cannot be combined."""
    while True:
        size, needed = broadcast(a, b, _asked.get().facts)
        if needed is None or ask(needed):
            return size


def at_least(size: Size, bound: Size) -> bool:
    """Whether a size is ``bound`` or more."""
    if isinstance(size, int) and isinstance(bound, int):
        return size >= bound
    return ask(le(bound, size))


def example_of(size: Size) -> int | None:
    return _asked.get().example(size)


def range_of_size(size: Size) -> Range:
    """The least and the largest value that are known of it."""
    return _asked.get().facts.range(size)


def negative_means_none(bound: Size, size: Size) -> bool:
    """Whether a bound, where it is negative, is that of no element, counted from the end of ``size`` elements."""
    facts = _asked.get().facts
    if isinstance(bound, int) or facts.decide(le(0, bound)) is not None:
        return False
    try:
        return facts.assume(lt(bound, 0)).implied(le(add((bound, size)), 0))
    except Contradiction:
        return False


def simplified(size: Size) -> Size:
    """An equal size in the simplest form that the facts allow."""
    return _asked.get().facts.simplify(size) if isinstance(size, Expr) else size
