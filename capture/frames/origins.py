"""Which code a resume function resumes.

In: the code of a resume function that has been made. Out: for its instructions, those of the original.

>>> origin(resume.code, 20)
(<code object f>, 12)
"""

from __future__ import annotations

import weakref
from types import CodeType

from capture.frames.bytecode import Code, decode

_ORIGINS: dict[int, tuple[weakref.ref[CodeType], CodeType, int]] = {}
"""By the id of a resume function's code: itself, what it resumes, how many instructions stand before that."""


def origin(code: CodeType, index: int = 0) -> tuple[CodeType, int]:
    """The code that a resume function resumes, and which instruction of it ``index`` is.

    Any other code, and an instruction that the resume function has before the original's, is its own origin.
    """
    _, original, ahead = _ORIGINS.get(id(code), (None, code, 0))
    return (original, index - ahead) if index >= ahead else (code, index)


def origin_offset(code: CodeType) -> int:
    """How many instructions a resume function has before those of the code it resumes."""
    return _ORIGINS.get(id(code), (None, code, 0))[2]


def remember_origin(code: CodeType, original: Code) -> None:
    """``code`` resumes ``original``, with whose instructions it ends."""
    key = id(code)
    gone = weakref.ref(code, lambda _: _ORIGINS.pop(key, None))
    _ORIGINS[key] = gone, original.original, len(decode(code)) - len(original)


_ADDED: dict[int, tuple[weakref.ref[CodeType], int, frozenset[int]]] = {}
"""By the id of an outline's code: itself, and which of its instructions are not the generator's."""


def remember_added(code: CodeType, first: int, added: frozenset[int]) -> None:
    """In ``code``, an outline, what is before ``first``, and ``added``, has been written for it."""
    key = id(code)
    _ADDED[key] = weakref.ref(code, lambda _: _ADDED.pop(key, None)), first, added


def added(code: CodeType) -> tuple[int, frozenset[int]]:
    """Which instructions of a code object are not the user's: those before a first one, and others."""
    original, ahead = origin(code, len(decode(code)))[0], origin_offset(code)
    found = _ADDED.get(id(original))
    if found is None:
        return ahead + decode(code).body + 1, frozenset()
    return ahead + found[1], frozenset(ahead + index for index in found[2])


def resumed_by(code: CodeType) -> CodeType | None:
    """The code that a resume function goes on with; None of any other code."""
    found = _ORIGINS.get(id(code))
    return None if found is None else found[1]


def is_resumed(code: CodeType) -> bool:
    """Whether this is the code of a resume function."""
    return origin(code, len(decode(code)))[0] is not code


_CELL = ".cell"


def passed_cell(name: str) -> str:
    """The parameter by which a resume function takes the cell of the free variable ``name``."""
    return name + _CELL


def is_passed_cell(parameter: str) -> bool:
    return parameter.endswith(_CELL)
