"""How many instructions a plain run executes: what the symbolic ones are a share of.

In: a block. Out: the number of canonical instructions (``capture.frames.bytecode``) that Python executed in it, the
unit in which the tracer counts what it evaluates; a fused instruction counts for its parts, what makes a frame's cells
does not count. Python 3.12 and later tell by ``sys.monitoring``, 3.11 by a trace function in C.

>>> mode = Counting()
>>> mode.begin(), run_test(), mode.end()
>>> mode.figures()["executed"]
12
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from capture.frames import _hook
from capture.frames.bytecode import decode_once

SOURCE = Path(__file__).with_name("counter.c")
TOOL = 3
"""Our number among the tools of sys.monitoring, which none of the known tools uses."""


def build() -> ModuleType:
    """The counter, compiled for this Python."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"counter{sysconfig.get_config_var('EXT_SUFFIX')}"
        include = sysconfig.get_path("include")
        command = ["cc", "-O2", "-shared", "-fPIC", f"-I{include}", str(SOURCE), "-o", str(target)]
        subprocess.run(command, check=True)
        loader = importlib.machinery.ExtensionFileLoader("counter", str(target))
        spec = importlib.util.spec_from_loader("counter", loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        return module


def weights(code: CodeType) -> bytes:
    """What executing each code unit counts for: the canonical instructions that begin there."""
    found = bytearray(len(code.co_code) // 2)
    if not code.co_filename.startswith(LEFT_OUT):
        decoded = decode_once(code)
        for instruction in decoded.instructions[decoded.body + 1 :]:
            found[instruction.offset // 2] += 1
    return bytes(found)


LEFT_OUT = tuple(str(folder) + "/" for folder in (Path(_hook.__file__).parent.parent, Path(__file__).parent))


class Counting:
    """Instructions that begin between ``begin`` and ``end`` are counted, but for those of frames that ``begin`` finds
    running, which cannot be captured any more. What runs in between may turn it off.
    """

    def __init__(self) -> None:
        self.counter = build()
        self.running: set[CodeType] = set()
        self.counter.set_weigh(lambda code: b"" if code in self.running else weights(code))
        self.monitoring = getattr(sys, "monitoring", None)
        if self.monitoring is not None:
            self.monitoring.use_tool_id(TOOL, "everything")
            self.monitoring.register_callback(TOOL, self.monitoring.events.INSTRUCTION, self.counter.count)

    def begin(self) -> None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            self.running.add(frame.f_code)
            frame = frame.f_back
        self._turn(True)

    def end(self) -> None:
        self._turn(False)

    def _turn(self, on: bool) -> None:
        if self.monitoring is None:
            self.counter.trace(on)
        else:
            self.monitoring.set_events(TOOL, self.monitoring.events.INSTRUCTION if on else 0)

    def figures(self) -> dict[str, Any]:
        return {"executed": self.counter.total()}
