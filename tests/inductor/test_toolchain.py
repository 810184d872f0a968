"""Finding a compiler, what it is told, and what is said when there is none."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from capture import config
from capture.errors import ToolchainError
from capture.inductor import driver, toolchain, trials
from capture.inductor.flags import LEVELS

FIXES = ("apt install gcc", 'pip install "capture-compiler[toolchain]"')


@pytest.fixture(autouse=True)
def own_cache(tmp_path):
    with config.patch(cache_dir=tmp_path / "cache", compiler=None, simd="auto", fast_math=False):
        toolchain.forget()
        yield
    toolchain.forget()


def script(path: Path, text: str) -> str:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def run_kernel(found: toolchain.Toolchain, folder: Path, expression: str, x: np.ndarray) -> np.ndarray:
    """The expression over x by a kernel of its own."""
    source = f"""
        double exp(double);
        void kernel(double *restrict y, const double *restrict x, long n) {{
            #pragma omp simd
            for (long i = 0; i < n; i++) y[i] = {expression};
        }}"""
    out = folder / f"kernel{len(list(folder.iterdir()))}.so"
    found.compile(source, out)
    y = np.empty_like(x)
    ctypes.CDLL(str(out)).kernel(*map(ctypes.c_void_p, (y.ctypes.data, x.ctypes.data)), ctypes.c_long(x.size))
    return y


def test_finds_one_that_compiles(tmp_path):
    found = toolchain.find()
    assert found.family in ("gcc", "clang", "zig") and found.version[0].isdigit()
    assert found.vector_bytes in (16, 32, 64) and str(found).startswith(f"{found.family} {found.version}")
    x = np.linspace(-5, 5, 1003)
    np.testing.assert_allclose(run_kernel(found, tmp_path, "exp(x[i])", x), np.exp(x), rtol=1e-15)
    assert (tmp_path / "cache").is_dir()


def test_same_answer_from_memory_and_from_disk():
    first = toolchain.find()
    assert toolchain.find() is first
    toolchain.forget()
    assert toolchain.find() == first


def test_second_process_runs_no_compiler(tmp_path, monkeypatch):
    toolchain.find()
    toolchain.forget()
    monkeypatch.setattr(trials, "try_compiler", lambda *args: pytest.fail(f"tried {args}"))
    toolchain.find()


@pytest.mark.parametrize("fast_math", [False, True])
def test_one_trial_finds_what_many_do(fast_math, monkeypatch):
    with config.patch(fast_math=fast_math):
        found = toolchain.find()
        toolchain.forget()
        monkeypatch.setattr(trials, "_all_at_once", lambda *args: None)
        others = trials.try_compiler(found.command, "auto", fast_math)
        assert bool(others.stages) == bool(found.stages)  # which name folders of their own
        assert others._replace(stages=()) == found._replace(stages=())


def test_arithmetic_is_not_contracted_nor_reassociated(tmp_path):
    found = toolchain.find()
    x = np.random.default_rng(0).standard_normal(999)
    assert (run_kernel(found, tmp_path, "x[i] * x[i] + 0.1 - 0.1", x) == x * x + 0.1 - 0.1).all()


@pytest.mark.parametrize("level", ["avx512", "avx2", "sse", "neon"])
def test_every_level_works_or_says_what_is_missing(level, tmp_path):
    auto = toolchain.find()
    with config.patch(simd=level):
        if set(LEVELS[level].cpu) <= toolchain.cpu_flags():
            found = toolchain.find()
            assert found.level == level and found.vector_bytes == LEVELS[level].vector_bytes
            assert found.identity != auto.identity
            x = np.linspace(-5, 5, 103)
            np.testing.assert_allclose(run_kernel(found, tmp_path, "exp(x[i])", x), np.exp(x), rtol=1e-15)
        else:
            with pytest.raises(ToolchainError, match=f"option simd='{level}': this processor has no "):
                toolchain.find()


@pytest.mark.parametrize("level", ["avx512", "avx2"])
def test_kernels_leave_no_vector_registers_in_use(level, tmp_path):
    """Or whatever runs after them with older instructions, as NumPy's FFT does, is slowed down."""
    if not set(LEVELS[level].cpu) <= toolchain.cpu_flags():
        pytest.skip(f"no {level}")
    with config.patch(simd=level):
        out = tmp_path / "kernel.so"
        toolchain.find().compile(
            """
            void kernel(double *restrict y, const double *restrict x, long n)
            {
                #pragma omp simd
                for (long i = 0; i < n; i++) y[i] = x[i] * 2.0 + 1.0;
            }""",
            out,
        )
    assert b"\xc5\xf8\x77" in out.read_bytes()  # vzeroupper


