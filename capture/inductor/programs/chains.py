"""Loops in which a round waits for the one before: what is chosen there is chosen without a jump.

In: a program. Out: the blocks of its innermost loops that no compiler makes vectors of, since a value of a round is
computed from that of the round before (but for sums, products and the like), or nobody knows how many rounds there are:

    crc = crc >> 1 ^ POLYNOMIAL if crc & 1 else crc >> 1

A jump that is guessed wrong every other time costs more there than both ways do. Compilers like jumps; they make a
choice of what they are not shown (``CHOOSE``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from capture.inductor.programs.counting import Counted, is_single, natural_loops
from capture.inductor.programs.ranges import affine, is_int
from capture.ir.graph import Node, iterate_nodes
from capture.ir.program import Block, Program, RankedType

_REDUCING = frozenset({"+", "*", "&", "|", "^", "min", "max"})
_REDUCING_MAPS = frozenset(
    {"scalar_add", "scalar_multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "minimum", "maximum"}
)

CHOOSE = """\
/* One of two values, by no jump: the compiler does not see what they are. */
#if defined(__x86_64__)
#define FLOAT_REGISTER "+x"
#else
#define FLOAT_REGISTER "+w"
#endif
ALWAYS f64 choose_f64(_Bool condition, f64 a, f64 b)
{
    __asm__("" : FLOAT_REGISTER(a), FLOAT_REGISTER(b));
    return condition ? a : b;
}

ALWAYS i64 choose_i64(_Bool condition, i64 a, i64 b)
{
    __asm__("" : "+r"(a));
    return condition ? a : b;
}
"""

PICK = """\
/* The same where compilers would rather jump, since much is different behind a choice. */
ALWAYS i64 pick_i64(_Bool condition, i64 a, i64 b)
{
#if defined(__x86_64__)
    __asm__("testb %b1, %b1\\n\\tcmovne %2, %0" : "+r"(b) : "q"(condition), "r"(a) : "cc");
    return b;
#else
    u64 mask = -(u64)condition;
    __asm__("" : "+r"(mask));
    return (i64)(((u64)a & mask) | ((u64)b & ~mask));
#endif
}

ALWAYS f64 pick_f64(_Bool condition, f64 a, f64 b)
{
    typedef i64 bits __attribute__((vector_size(16)));
    typedef f64 floats __attribute__((vector_size(16)));
    i64 all = -(i64)condition;
    __asm__("" : "+r"(all));
    const bits mask = {all, 0};
    const floats one = {a, 0}, other = {b, 0};
    const floats found = (floats)(((bits)one & mask) | ((bits)other & ~mask));
    return found[0];
}
"""

_INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "_Bool")
_PICKED = {"f64": "pick_f64", **dict.fromkeys(_INTEGERS, "pick_i64")}


def picked(ctype: str) -> str | None:
    """The function that chooses values of a C type; None where there is none."""
    return _PICKED.get(ctype)


CHOSEN = {"f64": "choose_f64", "i64": "choose_i64"}
"""Functions that choose, by the C type of what they choose."""


def find_chains(program: Program, counted: Mapping[str, Counted]) -> frozenset[str]:
    """The blocks of such loops."""
    loops = natural_loops(program)
    found: set[str] = set()
    for head, names in loops.items():
        if any(other in names for other in loops if other != head):
            continue
        blocks = [block for block in program.blocks if block.name in names]
        if head not in counted or _has_chain(program.block(head), blocks):
            found |= names
    return frozenset(found)


def has_single_loops(program: Program) -> bool:
    """Whether there are loops of nothing but numbers and single elements."""
    return any(
        all(is_single(step) for block in program.blocks if block.name in names for step in block.steps)
        for names in natural_loops(program).values()
    )


def _has_chain(head: Block, blocks: list[Block]) -> bool:
    made_of: dict[Node, list[Node]] = {}
    for block in blocks:
        for step in block.steps:
            made_of[step] = list(iterate_nodes(step.args))
        for jump in block.jumps:
            for parameter, value in zip(_parameters(blocks, jump.target), jump.args, strict=False):
                if parameter not in head.parameters:
                    made_of.setdefault(parameter, []).extend(iterate_nodes((value,)))
    backs = [jump for block in blocks for jump in block.jumps if jump.target == head.name]
    return any(
        _depends(jump.args[place], parameter, made_of)
        for place, parameter in enumerate(head.parameters)
        if not isinstance(parameter.type, RankedType)
        for jump in backs
    )


def _parameters(blocks: list[Block], name: str) -> Iterator[Node]:
    return iter(next((block.parameters for block in blocks if block.name == name), ()))


def _depends(value: object, parameter: Node, made_of: Mapping[Node, list[Node]]) -> bool:
    """Whether what a parameter becomes is computed from what it is, otherwise than by adding to it and the like."""
    if not isinstance(value, Node) or value is parameter or (is_int(value) and affine(value)[0] is parameter):
        return False
    symbol = value.params.get("symbol") or value.params.get("op")
    if parameter in value.args and symbol in _REDUCING | _REDUCING_MAPS:
        return False
    waiting, seen = [value], set[Node]()
    while waiting:
        each = waiting.pop()
        if each is parameter:
            return True
        if each not in seen:
            seen.add(each)
            waiting += made_of.get(each, ())
    return False
