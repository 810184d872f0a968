"""The size algebra against stated forms, brute force over small values, sympy, and a C compiler."""

import ctypes
import doctest
import importlib
import pickle
import shutil
import subprocess
import sys
from random import Random

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture.ir import shapes
from capture.ir.shapes import (
    C_HELPERS,
    Contradiction,
    Facts,
    Points,
    Symbol,
    TooComplex,
    broadcast,
    eq,
    evaluate,
    ge,
    gt,
    holds,
    is_static,
    le,
    lt,
    maximum,
    minimum,
    ne,
    negate,
    parse,
    parse_relation,
    product,
    relation_to_python,
    replace,
    substitute,
    symbols,
    tidy,
    to_c,
    to_python,
)
from capture.ir.shapes.expr import MAX_NODES, MAX_TERMS
from tests.ir import fuzz_shapes
from tests.ir.fuzz_shapes import build, direct, random_env, random_symbols, random_tree, value_or_none

n, m, k = Symbol("n"), Symbol("m"), Symbol("k", low=1)
i, j = Symbol("i", low=None), Symbol("j", low=None)

MODULES = "divisions expr extremes facts lowest ranges relations samples simplex text traverse witness dialect".split()  # noqa: SIM905


@pytest.mark.parametrize(
    "module", [shapes, *(importlib.import_module(f"capture.ir.shapes.{name}") for name in MODULES)]
)
def test_examples_of_docstrings(module):
    public = {name: getattr(shapes, name) for name in shapes.__all__}
    failed, _ = doctest.testmod(module, globs={**public, **vars(module)})
    assert not failed


@pytest.mark.parametrize("name", ["divisions", "expr", "extremes"])
def test_any_module_can_be_imported_first(name):
    subprocess.run([sys.executable, "-c", f"import capture.ir.shapes.{name}"], check=True)


# Normal forms

