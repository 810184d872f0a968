"""``np.einsum`` of two operands and more: values, dtypes, memory order, warnings, errors, of random subscripts."""

import numpy as np
import pytest

from capture.backends import eager, inductor
from tests import helpers

SETTINGS = {
    "eager": {"backend": eager},
    "inductor": {"backend": inductor},
    "open": {"backend": inductor, "dynamic": True},
}
FORMS = """
ij,jk->ik | ij,jk | ij,jk->ki | ij,kj->ik | ji,jk->ik | ij,ij->i | ij,ij->j | ij,ij | ij,ij-> | i,i | i,j->ij | i,j->ji
ij,j->i | ij,i->j | ij,j->ij | ij,j->ji | i,ij->j | aij,ajk->aik | aij,ajk->kia | ija,jka->aik | aij,jk->aik | ij,jk->i
ij,jk-> | ij,k->ik | ij,k-> | abc,abd->cd | abc,cd->abd | abcd,abde->abce | abc,cab->b | ij,ji->ij | ji,ij->j | ,ij->ij
i,-> | , | ...i,i | ...i,...i->... | i...,i...->... | ...ij,...jk->...ik | a...,a...->...a | ...,...
...,i->i... | ij, jk -> ik
""".strip().replace("\n", " | ").split(" | ")
DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
SIZES = dict(zip("abcdeijk", (2, 3, 4, 3, 2, 5, 4, 3), strict=True))
LAYOUTS = (
    lambda a: a,
    lambda a: np.asfortranarray(a) if a.ndim else a,
    lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    lambda a: a[::-1] if a.ndim else a,
    lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, -1)), -1, 0) if a.ndim else a,
)


@pytest.fixture(params=SETTINGS)
def captured(request):
    return lambda function: helpers.captured(function, exact=False, **SETTINGS[request.param])


def numbers(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    if dtype[0] in "fc":
        return (rng.random(shape) + 0.5).astype(dtype)
    return rng.integers(0, 2 if dtype == "bool" else 99, shape).astype(dtype)


def operands(form, dtypes, sizes=SIZES):
    """Arrays for these subscripts."""
    terms = form.replace(" ", "").partition("->")[0].split(",")
    shapes = (tuple(sizes[name] for name in term.replace("...", "ab")) for term in terms)
    return [np.asarray(numbers(shape, dtype, k)) for k, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))]


def function_of(form):
    return eval(f"lambda x, y: np.einsum({form!r}, x, y)", {"np": np})


@pytest.mark.parametrize("form", FORMS)
def test_forms(captured, form):
    run = captured(function_of(form))
    for change in LAYOUTS:
        run(*map(change, operands(form, ("float64", "float64"))))
    assert run.breaks == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(captured, dtype):
    for form in ("ij,jk->ik", "ij,ij->i", "i,j->ji", "ij,j"):
        run = captured(function_of(form))
        for other in (dtype, "int8", "float32"):
            run(*operands(form, (dtype, other)))
        assert run.breaks == []


LARGE = dict.fromkeys("abcdeijk", 40) | {"a": 3, "b": 2, "c": 33, "d": 5, "e": 4}


@pytest.mark.parametrize("form", [form for form in FORMS if form.count("j") + form.count("c") > 2])
def test_products_of_matrices(captured, form):
    run = captured(function_of(form))
    for change in LAYOUTS[:3]:
        run(*map(change, operands(form, ("float64", "float64"), LARGE)))
        run(*map(change, operands(form, ("float32", "int64"), LARGE)))
    assert run.breaks == []


ONES = ({"i": 1}, {"j": 1}, {"k": 1}, {"i": 1, "j": 1, "k": 1}, {"a": 1, "b": 1})


@pytest.mark.parametrize("sizes", [*ONES, {"j": 0}, {"i": 0}])
def test_sizes_of_one_and_nothing(captured, sizes):
    for form in ("ij,jk->ik", "ij,jk->ki", "aij,ajk->aik", "ij,ij->j", "i,j->ji", "...i,i"):
        run = captured(function_of(form))
        run(*operands(form, ("float64", "float64"), SIZES | sizes))
        run(*operands(form, ("float64", "float64"), SIZES))


