"""Whole-program mode: functions that nobody decorated are captured, by the module they belong to.

In: a block, and the packages whose functions are meant. Out: calls made inside the block, of functions of the calling
module and of those packages, run as if they were decorated::

    with capture.scope(include=("mylibrary",)):
        train(model, batches)

Whether code belongs to a scope is asked once per code object. Whether it is worth capturing is seen by capturing it: a
function whose trace finds no array work runs plain from then on, and is asked about again only when it is handed an
array.
"""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from capture import config
from capture.frames import frontend, hook
from capture.frames.settings import Record, Settings
from capture.frames.suspending import makes_generators
from capture.records import dataclass, replace

PATIENCE = 4000
"""Instructions without array work that are evaluated in one go."""
TRIES = {True: 24, False: 3}
"""Pieces of a function, from break to break, that may lack array work, all of them, by whether any is expected."""
MOST_PLAIN = 2
"""Variants without array work that a function with array work may have."""
MOST_SCOPES = 63
OURS = __name__.partition(".")[0]


# Which code -------------------------------------------------------------------------------------------------------
class Filter(NamedTuple):
    """The modules whose functions are captured, and the packages for which that goes for all modules in them."""

    modules: frozenset[Any]
    packages: frozenset[str]

    def wants(self, module: Any) -> bool:
        """Whether functions of a module are captured; ours never are.

        >>> Filter(frozenset({"__main__"}), frozenset({"mylibrary"})).wants("mylibrary.layers")
        True
        """
        if type(module) is not str:
            return module in self.modules
        parts = module.split(".")
        if parts[0] == OURS:
            return False
        prefixes = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        return module in self.modules or not self.packages.isdisjoint(prefixes)

    def __or__(self, other: Filter) -> Filter:  # type: ignore[override]
        return Filter(self.modules | other.modules, self.packages | other.packages)


NOTHING = Filter(frozenset(), frozenset())


