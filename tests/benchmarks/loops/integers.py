"""Bits, counts, orders: programs of integers."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.loops.record import Loops


def crc32(data, table):
    """The checksum by table, a byte a round."""
    crc = np.uint32(0xFFFFFFFF)
    for byte in data:
        crc = table[(crc ^ byte) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


def crc32_bits(data):
    """The same bit by bit, in Python's integers."""
    crc = 0xFFFFFFFF
    for i in range(len(data)):
        crc ^= int(data[i])
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc >>= 1
    return crc ^ 0xFFFFFFFF


def histogram(values, low, high, bins):
    counts = np.zeros(bins, dtype=np.int64)
    width = (high - low) / bins
    for v in values:
        if low <= v < high:
            counts[int((v - low) / width)] += 1
        elif v == high:
            counts[bins - 1] += 1
    return counts


def sieve(n):
    """Primes below n: strided writes."""
    prime = np.ones(n, dtype=np.bool_)
    prime[:2] = False
    i = 2
    while i * i < n:
        if prime[i]:
            prime[i * i :: i] = False
        i += 1
    return prime


def sieve_scalars(n):
    composite = np.zeros(n, dtype=np.uint8)
    count = 0
    for i in range(2, n):
        if composite[i] == 0:
            count += 1
            for j in range(i * i, n, i):
                composite[j] = 1
    return count


def prefix_sums(x):
    """Sums up to each element, and the best sum of neighbours (Kadane)."""
    out = np.empty_like(x)
    total = 0
    best = x[0]
    here = 0
    for i in range(x.size):
        total += x[i]
        out[i] = total
        here = max(here + x[i], x[i])
        best = max(best, here)
    return out, best


def collatz(n):
    """Lengths of the sequences of 1 to n."""
    lengths = np.zeros(n, dtype=np.int64)
    for start in range(1, n):
        k = start
        steps = 0
        while k != 1:
            k = 3 * k + 1 if k % 2 else k // 2
            steps += 1
        lengths[start] = steps
    return lengths


def bubble_sort(x):
    n = len(x)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return x


def insertion_sort(x):
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


def quick_sort(x):
    """Without recursion: a stack of borders in an array."""
    stack = np.empty(2 * len(x) + 2, dtype=np.int64)
    top = 0
    stack[0] = 0
    stack[1] = len(x) - 1
    while top >= 0:
        low = stack[2 * top]
        high = stack[2 * top + 1]
        top -= 1
        if low >= high:
            continue
        pivot = x[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        top += 1
        stack[2 * top] = low
        stack[2 * top + 1] = j
        top += 1
        stack[2 * top] = i
        stack[2 * top + 1] = high
    return x


def binary_search(x, keys):
    """The place of each key in a sorted array."""
    found = np.empty(len(keys), dtype=np.intp)
    for k in range(len(keys)):
        low, high = 0, len(x)
        while low < high:
            middle = (low + high) // 2
            if x[middle] < keys[k]:
                low = middle + 1
            else:
                high = middle
        found[k] = low
    return found


def greatest_divisors(a, b):
    """Euclid for each pair."""
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        x, y = a[i], b[i]
        while y:
            x, y = y, x % y
        out[i] = x
    return out


def linear_congruential(seed, n):
    """A generator of numbers of 31 bits, and how many of them are even."""
    out = np.empty(n, dtype=np.float64)
    state = seed
    even = 0
    for i in range(n):
        state = (1103515245 * state + 12345) % 2147483648
        if state % 2 == 0:
            even += 1
        out[i] = state / 2147483648
    return out, even


def bits_set(x):
    """Kernighan's count of bits of each word."""
    out = np.zeros(x.shape[0], dtype=np.int32)
    for i in range(x.shape[0]):
        word = x[i]
        while word != 0:
            word &= word - np.uint32(1)
            out[i] += 1
    return out


def _table():
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0xEDB88320), table >> 1)
    return table


def _bytes(rng, n):
    return rng.integers(0, 256, n).astype(np.uint8)


PROGRAMS = (
    Loops(crc32, lambda rng, n: (_bytes(rng, n), _table()), (20,), (50_000,), (3_000_000,), dtype="uint32"),
    Loops(crc32_bits, lambda rng, n: (_bytes(rng, n),), (20,), (20_000,), (1_000_000,), dtype="uint8"),
    Loops(histogram, lambda rng, n, bins: (rng.random(n), 0.1, 0.9, bins), (30, 10), (100_000, 50), (5_000_000, 100)),
    Loops(sieve, lambda rng, n: (n,), (200,), (3_000_000,), (100_000_000,), dtype="bool"),
    Loops(sieve_scalars, lambda rng, n: (n,), (60,), (100_000,), (10_000_000,), dtype="uint8"),
    Loops(prefix_sums, lambda rng, n: (rng.integers(-50, 50, n),), (20,), (100_000,), (10_000_000,), dtype="int64"),
    Loops(collatz, lambda rng, n: (n,), (20,), (5000,), (1_000_000,), dtype="int64"),
    Loops(bubble_sort, lambda rng, n: (rng.random(n),), (14,), (400,), (5000,)),
    Loops(insertion_sort, lambda rng, n: (rng.random(n),), (14,), (600,), (10_000,)),
    Loops(quick_sort, lambda rng, n: (rng.random(n),), (20,), (20_000,), (2_000_000,)),
    Loops(
        binary_search,
        lambda rng, n, keys: (np.sort(rng.random(n)), rng.random(keys)),
        (40, 12),
        (100_000, 20_000),
        (10_000_000, 1_000_000),
    ),
    Loops(
        greatest_divisors,
        lambda rng, n: (rng.integers(1, 10**6, n), rng.integers(1, 10**6, n)),
        (12,),
        (10_000,),
        (1_000_000,),
        dtype="int64",
    ),
    Loops(linear_congruential, lambda rng, n: (12345, n), (20,), (200_000,), (10_000_000,)),
    Loops(
        bits_set,
        lambda rng, n: (rng.integers(0, 2**32, n).astype(np.uint32),),
        (12,),
        (10_000,),
        (1_000_000,),
        dtype="uint32",
    ),
)
