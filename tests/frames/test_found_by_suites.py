"""Kinds of program that the test suites of CPython and NumPy brought up; see docs/everything.md."""

import abc
import collections
import fractions
import itertools
import numbers as abstract
import operator
import os
import random
import sys
import typing
import warnings
import weakref

import numpy as np
import pytest

from tests.helpers import captured, numbers


class Noted:
    """Assigns as ``object`` does, by a ``__setattr__`` of its own."""

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)


class Refusing:
    def __setattr__(self, name, value):
        if not name.startswith("_"):
            raise AttributeError(name)
        super().__setattr__(name, value)


@pytest.mark.parametrize("kind", [Noted, Refusing])
def test_what_setattr_assigns_does_not_go_through_it_again(kind):
    owner = kind()

    def f(owner, x):
        owner._last = x
        return x * 2

    run = captured(f)
    run(owner, numbers(3))
    assert run.graphs == 1


def test_annotations_are_part_of_functions():
    def g(a: int) -> str: ...

    def f(x):
        return x + 1, getattr(g, "__annotations__", None), typing.get_type_hints(g)

    run = captured(f)
    assert run(numbers(3))[1:] == ({"a": int, "return": str},) * 2
    assert run.graphs == 1


@pytest.mark.parametrize(("kind", "dtype"), [(np.iinfo, "i4"), (np.iinfo, "u1"), (np.finfo, "f4")])
def test_facts_of_types_are_made(kind, dtype):
    def f(x, info):
        (info._init if hasattr(info, "_init") else info.__init__)(dtype)
        return x * info.max, info.bits

    captured(f).on(lambda: (numbers(3), object.__new__(kind)))


class Target: ...


def test_proxies_have_the_class_of_what_they_stand_for():
    target = Target()
    proxy = weakref.proxy(target)

    def f(x):
        return x + 1, proxy.__class__, type(proxy)

    assert captured(f)(numbers(3))[1:] == (Target, weakref.ProxyType)


def is_gone(levels, x):
    """Break in a function that is evaluated inline, and let go of an object behind that."""
    if levels:
        return is_gone(levels - 1, x), x * 2
    target = Target()
    reference = weakref.ref(target)
    print(x[0])
    y = x + 1
    del target
    print(x[1])
    return reference() is None, y


@pytest.mark.parametrize("levels", [0, 1, 2, 3])
def test_objects_end_in_resumed_callees(levels):
    def f(x):
        return is_gone(levels, x)

    run = captured(f)
    for _ in range(2):
        result = run(numbers(3))
        for _ in range(levels):
            result, _ = result
        assert result[0]
    assert run.graphs >= 2


def test_accumulate_goes_on_from_none():
    def f(x):
        steps = itertools.accumulate([None, None, None], operator.is_)
        first = next(steps)
        print(x[0])
        return x + 1, first, list(steps)

    run = captured(f)
    assert run(numbers(3))[1:] == (None, [True, False])
    assert run.graphs == 2


class Dice(random.Random):
    def seed(self, *args):
        super().seed(7)


class Rows(list):
    def append(self, item):
        return super().append(item * 2)

    @property
    def plainly(self):
        return super().append


def test_super_finds_methods_in_c():
    def f(x):
        dice, rows = Dice(), Rows()
        rows.append(2)
        rows.plainly(3)
        return x + 1, dice.random(), list(rows), type(rows.plainly), type(super(Rows, rows).__len__)

    run = captured(f)
    assert run(numbers(3))[2] == [4, 3]
    assert run.graphs >= 1


class Wrapping:
    @classmethod
    @property
    def named(cls):
        return cls.__name__

    length = classmethod(len)
    other = classmethod(3)


@pytest.mark.parametrize("name", ["named", "length", "other"])
def test_class_methods_of_what_is_no_function(name):
    def f(x):
        return x + 1, type(getattr(Wrapping, name))

    captured(f)(numbers(3))


def test_methods_in_c_that_must_be_told_the_class():
    def f(x, folder):
        with os.scandir(folder) as entries:
            found = [entry.is_dir(follow_symlinks=False) for entry in entries]
        return x + 1, len(found) > 0

    assert captured(f)(numbers(3), os.path.dirname(__file__))[1]


@pytest.mark.parametrize("large", [2**62 - 1, 2**63, 10**400])
def test_comparing_open_numbers_with_large_ones(large):
    def f(x, n):
        if n * large < large + 7 or n > large or n * 4 == large:
            return x * n
        return x - n

    run = captured(f)
    for n in (0, 1, 2, 3, -4, 5):
        run(numbers(3), n)
    assert run.graphs >= 2


def test_large_numbers_that_change_are_computed_with():
    def f(x, n, w):
        half = w >> 1
        high = n >> 3
        low = n - (high << 3)
        return x * 2, half, high, low | 8, (n ^ w) & 255, n * n - w

    run = captured(f)
    for exponent in range(70, 80):
        run(numbers(3), 3**exponent, exponent)
    assert run.graphs <= 3
    assert run.breaks == []


