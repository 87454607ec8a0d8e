"""Positive definite matrices, the interior of the simplex, and hyperbolic space, each as a subset of its ambient space.

First-order conditions do not depend on the metric, so the ambient one is used; retractions keep the open conditions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from optdsl.kernels.manifolds.base import Array
from optdsl.kernels.manifolds.orthonormal import sym

#: Entries and eigenvalues that a nearest point of an open set keeps away from its boundary.
INSIDE = 1e-12


@dataclass(frozen=True)
class SymmetricPositive:
    """{X in R^{n×n} : X = Xᵀ, X ≻ 0}."""

    n: int
    compact: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    @property
    def dim(self) -> int:
        return self.n * (self.n + 1) // 2

    def project(self, X: Array, G: Array) -> Array:
        return sym(G)

    def retract(self, X: Array, V: Array) -> Array:
        """X + V + ½ V X⁻¹ V, positive definite for every symmetric V (Jeuris, Vandebril and Vandereycken, 2012)."""
        return sym(X + V + 0.5 * V @ np.linalg.solve(X, V))

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        return sym(H)

    def nearest(self, X: Array) -> Array:
        w, Q = np.linalg.eigh(sym(X))
        return sym((Q * np.maximum(w, INSIDE * max(1.0, float(np.abs(w).max())))) @ Q.T)

    def random(self, rng: np.random.Generator) -> Array:
        B = rng.standard_normal((self.n, self.n))
        return sym(B @ B.T / self.n + 0.1 * np.eye(self.n))

    def residual(self, X: Array) -> float:
        skew = np.abs(X - X.T).max()
        return float(max(-np.linalg.eigvalsh(sym(X))[0], skew) / (1 + np.linalg.norm(X)))

    def __str__(self) -> str:
        return f"spd({self.n})"


@dataclass(frozen=True)
class SimplexInterior:
    """{x in R^n : x > 0, Σ x = 1}."""

    n: int
    compact: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,)

    @property
    def dim(self) -> int:
        return self.n - 1

    def project(self, X: Array, G: Array) -> Array:
        return np.asarray(G - G.mean())

    def retract(self, X: Array, V: Array) -> Array:
        """x exp(v/x), normalised."""
        exponent = np.log(X) + V / X
        weights = np.exp(exponent - exponent.max())
        weights = np.maximum(weights / weights.sum(), np.finfo(float).tiny)
        return np.asarray(weights / weights.sum())

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        return self.project(X, H)

    def nearest(self, X: Array) -> Array:
        order = np.sort(X)[::-1]
        excess = np.cumsum(order) - 1.0
        k = int(np.flatnonzero(order * np.arange(1, self.n + 1) > excess)[-1])
        inside = np.maximum(X - excess[k] / (k + 1), INSIDE)
        return np.asarray(inside / inside.sum())

    def random(self, rng: np.random.Generator) -> Array:
        return self.nearest(rng.dirichlet(np.ones(self.n)))

    def residual(self, X: Array) -> float:
        return float(max(abs(X.sum() - 1.0), -X.min()))

    def __str__(self) -> str:
        return f"simplex_interior({self.n})"


@dataclass(frozen=True)
class Hyperbolic:
    """The upper sheet {x in R^n : −x₀² + x₁² + … = −1, x₀ > 0}."""

    n: int
    compact: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,)

    @property
    def dim(self) -> int:
        return self.n - 1

    @staticmethod
    def _flip(X: Array) -> Array:
        """J X, J = diag(−1, 1, …, 1); J X is normal to the sheet at X."""
        Y = X.copy()
        Y[0] = -Y[0]
        return Y

    def project(self, X: Array, G: Array) -> Array:
        normal = self._flip(X)
        return np.asarray(G - normal * (normal @ G) / (normal @ normal))

    def retract(self, X: Array, V: Array) -> Array:
        tail = (X + V)[1:]
        return np.concatenate([[np.sqrt(1.0 + tail @ tail)], tail])

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        normal = self._flip(X)
        return self.project(X, H - self._flip(V) * (normal @ G) / (normal @ normal))

    def nearest(self, X: Array) -> Array:
        """z₀ = x₀/(1 − μ), z' = x'/(1 + μ), μ the root of −z₀² + |z'|² + 1 in (−1, 1), beyond 1 where x₀ < 0."""
        head, tail = float(X[0]), X[1:]
        far = float(tail @ tail)

        def equation(mu: float) -> float:
            return -((head / (1.0 - mu)) ** 2) + far / (1.0 + mu) ** 2 + 1.0

        if head == 0.0:
            return self.retract(np.zeros(self.n), np.concatenate([[0.0], 0.5 * tail]))
        if head > 0.0:
            low = -1.0 + 1e-15 if far > 0 else max(-1.0 + 1e-15, min(0.0, 1.0 - 2.0 * head))
            high = 1.0 - min(head / (2.0 + far) ** 0.5, 1.0) * 0.5
            mu = brentq(equation, low, high) if equation(low) > 0 else low
        else:
            mu = brentq(equation, 1.0 - head / (2.0 + far) ** 0.5 * 0.5, 2.0 - head)
        return self.retract(np.zeros(self.n), np.concatenate([[0.0], tail / (1.0 + mu)]))

    def random(self, rng: np.random.Generator) -> Array:
        return self.retract(np.zeros(self.n), rng.standard_normal(self.n))

    def residual(self, X: Array) -> float:
        return float(abs(-(X[0] ** 2) + X[1:] @ X[1:] + 1.0) / (1.0 + X @ X)) + max(0.0, -float(X[0]))

    def __str__(self) -> str:
        return f"hyperbolic({self.n})"
