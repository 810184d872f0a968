"""Who turns a captured graph into something that runs: the table of backends.

A backend is ``(graph, example_inputs) -> callable``; the callable takes the graph's inputs and gives the tuple of its
results, or None to have the region run as plain Python this time.

>>> register_backend("printing", lambda graph, inputs: (print(graph), Interpreter(graph).run)[1])
>>> capture.compile(f, backend="printing")
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from capture import config
from capture.errors import BackendError, CaptureError, Undone
from capture.uncollected import importing

if TYPE_CHECKING:
    from capture.ir.graph import Graph

Runner = Callable[..., "tuple[Any, ...] | None"]
Backend = Callable[["Graph", "tuple[Any, ...]"], Runner]

ENTRY_POINTS = "capture.backends"


def inductor(graph: Graph, example_inputs: tuple[Any, ...]) -> Runner:
    """Fused C kernels."""
    compile_graph = _code_generator()
    if config.autotune:
        from capture.inductor.tuning import compile_fastest

        return compile_fastest(graph, example_inputs)
    return compile_graph(graph)


@functools.lru_cache(maxsize=1)
def _code_generator() -> Callable[[Graph], Runner]:
    """What compiles a graph, imported for the first one."""
    with importing():
        from capture.inductor import compile, executor  # noqa: F401 (the executor is needed a moment later)
    return compile.compile_graph


def eager(graph: Graph, example_inputs: tuple[Any, ...]) -> Runner:
    """The graph as it is, run with NumPy.

    What would raise or warn leaves the region to plain Python, which does so at the user's line; but a graph that
    writes its inputs cannot be left half-way: it is not begun where a floating-point error would raise or call
    something, and its warnings are moved to that line. Places and sizes are tested first.
    """
    from capture.ir.interpret import Interpreter, Placed
    from capture.ir.passes.check_bounds import bounds_tests

    run: Runner = _checked(Placed if graph.written else Interpreter)(graph).run
    tests = bounds_tests(graph)
    if tests is not None:
        run = _behind(Interpreter(tests).run, run)
    if graph.written:
        return _unless_unpredicted(run)

    def run_quietly(*inputs: Any) -> tuple[Any, ...] | None:
        try:
            with np.errstate(**_raising()):
                return run(*inputs)
        except (RecursionError, _Unpredicted):  # the interpreter takes levels that Python would not
            return None

    return run_quietly


def _behind(tests: Runner, run: Runner) -> Runner:
    """``run``, unless ``tests`` raises, or a loop among them leaves; random numbers that places are made of are drawn
    again.
    """
    from capture.ir.op import RAISED_AGAIN
    from capture.ir.ops.random import Undo
    from capture.ir.program import Left

    def run_tested(*inputs: Any) -> tuple[Any, ...] | None:
        with Undo() as undo:
            try:
                with np.errstate(all="ignore"):
                    tests(*inputs)
            except (*RAISED_AGAIN, Left):
                return None
            finally:
                undo.restore()
        return run(*inputs)

    return run_tested


class _Unpredicted(Undone):
    """NumPy gave something other than was predicted."""


def _unless_unpredicted(run: Runner) -> Runner:
    """``run``; what is predicted is seen before anything is written, so that plain Python may start again."""
    from capture.inductor import _executor, errstate  # noqa: F401 (errstate: the executor reads it)

    def run_checked(*inputs: Any) -> tuple[Any, ...] | None:
        if not _executor.warnings_stay():
            return None
        try:
            return run(*inputs)
        except _Unpredicted:
            return None

    return run_checked


def _checked(interpreter: type[Any]) -> type[Any]:
    """The interpreter, looking at what inference by trial has predicted. What an operation raises leaves the region,
    unless the caller would see that something has been written.
    """
    from capture.ir.graph import buffer
    from capture.ir.op import RAISED_AGAIN
    from capture.ir.program import Left
    from capture.ir.types import same_form

    class Checked(interpreter):  # type: ignore[misc]
        has_written = False  # what the caller sees

        def call(self, node: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            if node.target == "loop":
                return self.loop(node, args, params)
            if node.target == "store":
                self.has_written = self.has_written or buffer(node).kind == "placeholder"
            try:
                value = super().call(node, args, params)
            except (*RAISED_AGAIN, Warning) as error:
                if self.has_written or isinstance(error, Undone | CaptureError):
                    raise
                raise _Unpredicted(node.name) from error
            if node.op.replaces is not None and not same_form(node.type, value):
                raise _Unpredicted(node.name)
            return value

        def loop(self, node: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            """Nothing that the caller sees has been written when a loop runs: Python may start again."""
            try:
                with np.errstate(**_raising()):
                    value = node.op.reference(*args, **params)
            except (*RAISED_AGAIN, Left) as error:
                raise _Unpredicted(node.name) from error
            if not same_form(node.type, value):
                raise _Unpredicted(node.name)
            return value

    return Checked


def _raising() -> dict[str, Any]:
    """The modes in which NumPy raises what it would warn of."""
    return {kind: mode if mode == "ignore" else "raise" for kind, mode in np.geterr().items()}


_backends: dict[str, Backend] = {"inductor": inductor, "eager": eager}


def register_backend(name: str, backend: Backend) -> None:
    """Make ``backend`` known as ``name``; a name that is taken is an error."""
    if name in _backends:
        raise BackendError(f"a backend called {name!r} is registered already")
    _backends[name] = backend


def list_backends() -> list[str]:
    """The names that ``capture.compile(backend=...)`` knows, those of installed packages included."""
    installed = {entry.name for entry in _installed()}
    return sorted(installed | _backends.keys())


def _installed() -> Iterable[Any]:
    from importlib.metadata import entry_points  # takes longer than all else of Python's that a first call imports

    return entry_points(group=ENTRY_POINTS)


def find_backend(backend: str | Backend) -> Backend:
    """The backend of that name (built in, registered, or an installed package's), or the callable itself."""
    if callable(backend):
        return backend
    if backend not in _backends:
        for entry in _installed():
            if entry.name == backend:
                _backends[backend] = entry.load()
    if backend not in _backends:
        raise BackendError(config.unknown("backend", backend, dict.fromkeys(list_backends())))
    return _backends[backend]
