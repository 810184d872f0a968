"""Kernels and plans written by hand, for the tests of the executor.

``SOURCE`` is the unit all of them share (the ``library`` fixture builds it once); ``Numbers`` puts plans together::

    n = Numbers(VECTOR)
    n.plan([n.buffer("output", (3,))], [n.step("twice", 3)], [n.view(1, (3,), whole=True)])
"""

from __future__ import annotations

import warnings

import numpy as np

from capture.inductor import executor
from capture.inductor.plan import (
    FLAG_DIVIDE,
    FLAG_INVALID,
    FLAG_OVERFLOW,
    FLAG_UNDERFLOW,
    Buffer,
    ExternStep,
    Flag,
    Input,
    KernelStep,
    Plan,
    View,
)
from capture.ir.graph import Position

SOURCE = r"""
typedef long long int64_t;
typedef unsigned uint32_t;
#define KERNEL(name) void name(char *const *buffers, const int64_t *numbers, int64_t begin, int64_t end, \
                               char *scratch, uint32_t *flags)
#define F64(id) ((double *)buffers[id])

KERNEL(muladd) { for (int64_t i = begin; i < end; i++) F64(3)[i] = F64(0)[i] * F64(1)[i] + F64(2)[i]; }
KERNEL(twice) { for (int64_t i = begin; i < end; i++) F64(1)[i] = 2 * F64(0)[i]; }
KERNEL(twice_again) { for (int64_t i = begin; i < end; i++) F64(2)[i] = 2 * F64(1)[i]; }
KERNEL(increment) { for (int64_t i = begin; i < end; i++) F64(0)[i] += 1; }
KERNEL(add_scalar) { for (int64_t i = begin; i < end; i++) F64(2)[i] = F64(0)[i] + F64(1)[0]; }
KERNEL(strided) {  /* rows of a matrix with any strides, times two, into a dense one; see the plan's numbers */
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < numbers[1]; j++)
            F64(1)[i * numbers[1] + j] = 2 * *(double *)(buffers[0] + i * numbers[2] + j * numbers[3]);
}
void sizes(int64_t *numbers) { numbers[4] = numbers[0] * numbers[1]; numbers[5] = numbers[1] * 8; }
KERNEL(total) { double sum = 0; for (int64_t i = 0; i < numbers[0]; i++) sum += F64(0)[i]; F64(1)[0] = sum; }
KERNEL(numbers_in) {
    F64(4)[0] = *(int64_t *)buffers[0] + (double)numbers[0];
    F64(4)[1] = *(double *)buffers[1] + *(double *)&numbers[1];
    F64(4)[2] = *(signed char *)buffers[2] + (double)numbers[2];
    F64(4)[3] = *(float *)buffers[3];
}
KERNEL(raise_flags) {  /* input 0 holds the words */
    for (int64_t i = begin; i < end; i++) { flags[i % 3] |= (uint32_t)F64(0)[i]; F64(1)[i] = F64(0)[i]; }
}
KERNEL(raise_in_place) {
    for (int64_t i = begin; i < end; i++) { flags[i % 3] |= (uint32_t)F64(0)[i]; F64(0)[i] = -1; }
}
KERNEL(divide) {
    volatile double zero = 0;
    for (int64_t i = begin; i < end; i++) F64(1)[i] = F64(0)[i] / zero;
}
KERNEL(status) {  /* what the processor says on entry, then raise something for the next */
    uint32_t word;
    __asm__ volatile("stmxcsr %0" : "=m"(word));
    for (int64_t i = begin; i < end; i++) F64(1)[i] = word & 0x1d;
    volatile double zero = 0; zero = 1 / zero;
}
int sched_yield(void);
KERNEL(meet) {  /* how many iterations saw all of them under way at once */
    long *under_way = (long *)buffers[0], *met = under_way + 1, all = numbers[0];
    __atomic_add_fetch(under_way, 1, __ATOMIC_SEQ_CST);
    for (long i = 0; i < 3000000 && __atomic_load_n(under_way, __ATOMIC_SEQ_CST) < all; i++) sched_yield();
    __atomic_add_fetch(met, __atomic_load_n(under_way, __ATOMIC_SEQ_CST) == all, __ATOMIC_SEQ_CST);
}
int raise(int);
KERNEL(interrupt) { raise(10); }
KERNEL(private) {  /* the sum of squares of the range by way of scratch */
    double *partial = (double *)scratch;
    for (int64_t i = begin; i < end; i++) { *partial = F64(0)[i] * F64(0)[i]; F64(1)[i] = *partial; }
}
"""

F8 = np.dtype("f8")


