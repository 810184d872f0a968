"""Random numbers: generators made from a seed, and methods of generators, the user's own or one that the graph made.

In: a generator, which is an input of the graph or a node, and the arguments of ``rng.standard_normal((1000, 252))``.
Out: the node of a call that happens exactly once, in program order. The result's type follows from the arguments alone;
where it takes a trial to tell, another generator draws.

>>> str(for_fallback((np.random.Generator, "normal")).infer(ObjectType(np.random.Generator), 0.0, 1.0, (2, 3)))
'f64[2, 3]'

A draw changes an object that outlives the frame. If the graph is given up after it, the generator's state is put back
(``Undo``), and plain Python draws the same numbers again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from math import prod
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Extern, define
from capture.ir.ops.trial import by_trial
from capture.ir.shapes import Expr
from capture.ir.sizes import UnknownSize
from capture.ir.types import ArrayType, NumberType, ObjectType, array_type

# The parameters of each method, as far as there are any before `size`. All of them broadcast.
DISTRIBUTIONS = """
beta a b; binomial n p; chisquare df; exponential scale; f dfnum dfden; gamma shape scale; geometric p
gumbel loc scale; hypergeometric ngood nbad nsample; laplace loc scale; logistic loc scale; lognormal mean sigma
logseries p; negative_binomial n p; noncentral_chisquare df nonc; noncentral_f dfnum dfden nonc; normal loc scale
pareto a; poisson lam; power a; random; rayleigh scale; standard_cauchy; standard_exponential; standard_gamma shape
standard_normal; standard_t df; triangular left mode right; uniform low high; vonmises mu kappa; wald mean scale
weibull a; zipf a
"""
SAMPLES: Mapping[str, float] = {
    "a": 2.5, "b": 2.5, "n": 5, "p": 0.5, "df": 3.0, "dfnum": 3.0, "dfden": 3.0, "nonc": 0.5, "scale": 1.0,
    "shape": 2.0, "loc": 0.0, "ngood": 5, "nbad": 5, "nsample": 3, "mean": 1.0, "sigma": 1.0, "lam": 1.0,
    "left": 0.0, "mode": 0.5, "right": 1.0, "low": 1, "high": 3, "mu": 0.0, "kappa": 1.0,
}  # fmt: skip
"""What stands for parameters that the graph computes."""

KINDS: Mapping[type, str] = {
    np.random.Generator: f"{DISTRIBUTIONS}; integers low high",
    np.random.RandomState: f"{DISTRIBUTIONS}; random_sample; randint low high",
}
DIMENSIONS = ("rand", "randn")
"""Methods of ``RandomState`` that take sizes one by one."""

OTHERS = ("choice", "dirichlet", "multinomial", "multivariate_normal", "permutation", "permuted")
"""Methods whose results are predicted by drawing as many numbers: where that are few."""

FEW = 1 << 12
"""Numbers that a trial may draw."""


# Drawing, and taking it back --------------------------------------------------------------------------------------
class Undo:
    """The generators that one run of a graph has drawn from, with their states before, and behind the last draw if
    another thread could draw from them too.

    >>> with Undo() as undo:
    ...     result = run(*inputs)
    ...     if result is None:
    ...         undo.restore()
    """

    def __init__(self) -> None:
        self.states: dict[int, tuple[Any, Any]] = {}
        self.last: dict[int, Any] = {}

    def __enter__(self) -> Undo:
        self.token = _undo.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _undo.reset(self.token)

    def before(self, generator: Any) -> None:
        owner = _owner(generator)
        if id(owner) not in self.states:
            self.states[id(owner)] = owner, _state(owner)

    def behind(self, generator: Any) -> None:
        owner = _owner(generator)
        if threading.active_count() > 1:
            self.last[id(owner)] = _state(owner)

    def restore(self) -> None:
        """Put all states back; numbers that another thread has drawn meanwhile are not drawn again."""
        for key, (owner, state) in self.states.items():
            if key not in self.last or _same(_state(owner), self.last[key]):
                _set_state(owner, state)


_undo: ContextVar[Undo | None] = ContextVar("capture.undo", default=None)


def _owner(generator: Any) -> Any:
    """What holds the state: two generators may share one bit generator."""
    return generator.bit_generator if type(generator) is np.random.Generator else generator


def same_state(one: Any, other: Any) -> bool:
    """Whether two generators would draw the same numbers from now on."""
    return _same(_state(_owner(one)), _state(_owner(other)))


def _state(owner: Any) -> Any:
    return owner.get_state(legacy=False) if type(owner) is np.random.RandomState else owner.state


def _set_state(owner: Any, state: Any) -> None:
    if type(owner) is np.random.RandomState:
        owner.set_state(state)
    else:
        owner.state = state


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    return bool(np.array_equal(one, other))


def _drawing(name: str) -> Callable[..., Any]:
    def draw(generator: Any, *args: Any, **kwargs: Any) -> Any:
        undo = _undo.get()
        if undo is None:
            return getattr(generator, name)(*args, **kwargs)
        undo.before(generator)
        try:
            return getattr(generator, name)(*args, **kwargs)
        finally:
            undo.behind(generator)

    draw.__name__ = name
    return draw


# Prediction -------------------------------------------------------------------------------------------------------
def _on_another(kind: type, name: str) -> Callable[..., Any]:
    """The method, on a generator that nobody else knows."""

    def draw(generator: Any, *args: Any, **kwargs: Any) -> Any:
        bits = np.random.MT19937(0) if kind is np.random.RandomState else np.random.PCG64(0)
        return getattr(kind(bits), name)(*args, **kwargs)

    return draw


def _infer(kind: type, name: str, parameters: Sequence[str]) -> Callable[..., Any]:
    """The type of what a distribution's method gives: many numbers are like few ones, and all parameters alike."""
    one = _on_another(kind, name)
    trial = by_trial(one)
    names = (*parameters, "size")

    def infer(generator: Any, *args: Any, **params: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **params}
        _refuse_complex(given.values())
        shape = _shape(given.get("size"), [given[key] for key in parameters if isinstance(given.get(key), ArrayType)])
        if any(isinstance(value, ArrayType) for value in given.values()):
            given |= {key: SAMPLES[key] for key in parameters if key in given}
        if shape is not None:
            given["size"] = shape if prod(shape) <= FEW else (2,) * len(shape)
        if len(args) > len(names):
            raise CannotInfer(f"{name} with more than {len(names)} arguments by position")
        if shape is None and (number := _number(one, given)) is not None:
            return number
        found = trial(generator, **given)
        return found if shape is None else array_type(found.dtype, shape)

    return infer


