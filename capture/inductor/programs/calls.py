"""Functions of NumPy that programs call: what has no steps of its own, as FFTs and LAPACK.

In: ``call`` steps. Out: C that hands arrays over the program's memory to the executor, which calls the function and
copies its result; and the functions, by their numbers in the unit.

    failed = capture_call(capture_functions, 0, 1, given, &made);
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from capture.errors import BackendError
from capture.inductor.programs.function import Function, comment
from capture.inductor.programs.memory import claim
from capture.inductor.programs.values import C_ELEMENTS, Array, dense_strides_of, grouped
from capture.ir import op as ops
from capture.ir.graph import Node
from capture.ir.ops.fallback import directly
from capture.ir.program import RankedType

_CALL = {
    "1_call": """\
/* An array that is handed over, sizes and strides in bytes, and what comes back: its block, or a scalar. */
typedef struct {
    char *data;
    i32 type, ndim;
    const i64 *sizes, *strides;
} GivenArray;

typedef struct {
    char **block, *scalar;
    i64 *room, *sizes;
    i32 type, ndim;
} MadeArray;

/* Set by whoever loads this: calls a function of Python; gives 1 where the program must leave, 2 where an exception
 * ends the call. */
void *capture_functions;
int (*capture_call)(void *functions, int which, int count, const GivenArray *given, const MadeArray *made);
""",
}


def function_of(step: Node) -> Callable[..., Any]:
    """What is called with the arrays among the step's arguments."""
    params = dict(step.params["params"])
    reference = ops.get(step.params["op"]).reference
    assert reference is not None
    function = directly(reference, *step.args, *params.values())
    if all(isinstance(value, Node) for value in step.args):
        return functools.partial(function, **params) if params else function
    kept = tuple(value if not isinstance(value, Node) else None for value in step.args)
    places = tuple(place for place, value in enumerate(step.args) if isinstance(value, Node))

    def call(*arrays: Any) -> Any:
        args = list(kept)
        for place, array in zip(places, arrays, strict=True):
            args[place] = array
        return function(*args, **params)

    return call


def write_call(function: Function, step: Node) -> None:
    arrays = [function.in_memory(value) for value in step.args if isinstance(value, Node)]
    if not arrays:
        raise BackendError(f"a call of {step.params['op']} without arrays")
    functions, lines = function.unit.functions, function.lines
    functions.setdefault(step, function_of(step))
    which = list(functions).index(step)
    function.help(_CALL)
    function.loops = True
    ctype, is_scalar = C_ELEMENTS[step.type.dtype], not isinstance(step.type, RankedType)
    if is_scalar:
        result, sizes = f"{{0, (char *)&{function.target(step)}, 0, 0, {step.type.dtype.num}, -1}}", []
    else:
        ring, room, at = claim(function, step.name, step.name)
        sizes = [function.variable(f"{step.name}_n{axis}", "i64") for axis in range(step.type.ndim)]
        made = f"&{ring}[{at}], 0, &{room}[{at}], made_sizes, {step.type.dtype.num}, {step.type.ndim}"
        result = f"{{{made}}}"
    with lines.block():
        for place, array in enumerate(arrays):
            shape = ", ".join(array.sizes) or "0"
            strides = ", ".join(f"{grouped(stride)} * {array.dtype.itemsize}" for stride in array.strides) or "0"
            lines.add(f"const i64 sizes_{place}[] = {{{shape}}}, strides_{place}[] = {{{strides}}};")
        given = ", ".join(
            f"{{(char *){array.pointer}, {array.dtype.num}, {len(array.sizes)}, sizes_{place}, strides_{place}}}"
            for place, array in enumerate(arrays)
        )
        lines.add(f"const GivenArray given[] = {{{given}}};", f"i64 made_sizes[{max(len(sizes), 1)}] = {{0}};")
        lines.add(f"const MadeArray made = {result};")
        call = f"capture_call(capture_functions, {which}, {len(arrays)}, given, &made)"
        given_too = [value for value in step.args if not isinstance(value, Node)]
        what = f"{step.params['op']} {given_too} {step.params['params']}"  # so that other functions have another source
        lines.add(comment(what), f"const int failed = {call};")
        lines.add("if (failed == 2)", "    goto interrupt;")
        function.leave_if("failed")
        lines.add(*(f"{size} = made_sizes[{axis}];" for axis, size in enumerate(sizes)))
    if not is_scalar:
        pointer, base = function.variable(step.name, f"{ctype} *"), function.variable(f"{step.name}_base", "char *")
        lines.add(f"{base} = {ring}[{at}];", f"{pointer} = ({ctype} *){base};")
        strides_of = dense_strides_of(function, step.name, sizes)
        function.arrays[step] = Array(step.type.dtype, pointer, tuple(sizes), strides_of, base, base)
