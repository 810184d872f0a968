"""The disk cache: compiled kernels and small records, addressed by content.

In comes a C source and a toolchain, out comes the path of its shared object, built on a miss::

    path = cache.load(source, toolchain)           # ~/.cache/capture/<hash>.so, with <hash>.c beside it
    cache.store_entry("plan:3f2…", pickled)        # small records of any kind
    pickled = cache.load_entry("plan:3f2…")        # None when it is not there

Any number of processes share one directory without a lock. A file is written under a temporary name and
renamed, so a name that exists is complete; of two builders the later rename wins, with the same content.
Objects and records end in a digest of what precedes it (ELF allows a tail), so that one cut short by a full
disk or a power failure is built again: loading a truncated object would kill the process. The total size is
bounded: past ``config.cache_bytes`` the least recently used go, use being marked in the modification time.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from capture import config, log

if TYPE_CHECKING:
    from capture.inductor.toolchain import Toolchain

Opened = TypeVar("Opened")

_FORMAT = "1"
"""Part of every key: raise it when the files' form changes."""

_SEAL = b"capture\0"
_SEAL_BYTES = len(_SEAL) + hashlib.sha256().digest_size
_NAME = re.compile(r"[0-9a-f]{40}\.(so|c|bin)")
_TEMPORARY = "tmp-"
_STALE_SECONDS = 3600.0
"""A temporary file this old was left by a process that died."""

_KEEP = 0.9
"""The share of the bound that eviction leaves, so that it does not run at each store."""


class Info(NamedTuple):
    """What the cache holds: where, how much of how much, how many kernels and other records."""

    directory: Path
    bytes: int
    limit: int
    kernels: int
    records: int


# ------------------------------------------------------------------ kernels


def key(source: str, toolchain: Toolchain) -> str:
    """The name under which the object of this source is kept: all that decides its content, hashed."""
    return _digest(toolchain.identity, source)


def load(source: str, toolchain: Toolchain) -> Path:
    """The path of the shared object made from a C source, compiled now if it is not there or damaged.

    Another process may evict it at any time: ``opened`` is for whoever loads it. Raises ``ToolchainError``
    when the compiler refuses the source.
    """
    name = key(source, toolchain)
    found = sound(name)
    if found is not None:
        return found
    try:
        return _build(name, source, toolchain, directory())
    except OSError as error:  # the directory has filled up or been taken away since it was chosen
        return _build(name, source, toolchain, _private_directory(f"{directory()}: {error.strerror}"))


def sound(name: str) -> Path | None:
    """The path of the shared object of that name (see ``key``), if it is there and whole."""
    path = directory() / f"{name}.so"
    if _unseal(path) is None:
        return None
    _touch(path)
    log.emit("cache", lambda: f"hit {path}")
    return path


def opened(source: str, toolchain: Toolchain, opener: Callable[[Path], Opened]) -> Opened:
    """What ``opener`` (``ctypes.CDLL``, say) makes of the shared object. If it raises ``OSError``, the object is
    built again first: it may have been evicted meanwhile, or been made against libraries replaced since.
    """
    path = load(source, toolchain)
    try:
        return opener(path)
    except OSError:
        _remove(path)
        return opener(load(source, toolchain))


def _build(name: str, source: str, toolchain: Toolchain, where: Path) -> Path:
    begin = time.perf_counter()
    path, text = where / f"{name}.so", where / f"{name}.c"
    _write(text, source.encode())
    with _temporary(where, ".so") as partial:
        toolchain.compile_file(text, partial)
        with partial.open("r+b") as file:
            content = file.read()
            file.write(_seal_of(content))
        os.replace(partial, path)
    log.emit("cache", lambda: f"built {path} in {(time.perf_counter() - begin) * 1e3:.0f} ms")
    _account(where, len(content) + _SEAL_BYTES + len(source))
    return path


# ------------------------------------------------------------------ small records


def store_entry(name: str, content: bytes) -> None:
    """Keep a small record under a name (any text); a failing disk loses it silently, as eviction may."""
    path = directory() / f"{_digest(name)}.bin"
    with contextlib.suppress(OSError):
        _write(path, content + _seal_of(content))
        _account(path.parent, len(content) + _SEAL_BYTES)


def load_entry(name: str) -> bytes | None:
    """The record kept under a name, or None if there is none or it is damaged."""
    path = directory() / f"{_digest(name)}.bin"
    content = _unseal(path)
    if content is not None:
        _touch(path)
    return content


# ------------------------------------------------------------------ the directory


def directory() -> Path:
    """Where the cache is: ``config.cache_dir`` if kernels can be kept there, else a private directory."""
    return _usable(config.cache_dir)


@lru_cache(maxsize=16)
def _usable(wanted: Path) -> Path:
    fault = _fault(wanted)
    return wanted if fault is None else _private_directory(f"{wanted}: {fault}")


