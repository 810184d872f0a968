"""Functions that between them use every construct a frame can be stopped in; each takes a list to log to."""

from __future__ import annotations

from typing import Any

from tests.corpus import case

Log = list[Any]
LIMIT = 3


class Manager:
    """Logs, and swallows exceptions of one type."""

    def __init__(self, log: Log, swallow: type[BaseException] | tuple[()] = ()) -> None:
        self.log = log
        self.swallow = swallow

    def __enter__(self) -> str:
        self.log.append("enter")
        return "entered"

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> bool:
        self.log.append(("exit", kind))
        return kind is not None and issubclass(kind, self.swallow)


@case([])
@case([], 7, 8, 9)
def straight(log: Log, x: int = 5, *more: int, scale: float = 2.0, **names: int) -> Any:
    y = (x + scale) * -x // 3
    log.append(y)
    pair = x, y
    pair = pair[::-1]
    first, *others = [*pair, *more]
    text = f"{first!r:>{x}}|{others}|{y:.2f}" + "é" * 2
    table = {"a": x, **names, text: pair}
    table["a"] += 1
    del table["a"]
    return log, text, table, not x, x is None, x in pair, max(x, y, key=abs), sorted([3, 1], reverse=True)


@case([])
@case([], 0)
def loops(log: Log, n: int = 4) -> Any:
    total = 0
    for i in range(n):
        if i == 1:
            continue
        for j, name in enumerate("abc"):
            if j > LIMIT or (i and not j):
                break
            log.append((i, j, name))
            total += i * j if j else 1
        else:
            total += 100
    while total > 90:
        total -= 7
    else:
        log.append("done")
    return (total and log) or n


@case([])
def comprehensions(log: Log, n: int = 3) -> Any:
    i = "kept"
    squares = [i * i for i in range(n) if i or n]
    nested = {(a, b) for a in squares for b in [a + n]}
    named = {str(k): [lambda: (k, v, n) for v in range(2)] for k in squares}  # noqa: B023
    log.append([f() for fs in named.values() for f in fs])
    return i, squares, sorted(nested), sum(x for x in squares), log


@case([], 3)
def closures(log: Log, x: int = 1) -> Any:
    count = 10

    def bump(by: int = 2, *, twice: bool = False) -> int:
        nonlocal count
        count += by * (1 + twice) + x
        return count

    bump()
    x += 1
    log.append((bump(twice=True), count))
    x = x * 2
    return [bump(by) for by in range(2)], count, x, bump.__defaults__, bump.__kwdefaults__, log


@case([])
@case([], 3)
@case([], "text")
def handled(log: Log, bad: int = 0) -> Any:
    try:
        log.append("try")
        value = 10 // bad
    except (KeyError, ZeroDivisionError) as error:
        log.append(repr(error))
        try:
            raise ValueError(str(error)) from error
        except ValueError as second:
            value = len(second.args)
            log.append(type(second.__cause__))
        finally:
            log.append("inner finally")
    else:
        log.append("else")
    finally:
        log.append("finally")
    return value, log


@case([])
@case([], "present")
def uncaught(log: Log, key: str = "missing") -> Any:
    table = {"present": 1}
    try:
        try:
            return table[key]
        except IndexError:
            log.append("not this")
        finally:
            log.append(key)
    except KeyError:
        log.append("again")
        raise


@case([])
@case([], False)
def withs(log: Log, fail: bool = True) -> Any:
    with Manager(log, ValueError) as a, Manager(log):
        log.append(a)
        if fail:
            raise ValueError("swallowed")
        log.append("not reached")
    for i in range(3):
        with Manager(log) as b:
            if i == 1:
                continue
            if i == 2:
                return b, log
    return None


@case([])
@case([], {"kind": 1, "more": 2})
@case([], 3)
def matches(log: Log, subject: Any = ("point", 1, 2)) -> Any:
    match subject:
        case {"kind": kind, **rest}:
            return kind, rest
        case ["point", x, *others] if x:
            log.append(others)
            return x
        case str() | int():
            return "scalar"
        case _:
            return log


@case([])
@case([], True)
def unbound(log: Log, define: bool = False) -> Any:
    if define:
        ghost = 1
    log.append("before")
    for ghost in log[:0]:
        pass
    return ghost


@case([])
@case([], 2)
def checks(log: Log, x: int = 0) -> Any:
    from math import hypot, pi

    assert hypot(3, x + 4) == 5.0, "only for zero"
    global WRITTEN
    WRITTEN = pi
    return (1 < x < 5 or x == 0) and (x if x is not None else pi), WRITTEN, log


class Base:
    def __init__(self, log: Log) -> None:
        self.log = log

    def name(self, mark: str = "base") -> str:
        self.log.append(mark)
        return mark


class Derived(Base):
    def name(self, mark: str = "derived") -> str:
        own = super().name(mark)
        both = [super(Derived, self).name("explicit") for _ in range(1)]
        return own + both[0] + (lambda: self.log[-1])() + super().name()


@case([])
def inherited(log: Log) -> Any:
    derived = Derived(log)
    derived.extra = 1
    del derived.extra
    return derived.name(), log


CALLS = [(globals()[name], call.args[1:]) for name, calls in globals()["CASES"].items() for call in calls]
"""The functions with their arguments behind the log."""
