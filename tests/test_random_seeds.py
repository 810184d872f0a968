"""Generators made from a seed inside, seeds set inside, and arrays that are shuffled: they stay in the graph."""

import copy

import numpy as np
import pytest

from capture import backends
from tests import helpers
from tests.test_random import state


def made_inside(seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((3, 4)) * rng.uniform(size=4) + 1


def made_twice(seed):
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    return one.random(3) - other.random(3), one.random(2) + other.integers(5, size=2)


def legacy(seed):
    rng = np.random.RandomState(seed)
    return rng.rand(3), rng.randint(0, 5, size=3), rng.normal(size=2)


def by_keyword(seed):
    return np.random.default_rng(seed=seed).permutation(7) * 2


def set_globally(seed):
    np.random.seed(seed)
    first = np.random.rand(3)
    np.random.seed(seed)
    return first * 2, np.random.rand(3) - first


def drawn_before(seed):
    before = np.random.rand(2)
    np.random.seed(seed)
    return before.shape, np.random.randn(3) + 1


def rows_shuffled(seed):
    x = np.arange(12.0).reshape(6, 2)
    np.random.default_rng(seed).shuffle(x)
    return x * 2


def columns_shuffled(seed):
    x = np.arange(12).reshape(3, 4)
    np.random.default_rng(seed).shuffle(x, axis=-1)
    return x + 1


def view_shuffled(seed):
    x = np.arange(20).reshape(4, 5)
    np.random.RandomState(seed).shuffle(x[1, ::2])
    return x * 3


def given_back(seed):
    rng = np.random.default_rng(seed)
    same = np.random.default_rng(rng)
    return same is rng, same.random(3) + rng.random(3)


def handed_to_a_helper(seed):
    def noise(rng, n):
        return rng.normal(size=n) if isinstance(rng, np.random.Generator) and rng else np.zeros(n)

    rng = np.random.default_rng(seed)
    return noise(rng, 4) + noise(rng, 4)


PROGRAMS = (
    made_inside, made_twice, legacy, by_keyword, set_globally, drawn_before, rows_shuffled, columns_shuffled,
    view_shuffled, given_back, handed_to_a_helper,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("seeds", [(3, 3), (1, 2, 0, 123456789, 2**31), ([1, 2], [1, 2])], ids=["one", "many", "words"])
def test_seeds(captured, program, seeds):
    run = captured(program)
    for seed in seeds:
        np.random.seed(99)
        plain = program(seed)
        left = state(np.random.mtrand._rand)
        np.random.seed(99)
        got = run.entry(seed)
        assert repr(got) == repr(plain)
        assert state(np.random.mtrand._rand) == left
    assert run.breaks == []
    assert 1 <= run.graphs <= 4  # a seed, then one that changes in two ranges


def single_numbers(seed):
    np.random.seed(seed)
    rng = np.random.default_rng(seed)
    scale, shift, count = rng.random(), np.random.normal(1.0, 2.0), np.random.randint(3, 9)
    return np.arange(4) * scale + shift, count, rng.poisson(3.0)


def one_number(seed):
    np.random.seed(seed)
    return np.random.rand() + np.ones(2)


@pytest.mark.parametrize("program", [*PROGRAMS, single_numbers, one_number], ids=lambda program: program.__name__)
def test_no_region_is_left(program):
    """Each graph runs to its end: none of its calls gives something other than was predicted."""
    left = []

    def backend(graph, inputs):
        runner = backends.inductor(graph, inputs)

        def run(*inputs):
            results = runner(*inputs)
            left.append(results is None)
            return results

        return run

    run = helpers.captured(program, backend=backend)
    for seed in (3, 4, 5):
        np.random.seed(99)
        expected = program(seed)
        np.random.seed(99)
        assert repr(run.entry(seed)) == repr(expected)
    assert left == [False] * 3
    assert run.breaks == []


def drawn_in_a_loop(rng):
    inside = 0
    for _ in range(100):
        x, y = rng.random(), rng.random()
        inside += x * x + y * y < 1.0
    return np.ones(3) * inside


def five_numbers(rng):
    x = np.ones(3) * rng.random() + rng.random() + rng.random() + rng.random()
    return x * rng.random() + 1


@pytest.mark.parametrize("program", [drawn_in_a_loop, five_numbers], ids=lambda program: program.__name__)
def test_many_single_numbers_are_left_to_python(captured, program):
    run = captured(program)
    mine, plain = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(2):
        assert repr(run.entry(mine)) == repr(program(plain))
        assert state(mine) == state(plain)
    assert "numbers that are drawn one by one are left to Python" in run.breaks


class Holder:
    pass


def returned(holder, seed):
    rng = np.random.default_rng(seed)
    return rng.random(3) * 2, rng, rng


def kept(holder, seed):
    holder.rng = np.random.RandomState(seed)
    holder.noise = holder.rng.rand(3) + 1
    return holder.noise * 2


def in_a_closure(holder, seed):
    rng = np.random.default_rng(seed)
    holder.draw = lambda: rng.random()
    return rng.random(3) + 1


def over_a_break(holder, seed):
    rng = np.random.default_rng(seed)
    x = rng.random(3) + 1
    print(seed)
    return x * rng.random(3)


@pytest.mark.parametrize("program", [returned, kept, in_a_closure, over_a_break], ids=lambda program: program.__name__)
def test_a_generator_that_escapes_is_one_object(captured, program, capsys):
    run = captured(program)
    for seed in (5, 6, 7):
        mine, plain = Holder(), Holder()
        got, expected = run.entry(mine, seed), program(plain, seed)
        if program is returned:
            assert got[1] is got[2]
            assert state(got[1]) == state(expected[1])
            got, expected = got[0], expected[0]
        if program is kept:
            assert state(mine.rng) == state(plain.rng)
        if program is in_a_closure:
            assert mine.draw() == plain.draw()
        assert repr(got) == repr(expected)
    assert len(run.breaks) == (1 if program is over_a_break else 0)


@pytest.mark.parametrize("seed", [-1, 2**40, "text", 1.5, None, ()], ids=str)
@pytest.mark.parametrize("program", [made_inside, legacy, set_globally], ids=lambda program: program.__name__)
def test_seeds_that_numpy_refuses(captured, program, seed):
    """Or that it takes from the operating system: then results differ, but not their form."""
    run = captured(program)
    outcomes = []
    for function in (program, run.entry):
        try:
            found = function(seed)
            outcomes.append([part.shape for part in (found if isinstance(found, tuple) else (found,))])
        except Exception as error:
            outcomes.append(repr(error))
    assert outcomes[0] == outcomes[1]


SHUFFLED = {
    "empty": np.zeros(0), "one": np.ones(1), "no columns": np.zeros((3, 0)), "ints": np.arange(9, dtype=np.int8),
    "fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4)), "strided": np.arange(20.0)[::2],
    "backwards": np.arange(9)[::-1], "bools": np.arange(9) % 2 == 0, "complex": np.arange(5) * 1j,
    "cube": np.arange(24).reshape(2, 3, 4),
}  # fmt: skip


@pytest.mark.parametrize("x", SHUFFLED.values(), ids=SHUFFLED)
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState], ids=["Generator", "RandomState"])
def test_arguments_are_shuffled_in_their_place(captured, x, make):
    def program(rng, x):
        drawn = rng.random(2)
        rng.shuffle(x)
        return x[:1] == x[:1], drawn + 1

    run = captured(program)
    for _ in range(2):
        mine, plain = copy.deepcopy(x), copy.deepcopy(x)
        rng, other = make(4), make(4)
        assert repr(run.entry(rng, mine)) == repr(program(other, plain))
        assert repr(mine) == repr(plain)
        assert state(rng) == state(other)
    assert run.breaks == []


def test_what_cannot_be_shuffled_raises_as_in_numpy(captured):
    def program(rng, x):
        y = x * 2
        rng.shuffle(x)
        return y

    fixed = np.arange(4.0)
    fixed.flags.writeable = False
    for x in (fixed, np.array(3.0)):
        run = captured(program)
        run(np.random.default_rng(1), x)
        assert len(run.breaks) == 1
