"""Exceptions that are known while tracing, and so are followed to their handler: each function makes one graph."""

from tests.corpus import case
from tests.helpers import numbers

pair = case(numbers(3), numbers(3) + 1)
CONFIG = {"steps": 3}


# Known --------------------------------------------------------------------------------------------------------------
@pair
def raises_and_handles(x, y):
    try:
        z = x + y
        raise ValueError("bad", 1)
    except ValueError as error:
        z = x - y
        text = f"{error} {error!r} {error.args[0]} {error!s:>20}" + str(error) + repr(error)
    finally:
        x = x * 2
    return z + x, text


@pair
def has_a_default(x, y):
    try:
        rate = CONFIG["rate"]
    except KeyError as error:
        rate = 0.5 if error.args == ("rate",) else 0.0
    return x * rate + y * CONFIG["steps"]


@pair
def divides_by_zero(x, y):
    try:
        q = 1 // (len(x) - 3)
    except (ZeroDivisionError, OSError):
        q = 2
    return x * q + y


@pair
def converts(x, y):
    found = []
    for text in ("1", "x", "2.5"):
        try:
            found.append(int(text))
        except ValueError:
            try:
                found.append(float(text))
            except ValueError as error:
                found.append(str(error))
    return x + y, found


@pair
def indexes(x, y):
    items = (x, y)
    try:
        return items[2]
    except IndexError as error:
        return items[1] + 1, str(error)


def inner(x, k):
    if k > 1:
        raise IndexError(k)
    try:
        if k == 1:
            raise KeyError(k)
    except ValueError:
        return x * 10
    return x + k


@pair
def handles_what_a_callee_raises(x, y):
    for k in range(3):
        try:
            x = inner(x, k) + y
        except LookupError as error:
            x = x - error.args[0]
        else:
            x = x * 2
    return x


@pair
def raises_again(x, y):
    try:
        try:
            raise ValueError(1)
        except ValueError:
            x = x + y
            raise
    except ValueError as error:
        return x * error.args[0]


@pair
def chains(x, y):
    try:
        try:
            raise ValueError(1)
        except ValueError as error:
            x = x + y
            raise KeyError("k") from error
    except KeyError:
        try:
            raise TypeError("t") from None
        except (AttributeError, TypeError):
            return x * 2


@pair
def returns_through_finally(x, y):
    for k in range(5):
        try:
            if k == 3:
                return x
            x = x + y
            continue
        finally:
            x = x * 2


@pair
def finally_wins(x, y):
    for _ in range(2):
        try:
            raise ValueError
        finally:
            x = x + y
            break  # noqa: B012
    return x


@pair
def goes_on_after_an_exception_in_a_loop(x, y):
    total = 0
    for k in range(6):
        try:
            if k % 2:
                raise StopIteration(k)
        except StopIteration as stop:
            total += stop.args[0]
            continue
        x = x + y * total
    return x, total


@pair
def keeps_what_was_changed(x, y):
    seen = []
    try:
        seen.append(x + 1)
        x[0] = 5
        raise RuntimeError
    except RuntimeError:
        seen.append(y)
    return seen, x


def not_implemented():
    raise NotImplementedError("later")


@pair
def tries_alternatives(x, y):
    for function in (not_implemented, lambda: x * 3):
        try:
            return function() + y
        except NotImplementedError:
            y = y + 1


@pair
def asserts(x, y):
    assert x.ndim == 1, "one axis"
    try:
        assert x.ndim == 2, f"{x.ndim} axes"
    except AssertionError as error:
        return x + y, str(error)