def test_auto_is_the_best_level_of_the_processor():
    best = [name for name, level in LEVELS.items() if set(level.cpu) <= toolchain.cpu_flags()]
    assert toolchain.find().level == (best[0] if best else "plain")


def test_fast_math_is_another_toolchain(tmp_path):
    strict = toolchain.find()
    with config.patch(fast_math=True):
        relaxed = toolchain.find()
        assert relaxed.identity != strict.identity and "-fassociative-math" in relaxed.flags
        x = np.array([np.nan, 1.0, np.inf])
        assert np.isnan(run_kernel(relaxed, tmp_path, "x[i] + 1", x)).tolist() == [True, False, False]


def test_refused_source_keeps_the_file_and_shows_the_first_lines(tmp_path):
    with pytest.raises(ToolchainError) as caught:
        toolchain.find().compile("int f(void) {\n  return undeclared;\n}\n" * 50, tmp_path / "bad.so")
    message = str(caught.value)
    assert "could not compile" in message and "undeclared" in message
    assert str(tmp_path / "bad.c") in message and (tmp_path / "bad.c").exists()
    assert len(message.splitlines()) <= 10 and not (tmp_path / "bad.so").exists()


def test_no_compiler_names_the_fixes(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError) as caught:
        toolchain.find()
    assert str(caught.value).startswith("no C compiler found; ")
    assert all(fix in str(caught.value) for fix in FIXES)


def test_broken_compilers_are_listed_and_the_next_is_tried(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    works = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    script(tmp_path / "gcc", "raise SystemExit('license expired')")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError) as caught:
        toolchain.find()
    message = str(caught.value)
    assert message.startswith("no working C compiler; ") and all(fix in message for fix in FIXES)
    assert f"{tmp_path / 'gcc'}: license expired" in message
    if works is None:
        pytest.skip("only the package ziglang is there to compile with")
    os.symlink(works, tmp_path / "cc")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    toolchain.forget()
    assert toolchain.find().command == (str(tmp_path / "cc"),)


def test_chosen_compiler_is_the_only_one_tried(tmp_path):
    with (
        config.patch(compiler=script(tmp_path / "broken", "raise SystemExit(7)")),
        pytest.raises(
            ToolchainError, match=r"set by CAPTURE_CC .* does not work: .*exit status 7 without a word"
        ),
    ):
        toolchain.find()
    with config.patch(compiler="/nowhere/cc"), pytest.raises(ToolchainError, match="No such file"):
        toolchain.find()


def test_chosen_compiler_with_arguments(tmp_path):
    command = toolchain.find().command
    wrapper = script(tmp_path / "wrapper", "import os, sys\nos.execvp(sys.argv[1], sys.argv[1:])")
    with config.patch(compiler=" ".join([wrapper, *command])):
        assert toolchain.find().command == (wrapper, *command)


def test_upgraded_compiler_is_tried_again(tmp_path):
    command = toolchain.find().command
    wrapper = script(
        tmp_path / "wrapper", f"import os, sys\nos.execv({command[0]!r}, {[*command]!r} + sys.argv[1:])"
    )
    with config.patch(compiler=wrapper):
        before = toolchain.find()
        os.utime(wrapper, (1, 1))
        toolchain.forget()
        assert toolchain.find().identity != before.identity


def test_flags_the_compiler_refuses_are_left_out(tmp_path, monkeypatch):
    command = toolchain.find().command
    refusing = f"""
import os, sys
if "-fno-stack-protector" in sys.argv:
    raise SystemExit("unknown flag")
os.execv({command[0]!r}, {[*command]!r} + sys.argv[1:])
"""
    with config.patch(compiler=script(tmp_path / "old", refusing)):
        found = toolchain.find()
    assert "-fno-stack-protector" not in found.flags and "-fcf-protection=none" in found.flags


def test_hanging_compiler_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "TIMEOUT_SECONDS", 0.2)
    with (
        config.patch(compiler=script(tmp_path / "hangs", "import signal\nsignal.pause()")),
        pytest.raises(ToolchainError, match="no result after"),
    ):
        toolchain.find()


def test_nothing_is_left_in_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    toolchain.find().compile("int x;", tmp_path / "x.so")
    assert list((tmp_path / "here").iterdir()) == []


def test_package_ziglang_works(tmp_path):
    pytest.importorskip("ziglang", reason="the package ziglang is not installed")
    (command,) = [c for c in toolchain._candidates(None) if c[-1] == "cc" and len(c) == 2]
    with config.patch(compiler=" ".join(command)):
        found = toolchain.find()
        assert found.family == "zig"
        x = np.linspace(-5, 5, 103)
        np.testing.assert_allclose(run_kernel(found, tmp_path, "exp(x[i])", x), np.exp(x), rtol=1e-15)
