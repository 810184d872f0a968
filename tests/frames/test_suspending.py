"""Generators that exist as objects: what is between their yields is captured, all else is CPython's own."""

import contextlib
import gc
import inspect
import sys
import traceback
import types
import warnings
import weakref

import numpy as np
import pytest

import capture
from capture.errors import Unsupported
from capture.frames import hook
from capture.frames.bytecode import decode
from capture.frames.zones import zones_of
from tests.helpers import Outcome, captured, duplicate, numbers

X = numbers(4)


@pytest.fixture(autouse=True)
def nothing_is_known_of_frames():
    capture.reset()


def played(function, script, *args, times=2, **settings):
    """Let ``script`` play with generators of both the plain and the compiled function; compare all that is seen."""
    run = captured(function, **settings)
    for _ in range(times):
        plain = outcome(script, function, *args)
        run.compare(outcome(script, run.entry, *args), plain)
    return run


def outcome(script, function, *args):
    given = duplicate(args)
    return Outcome(lambda: script(function, *given), (), {})


def consumed(function, *args):
    """Items, what it returned, and that it has ended."""
    generator, items = function(*args), []
    while True:
        try:
            items.append(next(generator))
        except StopIteration as stop:
            return items, stop.value, next(generator, "ended")


# Generators and what they yield -------------------------------------------------------------------------------------
def batches(x):
    for i in range(0, 4, 2):
        part = x[i : i + 2] * 2.0
        yield part + 1
    yield x.sum()


def running(x):
    total = np.zeros_like(x)
    for k in range(5):
        square = np.sqrt(x * x + k)
        total = total + square
        yield total
    return total * 0.5


def while_loop(x):
    level = x
    while level.shape[0] > 1:
        level = level[::2] * 0.5 + 1
        yield level
    return "done"


def two_loops(x):
    for scale in (1.0, 2.0):
        row = x * scale
        for shift in (0.5, 0.25):
            yield row + shift
        yield row - 1
    else:
        yield -x


def enumerated(x):
    for i, (a, b) in enumerate(zip(x.reshape(2, 2), x.reshape(2, 2) * 2, strict=True)):
        yield i, a * b + i


def over_a_dict(x):
    for name, value in {"a": x, "b": x + 1}.items():
        yield name, np.tanh(value) * 2


def with_break(x):
    for k in range(10):
        x = x * 0.5
        if k == 3:
            break
        yield x
    yield x + 1


def with_continue(x):
    for k in range(6):
        if k % 2:
            continue
        yield x * k + 1


def delegates(x):
    got = yield from running(x + 1)
    yield got - 1
    yield from (x, x * 2)
    yield from [y * 2 for y in (x, x + 1)]


def nested(x):
    def inner(y):
        nonlocal count
        for _ in range(3):
            count += 1
            y = y * 2 + x
            yield y

    count = 0
    yield from inner(x)
    yield count


def keywords_and_defaults(x, *more, scale=2.0, **others):
    yield x * scale + len(more)
    for y in more:
        yield y * scale + len(others)


def unpacks(x):
    first, *rest = x * 2, x * 3, x * 4
    yield first + rest[0]
    (a, b), c = (first, rest[1]), 5
    yield a * b + c


def deletes(x):
    y = x * 2
    yield y
    del y
    try:
        yield y  # noqa: F821
    except UnboundLocalError as error:
        yield str(error)


def comprehends(x):
    rows = [x * k for k in range(3)]
    yield sum(rows) + 1
    table = {k: row + k for k, row in enumerate(rows)}
    yield table[2] * 2


def expression(x):
    yield (x + (yield x * 2) if False else x * 3)


def in_an_expression(x):
    got = np.add((yield x * 2) or x, x)
    yield got * 2


def walrus(x):
    if (y := x * 0.5).shape[0]:
        yield y + 1
    yield (x := y * 2) + y


def writes_in_place(x):
    out = np.zeros(4)
    for k in range(3):
        np.multiply(x, k, out=out)
        yield out.copy()
        out += 1
    x *= 2
    yield x


def matches(x):
    for shape in [(1,), (2, 2), "other"]:
        match shape:
            case (n,):
                yield x * n
            case (n, m):
                yield x.reshape(n, m) * 2
            case _:
                yield x - 1


def prints(x):
    print("begins")
    y = x * 2 + 1
    print("between", y[0])
    yield y * 3
    print("ends")


def never(x):
    y = x * 2 + 1
    if y.shape[0] > 100:
        yield y
    return y * 2


