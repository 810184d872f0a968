"""Reports on stderr, by topic, and warnings that are given once per cause.

In come topic names (``CAPTURE_LOGS=graph,breaks``, ``config.logs``, ``log.set``) and texts; out go lines on
stderr. With a topic off, a report costs one look-up, and a text given as a function is never made::

    log.set("cache")
    log.emit("cache", lambda: f"built {path} in {seconds * 1e3:.0f} ms")
    [capture:cache] built 1f3c….so in 31 ms
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Hashable

from capture import config
from capture.config import TOPICS
from capture.errors import FallbackWarning

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_warned: dict[Hashable, bool] = {}
_lock = threading.Lock()


def set(*topics: str) -> None:
    """Report exactly these topics from now on, in the whole process; none turns reports off."""
    config.logs = topics


def enabled(topic: str) -> bool:
    """Whether a topic is reported; an unknown one raises ``ValueError``."""
    if topic not in TOPICS:
        raise ValueError(config.unknown("log topic", topic, TOPICS))
    return topic in config.logs


def emit(topic: str, text: str | Callable[[], str]) -> None:
    """Report a text, or the result of a function that makes it, if its topic is on."""
    if not enabled(topic) or sys.stderr is None:
        return
    made = text if isinstance(text, str) else text()
    # One write, so that the lines of two threads do not mix.
    sys.stderr.write(f"[capture:{topic}] " + made.rstrip("\n").replace("\n", "\n    ") + "\n")


def fallback(cause: Hashable, message: str) -> bool:
    """Warn with a ``FallbackWarning`` at the user's line, once per cause; tells whether it warned."""
    with _lock:
        if cause in _warned:
            return False
        _warned[cause] = True
    warn(message, FallbackWarning)
    return True


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line: the nearest caller outside the package."""
    warnings.warn(message, category, stacklevel=_distance_to_user())


def forget_warnings() -> None:
    """Let every cause warn again (``capture.reset``)."""
    with _lock:
        _warned.clear()


def _distance_to_user() -> int:
    """The ``stacklevel`` of the nearest caller outside the package, as seen from ``warn``."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
