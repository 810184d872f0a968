"""Warnings of what we compute ourselves: raised as errors, or noted.

In: a block. Out: the warnings in it go nowhere else. ``warnings.catch_warnings`` would do that too, but tells Python
that filters have changed: what the program has been warned of once would be shown again.

>>> with noted() as found:
...     np.float64(1) / 0
>>> [warning.category for warning in found]
[RuntimeWarning]
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

RAISED = [("error", None, Warning, None, 0)]
NOTED = [("always", None, Warning, None, 0)]


@contextmanager
def raised() -> Iterator[None]:
    """A warning is an exception."""
    with _replaced(filters=RAISED):
        yield


@contextmanager
def noted() -> Iterator[list[warnings.WarningMessage]]:
    """Each warning is put into a list."""
    found: list[warnings.WarningMessage] = []
    shown = {"_showwarnmsg_impl": found.append, "showwarning": warnings._showwarning_orig}  # type: ignore[attr-defined]
    with _replaced(filters=NOTED, **shown):
        yield found


@contextmanager
def _replaced(**new: Any) -> Iterator[None]:
    old = {name: getattr(warnings, name) for name in new}
    vars(warnings).update(new)
    try:
        yield
    finally:
        vars(warnings).update(old)
