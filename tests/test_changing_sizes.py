"""A share of what ``python -m tests.changing_sizes`` does with all programs of the suites."""

import pytest

from tests.changing_sizes import listed, outcome, programs

SHARE = list(programs())[::4]


@pytest.mark.parametrize("program", SHARE, ids=lambda program: program.name)
def test_few_variants_serve_all_sizes(program):
    found = outcome(program)
    if found is None:  # it takes a variant a call, whatever the sizes
        return
    assert found.differences == ()
    if not program.name.startswith("corpus."):  # of the corpus, the page tells what was when it was written
        assert not found.exceeds or found.name in listed(), f"{found}\npython -m tests.changing_sizes --update"
