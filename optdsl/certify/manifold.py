"""First-order proofs on a manifold, from the form and the point alone.

Smooth: the Riemannian gradient, and the smallest curvature of the Riemannian Hessian where affordable. Composite,
f(X) + Σ hᵢ(Aᵢ X): any multipliers λ and any scale s give a pair that can be checked, y = prox_{s h}(A X − s λ) and
λ' = λ − (A X − y)/s, since then −λ' ∈ ∂h(y) whatever λ was. X is stationary to
max(‖P_X(∇f − A*λ')‖ / (1 + ‖∇f‖), ‖A X − y‖ / (1 + ‖A X‖)).
The multipliers are the answer's and, independently, those found here from X: the dual of ManPG's subproblem
min_D ⟨∇f, D⟩ + ‖D‖²/(2t) + h(A(X + D)) over tangent D (Chen, Ma, So and Zhang, SIAM J. Optim. 30, 2020), by
accelerated proximal gradient with restarts. Both are reported; the smaller counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from optdsl.certify.record import Check, Proof, Tolerances
from optdsl.forms.answer import Answer
from optdsl.forms.manifold import CompositeOnManifold, SmoothOnManifold
from optdsl.kernels.manifolds import Array, Grassmann, Manifold, Stiefel

FORMS = (SmoothOnManifold, CompositeOnManifold)

#: Steps of the search for multipliers; scales s tried for multipliers that are given.
DUAL_STEPS = 4000
SCALES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
#: Largest number of entries for a dense Hessian, and for Lanczos; steps of Lanczos.
DENSE, SPARSE, LANCZOS = 80, 20_000, 400
#: An entry of y below this counts as zero, as in the method's paper.
ZERO = 1e-5


def _tangent(form: SmoothOnManifold) -> Manifold:
    """A subspace stands for all its bases; stationarity is asked of every direction, so that an objective which does
    depend on the basis is found out."""
    M = form.manifold
    return Stiefel(M.n, M.p) if isinstance(M, Grassmann) else M


def prove(form: SmoothOnManifold, answer: Answer, tol: Tolerances) -> Proof:
    proof = Proof()
    if answer.point is None:
        return proof
    X = np.asarray(answer.point, float)
    if X.shape != tuple(form.manifold.shape) or not np.all(np.isfinite(X)):
        proof.objective = math.nan
        return proof
    proof.violation = form.manifold.residual(X)
    proof.objective = form.f(X)
    terms = form.terms if isinstance(form, CompositeOnManifold) else ()
    proof.objective += sum(t.h.value(np.asarray(t.A.apply(X))) for t in terms)
    G = np.asarray(form.egrad(X))
    if not (math.isfinite(proof.objective) and np.all(np.isfinite(G))):
        proof.objective = math.nan
        return proof
    if proof.violation > tol.feasibility:
        return proof
    if isinstance(form, CompositeOnManifold) and form.terms:
        _composite(form, answer, X, G, tol, proof)
    else:
        _smooth(form, X, G, tol, proof)
    return proof


def _smooth(form: SmoothOnManifold, X: Array, G: Array, tol: Tolerances, proof: Proof) -> None:
    proof.residual = float(np.linalg.norm(_tangent(form).project(X, G)) / (1.0 + np.linalg.norm(G)))
    meaning = "norm of the Riemannian gradient, relative to 1 + the Euclidean one"
    proof.checks.append(Check("Riemannian gradient", proof.residual, tol.stationarity, meaning))
    if proof.residual <= tol.stationarity and form.ehvp is not None and X.size <= SPARSE:
        proof.curvature = curvature(form, X, G)
        if proof.curvature is not None:
            proof.notes.append(f"smallest curvature of the Riemannian Hessian: {proof.curvature:.6g}")


def curvature(form: SmoothOnManifold, X: Array, G: Array) -> float | None:
    """The smallest eigenvalue of the Riemannian Hessian on the tangent space; values that rounding explains are 0."""
    M, ehvp = form.manifold, form.ehvp
    assert ehvp is not None

    def product(v: Array) -> Array:
        V = M.project(X, v.reshape(X.shape))
        return np.ravel(M.project(X, M.hess(X, V, G, np.asarray(ehvp(X, V)))))

    if X.size <= DENSE:
        H = np.stack([product(e) for e in np.eye(X.size)])
        P = np.stack([np.ravel(M.project(X, e.reshape(X.shape))) for e in np.eye(X.size)])
        w = np.linalg.eigvalsh(0.5 * (H + H.T))
        size = float(np.abs(w).max())
        w = np.linalg.eigvalsh(0.5 * (H + H.T) + 2.0 * (1.0 + size) * (np.eye(X.size) - P))
        least = float(w[0])
    else:
        start = np.ravel(M.project(X, np.random.default_rng(0).standard_normal(X.shape)))
        plain = LinearOperator((X.size, X.size), matvec=product, dtype=float)
        try:
            size = abs(float(eigsh(plain, k=1, which="LM", v0=start, maxiter=LANCZOS, tol=1e-2)[0][0]))
            lift = 2.0 * (1.0 + size)
            raised = LinearOperator(
                plain.shape,
                matvec=lambda v: product(v) + lift * (v - np.ravel(M.project(X, v.reshape(X.shape)))),
                dtype=float,
            )
            least = float(eigsh(raised, k=1, which="SA", v0=start, maxiter=LANCZOS, tol=1e-6)[0][0])
        except ArpackNoConvergence:
            return None
    return 0.0 if abs(least) <= 1e-7 * (1.0 + size) else least


@dataclass(frozen=True)
class Residual:
    """A pair (y, λ) for X: the gradient's part, the split's and the inclusion's, all relative."""

    gradient: float
    split: float
    inclusion: float
    y: Array

    @property
    def value(self) -> float:
        return max(self.gradient, self.split, self.inclusion)


