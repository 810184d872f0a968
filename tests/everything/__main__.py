"""The command line: ``python -m tests.everything``; see the package."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from tests.everything import lists
from tests.everything.lists import Module
from tests.everything.running import Report, run_all

MOST_SKIPPED = 0.02
LEAST_SYMBOLIC = 0.60

SHARE = (
    *(Module("cpython", name) for name in ["test_with", "test_scope", "test_raise", "test_unpack_ex", "test_property"]),
    *(Module("numpy", name) for name in ("lib/tests/test_stride_tricks.py",)),
)
"""What the project's own test suite runs."""


def main() -> int:
    options = parse()
    mode = "reassembled" if options.reassembled else "captured"
    reports = []
    for report in run_all(chosen(options), mode, options.limit, [] if options.reassembled else lists.expected()):
        print(line(report), flush=True)
        for words in (*report.problems, *map(str, report.differences)):
            print(f"    {words}", flush=True)
        reports.append(report)
    print(summary(reports))
    if options.json:
        rows = [{"kind": r.module.kind, "name": r.module.name, "tests": r.tests, **r.figures} for r in reports]
        Path(options.json).write_text(json.dumps(rows, indent=1))
    for title in ("reasons", "left plain"):
        print_most_frequent(title, reports)
    return int(any(report.differences or report.problems for report in reports))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.everything", description=__doc__)
    parser.add_argument("--modules", nargs="*", help="CPython's: test_dict, or test_dict:pattern; none for all")
    parser.add_argument("--numpy", nargs="*", help="NumPy's: lib/tests/test_format.py, also :pattern; none for all")
    parser.add_argument("--share", type=int, metavar="N", help="every N-th of all of them")
    parser.add_argument("--reassembled", action="store_true", help="do not trace: decode and write all code again")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for each process")
    parser.add_argument("--json", help="write the figures to this file")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[Module]:
    if options.modules is None and options.numpy is None:
        found = lists.cpython() + lists.numpys()
    else:
        found = wanted("cpython", options.modules, lists.cpython) + wanted("numpy", options.numpy, lists.numpys)
    return found[:: options.share or 1]


def wanted(kind: str, names: list[str] | None, all_of_them: object) -> list[Module]:
    if names is None:
        return []
    return [Module(kind, name) for name in names] or all_of_them()  # type: ignore[operator]


def line(report: Report) -> str:
    """One module in a row.

    >>> test_with   50 tests, 0 differences; 1253 frames, 0.1% skipped (2299 generators, 16 bodies); 79.3% symbolic
    """
    figures = report.figures
    start = f"{report.module.name:32} {report.tests:5} tests {len(report.differences):3} differences"
    start += f" (+{report.expected} expected)" if report.expected else ""
    if "captured" not in figures:
        return f"{start} {figures.get('seconds', '?')} s"
    return (
        f"{start}; {report.frames:8} frames {report.skipped:6.1%} skipped ({figures['generators']} generators,"
        f" {figures['bodies']} bodies, {figures['plain_rests']} of {figures['plain_rests'] + figures['rests']} rests"
        f" plain); {figures['executed']} instructions, {report.symbolic:6.1%} symbolic; {figures['operations']}"
        f" operations in {figures['graphs']} graphs, run {figures['operations run']} times; {figures['seconds']} s for"
        f" {figures['plain seconds']}"
    )


def summary(reports: list[Report]) -> str:
    total: Counter[str] = Counter()
    for report in reports:
        total.update({name: value for name, value in report.figures.items() if isinstance(value, int | float)})
    frames = total["captured"] + total["plain"]
    words = (
        f"{len(reports)} modules, {sum(r.tests for r in reports)} tests, "
        f"{sum(len(r.differences) for r in reports)} differences, {sum(r.expected for r in reports)} expected"
    )
    if frames:
        words += (
            f"; {frames} frames, {total['plain'] / frames:.1%} skipped (at most {MOST_SKIPPED:.0%}),"
            f" {total['generators']} of generators, {total['bodies']} of bodies; {total['executed']} instructions,"
            f" {total['evaluated'] / max(total['executed'], 1):.1%} symbolic (at least {LEAST_SYMBOLIC:.0%});"
            f" {total['operations']} operations in {total['graphs']} graphs, run {total['operations run']} times"
        )
    return words


def print_most_frequent(title: str, reports: list[Report], most: int = 60) -> None:
    """What is gathered where EVERYTHING_REASONS is set."""
    found: Counter[str] = Counter()
    for report in reports:
        found.update(dict(report.figures.get(title, ())))
    for words, count in found.most_common(most):
        print(f"{title:12} {count:9} {words}")


if __name__ == "__main__":
    sys.exit(main())
