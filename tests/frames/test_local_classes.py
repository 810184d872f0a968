"""Classes made inside a function: Python makes them, at one break; array work before and after it is captured."""

import operator

import numpy as np
import pytest

from tests.frames.tables import break_everywhere, broken, expressions, whole


def plain(x, y):
    x = x + 1

    class Scaled:
        def __init__(self, a):
            self.a = a

        def twice(self):
            return self.a * 2

    return Scaled(x).twice() + y


def over_a_closure(x, y):
    z = x * 2

    class Base:
        def value(self):
            return z + 1

    class Derived(Base):
        __slots__ = ()
        scale = y.ndim + 1

        def value(self):
            return super().value() * self.scale

    return Derived().value() + y


def with_keywords(x, y):
    x = x + y

    class Plugin:
        seen = []  # noqa: RUF012

        def __init_subclass__(cls, name="", **rest):
            super().__init_subclass__(**rest)
            Plugin.seen.append(name)

    class First(Plugin, name="first"):
        pass

    return x * len(Plugin.seen), First.seen


BREAKS = {plain: 1, over_a_closure: 2}


@pytest.mark.parametrize("function", BREAKS, ids=lambda f: f.__name__)
def test_one_break_for_each_class(function):
    graphs, breaks = broken(function, rounds=1)
    assert breaks == BREAKS[function] and graphs >= 2


@pytest.mark.parametrize("function", [*BREAKS, with_keywords], ids=lambda f: f.__name__)
def test_breaks_everywhere(function):
    break_everywhere(function)


OPERATORS = expressions("""
in place :: [z := x + 0, operator.ifloordiv(z, 2.0), operator.ior({"a": 1}, {"b": 2}), operator.ipow(3, 2), z]
shifts :: (operator.lshift(1, 3) * x, operator.rshift(8, 1), operator.irshift(8, 2), operator.ixor(5, 1))
concat :: (operator.concat([x], [y]), operator.concat("a", "b"), x + 1)
iconcat :: [items := [x], operator.iconcat(items, (y,)), items, x + 1]
items :: [items := [x, y], operator.setitem(items, 0, x + 1), items[0], operator.delitem(items, 1), items]
countOf :: (operator.countOf([1, 2, 1], 1), x + 1)
""", {"operator": operator, "np": np})  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_by_name(name):
    whole(OPERATORS[name])
    break_everywhere(OPERATORS[name])