class Conditions:
    """The first-order conditions of a composite form at X, all terms stacked in one flat vector."""

    def __init__(self, form: CompositeOnManifold, X: Array, G: Array) -> None:
        self.form, self.X, self.G, self.M = form, X, G, _tangent(form)
        self.ends = np.cumsum([int(np.prod(t.A.image)) for t in form.terms])
        self.AX = self.apply(X)
        self.scale_x = 1.0 + float(np.linalg.norm(G))
        self.scale_y = 1.0 + float(np.linalg.norm(self.AX))

    def apply(self, X: Array) -> Array:
        return np.concatenate([np.ravel(t.A.apply(X)) for t in self.form.terms])

    def blocks(self, y: Array) -> Iterator[Array]:
        for part, t in zip(np.split(y, self.ends[:-1]), self.form.terms, strict=True):
            yield part.reshape(t.A.image)

    def prox(self, y: Array, s: float) -> Array:
        parts = zip(self.form.terms, self.blocks(y), strict=True)
        return np.concatenate([np.ravel(t.h.prox(b, s)) for t, b in parts])

    def gradient(self, lam: Array) -> Array:
        """P_X(∇f − A*λ)."""
        pulled = sum(t.A.adjoint(b) for t, b in zip(self.form.terms, self.blocks(lam), strict=True))
        return self.M.project(self.X, self.G - pulled)

    def given(self, lam: Array, y: Array) -> Residual:
        """The pair as it is claimed, with the error of −λ ∈ ∂h(y)."""
        inclusion = float(np.linalg.norm(y - self.prox(y - lam, 1.0))) / self.scale_y
        return self._residual(lam, y, inclusion)

    def repaired(self, lam: Array, s: float) -> Residual:
        """The pair made from any λ, whose inclusion is exact."""
        y = self.prox(self.AX - s * lam, s)
        return self._residual(lam - (self.AX - y) / s, y, 0.0)

    def _residual(self, lam: Array, y: Array, inclusion: float) -> Residual:
        gradient = float(np.linalg.norm(self.gradient(lam))) / self.scale_x
        return Residual(gradient, float(np.linalg.norm(self.AX - y)) / self.scale_y, inclusion, y)

    def norm2(self) -> float:
        """An upper estimate of ‖A‖² by power iteration."""
        v, size = np.random.default_rng(0).standard_normal(self.X.shape), 0.0
        for _ in range(30):
            w = self.apply(v / np.linalg.norm(v))
            parts = zip(self.form.terms, self.blocks(w), strict=True)
            v = np.asarray(sum(t.A.adjoint(b) for t, b in parts))
            size = float(np.linalg.norm(v))
            if size == 0.0:
                return 1.0
        return 1.1 * size

    def found(self, enough: float) -> Residual:
        """Multipliers from X alone: max_u ⟨u, A X⟩ − h*(u) − t/2 ‖P_X(∇f + A*u)‖², λ = −u, until a pair is good
        enough or the steps are used."""
        t = self.scale_y / self.scale_x
        sigma = 1.0 / (t * self.norm2())
        u = v = np.zeros_like(self.AX)
        momentum, best = 1.0, Residual(np.inf, np.inf, 0.0, self.AX)
        for _ in range(DUAL_STEPS):
            point = v + sigma * (self.AX - t * self.apply(self.gradient(-v)))
            y = self.prox(point / sigma, 1.0 / sigma)
            new = point - sigma * y
            now = self._residual(-new, y, 0.0)
            if now.value < best.value:
                best = now
                if best.value <= enough:
                    break
            if float((v - new) @ (new - u)) > 0:
                momentum = 1.0
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
            v = new + (momentum - 1.0) / following * (new - u)
            u, momentum = new, following
        return best


def _composite(
    form: CompositeOnManifold, answer: Answer, X: Array, G: Array, tol: Tolerances, proof: Proof
) -> None:  # fmt: skip
    at = Conditions(form, X, G)
    own = at.found(0.1 * tol.stationarity)
    candidates = [own]
    lam, y = (np.ravel(np.asarray(answer.dual.get(name, ()), float)) for name in ("terms", "split"))
    if lam.shape == at.AX.shape and np.all(np.isfinite(lam)):
        base = at.scale_y / (1.0 + float(np.linalg.norm(lam)))
        pairs = [at.repaired(lam, s * base) for s in SCALES]
        if y.shape == at.AX.shape and np.all(np.isfinite(y)):
            pairs.append(at.given(lam, y))
        best = min(pairs, key=lambda r: r.value)
        candidates.append(best)
        meaning = "KKT residual with the multipliers of the answer, relative; the inclusion is checked"
        proof.checks.append(Check("KKT, given multipliers", best.value, tol.stationarity, meaning))
    meaning = "KKT residual with multipliers found from the point alone, relative"
    proof.checks.append(Check("KKT, own multipliers", own.value, tol.stationarity, meaning))
    best = min(candidates, key=lambda r: r.value)
    proof.residual = best.value
    h = sum(t.h.value(np.asarray(t.A.apply(X))) for t in form.terms)
    zeros = float(np.mean(np.abs(best.y) <= ZERO))
    proof.notes.append(f"smooth part {form.f(X):.10g}, nonsmooth part {h:.10g}; {zeros:.1%} of A X is zero")
