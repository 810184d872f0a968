"""The executor and floating-point warnings."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
import types
import warnings

import numpy as np
import pytest

from capture.inductor import _executor, errstate, executor
from capture.inductor.plan import FLAG_DIVIDE, FLAG_INVALID, FLAG_UNDERFLOW, FLAG_UNSURE, Flag
from capture.records import replace
from tests.inductor.hand_made import ALL, VECTOR, Numbers, flag_plan, twice_plan, warned, words


def test_warnings_come_in_program_order_with_numpys_texts(library):
    run = executor.load(flag_plan(), library)
    with np.errstate(all="warn", under="ignore"):
        result, caught = warned(run, words(FLAG_INVALID, 0, ALL))
        zero, big, tiny = np.array([0.0]), np.array([1e300]), np.array([1e-300])
        operands = np.concatenate([zero, big, tiny, zero + 1]), np.concatenate([zero, tiny, big, zero])
        _, numpy_caught = warned(np.divide, *operands)
    assert result is not None
    expected = [(numpy_caught[-1][0], "user.py", 10, RuntimeWarning)]
    expected += [(text.replace("divide", "exp").replace("exp by", "divide by"), "user.py", 12, RuntimeWarning)
                 for text, *_ in numpy_caught]  # fmt: skip
    assert caught == expected and len(caught) == 4


def test_ignored_kinds_are_silent(library):
    run = executor.load(flag_plan(), library)
    assert warned(run, words(FLAG_UNDERFLOW, 0, 0))[1] == []  # NumPy's default
    with np.errstate(all="ignore"):
        result, caught = warned(run, words(ALL | FLAG_UNSURE, ALL, ALL))
        assert result is not None and caught == []
    with np.errstate(all="warn", under="ignore", invalid="ignore"):
        assert len(warned(run, words(ALL, 0, 0))[1]) == 2


@pytest.mark.parametrize("mode", ["warn", "raise"])
def test_where_underflow_is_to_be_told_python_runs(library, mode):
    """Kernels do not look for it."""
    run = executor.load(flag_plan(), library)
    with np.errstate(under=mode):
        assert warned(run, words(0, 0, 0)) == (None, [])


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


@pytest.mark.parametrize("action", ["ignore", "default", "always", "once", "module"])
@pytest.mark.parametrize(
    ("first", "decides"),
    [
        ({"category": RuntimeWarning}, True),
        ({"category": Warning}, True),
        ({"category": UserWarning}, False),
        ({"message": "overflow"}, False),
        ({"module": "other"}, False),
        ({"lineno": 7}, False),
    ],
)
def test_a_filter_in_front_decides(library, action, first, decides):
    run = executor.load(flag_plan(), library)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("error")
        warnings.filterwarnings(action, **first)
        assert (run(words(FLAG_DIVIDE, 0, 0)) is not None) is decides


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
    assert caught[0][1] == warned.__code__.co_filename


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
    assert errstate.reads_errstate()
    _executor.set_errstate_reader(errstate.read_errstate)
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
