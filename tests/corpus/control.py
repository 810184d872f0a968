"""Branches and loops: on values of arrays, native ones with breaks, nested, early returns; prints, logs, warnings."""

import io
import logging
import sys
import warnings

import numpy as np

import capture
from tests.corpus import case
from tests.helpers import numbers

seen = []
logger = logging.getLogger("tests.corpus.control")


class Remembers(logging.Handler):
    def emit(self, record):
        seen.append(f"{record.levelname} {record.getMessage()}")


logger.handlers[:] = [Remembers()]
logger.setLevel(logging.INFO)
logger.propagate = False


# Branches -----------------------------------------------------------------------------------------------------------
@case(numbers(3))
@case(-numbers(3))
def branches_on_a_value(x):
    y = x * 2
    if y.sum() > 0:
        y = np.sqrt(y)
    else:
        y = -y
    return y + 1


@case(numbers(3))
@case(-numbers(3))
def decides_several_times(x):
    scale = 1.0 if x[0] > 0 else -1.0
    y = x * scale
    if y.max() > 1 and not (y < 0).any() or y.size == 0:
        seen.append("large")
        return y
    elif (y > 5).all():
        return y * 2
    return -y


@case(numbers(4), 0)
@case(numbers(4), 3)
def returns_early(x, k):
    if k == 0:
        return None
    y = x + k
    if k > 10:
        return y
    for i in range(k):
        if i == 2:
            return y * i
        y = y + 1
    return y


@case(numbers(3), 1, "a")
@case(numbers(3), 2.5, "b")
def branches_on_arguments(x, k, name):
    if k > 2:
        x = x * k
    if name == "a" and k in (1, 2):
        x = x + 1
    elif name in {"b", "c"}:
        x = x - 1
    return x if k % 2 else -x


@case(numbers(3))
def asserts_about_arrays(x):
    y = x * 2
    assert y.shape == (3,)
    assert (y > 0).all(), "positive"
    assert y.sum() < 0, f"negative: {y.sum()}"
    return y


# Loops --------------------------------------------------------------------------------------------------------------
@case(numbers(3))
def converges(x):
    steps = 0
    while np.abs(x).max() > 0.1:
        x = x * 0.5
        steps += 1
        if steps > 50:
            break
    else:
        seen.append("converged")
    return x, steps


@case(numbers(3), 40)
def long_loop_with_a_break(x, n):
    for k in range(n):
        x = x * 0.9 + k
        if x[0] > 100:
            seen.append(k)
            continue
        if x[1] > 1000:
            break
        print(k, end=";")
    return x


@case(numbers(4))
def loops_over_elements(x):
    total, largest = 0.0, x[0]
    for k in range(len(x)):
        total += x[k] * k
        if x[k] > largest:
            largest = x[k]
    for value in x:
        total = total - value
    return total, largest


@case(numbers(3, 3))
def nested_loops(x):
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            if i * j == 2:
                break
            x[i, j] += i - j
        else:
            seen.append(i)
    return x


@case(numbers(3), [2, 0, 1])
def loop_with_everything(x, items):
    for k in items:
        try:
            y = x / k if k else 1 // k
        except ZeroDivisionError:
            seen.append("zero")
            continue
        finally:
            x = x + 1
        print(y.shape)
        if k == 1:
            break
    else:
        return x
    while True:
        x = x * 2
        if len(seen) > 100 or x[0] > 50:
            return x, y


@case(numbers(3))
def loop_variable_stays(x):
    for k in range(3):
        y = x * k
    for k in ():
        y = None
    for name, (a, b) in [("p", (1, 2)), ("q", (3, 4))]:
        y = y + a * b
    return k, name, y


@case(numbers(3), 5)
def counts_down(x, n):
    while n:
        n -= 1
        if n == 3:
            continue
        x = x + n
    return x, n


@case(numbers(3))
def unpacks_in_a_loop(x):
    rows = []
    for i, (a, *rest) in enumerate(zip(x, x[1:], x[2:], strict=False)):
        rows.append((i, a * 2, rest))
    return rows


@case(numbers(3))
def breaks_in_the_middle_of_expressions(x):
    def told(a):
        print(a.shape)
        return a

    y = x * 2 + told(x + 1) * 3
    return {"a": [told(y)[0], -y], "b": told(y) + told(x)}


def shows(a, depth):
    b = a + depth
    if depth:
        b = shows(b * 2, depth - 1)
    print("depth", depth, b.sum())
    return b - depth


@case(numbers(3))
def breaks_deep_inside(x):
    y = x + 1
    z = shows(y, 2) * y
    return z + shows(x, 0)


@case(numbers(3))
def asked_for_breaks(x):
    y = x + 1
    capture.graph_break()
    y = y * 2
    for k in range(2):
        capture.graph_break("in a loop")
        y = y + k
    return y


@capture.disable
def left_alone(a):
    return a * 3


@case(numbers(3))
def calls_what_is_disabled(x):
    return left_alone(x + 1) * 2


# Output -------------------------------------------------------------------------------------------------------------
@case(numbers(3))
def prints(x):
    y = x + 1
    print("before", y)
    y = y * 2
    print("after", y.sum(), file=sys.stdout, end="!\n")
    print(*y, sep="|")
    return y


@case(numbers(3))
def logs(x):
    y = x * 2
    logger.info("mean %.2f", y.mean())
    logger.debug("not shown %s", y)
    y += 1
    logger.warning(f"shape {y.shape}")
    return y


@case(numbers(3))
def warns(x):
    y = x - x
    warnings.warn("first", UserWarning, stacklevel=1)
    z = x / y
    warnings.warn(f"sum {z.sum()}", RuntimeWarning, stacklevel=1)
    return np.log(-x) + z


@case(numbers(3))
def changes_error_state(x):
    y = x - x
    with np.errstate(divide="ignore", invalid="ignore"):
        z = x / y
        w = y / y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = z + 1 / y
    return z, w, np.sqrt(-x)


@case(numbers(3))
def raises_on_division(x):
    y = x * 2
    with np.errstate(all="raise"):
        try:
            z = y / (x - x)
        except FloatingPointError as error:
            return y, str(error)
    return z


@case(numbers(3))
def writes_files(x):
    file = io.StringIO()
    y = x + 1
    file.write(f"{y[0]}\n")
    with file:
        np.savetxt(file, y * 2)
        text = file.getvalue()
    return y, text.split()[0], file.closed


@case(numbers(3))
def draws_random_numbers(x):
    rng = np.random.default_rng(3)
    noise = rng.normal(size=3)
    np.random.seed(1)
    y = x + noise * np.random.rand()
    rng.shuffle(y)
    return y, rng.integers(10), np.random.randint(5)


@case(numbers(3))
def looks_around(x):
    y = x * 2
    names = sorted(locals())
    return y, names, "numbers" in globals(), eval("x + 1"), dir(type("T", (), {"a": 1}))[-1]


@case(numbers(3))
def runs_text(x):
    space = {"x": x}
    exec("y = x * 2\ndef f(a):\n    return a + y", space)
    return space["f"](x), eval("f(1)", space)
