"""Kinds of graph breaks: each has words, and the documentation is written from the table."""

from pathlib import Path

import pytest

from capture.frames.breaks import HINTS, KINDS, GraphBreak, document


def test_the_documentation_is_the_table():
    assert (Path(__file__).parents[2] / "docs" / "breaks.md").read_text() == document()


def test_hints_are_for_kinds():
    assert HINTS.keys() <= KINDS.keys()


def test_a_break_of_no_kind_is_refused():
    with pytest.raises(KeyError):
        GraphBreak("reason", "nonsense")
    assert GraphBreak("reason", "branch").hint == HINTS["branch"]
