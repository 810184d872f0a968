"""Whose code it is: the program's own, or a library's, which is left alone unless a captured function calls it.

In: a code object. Out: whether it comes from the standard library, an installed package, this package, or no file.

>>> is_library(np.linspace.__wrapped__.__code__)
True
"""

from __future__ import annotations

import functools
import os
import sysconfig
from types import CodeType

FOLDERS = tuple(
    os.path.join(os.path.realpath(folder), "")
    for folder in {
        os.path.dirname(os.path.dirname(__file__)),
        *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)


def is_library(code: CodeType) -> bool:
    return _is_library_file(code.co_filename)


@functools.lru_cache(maxsize=4096)
def _is_library_file(name: str) -> bool:
    return not os.path.exists(name) or os.path.realpath(name).startswith(FOLDERS)
