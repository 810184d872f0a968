"""Programs as people write them: layers, registries, trainers, managers, a print in the innermost call."""

import contextlib
import enum
import functools
import logging
import operator
import sys
import warnings
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field, replace

import numpy as np

from tests.corpus import case
from tests.helpers import numbers

one = case(numbers(2, 3))
two = case(numbers(2, 3), 2)


class Parameter:
    """A descriptor that checks what it is given."""

    def __init__(self, *shape):
        self.shape = shape

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        if value.shape != self.shape:
            raise ValueError(f"{self.name[1:]}: {value.shape} is not {self.shape}")
        setattr(instance, self.name, value)


class Registered(type):
    """Classes by their names."""

    known = {}

    def __new__(meta, name, bases, namespace, **options):
        made = super().__new__(meta, name, bases, namespace)
        made.options = options
        meta.known[name.lower()] = made
        return made

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.calls = 0
        return made


class Layer(metaclass=Registered):
    weight = Parameter(3, 3)

    def __init__(self, scale):
        self.weight = np.eye(3) * scale

    def __call__(self, x):
        self.calls += 1
        return self.forward(x)

    def forward(self, x):
        return x @ self.weight


class Loud(Layer, level=2):
    def forward(self, x):
        def inner(y):
            def innermost(z):
                print("innermost", z.shape, self.calls)
                return z * self.options["level"]

            return innermost(y + 1) - 1

        return inner(super().forward(x))


@two
def registry_of_layers(x, k):
    layers = [Registered.known[name](scale) for name, scale in (("layer", 2.0), ("loud", k), ("layer", -1.0))]
    for layer in layers:
        x = layer(x)
    try:
        layers[0].weight = x
    except ValueError as error:
        return x, [layer.calls for layer in layers], str(error)
    return x


class Lazily:
    """Makes what is asked for."""

    def __init__(self, x):
        self.__dict__["made"] = OrderedDict()
        self.__dict__["x"] = x

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"no {name}")
        kind, _, power = name.partition("_")
        value = self.made[name] = getattr(np, kind)(self.x ** int(power or 1))
        return value

    def __setattr__(self, name, value):
        self.made[name] = value * 2

    def __delattr__(self, name):
        print("deleted", name, self.made.pop(name, None) is not None)


@one
def attributes_on_demand(x):
    lazily = Lazily(x)
    a = lazily.sqrt + lazily.exp_2
    lazily.mine = a
    del lazily.sqrt
    del lazily.nothing
    with contextlib.suppress(AttributeError):
        a = a + lazily._private
    return a, list(lazily.made), getattr(lazily, "_other", None), hasattr(lazily, "cos_3")


class Units:
    __slots__ = ("unit", "value")
    __array_priority__ = 10

    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    def __add__(self, other):
        if not isinstance(other, Units):
            return NotImplemented
        if other.unit != self.unit:
            raise TypeError(f"{self.unit} + {other.unit}")
        return Units(self.value + other.value, self.unit)

    def __mul__(self, other):
        return Units(self.value * getattr(other, "value", other), self.unit + getattr(other, "unit", ""))

    __rmul__ = __mul__

    def __getitem__(self, index):
        return Units(self.value[index], self.unit)

    def __len__(self):
        return len(self.value)

    def __bool__(self):
        print("asked")
        return bool(self.value.size)

    def __eq__(self, other):
        return self.unit == other.unit and np.array_equal(self.value, other.value)

    def __hash__(self):
        return hash(self.unit)

    def __iter__(self):
        yield from self.value

    def __contains__(self, item):
        return item in self.unit

    def __matmul__(self, other):
        return self.value @ other

    def __neg__(self):
        return Units(-self.value, self.unit)

    def __call__(self, scale=1):
        return self.value * scale

    def __enter__(self):
        print("enter", self.unit)
        return self.value

    def __exit__(self, kind, error, trace):
        print("exit", self.unit, kind and kind.__name__)
        return kind is TypeError


@two
def units_of_measure(x, k):
    length, time = Units(x, "m"), Units(x + k, "s")
    area = k * (length + length) * length
    with time as value:
        value = value + (length + time).value
    with area as value:
        x = x + value
    found = {length: 1, time: 2}
    if length and "m" in area and length != time:
        x = x - found[Units(x * 1, "s")] if time in found else x + len(area)
    return x, [row.sum() for row in area], (-area)[0](3), area.unit, length @ x.T


@dataclass(order=True)
class State:
    step: int = 0
    moments: dict = field(default_factory=lambda: defaultdict(lambda: 0.0), compare=False)
    history: list = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self):
        self.rate = 0.5 ** self.step

    @property
    def last(self):
        return self.history[-1] if self.history else None

    @last.setter
    def last(self, value):
        self.history.append(value)


