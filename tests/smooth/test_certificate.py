"""Gaps of smooth objectives: valid far from the optimum, exact where a formula is known, and never earned by a lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from optdsl.backends.smooth.bfgs import Bfgs, BfgsOptions, proven_gap
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.record import Certificate, Proof, Tolerances, VerdictKind
from optdsl.certify.smooth import omega_star
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.run.run import Run
from tests.smooth.objectives import breast_cancer, hard_cubic, logistic, quadratic, rosenbrock

Array = NDArray[np.float64]
CONVERGED = Stop(StopKind.CONVERGED)
TOL = Tolerances()
CANCER = logistic(*breast_cancer(), 0.01)
BREAST_CANCER = 0.1004463037812059


def at(form: SmoothUnconstrained, x: np.ndarray, claim: Claim = Claim.OPTIMAL) -> tuple[Proof, Certificate]:
    answer = Answer(CONVERGED, claim, x)
    proof = prove(form, answer, TOL)
    return proof, conclude(answer, proof, TOL)


def gap(form: SmoothUnconstrained, x: np.ndarray) -> float:
    proof, _ = at(form, x)
    assert proof.bound is not None and proof.objective is not None
    return proof.objective - proof.bound


@pytest.mark.parametrize(
    ("x", "lower", "f", "upper"), [(0.3, 0.0653585, 0.0943107, 0.1151299), (0.7, 0.2171200, 0.6733446, 0.8550006)]
)
def test_self_concordance_by_hand(x: float, lower: float, f: float, upper: float) -> None:
    """−ln(1 − x²) is standard self-concordant, M = 2: ω(λ) ≤ f − f* ≤ ω*(λ)."""
    form = SmoothUnconstrained.from_callables(
        lambda x: float(-np.log(1 - x @ x)), lambda x: 2 * x / (1 - x @ x), x0=[0.0], self_concordance=2.0,
        hess=lambda x: np.array([[2 * (1 + x[0] ** 2) / (1 - x[0] ** 2) ** 2]]),
    )  # fmt: skip
    point = np.array([x])
    assert form.hess is not None
    lam = float(abs(form.grad(point)[0]) / np.sqrt(form.hess(point)[0, 0]))
    assert form.f(point) == pytest.approx(f, abs=1e-7)
    assert lam - np.log1p(lam) == pytest.approx(lower, abs=1e-7)
    assert omega_star(lam) == pytest.approx(upper, abs=1e-7)
    assert gap(form, point) == pytest.approx(upper, abs=1e-7)
    assert proven_gap(form, point, form.grad(point)) == pytest.approx(upper, abs=1e-7)


@pytest.mark.parametrize(
    ("stop", "true", "certified"), [(1e-3, 1.022e-7, 4.13e-7), (1e-4, 2.109e-9, 4.929e-9), (1e-5, 3.143e-11, 3.354e-11)]
)
def test_the_smallest_rigorous_gap_is_named(stop: float, true: float, certified: float) -> None:
    """Measured values for B₀ = λI, stopped at ν ≤ stop: far away strong convexity, then self-concordance."""
    method, options, run = Bfgs(), BfgsOptions(b0=0.01), Run()
    state = method.init(CANCER, options, run)
    while np.sqrt(state.nu2) > stop:
        state = method.step(CANCER, options, state, run)
    assert state.f - BREAST_CANCER == pytest.approx(true, rel=2e-2)
    assert gap(CANCER, state.x) == pytest.approx(certified, rel=2e-2)
    reason = at(CANCER, state.x)[0].reason
    assert ("strong convexity" if stop == 1e-3 else "self-concordance") in reason


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.floats(0.0, 6.0))
def test_bounds_hold_at_any_point(seed: int, distance: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    F, A = rng.normal(size=(n + 1, n)), rng.normal(size=(12, n))
    forms = [
        quadratic(F.T @ F + 0.01 * np.eye(n), rng.normal(size=n)),
        logistic(A, np.sign(rng.normal(size=12)), float(10 ** rng.uniform(-3, 0))),
        hard_cubic(n + 1, lam=0.1),
    ]
    for form in forms:
        best = Bfgs().solve(form, BfgsOptions(), Run())
        assert best.objective is not None
        x = best.point + distance * rng.normal(size=len(form.x0))
        for known in (form, replace(form, strong_convexity=None), replace(form, self_concordance=None)):
            proof, certificate = at(known, x)
            if proof.bound is not None:
                assert proof.bound <= best.objective + 1e-12 * (1 + abs(best.objective))
            if certificate.verdict.kind is VerdictKind.OPTIMAL:
                assert form.f(x) - best.objective <= 2e-6 * max(1, abs(form.f(x)))


@pytest.mark.parametrize("form", [CANCER, rosenbrock(3), hard_cubic(5)], ids=["logistic", "rosenbrock", "cubic"])
def test_lies_earn_nothing(form: SmoothUnconstrained) -> None:
    n = len(form.x0)
    for wrong in (form.x0, np.full(n, 0.1), np.full(n, 30.0)):
        assert at(form, wrong)[1].verdict.kind is VerdictKind.UNPROVEN
    for bad in (np.full(n, np.nan), np.full(n, np.inf), np.zeros(n + 1)):
        assert at(form, bad)[1].verdict.kind is VerdictKind.REFUTED
    best = Bfgs().solve(form, BfgsOptions(), Run()).point
    for claim in (Claim.INFEASIBLE, Claim.UNBOUNDED):
        assert at(form, best, claim)[1].verdict.kind in (VerdictKind.REFUTED, VerdictKind.UNPROVEN)
    nothing = Answer(CONVERGED, Claim.OPTIMAL)
    assert conclude(nothing, prove(form, nothing, TOL), TOL).verdict.kind is VerdictKind.UNPROVEN


def test_false_facts_are_found_out() -> None:
    saddle = SmoothUnconstrained.from_callables(
        lambda x: float(x[0] ** 2 - x[1] ** 2), lambda x: np.array([2, -2]) * x, lambda x, v: np.array([2, -2]) * v,
        [0.0, 0.0], convex=True, strong_convexity=1.0,
    )  # fmt: skip
    proof, certificate = at(saddle, np.zeros(2))
    assert proof.bound is None and certificate.verdict.kind is not VerdictKind.OPTIMAL
    assert proof.curvature == pytest.approx(-2) and any("stated" in note for note in proof.notes)
    flat = replace(quadratic(np.eye(2), np.ones(2)), strong_convexity=5.0, self_concordance=None)
    assert at(flat, np.zeros(2))[0].bound is None


def test_a_saddle_is_told_by_its_curvature() -> None:
    def bowl(scale: Array) -> SmoothUnconstrained:
        return SmoothUnconstrained.from_callables(
            lambda x: float(0.5 * scale @ x**2), lambda x: scale * x, lambda x, v: scale * v, np.zeros(len(scale))
        )

    for n in (3, 600):  # dense, and by Lanczos
        form = bowl(np.append(np.ones(n - 1), -3.0))
        proof, certificate = at(form, np.zeros(n), Claim.STATIONARY)
        assert proof.curvature == pytest.approx(-3, rel=1e-3)
        assert certificate.verdict.kind is VerdictKind.STATIONARY and "not a minimum" in certificate.verdict.reason


def test_the_estimate_is_only_a_note() -> None:
    form = replace(CANCER, strong_convexity=None, self_concordance=None)
    best = Bfgs().solve(form, BfgsOptions(), Run()).point
    proof, certificate = at(form, best)
    assert proof.bound is None and certificate.verdict.kind is VerdictKind.STATIONARY
    assert any("no bound" in note for note in proof.notes)
