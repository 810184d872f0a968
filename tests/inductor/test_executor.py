"""The executor on hand-written kernels and hand-built plans."""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
import types
import warnings
import weakref
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from capture.errors import BackendError
from capture.inductor import _executor, executor
from capture.inductor.plan import (
    FLAG_DIVIDE,
    FLAG_INVALID,
    FLAG_OVERFLOW,
    FLAG_UNDERFLOW,
    FLAG_UNSURE,
    Buffer,
    ExternStep,
    Flag,
    Input,
    KernelStep,
    Plan,
    View,
)
from capture.ir.graph import Position

SOURCE = r"""
typedef long long int64_t;
typedef unsigned uint32_t;
#define KERNEL(name) void name(char *const *buffers, const int64_t *numbers, int64_t begin, int64_t end, \
                               char *scratch, uint32_t *flags)
#define F64(id) ((double *)buffers[id])

KERNEL(muladd) { for (int64_t i = begin; i < end; i++) F64(3)[i] = F64(0)[i] * F64(1)[i] + F64(2)[i]; }
KERNEL(twice) { for (int64_t i = begin; i < end; i++) F64(1)[i] = 2 * F64(0)[i]; }
KERNEL(twice_again) { for (int64_t i = begin; i < end; i++) F64(2)[i] = 2 * F64(1)[i]; }
KERNEL(increment) { for (int64_t i = begin; i < end; i++) F64(0)[i] += 1; }
KERNEL(add_scalar) { for (int64_t i = begin; i < end; i++) F64(2)[i] = F64(0)[i] + F64(1)[0]; }
KERNEL(strided) {  /* rows of a matrix with any strides, times two, into a dense one; see the plan's numbers */
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < numbers[1]; j++)
            F64(1)[i * numbers[1] + j] = 2 * *(double *)(buffers[0] + i * numbers[2] + j * numbers[3]);
}
void sizes(int64_t *numbers) { numbers[4] = numbers[0] * numbers[1]; numbers[5] = numbers[1] * 8; }
KERNEL(total) { double sum = 0; for (int64_t i = 0; i < numbers[0]; i++) sum += F64(0)[i]; F64(1)[0] = sum; }
KERNEL(numbers_in) {
    F64(4)[0] = *(int64_t *)buffers[0] + (double)numbers[0];
    F64(4)[1] = *(double *)buffers[1] + *(double *)&numbers[1];
    F64(4)[2] = *(signed char *)buffers[2] + (double)numbers[2];
    F64(4)[3] = *(float *)buffers[3];
}
KERNEL(raise_flags) {  /* input 0 holds the words */
    for (int64_t i = begin; i < end; i++) { flags[i % 3] |= (uint32_t)F64(0)[i]; F64(1)[i] = F64(0)[i]; }
}
KERNEL(raise_in_place) {
    for (int64_t i = begin; i < end; i++) { flags[i % 3] |= (uint32_t)F64(0)[i]; F64(0)[i] = -1; }
}
KERNEL(divide) {
    volatile double zero = 0;
    for (int64_t i = begin; i < end; i++) F64(1)[i] = F64(0)[i] / zero;
}
KERNEL(status) {  /* what the processor says on entry, then raise something for the next */
    uint32_t word;
    __asm__ volatile("stmxcsr %0" : "=m"(word));
    for (int64_t i = begin; i < end; i++) F64(1)[i] = word & 0x1d;
    volatile double zero = 0; zero = 1 / zero;
}
int raise(int);
KERNEL(interrupt) { raise(10); }
KERNEL(private) {  /* the sum of squares of the range by way of scratch */
    double *partial = (double *)scratch;
    for (int64_t i = begin; i < end; i++) { *partial = F64(0)[i] * F64(0)[i]; F64(1)[i] = *partial; }
}
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "unit.c").write_text(SOURCE)
    path = folder / "unit.so"
    subprocess.run(["gcc", "-O1", "-w", "-shared", "-fPIC", "-o", path, folder / "unit.c"], check=True)
    return path


@pytest.fixture(autouse=True)
def empty_pool():
    limit = _executor.set_memory_limit(0)
    _executor.set_memory_limit(limit)


F8 = np.dtype("f8")


class Numbers:
    """Hands out numbers: those of the inputs first, then constants and computed ones."""

    def __init__(self, *inputs: Input) -> None:
        self.inputs = inputs
        self.firsts = executor._first_numbers(Plan("", "", inputs, 0, (), False, (), -1, (), (), (), False))
        self.count = self.firsts[-1]
        self.constants: dict[int, int] = {}

    def __call__(self, value: int) -> int:
        if value not in self.constants:
            self.constants[value] = self.computed()
        return self.constants[value]

    def computed(self) -> int:
        self.count += 1
        return self.count - 1

    def size(self, index: int, axis: int) -> int:
        return self.firsts[index] + axis

    def stride(self, index: int, axis: int) -> int:
        return self.firsts[index] + self.inputs[index].ndim + axis

    def buffer(self, kind: str, shape=(), dtype=F8, strides=None, **more) -> Buffer:
        strides = np.empty(shape, dtype).strides if strides is None else strides
        return Buffer(kind, dtype, None, self.all(shape), self.all(strides), **more)

    def view(self, buffer: int, shape=(), dtype=F8, strides=None, offset=0, **more) -> View:
        strides = np.empty(shape, dtype).strides if strides is None else strides
        return View(buffer, self(offset), self.all(shape), self.all(strides), dtype, **more)

    def all(self, values) -> tuple[int, ...]:
        return tuple(map(self, values))

    def step(self, symbol: str, extent: int, work: int = 1, **more) -> KernelStep:
        return KernelStep(symbol, self(extent), self(work), **more)

    def plan(self, buffers, steps, results, *, arena=-1, flags=(), writes=False, needs_sizes=False) -> Plan:
        constants = tuple((number, value) for value, number in self.constants.items())
        sources = [Buffer("input", entry.dtype or F8, source=id) for id, entry in enumerate(self.inputs)]
        return Plan(
            name="example",
            source=SOURCE,
            inputs=self.inputs,
            number_count=self.count,
            constants=constants,
            needs_sizes=needs_sizes,
            buffers=(*sources, *buffers),
            arena_bytes=arena,
            steps=tuple(steps),
            results=tuple(results),
            flags=tuple(flags),
            writes=writes,
        )


VECTOR = Input("array", F8, 1)
WRITTEN = Input("array", F8, 1, written=True)


def muladd_plan(size: int, work: int = 1) -> Plan:
    n = Numbers(VECTOR, VECTOR, VECTOR)
    out = n.view(3, (size,), whole=True)
    return n.plan([n.buffer("output", (size,))], [n.step("muladd", size, work)], [out])


def twice_plan(size: int, work: int = 1, grain: int = 1) -> Plan:
    n = Numbers(VECTOR)
    step = n.step("twice", size, work, grain=grain)
    return n.plan([n.buffer("output", (size,))], [step], [n.view(1, (size,), whole=True)])


# ------------------------------------------------------------------ arrays in, arrays out


def test_one_kernel(library):
    run = executor.load(muladd_plan(10), library)
    a, b, c = np.random.default_rng(0).random((3, 10))
    (first,) = run(a, b, c)
    (second,) = run(a, b, c)
    assert np.array_equal(first, a * b + c) and np.array_equal(second, first)
    assert type(first) is np.ndarray and first.flags == (a * b).flags
    assert not np.shares_memory(first, second)
    assert (run.calls, run.plan.name, run.source, repr(run)) == (2, "example", SOURCE, "<executor of example>")


def test_sizes_are_computed_from_shapes_and_strides(library):
    n = Numbers(Input("array", F8, 2))
    rows, columns, count, stride = n.size(0, 0), n.size(0, 1), n.computed(), n.computed()
    out = Buffer("output", F8, None, (rows, columns), (stride, n(8)))
    view = View(1, n(0), (rows, columns), (stride, n(8)), F8, whole=True)
    step = KernelStep("strided", rows, columns)
    plan = n.plan([out], [step], [view], needs_sizes=True)
    assert (count, stride) == (4, 5)  # as the unit's function has them
    run = executor.load(plan, library)
    x = np.arange(12.0).reshape(3, 4)
    for case in (x, x.T, x[::-1, ::2], x[:, :0], x[:0], np.broadcast_to(x[0], (5, 4))):
        (result,) = run(case)
        expected = np.multiply(case, 2, order="C")
        assert np.array_equal(result, expected) and result.strides == expected.strides


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (3, 1), (0, 3), (3, 0), (2, 3, 4)])
def test_output_layouts(library, shape):
    for order in "CF":
        n = Numbers(VECTOR)
        expected = np.empty(shape, order=order)
        strides = [8 * int(np.prod(shape[i + 1 :] if order == "C" else shape[:i])) for i in range(len(shape))]
        view = n.view(1, shape, whole=True)
        plan = n.plan([n.buffer("output", shape, strides=strides)], [], [view])
        (result,) = executor.load(plan, library)(np.ones(1))
        assert (result.shape, result.strides, result.flags) == (shape, expected.strides, expected.flags)


def test_kernels_pass_values_through_the_arena(library):
    n = Numbers(VECTOR)
    arena = n.buffer("arena", (10,), arena_offset=n(64))
    steps = [n.step("twice", 10), n.step("twice_again", 10)]
    view = n.view(2, (10,), whole=True)
    run = executor.load(n.plan([arena, n.buffer("output", (10,))], steps, [view], arena=n(64 + 80)), library)
    x = np.arange(10.0)
    for _ in range(3):
        assert np.array_equal(run(x)[0], 4 * x)


def test_constants(library):
    n = Numbers(VECTOR)
    constant = np.array([3.5])
    buffers = [Buffer("constant", F8, constant), n.buffer("output", (4,))]
    views = [n.view(2, (4,), whole=True), n.view(1, (1,), whole=True)]
    run = executor.load(n.plan(buffers, [n.step("add_scalar", 4)], views), library)
    result, same = run(np.arange(4.0))
    assert np.array_equal(result, np.arange(4.0) + 3.5) and same is constant


# ------------------------------------------------------------------ results


def test_result_forms(library):
    n = Numbers(VECTOR)
    arena = n.buffer("arena", arena_offset=n(0))
    zero_d = n.buffer("output")
    views = [
        n.view(1, scalar=True),
        n.view(2, whole=True),
        n.view(0, (4,), whole=True),
        n.view(0, (2,), strides=(-16,), offset=24),
        n.view(0, dtype=np.dtype("i8"), scalar=True),
        (1, n.view(0, (4,), whole=True)),
        "literal",
        None,
    ]
    run = executor.load(n.plan([arena, zero_d], [n.step("total", 1)], views, arena=n(8)), library)
    x = np.arange(1.0, 5.0)
    scalar, array, same, view, bits, pair, text, nothing = run(x)
    assert type(scalar) is np.float64 and scalar == 10
    assert type(array) is np.ndarray and array.shape == ()
    assert same is x and pair[0] == 1 and pair[1] is x
    assert view.base is x and np.array_equal(view, x[::-2]) and view.flags == x[::-2].flags
    assert type(bits) is np.int64 and bits == x.view("i8")[0]
    assert (text, nothing) == ("literal", None)


def test_views_have_the_base_and_flags_numpy_gives(library):
    n = Numbers(VECTOR)
    views = [n.view(1, (10,), whole=True), n.view(1, (5,), strides=(16,)), n.view(0, (2, 5))]
    run = executor.load(n.plan([n.buffer("output", (10,))], [n.step("twice", 10)], views), library)
    owner = np.arange(20.0)
    x = owner[10:]
    result, half, reshaped = run(x)
    assert half.base is result and np.array_equal(half, 2 * x[::2])
    assert reshaped.base is owner and x.reshape(2, 5).base is owner
    x.flags.writeable = False
    assert run(x)[2].flags == x.reshape(2, 5).flags
    half[:] = 0
    assert not result[::2].any() and result[1::2].all()


def test_one_result_twice(library):
    plan = twice_plan(3)
    (first, second) = executor.load(replace(plan, results=plan.results * 2), library)(np.ones(3))
    assert first is second and sys.getrefcount(first) == 3


# ------------------------------------------------------------------ inputs


def number_plan() -> Plan:
    scalar = Input("scalar", np.dtype("f4"))
    n = Numbers(Input("int"), Input("float"), Input("bool"), scalar)
    views = [n.view(4, (4,), whole=True), n.view(3, dtype=scalar.dtype, scalar=True), n.view(3, whole=True)]
    views += [n.view(3, dtype=scalar.dtype)]
    return n.plan([n.buffer("output", (4,))], [n.step("numbers_in", 1)], views)


def test_numbers(library):
    run = executor.load(number_plan(), library)
    scalar = np.float32(0.5)
    result, again, same, array = run(-7, 2.5, True, scalar)
    assert result.tolist() == [-14, 5, 2, 0.5]
    assert type(again) is np.float32 and again == 0.5 and same is scalar
    assert type(array) is np.ndarray and array.shape == () and array == scalar and array.flags.owndata


def test_ints_beyond_64_bits_exit(library):
    run = executor.load(number_plan(), library)
    assert run(2**63 - 1, 0.0, False, np.float32(0)) is not None
    assert run(2**63, 0.0, False, np.float32(0)) is None
    assert run(-(2**63) - 1, 0.0, False, np.float32(0)) is None


class Subclass(np.ndarray):
    pass


@pytest.mark.parametrize(
    "wrong",
    [
        np.ones(3, "f4"),
        np.ones(3, ">f8"),
        np.ones((3, 1)),
        np.ones(3).view(Subclass),
        [1.0, 2.0, 3.0],
        np.float64(1),
        1.0,
        None,
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}",
)
def test_wrong_arrays_are_refused(library, wrong):
    run = executor.load(muladd_plan(3), library)
    with pytest.raises(TypeError, match="input 1 of example must be an array of dtype float64 and 1 dimensions"):
        run(np.ones(3), wrong, np.ones(3))
    assert run(np.ones(3), np.ones(3), np.ones(3)) is not None


@pytest.mark.parametrize("index, wrong", [(0, True), (0, 1.0), (0, np.int64(1)), (1, 1), (1, np.float64(1)), (2, 1)])
def test_wrong_numbers_are_refused(library, index, wrong):
    values = [1, 1.0, True, np.float32(1)]
    values[index] = wrong
    with pytest.raises(TypeError, match=f"input {index} of example"):
        executor.load(number_plan(), library)(*values)


def test_wrong_counts_are_refused(library):
    run = executor.load(twice_plan(3), library)
    with pytest.raises(TypeError, match="takes 1 inputs by position, got 2"):
        run(np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="takes 1 inputs by position, got 2"):
        run(np.ones(3), x=np.ones(3))
    with pytest.raises(TypeError):
        run()


def test_equal_dtypes_are_one(library):
    n = Numbers(Input("array", np.dtype("l"), 1))
    run = executor.load(n.plan([], [], [n.view(0, (3,), np.dtype("l"), whole=True)]), library)
    x = np.ones(3, "q")
    assert run(x)[0] is x


def test_unaligned_data_exits(library):
    unaligned = np.zeros(25, "u1")[1:].view(F8)
    assert executor.load(twice_plan(3), library)(unaligned) is None


def test_a_read_only_array_is_not_written(library):
    n = Numbers(WRITTEN)
    run = executor.load(n.plan([], [n.step("increment", 3)], [], writes=True), library)
    x = np.zeros(3)
    assert run(x) == () and x.tolist() == [1, 1, 1]
    x.flags.writeable = False
    assert run(x) is None and x.tolist() == [1, 1, 1]


# ------------------------------------------------------------------ floating-point warnings

ALL = FLAG_DIVIDE | FLAG_OVERFLOW | FLAG_UNDERFLOW | FLAG_INVALID


def flag_plan(module="", writes=False):
    labels = ("divide", "log", "exp")
    flags = [Flag(label, Position("user.py", 10 + i, "f", module)) for i, label in enumerate(labels)]
    n = Numbers(WRITTEN if writes else VECTOR)
    if writes:
        return n.plan([], [n.step("raise_in_place", 3)], [], flags=flags, writes=True)
    view = n.view(1, (3,), whole=True)
    return n.plan([n.buffer("output", (3,))], [n.step("raise_flags", 3)], [view], flags=flags)


def words(*values: int) -> np.ndarray:
    return np.array(values, F8)


def warned(run, *inputs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(*inputs)
    return result, [(str(w.message), w.filename, w.lineno, w.category) for w in caught]


def test_warnings_come_in_program_order_with_numpys_texts(library):
    run = executor.load(flag_plan(), library)
    with np.errstate(all="warn"):
        result, caught = warned(run, words(FLAG_INVALID, 0, ALL))
        zero, big, tiny = np.array([0.0]), np.array([1e300]), np.array([1e-300])
        operands = np.concatenate([zero, big, tiny, zero + 1]), np.concatenate([zero, tiny, big, zero])
        _, numpy_caught = warned(np.divide, *operands)
    assert result is not None
    expected = [(numpy_caught[-1][0], "user.py", 10, RuntimeWarning)]
    expected += [(text.replace("divide", "exp").replace("exp by", "divide by"), "user.py", 12, RuntimeWarning)
                 for text, *_ in numpy_caught]  # fmt: skip
    assert caught == expected and len(caught) == 5


def test_ignored_kinds_are_silent(library):
    run = executor.load(flag_plan(), library)
    assert warned(run, words(FLAG_UNDERFLOW, 0, 0))[1] == []  # NumPy's default
    with np.errstate(all="ignore"):
        result, caught = warned(run, words(ALL | FLAG_UNSURE, ALL, ALL))
        assert result is not None and caught == []
    with np.errstate(all="warn", invalid="ignore"):
        assert len(warned(run, words(ALL, 0, 0))[1]) == 3


@pytest.mark.parametrize("mode", ["raise", "call", "print", "log"])
def test_other_modes_exit(library, mode):
    run = executor.load(flag_plan(), library)
    with np.errstate(divide=mode):
        assert warned(run, words(FLAG_DIVIDE, FLAG_INVALID, 0)) == (None, [])
        assert len(warned(run, words(FLAG_INVALID, 0, 0))[1]) == 1
        assert warned(run, words(0, 0, 0))[0] is not None


def test_an_unsure_flag_exits(library):
    run = executor.load(flag_plan(), library)
    assert warned(run, words(FLAG_DIVIDE, FLAG_UNSURE, 0)) == (None, [])


@pytest.mark.parametrize("category", [RuntimeWarning, Warning])
def test_filters_that_raise_exit(library, category):
    run = executor.load(flag_plan(), library)
    with warnings.catch_warnings():
        warnings.simplefilter("error", category)
        assert run(words(FLAG_DIVIDE, 0, 0)) is None
        assert run(words(0, 0, 0)) is not None
        with np.errstate(divide="ignore"):
            assert run(words(FLAG_DIVIDE, 0, 0)) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", DeprecationWarning)
        warnings.simplefilter("error", UserWarning, append=True)
        assert run(words(FLAG_DIVIDE, 0, 0)) is not None


def test_each_line_warns_once_per_module(library, monkeypatch):
    module = types.ModuleType("user_module")
    monkeypatch.setitem(sys.modules, "user_module", module)
    run = executor.load(flag_plan("user_module"), library)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            run(words(FLAG_DIVIDE, FLAG_DIVIDE, 0))
    assert [(w.lineno, str(w.message)) for w in caught] == [
        (10, "divide by zero encountered in divide"),
        (11, "divide by zero encountered in log"),
    ]
    assert len([key for key in module.__warningregistry__ if key != "version"]) == 2


def test_modules_that_are_not_found_warn_once_too(library):
    run = executor.load(flag_plan("no.such.module"), library)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            run(words(FLAG_DIVIDE, 0, 0))
    assert len(caught) == 1


def test_without_a_position_the_caller_is_named(library):
    run = executor.load(replace(flag_plan(), flags=(Flag("divide", None),) * 3), library)
    _, caught = warned(run, words(FLAG_DIVIDE, 0, 0))
    assert caught[0][1] == __file__


def test_plans_that_write_look_at_the_errstate_first(library):
    run = executor.load(flag_plan(writes=True), library)
    for setting in ({"divide": "raise"}, {"under": "print"}):
        x = words(FLAG_DIVIDE, 0, 0)
        with np.errstate(**setting):
            assert warned(run, x) == (None, []) and x[0] == FLAG_DIVIDE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(x) is None and x[0] == FLAG_DIVIDE
        with np.errstate(all="ignore"):
            assert run(x) == () and x[0] == -1
    x = words(FLAG_DIVIDE, FLAG_UNSURE, 0)
    result, caught = warned(run, x)
    assert result == () and len(caught) == 1 and x[0] == -1


def test_a_warning_hook_that_raises_is_heard(library, monkeypatch):
    def showwarning(*args, **kwargs):
        raise LookupError("from the hook")

    run = executor.load(flag_plan(writes=True), library)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", showwarning)
        with pytest.raises(LookupError, match="from the hook"):
            run(words(FLAG_DIVIDE, 0, 0))


def test_the_errstate_reader_agrees(library):
    assert executor._reads_errstate()
    _executor.set_errstate_reader(executor._read_errstate)
    try:
        test_other_modes_exit(library, "raise")
        test_ignored_kinds_are_silent(library)
    finally:
        _executor.set_errstate_reader(None)


def test_the_processors_status_is_left_as_found(library):
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    everything_but_inexact = 0x1D
    run = executor.load(replace(twice_plan(3), steps=(replace(twice_plan(3).steps[0], symbol="divide"),)), library)
    x = np.ones(3)
    libm.feclearexcept(everything_but_inexact)
    run(x)
    assert libm.fetestexcept(everything_but_inexact) == 0
    libm.feraiseexcept(0x08)  # overflow
    run(x)
    assert libm.fetestexcept(everything_but_inexact) == 0x08
    libm.feclearexcept(everything_but_inexact)


def test_every_kernel_starts_with_a_clear_status(library):
    n = Numbers(VECTOR)
    steps = [n.step("status", 1), n.step("status", 1), n.step("status", 2_000_000, 1)]
    run = executor.load(n.plan([n.buffer("output", (2_000_000,))], steps, [n.view(1, (2,), whole=True)]), library)
    assert not run(np.ones(1))[0].any()


# ------------------------------------------------------------------ steps that call Python


def extern_plan(function, results=None, *, kernel_first=False, writes=False, shape=(3,), dtype=F8, extra=()):
    """function(input, arena view) after a kernel that fills the arena."""
    n = Numbers(WRITTEN if writes else VECTOR)
    buffers = [n.buffer("arena", (3,), arena_offset=n(0)), n.buffer("extern", shape, dtype)]
    steps = [n.step("twice", 3)]
    steps += [n.step("increment", 3)] if writes else []
    args = (n.view(0, (3,), whole=True), n.view(1, (3,)), *extra)
    steps += [ExternStep(function, args, (), 2)]
    results = [n.view(2, shape, dtype, whole=True)] if results is None else results(n)
    return n.plan(buffers, steps, results, arena=n(24), writes=writes)


def test_extern_results_are_bound_and_returned(library):
    seen = []

    def function(x, doubled):
        seen.append(x)
        assert type(doubled) is np.ndarray and doubled.flags.writeable
        return x + doubled

    run = executor.load(extern_plan(function), library)
    x = np.arange(3.0)
    (result,) = run(x)
    assert seen[0] is x and np.array_equal(result, 3 * x) and sys.getrefcount(result) == 2


def test_extern_arguments(library):
    seen = []

    def function(*args, **kwargs):
        seen.append((args, kwargs))
        return np.zeros(3)

    n = Numbers(VECTOR)
    view = n.view(0, (2,), strides=(8,), offset=8)
    args = (1, "two", (3, (view, [4])), *range(9))
    kwargs = (("scalar", n.view(0, scalar=True)), ("part", (view,)))
    step = ExternStep(function, args, kwargs, 1)
    run = executor.load(n.plan([n.buffer("extern", (3,))], [step], []), library)
    x = np.arange(3.0)
    assert run(x) == ()
    ((one, two, (three, (part, four)), *rest), named) = seen[0]
    assert (one, two, three, four, rest) == (1, "two", 3, [4], list(range(9)))
    assert part.base is x and part.tolist() == [1, 2]
    assert type(named["scalar"]) is np.float64 and named["part"][0].tolist() == [1, 2]


def test_matmul_between_kernels(library):
    n = Numbers(VECTOR)
    matrix = np.arange(9.0).reshape(3, 3)
    buffers = [n.buffer("extern", (3,)), n.buffer("output", (3,))]
    steps = [ExternStep(np.matmul, (matrix, n.view(0, (3,), whole=True)), (), 1), n.step("twice_again", 3)]
    run = executor.load(n.plan(buffers, steps, [n.view(2, (3,), whole=True)]), library)
    x = np.arange(3.0)
    assert np.array_equal(run(x)[0], 2 * (matrix @ x))


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(3, "f4"),
        np.zeros(4),
        np.zeros((3, 1)),
        np.zeros(6)[::2],
        np.zeros(3, ">f8"),
        np.zeros(3).view(Subclass),
        np.float64(1),
        [0.0, 0.0, 0.0],
        None,
    ],
    ids=repr,
)
def test_unpredicted_results_exit(library, value):
    assert executor.load(extern_plan(lambda x, y: value), library)(np.ones(3)) is None


def test_strides_that_nothing_steps_over_do_not_matter(library):
    n = Numbers(VECTOR)
    value = np.lib.stride_tricks.as_strided(np.zeros(3), (1, 3), (999, 8))
    step = ExternStep(lambda: value, (), (), 1)
    run = executor.load(n.plan([n.buffer("extern", (1, 3))], [step], [n.view(1, (1, 3), whole=True)]), library)
    assert run(np.ones(1))[0] is value


@pytest.mark.parametrize("value", [np.float64(2), np.array(2.0), np.float32(2), 2.0])
def test_scalar_results(library, value):
    plan = extern_plan(lambda x, y: value, lambda n: [n.view(2, scalar=True)], shape=())
    result = executor.load(plan, library)(np.ones(3))
    if type(value) is np.float64:
        assert result is not None and result[0] is value
    else:
        assert result is None


def test_a_scalar_result_feeds_a_kernel(library):
    n = Numbers(VECTOR)
    steps = [ExternStep(np.sum, (n.view(0, (3,), whole=True),), (), 1), n.step("add_scalar", 3)]
    buffers = [n.buffer("extern"), n.buffer("output", (3,))]
    run = executor.load(n.plan(buffers, steps, [n.view(2, (3,), whole=True)]), library)
    x = np.arange(3.0)
    assert np.array_equal(run(x)[0], x + x.sum())


def test_several_results(library):
    n = Numbers(VECTOR)
    buffers = [n.buffer("extern", (3,)), n.buffer("extern", (3,), np.dtype("i4"))]
    views = [n.view(1, (3,), whole=True), n.view(2, (3,), np.dtype("i4"), whole=True)]
    plan = n.plan(buffers, [ExternStep(np.frexp, (n.view(0, (3,), whole=True),), (), (1, 2))], views)
    x = np.array([1.0, 3.0, 100.0])
    result = executor.load(plan, library)(x)
    assert all(map(np.array_equal, result, np.frexp(x)))
    wrong = replace(plan.steps[0], function=lambda x: np.frexp(x)[::-1])
    assert executor.load(replace(plan, steps=(wrong,)), library)(x) is None


def fail(error):
    def function(*_):
        raise error("mine")

    return function


def test_an_exception_exits_while_nothing_is_written(library):
    run = executor.load(extern_plan(fail(ZeroDivisionError)), library)
    assert run(np.ones(3)) is None
    run = executor.load(extern_plan(fail(KeyboardInterrupt)), library)
    with pytest.raises(KeyboardInterrupt):
        run(np.ones(3))


def test_an_exception_propagates_once_something_is_written(library):
    x = np.ones(3)
    with pytest.raises(ZeroDivisionError, match="mine"):
        executor.load(extern_plan(fail(ZeroDivisionError), writes=True), library)(x)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="something other than was predicted"):
        executor.load(extern_plan(lambda x, y: None, writes=True), library)(x)


def test_operands_that_are_kept_stay_as_they_were(library):
    kept = []

    def function(x, doubled):
        kept.append(doubled)
        return x.copy()

    run = executor.load(extern_plan(function), library)
    for value in range(4):
        run(np.full(3, float(value)))
    assert [array.tolist() for array in kept] == [[2.0 * value] * 3 for value in range(4)]
    del run
    gc.collect()
    assert [array.tolist() for array in kept] == [[2.0 * value] * 3 for value in range(4)]


def test_results_in_the_arena_exit(library):
    assert executor.load(extern_plan(lambda x, doubled: doubled), library)(np.ones(3)) is None
    assert executor.load(extern_plan(lambda x, doubled: doubled[:]), library)(np.ones(3)) is None


def test_reentrance(library):
    def function(x, doubled):
        if x[0] < 5:
            (inner,) = run(x + 1)
            return inner + doubled
        return doubled.copy()

    run = executor.load(extern_plan(function), library)
    assert run(np.ones(3))[0].tolist() == [2.0 * (1 + 2 + 3 + 4 + 5)] * 3


# ------------------------------------------------------------------ threads


def test_work_is_shared_out(library):
    size = 100_003
    x = np.arange(float(size))
    run = executor.load(twice_plan(size, work=100, grain=64), library, threads=3)
    for _ in range(20):
        assert np.array_equal(run(x)[0], 2 * x)
    assert _executor.worker_count() == 2 and run.threads == 3
    alone = executor.load(twice_plan(size, work=100), library, threads=1)
    assert np.array_equal(alone(x)[0], 2 * x)


@pytest.mark.parametrize("size, grain", [(1, 1), (5, 8), (8, 8), (17, 8), (1000, 999), (64, 1)])
def test_every_iteration_runs_once(library, size, grain):
    n = Numbers(WRITTEN)
    plan = n.plan([], [n.step("increment", size, 1_000_000 // size, grain=grain)], [], writes=True)
    run = executor.load(plan, library, threads=4)
    x = np.zeros(size)
    for _ in range(50):
        run(x)
    assert (x == 50).all()


def test_scratch_and_flags_are_private_to_a_thread(library):
    n = Numbers(VECTOR)
    size = 50_000
    step = replace(n.step("private", size, 100), scratch=n(8))
    plan = n.plan([n.buffer("output", (size,))], [step], [n.view(1, (size,), whole=True)])
    x = np.arange(float(size))
    run = executor.load(plan, library, threads=4)
    for _ in range(20):
        assert np.array_equal(run(x)[0], x * x)
    n = Numbers(VECTOR)
    step = n.step("raise_flags", size, 100)
    view = n.view(1, (size,), whole=True)
    flags = [Flag(label, Position("user.py", 1)) for label in "abc"]
    run = executor.load(n.plan([n.buffer("output", (size,))], [step], [view], flags=flags), library, threads=4)
    x = np.zeros(size)
    x[[3, size - 1]] = FLAG_DIVIDE, FLAG_INVALID
    _, caught = warned(run, x)
    assert sorted(text[-1] for text, *_ in caught) == sorted("abc"[i % 3] for i in (3, size - 1))


def test_empty_extents_run_no_kernel(library):
    n = Numbers(WRITTEN)
    run = executor.load(n.plan([], [n.step("increment", 0)], [], writes=True), library)
    x = np.zeros(1)
    assert run(x) == () and x[0] == 0


def test_long_kernels_run_in_slices(library):
    size = 1000
    x = np.arange(float(size))
    run = executor.load(twice_plan(size, work=10**10, grain=7), library, threads=1)  # an estimate, not the truth
    assert np.array_equal(run(x)[0], 2 * x)


def test_signals_are_seen_after_long_kernels(library):
    def interrupt(*_):
        raise InterruptedError("from the handler")

    n = Numbers(WRITTEN)
    x = np.zeros(3)
    steps = [n.step("interrupt", 3, 10**8), n.step("increment", 3)]
    run = executor.load(n.plan([], steps, [], writes=True), library, threads=1)
    previous = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(InterruptedError, match="from the handler"):
            run(x)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert not x.any()


def test_concurrent_calls(library):
    size = 20_000
    run = executor.load(muladd_plan(size, work=10), library, threads=2)
    wrong = []

    def work(seed):
        a, b, c = np.random.default_rng(seed).random((3, size))
        expected = a * b + c
        for _ in range(100):
            if not np.array_equal(run(a, b, c)[0], expected):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and run.calls == 400


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork(library):
    size = 100_000
    x = np.arange(float(size))
    run = executor.load(twice_plan(size, work=100), library, threads=2)
    assert run(x) is not None and _executor.worker_count() >= 1
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if _executor.worker_count() == 0 and all(np.array_equal(run(x)[0], 2 * x) for _ in range(10)):
                status = 0 if _executor.worker_count() >= 1 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(run(x)[0], 2 * x)


# ------------------------------------------------------------------ memory

LARGE = 100_000  # elements of 8 bytes: above the size from which blocks are recycled


def test_large_outputs_are_recycled(library):
    run = executor.load(twice_plan(LARGE), library, threads=1)
    x = np.ones(LARGE)
    (first,) = run(x)
    assert first.flags == (2 * x).flags and first.base is None and first.ctypes.data % 64 == 0
    address = first.ctypes.data
    del first
    assert _executor.memory()["blocks"] == 1
    (second,) = run(x)
    (third,) = run(x)
    assert second.ctypes.data == address != third.ctypes.data
    assert np.array_equal(second, 2 * x) and np.array_equal(third, 2 * x)
    view = second[5:]
    del second
    assert run(x)[0].ctypes.data != address and view[0] == 2


def test_recycled_arrays_resize(library):
    run = executor.load(twice_plan(LARGE), library)
    (result,) = run(np.arange(float(LARGE)))
    emptied = False
    for size in (LARGE + 1, 3 * LARGE, LARGE, 10, 0, 1000):
        result.resize(size, refcheck=False)
        kept = min(size, 10)
        values = 2 * np.arange(10.0)[:kept] if emptied is False else np.zeros(kept)
        assert result.shape == (size,) and np.array_equal(result[:kept], values)
        emptied = emptied or size == 0


def test_the_pool_is_bounded(library):
    run = executor.load(twice_plan(LARGE), library)
    x = np.ones(LARGE)
    before = _executor.set_memory_limit(3 * 8 * LARGE + 4096)
    try:
        results = [run(x) for _ in range(10)]
        del results
        assert _executor.memory()["blocks"] == 3
        results = [run(x) for _ in range(70)]
        assert _executor.memory()["blocks"] == 0
        _executor.set_memory_limit(10**9)
        del results
        assert _executor.memory()["blocks"] == 64
        _executor.set_memory_limit(0)
        assert _executor.memory()["bytes"] == 0
        run(x)
        assert _executor.memory()["bytes"] == 0
    finally:
        assert _executor.set_memory_limit(before) == 0


def test_blocks_of_quite_another_size_are_not_taken(library):
    large, small = (executor.load(twice_plan(size), library) for size in (10 * LARGE, LARGE))
    large(np.ones(10 * LARGE))
    (result,) = small(np.ones(LARGE))
    assert _executor.memory()["blocks"] == 1
    del result
    assert _executor.memory()["blocks"] == 2


def test_huge_blocks(library):
    size = 5_000_000
    run = executor.load(twice_plan(size), library)
    x = np.ones(size)
    for _ in range(2):
        assert np.array_equal(run(x)[0], 2 * x)
    assert _executor.memory()["blocks"] == 1


def test_large_arenas_go_back_to_the_pool(library):
    n = Numbers(VECTOR)
    arena = n.buffer("arena", (LARGE,), arena_offset=n(0))
    steps = [n.step("twice", LARGE), n.step("twice_again", LARGE)]
    view = n.view(2, (LARGE,), whole=True)
    plan = n.plan([arena, n.buffer("output", (LARGE,))], steps, [view], arena=n(8 * LARGE))
    run = executor.load(plan, library)
    x = np.ones(LARGE)
    (result,) = run(x)
    assert np.array_equal(result, 4 * x) and _executor.memory()["blocks"] == 1


def test_recycled_data_is_traced(library):
    run = executor.load(twice_plan(LARGE), library)
    x = np.ones(LARGE)
    tracemalloc.start()
    try:
        (result,) = run(x)
        held, _ = tracemalloc.get_traced_memory()
        del result
        freed, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held - freed >= 8 * LARGE


def test_outputs_that_do_not_fit_exit(library):
    n = Numbers(VECTOR)
    for shape in ((2**58,), (2**40, 2**40)):
        strides = (8,) if len(shape) == 1 else (2**43, 8)
        plan = n.plan([n.buffer("output", shape, strides=strides)], [], [])
        assert executor.load(plan, library)(np.ones(1)) is None


def test_arenas_that_do_not_fit_exit(library):
    n = Numbers(VECTOR)
    plan = n.plan([n.buffer("arena", (1,), arena_offset=n(0))], [], [], arena=n(2**60))
    assert executor.load(plan, library)(np.ones(1)) is None


# ------------------------------------------------------------------ references


def test_calls_leave_no_references_behind(library):
    run = executor.load(extern_plan(lambda x, y: x + y), library)
    flagged = executor.load(flag_plan(), library)
    exits = executor.load(extern_plan(fail(ValueError)), library)
    x, literal, raised = np.ones(3), object(), words(FLAG_DIVIDE, 0, 0)
    given = executor.load(replace(twice_plan(3), results=(literal,)), library)

    def everything():
        for _ in range(1000):
            run(x)
            exits(x)
            given(x)
            flagged(raised)
            with suppress(TypeError):
                run(None)

    def held():
        gc.collect()
        objects = (x, literal, F8, run)
        return [sys.getrefcount(object) for object in objects], sys.getallocatedblocks()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        everything()
        counts, blocks = held()
        everything()
        counts_after, blocks_after = held()
    assert counts_after == counts and blocks_after - blocks < 500


def test_executors_are_collected(library):
    cycle = []

    def function(x, y):
        return cycle[0](x)

    cycle.append(executor.load(extern_plan(function), library))
    alive = weakref.ref(cycle[0]), weakref.ref(function)
    function = cycle = None
    gc.collect()
    assert [reference() for reference in alive] == [None, None]


def test_an_executor_survives_its_last_reference_going_during_a_call(library):
    holder = []

    def function(x, doubled):
        holder.clear()
        gc.collect()
        return x + doubled

    holder.append(executor.load(extern_plan(function), library))
    assert np.array_equal(holder[0](np.ones(3))[0], np.full(3, 3.0))


# ------------------------------------------------------------------ loading


def test_libraries_that_do_not_fit_are_refused(library, tmp_path):
    plan = twice_plan(3)
    with pytest.raises(BackendError, match="cannot load the kernels of example"):
        executor.load(plan, tmp_path / "none.so")
    unknown = replace(plan, steps=(replace(plan.steps[0], symbol="unknown"),))
    with pytest.raises(BackendError, match="no function unknown"):
        executor.load(unknown, library)


def test_malformed_plans_are_refused(library):
    plan = twice_plan(3)
    n = Numbers(VECTOR)
    arena = n.buffer("arena", (1,), arena_offset=n(0))
    for wrong, words in {
        "number": (replace(plan, number_count=1), "none of the 1 numbers"),
        "buffer": (replace(plan, results=(replace(plan.results[0], buffer=7),)), "there is no buffer 7"),
        "grain": (replace(plan, steps=(replace(plan.steps[0], grain=0),)), "the grain is 0"),
        "arena": (n.plan([arena], [], [n.view(1, (1,))], arena=n(8)), "in the arena"),
        "no arena": (n.plan([arena], [], []), "the arena: -1 is none"),
        "inputs": (replace(plan, buffers=plan.buffers[1:]), "are the inputs"),
        "kind": (replace(plan, inputs=(replace(VECTOR, kind="list"),)), "no kind 'list'"),
        "results": (n.plan([], [ExternStep(np.sum, (), (), 0)], []), "not buffers of kind extern"),
    }.values():  # fmt: skip
        with pytest.raises(BackendError, match=words):
            executor.load(wrong, library)
