"""Work that makes much and throws little away, without Python's collector of cycles in between.

In: a block, such as the import of the compiler or a trace. Out: the same, at four fifths of the time: the collector
would look at all that has been made again and again. Nor do finalizers of the user's cycles run inside, which may
be anything::

    with uncollected():
        import capture.api
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_was_enabled = False


@contextmanager
def uncollected() -> Iterator[None]:
    """No collection by itself until the last block of any thread is left; then as it was."""
    global _inside, _was_enabled
    with _lock:
        _inside += 1
        if _inside == 1:
            _was_enabled = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _was_enabled:
                gc.enable()
