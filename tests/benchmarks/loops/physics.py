"""Particles, orbits, waves, roots, chance, money: numerical methods over time or until converged."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.loops.record import Loops


def n_body(position, velocity, mass, steps, dt, softening):
    """Newton's law between all pairs at once, leapfrog in time, energies kept."""
    energy = np.zeros(steps)
    acceleration = accelerations(position, mass, softening)
    for t in range(steps):
        velocity = velocity + acceleration * dt / 2.0
        position = position + velocity * dt
        acceleration = accelerations(position, mass, softening)
        velocity = velocity + acceleration * dt / 2.0
        energy[t] = 0.5 * np.sum(mass * np.sum(velocity * velocity, axis=1))
    return position, velocity, energy


def accelerations(position, mass, softening):
    x = position[:, 0:1]
    y = position[:, 1:2]
    z = position[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inverse = (dx**2 + dy**2 + dz**2 + softening**2) ** -1.5
    ax = (dx * inverse) @ mass
    ay = (dy * inverse) @ mass
    az = (dz * inverse) @ mass
    return np.stack((ax, ay, az), axis=1)


def gravity(position, velocity, mass, steps, dt):
    """The same pair by pair, with scalars."""
    n = mass.shape[0]
    force = np.zeros((n, 3))
    for _ in range(steps):
        force[:] = 0.0
        for i in range(n):
            for j in range(i + 1, n):
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                d2 = dx * dx + dy * dy + dz * dz + 0.01
                f = mass[i] * mass[j] / (d2 * math.sqrt(d2))
                force[i, 0] += f * dx
                force[i, 1] += f * dy
                force[i, 2] += f * dz
                force[j, 0] -= f * dx
                force[j, 1] -= f * dy
                force[j, 2] -= f * dz
        for i in range(n):
            for k in range(3):
                velocity[i, k] += dt * force[i, k] / mass[i]
                position[i, k] += dt * velocity[i, k]
    return position


def leapfrog(position, velocity, steps, dt):
    """Planets around a fixed sun."""
    for _ in range(steps):
        r = np.sqrt((position * position).sum(axis=1))
        velocity -= 0.5 * dt * position / (r * r * r)[:, None]
        position += dt * velocity
        r = np.sqrt((position * position).sum(axis=1))
        velocity -= 0.5 * dt * position / (r * r * r)[:, None]


def kernel(r, h):
    """The cubic spline."""
    q = r / h
    if q < 1.0:
        return (1.0 - 1.5 * q * q + 0.75 * q * q * q) / (math.pi * h**3)
    if q < 2.0:
        return 0.25 * (2.0 - q) ** 3 / (math.pi * h**3)
    return 0.0


def sph_density(position, mass, h):
    """Densities of smoothed particles."""
    n = len(position)
    density = np.zeros(n)
    for i in range(n):
        for j in range(n):
            d = 0.0
            for k in range(position.shape[1]):
                d += (position[i, k] - position[j, k]) ** 2
            density[i] += mass[j] * kernel(math.sqrt(d), h)
    return density


def runge_kutta(state, steps, dt):
    """Four stages a step; the right-hand side is a function of the state."""
    path = np.empty((steps + 1, state.shape[0]))
    path[0] = state
    for t in range(steps):
        y = path[t]
        k1 = lorenz(y)
        k2 = lorenz(y + 0.5 * dt * k1)
        k3 = lorenz(y + 0.5 * dt * k2)
        k4 = lorenz(y + dt * k3)
        path[t + 1] = y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return path


def lorenz(y):
    out = np.empty(3)
    out[0] = 10.0 * (y[1] - y[0])
    out[1] = y[0] * (28.0 - y[2]) - y[1]
    out[2] = y[0] * y[1] - 8.0 / 3.0 * y[2]
    return out


def adaptive(f, y, end, tolerance):
    """Step doubling with a callback: as many steps as it takes."""
    t, h, steps = 0.0, 0.1, 0
    while t < end:
        if t + h > end:
            h = end - t
        whole = y + h * f(t + 0.5 * h, y + 0.5 * h * f(t, y))
        half = y + 0.5 * h * f(t + 0.25 * h, y + 0.25 * h * f(t, y))
        two = half + 0.5 * h * f(t + 0.75 * h, half + 0.25 * h * f(t + 0.5 * h, half))
        error = abs(two - whole)
        if error < tolerance:
            t += h
            y = two
            steps += 1
            h *= 1.5
        else:
            h *= 0.5
    return y, steps


def decay(t, y):
    return -2.0 * y + math.cos(t)


def spectral_heat(u, steps, dt):
    """Diffusion by FFT: transform, damp, transform back, a source in between."""
    n = u.shape[0]
    k = np.fft.fftfreq(n, 1.0 / n)
    damp = np.exp(-0.01 * k * k * dt)
    for _ in range(steps):
        u = np.fft.ifft(np.fft.fft(u) * damp).real
        u = u + dt * u * (1.0 - u)
    return u


def mandelbrot_mask(c, rounds):
    """All points at once; those that escaped no longer change."""
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int64)
    for k in range(rounds):
        inside = np.abs(z) < 2.0
        count[inside] = k
        z[inside] = z[inside] ** 2 + c[inside]
    return count


