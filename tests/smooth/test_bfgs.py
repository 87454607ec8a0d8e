"""BFGS against its theory: iteration counts, invariance, the potential, rates; and against SciPy."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from optdsl.backends.smooth.bfgs import Bfgs, BfgsOptions, first_inverse, update_vector
from optdsl.backends.smooth.gradient_descent import GradientDescent, GradientDescentOptions
from optdsl.backends.smooth.lbfgsb import Lbfgsb, LbfgsbOptions
from optdsl.backends.smooth.scipy_bfgs import ScipyBfgs, ScipyBfgsOptions
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.record import Certificate, Tolerances, VerdictKind
from optdsl.forms.answer import Answer, Claim, StopKind
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.run.run import Event, Run
from tests.smooth.objectives import breast_cancer, hard_cubic, logistic, quadratic, rosenbrock, transformed

Array = NDArray[np.float64]
#: By Newton's method to rounding, in a program of its own.
BREAST_CANCER = 0.1004463037812059
LAM = 0.01
CANCER = logistic(*breast_cancer(), LAM)
SHARP = {"tol": 1e-30, "gtol": 1e-30}


def run(form: SmoothUnconstrained, max_iter: int = 1000, **options: Any) -> tuple[Answer, list[Event]]:
    events: list[Event] = []
    made = Run(on_event=events.append)
    return Bfgs().solve(form, BfgsOptions(max_iter=max_iter, **options), made), events


def iterates(form: SmoothUnconstrained, count: int, **options: Any) -> list[Any]:
    """States with the full matrix H, copied."""
    method, chosen, made = Bfgs(), BfgsOptions(**options), Run()
    states = [method.init(form, chosen, made)]
    copies = [_copied(states[0])]
    for _ in range(count):
        states.append(method.step(form, chosen, states[-1], made))
        if states[-1].failed:
            break
        copies.append(_copied(states[-1]))
    return copies


def _copied(state: Any) -> Any:
    return replace(state, H=np.triu(state.H) + np.triu(state.H, 1).T)


def certify(form: SmoothUnconstrained, answer: Answer) -> Certificate:
    tol = Tolerances()
    return conclude(answer, prove(form, answer, tol), tol)


def plain(form: SmoothUnconstrained) -> SmoothUnconstrained:
    return replace(form, strong_convexity=None, self_concordance=None)


def first_below(events: list[Event], optimum: float, gap: float) -> int:
    return next(e.iteration for e in events if e.objective is not None and e.objective - optimum < gap)


@pytest.mark.parametrize(
    ("b0", "bisection", "published"),
    [(1.0, "log", 62), (LAM, "log", 23), (LAM, "plain", 20), ("largest", "log", 84), ("hessian", "log", 28)],
)
def test_iterations_on_breast_cancer(b0: Any, bisection: str, published: int) -> None:
    A, _ = breast_cancer()
    b0 = float(np.linalg.eigvalsh(A.T @ A / len(A) / 4)[-1]) + LAM if b0 == "largest" else b0
    answer, events = run(plain(CANCER), max_iter=130, b0=b0, bisection=bisection, **SHARP)
    assert answer.objective == pytest.approx(BREAST_CANCER, abs=1e-15)
    assert abs(first_below(events, BREAST_CANCER, 1e-10) - published) <= 2


@pytest.mark.parametrize(
    ("d", "optimum", "b0", "log", "bisected"),
    [
        (10, -0.5241135187457858, 1.0, 42, 41),
        (10, -0.5241135187457858, 1e-3, 19, 16),
        (10, -0.5241135187457858, 2 / 3 + 1e-3, 37, 38),
        (50, -0.4747857889642442, 1.0, 142, 137),
        (50, -0.4747857889642442, 1e-3, 62, 45),
        (50, -0.4747857889642442, 2 / 3 + 1e-3, 128, 130),
    ],
)
def test_iterations_on_the_hard_cubic(d: int, optimum: float, b0: float, log: int, bisected: int) -> None:
    for bisection, published in (("log", log), ("plain", bisected)):
        answer, events = run(plain(hard_cubic(d)), max_iter=200, b0=b0, bisection=bisection, **SHARP)
        assert answer.objective == pytest.approx(optimum, abs=1e-14)
        assert abs(first_below(events, optimum, 1e-8) - published) <= 2


def test_the_hessian_of_the_objectives_is_right() -> None:
    rng = np.random.default_rng(0)
    for form in (CANCER, hard_cubic(6), rosenbrock(4)):
        x = 0.3 * rng.normal(size=len(form.x0))
        assert form.hess is not None
        v, h = rng.normal(size=len(x)), 1e-6
        assert (form.f(x + h * v) - form.f(x - h * v)) / (2 * h) == pytest.approx(form.grad(x) @ v, rel=1e-6)
        difference = (form.grad(x + h * v) - form.grad(x - h * v)) / (2 * h)
        np.testing.assert_allclose(form.hess(x) @ v, difference, rtol=1e-5, atol=1e-7)


def test_affine_invariance() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(31, 31)) * 10 ** np.linspace(-1.5, 1.5, 31)
    unit, metric = replace(CANCER, hess=lambda w: np.eye(31)), replace(transformed(CANCER, A), hess=lambda z: A.T @ A)
    for one, other, agreement in (
        (iterates(unit, 20), iterates(metric, 20), 1e-12),
        (iterates(CANCER, 20), iterates(transformed(CANCER, A), 20), 1e-10),
    ):
        np.testing.assert_allclose([s.f for s in one], [s.f for s in other], rtol=agreement)
        assert [s.eta for s in one] == [s.eta for s in other]
    changed = iterates(transformed(CANCER, A), 20, b0="identity")
    assert abs(changed[20].f - iterates(CANCER, 20, b0="identity")[20].f) > 1e-3


@pytest.mark.parametrize("form", [CANCER, hard_cubic(10)], ids=["logistic", "cubic"])
def test_secant_definiteness_and_both_wolfe_conditions(form: SmoothUnconstrained) -> None:
    states = iterates(form, 25, b0="identity")
    for a, b in itertools.pairwise(states):
        s, y = b.x - a.x, b.g - a.g
        np.testing.assert_allclose(b.H @ y, s, rtol=1e-9, atol=1e-12 * np.abs(s).max())
        assert np.linalg.eigvalsh(b.H)[0] > 0
        np.testing.assert_allclose(b.d, -b.H @ b.g, rtol=1e-9, atol=1e-12 * np.abs(b.d).max())
        slope = float(a.g @ a.d)
        assert b.f <= a.f + 0.1 * b.eta * slope and b.g @ a.d >= 0.9 * slope and s @ y > 0
        assert b.ratio == pytest.approx(float(s @ y / (s @ np.linalg.solve(a.H, s))), rel=1e-8)


def test_the_update_is_that_of_the_paper() -> None:
    rng = np.random.default_rng(1)
    F = rng.normal(size=(5, 5))
    H, s = F @ F.T + np.eye(5), rng.normal(size=5)
    y = np.linalg.solve(H, s) + 0.1 * s
    r = 1 / (s @ y)
    V = np.eye(5) - r * np.outer(s, y)
    w = update_vector(s, y, H @ y, float(s @ y))
    np.testing.assert_allclose(H + np.outer(s, w) + np.outer(w, s), V @ H @ V.T + r * np.outer(s, s), atol=1e-12)


def potential(B: Array) -> float:
    """Ψ(B) = tr B − d − ln det B."""
    return float(np.trace(B) - len(B) - np.linalg.slogdet(B)[1])


@pytest.mark.parametrize(("b0", "psi0"), [(1.0, 1891.8), (LAM, 9.95), ("hessian", 109.0)])
def test_potential_identity_and_product_bound(b0: Any, psi0: float) -> None:
    """In the weights of P = ∇²f(x*): Ψ changes exactly as the update says, and the rate follows from its sum."""
    states = iterates(CANCER, 40, b0=b0)
    star = states[-1] if b0 == "hessian" else iterates(CANCER, 60)[-1]
    assert CANCER.hess is not None
    P = CANCER.hess(star.x)
    values, vectors = np.linalg.eigh(P)
    half = (vectors * np.sqrt(values)) @ vectors.T
    back = (vectors / np.sqrt(values)) @ vectors.T
    hats = [back @ np.linalg.inv(s.H) @ back for s in states[:20]]
    assert potential(hats[0]) == pytest.approx(psi0, rel=5e-3)
    gap0, product = states[0].f - BREAST_CANCER, 1.0
    for i, (a, b) in enumerate(itertools.pairwise(states[:20])):
        s, y, g, B = half @ (b.x - a.x), back @ (b.g - a.g), back @ a.g, hats[i]
        Bs = B @ s
        m, sBs, ss = float(s @ y / (s @ s)), float(s @ Bs), float(s @ s)
        cos2 = sBs**2 / (ss * float(Bs @ Bs))
        u = sBs / ss
        change = y @ y / (s @ y) - 1 - np.log(m) + np.log(cos2) + (1 - u / cos2 + np.log(u / cos2))
        scale = abs(potential(B)) + 1
        assert potential(hats[i + 1]) - potential(B) == pytest.approx(change, abs=1e-8 * scale)
        q = float(g @ g) / max(a.f - BREAST_CANCER, 1e-300)
        product *= 1 - 0.1 * (1 - 0.9) * q * cos2 / m
        assert b.f - BREAST_CANCER <= product * gap0 + 1e-13


def test_exact_line_search_on_a_quadratic_ends_in_d_steps() -> None:
    rng = np.random.default_rng(2)
    d = 6
    F = rng.normal(size=(d, d))
    A, b = F @ F.T + np.eye(d), rng.normal(size=d)
    x, H = np.zeros(d), np.eye(d)
    for _ in range(d):
        g = A @ x - b
        p = -H @ g
        s = -float(g @ p) / float(p @ A @ p) * p
        y = A @ s
        w = update_vector(s, y, H @ y, float(s @ y))
        x, H = x + s, H + np.outer(s, w) + np.outer(w, s)
    np.testing.assert_allclose(A @ x, b, atol=1e-8)
    np.testing.assert_allclose(H, np.linalg.inv(A), atol=1e-8)


@pytest.mark.parametrize("which", ["breast cancer", "cubic"])
def test_the_end_is_superlinear(which: str) -> None:
    form, optimum = (CANCER, BREAST_CANCER) if which == "breast cancer" else (hard_cubic(10), -0.5241135187457858)
    _, events = run(plain(form), b0=LAM if which == "breast cancer" else "identity")
    gaps = [e.objective - optimum for e in events if e.objective is not None and e.objective - optimum > 1e-13]
    factors = np.array(gaps[1:]) / np.array(gaps[:-1])
    assert np.median(factors[-5:]) < 0.5 * np.median(factors[: len(factors) // 2])
    assert all(e.residuals["step"] == 1.0 for e in events[-5:])
    assert events[-1].residuals["curvature ratio"] == pytest.approx(1, abs=0.3)


def test_scipy_agrees() -> None:
    for form in (CANCER, hard_cubic(20), quadratic(np.diag([1.0, 10, 100]), np.ones(3)), rosenbrock(5)):
        peer = minimize(form.f, form.x0, jac=form.grad, hess=form.hess, method="trust-exact", options={"gtol": 1e-10})
        ours, _ = run(form)
        assert ours.stop.kind is StopKind.CONVERGED
        assert ours.objective == pytest.approx(peer.fun, rel=1e-11, abs=1e-12)
        for answer in (
            ScipyBfgs().solve(form, ScipyBfgsOptions(tol=1e-7), Run()),
            Lbfgsb().solve(form, LbfgsbOptions(tol=1e-7), Run()),
        ):
            assert answer.objective == pytest.approx(peer.fun, rel=1e-8, abs=1e-8)
            assert certify(form, answer).verdict.kind in (VerdictKind.OPTIMAL, VerdictKind.STATIONARY)


def test_gradient_descent_gets_there_too() -> None:
    answer = GradientDescent().solve(CANCER, GradientDescentOptions(tol=1e-6), Run())
    certificate = certify(CANCER, answer)
    assert certificate.verdict.kind is VerdictKind.OPTIMAL
    assert certificate.objective == pytest.approx(BREAST_CANCER, abs=1e-9)
    ours, _ = run(CANCER, gtol=1e-6, tol=1e-8)
    assert answer.iterations is not None and ours.iterations is not None
    assert answer.iterations > 2 * ours.iterations


def test_never_outside_the_domain() -> None:
    """c·x − Σ ln(b − Ax): the analytic centre of a polytope; f is inf or nan outside."""
    rng = np.random.default_rng(3)
    A, c = rng.normal(size=(40, 5)), rng.normal(size=5)
    b = np.ones(40)
    asked: list[bool] = []

    def f(x: Array) -> float:
        slack = b - A @ x
        if (slack <= 0).any():
            return float("nan") if x[0] > 0 else float("inf")
        return float(c @ x - np.log(slack).sum())

    def grad(x: Array) -> Array:
        asked.append(bool((b - A @ x > 0).all()))
        return c + A.T @ (1 / (b - A @ x))

    def hess(x: Array) -> Array:
        return (A.T / (b - A @ x) ** 2) @ A

    form = SmoothUnconstrained.from_callables(f, grad, x0=np.zeros(5), hess=hess, self_concordance=2.0)
    answer, _ = run(form, b0=1e-3)
    assert all(asked) and answer.stop.kind is StopKind.CONVERGED and np.abs(grad(answer.point)).max() < 1e-5
    verdict = certify(form, answer).verdict
    assert verdict.kind is VerdictKind.OPTIMAL and "self-concordance" in verdict.reason


def test_separable_data_have_no_minimiser() -> None:
    A = np.array([[1.0, 1], [2, 1], [-1, 1], [-3, 1]])
    form = logistic(A, np.array([1.0, 1, -1, -1]), 0.0)
    answer, _ = run(form)
    assert "no finite minimiser" in answer.stop.message and answer.claim is Claim.NONE
    assert certify(form, answer).verdict.kind not in (VerdictKind.OPTIMAL, VerdictKind.STATIONARY)
    lied = replace(answer, claim=Claim.OPTIMAL)
    assert certify(form, lied).verdict.kind not in (VerdictKind.OPTIMAL, VerdictKind.STATIONARY)


@pytest.mark.parametrize(
    "form",
    [
        SmoothUnconstrained.from_callables(lambda x: float(x[0]), lambda x: np.ones(1), x0=[0.0], convex=True),
        SmoothUnconstrained.from_callables(lambda x: -float(x @ x), lambda x: -2 * x, x0=[1.0, 2.0]),
        SmoothUnconstrained.from_callables(lambda x: float(-(x[0] ** 3)), lambda x: -3 * x**2, x0=[1.0]),
    ],
    ids=["linear", "concave", "cubic"],
)
def test_unbounded_below(form: SmoothUnconstrained) -> None:
    answer, _ = run(form)
    assert answer.claim is Claim.UNBOUNDED and "without end" in answer.stop.message
    assert certify(form, answer).verdict.kind is VerdictKind.UNPROVEN


def test_start_that_is_no_number() -> None:
    form = SmoothUnconstrained.from_callables(lambda x: float("nan"), lambda x: x, x0=[1.0])
    answer, _ = run(form)
    assert answer.stop.kind is StopKind.FAILED and answer.point is None
    assert certify(form, answer).verdict.kind is VerdictKind.UNPROVEN


def test_a_start_at_the_optimum_needs_no_step() -> None:
    form = quadratic(np.eye(3), np.zeros(3))
    answer, _ = run(form)
    assert answer.iterations == 0 and certify(form, answer).verdict.kind is VerdictKind.OPTIMAL


def test_first_matrices() -> None:
    A = np.diag([4.0, 4.0])
    form = quadratic(A, np.ones(2))
    g = form.grad(form.x0)
    for b0, expected in (
        (2.0, np.eye(2) / 2),
        ("identity", np.eye(2)),
        ("hessian", np.eye(2) / 4),
        ("scaled", np.eye(2) / 4),
    ):
        np.testing.assert_allclose(first_inverse(form, b0, form.x0, g), expected, rtol=1e-6)
    saddle = replace(form, hess=lambda x: np.diag([1.0, -1.0]))
    np.testing.assert_allclose(first_inverse(saddle, "hessian", form.x0, g), np.eye(2) / 4, rtol=1e-6)


def test_options_are_checked() -> None:
    for wrong in ({"alpha": 0.4, "beta": 0.3}, {"alpha": 0.5}, {"b0": -1.0}, {"b0": "newton"}, {"beta": 1.0}):
        with pytest.raises(ValueError, match="validation error"):
            BfgsOptions.model_validate(wrong)


def test_the_gradient_falls_on_after_the_values_stand_still() -> None:
    """Condition 1e4, n = 200: f is known to some 1e-13, the gradient still falls by a factor of thousands."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(200, 200)))[0]
    form = replace(plain(quadratic((Q * np.logspace(0, 4, 200)) @ Q.T, rng.normal(size=200))), hess=None)
    answer, _ = run(form, tol=1e-20, gtol=1e-8)
    assert answer.stop.kind is StopKind.CONVERGED
    assert np.abs(form.grad(answer.point)).max() <= 1e-8 * (1 + abs(answer.objective or 0.0))
