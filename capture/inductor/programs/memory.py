"""Memory of a program's own: what its steps make.

In: a step that makes an array, and the sizes. Out: an ``Array`` in C order over memory that no array shows that may
still be read. Each place of the program where an array is made has a *ring* of blocks, one more than there are
variables that may show them in later turns of a loop; a block grows when it must, and is kept until the program ends.

    for (un_at = 0; un_ring[un_at] == u_base || …; un_at++);        /* the first one that u does not show */
    if (un_room[un_at] < bytes && grow(&un_ring[un_at], &un_room[un_at], bytes))
        goto leave;
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from capture.inductor.programs.function import Function
from capture.inductor.programs.values import C_ELEMENTS, Array, dense_strides_of, grouped
from capture.ir.shapes import product

SMALL = 2048
"""Bytes of an array of known sizes up to which it is kept on the stack."""

_GROW = {
    "1_grow": """\
/* Set by whoever loads this: blocks of memory, on a cache line, and whom to give them back to. */
char *(*capture_take)(u64 bytes);
void (*capture_give)(char *block);

static void give_back(char *block)
{
    if (block)
        capture_give(block);
}

/* Make a block at least this large; what it held is lost. Says whether there is no memory. */
static __attribute__((noinline, cold)) int grow(char **block, i64 *room, i64 bytes)
{
    give_back(*block);
    *room = bytes + (bytes >> 3);
    *block = capture_take((u64)*room);
    if (!*block)
        *room = 0;
    return !*block;
}
""",
}


def make(function: Function, owner: str, name: str, dtype: np.dtype, sizes: Sequence[str], checked: bool) -> Array:
    """A new array of the site ``owner``; ``checked``: the sizes are any numbers, not those of arrays."""
    strides = dense_strides_of(function, name, sizes)
    pointer, base = _block(function, owner, name, dtype, sizes, checked)
    return Array(dtype, pointer, tuple(sizes), strides, base, base)


def _block(
    function: Function, owner: str, name: str, dtype: np.dtype, sizes: Sequence[str], checked: bool
) -> tuple[str, str]:
    ctype = C_ELEMENTS[dtype]
    rivals = function.bases(owner)
    if all(size.isdigit() for size in sizes) and not rivals:
        count = product([int(size) for size in sizes])
        if isinstance(count, int) and count * dtype.itemsize <= SMALL:
            pointer = function.fresh(name)
            function.fixed_names.append(pointer)
            function.fixed_types[pointer] = f"{ctype} *"
            function.fixed_homes[pointer] = function.block.name
            function.fixed.append(f"{ctype} {pointer}[{max(count, 1)}] __attribute__((aligned(64)));")
            return pointer, f"(char *){pointer}"
    if checked:
        bytes = function.named("bytes", str(dtype.itemsize))
        count_name = function.variable("bytes", "i64")
        function.lines.add(f"{count_name} = {bytes};")
        for size in sizes:
            function.leave_if(f"{size} < 0", f"__builtin_mul_overflow({count_name}, {size}, &{count_name})")
        bytes = count_name
    else:
        bytes = function.named("bytes", " * ".join((*map(grouped, sizes), str(dtype.itemsize))))
    ring, room, which = claim(function, owner, name)
    pointer = function.variable(name, f"{ctype} *")
    function.leave_if(f"{room}[{which}] < {bytes} && grow(&{ring}[{which}], &{room}[{which}], {bytes})")
    base = function.variable(f"{name}_base", "char *")
    function.lines.add(f"{base} = {ring}[{which}];", f"{pointer} = ({ctype} *){base};")
    return pointer, base


def claim(function: Function, owner: str, name: str) -> tuple[str, str, str]:
    """The ring of blocks of a site, that of their sizes, and C of the number of one that no array shows."""
    rivals = function.bases(owner)
    function.help(_GROW)
    ring, room = function.ring(name, len(rivals) + 1)
    which = "0"
    if rivals:
        which = function.variable(f"{name}_at", "i64")
        shown = " || ".join(f"{ring}[{which}] == {rival}" for rival in rivals)
        function.lines.add(f"for ({which} = 0; {ring}[{which}] && ({shown}); {which}++)", "    ;")
    return ring, room, which
