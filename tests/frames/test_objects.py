"""Objects of Python classes: what is captured of them, what is guarded, what is assigned and when."""

import abc
import collections
import dataclasses
import enum
import functools
import gc
import sys
import types
import typing
import weakref

import numpy as np
import pytest

from capture.frames.bytecode import decode
from capture.frames.handlers import can_break
from tests.helpers import captured, numbers


class Base:
    scale = 2.0
    table: typing.ClassVar = {"k": 3.0}

    def __init__(self, weights, bias=1.0):
        self.weights = weights
        self.bias = bias
        self.count = 0
        self.items = [1.0, 2.0]

    def forward(self, x):
        return x * self.weights + self.bias

    def offset(self):
        return self.bias * self.scale

    @property
    def doubled(self):
        return self.weights * 2

    @doubled.setter
    def doubled(self, value):
        self.weights = value / 2

    @staticmethod
    def static(x, k=2.0):
        return x * k

    @classmethod
    def of_class(cls, x):
        return x * cls.scale

    def __call__(self, x, *, shift=0.0):
        return self.forward(x) + shift

    def __getitem__(self, key):
        return self.weights[key]

    def __setitem__(self, key, value):
        self.weights[key] = value

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def __contains__(self, item):
        return item in self.items


class Derived(Base):
    scale = 3.0

    def __init__(self, weights, bias=1.0, extra=0.5):
        super().__init__(weights, bias)
        self.extra = extra

    def forward(self, x):
        return super().forward(x) + self.extra

    @classmethod
    def of_class(cls, x):
        return super().of_class(x) + 1


class Slotted:
    __slots__ = ("n", "w")

    def __init__(self, w, n):
        self.w = w
        self.n = n


class Vector:
    def __init__(self, data):
        self.data = data

    def __add__(self, other):
        if isinstance(other, Vector):
            return Vector(self.data + other.data)
        return Vector(self.data + other)

    def __radd__(self, other):
        return Vector(other + self.data)

    def __mul__(self, other):
        return NotImplemented if isinstance(other, str) else Vector(self.data * other)

    def __rmul__(self, other):
        return Vector(self.data * other * 1.0)

    def __neg__(self):
        return Vector(-self.data)

    def __iadd__(self, other):
        self.data = self.data + other
        return self

    def __lt__(self, other):
        return self.data < other.data

    def __matmul__(self, other):
        return self.data @ other.data

    def __bool__(self):
        return True


class SubVector(Vector):
    def __radd__(self, other):
        return SubVector(self.data * 100)


@dataclasses.dataclass
class Config:
    rate: float = 0.5
    steps: int = 3
    name: str = "config"
    nested: typing.Any = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: float
    b: float = 2.0


@dataclasses.dataclass(slots=True)
class WithSlots:
    a: typing.Any
    n: int = 0


Point = collections.namedtuple("Point", "x y")


class Typed(typing.NamedTuple):
    x: typing.Any
    y: float = 2.0

    def norm(self):
        return self.x * self.x + self.y


class Mode(enum.Enum):
    FAST = 1
    SLOW = "slow"

    @property
    def factor(self):
        return 2.0 if self is Mode.FAST else 3.0


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side


class Descriptor:
    def __init__(self, k):
        self.k = k

    def __get__(self, owner, cls):
        return self if owner is None else owner.data * self.k


class Described:
    twice = Descriptor(2.0)

    def __init__(self, data):
        self.data = data

    @functools.cached_property
    def cached(self):
        return self.data + 1


class Fallback:
    def __init__(self, data):
        self.data = data

    def __getattr__(self, name):
        if name == "extra":
            return self.data * 5
        raise AttributeError(name)


class Node:
    def __init__(self, value, child=None):
        self.value = value
        self.child = child


SETTINGS = Config(0.25)
MODEL = Base(numbers(3), 0.5)


def base():
    return Base(numbers(3), 0.5)


def derived():
    return Derived(numbers(3), 0.5)


