"""Proofs for nonlinear programs: bounds valid at any point, and answers that lie."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optdsl.backends.nonlinear.ipopt import Ipopt, IpoptOptions
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.outer import evaluate, master, relaxation
from optdsl.certify.record import Certificate, Tolerances, VerdictKind
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.nonlinear import Nonlinear
from optdsl.run.run import Run
from tests.nonlinear.programs import hs14, hs71, hs76, program, random_convex, random_whole

CONVERGED = Stop(StopKind.CONVERGED)
TOL = Tolerances()
NEVER_OPTIMAL = (VerdictKind.REFUTED, VerdictKind.UNPROVEN)


def solved(form: Nonlinear) -> Answer:
    return Ipopt().solve(form, IpoptOptions(), Run())


def certify(form: Nonlinear, answer: Answer) -> Certificate:
    return conclude(answer, prove(form, answer, TOL), TOL)


def said(form: Nonlinear, point: Any, claim: Claim = Claim.OPTIMAL, **dual: Any) -> Certificate:
    return certify(form, Answer(CONVERGED, claim, None if point is None else np.asarray(point, float), dual=dual))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.floats(0, 2), st.booleans())
def test_bounds_hold_far_from_the_optimum(seed: int, distance: float, boxed: bool) -> None:
    form = random_convex(seed, boxed)
    best = solved(form)
    assert certify(form, best).verdict.kind is VerdictKind.OPTIMAL
    rng = np.random.default_rng(seed)
    assert best.objective is not None
    inside = form.start
    for x in (
        inside,
        inside + rng.uniform() * (best.point - inside),
        best.point + distance * rng.normal(size=inside.size),
    ):
        y = best.dual["rows"] + distance * rng.normal(size=len(form.row_lower))
        for dual in ({}, {"rows": y, "bounds": rng.normal(size=inside.size)}):
            proof = prove(form, Answer(CONVERGED, Claim.OPTIMAL, x, dual=dual), TOL)
            if proof.bound is not None:
                assert proof.bound <= best.objective + 1e-6 * (1 + abs(best.objective))
            if certify(form, Answer(CONVERGED, Claim.OPTIMAL, x, dual=dual)).verdict.kind is VerdictKind.OPTIMAL:
                assert proof.objective == pytest.approx(best.objective, abs=3e-6)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_linearisations_are_a_relaxation(seed: int) -> None:
    form = random_convex(seed)
    rng = np.random.default_rng(seed)
    at = [evaluate(form, form.start + rng.normal(size=form.start.size)) for _ in range(3)]
    assert float(np.max(form.functions["g"](form.start).full().ravel() - form.row_upper)) <= 1e-9
    for p in at:
        r = relaxation(form, p)
        assert r.objective(form.start) <= float(form.functions["f"](form.start)) + 1e-9
        assert (r.A @ form.start <= r.row_upper + 1e-9).all()
        assert r.objective(p.x) == pytest.approx(p.f)
    m = master(form, at)
    w = np.append(form.start, float(form.functions["f"](form.start)))
    assert (m.A @ w <= m.row_upper + 1e-9).all()


@pytest.mark.parametrize("form", [hs71(), hs14(), hs76(), random_whole(1)], ids=["hs71", "hs14", "hs76", "whole"])
def test_lies(form: Nonlinear) -> None:
    n = form.start.size
    assert said(form, np.full(n, np.nan)).verdict.kind is VerdictKind.REFUTED
    assert said(form, np.zeros(n + 1)).verdict.kind is VerdictKind.REFUTED
    assert said(form, None).verdict.kind is VerdictKind.UNPROVEN
    assert said(form, None, Claim.INFEASIBLE).verdict.kind is VerdictKind.UNPROVEN
    assert said(form, form.start, Claim.UNBOUNDED).verdict.kind is VerdictKind.UNPROVEN
    assert said(form, np.full(n, 99.0)).verdict.kind is VerdictKind.REFUTED


def test_a_feasible_point_is_not_optimal() -> None:
    for claim in (Claim.OPTIMAL, Claim.STATIONARY):
        certificate = said(hs76(), [0.1, 1.0, 0.5, 0.1], claim)
        assert certificate.verdict.kind is VerdictKind.UNPROVEN
        assert certificate.bound is not None and certificate.bound <= -4.6818181
    sphere = program(2, lambda x: x[0] * x[1], lambda x: [ca.sumsqr(x)], (-np.inf, 1), (-2, 2))
    assert said(sphere, [0.5, 0.1]).verdict.kind is VerdictKind.UNPROVEN
    assert said(sphere, [0.5, 0.1], Claim.INFEASIBLE).verdict.kind is VerdictKind.REFUTED


def test_a_slightly_infeasible_point_is_refuted() -> None:
    for form in (hs71(), hs14()):
        answer = solved(form)
        for step in (1e-4, -1e-4):
            assert certify(form, replace(answer, point=answer.point + step)).verdict.kind in NEVER_OPTIMAL
    answer = solved(hs14())
    assert certify(hs14(), replace(answer, point=answer.point + 1e-4)).verdict.kind is VerdictKind.REFUTED


@pytest.mark.parametrize("scale", [1.0, -1.0, 1e6, np.nan])
def test_wrong_multipliers_do_no_harm_and_no_good(scale: float) -> None:
    for form in (hs71(), hs14(), hs76()):
        answer = solved(form)
        dual = {"rows": np.full(len(form.row_lower), scale), "bounds": np.full(form.lower.size, -scale)}
        right = certify(form, replace(answer, dual=dual)).verdict.kind
        assert right is (VerdictKind.OPTIMAL if form.convex else VerdictKind.STATIONARY)
        assert certify(form, replace(answer, dual={"rows": np.zeros(9)})).verdict.kind is right
    assert said(
        hs76(), [0.1, 1.0, 0.5, 0.1], rows=np.full(3, scale), bounds=np.full(4, scale)
    ).verdict.kind is VerdictKind.UNPROVEN  # fmt: skip


def test_fitted_multipliers_are_those_of_the_solver() -> None:
    for form in (hs71(), hs14(), hs76()):
        answer = solved(form)
        fitted = prove(form, replace(answer, dual={}), TOL)
        assert fitted.residual is not None and fitted.residual < 1e-7


def test_curvature_tells_a_saddle_from_a_minimum() -> None:
    """min x² − y² on |y| ≤ 1: (0, 0) is a saddle, (0, 1) a minimum held by its bound."""
    form = program(2, lambda x: x[0] ** 2 - x[1] ** 2, bounds=(-1, 1))
    saddle = prove(form, Answer(CONVERGED, Claim.STATIONARY, np.zeros(2)), TOL)
    assert saddle.curvature == pytest.approx(-2)
    assert "not a minimum" in said(form, [0, 0], Claim.STATIONARY).verdict.reason
    held = prove(form, Answer(CONVERGED, Claim.STATIONARY, np.array([0.0, 1.0])), TOL)
    assert held.residual == pytest.approx(0, abs=1e-12) and held.curvature == pytest.approx(2)
    maximum = said(form, [1, 0], Claim.STATIONARY)
    assert maximum.verdict.kind is VerdictKind.UNPROVEN  # the bound's multiplier has the wrong sign


def test_curvature_of_the_lagrangian_counts_the_rows() -> None:
    """min −x − y on the unit disc: f is flat, the row curves the Lagrangian by its multiplier √2/2·2 along the tangent."""
    form = program(2, lambda x: -x[0] - x[1], lambda x: [ca.sumsqr(x)], (-np.inf, 1), convex=True)
    point = np.full(2, np.sqrt(0.5))
    proof = prove(form, Answer(CONVERGED, Claim.OPTIMAL, point), TOL)
    assert proof.curvature == pytest.approx(np.sqrt(2))
    assert proof.bound == pytest.approx(-np.sqrt(2), abs=1e-6)


def test_whole_numbers_that_are_not_the_best_are_found_out() -> None:
    form = random_whole(2)
    grid = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3), -1).reshape(-1, 3).astype(float)
    values = np.array([
        float(form.functions["f"](x)) if float(form.functions["g"](x)) <= form.row_upper[0] else np.inf for x in grid
    ])  # fmt: skip
    best, second = grid[np.argsort(values)[:2]]
    assert said(form, best).verdict.kind is VerdictKind.OPTIMAL
    assert said(form, second).verdict.kind in NEVER_OPTIMAL
    assert said(form, best + 0.01).verdict.kind is VerdictKind.REFUTED
    assert said(form, best, Claim.INFEASIBLE).verdict.kind is VerdictKind.REFUTED
