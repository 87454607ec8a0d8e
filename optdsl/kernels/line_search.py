"""Weak-Wolfe line search by bisection, in logarithms or plain.

Accepts η with  (A) f(x + ηd) ≤ f(x) + α η g·d  and  (W) ∇f(x + ηd)·d ≥ β g·d.  Both forms end for f bounded below.
The logarithmic form takes O(log log) trials where η = 1 is far off: it squares its steps outwards and takes geometric
means inwards. Source: Jin, Jiang, Mokhtari, arXiv:2404.16731; Jin, Mokhtari, arXiv:2507.00361.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

MAX_TRIALS = 60
#: Below this share of |f| the decrease that (A) asks for is rounding.
NOISE = 1e-14


@dataclass(frozen=True)
class Step:
    """`accepted` False after 60 trials. f and g belong to x = x₀ + ηd."""

    accepted: bool
    eta: float
    x: Vector
    f: float
    g: Vector
    trials: int
    gradients: int


def weak_wolfe(
    value: Callable[[Vector], float],
    gradient: Callable[[Vector], Vector],
    x: Vector,
    f: float,
    g: Vector,
    d: Vector,
    alpha: float = 0.1,
    beta: float = 0.9,
    bisection: Literal["log", "plain"] = "log",
) -> Step:
    """Searches from η = 1. A value that is NaN or infinite fails (A); the gradient is evaluated only where (A) holds."""
    slope = float(g @ d)
    low, high, eta = 0.0, math.inf, 1.0
    gradients = 0
    noisy = abs(slope) < NOISE * abs(f)
    for i in range(MAX_TRIALS):
        trial = x + eta * d
        ft = value(trial)
        armijo = math.isfinite(ft) and ft <= f + alpha * eta * slope
        gt: Vector | None = None
        if not armijo and noisy and math.isfinite(ft):
            # approximate Wolfe: the directional derivatives say what the values cannot
            gt = gradient(trial)
            gradients += 1
            armijo = (2 * alpha - 1) * slope >= float(gt @ d)
        if not armijo:
            high = eta
            eta = _inward(low, high, i, bisection)
            continue
        if gt is None:
            gt = gradient(trial)
            gradients += 1
        if float(gt @ d) < beta * slope:
            low = eta
            eta = _outward(low, high, i, bisection)
            continue
        if not np.isfinite(gt).all():
            high = eta
            eta = _inward(low, high, i, bisection)
            continue
        return Step(True, eta, trial, ft, gt, i + 1, gradients)
    return Step(False, 0.0, x, f, g, MAX_TRIALS, gradients)


def _inward(low: float, high: float, i: int, bisection: str) -> float:
    if bisection == "plain":
        return 0.5 * (low + high)
    if low > 0:
        return math.sqrt(low * high)
    return 0.5 ** (2 ** (i + 1) - 1) if i < 6 else 0.5 * high


def _outward(low: float, high: float, i: int, bisection: str) -> float:
    if math.isinf(high):
        return 2.0 ** (2 ** (i + 1) - 1) if bisection == "log" and i < 6 else 2.0 * low
    return math.sqrt(low * high) if bisection == "log" else 0.5 * (low + high)
