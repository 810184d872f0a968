"""Flows, in JAX."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp
from jax import jit
from jax.lax import fori_loop, scan, while_loop

DIRECTIONS = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
"""What the programs have in arrays: shifts that are known when JAX compiles are slices."""


def _stream(f):
    return jnp.stack([jnp.roll(f[k], shifts, (0, 1)) for k, shifts in enumerate(DIRECTIONS)])


def _collide(f, weights, omega):
    cx, cy = (jnp.array(parts, dtype=f.dtype).reshape(9, 1, 1) for parts in zip(*DIRECTIONS, strict=True))
    density = f.sum(axis=0)
    ux = (f * cx).sum(axis=0) / density
    uy = (f * cy).sum(axis=0) / density
    cu = 3.0 * (cx * ux + cy * uy)
    equal = density * weights.reshape(9, 1, 1) * (1.0 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy))
    return f + omega * (equal - f)


@partial(jit, static_argnames="steps")
def lattice_boltzmann(f, cx, cy, weights, steps, omega):
    return fori_loop(0, steps, lambda _, f: _collide(_stream(f), weights, omega), f)


@partial(jit, static_argnames="steps")
def lattice_boltzmann_cells(f, cx, cy, weights, steps, omega):
    return fori_loop(0, steps, lambda _, f: _stream(_collide(f, weights, omega)), f)


def _pressure(p, dx, dy, b, rounds):
    total = 2 * (dx**2 + dy**2)
    source = dx**2 * dy**2 / total * b[1:-1, 1:-1]

    def step(_, p):
        inner = ((p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2) / total - source
        p = p.at[1:-1, 1:-1].set(inner)
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[0, :].set(p[1, :])
        p = p.at[:, 0].set(p[:, 1])
        return p.at[-1, :].set(0.0)

    return fori_loop(0, rounds, step, p)


@partial(jit, static_argnames=("steps", "rounds"))
def cavity_flow(u, v, p, steps, rounds, dt, nu):
    ny, nx = u.shape
    dx, dy, rho = 2.0 / (nx - 1), 2.0 / (ny - 1), 1.0

    def moved(w, u, v, pressure_gradient):
        inner = w[1:-1, 1:-1]
        return (
            inner
            - u[1:-1, 1:-1] * dt / dx * (inner - w[1:-1, :-2])
            - v[1:-1, 1:-1] * dt / dy * (inner - w[:-2, 1:-1])
            - pressure_gradient
            + nu * dt / dx**2 * (w[1:-1, 2:] - 2 * inner + w[1:-1, :-2])
            + nu * dt / dy**2 * (w[2:, 1:-1] - 2 * inner + w[:-2, 1:-1])
        )

    def step(_, state):
        u, v, p = state
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        b = jnp.pad(rho * (1 / dt * (ux + vy) - ux**2 - 2 * uy * vx - vy**2), 1)
        p = _pressure(p, dx, dy, b, rounds)
        along = dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
        across = dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
        return jnp.pad(moved(u, u, v, along), 1).at[-1, :].set(1.0), jnp.pad(moved(v, u, v, across), 1), p

    return fori_loop(0, steps, step, (u, v, p))


@jit
def channel_flow(u, dt, dy, force, nu, tolerance):
    def step(state):
        u, _, steps = state
        inner = u[1:-1, 1:-1]
        new = u.at[1:-1, 1:-1].set(
            inner
            + force * dt
            + nu * dt / dy**2 * (u[2:, 1:-1] - 2 * inner + u[:-2, 1:-1])
            + nu * dt / dy**2 * (u[1:-1, 2:] - 2 * inner + u[1:-1, :-2])
        )
        new = new.at[1:-1, -1].set(new[1:-1, -2])
        new = new.at[1:-1, 0].set(new[1:-1, 1])
        return new, (jnp.sum(new) - jnp.sum(u)) / jnp.sum(new), steps + 1

    u, _, steps = while_loop(lambda state: state[1] > tolerance, step, (u, 1.0, 0))
    return u, steps


@partial(jit, static_argnames="steps")
def burgers(u, steps, dt, dx, nu):
    def step(_, u):
        left, right = jnp.roll(u, 1), jnp.roll(u, -1)
        flow = jnp.where(u > 0, u * (u - left), u * (right - u))
        return u - dt / dx * flow + nu * dt / dx**2 * (right - 2 * u + left)

    return fori_loop(0, steps, step, u)


@partial(jit, static_argnames="steps")
def shallow_water(h, u, steps, dt, dx, g):
    def step(state, _):
        h, u = state
        hu = h * u
        flux = hu * u + 0.5 * g * h * h
        h = h.at[1:-1].set(0.5 * (h[2:] + h[:-2]) - dt / (2 * dx) * (hu[2:] - hu[:-2]))
        hu = hu.at[1:-1].set(0.5 * (hu[2:] + hu[:-2]) - dt / (2 * dx) * (flux[2:] - flux[:-2]))
        return (h, hu / h), h

    return scan(step, (h, u), length=steps)[1]
