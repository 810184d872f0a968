"""The corpus of loops at small size: as plain NumPy, bit for bit; how much of each program is captured is written down.

What a change of ours improves or spoils is written down by ``python -m tests.benchmarks.loops.golden --update``.
"""

import numpy as np
import pytest

from capture import backends
from capture.errors import BackendError
from capture.inductor.programs import binding
from tests.benchmarks.loops import PROGRAMS, SIZES, agreement, golden
from tests.compare import assert_same_form
from tests.helpers import Outcome, captured, staying

KNOWN = golden.read()
SHARE = 4
"""One program in so many is also compiled to C, of those that are whole."""


NOT_WHOLE = {
    "viterbi": "a column chosen by an element of an array, before the loops",
}
"""Programs that are not one graph without breaks, and what stands in the way; the table says how much is captured."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    """Results, changed arguments, types and warnings of two calls; graphs, breaks, loop nodes."""
    found = golden.figures(golden.run(name))
    assert found == KNOWN[name], "for the better? python -m tests.benchmarks.loops.golden --update"


@pytest.mark.parametrize(
    "name", [*[name for name in PROGRAMS if name not in NOT_WHOLE][::SHARE], "channel_flow", "gru", "kalman"]
)
def test_kernels_of_program(name):
    """The same in C, within what another order of sums explains after a whole program; no call is given up."""
    program = PROGRAMS[name]
    run = captured(program.function, backend=staying(backends.inductor))
    plain = Outcome(program.function, program.arguments("small"), {})
    compiled = Outcome(run.entry, program.arguments("small"), {})
    assert compiled.error is None and compiled.warnings == plain.warnings and run.graphs
    tolerance = 1e-4 if program.dtype == "float32" else 1e-9
    assert agreement.close((compiled.result, compiled.args), (plain.result, plain.args), tolerance)
    for got, expected in zip(_arrays(compiled), _arrays(plain), strict=True):
        assert_same_form(got, expected, name)


def _arrays(outcome):
    results = outcome.result if isinstance(outcome.result, tuple) else (outcome.result,)
    return [value for value in (*results, *outcome.args) if hasattr(value, "dtype")]


def test_the_corpus_is_whole():
    assert list(KNOWN) == list(PROGRAMS)
    assert len(PROGRAMS) >= 48


def test_the_other_programs_are_one_graph_with_loop_nodes():
    rest = {name: row for name, row in KNOWN.items() if row.graphs != 1 or row.breaks or not row.loops}
    assert set(rest) == set(NOT_WHOLE), rest


@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments_are_made_anew_and_equal(name):
    program = PROGRAMS[name]
    first, second = program.arguments("small"), program.arguments("small")
    assert repr(first) == repr(second)
    assert all(a is not b for a, b in zip(first, second, strict=True) if hasattr(a, "dtype"))
    assert all(len(getattr(program, size)) == len(program.small) for size in SIZES)


def through(x, n):
    number = False
    count = 0
    for i in range(n):
        if number:
            count += 1
        number = x[i] > 0.7
        while not number and count < 5:
            number = count > 3
            count += 1
    return number, count


@pytest.mark.parametrize("backend", [backends.eager, backends.inductor])
def test_a_variable_may_have_the_name_of_a_step(backend):
    run = captured(through, backend=backend)
    run.on(lambda: (np.linspace(0, 1.5, 20), 20))
    assert (run.graphs, run.breaks) == (1, [])


def counted_down(n, k):
    z = np.zeros(n)
    for _ in range(k >> 1):
        k -= 1
    if k:
        z[0] = 1.0
    return z, k


def test_a_step_may_have_the_name_of_an_open_number():
    run = captured(counted_down, backend=backends.inductor)
    for n, k in ((9, 8), (5, 30), (6, 1), (7, 0)):
        run.on(lambda n=n, k=k: (n, k))
    assert run.graphs and not run.breaks


def doubled(m, n):
    for _ in range(n):
        m = m * 2.0
    return m


def of_transposes(m, n):
    w = m + 0.5
    for _ in range(n):
        w = m.T * 2.0 + 1.0
    return w


def added_up(m, n):
    total = np.zeros(m.shape[0])
    for _ in range(n):
        total = total + (m * 2.0).sum(axis=1)
    return total


def written(m, n):
    for i in range(n):
        m[0] = m[1] * i
    return m


@pytest.mark.parametrize("function, loops", [(doubled, 0), (of_transposes, 0), (added_up, 1), (written, 1)])
@pytest.mark.parametrize("backend", [backends.eager, backends.inductor])
def test_what_comes_out_is_nested_as_by_numpy(function, loops, backend):
    """Programs make arrays in C order; of others a loop that gives new ones is left to Python."""
    run = captured(function, backend=backend, exact=False)
    plain = run.function(np.arange(16.0).reshape(4, 4).T, 6)
    assert run.entry(np.arange(16.0).reshape(4, 4).T, 6).strides == plain.strides
    run.on(lambda: (np.arange(16.0).reshape(4, 4).T, 6))
    assert sum(node.target == "loop" for graph in run.record.graphs for node in graph) == loops
    if function is not of_transposes:
        run.on(lambda: (np.arange(16.0).reshape(4, 4), 6))
        assert any(node.target == "loop" for graph in run.record.graphs for node in graph)


def two_loops(x, n):
    total = 0.0
    for i in range(n):
        total += float(x[i]) * 2.0
    best = np.zeros(n)
    for _ in range(n):
        best = best * 0.5 + x.max()
    return total, best


def test_a_loop_for_which_the_backend_has_no_code_is_no_node(monkeypatch):
    """The others are; Python goes round this one, and its body is captured."""

    def refuse(function, step):
        raise BackendError("a reduction")

    monkeypatch.setitem(binding.STEPS, "reduce", refuse)
    run = captured(two_loops, backend=backends.inductor)
    for _ in range(2):
        run.on(lambda: (np.linspace(0.0, 3.0, 100), 100))
    (place,) = run.record.loops
    line = two_loops.__code__.co_firstlineno + 5
    assert place == f"{__file__}:{line} in two_loops"
    assert run.record.loops[place] == f"a reduction has no compiled form, at {place}"
    assert [sum(node.target == "loop" for node in graph) for graph in run.record.graphs] == [1, 0]
    assert run.kinds == ["loop", "loop"]


def test_a_decision_for_which_the_backend_has_no_code_breaks_the_graph(monkeypatch):
    def chosen(x):
        y = x * 2.0
        if x.max() > 1.0:
            y = y - 1.0
        return y

    def refuse(function, step):
        raise BackendError("a number")

    monkeypatch.setitem(binding.STEPS, "number", refuse)
    run = captured(chosen, backend=backends.inductor)
    run.on(lambda: (np.linspace(0.0, 3.0, 100),))
    run.on(lambda: (np.linspace(0.0, 0.5, 100),))
    assert run.kinds == ["branch"] and not run.record.loops


def another_array(x, y, m, q, n):
    z = y + 1.0
    for i in range(n):
        if q[i] > 3:
            x = z[::-1]
        q[i] = i % 4
    x[::2] = m[q[1]]
    return x


@pytest.mark.parametrize("backend", [backends.eager, backends.inductor])
def test_a_loop_that_leaves_before_places_are_tested(backend):
    run = captured(another_array, backend=backend)
    for start in (0, 4):
        run.on(lambda start=start: (np.ones(9), np.ones(9), np.arange(9.0), np.full(9, start), 9))
