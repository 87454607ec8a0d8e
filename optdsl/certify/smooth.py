"""Smooth unconstrained minimisation: gradient, curvature, and rigorous gaps where the analysis found what they need.

Bounds on f(x) − f*, each from f alone at x: strong convexity, ‖g‖²/(2μ); strong self-concordance with M,
(4/M²) ω*(u) with u = Mλ/2 < 1, λ = √(g·∇²f⁻¹g), ω*(u) = −u − ln(1 − u) (Nesterov & Nemirovskii; sheet of
arXiv:2507.00361). The smallest is taken, and what it assumes is named. λ²/2 alone is an estimate and only a note.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from optdsl.certify.record import Check, Proof, Tolerances
from optdsl.forms.answer import Answer
from optdsl.forms.smooth import SmoothUnconstrained

FORMS = (SmoothUnconstrained,)
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

DENSE = 500


def omega_star(u: float) -> float:
    """−u − ln(1 − u) for 0 ≤ u < 1."""
    return -u - math.log1p(-u)


def _hessian(form: SmoothUnconstrained, x: Vector) -> Matrix | None:
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
    proof = Proof(objective=f, violation=0.0, convex=form.is_convex or form.convex)
    residual = float(np.max(np.abs(g), initial=0.0)) / (1.0 + abs(f))
    proof.checks.append(Check("gradient", residual, tol.stationarity, "largest gradient entry over 1 + |f|"))
    proof.residual = residual
    H = _hessian(form, x)
    if H is not None and not np.isfinite(H).all():
        proof.notes.append("the Hessian is not finite at the point")
        H = None
    _curvature(form, x, H, tol, proof)
    if proof.convex:
        _gaps(form, f, g, H, proof)
        if proof.bound is None and _flattens(form, x, f):
            proof.residual = None
            proof.notes.append(
                "the objective is smaller far out along the ray from the start: it has no minimiser there"
            )
    return proof


def _curvature(form: SmoothUnconstrained, x: Vector, H: Matrix | None, tol: Tolerances, proof: Proof) -> None:
    """The least eigenvalue; one that contradicts the stated facts takes them away."""
    values = None if H is None else np.linalg.eigvalsh(H)
    least = _least_eigenvalue(form, x) if values is None else float(values[0]) if len(values) else None
    if least is None:
        return
    size = 1.0 + (abs(least) if values is None else float(np.abs(values).max()))
    limit = tol.stationarity * size
    proof.checks.append(Check("negative curvature", max(0.0, -least), limit, "minus the least eigenvalue"))
    proof.curvature = max(least, 0.0) if least >= -limit else least
    stated = form.strong_convexity or 0.0
    if proof.convex and least < stated - limit:
        proof.convex = False
        proof.notes.append(f"stated to be convex with modulus {stated:.3g}, but the curvature {least:.6g} was found")


def _gaps(form: SmoothUnconstrained, f: float, g: Vector, H: Matrix | None, proof: Proof) -> None:
    found: list[tuple[float, str]] = []
    if form.strong_convexity:
        mu = form.strong_convexity
        found.append((float(g @ g) / (2 * mu), f"strong convexity with modulus {mu:.3g}"))
    newton = None if H is None else newton_decrement(H, g)
    if newton is not None:
        proof.notes.append(f"estimate of the gap by the Newton decrement, no bound: {0.5 * newton**2:.3g}")
        M = form.self_concordance
        if M == 0:
            found.append((0.5 * newton**2, "a quadratic: the Newton decrement is exact"))
        elif M is not None and 0.5 * M * newton < 1:
            found.append((4 / M**2 * omega_star(0.5 * M * newton), f"strong self-concordance with M = {M:.3g}"))
    if found:
        gap, assumption = min(found)
        proof.bound = float(f - gap)
        proof.reason = f"the gap follows from {assumption}"


def newton_decrement(H: Matrix, g: Vector) -> float | None:
    """λ = √(g·H⁻¹g), None where H is not positive definite."""
    try:
        half = solve_triangular(np.linalg.cholesky(H), g, lower=True)
    except np.linalg.LinAlgError:
        return None
    return float(np.sqrt(half @ half))
