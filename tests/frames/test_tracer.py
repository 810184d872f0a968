"""What is captured: graphs, breaks and guards of small functions, each call compared with plain Python."""

import math
import operator

import numpy as np
import pytest

from capture.frames import instructions
from capture.frames.bytecode import decode, stack_effect
from capture.frames.handlers import EFFECTS, HANDLERS, UNSUPPORTED
from capture.frames.marks import marked
from tests.helpers import captured, numbers

RATE = 0.5
THREE = {"k": 3}
TABLE = {"a": 2.0, "b": (1, 2)}
WEIGHTS = numbers(3)


def scaled(x, factor=2.0):
    return x * factor


def variadic(*args, k=1, **rest):
    return sum(args) * k + rest.get("shift", 0)


def recursive(x, n):
    return x if n == 0 else recursive(x + n, n - 1)


# One graph ----------------------------------------------------------------------------------------------------------
WHOLE = {
    "arithmetic": lambda x, y: (x + y) * 2 - x / y,
    "reversed operands": lambda x, y: 2 - x + 3 * y,
    "unary": lambda x, y: -x + +y,
    "comparison": lambda x, y: (x < y, x == y),
    "ufunc": lambda x, y: np.exp(np.add(x, y)),
    "module attribute chain": lambda x, y: np.pi * x + math.sqrt(2.0) * y,
    "method": lambda x, y: x.sum() + y.mean(),
    "method keywords": lambda x, y: np.stack([x, y]).sum(axis=0, keepdims=True),
    "property": lambda x, y: np.stack((x, y)).T,
    "global number": lambda x, y: x * RATE + y,
    "global array": lambda x, y: x * WEIGHTS + y,
    "global dict": lambda x, y: x * TABLE["a"] + y * TABLE["b"][1],
    "helper": lambda x, y: scaled(x) + scaled(y, 3.0) + scaled(x, factor=0.5),
    "variadic helper": lambda x, y: variadic(x, y, k=2, shift=1),
    "star arguments": lambda x, y: variadic(*(x, y), **THREE),
    "recursion": lambda x, y: recursive(x, 3) + y,
    "tuple": lambda x, y: (x + y, (x, 1), x - y),
    "list and dict": lambda x, y: [x + 1, {"sum": x + y, "x": x}],
    "unpacking an array": lambda x, y: sum(x) + sum(y),
    "basic indexing": lambda x, y: (x[0], x[-1], x[1:], x[::-1], x[None], x[..., 1]),
    "slice object": lambda x, y: x[slice(1, None)] + y[slice(2)],
    "loop over a tuple": lambda x, y: [item * 2 for item in (x, y)],
    "dict comprehension": lambda x, y: {name: item * 2 for name, item in zip("xy", (x, y))},  # noqa: B905
    "condition on shape": lambda x, y: x + 1 if x.shape[0] > 2 and x.ndim == 1 else y,
    "condition on None": lambda x, y, z=None: x if z is None else y * 2 + x,
    "dtype": lambda x, y: np.zeros(x.shape, x.dtype) + y.astype(np.float32) + x.dtype.itemsize,
    "finfo": lambda x, y: x + np.finfo(x.dtype).eps,
    "isinstance": lambda x, y: x * 2 if isinstance(x, np.ndarray) and not isinstance(y, (int, list)) else y,
    "len and range": lambda x, y: sum(x[k] * y[k] for k in [0, 1, 2]) if len(x) == 9 else x * len(range(4)),
    "lambda": lambda x, y: (lambda z: z * x)(y),
    "constants folded": lambda x, y: x * (2**3 + min(4, 5) - abs(-1) + round(2.5) + divmod(7, 2)[0]),
    "string keys": lambda x, y: {"a" + "b": x * 2}["ab"] + y,
    "conditional expression": lambda x, y: (x or y) if False else x + y,
    "chained comparison": lambda x, y: x + y if 0 < len(x) < 10 else x,
    "operator module": lambda x, y: operator.add(x, operator.mul(y, 2.0)),
    "walrus": lambda x, y: (z := x + y) * z,
    "scalar constants": lambda x, y: x * np.float32(2.0) + np.sqrt(2 * np.pi) * y,
    "enumerate": lambda x, y: sum(k * item for k, item in enumerate([x, y]) if k) if False else x * 1,
    "reversed": lambda x, y: [item + k for k, item in zip(range(2), reversed([x, y]), strict=False)] if False else y,
    "in": lambda x, y: x + 1 if "a" in TABLE and 3 not in (1, 2) else y,
    "identity": lambda x, y: x + 1 if x is not y and x is x else y,
    "unused": lambda x, y: x,
    "nothing": lambda x, y: None,
    "f-string": lambda x, y: (f"{x.ndim}-{RATE:.1f}", x + 1),
    "keyword ufunc": lambda x, y: np.add(x, y, dtype=np.float64) if False else np.clip(x, 1, 2),
    "negative step": lambda x, y: x[::-2] * y[:2],
    "bool and not": lambda x, y: x + 1 if not () and not 0 else y,
}


