"""Views under another dtype: reads, writes through them, results, and computing with their elements' bits."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from capture.backends import inductor
from tests import helpers
from tests.compare import assert_same

INTS, FLOATS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"), ("f2", "f4", "f8")
PAIRS = [
    (one, other)
    for one in ("?", *INTS, *FLOATS)
    for other in (*INTS, *FLOATS)
    if np.dtype(one).itemsize == np.dtype(other).itemsize and one != other
]
COMPILED = [("?", "i1"), ("f4", "i4"), ("u8", "f8"), ("i2", "f2"), ("i1", "u1")]
WRITABLE = [pair for pair in PAIRS if pair[0] != "?"]
LAYOUTS = {
    "C": lambda a: a,
    "F": lambda a: np.asfortranarray(a),
    "strided": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "backward": lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
    "broadcast": lambda a: np.broadcast_to(a[..., :1], a.shape),
}
SHAPES = ((3, 5), (1, 1), (0, 4), (), (70,))


def some(dtype, shape):
    """Numbers of all signs, with NaN, infinities and zeros among the floats."""
    count = int(np.prod(shape))
    found = (np.arange(count) * 7 % 23 - 11).astype(dtype)
    if found.dtype.kind == "f":
        found[::4] = np.resize([np.nan, np.inf, -0.0, -np.inf], found[::4].shape)
    return found.reshape(shape)


def read(x, dtype):
    seen = x.view(dtype)
    return seen, seen.copy(), seen[..., None], x.view(dtype=dtype) == seen, seen.astype(bool).sum()


def computed(x, dtype):
    return (x == x).view("i1"), np.sort(x, axis=None).view(dtype), (x * x.dtype.type(1)).view(dtype), x.T.view(dtype)


def written(x, dtype):
    seen = x.view(dtype)
    seen[...] = seen[::-1] if seen.ndim else seen
    x += x.dtype.type(1)
    seen[..., 2:] = 3
    return seen, x, x[..., :4] > x.dtype.type(1)


def check(captured, function, of, dtype, layouts, shapes):
    """No breaks, whatever the layout, each with graphs of its own."""
    for layout in layouts:
        run = captured(function)
        for shape in shapes:
            if shape or layout == "C":
                run(LAYOUTS[layout](some(of, shape)), dtype)
        assert run.breaks == [] and run.graphs


@pytest.mark.parametrize(("of", "dtype"), PAIRS)
@pytest.mark.parametrize(("function", "pairs"), [(read, PAIRS), (computed, PAIRS), (written, WRITABLE)])
def test_interpreted(function, pairs, of, dtype):
    if (of, dtype) in pairs:
        layouts = list(LAYOUTS) if function is read else ["C"] if function is computed else list(LAYOUTS)[:-1]
        check(helpers.captured, function, of, dtype, layouts, SHAPES if function is read else (*SHAPES[:3], (70,)))


@pytest.mark.parametrize(("of", "dtype"), COMPILED)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reads(captured, layout, of, dtype):
    check(captured, read, of, dtype, [layout], [(3, 5), (0, 4), (4, 1)])


@pytest.mark.parametrize(("of", "dtype"), PAIRS)
def test_of_what_is_computed(of, dtype):
    check(partial(helpers.captured, backend=inductor), computed, of, dtype, ["C"], [(3, 5)])


@pytest.mark.parametrize(("of", "dtype"), COMPILED[1:])
@pytest.mark.parametrize("layout", list(LAYOUTS)[:-1])
def test_writes(captured, layout, of, dtype):
    check(captured, written, of, dtype, [layout], [(3, 5), (0, 4), (4, 2)])


def test_bools_are_not_written_as_numbers(captured):
    def write(m):
        m.view(np.uint8)[1:] = 0
        return m

    run = captured(write)
    run(np.array([True, False, True]))
    assert run.kinds == ["op"]


def test_bools_of_other_bytes(captured):
    run = captured(lambda m: (m.view("u1") + np.uint8(1), m.view("i1").sum(), m.view("u1").max()))
    run(np.array([0, 2, 255, 1], np.uint8).view(bool))
    assert run.breaks == [] and run.graphs


def test_fast_inverse_root(captured):
    def root(x):
        half = x * np.float32(0.5)
        bits = np.int32(0x5F3759DF) - (x.view(np.int32) >> 1)
        y = bits.view(np.float32)
        return y * (np.float32(1.5) - half * y * y)

    run = captured(root)
    for count in (0, 1, 3, 1000):
        run(np.linspace(0.25, 9.0, count, dtype=np.float32))
    assert run.breaks == [] and run.graphs


def test_in_place_operators_and_places(captured):
    def change(x, places):
        bits = x.view(np.int64)
        bits &= np.int64(0x7FFFFFFFFFFFFFFF)
        bits[places] = places
        np.add.at(bits, places, 1)
        x *= 2.0
        return bits[places], x.view("u8") >> np.uint64(52), bits

    run = captured(change)
    for count in (4, 9, 70):
        run(-np.arange(float(count)), np.array([1, 3, 1, -1]))
    assert run.breaks == [] and run.graphs


def test_overlapping_writes(captured):
    def shift(x):
        x.view("i8")[1:] = x[:-1]
        x[:-1] = x.view("i8")[1:]
        x.view("u8")[::-1] = x.view("u8")
        return x

    run = captured(shift)
    for count in (1, 2, 40):
        run(np.arange(float(count)))
    assert run.breaks == [] and run.graphs


def test_positions_are_not_known_from_what_is_seen(captured):
    def take(table, x):
        return table[np.clip(x, 0, 3).view("i8") >> 61], table[(x > 1.0).view("i1")]

    run = captured(take)
    for count in (0, 1, 30):
        run(np.arange(8.0), np.arange(float(count)))
    assert run.breaks == [] and run.graphs


def test_of_another_view(captured):
    def chain(x):
        seen = x.view("i8").T[::-1].view("u8").view(float)
        seen[0] = 1.0
        return seen, seen.view("i8"), x.view(), x.view(np.ndarray), x.view(type=np.ndarray), x.view(x.dtype)

    run = captured(chain)
    run(some("f8", (3, 4)))
    run(some("f8", (1, 1)))
    assert run.breaks == [] and run.graphs


@pytest.mark.parametrize(("of", "dtype"), PAIRS)
def test_scalars(captured, of, dtype):
    run = captured(lambda x: (x[0].view(dtype), x.max().view(dtype), x[-1].view(x.dtype)))
    run(some(of, (5,)))
    assert run.breaks == [] and run.graphs


@pytest.mark.parametrize("of", ["c8", "c16"])
def test_parts_of_complex_numbers(captured, of):
    def parts(z, w):
        dtype = z.real.dtype
        seen = z.view(dtype)
        seen[..., ::2] = w
        z.view("i8" if of == "c16" else "i4")[..., 1] ^= 1
        return seen, z.real * 2, z + 1, (z - 1).view(dtype), seen.sum(), z.view(z.dtype), (z == z).view("i1")

    run = captured(parts)
    for shape in ((4,), (3, 2), (1, 1), (70, 3)):
        z = some("f8", (*shape, 2)).view("c16")[..., 0].astype(of)
        run(z, z.real.dtype.type(2.5))
    assert run.breaks == [] and run.graphs


REFUSED = {
    "another size": lambda x: x.view("f4"),
    "made of smaller ones": lambda x: x.astype("f4").view("f8"),
    "bools": lambda x: x.astype("u1").view(bool),
    "complex": lambda x: x.view("c16"),
    "bytes": lambda x: x.view("S8"),
    "times": lambda x: x.view("m8[s]"),
    "a class": lambda x: x.view(np.matrix),
    "strided parts": lambda x: x.astype("c16")[:, :1].view(float),
    "parts of a transposed matrix": lambda x: x.astype("c16").T.view(float),
    "swapped bytes": lambda x: x.view(">i8"),
    "nothing": lambda x: x.view("V8"),
    "wrong": lambda x: x.view(3),
    "too many": lambda x: x.view("i8", np.ndarray, 1),
}


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_refused(function):
    run = helpers.captured(function)
    run(np.arange(8.0).reshape(2, 4))
    assert len(run.breaks) == 1


def test_read_only_arrays(captured):
    x = np.arange(4.0)
    x.flags.writeable = False
    run = captured(lambda x: (x.view("i8"), x.view()))
    seen = run(x)
    assert not any(array.flags.writeable for array in seen) and run.breaks == []


def test_memory_is_shared(captured):
    run = captured(lambda x: x.view("u8")[1:])
    x = np.arange(6.0)
    seen = run(x)
    seen[...] = 0
    assert_same(x, np.zeros(6), "x")
    assert run.graphs == 1
