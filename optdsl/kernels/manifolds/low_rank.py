"""Matrices of fixed rank, as an embedded submanifold (Vandereycken, SIAM J. Optim. 23, 2013)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optdsl.kernels.manifolds.base import Array


@dataclass(frozen=True)
class FixedRank:
    """{X in R^{m×n} : rank X = r}; points are full m×n arrays."""

    m: int
    n: int
    r: int
    compact: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.m, self.n)

    @property
    def dim(self) -> int:
        return self.r * (self.m + self.n - self.r)

    def factors(self, X: Array) -> tuple[Array, Array, Array]:
        """(U, s, Vᵀ) of the best approximation of rank r."""
        U, s, Vt = np.linalg.svd(X, full_matrices=False)
        return U[:, : self.r], s[: self.r], Vt[: self.r]

    def project(self, X: Array, G: Array) -> Array:
        U, _, Vt = self.factors(X)
        UG, GV = U.T @ G, G @ Vt.T
        return np.asarray(U @ UG + GV @ Vt - U @ (UG @ Vt.T) @ Vt)

    def retract(self, X: Array, V: Array) -> Array:
        return self.nearest(X + V)

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        """P_X(H) + N Vₚ S⁻¹ Vᵀ + U S⁻¹ Uₚᵀ N with N the normal part of G and Uₚ, Vₚ the parts of the tangent V."""
        U, s, Vt = self.factors(X)
        N = G - U @ (U.T @ G)
        N = N - (N @ Vt.T) @ Vt
        left = N @ (V.T @ U) / s
        right = (U / s) @ ((Vt @ V.T) @ N)
        return np.asarray(self.project(X, H) + left @ Vt + right)

    def nearest(self, X: Array) -> Array:
        U, s, Vt = self.factors(X)
        return np.asarray((U * s) @ Vt)

    def random(self, rng: np.random.Generator) -> Array:
        return np.asarray(rng.standard_normal((self.m, self.r)) @ rng.standard_normal((self.r, self.n)))

    def residual(self, X: Array) -> float:
        s = np.linalg.svd(X, compute_uv=False)
        return float(s[self.r] / (1e-300 + s[0])) if self.r < len(s) else 0.0

    def __str__(self) -> str:
        return f"fixed_rank({self.m}, {self.n}, {self.r})"
