"""A wheel built beforehand, installed where no compiler is on PATH: without and with its own extra.

``wheel[toolchain]`` names the wheel file, never the project's name on an index: only its dependency ziglang comes
from a package registry.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import textwrap
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FIXES = ("apt install gcc", 'pip install "capture-compiler[toolchain]"')
PROGRAM = """
    import warnings
    import numpy as np
    import capture

    def gauss(x, w):
        return np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * w

    x, w = np.linspace(-3, 3, 1001), np.arange(1001.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled = capture.compile(gauss)
        other = capture.compile(lambda x: x + 1)
        for _ in range(3):
            np.testing.assert_allclose(compiled(x, w), gauss(x, w), rtol=1e-14)
            np.testing.assert_array_equal(other(x), x + 1)
    for warning in caught:
        print(f"{warning.category.__name__}: {warning.message}")
"""


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel in it, on a machine without a compiler."""

    python: Path
    folder: Path

    def run(self, *words: str) -> subprocess.CompletedProcess:
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("CAPTURE_", "PYTHON"))
        }
        # PATH has one folder with nothing in it; the cache is cold.
        environment = kept | {"PATH": str(empty), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return subprocess.run(
            [self.python, *words], env=environment, cwd=empty, capture_output=True, text=True
        )

    def program(self) -> subprocess.CompletedProcess:
        return self.run("-c", textwrap.dedent(PROGRAM))


def pip(*words: str | Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The project's wheel, built from a copy of the sources, so that the tree gets no build folder."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    copy_sources(ROOT / "capture", folder / "capture")
    built = pip("wheel", "--no-build-isolation", "--no-deps", "-q", "-w", folder / "dist", folder)
    assert built.returncode == 0, built.stderr
    (path,) = (folder / "dist").iterdir()
    return path


def copy_sources(source: Path, target: Path) -> None:
    for path in source.rglob("*"):
        if path.is_file() and path.suffix not in (".so", ".pyc"):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())


@pytest.fixture
def install(wheel, tmp_path):
    """Installs the wheel in a new environment that finds this one's other packages (NumPy) through a path file."""

    def make(extra: str = "") -> Installed:
        venv.create(tmp_path / "venv", symlinks=True)
        python = tmp_path / "venv" / "bin" / "python"
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "venv")}))
        (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
        done = pip("--python", python, "install", "-q", "--no-warn-script-location", f"{wheel}{extra}")
        assert done.returncode == 0, done.stderr
        return Installed(python, tmp_path)

    return make


def test_without_a_compiler_plain_python_runs_with_one_warning(install):
    installed = install()
    doctor = installed.run("-m", "capture", "doctor")
    assert doctor.returncode == 1, doctor.stdout + doctor.stderr
    assert str(installed.folder) in doctor.stdout.splitlines()[0], "the wheel is what runs"
    assert doctor.stdout.count("no C compiler found") == 1 and all(fix in doctor.stdout for fix in FIXES)
    program = installed.program()
    assert program.returncode == 0, program.stderr
    (warning,) = program.stdout.splitlines()
    assert warning.startswith("FallbackWarning: ") and all(fix in warning for fix in FIXES)


def test_the_extra_brings_a_compiler(install):
    if pip("install", "--dry-run", "--no-deps", "--ignore-installed", "-q", "ziglang").returncode != 0:
        pytest.skip("the package registry cannot be reached")
    installed = install("[toolchain]")
    program = installed.program()
    assert (program.returncode, program.stdout) == (0, ""), program.stdout + program.stderr
    assert "2 kernels" in installed.run("-m", "capture", "cache", "info").stdout
    doctor = installed.run("-m", "capture", "doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "zig" in next(line for line in doctor.stdout.splitlines() if line.startswith("compiler"))
