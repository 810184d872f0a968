"""Code objects to try bytecode tools on: a sample for the suite, or the whole library.

python -m tests.frames.corpus          every check on every code object of the standard library and NumPy
python -m tests.frames.corpus 10       on the code objects of every tenth file
"""

from __future__ import annotations

import dis
import importlib.util
import inspect
import sys
import sysconfig
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import CodeType

import numpy

from capture.errors import InternalError
from capture.frames.assemble import Assembler, Slot, check, resume_at, same_code
from capture.frames.bytecode import (
    Code,
    Raw,
    decode,
    decode_once,
    stack_effect,
)
from capture.frames.origins import origin
from capture.frames.reading import read_exception_table, read_raws
from capture.frames.versions import words

GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
MODULES = words(
    "_pydatetime argparse asyncio.tasks collections contextlib dataclasses difflib enum functools inspect logging"
    " pathlib statistics subprocess threading typing zipfile numpy.lib._function_base_impl numpy.linalg._linalg"
    " numpy.testing._private.utils"
)


def code_objects(source: str, name: str) -> Iterator[CodeType]:
    """A module's code object and all that are in it."""
    waiting = [compile(source, name, "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        yield code
        waiting.extend(value for value in code.co_consts if isinstance(value, CodeType))


def sample() -> Iterator[CodeType]:
    for name in MODULES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            yield from code_objects(Path(spec.origin).read_text("utf-8"), name)


def library(step: int = 1) -> Iterator[CodeType]:
    """Every ``step``-th file of the standard library and NumPy."""
    standard = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in sorted(standard.rglob("*.py")) if "site-packages" not in path.parts]
    files += sorted(Path(numpy.__file__).parent.rglob("*.py"))
    for path in files[::step]:
        try:
            source = path.read_text("utf-8")
            yield from code_objects(source, str(path))
        except (SyntaxError, ValueError):  # bad on purpose, for the library's own tests
            continue


def faults(code: CodeType, builds: bool = True) -> Iterator[str]:
    """What ``dis`` and CPython say of a code object, against what we do; and can new code be built on it."""
    decoded = decode(code)
    raws = list(read_raws(code))
    yield from same_instructions(code, raws)
    yield from same_effects(decoded, raws)
    table = [tuple(entry) for entry in dis._parse_exception_table(code)]  # type: ignore[attr-defined]
    if table != list(read_exception_table(code.co_exceptiontable)):
        yield "exception table"
    if len(decoded.regions) < len(table) - 1:
        yield "regions"
    try:
        check(code)  # stack depths on every path, within co_stacksize
        if builds:
            build(code)
    except InternalError as error:
        yield str(error)
    again = same_code(code)
    if again.co_code == code.co_code:
        if list(again.co_positions()) != list(code.co_positions()):
            yield "positions"
        if again.co_exceptiontable != code.co_exceptiontable:
            yield "exception table, written"
    # CPython sometimes leaves an EXTENDED_ARG 0 where jumps came out shorter than it had feared.
    elif len(again.co_code) > len(code.co_code) or not same_listing(decoded, decode(again)):
        yield "bytes"


def build(code: CodeType) -> None:
    """A prefix before the whole, and resume functions from a third and two thirds; ``check`` looks at each."""
    decoded = decode(code)
    depths = decoded.depths()
    new = Assembler(code)
    new.jump_to_original(next(i.index for i in decoded.instructions if i.op == "RESUME"))
    new.build()
    if not code.co_flags & inspect.CO_OPTIMIZED or code.co_flags & GENERATORS:
        return
    reached = [i.index for i in decoded.instructions if depths[i.index] is not None]
    for index in (reached[len(reached) // 3], reached[2 * len(reached) // 3]):
        if index > len(code.co_cellvars) + 1:  # behind the prologue
            resume = resume_at(code, index, [Slot.VALUE] * (depths[index] or 0), decoded.live_locals(index))
            assert vars_of(decode(resume.code)) == vars_of(decode_once(resume.code))
            original, at = origin(resume.code, len(decode(resume.code)) - len(decoded) + index)
            if original is code:
                assert at == index
                assert [i.op for i in decode(resume.code).instructions[-len(decoded) :]] == [
                    i.op for i in decoded.instructions
                ]


def vars_of(code: Code) -> tuple[object, ...]:
    return tuple(code.raws), tuple(code.instructions), code.regions, code.slots, code.cells, code.free


def same_listing(one: Code, other: Code) -> bool:
    ours, theirs = ([(i.op, i.arg, i.position) for i in code.instructions] for code in (one, other))
    return ours == theirs


def same_instructions(code: CodeType, raws: list[Raw]) -> Iterator[str]:
    listed = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    if [(i.opname, i.arg or 0) for i in listed] != [(raw.name, raw.arg) for raw in raws]:
        yield "instructions"
    jumps = [i.argval for i in listed if i.opcode in dis.hasjrel]
    if jumps != [raw.target for raw in raws if raw.target is not None]:
        yield "jump targets"


def same_effects(decoded: Code, raws: list[Raw]) -> Iterator[str]:
    """Canonical effects sum up to the physical ones between any two places the body can be entered at."""
    bounds = [i for i in decoded.instructions if i.resumable] or list(decoded.instructions)
    position = next((n for n, raw in enumerate(raws) if raw.offset >= bounds[0].offset), 0)
    for this, following in pairwise(bounds):
        canonical = sum(stack_effect(i) for i in decoded.instructions[this.index : following.index])
        physical = 0
        while raws[position].offset < following.offset:
            physical += _effect(raws[position])
            position += 1
        if canonical != physical:
            yield f"effect of {this}: {canonical}, not {physical}"


def _effect(raw: Raw) -> int:
    opcode = dis.opmap[raw.name]
    takes_argument = opcode in dis.hasarg if hasattr(dis, "hasarg") else opcode >= dis.HAVE_ARGUMENT
    return dis.stack_effect(opcode, raw.arg if takes_argument else None, jump=False)


def main() -> None:
    warnings.simplefilter("ignore")
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    started = time.perf_counter()
    found: Counter[str] = Counter()
    for code in library(step):
        found["code objects"] += 1
        for fault in faults(code):
            found[fault] += 1
            print(f"{code.co_filename}:{code.co_firstlineno} {code.co_qualname}: {fault}")
    print(dict(found), f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
