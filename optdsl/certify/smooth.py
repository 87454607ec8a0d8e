"""Smooth unconstrained minimisation: gradient, curvature, and rigorous gaps where the analysis found what they need.

Bounds on f(x) − f*, each from f alone at x: strong convexity, ‖g‖²/(2μ); strong self-concordance with M,
(4/M²) ω*(u) with u = Mλ/2 < 1, λ = √(g·∇²f⁻¹g), ω*(u) = −u − ln(1 − u) (Nesterov & Nemirovskii; sheet of
arXiv:2507.00361). The smallest is taken, and what it assumes is named. λ²/2 alone is an estimate and only a note.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from optdsl.certify.record import Check, Proof, Tolerances
from optdsl.forms.answer import Answer
from optdsl.forms.smooth import SmoothUnconstrained

FORMS = (SmoothUnconstrained,)
Vector = NDArray[np.float64]

DENSE = 500


def omega_star(u: float) -> float:
    """−u − ln(1 − u) for 0 ≤ u < 1."""
    return -u - math.log1p(-u)


def _hessian(form: SmoothUnconstrained, x: Vector) -> NDArray[np.float64] | None:
    n = len(x)
    if n > DENSE:
        return None
    if form.hess is not None:
        return np.asarray(form.hess(x), dtype=float)
    if form.hvp is not None:
        columns = [np.asarray(form.hvp(x, e), dtype=float) for e in np.eye(n)]
        return np.stack(columns, axis=1)
    return None


def _least_eigenvalue(form: SmoothUnconstrained, x: Vector) -> float | None:
    """By Lanczos on Hessian-vector products."""
    if form.hvp is None:
        return None
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n = len(x)
    hvp = form.hvp
    H = LinearOperator((n, n), matvec=lambda v: np.asarray(hvp(x, np.ravel(v)), dtype=float), dtype=float)
    try:
        v0 = np.random.default_rng(0).standard_normal(n)
        return float(eigsh(H, k=1, which="SA", return_eigenvectors=False, tol=1e-4, v0=v0, maxiter=20 * n)[0])
    except ArpackNoConvergence:
        return None


def _flattens(form: SmoothUnconstrained, x: Vector, f: float) -> bool:
    """Whether f is smaller farther out on the ray from the start through x: then ∇f ≈ 0 is no minimum."""
    step = x - np.asarray(form.x0, dtype=float)
    if not np.any(step):
        return False
    far = [float(form.f(form.x0 + k * step)) for k in (10.0, 100.0)]
    return far[0] < f - 1e-12 * abs(f) and far[1] <= far[0]


def prove(form: SmoothUnconstrained, answer: Answer, tol: Tolerances) -> Proof:
    if answer.point is None:
        return Proof()
    x = np.asarray(answer.point, dtype=float)
    if x.shape != np.shape(form.x0) or not np.isfinite(x).all():
        return Proof(objective=float("nan"))
    f, g = float(form.f(x)), np.asarray(form.grad(x), dtype=float)
    if not (math.isfinite(f) and np.isfinite(g).all()):
        return Proof(objective=float("nan"))
    proof = Proof(objective=f, violation=0.0, convex=form.convex)
    residual = float(np.max(np.abs(g), initial=0.0)) / (1.0 + abs(f))
    proof.checks.append(Check("gradient", residual, tol.stationarity, "largest gradient entry over 1 + |f|"))
    proof.residual = residual
    H = _hessian(form, x)
    least = float(np.linalg.eigvalsh(H)[0]) if H is not None and np.isfinite(H).all() else _least_eigenvalue(form, x)
    if least is not None and not form.convex:
        size = 1.0 + (float(np.linalg.norm(H, 2)) if H is not None else abs(least))
        limit = tol.stationarity * size
        proof.checks.append(Check("negative curvature", max(0.0, -least), limit, "minus the least eigenvalue"))
        proof.curvature = max(least, 0.0) if least >= -limit else least
    _gaps(form, f, g, H, proof)
    if form.convex and proof.bound is None and _flattens(form, x, f):
        proof.residual = None
        proof.reason = ""
        proof.notes.append("the objective is smaller far out along the ray from the start: it has no minimiser there")
    return proof


def _gaps(form: SmoothUnconstrained, f: float, g: Vector, H: NDArray[np.float64] | None, proof: Proof) -> None:
    found: list[tuple[float, str]] = []
    if form.convex and form.strong_convexity:
        mu = form.strong_convexity
        found.append((float(g @ g) / (2 * mu), f"strong convexity with modulus {mu:.3g}"))
    if H is not None and np.isfinite(H).all() and form.convex:
        try:
            L = np.linalg.cholesky(H)
        except np.linalg.LinAlgError:
            L = None
        if L is not None:
            half = np.linalg.solve(L, g)
            lam = float(np.sqrt(half @ half))
            proof.notes.append(f"estimate of the gap by the Newton decrement, no bound: {0.5 * lam**2:.3g}")
            if form.self_concordance is not None:
                M = form.self_concordance
                u = 0.5 * M * lam
                if M == 0:
                    found.append((0.5 * lam**2, "a quadratic: the Newton decrement is exact"))
                elif u < 1:
                    found.append((4 / M**2 * omega_star(u), f"strong self-concordance with M = {M:.3g}"))
    if found:
        gap, assumption = min(found)
        proof.bound = f - gap
        proof.reason = f"the gap follows from {assumption}"
