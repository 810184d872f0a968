"""Fills forms: text with placeholders becomes statements and expressions whose names exist.

In: tables of forms (``forms``), a random generator, the names in scope. Out: lines of Python. A placeholder is

- ``<int>``    an expression of that kind
- ``<=int>``   a variable of that kind which may be assigned to here
- ``<+int>``   a new variable, known from the next line on
- ``<-int>``   a variable of that kind
- ``<~int>``   a new variable, known in the block below (or, in an expression, where ``<int*>`` stands)
- ``<int:a>``  remembered; ``<:a>`` is the same text again
- ``<body>`` ``<loop>``  lines of their own: a block; in a loop, ``break`` and ``continue`` are among the statements

>>> Writer(random.Random(1), Scope({"x": "array"}), FORMS).expression("array")
'np.where(x > 2, x, x * 3)'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

Names = dict[str, str]  # to their kinds
PLACEHOLDER = re.compile(r"<([-=+~]?)(\w*)(\*?)(?::(\w+))?>")
DEEPEST_EXPRESSION = 3
DEEPEST_BLOCK = 3
READ_ONLY = {"counter": "int"}
"""Kinds whose variables are read as another kind and never assigned to: they bound loops."""

REBOUND = ("int", "array", "ints")
"""Kinds that nested functions assign to variables around them."""
RETURNS = {"fi": "int", "fn": "array"}
"""What functions of a kind give."""


class Stuck(Exception):
    """This form cannot be filled here."""


@dataclass(frozen=True)
class Form:
    name: str
    weight: float
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Forms:
    """``expressions[kind]`` are texts; ``statements`` are forms by name, ``#`` rows of the tables."""

    expressions: Mapping[str, Sequence[str]]
    statements: Sequence[Form]


def parse_expressions(text: str) -> dict[str, list[str]]:
    """``[kind]`` begins the forms of a kind, one a line."""
    found: dict[str, list[str]] = {}
    kind = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            kind = heading[1]
            found.setdefault(kind, [])
        else:
            found[kind].append(line)
    return found


def parse_statements(text: str) -> list[Form]:
    """``# name weight`` begins the forms of a name, which blank lines divide; the weight is that of all of them."""
    found: list[Form] = []
    name, weight, lines = "", 0.0, []
    for line in [*text.strip("\n").splitlines(), ""]:
        if line.startswith("#"):
            name, _, number = line[1:].strip().rpartition(" ")
            weight = float(number)
        elif line.strip():
            lines.append(line)
        elif lines:
            found.append(Form(name, weight, tuple(lines)))
            lines = []
    return found


@dataclass(frozen=True)
class Flow:
    """Which statements are allowed: ``return`` of a kind, ``yield`` of a kind, ``break``."""

    returns: str = ""
    yields: str = ""
    loop: bool = False


@dataclass
class Scope:
    """Names by kind; ``outer`` are those of the enclosing blocks, up to the function, and then of what is around it."""

    names: Names = field(default_factory=dict)
    outer: Scope | None = None
    function: bool = True  # begins a function: what is around it cannot be assigned to

    def visible(self) -> Names:
        return {**(self.outer.visible() if self.outer else {}), **self.names}

    def assignable(self) -> Names:
        inherited = self.outer.assignable() if self.outer and not self.function else {}
        return {**inherited, **self.names}

    def forget(self, name: str) -> None:
        self.names.pop(name, None)
        if self.outer:
            self.outer.forget(name)


