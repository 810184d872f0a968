"""Random programs of loops, compared with plain Python.

In: a seed. Out: the source of a module with ``main`` and ``CALLS`` (as of ``tests.fuzz_programs``), and what running it
plain and captured gave: ``Figures`` or a ``Failure``. Programs are lists of statements over a few names of each kind:
ints, numbers (of Python or NumPy), arrays of one and two axes, arrays of places, a list. All arrays have the size ``n``
along each axis, so that most programs get far; what is out of bounds, of other shapes or too large is rare, not absent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from capture import backends, config
from capture.frames import frontend, hook
from capture.frames.settings import Settings
from tests.fuzz_programs import check as checking
from tests.fuzz_programs.check import Failure, Sums, TooLong, fails_alike, kind_of, rehearse
from tests.fuzz_programs.outcome import Program, difference
from tests.fuzz_programs.shrink import shrink

HEAD = """\
import math

import numpy as np
from tests.fuzz_programs.outcome import call
from tests.random_loops import arguments


def pick(a, b):
    if a > b:
        return a - b
    return b + 1


def mean_of(x, i, j):
    return (x[i] + x[j]) / 2


def put(x, i, value):
    x[i] = value


def first_above(x, bound):
    for at in range(x.shape[0]):
        if x[at] > bound:
            return at
    return -1


