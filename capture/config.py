"""Every option of the project: one table, its environment variables, and the values in force.

In come environment variables (once, at import), assignments (``capture.config.strict = True``), patches and
per-function option dicts; out come plain attribute reads and frozen ``Options`` snapshots::

    capture.config.threads = 1                     # for the whole process; a wrong value raises here
    with capture.config.patch(verify=True): ...    # for this thread (or task) inside the block
    options = config.with_options({"fast_math": True})
    with config.applied(options): ...              # everything read inside sees that snapshot

No other module reads the environment.
"""

from __future__ import annotations

import math as _math
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from capture.errors import FallbackWarning
from capture.records import dataclass, field, fields, replace

TOPICS: Mapping[str, str] = MappingProxyType(
    {
        "graph": "each captured graph, as a table and as runnable NumPy",
        "breaks": "each graph break: reason, file, line, hint",
        "guards": "the guards of each new variant, with the line that needed them",
        "recompiles": "which guard failed when a function is captured again",
        "shapes": "sizes that became symbols, and the facts assumed about them",
        "bytecode": "original and rewritten bytecode",
        "fusion": "which operations share a loop nest, and why others do not",
        "kernels": "the generated C",
        "cache": "the disk cache: hits, builds, evictions",
        "perf": "where compile time and run time go",
    }
)


# ------------------------------------------------------------------ kinds: what a field accepts


@dataclass(frozen=True, slots=True)
class Kind:
    """What values a field accepts: in words, from Python (``check``) and from the environment (``parse``)."""

    words: str
    check: Callable[[Any], Any]
    parse: Callable[[str], Any]


_SWITCH = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)


