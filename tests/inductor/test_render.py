"""The C that is written: readable, the same each time, and only as much as is used."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

from capture.inductor.compile import load_plan, plan_graph
from capture.inductor.loops import Memory
from capture.inductor.memory import Numbers, place_in_arena
from capture.inductor.plan import KernelStep
from tests.inductor.graphs import graph_of
from tests.inductor.test_kernel_warnings import normalised_in_place, softmax
from tests.inductor.test_kernels import normal
from tests.inductor.test_schedule import black_scholes, chain, gelu, layer_norm

X = normal(30, 40)
PROGRAMS = {
    "gelu": (gelu, (X,)),
    "chain": (chain, (X, X, X[0])),
    "layer norm": (layer_norm, (X, X[0], X[0])),
    "softmax of columns": (softmax(0), (X,)),
    "black-scholes": (black_scholes, (X, X, X)),
    "in place": (normalised_in_place(1), (X,)),
    "strided": (gelu, (X[::2, ::3],)),
    "integers": (lambda g, x: g.call("floor_divide", x, g.call("remainder", x, 7)), (np.arange(10),)),
    "long": (lambda g, x: (g.call("var", x), g.call("argmax", x)), (normal(100_000),)),
}


def source_of(name):
    build, inputs = PROGRAMS[name]
    return plan_graph(graph_of(build, *inputs)).source


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_graph_gives_the_same_text(name):
    assert source_of(name) == source_of(name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_to_warn_about(name, tmp_path):
    source = tmp_path / "unit.c"
    source.write_text(source_of(name))
    flags = [
        "-std=gnu11",
        "-Wall",
        "-Wno-unused",
        "-Wno-parentheses",
        "-Wno-unknown-pragmas",
        "-Werror",
        "-fsyntax-only",
    ]
    subprocess.run(["gcc", *flags, source], check=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_headers_and_no_paths(name):
    source = source_of(name)
    assert "#include" not in source
    assert not re.search(r"0x[0-9a-f]{9,}", source)


def test_names_and_lines_of_the_user():
    source = source_of("gelu")
    assert "user.py:7" in source
    assert re.search(r"const f32 tanh_\d+ = tanhf\(multiply_3_\d+\);", source)
    assert "x0_data[" in source


def test_only_what_is_used_is_written():
    source = plan_graph(graph_of(lambda g, x: g.call("less", x, 1.0), X)).source
    assert "raised(" not in source and "FLOORDIV" not in source and "const)) " not in source


def test_vector_functions_only_where_there_are_any():
    graph = graph_of(gelu, X)
    assert 'simd("notinbranch")' in plan_graph(graph).source
    assert 'simd("notinbranch")' not in plan_graph(graph, simd_math=False).source
    remainder = graph_of(lambda g, x: g.call("remainder", x, 3.0), X)
    assert 'simd("notinbranch")' not in plan_graph(remainder).source


def test_comments_cannot_be_ended_by_names():
    graph = graph_of(gelu, X)
    graph.name = "a */ int x; /* b"
    assert "*/ int x;" not in plan_graph(graph).source


def test_static_sizes_need_no_code():
    plan = plan_graph(graph_of(gelu, X))
    assert not plan.needs_sizes and "sizes(" not in plan.source
    assert plan_graph(graph_of(lambda g, x: g.call("getitem", x, (slice(1, None),)), X[::2])).needs_sizes


def test_temporaries_share_the_arena():
    a, b, c, d = (Memory(name, "arena", np.dtype("f8"), (100,), (1,)) for name in "abcd")
    offsets, size = place_in_arena({a: (0, 1), b: (1, 2), c: (2, 3), d: (0, 3)}, Numbers())
    assert offsets[a] == offsets[c] and len({offsets[a], offsets[b], offsets[d]}) == 3
    assert size == 3 * 832
    assert all(offset % 64 == 0 for offset in offsets.values())


def test_kernels_tell_what_they_do():
    (kernel,) = plan_graph(graph_of(softmax(1), X)).kernels
    assert {"max", "subtract", "exp", "sum", "divide"} <= set(kernel.nodes)
    assert kernel.bytes == 2 * X.nbytes
    assert kernel.flops >= 3 * X.size
    assert "for (" in kernel.source


SHARED = {
    "sum of 100,000": ("sum", (100_000,), None, 13),
    "columns of 316": ("var", (316, 316), 0, 2),
    "columns of 632": ("sum", (632, 632), 0, 2),
    "columns of 1,300": ("max", (100, 1300), 0, 4),
    "columns of 2,000": ("sum", (2000, 2000), 0, 4),
    "few columns": ("sum", (2000, 200), 0, 1),
    "few rows": ("sum", (10, 316), 0, 1),
}


@pytest.mark.parametrize("name", SHARED)
def test_reductions_are_cut_into_even_pieces_for_threads(name):
    """As many chunks or blocks as there should be; none of blocks is much smaller than the others."""
    target, shape, axis, count = SHARED[name]
    x = normal(*shape)
    plan = plan_graph(graph_of(lambda g, x: g.call(target, x, axis=axis), x))
    first = next(step for step in plan.steps if isinstance(step, KernelStep))
    assert dict(plan.constants)[first.extent] == count
    if count > 1 and axis == 0:
        (width,) = {int(found) for found in re.findall(r"block = row \* (\d+);", plan.source)}
        assert 0 <= width * count - shape[1] < width / 2
    execute = load_plan(plan)
    (result,) = execute(x)
    np.testing.assert_allclose(result, getattr(np, target)(x, axis=axis), rtol=1e-4, atol=1e-3)
