"""The language inside captured code: expressions and statements that make one graph, compared with plain Python.

Expressions are also run with every instruction a break; statements are of the corpus, which breaks them everywhere.
"""

import builtins
import contextlib
import functools
import itertools
import math
import operator
import sys
import types

import numpy as np
import pytest

from tests.corpus import statements
from tests.corpus.worlds import functions
from tests.helpers import captured, numbers

G = 2.0
NAMESPACE = {
    "np": np, "math": math, "functools": functools, "itertools": itertools, "operator": operator, "G": G,
    "contextlib": contextlib,
}  # fmt: skip


def expressions(text):
    """A function of two arrays for each row ``name :: expression``."""
    rows = (row.split(" :: ") for row in text.strip().splitlines())
    return {name: eval(f"lambda x, y: {expression}", dict(NAMESPACE)) for name, expression in rows}


WHOLE = expressions("""
fstring number :: (f"{x.ndim:03d} {G:.2f} {'a'!r:>5} {x.shape}", x + 1)
str method :: x + 1 if "AbC".lower().startswith("ab") and "a,b".split(",")[1] == "b" else y
str join :: {"-".join(["a", "b"]): x + y}
str in :: x + 1 if "b" in "abc" else y
str percent :: ("%s %d" % ("a", 3), x + 1)
str format :: ("{} {k}".format(1, k=2), x + 1)
set literal :: x + 1 if x.ndim in {1, 2} else y
set build :: x * len({1, 2, x.ndim})
set comp :: x * sum({k % 2 for k in range(4)})
set ops :: x * len({1, 2} | {3}) + len({1, 2} & {2}) + len({1} - {1})
set call :: x * len(set([1, 1, 2]))
frozenset :: x * len(frozenset([1, 1, 2]))
returned set :: (x + 1, {1, 2})
bytes :: (b"ab"[0], b"a" + b"b", x + 1)
star list :: [*(x, y), *[x + 1]]
star tuple :: (*(x, y), x + 1)
star dict :: {**{"a": x}, "b": y + 1}
star call :: np.add(*[x, y])
dict comp :: {k: v * 2 for k, v in {"a": x, "b": y}.items()}
nested comp :: [a * b for a in (x, y) for b in (1, 2) if b > 1]
walrus :: (z := x + y) * z
chained :: x + 1 if 0 < x.ndim <= 1 != 3 else y
partial :: functools.partial(np.add, x)(y)
partial kw :: functools.partial(np.sum, axis=0)(np.stack([x, y]))
partial fn :: functools.partial(lambda a, b, c: a * b + c, 2)(x, c=y)
reduce :: functools.reduce(operator.add, [x, y, x])
reduce init :: functools.reduce(lambda a, b: a * 2 + b, [x, y], 1)
operator :: operator.sub(x, y) + operator.truediv(x, y) + operator.neg(x)
itemgetter :: operator.itemgetter(1)((x, y)) + 1
itemgetter2 :: operator.itemgetter("a", "b")({"a": x, "b": y + 1})
attrgetter :: operator.attrgetter("ndim")(x) * y
methodcaller :: operator.methodcaller("sum")(x) * y
chain :: sum(itertools.chain([x], (y, x)))
product :: [a * b for a, b in itertools.product((x, y), (1, 2))]
combinations :: [a * b for a, b in itertools.combinations((x, y, x), 2)]
permutations :: [a - b for a, b in itertools.permutations((x, y), 2)]
repeat :: [a * y for a in itertools.repeat(x, 2)]
accumulate :: list(itertools.accumulate([x, y, x]))
islice :: list(itertools.islice([x, y, x], 1, 3))
count zip :: [k * a for k, a in zip(itertools.count(1), (x, y))]
starmap :: list(itertools.starmap(np.add, [(x, y), (y, y)]))
pairwise :: [b - a for a, b in itertools.pairwise([x, y, x])]
chain from :: sum(itertools.chain.from_iterable([[x], [y]]))
zip_longest :: [a * 2 for a, b in itertools.zip_longest((x, y), (1,))]
takewhile :: [a * 2 for a in itertools.takewhile(lambda a: a.ndim == 1, (x, y))]
compress :: [a * 2 for a in itertools.compress((x, y), (0, 1))]
math :: x * math.sqrt(2) + math.floor(2.5) + math.pi + math.gcd(4, 6) + math.prod([2, 3]) + math.inf
math exc :: x + 1 if math.isnan(math.nan) and math.isclose(1.0, 1.0) else y
sorted :: x * sorted([3, 1, 2])[0] + sorted("ba", reverse=True).index("b")
sorted key :: sorted([(2, x), (1, y)], key=lambda p: p[0])[0][1] + 1
sorted attr :: sorted([x, y], key=len)[0] + 1
list sort :: [items := [3, 1, 2], items.sort(), x * items[0]]
map :: list(map(lambda a: a * 2, (x, y)))
map2 :: list(map(np.add, (x, y), (y, x)))
map str :: (",".join(map(str, x.shape)), x + 1)
filter :: list(filter(None, [0, 1, 2])) + [x + 1]
filter fn :: [a + 1 for a in filter(lambda a: a.ndim == 1, (x, y))]
zip dict :: dict(zip("ab", (x + 1, y)))
dict pairs :: dict([("a", x + 1), ("b", y)])
dict kw :: dict(a=x + 1, b=y)
dict fromkeys :: dict.fromkeys("ab", x + 1)
enumerate :: [k * a for k, a in enumerate((x, y), start=2)]
reversed :: [a + 1 for a in reversed((x, y))]
reversed range :: [a * x for a in reversed(range(3))]
divmod :: x * divmod(7, 2)[0] + pow(2, 3) + pow(2, 3, 5) + round(2.567, 1) + abs(-2)
min max :: x * min(1, 2) + max([1, 2, 3]) + max(1, 2, key=lambda k: -k) + min((), default=4)
min by key :: min((x, y), key=lambda a: a.ndim) + 1
sum start :: sum([x, y], x)
sum lists :: sum([[x], [y + 1]], [])
isinstance :: x + 1 if isinstance(x, (np.ndarray, list)) and not isinstance(3, str) else y
isinstance union :: x + 1 if isinstance(3, int | str) else y
issubclass :: x + 1 if issubclass(int, object) else y
callable :: x + 1 if callable(len) and callable(lambda: 0) and not callable(3) else y
hasattr :: x + 1 if hasattr(x, "shape") and not hasattr(x, "foo") else y
getattr :: getattr(x, "foo", y) + getattr(x, "T")
type is :: x + 1 if type(x) is np.ndarray and type(3) is int else y
id :: x + 1 if x is not y else y
slice attrs :: x[slice(1, 2)] * slice(1, 2).start
range attrs :: x * range(1, 5).stop
range methods :: x * range(5).index(2) + (3 in range(5)) + range(5)[1:3][0]
int methods :: x * (5).bit_length() + int("7") + float("1.5") + int(2.7)
complex :: x * complex(1, 2).real
dict methods :: [d := {"a": x}, d.setdefault("b", y), d.pop("a"), d.get("c"), "b" in d, d | {"z": x + 1}][-1]
dict items list :: list({"a": x, "b": y + 1}.items())
dict keys :: (list({"a": x}.keys()), tuple({"a": x}), sorted({"b": x, "a": y + 1}))
dict values :: sum({"a": x, "b": y}.values())
dict eq :: x + 1 if {"a": 1} == {"a": 1} and [1, 2] < [1, 3] and (1,) != (2,) else y
list mul :: [x + 1] * 2
list slice :: [x, y, 1][:2][::-1][0] + 1
tuple cmp :: x + 1 if x.shape == y.shape and (1, 2) < (1, 3) else y
not :: x + (not [])
string mul :: ("ab" * 2, x + 1)
lambda default :: (lambda a, k=3: a * k)(x) + (lambda *, q=y: q)()
args kwargs :: (lambda *a, **k: a[0] * k["z"])(x, z=y)
unpack nested :: [a + b for (a, (b, *_)) in [(x, (y, 1, 2))]]
ellipsis :: x[...] + 1
numpy iter :: [a * 2 for a in np.stack([x, y])]
zip strict :: [a * b for a, b in zip((x, y), (1, 2), strict=True)]
all arrays :: np.array([1, 2, 3]) + x
chr ord :: (chr(97), ord("a"), hex(10), bin(3), oct(8), x + 1)
format fn :: (format(3.14159, ".2f"), repr([1, "a"]), str((1, 2)), ascii("é"), x + 1)
hash :: (hash(3), x + 1)
int bits :: x * (5 & 3 | 8 ^ 1) + (1 << 3) + (~5)
bool arith :: x + True + (3 > 2)
compare none :: x + 1 if y is not None else 0
iter next :: (it := iter((x, y)), next(it) + 1, next(it), next(it, None))
len str :: x * len("abc")
set issubset :: x + 1 if {1} <= {1, 2} and {1, 2}.issuperset({1}) else y
dict union :: {"a": x} | {"b": y + 1}
complex comp :: {k: [v * j for j in range(2)] for k, v in zip("ab", (x, y))}
tuple add :: (x,) + (y + 1,)
np.dtype str :: (str(x.dtype), x.dtype.name, x.dtype == "float64", x + 1)
shape fstring :: (f"{x.shape}", f"{x.dtype}", x + 1)
enumerate unpack :: [i * a + b for i, (a, b) in enumerate([(x, y), (y, x)])]
int.from :: (int.from_bytes(b"a", "big"), x + 1)
str.join map :: ("".join(map(str, [1, 2])), x + 1)
any nested :: x + any([a.ndim for a in (x, y)])
str.isdigit :: x + "12".isdigit() + "a".isalpha() + len(" a ".strip())
encode :: ("ab".encode(), b"ab".decode(), x + 1)
stream half used :: [it := map(lambda a: a * 2, (x, y)), next(it), it][1]
count slice :: [a * x for a in itertools.islice(itertools.count(3, 2), 1, 6, 2)]
islice ended :: [list(itertools.islice([1, 2], 1, 1)), x + 1]
chain of streams :: [a + 1 for a in itertools.chain(map(np.sqrt, (x, y)), filter(None, ()), [x])]
accumulate initial :: list(itertools.accumulate([x, y], lambda a, b: a * b, initial=1))
filterfalse :: [a + 1 for a in itertools.filterfalse(lambda a: a.ndim, (x, y))] + [x + 1]
product repeat :: [a + b for a, b in itertools.product((x, y), repeat=2)]
unbound method :: (list(map(str.upper, "ab")), str.strip(" a "), x + 1)
ndarray method :: list(map(np.ndarray.sum, (x, y)))
partial of partial :: functools.partial(functools.partial(np.clip, x), 1)(3) + y
returned partial :: [functools.partial(max, 1, key=abs)(-3), x + 1]
frozenset operators :: (frozenset([1, 2]) | frozenset([3]), frozenset("ab") >= {"a"}, x + 1)
set order :: (list({5, 3, 11, 19, 1}), [k for k in {"b", "a", "c"}], sum({1, 2}), sorted({3, 1}), x + 1)
set grown :: [s := {9}, s.add(1), s.update([17, 25]), s.add(9), list(s), s, x + 1]
set of set :: (set({8, 16, 1} | {0}), set("hello"), {1, 2}.copy(), set(range(9)), set({"a": 1}), x + 1)
set with arrays around :: x * (1 if len({x.ndim, y.ndim}) == 1 else 2)
dict deleted :: [d := {"a": x, "b": 1}, d.popitem(), d.clear(), d, y + 1]
list compared :: ([1, [2, 3]] < [1, [2, 4]], (1, 2) <= (1, 2), (1,) > (0, 5), "a" < "b", x + 1)
hasattr of module :: x * (2 if hasattr(np, "sqrt") and not hasattr(math, "sqroot") else 3)
bytes methods :: (b"a,b".split(b","), b"ab".hex(), b"ab"[1:], bytes([1, 2]), b"ab" in b"cab", list(b"ab"), x + 1)
text methods :: ("a-b".partition("-"), "x".center(5, "*"), "ab".encode("utf-8"), "A".casefold(), x + 1)
conversions :: (float("1e3"), int("ff", 16), bool([]), complex("1+2j"), bin(5)[2:], "%5.2f|%s" % (2.5, "a"), x + 1)
nested f-string :: (f"{G!r:>{x.ndim + 5}}|{'a' + 'b':*^6}|{x.shape[0]=}", x + 1)
zip strict of lists :: [a * k for a, k in zip([x, y], [1, 2], strict=True)]
sort with key and reverse :: [items := [x, y + 1], items.sort(key=np.ndim, reverse=True), items[1] + 1]
min max of keys :: (min("bca"), max({"a": 1, "b": 2}), min([3, 1, 2], key=lambda k: -k), max((), default=x) + 1)
getters :: (operator.itemgetter(0, 1)((x, y)), operator.attrgetter("T", "shape")(x), x + 1)
"""
)


