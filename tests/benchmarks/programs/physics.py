"""Physics: stencils, forces between bodies, rotations."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.programs.program import Program, draw, normal, rows_of, square


def jacobi(u):
    return 0.25 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])


def heat_step(u):
    """On a ring in both directions."""
    around = np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0) + np.roll(u, 1, axis=1) + np.roll(u, -1, axis=1)
    return u + 0.1 * (around - 4 * u)


def wave_step(now, before):
    after = np.zeros_like(now)
    inner = now[1:-1, 1:-1]
    pull = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4 * inner
    after[1:-1, 1:-1] = 2 * inner - before[1:-1, 1:-1] + 0.25 * pull
    return after


def forces(positions, masses):
    away = positions[None, :, :] - positions[:, None, :]
    squared = (away**2).sum(axis=-1) + 0.01
    return (away * (masses / (squared * np.sqrt(squared)))[:, :, None]).sum(axis=1)


def rotate(q, v):
    """Vectors v (n, 3) turned by unit quaternions q (n, 4)."""
    w, axis = q[:, :1], q[:, 1:]
    t = 2 * np.cross(axis, v)
    return v + w * t + np.cross(axis, t)


def quaternion_product(p, q):
    pw, px, py, pz = p.T
    qw, qx, qy, qz = q.T
    return np.stack(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ],
        axis=1,
    )


def _bodies(rng, n, dtype):
    """As many pairs as ``n``."""
    count = math.isqrt(n)
    return draw(rng, (count, 3), dtype), rng.random(count).astype(dtype)


def _turns(rng, n, dtype):
    count = n // 4
    q = draw(rng, (count, 4), np.float64)
    return (q / np.linalg.norm(q, axis=1, keepdims=True)).astype(dtype), draw(rng, (count, 3), dtype)


PROGRAMS = (
    Program(jacobi, normal(1, square)),
    Program(heat_step, normal(1, square)),
    Program(wave_step, normal(2, square)),
    Program(forces, _bodies),
    Program(rotate, _turns),
    Program(quaternion_product, normal(2, rows_of(4))),
)
