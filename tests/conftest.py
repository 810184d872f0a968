"""All tests run strict: an internal failure raises instead of falling back to plain Python. And a fixture for what is
to hold however functions are compiled.
"""

import os
import signal

os.environ["CAPTURE_STRICT"] = "1"  # read once, when capture is imported

import pytest

from capture import config
from capture.backends import eager, inductor
from tests import helpers

SETTINGS = {
    "eager": {"backend": eager},
    "inductor": {"backend": inductor},
    "open": {"backend": inductor, "dynamic": True},
}


def pytest_configure() -> None:
    assert config.strict, "capture was imported before CAPTURE_STRICT was set"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what they start in the background


@pytest.fixture(params=SETTINGS)
def captured(request):
    """``helpers.captured`` with the graphs as they are, as kernels, and as kernels for open sizes."""
    return lambda function: helpers.captured(function, **SETTINGS[request.param])
