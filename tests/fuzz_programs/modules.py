"""Random modules: globals, classes, functions that call each other, ``main``, and the calls to make of it.

In: a seed. Out: source that ``outcome`` runs: ``CALLS`` is a list of functions that make arguments, with
``call(*args, **kwargs)``; some change a global of the module first.

>>> print(make_module(7, exact=True).source)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

from tests.fuzz_programs.forms import forms
from tests.fuzz_programs.grammar import Flow, Form, Scope, Writer

SHAPES = ("(4,)", "(3,)", "(2, 3)", "(3, 3)", "(1,)", "(5, 2)", "(2, 2, 2)", "(40,)")
DTYPES = ("float64", "float64", "float64", "int64", "int64", "float32", "int32", "bool", "uint8")

IMPORTS = """\
import collections, contextlib, copy, dataclasses, functools, itertools, math, operator, sys
import numpy as np
import capture
from tests.fuzz_programs.outcome import call, values
"""

ERRORS = """\
class Wrong(ValueError):
    def __init__(self, text='', code=0):
        super().__init__(text)
        self.code = code


class Worse(Wrong, LookupError):
    pass
"""

MANAGERS = """\
class Failing:
    def __init__(self, early, late):
        self.early = early
        self.late = late

    def __enter__(self):
        if self.early:
            raise Wrong('early')

    def __exit__(self, *error):
        <exit>
        if self.late:
            raise Worse('late')


class Managed:
    def __init__(self, name, swallow=False):
        self.name = name
        self.swallow = swallow

    def __enter__(self):
        <enter>
        return len(self.name)

    def __exit__(self, kind, error, trace):
        <exit>
        return self.swallow


@contextlib.contextmanager
def managed(number):
    <enter>
    try:
        yield number
    finally:
        <exit>
"""
EVENTS = ("print('{0}')", "EVENTS.append('{0}')", "COUNT['{0}'] = COUNT.get('{0}', 0) + 1", "pass")

LIBRARY = """\
Point = collections.namedtuple('Point', 'x y')


@dataclasses.dataclass
class Record:
    n: int
    data: list = dataclasses.field(default_factory=list)


class Slotted:
    __slots__ = ('n', 'data')

    def __init__(self, n, data):
        self.n = n
        self.data = data


class Lazy:
    def __init__(self, held):
        self.held = held

    def __getattr__(self, name):
        if name not in self.held:
            raise AttributeError(name)
        return self.held[name]


def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        EVENTS.append(len(args))
        try:
            return function(*args, **kwargs)
        finally:
            COUNT['traced'] = COUNT.get('traced', 0) + 1
    return wrapper


def echo(value):
    while True:
        try:
            got = yield value
            value = value if got is None else value + got
        except LookupError:
            EVENTS.append(1)
            yield 'lookup'


def running(arrays):
    total = 0
    for array in arrays:
        total = total + array
        yield total
    return total


def many(a=1, b=2, *rest, k=3, **named):
    return a + b * 2 + sum(rest) + k * 3 + sum(named.values())


def recursive(n, k):
    return k if n <= 0 else recursive(n - 1, k + n) + 1


def halved(x, n):
    if n <= 0 or x.max() < 1:
        return x
    return halved(x / 2, n - 1) + n
"""

CLASSES = """\
class Box:
    made = 0

    def __init__(self, n, data):
        self.n = n
        self.data = data
        self.items = [n, 2]

    @classmethod
    def plain(cls, data):
        return cls(1, data)

    @property
    def twice(self):
        return self.n * 2

    @twice.setter
    def twice(self, <~int:v>):
        <function>
        self.n = <:v>

    def total(self):
        <function>
        return self.n + <int>

    def bump(self, <~int:v>):
        <function>
        self.n += <:v>

    def scaled(self, <~int>):
        return self.n * <int>

    def apply(self, <~array:v>, scale=2):
        <function>
        return <:v> * scale + <num>

    def name(self):
        return f"{type(self).__name__}{self.n}"

    def walk(self):
        <function>
        yield self.n
        yield from self.items[:3]

    def __add__(self, <~array:v>):
        return type(self)(self.n + 1, self.data + <:v>)

    def __matmul__(self, <~array:v>):
        <function>
        return self.data - <:v>

    def __eq__(self, other):
        return isinstance(other, Box) and self.n == other.n

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __setitem__(self, index, <~int:v>):
        <function>
        self.items[index] = <:v>

    def __iter__(self):
        return iter(self.items[:3])

    def __call__(self, <~int:v>):
        <function>
        return <:v> + self.n


class Child(Box):
    def __init__(self, n, data):
        super().__init__(n, data)
        Box.made += 1

    def total(self):
        return super().total() + 1

    def bump(self, <~int:v>):
        <function>
        super().bump(<:v>)
        return self