def test_axes_of_size_one_are_broadcast(captured):
    run = captured(function_of("ij,ij->ij"))
    run(numbers((4, 1), "float64", 0), numbers((4, 3), "float64", 1))
    run = captured(function_of("ij,jk->ik"))
    run(numbers((40, 1), "float64", 0), numbers((30, 50), "float64", 1))
    run(numbers((2, 3), "float64", 0), numbers((1, 4), "float64", 1))


def test_no_warning_and_no_negative_zero(captured):
    run = captured(lambda x, y: (np.einsum("i,i", x, y), np.einsum("i,j->ij", x, y), np.einsum("i,i->i", x, -y)))
    run(np.array([1e308, -0.0, 0.0, np.inf, 5e-324]), np.array([10.0, 0.0, -1.0, 0.0, 0.1]))
    run(np.array([-1.0, -0.0, 0.0]), np.array([0.0, 0.0, -1.0]))
    assert run.breaks == []


def test_fused_with_what_is_around_it(captured):
    run = captured(lambda x, y: np.einsum("ij,j->i", x * 2, y + 1) - x[:, 0])
    run(numbers((60, 30), "float64", 0), numbers((30,), "float64", 1))
    assert run.graphs == 1 and run.breaks == []


MORE = """
ij,jk,ik->i | ij,jk,ke->ie | ij,jk,ke | ij,jk,k->i | i,ij,j-> | i,ij,j | i,j,k->ijk | i,j,k->kji | ij,ij,ij->j | ij,ij,j
a,ai,aij->j | ij,kj,ka,ab->ib | ij,ij,jk,jk->k | aij,jk,aik->ai | ij,k,kj->i | ...i,ij,...j->... | ...i,ij,...j->j...
i,i,j->j | i,j,k-> | ij,ik,k->j | ij,jk,ka,ab->ib | ,ij,->ji | ij,jk,ij->ki | ai,bi,ab-> | ai,bi,aj,bj->
""".strip().replace("\n", " | ").split(" | ")


MIXED = ("int8 int64 uint8 int32", "int8 int8 int8 int8", "float32 int8 float64 bool", "bool bool bool bool",
         "complex64 float32 int8 float64")  # fmt: skip


def function_of_many(form):
    names = ", ".join("xyzw"[: form.count(",") + 1])
    return eval(f"lambda {names}: np.einsum({form!r}, {names})", {"np": np})


@pytest.mark.parametrize("form", MORE)
def test_more_operands(captured, form):
    run, count = captured(function_of_many(form)), form.count(",") + 1
    for change in LAYOUTS:
        run(*map(change, operands(form, ("float64",) * count)))
    run(*operands(form, ("float64",) * count, LARGE if count == 3 else SIZES))
    assert run.breaks == []
    for dtypes in MIXED:
        run = captured(function_of_many(form))
        run(*operands(form, dtypes.split()[:count]))
        assert run.breaks == []


@pytest.mark.parametrize("sizes", [*ONES, {"j": 0}, {"i": 0}])
def test_more_operands_with_sizes_of_one_and_nothing(captured, sizes):
    for form in ("ij,jk,ik->i", "ij,jk,ke->ie", "i,ij,j->"):
        run = captured(function_of_many(form))
        run(*operands(form, ("float64",) * 3, SIZES | sizes))
        run(*operands(form, ("float64",) * 3, SIZES))


def test_axes_of_size_one_in_the_middle(captured):
    run = captured(function_of_many("ij,jk,ik->i"))
    run(numbers((40, 1), "float64", 0), numbers((30, 50), "float64", 1), numbers((1, 50), "float64", 2))
    run(numbers((40, 30), "float64", 0), numbers((30, 1), "float64", 1), numbers((40, 50), "float64", 2))
    assert run.breaks == []


