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
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capture import config
from capture.backends import eager
from capture.frames import frontend, hook
from capture.frames.settings import Settings
from tests.corpus import Call
from tests.corpus.portrait import Row, difference, portrait
from tests.corpus.worlds import Name, World


class Twins:
    """See the module. ``compile`` starts again with other settings, in the same worlds."""

    def __init__(self, name: Name, **settings: Any) -> None:
        self.name = name
        self.plain = World(name)
        self.compiled = World(name)
        self.compile(**settings)

    def compile(self, options: dict[str, Any] | None = None, **settings: Any) -> None:
        chosen = config.with_options({"strict": True, **(options or {})})
        self.settings = Settings(backend=eager, options=chosen, **settings)
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
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(output):
        warnings.simplefilter("always")
        with contextlib.redirect_stderr(output):
            try:
                result = function(*call.args, **call.kwargs)
            except Exception as raised:
                error = raised
        seen = portrait([result, error, call.args, call.kwargs, world.function])
    told = [(w.category.__name__, str(w.message), Path(w.filename).name, w.lineno) for w in caught]
    return [*seen, ("output", output.getvalue()), ("warnings", str(told))]