def mandelbrot_where(cr, ci, rounds):
    """The same on real arrays, with where."""
    zr = np.zeros_like(cr)
    zi = np.zeros_like(ci)
    count = np.zeros(cr.shape, dtype=np.int64)
    for _ in range(rounds):
        rr = zr * zr
        ii = zi * zi
        inside = rr + ii <= 4.0
        count += inside
        zi = np.where(inside, 2.0 * zr * zi + ci, zi)
        zr = np.where(inside, rr - ii + cr, zr)
    return count


def mandelbrot(xs, ys, rounds):
    """Point by point."""
    out = np.zeros((ys.shape[0], xs.shape[0]), dtype=np.int32)
    for i in range(ys.shape[0]):
        for j in range(xs.shape[0]):
            cr = xs[j]
            ci = ys[i]
            zr = 0.0
            zi = 0.0
            n = 0
            while n < rounds and zr * zr + zi * zi <= 4.0:
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                n += 1
            out[i, j] = n
    return out


def newton(x, a, tolerance):
    """Cube roots of all at once."""
    steps = 0
    while True:
        new = x - (x * x * x - a) / (3.0 * x * x)
        steps += 1
        if np.max(np.abs(new - x)) < tolerance or steps > 100:
            return new, steps
        x = new


def newton_scalars(a, tolerance):
    """Kepler's equation for each of many orbits."""
    out = np.empty_like(a)
    for i, mean in enumerate(a):
        e = mean
        for _ in range(50):
            step = (e - 0.6 * math.sin(e) - mean) / (1.0 - 0.6 * math.cos(e))
            e -= step
            if abs(step) < tolerance:
                break
        out[i] = e
    return out


def bisection(low, high, target, tolerance):
    """Where x exp(x) is the target, for each target."""
    roots = np.zeros(target.shape[0])
    for k in range(target.shape[0]):
        a, b = low, high
        while b - a > tolerance:
            middle = 0.5 * (a + b)
            if middle * math.exp(middle) < target[k]:
                a = middle
            else:
                b = middle
        roots[k] = 0.5 * (a + b)
    return roots


def monte_carlo(spot, drift, volatility, dt, noise):
    """Paths of a stock, all of them a step at a time, and the price of an Asian option."""
    steps, paths = noise.shape
    s = np.full(paths, spot)
    total = np.zeros(paths)
    for t in range(steps):
        s = s * np.exp((drift - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * noise[t])
        total += s
    payoff = np.maximum(total / steps - spot, 0.0)
    return np.exp(-drift * dt * steps) * payoff.mean()


def barrier_option(spot, strike, barrier, drift, volatility, dt, noise):
    """Path by path, with a way out at the barrier."""
    paths, steps = noise.shape
    total = 0.0
    for p in range(paths):
        s = spot
        alive = True
        for t in range(steps):
            s *= math.exp((drift - 0.5 * volatility * volatility) * dt + volatility * math.sqrt(dt) * noise[p, t])
            if s > barrier:
                alive = False
                break
        if alive:
            total += max(s - strike, 0.0)
    return total / paths


def binomial_option(spot, strike, rate, up, steps):
    """An American put on a binomial tree."""
    down = 1.0 / up
    q = (rate - down) / (up - down)
    j = np.arange(steps + 1)
    values = np.maximum(strike - spot * up ** (2.0 * j - steps), 0.0)
    for i in range(steps - 1, -1, -1):
        prices = spot * up ** (2.0 * j[: i + 1] - i)
        held = (q * values[1 : i + 2] + (1.0 - q) * values[: i + 1]) / rate
        values[: i + 1] = np.maximum(held, strike - prices)
    return values[0]


def ising(spins, coupling, order, chance):
    """Metropolis sweeps over a lattice, with the numbers drawn before."""
    n, m = spins.shape
    energy = 0.0
    for k in range(order.shape[0]):
        i = order[k, 0]
        j = order[k, 1]
        near = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % m] + spins[i, j - 1]
        change = 2.0 * coupling * spins[i, j] * near
        if change <= 0.0 or chance[k] < math.exp(-change):
            spins[i, j] = -spins[i, j]
            energy += change
    return energy