def test_partial_results_are_no_larger_than_the_rest():
    x, y, z, few = (numbers((3000, 1), "float64", seed) for seed in range(4))
    large = function_of_many("ai,bi,aj,bj->")  # would be 3000 by 3000 numbers
    run = helpers.captured(large, exact=False, backend=inductor)
    run(x[:200], y[:200], z[:200], few[:200])
    assert ops_of(run) == {"einsum"}
    run = helpers.captured(function_of_many("ai,ij,aj->a"), exact=False, backend=inductor, dynamic=True)
    run(numbers((50, 8), "float64", 0), numbers((8, 9), "float64", 1), numbers((50, 9), "float64", 2))
    assert ops_of(run) == {"contract"}


def ops_of(run):
    return {node.op.name for graph in run.record.graphs for node in graph.calls}


def test_products_are_those_of_numpy(captured):
    """None of them overflows or vanishes that does not there."""
    run = captured(function_of_many("ij,jk,ik->i"))
    run(np.full((2, 2), 1e300), np.full((2, 3), 1e-300), np.full((2, 3), 1e-300))
    run(np.full((2, 2), 1e-300), np.full((2, 3), 1e300), np.full((2, 3), 1e300))
    run(np.full((40, 20), 1e300), np.full((20, 30), 1e-300), np.full((40, 30), 1e-300))


WRONG = ("ij,jk->il", "ij,jk->ii", "ij,j", "i,i", "ij", "ij,jk,kl", "i.j,jk", "...,...->", "i$,jk")


@pytest.mark.parametrize("form", WRONG)
def test_subscripts_that_raise(captured, form):
    captured(function_of(form))(numbers((2, 3), "float64", 0), numbers((4, 5), "float64", 1))


OTHERS = """
np.einsum('ii', x) | np.einsum('ii->i', x) | np.einsum('ij->ji', x) | np.einsum('ii,ij->j', x, x)
np.einsum('ij,jk,kl', x, x, x, optimize=True) | np.einsum(x, [0, 1], x, [1, 2])
np.einsum('ij,jk', x, x, optimize=True) | np.einsum('ij,jk', x, x, dtype='f4', casting='same_kind')
np.einsum('ij,jk', x, x, order='F') | np.einsum('ij,', x, 2.0) | np.einsum('ij,j', x, [1.0, 2.0, 3.0])
np.einsum('ij,jk', x, x, out=np.zeros((3, 3)))
""".strip().replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("call", OTHERS)
def test_what_is_left_to_numpy(captured, call):
    captured(eval(f"lambda x: {call}", {"np": np}))(numbers((3, 3), "float64", 0))


def test_numpys_own_bits_of_more_operands():
    run = helpers.captured(function_of_many("ij,jk,ik->i"), backend=inductor, options={"math": "numpy"})
    run(*operands("ij,jk,ik->i", ("float64",) * 3, LARGE))
    assert run.graphs == 1


def test_numpys_own_bits():
    x, y = operands("ij,jk", ("float64", "float64"), LARGE)
    for form in ("ij,jk", "ij,ij->i", "ij,jk->ki"):
        run = helpers.captured(function_of(form), backend=inductor, options={"math": "numpy"})
        run(x, x if form == "ij,ij->i" else y)
        assert run.graphs == 1


@pytest.mark.parametrize("seed", range(12))
def test_random_subscripts(seed):
    rng = np.random.default_rng(seed)
    for _ in range(4):
        names = list("abijk")[: rng.integers(2, 6)]
        terms = ["".join(rng.permutation(names)[: rng.integers(1, 4)]) for _ in range(2)]
        seen = sorted({*terms[0], *terms[1]})
        output = "".join(rng.permutation(seen)[: rng.integers(0, len(seen) + 1)])
        form = f"{terms[0]},{terms[1]}->{output}"
        settings = {"backend": (eager, inductor)[seed % 2], "dynamic": seed % 3 == 0}
        run = helpers.captured(function_of(form), exact=False, **settings)
        sizes = {name: int(rng.choice([1, 2, 3, 17])) for name in SIZES}
        for changes in rng.choice(len(LAYOUTS), (3, 2)):
            dtypes = rng.choice(["int8", "int64", "float32", "float64"], 2)
            run(*(LAYOUTS[c](a) for c, a in zip(changes, operands(form, dtypes, sizes), strict=True)))
