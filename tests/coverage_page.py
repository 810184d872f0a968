"""docs/coverage.md: what becomes of a call of each public function of NumPy's. ``python -m tests.coverage_page``.

In: a sample call of every function, method and property (``SAMPLES``), or why there is none (``NO_SAMPLE``). Out: for
each how it was captured, found out by capturing it and looking at the graph and the breaks; results are compared with
NumPy's on the way.

>>> classify("np.exp(x)")
('loops', '')
"""

from __future__ import annotations

import contextlib
import functools
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.polynomial.polynomial

from capture.ir.op import ViewOf
from tests.helpers import captured

with contextlib.suppress(ImportError):
    import scipy.special

PATH = Path(__file__).resolve().parent.parent / "docs" / "coverage.md"
VERSION = ".".join(np.__version__.split(".")[:2])
HEAD = f"""\
# Coverage

What becomes of a call of each public function of NumPy's (and of common ones of `scipy.special`) in a captured
function. Written by `python -m tests.coverage_page`, which captures the sample call and looks at its graph; a test
does the same and compares the results with NumPy's.

- **loops**: the graph holds operations that are compiled to loops over the elements, also where NumPy's function is
  Python code that was evaluated inline.
- **view**: no computation; the result shows the memory of its operand, as in NumPy.
- **NumPy**: NumPy's function is called from inside the graph, which does not end there.
- **mixed**: both, because part of NumPy's own Python code for it is compiled.
- **constant**: answered from types, shapes and constants while capturing.
- **break**: the graph ends before the call and goes on behind it; the call runs as plain Python.

With NumPy {VERSION}; a few rows differ with other versions.
"""

INPUTS: dict[str, Any] = {
    "x": np.array([3.0, 1.0, 2.0, 5.0]),
    "y": np.array([0.5, 1.5, -2.0, 4.0]),
    "s": np.array([1.0, 2.0, 3.0, 5.0]),
    "A": np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]),
    "B": np.array([[1.0, 0.5, 2.0], [0.0, 3.0, 1.0], [4.0, 1.0, -2.0]]),
    "b": np.array([1.0, -2.0, 3.0]),
    "n": np.array([3, 1, 2, 0]),
    "k": np.array([1, 0, 2, 1]),
    "m": np.array([True, False, True, True]),
    "z": np.array([1 + 2j, 3 - 1j, 0.5j, -1 + 0j]),
    "u": np.array([7, 130, 255], np.uint8),
}