def make_box(n, data):
    box = Child(n, data) if n % 2 else Box(n, data)
    box.extra = n
    return box
"""

VIEWS = ("", "", "[::-1]", "[...]", "[:]", ".T")
"""How an argument shows the memory of another."""
PARAMETERS = ("array", "array", "int", "int", "float", "num", "bool", "str", "ints", "arrays", "table", "params", "any")
RESULTS = ("int", "array", "array", "float", "ints", "pair", "arrays", "box", "any", "str")


@dataclass(frozen=True)
class Module:
    seed: int
    source: str
    used: Counter[str]


def make_module(seed: int, exact: bool) -> Module:
    return _Maker(seed, exact).module()


class _Maker:
    def __init__(self, seed: int, exact: bool) -> None:
        self.seed = seed
        self.random = random = Random(seed)
        self.shape = random.choice(SHAPES)
        self.globals = {"COUNTER": "int", "SCALE": "float", "WEIGHT": "array", "COUNT": "table", "EVENTS": "ints"}
        self.writer = Writer(random, Scope(dict(self.globals)), forms(exact))
        self.writer.module = set(self.globals)

    def module(self) -> Module:
        parts = [IMPORTS, self.module_globals(), ERRORS, LIBRARY, self.managers(), self.classes()]
        parts += [self.function(f"helper_{n}") for n in range(self.random.randint(1, 3))]
        if self.random.random() < 0.4:
            parts.append(self.generator())
        parts += [self.main(), self.changes(), self.calls()]
        return Module(self.seed, "\n\n".join(part.strip("\n") + "\n" for part in parts), self.writer.used)

    def module_globals(self) -> str:
        shape = self.shape if self.random.random() < 0.6 else "(1,)"
        return f"COUNTER = 1\nSCALE = 0.5\nWEIGHT = values(99, 'float64', {shape})\nCOUNT = {{'a': 2}}\nEVENTS = []\n"

    def managers(self) -> str:
        text = MANAGERS
        for word in ("enter", "exit"):
            while f"<{word}>" in text:
                text = text.replace(f"<{word}>", self.random.choice(EVENTS).format(word), 1)
        return text

    def classes(self) -> str:
        """Their methods make no boxes, and call none of each other beyond what is written."""
        self.writer.banned = {"box"}
        lines = self.writer.form(Form("class", 1, tuple(CLASSES.splitlines())), Flow(), 2)
        self.writer.banned = set()
        return "\n".join(lines)

    def declared(self) -> tuple[list[str], dict[str, str]]:
        names = [name for name in self.globals if self.random.random() < 0.2]
        return [f"    global {name}" for name in names], {name: self.globals[name] for name in names}

    def body(self, parameters: dict[str, str], flow: Flow, most: int, least: int = 1) -> tuple[list[str], Scope]:
        lines, names = self.declared()
        around = self.writer.scope
        self.writer.scope = scope = Scope({**names, **parameters}, around)
        lines += [f"    {line}" for line in self.writer.block(flow, 0, most, least)]
        self.writer.scope = around
        return lines, scope

    def function(self, name: str) -> str:
        """A function, and new expressions that call it."""
        kinds = ["array", *self.random.choices(PARAMETERS, k=self.random.randint(0, 2))]
        result = self.random.choice(RESULTS)
        parameters = {f"p{index}": kind for index, kind in enumerate(kinds)}
        heads, options = list(parameters), []
        if self.random.random() < 0.5:
            parameters["scale"] = "int"
            heads.append(self.random.choice(["scale=2", "*, scale=2"]))
            options.append("scale=<int>")
        if self.random.random() < 0.3:
            position = next((n for n, head in enumerate(heads) if head.startswith("*")), len(heads))
            if position == len(heads):
                heads.append("*rest")
                parameters["rest"] = "tail"
        if self.random.random() < 0.3:
            heads.append("**named")
            parameters["named"] = "table"
            options += ["c=<int>", "**<table>"]
        lines, scope = self.body(parameters, Flow(returns=result), 5)
        lines += self.ending(scope, result)
        given = ", ".join(f"<{kind}>" for kind in kinds)
        calls = [f"{name}({given})", *(f"{name}({given}, {option})" for option in options)]
        self.writer.extra.setdefault(result, []).extend(calls)
        return "\n".join([f"def {name}({', '.join(heads)}):", *lines]) + "\n"

    def ending(self, scope: Scope, result: str) -> list[str]:
        around, self.writer.scope = self.writer.scope, scope
        try:
            return [f"    return {self.writer.expression(result)}"]
        finally:
            self.writer.scope = around

    def generator(self) -> str:
        kind, result = self.random.choice([("gen", "int"), ("agen", "array")])
        lines, scope = self.body({"p0": "array", "p1": "int"}, Flow(yields=result), 4)
        around, self.writer.scope = self.writer.scope, scope
        lines.append(f"    yield {self.writer.expression(result)}")
        self.writer.scope = around
        self.writer.extra.setdefault(kind, []).append("produce(<array>, <int>)")
        return "\n".join(["def produce(p0, p1=1):", *lines]) + "\n"

    def main(self) -> str:
        kinds = ["array", "array", "int", *self.random.choices(PARAMETERS, k=self.random.randint(0, 3))]
        self.parameters = {f"{kind}_{index}": kind for index, kind in enumerate(kinds)}
        lines, scope = self.body(self.parameters, Flow(returns="pair"), 11, 6)
        names = [name for name in scope.names if name not in self.globals]
        self.random.shuffle(names)
        lines.append(f"    return {', '.join(names[:7])},")
        return "\n".join([f"def main({', '.join(self.parameters)}):", *lines]) + "\n"

    # calls ----------------------------------------------------------------------------------------------------------
    def changes(self) -> str:
        return """\
