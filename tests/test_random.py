"""Random numbers stay in the graph: the same stream, the same state behind, whatever happens."""

import threading

import numpy as np
import pytest

from capture import backends, config
from capture.ir.ops.random import KINDS, OTHERS
from tests.helpers import captured

BACKENDS = [pytest.param(backends.eager, id="eager"), pytest.param(backends.inductor, id="inductor")]


def state(generator):
    found = generator.get_state(legacy=False) if hasattr(generator, "get_state") else generator.bit_generator.state
    return repr(found)


class Twice:
    """A function compiled and plain, each with a generator of its own."""

    def __init__(self, function, backend=backends.inductor, make=np.random.default_rng, **settings):
        self.function = function
        self.run = captured(function, backend=backend, exact=False, **settings)
        self.mine, self.plain = make(12), make(12)
        self.before = lambda: None

    def __call__(self, *args):
        got, expected = self.outcome(self.run.entry, self.mine, args), self.outcome(self.function, self.plain, args)
        assert repr(got) == repr(expected)
        assert state(self.mine) == state(self.plain)
        return got

    def outcome(self, function, generator, args):
        self.before()
        try:
            return function(generator, *args)
        except Exception as error:
            return error


def assert_captured(twice, graphs=1):
    assert twice.run.breaks == [] and twice.run.graphs == graphs


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_payoff_is_one_graph(backend):
    def payoff(rng, n, m, strike):
        z = rng.standard_normal((n, m))
        paths = 100.0 * np.exp(np.cumsum(0.01 * z - 0.00005, axis=1))
        return np.maximum(paths[:, -1] - strike, 0.0).mean()

    twice = Twice(payoff, backend)
    for _ in range(3):
        got = twice.run.entry(twice.mine, 300, 50, 100.0)
        np.testing.assert_allclose(got, payoff(twice.plain, 300, 50, 100.0), rtol=1e-12)
        assert state(twice.mine) == state(twice.plain)
    assert_captured(twice)


ARGUMENTS = {
    "integers": (3,), "randint": (3,), "choice": (5, 3), "dirichlet": ((0.5, 0.5),), "multinomial": (5, (0.5, 0.5)),
    "multivariate_normal": (np.zeros(2), np.eye(2)), "permutation": (7,), "permuted": (np.arange(7),),
    "hypergeometric": (5, 6, 4), "triangular": (0.0, 0.5, 1.0), "uniform": (0.0, 2.0), "binomial": (9, 0.5),
    "negative_binomial": (9, 0.5), "geometric": (0.5,), "logseries": (0.5,), "zipf": (2.5,), "vonmises": (0.1, 2.0),
    "noncentral_f": (2.0, 3.0, 0.5),
}  # fmt: skip
DRAWS = [
    (kind, row.split()[0], len(row.split()) - 1)
    for kind, table in KINDS.items()
    for row in table.replace("\n", ";").split(";")
    if row.strip()
]