def _number(draw: Callable[..., Any], given: Mapping[str, Any]) -> NumberType | None:
    """The type of a single number, where NumPy gives Python's."""
    if any(isinstance(value, ArrayType | NumberType) for value in given.values()):
        return None
    try:
        found = type(draw(None, **given))
    except (TypeError, ValueError) as error:
        raise CannotInfer(str(error)) from None
    return NumberType(found) if found in (int, float) else None


def _refuse_complex(values: Iterable[Any]) -> None:
    """NumPy warns that imaginary parts are discarded, at the line that calls it: no other one is to be told."""
    for value in values:
        if any(np.iscomplexobj(part) for part in (value if isinstance(value, tuple) else (value,))):
            raise CannotInfer("complex parameters, whose imaginary parts NumPy warns of")


def _shape(size: Any, operands: Sequence[ArrayType]) -> tuple[int, ...] | None:
    """The shape of the result, None for a single number."""
    shapes: list[Any] = [operand.shape for operand in operands if operand.shape]
    if any(isinstance(item, Expr) for shape in shapes for item in shape):
        raise UnknownSize("random numbers for sizes that change", *(item for shape in shapes for item in shape))
    if size is None:
        return np.broadcast_shapes(*shapes) if shapes else None
    sizes = (size,) if type(size) is int else size
    if not isinstance(sizes, tuple) or not all(type(item) is int and item >= 0 for item in sizes):
        raise CannotInfer("a size that is no tuple of ints")
    try:
        fits = np.broadcast_shapes(*shapes, sizes) == sizes
    except ValueError as error:
        raise CannotInfer(str(error)) from None
    if not fits:
        raise CannotInfer("parameters that do not fit the size")
    return tuple(sizes)


def _infer_dimensions(kind: type, name: str) -> Callable[..., Any]:
    def infer(generator: Any, *args: Any) -> Any:
        if not args:
            return NumberType(float)
        if not all(type(size) is int and size >= 0 for size in args):
            raise CannotInfer("a size that is no int")
        return array_type(np.float64, args)

    return infer


