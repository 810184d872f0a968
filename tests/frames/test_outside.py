"""Objects from outside that are changed: which of them are one object, what is guarded of them, who else sees them."""

import collections
import sys
import types

import numpy as np
import pytest

from tests.frames.test_stores import Thing, appends, arguments
from tests.helpers import captured, numbers


# Cells and globals ----------------------------------------------------------------------------------------------------
def make_counter():
    n = 0
    last = None

    def f(x):
        nonlocal n, last
        n += 1
        last = x * n
        return last + n

    def look():
        return n, last

    def add(k):
        nonlocal n
        n += k

    return f, look, add


def both_ways(function, plain, *args):
    assert repr(function(*args)) == repr(plain(*args))


def test_nonlocal_counter():
    (f, look, add), (g, plain_look, plain_add) = make_counter(), make_counter()
    run = captured(f)
    for step in range(6):
        both_ways(run.entry, g, numbers(3))
        both_ways(look, plain_look)
        add(step), plain_add(step)
    assert run.breaks == []


def test_cells_shared_by_closures():
    def uses(x, add, look):
        add(2)
        y = x * look()[0]
        add(3)
        return y + look()[0]

    run = captured(uses)
    for _ in range(3):
        (_, look, add), (_, plain_look, plain_add) = make_counter(), make_counter()
        _, other_look, _ = make_counter()
        for reader, plain_reader in ((look, plain_look), (other_look, other_look), (look, plain_look)):
            expected = uses(numbers(3), plain_add, plain_reader)
            np.testing.assert_array_equal(run.entry(numbers(3), add, reader), expected)
    assert "write" not in run.kinds


def test_cell_of_the_function_itself_and_of_another():
    def make():
        n = 1

        def f(x, bump):
            nonlocal n
            n += 1
            bump()
            y = x * n
            n *= 2
            bump()
            return y + n

        def bump():
            nonlocal n
            n += 10

        return f, bump

    (f, own), (_, other) = make(), make()
    (g, plain_own), (_, plain_other) = make(), make()
    run = captured(f)
    for bump, plain_bump in ((own, plain_own), (other, plain_other), (own, plain_own)):
        np.testing.assert_array_equal(run.entry(numbers(3), bump), g(numbers(3), plain_bump))
    assert run.kinds == []


TABLE = {"n": 0}
COUNT = 0


def counts_globally(x):
    global COUNT
    COUNT += 1
    TABLE["n"] += COUNT
    TABLE["last"] = y = x * COUNT
    return y, sys.modules[__name__].COUNT == COUNT


def test_globals_and_dicts_in_globals():
    global COUNT
    run = captured(counts_globally)
    seen = []
    for call in (run.entry, counts_globally):
        COUNT = 0
        TABLE.clear()
        TABLE["n"] = 0
        seen.append([[(y.tolist(), same) for y, same in [call(numbers(3)) for _ in range(4)]], repr(TABLE), COUNT])
    assert seen[0] == seen[1]
    assert "write" not in run.kinds


def stores_in_a_module(x, module):
    module.found = x + 1
    y = module.found * 2
    module.found = 3
    return y + module.found


def test_attributes_of_modules():
    run = captured(stores_in_a_module)
    module = types.ModuleType("m")
    for _ in range(2):
        np.testing.assert_array_equal(run.entry(numbers(3), module), (numbers(3) + 1) * 2 + 3)
        assert module.found == 3
    assert run.breaks == []


# Identity -------------------------------------------------------------------------------------------------------------
def two_lists(x, a, b):
    a.append(1)
    n = len(b)
    b.append(n)
    a[0] = b[-1]
    return x + b[0], len(a)


def two_dicts(x, a, b):
    a["k"] = 1
    found = b.get("k", 2)
    b["k"] = 3
    return x + found + a["k"], len(a), list(b)


def two_objects(x, a, b):
    a.n = 1
    b.n += 1
    del a.m
    return x + a.n, hasattr(b, "m")


def dict_and_object(x, a, b):
    a["n"] = 5
    b.n += 1
    b.m = x
    return x + a["n"], len(a), hasattr(b, "k")


class Pair:
    def __init__(self):
        self.n, self.m = 10, 20


def lists(same):
    a = [7]
    return numbers(3), a, a if same else [8]


def dicts(same):
    a = {"k": 7}
    return numbers(3), a, a if same else {"k": 8}


def pairs(same):
    a = Pair()
    return numbers(3), a, a if same else Pair()


def own_dict(same):
    b = Pair()
    return numbers(3), vars(b) if same else {"n": 3}, b


