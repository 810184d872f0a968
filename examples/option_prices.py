"""Black-Scholes prices of a million options: plain NumPy, and the same function compiled."""

import math
import time

import numpy as np

import capture


def normal_cdf(x):
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * series
    return np.where(x > 0, 1.0 - tail, tail)


def call_price(spot, strike, years, rate=0.02, volatility=0.25):
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / root
    return spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d1 - root)


def seconds(function, *args):
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    market = rng.uniform(50, 150, 10**6), rng.uniform(50, 150, 10**6), rng.uniform(0.1, 3, 10**6)
    compiled = capture.compile(call_price)
    assert np.allclose(compiled(*market), call_price(*market), rtol=1e-12)
    plain = min(seconds(call_price, *market) for _ in range(5))
    fast = min(seconds(compiled, *market) for _ in range(5))
    print(f"plain NumPy {plain * 1e3:.1f} ms, compiled {fast * 1e3:.1f} ms")
