"""Generators made and consumed inside captured code: one graph where nobody needs the object itself."""


import itertools
import math

import numpy as np
import pytest

import capture
from tests.frames.tables import break_everywhere, broken, expressions, whole
from tests.helpers import captured, numbers


def doubled(arrays):
    for array in arrays:
        yield array * 2


def two(x):
    yield x
    yield x + 1
    return 5


def delegates(x, y):
    factor = yield from two(x)
    yield y * factor
    yield from (x, y)


def accumulates(total):
    while True:
        value = yield total
        if value is None:
            return
        total = total + value


def closes(x, log):
    try:
        yield x
        yield x + 1
    finally:
        log.append(x.ndim)


def raises(x):
    yield x
    raise ValueError("a")


def prints(x):
    x = x * 2
    yield x
    print("between")
    yield x + 1


NAMESPACE = {**globals(), "itertools": itertools, "math": math}
EXPRESSIONS = expressions("""
sum :: sum(a * 2 for a in (x, y))
list :: list(doubled([x, y]))
any :: x + any(a.ndim == 1 for a in (x, y))
all :: x + all(a.ndim == 1 for a in (x, y))
tuple :: tuple(a + 1 for a in (x, y))
dict of pairs :: dict((k, v + 1) for k, v in zip("ab", (x, y)))
set :: x * len(set(k % 2 for k in range(4)))
frozenset :: x * len(frozenset(k % 2 for k in range(4)))
join :: (",".join(str(k) for k in range(3)), x + 1)
max :: x * max(a.ndim for a in (x, y))
min of nothing :: x * min((a.ndim for a in ()), default=3)
sorted :: x * sorted(k for k in (3, 1, 2))[0]
next :: next(a + 1 for a in (x, y))
next default :: next((a for a in ()), y) + 1
unpacked :: [a + b for a, b in [doubled([x, y])]]
starred :: np.stack([*doubled([x, y])])
star arguments :: np.add(*(a * 2 for a in (x, y)))
delegating :: list(delegates(x, y))
zip :: [a * b for a, b in zip(doubled([x, y]), doubled([y, x]))]
enumerate :: [i * a for i, a in enumerate(doubled([x, y]))]
map :: list(map(np.sqrt, doubled([x, y])))
nested for and if :: sum(a * b for a in (x, y) for b in (1, 2) if b > 1)
extend :: [items := [x], items.extend(a + 1 for a in (x, y)), items[2]][-1]
islice :: list(itertools.islice(doubled([x, y, x]), 2))
chain :: list(itertools.chain(doubled([x]), doubled([y])))
in :: x + (3 in (k for k in range(5))) + (7 in (k for k in range(5)))
update :: [table := {}, table.update((k, x) for k in "ab"), table["a"] + 1][-1]
of generators :: sum(sum(a * k for k in range(2)) for a in (x, y))
product :: x * math.prod(k for k in (2, 3))
in a shape :: x.reshape(tuple(n for n in x.shape)) + 1
half used :: [g := doubled([x, y, x]), next(g), list(g)][2]
its own iterator :: [g := doubled([x, y]), iter(g) is g, next(iter(g)) + 1][1:]
its type :: (type(doubled([x])).__name__, callable(doubled), x + 1)
late binding :: [f() + 1 for f in [lambda a=a: a for a in (x, y)]]
""", NAMESPACE)  # fmt: skip


def sends(x, y):
    totals = accumulates(x)
    next(totals)
    total = totals.send(y)
    try:
        totals.send(None)
    except StopIteration:
        total = total + 1
    return total


def reads_what_was_returned(x, y):
    items = two(x)
    first, second = next(items), next(items)
    try:
        next(items)
    except StopIteration as stop:
        return first + second * stop.value


def closes_early(x, y):
    log = []
    items = closes(x, log)
    first = next(items) + 1
    items.close()
    items.close()
    return first, log, list(items)


def ends_by_itself(x, y):
    log = []
    for item in closes(x, log):
        y = y * item
    return y, log


