"""The shape of the tree: which package imports which, and where the facts of one home are read."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "capture").rglob("*.py"))

LAYERS = {
    "foundation": {"foundation"},
    "ir": {"foundation", "ir"},
    "frames": {"foundation", "ir", "frames"},
    "inductor": {"foundation", "ir", "inductor"},
    "top": {"foundation", "ir", "frames", "inductor", "top"},
}
"""What each layer may import."""

FOUNDATION = {"config", "errors", "log", "debug", "records", "uncollected", "_version"}
MOST_LINES = 700
TEXT_SUFFIXES = {".py", ".c", ".h", ".md", ".toml", ".jinja", ".txt", ".json", ".cfg", ".ini", ".yml", ".yaml", ""}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module: str) -> str:
    """The layer of ``capture.ir.graph`` is ir; everything that joins packages is top."""
    package = [*module.split("."), ""][1]
    if package in FOUNDATION:
        return "foundation"
    return package if package in LAYERS else "top"


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every module of ours that a file imports, anywhere in it; ``from package import name`` counts the name."""
    known = {module_name(other) for other in MODULES}
    package = module_name(path).split(".")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package[: len(package) - node.level + (path.name == "__init__.py")] if node.level else []
            base = ".".join([*up, *filter(None, [node.module])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield (full if full in known or base == "capture" else base), node.lineno


def ours(name: str) -> bool:
    return name == "capture" or name.startswith("capture.")


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_follow_the_layers(path):
    mine = layer(module_name(path))
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for name, line in imported(path)
        if ours(name) and layer(name) not in LAYERS[mine]
    ]
    assert not wrong, f"{mine} may import only {sorted(LAYERS[mine])}"


def test_layers_are_told_apart():
    assert [layer(m) for m in ("capture", "capture.api", "capture.log", "capture.ir.ops.views", "capture.frames")] == [
        *("top", "top", "foundation", "ir", "frames"),
    ]


HOMES = {
    r"\bsys\.(version_info|hexversion)\b|\bpython_version_tuple\b": {"capture/frames/versions.py"},
    r"\bos\.(environ|getenv|putenv|environb)\b": {"capture/config.py"},
    r"from (sys|os) import .*\b(version_info|hexversion|environ|getenv)\b": set(),
    r"from dataclasses import": set(),  # capture.records makes them faster
}
"""Facts of one home: how reading them looks, and which files may."""


@pytest.mark.parametrize("pattern", HOMES)
def test_facts_of_one_home(pattern):
    found = {
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        if any(re.search(pattern, line.partition("#")[0]) for line in code_lines(path))
    }
    assert found <= HOMES[pattern]


def code_lines(path: Path) -> list[str]:
    """A file's lines without its docstrings, which may speak of anything."""
    text = path.read_text()
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[number - 1] = ""
    return lines


def tracked() -> list[Path]:
    """The files under version control, or all text files where the tree is no checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else [str(p) for p in ROOT.rglob("*")]
    paths = (ROOT / name for name in names if name)
    return [path for path in paths if path.suffix in TEXT_SUFFIXES and path.is_file()]


def test_no_paths_of_one_machine():
    machine = re.compile(r"(^|[^\w.~$)}>*-])/(work|farm|root|tmp)/\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in tracked()
        if path.name != Path(__file__).name
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if machine.search(line)
    ]
    assert not found


@pytest.mark.parametrize("suffix", [".py", ".c", ".h"])
def test_files_are_of_readable_size(suffix):
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "capture").rglob(f"*{suffix}")
        if (lines := len(path.read_text().splitlines())) > MOST_LINES
    }
    assert not long, "a second concern in them wants a home of its own"


def test_every_module_says_what_it_is_for():
    silent = [module_name(path) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not silent