def _boolean() -> Kind:
    def check(value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError
        return value

    def parse(text: str) -> bool:
        if text.lower() not in _SWITCH:
            raise ValueError
        return _SWITCH[text.lower()]

    return Kind("True or False", check, parse)


def _integer(minimum: int) -> Kind:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError
        if value < minimum:
            raise ValueError
        return value

    return Kind(f"an integer of at least {minimum}", check, lambda text: check(int(text)))


def _choice(*choices: str) -> Kind:
    def check(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return value

    return Kind(" or ".join(map(repr, choices)), check, check)


def _text_or_none() -> Kind:
    def check(value: Any) -> str | None:
        if value is not None and not isinstance(value, str):
            raise TypeError
        return value or None

    return Kind("a string or None", check, check)


def _path(optional: bool) -> Kind:
    def check(value: Any) -> Path | None:
        if optional and value in (None, ""):
            return None
        if not isinstance(value, str | os.PathLike) or not os.fspath(value):
            raise TypeError
        return Path(value).expanduser().absolute()

    return Kind("a path or None" if optional else "a path", check, check)


def _topics() -> Kind:
    def check(value: Any) -> tuple[str, ...]:
        chosen = parse(value) if isinstance(value, str) else tuple(value)
        for topic in chosen:
            if topic not in TOPICS:
                raise ValueError(unknown("log topic", topic, TOPICS))
        return tuple(topic for topic in TOPICS if topic in chosen)

    def parse(text: str) -> tuple[str, ...]:
        return check(tuple(part.strip() for part in text.split(",") if part.strip()))

    return Kind("names of log topics", check, parse)


def unknown(what: str, name: object, known: Mapping[str, object]) -> str:
    """A refusal in words, with the nearest known name: ``no option 'thread'; did you mean 'threads'?``"""
    import difflib  # only who is refused waits for it

    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    return f"no {what} {name!r}; {hint}"


# ------------------------------------------------------------------ defaults that depend on the machine


def usable_cpus() -> int:
    """Processors this process may really use: its affinity mask, lowered by a container's CPU quota.

    >>> usable_cpus() >= 1
    True
    """
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(affinity, _math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no control groups, or "max": no quota
        return affinity


def _default_cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the XDG rules say to ignore a relative one
        return Path(base, "capture")
    try:
        return Path.home() / ".cache" / "capture"
    except RuntimeError:  # an account without a home directory
        import tempfile

        return Path(tempfile.gettempdir(), f"capture-{os.getuid()}")


def child_environment(**more: str) -> dict[str, str]:
    """The environment for a program we start: this process's, messages in English, and what is given."""
    return {**os.environ, "LC_ALL": "C", **more}


# ------------------------------------------------------------------ the table


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the table: what a field accepts, where the environment sets it, what it means."""

    kind: Kind
    doc: str
    env: str | None
    default: str
    """The default in words, for the documentation."""


def _option(
    kind: Kind,
    doc: str,
    *,
    default: Any = None,
    env: str | None = None,
    factory: Callable[[], Any] | None = None,
    words: str | None = None,
) -> Any:
    row = {"option": Option(kind, doc, env, words or repr(default))}
    return field(default_factory=factory, metadata=row) if factory else field(default=default, metadata=row)


@dataclass(frozen=True, kw_only=True)
class Options:
    """All option values at one moment; immutable and hashable. The field list is the table of options."""

    strict: bool = _option(
        _boolean(),
        "An internal failure raises instead of falling back to plain Python. For tests and bug reports.",
        default=False,
        env="CAPTURE_STRICT",
    )
    disable: bool = _option(
        _boolean(),
        "Turn everything off: decorated functions run as plain Python.",
        default=False,
        env="CAPTURE_DISABLE",
    )
    verify: bool = _option(
        _boolean(),
        "Compare every call of a compiled graph with its NumPy interpretation, and run the graph verifier "
        "between passes. Slow.",
        default=False,
        env="CAPTURE_VERIFY",
    )
    logs: tuple[str, ...] = _option(
        _topics(),
        "What to report on stderr, see the topics below. In the environment: names separated by commas.",
        default=(),
        env="CAPTURE_LOGS",
    )
    debug_dir: Path | None = _option(
        _path(optional=True),
        "Write everything about each compile (bytecode, graph, guards, C) into a folder here.",
        env="CAPTURE_DEBUG_DIR",
    )
    nested: bool = _option(
        _boolean(),
        "Also capture functions that are called from the plain parts of a compiled function.",
        default=True,
    )
    recompile_limit: int = _option(
        _integer(1),
        "How many variants one function may have; past that it runs as plain Python and says so once.",
        default=8,
    )
    loops: bool = _option(
        _boolean(),
        "Make loops nodes of the graph; otherwise they are unrolled, or Python goes round and each round is captured.",
        default=True,
        env="CAPTURE_LOOPS",
    )
    unroll_limit: int = _option(
        _integer(0),
        "The longest Python tuple or list whose `for` loop is unrolled into the graph.",
        default=64,
    )
    fast_math: bool = _option(
        _boolean(),
        "Let kernels reorder and contract floating-point arithmetic: faster, no longer bit-identical.",
        default=False,
    )
    math: str = _option(
        _choice("libmvec", "numpy"),
        "Where exp, sin and the like come from: `libmvec` is glibc's vector library, within 4 ULP; `numpy` is NumPy's "
        "own loops, run inside the kernels, and its order of summation: every result has NumPy's bits.",
        default="libmvec",
    )
    autotune: bool = _option(
        _boolean(),
        "Measure other ways to compile each graph (what is fused, tiles, threads, products by BLAS or in loops) on the "
        "inputs at hand, and keep the fastest; the cache remembers it. "
        '`mode="max-autotune"` turns it on for one function.',
        default=False,
        env="CAPTURE_AUTOTUNE",
    )
    simd: str = _option(
        _choice("auto", "avx512", "avx2", "sse", "neon"),
        "The vector instructions kernels use; `auto` is the best of this machine.",
        default="auto",
        env="CAPTURE_SIMD",
    )
    threads: int = _option(
        _integer(1),
        "The most threads one kernel may use.",
        env="CAPTURE_NUM_THREADS",
        factory=usable_cpus,
        words="the processors this process may use",
    )
    compiler: str | None = _option(
        _text_or_none(),
        "The C compiler's command, with arguments if need be.",
        env="CAPTURE_CC",
        words="gcc, cc or clang on PATH, else the package ziglang",
    )
    warm_start: bool = _option(
        _boolean(),
        "Keep variants of decorated functions beside their kernels: in a later process, where function and options are "
        "the same, the first call needs no compiler.",
        default=True,
        env="CAPTURE_WARM_START",
    )
    cache_dir: Path = _option(
        _path(optional=False),
        "Where compiled kernels are kept.",
        env="CAPTURE_CACHE_DIR",
        factory=_default_cache_dir,
        words="$XDG_CACHE_HOME/capture, else ~/.cache/capture",
    )
    cache_bytes: int = _option(
        _integer(0),
        "The size that directory is kept below, by dropping what was used least recently.",
        default=512 * 1024 * 1024,
        words="536870912 (512 MiB)",
    )


TABLE: Mapping[str, Option] = MappingProxyType({f.name: f.metadata["option"] for f in fields(Options)})


def document() -> str:
    """docs/options.md, written from the table (a test keeps the file equal)."""
    rows = [
        f"| `{name}` | {row.kind.words} | {row.default} | {f'`{row.env}`' if row.env else ''} | {row.doc} |"
        for name, row in TABLE.items()
    ]
    topics = [f"| `{topic}` | {doc} |" for topic, doc in TOPICS.items()]
    return "\n".join([_DOCUMENT_HEAD, *rows, _DOCUMENT_TOPICS, *topics, ""])


_DOCUMENT_HEAD = """\
# Options

<!-- Written by `python -m capture options`; change the table in capture/config.py instead. -->

An option is set, weakest first:

- by its environment variable, read once when `capture` is imported; a value that makes no sense is
  ignored with one warning;
- by assignment, `capture.config.threads = 1`; a value that makes no sense raises at once;
- by `capture.config.patch(threads=1)`, a context manager and decorator that holds for the current thread or
  task;
- for one function, by `capture.compile(options={"threads": 1})`.

| field | accepts | default | environment | meaning |
|---|---|---|---|---|"""

_DOCUMENT_TOPICS = """
## Log topics

For `CAPTURE_LOGS=graph,breaks` and `capture.log.set("graph", "breaks")`.

| topic | reports |
|---|---|"""


# ------------------------------------------------------------------ the values in force


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _check(name, value) for name, value in values.items()}


def _check(name: str, value: Any) -> Any:
    if name not in TABLE:
        raise AttributeError(unknown("option", name, TABLE))
    try:
        return TABLE[name].kind.check(value)
    except (TypeError, ValueError) as error:
        detail = f" ({error})" if error.args else ""
        raise type(error)(f"option {name!r} takes {TABLE[name].kind.words}, not {value!r}{detail}") from None


def _from_environment() -> Options:
    """The options as the environment sets them; a value that makes no sense warns and counts as absent."""
    values = {}
    for name, row in TABLE.items():
        text = os.environ.get(row.env or "", "").strip()
        if not text:
            continue
        try:
            values[name] = row.kind.parse(text)
        except (TypeError, ValueError) as error:
            detail = f" ({error})" if row.kind is TABLE["logs"].kind else ""
            message = f"{row.env}={text!r} is ignored: it takes {row.kind.words}{detail}"
            warnings.warn(message, FallbackWarning, stacklevel=2)
    return Options(**values)


_lock = threading.Lock()
_process: Options = _from_environment()
_overlay: ContextVar[Mapping[str, Any]] = ContextVar("capture.config", default=MappingProxyType({}))


def current() -> Options:
    """A frozen snapshot of the values in force here and now."""
    overlay = _overlay.get()
    return replace(_process, **overlay) if overlay else _process


def with_options(options: Mapping[str, Any] | None = None) -> Options:
    """A snapshot of the values in force with one function's own options on top; a wrong one raises.

    >>> with_options({"threads": 1}).threads
    1
    """
    return replace(current(), **_checked(options or {}))


@contextmanager
def _overlaid(values: Mapping[str, Any]) -> Iterator[None]:
    token = _overlay.set({**_overlay.get(), **values})
    try:
        yield
    finally:
        _overlay.reset(token)


def patch(**values: Any) -> Any:
    """Other option values for this thread or task: a context manager and a decorator."""
    return _overlaid(_checked(values))


def applied(options: Options) -> Any:
    """Make a snapshot the values in force for this thread or task: a context manager and a decorator."""
    return _overlaid({name: getattr(options, name) for name in TABLE})


def _assign(name: str, value: Any) -> None:
    global _process
    checked = _check(name, value)
    with _lock:
        _process = replace(_process, **{name: checked})


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # the import system asks, and does not read what it is told
        raise AttributeError(name)
    if name not in TABLE:
        raise AttributeError(unknown("option", name, TABLE))
    overlay = _overlay.get()
    return overlay[name] if name in overlay else getattr(_process, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *TABLE])


class _OptionsModule(ModuleType):
    """Makes ``capture.config.<field> = value`` a checked assignment instead of a new module global."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):  # the import system's own
            super().__setattr__(name, value)
        else:
            _assign(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"options are not deleted; assign {name!r} its default instead")


sys.modules[__name__].__class__ = _OptionsModule
