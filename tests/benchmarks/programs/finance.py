"""Prices: closed formulas, simulated paths, returns."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.programs.program import Program, draw, matrix


def normal_cdf(x):
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * series
    return np.where(x > 0, 1.0 - tail, tail)


def black_scholes(spot, strike, years):
    volatility, rate = 0.25, 0.02
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root
    return spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d2)


def asian_payoff(shocks):
    """Of an option on the mean of simulated paths; a row of shocks each."""
    steps = shocks.shape[1]
    drift, spread = 0.01 / steps, 0.2 / math.sqrt(steps)
    paths = 100.0 * np.exp(np.cumsum(drift + spread * shocks, axis=1))
    return np.maximum(paths.mean(axis=1) - 100.0, 0).mean()


def drawdown(prices):
    peak = np.maximum.accumulate(prices)
    return (prices / peak - 1).min()


def _market(rng, n, dtype):
    return tuple(rng.uniform(low, high, n).astype(dtype) for low, high in ((50, 150), (50, 150), (0.1, 3)))


def _shocks(rng, n, dtype):
    return (draw(rng, matrix(n), dtype),)


def _prices(rng, n, dtype):
    return ((100 * np.exp(np.cumsum(draw(rng, (n,), np.float64)) / n)).astype(dtype),)


PROGRAMS = (Program(black_scholes, _market), Program(asian_payoff, _shocks), Program(drawdown, _prices))
