"""Random changes of a small heap of lists, dicts, objects, arrays, cells and globals: as in plain Python, every time.

A program is a list of statements over the names of a heap; a heap says which of these names are one object, and what
lies in what. Each program runs on its first heap twice, then on others: guards must notice that objects are one
now, and that lists and dicts are longer or shorter where that makes a difference.

``HEAP_EXAMPLES=5000 python -m pytest tests/frames/test_random_stores.py`` tries more programs.
"""

import contextlib
import io
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture import config
from capture.backends import eager
from capture.frames import frontend, hook
from capture.frames.settings import Settings

EXAMPLES = int(os.environ.get("HEAP_EXAMPLES", "80"))

LISTS, DICTS, OBJECTS, ARRAYS = ("a", "b", "o.l", 'd["l"]'), ("d", "e", "p.d"), ("o", "p"), ("x", "y")
VALUES = (
    "1", "2.5", '"s"', "None", "x + 1", "x.sum()", "[]", "[y]", "{}", '{"k": x}', "(a, 1)", "t", "u", "n", "G",
    *LISTS, *DICTS, *OBJECTS, *ARRAYS,
)  # fmt: skip
KEYS = ('"k"', '"l"', "1", "True", '("k", 1)', '"new"')
PARTS = {
    "L": LISTS, "D": DICTS, "O": OBJECTS, "X": ARRAYS, "V": VALUES, "K": KEYS, "T": ("t", "u"), "N": ("l", "v", "w"),
    "I": ("0", "-1", "1", "-2", "2", "len(a) - 1"),
}  # fmt: skip
"""What the capital letters of a statement stand for."""

STATEMENTS = (
    "L.append(V)", "L.append(V)", "L.extend(L)", "L += [V, V]", "L.insert(I, V)", "T = L.pop()", "T = L.pop(I)",
    "L[I] = V", "del L[I]", "L[I:] = [V]", "L[:] = L", "L.reverse()", "L.clear()", "L *= 2", "T = L[I]", "T = len(L)",
    "T = bool(L)", "T = L[:]", "T = L[:2]", "T = L[1:3]",
    "T = V in L", "L.remove(V)", "T = L.index(V)", "T = next(iter(L))", "L = [V]", "T = V in (1, None)",
    "D[K] = V", "D[K] = V", "T = D.pop(K, V)", "T = D.get(K)", "T = D.setdefault(K, V)", "del D[K]", "T = D[K]",
    "D.update(k=V)", "D.update(D)", "T = len(D)", "T = K in D", "D.clear()", "T = list(D)", "T = D.popitem()",
    "D = {K: V}",
    "O.N = V", "O.N = V", "T = O.N", "del O.N", "O.n += 1", "T = hasattr(O, 'N')", "setattr(O, 'N', V)",
    "X[I] = 2", "X += 1", "T = X * 2", "O.v = X", "n += 1", "n = V", "T = n", "G += 1", "T = G", "bump()", "T = peek()",
    "T = V is V", "T = [V, V]", "T = (V, V)", "print(len(L))", "print(sorted(map(str, D)))", "print(n, G)",
    "for i in L:\n    T = i\n    if len(a) > 6:\n        break",
    "for i in a:\n    if len(a) < 6:\n        a.append(V)",
    "for i in D:\n    T = i",
    "for i in list(D):\n    D[i] = V",
    "for i, j in D.items():\n    print(i)",
    "for i in reversed(L):\n    L.append(i) if len(L) < 6 else print(len(L))",
    "try:\n    T = L[I]\n    T = D[K]\nexcept LookupError:\n    L.append('caught')",
    "try:\n    D[K] = V\n    raise ValueError('r')\nexcept ValueError:\n    O.N = V",
)  # fmt: skip


@st.composite
def statements(draw):
    """A statement with every capital letter replaced; the same letter may become another name each time."""
    text = draw(st.sampled_from(STATEMENTS))
    return "".join(draw(st.sampled_from(PARTS[c])) if _stands_alone(text, i) else c for i, c in enumerate(text))


def _stands_alone(text, place):
    around = text[place - 1 : place] + text[place + 1 : place + 2]
    return text[place] in PARTS and not any(c.isalnum() or c == "_" for c in around)


