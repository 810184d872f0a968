"""The disk cache: hits, damage, eviction, many processes, and directories that cannot be used."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from capture import config, log
from capture.errors import FallbackWarning, ToolchainError
from capture.inductor import cache, toolchain

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Compiler:
    """Stands in for a toolchain: 'compiles' by copying, and counts."""

    identity: str = "copy"
    size: int = 0
    built: list[str] = field(default_factory=list)

    def compile_file(self, source_path, out_path):
        text = Path(source_path).read_text()
        if "error" in text:
            raise ToolchainError(f"refused {source_path}")
        self.built.append(text)
        Path(out_path).write_text(text.ljust(self.size))


@pytest.fixture(autouse=True)
def folder(tmp_path):
    with config.patch(cache_dir=tmp_path / "cache"):
        yield tmp_path / "cache"


def age(path: Path, seconds: float) -> None:
    for sibling in path.parent.glob(f"{path.stem}.*"):
        os.utime(sibling, (time.time() - seconds, time.time() - seconds))


def test_builds_once_and_keeps_the_source_beside_it():
    compiler = Compiler()
    path = cache.load("int a;", compiler)
    assert path.read_bytes().startswith(b"int a;") and path.with_suffix(".c").read_text() == "int a;"
    assert cache.load("int a;", compiler) == path
    assert compiler.built == ["int a;"]
    assert path.stem == cache.key("int a;", compiler)
    assert cache.info() == cache.Info(path.parent, cache._size(path.parent), config.cache_bytes, 1, 0)


def test_key_depends_on_source_and_toolchain():
    keys = {
        cache.key(source, Compiler(identity)) for source in ("a", "b", "") for identity in ("", "a", "ab")
    }
    assert len(keys) == 9


@pytest.mark.parametrize(
    "damage", [b"", b"x", lambda data: data[:-1], lambda data: b"X" + data[1:], bytes.upper]
)
def test_damaged_object_is_built_again(damage):
    compiler = Compiler()
    path = cache.load("int a;", compiler)
    whole = path.read_bytes()
    path.write_bytes(damage(whole) if callable(damage) else damage)
    assert cache.load("int a;", compiler) == path
    assert path.read_bytes() == whole and len(compiler.built) == 2


def test_real_object_loads_with_its_seal(folder):
    found = toolchain.find()
    path = cache.load("int twice(int x) { return x + x; }", found)
    assert ctypes.CDLL(str(path)).twice(21) == 42
    assert cache.load("int twice(int x) { return x + x; }", found) == path


def test_object_evicted_before_it_is_opened_is_built_again():
    compiler, attempts = Compiler(), []

    def opener(path):
        if not attempts:
            path.unlink()
        attempts.append(path)
        return path.read_bytes()

    assert cache.opened("int a;", compiler, opener).startswith(b"int a;")
    assert len(attempts) == len(compiler.built) == 2
    with pytest.raises(OSError, match="never"):
        cache.opened("int a;", compiler, lambda path: (_ for _ in ()).throw(OSError("never")))


def test_refused_source_leaves_only_the_source(folder):
    with pytest.raises(ToolchainError, match="refused"):
        cache.load("error", Compiler())
    assert [path.suffix for path in folder.iterdir()] == [".c"]


def test_size_stays_bounded_and_what_is_used_stays():
    compiler = Compiler(size=10_000)
    with config.patch(cache_bytes=60_000):
        kept = cache.load("kept", compiler)
        for number in range(40):
            age(kept, 0)
            age(cache.load(f"{number}", compiler), 1000 - number)
            assert cache.info().bytes <= 60_000
    assert kept.exists() and 4 <= cache.info().kernels <= 6
    assert {path.stem for path in kept.parent.glob("*.c")} == {path.stem for path in kept.parent.glob("*.so")}


def test_use_makes_an_entry_recent():
    compiler = Compiler()
    path = cache.load("a", compiler)
    age(path, 1000)
    cache.load("a", compiler)
    assert time.time() - path.stat().st_mtime < 100


def test_an_entry_over_the_bound_is_still_loaded():
    with config.patch(cache_bytes=10):
        assert cache.load("a" * 100, Compiler()).exists()
        cache.store_entry("name", b"b" * 100)
        assert cache.load_entry("name") == b"b" * 100


def test_records():
    assert cache.load_entry("plan") is None
    cache.store_entry("plan", b"\0content")
    cache.store_entry("other", b"")
    assert cache.load_entry("plan") == b"\0content" and cache.load_entry("other") == b""
    cache.store_entry("plan", b"newer")
    assert cache.load_entry("plan") == b"newer" and cache.info().records == 2
    for path in cache.directory().glob("*.bin"):
        path.write_bytes(path.read_bytes()[:-1])
    assert cache.load_entry("plan") is None


def test_clear_removes_only_what_the_cache_wrote(folder):
    cache.load("a", Compiler())
    cache.store_entry("b", b"")
    (folder / "thesis.c").write_text("years of work")
    (folder / "tmp-0123.so").write_text("left by a process that died")
    age(folder / "tmp-0123.so", 10_000)
    assert cache.clear() == 3
    assert [path.name for path in folder.iterdir()] == ["thesis.c"]
    assert cache.load("a", Compiler()).exists()


def test_directory_removed_while_running(folder):
    compiler = Compiler()
    path = cache.load("a", compiler)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        log.forget_warnings()
        elsewhere = cache.load("a", compiler)
    assert elsewhere != path and elsewhere.exists()
    assert [w.category for w in caught] == [FallbackWarning]


def test_unusable_directory_gives_a_private_one_and_one_warning(tmp_path):
    (tmp_path / "file").touch()
    log.forget_warnings()
    with warnings.catch_warnings(record=True) as caught, config.patch(cache_dir=tmp_path / "file" / "cache"):
        warnings.simplefilter("always")
        first = cache.load("a", Compiler())
        second = cache.load("b", Compiler())
    assert first.parent == second.parent and first.parent.stat().st_mode & 0o777 == 0o700
    assert len(caught) == 1 and caught[0].category is FallbackWarning
    assert str(tmp_path / "file") in str(caught[0].message) and "CAPTURE_CACHE_DIR" in str(caught[0].message)


def test_private_directory_goes_with_its_process(tmp_path):
    (tmp_path / "file").touch()
    code = """
import os
from capture.inductor import cache
where = cache.directory()
if (child := os.fork()) == 0:
    raise SystemExit  # a child's end must not take the parent's directory
os.waitpid(child, 0)
print(where, where.is_dir())
"""
    run = run_python(code, CAPTURE_CACHE_DIR=str(tmp_path / "file"))
    where, existed = run.stdout.split()
    assert existed == "True" and not Path(where).exists()


def test_many_processes_share_it(folder):
    code = """
import ctypes
from capture.inductor import cache, toolchain
for number in range(4):
    path = cache.load(f"int number(void) {{ return {number}; }}", toolchain.find())
    assert ctypes.CDLL(str(path)).number() == number
"""
    environment = os.environ | {"CAPTURE_CACHE_DIR": str(folder)}
    children = [subprocess.Popen([sys.executable, "-c", code], env=environment, cwd=ROOT) for _ in range(4)]
    assert [child.wait() for child in children] == [0, 0, 0, 0]
    assert cache.info().kernels == 4
    assert not [path for path in folder.iterdir() if path.name.startswith("tmp-")]


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
