"""Entries of functions: bound, guarded, replaced, and finished without a frame."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
from typing import Any

import pytest

from capture.frames import hook
from capture.frames.guards import EqualsConstant, Guard, IsObject, TypeIs, compile_guards
from capture.frames.hook import Entry, Variant
from capture.frames.sources import Argument, Default, Global, KeywordDefault
from tests.frames.hooks import (
    CALLS,
    SIGNATURES,
    X,
    direct_entry,
    entry_of,
    keyword_only,
    keywords,
    no_arguments,
    only_rest,
    outcome,
    plain,
    positional,
    replaced,
    rest,
    variant,
    when,
)

pytestmark = pytest.mark.usefixtures("hook_is_left_as_found")

# ---- binding ----


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__name__)
def test_arguments_are_bound_as_python_binds_them(function):
    seen = []

    def miss(entry, arguments):
        seen.append(arguments)
        return None

    parameters = inspect.signature(function).parameters.values()
    order = sorted(parameters, key=lambda parameter: (parameter.kind in (2, 4), parameter.kind == 4))
    for args, kwargs in CALLS:
        seen.clear()
        expected = outcome(function, args, kwargs)
        assert outcome(Entry(function, miss), args, kwargs) == expected
        if type(expected) is str:
            assert seen == []
        else:
            by_name = dict(zip((parameter.name for parameter in parameters), expected, strict=True))
            assert seen == [tuple(by_name[parameter.name] for parameter in order)]


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__name__)
def test_replacement_code_gets_the_arguments_of_the_call(function):
    entry = entry_of(function, function)
    for args, kwargs in CALLS:
        assert outcome(entry, args, kwargs) == outcome(function, args, kwargs)


# ---- hits and misses ----


def test_a_variant_runs_while_its_guards_hold():
    entry = entry_of(plain, replaced, Guard(X, EqualsConstant(1)))
    assert [entry(1), entry(1.0), entry(True), entry(1)] == [
        ("replaced", 1),
        ("plain", 1.0),
        ("plain", True),
        ("replaced", 1),
    ]
    assert entry.variants[0].hits == 2


def test_a_miss_asks_once_per_unknown_case():
    asked = []

    def miss(entry, arguments):
        asked.append((entry.__name__, arguments))
        return variant(replaced, Guard(X, EqualsConstant(arguments[0])))

    entry = Entry(plain, miss)
    assert [entry(1), entry(2), entry(1), entry(x=2)] == [("replaced", value) for value in (1, 2, 1, 2)]
    assert asked == [("plain", (1,)), ("plain", (2,))]
    assert len(entry.variants) == 2


def test_a_variant_that_does_not_hold_is_not_run():
    entry = Entry(plain, lambda entry, arguments: variant(replaced, Guard(X, EqualsConstant("no"))))
    assert entry(1) == ("plain", 1)


def test_errors_of_a_miss_reach_the_caller():
    def miss(entry, arguments):
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        Entry(plain, miss)(1)
    with pytest.raises(TypeError, match="returned str"):
        Entry(plain, lambda entry, arguments: "no variant")(1)


def test_nothing_is_captured_while_a_miss_is_handled():
    inner = Entry(plain, lambda entry, arguments: pytest.fail("asked within a miss"))
    hook.set_callbacks(None, lambda code: pytest.fail("asked within a miss"))

    def miss(entry, arguments):
        inner(2)
        with hook.armed():
            plain(3)
        return None

    assert Entry(plain, miss)(1) == ("plain", 1)


def test_clear_and_plain():
    entry = entry_of(plain, replaced)
    entry.plain = True
    assert entry(1) == ("plain", 1)
    entry.plain = False
    assert entry(1) == ("replaced", 1)
    entry.clear()
    assert entry(1) == ("plain", 1) and entry.variants == ()


def test_quiet_runs_plain_functions():
    entry = entry_of(plain, replaced)
    with hook.quiet():
        assert entry(1) == ("plain", 1)
    assert entry(1) == ("replaced", 1)


def test_code_with_other_arguments_is_refused():
    for other in (positional, keyword_only, rest, keywords):
        with pytest.raises(ValueError, match="other arguments"):
            Entry(plain).add(variant(other))


def test_many_slots():
    names = [f"a{index}" for index in range(200)]
    namespace: dict[str, Any] = {}
    exec(f"def f({', '.join(names)}): return {' + '.join(names)}", namespace)
    guards = [Guard(Argument(index, name), TypeIs(int)) for index, name in enumerate(names)]
    guards += [Guard(Global(namespace, "f"), IsObject(namespace["f"]))]
    entry = Entry(namespace["f"], lambda entry, arguments: Variant(when(*guards), entry.code))
    assert entry(*range(200)) == entry(*range(200)) == sum(range(200))
    assert entry.variants[0].hits == 2


def test_defaults_and_code_may_be_replaced():
    def function(x=1, *, k=2):
        return x, k

    entry = entry_of(function, function)
    assert entry() == (1, 2)
    entry.__defaults__ = (5,)
    entry.__kwdefaults__ = {"k": 6}
    assert entry() == function() == (5, 6)
    function.__kwdefaults__["k"] = 7
    assert entry() == (5, 7)
    entry.__code__ = (lambda x=0, *, k=0: "other").__code__
    assert entry() == function() == "other"
    assert entry.variants == ()


def test_defaults_of_the_running_function_are_guarded():
    def function(x=1, *, k=2):
        return "plain"

    def other(x=1, *, k=2):
        return "replaced"

    entry = entry_of(
        function,
        other,
        Guard(Default(None, 0), EqualsConstant(1)),
        Guard(KeywordDefault(None, "k"), EqualsConstant(2)),
    )
    assert entry() == "replaced"
    function.__defaults__ = (2,)
    assert entry() == "plain"


# ---- results without a frame ----


def test_outputs_are_built_from_the_template():
    template = (
        "tuple",
        (
            ("item", 1),
            ("slot", 0),
            ("list", (("item", 0), ("const", None))),
            ("dict", (("a", ("item", 0)), ("b", ("tuple", ())))),
        ),
    )
    entry = direct_entry(plain, lambda x: (x + 1, x + 2), [X], template)
    value = 1000
    result = entry(value)
    assert result == (1002, 1000, [1001, None], {"a": 1001, "b": ()})
    assert result[1] is value
    assert entry.variants[0].hits == 1


def test_an_argument_comes_back_as_itself():
    thing = object()
    entry = direct_entry(plain, lambda: (), [], ("slot", 0), [Guard(X, TypeIs(object))])
    assert entry(thing) is thing


def test_an_executor_may_decline():
    entry = direct_entry(plain, lambda x: None, [X], ("item", 0))
    assert entry(3) == ("plain", 3)


def test_errors_of_an_executor():
    def fail(x):
        raise KeyError(x)

    with pytest.raises(KeyError):
        direct_entry(plain, fail, [X], ("item", 0))(3)
    with pytest.raises(SystemError, match="not a tuple"):
        direct_entry(plain, lambda x: x, [X], ("item", 0))(3)
    with pytest.raises(SystemError, match="returned 1 values"):
        direct_entry(plain, lambda x: (x,), [X], ("item", 1))(3)


def test_inputs_outlive_their_places():
    namespace: dict[str, Any] = {"w": [1]}

    def executor(w):
        namespace["w"] = None
        gc.collect()
        return (w,)

    w = Global(namespace, "w")
    entry = direct_entry(no_arguments, executor, [w], ("tuple", (("item", 0), ("slot", 0))), [Guard(w, TypeIs(list))])
    assert entry() == ([1], [1])


def test_many_inputs():
    def collect(*args):
        return args

    inputs = [Argument(0, "args")] * 40
    entry = direct_entry(only_rest, collect, inputs, ("tuple", tuple(("item", i) for i in range(40))))
    assert entry(1, 2) == ((1, 2),) * 40


@pytest.mark.parametrize(
    "direct",
    [
        (),
        (print,),
        (print, [0], ("item", 0)),
        (print, (5,), ("item", 0)),
        (1, (0,), ("item", 0)),
        (print, (0,), "item"),
        (print, (0,), ("nothing", 0)),
        (print, (0,), ("slot", 3)),
        (print, (0,), ("tuple", 3)),
        (print, (0,), ("tuple", (("item",),))),
        (print, (0,), ("dict", (("a", "item", 0),))),
    ],
)
def test_wrong_direct_forms_are_refused(direct):
    program, _ = compile_guards([], [X])
    with pytest.raises((TypeError, ValueError)):
        Variant(program, plain.__code__, direct)


def test_a_missing_extension_is_said_with_what_to_do():
    script = "import sys; sys.modules['capture.frames._hook'] = None; import capture.frames.hook"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: the extension capture.frames._hook does not load"), ended.stderr
    assert "pip install -e ." in last