PROGRAM = """\
def make(n):
    def f(a, b, d, e, o, p, x, y, bump, peek):
        global G
        nonlocal n
        t = u = 0
{body}
        return t, u, a, b

    def bump():
        nonlocal n
        n = 1 if not isinstance(n, int) else n + 1

    def peek():
        return n

    return f, bump, peek
"""


class Thing:
    def __repr__(self):
        return "a thing"


def make_heap(same):
    """Names and objects; ``same`` says which of them are one."""
    heap = {"a": [1, 2.5, "z"], "b": [None], "d": {"k": 1, True: 2.5}, "e": {"k": [4]}, "o": Thing(), "p": Thing()}
    heap |= {"x": np.arange(3.0), "y": np.ones(3)}
    pairs = {"lists": ("b", "a"), "dicts": ("e", "d"), "objects": ("p", "o"), "arrays": ("y", "x")}
    for word, (name, other) in pairs.items():
        if word in same:
            heap[name] = heap[other]
    o, p, d = heap["o"], heap["p"], heap["d"]
    o.n, o.l, o.v = 1, heap["a"] if "attribute" in same else [7, 8], heap["x"] if "array in" in same else None
    p.n, p.l, p.w, p.d = 2, [], o, heap["d"] if "dict in" in same else {}
    d["l"] = heap["a"] if "item" in same else [5]
    if "own dict" in same:
        heap["e"] = vars(heap["o"])
    change_lengths(heap, same)
    return heap


def change_lengths(heap, how):
    if "longer" in how:
        heap["a"][1:1] = [6, "more"]
        d, e = heap["d"], heap["e"]
        d["more"] = e["more"] = heap["x"]
    if "shorter" in how:
        del heap["a"][-1], heap["d"][1]
    if "empty" in how:
        heap["a"].clear()
        heap["d"].pop("k")


SAME = ("lists", "dicts", "objects", "arrays", "attribute", "array in", "dict in", "item", "own dict", "own function")
LENGTHS = ("longer", "shorter", "empty")
HEAPS = st.frozensets(st.sampled_from((*SAME, *LENGTHS)), max_size=3)


def shape(value, seen):
    """All that can be seen of a value; an object met again by its number."""
    if isinstance(value, np.ndarray | list | dict | Thing):
        if id(value) in seen:
            return f"#{seen[id(value)]}"
        seen[id(value)] = len(seen)
    if isinstance(value, np.ndarray):
        return ("array", value.tolist())
    if isinstance(value, list | tuple):
        return (type(value).__name__, [shape(item, seen) for item in value])
    if isinstance(value, dict):
        return ("dict", [(repr(key), shape(item, seen)) for key, item in value.items()])
    if isinstance(value, Thing):
        return ("thing", [(key, shape(item, seen)) for key, item in vars(value).items()])
    return (type(value).__name__, repr(value))


class World:
    """A program in globals of its own, compiled or not."""

    def __init__(self, code, compiled):
        self.namespace = {"G": 0, "__name__": "program"}
        exec(code, self.namespace)
        self.other = self.namespace["make"](0)
        self.function, self.bump, self.peek = self.namespace["make"](0)
        self.record = None
        if compiled:
            chosen = Settings(backend=eager, options=config.with_options({"strict": True}))
            self.record = chosen.record
            self.function = hook.Entry(self.function, frontend.on_miss, None, chosen)

    def call(self, same):
        heap = make_heap(same)
        bump, peek = (self.bump, self.peek) if "own function" in same else self.other[1:]
        result = error = None
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            try:
                result = self.function(*heap.values(), bump, peek)
            except Exception as raised:
                error = type(raised), str(raised), _line(raised)
        cells = self.peek(), self.other[2]()
        text = output.getvalue()
        seen = {}
        return error, text, [shape(each, seen) for each in (result, *heap.values(), self.namespace["G"], *cells)]


def _line(error):
    trace = error.__traceback__
    lines = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "program":
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return lines


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES < 100)
@given(st.lists(statements(), min_size=1, max_size=8), st.lists(HEAPS, min_size=1, max_size=3))
def test_random_changes(body, heaps):
    text = PROGRAM.format(body="\n".join(" " * 8 + line for each in body for line in each.split("\n")))
    try:
        code = compile(text, "program", "exec")
    except SyntaxError:
        pytest.skip("a statement assigns what cannot be assigned")
    plain, compiled = World(code, False), World(code, True)
    for same in (heaps[0], *heaps, heaps[0]):
        assert compiled.call(same) == plain.call(same), text
