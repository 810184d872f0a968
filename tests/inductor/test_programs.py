"""Compiled programs do what the interpreter of programs does, or leave."""

from __future__ import annotations

import math
import signal
import threading

import numpy as np
import pytest

from capture.inductor.compile import compile_graph
from capture.ir.graph import Graph
from capture.ir.interpret import interpret
from capture.ir.program import DENSE, NUMBERS, Branch, Jump, Leave
from capture.ir.types import type_of
from tests.inductor.assembling import BOOL, FLOAT, INT, Assembling, array, check, graph_of, leaves, scalar

TYPES = {int: INT, float: FLOAT, bool: BOOL}


INTS = (0, 1, -1, 2, 3, -3, 7, 62, 63, 64, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 7.3, -7.3, 1e300, 1e19, 2.0**63, -(2.0**63), 1e-310,
          math.inf, -math.inf, math.nan)  # fmt: skip
BINARY = (
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "<",
    "<=",
    "==",
    "!=",
    ">",
    ">=",
    "min",
    "max",
)
MATH_2 = ("math.atan2", "math.fmod", "math.pow", "math.copysign")
MATH_1 = tuple(
    f"math.{name}" for name in (
        "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
        "cosh", "tanh", "asinh", "acosh", "atanh", "floor", "ceil", "trunc", "fabs", "isnan", "isinf", "isfinite",
        "erf", "erfc",
    )
)  # fmt: skip
UNARY = ("unary -", "unary ~", "not", "abs", "bool", "int", "float", "round", *MATH_1)


def compiled_number(symbol, types, result):
    asm = Assembling(**{f"x{number}": TYPES[type] for number, type in enumerate(types)})
    program = asm.done(asm.number(symbol, *asm.parameters, type=TYPES[result]))
    graph = Graph("test")
    operands = [graph.placeholder(f"x{number}", TYPES[type]) for number, type in enumerate(types)]
    node = graph.call("loop", *operands, program=program, types=(TYPES[result],))
    graph.output(graph.call("part", node, index=0))
    return compile_graph(graph)


def python_result(symbol, operands):
    try:
        return NUMBERS[symbol](*operands)
    except (ArithmeticError, ValueError, TypeError):
        return None


def same(mine, expected):
    return type(mine) is type(expected) and (mine == expected or mine != mine) and repr(mine) == repr(expected)


def compare_number(symbol, types, rows):
    """Wherever the kernel does not leave it gives what Python gives; it leaves where Python raises, and rarely else."""
    given = left = 0
    by_type = {}
    for operands in rows:
        expected = python_result(symbol, operands)
        if not isinstance(expected, complex | None.__class__):
            by_type.setdefault(type(expected), []).append(operands)
    if not by_type:
        return
    result = max(by_type, key=lambda kind: len(by_type[kind]))
    run = compiled_number(symbol, types, result)
    for operands in rows:
        mine, expected = run(*operands), python_result(symbol, operands)
        if mine is None:
            left += type(expected) is result and (result is not int or abs(expected) < 2**63)
            continue
        assert same(mine[0], expected), (symbol, operands, mine, expected)
        given += 1
    assert given
    return left / len(rows)


@pytest.mark.parametrize("types", [(int, int), (float, float), (int, float), (float, int), (bool, int), (bool, bool)])
def test_two_numbers(types):
    values = {int: INTS, float: FLOATS, bool: (False, True)}
    rows = [(a, b) for a in values[types[0]] for b in values[types[1]]]
    rows += [(0, 3), (10, 4), (2, 9), (-5, 2)] if types == (int, int) else []
    for symbol in (*BINARY, *MATH_2):
        if symbol in ("min", "max") and types[0] is not types[1]:
            continue
        if float in types and symbol in ("&", "|", "^", "<<", ">>"):
            continue
        left = compare_number(
            symbol,
            types,
            [
                (a, b)
                for a, b in rows
                if not (symbol == "<<" and b > 64)
                and not (symbol == "**" and type(b) is int and type(a) is int and b > 64)
            ],
        )
        assert left is None or left < 0.7, symbol


@pytest.mark.parametrize("python", [int, float, bool])
def test_one_number(python):
    values = {int: INTS, float: FLOATS, bool: (False, True)}[python]
    for symbol in UNARY:
        if symbol == "unary ~" and python is float:
            continue
        compare_number(symbol, (python,), [(value,) for value in values])


