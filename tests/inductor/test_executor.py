"""The executor on hand-written kernels: arguments, results, references, loading."""

from __future__ import annotations

import gc
import sys
import warnings
import weakref
from contextlib import suppress

import numpy as np
import pytest

from capture.errors import BackendError
from capture.inductor import executor
from capture.inductor.plan import FLAG_DIVIDE, Buffer, ExternStep, Input, KernelStep, Plan, View
from capture.records import replace
from tests.inductor.hand_made import (
    F8,
    SOURCE,
    VECTOR,
    WRITTEN,
    Numbers,
    Subclass,
    extern_plan,
    fail,
    flag_plan,
    muladd_plan,
    twice_plan,
    words,
)

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
    n = Numbers(Input("scalar", np.dtype("l")))
    run = executor.load(n.plan([], [], [n.view(0, dtype=np.dtype("l"), scalar=True)]), library)
    assert type(run(np.longlong(3))[0]) is np.int64 and run(np.longlong(3)) == (3,)
    with pytest.raises(TypeError, match="must be a scalar of dtype int64"):
        run(np.int32(3))


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
    for wrong, message in {
        "number": (replace(plan, number_count=1), "none of the 1 numbers"),
        "buffer": (replace(plan, results=(replace(plan.results[0], buffer=7),)), "there is no buffer 7"),
        "grain": (replace(plan, steps=(replace(plan.steps[0], grain=0),)), "the grain is 0"),
        "arena": (n.plan([arena], [], [n.view(1, (1,))], arena=n(8)), "in the arena"),
        "no arena": (n.plan([arena], [], []), "the arena: -1 is none"),
        "inputs": (replace(plan, buffers=plan.buffers[1:]), "are the inputs"),
        "kind": (replace(plan, inputs=(replace(VECTOR, kind="list"),)), "no kind 'list'"),
        "results": (n.plan([], [ExternStep(np.sum, (), (), 0)], []), "not buffers of kind extern"),
    }.values():  # fmt: skip
        with pytest.raises(BackendError, match=message):
            executor.load(wrong, library)
