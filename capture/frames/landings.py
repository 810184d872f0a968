"""Back to captured code behind a handler: where plain Python has handled an exception, the frame goes on captured.

In: the assembler of a variant that keeps the original's body, in which an exception may end up. Out: at each place
where a handler has ended and nothing is handled any more, the body leaves for new code that hands a ``Continuation``
to the hook:

    except KeyError:
        n = 0                   # in the kept body, as plain Python
    y = np.exp(x) * n           # POP_EXCEPT lies behind: captured from here on

Which variables have a value there depends on where the exception came from, so it is asked when control comes there.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from types import CellType, CodeType
from typing import Any

from capture.errors import InternalError
from capture.frames.assemble import Assembler, Slot
from capture.frames.bytecode import Code, decode
from capture.frames.hook import UNBOUND, Continuation, call_apart
from capture.frames.resume import Namespace, Resumes
from capture.frames.zones import handled

_PASSED_OVER = frozenset({"POP_TOP", "NOP"})
_NAME_CLEARED = frozenset({"DELETE_FAST", "DELETE_DEREF", "DELETE_GLOBAL"})
_POINTLESS = frozenset({"RERAISE", "RETURN_VALUE"})


def ends_of_handlers(code: Code) -> tuple[int, ...]:
    """Instructions before which a handler has been left and no exception is being handled, past its clean-up."""
    if "ends of handlers" not in code.found:
        tail = code.tail
        code.found["ends of handlers"] = (
            _ends(code) if tail is None else tuple(index + tail.ahead for index in ends_of_handlers(tail.kept))
        )
    return code.found["ends of handlers"]  # type: ignore[no-any-return]


def _ends(code: Code) -> tuple[int, ...]:
    handling = handled(code)
    found = set()
    for instruction in code.instructions:
        if instruction.op == "POP_EXCEPT" and len(handling[instruction.index] or ()) == 1:
            index = _behind_clean_up(code, instruction.index + 1)
            if index is not None and code.instructions[index].resumable and code.instructions[index].arg is not UNBOUND:
                found.add(index)
    return tuple(sorted(found))


def _behind_clean_up(code: Code, index: int) -> int | None:
    """Past the removal of what a handler had on the stack and of its ``as`` name; None where the frame ends soon."""
    while True:
        first, *others = (instruction.op for instruction in code.instructions[index : index + 3])
        if first in _PASSED_OVER:
            index += 1
        elif first == "LOAD_CONST" and others[1:] and others[1] in _NAME_CLEARED:
            index += 3
        else:
            break
    ends = first in _POINTLESS or (first == "LOAD_CONST" and others[0] in _POINTLESS)
    return None if ends else index


class Landing:
    """Makes the continuation, given what the frame holds. Code holds this: it must not own what owns the code."""

    def __init__(self, resumes: Resumes, code: CodeType, index: int, depth: int) -> None:
        self.settings = weakref.ref(resumes.settings)
        self.miss = resumes.miss
        self.code = code
        self.index = index
        self.depth = depth

    def __call__(
        self,
        stack: tuple[Any, ...],
        cells: tuple[CellType, ...],
        namespace: Namespace,
        variables: Mapping[str, Any],
    ) -> Continuation:
        settings = self.settings()
        if settings is None:
            raise InternalError("code runs whose owner is gone")
        state = {**variables, **dict(zip(live_cells(decode(self.code), self.index), cells, strict=True))}
        slots = (Slot.VALUE,) * self.depth
        target = Resumes(settings, self.miss).behind(namespace, self.code, self.index, slots, state)
        values = iter(stack)
        state |= {name: next(values) for name in target.parameters if name.startswith("___stack")}
        return Continuation(target.entry, tuple(state[name] for name in target.parameters))


def live_cells(code: Code, index: int) -> tuple[str, ...]:
    return tuple(sorted(code.live_variables(index) & (code.cells | code.free.keys())))


def emit_landings(new: Assembler, resumes: Resumes) -> None:
    """Make the kept body, if there is one, leave behind its handlers."""
    code = new.source
    for index in ends_of_handlers(code) if new.keeps_original else ():
        depth = code.depths()[index]
        if depth is None:
            continue
        new.divert(index)
        new.build_tuple(depth)
        new.load_const(call_apart)
        new.swap(2)
        new.load_const(Landing(resumes, code.original, index, depth))
        new.swap(2)
        cells = live_cells(code, index)
        for name in cells:
            new.load_cell(name)
        new.build_tuple(len(cells))
        for look in (globals, locals):
            new.load_const(look)
            new.call(0)
        new.call(5)
        new.return_value()