@pytest.mark.parametrize(("kind", "name", "count"), DRAWS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_every_distribution(kind, name, count):
    given = ARGUMENTS.get(name, (0.7, 0.8, 0.9)[:count])

    def f(rng, low):
        draw = getattr(rng, name)
        return draw(*given, size=7), draw(*given, size=(3, 4)), draw(*given, size=(100, 70)) + low

    def broadcast(rng, low):
        return getattr(rng, name)(low, *given[1:], size=None) if given else getattr(rng, name)(size=(4, 0))

    make = np.random.RandomState if kind is np.random.RandomState else np.random.default_rng
    for function in (f, broadcast):
        twice = Twice(function, make=make)
        low = np.full((90, 1, 70) if function is broadcast else (70,), given[0] if given else 1)
        twice(low)
        twice(low)
        assert_captured(twice)


@pytest.mark.parametrize("name", OTHERS)
def test_few_numbers(name):
    given = ARGUMENTS[name]
    twice = Twice(lambda rng, x: getattr(rng, name)(*given) + x)
    twice(np.ones(1))
    twice(np.ones(1))
    assert_captured(twice)


def test_functions_of_the_module():
    def f(x):
        noise = np.random.normal(0.0, 1.0, x.shape)
        return x + noise, np.random.rand(3, 2), np.random.randint(0, 9, 5), np.random.randn(4)

    run = captured(f, backend=backends.inductor)
    for seed in (1, 2):
        np.random.seed(seed)
        expected = f(np.ones(3)), state(np.random.mtrand._rand)
        np.random.seed(seed)
        got = run.entry(np.ones(3)), state(np.random.mtrand._rand)
        assert repr(got) == repr(expected)
    assert run.graphs == 1 and run.breaks == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_draws_happen_once_each_and_in_order(backend):
    def f(rng, x):
        rng.standard_normal(3)  # nobody reads it
        a, b = rng.standard_normal(x.shape), rng.standard_normal(x.shape)
        scale = rng.uniform(1, 2, x.shape)
        late = rng.normal(np.abs(x * 2 + a), scale)
        return a - b, late, rng.integers(0, 100, 5), a

    twice = Twice(f, backend)
    for _ in range(3):
        twice(np.linspace(1, 2, 50))
    assert_captured(twice)


def test_two_generators_with_one_state():
    def f(rng, other, x):
        return rng.random(3) + x, other.random(3), rng.random(3)

    run = captured(f, backend=backends.inductor)
    bits, plain = np.random.PCG64(3), np.random.PCG64(3)
    for _ in range(2):
        got = run.entry(np.random.Generator(bits), np.random.Generator(bits), np.ones(3))
        expected = f(np.random.Generator(plain), np.random.Generator(plain), np.ones(3))
        assert repr(got) == repr(expected)
    assert run.graphs == 1 and run.breaks == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState], ids=["Generator", "RandomState"])
def test_numbers_are_drawn_once_when_the_region_is_left(make, backend):
    """An operation behind the draw raises: plain Python starts again, from the state before."""

    def f(rng, a, scale):
        z = rng.standard_normal(5)
        w = rng.normal(0.0, scale, 5)
        return z, w, np.linalg.inv(a) @ a

    twice = Twice(f, backend, make)
    one = np.ones(5)
    twice(np.eye(2), one)
    for _ in range(2):
        twice(np.zeros((2, 2)), one)  # singular
        twice(np.eye(2), -one)  # the second draw itself refuses
        twice(np.eye(2), one)
    assert_captured(twice)


def test_floating_point_errors_behind_a_draw():
    def f(rng, x):
        return np.log(rng.random(4) - x)

    twice = Twice(f)
    twice(np.full(4, -1.0))
    with np.errstate(all="raise"):
        twice(np.ones(4))
    with np.errstate(all="ignore"):
        twice(np.ones(4))
    assert_captured(twice)


def test_a_draw_never_follows_a_write():
    def f(rng, x):
        x += 1.0
        return x + rng.standard_normal(x.shape)

    twice = Twice(f)
    x = np.ones(4)
    got = twice.run.entry(twice.mine, x)
    expected = np.full(4, 2.0) + twice.plain.standard_normal(4)
    assert repr(got) == repr(expected)
    assert state(twice.mine) == state(twice.plain)
    assert twice.run.kinds == ["order"]


def test_what_another_thread_has_drawn_is_not_drawn_again():
    drawn = []

    def other(rng):
        drawn.append(rng.random(3))

    def leave(graph, inputs):
        from capture.ir.interpret import Interpreter

        def run(*given):
            Interpreter(graph).run(*given)
            thread = threading.Thread(target=other, args=given)
            thread.start()
            thread.join()

        return run

    done = threading.Event()
    waiting = threading.Thread(target=done.wait)
    waiting.start()
    try:
        run = captured(lambda rng: rng.random(3), backend=leave)
        got = run.entry(np.random.default_rng(5))
    finally:
        done.set()
        waiting.join()
    assert not set(got) & set(drawn[0])


def test_guards_ask_for_the_kind_of_generator_only():
    def f(rng, x):
        return rng.standard_normal(3) + x

    run = captured(f, backend=backends.inductor)
    for bits in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        got = run.entry(np.random.Generator(bits(4)), np.ones(3))
        assert repr(got) == repr(f(np.random.Generator(bits(4)), np.ones(3)))
    assert run.graphs == 1
    run.entry(np.random.RandomState(3), np.ones(3))
    assert run.graphs == 2 and run.breaks == []


