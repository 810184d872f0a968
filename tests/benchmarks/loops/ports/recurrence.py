"""A linear recurrence without a loop."""

from __future__ import annotations

import jax.numpy as jnp
from jax.lax import associative_scan


def linear_recurrence(factors, terms, first):
    """``y[i] = factors[i] * y[i - 1] + terms[i]``, where ``first`` is ``y[-1]``."""

    def behind(one, other):
        return one[0] * other[0], one[1] * other[0] + other[1]

    powers, sums = associative_scan(behind, (jnp.broadcast_to(factors, terms.shape), terms))
    return powers * first + sums
