"""Dynamic programming and graphs, in JAX: a row or a diagonal of a table at a time.

Where an entry needs its left neighbour, it is a running minimum or maximum of what is known without that.
"""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp
from jax import jit
from jax.lax import cummax, cummin, dynamic_slice, fori_loop, scan, while_loop


@jit
def floyd_warshall(path):
    def through(k, path):
        return jnp.minimum(path, path[:, k, None] + path[None, k, :])

    return fori_loop(0, path.shape[0], through, path)


@jit
def floyd_warshall_scalars(path):
    return floyd_warshall(path)


@jit
def smith_waterman(a, b, match, mismatch, gap):
    ramp = gap * jnp.arange(len(b) + 1)
    first = jnp.zeros(len(b) + 1, dtype=jnp.int64)

    def row(previous, letter):
        diagonal = previous[:-1] + jnp.where(letter == b, match, mismatch)
        known = jnp.maximum(0, jnp.maximum(diagonal, previous[1:] + gap))
        new = cummax(jnp.concatenate((first[:1], known)) - ramp) + ramp
        return new, new

    score = jnp.concatenate((first[None], scan(row, first, a)[1]))
    place = jnp.argmax(score)
    return score, score.ravel()[place], *jnp.unravel_index(place, score.shape)


@jit
def nussinov(sequence):
    """All entries at one distance from the diagonal at a time."""
    n = sequence.shape[0]
    i = jnp.arange(n)
    k = i[:, None] + i[None, :]

    def diagonal(length, table):
        j = i + length
        split = table[i[:, None], k] + table[k + 1, j[:, None]]
        best = jnp.where(i[None, :] < length, split, 0).max(axis=1)
        paired = (sequence + sequence[j] == 3) & (length > 1)
        inner = jnp.where(length > 1, table[i + 1, j - 1] + paired, 0)
        return table.at[i, j].set(jnp.maximum(best, inner).astype(table.dtype), mode="drop")

    return fori_loop(1, n, diagonal, jnp.zeros((n, n), jnp.int32))


@jit
def levenshtein(a, b):
    ramp = jnp.arange(len(b) + 1)

    def row(previous, letter):
        known = jnp.minimum(previous[1:] + 1, previous[:-1] + (letter != b))
        return cummin(jnp.concatenate((previous[:1] + 1, known)) - ramp) + ramp, None

    return scan(row, ramp, a)[0][-1]


@jit
def longest_common(a, b):
    n, m = a.size, b.size
    first = jnp.zeros(m + 1, dtype=jnp.int32)

    def row(previous, letter):
        known = jnp.maximum(previous[1:], previous[:-1] + (letter == b))
        new = cummax(jnp.concatenate((first[:1], known)))
        return new, new

    length = jnp.concatenate((first[None], scan(row, first, a)[1]))

    def back(state):
        i, j, k, found = state
        same = a[i - 1] == b[j - 1]
        up = ~same & (length[i - 1, j] >= length[i, j - 1])
        found = found.at[k - 1].set(jnp.where(same, a[i - 1], found[k - 1]))
        return i - (same | up), j - (same | ~up), k - same, found

    def inside(state):
        return (state[0] > 0) & (state[1] > 0)

    found = jnp.zeros(min(n, m), dtype=a.dtype)
    return while_loop(inside, back, (n, m, length[n, m].astype(int), found))[3], length[n, m]


@jit
def matrix_chain(sizes):
    """All chains of one length at a time."""
    n = len(sizes) - 1
    i = jnp.arange(n)
    k = i[:, None] + i[None, :]

    def chains(length, state):
        cost, split = state
        j = i + length - 1
        product = sizes[:-1, None] * sizes[k + 1] * sizes[j + 1][:, None]
        candidates = cost[i[:, None], k] + cost[k + 1, j[:, None]] + product
        candidates = jnp.where(i[None, :] < length - 1, candidates, jnp.inf)
        best = jnp.argmin(candidates, axis=1)
        cost = cost.at[i, j].set(candidates[i, best], mode="drop")
        return cost, split.at[i, j].set(i + best, mode="drop")

    return fori_loop(2, n + 1, chains, (jnp.zeros((n, n)), jnp.zeros((n, n), dtype=jnp.int64)))


@partial(jit, static_argnames="capacity")
def knapsack(weights, values, capacity):
    room = capacity + 1

    def item(best, one):
        weight, value = one
        lighter = dynamic_slice(jnp.concatenate((jnp.full_like(best, -(2**40)), best)), (room - weight,), (room,))
        return jnp.maximum(best, lighter + value), None

    return scan(item, jnp.zeros(room, dtype=jnp.int64), (weights, values))[0][capacity]


@jit
def viterbi(start, transition, emission, observed):
    def step(score, seen):
        candidates = score[:, None] + transition
        return candidates.max(axis=0) + emission[:, seen], candidates.argmax(axis=0)

    def back(state, pointers):
        state = pointers[state]
        return state, state

    score, pointers = scan(step, start + emission[:, observed[0]], observed[1:])
    last = jnp.argmax(score)
    _, path = scan(back, last, pointers, reverse=True)
    return jnp.append(path, last)


@jit
def dijkstra(distance):
    n = distance.shape[0]

    def nearest(_, state):
        found, done = state
        left = jnp.where(done, jnp.inf, found)
        node = jnp.argmin(left)
        done = done.at[node].set(True)
        return jnp.where(done, found, jnp.minimum(found, left[node] + distance[node])), done

    return fori_loop(0, n, nearest, (jnp.full(n, jnp.inf).at[0].set(0.0), jnp.zeros(n, dtype=bool)))[0]


@jit
def dynamic_time_warping(a, b):
    inf = jnp.array([jnp.inf])

    def row(previous, x):
        d = jnp.abs(x - b)
        total = jnp.cumsum(d)
        new = total + cummin(jnp.minimum(previous[1:], previous[:-1]) - (total - d))
        return jnp.concatenate((inf, new)), None

    return scan(row, jnp.full(len(b) + 1, jnp.inf).at[0].set(0.0), a)[0][-1]
