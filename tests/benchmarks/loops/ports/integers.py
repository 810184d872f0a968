"""Bits, counts, orders, in JAX. What writes at strides (``sieve``) or jumps about (``quick_sort``) has no port."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp
from jax import jit, vmap
from jax.lax import cummin, fori_loop, scan, while_loop

ONES = 0xFFFFFFFF


@jit
def crc32(data, table):
    def step(crc, byte):
        return table[(crc ^ byte) & 0xFF] ^ (crc >> 8), None

    return scan(step, jnp.uint32(ONES), data)[0] ^ jnp.uint32(ONES)


@jit
def crc32_bits(data):
    def bit(crc):
        return jnp.where(crc & 1, (crc >> 1) ^ jnp.uint32(0xEDB88320), crc >> 1)

    def step(crc, byte):
        crc = crc ^ byte
        for _ in range(8):
            crc = bit(crc)
        return crc, None

    return scan(step, jnp.uint32(ONES), data)[0] ^ jnp.uint32(ONES)


@partial(jit, static_argnames="bins")
def histogram(values, low, high, bins):
    width = (high - low) / bins
    place = jnp.where(values == high, bins - 1, ((values - low) / width).astype(int))
    place = jnp.where((low <= values) & (values <= high), place, bins)
    return jnp.bincount(place, length=bins + 1)[:bins]


@partial(jit, static_argnames="n")
def sieve_scalars(n):
    def step(i, state):
        composite, count = state
        prime = composite[i] == 0

        def strike(state):
            j, composite = state
            return j + i, composite.at[j].set(1)

        start = jnp.where(prime, i * i, n)
        _, composite = while_loop(lambda state: state[0] < n, strike, (start, composite))
        return composite, count + prime

    return fori_loop(2, n, step, (jnp.zeros(n, dtype=jnp.uint8), 0))[1]


@jit
def prefix_sums(x):
    """The best sum that ends at a place: the sum up to there less the least one before."""
    sums = jnp.cumsum(x)
    before = jnp.concatenate((jnp.zeros_like(x[:1]), sums[:-1]))
    return sums, (sums - cummin(before)).max()


@partial(jit, static_argnames="n")
def collatz(n):
    def length(start):
        def step(state):
            k, steps = state
            return jnp.where(k % 2, 3 * k + 1, k // 2), steps + 1

        return while_loop(lambda state: state[0] != 1, step, (start, 0))[1]

    return jnp.concatenate((jnp.zeros(1, dtype=jnp.int64), vmap(length)(jnp.arange(1, n))))


@jit
def bubble_sort(x):
    n = len(x)

    def compare(j, state):
        x, swapped, one = state
        other = x[j + 1]
        return x.at[j].set(jnp.minimum(one, other)), swapped | (one > other), jnp.maximum(one, other)

    def through(state):
        x, _, i = state
        x, swapped, last = fori_loop(0, n - 1 - i, compare, (x, False, x[0]))
        return x.at[n - 1 - i].set(last), swapped, i + 1

    return while_loop(lambda state: state[1] & (state[2] < n), through, (x, True, 0))[0]


@jit
def insertion_sort(x):
    def insert(i, x):
        key = x[i]

        def larger(state):
            return (state[0] >= 0) & (state[1][state[0]] > key)

        def shift(state):
            j, x = state
            return j - 1, x.at[j + 1].set(x[j])

        j, x = while_loop(larger, shift, (i - 1, x))
        return x.at[j + 1].set(key)

    return fori_loop(1, len(x), insert, x)


@jit
def binary_search(x, keys):
    def find(key):
        def halve(state):
            low, high = state
            middle = (low + high) // 2
            below = x[middle] < key
            return jnp.where(below, middle + 1, low), jnp.where(below, high, middle)

        return while_loop(lambda state: state[0] < state[1], halve, (0, len(x)))[0]

    return vmap(find)(keys)


@jit
def greatest_divisors(a, b):
    def divisor(x, y):
        return while_loop(lambda state: state[1] != 0, lambda state: (state[1], state[0] % state[1]), (x, y))[0]

    return vmap(divisor)(a, b)


@partial(jit, static_argnames="n")
def linear_congruential(seed, n):
    def step(state, _):
        state = (1103515245 * state + 12345) % 2147483648
        return state, state

    states = scan(step, jnp.asarray(seed, dtype=jnp.int64), length=n)[1]
    return states / 2147483648, (states % 2 == 0).sum()


@jit
def bits_set(x):
    def count(word):
        def clear(state):
            word, bits = state
            return word & (word - jnp.uint32(1)), bits + 1

        return while_loop(lambda state: state[0] != 0, clear, (word, jnp.int32(0)))[1]

    return vmap(count)(x)
