"""Variants that outlive the process: a later one uses them without the compiler, where all is as it was, only there."""

from __future__ import annotations

import cmath
import math
import os
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest

import capture
from capture.frames.guards import same_constant
from capture.frames.settings import Later
from capture.kept.encoding import Gone, NotKept, World, decoded, described, encoded, find, identified

ROOT = Path(__file__).resolve().parent.parent

HEAD = """
import sys
import warnings

import numpy as np

import capture

warnings.simplefilter("always")


def report(*results):
    for result in results:
        print(type(result).__name__, getattr(result, "dtype", ""), np.asarray(result).tolist())
    print("compiled" if "capture.frames.tracer" in sys.modules else "kept")
"""


@pytest.fixture
def run(tmp_path):
    """Run a program in a process of its own; gives what it printed and, last, whether anything was compiled."""

    def run_program(text: str, *, name: str = "program", **environment: str) -> list[str]:
        program = tmp_path / f"{name}.py"
        program.write_text(HEAD + textwrap.dedent(text))
        settings = {
            **os.environ,
            "CAPTURE_CACHE_DIR": str(tmp_path / "cache"),
            "CAPTURE_WARM_START": "1",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
            **environment,
        }
        done = subprocess.run([sys.executable, str(program)], env=settings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [*done.stderr.replace(str(tmp_path), "").splitlines(), *done.stdout.splitlines()]

    return run_program


def both(run, text: str, **environment: str) -> list[str]:
    """What the program prints, twice the same: first it is compiled, then kept."""
    first, second = (run(text, **environment) for _ in range(2))
    assert first[-1] == "compiled"
    assert second[-1] == "kept"
    assert second[:-1] == first[:-1]
    return second[:-1]


FUNCTIONS = {
    "a chain with a global and a function of NumPy's": """
        SCALE = 0.5
        def f(x):
            return np.tanh(x * SCALE) + x
        """,
    "a tuple, a dict, a NumPy scalar, a Python number": """
        def f(x):
            return (x.sum(), {"twice": [x * 2, 3]}, x[0], len(x))
        """,
    "an argument itself": """
        def f(x):
            return x, x + 1
        """,
    "a helper function, its default and a lambda": """
        def helper(x, by=3.0):
            return (lambda y: y * by)(x)
        def f(x):
            return helper(x) - helper(x, by=1)
        """,
    "a closure": """
        def make(by):
            def f(x):
                return x * by
            return f
        f = make(2.5)
        """,
    "NumPy's own Python functions": """
        def f(x):
            return np.mean(x), np.var(x, ddof=1), np.roll(x, 1), np.diff(x)
        """,
    "keyword arguments, constants in code, a conversion": """
        def f(x, *, power=2):
            return (x ** power).astype(np.float32) if power in {1, 2} else x
        """,
    "a loop": """
        def f(x):
            total = 0.0
            for i in range(len(x)):
                total += x[i] * i
            return total
        """,
    "a mask, a constant array": """
        def f(x):
            return np.where(x > 1, x, 0) + np.array([1.0, 2, 3, 4])
        """,
}


@pytest.mark.parametrize("text", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_later_process_needs_no_compiler(run, text):
    call = """
        x = np.arange(4.0)
        results = capture.compile(f)(x)
        assert np.array_equal(repr(results), repr(f(x)))
        report(repr(results))
        """
    both(run, textwrap.dedent(text) + textwrap.dedent(call))


BREAKS = {
    "a break": """
        def f(x):
            y = x + 1
            print("so far")
            return y * 2
        """,
    "one before all array work": """
        def f(x):
            print("first")
            return x * 2 + 1
        """,
    "one behind it": """
        def f(x):
            y = x * 2 + 1
            print("last")
            return y
        """,
    "several, in a loop": """
        def f(x):
            for i in range(4):
                x = x * 2 + i
                print(i)
            return x - 1
        """,
    "in a helper": """
        def helper(x, by):
            y = x * by
            print("helping")
            return y + by
        def f(x):
            return helper(x, 2) - helper(x, 3)
        """,
    "in a helper's helper, with a value in between": """
        def inner(x):
            y = x + 1
            print("inside")
            return y * 2
        def outer(x):
            return inner(x - 1) * 3
        def f(x):
            y = x / 2
            return y + outer(x)
        """,
    "with cells": """
        def make(by):
            def f(x):
                y = x * by
                print(by)
                return (lambda: y + by)()
            return f
        f = make(3)
        """,
    "in a block": """
        def f(x):
            y = x
            try:
                y = y + 1
                print("inside")
                y = y * 2
            except ValueError:
                y = y - 1
            finally:
                print("out")
            return y * 3
        """,
    "on either side of a decision": """
        def f(x):
            y = x + 1
            print("deciding")
            if y.sum() > 3:
                print("large")
                return y * 2
            return y * 3
        """,
    "that Python goes on with": """
        def f(x):
            y = x + 1
            print("rest")
            return str(len(y))
        """,
}


@pytest.mark.parametrize("text", BREAKS.values(), ids=BREAKS)
def test_breaks_need_no_compiler_either(run, text):
    call = """
        compiled, x = capture.compile(f), np.arange(4.0)
        results = [compiled(x), compiled(x)]
        assert repr(results) == repr([f(x), f(x)])
        report(repr(results))
        """
    both(run, textwrap.dedent(text) + textwrap.dedent(call))


EXTERNS = ("np.sort(x)", "np.searchsorted(x, x)", "np.cross(x[:3], x[1:])", "x @ x", "x.argsort()", "np.inner(x, x)")


@pytest.mark.parametrize("expression", EXTERNS)
def test_calls_of_numpy_need_no_compiler(run, expression):
    both(
        run,
        f"""
        def f(x):
            return {expression} + 1
        assert np.array_equal(capture.compile(f)(np.arange(4.0)), f(np.arange(4.0)))
        report(f(np.arange(4.0)))
        """,
    )


def test_behind_a_handler_the_compiler_goes_on(run):
    text = """
        @capture.compile
        def f(x, key):
            y = x + 1
            try:
                print("looking")
                y = y * {"a": 2}[key]
            except KeyError as error:
                y = y - 1
            return y * 3
        report(f(np.arange(3.0), "a"))
        if 1 in KEYS:
            report(f(np.arange(3.0), "b"))
        """
    program = textwrap.dedent(text)
    for keys in ("[0]", "[0, 1]", "[0, 1]"):
        whole = program.replace("KEYS", keys)
        assert run(whole)[:-1] == run(whole, CAPTURE_DISABLE="1")[:-1]
    assert run(program.replace("KEYS", "[0]"))[-1] == "kept"


def test_the_rest_of_a_call_is_compiled_where_it_differs(run):
    text = """
        import sys
        KIND = {0!r}
        def number(kind):
            return 3 if kind == "integer" else 2.5
        @capture.compile
        def f(x):
            y = x + 1
            by = capture.disable(number)(KIND)
            for _ in range(2):
                y = y * by
                print("so far")
            return y
        report(f(np.arange(3.0)), f(np.arange(3.0)), f(np.arange(4.0)))
        """
    integer, other = ('KIND = "integer"', 'KIND = "other"')
    program = textwrap.dedent(text)
    expected = run(program.format("integer"), CAPTURE_DISABLE="1")[:-1]
    changed = run(program.format("other"), CAPTURE_DISABLE="1")[:-1]
    assert integer != other and expected != changed
    for kind, wanted in (("integer", expected), ("other", changed), ("integer", expected), ("other", changed)):
        assert run(program.format(kind))[:-1] == wanted


def test_a_break_whose_function_is_another_now_is_seen(run):
    text = """
        def helper(x):
            y = x + 1
            print("helping")
            return y * {0}
        def f(x):
            return helper(x) - 1
        report(capture.compile(f)(np.ones(3)))
        """
    program = textwrap.dedent(text)
    assert run(program.format("2"))[-1] == "compiled"
    assert run(program.format("2"))[-2:] == ["ndarray float64 [3.0, 3.0, 3.0]", "kept"]
    assert run(program.format("7"))[-2:] == ["ndarray float64 [13.0, 13.0, 13.0]", "compiled"]


def test_writes_reach_the_callers_array(run):
    text = """
        def f(x, y):
            x += y
            x[0] = 7
        f = capture.compile(f)
        x = np.arange(4.0)
        f(x, np.ones(4))
        report(x)
        """
    assert both(run, text) == ["ndarray float64 [7.0, 2.0, 3.0, 4.0]"]


def test_warnings_and_errors_name_the_line(run):
    text = """
        @capture.compile
        def f(x, y):
            return x / y
        x = np.array([1.0, 2.0])
        f(x, x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f(x, np.array([0.0, 1.0]))
        print([(str(w.message), w.lineno, w.filename.rpartition("/")[2]) for w in caught])
        with np.errstate(divide="raise"):
            try:
                f(x, np.array([0.0, 1.0]))
            except FloatingPointError as error:
                print(error, error.__traceback__.tb_next.tb_lineno)
        report()
        """
    line = HEAD.count("\n") + 4
    expected = ["divide by zero encountered in divide", str(line)]
    assert both(run, text) == [f"[('{expected[0]}', {line}, 'program.py')]", " ".join(expected)]


def test_graphs_are_told(run):
    text = """
        @capture.compile
        def f(x):
            return np.exp(x) * 2
        f(np.ones(3))
        report()
        print(len(f.graphs), str(f.graphs[0]))
        print("kept" if "capture.frames.tracer" not in sys.modules else "compiled")
        """
    first, second = run(text), run(text)
    assert second[:1] == ["kept"]
    assert second[1:-1] == first[1:-1]
    assert "exp" in "".join(second)


def test_explain_compiles(run):
    text = """
        def f(x):
            return np.exp(x) * 2
        capture.compile(f)(np.ones(3))
        report()
        print(capture.explain(f)(np.ones(3)).graphs and "explained")
        """
    run(text)
    assert run(text) == ["kept", "explained"]


CHANGES = {
    "a constant": ("return x * 2 + SHIFT", "return x * 3 + SHIFT"),
    "the kind of a constant": ("return x * 2 + SHIFT", "return x * 2.0 + SHIFT"),
    "a global": ("SHIFT = 1", "SHIFT = 2"),
    "the kind of a global": ("SHIFT = 1", "SHIFT = True"),
    "a helper": ("value - 5", "value - 6"),
    "a helper's default": ("by=1", "by=4"),
    "a helper that is a lambda": ("def helper(value, by=1):\n    return value - 5 * by", "helper = lambda v: v * 9"),
    "a helper of another module": ("import colorsys", "import colorsys\nfrom operator import neg as helper"),
    "what a name stands for": ("import colorsys", "class np: negative, asarray = abs, numpy.asarray"),
    "the dtype": ("dtype=float", "dtype=numpy.float32"),
    "the dimensions": ("ones(3", "ones((3, 1)"),
    "the type of an argument": ("other = 2", "other = 2.5"),
    "the order": ("ones(3, dtype=float)", "ones((3, 4), dtype=float, order='F')"),
}

CHANGING = """
import numpy
import colorsys
SHIFT = 1
def helper(value, by=1):
    return value - 5 * by
def f(x, other):
    x = np.negative(x)
    return x * 2 + SHIFT + helper(x) * other
x = numpy.ones(3, dtype=float)
other = 2
"""


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES)
def test_what_changes_between_processes_is_seen(run, before, after):
    text, changed = CHANGING, CHANGING.replace(before, after)
    assert changed != text
    call = """
result, expected = capture.compile(f)(x, other), f(x, other)
assert result.dtype == expected.dtype and result.shape == expected.shape
assert (result == expected).all(), (result, expected)
report(result)
"""
    run(text + call)
    assert run(text + call)[-1] == "kept"
    assert run(changed + call)[-1] == "compiled"
    assert run(text + call)[-1] == "kept"


@pytest.mark.parametrize("patch", ["np.positive", "lambda x: x + 100"])
def test_a_patched_numpy_is_seen(run, patch):
    text = CHANGING + """
f = capture.compile(f)
{0}
assert (f(x, other) == f.function(x, other)).all()
report(f(x, other))
"""
    run(text.format(""))
    assert run(text.format(""))[-1] == "kept"
    # Not strict: the compiler's tables, made after the patch, have gaps, or cannot be made.
    assert "kept" not in run(text.format(f"np.negative = {patch}"), CAPTURE_STRICT="0")
    assert run(text.format(""))[-1] == "kept"


def test_options_and_flags_are_part_of_the_name(run):
    text = """
        def f(x):
            return np.exp(x)
        capture.compile(f, {0})(np.ones(3))
        report()
        """
    ways = ("", "dynamic=True", "fullgraph=True", "options={'fast_math': True}", "options={'unroll_limit': 3}")
    programs = [text.replace(", {0}", f", {way}" if way else "") for way in ways]
    assert [run(program)[-1] for program in programs] == ["compiled"] * len(ways)
    assert [run(program)[-1] for program in programs] == ["kept"] * len(ways)


def test_kernels_are_those_of_the_functions_options(run, tmp_path):
    text = """
        capture.compile(lambda x: (x * 2).sum() + x, options={'fast_math': True})(np.ones(3))
        report()
        """
    assert run(text)[-1] == "compiled"
    objects = set((tmp_path / "cache").glob("*.so"))
    assert run(text)[-1] == "kept"
    assert set((tmp_path / "cache").glob("*.so")) == objects


def test_what_is_kept_is_read_once(run):
    text = """
        from capture.inductor import cache
        read, load = [], cache.load_entry
        cache.load_entry = lambda name: read.append(name) or load(name)
        f = capture.compile(lambda x: x + 1)
        f(np.ones(3))
        f(np.ones((2, 3)))
        report()
        print(sum(name.startswith("variants:") for name in read))
        """
    run(text)
    run(text)
    assert run(text) == ["kept", "1"]


def test_a_function_that_became_another_is_looked_up_anew(run):
    text = """
        def f(x): return x + 1
        def g(x): return x + 2
        for function in (f, g):
            capture.compile(function)(np.ones(3))
        compiled = capture.compile(f)
        f.__code__ = g.__code__
        report(compiled(np.ones(3)))
        """
    for _ in range(2):
        assert run(text)[0] == "ndarray float64 [3.0, 3.0, 3.0]"


@pytest.mark.parametrize(
    "environment",
    [{"CAPTURE_WARM_START": "0"}, {"CAPTURE_VERIFY": "1"}, {"CAPTURE_LOGS": "graph"}, {"CAPTURE_SIMD": "avx2"}],
    ids=lambda environment: next(iter(environment)),
)
def test_what_looks_inside_or_differs_compiles(run, environment):
    text = """
        capture.compile(lambda x: x + 1)(np.ones(3))
        report()
        """
    assert run(text)[-1] == "compiled"
    assert run(text)[-1] == "kept"
    assert run(text, **environment)[-1] == "compiled"


def test_a_size_that_changes_is_left_open_as_ever(run):
    text = """
        @capture.compile
        def f(x):
            return x * 2
        for size in {sizes}:
            assert (f(np.ones(size)) == 2).all()
        print(len(f.variants))
        report()
        """
    program = textwrap.dedent(text)
    assert run(program.format(sizes=[3])) == ["1", "compiled"]
    assert run(program.format(sizes=[3])) == ["1", "kept"]
    # Another size: what was kept is dropped, and two live variants tell what changes.
    assert run(program.format(sizes=[3, 4, 5, 6])) == ["2", "compiled"]
    assert run(program.format(sizes=[7, 8, 3])) == ["1", "kept"]


@pytest.mark.parametrize(
    "text",
    [
        "class Model:\n    scale = 2.0\n    def __call__(self, x): return x * self.scale\nf = Model()",
        "def f(x):\n    y = x + 1\n    try: raise ValueError\n    except ValueError: print(y)\n    return y * 2",
        "def make():\n    def helper(x): return x + 1\n    def f(x): return helper(x)\n    return f\nf = make()",
        "GIVEN = np.arange(3.0)\ndef f(x):\n    return x + GIVEN",
        "def f(x):\n    yield x + 1",
    ],
    ids=["objects", "breaks in handlers", "functions made anew", "global arrays", "generators"],
)
def test_other_programs_give_the_same(run, text):
    """Kept or not: the answer counts."""
    call = """
result = capture.compile(f)(np.ones(3))
report(*(result if hasattr(result, "__next__") else [result]))
"""
    first, second, third = (run(text + call) for _ in range(3))
    assert first[:-1] == second[:-1] == third[:-1]


ORDERS = {
    "a set is iterated over": "for key in {'one', 'two', 'three', 'four'}: x = x * 2 + WEIGHTS[key]",
    "a set of globals' names": "for key in set(WEIGHTS): x = x * 2 + WEIGHTS[key]",
    "a list of a set": "x = x * WEIGHTS[list({'one', 'two', 'three'})[0]]",
    "a frozenset": "x = x * WEIGHTS[tuple(frozenset(('one', 'two', 'three')))[0]]",
    "an element taken out": "names = {'one', 'two', 'three'}; x = x * WEIGHTS[names.pop()]",
    "a hash": "x = x + hash('one') % 1000",
    "a method that hashes": "x = x + 'one'.__hash__() % 1000",
    "a set as a text": "x = x * ord(repr({'one', 'two', 'four'})[2])",
    "a set in a text": "x = x * ord(f'''{ {'one', 'two', 'four'} }'''[2])",
    "unpacked": "a, b, c = {'one', 'two', 'three'}; x = x * WEIGHTS[a]",
    "joined": "x = x * len(','.join({'one', 'two', 'three'}).partition(',')[0])",
    "a loop of a comprehension": "x = x * WEIGHTS[[k for k in {'one', 'two', 'three'}][0]]",
    "an operator of sets": "x = x * WEIGHTS[min(enumerate({'one', 'two'} | {'three'}))[1]]",
}


@pytest.mark.parametrize("line", ORDERS.values(), ids=ORDERS)
def test_what_each_process_hashes_anew_is_not_kept(run, line):
    text = f"""
WEIGHTS = {{"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0}}
def f(x):
    {line}
    return x
assert (capture.compile(f)(np.ones(3)) == f(np.ones(3))).all()
report()
"""
    for seed in "01":
        assert run(text, PYTHONHASHSEED=seed)[-1] == "compiled"


TEXTS = ["repr(h)", "repr([h])", "str(h)", "ascii((h, 1))", "format(h)"]


def test_texts_with_addresses_are_not_kept(run):
    text = """
def h(x):
    return x
for text in TEXTS:
    f = eval(f"lambda x: x * (sum(map(ord, {text})) % 1009)")
    assert (capture.compile(f)(np.ones(3)) == f(np.ones(3))).all(), text
report()
"""
    for _ in range(2):  # where it is differs from process to process
        assert run(f"TEXTS = {TEXTS}\n{text}")[-1] == "compiled"


def test_a_namesake_of_another_module_is_seen(run):
    text = """
        import cmath, math
        {0}
        def f(x):
            return x * math.sqrt(4.0)
        result, expected = capture.compile(f)(np.ones(3)), f(np.ones(3))
        assert result.dtype == expected.dtype
        report(result)
        """
    run(text.format("pass"))
    assert run(text.format("pass"))[-1] == "kept"
    # Not strict: see above.
    run(text.format("math.sqrt = cmath.sqrt"), CAPTURE_STRICT="0")


def test_membership_is_kept(run):
    both(
        run,
        """
        def f(x, kind):
            return x * 2 if kind in {"twice", "double"} and len({"a", kind}) == 2 else x
        report(capture.compile(f)(np.ones(3), "twice"))
        """,
    )


def test_a_lost_kernel_is_built_again(run, tmp_path):
    text = """
        capture.compile(lambda x: x + 1)(np.ones(3))
        report()
        """
    run(text)
    objects = list((tmp_path / "cache").glob("*.so"))
    assert objects
    for path in objects:
        path.unlink()
    assert run(text) == ["kept"]
    assert list((tmp_path / "cache").glob("*.so"))


def test_what_fails_behind_a_kept_break_is_warned_of_once(run, tmp_path):
    text = """
        import failing
        def f(x):
            y = x + 1
            print(len(y))
            return y * 2
        f = capture.compile(f)
        report(f(np.ones(3)), f(np.ones(3)))
        """
    (tmp_path / "failing.py").write_text("")
    both(run, text, CAPTURE_STRICT="0")
    fault = "from capture.kept import restoring\nrestoring.Rest._kept = lambda *_: 1 // 0\n"
    (tmp_path / "failing.py").write_text(fault)
    *warned, a, b, first, second, used = run(text, CAPTURE_STRICT="0")
    assert (a, b, first, used) == ("3", "3", second, "kept")
    assert "[4.0, 4.0, 4.0]" in first
    assert sum("FallbackWarning" in line for line in warned) == 1
    assert "ZeroDivisionError" in "".join(warned)


def test_a_damaged_record_is_none(run, tmp_path):
    text = """
        capture.compile(lambda x: x + 1)(np.ones(3))
        report()
        """
    run(text)
    for path in (tmp_path / "cache").glob("*.bin"):
        path.write_bytes(path.read_bytes()[:-9])
    assert run(text)[-1] == "compiled"


# ---- encoding ----------------------------------------------------------------------------------------------------


def function(x):
    return [y for y in (x, 1, 1.0, True, -0.0) if y] + [len, {"a", "b"}]


def lookalike(x):
    return [y for y in (x, 1, 1.0, True, 0.0) if y] + [len, {"a", "b"}]


WORLD = World(function, object())

KEPT = (
    *(None, True, 1, -0.0, 1j, "text", b"bytes", ..., (), (1, (2.5, "x")), frozenset({1, "a"})),
    *(np.tanh, np.sum, np.where, np.mean, len, np.float64, int, np.dtype("f4"), np.dtype(bool), np.linalg.det),
    *(np, sys, function, function.__code__, function.__globals__, vars(np), described, described.__code__),
)


@pytest.mark.parametrize("value", KEPT, ids=lambda value: f"{type(value).__name__} {getattr(value, '__name__', '')}")
def test_encoding_comes_back(value):
    again = decoded(encoded(value, WORLD), WORLD)
    assert again is value or (type(again) is type(value) and same_constant(again, value))


@pytest.mark.parametrize(
    "value",
    [
        *([], {}, {1}, object(), WORLD, World, lambda: 0, np.ones(3), np.float64(1), np.dtype("M8[s]")),
        *(np.dtype(">f4"), np.frompyfunc(abs, 1, 1), np.random.default_rng(0), [].append, "x".join, np.dtype),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_name_is_not_kept(value):
    with pytest.raises(NotKept):
        encoded(value, WORLD)


def test_code_is_compared_with_all_it_says():
    assert described(function.__code__) == described(function.__code__.replace())
    assert described(function.__code__) != described(lookalike.__code__.replace(co_name="function"))
    for change in ({"co_filename": "x"}, {"co_firstlineno": 1}, {"co_flags": 3}, {"co_name": "g"}):
        assert described(function.__code__.replace(**change)) != described(function.__code__)
    one, true = (compile(text, "f", "eval") for text in ("(1, 0.0)", "(True, -0.0)"))
    assert described(one) != described(true)


def test_namesakes_are_told_apart():
    assert identified(math.sqrt) != identified(cmath.sqrt)
    elsewhere = types.FunctionType(identified.__code__, {"__name__": identified.__module__})
    with pytest.raises(NotKept):  # it reads other globals
        identified(elsewhere)


def test_names_are_looked_up_without_running_anything():
    assert find("numpy.linalg", "det") is np.linalg.det
    assert find(__name__, "Strange.inside") is Strange.inside
    for module, name in (("numpy", "no such"), ("no.such", "x"), (__name__, "strange.anything"), (None, "x")):
        with pytest.raises(Gone):
            find(module, name)
    with pytest.raises(Gone):
        decoded(("named", "numpy", "tanh", identified(np.sinh)), WORLD)
    with pytest.raises(Gone):
        decoded(("code of", __name__, "lookalike", described(function.__code__)), WORLD)


class Strange:
    def inside(self):
        """Found in the class."""

    def __getattr__(self, name):
        raise AssertionError("not to be asked")


strange = Strange()


def test_lists_made_later():
    made = []

    def make():
        made.append(1)
        return "x"

    for look, expected in ((len, 1), (list, ["x"]), (repr, "['x']"), (bool, True), (lambda found: found[0], "x")):
        found = Later()
        found.append_later(make)
        before = len(made)
        assert look(found) == expected
        assert len(made) == before + 1
        assert look(found) == expected
        assert len(made) == before + 1
    found.append_later(make)
    found.clear()
    assert found == []
    assert not capture.config.warm_start  # off where tests look at what is captured
