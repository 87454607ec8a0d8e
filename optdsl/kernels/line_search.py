"""Line searches: weak Wolfe by bisection, in logarithms or plain, and Armijo backtracking.

Weak Wolfe accepts η with  (A) f(x + ηd) ≤ f(x) + α η g·d  and  (W) ∇f(x + ηd)·d ≥ β g·d.  Both forms of bisection end
for f bounded below. The logarithmic one takes O(log log) trials where η = 1 is far off: it squares its steps outwards and
takes geometric means inwards. Source: Jin, Jiang, Mokhtari, arXiv:2404.16731; Jin, Mokhtari, arXiv:2507.00361.
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
#: Trials that square the step; the next ones double or halve it, before the exponent overflows.
SQUARED = 6
#: Below this share of |f| the decrease that (A) asks for is rounding, which grows with the terms that f is summed from.
NOISE = 1e-12


@dataclass(frozen=True)
class Step:
    """`accepted` False after 60 trials. f and g belong to x = x₀ + ηd. `endless` where f fell at every trial, however
    far, or is −∞ at one: then x is the farthest point tried with f finite."""

    accepted: bool
    eta: float
    x: Vector
    f: float
    g: Vector
    trials: int
    gradients: int
    endless: bool = False


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
    """Searches from η = 1. A value that is NaN or infinite fails (A); the gradient is evaluated only where (A) holds.

    Where the decrease is rounding, (A) is replaced by (2α − 1) g·d ≥ ∇f(x + ηd)·d (the approximate Wolfe condition of
    Hager and Zhang, SIAM J. Optim. 16, 2005).
    """
    slope = float(g @ d)
    low, high, eta = 0.0, math.inf, 1.0
    gradients = 0
    noisy = abs(slope) < NOISE * abs(f)
    last = (0.0, x, f, g)
    for i in range(MAX_TRIALS):
        trial = x + eta * d
        ft = float(value(trial))
        if ft == -math.inf:
            return Step(False, *last, i + 1, gradients, endless=True)
        by_slope = noisy and abs(ft - f) <= 10 * NOISE * abs(f)
        falls = math.isfinite(ft) and ft <= f + alpha * eta * slope
        if falls or by_slope:
            gt = np.asarray(gradient(trial), dtype=float)
            gradients += 1
            reached = float(gt @ d)
            if math.isfinite(reached) and (not by_slope or reached <= (2 * alpha - 1) * slope):
                if reached >= beta * slope:
                    return Step(True, eta, trial, ft, gt, i + 1, gradients)
                low, last = eta, (eta, trial, ft, gt)
                eta = _outward(low, high, i, bisection)
                continue
        high = eta
        eta = _inward(low, high, i, bisection)
    return Step(False, *last, MAX_TRIALS, gradients, endless=math.isinf(high))


def _inward(low: float, high: float, i: int, bisection: str) -> float:
    if bisection == "plain":
        return 0.5 * (low + high)
    if low > 0:
        return math.sqrt(low * high)
    return 0.5 ** (2 ** (i + 1) - 1) if i < SQUARED else 0.5 * high


def _outward(low: float, high: float, i: int, bisection: str) -> float:
    if math.isinf(high):
        return 2.0 ** (2 ** (i + 1) - 1) if bisection == "log" and i < SQUARED else 2.0 * low
    return math.sqrt(low * high) if bisection == "log" else 0.5 * (low + high)


def armijo(
    value: Callable[[Vector], float], x: Vector, f: float, g: Vector, d: Vector, eta: float, alpha: float = 0.1
) -> tuple[float, Vector, float, int]:
    """(η, x + ηd, f there, trials): halves η until (A) holds; η = 0 and x itself after 60 trials."""
    slope = float(g @ d)
    for i in range(MAX_TRIALS):
        trial = x + eta * d
        ft = float(value(trial))
        if math.isfinite(ft) and ft <= f + alpha * eta * slope:
            return eta, trial, ft, i + 1
        eta *= 0.5
    return 0.0, x, f, MAX_TRIALS