@pytest.mark.parametrize(
    ("function", "make"),
    [(two_lists, lists), (two_dicts, dicts), (two_objects, pairs), (dict_and_object, own_dict)],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("first", [True, False])
def test_one_object_or_two(function, make, first):
    run = captured(function)
    for same in (first, first, not first, first, not first):
        run.on(lambda same=same: make(same))
    assert run.graphs >= 1


def test_namespace_as_a_dict():
    def f(x, namespace):
        global COUNT
        COUNT = 5
        namespace["COUNT"] += 1
        return x * COUNT

    run = captured(f)
    for namespace in (globals(), {"COUNT": 1}, globals()):
        expected = 6 if namespace is globals() else 5
        np.testing.assert_array_equal(run.entry(numbers(3), namespace), numbers(3) * expected)


ONES_OR_TWOS = {
    "lists": lambda same: [[1]] * 2 if same else [[1], [1]],
    "dicts": lambda same: [{}] * 2 if same else [{}, {}],
    "arrays": lambda same: [numbers(2)] * 2 if same else [numbers(2), numbers(2)],
    "sets": lambda same: [{1}] * 2 if same else [{1}, {1}],
    "objects": lambda same: [Pair()] * 2 if same else [Pair(), Pair()],
}


@pytest.mark.parametrize("name", ONES_OR_TWOS)
def test_identity_is_guarded(name):
    run = captured(lambda x, a, b: (x + 1, a is b, b is not a))
    for same in (False, True, False, True):
        run.on(lambda same=same: (numbers(3), *ONES_OR_TWOS[name](same)))


def holds_itself(x, a, b):
    a.append(b)
    b.append(a)
    a.append(a)
    return x + 1, a[-1] is a, a[-2][-1] is a, len(a)


def test_what_holds_itself():
    """Portraits cannot be taken of rings; the parts are looked at."""
    run = captured(holds_itself)
    for function in (run.entry, holds_itself):
        a, b = [1], [2]
        y, *found = function(numbers(3), a, b)
        assert found == [True, True, 3] and a[1] is b and b[1] is a and a[2] is a
        np.testing.assert_array_equal(y, numbers(3) + 1)


# Guards ---------------------------------------------------------------------------------------------------------------
def test_a_growing_list_is_not_looked_at():
    run = captured(appends)
    thing = Thing()
    for _ in range(20):
        run.entry(numbers(3), thing)
    assert len(thing.history) == 40 and len(run.record.variants) == 1


def test_a_growing_dict_is_not_looked_at():
    def f(x, cache, key):
        if key not in cache:
            cache[key] = x * 2
        cache["last"] = x
        return cache[key] + 1

    run = captured(f)
    cache = {}
    for n in range(20):
        cache[n] = n
        cache.pop("key", None) if n % 3 == 0 else None
        run.entry(numbers(3), cache, "key")
    assert len(run.record.variants) == 2


KEY = Pair()


def mutation(name, change):
    return pytest.param(change, id=name)


@pytest.mark.parametrize(
    "change",
    [
        mutation("longer", lambda t: t.items.append(1)),
        mutation("shorter", lambda t: t.items.pop()),
        mutation("another item", lambda t: t.items.__setitem__(0, 5)),
        mutation("item of another type", lambda t: t.items.__setitem__(0, numbers(3))),
        mutation("no list", lambda t: setattr(t, "items", (1, 2))),
        mutation("key gone", lambda t: t.table.pop("a")),
        mutation("key", lambda t: t.table.__setitem__("c", 1)),
        mutation("dict of a class", lambda t: setattr(t, "table", collections.OrderedDict(t.table))),
        mutation("key of a class", lambda t: t.table.__setitem__(KEY, 1)),
        mutation("one list", lambda t: setattr(t, "history", t.items)),
    ],
)
def test_changes_between_calls(change):
    def f(x, t):
        t.items[0] = t.items[-1]
        t.history.append(len(t.items))
        del t.items[1]
        t.table["c"] = t.table.pop("a")
        return x + len(t.table), t.items[0]

    def changed():
        x, thing = arguments()
        change(thing)
        return x, thing

    run = captured(f)
    for make in (arguments, changed, arguments, changed):
        run.on(make)


def test_what_is_read_must_be_there():
    """Though nobody looks at it."""

    def f(x, a):
        unused = a.m  # noqa: F841
        return x + 1, hasattr(a, "n")

    def without(name):
        pair = Pair()
        vars(pair).pop(name, None)
        return numbers(3), pair

    run = captured(f)
    for name in ("", "m", "n", "", "m"):
        run.on(lambda name=name: without(name))


def test_a_variable_that_is_read_must_be_bound():
    def make():
        n = 1

        def f(x):
            unused = n  # noqa: F841
            return x + 1

        def unbind():
            nonlocal n
            del n

        return f, unbind

    f, unbind = make()
    run = captured(f)
    run(numbers(3))
    unbind()
    run(numbers(3))


def test_a_class_attribute_is_read_anew():
    class Counts:
        total = 0

        def __call__(self, x):
            type(self).total += 1
            return x * Counts.total

    class Below(Counts):
        pass

    def f(x, made):
        return made(x) + made.total

    run = captured(f)
    for expected in range(1, 5):
        np.testing.assert_array_equal(run.entry(numbers(3), Counts()), numbers(3) * expected + expected)
    assert Counts.total == 4
    np.testing.assert_array_equal(run.entry(numbers(3), Below()), numbers(3) * 4 + 5)
    assert (Counts.total, Below.total) == (4, 5)
