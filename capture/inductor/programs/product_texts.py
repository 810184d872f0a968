"""C of products of matrices: functions that go over a part of the results with their sums in registers.

In: the C type of elements, vectors' bytes. Out: texts of functions.

* ``dot``, ``dots``: sums along neighbours in memory of both operands;
* ``block``: rows of numbers times rows of vectors. A block of 4 x 3 is 4 rows of 3 vectors of results;
* ``panels``: blocks of many rows, for which what they have in common is brought near first.

    block_f64_whole_4x3(to, to_row, a, a_row, a_place, b, b_place, last, inner);

The last vector of a block may begin within the one before it, so that no columns are left over: what stands in both is
computed twice, alike.
"""

from __future__ import annotations

from collections.abc import Mapping

SIZES: Mapping[str, int] = {"f32": 4, "f64": 8}
"""Elements that the functions are for, and their bytes."""

_INTEGERS = {"f32": "i32", "f64": "i64"}

PARTS = ("whole", "half", "quarter", "eighth")
"""Vectors as large as registers, and those that narrower matrices take."""

ONE = "one"
"""Instead of a vector a single element."""

HEIGHT, TALL = 4, 6
"""Rows of blocks; of panels there are enough for taller ones."""

STRANDS = {(4, 1): 2, (1, 4): 2, (1, 3): 2, (1, 2): 4, (1, 1): 4}
"""Sums side by side that are added at the end: of too few, each waits for itself."""

DOT = """\
/* A long sum of products, in four vectors: one would wait for itself. */
typedef {T} {T}_vector __attribute__((vector_size(32), aligned(sizeof({T}))));

static __attribute__((noinline, optimize("O2,fp-contract=fast"))) {T} dot_{T}(const {T} *a, const {T} *b, i64 count)
{
    enum { WIDTH = 32 / sizeof({T}) };
    {T}_vector sums[4] = {{0}};
    i64 at = 0;
    for (; at + 4 * WIDTH <= count; at += 4 * WIDTH) {
        const {T}_vector *x = (const {T}_vector *)(a + at), *y = (const {T}_vector *)(b + at);
        sums[0] += x[0] * y[0];
        sums[1] += x[1] * y[1];
        sums[2] += x[2] * y[2];
        sums[3] += x[3] * y[3];
    }
    for (; at + WIDTH <= count; at += WIDTH)
        sums[0] += *(const {T}_vector *)(a + at) * *(const {T}_vector *)(b + at);
    {T} total = 0;
    for (; at < count; at++)
        total += a[at] * b[at];
    const {T}_vector sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int lane = 0; lane < WIDTH; lane++)
        total += sum[lane];
    return total;
}
"""

_FOUR = """\
/* Four elements, and four of those of two such. */
typedef {T} {T}_four __attribute__((vector_size(4 * sizeof({T})), aligned(sizeof({T}))));
typedef {I} {T}_places __attribute__((vector_size(4 * sizeof({T}))));

#ifdef __clang__
#define PICK_{T}(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define PICK_{T}(a, b, i, j, k, l) __builtin_shuffle(a, b, ({T}_places){i, j, k, l})
#endif
"""