def _bodies(rng, n, steps):
    return rng.standard_normal((n, 3)), rng.standard_normal((n, 3)), rng.random(n) + 0.5, steps, 0.01


def _plane(rng, n, rounds):
    return np.linspace(-2.0, 0.5, n), np.linspace(-1.25, 1.25, n), rounds


def _plane_arrays(rng, n, rounds):
    real, imaginary = np.meshgrid(np.linspace(-2.0, 0.5, n), np.linspace(-1.25, 1.25, n))
    return real, imaginary, rounds


def _noise(rng, rows, columns):
    return (rng.standard_normal((rows, columns)),)


PROGRAMS = (
    Loops(
        n_body,
        lambda rng, n, steps: (*_bodies(rng, n, steps), 0.1),
        (10, 9),
        (100, 200),
        (500, 100),
    ),
    Loops(gravity, _bodies, (9, 9), (40, 10), (300, 50)),
    Loops(
        leapfrog,
        lambda rng, n, steps: (rng.standard_normal((n, 2)) + 3.0, rng.standard_normal((n, 2)), steps, 0.001),
        (12, 10),
        (500, 3000),
        (10_000, 1000),
        chaotic=True,
    ),
    Loops(sph_density, lambda rng, n: (rng.random((n, 3)), rng.random(n), 0.3), (10,), (150,), (1000,)),
    Loops(
        runge_kutta,
        lambda rng, steps: (rng.random(3), steps, 0.01),
        (12,),
        (10_000,),
        (300_000,),
        chaotic=True,
    ),
    Loops(
        adaptive,
        lambda rng, end: (decay, 1.0, float(end), 1e-6),
        (2,),
        (200,),
        (10_000,),
        numba=False,
        note="a function as an argument",
    ),
    Loops(
        spectral_heat,
        lambda rng, n, steps: (rng.random(n), steps, 0.01),
        (16, 10),
        (1024, 3000),
        (16_384, 2000),
        numba=False,
        note="FFT",
    ),
    Loops(
        mandelbrot_mask,
        lambda rng, n, rounds: (_plane(rng, n, 0)[0] + 1j * _plane(rng, n, 0)[1][:, None], rounds),
        (12, 10),
        (200, 50),
        (1000, 50),
        dtype="complex128",
        numba=False,
        note="2-D masks",
    ),
    Loops(mandelbrot_where, _plane_arrays, (12, 10), (200, 100), (1000, 100)),
    Loops(mandelbrot, _plane, (10, 12), (60, 100), (600, 200)),
    Loops(
        newton,
        lambda rng, n, digits: (np.ones(n), rng.random(n) * 9.0 + 1.0, 10.0**-digits),
        (20, 9),
        (100_000, 9),
        (3_000_000, 9),
    ),
    Loops(
        newton_scalars,
        lambda rng, n, digits: (rng.random(n) * 3.0, 10.0**-digits),
        (12, 12),
        (20_000, 12),
        (1_000_000, 12),
    ),
    Loops(
        bisection,
        lambda rng, n, digits: (0.0, 4.0, rng.random(n) * 9.0 + 1.0, 10.0**-digits),
        (12, 9),
        (10_000, 10),
        (500_000, 10),
    ),
    Loops(
        monte_carlo,
        lambda rng, n, paths: (100.0, 0.03, 0.2, 1 / 252, *_noise(rng, n, paths)),
        (10, 20),
        (250, 2000),
        (250, 100_000),
    ),
    Loops(
        barrier_option,
        lambda rng, n, paths: (100.0, 95.0, 120.0, 0.03, 0.2, 1 / 252, *_noise(rng, paths, n)),
        (12, 20),
        (250, 1000),
        (250, 40_000),
    ),
    Loops(binomial_option, lambda rng, steps: (100.0, 105.0, 1.0001, 1.01, steps), (14,), (1500,), (5000,)),
    Loops(
        ising,
        lambda rng, n, sweeps: (
            np.where(rng.random((n, n)) < 0.5, 1, -1),
            0.4,
            rng.integers(0, n, (n * n * sweeps, 2)),
            rng.random(n * n * sweeps),
        ),
        (10, 2),
        (64, 10),
        (256, 100),
    ),
)