class _Numbers:
    """The hook knows filters by small numbers, which are used again when nobody is inside."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.filters: dict[int, Filter] = {}  # least recently entered first
        self.users: Counter[int] = Counter()
        self.watched: set[int] = set()  # those whose functions are

    def enter(self, wanted: Filter) -> int | None:
        """The number of a filter; None while there are too many others."""
        with self.lock:
            number = next((n for n, known in self.filters.items() if known == wanted), None) or self._unused()
            if number is not None:
                self.filters.pop(number, None)
                self.filters[number] = wanted
                self.users[number] += 1
            return number

    def watch(self) -> None:
        """See to it that calls of functions that scopes in use want are seen; the hook knows these scopes by now.

        Functions that are made later are seen as they are made.
        """
        with self.lock:
            new = [number for number in self.filters if self.users[number] and number not in self.watched]
            self.watched.update(new)
            wanted = [self.filters[number] for number in new]
        for function in gc.get_objects() if wanted else ():
            if type(function) is FunctionType:
                module = function.__globals__.get("__name__")
                if any(filter.wants(module) for filter in wanted):
                    hook.watch_function(function)

    def watch_again(self) -> None:
        """The hook has forgotten which functions are not worth watching."""
        with self.lock:
            self.watched.clear()
        self.watch()

    def _unused(self) -> int | None:
        if len(self.filters) < MOST_SCOPES:
            return len(self.filters) + 1
        number = next((n for n in self.filters if not self.users[n]), None)
        if number is not None:
            hook.forget_scope(number)
            self.watched.discard(number)
        return number

    def leave(self, number: int) -> None:
        with self.lock:
            self.users[number] -= 1


_numbers = _Numbers()


def _in_scope(code: CodeType, namespace: dict[str, Any], number: int) -> bool:
    return _numbers.filters[number].wants(namespace.get("__name__"))


hook.set_in_scope(_in_scope)


# Where ------------------------------------------------------------------------------------------------------------
class _Entered(NamedTuple):
    """One scope that a thread is in. ``wanted`` includes what the scopes around it want."""

    scope: scope
    wanted: Filter
    number: int | None


class _Thread(threading.local):
    def __init__(self) -> None:
        self.entered: list[_Entered] = []


_thread = _Thread()
_process: Filter = NOTHING
_process_number: int | None = None
_process_dynamic: bool | None = None


class scope:
    """Capture functions of the calling module, and of the packages or modules in ``include``, inside a ``with`` block.

    It holds for this thread, and for whatever the block calls. Scopes nest: the inner one adds to the outer one.
    Library code is left alone unless it is named; it is still inlined where a captured function calls it. Code of the
    module itself runs plain, since only functions are captured.
    """

    def __init__(self, include: str | ModuleType | Iterable[str | ModuleType] = ()) -> None:
        caller = sys._getframe(1).f_globals.get("__name__")
        self._wanted = Filter(frozenset({caller}), _packages(include))
        self._inside = 0

    def __enter__(self) -> None:
        if config.current().disable:
            return
        outer = _thread.entered[-1].wanted if _thread.entered else _process
        wanted = outer | self._wanted
        number = _numbers.enter(wanted)
        _thread.entered.append(_Entered(self, wanted, number))
        self._inside += 1
        if number is not None:
            hook.enter_scope(number)
            _numbers.watch()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        entered = _thread.entered
        index = next((i for i in reversed(range(len(entered))) if entered[i].scope is self), None)
        if index is None:
            if self._inside:
                raise RuntimeError("a scope is left on the thread that entered it")
            return  # everything was turned off when it was entered
        left = entered.pop(index)
        self._inside -= 1
        if left.number is not None:
            hook.leave_scope((entered[-1].number if entered else None) or 0)
            _numbers.leave(left.number)


def _packages(include: str | ModuleType | Iterable[str | ModuleType]) -> frozenset[str]:
    names = [include] if isinstance(include, str | ModuleType) else list(include)
    for name in names:
        if not isinstance(name, str | ModuleType):
            raise TypeError(f"include takes names of packages, not {name!r}")
    return frozenset(name if isinstance(name, str) else name.__name__ for name in names)


def capture_process(module: str | None, include: Iterable[str] = (), dynamic: bool | None = None) -> None:
    """From now on capture functions of a module and of packages on all threads; with None for a module, no longer.

    ``dynamic`` is that of ``capture.compile``, for functions in every scope.
    """
    global _process, _process_number, _process_dynamic
    if _process_number is not None:
        hook.set_process_scope(0)
        _numbers.leave(_process_number)
    _process, _process_number, _process_dynamic = NOTHING, None, dynamic
    if module is not None:
        _process = Filter(frozenset({module}), _packages(include))
        _process_number = _numbers.enter(_process)
        hook.set_process_scope(_process_number or 0)
        _numbers.watch()


# How --------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Captured:
    """A function that was met in a scope, and what became of it."""

    name: str
    file: str
    line: int
    record: Record


_listeners: list[Callable[[Captured], None]] = []
_records: weakref.WeakValueDictionary[int, Record] = weakref.WeakValueDictionary()


def listen(listener: Callable[[Captured], None]) -> None:
    """Tell of every function that is captured from now on."""
    _listeners.append(listener)


def settings_of(entry: hook.Entry, arguments: tuple[Any, ...], template: Settings) -> Settings:
    """How frames of a function in a scope are captured: each function on its own account."""
    settings = vars(entry).get("settings")
    if settings is None:
        record = Record()
        _records[id(record)] = record
        judge = Judge(entry, record, TRIES[expects_arrays(entry.function, arguments)])  # type: ignore[arg-type]
        made = replace(template, record=record, patience=PATIENCE, judge=judge, dynamic=_process_dynamic)
        settings = vars(entry).setdefault("settings", made)  # another thread's, if it was first
        if settings is not made:
            return settings
        code = entry.code
        for listener in _listeners:
            listener(Captured(code.co_qualname, code.co_filename, code.co_firstlineno, record))
    return settings


def reset() -> None:
    """Forget what was captured in scopes; the hook forgets whose it was."""
    while _records:
        frontend.forget(_records.popitem()[1])
    _numbers.watch_again()


class Judge:
    """Decides whether variants of one function and of what is behind its breaks are worth running."""

    def __init__(self, entry: hook.Entry, record: Record, tries: int) -> None:
        self.entry = weakref.ref(entry)  # it owns the settings that own this
        self.record = record
        self.tries = tries

    def __call__(self, entry: hook.Entry, arguments: tuple[Any, ...], variant: hook.Variant) -> hook.Variant | None:
        root = self.entry()
        hook.mark(entry, True, False)
        plain = variant.info.graph is None and not variant.native
        if self.record.graphs:
            return variant if not plain or entry is not root or self._may_be_plain(root, arguments) else None
        self.tries -= 1
        goes_on = root is not None and makes_generators(root.code)  # behind the next yield there may be some
        if (plain and not goes_on) or self.tries <= 0:
            self._give_up(root, entry, arguments)
            return None
        return variant

    def _may_be_plain(self, root: hook.Entry, arguments: tuple[Any, ...]) -> bool:
        """Numbers are constants of a variant: calls with numbers only must not use up all variants."""
        found = sum(variant.info.graph is None and not variant.native for variant in root.variants)
        if found < MOST_PLAIN or has_array(arguments):
            return True
        hook.mark(root, True, True)
        return False

    def _give_up(self, root: hook.Entry | None, entry: hook.Entry, arguments: tuple[Any, ...]) -> None:
        for target in list(self.record.resumes.values()):  # another thread may add to them
            target.entry.plain = True
        if root is None:
            return
        root.clear()
        vars(root).pop("settings", None)
        if entry is root and has_array(arguments):
            root.plain = True
        else:
            hook.mark(root, True, True)


def has_array(values: Iterable[Any]) -> bool:
    return any(type(value) is np.ndarray for value in values)


# What to expect ---------------------------------------------------------------------------------------------------
MOST_FUNCTIONS = 100


def expects_arrays(function: FunctionType, arguments: Iterable[Any]) -> bool:
    """Whether a call may come to array work, by what it can reach: a guess that costs little."""
    if any(map(_holds_array, arguments)):
        return True
    found, left = {function}, [function]
    while left and len(found) < MOST_FUNCTIONS:
        for value in _reached(left.pop()):
            if _is_numpy(value):
                return True
            new = [each for each in _functions(value) if each not in found and not _is_library(each.__module__)]
            found.update(new)
            left += new
    return False


def _holds_array(value: Any) -> bool:
    """Arrays themselves, and those in lists, tuples, dicts and instances, two levels deep."""
    inner: list[Any] = []
    for each in (value, *_items(value)):
        if isinstance(each, np.ndarray | np.generic):
            return True
        inner += _items(each)
    return any(isinstance(each, np.ndarray | np.generic) for each in inner)


def _items(value: Any) -> tuple[Any, ...]:
    if type(value) in (list, tuple):
        return tuple(value[:MOST_FUNCTIONS])
    values = value if type(value) is dict else getattr(value, "__dict__", None)
    return tuple(values.values()) if type(values) is dict else ()


def _reached(function: FunctionType) -> Iterator[Any]:
    """The globals that a function names, attributes of modules included, and what its cells hold."""
    names = set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        yield value
        if type(value) is ModuleType and not _is_library(value.__name__):
            yield from (vars(value)[inner] for inner in names & vars(value).keys())
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable without a value
            continue


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if type(constant) is CodeType:
            yield from _names(constant)


def _functions(value: Any) -> Iterator[FunctionType]:
    if type(value) is FunctionType:
        yield value
    elif isinstance(value, type):
        yield from (each for each in vars(value).values() if type(each) is FunctionType)


def _is_numpy(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic | np.ufunc | hook.Entry):
        return True
    name = value.__name__ if type(value) is ModuleType else getattr(value, "__module__", None)
    return type(name) is str and name.partition(".")[0] == "numpy"


def _is_library(module: Any) -> bool:
    return type(module) is str and module.partition(".")[0] in sys.stdlib_module_names
