"""Programs of loops that share out over threads whatever they can, however small it is.

>>> with everything_shared(threads=4) as count:
...     run(x)
>>> assert count() > 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

from capture import config
from capture.inductor import _executor, executor
from capture.inductor.programs import sharing


@contextmanager
def everything_shared(threads: int) -> Iterator[Callable[[], int]]:
    """Graphs that are compiled in here may use so many threads, and do; gives what counts how often they did."""
    before = _executor.share_count()
    waking = _executor.set_waking(1)
    try:
        with (
            mock.patch.object(sharing, "LEAST", 0.001),
            mock.patch.object(sharing, "GRAIN", 1),
            mock.patch.object(executor, "_SHARE", 1),
            mock.patch.object(executor, "_SHARE_BESIDE_BLAS", 1),
            config.patch(threads=threads),
        ):
            yield lambda: _executor.share_count() - before
    finally:
        _executor.set_waking(waking)
