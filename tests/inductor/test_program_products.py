"""Products of matrices and vectors in programs: every form, at every size that it treats in its own way."""

import re

import numpy as np
import pytest

from capture import config
from capture.backends import inductor
from capture.inductor.compile import compile_graph
from capture.inductor.programs.product_texts import ONE, PARTS
from capture.inductor.programs.products import panels_of
from tests.helpers import captured, staying
from tests.inductor.assembling import Assembling, array, check, graph_of

SHAPES = [
    (0, 3, 5), (3, 0, 5), (3, 5, 0), (1, 1, 1), (1, 9, 40), (2, 40, 2), (3, 7, 3), (4, 20, 4), (5, 33, 5), (4, 64, 8),
    (7, 16, 9), (8, 17, 15), (9, 31, 16), (6, 5, 17), (12, 18, 33), (5, 65, 64), (1, 130, 65), (16, 24, 72),
    (2, 3, 130), (19, 33, 131), (37, 300, 70), (16, 32, 64),
]  # fmt: skip
"""Rows, what is summed up, columns."""


def some(*shape, dtype="f8", layout="rows"):
    """Small whole numbers: their sums are exact in whatever order. ``layout``: how they lie in memory."""
    rng = np.random.default_rng(sum(shape))

    def made(*sizes):
        return rng.integers(-4, 5, sizes).astype(dtype)

    if layout == "rows":
        return made(*shape)
    if layout == "turned":
        return made(*shape[::-1]).T
    if layout == "apart":  # nothing lies side by side
        return made(*(2 * size for size in shape))[tuple(slice(None, None, 2) for _ in shape)]
    if layout == "backward":
        return made(*shape)[tuple(slice(None, None, -1) for _ in shape)]
    assert layout == "part"  # rows with something between them
    return made(*shape[:-1], shape[-1] + 3)[..., :-3]


LAYOUTS = ("rows", "turned", "apart", "backward", "part")


def product_of(left, right):
    asm = Assembling(a=array(left.dtype, left.ndim), b=array(right.dtype, right.ndim))
    return asm.done(asm.matmul(asm.a, asm.b))


def called(source):
    """The functions of products that a program calls, without types and sizes."""
    program = source.partition("_on_arrays(")[2]
    names = re.findall(r"^ +(?:.* = )?(block|dots|dot|panels)_f\d\d\w*\(", program, re.MULTILINE)
    return sorted(set(names))


def many(shapes, dtype, layouts, vectors):
    """All products of a list of shapes as one program, with its operands."""
    operands, pairs = {}, []
    for number, (rows, inner, columns) in enumerate(shapes):
        left = (inner,) if vectors == "left" else (rows, inner)
        right = (inner,) if vectors == "right" else (inner, columns)
        operands[f"a{number}"] = some(*left, dtype=dtype, layout=layouts[0])
        operands[f"b{number}"] = some(*right, dtype=dtype, layout=layouts[1])
        pairs.append((f"a{number}", f"b{number}"))
    asm = Assembling(**{name: array(value.dtype, value.ndim) for name, value in operands.items()})
    program = asm.done(*(asm.matmul(getattr(asm, a), getattr(asm, b)) for a, b in pairs))
    return program, tuple(operands.values())


@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", ("rows", "turned", "apart"))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_matrices(dtype, left, right):
    program, operands = many(SHAPES, dtype, (left, right), "none")
    run = check(program, *operands)
    assert "block" in called(run.source)


@pytest.mark.parametrize("dtype", ("i8", "u2", "i4"))
def test_integers(dtype):
    for layouts in (("rows", "rows"), ("turned", "apart")):
        program, operands = many(SHAPES, dtype, layouts, "none")
        assert called(check(program, *operands).source) == []


@pytest.mark.parametrize("vectors", ("left", "right"))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_vectors(dtype, layout, vectors):
    for layouts in ((layout, "rows"), ("rows", layout)):
        program, operands = many(SHAPES, dtype, layouts, vectors)
        check(program, *operands)


