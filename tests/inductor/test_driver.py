"""gcc's stages started one by one give what its driver gives, or nothing."""

from __future__ import annotations

import ctypes
import os
import signal

import pytest

from capture import config
from capture.errors import ToolchainError
from capture.inductor import driver, stages, toolchain

SOURCE = "int twice(int x) { return x + x; }"


@pytest.fixture(autouse=True)
def own_cache(tmp_path):
    with config.patch(cache_dir=tmp_path / "cache", compiler=None, simd="auto", fast_math=False):
        yield


@pytest.fixture
def gcc() -> toolchain.Toolchain:
    found = toolchain.find()
    assert found.family != "gcc" or found.stages, "gcc's stages are known wherever gcc is"
    # Commands that do nothing but succeed stand in where the compiler has no stages of its own.
    return found if found.stages else found._replace(stages=(("true",),) * 3)


def test_stages_make_the_same_object(gcc, tmp_path):
    if gcc.family != "gcc":
        assert driver.plan_stages(gcc.command, gcc.flags, gcc.libraries) == ()
        return
    text = tmp_path / "twice.c"
    text.write_text(SOURCE)
    assert stages.run_stages(gcc.stages, text, tmp_path / "staged.so")
    assert (
        driver.run([*gcc.command, *gcc.flags, str(text), "-o", str(tmp_path / "driven.so"), *gcc.libraries])
        is None
    )
    assert ctypes.CDLL(str(tmp_path / "staged.so")).twice(21) == 42
    # The names of the files differ and with them the build identifier, so compare what is loaded as code.
    assert code_of(tmp_path / "staged.so") == code_of(tmp_path / "driven.so")


def code_of(path) -> bytes:
    start = ctypes.cast(ctypes.CDLL(str(path)).twice, ctypes.c_void_p).value
    return ctypes.string_at(start, 3)


@pytest.mark.parametrize("broken", [0, 1, 2])
@pytest.mark.parametrize("stand_in", ["/bin/false", "/nowhere/program"])
def test_a_failing_stage_falls_back_to_the_driver(gcc, tmp_path, broken, stand_in):
    damaged = gcc._replace(
        stages=tuple((stand_in, *words[1:]) if at == broken else words for at, words in enumerate(gcc.stages))
    )
    assert not stages.run_stages(damaged.stages, tmp_path / "twice.c", tmp_path / "twice.so")
    damaged.compile(SOURCE, tmp_path / "twice.so")
    assert ctypes.CDLL(str(tmp_path / "twice.so")).twice(21) == 42


def test_a_refused_source_is_reported_in_the_drivers_words(gcc, tmp_path):
    with pytest.raises(ToolchainError, match="undeclared"):
        gcc.compile("int f(void) { return undeclared; }", tmp_path / "bad.so")
    assert not (tmp_path / "bad.so").exists()


def test_a_hanging_stage_is_ended(gcc, tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "TIMEOUT_SECONDS", 0.1)
    assert not stages.run_stages((("/bin/sleep", "60"), *gcc.stages[1:]), tmp_path / "x.c", tmp_path / "x.so")
    with pytest.raises(ChildProcessError):  # no child is left
        os.waitpid(-1, os.WNOHANG)


def test_stages_leave_nothing_behind(gcc, tmp_path):
    text = tmp_path / "twice.c"
    text.write_text(SOURCE)
    opened = os.listdir("/proc/self/fd")
    assert stages.run_stages(gcc.stages, text, tmp_path / "twice.so")
    assert not list(tmp_path.glob("*.o"))
    assert os.listdir("/proc/self/fd") == opened


def test_stages_run_where_the_working_directory_is_gone(gcc, tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    text = tmp_path / "twice.c"
    text.write_text(SOURCE)
    assert stages.run_stages(gcc.stages, text, tmp_path / "twice.so")


def test_a_program_that_ignores_its_children_compiles(gcc, tmp_path):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody is told what they ended with
    try:
        gcc.compile(SOURCE, tmp_path / "twice.so")
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert ctypes.CDLL(str(tmp_path / "twice.so")).twice(21) == 42


def test_a_program_without_standard_streams_is_left_to_the_driver(gcc, tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "_STANDARD", 1 << 20)  # as if the pipes had got the numbers of these
    opened = os.listdir("/proc/self/fd")
    assert not stages.run_stages(gcc.stages, tmp_path / "x.c", tmp_path / "x.so")
    assert os.listdir("/proc/self/fd") == opened


@pytest.mark.parametrize(
    "answer",
    ["", "printf ' \"/usr/cc1\" x.c\\n' >&2", "printf ' cc1 a\\n as b\\n collect2 c\\n' >&2", "exit 3"],
)
def test_answers_that_are_not_understood_give_no_plan(tmp_path, answer):
    program = tmp_path / "gcc"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    assert driver.plan_stages([str(program)], (), ()) == ()