def test_common_divisor():
    assert compare_number("math.gcd", (int, int), [(a, b) for a in INTS for b in INTS]) < 0.3


def test_sum_of_a_loop_and_writes():
    asm = Assembling(x=array("f8", 1), n=INT)

    def body(i, s):
        total = asm.map("add", s, asm.load(asm.x, i))
        asm.put(asm.x, i, total)
        return [total]

    (s,) = asm.loop(asm.n, [(scalar("f8"), np.float64(0))], body)
    program = asm.done(s, asm.x, written=[0])
    for literals in (False, True):
        check(program, np.arange(5.0), 5, literals=literals)
        check(program, np.arange(10.0)[::-2], 5, literals=literals)
        check(program, np.arange(0.0), 0, literals=literals)
    leaves(program, (scalar("f8"), type_of(np.arange(5.0))), np.arange(5.0), 6)


# NumPy scalars ----------------------------------------------------------------------------------------------------
DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")


def two_scalars(op, a, b, **params):
    types = {name: scalar(v.dtype) if isinstance(v, np.generic) else TYPES[type(v)] for name, v in (("a", a), ("b", b))}
    asm = Assembling(**types)
    return asm.done(asm.map(op, asm.a, asm.b, **params))


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_and_weak_numbers(dtype):
    one, two = np.dtype(dtype).type(1), np.dtype(dtype).type(2)
    for op in ("add", "multiply", "maximum", "less", "equal"):
        check(two_scalars(op, one, two), one, two)
    if dtype == "?":
        return
    for op in ("add", "multiply", "divide", "less"):
        check(two_scalars(op, two, 3), two, 3)
        check(two_scalars(op, 3, two), 3, two)
    check(two_scalars("floor_divide", two, 3), two, 3)
    if np.dtype(dtype).kind == "f":
        check(two_scalars("scalar_add", two, 0.1), two, 0.1)
        check(two_scalars("power", two, 0.5), two, 0.5, rtol=1e-3 if dtype == "f2" else 1e-6)


