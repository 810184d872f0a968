"""Particles, orbits, waves, roots, chance, money, in JAX."""

from __future__ import annotations

import math
from functools import partial

import jax.numpy as jnp
from jax import jit, vmap
from jax.lax import fori_loop, rsqrt, scan, while_loop


def _accelerations(position, mass, softening):
    """Coordinates apart: axes of three are slow; so is a power that is not whole."""
    between = [x[None, :] - x[:, None] for x in position.T]
    weights = mass * rsqrt(sum(d * d for d in between) + softening**2) ** 3
    return jnp.stack([(d * weights).sum(axis=1) for d in between], axis=1)


@partial(jit, static_argnames="steps")
def n_body(position, velocity, mass, steps, dt, softening):
    def step(state, _):
        position, velocity, acceleration = state
        velocity = velocity + acceleration * dt / 2.0
        position = position + velocity * dt
        acceleration = _accelerations(position, mass, softening)
        velocity = velocity + acceleration * dt / 2.0
        return (position, velocity, acceleration), 0.5 * jnp.sum(mass * jnp.sum(velocity * velocity, axis=1))

    start = position, velocity, _accelerations(position, mass, softening)
    (position, velocity, _), energy = scan(step, start, length=steps)
    return position, velocity, energy


@partial(jit, static_argnames="steps")
def gravity(position, velocity, mass, steps, dt):
    def step(_, state):
        position, velocity = state
        velocity = velocity + dt * _accelerations(position, mass, 0.1)
        return position + dt * velocity, velocity

    return fori_loop(0, steps, step, (position, velocity))


@partial(jit, static_argnames="steps")
def leapfrog(position, velocity, steps, dt):
    def kick(position):
        r = jnp.sqrt((position * position).sum(axis=1))
        return 0.5 * dt * position / (r * r * r)[:, None]

    def step(_, state):
        position, velocity = state
        velocity = velocity - kick(position)
        position = position + dt * velocity
        return position, velocity - kick(position)

    return fori_loop(0, steps, step, (position, velocity))


@jit
def sph_density(position, mass, h):
    q = jnp.sqrt(((position[:, None, :] - position[None, :, :]) ** 2).sum(axis=2)) / h
    near = (1.0 - 1.5 * q * q + 0.75 * q * q * q) / (math.pi * h**3)
    far = 0.25 * (2.0 - q) ** 3 / (math.pi * h**3)
    return jnp.where(q < 1.0, near, jnp.where(q < 2.0, far, 0.0)) @ mass


@partial(jit, static_argnames="steps")
def runge_kutta(state, steps, dt):
    def lorenz(y):
        return jnp.array([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]])

    def step(y, _):
        k1 = lorenz(y)
        k2 = lorenz(y + 0.5 * dt * k1)
        k3 = lorenz(y + 0.5 * dt * k2)
        k4 = lorenz(y + dt * k3)
        y = y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return y, y

    return jnp.concatenate((state[None], scan(step, state, length=steps)[1]))


@partial(jit, static_argnames="f")
def adaptive(f, y, end, tolerance):
    """The right-hand side has ``math.cos``, which JAX cannot trace: it is written again here."""

    def f(t, y):
        return -2.0 * y + jnp.cos(t)

    def step(state):
        t, h, y, steps = state
        h = jnp.minimum(h, end - t)
        whole = y + h * f(t + 0.5 * h, y + 0.5 * h * f(t, y))
        half = y + 0.5 * h * f(t + 0.25 * h, y + 0.25 * h * f(t, y))
        two = half + 0.5 * h * f(t + 0.75 * h, half + 0.25 * h * f(t + 0.5 * h, half))
        good = jnp.abs(two - whole) < tolerance
        return jnp.where(good, t + h, t), jnp.where(good, 1.5 * h, 0.5 * h), jnp.where(good, two, y), steps + good

    state = while_loop(lambda state: state[0] < end, step, (0.0, 0.1, jnp.asarray(y), 0))
    return state[2:]


@partial(jit, static_argnames="steps")
def spectral_heat(u, steps, dt):
    n = u.shape[0]
    k = jnp.fft.fftfreq(n, 1.0 / n)
    damp = jnp.exp(-0.01 * k * k * dt)

    def step(_, u):
        u = jnp.fft.ifft(jnp.fft.fft(u) * damp).real
        return u + dt * u * (1.0 - u)

    return fori_loop(0, steps, step, u)


@partial(jit, static_argnames="rounds")
def mandelbrot_mask(c, rounds):
    """Parts apart: complex numbers are slow."""
    cr, ci = c.real, c.imag

    def step(k, state):
        zr, zi, count = state
        inside = zr * zr + zi * zi < 4.0
        new = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
        return jnp.where(inside, new[0], zr), jnp.where(inside, new[1], zi), jnp.where(inside, k, count)

    start = jnp.zeros_like(cr), jnp.zeros_like(ci), jnp.zeros(c.shape, dtype=jnp.int64)
    return fori_loop(0, rounds, step, start)[2]


