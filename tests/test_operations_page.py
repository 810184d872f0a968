"""docs/operations.md says what the records say."""

from __future__ import annotations

from tests.operations_page import PATH, page


def test_page_is_up_to_date():
    assert PATH.read_text() == page(), "run: python -m tests.operations_page"


def test_page_knows_the_common_names():
    rows = [line.split(" | ") for line in page().splitlines() if line.startswith("| `")]
    how = {row[0].strip("| `"): row[1] for row in rows}
    assert how["np.exp"] == how["x + y"] == how["x.sum()"] == "kernel"
    assert how["np.matmul"] == how["np.sort"] == "NumPy"
    assert how["x.T"] == "view"
    assert how["x.reshape()"] == "view, kernel"
