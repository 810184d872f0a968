"""A stack machine for canonical bytecode over real objects: what ``capture.frames.bytecode`` says, executable.

``Machine(function, *args).run()`` gives what ``function(*args)`` gives. Between any two instructions it can be
stopped, and ``resume`` builds and calls a resume function from the state it is in. Exceptions that handlers see are
real, but ``sys.exception()`` is not kept for what is called.
"""

from __future__ import annotations

import builtins
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from capture.frames.assemble import Lasti, Resume, Slot, resume_at
from capture.frames.bytecode import Instruction, callee, decode, null_pair

NULL = type("Null", (), {"__repr__": lambda self: "NULL"})()
"""A slot that holds nothing."""


class Handled:
    """What PUSH_EXC_INFO leaves on the stack: the exception handled outside, and the one handled from here on."""

    def __init__(self, outer: Handled | None, exception: BaseException) -> None:
        self.outer = outer
        self.exception = exception


BINARY = {
    "+": "add", "&": "and_", "//": "floordiv", "<<": "lshift", "@": "matmul", "*": "mul", "%": "mod", "|": "or_",
    "**": "pow", ">>": "rshift", "-": "sub", "/": "truediv", "^": "xor",
}  # fmt: skip
IN_PLACE = {f"{symbol}=": f"i{name.rstrip('_')}" for symbol, name in BINARY.items()}
OPERATORS: dict[str, Callable[..., Any]] = {s: getattr(operator, n) for s, n in {**BINARY, **IN_PLACE}.items()}
COMPARE: dict[str, Callable[..., Any]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
UNARY: dict[str, Callable[..., Any]] = {
    "UNARY_NEGATIVE": operator.neg, "UNARY_NOT": operator.not_, "UNARY_INVERT": operator.invert,
    "UNARY_POSITIVE": operator.pos, "TO_BOOL": bool, "GET_ITER": iter, "LIST_TO_TUPLE": tuple,
}  # fmt: skip
CONVERT: dict[str | None, Callable[[Any], Any]] = {None: lambda x: x, "str": str, "repr": repr, "ascii": ascii}
CONDITIONS: dict[str, Callable[[Any], bool]] = {
    "POP_JUMP_IF_TRUE": bool,
    "POP_JUMP_IF_FALSE": operator.not_,
    "POP_JUMP_IF_NONE": lambda x: x is None,
    "POP_JUMP_IF_NOT_NONE": lambda x: x is not None,
}
BUILD: dict[str, Callable[[list[Any]], Any]] = {
    "BUILD_TUPLE": tuple,
    "BUILD_LIST": list,
    "BUILD_SET": set,
    "BUILD_STRING": "".join,
    "BUILD_SLICE": lambda parts: slice(*parts),
}
GROW: dict[str, Callable[[Any, Any], Any]] = {
    "LIST_APPEND": list.append,
    "SET_ADD": set.add,
    "LIST_EXTEND": list.extend,
    "SET_UPDATE": set.update,
    "DICT_UPDATE": dict.update,
    "DICT_MERGE": dict.update,
}


class Machine:
    def __init__(self, function: FunctionType, *args: Any, **kwargs: Any) -> None:
        self.function = function
        self.code = decode(function.__code__)
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        self.slots: dict[str, Any] = dict(bound.arguments)
        cells = function.__closure__ or ()
        self.slots.update({name: cells[i] for name, i in self.code.free.items()})
        self.stack: list[Any] = []
        self.at = 0
        self.handled: Handled | None = None
        self.result: tuple[Any] | None = None
        self.steps = 0

    def run(self, steps: int | None = None) -> Any:
        """To the end, or for so many instructions."""
        while self.result is None and self.steps != steps:
            self.step()
        return self.result and self.result[0]

    def step(self) -> None:
        instruction = self.code.instructions[self.at]
        assert len(self.stack) == self.code.depths()[self.at], instruction
        self.steps += 1
        self.at += 1
        try:
            self.execute(instruction)
        except BaseException as exception:
            region = self.code.region_at(instruction.index)
            if region is None:
                raise
            del self.stack[region.depth :]
            if region.lasti:
                self.stack.append(Lasti(instruction.index))
            self.stack.append(exception)
            self.at = region.target

    def execute(self, instruction: Instruction) -> None:
        op, arg, stack = instruction.op, instruction.arg, self.stack
        if op in UNARY:
            stack.append(UNARY[op](stack.pop()))
        elif op in CONDITIONS:
            if CONDITIONS[op](stack.pop()):
                self.at = arg
        elif op in BUILD:
            stack.append(BUILD[op](self.pop(arg)))
        elif op in GROW:
            value = stack.pop()
            GROW[op](stack[-arg], value)
        else:
            getattr(self, op)(arg)

    def pop(self, count: int) -> list[Any]:
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values

    # -------------------------------------------------------------------------------------- resume
    @property
    def enterable(self) -> bool:
        """Not in the prologue, nor while a clean-up holds the outer exception twice."""
        ahead = any(i.op == "RESUME" for i in self.code.instructions[: self.at])
        saved = [id(value) for value in self.stack if isinstance(value, Handled)]
        return ahead and len(saved) == len(set(saved))

    def template(self) -> tuple[list[Slot | Lasti], dict[str, Any]]:
        in_force = []
        handled = self.handled
        while handled is not None:
            in_force.append(handled)
            handled = handled.outer
        slots: list[Slot | Lasti] = []
        values: dict[str, Any] = {}
        for i, value in enumerate(self.stack):
            if value is NULL:
                slots.append(Slot.NULL)
                continue
            if isinstance(value, Lasti):
                slots.append(value)
                continue
            kind = Slot.VALUE
            if isinstance(value, Handled):
                kind = Slot.HANDLED if value in in_force else Slot.VALUE
                value = value.exception
            slots.append(kind)
            values[f"___stack{i}"] = value
        return slots, values

    def resume(self) -> tuple[Resume, list[Any]]:
        """A resume function's code for the state here, and its arguments."""
        slots, values = self.template()
        wanted = [name for name in self.code.live_locals(self.at) if self.slots.get(name, NULL) is not NULL]
        values.update({name: self.slots[name] for name in wanted})
        resume = resume_at(self.function.__code__, self.at, slots, wanted)
        return resume, [values[name] for name in resume.parameters]

    def finish(self) -> Any:
        """Let CPython do the rest."""
        resume, arguments = self.resume()
        function = FunctionType(
            resume.code, self.function.__globals__, self.function.__name__, None, self.function.__closure__
        )
        return function(*arguments)

    # ------------------------------------------------------------------------------------- handlers
    def NOP(self, arg: Any) -> None:
        pass

    RESUME = COPY_FREE_VARS = END_FOR = NOP

    def POP_TOP(self, arg: Any) -> None:
        self.stack.pop()

    def PUSH_NULL(self, arg: Any) -> None:
        self.stack.append(NULL)

    def COPY(self, arg: int) -> None:
        self.stack.append(self.stack[-arg])

    def SWAP(self, arg: int) -> None:
        self.stack[-1], self.stack[-arg] = self.stack[-arg], self.stack[-1]

    def LOAD_CONST(self, arg: Any) -> None:
        self.stack.append(arg)

    def LOAD_FAST(self, arg: str) -> None:
        value = self.slots.get(arg, NULL)
        if value is NULL:
            raise UnboundLocalError(f"cannot access local variable '{arg}' where it is not associated with a value")
        self.stack.append(value)

    LOAD_CLOSURE = LOAD_FAST

    def LOAD_FAST_AND_CLEAR(self, arg: str) -> None:
        self.stack.append(self.slots.pop(arg, NULL))

    def STORE_FAST(self, arg: str) -> None:
        self.slots[arg] = self.stack.pop()

    def DELETE_FAST(self, arg: str) -> None:
        self.LOAD_FAST(arg)
        self.stack.pop()
        del self.slots[arg]

    def MAKE_CELL(self, arg: str) -> None:
        value = self.slots.get(arg, NULL)
        self.slots[arg] = CellType() if value is NULL else CellType(value)

    def LOAD_DEREF(self, arg: str) -> None:
        try:
            self.stack.append(self.slots[arg].cell_contents)
        except ValueError:
            kind = UnboundLocalError if arg not in self.code.free else NameError
            raise kind(
                f"cannot access {'free' if kind is NameError else 'local'} variable '{arg}' where it is not "
                f"associated with a value{' in enclosing scope' if kind is NameError else ''}"
            ) from None

    def STORE_DEREF(self, arg: str) -> None:
        self.slots[arg].cell_contents = self.stack.pop()

    def DELETE_DEREF(self, arg: str) -> None:
        del self.slots[arg].cell_contents

    def LOAD_GLOBAL(self, arg: str) -> None:
        names: Mapping[str, Any] = self.function.__globals__
        if arg not in names and not hasattr(builtins, arg):
            raise NameError(f"name '{arg}' is not defined")
        self.stack.append(names[arg] if arg in names else getattr(builtins, arg))

    def STORE_GLOBAL(self, arg: str) -> None:
        self.function.__globals__[arg] = self.stack.pop()

    def LOAD_ATTR(self, arg: str) -> None:
        self.stack.append(getattr(self.stack.pop(), arg))

    def LOAD_METHOD(self, arg: str) -> None:
        owner = self.stack.pop()
        method = getattr(owner, arg)
        if inspect.ismethod(method) and method.__self__ is owner:
            self.stack += method.__func__, owner
        else:
            self.stack += null_pair(method, NULL)

    def LOAD_SUPER_ATTR(self, arg: Any) -> None:
        kind, owner = self.pop(3)[1:]
        self.stack.append(getattr(super(kind, owner), arg.name))

    def LOAD_SUPER_METHOD(self, arg: Any) -> None:
        self.LOAD_SUPER_ATTR(arg)
        self.stack += null_pair(self.stack.pop(), NULL)

    def STORE_ATTR(self, arg: str) -> None:
        value, owner = self.pop(2)
        setattr(owner, arg, value)

    def DELETE_ATTR(self, arg: str) -> None:
        delattr(self.stack.pop(), arg)

    def BINARY_SUBSCR(self, arg: Any) -> None:
        owner, key = self.pop(2)
        self.stack.append(owner[key])

    def STORE_SUBSCR(self, arg: Any) -> None:
        value, owner, key = self.pop(3)
        owner[key] = value

    def DELETE_SUBSCR(self, arg: Any) -> None:
        owner, key = self.pop(2)
        del owner[key]

    def BINARY_OP(self, arg: str) -> None:
        self.stack.append(OPERATORS[arg](*self.pop(2)))

    def COMPARE_OP(self, arg: str) -> None:
        self.stack.append(COMPARE[arg](*self.pop(2)))

    def IS_OP(self, arg: bool) -> None:
        left, right = self.pop(2)
        self.stack.append((left is right) != arg)

    def CONTAINS_OP(self, arg: bool) -> None:
        left, right = self.pop(2)
        self.stack.append((left in right) != arg)

    def BUILD_MAP(self, arg: int) -> None:
        parts = self.pop(2 * arg)
        self.stack.append(dict(zip(parts[::2], parts[1::2], strict=True)))

    def BUILD_CONST_KEY_MAP(self, arg: int) -> None:
        keys = self.stack.pop()
        self.stack.append(dict(zip(keys, self.pop(arg), strict=True)))

    def MAP_ADD(self, arg: int) -> None:
        key, value = self.pop(2)
        self.stack[-arg][key] = value

    def UNPACK_SEQUENCE(self, arg: int) -> None:
        values = list(self.stack.pop())
        assert len(values) == arg
        self.stack += reversed(values)

    def UNPACK_EX(self, arg: Any) -> None:
        values = list(self.stack.pop())
        end = len(values) - arg.after
        self.stack += reversed([*values[: arg.before], values[arg.before : end], *values[end:]])

    def FORMAT_VALUE(self, arg: Any) -> None:
        spec = self.stack.pop() if arg.has_spec else ""
        self.stack.append(format(CONVERT[arg.conversion](self.stack.pop()), spec))

    def CONVERT_VALUE(self, arg: str) -> None:
        self.stack.append(CONVERT[arg](self.stack.pop()))

    def CALL(self, arg: Any) -> None:
        values = self.pop(arg.total)
        target, ahead = callee(*self.pop(2), NULL)
        keywords = dict(zip(arg.keywords, values[arg.positional :], strict=True)) if arg.keywords else {}
        if target is super and not values:  # it looks at the frame that calls it
            first = self.slots[self.code.slots[0]]
            owner = first.cell_contents if isinstance(first, CellType) else first
            ahead = self.slots["__class__"].cell_contents, owner
        self.stack.append(target(*ahead, *values[: arg.positional], **keywords))

    def CALL_FUNCTION_EX(self, arg: Any) -> None:
        keywords = self.stack.pop() if arg.has_keywords else {}
        values = self.stack.pop()
        target, ahead = callee(*self.pop(2), NULL)
        self.stack.append(target(*ahead, *values, **keywords))

    def MAKE_FUNCTION(self, arg: Sequence[str]) -> None:
        code: CodeType = self.stack.pop()
        parts = dict(zip(arg, self.pop(len(arg)), strict=True))
        made = FunctionType(code, self.function.__globals__, code.co_name, parts.get("defaults"), parts.get("closure"))
        made.__kwdefaults__ = parts.get("kwdefaults")
        names = parts.get("annotations", ())
        made.__annotations__ = dict(zip(names[::2], names[1::2], strict=True))
        self.stack.append(made)

    def LOAD_ASSERTION_ERROR(self, arg: Any) -> None:
        self.stack.append(AssertionError)

    def IMPORT_NAME(self, arg: str) -> None:
        level, names = self.pop(2)
        self.stack.append(__import__(arg, self.function.__globals__, None, names, level))

    def IMPORT_FROM(self, arg: str) -> None:
        self.stack.append(getattr(self.stack[-1], arg))

    def JUMP(self, arg: int) -> None:
        self.at = arg

    def FOR_ITER(self, arg: int) -> None:
        try:
            self.stack.append(next(self.stack[-1]))
        except StopIteration:
            self.stack.pop()
            self.at = arg

    def RETURN_VALUE(self, arg: Any) -> None:
        self.result = (self.stack.pop(),)

    def GET_LEN(self, arg: Any) -> None:
        self.stack.append(len(self.stack[-1]))

    def MATCH_SEQUENCE(self, arg: Any) -> None:
        self.stack.append(isinstance(self.stack[-1], (list, tuple)))

    def MATCH_MAPPING(self, arg: Any) -> None:
        self.stack.append(isinstance(self.stack[-1], dict))

    def MATCH_KEYS(self, arg: Any) -> None:
        subject, keys = self.stack[-2:]
        found = all(key in subject for key in keys)
        self.stack.append(tuple(subject[key] for key in keys) if found else None)

    def MATCH_CLASS(self, arg: int) -> None:
        subject, kind, names = self.pop(3)
        names = (*getattr(kind, "__match_args__", ())[:arg], *names)
        found = isinstance(subject, kind)
        self.stack.append(tuple(getattr(subject, name) for name in names) if found else None)

    # ----------------------------------------------------------------------------------- exceptions
    def RAISE_VARARGS(self, arg: int) -> None:
        cause = self.stack.pop() if arg == 2 else None
        if arg == 0:
            assert self.handled is not None
            raise self.handled.exception
        raised = self.stack.pop()
        if isinstance(raised, type):
            raised = raised()
        if arg == 2:
            raised.__cause__ = cause
        raise raised

    def RERAISE(self, arg: int) -> None:
        raise self.stack.pop()

    def PUSH_EXC_INFO(self, arg: Any) -> None:
        exception = self.stack.pop()
        self.handled = Handled(self.handled, exception)
        self.stack += self.handled, exception

    def POP_EXCEPT(self, arg: Any) -> None:
        self.handled = self.stack.pop().outer

    def CHECK_EXC_MATCH(self, arg: Any) -> None:
        kind = self.stack.pop()
        self.stack.append(isinstance(self.stack[-1], kind))

    def BEFORE_WITH(self, arg: Any) -> None:
        manager = self.stack.pop()
        self.stack.append(manager.__exit__)
        self.stack.append(manager.__enter__())

    def WITH_EXCEPT_START(self, arg: Any) -> None:
        exception = self.stack[-1]
        leave = self.stack[-4]
        self.stack.append(leave(type(exception), exception, exception.__traceback__))
