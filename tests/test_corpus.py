"""The corpus: how many graphs and breaks it takes, broken at a share of its instructions, what it reaches changed.

``python -m tests.corpus.breaking`` breaks at every instruction, ``python -m tests.corpus.mutating`` makes all changes,
``python -m tests.corpus.lifetimes`` looks for what lives on.
What a change of ours improves or spoils is written down by ``python -m tests.corpus.golden --update``.
"""

import pytest

from capture.backends import eager
from tests.corpus import breaking, golden, lifetimes, mutating
from tests.corpus.worlds import Name, every

NAMES = list(every())
OF_INSTRUCTIONS = 24
OF_CHANGES = 24
"""One in so many; another one for each function."""
OF_FUNCTIONS = 12
functions = pytest.mark.parametrize("name", NAMES, ids=str)


def test_the_corpus_is_large_and_its_names_are_known():
    assert len(set(NAMES)) == len(NAMES)
    assert list(golden.read()) == [str(name) for name in NAMES], "python -m tests.corpus.golden --update"


@functions
def test_numbers_of_graphs_and_breaks(name):
    assert golden.differences([name]) == [], "for the better? python -m tests.corpus.golden --update"


@functions
def test_breaks_at_a_share_of_all_instructions(name):
    assert not list(breaking.faults(name, OF_INSTRUCTIONS))


@functions
def test_a_share_of_what_can_be_changed(name):
    assert not list(mutating.faults(name, OF_CHANGES))


@pytest.mark.parametrize("name", NAMES[::OF_FUNCTIONS], ids=str)
def test_nothing_lives_on_in_a_share_of_the_functions(name):
    assert list(lifetimes.leaks(name)) == []


def test_what_lives_on_is_found():
    kept = []

    def keeping(graph, inputs):
        run = eager(graph, inputs)

        def kept_run(*inputs):
            kept.append((kept_run, inputs))
            return run(*inputs)

        return kept_run

    found = "\n".join(lifetimes.leaks(Name("statements", "matches_a_value"), backend=keeping))
    for words in ("alive are", "call 0: blocks", "after it was compiled", "live on"):
        assert words in found
