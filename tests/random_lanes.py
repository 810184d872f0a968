"""Random programs of loops whose rounds have nothing to do with each other, each with a loop of its own: what may have
lanes (``tests/random_loops.py`` says what becomes of programs).

In: a seed. Out: the source of a module with ``main`` and ``CALLS``.
"""

from __future__ import annotations

from random import Random

from tests.random_loops import HEAD

INTS = (
    "a", "a", "b", "b", "c", "i", "k", "int(q[i])", "3", "7", "1", "n", "a + b", "a - c", "b * 2", "a // 2", "b % 5",
    "a & 7", "a ^ i", "abs(b)", "min(a, b)", "max(b, 1)", "(a if b > c else b)", "-a", "b >> 1", "a * b", "a // b",
    "b % a", "1 << (a & 7)", "int(u)",
)  # fmt: skip
FLOATS = (
    "u", "u", "v", "v", "w", "0.5", "2.0", "float(a)", "u + v", "u - 0.25", "u * 0.5", "v * w", "u / 2", "u / v",
    "abs(v)", "min(u, v)", "max(v, -1.0)", "(u if v > w else w)", "-u", "math.sqrt(abs(u))", "math.sqrt(v)",
    "math.exp(-abs(u))", "float(x[i])", "float(x[i - 1])", "float(y[a % n])", "float(m[i, b % n])", "float(y[c])",
    "float(m[a % n, i])", "u % 3.0", "float(y[a])",
)  # fmt: skip
CONDITIONS = (
    "a > b", "b < 4", "a % 2 == 0", "u > v", "v <= 0.5", "a != b", "c % 3 == 1", "x[i] > 0", "u == v", "not a",
    "a > 0 and u < 9.0", "b < 0 or v > w",
)  # fmt: skip
STORES = (
    "z[i] = {f}", "z[i] += {f}", "x[i] = {f}", "r[i, c % n] = {f}", "r[i, c] += {f}", "t[i] = {i}", "m[i, 0] = {f}",
)  # fmt: skip
HEADS = (
    "for i in range(n):", "for i in range(n):", "for i in range(1, n - 1):", "for i in range(0, n, 2):",
    "for i in range(k % 4, n):",
)  # fmt: skip
WHILES = (
    "while c < {cap} and {c}:", "while c < {cap}:", "while {c} and c < {cap}:", "while c < int(q[i]) % 9:",
    "while c < i:", "while c < {cap} and ({c} or {c}):",
)  # fmt: skip
FORS = ("for c in range(n):", "for c in range(i):", "for c in range(1, n):", "for c in range({cap}):")


class Maker:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        share = self.rng.choice((0.2, 0.4, 0.8))
        self.ints, self.floats, self.conditions, self.stores = (
            [row for row in rows if self.rng.random() < share] or list(rows[:2])
            for rows in (INTS, FLOATS, CONDITIONS, STORES)
        )
        self.lines: list[str] = []

    def fill(self, text: str) -> str:
        choose = self.rng.choice
        parts = {"i": self.ints, "f": self.floats, "c": self.conditions, "cap": ("3", "6", "11", "40")}
        while "{" in text:
            before, _, rest = text.partition("{")
            key, _, rest = rest.partition("}")
            text = before + choose(parts[key]) + rest
        return text

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + self.fill(text))

    def assignment(self) -> str:
        if self.rng.random() < 0.5:
            return f"{self.rng.choice('ab')} {self.rng.choice(('=', '=', '+=', '-='))} {{i}}"
        return f"{self.rng.choice('uvw')} {self.rng.choice(('=', '=', '+=', '*='))} {{f}}"

    def statement(self, indent: int, inside: bool) -> None:
        kind = self.rng.random()
        if kind < 0.6:
            self.line(indent, self.assignment())
        elif kind < 0.7:
            self.line(indent, self.rng.choice(self.stores))
        elif kind < 0.8:
            self.line(indent, "if {c}:")
            self.line(indent + 1, self.assignment())
            if self.rng.random() < 0.5:
                self.line(indent, "else:")
                self.line(indent + 1, self.assignment())
        elif kind < 0.85:
            self.line(indent, "if {c}:")
            rows = ("break", "continue") if inside else ("continue",)
            self.line(indent + 1, self.rng.choice((*rows, "raise ValueError(a)") if kind < 0.81 else rows))
        elif kind < 0.9:
            self.line(indent, "a, b = b, {i}")
        else:
            self.line(indent, "u, v = v, {f}")

    def source(self) -> str:
        rng = self.rng
        self.line(0, "def main(x, y, m, q, n, k, s):")
        self.line(1, "z, r, t = np.zeros(n), np.zeros((n, n)), np.zeros(n, dtype=np.int64)")
        self.line(1, rng.choice(HEADS))
        self.line(2, f"a, b, c = {rng.choice(('0', 'i', 'k', 'int(q[i])'))}, {rng.choice(('1', 'i + 1', 'n'))}, 0")
        self.line(2, f"u, v, w = {rng.choice(('0.0', 'float(x[i])', 's'))}, 1.5, {rng.choice(('0.5', 's', '-2.0'))}")
        for _ in range(rng.randint(0, 2)):
            self.statement(2, False)
        if rng.random() < 0.75:
            self.line(2, rng.choice(WHILES))
            self.line(3, f"c += {rng.choice('112')}")
        else:
            self.line(2, rng.choice(FORS))
        for _ in range(rng.randint(1, 4)):
            self.statement(3, True)
        if rng.random() < 0.15:
            self.line(2, "else:")
            self.statement(3, False)
        for _ in range(rng.randint(0, 2)):
            self.statement(2, False)
        self.line(2, rng.choice(("z[i] = u", "z[i] = u + v", "t[i] = a", "t[i] = c", "z[i] += w", "r[i, i] = v")))
        self.line(1, "return x, y, m, z, r, t")
        calls = []
        for number in range(3):
            n = rng.choice((9, 10, 0, 1, 3, 33) if number else (9, 23))
            sharing = rng.choice(("", "", "", "row", "column", "strided", "same")) if number else ""
            dtypes = "f8 f8 f8" if number < 2 else rng.choice(("f8 f8 f8", "f4 f8 f8", "i8 f8 f4"))
            given = f"{rng.randrange(1000)}, {n}, {dtypes!r}, {sharing!r}, {rng.random() < 0.1}"
            calls.append(f"    lambda: call(*arguments({given})),")
        return HEAD + "\n".join([*self.lines, "", "", "CALLS = [", *calls, "]"]) + "\n"


def make_program(seed: int) -> str:
    """The program of a seed."""
    return Maker(seed).source()
