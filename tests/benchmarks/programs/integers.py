"""Integers and booleans: hashes, bits, masks."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.programs.program import Program, normal, vector


def mix(h):
    """The last steps of a 32-bit hash."""
    h = h ^ (h >> np.uint32(16))
    h = h * np.uint32(0x85EBCA6B)
    h = h ^ (h >> np.uint32(13))
    h = h * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def hash_buckets(keys):
    return (keys * 2654435761 % 4294967296) // 65536 % 1024


def count_between(x, y):
    return np.count_nonzero((x > -0.5) & (y < 0.5) & ~(x > y))


def any_outside(x):
    return (np.abs(x) > 100).any() | np.isnan(x).any()


def clean(x):
    out = x.copy()
    out[out > 2] = 2
    out[np.isnan(out)] = 0
    return out


def _words(rng, n, dtype):
    return (rng.integers(0, 2**31, n).astype(dtype),)


PROGRAMS = (
    Program(mix, _words, ("uint32",)),
    Program(hash_buckets, _words, ("int64",)),
    Program(count_between, normal(2, vector)),
    Program(any_outside, normal(1, vector)),
    Program(clean, normal(1, vector)),
)
