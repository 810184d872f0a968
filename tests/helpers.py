"""``captured(f)``: a compiled function whose every call is compared with the plain one.

>>> run = captured(f)
>>> run(np.ones(3))     # results, changed arguments, output, warnings, exceptions: all as in plain Python
>>> assert run.graphs == 1 and run.breaks == []
"""

from __future__ import annotations

import contextlib
import copy
import io
import traceback
import warnings

import numpy as np

from capture import config
from capture.backends import eager
from capture.frames import frontend, hook
from capture.frames.settings import Settings
from tests.compare import _is_object, assert_same, attributes


def duplicate(value):
    """A copy with the same strides, flags and sharing: arguments of one of the two calls."""
    return _duplicate(value, {})


def _duplicate(value, memo):
    if id(value) in memo:
        return memo[id(value)][0]
    if type(value) is np.ndarray and value.dtype.kind != "O":
        new = _duplicate_array(value, memo)
    elif type(value) in (tuple, list):
        new = type(value)(_duplicate(item, memo) for item in value)
    elif type(value) is dict:
        new = {key: _duplicate(item, memo) for key, item in value.items()}
    elif callable(value) or isinstance(value, type(np)) or type(value) is object:
        new = value
    else:
        new = copy.deepcopy(value)
    memo[id(value)] = new, value
    return new


def _duplicate_array(value, memo):
    """Views of one base become views of one copy of it."""
    if type(value.base) is np.ndarray:
        base = _duplicate(value.base, memo)
        offset = value.__array_interface__["data"][0] - value.base.__array_interface__["data"][0]
        new = np.ndarray(value.shape, value.dtype, _bytes(base), offset + _start(base), value.strides)
        new.flags.writeable = value.flags.writeable
        return new
    new = value.copy(order="K")
    new.flags.writeable = value.flags.writeable
    return new


def _bytes(array):
    while type(array.base) is np.ndarray:
        array = array.base
    writeable = array.flags.writeable
    array.flags.writeable = True
    try:
        return array.reshape(-1, order="A").view(np.uint8)
    finally:
        array.flags.writeable = writeable


def _start(array):
    owner = array
    while type(owner.base) is np.ndarray:
        owner = owner.base
    return array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]


class Outcome:
    """All that can be seen of a call."""

    def __init__(self, function, args, kwargs):
        self.args, self.kwargs = args, kwargs
        self.result = self.error = None
        output = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(output):
            warnings.simplefilter("always")
            try:
                self.result = function(*args, **kwargs)
            except Exception as error:
                self.error = error
        self.output = output.getvalue()
        self.warnings = [(w.category, str(w.message), w.filename, w.lineno) for w in caught]

    @property
    def trace(self):
        """File, line and function of each frame of the user's in the traceback."""
        frames = traceback.extract_tb(self.error.__traceback__)
        ours = ("helpers.py", "interpret.py")
        return [(f.filename, f.lineno, f.name) for f in frames if not f.filename.endswith(ours)]

    @property
    def sharing(self):
        """Which parts of results and arguments are one object, by their place in a walk over all."""
        seen, order = {}, []
        for item in _walk((self.result, self.args, self.kwargs)):
            order.append(seen.setdefault(id(item), len(seen)))
        return order


def _walk(value, busy=frozenset()):
    if isinstance(value, tuple | list | dict):
        if not isinstance(value, tuple):
            yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from _walk(item, busy)
    elif isinstance(value, np.ndarray):
        yield value
    elif _is_object(value):
        yield value
        if id(value) not in busy:
            yield from _walk(tuple(attributes(value).values()), busy | {id(value)})


def staying(backend):
    """The backend; what it compiles must not give a call up, so that plain Python would give the right results."""

    def compile(graph, inputs):
        run = backend(graph, inputs)

        def stay(*values):
            results = run(*values)
            assert results is not None, "the call was given up"
            return results

        return stay

    return compile


class Captured:
    """A function under test. ``exact=False`` compares floats with a tolerance (kernels instead of NumPy)."""

    def __init__(self, function, backend=eager, exact=True, options=None, **settings):
        self.function = function
        self.exact = exact
        options = config.with_options({"strict": True, **(options or {})})
        self.settings = Settings(backend=backend, options=options, **settings)
        self.record = self.settings.record
        self.entry = hook.Entry(function, frontend.on_miss, None, self.settings)

    def __call__(self, *args, **kwargs):
        """Call both; give the compiled one's result."""
        plain = Outcome(self.function, duplicate(args), duplicate(kwargs))
        compiled = Outcome(self.entry, args, kwargs)
        self.compare(compiled, plain)
        return compiled.result

    def on(self, make):
        """Call both with the arguments that ``make()`` gives, made twice."""
        plain = Outcome(self.function, make(), {})
        compiled = Outcome(self.entry, make(), {})
        self.compare(compiled, plain)
        return compiled

    def compare(self, compiled, plain):
        name = self.function.__qualname__
        if compiled.error is not None and plain.error is None:
            raise compiled.error
        assert type(compiled.error) is type(plain.error), f"{name}: {compiled.error!r} instead of {plain.error!r}"
        if plain.error is not None:
            assert str(compiled.error) == str(plain.error)
            assert compiled.trace == plain.trace, name
        else:
            assert_same(compiled.result, plain.result, name, exact=self.exact)
        assert_same(compiled.args, plain.args, f"{name}: arguments", exact=self.exact)
        assert_same(compiled.kwargs, plain.kwargs, f"{name}: arguments", exact=self.exact)
        assert compiled.output == plain.output, name
        assert compiled.warnings == plain.warnings, f"{name}: {compiled.warnings} instead of {plain.warnings}"
        assert compiled.sharing == plain.sharing, f"{name}: other objects are shared"

    @property
    def graphs(self):
        return len(self.record.graphs)

    @property
    def breaks(self):
        return [found.reason for found in self.record.breaks]

    @property
    def kinds(self):
        return [found.kind for found in self.record.breaks]

    @property
    def misses(self):
        return self.record.misses

    @property
    def guards(self):
        return [str(guard) for guard in self.record.guards]


def captured(function, **settings):
    """``function`` compiled; see the module."""
    return Captured(function, **settings)


def numbers(*shape, dtype=np.float64):
    """An array of small different numbers without zeros."""
    return (np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape) * 0.5).astype(dtype)
