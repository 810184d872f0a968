"""Classes: attributes, methods, properties, descriptors, slots, inheritance, special methods, metaclasses, managers."""

import contextlib

import numpy as np

from tests.corpus import case
from tests.helpers import numbers

log = []


class Layer:
    """Weights, a class attribute, a counter, a property, a class method and a static method."""

    rate = 0.5
    made = 0

    def __init__(self, weight, bias=0.0):
        self.weight = weight
        self.bias = bias
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x * self.weight + self.bias

    def forward(self, x, *, times=1):
        for _ in range(times):
            x = self(x) * self.rate
        return x

    @property
    def size(self):
        return np.size(self.weight)

    @property
    def doubled(self):
        return self.weight * 2

    @doubled.setter
    def doubled(self, value):
        log.append("set")
        self.weight = value / 2

    @classmethod
    def ones(cls, n):
        cls.made += 1
        return cls(np.ones(n))

    @staticmethod
    def activate(x):
        return np.maximum(x, 0)


class Normalised(Layer):
    def __init__(self, weight, *, eps=1e-6):
        super().__init__(weight, bias=1.0)
        self.eps = eps

    def forward(self, x, **named):
        y = super().forward(x, **named)
        return (y - y.mean()) / (y.std() + self.eps)


@case(numbers(3), Layer(2.0))
@case(numbers(3), Layer(numbers(3), bias=1))
@case(numbers(3), Normalised(3.0))
def calls_methods(x, layer):
    y = layer(x)
    return layer.forward(y, times=2), layer.calls, layer.size, layer.activate(-y)


@case(numbers(3), Layer(2.0))
def sets_attributes(x, layer):
    layer.bias = x + 1
    layer.extra = layer.bias * 2
    layer.doubled = layer.extra
    layer.calls += 1
    name = "named"
    setattr(layer, name, 3)
    del layer.bias
    return layer.weight + layer.doubled, hasattr(layer, "bias"), getattr(layer, "zzz", None), vars(layer)


@case(numbers(3))
def makes_objects(x):
    first, second = Layer.ones(3), Normalised(x)
    first.next = second
    second.previous = first
    return first.forward(x) + second.forward(x), first, Layer.made


@case(numbers(3))
def objects_that_stay_inside(x):
    layers = [Layer(k + 1.0) for k in range(3)]
    for layer in layers:
        x = layer(x)
    return x, [layer.calls for layer in layers]


@case(numbers(3), Layer(2.0))
def stores_into_the_class(x, layer):
    Layer.rate = 0.25
    y = layer.forward(x)
    type(layer).made += 1
    Layer.rate = 0.5
    return y, layer.made, layer.forward(x)


@case(numbers(3), Layer(2.0))
def the_same_object_twice(x, layer):
    pair = [layer, layer]
    pair[0].weight = 5.0
    y = pair[1](x)
    return y, pair, layer is pair[0]


@case(Layer(2.0), Layer(3.0), numbers(3))
def two_objects(first, second, x):
    first.weight = second.weight + 1
    second.weight = x
    return first(x) + second(x)


@case(numbers(3), Layer(2.0))
def bound_methods(x, layer):
    forward, call = layer.forward, Layer.__call__
    functions = {"f": forward, "size": lambda: layer.size}
    return functions["f"](x) + call(layer, x), functions["size"](), forward.__self__ is layer


class Vector:
    """Operators."""

    def __init__(self, data):
        self.data = data

    def __add__(self, other):
        return Vector(self.data + getattr(other, "data", other))

    __radd__ = __add__

    def __mul__(self, other):
        if not isinstance(other, float | int | Vector):
            return NotImplemented
        return Vector(self.data * getattr(other, "data", other))

    def __imul__(self, other):
        self.data = self.data * other
        return self

    def __neg__(self):
        return Vector(-self.data)

    def __eq__(self, other):
        log.append("eq")
        return bool((self.data == other.data).all())

    __hash__ = None

    def __lt__(self, other):
        return float(self.data[0]) < float(other.data[0])

    def __len__(self):
        return len(self.data)

    def __bool__(self):
        return len(self.data) > 1

    def __getitem__(self, key):
        return self.data[key] if isinstance(key, int) else Vector(self.data[key])

    def __setitem__(self, key, value):
        self.data[key] = value

    def __contains__(self, value):
        return value == 7

    def __iter__(self):
        log.append("iter")
        return iter([self.data, self.data + 1])

    def __repr__(self):
        return f"Vector({self.data.shape})"

    def __format__(self, how):
        return f"<{how}>"

    def __float__(self):
        return float(self.data[0])

    def __index__(self):
        return 1

    def __matmul__(self, other):
        return self.data @ other.data

    def __array_priority__(self):
        return 10


@case(Vector(numbers(3)), Vector(numbers(3)))
def operators(a, b):
    c = a + b * 2 + 1
    c = 3 + -c
    c *= 2
    return c, a @ b, len(c), c[0], c[1:].data, 7 in c


@case(Vector(numbers(3)), numbers(3))
def operators_that_compare(a, x):
    b = Vector(x)
    y = x + 1
    return a == b, a < b, bool(a), y, not a, f"{a} {a!r} {a:x}"


@case(Vector(numbers(3)))
def protocols(a):
    first, second = a
    a[0] = 9
    return first + second, [k * 2 for k in a], float(a), [1, 2, 3][a], sum(a), list(a)


@case(Vector(numbers(3)))
def operator_that_is_refused(a):
    y = a.data * 2
    try:
        return a * "text"
    except TypeError as error:
        return y, str(error)