def momentum(state, name, gradient, beta=0.9):
    state.moments[name] = beta * state.moments[name] + gradient
    return state.moments[name]


@case(numbers(2, 3), 3)
@case(numbers(2, 3), 0)
def training_steps(x, steps):
    parameters = {"w": np.ones((3, 2)), "b": np.zeros(2)}
    state, log = State(), []
    for step in range(steps):
        out = x @ parameters["w"] + parameters["b"]
        error = out - 1.0
        gradients = {"w": x.T @ error, "b": error.sum(axis=0)}
        parameters |= {name: parameters[name] - 0.01 * momentum(state, name, g) for name, g in gradients.items()}
        state.step += 1
        state.last = float((error**2).mean())
        log.append(f"{step}: {state.last:.6f}")
        if (before := state.history[-2:-1]) and before[0] < state.last:
            print("worse at", step)
            break
    else:
        log.append("done")
    return parameters, log, state, replace(state, step=2).rate, state.last


@one
def a_counter_in_a_closure(x):
    total, calls = 0.0, []

    def outer(scale):
        count = 0

        def add(y, *, note=None):
            nonlocal total, count
            count += 1
            total = total + (y * scale).sum()

            def report():
                nonlocal calls
                print(f"{note}: {count} of {scale}")
                calls = [*calls, (note, count)]
                return total

            return report()

        return add

    first, second = outer(2), outer(-1)
    values = [first(x, note="a"), second(x + 1, note="b"), first(x * 2, note="c")]
    return total, values, calls, first.__closure__ is not second.__closure__


def retried(times, *kinds):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            for attempt in range(times):
                try:
                    return function(*args, attempt=attempt, **kwargs)
                except kinds as error:
                    print(f"{function.__name__} failed {attempt}: {error}")
                    last = error
                finally:
                    wrapper.attempts += 1
            raise RuntimeError("gave up") from last

        wrapper.attempts = 0
        return wrapper

    return decorate


@retried(3, ValueError, ZeroDivisionError)
def unstable(x, limit, attempt=0):
    """Fails at first."""
    if attempt < limit:
        raise ValueError(f"attempt {attempt}")
    return x / (attempt + 1)


@case(numbers(3), 0)
@case(numbers(3), 2)
@case(numbers(3), 5)
def attempts(x, limit):
    unstable.attempts = 0
    try:
        return unstable(x, limit), unstable.attempts
    except RuntimeError as error:
        return x, repr(error.__cause__), error.__context__ is error.__cause__, unstable.attempts, unstable.__doc__


@contextlib.contextmanager
def scaled(x, by, log):
    log.append(("in", by))
    x *= by
    try:
        yield x
    except KeyError as error:
        log.append(("key", str(error)))
    finally:
        x /= by
        log.append(("out", by))


@two
def managers_in_each_other(x, k):
    log = []
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(scaled(x, 2.0, log))
        second = stack.enter_context(scaled(x, 4.0, log))
        stack.callback(lambda: log.append("called"))
        copy = first + second
        for i in range(4):
            with scaled(copy, float(i + 1), log) as part:
                if i == k:
                    print("left in round", i)
                    break
                if i == 0:
                    continue
                copy = part + 1
        raise KeyError("inside")
    return x, copy, log


@case(numbers(3), 0)
@case(numbers(3), 1)
@case(numbers(3), 2)
@case(numbers(3), 3)
def ways_out(x, way):
    done = []
    for i in range(3):
        try:
            try:
                done.append(i)
                x = x + i
                if way == 0:
                    continue
                if way == 1 and i == 1:
                    break
                if way == 2:
                    return x, done, "returned"
                if way == 3 and i == 2:
                    raise LookupError(i)
            finally:
                x = x * 2
                done.append(print("finally", i))
                if way == 2 and i == 1:
                    break  # noqa: B012
        except LookupError as error:
            x = x - error.args[0]
        else:
            x = x + 0.5
        finally:
            done.append("outer")
    else:
        done.append("else")
    return x, done


@one
def errors_in_groups(x):
    found = []

    def check(rows):
        errors = [ValueError(i) if row.shape[0] < 4 else TypeError(i) for i, row in enumerate(rows)]
        raise ExceptionGroup("rows", [*errors, ExceptionGroup("more", [KeyError("k"), OSError(2, "no")])])

    try:
        try:
            x = x + 1
            check(x)
        except* (ValueError, KeyError) as group:
            found.append([str(error) for error in group.exceptions])
            x = x * 2
        except* TypeError:
            x = x * 1000
    except* OSError as group:
        found.append(group.subgroup(OSError).exceptions[0].exceptions[0].errno)
        x = x - 1
    return x, found


