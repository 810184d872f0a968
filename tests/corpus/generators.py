"""Generators and iterators: consumed, made, half used, closed; coroutines are left alone."""

import asyncio
import contextlib
import itertools

import numpy as np

from tests.corpus import Fresh, case
from tests.helpers import numbers

log = []


def batches(x, size):
    for start in range(0, len(x), size):
        log.append(start)
        yield x[start : start + size] * 2


def counting(n):
    try:
        for k in range(n):
            received = yield k
            if received is not None:
                log.append(received)
        return n * 10
    finally:
        log.append("closed")


def delegating(x):
    result = yield from counting(2)
    yield x * result
    yield from [x, x + 1]


@case(numbers(6))
def consumes_a_generator(x):
    total = np.zeros(2)
    for batch in batches(x, 2):
        total += np.sqrt(batch)
    return total


@case(numbers(4))
def expressions_of_generators(x):
    y = x * 2
    listed = list(a + 1 for a in (x, y)), dict((k, x) for k in "ab")
    return sum(y[k] for k in range(4)), listed, max(float(a) for a in y)


@case(numbers(3))
def half_used(x):
    stream = counting(5)
    y = x * next(stream)
    y = y + next(stream)
    log.append("between")
    rest = list(itertools.islice(stream, 2))
    stream.close()
    return y, rest, next(stream, "end")


@case(numbers(3))
def sends_and_throws(x):
    stream = counting(3)
    y = x + next(stream)
    y = y * stream.send("sent")
    try:
        stream.throw(KeyError("thrown"))
    except KeyError as error:
        return y, error.args


@case(numbers(3))
def value_of_a_generator(x):
    stream = counting(1)
    next(stream)
    y = x * 3
    try:
        next(stream)
    except StopIteration as stop:
        return y * stop.value
    return y


@case(numbers(3))
def delegates(x):
    return list(delegating(x + 1))


@case(numbers(6))
def returns_a_generator(x):
    y = x + 1
    return batches(y, 4), (a * 2 for a in y)


@case(numbers(3))
def unpacks_generators(x):
    first, second, *others = batches(x, 1)
    return first + second, others, [*counting(2)], {**{k: k for k in counting(2)}}


@case(numbers(3))
def generator_that_raises(x):
    def failing():
        yield x * 2
        log.append("raising")
        raise ValueError("in a generator")

    seen = []
    try:
        for y in failing():
            seen.append(y + 1)
    except ValueError as error:
        return seen, str(error)


class Windows:
    """An iterator written out."""

    def __init__(self, x, size):
        self.x, self.size, self.at = x, size, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at + self.size > len(self.x):
            raise StopIteration
        self.at += 1
        return self.x[self.at - 1 : self.at - 1 + self.size].sum()


class Lines:
    """Iterable by __getitem__ alone."""

    def __init__(self, x):
        self.x = x

    def __getitem__(self, k):
        if k >= 2:
            raise IndexError(k)
        return self.x * k


@case(numbers(5))
def consumes_iterators(x):
    found = [window * 2 for window, _ in zip(Windows(x, 3), range(9), strict=False)]
    for line in Lines(x):
        found.append(line)
        if len(found) > 9:
            break
    return found, list(map(float, itertools.islice(Windows(x, 4), 9)))


@case(Fresh(lambda: (numbers(3) * k for k in range(3))))
@case(Fresh(lambda: iter([numbers(3), 2.0])))
@case([numbers(3), numbers(3)])
def takes_an_iterable(items):
    total = 0
    for item in items:
        total = total + item * 2
    return total


@case(Fresh(lambda: iter([numbers(3), numbers(3), numbers(3)])))
def advances_its_argument(stream):
    first = next(stream) * 2
    return first, stream


@case(numbers(3))
def streams_of_the_library(x):
    pairs = [a * b for a, b in itertools.product((1, 2), (x, x + 1))]
    running = list(itertools.accumulate([x, x, x], np.add))
    groups = {k: [a for a in g] for k, g in itertools.groupby([1, 1, 2], lambda a: a % 2)}
    twice = itertools.tee([x, x * 2])
    cycled = list(itertools.islice(itertools.cycle([1, 2]), 5))
    return pairs, running[-1], groups, next(twice[0]) + next(twice[1]), cycled, list(itertools.chain("a", [x]))


@contextlib.contextmanager
def scaled(x, factor):
    log.append("enter")
    try:
        yield x * factor
    except KeyError:
        log.append("swallowed")
    finally:
        log.append("leave")


@case(numbers(3))
def manager_from_a_generator(x):
    with scaled(x, 2.0) as y:
        z = y + 1
    with scaled(z, 3.0) as y:
        y = y * 2
        raise KeyError("k")
    return z + y


@case(numbers(3))
def runs_a_coroutine(x):
    async def child(a):
        log.append("child")
        return a + 1

    async def parent(a):
        b = a * 2
        return await child(b) + await child(a)

    coroutine = parent(x)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value * 2


class Ready:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        got = yield self.value
        return got


@case(numbers(3))
def drives_a_coroutine(x):
    async def works():
        first = await Ready(x * 2)
        async with Locked() as name:
            second = await Ready(first + 1)
        return first, second, name, [k async for k in ticks(2)]

    coroutine = works()
    step = coroutine.send(None)
    step = coroutine.send(step * 3)
    try:
        coroutine.send(step + x)
    except StopIteration as stop:
        return stop.value


class Locked:
    async def __aenter__(self):
        return "locked"

    async def __aexit__(self, *error):
        log.append("unlocked")


async def ticks(n):
    for k in range(n):
        yield k


@case(numbers(3))
def runs_an_event_loop(x):
    async def work(k):
        await asyncio.sleep(0)
        return x * k

    async def main():
        return await asyncio.gather(work(1), work(2))

    y = x + 1
    return y, asyncio.run(main())
