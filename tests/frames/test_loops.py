"""Loops and decisions as nodes of the graph: what Python makes of them, in every detail that can be seen.

Each program says how many loop nodes it has; results, arguments, identity, warnings and errors are compared with plain
Python by both backends. The corpus in ``tests/benchmarks/loops`` and the fuzzer look at many more.
"""

import itertools
import math

import numpy as np
import pytest

from capture import backends
from tests.helpers import captured

PROGRAMS = []
LOOPS = {
    **dict.fromkeys(("rows_views2", "cols"), 0),  # a view of an array of the caller is written
    **dict.fromkeys(("meth2", "nl"), 0),  # an object is changed in each round
    **dict.fromkeys(("inside", "aliased"), 0),  # which of two objects something is
    **dict.fromkeys(("bigint", "mixtype", "ones_bc", "uint"), 0),  # numbers and calls that programs do not have
    "whileelse": 2,
    "flag": 2,  # the loop, and what makes a Python bool of a scalar
    "enum": 4,
    "two_loops": 3,
    "inside2": 6,
}
"""Numbers of loop nodes, where it is not one."""


def case(*arguments):
    def enter(function):
        PROGRAMS.append((function, arguments))
        return function

    return enter


rng = np.random.default_rng(1)
A = rng.standard_normal((12, 12))
V = rng.standard_normal(15)
I8 = rng.integers(-100, 100, 15).astype("i1")
U8 = rng.integers(0, 255, 15).astype("u1")
B = V > 0
F4 = V.astype("f4")


@case(V.copy())
def rows_mutated(x):
    s = 0.0
    for v in x:
        x[0] = x[0] + 1
        s += v
    return s


@case(A.copy())
def rows_views(a):
    for r in a:
        r += 1
        r[0] = 5
    return a.sum()


@case(A.copy())
def rows_views2(a):
    for r in a[::2]:
        r *= 2
    return a


@case(A.copy())
def cols(a):
    for c in a.T:
        c[:] = c - c.mean()
    return a


@case(I8)
def i8sum(x):
    s = np.int8(0)
    for i in range(len(x)):
        s = s + x[i]
    return s


@case(U8)
def u8(x):
    c = 0
    for i in range(len(x)):
        if x[i] & 1:
            c += int(x[i]) >> 1
        x[i] = x[i] // 2
    return c, x


@case(F4)
def f4(x):
    s = 0.1
    for i in range(len(x)):
        s = s * x[i] + 1
    return s


@case(F4)
def f4b(x):
    y = np.zeros(3)
    for i in range(len(x)):
        y[i % 3] += x[i] * 0.1
    return y


@case(B.copy())
def bools(x):
    n = 0
    last = False
    for i in range(len(x)):
        if x[i] != last:
            n += 1
        last = x[i]
    return n, last


@case(-17, 5)
def intdiv(a, b):
    out = 0
    for k in range(1, 9):
        out = out * 3 + a // k + a % k - (-a) // k + (a * k) % 7 + (k << 2) + (a >> 1)
    return out


@case(V.copy(), V.copy())
def aliasarg(x, y):
    z = x
    for i in range(1, len(x)):
        z[i] = z[i - 1] * 0.5 + y[i]
    return x is z, z


@case(V.copy())
def slices_overlap(x):
    for _i in range(9):
        x[1:] = x[:-1] + x[1:] * 0.5
    return x


@case(V.copy())
def slice_rev(x):
    for _i in range(9):
        x[::-1] = x * 0.5
    return x


@case(A.copy())
def transpose_write(a):
    for _i in range(9):
        a[:] = a.T * 0.5 + a
    return a


@case(V.copy())
def nested_ret2(x):
    for i in range(len(x)):
        for j in range(i, len(x)):
            if x[i] + x[j] > 1.5:
                return i + j
    return -1


@case(V.copy())
def forelse(x):
    r = 0
    for i in range(len(x)):
        for j in range(10):
            if x[i] > j:
                break
        else:
            r += 1
            continue
        r -= j
    return r


@case(V.copy(), 1e300)
def overflow(x, big):
    y = x.copy()
    for _i in range(10):
        y = y * big
    return y


@case(V.copy())
def sqrtneg(x):
    s = 0.0
    for i in range(len(x)):
        s += np.sqrt(x[i])
    return s


