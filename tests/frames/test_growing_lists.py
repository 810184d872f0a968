"""Lists that a loop appends to: their items are rows of a result of the loop's node, or the loop stays as it was."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.backends import eager, inductor
from capture.frames import hook
from tests.helpers import captured, staying

BACKENDS = pytest.mark.parametrize("backend", [eager, inductor], ids=["eager", "inductor"])


def nodes(run):
    """How many loops are nodes of the graphs."""
    return sum(node.target == "loop" for graph in run.record.graphs for node in graph)


def data(n=20, width=3, dtype="f8"):
    return np.random.default_rng(n).integers(-9, 9, (n, width)).astype(dtype)


# Programs: each is one graph, and its loop a node -----------------------------------------------------------------
def floats(x):
    out = []
    for i in range(x.shape[0]):
        out.append(float(x[i, 0]) * 2)
    return np.array(out), out


def ints(x):
    out = [7]
    for i in range(x.shape[0]):
        out.append(i * i - 3)
    return np.asarray(out) + 1, len(out), out


def truths(x):
    out, signs = [], [True]
    for row in x:
        out.append(row[0] > 0)
        signs.append(bool(row[1] > 0))
    return out, signs


def scalars(x):
    out = []
    for i, row in enumerate(x):
        out.append(row[0] + row[1] * i)
    return np.stack(out), np.mean(out), out


def several_a_round(x):
    out = [0.5]
    total = 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        total += float(x[i, 0])
        out.append(total)
        out.append(-total)
    return np.array(out) * 2


def nested(x):
    out = []
    for i in range(x.shape[0]):
        out.append(-1.0)
        for j in range(x.shape[1]):
            out.append(float(x[i, j]))
    return np.array(out), out


def either_way(x):
    out = []
    for v in x[:, 0]:
        if v > 0:
            out.append(v)
        else:
            out.append(-v)
    return out


def by_a_function(x):
    def twice(v):
        return v * 2

    out = []
    for v in x[:, 0]:
        out.append(twice(v))
    return np.array(out)


def carried_rows(x):
    out, h = [], np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h = h * 0.5 + x[t]
        out.append(h)
    return np.stack(out) + 1


def filled_rows(x):
    out = []
    for i in range(x.shape[0]):
        row = np.zeros(4)
        row[1] = x[i, 0]
        row[2:] = x[i, 1]
        out.append(row)
    return np.array(out)


def two_arrays(x):
    out = []
    for row in x:
        out.append(row * 2)
    first = np.array(out)
    first[0] = 5
    return first, np.stack(out, axis=0)


def sometimes(x):
    out = []
    for v in x[:, 0]:
        if v > 0:
            out.append(v)
    return out


def comprehended(x):
    return np.array([v * 2 for v in x[:, 0]]), [float(v) for v in x[:, 1]]


def comprehended_rows(x):
    return np.array([np.maximum(row, 0) * 2 for row in x])


def comprehended_if(x):
    return [int(v) for v in x[:, 0] if v > 0 if v != 3]


def nested_comprehension(x):
    return np.array([x[i, j] * i for i in range(x.shape[0]) for j in range(x.shape[1]) if x[i, j] != j])


def several_or_none(x):
    out = []
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            out.append(i)
            if x[i, 1] > 0:
                out.append(-i)
        elif x[i, 2] > 0:
            out.append(0)
    return np.array(out), len(out)


def rows_sometimes(x):
    out = []
    for row in x:
        if row[0] > row[1]:
            out.append(row * 2)
    return np.array(out)


def while_it_lasts(x):
    out, left = [], float(abs(x).sum()) + 1
    while left > 0.01:
        out.append(left)
        left *= 0.75
    return out, np.array(out), len(out)


def in_the_inner_loop(x):
    out = []
    for i in range(x.shape[0]):
        j = i
        while j > 0:
            out.append(j)
            j //= 2
        for j in range(x.shape[1]):
            if x[i, j] < 0:
                break
            out.append(-j)
    return out


def as_many_as_asked(x):
    out = []
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            out.append(float(x[i, 1]))
        if len(out) == 5:
            break
    return out, len(out)


def left_early(x):
    out = []
    for v in x[:, 0]:
        if v > 7:
            break
        out.append(v)
    return np.array(out)


def list_of_arrays(x):
    out, few = [], []
    for row in x:
        out.append(row * 2)
        if row[0] > row[1]:
            few.append(np.abs(row) + 1)
    return out, few, np.array(out), out


def by_the_last(x):
    out = [0.0]
    for v in x[:, 0]:
        out.append(out[-1] * 0.5 + float(v))
        if len(out) > 5 and out[-3] > out[2]:
            out[-2] = out[0]
    return np.array(out), out


def by_places(x):
    out = [1, 1]
    for i in range(x.shape[0]):
        out.append(out[min(i + 1, 12)] % 1000 + out[i])
        out[len(out) // 2] = 3
    return out


def filled_in(x):
    out = [0] * 30
    for i in range(30):
        out[i] = i * 7 % 30
        out[out[i // 2]] = out[-1 - i]
    return out, np.array(out)


def gone_through(x):
    out = [float(v) for v in x[:, 0] if v < 5]
    scalars = [v * 2 for v in x[:, 1]]
    total = sum_of = 0.0
    for i, v in enumerate(out):
        total += v * i
    for v in scalars:
        sum_of = sum_of + v
    squares = [v * w for v, w in zip(out, scalars, strict=False)]
    return total, sum_of, np.array(squares), out, scalars, len(squares)


def rows_gone_through(x):
    out = [row * 2 for row in x]
    total = np.zeros(3)
    for row in out:
        total = total + row
    for i, row in enumerate(out):
        row[1:] += i
    return total, out, np.array(out)


def some_items(x):
    out = [int(v) for v in x[:, 0]]
    few = [v for v in x[:, 1] if v > -20]
    return (out[0], out[-1]) if out else (0, 1), few[0] if few else 7


def joined_rows(x):
    out = [row * 2 for row in x]
    return (np.vstack(out), np.hstack(out), np.concatenate(out), np.concatenate(out, axis=-1), np.stack(out, axis=1),
            np.stack(out, -1), np.column_stack(out), np.array(out, dtype=complex))  # fmt: skip


def joined_scalars(x):
    out = [v + 1 for v in x[:, 0]]
    return (np.vstack(out), np.hstack(out), np.stack(out), np.stack(out, axis=-1), np.column_stack(out),
            np.asarray(out, dtype=np.float64), np.array(out, complex))  # fmt: skip


def joined_matrices(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x * i)
    return (np.vstack(out), np.hstack(out), np.concatenate(out), np.concatenate(out, axis=1), np.stack(out, axis=1),
            np.stack(out, axis=2), np.column_stack(out))  # fmt: skip


PROGRAMS = [floats, ints, truths, scalars, several_a_round, nested, either_way, by_a_function, carried_rows,
            filled_rows, two_arrays, sometimes, left_early, comprehended, comprehended_rows, comprehended_if,
            nested_comprehension, several_or_none, rows_sometimes, while_it_lasts, in_the_inner_loop,
            as_many_as_asked, list_of_arrays, joined_rows, joined_scalars, joined_matrices, by_the_last,
            by_places, filled_in, gone_through, rows_gone_through, some_items]  # fmt: skip
OVER_RANGES = [floats, ints, several_a_round, nested, carried_rows, filled_rows, nested_comprehension, several_or_none,
               while_it_lasts, in_the_inner_loop, as_many_as_asked]  # fmt: skip
"""Loops over rows whose number is open are none of the graph."""


@BACKENDS
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_growing(function, backend):
    run = captured(function, backend=backend)
    run(data())
    assert (run.graphs, run.breaks, run.record.loops) == (1, [], {})
    assert nodes(run) >= 1
    for n in (20, 70, 1, 0, 6, 33):
        run(data(n))


def batches(x):
    out, h = [], np.zeros((3, x.shape[1]))
    for t in range(x.shape[0]):
        h = h * 0.5 + x[t]
        out.append(h)
    return np.stack(out)


@pytest.mark.parametrize(
    "function, dynamic",
    [(each, False) for each in (*PROGRAMS, batches)]
    + [(each, True) for each in (floats, ints, carried_rows, filled_rows, batches)],
)
def test_no_program_leaves_where_there_are_items(function, dynamic):
    run = captured(function, backend=staying(inductor), exact=False, dynamic=dynamic)
    for n in (20, 70, 33):
        run(data(n))
    assert nodes(run) and (dynamic or run.breaks == [])


@BACKENDS
@pytest.mark.parametrize("function", OVER_RANGES, ids=lambda function: function.__name__)
def test_open_sizes(function, backend):
    run = captured(function, backend=backend, dynamic=True)
    for n in (20, 70, 8, 1, 0, 33):
        run(data(n))
    assert run.graphs <= 4


@BACKENDS
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8", "u2", "?", "c8", "c16"])
@pytest.mark.parametrize("function", [scalars, two_arrays], ids=lambda function: function.__name__)
def test_dtypes(function, dtype, backend):
    run = captured(function, backend=backend)
    run(data(dtype=dtype))
    assert not run.breaks


@BACKENDS
def test_long(backend):
    run = captured(several_a_round, backend=backend)
    run(data(3000))
    assert nodes(run) == 1


def test_what_follows_is_in_the_same_kernel():
    def function(x):
        out = []
        for v in x[:, 0]:
            out.append(v * 2)
        return np.sqrt(np.abs(np.array(out))) + 1

    run = captured(function, backend=inductor)
    run(data())
    assert (run.graphs, nodes(run), run.breaks) == (1, 1, [])


# Those that stay as they were ----------------------------------------------------------------------------------------
def other_name(x):
    out = []
    again = out
    for v in x[:, 0]:
        out.append(float(v))
    return out, again


def in_a_container(x):
    out = []
    known = {"out": out}
    for v in x[:, 0]:
        out.append(float(v))
    return known


def by_its_method(x):
    out = []
    add = out.append
    for v in x[:, 0]:
        add(float(v))
    return out


def by_a_closure(x):
    out = []

    def get():
        return out

    for v in x[:, 0]:
        out.append(float(v))
    return get()


def named_in_the_loop(x):
    out = []
    for v in x[:, 0]:
        out.append(float(v))
        again = out
    return out, again


def handed_over(x):
    def put(where, v):
        where.append(v)

    out = []
    for v in x[:, 0]:
        put(out, float(v))
    return out


def unlike_items(x):
    out = [0]
    for v in x[:, 0]:
        out.append(float(v))
    return out


def number_then_scalar(x):
    out, total = [], 0.0
    for v in x[:, 0]:
        out.append(total)
        total += v
    return out


def returned_early(x):
    out = []
    for v in x[:, 0]:
        if v > 7:
            return out
        out.append(v)
    return out, 1


def views(x):
    out = []
    for row in x:
        out.append(row)
    x[0] = 7
    return np.array(out)


def the_argument_itself(x):
    out, h = [], x
    for _ in range(9):
        out.append(h)
        h = h * 0.5
    x[0] = 3
    return np.stack(out)


def written_later(x):
    out = []
    for v in x[:, 0]:
        row = np.zeros(3)
        out.append(row)
        row[0] = v
    return np.array(out)


def one_array(x):
    out, row = [], np.zeros(3)
    for v in x[:, 0]:
        row[0] = v
        out.append(row)
    return np.array(out)


def the_last_one_too(x):
    out, h = [], np.zeros(3)
    for row in x:
        h = h + row
        out.append(h)
    h += 1
    return np.array(out), h


def the_same_twice(x):
    out = []
    for row in x:
        h = row * 2
        out.append(h)
        out.append(h)
    return out


def the_same_again(x):
    out = []
    for row in x:
        h = row * 2
        for _ in range(5):
            out.append(h)
    return out


def in_two_lists(x):
    out, more = [], []
    for row in x:
        h = row * 2
        out.append(h)
        more.append(h)
    return out, more


def items_behind(x):
    out = []
    for v in x[:, 0]:
        out.append(float(v))
    out.append(1.0)
    out[0] = 3.0
    return out, out[-2], sum(out), [each + 1 for each in out], 2.5 in out


def other_shapes(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i, : 1 + (i > 8)] * 2)
    return len(out)


def columns(x):
    out, y = [], np.asfortranarray(x)
    for i in range(x.shape[0]):
        out.append(y * i)
    return np.stack(out)


LEFT = [other_name, in_a_container, by_its_method, by_a_closure, named_in_the_loop, handed_over, unlike_items,
        number_then_scalar, returned_early, views, the_argument_itself, written_later, one_array,
        the_last_one_too, the_same_twice, the_same_again, in_two_lists,
        items_behind, columns]  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("function", LEFT, ids=lambda function: function.__name__)
def test_left_as_it_was(function, backend):
    run = captured(function, backend=backend, exact=backend is eager)
    run(data())
    assert list(run.record.loops)  # the reasons
    for n in (20, 9, 1, 0):
        run.on(lambda n=n: (data(n),))


@BACKENDS
def test_shapes_that_change_are_left(backend):
    run = captured(other_shapes, backend=backend)
    for n in (20, 7, 20):
        run(data(n))


@pytest.mark.parametrize("index", ["i", "-i", "i + 3", "-i - 9", "len(out)"])
@pytest.mark.parametrize("does", ["out.append(out[{}])", "out[{}] = i"])
@BACKENDS
def test_places_beyond_the_ends(does, index, backend):
    space = {}
    source = f"def f(n):\n    out = [5] * 8\n    for i in range(n):\n        {does.format(index)}\n    return out"
    exec(source, space)
    run = captured(space["f"], backend=backend)
    for n in (5, 8, 9, 20):
        run(n)


def extremes(x):
    out = [float(v) for v in x[:, 0]]
    return max(out), sum(out) / len(out), out


def sorted_in_place(x):
    out = []
    for v in x[:, 0]:
        if v > 0:
            out.append(v)
    out.sort()
    return out, out[1:3], 3.0 in out


def arrays_changed(x):
    out = [row * 2 for row in x]
    out[1] = out[0]
    out.append(x)
    return out


@BACKENDS
@pytest.mark.parametrize("function", [extremes, sorted_in_place, arrays_changed], ids=lambda each: each.__name__)
def test_what_python_does_with_a_long_list(function, backend):
    """The loop stays in the graph, which ends where Python takes the list."""
    run = captured(function, backend=backend)
    run(data(200))
    assert nodes(run) == 1 and run.breaks and not run.record.loops
    for n in (200, 150, 20, 1):
        run(data(n))


# Errors, warnings, leaks ---------------------------------------------------------------------------------------------
@BACKENDS
def test_errors(backend):
    def function(x, bound):
        out = []
        for i in range(x.shape[0] + bound):
            out.append(x[i, 0])
        return out

    run = captured(function, backend=backend)
    run(data(), 0)
    for bound in (1, -3):
        run.on(lambda bound=bound: (data(), bound))


@BACKENDS
def test_warnings(backend):
    def function(x):
        out = []
        for v in x[:, 0]:
            out.append(1 / v)
        return np.array(out)

    x = np.ones((20, 1))
    run = captured(function, backend=backend)
    run(x)
    x[7] = 0
    run(x)
    assert nodes(run) >= 1


def test_nothing_is_kept():
    run = captured(floats, backend=inductor)
    run(data())
    array, _ = run(data())
    gone = weakref.ref(array)
    del array, _
    gc.collect()
    assert gone() is None


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.sampled_from(["out.append(v)", "out.append(v * 2)", "for j in range(6):\n            out.append(v - j)",
                              "if v > 0:\n            out.append(v)\n        else:\n            out.append(-v)"]),
             min_size=1, max_size=3),
    st.sampled_from(["range(n)", "range(1, n)", "range(n - 1, -1, -1)"]),
    st.sampled_from(["np.array(out)", "out", "(out, len(out))", "np.asarray(out) * 2", "np.max(out)"]),
    st.sampled_from(["[]", "[x[0], x[1]]"]),
)  # fmt: skip
def test_random_programs(statements, rounds, result, first):
    body = "\n        ".join(["v = x[i]", *statements])
    source = f"def f(x, n):\n    out = {first}\n    for i in {rounds}:\n        {body}\n    return {result}\n"
    space = {"np": np}
    hook.reset()  # programs of other examples may be equal
    exec(source, space)
    run = captured(space["f"], backend=eager)
    for n in (30, 30, 17, 25):
        run(np.arange(-10.0, n), n)
    assert nodes(run) >= 1 and not run.breaks
