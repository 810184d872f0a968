"""The corpus: broken at a share of its instructions, and the numbers of graphs and breaks it takes.

``python -m tests.corpus.breaking`` breaks everywhere. What a change improves or spoils is written down by
``python -m tests.corpus.golden --update``.
"""

import pytest

from tests.corpus import breaking, golden
from tests.corpus.worlds import every

NAMES = list(every())
SHARE = 6
functions = pytest.mark.parametrize("name", NAMES, ids=str)


def test_the_corpus_is_large_and_its_names_are_known():
    assert len(set(NAMES)) == len(NAMES)
    assert list(golden.read()) == [str(name) for name in NAMES], "python -m tests.corpus.golden --update"


@functions
def test_numbers_of_graphs_and_breaks(name):
    assert golden.differences([name]) == [], "for the better? python -m tests.corpus.golden --update"


@functions
def test_breaks_at_a_share_of_all_instructions(name):
    assert not list(breaking.faults(name, SHARE))
