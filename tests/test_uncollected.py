"""What is imported is old for the collector of cycles from the start; what the program has set aside stays so."""

from __future__ import annotations

import gc

import pytest

from capture.uncollected import FEW, importing, uncollected


class Made:
    pass


@pytest.fixture(autouse=True)
def collecting():
    gc.enable()
    yield
    gc.enable()
    gc.unfreeze()


def generation_of(made: object) -> int:
    return next(number for number in range(3) if any(each is made for each in gc.get_objects(generation=number)))


def test_nothing_is_collected_inside():
    with uncollected():
        assert not gc.isenabled()
        with importing():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    with importing():
        pass
    assert not gc.isenabled()


def test_what_is_imported_is_old():
    with importing():
        made = [Made()]
    assert generation_of(made) == 2
    with uncollected():
        made = [Made()]
    assert generation_of(made) < 2


def test_what_the_program_has_set_aside_stays_aside():
    gc.freeze()
    before = gc.get_freeze_count()
    assert before > FEW
    with importing():
        made = [Made()]
    assert gc.get_freeze_count() == before
    assert generation_of(made) < 2


def test_old_cycles_are_collected_like_others():
    with importing():
        made = Made()
        made.itself = made
        name = id(made)
        del made
    gc.collect()
    assert not any(id(each) == name and isinstance(each, Made) for each in gc.get_objects())


def test_an_import_that_fails_leaves_the_collector_on():
    with pytest.raises(ImportError), importing():
        raise ImportError
    assert gc.isenabled()
