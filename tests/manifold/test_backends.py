"""The baselines, Pymanopt, and problems from their text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import optdsl
from optdsl.backends.manifold.radmm import Radmm, RadmmOptions
from optdsl.certify.record import VerdictKind
from optdsl.direct import solve_form
from optdsl.forms.answer import Claim, StopKind
from optdsl.forms.manifold import SmoothOnManifold
from optdsl.kernels.manifolds import MANIFOLDS, Stiefel
from optdsl.kernels.prox import L1
from optdsl.run.run import Run
from tests.manifold.forms import digits, quadratic
from tests.manifold.test_manifolds import KINDS, made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "objective"), [("radmm", -40.077), ("soc", -36.533), ("madmm", -24.263)]
)  # fmt: skip
def test_baselines_on_the_reference_instance(name: str, objective: float) -> None:
    """n = 300, p = 50, μ = 0.01, seed 0, the constants of the RADMM authors' code."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    s = np.abs(rng.standard_normal(300))
    X0 = np.linalg.qr(rng.standard_normal((300, 50)))[0]
    form = replace(quadratic(Q @ np.diag(s) @ Q.T, Stiefel(300, 50), L1(0.01)), x0=X0)
    found = solve_form(form, name, {"max_iter": 60} if name == "madmm" else {})
    assert found.answer.objective == pytest.approx(objective, abs=2e-3)
    assert found.certificate.verdict.kind is VerdictKind.FEASIBLE


def test_manpg_is_stationary() -> None:
    found = solve_form(digits(0.2), "manpg")
    assert found.certificate.verdict.kind is VerdictKind.STATIONARY
    assert found.answer.objective == pytest.approx(-7.9347036410, rel=1e-9)


def test_subgradients_go_down() -> None:
    found = solve_form(digits(0.2), "riemannian_subgradient")
    assert found.answer.objective is not None and found.answer.objective < -7.5
    assert found.certificate.verdict.kind is VerdictKind.FEASIBLE


def test_limits_keep_the_best_point() -> None:
    run = Run()
    run.interrupt()
    answer = Radmm().solve(digits(0.2), RadmmOptions(), run)
    assert answer.stop.kind is StopKind.INTERRUPTED and answer.claim is Claim.FEASIBLE and answer.point is not None


@pytest.mark.parametrize("backend", ["pymanopt_cg", "pymanopt_trust_regions"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_pymanopt_finds_a_point_of_the_manifold(
    kind: tuple[str, tuple[int, ...], dict[str, int]], backend: str
) -> None:
    """½‖X − T‖² weighted, T on the manifold, from a point near T: the minimum is 0, at T."""
    M, rng = made(kind), np.random.default_rng(8)
    T = M.random(rng)
    B = np.diag(np.linspace(1.0, 2.0, M.shape[0]))
    if kind[0] == "grassmann":
        B = B @ T @ T.T @ B
        form = SmoothOnManifold(
            manifold=M, f=lambda X: -0.5 * float(np.vdot(X, B @ X)), egrad=lambda X: -B @ X, ehvp=lambda X, V: -B @ V
        )
        wanted = -0.5 * float(np.sort(np.linalg.eigvalsh(B))[-3:].sum())
    else:
        form = SmoothOnManifold(
            manifold=M,
            f=lambda X: 0.5 * float(np.vdot(X - T, B @ (X - T))),
            egrad=lambda X: B @ (X - T),
            ehvp=lambda X, V: B @ V,
        )
        wanted = 0.0
    near = M.retract(T, M.project(T, 0.05 * float(np.abs(T).min()) * rng.standard_normal(M.shape)))
    found = solve_form(replace(form, x0=near), backend)
    assert found.certificate.verdict.kind is VerdictKind.STATIONARY, found.answer.stop
    assert found.answer.objective == pytest.approx(wanted, abs=1e-8)


def test_pymanopt_stops_at_a_limit() -> None:
    H = np.diag(np.arange(1.0, 40.0))
    form = SmoothOnManifold(
        manifold=Stiefel(39, 3),
        f=lambda X: 0.5 * float(np.vdot(X, H @ X)),
        egrad=lambda X: H @ X,
        ehvp=lambda X, V: H @ V,
    )
    found = solve_form(form, "pymanopt_cg", max_evaluations=5)
    assert found.answer.stop.kind is StopKind.EVALUATION_LIMIT and found.answer.point is not None
    assert found.certificate.verdict.kind is VerdictKind.FEASIBLE


def test_grassmann_refuses_what_depends_on_the_basis() -> None:
    form = quadratic(np.diag([3.0, 2.0, 1.0]), MANIFOLDS["grassmann"]((3, 2)), L1(0.1))
    with pytest.raises(optdsl.OptError) as error:
        solve_form(form, "aradmm")
    assert "in stiefel" in str(error.value.diagnostics[0].notes)


TEXTS = [
    # min over the sphere of −½ λ_max and of group norms: values by hand
    ("var x : real[3] in sphere\nminimize 2*x[0]**2 + x[1]**2 + 3*x[2]**2", "pymanopt_trust_regions", 1.0),
    ("var x : real[4] in sphere\nminimize norm1(x)", "aradmm", 1.0),
    ("var X : real[3, 3] in orthogonal\nminimize sum(abs(X))", "aradmm", 3.0),
    ("var X : real[4, 2] in stiefel\nminimize sum(norm2(X, axis=1))", "aradmm", 2.0),
    ("var x : real[3] in sphere\nminimize norm_inf(x)", "aradmm", 3**-0.5),
    ("var x : real[2] in sphere\nmaximize x[0] - norm1(x)", "aradmm", 0.0),
]


@pytest.mark.parametrize(("text", "backend", "value"), TEXTS)
def test_from_text(text: str, backend: str, value: float) -> None:
    report = optdsl.parse(f'problem "t"\n{text}\n').solve()
    assert report.backend.name == backend
    assert report.verdict.kind == "stationary", report.verdict
    assert report.objective == pytest.approx(value, abs=1e-6)