def test_verify_mode_draws_from_a_copy():
    import capture

    def f(rng, x):
        return rng.standard_normal(3) + x

    run = capture.compile(f, options={"verify": True})
    mine, plain = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(2):
        assert repr(run(mine, np.ones(3))) == repr(f(plain, np.ones(3)))
        assert state(mine) == state(plain)


def test_graphs_with_generators_print_and_parse():
    from capture.ir.text import parse_graph

    run = captured(lambda rng, x: rng.normal(0, 1, (3,)) + x)
    with config.patch(strict=True):
        run.entry(np.random.default_rng(1), np.ones(3))
    (graph,) = run.record.graphs
    assert parse_graph(str(graph)) == graph
    assert "<Generator>" in str(graph)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, x: rng.standard_normal(3, out=x),
        lambda rng, x: rng.shuffle([1, 2]),
        lambda rng, x: rng.normal(0, -1.0, 3) + x,
        lambda rng, x: rng.choice(10000, 5000) + x[0],
    ],
)
def test_what_is_left_to_python(draw):
    twice = Twice(draw)
    twice(np.ones(3))
    assert twice.run.breaks


COMPLEX = {
    "an array": lambda x, z: np.random.default_rng(1).uniform(z, 9.0),
    "a scalar": lambda x, z: np.random.default_rng(1).uniform(x, np.complex64(1 + 2j)),
    "by name": lambda x, z: np.random.default_rng(1).normal(x, scale=z),
    "of the old kind": lambda x, z: np.random.RandomState(1).normal(z, 1.0, size=(2, 3)),
    "computed": lambda x, z: np.random.default_rng(1).normal(z * 2 + 1, 1.0),
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", COMPLEX)
def test_warnings_of_complex_parameters_are_of_the_line_that_calls(case, backend):
    run = captured(COMPLEX[case], backend=backend)
    run(np.ones(3), np.array([1 + 2j, 2.0, 3.0]))
    assert run.breaks


PLACES = {
    "a permutation": lambda rng, x: x[rng.permutation(6)],
    "integers": lambda rng, x: x[rng.integers(0, 6, 3)] + rng.random(3),
    "some of them outside": lambda rng, x: x[rng.integers(0, 7, 60)],
    "a mask": lambda rng, x: x[rng.random(6) > 0.5],
    "the order of numbers": lambda rng, x: x[np.argsort(rng.random(6))],
    "of the module": lambda rng, x: x[np.random.randint(0, 6, 3)] + np.random.rand(3),
}


def writes(rng, x):
    x[rng.integers(0, 6, 4)] += 1
    return x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [*PLACES.values(), writes], ids=[*PLACES, "writes"])
def test_places_that_are_drawn_are_drawn_once(function, backend):
    twice = Twice(function, backend)
    for seed in range(3):
        twice.before = lambda seed=seed: np.random.seed(seed)
        twice(np.arange(6.0))
    assert twice.run.graphs


def test_generators_beside_open_sizes():
    run = captured(lambda rng, x: (rng.random(3) + x[:3], x.sum() > 3), backend=backends.inductor, dynamic=True)
    for size in (6, 9):
        run.on(lambda size=size: (np.random.default_rng(1), np.arange(float(size))))
    assert run.graphs == 1 and not run.breaks


def test_verify_mode_copies_a_generator_once():
    import capture

    def f(rng, other, x):
        return rng.random(2) + other.random(2) * x, rng.normal()

    run = capture.compile(f, options={"verify": True, "strict": True})
    mine, plain = np.random.default_rng(1), np.random.default_rng(1)
    assert repr(run(mine, mine, np.ones(2))) == repr(f(plain, plain, np.ones(2)))
    shared, alike = (np.random.PCG64(3) for _ in range(2))
    got = run(np.random.Generator(shared), np.random.Generator(shared), np.ones(2))
    assert repr(got) == repr(f(np.random.Generator(alike), np.random.Generator(alike), np.ones(2)))
