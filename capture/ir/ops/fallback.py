"""NumPy's functions, methods and operators called as they are: what has no other record, or whose record refuses.

In: names. Out: a record for each, that takes the user's arguments as they stand and calls NumPy from inside the graph.
Its result is inferred by trial (``trial.py``), so that a row here is a name and no more.

>>> for_fallback(np.linalg.svd)
<op numpy_linalg_svd>

A name may stand here if the function only reads its arguments, gives new arrays or NumPy scalars, and what it warns of
by way of ``warnings.warn``, which would look for the user's frame in vain, follows from types and parameters: then the
trial warns too, and refuses. Parameters whose elements decide on a warning stand in ``DECIDING``.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from capture.ir.op import CannotInfer, Extern, ListLiteral, define
from capture.ir.ops.common import is_literal
from capture.ir.ops.trial import by_trial, container_by_trial

FUNCTIONS = """
angle append argpartition argsort around average bartlett blackman block choose clip concatenate convolve copy
corrcoef correlate count_nonzero cov cross cumprod cumsum cumulative_prod cumulative_sum delete diag_indices
diag_indices_from diagflat diff digitize dot dstack ediff1d einsum fix full_like geomspace gradient hamming hanning
histogram histogram_bin_edges hstack i0 indices inner insert interp isclose iscomplex isin
isneginf isposinf isreal kaiser kron lexsort linspace logspace max mean median meshgrid min nan_to_num nancumprod
nancumsum nanprod nansum outer packbits pad partition percentile poly polyadd
polyder polydiv polyint polymul polysub polyval prod ptp quantile ravel_multi_index repeat resize roll roots round
searchsorted select sinc sort sort_complex stack std sum take tensordot tile trace trapezoid tri tril tril_indices
tril_indices_from triu triu_indices triu_indices_from unpackbits unravel_index unwrap vander var vdot vstack where
column_stack all any amax amin argmax argmin arange eye identity
"""
"""Of the main namespace, beside the ufuncs."""

LINALG = """
cholesky cond cross det eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power matrix_rank multi_dot norm
outer pinv qr slogdet solve svd svdvals tensordot tensorinv tensorsolve trace vecdot vector_norm
"""

FFT = """
fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn
"""

POLYNOMIAL = """
polyadd polycompanion polyder polydiv polyfromroots polygrid2d polygrid3d polyint polyline polymul polymulx polypow
polyroots polysub polyval polyval2d polyval3d polyvalfromroots polyvander polyvander2d polyvander3d
"""

METHODS = """
all any argmax argmin argpartition argsort astype byteswap choose clip conj conjugate copy cumprod cumsum dot flatten
max mean min prod repeat round searchsorted std sum take trace var
"""

GUARDED = "nanmedian nanpercentile nanquantile"
"""Of the main namespace, for records that test first what elements these warn of; nothing else calls them."""

DECIDING: Mapping[str, tuple[str, ...]] = {
    "cov": ("fweights", "aweights"), "isclose": ("rtol", "atol"), "mean": ("where",), "std": ("where",),
    "var": ("where",),
}  # fmt: skip
"""Parameters of whose elements functions warn: they must be finite numbers, or nothing."""

UFUNC_METHODS = ("reduce", "accumulate", "outer", "reduceat")

OPERATORS: Mapping[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le,
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "unary -": operator.neg,
    "unary +": operator.pos, "unary ~": operator.invert,
    "unary abs": operator.abs,
}  # fmt: skip


_in_c: dict[Callable[..., Any], Callable[..., Any]] = {}
"""What a function of ours does, as NumPy has it."""


def _define(name: str, key: Any, function: Callable[..., Any]) -> None:
    called = _with_lists(function)
    define(
        name=name,
        signature="*args, **kwargs",
        operands=("args",),
        replaces=key,
        infer=_but_deciding(function, by_trial(called)),
        gives=container_by_trial(called),
        reference=called,
        lower=Extern(),
        label=getattr(function, "__name__", name),
    )


def _but_deciding(function: Callable[..., Any], infer: Callable[..., Any]) -> Callable[..., Any]:
    """``infer``, where no elements decide on a warning."""
    name = getattr(function, "__name__", "")
    if name not in DECIDING:
        return infer
    signature = inspect.signature(function)

    def infer_others(*operands: Any, **params: Any) -> Any:
        try:
            given = signature.bind(*operands, **params).arguments
        except TypeError as error:
            raise CannotInfer(str(error)) from None
        for parameter in DECIDING[name]:
            value = {**given, **given.get("kwargs", {})}.get(parameter)
            if value is not None and not (is_literal(value) and np.isfinite(value)):
                raise CannotInfer(f"{name} may warn of {parameter}")
        return infer(*operands, **params)

    return infer_others


def _with_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, given lists where the user gave lists."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_listed, args), **{name: _listed(value) for name, value in kwargs.items()})

    call.__name__ = call.__qualname__ = getattr(function, "__name__", "call")
    call.without_lists = _in_c.get(function, function)  # type: ignore[attr-defined]
    return call


def directly(reference: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """What to call in place of a record's reference, when it is given these: the function itself, if there are no
    lists among them, which is a microsecond less."""
    found = getattr(reference, "without_lists", None)
    return reference if found is None or any(map(_has_list, given)) else found


def _has_list(value: Any) -> bool:
    return isinstance(value, ListLiteral) or (isinstance(value, tuple) and any(map(_has_list, value)))


def _listed(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    items = map(_listed, value)
    return list(items) if type(value) is ListLiteral else tuple(items)


def _method(name: str) -> Callable[..., Any]:
    def call(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, name)(*args, **kwargs)

    call.__name__ = name
    _in_c[call] = getattr(np.ndarray, name)
    return call


def _ufunc_method(ufunc: np.ufunc, name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, name)(*args, **kwargs)

    call.__name__ = name
    return call


def ufuncs() -> Iterator[tuple[str, np.ufunc]]:
    """Every ufunc of the main namespace, once; modules that NumPy imports when asked for are not asked for."""
    seen: set[int] = set()
    for name, function in sorted(vars(np).items()):
        if isinstance(function, np.ufunc) and not name.startswith("_") and id(function) not in seen:
            seen.add(id(function))
            yield function.__name__, function


def _define_all(prefix: str, module: ModuleType, names: list[str]) -> None:
    for name in names:
        function = getattr(module, name, None)  # NumPy gains functions from version to version
        if function is not None and not (module is not np and getattr(np, name, None) is function):
            _define(f"{prefix}_{name}", function, function)


_define_all("numpy", np, FUNCTIONS.split())
_define_all("numpy_linalg", np.linalg, LINALG.split())
_define_all("numpy_fft", np.fft, FFT.split())
for _name, _ufunc in ufuncs():
    _define(f"numpy_{_name}", _ufunc, _ufunc)
    if _ufunc.nin == 2 and _ufunc.nout == 1 and _ufunc.signature is None:
        for _way in UFUNC_METHODS:
            _define(f"numpy_{_name}_{_way}", (_ufunc, _way), _ufunc_method(_ufunc, _way))
for _name in METHODS.split():
    _define(f"method_{_name}", ("method", _name), _method(_name))
for _name in GUARDED.split():
    _define(f"guarded_{_name}", ("guarded", _name), getattr(np, _name))
for _symbol, _operator in OPERATORS.items():
    _define(f"python_{_operator.__name__.strip('_')}", ("operator", _symbol), _operator)


# What NumPy and SciPy import late ---------------------------------------------------------------------------------
_POLYNOMIAL = "numpy_polynomial"
_SPECIAL = "scipy_special"
_MODULES = {_POLYNOMIAL: "numpy.polynomial.polynomial", _SPECIAL: "scipy.special"}
_defined: set[str] = set()


def define_later(wanted: Any) -> None:
    """Records of functions of modules that not everybody needs, if ``wanted`` may be one of them or names one.

    A function of a module that nobody has imported cannot be asked for: nothing is imported but for a name.
    """
    for prefix, define_module in ((_POLYNOMIAL, _define_polynomial), (_SPECIAL, _define_special)):
        is_name = isinstance(wanted, str) and wanted.startswith(prefix)
        if prefix in _defined or not (is_name or callable(wanted)):
            continue
        path = _MODULES[prefix]
        module = importlib.import_module(path) if is_name else sys.modules.get(path)
        if module is not None:
            _defined.add(prefix)
            define_module(module)


def _define_polynomial(module: ModuleType) -> None:
    _define_all(_POLYNOMIAL, module, POLYNOMIAL.split())


def _define_special(module: ModuleType) -> None:
    """The ufuncs of ``scipy.special``, those that its Python functions call too."""
    names: dict[int, str] = {}
    inner = getattr(module, "_ufuncs", module)
    for name, function in (*sorted(vars(module).items()), *sorted(vars(inner).items())):
        if isinstance(function, np.ufunc) and id(function) not in names:
            names[id(function)] = name
            _define(f"{_SPECIAL}_{name}", function, function)