def _infer_few(kind: type, name: str) -> Callable[..., Any]:
    trial = by_trial(_on_another(kind, name))

    def infer(generator: Any, *args: Any, **params: Any) -> Any:
        _refuse_complex((*args, *params.values()))
        for value in (*args, *params.values()):
            numbers = value if isinstance(value, tuple) else (value,)
            if all(type(number) is int for number in numbers) and abs(prod(numbers)) > FEW:
                raise CannotInfer("what many numbers give is not predicted")
        return trial(generator, *args, **params)

    return infer


def _define(kind: type, name: str, infer: Callable[..., Any]) -> None:
    define(
        name=f"{'legacy' if kind is np.random.RandomState else 'random'}_{name}",
        signature="generator, *args, **kwargs",
        operands=("generator", "args"),
        replaces=(kind, name),
        infer=infer,
        reference=_drawing(name),
        lower=Extern(),
        tags=frozenset({"random"}),
        label=name,
    )


# Seeds, and arrays in another order ----------------------------------------------------------------------------------
MAKERS: Mapping[Callable[..., Any], type] = {
    np.random.default_rng: np.random.Generator,
    np.random.RandomState: np.random.RandomState,
}
"""What makes a generator from a seed. Without a seed no two calls give the same: those are left to Python."""


def _require_seed(seed: Any) -> None:
    known = type(seed) is int or (isinstance(seed, tuple) and seed and all(type(word) is int for word in seed))
    if not known and not (isinstance(seed, NumberType) and seed.python is int):
        raise CannotInfer("a seed that is no int, nor several")


def _infer_made(kind: type) -> Callable[..., Any]:
    def infer(seed: Any) -> ObjectType:
        _require_seed(seed)
        return ObjectType(kind)

    return infer


for _maker, _kind in MAKERS.items():
    define(
        name=f"made_{_maker.__name__}",
        signature="seed",
        operands=("seed",),
        replaces=_maker,
        infer=_infer_made(_kind),
        reference=_maker,
        lower=Extern(),
        tags=frozenset({"random"}),
        label=_maker.__name__,
    )


def _infer_seeded(generator: Any, seed: Any) -> ObjectType:
    _require_seed(seed)
    return ObjectType(np.random.RandomState)


def _seeded(generator: Any, seed: Any) -> Any:
    """``generator.seed(seed)``, which gives the generator instead of nothing: a node has a value."""
    _drawing("seed")(generator, seed)
    return generator


define(
    name="legacy_seed",
    signature="generator, seed",
    operands=("generator", "seed"),
    replaces=(np.random.RandomState, "seed"),
    infer=_infer_seeded,
    reference=_seeded,
    lower=Extern(),
    tags=frozenset({"random"}),
    label="seed",
)


def _infer_shuffled(generator: Any, x: Any, axis: Any = 0) -> ArrayType:
    if not isinstance(x, ArrayType) or x.scalar or not x.shape or x.dtype.hasobject:
        raise CannotInfer("something else than an array is shuffled")
    if type(axis) is not int or not -x.ndim <= axis < x.ndim:
        raise CannotInfer("an axis that is none of the array's")
    return array_type(x.dtype, x.shape)


def _shuffled(generator: Any, x: np.ndarray, axis: int = 0) -> np.ndarray:
    """What ``generator.shuffle(x)`` would make of ``x``."""
    copy = x.copy(order="C")
    axes = {} if axis == 0 else {"axis": axis}  # RandomState knows no axis
    _drawing("shuffle")(generator, copy, **axes)
    return copy


for _kind in KINDS:
    define(
        name="legacy_shuffled" if _kind is np.random.RandomState else "random_shuffled",
        signature="generator, x" if _kind is np.random.RandomState else "generator, x, axis=0",
        operands=("generator", "x"),
        replaces=(_kind, "shuffle"),
        infer=_infer_shuffled,
        reference=_shuffled,
        lower=Extern(),
        tags=frozenset({"random"}),
        label="shuffle",
    )


# Records ---------------------------------------------------------------------------------------------------------
for _kind, _table in KINDS.items():
    for _row in _table.replace("\n", ";").split(";"):
        if _row.strip():
            _name, *_parameters = _row.split()
            _define(_kind, _name, _infer(_kind, _name, _parameters))
    for _name in OTHERS:
        if hasattr(_kind, _name):
            _define(_kind, _name, _infer_few(_kind, _name))
for _name in DIMENSIONS:
    _define(np.random.RandomState, _name, _infer_dimensions(np.random.RandomState, _name))