@partial(jit, static_argnames="rounds")
def mandelbrot_where(cr, ci, rounds):
    def step(_, state):
        zr, zi, count = state
        rr = zr * zr
        ii = zi * zi
        inside = rr + ii <= 4.0
        zi = jnp.where(inside, 2.0 * zr * zi + ci, zi)
        return jnp.where(inside, rr - ii + cr, zr), zi, count + inside

    start = jnp.zeros_like(cr), jnp.zeros_like(ci), jnp.zeros(cr.shape, dtype=jnp.int64)
    return fori_loop(0, rounds, step, start)[2]


@partial(jit, static_argnames="rounds")
def mandelbrot(xs, ys, rounds):
    def point(ci, cr):
        def inside(state):
            zr, zi, n = state
            return (n < rounds) & (zr * zr + zi * zi <= 4.0)

        def step(state):
            zr, zi, n = state
            return zr * zr - zi * zi + cr, 2.0 * zr * zi + ci, n + 1

        return while_loop(inside, step, (0.0, 0.0, jnp.int32(0)))[2]

    return vmap(vmap(point, (None, 0)), (0, None))(ys, xs)


@jit
def newton(x, a, tolerance):
    def step(state):
        x, steps, _ = state
        new = x - (x * x * x - a) / (3.0 * x * x)
        return new, steps + 1, jnp.max(jnp.abs(new - x))

    def going(state):
        return (state[2] >= tolerance) & (state[1] <= 100)

    return while_loop(going, step, (x, 0, jnp.inf))[:2]


@jit
def newton_scalars(a, tolerance):
    def root(mean):
        def step(state):
            e, rounds, _ = state
            change = (e - 0.6 * jnp.sin(e) - mean) / (1.0 - 0.6 * jnp.cos(e))
            return e - change, rounds + 1, jnp.abs(change)

        def going(state):
            return (state[1] < 50) & (state[2] >= tolerance)

        return while_loop(going, step, (mean, 0, jnp.inf))[0]

    return vmap(root)(a)


@jit
def bisection(low, high, target, tolerance):
    def root(target):
        def step(state):
            a, b = state
            middle = 0.5 * (a + b)
            below = middle * jnp.exp(middle) < target
            return jnp.where(below, middle, a), jnp.where(below, b, middle)

        a, b = while_loop(lambda state: state[1] - state[0] > tolerance, step, (low, high))
        return 0.5 * (a + b)

    return vmap(root)(target)


@jit
def monte_carlo(spot, drift, volatility, dt, noise):
    steps, paths = noise.shape

    def step(state, noise):
        s, total = state
        s = s * jnp.exp((drift - 0.5 * volatility**2) * dt + volatility * jnp.sqrt(dt) * noise)
        return (s, total + s), None

    (_, total), _ = scan(step, (jnp.full(paths, spot), jnp.zeros(paths)), noise)
    return jnp.exp(-drift * dt * steps) * jnp.maximum(total / steps - spot, 0.0).mean()


@jit
def barrier_option(spot, strike, barrier, drift, volatility, dt, noise):
    """All paths a step at a time."""
    paths = noise.shape[0]

    def step(state, noise):
        s, alive = state
        s = s * jnp.exp((drift - 0.5 * volatility * volatility) * dt + volatility * jnp.sqrt(dt) * noise)
        return (s, alive & (s <= barrier)), None

    (s, alive), _ = scan(step, (jnp.full(paths, spot), jnp.ones(paths, dtype=bool)), noise.T)
    return jnp.where(alive, jnp.maximum(s - strike, 0.0), 0.0).sum() / paths


@partial(jit, static_argnames="steps")
def binomial_option(spot, strike, rate, up, steps):
    down = 1.0 / up
    q = (rate - down) / (up - down)
    j = jnp.arange(steps + 1)

    def step(k, values):
        i = steps - 1 - k
        held = (q * jnp.roll(values, -1) + (1.0 - q) * values) / rate
        return jnp.maximum(held, strike - spot * up ** (2.0 * j - i))

    return fori_loop(0, steps, step, jnp.maximum(strike - spot * up ** (2.0 * j - steps), 0.0))[0]


@jit
def ising(spins, coupling, order, chance):
    n, m = spins.shape

    def flip(state, drawn):
        spins, energy = state
        (i, j), chance = drawn
        near = spins[(i + 1) % n, j] + spins[(i - 1) % n, j] + spins[i, (j + 1) % m] + spins[i, (j - 1) % m]
        change = 2.0 * coupling * spins[i, j] * near
        flips = (change <= 0.0) | (chance < jnp.exp(-change))
        return (spins.at[i, j].multiply(jnp.where(flips, -1, 1)), energy + jnp.where(flips, change, 0.0)), None

    (spins, energy), _ = scan(flip, (spins, 0.0), (order, chance))
    return energy, spins