class Writer:
    """Writes code at one place after the other; ``used`` counts the forms."""

    def __init__(self, random: Random, scope: Scope, forms: Forms, used: Counter[str] | None = None) -> None:
        self.random = random
        self.scope = scope
        self.forms = forms
        self.used: Counter[str] = Counter() if used is None else used
        self.count = 0
        self.begins = False  # the block below is the first of a function
        self.banned: set[str] = set()  # kinds that would make calls endless here
        self.module: set[str] = set()  # variables of the module, some of them declared global
        self.extra: dict[str, list[str]] = {}  # more expressions: calls of the program's own functions

    # expressions --------------------------------------------------------------------------------------------------
    def expression(self, kind: str, depth: int = 0) -> str:
        if kind in self.banned:
            raise Stuck(kind)
        names = [name for name, its in self.scope.visible().items() if READ_ONLY.get(its, its) == kind]
        if names and (depth >= DEEPEST_EXPRESSION or self.random.random() < 0.35 + 0.15 * depth):
            return self.choice(names)
        own = self.extra.get(kind, [])
        if own and depth < DEEPEST_EXPRESSION and self.random.random() < 0.2:
            return self.filled(self.random.choice(own), {}, depth + 1)
        forms = self.forms.expressions[kind]
        if depth >= DEEPEST_EXPRESSION:
            forms = [form for form in forms if "<" not in form] or forms[:1]
        for _ in range(20):
            form = self.random.choice(forms)
            try:
                text = self.filled(form, {}, depth + 1)
            except Stuck:
                continue
            self.used[f"{kind}: {form}"] += 1
            return text
        raise Stuck(kind)

    def filled(self, form: str, labels: Names, depth: int) -> str:
        """An expression whose own variables are known at the placeholders with a star."""
        around, own = self.scope, Scope({}, self.scope)
        for match in PLACEHOLDER.finditer(form):
            if match[1] == "~":
                labels[match[4] or "~"] = name = self.new_name(match[2])
                own.names[name] = match[2]

        def fill(match: re.Match[str]) -> str:
            self.scope = own if match[3] else around
            sign, kind, _, label = match.groups()
            if label in labels or sign == "~":
                return labels[label or "~"]
            text = self.one(sign, kind, depth)
            if label:
                labels[label] = text
            return text

        try:
            return PLACEHOLDER.sub(fill, form)
        finally:
            self.scope = around

    def one(self, sign: str, kind: str, depth: int) -> str:
        if sign in ("=", "-") and sign:
            known = self.scope.assignable() if sign == "=" else self.scope.visible()
            names = [name for name, its in known.items() if its == kind]
            if not names:
                raise Stuck(kind)
            return self.choice(names)
        text = self.expression(kind, depth)
        return text if text.isidentifier() else f"({text})"

    def choice(self, names: Sequence[str]) -> str:
        """One of the names, seldom one of the module."""
        near = [name for name in names if name not in self.module]
        return self.random.choice(near if near and self.random.random() < 0.9 else names)

    def new_name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    # statements ---------------------------------------------------------------------------------------------------
    def block(self, flow: Flow, depth: int, most: int, least: int = 1) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(least, most)):
            lines += self.statement(flow, depth)
        return lines

    def nested(self, flow: Flow, depth: int, names: Names, function: bool = False) -> list[str]:
        """A block one level in; it sees the names."""
        around = self.scope
        self.scope = Scope(dict(names), around, function)
        try:
            return [f"    {line}" for line in self.block(flow, depth + 1, 3)]
        finally:
            self.scope = around

    def statement(self, flow: Flow, depth: int) -> list[str]:
        usable: dict[str, list[Form]] = {}
        for form in self.forms.statements:
            if self.allowed(form, flow, depth):
                usable.setdefault(form.name, []).append(form)
        weights = [forms[0].weight for forms in usable.values()]
        for _ in range(40):
            form = self.random.choice(usable[self.random.choices(list(usable), weights)[0]])
            around = dict(self.scope.names)
            try:
                lines = self.form(form, flow, depth)
            except Stuck:
                self.scope.names = around
                continue
            self.used[form.name] += 1
            return lines
        return ["pass"]

    def allowed(self, form: Form, flow: Flow, depth: int) -> bool:
        text = "\n".join(form.lines)
        if depth >= DEEPEST_BLOCK and len(form.lines) > 1:
            return False
        if form.name == "leave a loop" and not flow.loop:
            return False
        return (flow.returns or "<return>" not in text) and (flow.yields or "<yield>" not in text)  # type: ignore

    def form(self, form: Form, flow: Flow, depth: int) -> list[str]:
        """The lines of a filled form. Names a line binds are known to the lines after it."""
        lines: list[str] = []
        labels: Names = {}
        inner: Names = {}
        functions: Names = {}  # known when their bodies have ended
        for line in form.lines:
            text = line.lstrip()
            indent = line[: len(line) - len(text)]
            if text in ("<body>", "<loop>", "<function>"):
                self.begins = lines[-1].lstrip().startswith("def ")
                block = self.block_below(text, flow, depth, inner, functions)
                lines += [indent[4:] + row for row in block]
                continue
            if not indent or text.startswith(("case ", "def ")):
                inner = {}
            around, self.scope = self.scope, Scope(inner, self.scope, False) if indent else self.scope
            try:
                text, new, below = self.line(text, labels, flow)
            finally:
                self.scope = around
            inner = {**inner, **below}
            if text.startswith("def "):
                functions.update(new)
            elif indent:
                inner.update(new)
            else:
                self.scope.names.update(new)
            lines.append(indent + text)
            if text.startswith("del "):
                if text[4:] in self.module:
                    raise Stuck(text)
                self.scope.forget(text[4:])
        self.scope.names.update(functions)
        return lines

    def block_below(self, word: str, flow: Flow, depth: int, names: Names, functions: Names) -> list[str]:
        if word == "<function>":
            declared = self.declarations()
            names = {**names, **{name: kind for _, name, kind in declared}}
            returns = [RETURNS[kind] for kind in functions.values() if kind in RETURNS]
            body = self.nested(Flow(*returns), depth, names, function=True)
            return [f"    {keyword} {name}" for keyword, name, _ in declared] + body
        within = Flow(flow.returns, flow.yields, word == "<loop>" or flow.loop)
        return self.nested(within, depth, names)

    def declarations(self) -> list[tuple[str, str, str]]:
        """``nonlocal`` for a variable of the function around."""
        known = self.scope.assignable().items()
        local = [(name, kind) for name, kind in known if kind in REBOUND and name not in self.module]
        if not local or not self.begins or self.random.random() < 0.5:
            return []
        name, kind = self.random.choice(local)
        return [("nonlocal", name, kind)]

    def line(self, text: str, labels: Names, flow: Flow) -> tuple[str, Names, Names]:
        """The line, and the names that are new after it and below it."""
        new: Names = {}
        below: Names = {}

        def fill(match: re.Match[str]) -> str:
            sign, kind, _, label = match.groups()
            if label in labels:
                return labels[label]
            if sign in ("+", "~") and sign:
                word = self.new_name(kind)
                (new if sign == "+" else below)[word] = kind
            elif kind in ("return", "yield"):
                word = f"{kind} {self.expression(getattr(flow, kind + 's'))}"
            else:
                word = self.one(sign, kind, 0)
            if label:
                labels[label] = word
            return word

        filled = PLACEHOLDER.sub(fill, text)
        return filled, new, {**below, "self": "me"} if "(self" in filled else below
