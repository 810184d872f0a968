"""Closures, defaults, arguments of all kinds, decorators, globals: what a function is called with and remembers."""

import functools
import math

import numpy as np

from tests.corpus import case
from tests.helpers import numbers

scale = 2.0
weights = np.array([1.0, 2.0, 3.0])
settings = {"rate": 0.5, "steps": [1, 2, 3], "names": ("a", "b")}
history = []
calls = 0


# Globals ------------------------------------------------------------------------------------------------------------
@case(numbers(3))
@case(numbers(2, 3))
def reads_globals(x):
    return x * scale + weights - settings["rate"], len(settings["steps"])


@case(numbers(3))
def counts_its_calls(x):
    global calls
    calls += 1
    y = x * calls
    history.append(calls)
    return y


@case(numbers(3), "kept")
def keeps_arrays_in_a_global(x, name):
    y = np.sqrt(x) + 1
    settings[name] = y
    settings["last"] = name
    history.append(y)
    del settings["last"]
    return settings[name] * 2


@case(numbers(3))
def makes_and_deletes_a_global(x):
    global made, calls
    made = x + 1
    y = made * 2
    del made
    calls = 5
    return y, "made" in globals()


def helper(a, b=2.0, *, negate=False):
    return -(a * b) if negate else a * b + scale


@case(numbers(3))
def calls_helpers(x):
    return helper(x) + helper(x, 3.0) + helper(x, negate=True) + helper(b=x, a=1)


# Arguments ----------------------------------------------------------------------------------------------------------
@case(numbers(3), 1, 2, 3, k=4, z=numbers(3))
@case(numbers(3))
@case(numbers(3), y=2.0)
def takes_anything(x, y=1.0, *args, k=2, **kwargs):
    total = x * y + k
    for value in args:
        total = total + value
    for name in kwargs:
        total = total * kwargs[name]
    return total, args, kwargs


@case(numbers(3), 2, c=3)
def positional_and_keyword_only(a, b, /, *, c, d=None):
    d = np.ones(3) if d is None else d
    return a * b + c * d


@case(numbers(3))
def passes_on(x):
    pair, named = (x, 2), {"k": 3, "extra": x}
    return takes_anything(*pair, 5, **named), takes_anything(x, **{"y": 7})


@case(numbers(3))
@case(numbers(3), [numbers(3)])
def default_that_is_changed(x, seen=[]):  # noqa: B006
    y = x + len(seen)
    seen.append(y)
    return y, len(seen)


@case(numbers(3))
def wrong_arguments(x):
    y = x * 2
    try:
        return helper()
    except TypeError as error:
        return y + 1, str(error)


@case(numbers(3))
def too_many_arguments(x):
    y = x * 2
    return helper(y, 1, 2)


# Closures -----------------------------------------------------------------------------------------------------------
def make_accumulator(start):
    total, count = start, 0

    def add(x, *, weight=1.0):
        nonlocal total, count
        total = total + x * weight
        count += 1
        return total

    def mean():
        return total / count

    return add, mean


add, mean = make_accumulator(0.0)


@case(numbers(3))
def writes_cells_of_another(x):
    y = x * 2
    first = add(y)
    second = add(x, weight=0.5)
    return first, second, mean()


def make_counter():
    count = 0

    @case(numbers(3))
    def counts_in_its_closure(x):
        nonlocal count
        count += 1
        y = x * count
        count += 1
        return y + count

    return counts_in_its_closure


counts_in_its_closure = make_counter()


def make_scaled(factor, offset):
    @case(numbers(3))
    def reads_its_closure(x):
        z = x * factor
        return [z + offset[k] for k in range(len(offset))]

    return reads_its_closure


reads_its_closure = make_scaled(3.0, [1, 2.5, np.ones(3)])


@case(numbers(3))
def closures_that_share(x):
    count = 0

    def up(by=1):
        nonlocal count
        count += by
        return x * count

    def down():
        nonlocal count
        count -= 1
        return x - count

    first = up() + up(2)
    x = x * 10
    return first, down(), up, count


@case(numbers(3))
def closure_that_escapes(x):
    kept = [x + 1]

    def later(k):
        kept.append(k)
        return kept[0] * k

    y = later(2)
    history.append(len(kept))
    return later, y


@case(numbers(3), 4)
def recursion_with_arrays(x, n):
    if n == 0:
        return x
    return recursion_with_arrays(x * 0.5 + n, n - 1) + x


@case(numbers(3))
def mutual_recursion(x):
    def even(a, n):
        return a if n == 0 else odd(a + 1, n - 1)

    def odd(a, n):
        return -a if n == 0 else even(a * 2, n - 1)

    return even(x, 4), odd(x, 3)


@case(numbers(3))
def late_binding(x):
    functions = [lambda a, k=k: a * k + scale for k in range(3)]
    scale_here = 5
    read = lambda: scale_here  # noqa: E731
    scale_here = 6
    return [function(x) for function in functions], read()


@case(numbers(3))
def unbound_in_a_closure(x):
    def read():
        return late + 1

    y = x * 2
    try:
        read()
    except NameError as error:
        text = str(error)
    late = y
    return read(), text


@case(numbers(3))
def deletes_a_cell(x):
    kept = x + 1

    def read():
        return kept

    y = read() * 2
    del kept
    try:
        return read()
    except NameError:
        return y


# Decorators ---------------------------------------------------------------------------------------------------------
def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        history.append(function.__name__)
        return function(*args, **kwargs)

    return wrapper


def scaled_by(factor):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(x * factor) + factor

        return wrapper

    return decorate


class Counted:
    def __init__(self, function):
        self.function = function
        self.count = 0

    def __call__(self, x):
        self.count += 1
        return self.function(x) * self.count


@logged
@scaled_by(3.0)
def decorated(x):
    return np.tanh(x)


@Counted
def counted(x):
    return x + 1


@case(numbers(3))
def calls_decorated(x):
    y = decorated(x)
    z = counted(y)
    return z + counted(x), counted.count


@case(numbers(3))
@logged
@scaled_by(2.0)
def is_decorated(x):
    return np.sin(x) + math.pi


@functools.lru_cache(maxsize=4)
def coefficients(n):
    history.append(n)
    return np.arange(n) * 2.0


@functools.cache
def factorial(n):
    return n * factorial(n - 1) if n else 1


@case(numbers(3))
def uses_caches(x):
    return x * coefficients(3) + factorial(4) + coefficients(3)[0]


@functools.singledispatch
def describe(value):
    return "?"


@describe.register
def _(value: int):
    return value + 1


@describe.register(np.ndarray)
def _(value):
    return value.ndim


@case(numbers(3))
def dispatches(x):
    return x * describe(x) + describe(3), describe("a")


@case(numbers(3))
def attributes_of_functions(x):
    helper.count = getattr(helper, "count", 0) + 1
    return helper(x) * helper.count, helper.__name__


@case(numbers(3))
def functions_in_containers(x):
    table = {"sin": np.sin, "double": lambda a: a * 2, "helper": helper}
    order = ["double", "sin", "helper"]
    for name in order:
        x = table[name](x)
    return x


@case(numbers(3), np.exp)
@case(numbers(3), helper)
@case(numbers(3), abs)
def takes_a_function(x, function):
    return function(x) + 1, function(-x)