"""
DTYPES = ("f8",) * 8 + ("i8", "i8", "i8", "f4", "f4", "i4", "u1", "b1")
WEIGHTED = tuple[tuple[int, str], ...]

# Placeholders: {i} int, {s} number, {c} condition, {p} place, {x} array, {m} matrix, {a} array expression, each of them
# an expression; {I} {S} {X} {M} a name that is assigned; {a0}:{a1} bounds of a slice that lies inside.
INTS: WEIGHTED = (
    (12, "{name}"), (4, "{number}"), (3, "{i} + {number}"), (2, "{i} - {i}"), (2, "{i} * {number}"),
    (1, "{i} // {number}"),
    (1, "{i} % {number}"), (1, "-{i}"), (1, "{i} & {number}"), (1, "{i} ^ {i}"), (1, "{i} << 2"), (1, "{i} >> 1"),
    (2, "n"),
    (1, "len({x})"), (1, "{m}.shape[1]"), (1, "{x}.size"), (2, "int({s})"), (1, "abs({i})"), (1, "min({i}, {i})"),
    (1, "max({i}, {i}, 3)"), (1, "({i} if {c} else {i})"), (1, "first_above({x}, {s})"), (1, "{i} // {i}"),
    (1, "{i} % {i}"),
)  # fmt: skip
NUMBERS: WEIGHTED = (
    (10, "{name}"), (10, "{x}[{p}]"), (5, "{m}[{p}, {p}]"), (3, "{float}"), (3, "{i}"), (5, "{s} + {s}"),
    (4, "{s} - {s}"),
    (4, "{s} * {s}"), (2, "{s} / {s}"), (1, "{s} // {s}"), (1, "{s} % {s}"), (1, "-{s}"), (1, "abs({s})"),
    (1, "min({s}, {s})"),
    (1, "max({s}, {s})"), (1, "float({s})"), (1, "math.sqrt({s})"), (1, "np.sqrt({s})"), (1, "({s} if {c} else {s})"),
    (1, "{s} ** 2"), (2, "pick({s}, {s})"), (2, "mean_of({x}, {p}, {p})"), (1, "{x}[{a0}:{a1}].max()"),
    (1, "{x}.min()"),
    (1, "np.float32({s})"), (1, "np.int64({i})"), (1, "math.floor({s})"), (1, "round({s})"),
    (1, "{x}.dtype.type({number})"),
    (1, "np.maximum({s}, {s})"), (1, "np.abs({s})"), (1, "bool({s})"), (1, "{x}[{p}].item()"), (1, "np.argmax({x})"),
)  # fmt: skip
SUMS: WEIGHTED = (
    (3, "{x}.sum()"),
    (2, "{x}[{a0}:{a1}].sum()"),
    (2, "{x}[{a0}:{a1}] @ {x}[{a0}:{a1}]"),
    (1, "{x}.mean()"),
)
"""Numbers whose bits depend on an order."""
CONDITIONS: WEIGHTED = (
    (6, "{s} > {s}"), (4, "{s} <= {s}"), (3, "{i} < {i}"), (3, "{i} % {number} == 0"), (1, "{s} == {s}"),
    (1, "not {c}"),
    (2, "{c} and {c}"), (2, "{c} or {c}"), (1, "{i} != {i}"), (1, "0 < {s} < {number}"), (1, "{s}"), (1, "{i}"),
    (1, "{x}[{p}] >= {s}"), (1, "({x} > {s}).any()"),
)  # fmt: skip
PLACES: WEIGHTED = (
    (12, "{loop}"), (3, "{loop} - 1"), (2, "{loop} + 1"), (2, "({loop} * {number} + {number}) % n"), (2, "q[{loop}]"),
    (2, "{i} % n"), (1, "-1"), (1, "0"), (1, "-{loop}"), (1, "n - 1 - {loop}"), (1, "q[{loop}] - 1"), (1, "{i}"),
    (1, "-1 - {loop}"),
)  # fmt: skip
ARRAYS: WEIGHTED = (
    (5, "{x}"), (3, "{a} + {a}"), (2, "{a} * {s}"), (2, "{a} - {s}"), (1, "{a} / {s}"), (2, "{m}[{p}]"),
    (2, "{m}[:, {p}]"),
    (1, "np.where({x} > {s}, {a}, {a})"), (1, "np.minimum({a}, {a})"), (1, "{x}[::-1]"), (1, "{x}[q]"),
    (1, "np.abs({a})"),
    (1, "{m}.max(axis={axis})"), (1, "{x}.copy()"), (1, "np.zeros(n)"), (1, "np.zeros_like({x})"), (1, "{m}.T[{p}]"),
)  # fmt: skip
STATEMENTS: WEIGHTED = (
    (9, "{S} += {s}"), (5, "{S} = {s}"), (3, "{S} -= {s}"), (2, "{S} *= {s}"), (1, "{S} /= {s}"), (1, "{S} %= {s}"),
    (1, "{S} //= {s}"),
    (3, "{I} += {i}"), (3, "{I} = {i}"), (1, "{I} = {I} * 31 + {i}"), (1, "{I} -= 1"), (1, "{I} ^= {i}"),
    (9, "{x}[{p}] = {s}"), (5, "{x}[{p}] += {s}"), (1, "{x}[{p}] *= {s}"), (1, "{x}[{p}] /= {s}"),
    (5, "{m}[{p}, {p}] = {s}"),
    (3, "{m}[{p}, {p}] -= {s}"), (3, "{x}[{a0}:{a1}] += {s}"), (3, "{x}[{a0}:{a1}] = {x}[{a0}:{a1}]"),
    (2, "{x}[{a0}:{a1}] -= {x}[{a0}:{a1}] * {s}"), (1, "{x}[1:] += {x}[:-1]"), (1, "{x}[:-1] = {x}[1:]"),
    (2, "{m}[{p}] += {a}"),
    (2, "{m}[:, {p}] = {x} + 0"), (1, "{m}[{p}, {a0}:{a1}] -= {m}[{p}, {a0}:{a1}] * {s}"), (1, "{x}[:] = {a}"),
    (1, "{x}[...] = {s}"),
    (1, "{x} *= {s}"), (1, "{x} += {a}"), (2, "{X} = {a}"), (1, "{X} = {x}"), (1, "{X} = {x}[::-1]"),
    (1, "{M} = {m} * {s}"),
    (1, "{M} = {m}.copy()"), (1, "{m} -= {x}"), (2, "{X}, {X2} = {X2}, {X}"), (2, "{S}, {S2} = {S2}, {S}"),
    (1, "{S}, {S2} = {S2}, {S} + {S2}"),
    (1, "put({x}, {p}, {s})"), (1, "{x}[{x} > {s}] = {s}"), (1, "q[{p}] = {i} % n"), (1, "out.append({s})"),
    (1, "out.append({i})"),
    (1, "np.add({x}, {s}, out={x})"), (1, "{x}[{p}], {x}[{p}] = {x}[{p}], {x}[{p}]"), (1, "{S} = {number}"),
    (1, "{S} = {float}"),
    (1, "{x}[{p}:] = {s}"), (1, "{x}[:{p}] += 1"), (1, "{x}[{i}:{i}] *= 2"), (1, "{x}[::2] = {s}"),
    (1, "np.sqrt({x}, out={x})"),
)  # fmt: skip
FORS: WEIGHTED = (
    (8, "for {L} in range(n):"), (3, "for {L} in range(1, n - 1):"), (3, "for {L} in range({i}, n):"),
    (2, "for {L} in range({i} % 16):"),
    (2, "for {L} in range(n - 1, -1, -1):"), (1, "for {L} in range(0, n, 2):"),
    (1, "for {L} in range(n, {i} % 5, -3):"),
    (1, "for {L} in range({loop}):"), (1, "for {L} in range({loop} + 1, n):"), (1, "for {L} in reversed(range(n)):"),
    (1, "for {S} in {x}:"), (1, "for {L}, {S} in enumerate({x}):"), (1, "for {S}, {S2} in zip({x}, {x}):"),
    (1, "for {X} in {m}:"),
    (1, "for {L} in range(n, n):"), (1, "for {L} in range({i} % 16, -2, -1):"), (1, "for {L} in q:"),
)  # fmt: skip
SHARING = ("",) * 8 + ("same", "shifted", "reversed", "row", "column", "strided")
DEEPEST, MOST_STATEMENTS = 3, 4


def arguments(seed: int, n: int, dtypes: str, sharing: str, big: bool) -> Any:
    """Arguments of a ``main``: arrays of numbers with few binary digits, some of them special or large."""
    import numpy as np

    rng = np.random.default_rng(seed)

    def made(dtype: str, *shape: int) -> np.ndarray:
        kind = np.dtype(dtype).kind
        low, high = {"b": (0, 2), "u": (0, 9)}.get(kind, (-5, 8))
        found = rng.integers(low, high, shape)
        array = (found / 2).astype(dtype) if kind == "f" else found.astype(dtype)
        if big and array.size:
            special = {"f": [np.inf, np.nan, 1e300, -0.0], "b": [True]}.get(kind)
            if special is None:
                special = [np.iinfo(dtype).max, np.iinfo(dtype).min]
            with np.errstate(over="ignore"):
                array.flat[rng.integers(0, array.size, 2)] = np.asarray(special)[rng.integers(0, len(special), 2)]
        return array

    first, second, matrix = dtypes.split()
    m = made(matrix, n, n)
    x, y = made(first, n), made(second, n)
    if sharing == "same":
        y = x
    elif sharing == "shifted":
        base = made(first, n + 1)
        x, y = base[1:], base[:-1]
    elif sharing == "reversed":
        y = x[::-1]
    elif sharing == "row" and n:
        m = made(first, n, n)
        x = m[n // 2]
    elif sharing == "column" and n:
        m = made(first, n, n)
        x = m[:, n // 2]
    elif sharing == "strided":
        x = made(first, 2 * n)[::2]
        m = np.asfortranarray(m)
    numbers = [int(rng.integers(-3, 12)), float(rng.integers(-4, 9)) / 2]
    return x, y, m, rng.integers(-n, n, n) if n else rng.integers(0, 1, 0), n, *numbers


class Maker:
    """Writes one program."""

    def __init__(self, seed: int, exact: bool) -> None:
        self.rng = Random(seed)
        self.numbers = NUMBERS if exact else NUMBERS + SUMS
        self.tame = self.rng.random() < 0.6  # all arrays of one dtype, sums are floats from the beginning
        self.share = self.rng.choice((0.15, 0.25, 0.4, 0.7, 1.0))
        self.deep = self.rng.choice((0, 1, 1, 2))  # how deep expressions are
        self.most = self.rng.choice((2, 3, MOST_STATEMENTS))
        self.kept: dict[int, WEIGHTED] = {}
        self.loops: list[str] = []
        self.counters = 0
        self.lines: list[str] = []

    def choose(self, rows: WEIGHTED) -> str:
        """One of the forms that this program has: a part of all, so that programs differ and some are simple."""
        kept = self.kept.get(id(rows))
        if kept is None:
            some = [row for row in rows if self.rng.random() < self.share]
            kept = self.kept[id(rows)] = tuple(some) if len(some) > 1 else rows[:2]
        return self.rng.choices([text for _, text in kept], [weight for weight, _ in kept])[0]

    def fill(self, text: str, depth: int) -> str:
        """The text with its placeholders replaced; deep inside only by names and literals."""
        found, rest = "", text
        fixed: dict[str, str] = {}
        while "{" in rest:
            before, _, rest = rest.partition("{")
            key, _, rest = rest.partition("}")
            if key in fixed:
                found += before + fixed[key]
                continue
            value = self.part(key, depth, fixed)
            if key[0] in "ISXML" or key in ("a0", "a1"):
                fixed[key] = value
            found += before + value
        return found + rest

    def part(self, key: str, depth: int, fixed: dict[str, str]) -> str:
        rng = self.rng
        names = {"I": "kj", "S": "stuvw", "X": "xyz", "M": "mm", "x": "xyyz", "m": "m"}
        if key.rstrip("2") in names:
            taken = {fixed[other] for other in (key[0], f"{key[0]}2") if other in fixed} if key[0].isupper() else set()
            return rng.choice([name for name in names[key.rstrip("2")] if name not in taken])
        if key == "L":
            return f"i{len(self.loops)}"
        if key == "loop":
            return rng.choice(self.loops) if self.loops else "k"
        simple = {
            "number": lambda: str(rng.choice((1, 2, 2, 3, 4, 5, 7, 0))), "axis": lambda: rng.choice("01"),
            "float": lambda: rng.choice(("0.5", "2.0", "-1.5", "0.0", "0.25", "1e3")),
            "a0": lambda: rng.choice(("1", "2", "", "", *self.loops)),
            "a1": lambda: rng.choice(("-1", "", "n", "", *self.loops)),
        }  # fmt: skip
        if key in simple:
            return simple[key]()
        rows = {"i": INTS, "s": self.numbers, "c": CONDITIONS, "p": PLACES, "a": ARRAYS}[key]
        if depth > self.deep:
            return {"i": "k", "s": rng.choice("stu"), "c": "k > 2", "p": self.part("loop", 0, {}), "a": "x"}[key]
        text = self.choose(rows)
        if text == "{name}":
            return rng.choice([*"kj", *self.loops, *self.loops] if key == "i" else [*"stuvw"])
        filled = self.fill(text, depth + 1)
        return f"({filled})" if (" " in text and text[0] not in "(mnp") or text[0] == "-" else filled

    # statements ---------------------------------------------------------------------------------------------------
    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def block(self, indent: int, depth: int, in_loop: bool) -> None:
        for _ in range(self.rng.randint(1, self.most)):
            self.statement(indent, depth, in_loop)

    def statement(self, indent: int, depth: int, in_loop: bool) -> None:
        rng = self.rng
        kinds = {"simple": 14, "if": 3, "for": 4, "while": 1.5, "leave": 1, "try": 0.1}
        if depth >= DEEPEST:
            kinds |= {"for": 0, "while": 0}
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        if kind == "for":
            self.loop(indent, depth, self.fill(self.choose(FORS), 1))
        elif kind == "while":
            self.while_loop(indent, depth)
        elif kind == "if":
            self.line(indent, f"if {self.fill('{c}', 1)}:")
            self.block(indent + 1, depth + 1, in_loop)
            if rng.random() < 0.2:
                self.line(indent, f"elif {self.fill('{c}', 1)}:")
                self.block(indent + 1, depth + 1, in_loop)
            if rng.random() < 0.4:
                self.line(indent, "else:")
                self.block(indent + 1, depth + 1, in_loop)
        elif kind == "leave":
            self.leave(indent, in_loop)
        elif kind == "try":
            self.line(indent, "try:")
            self.block(indent + 1, depth + 1, in_loop)
            self.line(indent, f"except {rng.choice(('IndexError', 'ZeroDivisionError', 'ValueError'))}:")
            self.line(indent + 1, self.fill(self.choose(STATEMENTS), 0))
        else:
            self.line(indent, self.fill(self.choose(STATEMENTS), 0))

    def leave(self, indent: int, in_loop: bool) -> None:
        rows = ["return {s}, {i}", "return {x}", "raise ValueError({i})"]
        text = self.rng.choice(rows + ["break", "break", "break", "continue", "continue", "continue"] * in_loop)
        if self.rng.random() < 0.1:
            self.line(indent, f"assert {self.fill('{c}', 1)}, {self.fill('{i}', 1)}")
            return
        self.line(indent, f"if {self.fill('{c}', 1)}:")
        self.line(indent + 1, self.fill(text, 1))

    def loop(self, indent: int, depth: int, head: str) -> None:
        self.line(indent, head)
        name = f"i{len(self.loops)}"
        self.loops.append(name if f" {name}" in head else "k")
        self.block(indent + 1, depth + 1, True)
        if self.rng.random() < 0.12:
            self.line(indent, "else:")
            self.block(indent + 1, depth + 1, False)
        self.loops.pop()

    def while_loop(self, indent: int, depth: int) -> None:
        self.counters += 1
        name = f"c{self.counters}"
        self.line(indent, f"{name} = {self.rng.choice(('0', '1', '-2'))}")
        condition = self.rng.choice(
            (f"{name} < n", f"{name} < n - 1", f"{name} < n and {self.fill('{c}', 1)}", f"{name} <= 12")
        )
        self.line(indent, f"while {condition}:")
        self.line(indent + 1, f"{name} += {self.rng.choice((1, 1, 2))}")  # first, so that `continue` does not skip it
        self.loops.append(name)
        self.block(indent + 1, depth + 1, True)
        self.loops.pop()

    def source(self) -> str:
        rng = self.rng
        self.line(0, "def main(x, y, m, q, n, k, s):")
        if self.tame:
            self.line(
                1,
                f"t, u, v, w, j = {rng.choice(('0.0', 'np.float64(1)'))}, 1.5, {rng.choice(('x[0]', '0.5'))}, -0.0, 0",
            )
            self.line(1, f"z, out = {rng.choice(('np.zeros(n)', 'x.copy()', 'y + 1', 'x'))}, []")
        else:
            self.line(
                1,
                f"t, u = {rng.choice(('0', '0.0', 'x.dtype.type(1)'))}, {rng.choice(('0', '0.0', '-1.5', 'True'))}",
            )
            self.line(
                1, f"v, w, j = {rng.choice(('np.float32(2)', '0'))}, {rng.choice(('0.0', 'np.int64(3)', 'False'))}, 1"
            )
            self.line(1, f"z, out = {rng.choice(('np.zeros(n)', 'x.copy()', 'np.ones_like(y)', 'y + 1'))}, []")
        for _ in range(rng.randint(0, 1)):
            self.line(1, self.fill(self.choose(STATEMENTS), 0))
        self.loop(1, 0, self.fill(self.choose(FORS), 1))
        for _ in range(rng.randint(0, 2)):
            self.statement(1, 0, False)
        self.line(
            1,
            rng.choice(
                ("return s, t, u, v, w, k, j, x, y, z, m, out", "return s, t, k, out", "return s, u, v, j, z, i0")
            ),
        )
        dtype = "f8" if self.tame else rng.choice(DTYPES)
        calls = []
        for number in range(3):
            others = (dtype if self.tame or rng.random() < 0.6 else rng.choice(DTYPES) for _ in range(2))
            sharing = rng.choice(SHARING) if number or not self.tame else ""
            n = rng.choice((9, 10, 10, 11, 12, 0, 1, 5) if number else (9, 10, 11))
            given = f"{rng.randrange(1000)}, {n}, {' '.join((dtype, *others))!r}, {sharing!r}, {rng.random() < 0.2}"
            calls.append(f"    lambda: call(*arguments({given})),")
        return HEAD + "\n".join([*self.lines, "", "", "CALLS = [", *calls, "]"]) + "\n"


def make_program(seed: int, exact: bool = False) -> str:
    """The program of a seed. ``exact``: without numbers whose bits depend on an order."""
    return Maker(seed, exact).source()


# Checking ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Figures(Sums):
    """What happened: so that nobody takes a run that captured no loop for one that found nothing."""

    programs: int = 0
    skipped: int = 0
    calls: int = 0
    raised: int = 0
    graphs: int = 0
    loops: int = 0
    broken: int = 0  # programs with a break
    whole: int = 0  # programs of one graph for each variant, with all loops in nodes


def check(source: str, folder: Path, backend: Callable[..., Any] = backends.eager) -> Figures:
    """Compare every call; raises ``Failure``, or ``TooLong`` if it is no program to try."""
    path = folder / "program.py"
    path.write_text(source)
    file = str(path)
    rehearse(source, file)
    expected = list(Program(source, file).outcomes())
    settings = Settings(backend=backend, options=config.with_options({"strict": True}))
    program = Program(source, file, lambda main: hook.Entry(main, frontend.on_miss, None, settings))
    internal: list[Exception] = []

    def noted(*args: Any) -> Any:
        try:
            return _compile_call(*args)
        except Exception as error:
            internal.append(error)
            raise

    with mock.patch.object(frontend, "compile_call", noted):
        for number, want in enumerate(expected):
            got = program.outcome(program.scope["CALLS"][number])
            if internal:
                raise Failure(type(internal[0]).__name__, f"call {number}: {internal[0]}") from internal[0]
            if found := difference(got, want):
                raise Failure(kind_of(found), f"call {number}{found}")
    record = settings.record
    loops = sum(node.target == "loop" for graph in record.graphs for node in graph.calls)
    raised = sum(outcome.raised for outcome in expected)
    broken = bool(record.breaks)
    return Figures(1, 0, len(expected), raised, len(record.graphs), loops, broken, not broken and loops > 0)


_compile_call = frontend.compile_call


def shrunk(source: str, kind: str, folder: Path, backend: Callable[..., Any] = backends.eager) -> str:
    """The smallest program that fails in the same kind of way."""

    return shrink(source, lambda candidate: fails_alike(lambda: check(candidate, folder, backend), kind))


__all__ = ["Failure", "Figures", "TooLong", "arguments", "check", "checking", "make_program", "shrunk"]
