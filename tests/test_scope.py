"""``capture.scope``: which functions are captured inside it, on which thread, and what it costs the others."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import traceback
import types
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import capture
from capture import api, scopes
from capture.frames import hook
from capture.frames.libraries import is_library
from tests.compare import assert_same

X = np.linspace(0.0, 1.0, 7)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    yield
    assert hook.armed_depth() == 0
    capture.reset()


def variants(function):
    """All variants of a function's frames."""
    return [variant for entry in hook.code_record(function.__code__).entries for variant in entry.variants]


def graphs(function):
    return sum(variant.info.graph is not None for variant in variants(function))


def make_module(name, source):
    module = types.ModuleType(name)
    exec(compile(source, f"/nowhere/{name}.py", "exec"), vars(module))
    return module


def wave(x):
    return np.sqrt(x) * 2 + x


def top_of_wave(x):
    return wave(x).max()


def add(a, b):
    return a + b


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return self.apply(x) + 1

    def apply(self, x):
        return x * self.by

    @property
    def doubled(self):
        return self.by * 2

    @classmethod
    def of(cls, value):
        return cls(np.full(7, value))

    @staticmethod
    def norm(x):
        return np.sqrt((x * x).sum())


# ---- what is captured ----


def test_functions_of_the_calling_module_are_captured():
    with capture.scope():
        result = top_of_wave(X)
        again = top_of_wave(X)
    assert_same(result, top_of_wave(X))
    assert_same(again, top_of_wave(X))
    assert graphs(top_of_wave) == 1
    assert variants(top_of_wave)[0].hits == 2


def test_nothing_is_captured_outside():
    with capture.scope():
        pass
    wave(X)
    assert variants(wave) == []


def test_methods_are_captured():
    with capture.scope():
        scale = Scale.of(3.0)
        found = [scale(X), scale.doubled, Scale.norm(X)]
    for have, want in zip(found, [scale(X), scale.doubled, Scale.norm(X)], strict=True):
        assert_same(have, want)
    assert graphs(Scale.norm)


def test_other_modules_are_left_alone_unless_named():
    source = "import numpy as np\ndef double(x):\n    return np.add(x, x)\n"
    named, inner, other = (make_module(name, source) for name in ("shelf", "shelf.inner", "shelfmate"))
    with capture.scope(include=("shelf",)):
        for module in (named, inner, other):
            assert_same(module.double(X), X + X)
    assert [graphs(module.double) for module in (named, inner, other)] == [1, 1, 0]


@pytest.mark.parametrize("include", ["shelf", ("shelf",), {"shelf"}, types.ModuleType("shelf")])
def test_include_takes_names_and_modules(include):
    module = make_module("shelf", "def double(x):\n    return x + x\n")
    with capture.scope(include):
        module.double(X)
    assert graphs(module.double) == 1


def test_include_of_something_else_is_refused():
    with pytest.raises(TypeError, match="names of packages, not 3"):
        capture.scope(include=(3,))


def test_libraries_are_inlined_where_they_are_called():
    module = make_module("othershelf", "def double(x):\n    return x + x\n")

    def uses(x):
        return module.double(x) * 3

    with capture.scope():
        assert_same(uses(X), (X + X) * 3)
    assert variants(module.double) == []


def test_own_code_is_never_captured():
    assert not scopes.Filter(frozenset({"capture.api"}), frozenset({"capture"})).wants("capture.api")


def test_generators_are_captured_between_their_yields():
    def each(count):
        for index in range(count):
            yield wave(X * index) + 1

    with capture.scope():
        found = list(each(3))
    for have, want in zip(found, each(3), strict=True):
        assert_same(have, want)
    (made,) = variants(each)
    assert len(made.info.settings.record.graphs) >= 1


def test_generators_without_array_work_are_left_alone():
    def each(count):
        for index in range(count):
            yield str(index) + "."

    with capture.scope():
        for _ in range(3):
            assert list(each(3)) == ["0.", "1.", "2."]
    assert graphs(each) == 0
    assert variants(each) == []


# ---- nesting, threads, exceptions ----


def test_scopes_nest_and_the_inner_one_adds():
    source = "def double(x):\n    return x + x\n"
    outer, inner = make_module("outershelf", source), make_module("innershelf", source)
    with capture.scope("outershelf"):
        with capture.scope("innershelf"):
            outer.double(X)
            inner.double(X)
        inner.double(X[:3])
        outer.double(X[:3])
    assert len(variants(inner.double)) == 1
    assert len(variants(outer.double)) == 2


def test_one_scope_may_be_entered_twice():
    block = capture.scope()
    with block, block:
        wave(X)
    with block:
        wave(X)
    assert variants(wave)[0].hits == 2