ITEMS = {
    batches: 3,
    running: 4,
    while_loop: 2,
    two_loops: 6,
    enumerated: 3,
    over_a_dict: 2,
    with_break: 3,
    with_continue: 2,
    delegates: 8,
    nested: 2,
    keywords_and_defaults: 1,
    unpacks: 2,
    deletes: 1,
    comprehends: 2,
    expression: 1,
    in_an_expression: 1,
    walrus: 2,
    writes_in_place: 5,
    matches: 3,
    prints: 2,
    never: 1,
}


@pytest.mark.parametrize("function", ITEMS, ids=lambda function: function.__name__)
def test_items(function):
    run = played(function, consumed, X)
    assert run.graphs == ITEMS[function]
    assert "yield" in run.kinds or function is expression


# What is done to generators -----------------------------------------------------------------------------------------
def averager(x):
    total, count = x * 0.0, 0
    while True:
        got = yield total / max(count, 1)
        if got is None:
            break
        total = total + np.abs(got)
        count += 1
    last = total * 2
    yield last
    return count


def sends(function, x):
    generator = function(x)
    items = [next(generator)]
    items += [generator.send(x * k) for k in (1, -2, 3)]
    items.append(next(generator))
    return items, _error(lambda: generator.send(x)), _error(lambda: next(generator))


def sends_too_early(function, x):
    generator = function(x)
    return _error(lambda: generator.send(x)), next(generator)


def guarded(x):
    y = x * 2
    try:
        while True:
            try:
                got = yield y + 1
                y = y + got if got is not None else y * 0.5
            except ValueError as error:
                print("caught", error)
                y = -y * 2
                yield y - 1
            else:
                y = y * 1.5
    finally:
        print("finally", (y * 2).sum())


def throws(function, x):
    generator = function(x)
    items = [next(generator), generator.throw(ValueError("first")), next(generator), generator.send(x)]
    items.append(generator.throw(ValueError("second")))
    return items, _error(lambda: generator.throw(KeyError("third"))), _error(lambda: next(generator))


def throws_at_once(function, x):
    generator = function(x)
    return _error(lambda: generator.throw(ValueError("early"))), _error(lambda: next(generator))


def closes(function, x):
    generator = function(x)
    items = [next(generator), next(generator)]
    generator.close()
    generator.close()
    return items, _error(lambda: next(generator))


def closes_at_once(function, x):
    generator = function(x)
    generator.close()
    return _error(lambda: next(generator))


def drops(function, x):
    generator = function(x)
    item = next(generator)
    del generator
    print("dropped")
    return item


def goes_on_when_closed(x):
    try:
        yield x * 2
    except GeneratorExit:
        yield x * 3


def _error(call):
    """What a call raises, and where: type, text, and the lines of the traceback behind this one."""
    try:
        return call()
    except BaseException as error:
        lines = [(frame.name, frame.lineno, frame.line) for frame in traceback.extract_tb(error.__traceback__)[2:]]
        context = error.__context__ and (type(error.__context__), str(error.__context__))
        return type(error), str(error), lines, context, getattr(error, "value", None)


SCRIPTS = {
    (averager, sends): 4,
    (averager, sends_too_early): 1,
    (averager, closes): 2,
    (averager, closes_at_once): 0,
    (guarded, throws): 3,
    (guarded, throws_at_once): 0,
    (guarded, closes): 2,
    (guarded, closes_at_once): 0,
    (guarded, drops): 1,
    (goes_on_when_closed, closes): 1,
    (running, drops): 2,
    (running, throws_at_once): 0,
    (delegates, closes): 4,
    (delegates, drops): 3,
}


@pytest.mark.parametrize(("function", "script"), SCRIPTS, ids=lambda each: each.__name__)
def test_what_is_done_to_them(function, script):
    run = played(function, script, X)
    assert run.graphs == SCRIPTS[function, script]


# Blocks -------------------------------------------------------------------------------------------------------------
class Manager:
    def __init__(self, swallows=False):
        self.swallows = swallows

    def __enter__(self):
        print("enter")
        return 2.0

    def __exit__(self, kind, error, where):
        print("exit", kind, error)
        return self.swallows


def in_with(x):
    with Manager() as scale, np.errstate(divide="ignore"):
        y = x * scale
        yield y + 1
        z = y / (x - 0.5)
        yield z
    yield x - 1


def in_with_that_swallows(x):
    with Manager(swallows=True):
        yield x * 2
        y = x * 3
        raise ValueError(y.shape)
    yield y + 1


