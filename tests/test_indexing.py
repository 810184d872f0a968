"""Integer arrays as indices: every form of key, on every layout, and what becomes of places that do not exist."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from capture.ir.ops.assigning import COPIES_WHAT_OVERLAPS
from tests.helpers import captured

rng = np.random.default_rng(7)
BASE = rng.standard_normal((5, 6, 7, 8))
LAYOUTS = {
    "C": BASE,
    "F": np.asfortranarray(BASE),
    "permuted": np.ascontiguousarray(BASE.transpose(2, 0, 3, 1)).transpose(1, 3, 0, 2),
    "strided": np.repeat(np.repeat(BASE, 2, 0), 2, 3)[::2, :, :, ::2],
    "reversed": BASE[::-1, :, ::-1],
}
ROWS, J, K = rng.integers(-5, 5, (2, 3)), rng.integers(-5, 5, 3), rng.integers(0, 5, (4, 2, 3))
INDICES = (ROWS, np.asfortranarray(ROWS), J, K, np.ascontiguousarray(K.transpose(1, 0, 2)).transpose(1, 0, 2))
KEYS = """
i; :,i; i,j; :,i,j; i,:,j; f,:,j; p; ...,i; 0,:,j; 0,j; j,0; :,0,j; j,...; i,j,i,0; f,f,f,f; None,j; j,None; j[::-1];
i[::-1,::-1]; i.astype('i4'),::-1; k.astype('u1'); :,None,j,1:3; [0,2,-1]; 1:,[[0,1],[2,3]],...; j[0],j; j[0],j[1],2,3;
i.max(),:,j; ...,p; i,f; f,i; :,:,:,[1]; [[]]; ...,j,None
""".replace("\n", "").split(";")
BACKENDS = (eager, inductor)


def indexing(keys):
    lines = "".join(f"    r{n} = x[{key.strip()}]\n" for n, key in enumerate(keys))
    source = f"def read(x, i, f, j, k, p):\n{lines}    return [{', '.join(f'r{n}' for n in range(len(keys)))}]\n"
    namespace = {}
    exec(compile(source, "<keys>", "exec"), namespace)
    return namespace["read"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reading_at_places(backend, layout):
    run = captured(indexing(KEYS), backend=backend)
    run(LAYOUTS[layout], *INDICES)
    assert (run.graphs, run.breaks) == (1, [])


def embedding(w, i):
    return w[i] * 2.0 + 1


def fused(x, i):
    return (np.take(x, i, axis=1) * 2 + 1).sum(axis=0)


def forms_of_take(x, i):
    return (
        np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
        np.take(x, i),
        np.take(x, i, mode="clip"),
        np.take(x, i, 1, mode="wrap"),
        x.take([1, 2], axis=1),
        x.take(i.reshape(3, 1), axis=0),
    )


def unread(x, i):
    x[i]
    return x + 1


def partly_read(x, i):
    return x[i][0]


def onto_itself(x, i):
    x[:] = x[i]
    return x


def after_a_write(x, i, out):
    out += 1
    y = x[i]
    out[0] = y[0, 0]
    return y


X, OUT = np.arange(12.0).reshape(3, 4), np.zeros(3)
GOOD, BAD = np.array([0, 2, -1]), np.array([0, 4, 1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [embedding, fused, forms_of_take, unread, partly_read, onto_itself])
def test_places_that_exist_and_that_do_not(backend, function):
    run = captured(function, backend=backend)
    for index in (GOOD, BAD, GOOD):
        run.on(lambda: (X.copy(), index.copy()))  # noqa: B023 (called at once)
    assert (run.graphs, run.breaks) == (1, [])


def of_two(x, i):
    return x[i, i % 2] + x[i, 1]


def written_aside(x, i):
    y = x.copy()
    y[i] = 1.0
    np.add.at(y, i, 2.0)
    return y


def counted(x, i):
    return np.bincount(i), x[i].max(axis=1) * 2


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "function", [embedding, fused, unread, partly_read, onto_itself, of_two, written_aside, counted]
)
def test_memory_that_is_not_there_is_not_reached(function, dynamic):
    run = captured(function, backend=inductor, dynamic=dynamic)
    for place in (0, 10**9, 2**62, -(2**62)):
        index = np.array([0, place, 1])
        if function is not counted or place <= 0:  # where it exists, so many counts do
            run.on(lambda: (X.copy(), index.copy()))  # noqa: B023 (called at once)
    assert run.breaks == []
    run.on(lambda: (X[:0].copy(), np.array([2**61, 0])))


CHOICES = """
t[(v > 4).astype(int)] | t[np.where(v > 4, 1, 0)] | t[np.where(v > 4, 2, 1)] | t[1 - (v > 4)] | t[(v > 4) * 1]
t[(v > 4) * 1 + (v > 6)] | t[2:][np.where(v > 4, 1, 0) - 1] | t[::2][(v > 4).view(np.int8)] | t[~(v > 4) * 2]
np.searchsorted(t[:2], v) | np.take(t, (v > 4).astype('u1')) | t[(v > 4) & 1] | t[np.clip(v, 0, 1).astype(int)]
""".strip().replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "f2", "f4", "f8"])
def test_places_that_are_truth_values(dtype):
    """gcc 12 reads wrong elements there, if it is let."""
    table = np.array([3, 7, 8]).astype(dtype)
    for choice in CHOICES:
        run = captured(eval(f"lambda t, v: {choice}", {"np": np}), backend=inductor)
        for kind in ("i1", "i4", "f4", "f8"):
            run(table, (np.arange(200) % 10).astype(kind))
        assert run.graphs


@pytest.mark.parametrize("backend", BACKENDS)
def test_places_are_tested_before_anything_is_written(backend):
    run = captured(after_a_write, backend=backend)
    for index in (GOOD, BAD - 1, BAD, BAD):
        run.on(lambda: (X.copy(), index.copy(), OUT.copy()))  # noqa: B023
    assert (run.graphs, run.breaks) == (1, [])


def test_a_place_that_is_computed_from_what_was_written_ends_the_graph():
    def place(x, out):
        out += 1
        return x[out.astype(np.int64)]

    run = captured(place)
    run(X, np.array([0.0, 1.0]))
    assert run.kinds == ["order"]


def test_known_places_are_not_tested():
    def known(x):
        return x[np.arange(3) % 2], x[np.argmax(x, axis=0)], x[[0, -1]]

    from capture.ir.passes import check_bounds

    run = captured(known)
    run(X)
    (graph,) = run.record.graphs
    assert not any(node.target == "leave_if" for node in check_bounds(getattr(graph, "graph", graph)))


# Masks ------------------------------------------------------------------------------------------------------------
Y = rng.standard_normal((5, 6))
MASKS = (Y > 0.3, Y <= 0.3, Y > 9, Y < 9)


def whole(x, m):
    return x[m], x.T[m.T], x[x > 0] * x[x > 0], np.extract(m, x), np.compress(m.ravel(), x)


def reduced(x, m):
    return (x[m] * 2 + 1).max(), x[m].min(), np.any(x[m] > 5), x[m] - x[m].mean()


def places(x, m):
    return np.nonzero(m), np.where(m), np.flatnonzero(m), np.argwhere(m), x.nonzero(), m[m]


def some_axes(x, m):
    return x[:, m[0]], x[m[:, 0]], x[m[:, 0], 1:3], x[m[:, 0], None], x[..., m[0]], x[m[:, 0], 2], x[2, m[0]]


def other_forms(x, m):
    i, j = np.nonzero(m)
    return x[[True, False, True, False, False]], x[i, j] + np.zeros_like(x[m]), x.compress(m[0], axis=1), x[i]


def what_warns(x, m):
    return np.sqrt(x)[m], x[np.sqrt(x) > 1]


def used_further(x, m):
    return np.sort(x[m]), np.concatenate((x[m], x[m])), x[m][:, None] * np.ones(3), np.outer(x[m], x[m])


def after_a_change(x, m):
    x += 1
    return x[m]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "function", [whole, reduced, places, some_axes, other_forms, what_warns, used_further, after_a_change]
)
def test_masks_give_sizes_that_depend_on_data(backend, function):
    run = captured(function, backend=backend, exact=function is not reduced)
    for mask in MASKS:
        run.on(lambda: (Y.copy(), mask.copy()))  # noqa: B023
    assert (run.graphs, run.breaks) == (1, [])


# Assignment -------------------------------------------------------------------------------------------------------
TIMES = np.array([0, 2, -1, 2])


def constants(x, m, i):
    x[m] = 0.5
    x[x < -1] = np.float64(3)
    x[i] = 7.0
    x[m[:, 1], 2] = 4
    x[0, i] = 5
    return x


def last_one_wins(x, m, i):
    x[i] = np.arange(24.0).reshape(4, 6)
    x[i, i] = np.arange(4.0)
    x[i, ::2] = np.arange(3.0)
    x[i[:, None], [0, 1]] = 2
    return x


def buffered(x, m, i):
    x[i] += 1
    x[:, [1, 1, 2]] *= 3
    x[:, i] = x[:, i] * 2
    x[1:, i] = -x[1:, :4]
    x[i] = x[::-1][:4]
    return x


def through_masks(x, m, i):
    x[m] += 1
    x[m] = x[m][::-1]
    x[m[:, 0]] += x[m[:, 0]]
    return x


def as_many_as_promised(x, m, i):
    x[m] = np.arange(13.0)
    return x


def inside(x, m, i):
    y = x.copy()
    y[i] = x[i[::-1]]
    y[y > 1] = 0
    z = np.zeros(4)
    z[i] = y[i, 0]
    k = np.arange(6)
    k[k[::-1]] = k
    k[[0, 1]] = k[[1, 0]]
    return y, z, k


def beyond(x, m, i):
    x[0] = 1.0
    x[i + 3] = 2.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "function", [constants, last_one_wins, buffered, through_masks, as_many_as_promised, inside, beyond]
)
def test_assignment_to_places(backend, function):
    run = captured(function, backend=backend)
    for mask in MASKS:
        run.on(lambda: (Y.copy(), mask.copy(), TIMES.copy()))  # noqa: B023
    if COPIES_WHAT_OVERLAPS or function not in (buffered, inside):
        assert (run.graphs, run.breaks) == (1, [])
    else:
        assert "overlap" in run.kinds


def known_masks(x):
    y = x[[True, False, True]]
    x[[False, True, True]] = 0.0
    x[[[True] * 4] * 3] += 1
    x[[True, False, False], 1:3] = np.arange(2.0)
    return y, y.shape[0], x[[[True, False, True, False]] * 3], np.compress([1, 0, 1], x, axis=0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_masks_that_are_lists_have_a_known_size(backend):
    run = captured(known_masks, backend=backend)
    run.on(lambda: (X.copy(),))
    assert (run.graphs, run.breaks) == (1, [])


# Random keys ------------------------------------------------------------------------------------------------------
def random_key(choose, shape):
    """Parts of a key for an array of this shape: slices, ints, None, ``...``, arrays, lists and masks."""
    arrays = ["i3", "i3", "j23", "[0, -1, 1]", "j23.T", "k", "i3[::-1]", "i3.astype('i2')"]
    parts, axis = [], 0
    while axis < len(shape):
        kind = choose.choice(["slice", "slice", "int", "array", "array", "mask", "none", "rest"])
        if kind == "none":
            parts.append("None")
            continue
        if kind == "rest":
            break
        if kind == "mask" and axis + 2 <= len(shape) and choose.random() < 0.5:
            parts.append(f"m{axis}{axis + 1}")
            axis += 2
            continue
        parts.append(
            {
                "slice": choose.choice([":", "1:", "::-1", ":-1", "::2"]),
                "int": str(choose.integers(-shape[axis], shape[axis])),
                "array": choose.choice(arrays),
                "mask": f"m{axis}",
            }[kind]
        )
        axis += 1
    if choose.random() < 0.3:
        parts.insert(choose.integers(len(parts) + 1), "...")
    return ", ".join(parts) or "..."


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_random_keys(seed, writes):
    choose = np.random.default_rng(seed)
    x = choose.standard_normal((3, 4, 5))
    values = {
        "x": x if seed % 2 else np.asfortranarray(x),
        "i3": choose.integers(-3, 3, 3),
        "j23": choose.integers(0, 3, (2, 3)),
        "k": choose.integers(0, 3, 1),
        **{f"m{axis}": choose.random(size) < 0.5 for axis, size in enumerate(x.shape)},
        "m01": choose.random((3, 4)) < 0.5,
        "m12": choose.random((4, 5)) < 0.5,
    }
    lines = []
    while len(lines) < 25:
        key = random_key(choose, x.shape)
        try:
            read = eval(f"x[{key}]", {"np": np}, values)
        except IndexError:
            continue
        value = choose.choice([f"{len(lines)}.5", f"x[{key}] * 2", f"np.full({read.shape[-1:]}, 3.0)"])
        lines.append(f"    x[{key}] = {value}\n" if writes else f"    r.append(x[{key}])\n")
    source = f"def use({', '.join(values)}):\n    r = []\n{''.join(lines)}    return r, x\n"
    namespace = {"np": np}
    exec(compile(source, "<random keys>", "exec"), namespace)
    run = captured(namespace["use"], backend=inductor)
    run.on(lambda: tuple(value.copy("K") for value in values.values()))
    assert run.graphs


def along_one(x, places):
    """An axis of one element has no say in where something is; what is gathered along it is computed before."""
    y = np.ceil(x)
    z = y[None][places] + 1, y[:, None][:, places], y / 2
    y *= 3
    w = y[None][places]
    x[...] = w[0]
    return z, w, x[None][places] * 2, np.take(x[:1] + 1, places, axis=0), x


@pytest.mark.parametrize("count", [1, 3])
def test_along_axes_of_one_element(captured, count):
    run = captured(along_one)
    run(np.linspace(0.5, 7.0, 5), np.zeros(count, int))
    run(np.linspace(0.5, 7.0, 1), np.zeros(count, int))
    assert run.graphs


def test_along_axes_of_one_element_at_constant_places(captured):
    run = captured(lambda x: (np.ceil(x)[None][[0]], np.ceil(x) // x, (x + 1)[:, None][:, [0, -1]], (x + 1) * x))
    run(np.array([1.5, 2.5]))
    assert run.graphs == 1 and run.breaks == []
