"""Warnings of what NumPy computes in Python code of its own: they name its line and module, not the user's."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import capture
from capture.ir.ops import places

CALLS = """
np.sum(x)  x.sum()  np.add.reduce(x)  np.sum(x,axis=0)  x.sum(axis=1)  np.sum(x,axis=0,where=m)  x.sum(dtype='f4')
np.prod(x)  x.prod()  np.mean(x)  x.mean(axis=0)  np.mean(x,dtype='f4')  np.mean(x.astype('f2'))  np.var(x)  x.var()
np.var(x,axis=0,ddof=1)  np.std(x)  x.std(axis=0)  np.cumsum(x)  x.cumsum()  np.cumprod(x)  np.add.accumulate(x)
np.round(x,2)  x.round(2)  np.around(x,2)  np.clip(x,-1e308,1e308,out=o)  x.clip(-1e308,1e308,o)  np.ptp(x)
np.ptp(x,axis=0)  np.diff(x)  np.diff(x,n=2,axis=0)  np.outer(x[0],x[1])  np.cross(x[:,:3],x[:,1:4])
np.linalg.norm(x,axis=0)  np.full((2,),x[0,0],'f4')  np.nansum(x)  np.nanprod(x,axis=0)  np.nanmean(x)  np.nancumsum(x)
np.nancumprod(x)  np.average(x)  np.average(x,weights=m+1)  np.median(x)  np.trapezoid(x)  np.gradient(x[0])
np.linalg.vector_norm(x,axis=0)  np.percentile(x,30)  np.log(x)  1/x  x.astype('f4')
(x[0]+x[1]).sum()  np.exp(x).mean()  np.exp(x).var()
"""

ARRAYS = {
    "large": np.full((4, 5), 1.7e308),
    "mixed": np.array([[1.7e308, -1.7e308, -1.7e308, 1, 2]] * 4),
    "infinite": np.array([[np.inf, -np.inf, 1, 2, 0.0]] * 4),
    "nan": np.array([[np.nan, 1, 1e308, 1e308, np.nan]] * 4),
    "large squares": np.array([[1e200, -1e200, 1, 2, 3.0]] * 4),
    "large sums of squares": np.array([[1.3e154, -1.3e154, 0, 0, 0]] * 4),
    "small": np.ones((4, 5)),
    "half": np.full((4, 5), 6e4, "f2"),
}
MASK = np.arange(20).reshape(4, 5) % 3 > 0

LEFT_TO_NUMPY = ("np.percentile(x,30)", "np.clip(x,-1e308,1e308,out=o)", "x.clip(-1e308,1e308,o)")
"""What need not be in kernels."""


@pytest.mark.parametrize("call", CALLS.split())
def test_warnings_name_the_line_that_numpy_names(call):
    function = written(call)
    compiled = capture.compile(function)
    for name, array in ARRAYS.items():
        for _ in range(2):
            _, texts = observed(function, array, MASK, np.zeros((4, 5), np.float32))
            _, own = observed(compiled, array, MASK, np.zeros((4, 5), np.float32))
            assert own == texts, name
    assert compiled.graphs or call in LEFT_TO_NUMPY


def test_kernels_name_other_lines_than_the_users():
    """Nothing is left to plain Python for that."""
    compiled = capture.compile(written("x.mean()"), fullgraph=True)
    _, texts = observed(compiled, ARRAYS["large"], MASK, None)
    assert [(text, re.sub(r".*numpy\W", "", file)) for _, text, file, _ in texts] == [
        ("overflow encountered in reduce", "_core/_methods.py")
    ]
    (flag,) = (flag for flag in compiled.graphs[0].calls if flag.target == "mean")
    assert flag.position.within is None  # the user's line is what graphs show


@pytest.mark.parametrize("name", places._WARNING)
def test_each_place_is_found(name):
    assert places.place_of(name).module.startswith("numpy.")


def test_filters_for_numpys_modules_apply():
    def both(x):
        total = x.sum()
        return total, x * 10

    compiled = capture.compile(both)
    for module in ("numpy", "numpy._core._methods", __name__):
        found = []
        for function in (both, compiled):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                warnings.filterwarnings("ignore", module=module)
                function(ARRAYS["large"])
            found.append([(str(w.message), w.filename, w.lineno) for w in caught])
        assert found[0] == found[1]
        assert len(found[0]) == 1
    assert len(compiled.graphs) == 1


def test_lines_of_numpy_warn_once_for_all_who_call():
    """By default a line warns once; NumPy's line is the same for two lines of the user's."""

    def twice(x):
        a = x.sum()
        b = x.sum(axis=1)
        return a, b

    compiled = capture.compile(twice)
    counts = []
    for function in (twice, compiled, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            function(ARRAYS["large"])
        counts.append([(str(w.message), w.filename, w.lineno) for w in caught])
    assert counts[0] == counts[1] == counts[2]
    assert len(counts[0]) == 1
    assert len(compiled.graphs) == 1


def written(call):
    namespace = {"np": np, "__name__": __name__}
    exec(compile(f"def function(x, m, o):\n    return {call}\n", "user.py", "exec"), namespace)
    return namespace["function"]


def observed(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args)
    return result, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]