class Celsius:
    """A descriptor with state in the owner."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, owner, cls=None):
        return self if owner is None else getattr(owner, self.name, 0.0) * 1.8 + 32

    def __set__(self, owner, value):
        setattr(owner, self.name, value)


class Lazy:
    """A descriptor without __set__: the instance's own attribute wins."""

    def __init__(self, function):
        self.function = function

    def __get__(self, owner, cls=None):
        value = owner.__dict__[self.function.__name__] = self.function(owner)
        return value


class Probe:
    temperature = Celsius()

    def __init__(self, x):
        self.x = x
        self.temperature = 20.0

    @Lazy
    def total(self):
        log.append("computed")
        return self.x.sum()

    def __getattr__(self, name):
        if name.startswith("get_"):
            return lambda: name[4:]
        raise AttributeError(name)


@case(Probe(numbers(3)))
def descriptors(probe):
    y = probe.x * probe.temperature
    probe.temperature = 30
    return y, probe.total + probe.total, probe.temperature, probe.get_name(), hasattr(probe, "zzz")


class Guarded:
    """Looks at every access."""

    def __init__(self, x):
        object.__setattr__(self, "x", x)

    def __getattribute__(self, name):
        log.append(name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        log.append(("set", name))
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        log.append(("del", name))
        object.__delattr__(self, name)


@case(Guarded(numbers(3)))
def watched_attributes(guarded):
    y = guarded.x * 2
    guarded.y = y
    del guarded.x
    return guarded.y + 1


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, by):
        return Point(self.x + by, self.y - by)


class Point3(Point):
    __slots__ = ("z",)


@case(Point(numbers(3), 2.0))
def slots(point):
    other = point.moved(1.0)
    point.y = other.x * 2
    third = Point3(1, 2)
    third.z = point.y
    try:
        point.w = 1
    except AttributeError:
        return point.y + other.y, third, hasattr(third, "x")


class Left:
    def who(self, x):
        return x + 1


class Right:
    def who(self, x):
        return x * 2


class Both(Left, Right):
    def who(self, x):
        return super().who(x) - super(Left, self).who(x)


class Cooperative(Both):
    who = Right.who


@case(numbers(3), Both())
@case(numbers(3), Cooperative())
def inheritance(x, both):
    return both.who(x), isinstance(both, Right), type(both).__name__, issubclass(type(both), Left)


class Registry(type):
    """A metaclass: notes its classes, makes instances by itself, has attributes of its own."""

    known = []

    def __new__(mcs, name, bases, namespace, **named):
        cls = super().__new__(mcs, name, bases, namespace)
        mcs.known.append(name)
        return cls

    def __init__(cls, name, bases, namespace, factor=1):
        super().__init__(name, bases, namespace)
        cls.factor = factor

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.by = cls.__name__
        return made

    @property
    def label(cls):
        return cls.__name__.lower()


class Plugin(metaclass=Registry, factor=3):
    def __init__(self, x):
        self.x = x

    def run(self):
        return self.x * type(self).factor


@case(numbers(3))
def metaclasses(x):
    plugin = Plugin(x)
    return plugin.run(), plugin.by, Plugin.label, len(Registry.known)


class Single:
    """__new__ that gives the same object."""

    only = None

    def __new__(cls, *args):
        if cls.only is None:
            cls.only = super().__new__(cls)
        return cls.only

    def __init__(self, value):
        self.value = value


@case(numbers(3))
def singletons(x):
    first = Single(x)
    second = Single(x * 2)
    return first is second, first.value + 1


class Base:
    subclasses = []

    def __init_subclass__(cls, **named):
        Base.subclasses.append((cls.__name__, named))

    def __class_getitem__(cls, item):
        return f"{cls.__name__}[{item}]"


@case(numbers(3))
def local_classes(x):
    factor = 3

    class Scaled(Base, tag=1):
        offset = [k * factor for k in range(3)]

        def apply(self, a):
            return a * factor + self.offset[1]

        def __str__(self):
            return f"scaled by {factor}"

    scaled = Scaled()
    return scaled.apply(x), str(scaled), Scaled[int], len(Base.subclasses)


@case(numbers(3), 1)
@case(numbers(3), "a")
@case(numbers(3), None)
def asks_for_types(x, value):
    if isinstance(value, int):
        x = x + value
    elif isinstance(value, str | bytes):
        x = x * len(value)
    elif value is None:
        x = -x
    return x, type(value) is type(None), callable(value), hasattr(value, "real"), isinstance(x, np.ndarray)


class Manager:
    """A context manager that notes, may swallow, and whose exit sees the array."""

    def __init__(self, swallow=()):
        self.swallow = swallow
        self.x = None

    def __enter__(self):
        log.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        log.append(("exit", kind and kind.__name__, None if self.x is None else self.x.shape))
        return kind is not None and issubclass(kind, self.swallow)


@case(numbers(3), Manager(ValueError))
@case(numbers(3), Manager())
def managers(x, manager):
    y = x * 2
    with manager as entered:
        entered.x = y + 1
        with contextlib.suppress(KeyError):
            y = y * 3
            raise KeyError("inner")
        raise ValueError("outer")
    return y, manager.x


@case(numbers(3))
def managers_in_a_loop(x):
    for k in range(4):
        with Manager(ZeroDivisionError) as manager:
            manager.x = x = x + 1 / k
            if k == 2:
                break
        x = x * 2
    return x


@case(numbers(3))
def stacks_of_managers(x):
    with contextlib.ExitStack() as stack:
        entered = [stack.enter_context(Manager()) for _ in range(2)]
        stack.callback(log.append, "called back")
        y = x + len(entered)
    return y * 2


class Finalised:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        log.append(self.name)


@case(numbers(3))
def finalizers(x):
    first, second = Finalised("first"), Finalised("second")
    y = x * 2
    del first
    log.append("between")
    second = None
    return y, second