@pytest.mark.parametrize("name", WHOLE)
def test_one_graph(name):
    run = captured(WHOLE[name], fullgraph=True)
    for _ in range(2):
        run(numbers(3), numbers(3) + 1)
    assert run.graphs <= 1
    assert len(run.record.variants) == 1
    assert run.record.variants[0].hits == 2


def test_loop_over_rows():
    def f(x):
        total = 0.0
        for row in x:
            a, b = row
            total = total + a * b
        return total

    run = captured(f, fullgraph=True)
    run(numbers(3, 2))
    assert run.graphs == 1


def test_append_to_a_list_of_ones_own():
    def f(x):
        found = []
        for k in range(3):
            found.append(x * k)
        found.extend([x])
        found.insert(0, 1)
        last = found.pop()
        return found, last, np.stack(found[1:])

    run = captured(f, fullgraph=True)
    run(numbers(3))
    assert run.graphs == 1


def test_closure_is_read():
    factor = 2.0

    def f(x):
        return x * factor

    run = captured(f, fullgraph=True)
    run(numbers(3))
    factor = 3.0
    run(numbers(3))
    assert run.misses == ["closure factor: expected 2.0, got 3.0"]


def test_shared_containers_are_one_object():
    def f(x):
        inner = [x + 1]
        return inner, (inner, inner), {"a": inner}

    run = captured(f, fullgraph=True)
    result = run(numbers(3))
    assert result[0] is result[1][0] is result[1][1] is result[2]["a"]


def test_views_share_memory():
    def f(x):
        y = x + 1
        return y, y[1:], x[::2], y.T

    result = captured(f, fullgraph=True)(numbers(4))
    assert np.shares_memory(result[0], result[1])
    assert result[3] is not result[0]


def test_asarray_gives_the_very_object():
    run = captured(lambda x: (np.asarray(x), x + 1), fullgraph=True)
    x = numbers(3)
    assert run(x)[0] is x


# Breaks -------------------------------------------------------------------------------------------------------------
def prints(x, y):
    z = x + 1
    print("shape", z.shape)
    return z * y


def unknown(x, y):
    z = np.exp(x)
    w = np.getbufsize()
    return z * w + y


def branch(x, y):
    z = x * 2
    if z.sum() > 0:
        return z + y
    return [z - y]


def prints_in_helper(x, y):
    z = prints(x + 1, y)
    return z - 1


def formats(x, y):
    z = x + y
    text = f"{z}"
    return z * 2, text


def appends_to_argument(x, items):
    z = x * 2
    items.append(z)
    return z + 1


def in_a_loop(x, y):
    for k in range(3):
        x = x + y
        print(k)
    return x * 2


def in_a_try(x, y):
    try:
        z = x + y
        print("inside")
        w = z * 2
        raise ValueError("after")
    except ValueError as error:
        return w, str(error)


def in_a_with(x, y):
    with np.errstate(divide="ignore"):
        z = x / (y - y)
        print("inside")
        w = z + 1
    return w


def float_of_sum(x, y):
    return x * float(x.sum()) + y


def test_a_number_made_of_a_scalar_is_in_the_graph():
    run = captured(float_of_sum, fullgraph=True)
    run(numbers(3), numbers(3))
    run(numbers(3) - 5, numbers(3))
    assert run.graphs == 1


BROKEN = {
    prints: (2, ["call"]),
    unknown: (2, ["call"]),
    branch: (2, ["branch"]),
    prints_in_helper: (3, ["call"]),  # x + 1 and the first sum; the product; the difference
    formats: (2, ["python"]),
    in_a_loop: (3, ["call", "loop"]),  # the first round; the body of all others; what follows
}


@pytest.mark.parametrize("function", BROKEN, ids=lambda f: f.__name__)
def test_broken(function):
    graphs, kinds = BROKEN[function]
    run = captured(function)
    for _ in range(3):
        run(numbers(3), numbers(3) + 1)
    assert run.graphs == graphs
    assert set(run.kinds) == set(kinds)


