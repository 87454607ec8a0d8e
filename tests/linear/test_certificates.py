"""Bounds that hold for any multipliers, and answers that lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from optdsl.backends.linear.highs import Highs, HighsOptions
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.convexity import convex, strength
from optdsl.certify.duality import blend, dual_bound, fit, polyhedron, reach
from optdsl.certify.polyhedron import Polyhedron
from optdsl.certify.record import Certificate, Tolerances, VerdictKind
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.linear import LinearProgram, MixedInteger, QuadraticProgram
from optdsl.run.run import Run
from tests.linear.programs import dantzig, knapsack, random_program, random_quadratic

CONVERGED = Stop(StopKind.CONVERGED)
NEVER_OPTIMAL = (VerdictKind.REFUTED, VerdictKind.UNPROVEN)


def certify(form: LinearProgram, answer: Answer) -> Certificate:
    tol = Tolerances()
    return conclude(answer, prove(form, answer, tol), tol)


def least(answer: Answer) -> float:
    assert answer.objective is not None
    return answer.objective


def solved(form: LinearProgram) -> Answer:
    return Highs().solve(form, HighsOptions(), Run())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from(["bounded", "equality", "ranged", "fixed"]), st.floats(0, 30))
def test_any_multipliers_give_a_bound(seed: int, kind: str, size: float) -> None:
    form = random_program(seed, kind)
    best = solved(form)
    rng = np.random.default_rng(seed)
    for y in (best.dual["rows"] + size * rng.normal(size=form.A.shape[0]), size * rng.normal(size=form.A.shape[0])):
        bound = dual_bound(form, polyhedron(form), y, np.zeros_like(form.c), reach(best.point))
        assert bound.value <= least(best) + 1e-7 * (1 + abs(least(best)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.floats(0, 5))
def test_any_point_and_multipliers_bound_a_quadratic(seed: int, size: float) -> None:
    form = random_quadratic(seed)
    best = solved(form)
    rng = np.random.default_rng(seed)
    y, w = size * rng.normal(size=form.A.shape[0]), best.point + size * rng.normal(size=form.c.size)
    bound = dual_bound(form, polyhedron(form), y, w, reach(best.point), strength(form))
    assert bound.value <= least(best) + 1e-6 * (1 + abs(least(best)))
    proof = prove(form, Answer(CONVERGED, Claim.OPTIMAL, w, dual={"rows": y}), Tolerances())
    assert proof.bound is None or proof.bound <= least(best) + 1e-6 * (1 + abs(least(best)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_implied_bounds_hold_at_every_feasible_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = 6, 5
    A, x = rng.integers(-2, 4, (m, n)).astype(float), rng.integers(0, 5, n).astype(float)
    lower = np.where(rng.random(n) < 0.7, 0.0, -np.inf)
    P = Polyhedron.of(sp.csr_array(A), np.full(m, -np.inf), A @ x + 1, lower, np.full(n, np.inf))
    low, high = P.implied
    assert np.all(low <= x) and np.all(x <= high)


def test_implied_bounds_by_hand() -> None:
    # x + 2y ≤ 4 with x, y ≥ 0 gives x ≤ 4, y ≤ 2; z − x = 1 then gives 1 ≤ z ≤ 5
    A = sp.csr_array(np.array([[1.0, 2, 0], [-1, 0, 1]]))
    P = Polyhedron.of(A, np.array([-np.inf, 1]), np.array([4.0, 1]), np.array([0.0, 0, -np.inf]), np.full(3, np.inf))
    low, high = P.implied
    assert high == pytest.approx([4, 2, 5]) and low == pytest.approx([0, 0, 1])


def test_missing_and_wrong_duals_are_fitted() -> None:
    for form in (dantzig(), random_program(3, "free"), random_quadratic(4)):
        answer = solved(form)
        for dual in ({}, {"rows": np.full(form.A.shape[0], 7.0)}, {"rows": np.full(form.A.shape[0], np.nan)}):
            assert certify(form, replace(answer, dual=dual)).verdict.kind is VerdictKind.OPTIMAL
    for y in fit(dantzig(), polyhedron(dantzig()), solved(dantzig()).point):
        assert y == pytest.approx(solved(dantzig()).dual["rows"], abs=1e-9)


def test_blending_keeps_a_bound_far_from_the_optimum() -> None:
    form, best = dantzig(), solved(dantzig())
    free = replace(form, row_upper=np.full(5, np.inf))
    y = 3 * best.dual["rows"]
    assert dual_bound(free, polyhedron(free), y, best.point, 1.0).value == -np.inf
    bound = dual_bound(free, polyhedron(free), blend(free, polyhedron(free), y, best.point), best.point, 1.0).value
    assert 0 < bound <= 153.675


def test_a_wrong_point_is_not_optimal() -> None:
    form = dantzig()
    worse = np.array([325.0, 0, 25, 0, 300, 250])
    answer = solved(form)
    certificate = certify(form, replace(answer, point=worse))
    assert certificate.verdict.kind is VerdictKind.UNPROVEN
    assert certificate.bound == pytest.approx(153.675)
    assert certify(form, Answer(CONVERGED, Claim.OPTIMAL, worse)).verdict.kind is VerdictKind.UNPROVEN


def test_a_slightly_infeasible_point_is_refuted() -> None:
    answer = solved(dantzig())
    for scale in (1 - 1e-4, 1 + 1e-2):
        assert certify(dantzig(), replace(answer, point=answer.point * scale)).verdict.kind in NEVER_OPTIMAL
    assert certify(dantzig(), replace(answer, point=answer.point * (1 - 1e-4))).verdict.kind is VerdictKind.REFUTED


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refuted(bad: float) -> None:
    answer = solved(dantzig())
    point = answer.point.copy()
    point[0] = bad
    assert certify(dantzig(), replace(answer, point=point)).verdict.kind is VerdictKind.REFUTED
    assert certify(dantzig(), replace(answer, point=point[:3])).verdict.kind is VerdictKind.REFUTED


def test_false_claims_of_infeasibility_and_unboundedness() -> None:
    form = dantzig()
    m, n = form.A.shape
    y, d = np.ones(m), np.ones(n)
    false_infeasible = Answer(CONVERGED, Claim.INFEASIBLE, ray={"dual": y})
    assert certify(form, false_infeasible).verdict.kind is VerdictKind.REFUTED
    assert certify(form, replace(false_infeasible, ray={})).verdict.kind is VerdictKind.REFUTED
    false_unbounded = Answer(CONVERGED, Claim.UNBOUNDED, solved(form).point, ray={"primal": -d})
    assert certify(form, false_unbounded).verdict.kind is VerdictKind.UNPROVEN
    assert certify(form, replace(false_unbounded, ray={})).verdict.kind is VerdictKind.UNPROVEN
    barely = LinearProgram.from_arrays([-1e-9], lower=0.0, upper=np.inf)
    assert certify(barely, Answer(CONVERGED, Claim.OPTIMAL, np.zeros(1))).verdict.kind is VerdictKind.UNPROVEN


def test_infeasible_claim_without_a_ray_is_proven_by_search() -> None:
    for seed in range(5):
        form = random_program(seed, "infeasible")
        assert certify(form, Answer(CONVERGED, Claim.INFEASIBLE)).verdict.kind is VerdictKind.INFEASIBLE


def test_a_worse_whole_point_is_refuted() -> None:
    form = knapsack(2, 14)
    answer = solved(form)
    worse = answer.point.copy()
    worse[np.flatnonzero(worse > 0.5)[0]] = 0.0
    certificate = certify(form, replace(answer, point=worse))
    assert certificate.verdict.kind is VerdictKind.REFUTED and "better" in certificate.verdict.reason
    half = np.full(14, 0.3)
    assert certify(form, replace(answer, point=half)).verdict.kind is VerdictKind.REFUTED
    assert certify(form, Answer(CONVERGED, Claim.INFEASIBLE)).verdict.kind is VerdictKind.REFUTED


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_branching_agrees_with_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 5, 3
    A, c = rng.integers(-5, 6, (m, n)).astype(float), rng.integers(-5, 6, n).astype(float)
    if seed % 2:
        c += rng.random(n)
    side = A @ rng.integers(0, 4, n) + rng.integers(-1, 3, m)
    form = MixedInteger.from_arrays(c, A, -np.inf, side, 0.0, 3.0, integer=True)
    grid = np.stack(np.meshgrid(*[np.arange(4)] * n), -1).reshape(-1, n)
    grid = grid[(grid @ A.T <= side).all(axis=1)]
    if not len(grid):
        assert certify(form, Answer(CONVERGED, Claim.INFEASIBLE)).verdict.kind is VerdictKind.INFEASIBLE
        return
    values = np.sort(grid @ c)
    point = grid[np.argmin(grid @ c)].astype(float)
    certificate = certify(form, Answer(CONVERGED, Claim.OPTIMAL, point))
    assert certificate.verdict.kind is VerdictKind.OPTIMAL
    assert values[0] - 1e-6 * max(1.0, abs(values[0])) <= certificate.bound <= values[0] + 1e-9
    if values[-1] > values[0] + 1e-3:
        worst = grid[np.argmax(grid @ c)].astype(float)
        assert certify(form, Answer(CONVERGED, Claim.OPTIMAL, worst)).verdict.kind is VerdictKind.REFUTED


def test_whole_quadratic_by_enumeration() -> None:
    rng = np.random.default_rng(5)
    F, g = rng.normal(size=(6, 4)), rng.normal(size=6)
    form = MixedInteger.from_arrays(-F.T @ g, lower=-2.0, upper=2.0, integer=True, P=F.T @ F)
    grid = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 4), -1).reshape(-1, 4).astype(float)
    values = np.array([form.objective(x) for x in grid])
    best, second = grid[np.argsort(values)[:2]]
    assert certify(form, Answer(CONVERGED, Claim.OPTIMAL, best)).verdict.kind is VerdictKind.OPTIMAL
    assert certify(form, Answer(CONVERGED, Claim.OPTIMAL, second)).verdict.kind is VerdictKind.REFUTED


def test_curvature_stands_in_for_missing_bounds() -> None:
    # min ½‖x − a‖² over the plane Σx = 0 is n/2 ā²; any w bounds it although no variable has bounds
    a = np.arange(5.0)
    form = QuadraticProgram.from_arrays(-a, np.ones((1, 5)), 0.0, 0.0, P=np.eye(5), c0=float(a @ a) / 2)
    value = 5 / 2 * a.mean() ** 2
    exact = dual_bound(form, polyhedron(form), np.array([-a.mean()]), a - a.mean(), 1.0, strength(form))
    assert exact.value == pytest.approx(value) and exact.minimum.reach is None
    rough = dual_bound(form, polyhedron(form), np.array([-a.mean()]), a - a.mean() + 0.1, 1.0, strength(form))
    assert value - 1 < rough.value < value


def test_convexity_is_decided_from_the_matrix() -> None:
    n = 400
    ring = sp.diags_array([2.0, -1.0, -1.0, -1.0, -1.0], offsets=[0, 1, -1, n - 1, 1 - n], shape=(n, n))
    flat = QuadraticProgram.from_arrays(np.zeros(n), P=ring)
    assert convex(flat)[0]  # the Laplacian of a ring: least eigenvalue 0
    assert not convex(QuadraticProgram.from_arrays(np.zeros(n), P=ring - 1e-3 * sp.eye_array(n)))[0]
    saddle = QuadraticProgram.from_arrays([0.0, 0.0], lower=-1.0, upper=1.0, P=np.diag([1.0, -1.0]), convex=True)
    certificate = certify(saddle, Answer(CONVERGED, Claim.OPTIMAL, np.zeros(2)))
    assert certificate.verdict.kind is VerdictKind.STATIONARY and certificate.bound is None