NORMAL_FORMS = [
    (n + m - n, "m"),
    (2 * (n + 3) - n - n, "6"),
    ((n + 1) * (n - 1), "n**2 - 1"),
    (n * m - m * n, "0"),
    (m - n, "m - n"),
    (-n - 2, "-n - 2"),
    (-(n // 2), "-(n // 2)"),
    # a division by a number
    (n * 4 // 4, "n"),
    ((4 * n + 6) // 4, "n + 1"),
    ((4 * n + 2 * m) // 4, "m // 2 + n"),
    (6 * n // 4, "n + n // 2"),
    (n // 4 // 3, "n // 12"),
    ((n // 4 + 1) // 3, "(n + 4) // 12"),
    (-(-n // 3), "(n + 2) // 3"),
    ((n - 1) // 2 + 1, "(n + 1) // 2"),
    (n // -2, "-((n + 1) // 2)"),
    (Symbol("b", high=7) // 8, "0"),
    ((n + 8) % 4, "n % 4"),
    (7 * n % 3, "n % 3"),
    (2 * n % 4, "2*(n % 2)"),
    ((2 * n + 1) % 4, "2*(n % 2) + 1"),
    (n % 12 % 4, "n % 4"),
    (n % 4 % 12, "n % 4"),
    (n % 12 // 4, "(n // 4) % 3"),
    (-n % 3, "2 - (n + 2) % 3"),
    (n // 4 * 4 + n % 4, "n"),
    ((n + m) // 4 * 8 + (n + m) % 4 * 2, "2*m + 2*n"),
    # a division by a size: removed only where it cannot be zero
    (n * k // k, "n"),
    (n * m // m, "(m*n) // m"),
    ((n * k + n) // k, "n + n // k[1..]"),
    ((n + 1) ** 2 // (n + 1), "n + 1"),
    (n // (n + 1), "0"),
    (n % (n + 1), "n"),
    (n // k * k + n % k, "n"),
    (n // m * m + n % m, "m*(n // m) + n % m"),
    (n * k % k, "0"),
    (n % k % k, "n % k[1..]"),
    (2 * n // (2 * k), "n // k[1..]"),
    (3 * n % (3 * m), "3*(n % m)"),
    (n // k // Symbol("l", low=1), "n // (k[1..]*l[1..])"),
    (n // -m, "(-n) // m"),
    # extremes
    (maximum(n, 0), "n"),
    (maximum(n + k, n), "k[1..] + n"),
    (minimum(n, -1), "-1"),
    (maximum(n - 1, 0), "max(0, n - 1)"),
    (minimum(2 * n, 4), "2*min(2, n)"),
    (maximum(n, maximum(m, 3), 5), "max(5, m, n)"),
    (maximum(n, 2 * maximum(n, m)), "2*max(m, n)"),
    (maximum(n + 1, m + 1), "max(m, n) + 1"),
    (maximum(-n, -m), "-min(m, n)"),
    (minimum(n - m, 0), "-max(0, m - n)"),
    (minimum(n, maximum(n, m)), "n"),
    (abs(n), "n"),
    (abs(i), "max(-i[..], i)"),
    (n**0, "1"),
    (n**3 * n, "n**4"),
]


@pytest.mark.parametrize(("size", "text"), NORMAL_FORMS, ids=[text for _, text in NORMAL_FORMS])
def test_normal_form(size, text):
    assert str(size) == text
    assert parse(str(size)) == size


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_random_expressions_equal_brute_force(random):
    fuzz_shapes.check_expression(random)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_random_facts_equal_brute_force(random):
    fuzz_shapes.check_facts(random)


@pytest.mark.parametrize("seed", range(8))
def test_more_random_cases(seed):
    for case in range(60):
        check = fuzz_shapes.check_facts if case % 4 == 3 else fuzz_shapes.check_expression
        check(Random(f"test/{seed}/{case}"))


def random_polynomial(random, depth):
    if depth == 0:
        return random.choice((i, j, n)) if random.random() < 0.7 else random.randint(-5, 5)
    return (random.choice("+-*"), random_polynomial(random, depth - 1), random_polynomial(random, depth - 1))


def in_sympy(tree):
    if isinstance(tree, Symbol):
        return sympy.Symbol(tree.name)
    return (
        sympy.Integer(tree) if isinstance(tree, int) else fuzz_shapes.OPERATIONS[tree[0]][0](*map(in_sympy, tree[1:]))
    )


@pytest.mark.parametrize("seed", range(60))
def test_polynomials_are_those_of_sympy(seed):
    random = Random(seed)
    tree = random_polynomial(random, random.choice((2, 3, 4)))
    size, expected = build(tree), sympy.expand(in_sympy(tree))
    assert sympy.expand(sympy.sympify(to_python(size))) == expected
    other = build(random_polynomial(random, 2))
    assert (size - other == 0) == (sympy.expand(expected - sympy.sympify(to_python(other))) == 0)


# Size and cost


def test_large_products_keep_their_factors():
    many = sum((Symbol(f"a{index}") for index in range(MAX_TERMS)), 0)
    square = many * many
    assert str(square) == f"({many})**2"
    assert str(square * (n + 1) * -2) == f"-2*({many})**2*(n + 1)"
    assert substitute(square, dict.fromkeys(symbols(many), 1)) == MAX_TERMS**2
    assert parse(str(square)) == square


def test_products_of_many_sums_stay_small():
    size = product(n + index for index in range(30))
    assert size.nodes < 100
    assert evaluate(size, {"n": 1}) == product(range(1, 31))


def test_an_expression_that_explodes_is_refused():
    size = n
    with pytest.raises(TooComplex, match=f"limit is {MAX_NODES}"):
        for _ in range(50):
            size = size // m + size % m


def test_too_complex_proofs_are_given_up():
    size = sum((n // Symbol(f"a{index}", low=1) * m for index in range(30)), 0)
    other = sum((n // Symbol(f"b{index}", low=1) * m for index in range(30)), 0)
    facts = Facts.of(le(size, other), le(other, size))
    assert facts.decide(eq(n, m)) is None
    assert facts.bounds(size) == (0, None)


# Behaviour as Python values


def test_sizes_are_values():
    assert n + 1 == 1 + n and hash(n + 1) == hash(1 + n)
    assert n != n + 0 * m + 1 and n != 3 and n != "n"
    assert Symbol("n") == n and Symbol("n", high=4) != n
    assert len({n * m, m * n, n // 2, n // 2 + 0}) == 2
    assert type((n + True) - n) is int


def test_pickles_compare_equal_in_another_process():
    size = maximum(n // 2 * k, m % 3 - i)
    code = (
        "import pickle, sys; from capture.ir.shapes import parse;"
        f"size = pickle.loads({pickle.dumps(size)!r});"
        f"assert size == parse({str(size)!r}) and hash(size) == hash(parse({str(size)!r}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert pickle.loads(pickle.dumps(size)) == size


@pytest.mark.parametrize("use", [bool, int, range, lambda size: size < 3, lambda size: size / 2, lambda size: size**-1])
def test_what_needs_a_value_is_an_error(use):
    with pytest.raises(TypeError):
        use(n + 1)


@pytest.mark.parametrize("number", [1.5, np.float64(2), np.int64(2), "2", None])
def test_only_ints_combine_with_sizes(number):
    for operation in (lambda: n + number, lambda: number * n, lambda: n // number, lambda: number - n):
        with pytest.raises(TypeError):
            operation()


def test_relations_have_no_truth_value():
    with pytest.raises(TypeError, match="question to Facts"):
        assert eq(n, n)


def test_names_and_ranges_are_checked():
    for name in ("2n", "x.y", "for", "min", ""):
        with pytest.raises(ValueError, match="not a name"):
            Symbol(name)
    with pytest.raises(ValueError, match="no value lies between"):
        Symbol("n", low=3, high=2)


def test_division_by_the_number_zero():
    for operation in (lambda: n // 0, lambda: n % 0, lambda: n // (m - m), lambda: substitute(n % m, {m: 0})):
        with pytest.raises(ZeroDivisionError):
            operation()


def test_parts():
    assert symbols(n * m // 2, 3, maximum(i, n)) == {n, m, i}
    assert is_static((1, 2)) and not is_static((1, n))
    assert product([]) == 1 and product([2, n, 3]) == 6 * n
    assert substitute(n // 2 + m, {m: n // 2}) == 2 * (n // 2)
    assert substitute(maximum(n // 2, m), {n // 2: m + 1}) == m + 1


# Text


def test_ranges_are_written_once():
    low = Symbol("a", low=2, high=9)
    assert str(low * n + low) == "a[2..9]*n + a"
    assert parse("a[2..9]*n + a") == low * n + low
    assert parse("a*n + a", [low]) == low * n + low
    assert parse("a") == Symbol("a")


@pytest.mark.parametrize(
    "text", ["n +", "n / 2", "n.real", "f(n)", "1.5", "n[1..2] + n[1..3]", "", "min()", "True", "n == m"]
)
def test_what_is_not_a_size_does_not_parse(text):
    with pytest.raises(ValueError, match=r"not a size|two ranges"):
        parse(text)


def test_python_text_in_the_terms_of_the_reader():
    size = (n + 1) // 2 * m - minimum(n, 3)
    assert to_python(size, {"n": "x.shape[0]"}) == "((x.shape[0] + 1) // 2)*m - min(3, x.shape[0])"
    assert to_python(7) == "7"
    assert relation_to_python(le(n, m), {"m": "len(y)"}) == "n <= len(y)"


def test_c_uses_plain_division_where_it_may():
    assert to_c(n // 2) == "n / 2"
    assert to_c(n % k) == "n % k"
    assert to_c(n % m) == "FLOORMOD(n, m)"
    assert to_c(n % m, known=Facts.of(gt(m, 0))) == "n % m"
    assert to_c(i // 2 + 1, {"i": "start"}) == "FLOORDIV(start, 2) + 1"
    assert to_c(minimum(n, m, 3) ** 2) == "MINIMUM(MINIMUM(3, m), n)*MINIMUM(MINIMUM(3, m), n)"
    assert to_c(2**40 * n) == "1099511627776LL*n"
    with pytest.raises(OverflowError):
        to_c(2**63 * n)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_c_has_the_same_values(tmp_path):
    random = Random(5)
    cases = []
    while len(cases) < 150:
        leaves = random_symbols(random)
        tree = random_tree(random, leaves, 3)
        env = random_env(random, leaves)
        if value_or_none(tree, env) is not None and abs(direct(tree, env)) < 2**31:
            cases.append((tree, {"n": 0, "m": 0, "k": 0, **env}))
    functions = [f"long long f{at}(long long n, long long m, long long k) {{ return {to_c(build(tree))}; }}"
                 for at, (tree, _) in enumerate(cases)]  # fmt: skip
    source, library = tmp_path / "sizes.c", tmp_path / "sizes.so"
    source.write_text(C_HELPERS + "\n".join(functions))
    subprocess.run(["cc", "-O1", "-Wall", "-Werror=implicit", "-shared", "-fPIC", source, "-o", library], check=True)
    compiled = ctypes.CDLL(str(library))
    for at, (tree, env) in enumerate(cases):
        function = getattr(compiled, f"f{at}")
        function.restype, function.argtypes = ctypes.c_longlong, [ctypes.c_longlong] * 3
        assert function(env["n"], env["m"], env["k"]) == direct(tree, env), (to_c(build(tree)), env)


# Relations and facts


def test_relations():
    env = {"n": 2, "m": 5}
    for relation, truth in [
        (eq(n, m), False),
        (ne(n, m), True),
        (lt(n, m), True),
        (le(m, n), False),
        (gt(m, n), True),
        (ge(n, 3), False),
    ]:
        assert holds(relation, env) is truth
        assert holds(negate(relation), env) is not truth
        assert parse_relation(str(relation)) == relation
    assert replace(lt(n, m), {m: 3}) == lt(n, 3)
    assert str(lt(i * i, i)) == "i[..]**2 < i"


@pytest.mark.parametrize(
    ("relation", "text"),
    [
        (eq(2 * n + 2, 2 * m + 2), "n == m"),
        (eq(3, n), "n == 3"),
        (lt(2 * n, 7), "n <= 3"),
        (lt(n, m), "n < m"),
        (le(n + 1, m), "n < m"),
        (ge(n - m, 0), "m <= n"),
        (ne(n * 2, 4), "n != 2"),
        (ge(n, 2), "2 <= n"),
    ],
)
def test_tidy(relation, text):
    assert str(tidy(relation)) == text


KNOWN = [
    # facts, relation, verdict
    ([], ge(n, 0), True),
    ([], eq(n, m), None),
    ([], eq(n + 1, n), False),
    ([], eq(2 * n, 2 * m + 1), False),
    ([], ge(n - n // 2, 0), True),
    ([], lt(i % 4, 4), True),
    ([], lt(n % k, k), True),
    ([], le(n // k, n), True),
    ([], le(n // k * k, n), True),
    ([], eq(n - n % k, n // k * k), True),
    ([], eq(2 * n // 3, n - (n + 2) // 3), True),
    ([], eq((i + j) // 2 - j, (i - j) // 2), True),
    ([], eq(-(-i // 5), (i + 4) // 5), True),
    ([], eq(maximum(n - 1, 0), maximum(n, 1) - 1), True),
    ([], eq(minimum(n, m) + maximum(n, m), n + m), True),
    ([], le(n, n * k), True),
    ([], le(maximum(minimum(i, n) - maximum(j, 0), 0), n), True),
    ([le(n, m), lt(m, 10)], lt(n, 10), True),
    ([le(n, m), lt(m, 10)], eq(n, 10), False),
    ([le(n, m), le(m, n)], eq(n, m), True),
    ([le(n, m)], le(n * k, m * k), True),
    ([lt(n, m)], ne(n, m), True),
    ([eq(n, m)], eq(n * k, k * m), True),
    ([eq(n, m), eq(m, 3)], eq(n, 3), True),
    ([eq(n % 4, 0)], eq(n // 4 * 4, n), True),
    ([eq(n // 4 * 4, n)], eq(n % 4, 0), True),
    ([eq(n % 4, 0)], eq(n % 2, 0), True),
    ([eq(n % 4, 0)], eq(n, 6), False),
    ([eq(n % 4, 1)], eq((n + 3) % 4, 0), True),
    ([eq(n % k, 0)], eq(n // k * k, n), True),
    ([eq(n, 2 * m + 1)], eq(n % 2, 1), True),
    ([eq(n, 2 * m)], eq(n, 4 * i + 1), False),
    ([ne(n, 0)], ge(n, 1), True),
    ([ne(n, 3), ge(n, 3)], gt(n, 3), True),
    ([ge(n, 3), ne(n, 3)], gt(n, 3), True),
    ([ne(n, m)], eq(m, n), False),
    ([ne(n, m), le(n, m)], lt(n, m), True),
    ([eq(n // 4, 3)], lt(n, 16), True),
    ([eq(n * m, 12), ge(n, 1)], le(m, 12), True),
    ([gt(n, 5)], gt(m, 5), None),
]


@pytest.mark.parametrize(
    ("known", "relation", "verdict"),
    KNOWN,
    ids=lambda part: str(part) if not isinstance(part, list) else " and ".join(map(str, part)),
)
def test_decisions(known, relation, verdict):
    facts = Facts.of(*known)
    assert facts.decide(relation) is verdict
    assert facts.decide(negate(relation)) is (None if verdict is None else not verdict)
    assert facts.implied(relation) is (verdict is True)


@pytest.mark.parametrize(
    ("known", "size", "bounds"),
    [
        ([], n, (0, None)),
        ([], i, (None, None)),
        ([], Symbol("a", 2, 9) // 2, (1, 4)),
        ([], n % 5, (0, 4)),
        ([], n - n % 5, (0, None)),
        ([], n - 2 * (n // 2), (0, 1)),
        ([le(n, m), lt(m, 10)], n, (0, 9)),
        ([le(n, m), lt(m, 10)], n - m, (-9, 0)),
        ([eq(i // 4, 3)], i, (12, 15)),
        ([eq(i // k, 3), lt(k, 5)], i, (3, 15)),
        ([ge(n, 2), le(n, 4)], n * n, (4, 16)),
        ([ge(i, 2), eq(j, 2 * i)], j, (4, None)),
    ],
)
def test_bounds(known, size, bounds):
    assert Facts.of(*known).bounds(size) == bounds


@pytest.mark.parametrize(
    ("known", "size", "text"),
    [
        ([eq(n, m)], n * m - m * m + n, "m"),
        ([eq(n, 4)], n * m // 2, "2*m"),
        ([ge(m, 1)], n * m // m, "n"),
        ([ne(m, 0)], n * m // m, "n"),
        ([ne(i, 0)], n * i // i, "n"),
        ([eq(n % 4, 0)], n // 4 * 8 + n % 4, "2*n"),
        ([eq(n % 4, 0)], (n + 5) % 4, "1"),
        ([eq(n % k, 0)], n // k * k, "n"),
        ([le(n, m)], minimum(n, m) + maximum(m - n, 0), "m"),
        ([le(n, m), le(i, n), ge(i, 0)], maximum(minimum(i, m), 0), "i[..]"),
        ([lt(n, m)], n % m + n // m, "n"),
        ([lt(n, m), lt(m, 8)], n % 8 + m // 8, "n"),
    ],
)
def test_simplify(known, size, text):
    assert str(Facts.of(*known).simplify(size)) == text


def test_facts_are_persistent_and_refuse_contradictions():
    base = Facts.of(le(n, 5))
    more = base.assume(ge(n, 5))
    assert base.decide(eq(n, 5)) is None and more.decide(eq(n, 5)) is True
    assert base.assume(le(n, 7)) is base
    with pytest.raises(Contradiction, match="6 <= n contradicts n <= 5"):
        base.assume(ge(n, 6))
    with pytest.raises(Contradiction, match="a declared range"):
        Facts().assume(lt(n, 0))


@pytest.mark.parametrize(
    ("relations", "kept"),
    [
        ([eq(n, m), eq(m, n), le(n, m)], ["n == m"]),
        ([ge(n, 1), ge(n, 3), ne(n, 0)], ["3 <= n"]),
        ([le(n, m), eq(n, m)], ["n == m"]),
        ([eq(n % 2, 0), eq(n % 4, 0)], ["n % 4 == 0"]),
        ([eq(n * k, m * k), eq(n, m)], ["n == m"]),
        ([lt(n, m), lt(m, k), lt(n, k)], ["n < m", "m < k[1..]"]),
        ([ge(n, 0)], []),
        ([eq(n, 4), le(m, n), le(m, 4), eq(m % 2, 0)], ["n == 4", "m <= n", "m % 2 == 0"]),
    ],
)
def test_minimal_guards(relations, kept):
    assert [str(relation) for relation in Facts().minimal(relations)] == kept


# Broadcasting


def ask(a, b, env):
    """As a trace asks: negations are assumed until a relation holds of the example."""
    facts = Facts()
    while True:
        size, needed = broadcast(a, b, facts)
        if needed is None or holds(needed, env):
            return size, needed
        facts = facts.assume(negate(needed))


@pytest.mark.parametrize(
    ("a", "b", "env", "size", "needed"),
    [
        (3, 3, {}, 3, None),
        (1, 7, {}, 7, None),
        (7, 1, {}, 7, None),
        (1, n, {"n": 1}, n, None),
        (n, n, {"n": 1}, n, None),
        (n, 0, {"n": 0}, 0, "n == 0"),
        (n, 5, {"n": 5}, 5, "n == 5"),
        (n, 5, {"n": 1}, 5, "n == 1"),
        (n, m, {"n": 4, "m": 4}, n, "n == m"),
        (n, m, {"n": 1, "m": 1}, n, "n == m"),
        (n, m, {"n": 1, "m": 4}, m, "n == 1"),
        (n, m, {"n": 0, "m": 1}, n, "m == 1"),
        (2 * n, n + n, {"n": 1}, 2 * n, None),
        (n + 2, m, {"n": 1, "m": 1}, n + 2, "m == 1"),
    ],
)
def test_broadcast(a, b, env, size, needed):
    found, relation = ask(a, b, env)
    assert found == size
    assert (None if relation is None else str(relation)) == needed


@pytest.mark.parametrize(
    ("a", "b", "env"), [(3, 4, {}), (0, 2, {}), (n, m, {"n": 2, "m": 3}), (n + 2, n + 3, {"n": 1})]
)
def test_sizes_that_do_not_broadcast(a, b, env):
    with pytest.raises(ValueError, match="do not broadcast"):
        ask(a, b, env)


def test_what_is_one_by_proof_broadcasts_as_what_is_one_by_sight():
    start, size, width = Symbol("start", 0, 2**31 - 1), Symbol("size", 0, 2**40), Symbol("width", 0, 2**40)
    rows = maximum(0, minimum(start + 1, size) - start)
    facts = Facts(points=Points({"start": 3, "size": 8, "width": 384}))
    facts = facts.assume(eq(rows * width, 384))  # so that there is one row, which no simpler form shows
    assert facts.simplify(rows) == rows and facts.decide(eq(rows, 1)) is True
    for a, b in ((1, rows), (rows, 1), (rows, rows)):
        assert broadcast(a, b, facts) == (rows, None)
