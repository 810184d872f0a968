"""Nothing outlives its owner: arguments, temporaries, and compiled functions with all of their resume functions."""

import gc
import operator
import weakref

import numpy as np
import pytest

import capture
from capture.frames import hook

opaque = operator.methodcaller("tolist")


def straight(x):
    return x * 2 + 1


def broken(x):
    y = x + 1
    opaque(y)
    return y * 2


def looping(x):
    for i in range(3):
        opaque(x + i)
    while x[0] < 3:
        x = x + 1
    return x * 2


def calling(x):
    return broken(x) + looping(x)


FUNCTIONS = (straight, broken, looping, calling)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_compiled_function_dies_with_its_kernels(function):
    compiled = capture.compile(lambda x: function(x))
    np.testing.assert_array_equal(compiled(np.ones(3)), function(np.ones(3)))
    compiled(np.ones(3))
    record = compiled.info.record
    runners = [weakref.ref(runner) for runner in record.runners]
    entries = [weakref.ref(target.entry) for target in record.resumes.values()]
    assert runners and (entries or function is straight)
    del compiled, record
    hook.reset()  # frames met below a compiled function are kept with their code, for whoever calls it next
    gc.collect()
    assert [ref() for ref in runners + entries if ref() is not None] == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arguments_and_results_die_when_the_caller_drops_them(function):
    compiled = capture.compile(function)
    for _ in range(3):
        x = np.ones(4)
        result = compiled(x)
        seen = weakref.ref(x), weakref.ref(result)
        del x, result
        assert [ref() for ref in seen if ref() is not None] == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_calls_leave_no_objects_behind(function):
    compiled = capture.compile(function)
    x = np.ones(4)

    def count() -> int:
        for _ in range(200):
            compiled(x)
        gc.collect()
        return len(gc.get_objects())

    count()
    first = count()
    assert count() - first < 50  # one object a call would be 200