# One graph ----------------------------------------------------------------------------------------------------------
def branches_on_mode(x, mode):
    if mode is Mode.FAST:
        return x * 2
    return x - 1 if mode == Mode.SLOW else x


def chained(x, n):
    return x * n.value + n.child.value + n.child.child.value


def all_fields(x, c):
    return x * c.rate + c.steps, c.name, c.nested


def operators(x, v):
    w = v + Vector(x) + 1.0
    w = 2.0 * w * x + v
    return (-w).data, w @ v, w < v


def in_place(x, v):
    w = Vector(x)
    w += v.data
    return w.data, w


def protocols(x, m):
    total = sum(m) + len(m)
    return x * total + m[0] if 1.0 in m and 5.0 not in m and m else x


def facts(x, m):
    found = [hasattr(m, name) for name in ("weights", "scale", "forward", "nothing")]
    found += [hasattr(x, "shape"), hasattr(x, "nothing"), hasattr(1.0, "real"), hasattr([], "append")]
    return found, getattr(m, "nothing", 7) * x, getattr(m, "bias", 7) * x, callable(m), callable(m.bias)


def kinds(x, m):
    answers = (isinstance(m, Base), isinstance(m, Derived), isinstance(m, (int, Base)), type(m) is Base)
    return answers, m.__class__ is Base, type(m) in (Base, int), x * 2, isinstance(x, Base)


def bound(x, m):
    step = m.forward
    return step(x), [f(x) for f in (m.static, m.of_class, m)]


def namespace():
    return types.SimpleNamespace(rate=2.0, nested=types.SimpleNamespace(w=numbers(3)))


def add_one(x):
    return x + 1


def points(x, p):
    q = Point(x + 1, y=p.y)
    a, b = q
    return q, q.x * p[0], a * b, len(p), q


def typed(x, p):
    return p.norm() + x, Typed(x), p


def makes_objects(x, unused):
    n = Node(x, Node(x * 2))
    m = Node(1.0, n)
    n.child.value = n.child.value + 1
    return n, m.child is n, m


def makes_frozen(x, unused):
    a, b = Frozen(1.0), Frozen(b=4.0, a=2.0)
    return x * a.b + b.b, a == b, a == Frozen(1.0), a != b, b


def makes_slotted(x, unused):
    s = WithSlots(x, 2)
    s.n += 1
    return s.a * s.n, s, WithSlots(x) == s if False else None


def makes_and_calls(x, w):
    model = Derived(w, bias=2.0)
    return model(x, shift=1.0) + model.doubled, model


def unused_objects(x, w):
    total = 0.0
    for k in range(4):
        total = total + Vector(x * k).data
    return total


def class_access(x, m):
    return Base.scale * x + Base.static(x) + Derived.of_class(x) + Base.forward(m, x) + Base.table["k"]


def of_enum(x, mode):
    return x * mode.factor, mode.name, mode.value, Mode.FAST.value, Mode.SLOW.name