DOTS = """\
/* The products of rows, ``step`` apart, and a vector: four rows at a time read that once. */
typedef {I} {T}_bits __attribute__((vector_size(32)));
typedef {I} {T}_unaligned __attribute__((vector_size(32), aligned(sizeof({T}))));

static __attribute__((noinline, optimize("O2,fp-contract=fast"))) void dots_{T}(
    {T} *restrict to, const {T} *a, i64 step, const {T} *b, i64 rows, i64 count)
{
    enum { WIDTH = 32 / sizeof({T}) };
    const {T}_bits lanes = {{numbers}};
    i64 row = 0;
    for (; row + 4 <= rows; row += 4, a += 4 * step) {
        {T}_vector sum_0 = {0}, sum_1 = {0}, sum_2 = {0}, sum_3 = {0};
        i64 at = 0;
        for (; at + WIDTH <= count; at += WIDTH) {
            const {T}_vector y = *(const {T}_vector *)(b + at);
            sum_0 += *(const {T}_vector *)(a + at) * y;
            sum_1 += *(const {T}_vector *)(a + step + at) * y;
            sum_2 += *(const {T}_vector *)(a + 2 * step + at) * y;
            sum_3 += *(const {T}_vector *)(a + 3 * step + at) * y;
        }
        if (at < count && count >= WIDTH) { /* the last ones of a vector that ends where the rows do */
            const {T}_bits left = lanes >= ({I})(WIDTH - (count - at));
            at = count - WIDTH;
            const {T}_vector y = ({T}_vector)(*(const {T}_unaligned *)(b + at) & left);
            sum_0 += ({T}_vector)(*(const {T}_unaligned *)(a + at) & left) * y;
            sum_1 += ({T}_vector)(*(const {T}_unaligned *)(a + step + at) & left) * y;
            sum_2 += ({T}_vector)(*(const {T}_unaligned *)(a + 2 * step + at) & left) * y;
            sum_3 += ({T}_vector)(*(const {T}_unaligned *)(a + 3 * step + at) & left) * y;
            at = count;
        }
        const {T}_four four_0 = {four_0}, four_1 = {four_1}, four_2 = {four_2}, four_3 = {four_3};
        const {T}_four low = PICK_{T}(four_0, four_1, 0, 4, 2, 6) + PICK_{T}(four_0, four_1, 1, 5, 3, 7);
        const {T}_four high = PICK_{T}(four_2, four_3, 0, 4, 2, 6) + PICK_{T}(four_2, four_3, 1, 5, 3, 7);
        {T}_four total = PICK_{T}(low, high, 0, 1, 4, 5) + PICK_{T}(low, high, 2, 3, 6, 7);
        for (; at < count; at++)
            total += ({T}_four){a[at], a[step + at], a[2 * step + at], a[3 * step + at]} * b[at];
        *({T}_four *)(to + row) = total;
    }
    for (; row < rows; row++, a += step)
        to[row] = dot_{T}(a, b, count);
}
"""

NEAR = 16384
"""Bytes of a panel of the right operand: half of the nearest cache."""

_PANELS = """\
/* Columns of a product of many rows, {wide} at a time, and places, {depth} at a time: the numbers of ``b`` that all
 * rows are multiplied by are copied to where they lie side by side and near. */
static __attribute__((noinline, optimize("O2"))) void {name}(
    {T} *restrict to, i64 to_row, const {T} *a, i64 a_row, i64 a_place, const {T} *b, i64 b_step,
    i64 rows, i64 columns, i64 inner)
{
    enum { LANES = sizeof({T}_whole) / sizeof({T}), WIDE = {wide}, DEPTH = {depth} };
    {T} near[DEPTH * WIDE] __attribute__((aligned(64)));
    for (i64 column = 0; column < columns; column += WIDE)
        for (i64 first = 0; first < inner; first += DEPTH) {
            const i64 depth = MINIMUM(DEPTH, inner - first);
{copying}            const {T} *from = a + first * a_place;
            {T} *into = to + column;
            i64 row = 0;
            for (; row + {tall} <= rows; row += {tall}, from += {tall} * a_row, into += {tall} * to_row)
                {more}(into, to_row, from, a_row, a_place, near, WIDE, WIDE - LANES, depth, first > 0);
            if (row + {height} <= rows) {
                {fewer}(into, to_row, from, a_row, a_place, near, WIDE, WIDE - LANES, depth, first > 0);
                row += {height}, from += {height} * a_row, into += {height} * to_row;
            }
            for (; row < rows; row++, from += a_row, into += to_row)
                {single}(into, to_row, from, a_row, a_place, near, WIDE, WIDE - LANES, depth, first > 0);
        }
}
"""

_COPYING = """\
            for (i64 place = 0; place < depth; place++)
                EACH (int at = 0; at < WIDE; at += LANES)
                    *({T}_whole *)(near + place * WIDE + at) =
                        *(const {T}_whole *)(b + (first + place) * b_step + column + at);
"""