@pytest.mark.parametrize("name", WHOLE)
def test_one_graph(name):
    run = captured(WHOLE[name])
    for _ in range(2):
        run(numbers(3), numbers(3) + 1)
    assert run.graphs <= 1 and run.breaks == []
    assert len(run.record.variants) == 1


@pytest.mark.parametrize("name", WHOLE)
def test_nothing_is_captured(name):
    run = captured(WHOLE[name], force_break=lambda code, index: True)
    for _ in range(2):
        run(numbers(3), numbers(3) + 1)


# Statements ---------------------------------------------------------------------------------------------------------
STATEMENTS = functions("statements")


@pytest.mark.parametrize("function", STATEMENTS, ids=lambda f: f.__name__)
def test_statements_make_one_graph(function):
    run = captured(function, fullgraph=True)
    for _ in range(2):
        run(numbers(3), numbers(3) + 1)
    assert run.graphs == len(run.record.variants) == 1

# Breaks that stay ---------------------------------------------------------------------------------------------------
def in_errstate(x, y):
    z = np.sqrt(x)
    with np.errstate(divide="ignore"):
        z = z / (y - y)
        z = z + 1
    return z * 2


def in_two_managers(x, y):
    x = x + 1
    with np.errstate(divide="ignore"), np.printoptions(precision=3):
        x = x / (y - y)
        text = str(np.float64(1.23456789))
    return x * 2, text


