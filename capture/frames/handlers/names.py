"""Globals, attributes and super()."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from capture.frames.breaks import GraphBreak
from capture.frames.bytecode import null_pair
from capture.frames.guards import IsObject
from capture.frames.handlers.table import opcode
from capture.frames.sources import Constant as KnownObject
from capture.frames.sources import Item
from capture.frames.values import binding
from capture.frames.values.base import NULL, Value
from capture.frames.values.keys import require_no_finalizer
from capture.frames.values.objects import ModuleValue

if TYPE_CHECKING:
    from capture.frames.tracer import Frame, Tracer
    from capture.frames.versions import SuperAttr


@opcode("LOAD_GLOBAL", raw=True)
def load_global(tracer: Tracer, frame: Frame, arg: str) -> None:
    frame.push(tracer.global_value(frame, arg).real(tracer))


@opcode("LOAD_BUILD_CLASS", raw=True)
def load_build_class(tracer: Tracer, frame: Frame, arg: None) -> None:
    """Its call is left to Python; the class's body is made like any function."""
    found = binding.builtin_source(tracer, frame.globals, "__build_class__")
    if found is None:
        raise GraphBreak("classes are made by Python", "instruction")
    frame.push(tracer.lazy(*found).real(tracer))


@opcode("LOAD_ATTR")
def load_attr(tracer: Tracer, owner: Value, /, *, arg: str) -> Value:
    return owner.attribute(tracer, arg)


# Imports ------------------------------------------------------------------------------------------------------------
IMPORT = builtins.__import__


@opcode("IMPORT_NAME")
def import_name(tracer: Tracer, level: Value, names: Value, /, *, arg: str) -> Value:
    """A module that was imported before: the importer looks into ``sys.modules`` and does nothing else."""
    chosen = names.concrete(tracer)
    top = arg if chosen else arg.partition(".")[0]
    if level.concrete(tracer) != 0 or not all(_is_imported(tracer, name) for name in {arg, top}):
        raise GraphBreak(f"the import of {arg}", "instruction")
    tracer.outside.enter_namespace(sys.modules)
    module = sys.modules[top]
    if any(name not in vars(module) for name in chosen or ()):
        raise GraphBreak(f"the import of something that is not in {arg} yet", "instruction")
    return tracer.lazy(Item(KnownObject(sys.modules), top), module).real(tracer)


def _is_imported(tracer: Tracer, name: str) -> bool:
    module = sys.modules.get(name)
    importer = binding.builtin_source(tracer, tracer.frames[-1].globals, "__import__")
    if type(module) is not ModuleType or importer is None or importer[1] is not IMPORT:
        return False
    if getattr(vars(module).get("__spec__"), "_initializing", False):
        return False
    tracer.guard(importer[0], IsObject(IMPORT))
    tracer.guard(Item(KnownObject(sys.modules), name), IsObject(module))
    return True


@opcode("IMPORT_FROM", raw=True)
def import_from(tracer: Tracer, frame: Frame, arg: str) -> None:
    module = frame.stack[-1].real(tracer)
    if not isinstance(module, ModuleValue) or arg not in vars(module.module):
        raise GraphBreak(f"the import of {arg!r}, which is not in {module.describe()}", "instruction")
    frame.push(module.attribute(tracer, arg))


# Attributes ---------------------------------------------------------------------------------------------------------
@opcode("LOAD_METHOD", raw=True)
def load_method(tracer: Tracer, frame: Frame, arg: str) -> None:
    """Python may push (function, self); the pair with the bound method means the same."""
    owner = frame.pop()
    frame.stack.extend(null_pair(owner.real(tracer).attribute(tracer, arg), NULL))


@opcode("STORE_ATTR", raw=True)
def store_attr(tracer: Tracer, frame: Frame, arg: str) -> None:
    owner, value = frame.pop().real(tracer), frame.pop()
    owner.store_attribute(tracer, arg, value)


@opcode("DELETE_ATTR")
def delete_attr(tracer: Tracer, owner: Value, /, *, arg: str) -> None:
    owner.delete_attribute(tracer, arg)


@opcode("STORE_GLOBAL", raw=True)
def store_global(tracer: Tracer, frame: Frame, arg: str) -> None:
    require_no_finalizer(frame.globals.get(arg), arg)
    tracer.write_global(frame.globals, arg, frame.pop())


@opcode("LOAD_SUPER_ATTR")
def load_super_attr(tracer: Tracer, function: Value, after: Value, owner: Value, /, *, arg: SuperAttr) -> Value:
    return tracer.call(function, (after, owner), {}).attribute(tracer, arg.name)


@opcode("LOAD_SUPER_METHOD", raw=True)
def load_super_method(tracer: Tracer, frame: Frame, arg: SuperAttr) -> None:
    owner, after, function = (frame.pop().real(tracer) for _ in range(3))
    frame.stack.extend(null_pair(tracer.call(function, (after, owner), {}).attribute(tracer, arg.name), NULL))
