"""The public functions: the one place where frames, graphs and code generation are joined.

In: functions and how to compile them. Out: callables that behave the same and run as kernels where they can.

>>> @capture.compile
... def standardise(x):
...     return (x - x.mean(axis=0)) / x.std(axis=0)
"""

from __future__ import annotations

import functools
import inspect
import threading
import time
import types
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from capture import backends, config, log
from capture.errors import BackendError, InternalError, ToolchainError
from capture.frames import hook
from capture.frames.marks import marked
from capture.frames.settings import Record, Runner, Settings
from capture.records import replace
from capture.uncollected import importing

if TYPE_CHECKING:
    from capture.ir.graph import Graph
    from capture.report import Report

Function = TypeVar("Function", bound=Callable[..., Any])
MODES = ("default", "max-autotune", "background")
OPTIONS_OF_MODES: Mapping[str, Mapping[str, Any]] = {"max-autotune": {"autotune": True}}

_entries: weakref.WeakSet[hook.Entry] = weakref.WeakSet()


def compile(
    fn: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | Mapping[str, Any] | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str = "default",
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Make ``fn`` fast; a decorator with or without arguments, or a call.

    ``fn`` is a function, lambda, bound method, object with ``__call__``, ``functools.partial``, static or class
    method. The result has the same signature, and besides: ``graphs`` (captured so far), ``variants`` (one per set of
    guards, with ``hits``) and ``reset()``.

    - ``fullgraph``: a graph break raises ``errors.Unsupported`` with reason, the user's line and a hint.
    - ``dynamic``: None: sizes and numbers are constants until one changes, which is then left open. True: sizes and int
      arguments are open from the start. False: they are constants. A dict: exactly the declared ones are open, as in
      ``{"x": {0: Dim("batch", max=64)}, "n": Dim("n")}``; a call against them raises ``errors.ShapeConstraintError``.
    - ``backend``: a name of ``list_backends()``, or ``(graph, example_inputs) -> callable``.
    - ``mode``: "default"; "max-autotune": other ways to compile each graph are measured, and the fastest is kept;
      "background": plain Python runs until the kernels are ready.
    - ``options``: fields of ``capture.config`` for this function.
    - ``disable``: give ``fn`` back as it is.
    """
    if mode not in MODES:
        raise ValueError(config.unknown("mode", mode, dict.fromkeys(MODES)))
    if dynamic is not None and not isinstance(dynamic, bool | Mapping):
        raise ValueError(f"dynamic is None, False, True or a dict from argument names to Dims, not {dynamic!r}")
    if fn is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if disable or config.disable:
        return fn
    settings = Settings(
        backend=functools.partial(_run_backend, backends.find_backend(backend), background=mode == "background"),
        fullgraph=fullgraph,
        dynamic=dynamic,
        options=config.with_options({**(options or {}), **OPTIONS_OF_MODES.get(mode, {})}),
        made=_keep_rest,
    )
    return _compiled(fn, settings)


def _compiled(fn: Any, settings: Settings) -> Any:
    """The compiled counterpart of each kind of callable."""
    for kind, make in _KINDS.items():
        if isinstance(fn, kind):
            return make(fn, settings)
    if isinstance(fn, type) or not callable(fn):
        raise TypeError(f"capture.compile takes a function, method or callable object, not {fn!r}")
    method = inspect.getattr_static(type(fn), "__call__")
    if isinstance(method, types.FunctionType):
        return types.MethodType(_entry(method, settings), fn)
    return _entry(_calling(fn), settings)


def _entry(function: types.FunctionType, settings: Settings) -> Any:
    """The entry of a function; coroutine functions are left alone, and so given back as they are."""
    if function.__code__.co_flags & hook.LEFT_ALONE:
        return function
    if isinstance(settings.dynamic, Mapping):
        from capture.frames.dims import declare

        settings = replace(settings, dynamic=declare(function, settings.dynamic))
    if not _outliving(settings, "is_known", function, settings):
        _compiler()  # now, before the program changes anything of what it imports
    entry = hook.Entry(function, _miss, None, settings)
    entry.graphs = settings.record.graphs
    # The entry must not be kept alive by an attribute of its own.
    entry.reset = functools.partial(_reset, weakref.proxy(entry), settings.record)
    _entries.add(entry)
    return entry


def _calling(fn: Callable[..., Any]) -> Any:
    """A plain function that calls a builtin or other callable without Python code of its own."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    functools.update_wrapper(call, fn)
    return call


_KINDS: dict[type, Callable[[Any, Settings], Any]] = {
    hook.Entry: lambda fn, settings: _entry(fn.function, settings),
    types.FunctionType: _entry,
    types.MethodType: lambda fn, settings: types.MethodType(_compiled(fn.__func__, settings), fn.__self__),
    staticmethod: lambda fn, settings: staticmethod(_compiled(fn.__func__, settings)),
    classmethod: lambda fn, settings: classmethod(_compiled(fn.__func__, settings)),
    functools.partial: lambda fn, settings: functools.partial(_compiled(fn.func, settings), *fn.args, **fn.keywords),
}


def _miss(entry: hook.Entry, arguments: tuple[Any, ...]) -> hook.Variant | None:
    """No variant holds for these arguments: make one, or None to run plainly."""
    own = entry.info
    if own is not None and (variant := _outliving(own, "restored", entry, arguments, own)) is not None:
        return variant
    compiler = _compiler()
    if compiler is None:
        entry.plain = True
        return None
    frontend, scopes = compiler
    settings = own or hook.current_info() or scopes.settings_of(entry, arguments, _settings_in_scopes())
    variant = frontend.compile_call(entry, arguments, settings)
    if own is not None and variant is not None:
        _outliving(own, "keep", entry, variant, own)
    return variant


def _keep_rest(entry: hook.Entry, variant: hook.Variant | None) -> None:
    """A resume function of a compiled function has one more variant."""
    _outliving(entry.info, "keep_rest", entry, variant, entry.info)


def _compiler() -> tuple[Any, Any] | None:
    """The modules that trace and compile; None, with one warning, where they cannot be imported.

    Their tables hold NumPy's functions: who has put something else in the place of one may have broken them.
    """
    try:
        return _imported_compiler()
    except Exception as error:
        if config.strict:
            raise InternalError(f"importing the compiler: {type(error).__name__}: {error}") from error
        log.fallback("import", f"nothing is captured: importing the compiler: {type(error).__name__}: {error}")
        return None


@functools.lru_cache(maxsize=1)
def _imported_compiler() -> tuple[Any, Any]:
    with importing():
        from capture import scopes
        from capture.frames import frontend
    return frontend, scopes


def _outliving(settings: Settings, function: str, *args: Any) -> Any:
    """What a function of ``capture.kept`` gives; None if that is turned off, or wrong: the compiler still works."""
    if not settings.options.warm_start:
        return None
    from capture import kept

    try:
        with config.applied(settings.options):
            return getattr(kept, function)(*args)
    except ToolchainError:  # told by whoever needs the compiler
        return None
    except Exception as error:
        if settings.options.strict:
            raise InternalError(f"variants that are kept: {type(error).__name__}: {error}") from error
        return None


def _may_be_captured(code: types.CodeType) -> bool:
    from capture.frames.libraries import is_library

    return not is_library(code)


def _settings_in_scopes() -> Settings:
    return Settings(functools.partial(_run_backend, backends.find_backend("inductor"), background=False))


def _run_backend(backend: backends.Backend, graph: Graph, inputs: tuple[Any, ...], *, background: bool) -> Runner:
    """Compile one graph now, or in a thread of its own while the region runs as plain Python."""
    if background:
        return Pending(backend, graph, inputs).run
    start = time.perf_counter()
    try:
        return _observed(graph, backend, backend(graph, inputs), time.perf_counter() - start)
    except (ToolchainError, BackendError):
        raise
    except Exception as error:
        raise BackendError(f"the backend failed on graph {graph.name}: {type(error).__name__}: {error}") from error


def _observed(graph: Graph, backend: backends.Backend, runner: Runner, seconds: float) -> Runner:
    """Report what became of a graph; with ``config.verify``, a runner that is compared with NumPy."""
    log.emit("perf", lambda: f"graph {graph.name}: {len(graph)} nodes, backend {seconds * 1e3:.1f} ms")
    if (plan := getattr(runner, "plan", None)) is not None:
        log.emit("fusion", lambda: "\n".join([f"graph {graph.name}", *map(_describe, plan.kernels)]))
        log.emit("kernels", plan.source)
    if config.verify:
        from capture.verified import Verified

        return Verified(graph, runner, backend)
    return runner


def _describe(kernel: Any) -> str:
    from capture.report import describe_kernel

    return describe_kernel(kernel)


class Pending:
    """A runner whose kernels are being compiled: it leaves the region to plain Python until they are ready."""

    def __init__(self, backend: backends.Backend, graph: Graph, inputs: tuple[Any, ...]) -> None:
        self.runner: Runner | None = None
        self.options = config.current()
        self.thread = threading.Thread(target=self._compile, args=(backend, graph, inputs), daemon=True)
        self.thread.start()

    def _compile(self, backend: backends.Backend, graph: Graph, inputs: tuple[Any, ...]) -> None:
        try:
            with config.applied(self.options):
                self.runner = _run_backend(backend, graph, inputs, background=False)
        except (ToolchainError, BackendError) as error:
            log.fallback(("background", str(error)), f"{graph.name} stays plain Python: {error}")

    def run(self, *inputs: Any) -> tuple[Any, ...] | None:
        return self.runner(*inputs) if self.runner is not None else None


def explain(fn: Any, *, dynamic: bool | None = None, **options: Any) -> Callable[..., Report]:
    """``explain(fn)(*args, **kwargs)`` runs ``fn`` once, for real, freshly captured, and reports what happened.

    ``report.result`` is what the call returned. Keyword arguments are those of ``compile``.
    """
    from capture.report import make_report

    @functools.wraps(fn)
    def explained(*args: Any, **kwargs: Any) -> Report:
        with config.patch(warm_start=False):  # what is kept has no report
            compiled = compile(fn, dynamic=dynamic, **options)
        record = _record_of(compiled)
        result = compiled(*args, **kwargs)
        return make_report(getattr(fn, "__qualname__", repr(fn)), result, record)

    return explained


def _record_of(compiled: Any) -> Record:
    for name in ("__func__", "func"):
        compiled = getattr(compiled, name, compiled)
    return compiled.info.record if isinstance(compiled, hook.Entry) else Record()


def _reset(entry: Any, record: Record) -> None:
    """Forget all variants and graphs of one function."""
    from capture.frames import frontend

    entry.clear()
    entry.plain = False
    frontend.forget(record)


def reset() -> None:
    """Forget everything that was compiled in this process (the disk cache stays), and let warnings be given again."""
    from capture import scopes

    for entry in list(_entries):
        entry.reset()
    hook.reset()
    scopes.reset()
    log.forget_warnings()


def disable(fn: Function) -> Function:
    """A function that does what ``fn`` does as plain Python, and all that it calls, also within compiled code."""

    @functools.wraps(fn)
    def plain(*args: Any, **kwargs: Any) -> Any:
        with hook.quiet():
            return fn(*args, **kwargs)

    return marked("disabled")(plain)  # type: ignore[return-value]


def __getattr__(name: str) -> Any:
    """What belongs to whole programs brings the compiler with it."""
    if name not in ("scope", "capture_process"):
        raise AttributeError(f"module 'capture.api' has no attribute {name!r}")
    from capture import scopes

    return getattr(scopes, name)


@marked("breaks")
def graph_break(msg: str = "") -> None:
    """End the graph here, when compiled; does nothing otherwise."""


@marked("compiling")
def is_compiling() -> bool:
    """False; code that is being captured sees True."""
    return False


hook.set_callbacks(_miss, _may_be_captured)