SAMPLES = """
np.abs(x) | np.absolute(x) | np.acos(x / 9) | np.acosh(x) | np.add(x, y) | np.all(m) | np.allclose(x, y)
np.amax(x) | np.amin(x) | np.angle(x) | np.any(m) | np.append(x, y) | np.apply_along_axis(np.sum, 0, A)
np.apply_over_axes(np.sum, A, (0, 1)) | np.arange(5) | np.arccos(x / 9) | np.arccosh(x) | np.arcsin(x / 9)
np.arcsinh(x) | np.arctan(x) | np.arctan2(x, y) | np.arctanh(x / 9) | np.argmax(x) | np.argmin(x)
np.argpartition(x, 2) | np.argsort(x) | np.argwhere(m) | np.around(x, 1) | np.array([x, y]) | np.array2string(x)
np.array_equal(x, y) | np.array_equiv(x, y) | np.array_repr(x) | np.array_split(x, 3) | np.array_str(x)
np.asanyarray(x) | np.asarray(x) | np.asarray_chkfinite(x) | np.ascontiguousarray(A.T) | np.asfortranarray(A)
np.asin(x / 9) | np.asinh(x) | np.asmatrix(A) | np.astype(x, np.float32) | np.atan(x) | np.atan2(x, y)
np.atanh(x / 9) | np.atleast_1d(x) | np.atleast_2d(x) | np.atleast_3d(x) | np.average(x, weights=s)
np.bartlett(5) | np.base_repr(5) | np.binary_repr(5) | np.bincount(n) | np.bitwise_and(n, k)
np.bitwise_count(n) | np.bitwise_invert(n) | np.bitwise_left_shift(n, k) | np.bitwise_not(n) | np.bitwise_or(n, k)
np.bitwise_right_shift(n, k) | np.bitwise_xor(n, k) | np.blackman(5) | np.block([x, y]) | np.bmat([[A]])
np.broadcast(x, y).shape | np.broadcast_arrays(x, A[:, :1]) | np.broadcast_shapes((3, 1), (4,))
np.broadcast_to(x, (2, 4)) | np.can_cast(np.int8, np.float32) | np.cbrt(x) | np.ceil(x) | np.choose(k, (x, y, s))
np.clip(x, 1, 3) | np.column_stack((x, y)) | np.common_type(x, y) | np.compress(m, x) | np.concat((x, y))
np.concatenate((x, y)) | np.conj(z) | np.conjugate(z) | np.convolve(x, y) | np.copy(x) | np.copysign(x, y)
np.copyto(x, y) | np.corrcoef(x, y) | np.correlate(x, y) | np.cos(x) | np.cosh(x) | np.count_nonzero(m)
np.cov(x, y) | np.cross(b, b + 1) | np.cumprod(x) | np.cumsum(x) | np.cumulative_prod(x) | np.cumulative_sum(x)
np.deg2rad(x) | np.degrees(x) | np.delete(x, 1) | np.diag(A) | np.diag_indices(3) | np.diag_indices_from(A)
np.diagflat(x) | np.diagonal(A) | np.diff(x) | np.digitize(x, s) | np.divide(x, y) | np.divmod(x, y) | np.dot(A, B)
np.dsplit(A.reshape(3, 1, 3), 3) | np.dstack((x, y)) | np.ediff1d(x) | np.einsum('ij,jk->ik', A, B)
np.einsum_path('ij,jk', A, B) | np.empty(0) | np.empty_like(x[:0]) | np.equal(x, y) | np.exp(x) | np.exp2(x)
np.expand_dims(x, 0) | np.expm1(x) | np.extract(m, x) | np.eye(3) | np.fabs(x) | np.fill_diagonal(A, 1.0)
np.fix(x) | np.flatnonzero(m) | np.flip(x) | np.fliplr(A) | np.flipud(A) | np.float_power(x, y) | np.floor(x)
np.floor_divide(x, y) | np.fmax(x, y) | np.fmin(x, y) | np.fmod(x, y) | np.format_float_positional(1.5)
np.format_float_scientific(1.5) | np.frexp(x) | np.frombuffer(b'12345678') | np.fromfunction(np.add, (2, 2))
np.fromiter((1, 2), float) | np.frompyfunc(abs, 1, 1) | np.full(3, 2.0) | np.full_like(x, 2) | np.gcd(n, k)
np.geomspace(1, 8, 4) | np.gradient(x) | np.greater(x, y) | np.greater_equal(x, y) | np.hamming(5) | np.hanning(5)
np.heaviside(x, y) | np.histogram(x) | np.histogram2d(x, y) | np.histogram_bin_edges(x) | np.histogramdd(A)
np.hsplit(x, 2) | np.hstack((x, y)) | np.hypot(x, y) | np.i0(x) | np.identity(3) | np.imag(z) | np.indices((2, 3))
np.inner(x, y) | np.insert(x, 1, 9.0) | np.interp(y, s, x) | np.intersect1d(n, k) | np.invert(n) | np.isclose(x, y)
np.iscomplex(z) | np.iscomplexobj(z) | np.isdtype(x.dtype, 'numeric') | np.isfinite(x) | np.isfortran(A)
np.isin(n, k) | np.isinf(x) | np.isnan(x) | np.isneginf(x) | np.isposinf(x) | np.isreal(z) | np.isrealobj(z)
np.isscalar(2.0) | np.issubdtype(np.int8, np.integer) | np.iterable(x) | np.ix_([0, 1], [0, 2]) | np.kaiser(5, 8.6)
np.kron(x, y) | np.lcm(n, k) | np.ldexp(x, n) | np.left_shift(n, k) | np.less(x, y) | np.less_equal(x, y)
np.lexsort((n, k)) | np.linspace(0, 1, 5) | np.log(x) | np.log10(x) | np.log1p(x) | np.log2(x) | np.logaddexp(x, y)
np.logaddexp2(x, y) | np.logical_and(m, m) | np.logical_not(m) | np.logical_or(m, m) | np.logical_xor(m, m)
np.logspace(0, 2, 5) | np.mask_indices(3, np.triu) | np.matmul(A, B) | np.matrix_transpose(A) | np.matvec(A, b)
np.max(x) | np.maximum(x, y) | np.may_share_memory(x, y) | np.mean(x) | np.median(x) | np.meshgrid(x, y) | np.min(x)
np.min_scalar_type(3) | np.minimum(x, y) | np.mintypecode('fd') | np.mod(x, y) | np.modf(x) | np.moveaxis(A, 0, 1)
np.multiply(x, y) | np.nan_to_num(x) | np.nanargmax(x) | np.nanargmin(x) | np.nancumprod(x) | np.nancumsum(x)
np.nanmax(x) | np.nanmean(x) | np.nanmedian(x) | np.nanmin(x) | np.nanpercentile(x, 50) | np.nanprod(x)
np.nanquantile(x, 0.5) | np.nanstd(x) | np.nansum(x) | np.nanvar(x) | np.ndim(x) | np.negative(x)
np.nextafter(x, y) | np.nonzero(m) | np.not_equal(x, y) | np.ones(3) | np.ones_like(x) | np.outer(x, y)
np.packbits(m) | np.pad(x, 2) | np.partition(x, 2) | np.percentile(x, 30) | np.permute_dims(A)
np.piecewise(x, [x < 2, x >= 2], [1.0, 2.0]) | np.place(x, m, y) | np.poly(x) | np.polyadd(x, y) | np.polyder(x)
np.polydiv(x, s) | np.polyfit(x, y, 1) | np.polyint(x) | np.polymul(x, y) | np.polysub(x, y) | np.polyval(x, y)
np.positive(x) | np.pow(x, 3.0) | np.power(x, 3.0) | np.prod(x) | np.promote_types('i1', 'f4') | np.ptp(x)
np.put(x, [1], 9.0) | np.put_along_axis(A, np.argsort(A, axis=0), 0.0, 0) | np.putmask(x, m, y) | np.quantile(x, 0.3)
np.rad2deg(x) | np.radians(x) | np.ravel(A) | np.ravel_multi_index((n[:2], k[:2]), (4, 4)) | np.real(z)
np.real_if_close(z) | np.reciprocal(x) | np.remainder(x, y) | np.repeat(x, 2) | np.require(x) | np.reshape(x, (2, 2))
np.resize(x, 6) | np.result_type('i1', 'f4') | np.right_shift(n, k) | np.rint(x) | np.roll(x, 1)
np.rollaxis(A, 1) | np.roots(x) | np.rot90(A) | np.round(x, 1) | np.searchsorted(s, x)
np.select([x < 2, x > 3], [x, y]) | np.setdiff1d(n, k) | np.setxor1d(n, k) | np.shape(x) | np.shares_memory(x, y)
np.sign(x) | np.signbit(x) | np.sin(x) | np.sinc(x) | np.sinh(x) | np.size(x) | np.sort(x) | np.sort_complex(x)
np.spacing(x) | np.split(x, 2) | np.sqrt(x) | np.square(x) | np.squeeze(A[:1]) | np.stack((x, y)) | np.std(x)
np.subtract(x, y) | np.sum(x) | np.swapaxes(A, 0, 1) | np.take(x, k) | np.take_along_axis(x, k, 0) | np.tan(x)
np.tanh(x) | np.tensordot(A, B, 1) | np.tile(x, 2) | np.trace(A) | np.transpose(A) | np.trapezoid(x) | np.tri(3)
np.tril(A) | np.tril_indices(3) | np.tril_indices_from(A) | np.trim_zeros(x) | np.triu(A) | np.triu_indices(3)
np.triu_indices_from(A) | np.true_divide(x, y) | np.trunc(x) | np.typename('d') | np.union1d(n, k) | np.unique(n)
np.unique_all(n) | np.unique_counts(n) | np.unique_inverse(n) | np.unique_values(n) | np.unpackbits(u)
np.unravel_index(n, (2, 2)) | np.unstack(A) | np.unwrap(x) | np.vander(x) | np.var(x) | np.vdot(x, y)
np.row_stack((x, y)) | np.vecdot(x, y) | np.vecmat(b, A)
 np.vsplit(A, 3) | np.vstack((x, y)) | np.where(m, x, y) | np.zeros(3)
np.zeros_like(x)
np.linalg.cholesky(A) | np.linalg.cond(A) | np.linalg.cross(b, b + 1) | np.linalg.det(A) | np.linalg.diagonal(A)
np.linalg.eig(A) | np.linalg.eigh(A) | np.linalg.eigvals(A) | np.linalg.eigvalsh(A) | np.linalg.inv(A)
np.linalg.lstsq(A, b) | np.linalg.matmul(A, B) | np.linalg.matrix_norm(A) | np.linalg.matrix_power(A, 3)
np.linalg.matrix_rank(A) | np.linalg.matrix_transpose(A) | np.linalg.multi_dot([A, B, A]) | np.linalg.norm(x)
np.linalg.outer(x, y) | np.linalg.pinv(A) | np.linalg.qr(A) | np.linalg.slogdet(A) | np.linalg.solve(A, b)
np.linalg.svd(A) | np.linalg.svdvals(A) | np.linalg.tensordot(A, B, axes=1) | np.linalg.tensorinv(A, ind=1)
np.linalg.tensorsolve(A, b) | np.linalg.trace(A) | np.linalg.vecdot(x, y) | np.linalg.vector_norm(x)
np.fft.fft(x) | np.fft.fft2(A) | np.fft.fftfreq(5) | np.fft.fftn(A) | np.fft.fftshift(x) | np.fft.hfft(z)
np.fft.ifft(z) | np.fft.ifft2(A) | np.fft.ifftn(A) | np.fft.ifftshift(x) | np.fft.ihfft(x) | np.fft.irfft(z)
np.fft.irfft2(A) | np.fft.irfftn(A) | np.fft.rfft(x) | np.fft.rfft2(A) | np.fft.rfftfreq(5) | np.fft.rfftn(A)
np.polynomial.polynomial.polyadd(x, y) | np.polynomial.polynomial.polycompanion(x)
np.polynomial.polynomial.polyder(x) | np.polynomial.polynomial.polydiv(x, s)
np.polynomial.polynomial.polyfit(x, y, 1) | np.polynomial.polynomial.polyfromroots(x)
np.polynomial.polynomial.polygrid2d(x, y, A) | np.polynomial.polynomial.polygrid3d(x, y, s, A[:, :, None])
np.polynomial.polynomial.polyint(x) | np.polynomial.polynomial.polyline(1, 2)
np.polynomial.polynomial.polymul(x, y) | np.polynomial.polynomial.polymulx(x)
np.polynomial.polynomial.polypow(x, 3) | np.polynomial.polynomial.polyroots(x)
np.polynomial.polynomial.polysub(x, y) | np.polynomial.polynomial.polytrim(x)
np.polynomial.polynomial.polyval(x, y) | np.polynomial.polynomial.polyval2d(x, y, A)
np.polynomial.polynomial.polyval3d(x, y, s, A[:, :, None]) | np.polynomial.polynomial.polyvalfromroots(x, y)
np.polynomial.polynomial.polyvalnd((x, y), A)
np.polynomial.polynomial.polyvander(x, 2) | np.polynomial.polynomial.polyvander2d(x, y, (1, 2))
np.polynomial.polynomial.polyvander3d(x, y, s, (1, 1, 1))
x.all() | x.any() | x.argmax() | x.argmin() | x.argpartition(2) | x.argsort() | x.astype(np.float32)
x.byteswap() | k.choose((x, y, s)) | x.clip(1, 3) | x.compress(m) | z.conj() | z.conjugate() | x.copy() | x.cumprod()
x.cumsum() | A.diagonal() | A.dot(B) | x.fill(1.0) | A.flatten() | x.item(1) | x.max() | x.mean() | x.min()
x.nonzero() | x.partition(2) | x.prod() | x.put([1], 9.0) | A.ravel() | x.repeat(2) | x.reshape(2, 2) | x.round(1)
s.searchsorted(x) | x.sort() | A[:1].squeeze() | x.std() | x.sum() | A.swapaxes(0, 1) | x.take(k) | x.tobytes()
x.tolist() | A.trace() | A.transpose() | x.var() | x.view(np.int64)
x.T | x.base | x.data | x.dtype | x.flags.writeable | x.flat | z.imag | x.itemsize | A.mT | x.nbytes | x.ndim | z.real
x.shape | x.size | x.strides
np.add.reduce(A) | np.add.accumulate(x) | np.add.outer(x, y) | np.add.reduceat(x, [0, 2]) | np.add.at(x, [1, 1], 1.0)
np.multiply.reduce(A, axis=1) | np.maximum.reduce(A, axis=(0, 1)) | np.logical_and.reduce(m)
np.maximum.accumulate(x) | np.subtract.outer(x, y) | np.minimum.reduceat(x, [0, 2]) | np.hypot.reduce(x)
np.random.rand(3) | np.random.randn(3) | np.random.random(3) | np.random.random_sample(3) | np.random.uniform(0, 1, 3)
np.random.normal(0, 1, 3) | np.random.standard_normal(3) | np.random.randint(0, 9, 3) | np.random.permutation(x)
np.random.choice(x, 2) | np.random.exponential(1.0, 3) | np.random.poisson(2.0, 3) | np.random.gamma(2.0, 1.0, 3)
np.random.beta(1.0, 2.0, 3) | np.random.binomial(5, 0.5, 3) | np.random.shuffle(x) | np.random.seed(1)
np.random.default_rng(1).random(3)
"""
"""A call of each, over the names of ``INPUTS``."""

