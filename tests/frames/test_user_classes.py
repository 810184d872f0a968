"""What people's classes can do, inside captured code: one graph, as plain Python has it, wherever it breaks."""

import abc
import collections
import collections.abc
import dataclasses
import enum
import functools
import numbers as number_types
import operator
import typing

import numpy as np
import pytest

from tests.frames.tables import break_everywhere, broken, expressions, whole
from tests.helpers import captured, numbers

Pair = collections.namedtuple("Pair", "p q")
T = typing.TypeVar("T")


class Typed(typing.NamedTuple):
    p: object
    q: int = 3

    def both(self):
        return self.p * self.q


@dataclasses.dataclass
class Layer:
    weight: object
    bias: float = 1.0
    log: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.count = 2


@dataclasses.dataclass(frozen=True)
class Frozen:
    weight: object
    bias: float = 1.0


@dataclasses.dataclass(order=True)
class Ordered:
    first: int
    second: int = 0


@dataclasses.dataclass(slots=True)
class Slotted:
    weight: object
    bias: float = 1.0


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Open(enum.Flag):
    READ = 1
    WRITE = 2


class Everything:
    """One of each."""

    def __init__(self, a):
        self.a = a

    @functools.cached_property
    def kept(self):
        return self.a + 1

    def __getattr__(self, name):
        if name == "absent":
            raise AttributeError(name)
        return self.a + len(name)

    def __len__(self):
        return 3

    def __iter__(self):
        return iter((self.a, self.a + 1))


class Countdown:
    def __init__(self, a, n):
        self.a = a
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.a * self.n


class Vector:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v

    def __abs__(self):
        return 3

    def __float__(self):
        return 2.5

    def __int__(self):
        return 2

    def __index__(self):
        return 1

    def __repr__(self):
        return f"Vector({self.v.ndim})"

    def __format__(self, spec):
        return f"<{spec}>"

    def __round__(self, digits=0):
        return 4 + digits

    def __reversed__(self):
        return iter((1, 2))

    def __radd__(self, other):
        if isinstance(other, int):
            return NotImplemented
        return Vector(self.v + other)


class Sized(collections.abc.Sequence):
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Plugin(type):
    def __getitem__(cls, key):
        return cls.table[key]

    def __len__(cls):
        return len(cls.table)

    def __contains__(cls, key):
        return key in cls.table

    def __iter__(cls):
        return iter(cls.table)

    def __call__(cls, *args):
        return super().__call__(*args, len(cls.table))


class Made(metaclass=Plugin):
    table = {"a": 2, "b": 3}  # noqa: RUF012

    def __init__(self, a, n):
        self.a = a * n


class Abstract(abc.ABC):
    @abc.abstractmethod
    def scaled(self): ...


class Concrete(Abstract):
    def __init__(self, a):
        self.a = a

    def scaled(self):
        return self.a * 2


class Generic(typing.Generic[T]):
    def __init__(self, a):
        self.a = a


@functools.wraps(Typed.both)
def wrapped(value):
    return 1


@functools.lru_cache
def cached(n):
    return n * 2