def catches_what_it_raises(x, y):
    try:
        for item in raises(x):
            x = x + item
    except ValueError as error:
        x = x * len(error.args)
    return x


def catches_what_it_raises_in_next(x, y):
    items = raises(x)
    x = x + next(items)
    try:
        next(items)
    except ValueError:
        x = x * 3
    return x, next(items, None)


def breaks_out_of_a_loop(x, y):
    for item in doubled([x, y, x]):
        x = x + item
        if item is not x:
            break
    return x


def writes_its_cells(x, y):
    count = 2

    def items():
        nonlocal count
        for _ in range(3):
            count += 1
            yield x * count

    return [item + count for item in items()]


def never_ends(x, y):
    def naturals():
        n = 0
        while True:
            n += 1
            yield n

    for n in naturals():
        x = x + n
        if n > 3:
            break
    return x


WHOLE = [
    sends, reads_what_was_returned, closes_early, ends_by_itself, catches_what_it_raises,
    catches_what_it_raises_in_next, breaks_out_of_a_loop, writes_its_cells, never_ends,
]  # fmt: skip
OTHERS = (doubled, two, delegates, accumulates, closes, raises, prints)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_make_one_graph(name):
    whole(EXPRESSIONS[name])


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_with_breaks_everywhere(name):
    break_everywhere(EXPRESSIONS[name], *OTHERS[:3])


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_statements_make_one_graph(function):
    whole(function)


# Generators that must exist -----------------------------------------------------------------------------------------
def leaves_a_generator_that_cleans_up(x, y):
    log = []
    x = x + 1
    for item in closes(x, log):
        x = x * item
        break
    return x * 2, log


def prints_between_items(x, y):
    y = y + 1
    for item in prints(x):
        y = y * item
    return y + 1


def escapes_half_used(x, y):
    x = x + 1
    items = doubled([x, y])
    first = next(items)
    print("x")
    return first, list(items)


def is_kept(x, y):
    x = x + 1
    items = doubled([x, y])
    print("x")
    return list(items), x * 2


@pytest.fixture(autouse=True)
def what_is_called_below_is_captured():
    capture.reset()


BROKEN = {
    leaves_a_generator_that_cleans_up: (3, 4),  # the call that makes it, its yield, its loop, its end
    prints_between_items: (5, 4),
    escapes_half_used: (2, 5),  # the call that makes it, its yield, next, print, list
    is_kept: (3, 3),
}


@pytest.mark.parametrize("function", BROKEN, ids=lambda f: f.__name__)
def test_breaks(function):
    assert broken(function) == BROKEN[function]


@pytest.mark.parametrize("function", [*WHOLE, *BROKEN], ids=lambda f: f.__name__)
def test_statements_with_breaks_everywhere(function):
    break_everywhere(function, *OTHERS)


def test_a_generator_that_escapes_before_it_begins():
    def f(x):
        return doubled([x, x + 1]), x * 2

    run = captured(f)
    for _ in range(2):
        items, _ = run.entry(numbers(3))
        assert items.__name__ == "doubled"
        for item, expected in zip(items, doubled([numbers(3), numbers(3) + 1]), strict=True):
            np.testing.assert_array_equal(item, expected)
    assert run.graphs == 2 and run.kinds == ["yield"]


def test_the_functions_of_generators_are_guarded():
    scale = 2

    def scaled(arrays):
        for array in arrays:
            yield array * scale

    def f(x):
        return sum(scaled([x, x + 1]))

    run = captured(f, fullgraph=True)
    run(numbers(3))
    scale = 3
    run(numbers(3))
    scaled.__code__ = (lambda arrays: [scale, *arrays]).__code__
    run(numbers(3))


def test_long_generators_stay_loops():
    def f(x):
        x = x + 1
        for k in (n for n in range(5000)):
            x = x + k
        return x * 2

    run = captured(f)
    run(numbers(3))
    run(numbers(3))
    assert run.graphs <= 4 and len(run.breaks) == 2
