"""NumPy's own inner loops, for kernels to call.

In: a mathematical function of the scalar vocabulary, and the dtype of its operands. Out: three addresses: the loop, its
context and its auxiliary data, as ``PyArrayMethod_StridedLoop`` takes them. They hold as long as the process lives.

>>> loop, context, auxiliary = addresses_of("exp", np.dtype("f4"))
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from capture.errors import BackendError
from capture.inductor import _executor

LoopKey = tuple[str, np.dtype]

_alive: list[Any] = []
"""What owns the loops' contexts."""


@cache
def addresses_of(name: str, dtype: np.dtype) -> tuple[int, int, int]:
    """``BackendError`` where this NumPy does not hand out its loops."""
    ufunc = getattr(np, name)
    try:
        _, info = ufunc._resolve_dtypes_and_context((dtype,) * ufunc.nin + (None,))
        ufunc._get_strided_loop(info)
        addresses = _executor.loop_addresses(info)
    except (AttributeError, TypeError, ValueError) as error:
        raise BackendError(f"NumPy {np.__version__} does not give its loop of {name} for {dtype}: {error}") from error
    _alive.append(info)
    return addresses
