"""The sum of a CI run: tests from pytest's JUnit files, and the steps noted on standard input.

    python tally.py allowed-skips results.xml … < steps

A step is a line ``passed<TAB>name`` or ``failed<TAB>name``. Fails when anything failed, when a test was skipped
for a reason that ``allowed-skips`` (one regular expression a line) does not list, or when no test ran.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree


def outcomes(path: Path) -> Iterator[tuple[str, str, str]]:
    """Each test of a JUnit file: passed, failed or skipped; its name; the reason."""
    for case in ElementTree.parse(path).iter("testcase"):
        name = f"{path.parent.name} {case.get('classname')}.{case.get('name')}"
        faults = [*case.iter("failure"), *case.iter("error")]
        skipped = case.find("skipped")
        if faults:
            yield "failed", name, faults[0].get("message") or ""
        elif skipped is not None:
            yield "skipped", name, skipped.get("message") or ""
        else:
            yield "passed", name, ""


def main(allowed: Path, results: list[Path]) -> int:
    patterns = [re.compile(line) for line in allowed.read_text().splitlines() if line and not line.startswith("#")]
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong = []
    for outcome, name, reason in (row for path in results if path.exists() for row in outcomes(path)):
        if outcome == "skipped":
            reasons[reason] += 1
            if not any(pattern.search(reason) for pattern in patterns):
                outcome = "failed"
                reason = f"skipped for a reason that .ci/allowed-skips does not list: {reason}"
        counts[outcome] += 1
        if outcome == "failed":
            wrong.append(f"{name}: {reason.splitlines()[0] if reason else 'no reason given'}")
    if not counts["passed"]:
        counts["failed"] += 1
        wrong.append("no test has run")
    for line in sys.stdin:
        outcome, _, name = line.rstrip("\n").partition("\t")
        counts[outcome] += 1
        if outcome == "failed":
            wrong.append(name)
    for reason, number in reasons.most_common():
        print(f"skipped {number}: {reason}")
    for fault in wrong:
        print(f"FAILED {fault}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]))