@case(V.copy())
def mathneg(x):
    s = 0.0
    for i in range(len(x)):
        s += math.sqrt(x[i])
    return s


@case(10**19, 12)
def bigint(a, n):
    for _i in range(n):
        a = a * 10 + 1
    return a


@case(3, 50)
def pow_int(a, n):
    s = 1
    for _i in range(n):
        s = s * a % 1000003
        s += a**2
    return s


class M:
    def __init__(s):
        s.w = A.copy()
        s.b = 2.0
        s.n = 9
        s.log = []

    def run(s, x):
        for _i in range(s.n):
            x = s.w @ x[:12] * 0.1 + s.b
        return x

    def upd(s, x):
        for i in range(9):
            s.b = s.b + x[i]
        return s.b


@case(V.copy())
def meth(x):
    return M().run(x)


@case(V.copy())
def meth2(x):
    m = M()
    return m.upd(x), m.b


@case(V.copy())
def nl(x):
    t = 0.0

    def add(v):
        nonlocal t
        t += v

    for i in range(len(x)):
        add(x[i])
    return t


@case(V.copy())
def tryin(x):
    n = 0
    for i in range(len(x) + 3):
        try:
            x[i] += 1
        except IndexError:
            n += 1
    return n


@case(V.copy())
def withs(x):
    with np.errstate(all="ignore"):
        for i in range(len(x)):
            x[i] = np.sqrt(x[i])
    return x


@case(V.copy())
def whileelse(x):
    i = 0
    while i < len(x) and x[i] < 10:
        i += 1
    else:
        i = -i
    return i


@case(V.copy())
def enum(x):
    s = 0.0
    for i, v in enumerate(x, 3):
        s += i * v
    for a, b in itertools.pairwise(x):
        s += a * b
    for a, b in zip(range(5, 0, -1), x, strict=False):
        s -= a * b
    for i in reversed(range(len(x))):
        s = s * 0.5 + x[i]
    for i in range(len(x) - 1, -1, -2):
        s += x[i]
    return s


@case(V.copy(), np.array([3, -1, 0, 2, 14, -15]))
def idxneg(x, k):
    s = 0.0
    for i in range(len(k)):
        s += x[k[i]]
        x[k[i]] -= 1
    return s, x


@case(V.copy(), np.array([3, -1, 0, 2, 15, 1, 2]))
def idxoob(x, k):
    s = 0.0
    for i in range(len(k)):
        s += x[k[i]]
        x[k[i]] -= 1
    return s, x


@case(V.copy())
def chain(x):
    n = 0
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] > x[i + 1] or not (x[i] > 0 or x[i] < -1):
            n += 1
    return n


@case(V.copy())
def types(x):
    a = 1
    b = 2.0
    c = True
    for _i in range(10):
        a += 1
        b += a
        c = not c
        if c:
            a += c
    return a, b, c, type(a), type(c)


@case(V.copy())
def mixtype(x):
    a = 1
    for i in range(10):
        if i == 5:
            a = a / 2
    return a


@case(V.copy())
def npmix(x):
    m = -1e9
    for v in x:
        m = max(m, v)
    k = min(5, m)
    return m, k, type(m).__name__


@case(V.copy())
def nanmax(x):
    x[3] = np.nan
    m = x[0]
    for v in x:
        m = max(m, v)
    return m


@case(A.copy())
def tril(a):
    for i in range(a.shape[0]):
        a[i, i + 1 :] = 0
        a[i, :i] += a[:i, i]
    return a


@case(A.copy())
def where(a):
    for _i in range(6):
        a = np.where(a > 0, a * 0.9, a - 0.1)
        a[a < -5] = 0
        a += np.maximum(a, 0).sum(axis=0) * 1e-3
    return a


@case(A.copy())
def ones_bc(a):
    for _i in range(6):
        a = a - a.mean(axis=1, keepdims=True)
        a /= np.abs(a).max(axis=0)[None, :]
    return a


@case(A.copy())
def outofloop_view(a):
    v = a[1:5]
    for i in range(9):
        a[i] += i
    return v, v.base is a


@case(A.copy())
def two_loops(a):
    s = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        s[i] = a[i].sum()
    for i in range(a.shape[0]):
        a[i] /= s[i]
    t = 0.0
    for i in range(a.shape[0]):
        t += a[i, i]
    return t, s


