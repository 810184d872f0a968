"""How many graphs and breaks each function of the corpus takes: what it was, in golden.txt, and what it is now.

python -m tests.corpus.golden             what is other than in the file
python -m tests.corpus.golden --update    write what is now into the file, for the Python that runs; do it on each

A row of the file is ``function [Pythons]: graphs, breaks: their kinds``; Pythons are given where they differ.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

os.environ.setdefault("CAPTURE_STRICT", "1")  # before capture is imported

from capture.frames import hook
from capture.frames.values import wrap
from tests.corpus.twins import Twins
from tests.corpus.worlds import Name, every

FILE = Path(__file__).with_name("golden.txt")
PYTHONS = ("3.11", "3.12", "3.13")
THIS = "{}.{}".format(*sys.version_info)
ROW = re.compile(r"(?P<name>[\w.]+)(?: \[(?P<pythons>[\d. ]+)\])?: (?P<words>.*)")
HEAD = "Graphs and breaks of the corpus; written by python -m tests.corpus.golden --update\n\n"

LARGE = 10**6
"""Items that a container may have: sys.modules, which warnings looks at, has as many as other tests imported."""

Table = dict[str, dict[str, str]]
"""Function -> Python -> in words."""


def measured(name: Name) -> str:
    """What capturing all calls of a function takes, each made twice, when no frames have been seen before."""
    hook.reset()
    twins = Twins(name)
    with mock.patch.object(wrap, "MOST_ITEMS", LARGE):
        for number in [*twins.numbers, *twins.numbers]:
            difference = twins.call(number)
            assert not difference, f"{name}, call {number}: {difference}"
    kinds = Counter(found.kind for found in twins.record.breaks)
    words = f"{len(twins.record.graphs)} graphs, {kinds.total()} breaks"
    return ": ".join([words, *filter(None, [", ".join(_times(kind, kinds[kind]) for kind in sorted(kinds))])])


def _times(kind: str, count: int) -> str:
    return kind if count == 1 else f"{count} {kind}"


def read() -> Table:
    table: Table = defaultdict(dict)
    for row in FILE.read_text("utf-8").splitlines()[2:]:
        found = ROW.fullmatch(row)
        assert found is not None, row
        pythons = found["pythons"].split() if found["pythons"] else PYTHONS
        table[found["name"]] |= dict.fromkeys(pythons, found["words"])
    return table


def written(table: Table) -> str:
    rows = []
    for name, by_python in table.items():
        for words in dict.fromkeys(by_python[python] for python in sorted(by_python)):
            pythons = [python for python in sorted(by_python) if by_python[python] == words]
            where = "" if pythons == list(PYTHONS) else f" [{' '.join(pythons)}]"
            rows.append(f"{name}{where}: {words}\n")
    return HEAD + "".join(rows)


def update(names: Iterable[Name]) -> None:
    """Write the file again, in the order of the corpus; a function that is new to it counts for all Pythons."""
    old, new = read() if FILE.exists() else {}, {}
    for name in names:
        words = measured(name)
        known = old.get(str(name)) or dict.fromkeys(PYTHONS, words)
        new[str(name)] = known | {THIS: words}
    FILE.write_text(written(new), "utf-8")


def differences(names: Iterable[Name]) -> list[str]:
    known = read()
    rows = []
    for name in names:
        words, expected = measured(name), known.get(str(name), {}).get(THIS, "nothing")
        if words != expected:
            rows.append(f"{name}: {words}; was {expected}")
    return rows


def main() -> None:
    if "--update" in sys.argv[1:]:
        update(every())
    else:
        print(*differences(every()), sep="\n")


if __name__ == "__main__":
    main()