Point = namedtuple("Point", "x y")


class Kind(enum.Enum):
    SUM = "sum"
    MEAN = "mean"

    def of(self, x):
        return getattr(x, self.value)()


class Flags(enum.Flag):
    LOUD = enum.auto()
    SQUARED = enum.auto()


@case(numbers(2, 3), ("reduce", Kind.MEAN))
@case(numbers(2, 3), {"op": "add", "by": 2, "more": 1})
@case(numbers(2, 3), Point(1, 2.5))
@case(numbers(2, 3), [1, 2, 3])
@case(numbers(2, 3), Flags.LOUD | Flags.SQUARED)
@case(numbers(2, 3), "negate")
@case(numbers(2, 3), None)
def commands(x, command):
    match command:
        case ("reduce", Kind() as kind):
            return kind.of(x)
        case {"op": "add" | "sub" as op, "by": int(by), **rest}:
            return getattr(operator, op)(x, by), rest
        case Point(x=1, y=float(y)):
            return x * y
        case [first, *others] if len(others) > 1:
            return x * first, others
        case Flags() if Flags.LOUD in command:
            print(command)
            return x**2 if command & Flags.SQUARED else x
        case str(name) if hasattr(np, name) or name == "negate":
            return -x
        case _:
            raise NotImplementedError(f"{command!r}")


logger = logging.getLogger("tests.corpus.people")
logger.propagate = False


class Printed(logging.Handler):
    def emit(self, record):
        print(record.levelname, record.lineno, record.funcName, self.format(record))


@two
def logs_of_arrays(x, k):
    handler = Printed()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        for i in range(k):
            logger.info("step %d: %s", i, x.sum())
            logger.debug("never %s", x)
            x = x * 2
            if x.max() > 5:
                logger.warning("large: %.1f", x.max())
        try:
            x = x + np.ones(7)
        except ValueError:
            logger.exception("shapes", exc_info=False)
    finally:
        logger.removeHandler(handler)
    return x