_TURNING = """\
            for (i64 at = 0; at < WIDE; at += 4) { /* four by four */
                const {T} *line = b + (column + at) * b_step + first;
                {T} *turned = near + at;
                i64 place = 0;
                for (; place + 4 <= depth; place += 4, turned += 4 * WIDE) {
                    const {T}_four a = *(const {T}_four *)(line + place);
                    const {T}_four b = *(const {T}_four *)(line + b_step + place);
                    const {T}_four c = *(const {T}_four *)(line + 2 * b_step + place);
                    const {T}_four d = *(const {T}_four *)(line + 3 * b_step + place);
                    const {T}_four ab = PICK_{T}(a, b, 0, 4, 1, 5), ab_2 = PICK_{T}(a, b, 2, 6, 3, 7);
                    const {T}_four cd = PICK_{T}(c, d, 0, 4, 1, 5), cd_2 = PICK_{T}(c, d, 2, 6, 3, 7);
                    *({T}_four *)turned = PICK_{T}(ab, cd, 0, 1, 4, 5);
                    *({T}_four *)(turned + WIDE) = PICK_{T}(ab, cd, 2, 3, 6, 7);
                    *({T}_four *)(turned + 2 * WIDE) = PICK_{T}(ab_2, cd_2, 0, 1, 4, 5);
                    *({T}_four *)(turned + 3 * WIDE) = PICK_{T}(ab_2, cd_2, 2, 3, 6, 7);
                }
                for (; place < depth; place++, turned += WIDE)
                    for (int k = 0; k < 4; k++)
                        turned[k] = line[k * b_step + place];
            }
"""

_VECTOR = "typedef {T} {name} __attribute__((vector_size({bytes}), aligned(sizeof({T}))));\n"

_EACH = '_Pragma("GCC unroll 16") for'

_BLOCK = """\
/* {rows} x {vectors}: numbers of ``a``, one of a row, times vectors of ``b``, the last of which begins at ``last``. */
static __attribute__((noinline, optimize("O2,fp-contract=fast"))) void {name}(
    {T} *restrict to, i64 to_row, const {T} *a, i64 a_row, i64 a_place, const {T} *b, i64 b_place, i64 last,
    i64 inner{adds})
{
    enum { ROWS = {rows}, VECTORS = {vectors}, STRANDS = {strands}, LANES = sizeof({V}) / sizeof({T}) };
    {V} sums[STRANDS][ROWS][VECTORS] = {0};
{start}    i64 place = 0;
    for (; place + STRANDS <= inner; place += STRANDS) {
        EACH (int strand = 0; strand < STRANDS; strand++) {
            {V} y[VECTORS];
            EACH (int vector = 0; vector < VECTORS; vector++)
                y[vector] = *(const {V} *)(b + strand * b_place + (vector == VECTORS - 1 ? last : vector * LANES));
            EACH (int row = 0; row < ROWS; row++) {
                const {T} factor = a[row * a_row + strand * a_place];
                EACH (int vector = 0; vector < VECTORS; vector++)
                    sums[strand][row][vector] += factor * y[vector];
            }
        }
        a += STRANDS * a_place;
        b += STRANDS * b_place;
    }
{rest}
    EACH (int row = 0; row < ROWS; row++)
        EACH (int vector = 0; vector < VECTORS; vector++)
            *({V} *)(to + row * to_row + (vector == VECTORS - 1 ? last : vector * LANES)) = sums[0][row][vector];
}
"""

_START = """\
    if (adds)
        EACH (int row = 0; row < ROWS; row++)
            EACH (int vector = 0; vector < VECTORS; vector++)
                sums[0][row][vector] = *(const {V} *)(to + row * to_row + vector * LANES);
"""