NAMESPACE = {
    **globals(), "operator": operator, "number_types": number_types, "collections": collections,
    "dataclasses": dataclasses,
}  # fmt: skip
EXPRESSIONS = expressions("""
cached property :: [c := Everything(x), c.kept, c.kept + 1, vars][2]
missing attribute :: Everything(x).abc
hasattr :: x + hasattr(Everything(x), "abc") + hasattr(Everything(x), "absent") + getattr(Everything(x), "absent", 5)
iterated over :: [a * 2 for a in Everything(x)]
user iterator :: [a + 1 for a in Countdown(x, 3)]
list of it :: list(Countdown(x, 3))
sum of it :: sum(Countdown(x, 3))
any of it :: x + any(a.ndim for a in Countdown(x, 3))
unpacked :: [a + b for a, b in [Countdown(x, 2)]]
zip of it :: [a + b for a, b in zip(Countdown(x, 2), Countdown(y, 3))]
next of it :: [it := Countdown(x, 2), next(it), next(it), next(it, None), x + 1][1:]
starred :: [*Countdown(x, 2), *Countdown(y, 1)]
numbers of it :: x * abs(Vector(x)) + float(Vector(x)) + int(Vector(x)) + operator.index(Vector(x))
rounded :: x * round(Vector(x), 1)
its text :: (repr(Vector(x)), str(Vector(x)), f"{Vector(x)}", f"{Vector(x)!r}", f"{Vector(x):>3}", x + 1)
format of it :: (format(Vector(x), "3"), format(Everything, "")[:0] if 0 else "", x + 1)
reversed :: [x * k for k in reversed(Vector(x))]
reflected :: (2.5 + Vector(x)).v
sequence :: sum(Sized(x, y)) + Sized(x, y)[1]
sequence methods :: x * Sized(1, 2).index(2) + Sized(1, 1).count(1)
of a metaclass :: (Made(x).a * Made["a"] + len(Made), "a" in Made, list(Made))
abstract :: Concrete(x).scaled() + isinstance(Concrete(x), Abstract)
generic :: Generic(x).a + 1
isinstance of abstract :: x + isinstance(x, collections.abc.Sequence) + isinstance([1], collections.abc.Sequence)
isinstance of numbers :: x + isinstance(3, number_types.Integral) + isinstance(2.5, (str, number_types.Number))
isinstance of callable :: x + isinstance(len, collections.abc.Callable) + issubclass(list, collections.abc.Sized)
isinstance of user's :: x + isinstance(Sized(x), collections.abc.Sequence)
named tuple :: Pair(x, y).p + Pair(p=x, q=y).q
replaced :: Pair(x, y)._replace(p=y).p + Pair._make([x, y]).q
as a dict :: Pair(x, y)._asdict()["p"] + len(Pair._fields)
named tuples compared :: x + (Pair(1, 2) == Pair(1, 2)) + (Pair(1, 2) < (1, 3)) + (Pair(1, 2) != (1, 2))
named tuple as a tuple :: ((Pair(x, y) + (x + 1,))[-1], Pair(1, 2).index(2), 1 in Pair(1, 2), len(Pair(x, y)))
typed named tuple :: Typed(x).both() + Typed(y, 2).q
returned named tuple :: Pair(x + 1, y)
dataclass :: Layer(x).weight * Layer(x).count + Layer(y, 2.0).bias
its own list :: [layer := Layer(x), layer.log.append(y + 1), layer.log[0]][-1]
replaced dataclass :: dataclasses.replace(Layer(x), weight=y).weight + 1
dataclasses compared :: x + (Ordered(1) == Ordered(1)) + (Ordered(1) < Ordered(2))
fields :: ([field.name for field in dataclasses.fields(Layer)], dataclasses.is_dataclass(Layer), x + 1)
frozen :: Frozen(x).weight + Frozen(y, 2.0).bias
slots :: Slotted(x).weight + Slotted(y, 2.0).bias
repr of a dataclass :: (repr(Ordered(1, 2)), f"{Ordered(3)}", x + 1)
returned dataclass :: Layer(x + 1)
enum :: x * Color.RED.value + Color(2).value + Color["RED"].value
enum's class :: (len(Color), [c.name for c in Color], Color.RED in Color, isinstance(Color.RED, Color), x + 1)
enum compared :: x + (Color.RED == Color.RED) + (Color.RED is Color.BLUE) + (Color.RED in (Color.BLUE, Color.RED))
enum's text :: (repr(Color.RED), str(Color.RED), f"{Color.RED}", x + 1)
int enum :: x * Size.LARGE + Size.SMALL + (Size.SMALL < Size.LARGE) + (Size.LARGE == 2) + Size.LARGE * 3
flag :: x + (Open.READ in (Open.READ | Open.WRITE)) + bool(Open.READ & Open.WRITE)
class names :: (type(Everything(x)).__name__, Color.__qualname__, int.__name__, Color.RED.__class__.__name__, x + 1)
function names :: (wrapped.__name__, wrapped.__wrapped__.__name__, wrapped.__doc__, x + 1)
method names :: ((lambda: 0).__name__, Typed.both.__qualname__, x + 1)
""", NAMESPACE)  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_one_graph(name):
    whole(EXPRESSIONS[name])


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_breaks_everywhere(name):
    break_everywhere(EXPRESSIONS[name])


