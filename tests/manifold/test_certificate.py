"""Certificates on manifolds: what is stationary is found so without help, and lies are not believed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optdsl.backends.manifold.aradmm import Aradmm, AradmmOptions
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.record import Certificate, Tolerances, VerdictKind
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.manifold import Array, CompositeOnManifold, SmoothOnManifold
from optdsl.kernels.manifolds import Grassmann, Sphere, Stiefel
from optdsl.run.run import Run
from tests.manifold.forms import digits

CONVERGED = Stop(StopKind.CONVERGED)
NOT_BELIEVED = (VerdictKind.REFUTED, VerdictKind.UNPROVEN)


def certify(form: SmoothOnManifold, answer: Answer) -> Certificate:
    tol = Tolerances()
    return conclude(answer, prove(form, answer, tol), tol)


@pytest.fixture(scope="module")
def problem() -> tuple[CompositeOnManifold, Answer]:
    form = digits(0.2)
    return form, Aradmm().solve(form, AradmmOptions(), Run())


def test_multipliers_are_not_needed(problem: tuple[CompositeOnManifold, Answer]) -> None:
    form, answer = problem
    certificate = certify(form, replace(answer, dual={}))
    assert certificate.verdict.kind is VerdictKind.STATIONARY
    assert certificate.objective == pytest.approx(-7.9347036410, rel=1e-7)


def test_wrong_multipliers_do_no_harm_and_no_good(problem: tuple[CompositeOnManifold, Answer]) -> None:
    form, answer = problem
    rng = np.random.default_rng(0)
    wrong = {"terms": rng.standard_normal(305), "split": rng.standard_normal(305)}
    assert certify(form, replace(answer, dual=wrong)).verdict.kind is VerdictKind.STATIONARY
    nan = {"terms": np.full(305, np.nan), "split": np.ravel(answer.point)}
    assert certify(form, replace(answer, dual=nan)).verdict.kind is VerdictKind.STATIONARY
    # multipliers that zero the gradient but are no subgradients
    X = form.manifold.random(rng)
    forged = Answer(CONVERGED, Claim.STATIONARY, X, dual={"terms": np.ravel(form.egrad(X)), "split": np.ravel(X)})
    certificate = certify(form, forged)
    assert certificate.verdict.kind in NOT_BELIEVED
    assert min(c.value for c in certificate.checks if c.name.startswith("KKT")) > 1e-3


def test_lies(problem: tuple[CompositeOnManifold, Answer]) -> None:
    form, answer = problem
    X = answer.point
    rng = np.random.default_rng(2)
    lies: list[Array] = [
        form.manifold.random(rng),
        X * 1.001,
        X + 1e-4 * rng.standard_normal(X.shape),
        form.manifold.retract(X, 1e-4 * form.manifold.project(X, rng.standard_normal(X.shape))),
        np.full_like(X, np.nan),
        np.zeros((2, 2)),
    ]
    for point in lies:
        for claim in (Claim.STATIONARY, Claim.OPTIMAL):
            told = replace(answer, point=point, claim=claim, objective=-1e9)
            assert certify(form, told).verdict.kind in NOT_BELIEVED
    assert certify(form, replace(answer, claim=Claim.INFEASIBLE)).verdict.kind is VerdictKind.REFUTED


def smooth(M: Stiefel | Sphere, H: Array) -> SmoothOnManifold:
    return SmoothOnManifold(
        manifold=M, f=lambda X: 0.5 * float(np.vdot(X, H @ X)), egrad=lambda X: H @ X, ehvp=lambda X, V: H @ V
    )


@pytest.mark.parametrize("n", [4, 60, 120])
def test_curvature_on_the_sphere(n: int) -> None:
    """At an eigenvector of value λ_k the Riemannian Hessian of ½xᵀHx has the eigenvalues λ_j − λ_k, j ≠ k."""
    w = np.linspace(1.0, 2.0, n) ** 2
    form = smooth(Sphere((n,)), np.diag(w))
    least = certify(form, Answer(CONVERGED, Claim.STATIONARY, np.eye(n)[0]))
    assert least.verdict.kind is VerdictKind.STATIONARY
    assert float(least.notes[0].split()[-1]) == pytest.approx(w[1] - w[0], rel=1e-4)
    saddle = certify(form, Answer(CONVERGED, Claim.STATIONARY, np.eye(n)[2]))
    assert "not a minimum" in saddle.verdict.reason
    assert float(saddle.notes[0].split()[-1]) == pytest.approx(w[0] - w[2], rel=1e-4)


def test_subspaces_are_held_to_every_direction() -> None:
    """On Grassmann an objective that depends on the basis is not stationary where only the subspace's part vanishes."""
    rng = np.random.default_rng(4)
    C = np.zeros((5, 2))
    C[:2] = rng.standard_normal((2, 2))
    form = SmoothOnManifold(
        manifold=Grassmann(5, 2), f=lambda X: float(np.vdot(C, X)), egrad=lambda X: C, ehvp=lambda X, V: 0 * V
    )
    X = np.eye(5)[:, :2]
    np.testing.assert_allclose(form.manifold.project(X, C), 0, atol=1e-15)
    assert certify(form, Answer(CONVERGED, Claim.STATIONARY, X)).verdict.kind in NOT_BELIEVED
