"""A share of ``python -m tests.everything``: other people's tests with every frame captured; and its own parts."""

import sys

import pytest

from tests.everything import lists
from tests.everything.__main__ import SHARE, summary
from tests.everything.capturing import general
from tests.everything.counting import weights
from tests.everything.lists import Module
from tests.everything.running import Difference, Outcome, Report, Run, compare, run_all, run_module, settle

REACHED = 0.6
"""The symbolic share of the instructions in ``SHARE`` that is not to be lost again."""
LIMIT = 600.0  # seconds; on a busy machine nothing should come near


def test_outcomes_are_those_of_plain_python():
    reports = list(run_all(SHARE, "captured", LIMIT, lists.expected()))
    for report in reports:
        assert not report.problems
        assert not report.differences, "\n".join(map(str, report.differences))
        assert report.tests >= 1
        assert report.symbolic <= 1.0  # nothing is counted twice, nor what has been written for a region
    evaluated = sum(report.figures["evaluated"] for report in reports)
    executed = sum(report.figures["executed"] for report in reports)
    assert evaluated >= REACHED * executed, summary(reports)


def test_the_library_runs_reassembled():
    report = run_module(Module("cpython", "test_with"), "reassembled", LIMIT, [])
    assert (report.differences, report.problems) == ([], [])
    assert report.tests > 40
    assert report.figures["reassembled"] > 1000


# the harness itself ------------------------------------------------------------------------------------------------
def outcomes(**found):
    return Run({test: Outcome(outcome, "") for test, outcome in found.items()}, {"seconds": 1.0})


def test_each_difference_is_found():
    plain = outcomes(a="passed", b="failed", c="passed")
    other = outcomes(a="failed", b="failed", d="passed")
    found = [(d.test, d.plain.outcome, d.other.outcome) for d in compare(plain, other)]
    assert found == [("a", "passed", "failed"), ("c", "passed", "missing"), ("d", "missing", "passed")]


def test_a_crash_is_one_difference():
    plain = outcomes(a="passed", b="passed", c="passed")
    other = outcomes(a="passed")
    other.ended = "ended with -11 in b: "
    (found,) = compare(plain, other)
    assert str(found) == "(process): ends -> broke off: ended with -11 in b: ; 2 tests left"


def test_expected_differences_must_happen():
    known = lists.expected("* test_x one.* why not\n0.1 test_x two.* of another Python\n* test_x three no more\n")
    assert [entry.test for entry in known] == ["one.*", "three"]
    passed, failed = Outcome("passed", ""), Outcome("failed", "")
    differences = [Difference(name, passed, failed) for name in ("one.a", "one.b", "four")]
    report = Report(Module("cpython", "test_x"), 5, differences, {}, [])
    settle(report, known)
    assert [difference.test for difference in report.differences] == ["four"]
    assert report.expected == 2
    assert report.problems == ["three passes: remove it from the list of expected differences"]


def test_expected_differences_have_reasons_and_modules():
    known = {module.name for module in (*lists.cpython(), *lists.numpys())}
    for entry in lists.expected():
        assert entry.reason and entry.module in known


def test_reasons_are_general():
    assert general("the global 'x12' at 0x7fff is not 3") == "the global … at … is not …"


def test_instructions_are_weighed():
    def function(x):
        return x + 1

    assert sum(weights(function.__code__)) == 4  # all but RESUME


def test_a_module_that_does_not_load_is_a_problem_of_the_plain_run():
    report = run_module(Module("numpy", "no/such/file.py"), "captured", LIMIT, [])
    assert [d.plain.outcome for d in report.differences] == []
    assert report.tests == 1


@pytest.mark.parametrize("kind", ["cpython", "numpys"])
def test_there_is_enough_to_run(kind):
    assert len(getattr(lists, kind)()) >= 60, sys.version