def change_counter(to):
    global COUNTER
    COUNTER = to


def change_scale(to):
    global SCALE
    SCALE = to


def change_weight(shape, dtype):
    global WEIGHT
    WEIGHT = values(98, dtype, shape)


def change_class(to):
    Box.scaled = lambda self, by: self.n * by + to
"""

    def calls(self) -> str:
        """The first twice; then others in which something differs."""
        first = {name: self.argument(kind, self.shape) for name, kind in self.parameters.items()}
        rows = [self.row(first), self.row(first)]
        for _ in range(self.random.randint(2, 5)):
            rows.append(self.row(self.varied(first), self.random.random() < 0.25))
        rows.append(self.row(first))
        return "CALLS = [\n" + "".join(f"    lambda: {row},\n" for row in rows) + "]\n"

    def row(self, arguments: dict[str, str], changing: bool = False) -> str:
        text = f"call({', '.join(arguments.values())})"
        if not changing:
            return text
        change = self.random.choice(
            [
                f"change_counter({self.random.choice(['2', '7', '1.5', 'True'])})",
                f"change_scale({self.random.choice(['2.0', '3', '-0.5'])})",
                f"change_weight({self.shape}, {self.random.choice(DTYPES)!r})",
                f"change_class({self.random.randint(0, 3)})",
            ]
        )
        return f"({change}, {text})[1]"

    def varied(self, first: dict[str, str]) -> dict[str, str]:
        changed = dict(first)
        arrays = [name for name, kind in self.parameters.items() if kind in ("array", "any")]
        way = self.random.randrange(6)
        if way == 0:
            shape = self.random.choice(SHAPES)
            return {name: self.argument(kind, shape) for name, kind in self.parameters.items()}
        if way == 1:
            changed[arrays[0]] = f"(same := {changed[arrays[0]]})"
            changed[arrays[1]] = f"same{self.random.choice(VIEWS)}"
            for name in arrays[2:]:
                changed[name] = self.random.choice([changed[name], "same"])
            return changed
        if way == 2:
            name = self.random.choice(arrays)
            changed[name] = self.argument("array", self.random.choice(["(1,)", self.shape, "()", self.shape]))
            return changed
        for name in self.random.sample(list(first), min(len(first), self.random.randint(1, 2))):
            kind = self.parameters[name]
            changed[name] = self.argument(kind, self.shape)
            if kind in ("int", "num", "float") and self.random.random() < 0.4:
                changed[name] = self.random.choice(["True", "2.5", "np.float64(1.5)", "np.int64(2)", "-1", "10 ** 20"])
        return changed

    def argument(self, kind: str, shape: str) -> str:
        random = self.random
        array = f"values({random.randrange(100)}, {random.choice(DTYPES)!r}, {shape})"
        turned = "[::-1]" if shape != "()" else ""
        number = str(random.choice([0, 1, 2, 3, 5, 7, -2]))
        made = {
            "array": random.choice([array, array, array, f"np.asfortranarray({array})", f"{array}{turned}"]),
            "any": random.choice([array, f"values(3, 'float64', {random.choice(SHAPES)})"]),
            "int": number,
            "float": str(random.choice([0.5, 1.5, -2.0, 4.0])),
            "num": random.choice([number, "0.5", "np.float64(2.5)", "None", "True"]),
            "bool": random.choice(["True", "False"]),
            "str": random.choice(["'a'", "'ab'", "''"]),
            "ints": random.choice(["[1, 2, 3]", "[]", f"[{number}]", "[4, 1, 4, 0]"]),
            "arrays": random.choice([f"[{array}]", f"[{array}, {array}]", f"[(one := {array}), one]"]),
            "table": random.choice(["{'a': 1, 'b': 2}", "{}", f"{{'c': {number}}}"]),
            "params": f"{{'w': {array}, 'b': {array}}}",
        }
        return made[kind]