def in_try(x):
    try:
        y = x.reshape(2, 2) * 2
        yield y
        z = np.linalg.inv(x)
        yield z
    except np.linalg.LinAlgError as error:
        print("caught", error)
        yield y * 3
    else:
        yield x
    finally:
        print("finally")
    yield y - 1


def fails_in_array_work(x):
    total = x * 2
    for shape in ((2, 2), (4,), (3,)):
        part = total + 1
        yield part.reshape(shape) * 2


def raises_in_a_block(x):
    try:
        for k in range(5):
            x = x * 2
            yield x + k
            if k == 2:
                raise KeyError(k)
    except KeyError as error:
        raise ValueError("outer") from error
    finally:
        yield x * 7


def raises_again(x):
    try:
        yield x * 2
        raise KeyError("inner")
    except KeyError:
        print(sys.exc_info()[0].__name__)
        yield x * 3
        raise


def stops_by_raising(x):
    y = x * 2 + 1
    yield y
    raise StopIteration(y.shape)


def warns(x):
    y = x * 2 + 1
    warnings.warn("here", stacklevel=1)
    yield y - 1
    warnings.warn("at whoever asks", stacklevel=2)
    yield np.log(x - 10.0)


def returns_from_blocks(x):
    for k in range(4):
        try:
            with Manager():
                y = x * k
                yield y + 1
                if k == 1:
                    return y * 2
        finally:
            print("finally", k)


def handles_across_yields(x):
    for k in range(3):
        try:
            y = x * k
            if k == 1:
                raise ValueError(k)
            yield y + 1
        except ValueError as error:
            yield str(error)
            y = x - 1
        yield y * 2


BLOCKS = {
    in_with: 3,
    in_with_that_swallows: 3,
    in_try: 2,
    fails_in_array_work: 6,
    raises_in_a_block: 2,
    raises_again: 1,
    stops_by_raising: 1,
    warns: 3,
    returns_from_blocks: 3,
    handles_across_yields: 5,
}


def consumed_with_error(function, *args):
    items, generator = [], function(*args)
    for _ in range(20):
        items.append(_error(lambda: next(generator)))
    return items


@pytest.mark.parametrize("function", BLOCKS, ids=lambda function: function.__name__)
def test_blocks(function):
    run = played(function, consumed_with_error, X)
    assert run.graphs == BLOCKS[function]


# Several, and many ---------------------------------------------------------------------------------------------------
def interleaved(function, x):
    first, second = function(x), function(x + 1)
    return [next(generator) for _ in range(4) for generator in (first, second)], list(second), list(first)


def test_generators_of_one_function_do_not_mix():
    run = played(running, interleaved, X)
    assert run.graphs == 4


def long(x, count):
    total = x * 0.0
    for k in range(count):
        total = total * 0.5 + k
        yield total


def test_nothing_is_compiled_again_for_each_round_or_generator():
    run = captured(long)
    last = [*run.entry(X, 300)][-1]
    once = run.graphs
    assert once == 3
    for _ in range(3):
        np.testing.assert_array_equal([*run.entry(X, 300)][-1], last)
    assert run.graphs == once
    for count in range(1, 12):
        assert len([*run.entry(X, count)]) == count
    assert run.graphs <= once + 2
    assert run.record.limits == []


def test_generators_leak_nothing():
    run = captured(running)

    def rounds(count):
        for _ in range(count):
            generator = run.entry(X)
            next(generator)
            next(generator)
        gc.collect()
        return len(gc.get_objects()), sys.getrefcount(X), sys.getrefcount(None)

    rounds(100)
    objects, references, _ = rounds(100)
    later, same, _ = rounds(10_000)
    assert later - objects < 50
    assert same == references


def test_what_a_generator_holds_dies_with_it():
    run = captured(holds)
    thing = Thing()
    gone = weakref.ref(thing)
    generator = run.entry(X, thing)
    next(generator)
    next(generator)
    del thing
    assert gone() is not None
    generator.close()
    assert gone() is None
    assert run.graphs == 2


class Thing:
    """Something whose end can be seen."""

    def __init__(self, name="thing"):
        self.name = name

    def __del__(self):
        print("end of", self.name)


def holds(x, thing):
    y = x * 2
    yield y
    z = y * 3
    yield z


def replaces(x):
    for k in range(3):
        thing = Thing(k)
        print("made", thing.name)
        y = x * 2 + k
        yield y
    thing = None
    print("none")
    yield x + 1


def test_objects_end_when_they_are_replaced():
    run = played(replaces, consumed, X)
    assert run.graphs >= 2


