"""Functions, methods and partials that are made anew for each call share variants and resume functions."""

import functools
import sys
import weakref

import numpy as np
import pytest

from capture.frames import hook
from capture.frames.marks import marked
from tests.helpers import captured, numbers


@pytest.fixture(autouse=True)
def nothing_is_known_of_frames():
    hook.reset()


@marked("breaks")
def stop(*args):
    """Ends the graph where it is called."""


def apply(function, x):
    y = function(x)
    stop()
    return y * 2


def lambda_passed(x):
    k = x + 1
    return apply(lambda v: v * k, x)


def break_in_a_closure(x):
    k = x + 1

    def inner(v):
        w = v * k
        stop()
        return w + k

    return apply(inner, x) + inner(x)


def break_in_a_closure_of_a_closure(x):
    k = x + 1

    def outer(v):
        m = v - 1

        def inner(w):
            stop()
            return w * k + m

        return inner(v) + inner(m)

    return outer(x) + 1


def closure_called_by_python(x):
    k = x + 1
    return list(map(lambda v: stop() or v * k, [x, k]))  # noqa: C417


def shared_variable(x):
    count = 0

    def bump():
        nonlocal count
        count += 1
        stop()
        return x * count

    return bump() + bump(), count


def partials(x):
    add = functools.partial(np.add, x)
    again = functools.partial(apply, lambda v: v + x)
    return add(1) + again(x)


class Layer:
    def __init__(self, weight):
        self.weight = weight

    def forward(self, x):
        y = x * self.weight
        stop()
        return y + self.weight

    def __call__(self, x):
        return self.forward(x) + 1


def methods(x):
    layer = Layer(x)
    return apply(layer.forward, x) + layer(x)


def recursive(x):
    def times(n):
        if n == 0:
            return x
        stop()
        return times(n - 1) * 2 + x

    return times(3)


def unbound_until_later(x):
    def inner(v):
        stop()
        return v * later

    later = x + 1
    return inner(x)


def handles(x):
    k = x + 1

    def inner(v):
        try:
            stop()
            raise KeyError("a")
        except KeyError:
            v = v * 2
        return v + k

    return inner(x)