SCIPY = """
beta betaln binom digamma ellipe ellipk entr erf erfc erfcinv erfcx erfinv exp1 exp10 exp2 expi expit expm1 gamma
gammaln i0 i0e i1 i1e j0 j1 k0 k1 log1p log_expit log_ndtr logit loggamma ndtr ndtri poch polygamma psi rel_entr rgamma
sinc softplus xlog1py xlogy y0 y1 zeta
"""
TWO_OPERANDS = "beta betaln binom poch rel_entr xlog1py xlogy zeta"

NO_SAMPLE = {
    "files and streams": "from_dlpack fromfile fromregex fromstring genfromtxt load loadtxt save savetxt savez"
    " savez_compressed x.dump x.dumps x.tofile x.to_device x.device",
    "settings": "get_include get_printoptions getbufsize geterr geterrcall info printoptions set_printoptions"
    " setbufsize seterr seterrcall show_config show_runtime test linalg.test fft.test errstate",
    "dates": "busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday isnat",
    "Python iterators": "nested_iters ndenumerate ndindex nditer flatiter broadcast vectorize",
    "change of an array's own form": "x.flags x.resize x.setfield x.setflags x.getfield x.ctypes",
}
"""Public names of NumPy's that no sample calls: they are left to Python."""


WHY_NOT = {
    "gives a text or bytes": "np.array2string np.array_repr np.array_str np.format_float_positional"
    " np.format_float_scientific x.tobytes",
    "gives an object that graphs do not carry": "np.asmatrix np.bmat np.broadcast np.frompyfunc x.data x.flags",
    "is about memory, of which types tell no addresses or strides": "x.base",
    "reads Python objects one by one": "np.fromiter np.einsum_path",
    "calls a function back for each row": "np.apply_along_axis",
    "warns that it is deprecated, at the line of its caller": "np.fix np.typename",
    "gives one dtype or another, as elements decide": "np.real_if_close",
}
"""Why calls are breaks: what no graph has."""


