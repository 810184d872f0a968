"""Random graphs, compiled and with NumPy: ``python -m tests.inductor.fuzz_kernels --cases 1000 [--first N]``.

In: a number, from which all else follows. Out: a graph of up to a dozen operations (arithmetic, reductions, views,
joins, stores) on inputs of many layouts, with its inputs; or the list of numbers whose results differ.
"""

from __future__ import annotations

import argparse
import random
import sys

import numpy as np

from capture.errors import GraphError
from capture.inductor.compile import compile_graph
from capture.ir.graph import Graph, buffer
from capture.ir.interpret import Interpreter
from capture.ir.op import CannotInfer
from capture.ir.types import type_of
from capture.ir.verify import verify
from tests.inductor.graphs import assert_same, copied

UNARY = ("negative", "absolute", "sqrt", "square", "arctan", "tanh", "sin", "floor", "sign", "isnan", "logical_not")
ARITHMETIC = ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "arctan2")
BINARY = (*ARITHMETIC, "maximum", "minimum", "greater", "less", "logical_and")
REDUCTIONS = ("sum", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin")
DTYPES = ("f4", "f4", "f8", "f8", "i4", "i8", "u1", "?")
TOLERANCE = {np.dtype("f4"): 3e-4, np.dtype("f8"): 1e-9}

LAYOUTS = (
    lambda make, shape: make(shape),
    lambda make, shape: make(shape[::-1]).T,
    lambda make, shape: make(tuple(2 * size for size in shape))[tuple(slice(None, None, 2) for _ in shape)],
    lambda make, shape: make(shape)[tuple(slice(None, None, -1) for _ in shape)],
    lambda make, shape: make(tuple(size + 3 for size in shape))[tuple(slice(1, size + 1) for size in shape)],
)
SLICES = (slice(None), slice(None, None, -1), slice(1, None), slice(None, -1), slice(None, None, 2), 0)


class Case:
    """One random graph with its inputs."""

    def __init__(self, seed: int) -> None:
        self.choose, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.graph, self.inputs = Graph("random"), []
        self.base = self.shape()
        self.values = [self.input(number) for number in range(self.choose.randrange(1, 4))]
        for _ in range(self.choose.randrange(1, 14)):
            self.step()
        results = self.choose.sample(self.values, min(len(self.values), self.choose.randrange(1, 4)))
        self.graph.output(*dict.fromkeys((*results, self.values[-1])))
        verify(self.graph)

    def shape(self) -> tuple[int, ...]:
        choose = self.choose
        sizes = [[1, 40, 300], [3, 700, 150], [2, 64]] if choose.random() < 0.15 else [[0, 1, 2, 3, 5, 8, 17, 33]] * 3
        shape = [choose.choice(options[1:] if choose.random() < 0.95 else options) for options in sizes]
        return tuple(shape[: choose.choice((1, 2, 2, 2, 3))])

    def input(self, number: int):
        shape = list(self.base)
        if number:
            shape = [1 if self.choose.random() < 0.2 else size for size in shape]
            shape = shape[self.choose.randrange(len(shape)) if self.choose.random() < 0.2 else 0 :]
        dtype = np.dtype(self.choose.choice(DTYPES))
        array = self.choose.choice(LAYOUTS)(lambda each: self.elements(each, dtype), tuple(shape))
        if array.size and self.choose.random() < 0.1:
            array = array.flat[0]
        self.inputs.append(array)
        return self.graph.placeholder(f"x{number}", type_of(array))

    def elements(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        if dtype.kind == "f":
            return self.numbers.standard_normal(shape).astype(dtype)
        low = -50 if dtype.kind == "i" else 0
        return self.numbers.integers(low, 2 if dtype.kind == "b" else 50, shape).astype(dtype)

    def step(self) -> None:
        nodes, names = list(self.graph.nodes), set(self.graph._names)
        try:
            made = self.choose.choice(STEPS)(self, self.choose.choice(self.values), self.choose.choice(self.values))
        except (
            CannotInfer,
            GraphError,
            ValueError,
            TypeError,
            IndexError,
        ):  # not for these operands: as if never tried
            self.graph.nodes[:], self.graph._names = nodes, names
            return
        self.values.append(made)

    def unary(self, x, y):
        return self.graph.call(self.choose.choice(UNARY), x)

    def binary(self, x, y):
        operands = self.choose.choice(((x, y), (x, y), (x, 2.5), (3, x), (x, 2)))
        return self.graph.call(self.choose.choice(BINARY), *operands)

    def where(self, x, y):
        return self.graph.call("where", self.graph.call("greater", x, 0), x, y)

    def cast(self, x, y):
        return self.graph.call("astype", x, dtype=np.dtype(self.choose.choice(("f4", "f8", "i4", "i8"))))

    def reduce(self, x, y):
        axis = self.choose.choice((None, *range(len(x.type.shape))))
        keepdims = self.choose.random() < 0.5
        return self.graph.call(self.choose.choice(REDUCTIONS), x, axis=axis, keepdims=keepdims)

    def view(self, x, y):
        ndim = len(x.type.shape)
        if self.choose.random() < 0.3:
            return self.graph.call("permute", x, axes=tuple(self.choose.sample(range(ndim), ndim)))
        if self.choose.random() < 0.2:
            return self.graph.call("reshape", x, shape=(-1,))
        return self.graph.call("getitem", x, tuple(self.choose.choice(SLICES) for _ in range(ndim)))

    def join(self, x, y):
        return self.graph.call("concatenate", x, y, axis=0)

    def store(self, x, y):
        owner = buffer(x)
        given = self.inputs[self.graph.placeholders.index(owner)] if owner.kind == "placeholder" else np.empty(0)
        if not isinstance(given, np.ndarray) or not given.flags.writeable:
            raise ValueError("cannot be written")
        target = x if self.choose.random() < 0.5 else self.view(x, y)
        value = y if self.choose.random() < 0.7 else 1.5
        if value is y and np.broadcast_shapes(y.type.shape, target.type.shape) != target.type.shape:
            raise ValueError("does not fit")
        made = self.graph.store(target, value)
        self.values = [each for each in self.values if buffer(each) is not owner]
        return made

    def check(self) -> None:
        """Raise AssertionError where the compiled graph does something else than NumPy."""
        ours, theirs = [copied(array) for array in self.inputs], [copied(array) for array in self.inputs]
        with np.errstate(all="ignore"):
            results, expected = compile_graph(self.graph)(*ours), Interpreter(self.graph).run(*theirs)
        coarse = any(getattr(node.type, "dtype", None) == np.float32 for node in self.graph)
        for result, want in zip((*results, *ours), (*expected, *theirs), strict=True):
            tolerance = TOLERANCE[np.dtype("f4" if coarse else "f8")] if want.dtype.kind == "f" else 0.0
            assert_same(result, want, tolerance)


STEPS = (
    *[Case.unary] * 5,
    *[Case.binary] * 5,
    Case.where,
    Case.cast,
    *[Case.reduce] * 3,
    *[Case.view] * 3,
    Case.join,
    Case.store,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    failures = 0
    for seed in range(options.first, options.first + options.cases):
        try:
            Case(seed).check()
        except Exception as error:
            failures += 1
            print(f"{seed}: {type(error).__name__}: {str(error).strip()[:200]}".replace("\n", " "))
    print(f"{options.cases} cases, {failures} failures")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
