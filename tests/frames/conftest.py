"""Fixtures for the tests of frames."""

from __future__ import annotations

import pytest

from capture.frames import hook


@pytest.fixture
def hook_is_left_as_found():
    """The hook asks nobody and knows nothing at the start, and is as before in the end."""
    before = hook.set_callbacks(None, None)
    hook.reset()
    yield
    assert hook.armed_depth() == 0
    hook.set_callbacks(*before)
    hook.reset()
