"""min f(X) + h(A X) with all terms stacked: A = [A₁; A₂; …] into one flat vector, h separable over the blocks.

With y for A X and multipliers λ, step 3 of the method sheet reads λ̄ = λ − ρ(A X − y) for y = prox_{h/ρ}(A X − λ/ρ), so
that −λ̄ ∈ ∂h(y) exactly; `triple` does this and returns the Riemannian gradient of
ψ(X) = f(X) + min_y {h(y) − ⟨λ, A X − y⟩ + ρ/2 ‖A X − y‖²}, which is P_X(∇f(X) − A*λ̄).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optdsl.backends.base import Assumption
from optdsl.forms.manifold import CompositeOnManifold, SmoothOnManifold
from optdsl.kernels.manifolds import Array, Grassmann

#: Steps of power iteration and the factor on its result.
POWER_STEPS, POWER_MARGIN = 20, 1.05


@dataclass(frozen=True)
class Triple:
    """(y, λ̄) belonging to a point X, with g = P_X(∇f − A*λ̄) and the two residuals of the stopping test."""

    y: Array
    lam: Array
    g: Array
    G: Array
    r_x: float
    r_f: float
    scaled: float


class Split:
    """A composite form as the splitting methods see it; `f`, `egrad`, `ehvp` are the form's."""

    def __init__(self, form: CompositeOnManifold) -> None:
        self.form, self.M = form, form.manifold
        self.sizes = [int(np.prod(t.A.image)) for t in form.terms]
        self.ends = np.cumsum(self.sizes)
        self.m = int(self.ends[-1])

    def blocks(self, y: Array) -> list[Array]:
        parts = np.split(y, self.ends[:-1])
        return [part.reshape(t.A.image) for part, t in zip(parts, self.form.terms, strict=True)]

    def A(self, X: Array) -> Array:
        return np.concatenate([np.ravel(t.A.apply(X)) for t in self.form.terms])

    def At(self, y: Array) -> Array:
        parts = [t.A.adjoint(b) for t, b in zip(self.form.terms, self.blocks(y), strict=True)]
        return np.asarray(parts[0] if len(parts) == 1 else np.sum(parts, axis=0))

    def h(self, y: Array) -> float:
        return sum(t.h.value(b) for t, b in zip(self.form.terms, self.blocks(y), strict=True))

    def prox(self, y: Array, t: float) -> Array:
        parts = zip(self.form.terms, self.blocks(y), strict=True)
        return np.concatenate([np.ravel(term.h.prox(b, t)) for term, b in parts])

    def F(self, X: Array) -> float:
        return self.form.f(X) + self.h(self.A(X))

    @property
    def entry_lipschitz(self) -> float:
        return max(t.h.entry_lipschitz() for t in self.form.terms)

    def norm2(self, rng: np.random.Generator) -> float:
        """‖A‖² by power iteration."""
        if all(t.A.identity for t in self.form.terms):
            return float(len(self.form.terms))
        v, size = rng.standard_normal(self.form.manifold.shape), 0.0
        for _ in range(POWER_STEPS):
            v = self.At(self.A(v / np.linalg.norm(v)))
            size = float(np.linalg.norm(v))
            if size == 0.0:
                return 0.0
        return POWER_MARGIN * size

    def lipschitz(self, X: Array, rng: np.random.Generator) -> float | None:
        """L_f by power iteration on the Hessian where that is the same everywhere, else None."""
        hvp = self.form.ehvp
        if hvp is None:
            return None
        v, other = rng.standard_normal(X.shape), self.M.random(rng)
        here, there = hvp(X, v), hvp(other, v)
        if np.linalg.norm(here - there) > 1e-8 * np.linalg.norm(here):
            return None
        size = 0.0
        for _ in range(POWER_STEPS):
            v = hvp(X, v / np.linalg.norm(v))
            size = float(np.linalg.norm(v))
            if size == 0.0:
                return 0.0
        return POWER_MARGIN * size

    def triple(self, X: Array, lam: Array, rho: float) -> Triple:
        AX, G = self.A(X), self.form.egrad(X)
        y = self.prox(AX - lam / rho, 1.0 / rho)
        return self.completed(X, AX, G, y, lam - rho * (AX - y))

    def completed(self, X: Array, AX: Array, G: Array, y: Array, lam: Array) -> Triple:
        g = self.M.project(X, G - self.At(lam))
        r_x, r_f = float(np.linalg.norm(g)), float(np.linalg.norm(AX - y))
        scaled = max(r_x / (1.0 + float(np.linalg.norm(G))), r_f / (1.0 + float(np.linalg.norm(AX))))
        return Triple(y, lam, g, G, r_x, r_f, scaled)

    def psi(self, X: Array, lam: Array, rho: float) -> float:
        """ψ(X), up to the constant ‖λ‖²/(2ρ)."""
        z = self.A(X) - lam / rho
        y = self.prox(z, 1.0 / rho)
        return self.form.f(X) + self.h(y) + 0.5 * rho * float((z - y) @ (z - y))


def start(form: SmoothOnManifold, rng: np.random.Generator, number: int) -> Array:
    """The start point with that number: the form's own first, then random ones."""
    if number == 0 and form.x0 is not None:
        return form.manifold.nearest(np.asarray(form.x0, float))
    return form.manifold.random(rng)


def _invariant(form: SmoothOnManifold) -> bool:
    """Where points stand for subspaces: whether the objective is the same in another basis (at one random point)."""
    if not isinstance(form.manifold, Grassmann):
        return True
    rng = np.random.default_rng(0)
    X = form.manifold.random(rng)
    Q = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]

    def value(Z: Array) -> float:
        terms = form.terms if isinstance(form, CompositeOnManifold) else ()
        return form.f(Z) + sum(t.h.value(np.asarray(t.A.apply(Z))) for t in terms)

    return bool(abs(value(X) - value(X @ Q)) <= 1e-8 * (1.0 + abs(value(X))))


INVARIANT = Assumption(
    "invariant on subspaces",
    _invariant,
    "the objective depends on the basis of the subspace; say `in stiefel` instead of `in grassmann`",
)
COMPACT = Assumption("compact", lambda form: form.manifold.compact, "the manifold is not compact")
LIPSCHITZ = Assumption(
    "Lipschitz h",
    lambda form: all(np.isfinite(t.h.lipschitz(int(np.prod(t.A.image)))) for t in form.terms),
    "the method needs a Lipschitz h; put a constraint on A X as an exact-penalty norm",
)
IDENTITY = Assumption(
    "A = I",
    lambda form: len(form.terms) == 1 and form.terms[0].A.identity,
    "the nonsmooth part is not one function of X itself",
)
