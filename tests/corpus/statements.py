"""Statements that make one graph: patterns, loops with else, nonlocal and global, unpacking, managers, closures."""

import contextlib
import itertools

import numpy as np

from tests.corpus import case
from tests.helpers import numbers

pair = case(numbers(3), numbers(3) + 1)
LAST = 0


@pair
def matches_a_value(x, y):
    match x.ndim:
        case 0:
            return y
        case 1:
            return x + 1
        case _:
            return x


@pair
def matches_sequences(x, y):
    match [x, y, 3]:
        case [a, b]:
            return a, b
        case [a, *rest]:
            return a + len(rest), rest


@pair
def matches_mappings(x, y):
    match {"k": x, "n": 1, "z": y}:
        case {"k": v, "n": 2}:
            return v
        case {"k": v, "n": 1, **rest}:
            return v + len(rest), rest


@pair
def matches_types(x, y):
    match (x.ndim, "relu"):
        case (str(), _):
            return y
        case (int(n), "lrelu" | "relu") if n > 1:
            return y * 2
        case (int() | float() as n, str(name)):
            return x * n, name


@pair
def matches_shapes(x, y):
    match x.shape:
        case (n, m):
            return x * m
        case (n,):
            return x * n


@pair
def for_else(x, y):
    for k in range(3):
        if k == 5:
            break
        x = x + k
    else:
        x = x * 2
    return x


@pair
def while_else(x, y):
    k = 0
    while k < 3:
        k += 1
        if k == 2:
            continue
        x = x + k
    else:
        x = x * 2
    return x


@pair
def writes_nonlocal(x, y):
    count = 0

    def step(a):
        nonlocal count
        count += 1
        return a * count

    return step(x) + step(y), count


@pair
def deletes(x, y):
    z = x + y
    table = {"a": z, "b": 1}
    del table["b"]
    items = [1, 2, 3, 4]
    del items[0]
    del items[:1]
    del x
    return z, table, items


@pair
def makes_closures(x, y):
    functions = []
    for k in range(3):

        def scaled(a, k=k):
            return a * k

        functions.append(scaled)
    late = [lambda a: a + k for k in range(2)]  # noqa: B023
    return [f(x) for f in functions], [f(y) for f in late], k


@pair
def enters_nullcontext(x, y):
    with contextlib.nullcontext(3) as k, contextlib.nullcontext():
        x = x * k
    return x + y


@pair
def leaves_nullcontext(x, y):
    for k in range(3):
        with contextlib.nullcontext():
            if k == 1:
                continue
            if k == 2:
                return x
            x = x * 2
    return y


@pair
def raises_in_nullcontext(x, y):
    try:
        with contextlib.nullcontext(2) as k:
            x = x * k
            raise KeyError("a")
    except KeyError as error:
        return x + y, error.args


@pair
def assigns_with_stars(x, y):
    a, *b, c = x, y, 1, 2
    (p, q), r = (x, y), 3
    [u, *v] = "abc"
    return a + 1, b, c, p, q, r, u, v


@pair
def augments(x, y):
    items = [1]
    items += [x]
    items *= 2
    table = {"a": x}
    table["a"] += 1
    table |= {"b": y}
    text = "a"
    text += "b"
    n = 3
    n **= 2
    n //= 2
    n <<= 2
    n |= 1
    n &= 7
    n %= 4
    return items, table, text, n


@pair
def assigns_slices(x, y):
    items = [1, 2, 3, 4]
    items[1:2] = [x, y]
    items[::2] = (5, 6, 7)[: len(items[::2])]
    items[0] = 5
    return items, x + 1


@pair
def nests_functions(x, y):
    def outer(a):
        k = 2

        def inner(b):
            nonlocal k
            k += 1
            return b * k + a

        return inner

    f = outer(x)
    return f(y) + f(y)


@pair
def recurses(x, y):
    def factorial(n):
        return 1 if n <= 1 else n * factorial(n - 1)

    return x * factorial(5)


@pair
def imports(x, y):
    import math
    import os.path

    from numpy import linalg, sqrt

    return x * math.sqrt(2.0) + sqrt(y), linalg is np.linalg, os.path.sep


@pair
def binds_arguments(x, y):
    def f(a, /, b, *, c=1, **rest):
        return a * b + c + rest.get("d", 0)

    return f(x, y) + f(x, b=y, c=2, d=3)


@pair
def annotates(x, y):
    z: np.ndarray = x + y
    w: int  # noqa: F842
    return z


@pair
def counts(x, y):
    table = {}
    for k in "abca":
        table[k] = table.get(k, 0) + 1
        table.setdefault("n", 0)
    return x * table["a"], table


@pair
def works_off_a_list(x, y):
    waiting, done = [x], []
    while waiting:
        done.append(waiting.pop() + 1)
        if len(done) < 3:
            waiting.insert(0, y)
    return done


@pair
def builds_text(x, y):
    out = ""
    for i, n in enumerate(x.shape):
        out += f"{i}:{n};"
    return out, x + 1


@pair
def keeps_half_used_streams(x, y):
    doubled = map(lambda a: a * 2, itertools.chain([x], (y, x)))
    pairs = itertools.pairwise([x, y, x, y])
    first, pair = next(doubled), next(pairs)
    return first, pair, sum(doubled), [b - a for a, b in pairs]


@pair
def returns_closures(x, y):
    k = x + 1

    def scaled(a):
        return a * k

    k = k * 2
    return scaled(y), k


@pair
def writes_a_global(x, y):
    global LAST
    x = x + y
    LAST = x.shape[0]
    x = x * LAST
    LAST += 1
    return x * LAST


class Manager:
    """Keeps an array while its block runs."""

    def __init__(self, array):
        self.array = array
        self.left = None

    def __enter__(self):
        self.array = self.array + 1
        return self.array

    def __exit__(self, kind, error, trace):
        self.left = kind, str(error)
        return kind is KeyError


@pair
def enters_a_manager(x, y):
    first = Manager(x)
    with first as z, Manager(y) as w:
        z = z * w
    return z, first.array, first.left


@pair
def leaves_a_manager_by_an_exception(x, y):
    manager = Manager(x)
    with manager as z:
        z = z * 2
        raise KeyError("k")
    try:
        with manager:
            y = y + z
            raise ValueError("v")
    except ValueError:
        return y, z, manager.left