@one
def warnings_of_ones_own(x):
    def old(y, stacklevel):
        warnings.warn(f"old, use new: {y.shape}", DeprecationWarning, stacklevel=stacklevel)
        return y + 1

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = old(x, 1) + old(x, 2)
        x = x / (x - x)
    x = old(np.where(np.isinf(x), 1.0, x), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            x = old(x, 1)
        except DeprecationWarning as error:
            x = x - 1
            return x, str(error), [(w.category.__name__, str(w.message), w.lineno) for w in caught]


@one
def walrus_in_comprehensions(x):
    rows = [y := row * 2 for row in x]
    sums = {i: s for i, row in enumerate(rows) if (s := row.sum()) is not None and (last := i) >= 0}
    total = sum((part := value) * 2 for value in sums.values())
    any_long = any((n := len(row)) > 2 for row in rows)
    nested = [[(z := a + b) for a in row] for b, row in enumerate(rows)]
    return rows, sums, total, y, s, last, part, any_long, n, z, nested


def batches(x, size):
    for start in range(0, len(x), size):
        print("batch", start)
        received = yield x[start : start + size]
        if received is not None:
            print("received", received)
    return len(x)


def chained(x, size):
    count = yield from batches(x, size)
    yield np.full(1, count)


@two
def batches_of_a_generator(x, k):
    taken = []
    for part in (generator := chained(x, 1)):
        taken.append(part * k)
        if len(taken) == k:
            generator.close()
    other = chained(x, 2)
    first = next(other)
    second = other.send("more")
    return taken, first + 1, second, list(other), next(other, "ended")


class Cached:
    def __init__(self, x):
        self.x, self.log = x, []

    @functools.cached_property
    def norm(self):
        self.log.append("computed")
        return np.sqrt((self.x**2).sum())

    @functools.lru_cache(maxsize=2)  # noqa: B019
    def power(self, n):
        print("power", n)
        return self.x**n

    @staticmethod
    def shape_of(x):
        return x.shape

    @classmethod
    def unit(cls, n):
        return cls(np.ones(n))

    @functools.singledispatchmethod
    def scale(self, by):
        raise TypeError(type(by).__name__)

    @scale.register
    def _(self, by: int):
        return self.x * by

    @scale.register
    def _(self, by: str):
        return self.x * len(by)


@one
def cached_methods(x):
    cached = Cached(x)
    a = x / cached.norm + cached.norm
    b = cached.power(2) + cached.power(3) + cached.power(2)
    del cached.norm
    c = cached.norm
    parts = cached.scale(3), cached.scale("four"), Cached.unit(2).norm, cached.shape_of(x)
    try:
        cached.scale(1.5)
    except TypeError as error:
        parts = (*parts, str(error))
    partial = functools.partial(np.arctan2, c, dtype="f4", casting="unsafe")
    return a, b, cached.log, parts, partial(x), functools.reduce(np.maximum, x), type(cached).power.cache_info()[:2]


class Stack(list):
    """A list that tells what is done with it."""

    def append(self, item):
        print("append", np.shape(item))
        super().append(item)

    def __getitem__(self, index):
        return super().__getitem__(index) if isinstance(index, int) else Stack(super().__getitem__(index))


class Named(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__

    def __missing__(self, key):
        return self.setdefault(key, len(self))


@one
def containers_of_ones_own(x):
    stack, named = Stack(), Named(w=x * 2)
    for row in x:
        stack.append(row + 1)
    stack += [x[0]]
    named.b = named.w + named["nothing"]
    named.update(c=stack[-1], **{"d": stack[:1]})
    *rest, end = stack
    del named["w"]
    return np.stack(stack), type(stack[1:]).__name__, sorted(named), named.other, named.b, end, rest


def apply(function, /, *args, how="plain", **kwargs):
    frame = sys._getframe()
    print(how, function.__name__, sorted(kwargs), frame.f_code.co_name)
    return function(*args, **kwargs)


@two
def calls_of_all_kinds(x, k):
    def weighted(a, b=1, *more, scale=1.0, **others):
        return a * b * scale + sum(more) + len(others)

    options = {"scale": k, "other": 0}
    values = [apply(weighted, x), apply(weighted, x, *(2, 3), 4, **options, how="star")]
    values.append(apply(lambda *args: functools.reduce(operator.add, args), *x, how="lambda"))
    values.append(apply(np.clip, x, a_min=1, a_max=2))
    for wrong in ({"a": 1}, {"b": 1, "z": 2}):
        try:
            values.append(apply(weighted, x, **wrong))
        except TypeError as error:
            values.append(str(error))
    return values


@one
def recursion_with_a_print(x):
    def halves(y, depth=0):
        if len(y) <= 1:
            print("  " * depth + str(y))
            return y.sum()
        middle = len(y) // 2
        return halves(y[:middle], depth + 1) + halves(y[middle:], depth + 1)

    return halves(x.ravel()[:5]) + halves(x.ravel()[1:3])


class Node:
    def __init__(self, value, parents=(), back=None):
        self.value, self.parents, self.back, self.grad = value, parents, back, 0.0

    def __mul__(self, other):
        other = other if isinstance(other, Node) else Node(other)
        return Node(self.value * other.value, (self, other), lambda g: (g * other.value, g * self.value))

    def __add__(self, other):
        return Node(self.value + other.value, (self, other), lambda g: (g, g))

    def sum(self):
        return Node(self.value.sum(), (self,), lambda g: (np.broadcast_to(g, self.value.shape),))


@one
def a_tape(x):
    a, b = Node(x), Node(x + 1)
    out = (a * b + a * 3.0).sum()
    order, seen = [], set()

    def visit(node):
        if id(node) not in seen:
            seen.add(id(node))
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(out)
    out.grad = 1.0
    for node in reversed(order):
        if node.back is not None:
            for parent, grad in zip(node.parents, node.back(node.grad), strict=True):
                parent.grad = parent.grad + grad
    return out.value, a.grad, b.grad, len(order)


@two
def exceptions_chained_in_calls(x, k):
    def load(name):
        try:
            return {"w": x}[name]
        except KeyError as error:
            raise LookupError(f"no {name}") from error

    def model(name):
        try:
            return load(name) * k
        except LookupError as error:
            error.add_note("while loading")
            raise

    try:
        return model("w") + model("b")
    except LookupError as error:
        lines, trace = [], error.__traceback__
        while trace is not None:
            lines.append((trace.tb_frame.f_code.co_name, trace.tb_lineno - trace.tb_frame.f_code.co_firstlineno))
            trace = trace.tb_next
        return lines, error.__notes__, repr(error.__cause__)


@two
def an_error_in_the_innermost_call(x, k):
    def outer(y):
        def middle(z):
            def inner(w):
                w += 1
                print("inner")
                return w[k, k + 5]

            return inner(z * 2)

        return [middle(row) for row in (y, y + 1)]

    return outer(x)


@one
def state_in_globals(x):
    global HISTORY
    HISTORY = globals().get("HISTORY", ())
    HISTORY += (x.shape,)
    locals_before = sorted(locals())
    exec("y = 3", scope := {"x": x})
    return x * scope["y"], len(HISTORY), locals_before, eval("x.sum() * 2", {}, {"x": x})
