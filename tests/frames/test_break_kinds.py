"""Kinds of graph breaks: each has words and a function that provokes it; the documentation is the table."""

import inspect
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import capture
from capture.errors import Unsupported
from capture.frames.breaks import HINTS, KINDS, GraphBreak, document
from tests.helpers import captured, numbers


def test_the_documentation_is_the_table():
    assert (Path(__file__).parents[2] / "docs" / "breaks.md").read_text() == document()


def test_hints_are_for_kinds():
    assert HINTS.keys() <= KINDS.keys()


def test_a_break_of_no_kind_is_refused():
    with pytest.raises(KeyError):
        GraphBreak("reason", "nonsense")
    assert GraphBreak("reason", "branch").hint == HINTS["branch"]


# Each kind provoked ---------------------------------------------------------------------------------------------------
def call(x):
    print(x.shape)
    return x + 1


def op(x):
    return (x + 1).astype(object)


def branch(x):
    return x + 1 if x.sum() > 3 else x


def loop(x):
    kept = {}
    for _ in range(1000):
        kept[0] = x = x * 0.5
    return x


def unroll(x):
    n, kept = 0, {}
    while n < 1000:
        x, n = x * 0.5, n + 1
        kept[0] = n
    return x


def attribute(x):
    return x.ctypes.data > 0, x + 1


def write(x, queue):
    queue[0] = x + 1
    return x


def _added(first, second):
    first += second
    return first


def order(x):
    x += 1
    return np.linalg.inv(x)


def python(x):
    return f"{x}"


def instruction(x):
    from . import corpus

    return x + len(corpus.__name__)


def depth(x):
    def down(n):
        return x if n == 0 else down(n - 1) + 1

    return down(30)


def number(x, factor):
    y = x * factor
    return y.sum() if factor else y


def generator(x):
    def made():
        try:
            raise KeyError
        except KeyError:
            yield x + 1

    return list(made())


def size(x):
    kept = {}
    for _ in range(60):
        for _ in range(60):
            x = x + 1
            kept[0] = x = x * 0.5
    return x


def requested(x):
    capture.graph_break()
    return x + 1


@capture.disable
def _plain(x):
    return x + 1


def disabled(x):
    return _plain(x) * 2


def forced(x):
    return x + 1


PROVOKED = {
    call: lambda: (numbers(3),),
    op: lambda: (numbers(3),),
    branch: lambda: (numbers(3),),
    loop: lambda: (numbers(3),),
    unroll: lambda: (numbers(3),),
    attribute: lambda: (numbers(3),),
    write: lambda: (numbers(3), deque([1])),
    order: lambda: (numbers(3, 3) + np.eye(3),),
    python: lambda: (numbers(3),),
    instruction: lambda: (numbers(3),),
    depth: lambda: (numbers(3),),
    generator: lambda: (numbers(3),),
    size: lambda: (numbers(3),),
    requested: lambda: (numbers(3),),
    disabled: lambda: (numbers(3),),
}
"""One call is enough, and it can be made with ``fullgraph``."""
OTHERS = {"forced", "number", "overlap", "resume", "yield"}


@pytest.mark.parametrize("function", PROVOKED, ids=lambda function: function.__name__)
def test_each_kind_is_provoked(function):
    run = captured(function)
    run.entry(*PROVOKED[function]())
    assert function.__name__ in run.kinds
    found = next(found for found in run.record.breaks if found.kind == function.__name__)
    assert (found.file, found.hint) == (__file__, HINTS.get(found.kind, ""))


@pytest.mark.parametrize("function", PROVOKED, ids=lambda function: function.__name__)
def test_fullgraph_says_what_is_unsupported(function, capsys):
    """Reason, kind, the user's line, the calls that led there, a hint; and nothing has run."""
    run = captured(function, fullgraph=True)
    arguments = PROVOKED[function]()
    before = repr(arguments)
    with pytest.raises(Unsupported, match=r"(?s)the function is not one graph\n.+:\d+ in .+: .+ \[\w+\]") as raised:
        run.entry(*arguments)
    text = str(raised.value)
    assert f"[{function.__name__}]" in text
    assert (__file__ in text and f"hint: {HINTS.get(function.__name__)}" in text) or function.__name__ not in HINTS
    assert (repr(arguments), capsys.readouterr().out) == (before, "")


def test_no_kind_is_without_a_test():
    assert {function.__name__ for function in PROVOKED} | OTHERS == KINDS.keys()


def test_a_yield():
    def yields(x):
        y = x * 2
        yield y + 1

    run = captured(yields)
    assert len(list(run.entry(numbers(3)))) == 1
    assert (run.kinds, run.graphs) == (["yield"], 1)
    with pytest.raises(Unsupported, match=r"(?s)yields: .+ \[yield\]\n  hint: "):
        captured(yields, fullgraph=True).entry(numbers(3))


def test_a_forced_break():
    run = captured(forced, force_break=lambda code, index: code is forced.__code__)
    run(numbers(3))
    assert set(run.kinds) == {"forced"}


def test_a_break_for_a_number():
    run = captured(number)
    for factor in (3.0, 4.0, 5.0, 6.0, 7.0):
        run(numbers(3), factor)
    assert "number" in run.kinds


def test_a_break_for_overlapping_arguments():
    memory = numbers(8)
    run = captured(_added)
    run(memory[:3], memory[1:4])
    assert "overlap" in run.kinds


def test_a_break_that_is_not_told():
    """A caller meets its callee's break again where the callee is resumed: that is reported once."""

    def inner(x):
        y = x + 1
        print("once")
        return y

    def outer(x):
        return inner(x) * 2 + inner(x)

    run = captured(outer)
    run(numbers(3))
    assert "resume" not in run.kinds
    assert run.kinds == ["call"]


def test_the_chain_of_calls_is_told():
    def innermost(x):
        return str(x)

    def middle(x):
        return innermost(x + 1)

    def outermost(x):
        y = x * 2
        return middle(y)

    functions = (outermost, middle, innermost)
    lines = [inspect.getsourcelines(f)[1] + (2 if f is outermost else 1) for f in functions]
    with pytest.raises(Unsupported) as raised:
        captured(outermost, fullgraph=True).entry(numbers(3))
    places = [f"{__file__}:{line} in {f.__qualname__}" for line, f in zip(lines, functions, strict=True)]
    text = str(raised.value)
    assert f"{places[2]}: " in text
    assert text.index(f"called from {places[1]}") < text.index(f"called from {places[0]}")


def test_fullgraph_may_be_tried_again():
    """What was refused has left nothing behind: another call with other arguments is one graph."""

    def either(x, log=None):
        if log is not None:
            log.append(1)
        return x + 1

    run = captured(either, fullgraph=True)
    log = SimpleNamespace(append=print)
    with pytest.raises(Unsupported):
        run.entry(numbers(3), log)
    run(numbers(3))
    assert run.graphs == 1