_REST = """\
    for (; place < inner; place++, a += a_place, b += b_place) {
        EACH (int row = 0; row < ROWS; row++)
            EACH (int vector = 0; vector < VECTORS; vector++)
                sums[0][row][vector] +=
                    a[row * a_row] * *(const {V} *)(b + (vector == VECTORS - 1 ? last : vector * LANES));
    }
    EACH (int strand = 1; strand < STRANDS; strand++)
        EACH (int row = 0; row < ROWS; row++)
            EACH (int vector = 0; vector < VECTORS; vector++)
                sums[0][row][vector] += sums[strand][row][vector];
"""


def dot_texts(ctype: str) -> dict[str, str]:
    return {f"1_dot_{ctype}": DOT.replace("{T}", ctype)}


def four_texts(ctype: str) -> dict[str, str]:
    return {f"1_four_{ctype}": _FOUR.replace("{T}", ctype).replace("{I}", _INTEGERS[ctype])}


def dots_texts(ctype: str) -> dict[str, str]:
    lanes = 32 // SIZES[ctype]
    text = DOTS.replace("{numbers}", ", ".join(map(str, range(lanes))))
    for number in range(4):
        name = f"sum_{number}"
        halves = f"(({{T}}_four *)&{name})[0] + (({{T}}_four *)&{name})[1]"
        text = text.replace(f"{{four_{number}}}", halves if lanes == 8 else f"({{T}}_four){name}")
    text = text.replace("{T}", ctype).replace("{I}", _INTEGERS[ctype])
    return {**dot_texts(ctype), **four_texts(ctype), f"2_dots_{ctype}": text}


def block_name(ctype: str, part: str, rows: int, vectors: int, adds: bool = False) -> str:
    return f"block_{ctype}_{part}_{rows}x{vectors}{'_more' if adds else ''}"


def block_texts(
    ctype: str, part: str, rows: int, vectors: int, register: int, adds: bool = False
) -> dict[str, str]:
    """The function of a block, and the type of its vectors. ``adds``: it may add to what there is."""
    strands = STRANDS.get((rows, vectors), 1)
    kind = ctype if part == ONE else f"{ctype}_{part}"
    name = block_name(ctype, part, rows, vectors, adds)
    text = _BLOCK.replace("{rest}\n", _REST if strands > 1 else "").replace("{start}", _START if adds else "")
    words = {"rows": rows, "vectors": vectors, "strands": strands, "name": name, "V": kind, "T": ctype}
    text = _with(text, {**words, "adds": ", int adds" if adds else ""})
    texts = {f"2_{name}": text}
    if part != ONE:
        bytes = register >> PARTS.index(part)
        texts[f"1_{kind}"] = _VECTOR.format(T=ctype, name=kind, bytes=bytes)
    return texts


def panels_texts(ctype: str, register: int, turned: bool) -> dict[str, str]:
    """The function of panels, with those that it calls. ``turned``: the operand's columns are neighbours in memory."""
    width, name = width_of(register), panels_name(ctype, turned)
    heights = {"more": TALL, "fewer": HEIGHT, "single": 1}
    names = {word: block_name(ctype, PARTS[0], rows, width, adds=True) for word, rows in heights.items()}
    sizes = {"tall": TALL, "height": HEIGHT, "wide": width * register // SIZES[ctype], "depth": depth_of(register)}
    text = _PANELS.replace("{copying}", _TURNING if turned else _COPYING)
    texts = {f"3_{name}": _with(text, {"name": name, "T": ctype, **sizes, **names})}
    texts |= four_texts(ctype) if turned else {}
    for rows in heights.values():
        texts |= block_texts(ctype, PARTS[0], rows, width, register, adds=True)
    return texts


def panels_name(ctype: str, turned: bool) -> str:
    return f"panels_{ctype}{'_turned' if turned else ''}"


def width_of(register: int) -> int:
    """Vectors of a block's row: processors with vectors of 64 bytes have 32 of them, others 16."""
    return 4 if register == 64 else 2


def depth_of(register: int) -> int:
    """The places of a panel."""
    return NEAR // (width_of(register) * register)


def _with(text: str, words: Mapping[str, object]) -> str:
    for word, value in words.items():
        text = text.replace(f"{{{word}}}", str(value))
    return text.replace("EACH", _EACH)
