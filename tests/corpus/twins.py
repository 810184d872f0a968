"""A function of the corpus that runs twice at each call: as plain Python in one world, compiled in another.

In: a name, and settings for capturing. Out: ``Twins``: ``call`` gives the difference in words (empty if there is none)
between all that can be seen in the two worlds: result or exception, arguments, output, warnings, and everything that
the function leads to: globals, closures, defaults, classes.

>>> twins = Twins(Name("statements", "for_else"))
>>> [twins.call(call) for call in twins.calls], len(twins.record.graphs)
([''], 1)
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import capture.api  # noqa: F401  which has the hook capture what runs natively below a compiled function
from capture import config
from capture.backends import eager
from capture.frames import frontend, hook
from capture.frames.settings import Backend, Settings
from tests.corpus import Call
from tests.corpus.portrait import Row, difference, portrait, without_addresses
from tests.corpus.worlds import Name, World

get_state, set_state = np.random.get_state, np.random.set_state
START = np.random.RandomState(0).get_state()
"""NumPy's own generator is as this in each call."""


class Twins:
    """See the module. ``compile`` starts again with other settings, in the same worlds."""

    def __init__(self, name: Name, **settings: Any) -> None:
        self.name = name
        self.plain = World(name)
        self.compiled = World(name)
        self.compile(**settings)

    def compile(self, options: dict[str, Any] | None = None, backend: Backend = eager, **settings: Any) -> None:
        hook.reset()  # what runs natively below a compiled function is captured by code, which worlds share
        chosen = config.with_options({"strict": True, **(options or {})})
        self.settings = Settings(backend=backend, options=chosen, **settings)
        self.record = self.settings.record
        self.entry = hook.Entry(self.compiled.function, frontend.on_miss, None, self.settings)

    @property
    def numbers(self) -> range:
        """The numbers of its calls."""
        return range(len(self.plain.calls))

    def call(self, number: int) -> str:
        """Make a call in both worlds: the difference."""
        return self.call_with(self.plain.calls[number].made(), self.compiled.calls[number].made())

    def call_with(self, plain: Call, compiled: Call) -> str:
        expected = observe(self.plain, self.plain.function, plain)
        got = observe(self.compiled, self.entry, compiled)
        return difference(got, expected)


def observe(world: World, function: Callable[..., Any], call: Call) -> list[Row]:
    """Call ``function`` in its world: the portrait of what happened and of what is there now."""
    result = error = None
    output = io.StringIO()
    set_state(START)
    with warnings.catch_warnings(record=True) as caught, _told_to(output):
        warnings.simplefilter("always")
        try:
            result = function(*call.args, **call.kwargs)
        except Exception as raised:
            error = raised
        rows = portrait([result, error, call.args, call.kwargs, world.function])
        result = error = None  # nothing may die later than in the other world; an error refers to this frame
    rows.append(("output", output.getvalue()))
    _, words, *place = get_state()
    rows.append(("random numbers", f"{zlib.crc32(words)} {place}"))
    told = [(w.category.__name__, str(w.message), Path(w.filename).name, w.lineno) for w in caught]
    rows.extend((f"warnings[{index}]", str(row)) for index, row in enumerate(told))
    return rows


def quietly(function: Callable[..., Any], call: Call) -> Any:
    """The result of a call, None if it raises; output and warnings go nowhere."""
    with warnings.catch_warnings(), _told_to(io.StringIO()), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        return function(*call.args, **call.kwargs)


@contextlib.contextmanager
def _told_to(output: io.StringIO) -> Iterator[None]:
    """Collect what is printed, and errors that nobody can catch."""

    def note(unraisable: Any) -> None:
        output.write(f"ignored in {without_addresses(repr(unraisable.object))}: {unraisable.exc_value!r}")

    before, sys.unraisablehook = sys.unraisablehook, note
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            yield
    finally:
        sys.unraisablehook = before
