"""Programs whose loops get lanes wherever their rounds may overlap, whether it is worth it or not.

>>> with lanes_everywhere() as count:
...     run(x)
>>> assert count() > 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from capture import config
from capture.inductor.programs import binding, lanes


@contextmanager
def lanes_everywhere(strip: int = 5) -> Iterator[Callable[[], int]]:
    """What is compiled in here has lanes in strips of so many rounds; gives what counts the loops that have."""
    with (
        mock.patch.object(lanes, "_is_worth_it", lambda *_: True),
        mock.patch.object(lanes, "STRIP", strip),
        mock.patch.object(lanes, "MOST_STEPS", 150),
        counted_lanes() as count,
    ):
        yield count


@contextmanager
def counted_lanes() -> Iterator[Callable[[], int]]:
    """Gives what counts the loops that get lanes in here, of what is not compiled already."""
    found = 0
    plain = binding.with_lanes

    def noted(*args: Any) -> Any:
        nonlocal found
        made = plain(*args)
        found += len(made[1].heads)
        return made

    with mock.patch.object(binding, "with_lanes", noted), config.patch(warm_start=False):
        yield lambda: found
