"""Flows: lattice Boltzmann, a lid-driven cavity, a channel, Burgers' equation, a shallow pool."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.loops.record import Loops


def lattice_boltzmann(f, cx, cy, weights, steps, omega):
    """D2Q9 with the BGK collision on a periodic box: stream, moments, collide."""
    for _ in range(steps):
        for k in range(9):
            f[k] = np.roll(np.roll(f[k], cx[k], axis=0), cy[k], axis=1)
        density = f.sum(axis=0)
        ux = (f * cx.reshape(9, 1, 1)).sum(axis=0) / density
        uy = (f * cy.reshape(9, 1, 1)).sum(axis=0) / density
        square = 1.5 * (ux * ux + uy * uy)
        for k in range(9):
            cu = 3.0 * (cx[k] * ux + cy[k] * uy)
            equal = density * weights[k] * (1.0 + cu + 0.5 * cu * cu - square)
            f[k] += omega * (equal - f[k])
    return f


def lattice_boltzmann_cells(f, cx, cy, weights, steps, omega):
    """The same cell by cell, streaming into a second array."""
    nx, ny = f.shape[1], f.shape[2]
    new = np.empty_like(f)
    for _ in range(steps):
        for i in range(nx):
            for j in range(ny):
                rho = 0.0
                ux = 0.0
                uy = 0.0
                for k in range(9):
                    rho += f[k, i, j]
                    ux += cx[k] * f[k, i, j]
                    uy += cy[k] * f[k, i, j]
                ux /= rho
                uy /= rho
                square = 1.5 * (ux * ux + uy * uy)
                for k in range(9):
                    cu = 3.0 * (cx[k] * ux + cy[k] * uy)
                    equal = weights[k] * rho * (1.0 + cu + 0.5 * cu * cu - square)
                    new[k, (i + cx[k]) % nx, (j + cy[k]) % ny] = f[k, i, j] + omega * (equal - f[k, i, j])
        f, new = new, f
    return f


def pressure(p, dx, dy, b, rounds):
    for _ in range(rounds):
        pn = p.copy()
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0
    return p


def cavity_flow(u, v, p, steps, rounds, dt, nu):
    """Navier-Stokes below a moving lid; a helper solves for the pressure."""
    ny, nx = u.shape
    dx, dy, rho = 2.0 / (nx - 1), 2.0 / (ny - 1), 1.0
    b = np.zeros((ny, nx))
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        ux = (un[1:-1, 2:] - un[1:-1, :-2]) / (2 * dx)
        vy = (vn[2:, 1:-1] - vn[:-2, 1:-1]) / (2 * dy)
        uy = (un[2:, 1:-1] - un[:-2, 1:-1]) / (2 * dy)
        vx = (vn[1:-1, 2:] - vn[1:-1, :-2]) / (2 * dx)
        b[1:-1, 1:-1] = rho * (1 / dt * (ux + vy) - ux**2 - 2 * uy * vx - vy**2)
        p = pressure(p, dx, dy, b, rounds)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + nu * dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return u, v, p


def channel_flow(u, dt, dy, force, nu, tolerance):
    """A force drives a fluid between two walls, until the flow no longer changes."""
    steps = 0
    difference = 1.0
    while difference > tolerance:
        un = u.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            + force * dt
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
            + nu * dt / dy**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
        )
        u[1:-1, -1] = u[1:-1, -2]
        u[1:-1, 0] = u[1:-1, 1]
        difference = (np.sum(u) - np.sum(un)) / np.sum(u)
        steps += 1
    return u, steps


def burgers(u, steps, dt, dx, nu):
    """Burgers' equation with upwind differences, periodic."""
    n = len(u)
    for _ in range(steps):
        un = u.copy()
        for i in range(n):
            left = un[i - 1]
            right = un[(i + 1) % n]
            flow = un[i] * (un[i] - left) if un[i] > 0 else un[i] * (right - un[i])
            u[i] = un[i] - dt / dx * flow + nu * dt / dx**2 * (right - 2 * un[i] + left)
    return u


def shallow_water(h, u, steps, dt, dx, g):
    """One-dimensional shallow water by the Lax-Friedrichs scheme; rows of history are kept."""
    history = np.zeros((steps, h.shape[0]))
    for t in range(steps):
        hu = h * u
        flux = hu * u + 0.5 * g * h * h
        new_h = h.copy()
        new_hu = hu.copy()
        new_h[1:-1] = 0.5 * (h[2:] + h[:-2]) - dt / (2 * dx) * (hu[2:] - hu[:-2])
        new_hu[1:-1] = 0.5 * (hu[2:] + hu[:-2]) - dt / (2 * dx) * (flux[2:] - flux[:-2])
        h = new_h
        u = new_hu / new_h
        history[t] = h
    return history


def _lattice(rng, n, steps):
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    f = weights[:, None, None] * (1.0 + 0.1 * rng.random((9, n, n + 2)))
    return f, cx, cy, weights, steps, 1.2


def _cavity(rng, n, steps, rounds):
    return np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), steps, rounds, 0.001, 0.1


PROGRAMS = (
    Loops(
        lattice_boltzmann,
        _lattice,
        (12, 9),
        (100, 100),
        (300, 200),
        numba=False,
        note="numba has no roll along an axis",
    ),
    Loops(lattice_boltzmann_cells, _lattice, (12, 9), (40, 10), (200, 50)),
    Loops(cavity_flow, _cavity, (14, 9, 10), (41, 60, 50), (201, 100, 50)),
    Loops(
        channel_flow,
        lambda rng, n, digits: (np.zeros((n, n)), 0.01, 2.0 / n, 1.0, 0.02, 10.0**-digits),
        (14, 2),
        (41, 3),
        (101, 4),
    ),
    Loops(
        burgers,
        lambda rng, n, steps: (1.0 + 0.5 * rng.standard_normal(n), steps, 1e-4, 0.01, 0.05),
        (24, 10),
        (500, 400),
        (5000, 1000),
    ),
    Loops(
        shallow_water,
        lambda rng, n, steps: (1.0 + rng.random(n), np.zeros(n), steps, 1e-4, 0.01, 9.81),
        (24, 10),
        (1000, 3000),
        (10_000, 3000),
    ),
)