def why_not(call: str) -> str:
    """The stated reason for a break; empty where there is none."""
    name = name_of(call)
    names = (name, ".".join(name.split(".")[:2]))
    return next((why for why, calls in WHY_NOT.items() if not set(names).isdisjoint(calls.split())), "")


def samples() -> list[str]:
    calls = [part.strip() for line in SAMPLES.splitlines() for part in line.split(" | ") if part.strip()]
    if "scipy" in globals():
        operands = {**dict.fromkeys(TWO_OPERANDS.split(), "x, s"), "polygamma": "1, x"}
        special = [name for name in SCIPY.split() if hasattr(scipy.special, name)]
        calls += [f"scipy.special.{name}({operands.get(name, 'x / 9')})" for name in special]
    return [call for call in calls if _exists(call)]


def _exists(call: str) -> bool:
    """Whether this version of NumPy has the function."""
    try:
        eval(name_of(call), {"np": np, **globals()}, INPUTS)
    except AttributeError:
        return False
    return True


def name_of(call: str) -> str:
    if call.startswith("np.random.default_rng"):
        return "np.random.default_rng"
    start = 0 if call.startswith(("np.", "scipy.")) else 4  # behind the parenthesis of A[:1].squeeze()
    return call[: call.index("(", start)] if "(" in call[start:] else call