@pytest.mark.parametrize("function", [in_a_try, in_a_with], ids=lambda f: f.__name__)
def test_broken_somehow(function):
    run = captured(function)
    for _ in range(3):
        run(numbers(3), numbers(3) + 1)
    assert run.graphs > 1 and run.breaks


def test_list_of_the_caller_is_changed():
    run = captured(appends_to_argument)
    run(numbers(3), [])
    run(numbers(3), [1, 2])
    assert run.breaks == [] and len(run.record.variants) == 1


def test_break_record():
    run = captured(prints_in_helper)
    run(numbers(3), numbers(3))
    (found,) = run.record.breaks
    line = prints.__code__.co_firstlineno + 2
    assert (found.file, found.line, found.function) == (__file__, line, "prints")
    assert found.reason == "call of print, which has no graph form" and found.hint
    assert found.calls == ((__file__, prints_in_helper.__code__.co_firstlineno + 1, "prints_in_helper"),)


def test_fullgraph_says_where():
    from capture.errors import Unsupported

    run = captured(prints_in_helper, fullgraph=True)
    with pytest.raises(Unsupported) as info:
        run(numbers(3), numbers(3))
    text = str(info.value)
    assert f"{__file__}:{prints.__code__.co_firstlineno + 2}" in text and "call of print" in text and "hint" in text
    assert "called from" in text


def test_both_sides_of_a_branch():
    run = captured(branch)
    for sign in (1, -1, 1, -1):
        run(sign * numbers(3), numbers(3))
    assert run.graphs == 3


def test_long_native_loop_reuses_its_body():
    def f(x, n):
        for item in iter(n):
            x = x + item
        return x

    run = captured(f)
    run(numbers(3), [numbers(3)] * 200)
    count = len(run.record.variants)
    run(numbers(3), [numbers(3)] * 400)
    assert len(run.record.variants) == count  # nobody asked for the length


def test_deep_loop_does_not_nest():
    def f(x, items):
        for _ in items:
            x = x + 1
            print(end="")
        return x

    run = captured(f)
    run(numbers(3), dict.fromkeys(range(5000)))


# Special functions --------------------------------------------------------------------------------------------------
@marked("breaks")
def stop(message=""):
    return None


@marked("compiling")
def compiling():
    return False


@marked("disabled")
def plainly(x):
    return x + 1


def test_requested_break():
    def f(x):
        y = x + 1
        stop("here")
        return y * 2

    run = captured(f)
    run(numbers(3))
    assert run.graphs == 2 and run.breaks == ["here"] and run.kinds == ["requested"]


def test_disabled():
    run = captured(lambda x: plainly(x * 2) * 2)
    run(numbers(3))
    assert run.graphs == 2 and run.kinds == ["disabled"]


def test_is_compiling():
    run = captured(lambda x: x + 1 if compiling() else 1 + x)
    run(numbers(3))
    assert run.graphs == 1


# Guards -------------------------------------------------------------------------------------------------------------
def twice_or_once(x, twice=True):
    return x * 2 if twice else x + 0


