"""The command line, each command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from capture import config
from capture._version import __version__
from capture.cli import COMMANDS, _size

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def capture_command(tmp_path):
    def run(*words: str, **environment: str) -> subprocess.CompletedProcess:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CAPTURE_")}
        clean |= {"CAPTURE_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "capture", *words]
        return subprocess.run(command, env=clean | environment, cwd=ROOT, capture_output=True, text=True)

    return run


def test_help_lists_every_command(capture_command):
    assert capture_command().stdout == capture_command("--help").stdout
    assert [line.split()[0] for line in capture_command().stdout.splitlines()[2:]] == list(COMMANDS)
    assert capture_command("--version").stdout == f"capture {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dotor"], "no command 'dotor'; did you mean 'doctor'?"),
        (["cache"], "usage: python -m capture cache info|clear"),
        (["options", "x"], "usage: python -m capture options"),
        (["doctor", "x"], "usage: python -m capture doctor"),
    ],
)
def test_misuse_is_status_2(capture_command, words, said):
    run = capture_command(*words)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"{said}\n")


def test_cache_info_and_clear(capture_command, tmp_path):
    assert capture_command("doctor").returncode == 0
    assert capture_command("cache", "info").stdout.startswith(f"{tmp_path}/cache: 1 kernel and 1 record, ")
    assert capture_command("cache", "clear").stdout == f"removed 3 files from {tmp_path}/cache\n"
    assert capture_command("cache", "info").stdout == (
        f"{tmp_path}/cache: 0 kernels and 0 records, 0 bytes of 512.0 MiB\n"
    )


def test_options_prints_the_document(capture_command):
    assert capture_command("options").stdout == config.document()


def test_doctor_names_everything(capture_command):
    run = capture_command("doctor", CAPTURE_NUM_THREADS="1")
    rows = dict(line.split(None, 1) for line in run.stdout.partition("\n\n")[0].splitlines())
    assert run.returncode == 0 and run.stderr == ""
    assert set(rows) == {
        *("capture", "python", "numpy", "options", "hook", "executor", "threads", "cache", "compiler"),
        *("flags", "vectors", "math", "trial"),
    }
    assert rows["options"].startswith("threads=1") and "checked against NumPy" in rows["trial"]


def test_doctor_without_a_compiler(capture_command, tmp_path):
    run = capture_command("doctor", CAPTURE_CC=str(tmp_path / "missing"))
    assert run.returncode == 1 and "Functions run as plain Python here:" in run.stdout
    assert "set by CAPTURE_CC or config.compiler does not work" in run.stdout and run.stderr == ""


def test_doctor_without_a_usable_cache(capture_command, tmp_path):
    (tmp_path / "file").touch()
    run = capture_command("doctor", CAPTURE_CACHE_DIR=str(tmp_path / "file"))
    assert run.returncode == 0 and f"{tmp_path}/file cannot be used" in run.stdout and run.stderr == ""


def test_doctor_when_all_is_turned_off(capture_command):
    run = capture_command("doctor", CAPTURE_DISABLE="1")
    assert run.returncode == 1 and "everything is turned off" in run.stdout


def test_sizes_are_readable():
    assert [_size(n) for n in (0, 1023, 1024, 219853, 512 << 20, 5 << 40)] == [
        *("0 bytes", "1023 bytes", "1.0 KiB", "214.7 KiB", "512.0 MiB", "5120.0 GiB"),
    ]
