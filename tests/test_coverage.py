"""Every public function of NumPy's is captured as docs/coverage.md says, with NumPy's results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.coverage_page import HEAD, NO_SAMPLE, PATH, classify, name_of, public, samples, why_not


def documented() -> dict[str, tuple[str, str]]:
    rows = [line.strip("| ").split(" | ") for line in PATH.read_text().splitlines() if line.startswith("| `")]
    return {row[0].strip("`").replace("\\|", "|"): row[1] for row in rows}


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="samples are for NumPy 2.4 and later")
def test_every_public_name_has_a_sample_or_a_reason():
    excuses = [name for names in NO_SAMPLE.values() for name in names.split()]
    excused = {name if name.startswith("x.") else f"np.{name}" for name in excuses}
    names = map(name_of, samples())
    covered = {name if name.startswith("np.") else f"x.{name.partition('.')[2]}" for name in names}
    assert not sorted(set(public()) - covered - excused)


@pytest.mark.parametrize("call", samples())
def test_call(call):
    """``classify`` compares the results with NumPy's."""
    kind, _ = classify(call)
    known = documented()
    if call in known and PATH.read_text().startswith(HEAD):  # written with this version of NumPy
        assert kind == known[call], "run: python -m tests.coverage_page"


def test_each_break_has_a_reason():
    known, is_current = documented(), PATH.read_text().startswith(HEAD)
    breaks = [call for call in samples() if classify(call)[0] == "break"]
    assert not [call for call in breaks if (is_current or known.get(call) == "break") and not why_not(call)]


def test_most_calls_do_not_break():
    kinds = [classify(call)[0] for call in samples()]
    assert kinds.count("break") <= MOST_BREAKS
    assert kinds.count("loops") >= LEAST_LOOPS


MOST_BREAKS, LEAST_LOOPS = 35, 250
