"""The library written again: every code object that Python loads is decoded and put together anew before it runs.

In: a process that has not imported the code under test yet. Out: functions of modules that are there already have new
code, and modules that are imported from now on are rewritten as they are loaded.
"""

from __future__ import annotations

import gc
from importlib import machinery
from types import CodeType, FunctionType
from typing import Any

from capture.frames.preserve import same_code
from tests.everything.counting import LEFT_OUT


class Reassembling:
    """From now on code is reassembled; between ``begin`` and ``end`` nothing more is done."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[CodeType, CodeType]] = {}  # both are kept: the key is an address
        for function in gc.get_objects():
            if type(function) is FunctionType:
                function.__code__ = self._again(function.__code__)
        self._load = machinery.SourceFileLoader.get_code
        machinery.SourceFileLoader.get_code = self._get_code()  # type: ignore[method-assign]

    def _get_code(self) -> Any:
        load, again = self._load, self._again

        def get_code(loader: machinery.SourceFileLoader, name: str) -> CodeType | None:
            code = load(loader, name)
            return code if code is None else again(code)

        return get_code

    def _again(self, code: CodeType) -> CodeType:
        """A code object and those in it, reassembled; ours are left alone."""
        if code.co_filename.startswith(LEFT_OUT):
            return code
        found = self.done.get(id(code))
        if found is None:
            constants = tuple(self._again(c) if isinstance(c, CodeType) else c for c in code.co_consts)
            found = self.done[id(code)] = code, same_code(code).replace(co_consts=constants)
        return found[1]

    def begin(self) -> None: ...

    def end(self) -> None: ...

    def figures(self) -> dict[str, Any]:
        return {"reassembled": len(self.done)}