def _fault(path: Path) -> str | None:
    """Why kernels cannot be kept in and run from a directory, or None if they can."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _temporary(path, ".probe") as probe:
            probe.touch()
        status, mount = path.stat(), os.statvfs(path)
    except OSError as error:
        return error.strerror or str(error)
    if status.st_uid not in (os.getuid(), 0) and os.getuid() != 0:
        return "belongs to another user, whose code would be run"
    return "its file system does not allow programs" if mount.f_flag & os.ST_NOEXEC else None


def _private_directory(reason: str) -> Path:
    log.fallback(
        ("cache directory", reason),
        f"compiled kernels are not kept after this process, since the cache directory cannot be used "
        f"({reason}); set CAPTURE_CACHE_DIR to a directory that can be written",
    )
    return _scratch(os.getpid())


@lru_cache(maxsize=1)  # keyed by process, so that a forked child makes its own
def _scratch(process: int) -> Path:
    import tempfile

    path = Path(tempfile.mkdtemp(prefix="capture-"))
    atexit.register(_remove_scratch, path, process)
    return path


def _remove_scratch(path: Path, process: int) -> None:
    if os.getpid() == process:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


# ------------------------------------------------------------------ size


_totals: dict[Path, int] = {}
_lock = threading.Lock()


def _account(where: Path, added: int) -> None:
    """Note what a store added, and evict past the bound. Other processes' stores count from the next scan."""
    with _lock:
        known = _totals.get(where)
        _totals[where] = _size(where) if known is None else known + added
        if _totals[where] > config.cache_bytes:
            _totals[where] = _evict(where, int(config.cache_bytes * _KEEP))


def _evict(where: Path, target: int) -> int:
    """Remove the least recently used until the rest is within the target; returns the size of the rest."""
    groups: dict[str, list[os.DirEntry]] = {}
    for entry in _files(where):
        groups.setdefault(entry.name.partition(".")[0], []).append(entry)
    by_use = sorted((max(_used(e) for e in group), name) for name, group in groups.items())
    total = sum(_bytes(entry) for group in groups.values() for entry in group)
    for _, name in by_use[:-1]:  # the newest stays, however large: it is about to be loaded
        if total <= target:
            break
        total -= sum(_bytes(entry) for entry in groups[name])
        for entry in groups[name]:
            _remove(entry.path)
        log.emit("cache", lambda name=name: f"evicted {where / name}")  # type: ignore[misc]
    _sweep(where)
    return total


def _sweep(where: Path) -> None:
    """Remove temporary files left by processes that died."""
    for entry in _scan(where):
        if entry.name.startswith(_TEMPORARY) and time.time() - _used(entry) > _STALE_SECONDS:
            _remove(entry.path)


def info() -> Info:
    """What the cache holds now."""
    where = directory()
    suffixes = [Path(entry.name).suffix for entry in _files(where)]
    return Info(where, _size(where), config.cache_bytes, suffixes.count(".so"), suffixes.count(".bin"))


def clear() -> int:
    """Remove everything the cache has written, and nothing else; returns how many files there were."""
    where = directory()
    names = [entry.path for entry in _files(where)]
    for path in names:
        _remove(path)
    _sweep(where)
    with _lock:
        _totals.pop(where, None)
    return len(names)


def _scan(where: Path) -> list[os.DirEntry]:
    try:
        with os.scandir(where) as entries:
            return list(entries)
    except OSError:  # removed from outside: as good as empty
        return []


def _files(where: Path) -> list[os.DirEntry]:
    return [entry for entry in _scan(where) if _NAME.fullmatch(entry.name)]


def _size(where: Path) -> int:
    return sum(map(_bytes, _files(where)))


def _bytes(entry: os.DirEntry) -> int:
    with contextlib.suppress(OSError):  # another process may be evicting
        return entry.stat().st_size
    return 0


def _used(entry: os.DirEntry) -> float:
    with contextlib.suppress(OSError):
        return entry.stat().st_mtime
    return 0.0


# ------------------------------------------------------------------ files


def _digest(*parts: str) -> str:
    """One name for some texts; their lengths count too, so that no two lists of texts run together.

    >>> _digest("ab", "c") == _digest("a", "bc")
    False
    """
    hashed = hashlib.sha256()
    for part in (_FORMAT, *parts):
        data = part.encode()
        hashed.update(len(data).to_bytes(8, "little") + data)
    return hashed.hexdigest()[:40]


def _seal_of(content: bytes) -> bytes:
    return _SEAL + hashlib.sha256(content).digest()


def _unseal(path: Path) -> bytes | None:
    """A sealed file's content, or None if there is no such file or it is not what was written."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content, seal = data[:-_SEAL_BYTES], data[-_SEAL_BYTES:]
    return content if seal == _seal_of(content) else None


def _write(path: Path, content: bytes) -> None:
    with _temporary(path.parent, path.suffix) as partial:
        partial.write_bytes(content)
        os.replace(partial, path)


@contextlib.contextmanager
def _temporary(where: Path, suffix: str) -> Iterator[Path]:
    """A name in a directory that no other process or thread uses; what still bears it is removed after."""
    path = where / f"{_TEMPORARY}{os.urandom(8).hex()}{suffix}"
    try:
        yield path
    finally:
        _remove(path)


def _remove(path: str | Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):  # another user's file in a shared cache: not ours to mark
        os.utime(path)
