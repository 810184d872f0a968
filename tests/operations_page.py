"""docs/operations.md from the records: ``python -m tests.operations_page`` writes it anew.

In: the records of ``capture.ir.ops``. Out: a table with a row for each function, method, property and operator that is
captured: how it is computed, and which parameters may be given.

>>> print(page().splitlines()[-1])
| `~x` | kernel | `x, /` |
"""

from __future__ import annotations

import builtins
import inspect
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from capture.ir import op as ops
from capture.ir.op import Extern, Op, ViewOf

PATH = Path(__file__).resolve().parent.parent / "docs" / "operations.md"
HEAD = """\
# Operations

What a graph can hold. Written from the records in `capture/ir/ops` by `python -m tests.operations_page`; a test keeps
it equal to them.

- **kernel**: computed by generated C, fused with its neighbours.
- **view**: no computation; shows the memory of its operand where NumPy's own result does.
- **NumPy**: NumPy's function is called from inside the graph.
- **itself**: the operand, unchanged.

Where a row says two things, operands decide: `x.reshape` is a view where NumPy makes one, else a copy. Compiled dtypes
are bool, signed and unsigned integers of 8 to 64 bits, float32 and float64. What is not in this table, other dtypes,
other parameters, and operands of which NumPy's result is not certain beforehand, are a graph break: that operation runs
as plain Python.

| in Python | how | operands and parameters |
|---|---|---|
"""
SPACES = (("np", np), ("np.linalg", np.linalg))
KINDS = ("view", "kernel", "NumPy", "itself")
DEEPEST = 4


def page() -> str:
    rows = sorted({row for op in ops.all_ops() for row in rows_of(op)})
    return HEAD + "".join(f"| `{name}` | {how} | `{signature}` |\n" for name, how, signature in rows)


def rows_of(op: Op) -> Iterator[tuple[str, str, str]]:
    signature = op.signature.replace("|", "\\|")
    for function in op.calls:
        for name in names_of(function):
            yield name, how(op), signature
    _, _, rest = signature.partition(",")
    for method in op.methods:
        yield f"x.{method}()", how(op), rest.strip(" /") or " "
    for name in op.properties:
        yield f"x.{name}", how(op), " "
    for symbol in op.operators:
        text = f"{symbol.removeprefix('unary ')}x" if symbol.startswith("unary ") else f"x {symbol} y"
        yield text.replace("|", "\\|"), how(op), signature


def names_of(function: Any) -> list[str]:
    """Every public name of the function: ``np.abs`` and ``np.absolute`` are one."""
    if getattr(builtins, getattr(function, "__name__", ""), None) is function:
        return [function.__name__]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            f"{space}.{name}"
            for space, module in SPACES
            for name in dir(module)
            if not name.startswith("_") and getattr(module, name, None) is function
        ]
    return found


def how(op: Op) -> str:
    kinds = kinds_of(op, set())
    return ", ".join(kind for kind in KINDS if kind in kinds) or "itself"


def kinds_of(op: Op, seen: set[str]) -> set[str]:
    if op.name in seen:
        return set()
    seen.add(op.name)
    if not op.is_macro:
        return {"view" if isinstance(op.lower, ViewOf) else "NumPy" if isinstance(op.lower, Extern) else "kernel"}
    kinds: set[str] = set()
    for name, is_result in sorted(mentioned(op.expand, DEEPEST).items()):
        found = kinds_of(ops.get(name), set(seen))
        kinds |= found if is_result else found - {"view"}  # a step on the way to a computed result
    return kinds


def mentioned(function: Any, depth: int, is_result: bool = True) -> dict[str, bool]:
    """The ops that a macro names, and whether it returns what they give.

    They are found in its text, in what it closes over, and in the helpers that it calls.
    """
    if not depth or not inspect.isfunction(function):
        return {}
    text = inspect.getsource(function)
    returned = set(re.findall(r'(?:return|lambda)\b[^\n"]*?graph\.call\(\s*"(\w+)"', text))
    found: dict[str, bool] = {}
    for name in re.findall(r'graph\.call\(\s*"(\w+)"', text):
        if is_op(name):
            found[name] = is_result and name in returned
    for cell in function.__closure__ or ():
        value = cell.cell_contents
        if isinstance(value, str) and is_op(value):
            found[value] = is_result
        found.update(mentioned(value, depth - 1, is_result))
    for name in names_in(function.__code__):
        helper = function.__globals__.get(name)
        if getattr(helper, "__module__", "") == function.__module__:
            gives = re.search(rf"(?:return|lambda) [^\n(]*\b{name}\(", text) is not None
            for mention, result in mentioned(helper, depth - 1, is_result and gives).items():
                found[mention] = found.get(mention, False) or result
    return found


def names_in(code: CodeType) -> Iterator[str]:
    """The names that a function uses, comprehensions (functions of their own until 3.12) included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def is_op(name: str) -> bool:
    try:
        return ops.get(name).name == name
    except KeyError:
        return False


if __name__ == "__main__":
    PATH.write_text(page())