# How they look ------------------------------------------------------------------------------------------------------
def looks(function, x):
    generator = function(x)
    before = inspect.getgeneratorstate(generator)
    next(generator)
    frame = generator.gi_frame
    seen = [
        before,
        type(generator) is types.GeneratorType,
        generator.__name__,
        generator.__qualname__,
        inspect.getgeneratorstate(generator),
        frame.f_lineno,
        frame.f_code.co_name,
        frame.f_code.co_filename,
        frame.f_locals["total"],
        frame.f_back,
        generator.gi_yieldfrom,
        generator.gi_running,
    ]
    list(generator)
    return seen, generator.gi_frame, inspect.getgeneratorstate(generator)


def test_how_they_look():
    run = played(running, looks, X)
    assert run.graphs == 4


def asks_itself(x):
    y = x * 2
    yield y
    yield next(me[0]) + y


me = []


def test_a_generator_that_asks_itself():
    def script(function, x):
        me[:] = [function(x)]
        return next(me[0]), _error(lambda: next(me[0]))

    run = played(asks_itself, script, X)
    assert run.graphs >= 1


def callers(x):
    y = x * 2
    yield y + len(seen_from(0))
    yield y - len(seen_from(0))


def seen_from(depth):
    frames.append([frame.name for frame in traceback.extract_stack()][-4:])
    return ""


frames = []


def test_who_calls_from_a_region():
    assert list(callers(X))
    plain = frames[:]
    frames.clear()
    run = captured(callers)
    assert list(run.entry(X))
    assert frames == plain
    assert run.graphs >= 1


# Where they come from -----------------------------------------------------------------------------------------------
class Loader:
    def __init__(self, data):
        self.data = data
        self.scale = 2.0

    @capture.compile
    def batches(self, size):
        for start in range(0, len(self.data), size):
            yield self.data[start : start + size] * self.scale + 1

    @capture.compile
    def __iter__(self):
        for row in self.data:
            yield np.exp(-row) * self.scale

    @staticmethod
    @capture.compile
    def twice(x):
        yield x * 2
        yield x * 4 + 1


def test_methods():
    loader = Loader(np.arange(6.0))
    plain = [loader.data[i : i + 2] * 2.0 + 1 for i in (0, 2, 4)]
    np.testing.assert_array_equal(list(loader.batches(2)), plain)
    np.testing.assert_allclose(list(loader), np.exp(-loader.data) * 2.0)
    np.testing.assert_array_equal(list(Loader.twice(X)), [X * 2, X * 4 + 1])
    assert Loader.batches.graphs and Loader.__iter__.graphs and Loader.twice.graphs
    assert inspect.isgeneratorfunction(Loader.batches.__wrapped__)


class Base:
    def items(self, x):
        yield x * 2


class Derived(Base):
    def items(self, x):
        y = x + 1
        yield from super().items(y)
        yield y * 3 - 1


def test_super_in_a_generator():
    run = played(Derived.items, lambda function, x: [*function(Derived(), x)], X)
    assert run.graphs == 3


def test_a_generator_of_a_captured_function_that_escapes():
    def outer(x, scale):
        return (row * scale + 1 for row in x)

    run = captured(outer)
    plain = [row * 2.0 + 1 for row in X.reshape(2, 2)]
    for _ in range(3):
        np.testing.assert_array_equal(list(run.entry(X.reshape(2, 2), 2.0)), plain)
    assert run.graphs == 1


def test_a_loop_with_a_break_over_a_generator():
    def outer(x):
        found = []
        for item in running(x):
            if item.sum() > 20:
                break
            found.append(item * 2)
        return found

    run = captured(outer)
    for _ in range(2):
        run(X)
    assert run.graphs >= 4


def test_a_context_manager_made_of_a_generator():
    @contextlib.contextmanager
    @capture.compile
    def scaled(x):
        y = x * 2 + 1
        try:
            yield y
        except ValueError as error:
            print("caught", error)
        finally:
            y += 1
            print("left", y.sum())

    def use(x):
        with scaled(x) as y:
            z = y * 2
        with scaled(x):
            raise ValueError("inside")
        return z

    plain = scaled.__wrapped__.__wrapped__
    expected = Outcome(lambda: _use_plainly(plain, X), (), {})
    found = Outcome(lambda: use(X), (), {})
    assert found.output == expected.output
    np.testing.assert_array_equal(found.result, expected.result)
    assert scaled.__wrapped__.graphs


def _use_plainly(plain, x):
    scaled = contextlib.contextmanager(plain)
    with scaled(x) as y:
        z = y * 2
    with scaled(x):
        raise ValueError("inside")
    return z


