"""From a nearby point to a KKT point in digits: augmented Lagrangian steps whose inner problems a trust region solves.

Our addition to ARADMM, whose residuals fall only like k^{-1/3}. With ρ fixed, ψ(X) of `splitting` has the Riemannian
gradient P_X(∇f − A*λ̄) and, h's prox being semismooth, the generalised Hessian of f plus ρ A*(I − J)A with J the
derivative of prox_{h/ρ}. Truncated conjugate gradients (Steihaug) inside a Riemannian trust region minimise ψ; then
λ ← λ̄, which converges linearly with a rate of order 1/ρ (inexact augmented Lagrangian: Deng and Peng's ManIAL;
trust region: Absil, Baker and Gallivan, Found. Comput. Math. 7, 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optdsl.backends.manifold.splitting import Split, Triple
from optdsl.kernels.manifolds import Array

#: Relative size of the step that differentiates a prox or a gradient.
DIFFERENCE = 1e-7
#: Largest number of conjugate gradient steps for one trust-region step.
CG_STEPS = 200
#: The penalty grows by this factor where the split residual did not fall by `FALL`.
GROWTH, FALL = 4.0, 0.25


@dataclass(frozen=True)
class Inner:
    """One point of the inner problem: X, multipliers λ, penalty ρ, trust radius Δ, and the split residual when λ was
    last changed."""

    X: Array
    lam: Array
    rho: float
    radius: float
    last_r_f: float
    triple: Triple


def hessian_product(split: Split, X: Array, lam: Array, rho: float, at: Triple, V: Array) -> Array:
    """The generalised Riemannian Hessian of ψ at X on a tangent V."""
    form, d = split.form, split.A(V)
    z = split.A(X) - lam / rho
    step = DIFFERENCE * (1.0 + float(np.abs(z).max())) / max(float(np.abs(d).max()), 1e-300)
    Jd = (split.prox(z + step * d, 1.0 / rho) - at.y) / step
    if form.ehvp is not None:
        H = form.ehvp(X, V)
    else:
        t = DIFFERENCE * (1.0 + float(np.abs(X).max())) / max(float(np.abs(V).max()), 1e-300)
        H = (form.egrad(X + t * V) - form.egrad(X - t * V)) / (2.0 * t)
    return split.M.hess(X, V, at.G - split.At(at.lam), H + rho * split.At(d - Jd))


def steihaug(split: Split, inner: Inner) -> tuple[Array, float]:
    """A tangent step S with ‖S‖ ≤ Δ that lowers the model ⟨g, S⟩ + ½⟨S, H S⟩, and the decrease that it promises."""
    g, D2 = inner.triple.g, inner.radius**2
    S, HS = np.zeros_like(g), np.zeros_like(g)
    r, P = g.copy(), -g
    rr = first = float(np.vdot(r, r))
    target = first * min(0.1, first**0.5) ** 2
    for _ in range(CG_STEPS):
        HP = hessian_product(split, inner.X, inner.lam, inner.rho, inner.triple, P)
        curvature = float(np.vdot(P, HP))
        alpha = rr / curvature if curvature > 0 else np.inf
        if curvature <= 0 or float(np.vdot(S + alpha * P, S + alpha * P)) >= D2:
            PP, SP, SS = float(np.vdot(P, P)), float(np.vdot(S, P)), float(np.vdot(S, S))
            alpha = (-SP + np.sqrt(SP**2 + PP * (D2 - SS))) / PP
            S, HS = S + alpha * P, HS + alpha * HP
            break
        S, HS = S + alpha * P, HS + alpha * HP
        r = r + alpha * HP
        before, rr = rr, float(np.vdot(r, r))
        if rr <= target:
            break
        P = -r + (rr / before) * P
    return S, -float(np.vdot(g, S) + 0.5 * np.vdot(S, HS))


def begin(split: Split, X: Array, lam: Array, rho: float) -> Inner:
    triple = split.triple(X, lam, rho)
    return Inner(X, lam, rho, 0.1 * max(1.0, float(np.linalg.norm(X))), triple.r_f, triple)


def advance(split: Split, inner: Inner, tol: float) -> Inner:
    """One trust-region step, or, where the inner problem is solved as far as its residuals ask, new multipliers."""
    t = inner.triple
    scale_x = 1.0 + float(np.linalg.norm(t.G))
    scale_f = 1.0 + float(np.linalg.norm(split.A(inner.X)))
    if t.r_x / scale_x <= max(0.3 * tol, min(1e-3, 0.1 * t.r_f / scale_f)):
        rho = inner.rho if t.r_f <= FALL * inner.last_r_f else GROWTH * inner.rho
        return Inner(inner.X, t.lam, rho, inner.radius, t.r_f, split.triple(inner.X, t.lam, rho))
    S, promised = steihaug(split, inner)
    X = split.M.retract(inner.X, S)
    trial = split.triple(X, inner.lam, inner.rho)
    before, after = split.psi(inner.X, inner.lam, inner.rho), split.psi(X, inner.lam, inner.rho)
    noise = 1e-13 * (1.0 + abs(before))
    ratio = (before - after + noise) / (promised + noise)
    radius = inner.radius
    size = float(np.linalg.norm(S))
    if ratio < 0.25:
        radius = 0.25 * size
    elif ratio > 0.75 and size > 0.9 * radius:
        radius = 2.0 * radius
    if ratio > 0.1:
        return Inner(X, inner.lam, inner.rho, radius, inner.last_r_f, trial)
    return Inner(inner.X, inner.lam, inner.rho, radius, inner.last_r_f, t)