@case(V.copy(), 0)
def zero_rounds(x, n):
    s = 0.0
    r = x
    for i in range(n * 3):
        s += x[i]
        r = r * 2
    for _ in range(len(x)):
        s += 1
    return s, r is x


@case(V.copy())
def uint(x):
    h = np.uint32(2166136261)
    for i in range(len(x)):
        h = h ^ np.uint32(i)
        h = np.uint32((int(h) * 16777619) & 0xFFFFFFFF)
    return h


RISING = np.arange(12.0)


@case(RISING, RISING, 11)
def which(u, v, t):
    first = u
    for _ in range(t):
        v[1:] = u[:-1] * 0.5
        u, v = v, u
    return u is first, v is first, u is v


@case(RISING, RISING, 10)
def which2(u, v, t):
    first = u
    for _ in range(t):
        v[1:] = u[:-1] * 0.5
        u, v = v, u
    return u is first, v is first, u is v


@case(RISING)
def flag(x):
    done = False
    for i in range(len(x)):
        done = x[i] > 5
    ok = bool(done)
    return done is True, ok is True, ok is not False


@case(RISING)
def flag2(x):
    done = False
    for i in range(len(x)):
        done = float(x[i]) > 5
    return done is True, done is False, done is None


@case(RISING, RISING)
def inside(x, y):
    n = 0
    a, b = x, y
    for _i in range(9):
        if a is b:
            n += 100
        if a is x:
            n += 1
        if a is not None:
            n += 10
        a, b = b, a
    return n


@case(RISING)
def inside2(x):
    n = 0
    f = True
    for i in range(9):
        f = x[i] > 3
        if f is True:
            n += 1
        g = float(x[i]) > 3
        if g is True:
            n += 5
        if g is not False:
            n += 7
    return n


@case(RISING)
def aliased(x):
    a = x
    for _i in range(9):
        b = a
        if b is a:
            x[0] += 1
        b = a[1:]
        if b is a:
            x[0] += 1
    return x


@case(1)
@case(100)
def extremes_behind(s):
    t = np.float64(20)
    for _ in range(12):
        s += 1
    return max(t, s), min(s, t), max(s, 3), min(s, 2.5)


for n in (0.5, 1.5, 9.0, -9.0):

    @case(V.copy(), n)
    def pairs(x, t):
        for i in range(len(x)):
            for j in range(i, len(x)):
                if x[i] + x[j] > t:
                    return i, j
        return None

    @case(V.copy(), n)
    def first(x, t):
        for i in range(len(x)):
            if x[i] > t:
                return x[i]
        return "none", 3

    @case(V.copy(), n)
    def state(x, t):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
            x[i] = 0
            if s > t:
                return s, i, True
        return s

    @case(V.copy(), n)
    def outer(x, t):
        def find(v):
            for i in range(len(v)):
                if v[i] > t:
                    return i
            return None

        k = find(x)
        return -1 if k is None else k * 2

    @case(V.copy(), n)
    def decide(x, t):
        if x.sum() > t:
            return None
        return x.sum()


def nodes(run):
    return sum(node.target == "loop" for graph in run.record.graphs for node in graph)


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda each: getattr(each, "__name__", ""))
def test_as_plain_python(function, arguments):
    run = captured(function)
    for _ in range(2):
        run.on(lambda: tuple(each.copy() if isinstance(each, np.ndarray) else each for each in arguments))
    assert nodes(run) == LOOPS.get(function.__name__, 1)


def test_scalars_meet_numbers_behind_a_loop():
    """A NumPy scalar and an int that a loop has computed."""

    def function(x, y):
        total, count, last = x[0] * 0, 0, y[0]
        for k in range(len(x)):
            if x[k] > 0:
                total += x[k]
                count += 1
                last = y[k]
        ratios = total / count, count / (total + 1), total - (count - 1), count * total, last + count, last // count
        return *ratios, total > count, count == last, total % count, -total * count

    run = captured(function, backend=backends.inductor)
    for x in (V.copy(), np.abs(V), V.astype("f4"), -np.abs(V)):
        run.on(lambda: (x.copy(), np.arange(len(x)) * 3))  # noqa: B023
    assert not run.breaks