def public() -> Iterator[str]:
    """Every public function of NumPy's, and every method and property of arrays."""
    spaces = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.polynomial.polynomial": np.polynomial.polynomial}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for space, module in spaces.items():
            for name in dir(module):
                value = getattr(module, name, None)
                if not name.startswith("_") and callable(value) and not isinstance(value, type | types.ModuleType):
                    yield f"{space}.{name}"
    yield from (f"x.{name}" for name in dir(np.ndarray) if not name.startswith("_"))


@functools.cache
def classify(call: str) -> tuple[str, str]:
    """How a call is captured, and the reason where it is not."""
    names = [name for name in INPUTS if name in _names(call)]
    namespace: dict[str, Any] = {"np": np}
    if "scipy" in globals():
        namespace["scipy"] = scipy
    exec(f"def function({', '.join(names)}):\n    return {call}", namespace)
    run = captured(namespace["function"], exact="random" not in call)
    state = np.random.get_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "random" in call:
            run.entry(*(INPUTS[name].copy() for name in names))
        else:
            run(*(INPUTS[name].copy() for name in names))
    np.random.set_state(state)
    if run.breaks:
        return "break", run.breaks[0]
    return _kind([node for graph in run.record.graphs for node in graph.calls]), ""


def _names(call: str) -> frozenset[str]:
    return frozenset(compile(call, call, "eval").co_names)


