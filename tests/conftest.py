"""All tests run strict: an internal failure raises instead of falling back to plain Python."""

import os

os.environ["CAPTURE_STRICT"] = "1"  # read once, when capture is imported

from capture import config


def pytest_configure() -> None:
    assert config.strict, "capture was imported before CAPTURE_STRICT was set"