BROKEN = {
    in_errstate: 3,  # before, inside, after
    in_two_managers: 3,
}


@pytest.mark.parametrize("function", BROKEN, ids=lambda f: f.__name__)
def test_array_work_on_both_sides_of_a_break(function):
    run = captured(function)
    for _ in range(3):
        run(numbers(3), numbers(3) + 1)
    assert run.graphs == BROKEN[function] and run.breaks


# Escaping and guards ------------------------------------------------------------------------------------------------
def test_objects_that_escape():
    def f(x):
        streams = (
            map(abs, [1, -2]), filter(None, [0, 1]), itertools.chain([1], [2]), itertools.repeat(3, 2),
            itertools.accumulate([1, 2]), itertools.islice(range(9), 2, 8, 3), itertools.combinations("abc", 2),
            itertools.zip_longest([1], "ab"), itertools.starmap(pow, [(2, 3)]), itertools.compress("ab", [0, 1]),
        )  # fmt: skip
        firsts = [next(stream) for stream in streams]
        return streams, firsts, functools.partial(pow, 2), operator.itemgetter(1), contextlib.nullcontext(x), x + 1

    run = captured(f)
    for call in (f, run.entry, run.entry):
        streams, firsts, power, second, context, _ = call(numbers(3))
        seen = list(map(list, streams)), firsts, power(5), second("ab"), list(map(type, streams)), type(context)
        if call is f:
            expected = seen
        assert seen == expected
    assert run.graphs == 1 and run.breaks == []