FORMS = [  # shapes and layouts of operands; functions
    (((16, 20), "rows"), ((20, 24), "rows"), ["block"]),
    (((16, 20), "turned"), ((20, 24), "rows"), ["block"]),
    (((16, 20), "apart"), ((20, 24), "part"), ["block"]),
    (((16, 9), "rows"), ((9, 24), "turned"), ["block"]),
    (((16, 20), "turned"), ((20, 24), "turned"), ["block"]),
    (((16, 20), "rows"), ((20, 24), "backward"), ["block"]),
    (((16, 300), "turned"), ((300, 300), "rows"), ["block", "panels"]),
    (((16, 300), "rows"), ((300, 256), "rows"), ["panels"]),
    (((16, 300), "rows"), ((300, 256), "turned"), ["panels"]),
    (((16, 300), "rows"), ((300, 260), "turned"), ["dots", "panels"]),
    (((16, 20), "rows"), ((20, 24), "turned"), ["dots"]),
    (((20,), "rows"), ((20, 24), "rows"), ["block"]),
    (((20,), "rows"), ((20, 24), "turned"), ["dots"]),
    (((16, 20), "rows"), ((20,), "rows"), ["dots"]),
    (((16, 20), "part"), ((20,), "rows"), ["dots"]),
    (((16, 20), "turned"), ((20,), "rows"), ["block"]),
    (((16, 20), "turned"), ((20,), "backward"), ["block"]),
    (((16, 20), "apart"), ((20,), "rows"), ["dots"]),  # by strides that are known in the call
    (((3, 4), "rows"), ((4, 4), "rows"), []),
    (((3, 80), "rows"), ((80,), "rows"), ["dot"]),
]


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("left, right, functions", FORMS, ids=str)
def test_forms(left, right, functions, dtype):
    one, other = (some(*shape, dtype=dtype, layout=layout) for shape, layout in (left, right))
    assert called(check(product_of(one, other), one, other).source) == functions


@pytest.mark.parametrize("simd", ("avx512", "avx2", "sse"))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_registers_of_all_sizes(dtype, simd):
    program, operands = many(SHAPES, dtype, ("rows", "rows"), "none")
    try:
        with config.applied(config.with_options({"simd": simd})):
            check(program, *operands)
    except Exception as error:
        if "this processor has no" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("lanes, width", ((2, 2), (4, 2), (8, 2), (8, 4), (16, 4)))
@pytest.mark.parametrize("columns", range(1, 140))
def test_panels_are_all_columns(columns, lanes, width):
    seen = set()
    for count, panel in panels_of(columns, lanes, width, 2):
        size = 1 if panel.part == ONE else lanes >> PARTS.index(panel.part)
        for turn in range(count):
            starts = [size * vector for vector in range(panel.vectors - 1)] + [int(panel.last)]
            for start in starts:
                begin = int(panel.at) + turn * width * lanes + start
                assert begin >= 0 and begin + size <= columns
                seen.update(range(begin, begin + size))
    assert seen == set(range(columns))


def by_rows(x, w, n):
    out = np.zeros((n, x.shape[0], w.shape[1]), x.dtype)
    for t in range(n):
        out[t] = (x * t) @ w
    return out


def by_turned_rows(x, w, n):
    out = np.zeros((n, x.shape[1], w.shape[0]), x.dtype)
    for t in range(n):
        out[t] = (x.T + t) @ w.T
    return out


def by_vectors(x, w, n):
    rows, columns = np.zeros((n, x.shape[1]), x.dtype), np.zeros((n, w.shape[1]), x.dtype)
    for t in range(n):
        v = x @ w[:, 0] + t
        rows[t] = x.T @ v
        columns[t] = rows[t] @ w
    return rows, columns


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("function", (by_rows, by_turned_rows, by_vectors))
def test_open_sizes(function, dtype):
    run = captured(function, backend=staying(inductor), dynamic=True)
    shapes = [(5, 6, 7), (16, 20, 40), (40, 33, 140), (20, 300, 150), (1, 4, 5), (4, 17, 16), (13, 70, 3), (2, 3, 64)]
    for rows, inner, columns in shapes:
        x = some(rows, inner, dtype=dtype)
        w = some(columns, rows, dtype=dtype) if function is by_turned_rows else some(inner, columns, dtype=dtype)
        run(x, w, 6)
    assert run.breaks == []


def test_what_is_no_number_stays_where_it_is():
    """What is read twice, or beyond what is summed up, touches no other result."""
    x, w = some(5, 19), some(19, 21)
    for place in range(19):
        for bad in (np.inf, np.nan):
            left = x.copy()
            left[3, place] = bad
            for right in (w, np.ascontiguousarray(w.T).T):
                run = compile_graph(graph_of(product_of(left, right), left, right))
                with np.errstate(all="ignore"):
                    (mine,), plain = run(left, right) or (None,), left @ right
                assert mine is not None or bad == np.inf  # times 0 it is what NumPy warns of
                if mine is not None:
                    np.testing.assert_array_equal(mine, plain)


def test_sums_are_as_exact_as_those_of_numpy():
    rng = np.random.default_rng(0)
    for rows, inner, columns in ((16, 500, 24), (1, 500, 20), (4, 64, 192)):
        for layout in ("rows", "turned"):
            x = rng.standard_normal((rows, inner))
            w = rng.standard_normal((inner, columns))
            w = np.ascontiguousarray(w.T).T if layout == "turned" else w
            run = compile_graph(graph_of(product_of(x, w), x, w))
            exact = (x.astype("g") @ w.astype("g")).astype("f8")
            bound = np.abs(x) @ np.abs(w) * inner * np.finfo("f8").eps
            assert (np.abs(run(x, w)[0] - exact) <= bound).all()
            assert np.abs(run(x, w)[0] - exact).max() <= 4 * np.abs(x @ w - exact).max() + 1e-15