def _kind(nodes: list[Any]) -> str:
    if not nodes:
        return "constant"
    lowers = [node.op.lower for node in nodes if node.target != "part"]
    externs = [node for node in nodes if node.op.is_extern]
    loops = [lower for lower in lowers if not isinstance(lower, ViewOf)]
    if not loops:
        return "view"
    if len(externs) == len(loops):
        return "NumPy"
    return "mixed" if externs else "loops"


def rows() -> list[tuple[str, str, str]]:
    found = [(call, *classify(call)) for call in samples()]
    return [(call, kind, why and (why_not(call) or why)) for call, kind, why in found]


def page() -> str:
    table = rows()
    counts: dict[str, int] = {}
    for _, kind, _ in table:
        counts[kind] = counts.get(kind, 0) + 1
    summary = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items(), key=lambda item: -item[1]))
    lines = [HEAD, f"{len(table)} calls: {summary}.", "", "| call | how | why not |", "|---|---|---|"]
    lines += ["| `{}` | {} | {} |".format(*(part.replace("|", "\\|") for part in row)) for row in table]
    lines += ["", "Not called, and left to Python:", ""]
    lines += [f"- {why}: {', '.join(f'`{name}`' for name in names.split())}" for why, names in NO_SAMPLE.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PATH.write_text(page())