def test_scopes_may_be_left_in_any_order():
    first, second = capture.scope(), capture.scope("nothing")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    wave(X)
    second.__exit__(None, None, None)
    top_of_wave(X)
    assert (len(variants(wave)), len(variants(top_of_wave))) == (1, 0)


def test_a_scope_is_left_where_it_was_entered():
    block, seen = capture.scope(), []

    def leave():
        try:
            block.__exit__(None, None, None)
        except RuntimeError as error:
            seen.append(str(error))

    with block:
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
    assert seen == ["a scope is left on the thread that entered it"]


def test_an_exception_leaves_the_scope():
    with pytest.raises(ZeroDivisionError), capture.scope():
        add(1, 1 / 0)
    assert hook.armed_depth() == 0


def test_another_thread_is_left_alone():
    ready, done = threading.Event(), threading.Event()

    def elsewhere():
        ready.wait()
        wave(X)
        done.set()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    with capture.scope():
        ready.set()
        done.wait()
    thread.join()
    assert variants(wave) == []


def test_threads_may_have_scopes_of_their_own():
    source = "def double(x):\n    return x + x\n"
    modules = [make_module(f"shelf{index}", source) for index in range(8)]
    barrier, one_at_a_time = threading.Barrier(len(modules)), threading.Lock()
    wrong = []

    def work(index):
        with capture.scope(f"shelf{index}"):
            barrier.wait()
            for module in modules:
                if not np.array_equal(module.double(X), X + X):
                    wrong.append(module)
            barrier.wait()
            with one_at_a_time:  # while a thread captures, the others run plain
                modules[index].double(X)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(modules))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(variants(module.double) for module in modules)


def test_more_scopes_than_numbers():
    modules = [make_module(f"many{index}", "def double(x):\n    return x + x\n") for index in range(70)]
    for module in modules:
        with capture.scope(module):
            assert_same(module.double(X), X + X)
    assert all(graphs(module.double) == 1 for module in modules)
    with capture.scope(modules[-1]):
        assert_same(modules[0].double(X[:3]), X[:3] + X[:3])
    assert len(variants(modules[0].double)) == 1


def test_the_whole_process():
    thread = threading.Thread(target=top_of_wave, args=(X,))
    api.capture_process(__name__)
    try:
        thread.start()
        thread.join()
        wave(X)
    finally:
        api.capture_process(None)
    assert graphs(wave) == graphs(top_of_wave) == 1
    wave(X[:3])
    assert len(variants(wave)) == 1


def test_compiled_functions_within():
    @capture.compile(backend="eager")
    def compiled(x):
        if capture.is_compiling.__name__ == "":
            return x
        print(end="")
        return wave(x) + 1

    with capture.scope():
        assert_same(compiled(X), wave(X) + 1)
        assert_same(compiled(X), wave(X) + 1)
    assert compiled.graphs


def test_disabled_code_within():
    with capture.scope():
        capture.disable(top_of_wave)(X)
    assert variants(top_of_wave) == variants(wave) == []


def test_everything_may_be_turned_off():
    with capture.config.patch(disable=True), capture.scope():
        assert hook.armed_depth() == 0
        wave(X)
    assert variants(wave) == []


# ---- code without arrays ----


@pytest.fixture
def noted():
    """The names of the functions that are looked at."""
    names = []

    def noting(entry, arguments):
        names.append(entry.code.co_name)
        return before[0](entry, arguments)

    before = hook.set_callbacks(noting, lambda code: not is_library(code))
    yield names
    hook.set_callbacks(*before)


def test_code_without_arrays_is_looked_at_once(noted):
    with capture.scope():
        for number in range(50):
            add(number, 1)
            fibonacci(8)
    assert noted.count("add") == 1
    assert noted.count("fibonacci") == 1
    assert variants(add) == variants(fibonacci) == []


def test_arrays_that_come_later_are_seen(noted):
    with capture.scope():
        add(1, 2)
        add(3, 4)
        assert_same(add(X, 1), X + 1)
        add(X, 1)
        for number in range(20):
            add(number, 1.5)
    assert graphs(add) == 1
    assert noted.count("add") <= 2 + scopes.MOST_PLAIN + 1


def test_arrays_without_work_are_looked_at_once(noted):
    def length(x):
        return len(x.shape)

    with capture.scope():
        for count in range(5):
            assert length(np.ones((2,) * count)) == count
    assert noted.count("length") == 1


def test_breaks_without_array_work_end_in_plain_code(noted):
    def talk(count):
        for _ in range(count):
            print(end="")
            print(end="")
        return count

    with capture.scope():
        for _ in range(30):
            assert talk(3) == 3
    assert noted.count("talk") == 1
    assert variants(talk) == []


