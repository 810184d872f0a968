"""Work that makes much and throws little away, without Python's collector of cycles in between.

In: a block, such as the import of the compiler or a trace. Out: the same, at four fifths of the time: the collector
would look at all that has been made again and again. Nor do finalizers of the user's cycles run inside, which may
be anything::

    with uncollected():
        trace()

    with importing():
        import capture.api
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FEW = 1000
"""More than the interpreter itself sets aside (375 in CPython 3.12), less than any program that does so."""

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


@contextmanager
def importing() -> Iterator[None]:
    """``uncollected``, for what stays as long as the process: it is old from the start.

    The compiler's modules are fifty thousand objects. As new ones they would all be looked at as soon as the block is
    left, and once more soon after, which takes a quarter of a first call. To set objects aside and back makes them old
    without a look; but a program that has set aside its own (``gc.freeze``, before it forks) would have these back too.
    """
    with uncollected():
        yield
        if gc.get_freeze_count() < FEW:
            gc.freeze()
            gc.unfreeze()
