"""NumPy's installed tests, by pytest.

In: a file below the ``numpy`` package, as ``lib/tests/test_format.py``. Out: each test's outcome in the log. What is
captured, or counted, is the call of the test itself.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest


class Plugin:
    """Turns a mode on for the call of each test, and writes what became of it."""

    def __init__(self, log: Any, mode: Any) -> None:
        self.log, self.mode = log, mode
        self.name = ""

    def pytest_collection(self) -> None:
        """Examples are the same in each run, and how long making them takes is no failure."""
        checks = list(hypothesis.HealthCheck)
        options = {"derandomize": True, "database": None, "deadline": None, "suppress_health_check": checks}
        hypothesis.settings.register_profile("everything", **options)
        hypothesis.settings.load_profile("everything")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.name = self.log.begin(nodeid)
        self.found = "passed", ""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self.mode.begin()
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            self.mode.end()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and not hasattr(report, "wasxfail"):
            return
        words = "" if report.longrepr is None else str(report.longrepr).strip().splitlines()[-1]
        outcome = f"xfail {report.outcome}" if hasattr(report, "wasxfail") else report.outcome
        if report.failed and report.when != "call":
            outcome = "error"
        self.found = outcome, words[:300]

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.log.write("outcome", self.name, *self.found)


def run(name: str, log: Any, mode: Any) -> None:
    name, _, pattern = name.partition(":")
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = tempfile.mkdtemp()
    os.chdir(tempfile.mkdtemp())
    path = Path(np.__file__).parent / name
    arguments = ["-q", "-p", "no:cacheprovider", f"--rootdir={path.parent}", "--tb=short", str(path)]
    if pattern:
        arguments += ["-k", pattern]
    status = pytest.main(arguments, plugins=[Plugin(log, mode)])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        log.write("outcome", f"{name} is run", "error", str(status))
    sys.stdout.flush()