class Numbers:
    """Hands out numbers: those of the inputs first, then constants and computed ones."""

    def __init__(self, *inputs: Input) -> None:
        self.inputs = inputs
        self.firsts = executor._first_numbers(Plan("", "", inputs, 0, (), False, (), -1, (), (), (), False))
        self.count = self.firsts[-1]
        self.constants: dict[int, int] = {}

    def __call__(self, value: int) -> int:
        if value not in self.constants:
            self.constants[value] = self.computed()
        return self.constants[value]

    def computed(self) -> int:
        self.count += 1
        return self.count - 1

    def size(self, index: int, axis: int) -> int:
        return self.firsts[index] + axis

    def stride(self, index: int, axis: int) -> int:
        return self.firsts[index] + self.inputs[index].ndim + axis

    def buffer(self, kind: str, shape=(), dtype=F8, strides=None, **more) -> Buffer:
        strides = np.empty(shape, dtype).strides if strides is None else strides
        return Buffer(kind, dtype, None, self.all(shape), self.all(strides), **more)

    def view(self, buffer: int, shape=(), dtype=F8, strides=None, offset=0, **more) -> View:
        strides = np.empty(shape, dtype).strides if strides is None else strides
        return View(buffer, self(offset), self.all(shape), self.all(strides), dtype, **more)

    def all(self, values) -> tuple[int, ...]:
        return tuple(map(self, values))

    def step(self, symbol: str, extent: int, work: int = 1, **more) -> KernelStep:
        return KernelStep(symbol, self(extent), self(work), **more)

    def plan(self, buffers, steps, results, *, arena=-1, flags=(), writes=False, needs_sizes=False) -> Plan:
        constants = tuple((number, value) for value, number in self.constants.items())
        sources = [Buffer("input", entry.dtype or F8, source=id) for id, entry in enumerate(self.inputs)]
        return Plan(
            name="example",
            source=SOURCE,
            inputs=self.inputs,
            number_count=self.count,
            constants=constants,
            needs_sizes=needs_sizes,
            buffers=(*sources, *buffers),
            arena_bytes=arena,
            steps=tuple(steps),
            results=tuple(results),
            flags=tuple(flags),
            writes=writes,
        )


VECTOR = Input("array", F8, 1)
WRITTEN = Input("array", F8, 1, written=True)


def muladd_plan(size: int, work: int = 1) -> Plan:
    n = Numbers(VECTOR, VECTOR, VECTOR)
    out = n.view(3, (size,), whole=True)
    return n.plan([n.buffer("output", (size,))], [n.step("muladd", size, work)], [out])


def twice_plan(size: int, work: int = 1, grain: int = 1) -> Plan:
    n = Numbers(VECTOR)
    step = n.step("twice", size, work, grain=grain)
    return n.plan([n.buffer("output", (size,))], [step], [n.view(1, (size,), whole=True)])


def extern_plan(function, results=None, *, kernel_first=False, writes=False, shape=(3,), dtype=F8, extra=()):
    """function(input, arena view) after a kernel that fills the arena."""
    n = Numbers(WRITTEN if writes else VECTOR)
    buffers = [n.buffer("arena", (3,), arena_offset=n(0)), n.buffer("extern", shape, dtype)]
    steps = [n.step("twice", 3)]
    steps += [n.step("increment", 3, writes=True)] if writes else []
    args = (n.view(0, (3,), whole=True), n.view(1, (3,)), *extra)
    steps += [ExternStep(function, args, (), 2)]
    results = [n.view(2, shape, dtype, whole=True)] if results is None else results(n)
    return n.plan(buffers, steps, results, arena=n(24), writes=writes)


ALL = FLAG_DIVIDE | FLAG_OVERFLOW | FLAG_UNDERFLOW | FLAG_INVALID


def flag_plan(module="", writes=False):
    labels = ("divide", "log", "exp")
    flags = [Flag(label, Position("user.py", 10 + i, "f", module)) for i, label in enumerate(labels)]
    n = Numbers(WRITTEN if writes else VECTOR)
    if writes:
        return n.plan([], [n.step("raise_in_place", 3, writes=True)], [], flags=flags, writes=True)
    view = n.view(1, (3,), whole=True)
    return n.plan([n.buffer("output", (3,))], [n.step("raise_flags", 3)], [view], flags=flags)


def words(*values: int) -> np.ndarray:
    return np.array(values, F8)


def warned(run, *inputs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(*inputs)
    return result, [(str(w.message), w.filename, w.lineno, w.category) for w in caught]


def fail(error):
    def function(*_):
        raise error("mine")

    return function


class Subclass(np.ndarray):
    pass
