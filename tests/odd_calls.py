"""The samples of the page of coverage on odd operands: ``python -m tests.odd_calls [share] [seed] [backend]``.

In: each sample call, with every array replaced by one of another dtype, layout, number of elements or axes, by a NumPy
scalar or a list (``FORMS``). Out: every difference to plain NumPy in value, type, layout, warnings or exception.

>>> list(differences(share=0.01))
[]
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from capture.backends import eager, inductor
from tests import coverage_page
from tests.coverage_page import INPUTS, samples
from tests.helpers import captured

REAL = "xysABb"


def _real(change: Callable[[np.ndarray], Any]) -> Callable[[str, np.ndarray], Any]:
    """A change of the inputs that are floats."""
    return lambda name, array: change(array.copy()) if name in REAL else array.copy()


def _with(array: np.ndarray, place: int, value: float) -> np.ndarray:
    array[(place,) * array.ndim] = value
    return array


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


FORMS: Mapping[str, Callable[[str, np.ndarray], Any]] = {
    **{dtype: _real(lambda a, dtype=dtype: abs(a).astype(dtype)) for dtype in ("u1", "i8", "f2", "f4", "c16", "?")},
    "negative": _real(lambda a: -a),
    "NaN": _real(lambda a: _with(a, 0, np.nan)),
    "infinite": _real(lambda a: _with(a, -1, np.inf)),
    "empty": lambda name, a: a[:0].copy(),
    "one": lambda name, a: a[:1].copy(),
    "no axes": lambda name, a: np.array(a.flat[0]),
    "scalar": lambda name, a: a.flat[0],
    "reversed": lambda name, a: a[::-1],
    "one axis more": lambda name, a: np.stack((a, a)),
    "Fortran or strided": lambda name, a: np.asfortranarray(a) if a.ndim > 1 else np.repeat(a, 2)[::2],
    "read-only": lambda name, a: _read_only(a),
    "list": lambda name, a: a.tolist(),
}
KNOWN = frozenset({("np.poly(x)", "no axes")})
"""NumPy refuses it before it calls its own function, which would take it."""


def differences(share: float = 1.0, seed: int = 0, backend: Any = eager) -> Iterator[str]:
    draw = random.Random(seed)
    for call in samples():
        names = [name for name in INPUTS if name in coverage_page._names(call)]
        for form, change in FORMS.items() if names and "random" not in call else ():
            if draw.random() < share and (call, form) not in KNOWN:
                yield from _difference(call, form, names, change, backend)


def _difference(
    call: str, form: str, names: list[str], change: Callable[[str, np.ndarray], Any], backend: Any
) -> Iterator[str]:
    namespace: dict[str, Any] = {"np": np, "scipy": getattr(coverage_page, "scipy", None)}
    exec(f"def function({', '.join(names)}):\n    return {call}", namespace)
    run = captured(namespace["function"], backend=backend, exact=backend is eager)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run(*(change(name, INPUTS[name]) for name in names))
        except Exception as error:
            yield f"{call}, {form}: {type(error).__name__}: {' '.join(str(error).split())}"


if __name__ == "__main__":
    given = sys.argv[1:]
    chosen = inductor if given[2:] == ["inductor"] else eager
    found = list(differences(float(given[0]) if given else 1.0, int(given[1]) if given[1:] else 0, chosen))
    print(*found, f"{len(found)} differences", sep="\n")