def test_numbers_do_not_grow_without_end_while_tracing():
    def f(x, n):
        for _ in range(40):
            n = n * n % 1000003 if n > 2**4000 else n * n
        return x + n % 7

    run = captured(f)
    for n in (3, 4, 3**5000, 5**5000):
        run(numbers(3), n)
    assert run.graphs >= 2


class Odd:
    __subclasses__ = None


@pytest.mark.parametrize("kind", [3, "int", (), Odd, int | str, (int, 4), abstract.Number])
@pytest.mark.parametrize("question", [isinstance, issubclass])
def test_questions_about_what_is_no_class(question, kind):
    def f(x, value):
        return x + 1, question(value, kind)

    captured(f)(numbers(3), bool if question is issubclass else True)


class Abstract(abc.ABC):
    __subclasses__ = None

    @abc.abstractmethod
    def work(self): ...


def test_a_class_says_itself_what_its_subclasses_are():
    def f(x):
        return x + 1, issubclass(complex, abstract.Complex), issubclass(int, Abstract)

    captured(f)(numbers(3))


@pytest.mark.parametrize("spec", [None, 3, "", ".3f", "no such"])
def test_specifications_of_formats_are_strings(spec):
    def f(x, value):
        return x + 1, format(value, spec)

    captured(f)(numbers(3), fractions.Fraction(2, 3))


class Hinted:
    """``hint`` is a number, or the kind of what is raised where it is asked for."""

    def __init__(self, hint):
        self.hint, self.asked = hint, []

    def __iter__(self):
        self.asked.append("items")
        return iter((1, 2))

    def answer(self):
        self.asked.append("length")
        if not isinstance(self.hint, int):
            raise self.hint("not known")
        return self.hint


class Estimated(Hinted):
    __length_hint__ = Hinted.answer


class Sized(Hinted):
    __len__ = Hinted.answer


@pytest.mark.parametrize("make", [list, tuple, sorted, lambda values: [*values], lambda values: [0].extend(values)])
@pytest.mark.parametrize("kind", [Estimated, Sized])
@pytest.mark.parametrize("hint", [2, 7, ValueError, TypeError])
def test_lists_ask_for_the_length(make, kind, hint):
    def f(x, values):
        return x + 1, make(values)

    captured(f)(numbers(3), kind(hint))


class Ending:
    def __init__(self, seen, box):
        self.seen, self.box = seen, box

    def __del__(self):
        self.seen.append(self.box[0])


def replaced(obj, box):
    box[0] = 5
    obj = 3
    return obj


def deleted(obj, box):
    box[0] = 5
    del obj


@pytest.mark.parametrize("end", [replaced, deleted])
def test_writes_come_before_what_ends_behind_them(end):
    def f(x):
        seen, box = [], [0]
        obj = Ending(seen, box)
        obj = end(obj, box) if x.ndim > 1 else obj  # evaluated inline, where the caller still has it
        box[0] = 1
        del obj
        print(x[0])
        return x + 1, seen

    run = captured(f)
    assert run(numbers(3))[1] == [1]
    assert run(numbers(2, 2))[1] == [5]
    assert run.graphs >= 2


class Emptying:
    """Empties a list whenever it is compared."""

    def __init__(self, other):
        self.other = other

    def __eq__(self, value):
        self.other.clear()
        return NotImplemented

    __hash__ = None


@pytest.mark.parametrize(
    "compare",
    [
        lambda left, right, item: left == right,
        lambda left, right, item: left != right,
        lambda left, right, item: left.count(7),
        lambda left, right, item: 7 in left,
        lambda left, right, item: {"a": item, "b": left} == {"a": 7, "b": right},
    ],
)
def test_lists_that_change_while_they_are_compared(compare):
    def f(x):
        left, right = [], []
        item = Emptying(left)
        left += [item, 7, item]
        right += [Emptying(right), 7, 8]
        found = compare(left, right, item)
        return x + 1, found, len(left), len(right)

    captured(f)(numbers(3))


def test_a_list_is_empty_while_it_is_sorted():
    def f(x, meddle):
        values, seen = [3, 1, 2], []

        def key(value):
            seen.append(len(values))
            if meddle:
                values.append(value)
            return value

        try:
            values.sort(key=key)
        except ValueError as error:
            seen.append(str(error))
        return x + 1, values, seen

    run = captured(f)
    assert run(numbers(3), False)[1:] == ([1, 2, 3], [0, 0, 0])
    assert run(numbers(3), True)[2] == [0, 1, 2, "list modified during sort"]
    assert run.graphs >= 1


class Restless:
    """Has another hash each time."""

    def __init__(self):
        self.asked = 0

    def __hash__(self):
        self.asked += 1
        return self.asked


