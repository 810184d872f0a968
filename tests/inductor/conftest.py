"""Fixtures of the executor's tests."""

import subprocess

import pytest

from capture.inductor import executor
from tests.inductor.hand_made import SOURCE


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The path of the shared object with the kernels of ``hand_made``."""
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "unit.c").write_text(SOURCE)
    path = folder / "unit.so"
    subprocess.run(["gcc", "-O1", "-w", "-shared", "-fPIC", "-o", path, folder / "unit.c"], check=True)
    return path


@pytest.fixture
def empty_pool():
    """No block of another test waits in the pool."""
    executor.release_memory()