def test_fullgraph_refuses_a_yield():
    with pytest.raises(Unsupported, match=r"stops here for its next item \[yield\]"):
        capture.compile(running, fullgraph=True, backend="eager")(X)


def test_breaks_are_reported_once():
    run = captured(running)
    list(run.entry(X))
    list(run.entry(X))
    assert run.kinds == ["yield"]


def test_they_outlive_their_function():
    run = captured(running)
    graphs, settings = run.record.graphs, weakref.ref(run.settings)
    generator = run.entry(X)
    plain = list(running(X))
    del run
    gc.collect()
    np.testing.assert_array_equal(list(generator), plain)
    assert len(graphs) == 4
    del generator
    gc.collect()
    assert settings() is None


def test_they_go_on_plainly_when_all_is_forgotten():
    compiled = capture.compile(running, backend="eager")
    generator = compiled(X)
    plain = list(running(X))
    first = next(generator)
    compiled.reset()
    np.testing.assert_array_equal([first, *generator], plain)
    assert compiled.graphs == []


def test_nothing_is_captured_while_disabled_or_traced():
    run = captured(running)
    plain = list(running(X))
    with hook.quiet():
        np.testing.assert_array_equal(list(run.entry(X)), plain)
    assert run.graphs == 0
    generator = run.entry(X)
    sys.settrace(lambda *_: None)
    try:
        np.testing.assert_array_equal(list(generator), plain)
    finally:
        sys.settrace(None)
    assert run.graphs == 0


def counts_up(n):
    k = 0
    while k < n:
        k += 1
        yield k


def test_pieces_without_array_work_stop_being_asked_for():
    run = captured(counts_up)
    assert list(run.entry(50)) == list(range(1, 51))
    pieces = [target.entry for target in run.record.resumes.values()]
    assert run.graphs == 0
    assert any(entry.plain for entry in pieces)


# Left alone ---------------------------------------------------------------------------------------------------------
async def coroutine(x):
    return [item * 2 async for item in asynchronous(x)]


async def asynchronous(x):
    for k in range(3):
        yield x * k


@types.coroutine
def old_coroutine(x):
    got = yield x * 2
    return got


def test_what_is_asynchronous_is_left_alone():
    for function in (coroutine, asynchronous, old_coroutine):
        assert capture.compile(function) is function
    with pytest.raises(StopIteration) as stop:
        coroutine(X).send(None)
    np.testing.assert_array_equal(stop.value.value, [X * 0, X * 2, X * 4])

    def outer(x):
        return coroutine(x * 2)

    run = captured(outer)
    with pytest.raises(StopIteration) as stop:
        run.entry(X).send(None)
    np.testing.assert_array_equal(stop.value.value, [X * 0, X * 4, X * 8])
    made = old_coroutine(X)
    np.testing.assert_array_equal(made.send(None), X * 2)


def sees_its_locals(x):
    y = x * 2
    yield sorted(locals())
    yield y + 1


def test_generators_that_look_at_their_variables_are_left_alone():
    run = played(sees_its_locals, consumed, X)
    assert run.graphs == 0


def test_with_kernels():
    run = played(running, consumed, X, backend=capture.backends.find_backend("inductor"), exact=False)
    assert run.graphs == 4


# Breaks everywhere --------------------------------------------------------------------------------------------------
EVERY = 9
"""Each how manyth instruction is broken at, alone."""
PLAYED = [
    *((function, consumed) for function in ITEMS),
    *((function, consumed_with_error) for function in BLOCKS),
    *SCRIPTS,
]


@pytest.mark.parametrize(("function", "script"), PLAYED, ids=lambda each: each.__name__)
def test_breaks_at_a_share_of_all_instructions(function, script):
    found = {}
    played(function, script, X, times=1, force_break=lambda code, index: found.setdefault((code, index)))
    played(function, script, X, force_break=lambda code, index: (code, index) in found)
    for point in list(found)[len(function.__name__) % EVERY :: EVERY]:
        capture.reset()
        played(function, script, X, force_break=lambda code, index, point=point: (code, index) == point)


def delegating(inner):
    return (yield from inner)


def test_the_way_back_for_the_next_value_is_no_piece():
    """Where everything is captured, too: no signal may arrive there."""
    zones = zones_of(decode(delegating.__code__), True)
    pieces = [{zones.code.instructions[index].op for index in zones.piece(entry)} for entry in zones.entries]
    assert pieces
    assert {"JUMP"} not in pieces
