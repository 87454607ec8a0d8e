"""Weak-Wolfe bisection: trial counts computed by hand, and the two conditions at every accepted step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from optdsl.kernels.line_search import Step, armijo, weak_wolfe

Kind = Literal["log", "plain"]
Array = NDArray[np.float64]


def along(phi: Callable[[float], float], dphi: Callable[[float], float], kind: Kind) -> tuple[Step, list[float]]:
    """Searches φ from η = 1; the step and all η tried."""
    tried: list[float] = []

    def value(x: Array) -> float:
        tried.append(float(x[0]))
        return phi(float(x[0]))

    zero, one = np.zeros(1), np.ones(1)
    g = np.array([dphi(0.0)])
    step = weak_wolfe(value, lambda x: np.array([dphi(float(x[0]))]), zero, phi(0.0), g, one, 0.1, 0.9, kind)
    return step, tried


@pytest.mark.parametrize(
    ("kind", "phi", "dphi", "expected"),
    [
        ("log", lambda e: (e - 100) ** 2, lambda e: 2 * (e - 100), [1, 2, 8, 128]),
        ("plain", lambda e: (e - 100) ** 2, lambda e: 2 * (e - 100), [1, 2, 4, 8, 16]),
        ("log", lambda e: 1000 * e * e - 2 * e, lambda e: 2000 * e - 2, [1, 2**-1, 2**-3, 2**-7, 2**-15, 2**-11]),
        ("plain", lambda e: 1000 * e * e - 2 * e, lambda e: 2000 * e - 2, [2.0**-k for k in range(11)]),
    ],
)
def test_trials(
    kind: Kind, phi: Callable[[float], float], dphi: Callable[[float], float], expected: list[float]
) -> None:
    step, tried = along(phi, dphi, kind)
    assert step.accepted and tried == expected
    assert step.eta == expected[-1] and step.trials == len(expected)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.floats(-12, 12), st.floats(-3, 3), st.sampled_from(["log", "plain"]))
def test_both_conditions_hold_at_an_accepted_step(scale: float, tilt: float, kind: Kind) -> None:
    """φ(e) = log(1 + exp(a e − t)) − c a e is strictly convex and bounded below for 0 < c < 1."""
    a, c = math.exp(scale), 0.6 / (1 + math.exp(tilt)) + 0.39

    def phi(e: float) -> float:
        return float(np.logaddexp(0, a * e - 1)) - c * a * e

    def dphi(e: float) -> float:
        return a * (0.5 * (1 + math.tanh(0.5 * (a * e - 1))) - c)

    if dphi(0) >= 0:
        return
    step, tried = along(phi, dphi, kind)
    assert step.accepted
    assert phi(step.eta) <= phi(0) + 0.1 * step.eta * dphi(0) + 1e-14
    assert dphi(step.eta) >= 0.9 * dphi(0)
    assert step.gradients <= step.trials == len(tried)


@pytest.mark.parametrize("outside", [math.nan, math.inf])
@pytest.mark.parametrize("kind", ["log", "plain"])
def test_a_value_that_is_no_number_fails_the_decrease(outside: float, kind: Kind) -> None:
    """φ = −ln(1 − e) − 10 e on e < 1, outside no number; its minimum is at e = 0.9."""
    step, _ = along(lambda e: -math.log(1 - e) - 10 * e if e < 1 else outside, lambda e: 1 / (1 - e) - 10, kind)
    assert step.accepted and step.eta < 1


def test_the_gradient_is_evaluated_only_after_a_decrease() -> None:
    step, tried = along(lambda e: 1000 * e * e - 2 * e, lambda e: 2000 * e - 2, "log")
    decreasing = [e for e in tried if 1000 * e * e - 2 * e <= -0.1 * e * 2]
    assert step.gradients == len(decreasing) == 2


def test_no_end_is_told() -> None:
    for phi, dphi in (
        (lambda e: -e, lambda e: -1.0),
        (lambda e: -math.exp(min(e, 700.0)), lambda e: -math.exp(min(e, 700.0))),
    ):
        step, _ = along(phi, dphi, "log")
        assert not step.accepted and step.endless and step.f < -1e15
    below, _ = along(lambda e: math.log(1 - e) if e < 1 else -math.inf, lambda e: -1 / (1 - e), "plain")
    assert below.endless and math.isfinite(below.f)


def test_rounding_is_settled_by_the_slopes() -> None:
    """1 + (e − 0.5)² · 1e-17 is the number 1 at every e: only the slope, 2e-17 (e − 0.5), knows its minimum."""
    step, _ = along(lambda e: 1 + 1e-17 * (e - 0.5) ** 2, lambda e: 2e-17 * (e - 0.5), "log")
    assert step.accepted and -0.8 * -1e-17 >= 2e-17 * (step.eta - 0.5) >= 0.9 * -1e-17


def test_armijo_halves() -> None:
    # e² − e from e = 4: e² − e ≤ −0.1 e asks for e ≤ 0.9
    eta, x, f, trials = armijo(lambda x: float(x @ x - x[0]), np.zeros(1), 0.0, -np.ones(1), np.ones(1), 4.0)
    assert (eta, float(x[0]), f, trials) == (0.5, 0.5, -0.25, 4)
