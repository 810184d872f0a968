"""Other choices give the same results, and what is measured as fastest is used, remembered and told."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import capture
from capture import backends, config
from capture.inductor import cache, tuning
from capture.inductor.choices import ALTERNATIVES, DEFAULT, Choices
from capture.inductor.compile import load_plan, plan_graph
from tests.helpers import captured
from tests.row_programs import ROWS, matrix

EACH = [other for field in ALTERNATIVES for other in DEFAULT.others(field)]
TOGETHER = [
    Choices(**dict(zip(ALTERNATIVES, values, strict=True)))
    for values in itertools.product(("loops",), ("none",), (0.0, 4.0), ((8, 128),), (128,), (0, 8))
]
TUNED = {"backend": backends.inductor, "options": {"autotune": True}}


@pytest.fixture
def own_cache(tmp_path):
    with config.patch(cache_dir=tmp_path):
        yield tmp_path


def prefer(monkeypatch, *wanted):
    """Measuring finds the plans of certain choices to be twice as fast; the words of all others that were tried."""
    tried = []
    untried = tuning._untried

    def note(graph, found, choices, seen):
        runner = untried(graph, found, choices, seen)
        if runner is not None:
            tried.append((runner, choices.differences))
        return runner

    def times_as_fast(runner, other, inputs):
        assert runner(*inputs) is not None and other(*inputs) is not None
        return 2.0 if any(runner is each and words in wanted for each, words in tried) else 1.0

    monkeypatch.setattr(tuning, "_untried", note)
    monkeypatch.setattr(tuning, "_times_as_fast", times_as_fast)
    return tried


def crossed(x):
    return (x.T + 1.0) * np.ones((77, 200))


def multiplied(x, weights):
    return x @ weights, np.einsum("ij,jk->ik", x, weights[:, :3])


@pytest.mark.parametrize("choices", [*EACH, *TOGETHER], ids=lambda choices: choices.differences)
def test_all_choices_give_the_same_results(choices):
    plans = []

    def backend(graph, inputs):
        plans.append((plan_graph(graph), plan_graph(graph, choices=choices)))
        return load_plan(plans[-1][1])

    for program in ROWS:
        run = captured(program, backend=backend, exact=False)
        for rows in (5, 600):
            run(matrix(rows))
    captured(crossed, backend=backend)(matrix(200, 77))
    captured(multiplied, backend=backend, exact=False)(matrix(9), matrix(matrix(9).shape[1]))
    default, other = zip(*plans, strict=True)
    differ = sum(tuning._identity(a) != tuning._identity(b) for a, b in zip(default, other, strict=True))
    assert differ, "the choice is never looked at"


def normalised(x, y):
    z = x * 2.0 + y
    return z / np.sqrt((z * z).sum(axis=1, keepdims=True)), (x - y).max(axis=0)


ARGS = matrix(40), matrix(40) + 1.0


def test_the_fastest_is_used_told_and_remembered(own_cache, monkeypatch):
    tried = prefer(monkeypatch, "a kernel for each result", "a kernel for each result, one thread")
    usual = capture.explain(normalised)(*ARGS)
    report = capture.explain(normalised, mode="max-autotune")(*ARGS)
    assert len(report.kernels) > len(usual.kernels)
    words = "normalised: a kernel for each result, one thread: 4.00 times as fast as by estimates"
    assert words in str(report) and "by estimates" not in str(usual)
    assert tried
    monkeypatch.setattr(tuning, "_measured", None)  # what is known is not measured
    assert words in str(capture.explain(normalised, mode="max-autotune")(*ARGS))
    for got, expected in zip(report.result, normalised(*ARGS), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_without_gain_the_plan_is_that_of_estimates(own_cache, monkeypatch):
    tried = prefer(monkeypatch)
    report = capture.explain(normalised, mode="max-autotune")(*ARGS)
    assert tried and "nothing that was measured is faster than by estimates" in str(report)
    assert [kernel.source for kernel in report.kernels] == [
        kernel.source for kernel in capture.explain(normalised)(*ARGS).kernels
    ]


def test_each_plan_is_tried_once(own_cache, monkeypatch):
    tried = prefer(monkeypatch)
    captured(lambda x: x + 1.0, **TUNED)(matrix(4))
    assert {words for _, words in tried} <= {"one thread", "more threads"}


def test_measuring_writes_to_nothing_of_the_callers(own_cache):
    def add(x, steps):
        x += 1.0
        x[1:] *= x[:-1]
        return x.sum(axis=0) + steps

    for view in (lambda x: x, lambda x: x.T, lambda x: x[::-2], lambda x: x[:, 3:4]):
        run = captured(add, **TUNED, exact=False)
        run(view(matrix(6)), 2.0)  # compares arguments as well
        assert run.graphs == 1


def test_random_numbers_are_drawn_once(own_cache):
    def noisy(x, rng):
        return x + rng.standard_normal(3)

    run = captured(noisy, **TUNED)
    run(np.ones(3), np.random.default_rng(5))  # compares the generator's state
    assert run.graphs == 1


def test_what_leaves_the_work_to_python_is_not_taken(own_cache):
    def take(x, index):
        return x[index] * 2.0

    compiled = capture.compile(take, mode="max-autotune")
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        compiled(np.arange(3.0), np.array([9]))
    np.testing.assert_array_equal(compiled(np.arange(3.0), np.array([2])), [4.0])


@pytest.mark.parametrize("record", [b"", b"[]", b'[{"unknown": 1}, 2.0]', b"\xff"])
def test_records_of_other_versions_are_measured_again(own_cache, monkeypatch, record):
    monkeypatch.setattr(cache, "load_entry", lambda name: record if name.startswith("choices:") else None)
    tried = prefer(monkeypatch)
    captured(lambda x: x * 3.0, **TUNED)(matrix(4))
    assert tried


def test_modes_are_checked():
    with pytest.raises(ValueError, match="no mode 'max_autotune'; did you mean 'max-autotune'"):
        capture.compile(normalised, mode="max_autotune")
