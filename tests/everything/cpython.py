"""CPython's own tests, by unittest.

In: the name of a module of the ``test`` package, or ``module:pattern`` for some of its tests. Out: each test's outcome
in the log. A test runs in its mode from its ``setUp`` to its ``tearDown``.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
import unittest
from collections.abc import Callable
from typing import Any

from tests.everything import lists
from tests.everything.capturing import Capturing
from tests.everything.counting import Counting


class Result(unittest.TestResult):
    """Turns a mode on for each test, and writes what became of it."""

    def __init__(self, log: Any, mode: Any) -> None:
        super().__init__()
        self.log, self.mode = log, mode
        self.name: str | None = None
        self.found: tuple[str, str] | None = None

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.name = self.log.begin(test.id())
        self.mode.begin()

    def stopTest(self, test: unittest.TestCase) -> None:
        if self.name is None:  # some versions of unittest do not start what they skip
            self.name = self.log.begin(test.id())
        else:
            self.mode.end()
        super().stopTest(test)
        outcome, words = self.found or ("passed", "")
        self.log.write("outcome", self.name, outcome, words)
        self.name = self.found = None

    def note(self, outcome: str, words: str) -> None:
        """The first thing that went wrong counts; a number of failed subtests is one failure."""
        if self.found is None:
            self.found = outcome, words

    def addError(self, test: Any, error: Any) -> None:
        if not isinstance(test, unittest.TestCase):  # what is set up for a class or a module
            self.log.write("outcome", self.log.begin(test.id()), "error", last_words(error))
        self.note("error", last_words(error))

    def addFailure(self, test: Any, error: Any) -> None:
        self.note("failed", last_words(error))

    def addSubTest(self, test: Any, subtest: Any, error: Any) -> None:
        if error is not None:
            self.note("failed", f"{subtest.id()}: {last_words(error)}")

    def addSkip(self, test: Any, reason: str) -> None:
        if isinstance(test, unittest.TestCase):
            self.note("skipped", reason)

    def addExpectedFailure(self, test: Any, error: Any) -> None:
        self.note("expected failure", "")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.note("unexpected success", "")


def last_words(error: Any) -> str:
    kind, value, trace = error
    places = [f"{os.path.basename(f.filename)}:{f.lineno}" for f in traceback.extract_tb(trace)[-3:]]
    return f"{kind.__name__}: {value} ({' '.join(places)})"[:600]


def run(name: str, log: Any, mode: Any) -> None:
    from test import support
    from test.support import os_helper

    module, _, pattern = name.partition(":")
    support.verbose = 0
    loader = unittest.TestLoader()
    if pattern:
        loader.testNamePatterns = [f"*{pattern}*"]
    os.chdir(tempfile.mkdtemp(prefix=f"{os_helper.TESTFN}_"))
    suite = loader.loadTestsFromName(f"test.{module}")
    for error in loader.errors:
        sys.stderr.write(error)
        log.write("outcome", f"{module} is loaded", "error", error.strip().splitlines()[-1])
    if isinstance(mode, Capturing | Counting):  # what is not captured is not counted
        left_out = [entry for entry in lists.expected() if entry.module == module and not entry.is_run]
        suite = without(suite, lambda test: any(entry.covers(module, test) for entry in left_out))
    suite.run(Result(log, mode))


def without(suite: unittest.TestSuite, unwanted: Callable[[str], bool]) -> unittest.TestSuite:
    """The suite without some tests."""
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(without(test, unwanted))
        elif not unwanted(test.id()):
            kept.addTest(test)
    return kept