def handles_a_missing_attribute(x, y):
    try:
        x = x * Pair(x, y).absent
    except AttributeError as error:
        return x + 1, error.args


def handles_an_index_error(x, y):
    try:
        x = Sized(x)[3]
    except IndexError:
        x = x + 2
    return x * y


def handles_a_type_error(x, y):
    try:
        x = x * len(3)
    except TypeError as error:
        x = x + 1
        text = str(error)
    try:
        for k in 5:
            x = x + k
    except TypeError as error:
        return x, text, str(error)


STATEMENTS = [handles_a_missing_attribute, handles_an_index_error, handles_a_type_error]


@pytest.mark.parametrize("function", STATEMENTS, ids=lambda f: f.__name__)
def test_statements(function):
    whole(function)
    break_everywhere(function, Countdown.__next__, Sized.__getitem__)


# Breaks that stay ---------------------------------------------------------------------------------------------------
BROKEN = {
    "an unknown method of an array": (lambda x, y: (x + 1).tobytes() and y * 2, (2, 1)),
    "a call of a cached function": (lambda x, y: [x + 1, cached(3), y * 2], (2, 1)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_break_each(name):
    function, counts = BROKEN[name]
    assert broken(function) == counts


# Guards -------------------------------------------------------------------------------------------------------------
def test_what_is_registered_with_an_abstract_class_is_seen():
    class Shape(abc.ABC):  # noqa: B024
        pass

    class Round:
        pass

    def f(x, shape):
        return x * (2 if isinstance(shape, Shape) else 3)

    run = captured(f, fullgraph=True)
    run(numbers(3), Round())
    Shape.register(Round)
    run(numbers(3), Round())
    assert run.misses == ["Shape: a class has been registered with an abstract one"]


def test_names_are_guarded():
    class Old:
        pass

    def helper(x):
        return x

    def f(x):
        return x + len(helper.__name__) + len(Old.__name__)

    run = captured(f, fullgraph=True)
    run(numbers(3))
    Old.__name__ = "Older"
    run(numbers(3))
    helper.__name__ = "assistant"
    run(numbers(3))
    assert run.graphs == 3


def test_a_replaced_cached_property_is_seen():
    def f(x):
        return x + Everything(x).kept

    run = captured(f, fullgraph=True)
    run(numbers(3))
    original = vars(Everything)["kept"]
    Everything.kept = property(lambda self: self.a * 7)
    try:
        run(numbers(3))
    finally:
        Everything.kept = original


def test_a_cached_property_of_an_object_from_outside_is_kept_there():
    thing = Everything(numbers(3))

    def f(x):
        return thing.kept * x

    compiled = captured(f).entry
    first = compiled(numbers(3))
    np.testing.assert_array_equal(vars(thing)["kept"], numbers(3) + 1)
    np.testing.assert_array_equal(compiled(numbers(3)), first)


class Whole(int):
    pass


@pytest.mark.parametrize("number", [Size.LARGE, Whole(2)], ids=repr)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int16"])
def test_to_numpy_only_an_exact_int_is_weak(number, dtype):
    run = captured(lambda x: (x * 2 + number, number - x, x > number, np.maximum(x, number)))
    run(np.ones(3, dtype))
    assert run.graphs >= 1
