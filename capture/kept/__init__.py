"""Compiled variants that outlive the process: written to the disk cache, and put to use again without the compiler.

A variant is a guard program, replacement code and an executor's program. All are plain data but for the objects they
name: modules, functions, classes of NumPy. In another process these are looked up by name and must be what they were
(``encoding``). A variant that needs anything else is not kept. What follows a break is kept with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.kept.restoring import is_known, restored

if TYPE_CHECKING:
    from capture.frames.hook import Entry, Variant
    from capture.frames.settings import Settings

__all__ = ["is_known", "keep", "keep_rest", "restored"]


def keep(entry: Entry, variant: Variant, settings: Settings) -> None:
    """Write a variant down for later processes, if all that it holds can be found again."""
    from capture.kept import writing  # which knows the code generator

    writing.keep(entry, variant, settings)


def keep_rest(entry: Entry, variant: Variant | None, settings: Settings) -> None:
    """The same for a variant of a resume function; None: it runs plainly."""
    from capture.kept import writing

    writing.keep_rest(entry, variant, settings)