WHOLE = {
    "instance attribute": (lambda x, m: x * m.weights + m.bias, base),
    "class attribute": (lambda x, m: x * m.scale + m.table["k"], base),
    "method": (lambda x, m: m.forward(x) * m.offset(), base),
    "property": (lambda x, m: x + m.doubled, base),
    "static and class methods": (lambda x, m: m.static(x) + m.of_class(x), base),
    "super": (lambda x, m: m.forward(x) + m.of_class(x), derived),
    "call": (lambda x, m: m(x, shift=2.0), derived),
    "item": (lambda x, m: m[1] * x + m[:2].sum(), base),
    "protocols": (protocols, base),
    "facts": (facts, base),
    "kinds": (kinds, base),
    "kinds of a subclass": (kinds, derived),
    "bound methods": (bound, base),
    "class access": (class_access, base),
    "global object": (lambda x, unused: x * SETTINGS.rate + MODEL.forward(x), int),
    "slots": (lambda x, s: x * s.n + s.w, lambda: Slotted(numbers(3), 2)),
    "operators": (operators, lambda: Vector(numbers(3))),
    "in place": (in_place, lambda: Vector(numbers(3))),
    "dataclass": (all_fields, Config),
    "dataclass equality": (lambda x, c: (x + 1, c == Config(), c != SETTINGS, c == 3), Config),
    "frozen dataclass": (lambda x, c: x * c.a + c.b, lambda: Frozen(3.0)),
    "named tuple": (points, lambda: Point(numbers(3), 2.0)),
    "typed named tuple": (typed, lambda: Typed(numbers(3))),
    "enum": (of_enum, lambda: Mode.FAST),
    "namespace": (lambda x, n: x * n.rate + n.nested.w, namespace),
    "branch on an enum": (branches_on_mode, lambda: Mode.SLOW),
    "abstract base": (lambda x, s: x * s.area() + Square(x).area(), lambda: Square(2.0)),
    "descriptor": (lambda x, d: x + d.twice, lambda: Described(numbers(3))),
    "__getattr__": (lambda x, f: x + f.extra + f.data, lambda: Fallback(numbers(3))),
    "chain": (chained, lambda: Node(1.0, Node(2.0, Node(3.0)))),
    "list of objects": (lambda x, ms: [m(x) for m in ms], lambda: [base(), derived()]),
    "new objects": (makes_objects, int),
    "new frozen objects": (makes_frozen, int),
    "new objects with slots": (makes_slotted, int),
    "new object of a class with super": (makes_and_calls, lambda: numbers(3)),
    "objects that stay inside": (unused_objects, int),
    "returns the object": (lambda x, m: (m, m.forward(x), m.forward), base),
    "function in an attribute": (lambda x, n: n.value(x) * 2, lambda: Node(add_one)),
    "method in an attribute": (lambda x, n: n.value(x) * 2, lambda: Node(base().forward)),
    "shared object": (lambda x, n: (x * n.value.bias, n.value is n.child), lambda: Node(*[base()] * 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_one_graph(name):
    function, make = WHOLE[name]
    run = captured(function, fullgraph=True)
    for _ in range(2):
        run.on(lambda: (numbers(3), make()))
    assert run.graphs == 1
    assert len(run.record.variants) == 1
    assert run.record.variants[0].hits == 2


# Assignments --------------------------------------------------------------------------------------------------------
def counts(x, m):
    m.count += 1
    m.count += 1
    return x * m.count


def replaces(x, m):
    old = m.weights
    m.weights = x + old
    y = m.weights * 2
    m.last = m.weights
    m.weights = y
    return old, y, m.last is m.weights


def array_in_place(x, m):
    m.weights += x
    m.weights *= 2.0
    m.bias += 1
    return m.weights


def swaps(x, m):
    m.weights, m.last = x, m.weights
    m.bias = m.weights.sum()
    return m.last * 2


def through_methods(x, m):
    m.doubled = x * 3
    m[0] = 7.0
    return m.forward(x)


def adds_attributes(x, m):
    m.b = 1
    m.a = x * 2
    m.b = 2
    return m


def stores_new_object(x, m):
    n = Node(x + 1)
    m.child = n
    n.value = n.value * 2
    m.again = [n, {"n": n}]
    return n, m.child.value


def stores_slots(x, m):
    s = m.slotted
    s.n += 1
    s.w = s.w + x
    return s.w, s.n


def two_objects(x, m):
    m.other.bias = m.bias + 1
    m.bias = m.other.bias * 2
    return x * m.bias + m.other.bias


def with_setattr(x, m):
    setattr(m, "bias", 3.0)  # noqa: B010
    return x * m.bias


def in_a_loop(x, m):
    for k in range(4):
        m.weights = m.weights * 0.5 + x
        m.count = k
    return m.weights


def prints_between(x, m):
    m.bias = 5.0
    print(m.bias, m.count)
    m.count = m.count + 1
    print(m.bias, m.count)
    m.bias = x
    return m.bias * 2


def raises_after(x, m):
    m.bias = x + 1
    m.count = 10
    return x[100]


def branches(x, m):
    m.count = 1
    if x.sum() > 0:
        m.count = 2
    else:
        m.count = 3
    return x * m.count


def helper_breaks(x, m):
    m.count = 1
    y = prints_between(x * 2, m)
    m.count = m.count + 1
    return y + 1


def deletes(x, m):
    m.temporary = x * 2
    y = m.temporary + 1
    del m.temporary
    return y


def equipped():
    m = base()
    m.slotted = Slotted(numbers(3), 1)
    m.other = base()
    return m


ASSIGNS = {
    counts: 1, replaces: 1, array_in_place: 1, swaps: 1, through_methods: 1, adds_attributes: 1, stores_new_object: 1,
    stores_slots: 1, two_objects: 1, with_setattr: 1, in_a_loop: 1, prints_between: 1, raises_after: 1, branches: 2,
    helper_breaks: 3, deletes: 1,
}  # fmt: skip
BREAKS = {
    prints_between: 2,
    raises_after: 1,
    branches: 1,
    helper_breaks: 2,
}


@pytest.mark.parametrize("function", ASSIGNS, ids=lambda f: f.__name__)
def test_assignments(function):
    run = captured(function)
    for _ in range(3):
        run.on(lambda: (numbers(3), equipped()))
    assert run.graphs == ASSIGNS[function]
    assert len(run.breaks) == BREAKS.get(function, 0)


@pytest.mark.parametrize("function", ASSIGNS, ids=lambda f: f.__name__)
def test_a_region_that_leaves_assigns_once(function):
    """The executor may refuse; then plain Python does it all."""
    run = captured(function, backend=lambda graph, inputs: lambda *args: None)
    for _ in range(2):
        run.on(lambda: (numbers(3), equipped()))


def test_one_object_by_two_names():
    def f(x, a, b):
        a.bias = x * 2
        return b.bias + 1, a is b

    def twice():
        m = base()
        return numbers(3), m, m

    def apart():
        return numbers(3), base(), base()

    for first, second in ((twice, apart), (apart, twice)):
        run = captured(f)
        for make in (first, second, first, second):
            run.on(make)
        assert run.breaks == [] and len(run.record.variants) == 2


def test_one_object_read_after_the_other_name_was_written():
    def f(x, a, b):
        first = b.bias
        a.bias = x * 2
        a.child = x
        return first, b.bias, b.count

    run = captured(f)
    run.on(lambda: (numbers(3), base(), base()))
    run.on(lambda: (numbers(3), *[base()] * 2))
    run.on(lambda: (numbers(3), base(), derived()))
    run.on(lambda: (numbers(3), base(), base()))


def test_nothing_is_stored_twice():
    class Logs:
        def __init__(self):
            self.log = []
            self.n = 0

        def __setattr__(self, name, value):
            if name == "n" and hasattr(self, "n"):
                self.log.append(value)
            object.__setattr__(self, name, value)

    def f(x, logs):
        logs.n = x + 1
        return x * 2

    run = captured(f)
    logs = Logs()
    run.entry(numbers(3), logs)
    run.entry(numbers(3), logs)
    assert len(logs.log) == 2


# Break anywhere -----------------------------------------------------------------------------------------------------
SAMPLES = {
    **{name: (function, make) for name, (function, make) in WHOLE.items()},
    **{function.__name__: (function, equipped) for function in ASSIGNS},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_break_at_every_instruction(name):
    function, make = SAMPLES[name]
    for instruction in decode(function.__code__).instructions:
        if can_break(instruction):
            run = captured(
                function, force_break=lambda c, index, at=instruction.index: c is function.__code__ and index == at
            )
            run.on(lambda: (numbers(3), make()))
            run.on(lambda: (numbers(3), make()))


@pytest.mark.parametrize("name", SAMPLES)
def test_break_everywhere_at_once(name):
    function, make = SAMPLES[name]
    run = captured(function, force_break=lambda code, index: True)
    run.on(lambda: (numbers(3), make()))
    run.on(lambda: (numbers(3), make()))


METHODS = [Base.forward, Base.__init__, Derived.__init__, Derived.forward, Base.__call__, Vector.__add__, Node.__init__]


@pytest.mark.parametrize("method", METHODS, ids=lambda f: f.__qualname__)
def test_break_inside_methods(method):
    def f(x, m):
        y = m(x, shift=1.0)
        n = Derived(x, 2.0)
        v = Vector(y) + n.forward(y)
        n.node = Node(v)
        return n, v.data

    for instruction in decode(method.__code__).instructions:
        if can_break(instruction):
            run = captured(f, force_break=lambda c, index, at=instruction.index: c is method.__code__ and index == at)
            run.on(lambda: (numbers(3), derived()))
            run.on(lambda: (numbers(3), derived()))


# Guards -------------------------------------------------------------------------------------------------------------
def fresh_classes():
    class Parent:
        rate = 2.0

        def step(self, x):
            return x * self.rate + self.w

        @property
        def both(self):
            return self.w + self.rate

        def __len__(self):
            return 3

    class Child(Parent):
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return super().step(x)

    return Parent, Child


def uses(x, c):
    found = c.step(x) + c.both, c(x), len(c), c.rate, hasattr(c, "nothing"), isinstance(c, Other)
    c.w = c.w + 1
    return found


class Other:
    pass


CHANGES = {
    "instance attribute": lambda c, P, C: setattr(c, "w", 5.0),
    "type of an instance attribute": lambda c, P, C: setattr(c, "w", np.float32(5.0)),
    "attribute removed": lambda c, P, C: delattr(c, "w"),
    "class attribute": lambda c, P, C: setattr(P, "rate", 3.0),
    "class attribute hidden by a class": lambda c, P, C: setattr(C, "rate", 4.0),
    "class attribute hidden by the object": lambda c, P, C: setattr(c, "rate", 5.0),
    "method": lambda c, P, C: setattr(P, "step", lambda self, x: x - 1),
    "method hidden by a class": lambda c, P, C: setattr(C, "step", lambda self, x: x - 1),
    "method hidden by the object": lambda c, P, C: setattr(c, "step", lambda x: x - 2),
    "code of a method": lambda c, P, C: setattr(P.step, "__code__", (lambda self, x: x - 3).__code__),
    "property": lambda c, P, C: setattr(P, "both", property(lambda self: 3.0)),
    "property becomes a value": lambda c, P, C: setattr(P, "both", 4.0),
    "property that the object cannot hide": lambda c, P, C: vars(c).update(both=9.0),
    "value becomes a property": lambda c, P, C: setattr(P, "rate", property(lambda self: 3.0)),
    "value becomes a data descriptor": lambda c, P, C: setattr(C, "w", property(lambda self: 3.0, lambda s, v: None)),
    "special method": lambda c, P, C: setattr(C, "__len__", lambda self: 7),
    "special method in the object": lambda c, P, C: setattr(c, "__len__", lambda: 7),
    "missing attribute in the object": lambda c, P, C: setattr(c, "nothing", 1),
    "missing attribute in the class": lambda c, P, C: setattr(P, "nothing", 1),
    "__getattr__": lambda c, P, C: setattr(P, "__getattr__", lambda self, name: 1),
    "__getattribute__": lambda c, P, C: setattr(C, "__getattribute__", lambda self, name: 1.0),
    "__setattr__": lambda c, P, C: setattr(C, "__setattr__", lambda self, name, value: None),
    "class of the object": lambda c, P, C: setattr(c, "__class__", P),
    "bases": lambda c, P, C: setattr(C, "__bases__", (P, Other)),
    "bases with a method": lambda c, P, C: setattr(
        C, "__bases__", (type("Between", (P,), {"step": lambda self, x: x * 9}),)
    ),
    "__call__": lambda c, P, C: setattr(C, "__call__", lambda self, x: x * 11),
}


@pytest.mark.parametrize("name", CHANGES)
def test_change_is_noticed(name):
    """The classes are changed between two calls; those of the plain calls are other ones, changed alike."""
    run = captured(uses)
    made = [(classes, classes[1](2.0)) for classes in (fresh_classes(), fresh_classes())]
    (classes, compiled), (plain_classes, plain) = made
    for _ in range(2):
        assert _outcome(run.entry, compiled) == _outcome(uses, plain)
    variants = len(run.record.variants)
    CHANGES[name](compiled, *classes)
    CHANGES[name](plain, *plain_classes)
    for _ in range(2):
        assert _outcome(run.entry, compiled) == _outcome(uses, plain)
    assert variants >= 1


def _outcome(function, argument):
    try:
        found = function(numbers(3), argument)
    except Exception as error:
        found = type(error), str(error)
    return _plain(found), _plain(object.__getattribute__(argument, "__dict__"))


def _plain(value):
    """Arrays as lists, to be compared; functions of the two classes are not told apart."""
    if isinstance(value, np.ndarray | np.generic):
        return (type(value).__name__, str(value.dtype), value.tolist())
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return type(value).__name__ if callable(value) else value


def test_what_is_not_used_is_not_guarded():
    run = captured(lambda x, m: x * m.bias + m.offset())

    def changed():
        m = base()
        m.weights = m.items = m.unused = None
        m.count = 77
        return numbers(3), m

    run.on(lambda: (numbers(3), base()))
    run.on(changed)
    assert run.misses == []


def test_misses_in_words():
    run = captured(lambda x, m: m.forward(x))
    run(numbers(3), base())
    run(numbers(3), Base(numbers(3), 2.0))
    run(numbers(3), derived())
    assert run.misses == ["m.bias: expected 0.5, got 2.0", "m: expected type Base, got Derived"]


def test_other_members_and_objects():
    run = captured(branches_on_mode)
    for mode in (Mode.FAST, Mode.SLOW, None, Mode.FAST, 3, Mode.SLOW):
        run(numbers(3), mode)


def test_facts_of_a_class_are_guarded_once():
    def f(x, a, b):
        return a.forward(x) + b.forward(x)

    run = captured(f)
    run(numbers(3), base(), base())
    assert len([guard for guard in run.guards if "Base.forward: is" in guard]) == 1


# What is left to Python ---------------------------------------------------------------------------------------------
class Own:
    def __init__(self):
        self.seen = []

    def __getattribute__(self, name):
        if not name.startswith("__"):
            object.__getattribute__(self, "__dict__").setdefault("names", []).append(name)
        return object.__getattribute__(self, name)


class Sets:
    def __init__(self, data):
        self.data = data

    def __setattr__(self, name, value):
        object.__setattr__(self, name, (name, value))


class Finalized:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("gone")


class Meta(type):
    def __getattribute__(cls, name):
        return 3.0 if name == "special" else super().__getattribute__(name)


class WithMeta(metaclass=Meta):
    pass


class Patient:
    """Its property copes with what is missing."""

    def __init__(self, known):
        if known:
            self.known = 2.0

    @property
    def careful(self):
        try:
            return self.known
        except AttributeError:
            return 3.0

    @property
    def careless(self):
        return self.known


def asks(x, p):
    y = x + 1
    return y, hasattr(p, "careful"), getattr(p, "careful", 4.0), hasattr(p, "careless"), getattr(p, "careless", 5.0)


class Singleton:
    made = None

    def __new__(cls, *args):
        if cls.made is None:
            cls.made = object.__new__(cls)
        return cls.made

    def __init__(self, k=1.0):
        self.k = k


def sets(x, s):
    y = x + 1
    s.data = y
    return y * 2


def replaces_finalized(x, n):
    y = x + 1
    n.value = None
    return y, list(n.child)


def finalized():
    log = []
    return Node(Finalized(log), log)


def makes_finalized(x, log):
    y = x + 1
    Finalized(log)
    log.append("after")
    return y


def sets_frozen(x, c):
    y = x + 1
    c.a = y
    return y


def makes_singleton(x, unused):
    return x * Singleton(2.0).k + Singleton(3.0).k


def makes_ring(x, unused):
    a = Node(x + 1)
    a.child = Node(2.0, a)
    return a.child.child is a, a.child.value * x


def sets_class(x, unused):
    y = x * 2
    Singleton.counter = 3.0
    return y + Singleton.counter


LEFT = {
    "__getattribute__": (lambda x, o: x + len(o.seen), Own, "attribute"),
    "__del__ of what was there": (replaces_finalized, finalized, "write"),
    "__del__ of a new object": (makes_finalized, list, "call"),
    "frozen": (sets_frozen, lambda: Frozen(1.0), "call"),
    "metaclass": (lambda x, unused: x * WithMeta.special, int, "attribute"),
    "missing attribute": (lambda x, m: (x + 1) * m.nothing, base, "attribute"),
    "property that raises": (lambda x, m: (x + 1) * m.doubled, lambda: Base(None), "python"),
    "ring": (makes_ring, int, "python"),
    "properties that lack something": (asks, lambda: Patient(False), "attribute"),
    "properties that lack nothing": (asks, lambda: Patient(True), None),
    "no operator": (lambda x, m: (x + 1) * (m + 1), base, "python"),
    "array and object": (lambda x, v: (x + 1) @ v, lambda: Vector(numbers(3)), "python"),
    "str and object": (lambda x, v: ("%s" % (x + 1).ndim, "a" + v), lambda: Vector(numbers(3)), "python"),  # noqa: UP031
    "not iterable": (lambda x, n: [x + 1, *n], lambda: Node(1), "python"),
    "not callable": (lambda x, n: n(x + 1), lambda: Node(1), "call"),
    "arguments that do not fit": (lambda x, n: Node(x, 1, 2, 3), lambda: Node(1), "call"),
    "__init__ of object": (lambda x, n: (x + 1, Other(3)), lambda: Node(1), "call"),
    "abstract class": (lambda x, n: (x + 1, Shape()), lambda: Node(1), "call"),
    "cached property": (lambda x, d: (x + d.cached, d.cached is d.cached), lambda: Described(2.0), None),
    "dict of an object": (lambda x, m: (x * 2, list(m.__dict__), vars(m)["bias"]), base, "attribute"),
}


@pytest.mark.parametrize("name", LEFT)
def test_left_to_python(name):
    function, make, kind = LEFT[name]
    run = captured(function)
    for _ in range(2):
        run.on(lambda: (numbers(3), make()))
    assert kind is None or kind in run.kinds


def test_singleton():
    run = captured(makes_singleton)
    for _ in range(2):
        Singleton.made = None
        expected = makes_singleton(numbers(3), 0)
        Singleton.made = None
        np.testing.assert_array_equal(run.entry(numbers(3), 0), expected)


def test_no_user_code_runs_while_tracing():
    seen = []

    class Meddles:
        def __init__(self, w):
            self.w = w

        def __eq__(self, other):
            seen.append("eq")
            return True

        def __hash__(self):
            seen.append("hash")
            return 1

        def __repr__(self):
            seen.append("repr")
            return "Meddles"

        def __bool__(self):
            seen.append("bool")
            return True

        def __len__(self):
            seen.append("len")
            return 1

    run = captured(lambda x, m: x * m.w)
    run.entry(numbers(3), Meddles(2.0))
    run.entry(numbers(3), Meddles(3.0))
    assert seen == []


# Globals ------------------------------------------------------------------------------------------------------------
TOTAL = 0.0
UNBOUND: typing.Any


def adds_to_total(x):
    global TOTAL
    before = TOTAL
    TOTAL = TOTAL + 1.0
    adds_more()
    return x * TOTAL, before


def adds_more():
    global TOTAL
    TOTAL += 2.0


def test_globals_are_assigned_once():
    global TOTAL
    run = captured(adds_to_total)
    for backend_leaves in (False, True):
        if backend_leaves:
            run = captured(adds_to_total, backend=lambda graph, inputs: lambda *args: None)
        for _ in range(2):
            TOTAL = 0.0
            expected, before = adds_to_total(numbers(3))
            assert TOTAL == 3.0
            TOTAL = 0.0
            got, first = run.entry(numbers(3))
            np.testing.assert_array_equal(got, expected)
            assert TOTAL == 3.0 and first == before == 0.0
        assert run.graphs == 1 and run.breaks == []


def test_a_counter_is_an_input_after_a_miss():
    def f(x, m):
        m.count += 1
        m.bias = m.bias * 0.5
        return x * m.bias + m.count

    run = captured(f)
    m, plain = base(), base()
    for _ in range(20):
        np.testing.assert_array_equal(run.entry(numbers(3), m), f(numbers(3), plain))
        assert (m.count, m.bias) == (plain.count, plain.bias)
    assert run.graphs <= 3 and run.breaks == []


class Step:
    def __len__(self):
        return LENGTH

    def __radd__(self, other):
        return other * 2


LENGTH = 1


def test_special_methods_meet_numbers_that_vary():
    global LENGTH
    run = captured(lambda x, s, n: x * len(s) + (n + s))
    for LENGTH in (1, 2, 3, 1):
        run(numbers(3), Step(), LENGTH * 3)


# Lifetime -----------------------------------------------------------------------------------------------------------
def make_class():
    class Local:
        weights = numbers(3)

        def __init__(self, v=2.0):
            self.v = v

        def step(self):
            return self.v

        def forward(self, x):
            y = x * self.weights
            print(end="")
            self.v = y * self.step()
            return type(self)(y), self.step, super().__init__

    return Local


def test_classes_die_with_their_compiled_methods():
    cls = make_class()
    run = captured(cls.forward)
    cls.forward = run.entry
    for _ in range(3):
        cls().forward(numbers(3))
    assert run.graphs == 2
    seen = weakref.ref(cls)
    del cls, run
    gc.collect()
    assert seen() is None


class First:
    def f(self, x):
        return x * 2

    @property
    def p(self):
        return 5.0


class Second(First):
    def f(self, x):
        y = x + 1
        print("now")
        return super().f(y) + super(Second, self).f(x) + super().p  # noqa: UP008

    def held(self, x):
        parent = super()
        print(end="")
        return parent.f(x)

    def in_cell(self, x):
        me = lambda: self  # noqa: E731
        print(end="")
        return super().f(x), me() is self

    def in_comprehension(self, x):
        return [super(Second, self).f(x) for _ in range(2)]

    def first_argument_is_gone(self, x):
        del self
        try:
            return super().f(x)
        except RuntimeError as error:
            return str(error)

    def no_first_argument(*args):
        try:
            return super().f(args[1])
        except RuntimeError as error:
            return str(error)

    def replaced(self, x):
        self = Second()  # noqa: F841
        return super().f(x)


SUPER = [function for function in vars(Second).values() if callable(function)]


@pytest.mark.parametrize("method", SUPER, ids=lambda f: f.__name__)
@pytest.mark.parametrize("inlined", [False, True])
def test_super_with_breaks_at_every_instruction(method, inlined):
    def calls(instance, x):
        return method(instance, x)

    function = calls if inlined else method
    places = [None, *decode(method.__code__).instructions]
    for place in places:
        if place is None or can_break(place):
            run = captured(function, force_break=lambda c, i, p=place: c is method.__code__ and (not p or p.index == i))
            run.on(lambda: (Second(), numbers(3)))
            run.on(lambda: (Second(), numbers(3)))


def test_nothing_leaks():
    m = equipped()
    run = captured(stores_new_object)
    x = numbers(3)
    for _ in range(3):
        run.entry(x, m)
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(m), len(gc.get_objects())
    for _ in range(200):
        run.entry(x, m)
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(m)) == before[:2]
    assert len(gc.get_objects()) < before[2] + 50