RESTLESS = collections.OrderedDict([(Restless(), 1), (Restless(), 2)])


def test_dicts_whose_keys_are_not_found_again():
    def f(x):
        RESTLESS["a"] = 3
        return x + 1, len(RESTLESS)

    run = captured(f)
    assert run(numbers(3))[1] == 3
    assert run.graphs == 1


def test_constants_as_keys_are_the_objects_themselves():
    def f(x):
        first, second = (1, "a"), (None,)
        table = dict.fromkeys([first, second], 0)
        table[second] = 3
        print(x[0])
        return x + 1, [key is wanted for key, wanted in zip(table, (first, second), strict=True)]

    run = captured(f)
    assert run(numbers(3))[1] == [True, True]
    assert run.graphs == 2


class Counted:
    alive = 0

    def __init__(self):
        Counted.alive += 1

    def __del__(self):
        Counted.alive -= 1


def made(count):
    return [Counted() for _ in range(count)]


@pytest.mark.parametrize("wrap", [lambda first, *rest: first, lambda *all: [*all], lambda *all: {"all": (all, 1)}])
@pytest.mark.parametrize("how", ["del", "assign", "pop"])
def test_what_a_finalizer_writes_is_read_behind_it(wrap, how):
    def f(x):
        first, second, third = made(3)
        kept = wrap(first, second, third)
        del first, second, third
        seen = [Counted.alive]
        if how == "del":
            del kept
        elif how == "assign":
            kept = None
        else:
            made(2)
        seen.append(Counted.alive)
        return x + 1, seen

    run = captured(f)
    before = Counted.alive
    alive = [count - before for count in run(numbers(3))[1]]
    assert alive[1] == (alive[0] if how == "pop" else 0)
    assert run.graphs == 1


def test_what_was_warned_of_once_is_not_shown_again():
    def f(x):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            for _ in range(3):
                warnings.warn("only once", stacklevel=1)
                x = np.sqrt(x + np.float64("3"))
        return x, len(found)

    run = captured(f)
    assert run(numbers(3))[1] == 1
    assert run.graphs >= 1


@pytest.mark.parametrize("order", [sorted, lambda values: values.sort() or values])
@pytest.mark.parametrize(("count", "graphs", "breaks"), [(20, 4, True), (200, 2, True)])
def test_long_lists_from_outside_are_sorted_by_python(order, count, graphs, breaks):
    def f(x, values):
        y = x * 2
        return y + order(values)[0]

    run = captured(f)
    for step in (3, 7, 11):
        run(numbers(3), [value * step % count for value in range(count)])
    assert (run.graphs, bool(run.breaks)) == (graphs, breaks)


def one_of_two(x, z):
    if z.sum() == 0:
        return z
    return x


def chosen(x, z):
    y = x if (x == z).all() else z
    return y + 1


def counted(x, z):
    n = 0
    while n < 3 and z.real.sum() > n:
        n += 1
        z = z + x
    return z * n


@pytest.mark.parametrize(("function", "breaks"), [(one_of_two, False), (chosen, True), (counted, True)])
def test_decisions_about_complex_numbers(function, breaks):
    run = captured(function)
    for z in (numbers(3) * 1j, np.zeros(3, complex), numbers(3) + 0j):
        run(numbers(3) + 0j, z)
    assert run.graphs >= 1
    assert bool(run.breaks) == breaks


def forgets_a_function_of_its_own(x, found):
    f = lambda: x  # noqa: E731
    found[weakref.ref(f, lambda ref: found.pop(ref, None))] = len(found)
    return x * 2, len(found)


def forgets_a_function_it_is_given(x, made):
    f = made(x)
    seen = weakref.ref(f)
    y = f() * 2
    os.getpid()
    return y, seen() is None


@pytest.mark.parametrize(
    ("function", "argument"), [(forgets_a_function_of_its_own, dict), (forgets_a_function_it_is_given, lambda: late)]
)
def test_functions_live_as_long_as_their_variables(function, argument):
    run = captured(function)
    assert run(numbers(3), argument())[1] in (1, False)
    assert run.graphs >= 1


def late(x):
    return lambda: x + 1


LONG = 3**20_000
ON_LONG = ["str(n)", "f'{n}'", "f'{n:d}'", "n // 7", "divmod(n, 10)", "'%d' % n", "int('1' * 9_000)"]


@pytest.fixture(params=[0, 4300])
def most_digits(request):
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(request.param)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("expression", ON_LONG)
def test_very_long_numbers_are_written_read_and_divided_by_python(expression, most_digits):
    namespace = {"np": np, "n": LONG}
    exec(f"def function(x):\n    y = x * 2\n    return y + 1, {expression}", namespace)
    run = captured(namespace["function"])
    run(numbers(3))
    assert run.graphs >= 1
    assert "so many digits" in str(run.breaks)