def test_scalars_warn_or_refuse():
    u1 = np.uint8
    for op, a, b in (
        ("add", u1(3), 300), ("add", u1(3), -1), ("divide", 1.0, np.float64(0)),
        ("floor_divide", np.int32(1), np.int32(0)),
        ("remainder", np.int64(1), 0), ("multiply", np.float32(1e38), np.float32(1e38)),
        ("subtract", np.float64(np.inf), np.float64(np.inf)),
    ):  # fmt: skip
        program = two_scalars(op, a, b)
        kind = program.blocks[0].end.values[0].type
        run = leaves(program, (kind,), a, b)
        assert run(a, type(b)(1)) is not None
    with np.errstate(all="ignore"):
        run = check(two_scalars("multiply", np.float32(1), np.float32(1)), np.float32(1e38), np.float32(1e38))
    assert run(np.float32(1e38), np.float32(1e38)) is None


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype[0] in "iu"])
def test_integer_scalars_leave_where_they_overflow(dtype):
    kind, info = np.dtype(dtype).type, np.iinfo(dtype)
    values = [kind(v) for v in (info.min, info.max, 0, 1, 2, 7, info.max // 2)] + ([kind(-1)] if info.min else [])
    with np.errstate(all="raise"):
        for symbol in ("+", "-", "*", "//", "%"):
            asm = Assembling(a=scalar(dtype), b=scalar(dtype))
            program = asm.done(asm.step("integer", asm.a, asm.b, type=scalar(dtype), symbol=symbol))
            run = compiled_graph(program, kind(3), kind(2))
            for a in values:
                for b in values:
                    mine = run(a, b)
                    try:
                        assert mine == (NUMBERS[symbol](a, b),) and type(mine[0]) is kind
                    except FloatingPointError:
                        assert mine is None
        asm = Assembling(a=scalar(dtype))
        program = asm.done(asm.step("integer", asm.a, type=scalar(dtype), symbol="unary -"))
        run = compiled_graph(program, kind(0))
        for a in values:
            try:
                assert run(a) == (-a,)
            except FloatingPointError:
                assert run(a) is None
    asm = Assembling(a=scalar(dtype), b=INT)
    program = asm.done(asm.step("integer", asm.a, asm.b, type=scalar(dtype), symbol="+"))
    run = check(program, kind(3), 2)
    assert run(kind(3), 2**63 - 1 if info.min else -1) is None


def test_numbers_become_scalars():
    for dtype in DTYPES:
        for value in (True, 3, 2.5):
            asm = Assembling(a=TYPES[type(value)])
            check(asm.done(asm.step("scalar", asm.a, type=scalar(dtype), dtype=np.dtype(dtype))), value)


# Elements ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_read_and_written(dtype):
    asm = Assembling(x=array(dtype, 2), i=INT, j=INT)
    item = asm.load(asm.x, asm.i, asm.j)
    asm.put(asm.x, asm.j, asm.i, item)
    asm.put(asm.x, -1, 0, True)
    program = asm.done(item, asm.x, asm.size(asm.x, 0), written=[0])
    x = np.arange(9).reshape(3, 3).astype(dtype)
    for view in (x, x.T, x[::-1, ::-1], np.asfortranarray(x)):
        for i, j in ((0, 0), (1, 2), (-1, -3), (-2, 1)):
            check(program, view, i, j)
    for i, j in ((3, 0), (0, 3), (-4, 0), (0, -4), (2**62, 0)):
        leaves(program, (scalar(dtype), type_of(x), INT), x, i, j)


NUMBERS_TO_STORE = (True, 0, 5, -5, 300, 2**40, 2**63 - 1, 2.5, -2.5, 1e10, 1e30, math.inf, math.nan)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_written_as_numpy_writes_them(dtype):
    runs = {}
    for value in NUMBERS_TO_STORE:
        kind = type(value)
        if kind not in runs:
            asm = Assembling(x=array(dtype, 1), value=TYPES[kind])
            asm.put(asm.x, 1, asm.value)
            program = asm.done(asm.x, written=[0])
            runs[kind] = compiled_graph(program, np.zeros(2, dtype), kind(1))
        x = np.zeros(2, dtype)
        mine = runs[kind](x, value)
        try:
            with np.errstate(all="raise", under="ignore"):
                x[1] = value
        except (ArithmeticError, ValueError):
            assert mine is None, value
        else:
            np.testing.assert_array_equal(mine[0], x, strict=True)


def compiled_graph(program, *inputs):
    return compile_graph(graph_of(program, *inputs))


@pytest.mark.parametrize("source", DTYPES)
def test_scalars_are_cast_when_written(source):
    value = np.dtype(source).type(1)
    for target in DTYPES:
        asm = Assembling(x=array(target, 1), value=scalar(source))
        asm.put(asm.x, 0, asm.value)
        check(asm.done(asm.x, written=[0]), np.zeros(2, target), value)


def test_control():
    """Euclid, written with a while loop, and a conditional expression: all kinds of numbers come out."""
    asm = Assembling(a=INT, b=INT, x=FLOAT)
    a, b = asm.node("a", INT), asm.node("b", INT)
    asm.end(Jump("head", (asm.a, asm.b)), "head", (a, b))
    asm.end(Branch(asm.number("!=", b, 0, type=BOOL), Jump("body"), Jump("behind")), "body")
    rest = asm.number("%", a, b, type=INT)
    asm.end(Jump("head", (b, rest)), "behind")
    large = asm.number(">", a, 5, type=BOOL)
    chosen = asm.choose(large, lambda: asm.number("*", asm.x, 2, type=FLOAT), lambda: 0.5, FLOAT)
    program = asm.done(a, large, chosen, 7, np.float32(0.1), True)
    check(program, 12, 18, 0.3)
    check(program, 2**62, 48, 0.3)
    check(program, 15, 0, -0.0)
    asm = Assembling(a=INT)
    asm.end(Branch(asm.number(">", asm.a, 0, type=BOOL), Jump("fine"), Jump("raises")), "raises")
    asm.end(Leave(), "fine")
    run = check(asm.done(asm.a), 3)
    assert run(0) is None


def test_numbers_go_on_into_the_graph():
    """A number that a loop finds is an operand of what follows, weak as Python's numbers are."""
    asm = Assembling(x=array("f4", 1))
    (s,) = asm.loop(asm.size(asm.x), [(FLOAT, 0.0)], lambda i, s: [asm.number("+", s, 0.1, type=FLOAT)])
    program = asm.done(s)
    x = np.arange(3, dtype="f4")
    graph = Graph("test")
    node = graph.placeholder("x", type_of(x))
    twice = graph.call("multiply", node, 2.0)
    loop = graph.call("loop", twice, program=program, types=(FLOAT,))
    found = graph.call("part", loop, index=0)
    graph.output(graph.call("multiply", node, found), found)
    graph.lint()
    for mine, expected in zip(compile_graph(graph)(x), interpret(graph, x), strict=True):
        assert type(mine) is type(expected)
        np.testing.assert_array_equal(mine, expected)


# Arrays -----------------------------------------------------------------------------------------------------------
def numbers(*shape, dtype="f8", seed=0):
    values = np.random.default_rng(seed).integers(-9, 9, shape)
    return (
        np.abs(values) if np.dtype(dtype).kind == "u" else values / (4 if np.dtype(dtype).kind == "f" else 1)
    ).astype(dtype)


def layouts(x):
    """The same values in memory of other strides."""
    yield x
    yield np.asfortranarray(x)
    yield x[::-1].copy()[::-1]
    yield np.repeat(x, 2, axis=-1)[..., ::2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_maps_over_arrays(dtype):
    """One pass over memory: maps that nobody else reads are computed where they are used."""
    op = "logical_xor" if dtype == "?" else "subtract"
    asm = Assembling(x=array(dtype, 2), y=array(dtype, 1), s=scalar(dtype))
    once = asm.map("maximum", asm.x, asm.y)
    twice = asm.map(op, asm.map("add", once, asm.s), once)
    less = asm.map("less", once, asm.x)
    program = asm.done(twice, less)
    s = np.dtype(dtype).type(1)
    for x in layouts(numbers(3, 5, dtype=dtype)):
        # vectorised conversions to float16 compute more than they need, which may overflow
        with np.errstate(over="ignore" if dtype == "f2" else "raise"):
            check(program, x, numbers(5, dtype=dtype, seed=1), s)
    check(program, numbers(0, 5, dtype=dtype), numbers(5, dtype=dtype, seed=1), s)
    check(program, numbers(3, 0, dtype=dtype), numbers(0, dtype=dtype, seed=1), s)
    run = compiled_graph(program, numbers(3, 5, dtype=dtype), numbers(5, dtype=dtype), s)
    assert run.source.count("#pragma omp simd") == 1  # one nest computes ``once`` and both results


def test_arrays_that_do_not_fit_leave():
    asm = Assembling(x=array("f8", 1), y=array("f8", 1), n=INT)
    program = asm.done(asm.map("add", asm.view(asm.x, ("slice", None, asm.n, None)), asm.y))
    check(program, numbers(5), numbers(3), 3)
    leaves(program, (type_of(numbers(3)),), numbers(5), numbers(3), 2)


BOUNDS = (None, 0, 1, 2, 4, 5, 7, -1, -3, -5, -6, -9)


def test_slices():
    """Every slice of five elements, written down and from numbers of the call."""
    steps = (None, 1, 2, 3, -1, -2, -4)
    x = numbers(5)
    asm = Assembling(x=array("f8", 1))
    for start in BOUNDS:
        for stop in BOUNDS:
            asm.put(asm.x, 0, asm.reduce("sum", asm.view(asm.x, ("slice", start, stop, 2)), (0,)))
    check(asm.done(asm.x, written=[0]), x)
    for step in steps:
        asm = Assembling(x=array("f8", 1), a=INT, b=INT)
        part, rest, head, all = (
            asm.view(asm.x, ("slice", start, stop, step))
            for start, stop in ((asm.a, asm.b), (asm.a, None), (None, asm.b), (None, None))
        )
        results = [
            value for view in (part, rest, head, all) for value in (asm.reduce("sum", view, (0,)), asm.size(view))
        ]
        program = asm.done(*results)
        run = compiled_graph(program, x, 0, 0)
        asm = Assembling(x=array("f8", 1), a=INT, b=INT, c=INT)
        view = asm.view(asm.x, ("slice", asm.a, asm.b, asm.c))
        by_number = asm.done(asm.reduce("sum", view, (0,)), asm.size(view))
        run_by_number = compiled_graph(by_number, x, 0, 0, 1)
        for a in BOUNDS[1:]:
            for b in BOUNDS[1:]:
                expected = [x[a:b:step], x[a::step], x[:b:step], x[::step]]
                assert run(x, a, b) == tuple(value for part in expected for value in (part.sum(), part.size))
                assert run_by_number(x, a, b, step or 1) == (expected[0].sum(), expected[0].size)
        assert run_by_number(x, 0, 3, 0) is None


def test_views():
    asm = Assembling(x=array("f8", 3), i=INT)
    row = asm.view(asm.x, asm.i, ("slice", None, None, None), ("slice", 1, None, 2))
    turned = asm.step("permute", row, type=array("f8", 2), axes=(1, 0))
    column = asm.view(asm.x, 0, -1, None, ("slice", None, None, -1), ones=[0])
    like = asm.view(asm.x, asm.i)
    wide = asm.step("broadcast", column, like, type=array("f8", 2))
    results = [asm.step("copy", value, type=array("f8", value.type.ndim)) for value in (row, turned, column)]
    program = asm.done(*results, asm.map("add", turned, 1.0), asm.map("add", wide, like))
    for x in layouts(numbers(3, 4, 5)):
        for i in (0, 2, -1, -3):
            check(program, x, i)
    shapes = ((4, 2), (2, 4), (1, 5), (2, 4), (4, 5))
    leaves(program, tuple(type_of(numbers(*shape)) for shape in shapes), x, 3)


def test_broadcast():
    asm = Assembling(x=array("f8", 2), y=array("f8", 1))
    column = asm.view(asm.y, ("slice", None, None, None), None, ones=[1])
    wide = asm.step("broadcast", column, asm.x, type=array("f8", 2))
    asm.store(asm.x, asm.map("multiply", wide, asm.map("exp", column)))
    check(asm.done(asm.x, written=[0]), numbers(3, 5), numbers(3), rtol=1e-14)
    asm = Assembling(x=array("f8", 2), y=array("f8", 1))
    column = asm.view(asm.y, ("slice", None, None, None), None, ones=[1])
    check(
        asm.done(asm.map("add", column, asm.y), asm.map("add", asm.map("square", column), asm.y)),
        numbers(3, 5),
        numbers(3),
    )


OVERLAPS = [
    (("slice", 1, None, None), ("slice", None, -1, None)),
    (("slice", None, -1, None), ("slice", 1, None, None)),
    (("slice", None, None, -1), ("slice", None, None, None)),
    (("slice", 0, 2, None), ("slice", 2, 4, None)),
    (("slice", None, None, None), ("slice", None, None, None)),
]


@pytest.mark.parametrize(("target", "source"), OVERLAPS)
def test_stores_that_read_what_they_write(target, source):
    for dtype in ("f8", "i4"):
        asm = Assembling(x=array(dtype, 1))
        asm.store(asm.view(asm.x, target), asm.map("add", asm.view(asm.x, source), 1))
        asm.store(asm.view(asm.x, source), asm.view(asm.x, target))
        asm.store(asm.view(asm.x, target), asm.map("add", asm.view(asm.x, target), asm.view(asm.x, source)))
        program = asm.done(asm.x, written=[0])
        for x in layouts(numbers(8, dtype=dtype)):
            check(program, x)


@np.errstate(over="ignore")
def test_values_are_cast_when_stored():
    for source in DTYPES:
        for target in DTYPES:
            asm = Assembling(x=array(target, 2), y=array(source, 1), s=scalar(source))
            asm.store(asm.x, asm.y)
            asm.store(asm.view(asm.x, 0), asm.s)
            asm.store(asm.view(asm.x, 1, ("slice", 1, None, None)), 1)
            check(
                asm.done(asm.x, written=[0]),
                numbers(3, 5, dtype=target),
                np.abs(numbers(5, dtype=source)),
                np.dtype(source).type(1),
            )


def test_a_map_is_not_delayed_past_what_overwrites_its_operands():
    asm = Assembling(x=array("f8", 1), y=array("f8", 1))
    twice = asm.map("multiply", asm.x, 2.0)
    asm.put(asm.x, 0, 100.0)
    asm.store(asm.y, twice)
    check(asm.done(asm.x, asm.y, written=[0, 1]), numbers(5), numbers(5))
    asm = Assembling(x=array("f8", 1), y=array("f8", 1))
    twice = asm.map("multiply", asm.map("add", asm.x, 1.0), 2.0)
    asm.store(asm.view(asm.x, ("slice", 1, 3, None)), 7)
    asm.store(asm.y, twice)
    check(asm.done(asm.x, asm.y, written=[0, 1]), numbers(5), numbers(5))


REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(op):
    for dtype in ("f8", "f4", "i4", "u1", "?"):
        if dtype == "?" and op.startswith("arg"):
            continue
        asm = Assembling(x=array(dtype, 3))
        results = []
        for axis in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
            if not (op.startswith("arg") and len(axis) == 2):
                squares = asm.map("square", asm.x)
                results += [asm.reduce(op, asm.x, axis), asm.reduce(op, squares, axis, keepdims=True)]
        program = asm.done(*results)
        for x in layouts(numbers(3, 4, 5, dtype=dtype)):
            check(program, x, rtol=1e-6 if dtype == "f4" else 1e-13)


@pytest.mark.parametrize("op", ("max", "min", "argmax", "argmin", "sum"))
def test_reductions_of_what_is_not_a_number(op):
    for axis in ((0,), (1,), (0, 1)):
        asm = Assembling(x=array("f8", 2))
        program = asm.done(asm.reduce(op, asm.x, axis))
        x = numbers(4, 5)
        x[2, 3] = x[3, 3] = np.nan
        check(program, x)
        x[1, 0] = x[2, 0] = -np.inf
        check(program, x)
        run = compiled_graph(program, x)
        if op != "sum":
            empty = compiled_graph(program, x)
            assert empty is not None and run(x) is not None


def test_reductions_of_nothing():
    for op, expected in (("sum", 0.0), ("prod", 1.0), ("any", False), ("all", True), ("max", None), ("argmin", None)):
        asm = Assembling(x=array("f8", 1), n=INT)
        program = asm.done(asm.reduce(op, asm.view(asm.x, ("slice", 0, asm.n, None)), (0,)))
        run = compiled_graph(program, numbers(3), 3)
        assert run(numbers(3), 0) == (expected if expected is None else (expected,))


@pytest.mark.parametrize("count", (1, 255, 256, 257, 5000))
def test_long_sums(count):
    asm = Assembling(x=array("f4", 1), y=array("f4", 2))
    program = asm.done(asm.reduce("sum", asm.map("multiply", asm.x, 2.0), (0,)), asm.reduce("sum", asm.y, (0, 1)))
    rng = np.random.default_rng(0)
    x, y = rng.random(count, np.float32), rng.random((7, count), np.float32)
    mine = compiled_graph(program, x, y)(x, y)
    np.testing.assert_allclose(mine, ((2 * x).sum(dtype="f8"), y.sum(dtype="f8")), rtol=3e-7)


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "u2"))
def test_matrix_products(dtype):
    a, b, v = numbers(4, 5, dtype=dtype), numbers(5, 3, dtype=dtype, seed=1), numbers(5, dtype=dtype, seed=2)
    asm = Assembling(a=array(dtype, 2), b=array(dtype, 2), v=array(dtype, 1))
    program = asm.done(
        asm.matmul(asm.a, asm.b), asm.matmul(asm.v, asm.b), asm.matmul(asm.a, asm.v), asm.matmul(asm.v, asm.v)
    )
    for one in layouts(a):
        for other in layouts(b):
            check(program, one, other, v)
            check(program, one, other, v[::-1])
    check(program, numbers(4, 0, dtype=dtype), numbers(0, 3, dtype=dtype), numbers(0, dtype=dtype))


def test_new_arrays():
    asm = Assembling(n=INT, m=INT)
    program = asm.done(
        asm.new(asm.n, asm.m, dtype="f8", value=2.5),
        asm.new(3, 4, dtype="i4", value=7),
        asm.new(asm.n, dtype="?", value=True),
    )
    check(program, 3, 5)
    check(program, 0, 5)
    types = tuple(map(type_of, (np.ones((3, 5)), np.ones((3, 4), "i4"), np.ones(3, bool))))
    leaves(program, types, -1, 5)
    leaves(program, types, 2**40, 2**40)


# Arrays that are carried from step to step ------------------------------------------------------------------------
def test_carried_arrays():
    """A new array in each step, the last two of which are kept: what is still shown is not overwritten."""
    kind = array("f8", 1, DENSE)
    asm = Assembling(x=array("f8", 1), n=INT)
    first = asm.step("copy", asm.x, type=kind)
    second = asm.map("add", asm.x, 1.0)

    def body(i, before, now):
        following = asm.map("add", asm.map("multiply", now, 0.5), before)
        return [now, following]

    before, now = asm.loop(asm.n, [(kind, first), (kind, second)], body)
    program = asm.done(before, now)
    for x in layouts(numbers(6)):
        for n in (0, 1, 2, 7):
            check(program, x, n)


def test_carried_arrays_change_places():
    """Rotation of names: two arrays that are written in turns."""
    kind = array("f8", 1, DENSE)
    asm = Assembling(u=array("f8", 1, DENSE), v=array("f8", 1, DENSE), n=INT)

    def body(i, u, v):
        inner = ("slice", 1, -1, None)
        mean = asm.map("add", asm.view(u, ("slice", 2, None, None)), asm.view(u, ("slice", None, -2, None)))
        asm.store(asm.view(v, inner), asm.map("multiply", mean, 0.5))
        return [v, u]

    u, v = asm.loop(asm.n, [(kind, asm.u), (kind, asm.v)], body)
    program = asm.done(u, v, written=[0, 1])
    for n in (0, 1, 2, 5):
        check(program, numbers(9), numbers(9, seed=1), n)


def test_carried_arrays_change_sizes():
    kind = array("f8", 1)
    asm = Assembling(x=array("f8", 1), n=INT)
    (rest,) = asm.loop(asm.n, [(kind, asm.step("copy", asm.x, type=kind))], lambda i, rest: [
        asm.map("add", asm.view(rest, ("slice", 1, None, None)), asm.view(rest, ("slice", None, -1, None)))
    ])  # fmt: skip
    program = asm.done(asm.size(rest), asm.reduce("sum", rest, (0,)))
    for n in (0, 1, 3, 8):
        check(program, numbers(6), n)


def test_carried_views():
    """A window that moves over an array."""
    kind = array("f8", 1)
    asm = Assembling(x=array("f8", 1), n=INT)
    window, total = asm.loop(asm.n, [(kind, asm.x), (scalar("f8"), np.float64(0))], lambda i, window, total: [
        asm.view(window, ("slice", 1, None, 2)), asm.map("add", total, asm.reduce("sum", window, (0,)))
    ])  # fmt: skip
    program = asm.done(total, asm.size(window))
    for x in layouts(numbers(16)):
        for n in (0, 1, 3, 6):
            check(program, x, n)


def test_which_of_two_arrays_a_variable_is():
    kind = array("f8", 1)
    asm = Assembling(u=array("f8", 1), v=array("f8", 1), n=INT)
    a, b = asm.loop(asm.n, [(kind, asm.u), (kind, asm.v)], lambda i, a, b: [b, a])
    program = asm.done(asm.step("which", a, asm.u, asm.v, type=INT), asm.step("which", b, asm.u, asm.v, type=INT))
    for n in (0, 1, 4, 5):
        check(program, numbers(3), numbers(3), n)
    asm = Assembling(u=array("f8", 1), n=INT)
    whole = asm.view(asm.u, ("slice", 0, asm.n, None))
    leaves(asm.done(asm.step("which", whole, asm.u, type=INT)), (INT,), numbers(3), 3)


def test_results_that_are_one_array_leave():
    kind = array("f8", 1, DENSE)
    asm = Assembling(x=array("f8", 1, DENSE), n=INT)
    (u,) = asm.loop(asm.n, [(kind, asm.x)], lambda i, u: [asm.map("add", u, 1.0)])
    program = asm.done(u)
    check(program, numbers(4), 2)
    leaves(program, (type_of(numbers(4)),), numbers(4), 0)  # the operand itself
    asm = Assembling(x=array("f8", 1, DENSE))
    u = asm.map("add", asm.x, 1.0)
    program = asm.done(u, u)
    leaves(program, (type_of(numbers(4)), type_of(numbers(4))), numbers(4))


def test_errors_in_arrays_leave():
    asm = Assembling(x=array("f8", 1), k=array("i8", 1))
    program = asm.done(asm.map("divide", 1.0, asm.x), asm.map("floor_divide", 7, asm.k))
    run = check(program, np.ones(9), np.arange(1, 10))
    for x, k in ((np.zeros(9), np.arange(1, 10)), (np.ones(9), np.arange(9))):
        assert run(x, k) is None
    with np.errstate(all="ignore"):
        assert run(np.zeros(9), np.arange(1, 10)) is not None
    with np.errstate(divide="ignore"):
        assert run(np.zeros(9), np.arange(1, 10)) is not None


def test_what_nobody_reads_warns():
    asm = Assembling(x=array("f8", 1))

    def body(i, last):
        item = asm.load(asm.x, i)
        asm.map("scalar_divide", item, item)
        return [asm.map("log", item)]

    asm.loop(asm.size(asm.x), [(scalar("f8"), np.float64(0))], body)
    asm.map("sqrt", asm.x)
    asm.reduce("sum", asm.map("divide", 1.0, asm.x), (0,))
    run = check(asm.done(1), np.ones(4))
    for value in (0.0, -1.0):
        assert run(np.array([1, value, 1, 1])) is None
    with np.errstate(all="ignore"):
        assert run(np.zeros(4)) == (1,)


def test_an_interrupt_ends_a_program():
    asm = Assembling(x=array("f8", 1), n=INT)

    def body(i, s):
        asm.loop(asm.size(asm.x), [], lambda j: asm.put(asm.x, j, asm.map("sqrt", asm.load(asm.x, j))) or [])
        return [asm.map("add", s, asm.load(asm.x, 0))]

    (s,) = asm.loop(asm.n, [(scalar("f8"), np.float64(0))], body)
    run = compiled_graph(asm.done(s, written=[0]), np.ones(10), 3)
    assert run(np.ones(10), 3) == (3.0,)
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(np.ones(1000), 2**62)
    timer.join()
    assert run(np.ones(10), 3) == (3.0,)


# Masks and places -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ("f8", "i4", "?"))
def test_masks(dtype):
    asm = Assembling(x=array(dtype, 2), mask=array("?", 2), y=array(dtype, 1))
    picked = asm.step("pick", asm.x, asm.mask, type=array(dtype, 1, DENSE))
    asm.step("store_picked", asm.x, asm.mask, asm.y)
    asm.step("store_picked", asm.x, asm.map("logical_not", asm.mask), True)
    program = asm.done(picked, asm.x, written=[0])
    mask = np.array([[True, False, True, False], [False] * 4, [True] * 4])
    for x in layouts(numbers(3, 4, dtype=dtype)):
        for masked in layouts(mask):
            check(program, x, masked, numbers(6, dtype=dtype, seed=1))
    results = type_of(numbers(6, dtype=dtype)), type_of(numbers(3, 4, dtype=dtype))
    leaves(program, results, numbers(3, 4, dtype=dtype), mask, numbers(5, dtype=dtype))
    results = results[0], type_of(numbers(2, 4, dtype=dtype))
    leaves(program, results, numbers(2, 4, dtype=dtype), mask, numbers(6, dtype=dtype))


def test_a_mask_that_is_stored_by_itself_leaves():
    asm = Assembling(mask=array("?", 1))
    asm.step("store_picked", asm.mask, asm.view(asm.mask, ("slice", None, None, -1)), False)
    mask = np.array([True, False, False, True, True])
    leaves(asm.done(asm.mask, written=[0]), (type_of(mask),), mask)


@pytest.mark.parametrize("dtype", ("i8", "i4", "u2"))
def test_places(dtype):
    asm = Assembling(x=array("f8", 2), places=array(dtype, 1), y=array("f8", 1))
    found = asm.step("gather", asm.x, asm.places, type=array("f8", 2, DENSE))
    asm.step("store_gathered", asm.x, asm.places, asm.y)
    asm.step("store_gathered", asm.x, asm.places, asm.map("multiply", found, 2.0))
    asm.step("store_gathered", asm.y, asm.places, 3)
    program = asm.done(found, asm.x, asm.y, written=[0, 2])
    places = np.array([2, 0, 2], dtype)
    for x in layouts(numbers(3, 5)):
        check(program, x, places, numbers(5))
        if dtype != "u2":
            check(program, x, np.array([-1, -3, 0], dtype), numbers(5))
    results = tuple(map(type_of, (numbers(3, 5), numbers(3, 5), numbers(5))))
    leaves(program, results, numbers(3, 5), np.array([0, 3, 0], dtype), numbers(5))