def test_array_work_behind_breaks_is_found():
    def late(x):
        print(end="")
        print(end="")
        print(end="")
        print(end="")
        return np.sqrt(x) + 1

    with capture.scope():
        found = [late(X), late(X)]
    for have in found:
        assert_same(have, np.sqrt(X) + 1)
    assert variants(late)


def test_long_plain_work_is_not_evaluated_to_its_end():
    def busy(count):
        total = 0
        for index in (1,) * 60:
            for other in (2,) * 60:
                for last in (3,) * 60:
                    total += index * other * last
        return total + count

    with capture.scope():
        assert busy(1) == 6 * 60**3 + 1
        assert busy(2) == 6 * 60**3 + 2


# ---- as in plain Python ----


def depth_of(function):
    """The deepest recursion that works."""
    low, high = 0, sys.getrecursionlimit()
    while high - low > 1:
        middle = (low + high) // 2
        try:
            function(middle)
            low = middle
        except RecursionError:
            high = middle
    return low


# ---- functions that are made, or called, at other times ----


def closures(count):
    """Functions of one code object, each of them made anew."""

    def make(step):
        def shift(x):
            return x * 2 + step

        return shift

    return (make(step) for step in range(count))


def test_functions_made_anew_are_seen_at_one_call_site():
    found = []
    with capture.scope():
        for shift in closures(40):
            found.append(shift(X))
    for step, have in enumerate(found):
        assert_same(have, X * 2 + step)
    shift = next(closures(1))
    assert graphs(shift) == 2  # the step becomes an input at its second value
    assert sum(variant.hits for variant in variants(shift)) == 40


def test_functions_called_between_scopes_are_seen_again():
    functions = list(closures(3))
    for hits in (30, 60, 90):
        for place in (capture.scope(), contextlib.nullcontext()):
            with place:
                for shift in functions * 10:
                    assert_same(shift(X), X * 2 + functions.index(shift))
            assert sum(variant.hits for variant in variants(functions[0])) == hits


def test_functions_made_between_scopes_are_seen_later():
    with capture.scope():
        pass
    functions = list(closures(3))
    for shift in functions:
        shift(X)
    with capture.scope():
        for shift in functions:
            shift(X)
    assert sum(variant.hits for variant in variants(functions[0])) == 3


def test_functions_outside_one_scope_may_be_inside_the_next():
    first, second = (make_module(name, "def double(x):\n    return x + x\n") for name in ("shelf", "board"))
    with capture.scope("shelf"):
        second.double(X)
    with capture.scope("board"):
        second.double(X)
        first.double(X)
    assert [graphs(module.double) for module in (first, second)] == [0, 1]


def test_functions_that_wait_may_die():
    with capture.scope():
        pass
    for shift in closures(2000):
        shift(X)
    watch = weakref.ref(shift)
    del shift
    gc.collect()
    assert watch() is None
    with capture.scope():
        assert_same(wave(X), np.sqrt(X) * 2 + X)
    assert graphs(wave) == 1


def test_after_a_reset_functions_are_looked_at_anew():
    with capture.scope():
        for number in range(200):
            add(number, 1)
        capture.reset()
        assert_same(add(X, 1), X + 1)
    assert graphs(add) == 1


def test_recursion_goes_as_deep():
    def deep(n):
        return 0 if n == 0 else 1 + deep(n - 1)

    def deep_arrays(n):
        return X.sum() if n == 0 else 1 + deep_arrays(n - 1)

    plain = depth_of(deep)
    with capture.scope():
        assert depth_of(deep) == plain
        assert depth_of(deep_arrays) >= plain - 2


def test_tracebacks_are_the_same():
    def outer(x):
        y = np.sin(x)
        return inner(y)

    def inner(y):
        z = y + 1
        raise ValueError(len(z))

    def outline():
        try:
            outer(X)
        except ValueError as error:
            return [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]

    plain = outline()
    with capture.scope():
        first, second = outline(), outline()
    assert first == second == plain


def test_stacks_are_the_same():
    def names():
        frame, found = sys._getframe(), []
        while frame is not None:
            found.append(frame.f_code.co_name)
            frame = frame.f_back
        return found

    def caller(x):
        return (x + 1).sum(), names()

    plain = caller(X)[1]
    with capture.scope():
        assert caller(X)[1] == plain
        assert caller(X)[1] == plain


def test_arguments_live_no_longer():
    class Payload:
        pass

    def drop(payload, x):
        total = (x + 1).sum()
        watch = weakref.ref(payload)
        del payload
        return watch() is None, total

    plain = drop(Payload(), X)
    with capture.scope():
        assert drop(Payload(), X)[1] == plain[1]


def test_nothing_is_kept_when_code_dies():
    def make():
        def local(x):
            return x * 2 + 1

        return local

    with capture.scope():
        function = make()
        function(X)
    watch = weakref.ref(function)
    del function
    gc.collect()
    assert watch() is None
