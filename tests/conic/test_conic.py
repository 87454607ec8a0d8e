"""Disciplined convex programs by interior point and by splitting: known values, proofs, bounds, lies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optdsl.backends.conic.clarabel import Clarabel, ClarabelOptions
from optdsl.backends.conic.scs import Scs, ScsOptions, order
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.cones import block_sizes, interior, matrix, member
from optdsl.certify.conic import dual_bound
from optdsl.certify.record import Certificate, Tolerances, VerdictKind
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.conic import Cones, Conic
from optdsl.run.run import Run

cp = pytest.importorskip("cvxpy")

BACKENDS = [(Clarabel, ClarabelOptions), (Scs, ScsOptions)]
CONVERGED = Stop(StopKind.CONVERGED)
PETERSEN = (
    [(i, (i + 1) % 5) for i in range(5)] + [(i, i + 5) for i in range(5)] + [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
)


def conic(objective: Any, constraints: list[Any]) -> Conic:
    problem = cp.Problem(objective, constraints)
    return Conic(
        problem=problem,
        variables={v.name(): v for v in problem.variables()},
        rows={f"row{i}": row for i, row in enumerate(constraints)},
        maximise=isinstance(objective, cp.Maximize),
    )


def certify(form: Conic, answer: Answer) -> Certificate:
    tol = Tolerances()
    return conclude(answer, prove(form, answer, tol), tol, maximise=form.maximise)


def max_cut() -> Conic:
    L = np.zeros((10, 10))
    for i, j in PETERSEN:
        L[[i, j], [i, j]] += 1
        L[[i, j], [j, i]] -= 1
    X = cp.Variable((10, 10), symmetric=True, name="X")
    return conic(cp.Maximize(cp.trace(L @ X) / 4), [X >> 0, cp.diag(X) == 1])


def entropy() -> Conic:
    x = cp.Variable(4, name="x")
    return conic(cp.Maximize(cp.sum(cp.entr(x))), [cp.sum(x) == 1, x[0] >= 0.1])


def lasso() -> Conic:
    rng = np.random.default_rng(0)
    x = cp.Variable(3, name="x")
    return conic(cp.Minimize(cp.sum_squares(rng.normal(size=(6, 3)) @ x - np.arange(6.0)) / 2 + cp.norm1(x)), [])


def power_cone() -> Conic:
    x = cp.Variable(2, name="x")
    return conic(cp.Minimize(x[0] - x[1]), [cp.PowCone3D(x[0], 1.0, x[1], 0.3)])


def geometric() -> Conic:
    x = cp.Variable(3, name="x", nonneg=True)
    return conic(cp.Maximize(cp.geo_mean(x, [1, 2, 3])), [cp.sum(x) <= 1])


def log_det() -> Conic:
    X = cp.Variable((3, 3), PSD=True, name="X")
    return conic(cp.Maximize(cp.log_det(X)), [cp.trace(X) <= 6])


KNOWN = [
    # the SDP bound of an edge-transitive graph is n/4 times the largest Laplacian eigenvalue: 10/4 · 5
    (max_cut, 12.5),
    (entropy, np.log(4)),
    # x₁ = x₀^0.3 is best where 0.3 x₀^{−0.7} = 1
    (power_cone, 0.3 ** (1 / 0.7) - 0.3 ** (0.3 / 0.7)),
    # Σx = 1 with weights p = (1, 2, 3)/6 is best at x = p
    (geometric, float(np.prod((np.arange(1, 4) / 6) ** (np.arange(1, 4) / 6)))),
    # X = 2 I
    (log_det, 3 * np.log(2)),
]


@pytest.mark.parametrize(("backend", "options"), BACKENDS)
@pytest.mark.parametrize(("make", "value"), KNOWN)
def test_known_values_are_proven(backend: Any, options: Any, make: Any, value: float) -> None:
    form = make()
    certificate = certify(form, backend().solve(form, options(), Run()))
    assert certificate.verdict.kind is VerdictKind.OPTIMAL
    assert certificate.objective == pytest.approx(value, abs=2e-6)
    assert certificate.bound == pytest.approx(value, abs=2e-6)
    assert form.problem.variables()[0].value is None


def test_both_methods_agree_on_the_lasso() -> None:
    answers = [backend().solve(lasso(), options(), Run()) for backend, options in BACKENDS]
    assert answers[0].point["x"] == pytest.approx(answers[1].point["x"], abs=1e-6)
    for answer in answers:
        assert certify(lasso(), answer).verdict.kind is VerdictKind.OPTIMAL


def test_duals_are_by_constraint() -> None:
    x = cp.Variable(2, name="x")
    form = conic(cp.Minimize(cp.sum_squares(x)), [cp.sum(x) == 2, x[0] <= 0.5])
    answer = Clarabel().solve(form, ClarabelOptions(), Run())
    # x = (½, 3/2): 2 x₁ = 3 is the multiplier of the sum, and 3 − 2 x₀ = 2 that of the limit
    assert answer.point["x"] == pytest.approx([0.5, 1.5], abs=1e-6)
    assert abs(answer.dual["row row0"]) == pytest.approx(3, abs=1e-5)
    assert answer.dual["row row1"] == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize(("backend", "options"), BACKENDS)
def test_infeasible_and_unbounded(backend: Any, options: Any) -> None:
    x = cp.Variable(3, name="x")
    X = cp.Variable((2, 2), PSD=True, name="X")
    y = cp.Variable(2, name="y")
    empty = [
        conic(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1, x[0] >= 2]),
        conic(cp.Minimize(X[0, 0]), [X[0, 1] >= 2, X[0, 0] <= 1, X[1, 1] <= 1]),
        conic(cp.Minimize(y[0]), [cp.exp(y[0]) <= y[1], y[1] <= -1]),
    ]
    for form in empty:
        certificate = certify(form, backend().solve(form, options(), Run()))
        assert certificate.verdict.kind is VerdictKind.INFEASIBLE, certificate
    endless = conic(cp.Minimize(x[0] - x[2]), [cp.norm(x[:2]) <= x[2] + 1])
    answer = backend().solve(endless, options(), Run())
    assert certify(endless, answer).verdict.kind is VerdictKind.UNBOUNDED
    d = answer.ray["direction of x"]
    assert np.linalg.norm(d[:2]) <= d[2] + 1e-6 and d[0] - d[2] < 0


def test_limits() -> None:
    answer = Clarabel().solve(max_cut(), ClarabelOptions(max_iter=2), Run())
    assert answer.stop.kind is StopKind.ITERATION_LIMIT
    assert certify(max_cut(), answer).verdict.kind is not VerdictKind.OPTIMAL
    run = Run()
    run.interrupt()
    for backend, options in BACKENDS:
        stopped = backend().solve(lasso(), options(), run)
        assert stopped.stop.kind in (StopKind.INTERRUPTED, StopKind.CONVERGED)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from(range(len(KNOWN))), st.floats(0, 3))
def test_any_multipliers_give_a_bound(seed: int, which: int, size: float) -> None:
    make, value = KNOWN[which]
    form = FORMS.setdefault(which, make())
    standard = form.standard
    if which not in ANSWERS:
        ANSWERS[which] = Clarabel().solve(form, ClarabelOptions(), Run())
    best = ANSWERS[which]
    rng = np.random.default_rng(seed)
    z = best.dual["cone"] + size * rng.normal(size=standard.b.size)
    w = best.dual["standard"] + size * rng.normal(size=standard.c.size)
    least = -value if form.maximise else value
    assert dual_bound(standard, z, w, 1e3).value <= least + 1e-6
    proof = prove(form, replace(best, dual={"cone": z, "standard": w}), Tolerances())
    assert proof.bound is None or proof.bound <= least + 1e-6


FORMS: dict[int, Conic] = {}
ANSWERS: dict[int, Answer] = {}


def test_early_iterates_give_bounds() -> None:
    for make, value in KNOWN:
        form = make()
        least = -value if form.maximise else value
        for steps in (1, 3, 5):
            answer = Clarabel().solve(form, ClarabelOptions(max_iter=steps), Run())
            bound = dual_bound(form.standard, answer.dual["cone"], answer.dual["standard"], 1e3)
            assert bound.value <= least + 1e-7


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_members_of_a_cone_and_its_dual_have_no_obtuse_angle(seed: int) -> None:
    cones = Cones(zero=2, nonneg=3, soc=(3, 3, 4), psd=(2, 3), exp=4, powers=((0.3, 0.7), (0.2, 0.3, 0.5)))
    sizes = block_sizes(cones)
    rng = np.random.default_rng(seed)
    v, u = (rng.normal(size=sizes.sum()) * 10.0 ** rng.integers(-3, 3) for _ in range(2))
    s, z = member(cones, v, dual=False), member(cones, u, dual=True)
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        assert s[start:end] @ z[start:end] >= -1e-9 * np.linalg.norm(s[start:end]) * np.linalg.norm(z[start:end])
    e = interior(cones)
    for dual in (True, False):
        assert member(cones, e, dual=dual) == pytest.approx(e)
        again = member(cones, s if not dual else z, dual=dual)
        assert again == pytest.approx(s if not dual else z, rel=1e-9, abs=1e-12)


def test_order_of_semidefinite_entries() -> None:
    M = np.array([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    upper = np.array([1, 2 * 2**0.5, 4, 3 * 2**0.5, 5 * 2**0.5, 6])
    assert matrix(upper, 3) == pytest.approx(M)
    lower = upper[order(Cones(0, 0, (), (3,), 0, ()), 6)]
    assert lower == pytest.approx([1, 2 * 2**0.5, 3 * 2**0.5, 4, 5 * 2**0.5, 6])


def test_lies() -> None:
    form = max_cut()
    answer = Clarabel().solve(form, ClarabelOptions(), Run())
    X = answer.point["X"]
    wrong = {
        "identity": {"X": np.eye(10)},
        "infeasible": {"X": X + 1e-3 * np.eye(10)},
        "asymmetric": {"X": X + np.triu(np.full((10, 10), 1e-2), 1)},
        "nan": {"X": np.full((10, 10), np.nan)},
        "missing": {},
    }
    verdicts = {name: certify(form, replace(answer, point=point)).verdict.kind for name, point in wrong.items()}
    assert verdicts == {
        "identity": VerdictKind.UNPROVEN,
        "infeasible": VerdictKind.REFUTED,
        "asymmetric": VerdictKind.REFUTED,
        "nan": VerdictKind.REFUTED,
        "missing": VerdictKind.REFUTED,
    }
    z = answer.dual["cone"]
    for lie in (
        replace(answer, dual={"cone": -z}, point={"X": np.eye(10)}),
        Answer(CONVERGED, Claim.INFEASIBLE, ray={"dual": z}),
        Answer(CONVERGED, Claim.UNBOUNDED, answer.point, ray={"primal": answer.dual["standard"]}),
        Answer(CONVERGED, Claim.INFEASIBLE, ray={"dual": np.full_like(z, np.nan)}),
    ):
        assert certify(form, lie).verdict.kind in (VerdictKind.UNPROVEN, VerdictKind.REFUTED)
    assert certify(form, Answer(CONVERGED, Claim.INFEASIBLE, answer.point)).verdict.kind is VerdictKind.REFUTED


def test_falling_for_ever_without_a_direction_is_not_proven() -> None:
    x = cp.Variable(3, name="x")
    form = conic(cp.Maximize(cp.sum(cp.log(x))), [x >= 1])
    answer = Answer(CONVERGED, Claim.OPTIMAL, {"x": np.full(3, 5.0)})
    assert certify(form, answer).verdict.kind is VerdictKind.UNPROVEN
