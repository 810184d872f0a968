"""Entries of functions: bound, guarded, replaced and continued, and otherwise indistinguishable from the function."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import sys
import threading
import traceback
import weakref
from types import FunctionType, MethodType
from typing import Any

import pytest

from capture.frames import hook
from capture.frames.guards import EqualsConstant, Guard, IsObject, TypeIs, compile_guards
from capture.frames.hook import Continuation, Entry, Variant
from capture.frames.sources import Argument, Default, Global, KeywordDefault

ALWAYS = (0, ())
X = Argument(0, "x")


def when(*guards: Guard) -> Any:
    return compile_guards(guards)[0]


def entry_of(function: FunctionType, replacement: FunctionType, program: Any = ALWAYS, **options: Any) -> Entry:
    """An entry whose only variant runs the code of ``replacement``."""
    entry = Entry(function)
    entry.add(Variant(program, replacement.__code__.replace(), **options))
    return entry


def direct_entry(function: FunctionType, executor: Any, inputs: Any, outputs: Any, guards: Any = ()) -> Entry:
    program, slots = compile_guards(guards, inputs)
    entry = Entry(function)
    entry.add(Variant(program, function.__code__.replace(), (executor, slots, outputs)))
    return entry


@pytest.fixture(autouse=True)
def hook_is_left_as_found():
    yield
    assert hook.armed_depth() == 0
    hook.set_callbacks(None, None)
    hook.reset()


# ---- binding ----


def no_arguments():
    return ()


def positional(x, y):
    return x, y


def defaults(x, y=2, z=3):
    return x, y, z


def positional_only(x, y=2, /, z=3):
    return x, y, z


def keyword_only(x, *, k, m=5):
    return x, k, m


def rest(x, *args):
    return x, args


def keywords(x=1, **kwargs):
    return x, kwargs


def everything(x, y=2, /, z=3, *args, k=4, m, **kwargs):
    return x, y, z, args, k, m, kwargs


def only_rest(*args, **kwargs):
    return args, kwargs


SIGNATURES = [
    no_arguments,
    positional,
    defaults,
    positional_only,
    keyword_only,
    rest,
    keywords,
    everything,
    only_rest,
]
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((1, 2), {}),
    ((1, 2, 3), {}),
    ((1, 2, 3, 4, 5), {}),
    ((), {"x": 1}),
    ((1,), {"x": 1}),
    ((1,), {"y": 7}),
    ((), {"y": 7, "x": 1}),
    ((1,), {"z": 8}),
    ((1,), {"k": 9}),
    ((1,), {"k": 9, "m": 10}),
    ((1, 2, 3, 4), {"m": 10, "other": 11, "x": 12}),
    ((1,), {"m": 10, "".join(["other", "wise"]): 11}),
    ((), {"args": 1, "kwargs": 2}),
]


def outcome(function: Any, args: Any, kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        return str(error)


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


def plain(x):
    return ("plain", x)


def replaced(x):
    return ("replaced", x)


def test_a_variant_runs_while_its_guards_hold():
    entry = entry_of(plain, replaced, when(Guard(X, EqualsConstant(1))))
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
        return Variant(when(Guard(X, EqualsConstant(arguments[0]))), replaced.__code__)

    entry = Entry(plain, miss)
    assert [entry(1), entry(2), entry(1), entry(x=2)] == [("replaced", value) for value in (1, 2, 1, 2)]
    assert asked == [("plain", (1,)), ("plain", (2,))]
    assert len(entry.variants) == 2


def test_a_variant_that_does_not_hold_is_not_run():
    entry = Entry(plain, lambda entry, arguments: Variant(when(Guard(X, EqualsConstant("no"))), replaced.__code__))
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
            Entry(plain).add(Variant(ALWAYS, other.__code__))


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

    program = when(Guard(Default(None, 0), EqualsConstant(1)), Guard(KeywordDefault(None, "k"), EqualsConstant(2)))
    entry = entry_of(function, other, program)
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


# ---- like the function ----


@functools.lru_cache
def module_level_helper(x):
    return x


def documented(x: int, *, k: str = "a") -> float:
    """What it does."""
    return 1.0


documented.marked = "by the user"  # type: ignore[attr-defined]
documented_entry = Entry(documented)
pickled = Entry(plain)
original_plain, plain_for_pickle = plain, pickled


def test_an_entry_looks_like_its_function():
    entry = documented_entry
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__", "__defaults__", "__code__"):
        assert getattr(entry, name) == getattr(documented, name)
    assert entry.__wrapped__ is entry.function is documented
    assert inspect.signature(entry) == inspect.signature(documented)
    assert inspect.unwrap(entry) is documented
    assert inspect.getdoc(entry) == "What it does."
    assert inspect.getsource(entry) == inspect.getsource(documented)
    assert callable(entry) and "documented" in repr(entry)


def test_an_entry_takes_attributes():
    entry = Entry(documented)
    assert entry.marked == "by the user"
    for name in ("counter", "function", "info", "variants", "add", "code"):
        setattr(entry, name, 5)
        assert getattr(entry, name) == 5
        delattr(entry, name)
    assert entry.function is documented and not hasattr(documented, "counter")
    with pytest.raises(AttributeError):
        del entry.counter
    with pytest.raises(AttributeError):
        entry.nothing
    entry.__doc__ = "New."
    assert documented.__doc__ == "New."
    documented.__doc__ = "What it does."


def test_what_info_offers_shows_through():
    class Info:
        graphs = ["one"]

    entry = Entry(plain, None, None, Info())
    assert entry.graphs == ["one"]
    variant = Variant(ALWAYS, plain.__code__, None, False, Info())
    assert variant.graphs == ["one"] and variant.info.graphs == ["one"] and not variant.native


class Base:
    def method(self, x):
        return type(self).__name__, x

    def __replaced(self, x):
        return "replaced", self, x

    method = entry_of(method, __replaced, when(Guard(Argument(1, "x"), EqualsConstant(1))))  # type: ignore[arg-type]
    static = staticmethod(entry_of(plain, replaced))
    of_class = classmethod(Entry(lambda cls, x: (cls, x)))  # type: ignore[arg-type, var-annotated]


class Derived(Base):
    def method(self, x):
        return super().method(x), "derived"


def test_an_entry_binds_as_a_method():
    base, derived = Base(), Derived()
    assert base.method(1) == ("replaced", base, 1)
    assert base.method(x=2) == Base.method(base, 2) == ("Base", 2)
    assert derived.method(1) == (("replaced", derived, 1), "derived")
    assert type(base.method) is MethodType and base.method.__func__ is Base.__dict__["method"]
    assert base.static(3) == Base.static(3) == ("replaced", 3)
    assert Derived.of_class(4) == (Derived, 4)


def test_copies_and_pickles_are_the_entry_itself(monkeypatch):
    entry = Entry(documented)
    monkeypatch.setattr(sys.modules[__name__], "documented", entry)
    assert copy.copy(entry) is copy.deepcopy(entry) is entry
    assert copy.deepcopy({"f": [entry]})["f"][0] is entry
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(entry, protocol)) is entry


def test_an_entry_is_collected_with_its_cycles():
    def function(x):
        return function_entry

    function_entry = Entry(function, lambda entry, arguments: None)
    function_entry.add(Variant(ALWAYS, function.__code__, None, True, [function_entry]))
    function_entry.me = function_entry
    gone = weakref.ref(function_entry)
    assert function_entry(1) is function_entry
    del function_entry, function
    gc.collect()
    assert gone() is None


def test_keyword_calls_and_star_calls():
    entry = entry_of(everything, everything)
    args, kwargs = (1, 2, 3, 4), {"m": 5, "w": 6}
    assert entry(*args, **kwargs) == everything(*args, **kwargs)
    assert functools.partial(entry, 1, m=2)(3) == everything(1, 3, m=2)
    assert list(map(entry_of(plain, replaced), [1, 2])) == [("replaced", 1), ("replaced", 2)]


# ---- frames and errors look the same ----


def outline(error: BaseException) -> list[tuple[str, int | None, str | None]]:
    return [(frame.name, frame.lineno, frame.line) for frame in traceback.extract_tb(error.__traceback__)]


def failing(x):
    y = x
    return y / 0


def caught(function: Any) -> list[Any]:
    try:
        function(1)
    except ZeroDivisionError as error:
        return outline(error)[1:]
    return []


@pytest.mark.parametrize("native", [False, True])
def test_tracebacks_are_those_of_plain_code(native):
    longer = failing.__code__.replace(co_stacksize=failing.__code__.co_stacksize + 10)
    entry = Entry(failing)
    entry.add(Variant(ALWAYS, longer, None, native))
    assert caught(entry) == caught(failing) and len(caught(failing)) == 1


def stack_of(x):
    frame, names = sys._getframe(), []
    while frame is not None:
        names.append((frame.f_code.co_name, frame.f_locals.get("x")))
        frame = frame.f_back
    return names


def calls_stack_of(x):
    x += 1
    return stack_of(x)


@pytest.mark.parametrize("native", [False, True])
def test_frames_are_those_of_plain_code(native):
    entry = entry_of(calls_stack_of, calls_stack_of, native=native)
    assert entry(1) == calls_stack_of(1)
    hook.set_callbacks(lambda entry, arguments: Variant(ALWAYS, entry.code.replace(co_stacksize=9)), lambda code: True)
    assert entry(1) == calls_stack_of(1)


# ---- continuations ----


def count_down(n, total):
    raise AssertionError("the plain function")


countdown = Entry(count_down)


def count_down_step(n, total):
    return total if n == 0 else Continuation(countdown, (n - 1, total + n))


countdown.add(Variant(ALWAYS, count_down_step.__code__))


def test_continuations_do_not_nest():
    assert countdown(100_000, 0) == sum(range(100_001))


def test_a_continuation_may_miss():
    asked = []

    def miss(entry, arguments):
        asked.append(arguments)
        return None

    last = Entry(plain, miss)

    def first(x):
        return Continuation(last, (x + 1,))

    def entry_function(x):
        raise AssertionError("the plain function")

    first_code = FunctionType(first.__code__, globals(), "first", None, first.__closure__)
    entry = Entry(FunctionType((lambda x: last).__code__, globals(), "first", None, first.__closure__))
    entry.add(Variant(ALWAYS, first_code.__code__))
    assert entry(1) == ("plain", 2)
    assert asked == [(2,)]


def test_errors_in_a_continuation_show_its_frame_only():
    last = Entry(failing)

    def first(x):
        return Continuation(last, (x,))

    def function(x):
        return last

    assert caught(entry_of(function, first)) == caught(failing)


class Tracked:
    pass


def test_what_a_continuation_does_not_keep_dies_in_time():
    gone = []

    def second(kept, dropped):
        reference = weakref.ref(dropped)
        del dropped
        gone.append(reference() is None)
        return kept

    resumed = Entry(second)

    def first(x):
        dropped, unused = Tracked(), Tracked()
        unused.on_death = weakref.finalize(unused, gone.append, "unused")
        return Continuation(resumed, (x, dropped))

    def function(x):
        return resumed, gone

    entry = Entry(FunctionType(function.__code__, globals(), "f", None, function.__closure__))
    replacement = FunctionType(first.__code__, globals(), "f", None, first.__closure__)
    entry.add(Variant(ALWAYS, replacement.__code__))
    assert entry(1) == 1
    assert gone == ["unused", True]


def test_only_entries_of_functions_continue():
    with pytest.raises(TypeError):
        Continuation(plain, ())
    with pytest.raises(TypeError):
        Continuation(countdown, [])
    with pytest.raises(TypeError):
        Continuation(countdown)
    continuation = Continuation(countdown, (0, 1))
    assert continuation.entry is countdown and continuation.arguments == (0, 1)


# ---- recursion ----


def fibonacci(n):
    return n if n < 2 else fibonacci_entry(n - 1) + fibonacci_entry(n - 2)


fibonacci_entry = entry_of(fibonacci, fibonacci)


def depth(n):
    return 0 if n == 0 else 1 + depth_entry(n - 1)


depth_entry = entry_of(depth, depth)


def plain_depth(n):
    return 0 if n == 0 else 1 + plain_depth(n - 1)


def deepest(function):
    """How deep a recursion from here may go."""
    low, high = 1, 4000
    while low < high:
        middle = (low + high + 1) // 2
        try:
            function(middle)
            low = middle
        except RecursionError:
            high = middle - 1
    return low


def test_recursion():
    assert fibonacci_entry(15) == 610


@pytest.mark.parametrize("native", [False, True])
def test_recursion_goes_as_deep_as_plain(native):
    depth_entry.clear()
    depth_entry.add(Variant(ALWAYS, depth.__code__.replace(), None, native))
    assert deepest(depth_entry) == deepest(plain_depth)
    with hook.armed():
        assert deepest(plain_depth) == deepest(depth_entry)


def test_very_deep_recursion_while_armed():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    try:
        with hook.armed():
            assert plain_depth(60_000) == 60_000
    finally:
        sys.setrecursionlimit(limit)


def test_the_end_of_the_stack_is_an_error_not_a_crash():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(500_000)
    try:
        with pytest.raises(RecursionError):
            depth_entry(400_000)
        assert depth_entry(100) == 100
    finally:
        sys.setrecursionlimit(limit)


def test_recursion_in_a_thread_with_a_small_stack():
    results = []

    def run():
        with hook.armed():
            results.append(plain_depth(800))
        results.append(depth_entry(400))

    size = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert results == [800, 400]


# ---- watched ----


def test_settrace_sees_plain_code():
    entry = entry_of(plain, replaced)
    seen = []

    def tracer(frame, event, arg):
        seen.append((frame.f_code, event))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        result = entry(1)
    finally:
        sys.settrace(before)
    assert result == ("plain", 1)
    assert (plain.__code__, "line") in seen
    assert entry(1) == ("replaced", 1) or before is not None


def test_setprofile_sees_plain_code():
    entry = entry_of(plain, replaced)
    seen = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: seen.append((frame.f_code, event)))
    try:
        result = entry(1)
    finally:
        sys.setprofile(before)
    assert result == ("plain", 1)
    assert (plain.__code__, "call") in seen


monitoring = getattr(sys, "monitoring", None)


@pytest.mark.skipif(monitoring is None, reason="sys.monitoring is new in Python 3.12")
@pytest.mark.parametrize("everywhere", [True, False])
def test_monitoring_sees_plain_code(everywhere):
    entry = entry_of(plain, replaced)
    seen = []
    tool, events = 3, monitoring.events
    monitoring.use_tool_id(tool, "test")
    try:
        monitoring.register_callback(tool, events.PY_START, lambda code, offset: seen.append(code))
        if everywhere:
            monitoring.set_events(tool, events.PY_START)
        else:
            monitoring.set_local_events(tool, plain.__code__, events.PY_START)
        result = entry(1)
        if not everywhere:
            monitoring.set_local_events(tool, plain.__code__, 0)
        monitoring.set_events(tool, 0)
    finally:
        monitoring.register_callback(tool, events.PY_START, None)
        monitoring.free_tool_id(tool)
    assert result == ("plain", 1)
    assert plain.__code__ in seen
    assert entry(1) == ("replaced", 1)


# ---- no leaks ----


def declined(x):
    return None


def raising(x):
    raise KeyError


def continuing(x):
    return Continuation(pickled, (x,))


LEAK_CASES = {
    "replaced": entry_of(plain, replaced),
    "native": entry_of(plain, replaced, native=True),
    "miss": Entry(plain, lambda entry, arguments: None),
    "direct": direct_entry(plain, lambda x: (x, x), [X], ("tuple", (("item", 0), ("slot", 0)))),
    "declined": direct_entry(plain, declined, [X], ("item", 0)),
    "failing": direct_entry(plain, raising, [X], ("item", 0)),
    "bad template": direct_entry(plain, lambda x: (x,), [X], ("list", (("item", 0), ("item", 7)))),
    "raising": entry_of(plain, raising),
    "continuing": entry_of(plain, continuing),
    "packed": entry_of(everything, everything),
}


def use(entry: Entry, value: Any) -> None:
    try:
        entry(value)
        entry(x=value)
        entry(value, m=value, extra=value)
    except (TypeError, KeyError, SystemError):
        pass


@pytest.mark.parametrize("name", LEAK_CASES)
def test_nothing_leaks(name):
    entry, value = LEAK_CASES[name], Tracked()

    def counts() -> list[int]:
        gc.collect()
        parts = [value, entry, entry.function, entry.function.__code__, *entry.variants]
        return [sys.getrefcount(part) for part in parts]

    use(entry, value)
    before, blocks = counts(), sys.getallocatedblocks()
    for _ in range(10_000):
        use(entry, value)
    assert counts() == before
    assert sys.getallocatedblocks() - blocks < 1000


# ---- threads ----


def test_threads_share_an_entry():
    def miss(entry, arguments):
        return Variant(when(Guard(X, EqualsConstant(arguments[0]))), replaced.__code__)

    entry = Entry(plain, miss)
    errors: list[Any] = []

    def run(seed):
        for index in range(2000):
            value = (index * seed) % 7
            if entry(value) != ("replaced", value):
                errors.append(value)
            if index % 500 == 0:
                entry.clear()

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2, 3, 5)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors
