"""Dataclasses, named tuples, enumerations, typed dicts, simple namespaces, abstract classes, properties with caches."""

import abc
import collections
import dataclasses
import enum
import functools
import types
import typing

import numpy as np

from tests.corpus import case
from tests.helpers import numbers


@dataclasses.dataclass
class Config:
    rate: float = 0.5
    steps: int = 3
    names: list = dataclasses.field(default_factory=list)
    total: typing.ClassVar[int] = 7

    def __post_init__(self):
        self.names = [*self.names, "made"]

    def scaled(self, x):
        return x * self.rate * self.total


@dataclasses.dataclass(frozen=True, order=True)
class Fixed:
    x: float
    y: float = 1.0


@dataclasses.dataclass(slots=True, kw_only=True)
class Slotted:
    weight: np.ndarray
    bias: float = 0.0


@case(Config(), numbers(3))
@case(Config(0.25, 1, ["a"]), numbers(3))
def dataclasses_from_outside(config, x):
    for _ in range(config.steps):
        x = config.scaled(x) + 1
    config.steps = 1
    config.names.append("used")
    return x, dataclasses.replace(config, rate=2.0), config.rate


@case(numbers(3))
def dataclasses_made_inside(x):
    config = Config(rate=2.0, names=["k"])
    slotted = Slotted(weight=x * config.rate)
    slotted.bias = 3.0
    return config, slotted.weight + slotted.bias, slotted, dataclasses.asdict(config)["steps"]


@case(Fixed(1.0), numbers(3))
def frozen_dataclasses(fixed, x):
    other = Fixed(2.0, 3.0)
    y = x * fixed.x + other.y
    try:
        fixed.x = 3.0
    except dataclasses.FrozenInstanceError:
        return y, fixed < other, fixed == Fixed(1.0), hash(other) == hash(Fixed(2.0, 3.0)), max(fixed, other).x


Pair = collections.namedtuple("Pair", "left right", defaults=[2.0])


class Typed(typing.NamedTuple):
    x: np.ndarray
    k: int = 3

    def product(self):
        return self.x * self.k


@case(Pair(numbers(3)), Typed(numbers(3), 2))
def named_tuples(pair, typed):
    left, right = pair
    other = pair._replace(right=typed.product())
    made = Typed(left + right)
    return other, made.product(), made._asdict()["k"], typed[0] + typed[-1], made.x is made[0], Typed._fields


class Mode(enum.Enum):
    TRAIN = "train"
    TEST = "test"

    @property
    def factor(self):
        return 2.0 if self is Mode.TRAIN else 1.0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


@case(numbers(3), Mode.TRAIN)
@case(numbers(3), Mode.TEST)
def enumerations(x, mode):
    y = x * mode.factor
    match mode:
        case Mode.TRAIN:
            y = y + Level.HIGH
        case _:
            y = y - 1
    table = {Mode.TRAIN: 1, Mode.TEST: 2}
    return y, table[mode], mode.name, Mode("train") is mode, [m.value for m in Mode], Level.LOW < 2, Flags.A | Flags.B


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        """Of the shape."""

    def twice(self):
        return self.area() * 2


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2

    @functools.cached_property
    def diagonal(self):
        return np.sqrt(2) * self.side


@case(Square(numbers(3)))
def abstract_classes(square):
    return square.twice() + square.diagonal, square.diagonal, isinstance(square, Shape)


@case(numbers(3))
def abstract_classes_are_not_made(x):
    y = x + 1
    try:
        Shape()
    except TypeError:
        return y * 2


@case(types.SimpleNamespace(rate=0.5, inner=types.SimpleNamespace(k=3)), numbers(3))
def simple_namespaces(space, x):
    y = x * space.rate + space.inner.k
    space.result = y
    space.inner.k += 1
    made = types.SimpleNamespace(y=y, z=1)
    return made.y * made.z, vars(space)["rate"], space.inner.k


class Movie(typing.TypedDict):
    scale: float


@case(numbers(3))
def typed_dicts(x):
    movie: Movie = {"scale": 2.0}
    return x * movie["scale"], movie


class Box(typing.Generic[typing.TypeVar("T")]):
    def __init__(self, value):
        self.value = value

    def get(self):
        return self.value


@case(numbers(3))
def generic_classes(x):
    return Box[np.ndarray](x * 2).get() + Box(1).value


class Stack(list):
    def push(self, x):
        self.append(x)
        return len(self)


class Defaults(dict):
    def __missing__(self, key):
        return len(key)


class Text(str):
    def shout(self):
        return self.upper() + "!"


class Number(int):
    def half(self):
        return self / 2


class Signal(np.ndarray):
    """An array with a method."""

    def energy(self):
        return float((self * self).sum())


@case(numbers(3), Stack([1]), Defaults(a=2))
def derived_builtins(x, stack, named):
    n = stack.push(x * 2)
    k = named["abc"] + named["a"]
    return x * n + k, stack, Text("a").shout(), Number(3).half() + Number(4), sum(stack[:1])


@case(numbers(3))
def derived_arrays(x):
    signal = (x * 2).view(Signal)
    return signal.energy(), signal + 1, type(signal[1:]).__name__, np.asarray(signal) + x


class Failure(Exception):
    def __init__(self, x, code=3):
        super().__init__(f"failed with {code}")
        self.x = x
        self.code = code


@case(numbers(3))
def exceptions_with_attributes(x):
    try:
        y = x * 2
        raise Failure(y, code=4)
    except Failure as failure:
        return failure.x + failure.code, str(failure), failure.args


@case(numbers(3))
def exception_that_leaves_with_an_array(x):
    y = x * 2
    raise Failure(y) from KeyError("cause")