CHANGES = {
    "flag": (twice_or_once, (numbers(3),), (numbers(3), False), "twice: expected True, got False"),
    "size": (scaled, (numbers(3),), (numbers(4),), "x.shape[0]: expected 3, got 4"),
    "ndim": (scaled, (numbers(3),), (numbers(3, 1),), "x.ndim: expected 1, got 2"),
    "dtype": (scaled, (numbers(3),), (numbers(3, dtype=np.float32),), "x.dtype: expected float64, got float32"),
    "type": (scaled, (numbers(3),), ([1, 2],), "x: expected an array of float64, got list object"),
    "strides": (
        scaled,
        (numbers(4, 4),),
        (numbers(4, 4).T,),
        "x.strides: expected layout C, got F",
    ),
    "int and float": (lambda x, n: x * n, (numbers(3), 2), (numbers(3), 2.0), "n: expected 2, got 2.0"),
    "bool and int": (lambda x, n: x * n, (numbers(3), 1), (numbers(3), True), "n: expected 1, got True"),
    "negative zero": (lambda x, n: x * n, (numbers(3), 0.0), (numbers(3), -0.0), "n: expected 0.0, got -0.0"),
    "list length": (
        lambda xs: [x * 2 for x in xs],
        ([numbers(2)],),
        ([numbers(2)] * 2,),
        "xs: expected length 1, got 2",
    ),
    "keys": (
        lambda d: {k: v * 2 for k, v in d.items()},
        ({"a": numbers(2)},),
        ({"b": numbers(2)},),
        "d: expected the keys ['a'], got ['b']",
    ),
    "None": (lambda x, y: x * 2 if y is None else x * y, (numbers(3), None), (numbers(3), numbers(3)), None),
    "scalar type": (lambda x, y: x * y, (numbers(3), np.float64(2)), (numbers(3), np.float32(2)), None),
    "function": (lambda x, f: f(x), (numbers(3), scaled), (numbers(3), np.exp), None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_change_is_noticed(name):
    function, first, second, miss = CHANGES[name]
    run = captured(function)
    run(*first)
    run(*first)
    assert run.misses == []
    run(*second)
    run(*first)
    run(*second)
    assert len(run.misses) == 1
    if miss is not None:
        assert run.misses == [miss]


def test_global_is_noticed(monkeypatch):
    run = captured(lambda x: x * RATE + WEIGHTS)
    run(numbers(3))
    monkeypatch.setitem(globals(), "RATE", 4.0)
    run(numbers(3))
    monkeypatch.setitem(globals(), "WEIGHTS", numbers(3) * 7)
    run(numbers(3))
    monkeypatch.setitem(globals(), "WEIGHTS", [1, 2, 3])
    run(numbers(3))
    assert run.misses[0] == "RATE: expected 0.5, got 4.0"


def test_helper_is_noticed(monkeypatch):
    run = captured(lambda x: scaled(x) + 1)
    run(numbers(3))
    monkeypatch.setattr(scaled, "__defaults__", (5.0,))
    run(numbers(3))
    monkeypatch.setattr(scaled, "__code__", (lambda x, factor=0: x - factor).__code__)
    run(numbers(3))
    monkeypatch.setitem(globals(), "scaled", np.negative)
    run(numbers(3))
    assert len(run.misses) == 3


def test_own_default_is_noticed():
    def f(x, k=2.0):
        return x * k

    run = captured(f)
    run(numbers(3))
    f.__defaults__ = (3.0,)
    run(numbers(3))


def test_module_attribute_is_noticed(monkeypatch):
    run = captured(lambda x: np.exp(x))
    run(numbers(3))
    monkeypatch.setattr(np, "exp", np.log)
    run(numbers(3))


def test_shadowed_builtin_is_noticed(monkeypatch):
    run = captured(lambda x: x * len(x))
    run(numbers(3))
    monkeypatch.setitem(globals(), "len", lambda x: 7)
    run(numbers(3))
    assert run.misses == ["dict: expected no 'len', it is there"]


def test_what_is_not_used_is_not_guarded():
    def f(x, flag, unused):
        return x + 1, flag

    run = captured(f)
    run(numbers(3), True, 1)
    run(numbers(3), False, "other")
    run(numbers(3), 3, None)
    assert run.misses == []


def test_too_many_variants():
    from capture.errors import RecompileLimitWarning

    run = captured(lambda x, s: x * len(s), options={"recompile_limit": 2})
    run(numbers(3), "a")
    run(numbers(3), "ab")
    with pytest.warns(RecompileLimitWarning, match="s: expected"):
        run.entry(numbers(3), "abc")
    assert run.entry.plain
    run(numbers(3), "abcd")


def test_internal_failure_falls_back():
    from capture.errors import FallbackWarning, InternalError

    def broken(graph, inputs):
        raise RuntimeError("backend")

    run = captured(lambda x: x + 1, backend=broken, options={"strict": False})
    with pytest.warns(FallbackWarning, match="backend"):
        run.entry(numbers(3))
    run(numbers(3))
    strict = captured(lambda x: x + 1, backend=broken)
    with pytest.raises(InternalError):
        strict.entry(numbers(3))


def test_backend_that_leaves():
    """A region whose executor gives None runs plainly, and in a direct call too."""
    run = captured(lambda x: (x + 1).sum(), backend=lambda graph, inputs: lambda *args: None)
    run(numbers(3))
    broken = captured(prints, backend=lambda graph, inputs: lambda *args: None)
    broken(numbers(3), numbers(3))


# Errors -------------------------------------------------------------------------------------------------------------
def raises_in_helper(x):
    y = x + 1
    return unhandled_index(y)


def unhandled_index(y):
    z = y * 2
    return z[100]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (raises_in_helper, (numbers(3),)),
        (lambda x, y: x + y, (numbers(3), numbers(4))),
        (lambda x: x.nothing, (numbers(3),)),
        (lambda x: nowhere(x), (numbers(3),)),  # noqa: F821
        (lambda x: scaled(x, 1, 2), (numbers(3),)),
        (lambda x: scaled(), (numbers(3),)),
        (lambda x: x[1, 2, 3], (numbers(3),)),
        (lambda x: [1, 2][5] + x, (numbers(3),)),
        (lambda x: (x + 1) / (1 // 0), (numbers(3),)),
        (lambda x: 3 + None, (numbers(3),)),
        (lambda x: x.reshape(2, 2), (numbers(3),)),
        (lambda x: np.add(x), (numbers(3),)),
        (lambda x: len(5), (numbers(3),)),
    ],
)
def test_errors_are_pythons(function, args):
    run = captured(function)
    for _ in range(2):
        run(*args)


def test_wrong_arguments():
    run = captured(scaled)
    run(numbers(3))
    run()
    run(numbers(3), 1, 2)
    run(numbers(3), nothing=1)


# The table of handlers ----------------------------------------------------------------------------------------------
def test_every_operation_has_a_handler_or_a_reason():
    assert set(instructions.EFFECTS) <= set(HANDLERS)
    assert set(UNSUPPORTED) <= set(instructions.EFFECTS)


def test_declared_effects_are_the_real_ones():
    def code_with_everything(x, *args, **kwargs):
        total = [x, -x, +x, ~1, not x, x[1:2], (x, *args), {"a": x, **kwargs}, f"{x!r:>10}{x}", {1: 2}]
        for k, (a, b) in enumerate(args):
            total.append(x.sum(axis=0) < a, k is None, b in args)
        total[0] = lambda y=1, *, z=2: (x, y, z)
        return [k + 1 for k in total], {k: k for k in total}, slice(1, x, 2)

    seen = set()
    for instruction in decode(code_with_everything.__code__).instructions:
        effect = EFFECTS[instruction.op]
        if effect is not None and instruction.op not in UNSUPPORTED:
            seen.add(instruction.op)
            assert effect.pushes - effect.pops(instruction.arg) == stack_effect(instruction), instruction
    assert len(seen) > 12


A, B, C = (object() for _ in range(3))


def test_each_identity_is_guarded():
    def f(x, which):
        if which is A:
            return x + 1
        if which is B:
            return x + 2
        return x + 3 if which is C else x

    run = captured(f)
    for which in (C, B, A, None, C, A, B):
        run(numbers(3), which)


def test_mutable_results_are_made_anew():
    def f(x):
        parts = ["a", "b", "c"]
        print(parts.pop(0))
        return parts, x + 1

    run = captured(f)
    for _ in range(3):
        assert run(numbers(3))[0] == ["b", "c"]


def test_iterators_keep_their_place():
    def f(x):
        table = {"a": x, "b": x + 1}
        keys, values, pairs = iter(table), iter(table.values()), iter(table.items())
        items = [1, 2]
        done, half = iter(items), iter(items)
        found = [next(keys), next(half), *done]
        print("now")
        items.append(3)
        return found, list(keys), list(values), list(pairs), list(done), list(half)

    run = captured(f)
    run(numbers(3))
    run(numbers(3))


def test_dict_that_grows_under_a_loop():
    def f(x):
        table = {"a": x}
        for key in table:
            table[key + "b"] = x
        return table

    run = captured(f)
    run(numbers(3))


def test_list_in_itself():
    def f(x):
        items = [x]
        items.append(items)
        return len(items), items[1] is items

    captured(f)(numbers(3))


def test_deep_recursion_of_the_user():
    def f(x, n):
        return x if n == 0 else f(x, n - 1) + 1

    run = captured(f)
    with pytest.raises(RecursionError):
        run.entry(numbers(3), 100_000)
    run(numbers(3), 50)


def test_functions_made_anew_share_a_variant():
    def f(x, k):
        def inner(z, shift=k):
            return z * k + shift

        print("made")
        return inner(x) + sum([inner(item) for item in (x, x)])

    run = captured(f)
    for k in (2.0, 2.0, 3.0, 3.0, 4.0):
        run(numbers(3), k)
    assert not run.entry.plain and len(run.record.variants) < 8


def test_break_inside_a_function_made_anew():
    def f(x):
        def inner(z):
            y = z + 1
            print("inside", y[0])
            return y * x

        print("made")
        return inner(x) + 1

    run = captured(f)
    for _ in range(4):
        run(numbers(3))


def test_functions_as_arguments():
    def f(x, g):
        return g(x) + 1

    run = captured(f)
    for k in range(4):
        run(numbers(3), lambda z, k=k: z * 2.0)
    assert len(run.record.variants) == 1
    run(numbers(3), eval("lambda z: z * y", {"y": 3.0}))
    run(numbers(3), eval("lambda z: z * y", {"y": 4.0}))