FUNCTIONS = [
    lambda_passed, break_in_a_closure, break_in_a_closure_of_a_closure, closure_called_by_python, shared_variable,
    partials, methods, recursive, unbound_until_later, handles,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions_made_inside(function):
    run = captured(function)
    run(numbers(3))
    run(numbers(3))
    found = run.graphs, len(run.record.variants), len(run.record.resumes)
    assert run.graphs > 0
    for _ in range(5):
        run(numbers(3))
    assert (run.graphs, len(run.record.variants), len(run.record.resumes)) == found


def scaled_by(k):
    return lambda v: stop() or v * k


ARGUMENTS = {
    "closure": lambda: scaled_by(numbers(3)),
    "bound method": lambda: Layer(numbers(3)).forward,
    "callable object": lambda: Layer(numbers(3)),
    "partial of a ufunc": lambda: functools.partial(np.add, numbers(3)),
    "partial of a closure": lambda: functools.partial(scaled_by(2.0)),
    "partial with a closure": lambda: functools.partial(apply, scaled_by(numbers(3))),
}


@pytest.mark.parametrize("make", ARGUMENTS.values(), ids=ARGUMENTS)
def test_functions_passed_in(make):
    run = captured(apply)
    run(make(), numbers(3))
    found = run.graphs, len(run.record.variants), len(run.record.resumes)
    for _ in range(10):
        run(make(), numbers(3))
    assert (run.graphs, len(run.record.variants), len(run.record.resumes)) == found
    assert run.misses == []


def test_methods_of_many_instances():
    layers = [Layer(numbers(3) + k) for k in range(30)]
    run = captured(Layer.forward)
    for layer in layers:
        run(layer, numbers(3))
    assert (run.graphs, run.misses) == (2, [])


def test_breaks_in_a_closure_do_not_cost_its_caller_its_graph():
    """Root and closure are resumed where they stand: nothing of them runs twice or outside of graphs."""
    run = captured(break_in_a_closure)
    run(numbers(3))
    assert run.kinds == ["requested", "requested"]
    assert run.graphs == 5


def test_what_is_in_a_closure_is_let_go():
    def made(x):
        k = x * 2
        inner = lambda v: stop() or v * k  # noqa: E731
        return inner(x)

    run = captured(made)
    x = numbers(3)
    run.entry(x)
    held = weakref.ref(x)
    del x
    assert held() is None


class Base:
    def scale(self, x):
        stop()
        return x * 2


def test_super_in_code_with_breaks():
    def made():
        class Derived(Base):
            def scale(self, x):
                y = x + 1
                stop()
                z = super().scale(y)
                stop()
                return z + super().scale(x)

        return Derived()

    def call(model, x):
        return model.scale(x) + 1

    run = captured(call)
    for _ in range(2):
        run(made(), numbers(3))
    model = made()
    run(model, numbers(3))
    graphs = run.graphs
    run(model, numbers(3))
    assert run.graphs == graphs


# Free variables stay free variables ---------------------------------------------------------------------------------
def unbound_free_variable(x):
    def inner(v):
        stop()
        return v * later

    y = x + 1
    if y is x:
        later = y
    return inner(y)


def unbound_behind_the_break(x):
    def forget():
        nonlocal k
        del k

    def inner(v):
        stop()
        forget()
        return v * k

    k = x + 1
    return inner(k)


def unbound_variable_of_its_own(x):
    k = x + 1
    inner = lambda: k  # noqa: E731, F821
    stop()
    del k
    return inner, k  # noqa: F821


@pytest.mark.parametrize("function", [unbound_free_variable, unbound_behind_the_break, unbound_variable_of_its_own])
def test_variables_without_a_value(function):
    """NameError for a free variable, UnboundLocalError for one of the function's own; both say which."""
    run = captured(function)
    run(numbers(3))
    run(numbers(3))
    assert run.graphs > 0
    assert "requested" in run.kinds


def names_seen(x, y):
    k = x + 1

    def inner(v):
        w = v * k
        stop()
        seen = sorted(locals())
        return seen, y + w

    return inner(x)


def names_seen_from_outside(x, look):
    k, unused = x + 1, x - 1

    def inner(v):
        w = v * k
        stop()
        seen = look()
        return seen, w + k, lambda: unused

    return inner(x)[:2]


def _own_names():
    found = sys._getframe(1).f_locals
    return {name: value.tolist() for name, value in found.items() if name in ("k", "unused", "w")}


def test_locals_behind_a_break_in_a_closure():
    run = captured(names_seen)
    for _ in range(3):
        run(numbers(3), 2)
    assert run.graphs > 0


def test_frames_of_closures_can_be_looked_at():
    run = captured(names_seen_from_outside)
    for _ in range(3):
        run(numbers(3), _own_names)
    assert run.graphs > 0


def test_code_behind_a_break_has_the_same_free_variables():
    def made(x):
        k = x + 1

        def inner(v):
            stop()
            return sys._getframe(0).f_code.co_freevars, v * k

        return inner(x)

    run = captured(made)
    assert run(numbers(3))[0] == ("k",)


# Library code --------------------------------------------------------------------------------------------------------
def asked(x, question):
    stop()
    return x * question


@pytest.mark.parametrize(("x", "depth"), [(numbers(3), 2), (2.0, 1)])
def test_library_code_goes_on_captured_if_it_has_arrays(x, depth, monkeypatch):
    monkeypatch.setattr("capture.frames.placing.is_library", lambda code: code is asked.__code__)
    run = captured(lambda y, x: asked(x, 3.0) + y)
    before = hook.set_callbacks(lambda entry, arguments: None, lambda code: False)
    try:
        run(numbers(3), x)
        run(numbers(3), x)
    finally:
        hook.set_callbacks(*before)
    assert len({target.entry.code.co_name for target in run.record.resumes.values()}) == depth