def test_returned_closures_hold_what_they_should():
    def f(x):
        k = x + 1
        by_k = lambda: k  # noqa: E731
        others = [lambda: k for k in range(3)]  # noqa: B023
        k = k * 2
        return by_k, others

    run = captured(f, fullgraph=True)
    for _ in range(2):
        by_k, others = run.entry(numbers(3))
        np.testing.assert_array_equal(by_k(), (numbers(3) + 1) * 2)
        assert [other() for other in others] == [2, 2, 2]


def test_a_replaced_method_of_nullcontext_is_seen(monkeypatch):
    run = captured(statements.enters_nullcontext)
    run(numbers(3), numbers(3))
    monkeypatch.setattr(contextlib.nullcontext, "__enter__", lambda self: 5)
    run(numbers(3), numbers(3))


def test_a_replaced_module_is_seen(monkeypatch):
    def f(x):
        import operator

        return operator.neg(x)

    run = captured(f)
    run(numbers(3))
    fake = types.ModuleType("operator")
    fake.neg = lambda x: x * 7
    monkeypatch.setitem(sys.modules, "operator", fake)
    run(numbers(3))


def test_a_replaced_import_is_seen(monkeypatch):
    def f(x):
        import math

        return x * math.pi

    run = captured(f)
    run(numbers(3))
    original, fake = builtins.__import__, types.SimpleNamespace(pi=2)
    monkeypatch.setattr(builtins, "__import__", lambda name, *args: fake if name == "math" else original(name, *args))
    run(numbers(3))


def test_an_attribute_that_appears_is_seen():
    module = types.ModuleType("thing")

    def f(x):
        return x * (getattr(module, "scale", 2) if hasattr(module, "scale") else 3)

    run = captured(f)
    run(numbers(3))
    module.scale = 5
    run(numbers(3))
    module.scale = 6
    run(numbers(3))


def test_functions_given_to_streams_are_guarded():
    scale = 2

    def scaled(a):
        return a * scale

    def f(xs):
        return list(map(scaled, xs)), functools.partial(scaled, xs[0])(), sorted(xs, key=lambda a: -len(a))[0] + scale

    run = captured(f, fullgraph=True)
    run([numbers(3), numbers(2)])
    scale = 3
    run([numbers(3), numbers(2)])
    run([numbers(2), numbers(3)])
    scaled.__code__ = (lambda a: a + 1).__code__ if scaled.__closure__ is None else scaled.__code__
    run([numbers(3), numbers(2)])


def test_a_set_that_changes_while_it_is_iterated_over():
    def f(x):
        items = {1, 2}
        for k in items:
            items.add(k + 10)
            x = x + k
        return x

    captured(f)(numbers(3))


def test_zip_strict_of_different_lengths():
    def f(x, n):
        return [a * k for a, k in zip([x, x], range(n), strict=True)]

    run = captured(f)
    for n in (2, 1, 3):
        run(numbers(3), n)
