"""Matrices with orthonormal columns: Stiefel and Grassmann manifolds, the orthogonal and the rotation group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optdsl.kernels.manifolds.base import Array


def sym(S: Array) -> Array:
    return 0.5 * (S + S.T)


def polar(X: Array) -> Array:
    """The polar factor U Vᵀ of X = U Σ Vᵀ, n×p with n ≥ p: the nearest matrix with orthonormal columns.

    By the eigenvectors of XᵀX where that loses no digit (one Newton-Schulz step repairs the rest), else by the SVD.
    """
    n, p = X.shape
    if n > 2 * p:
        w, Q = np.linalg.eigh(X.T @ X)
        if w[0] > 1e-4 * w[-1] > 0:
            Y = X @ ((Q / np.sqrt(w)) @ Q.T)
            return np.asarray(1.5 * Y - 0.5 * (Y @ (Y.T @ Y)))
    U, _, Vt = np.linalg.svd(X, full_matrices=False)
    return np.asarray(U @ Vt)


@dataclass(frozen=True)
class Stiefel:
    """St(n, p) = {X in R^{n×p} : XᵀX = I}, polar retraction."""

    n: int
    p: int
    compact: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.p)

    @property
    def dim(self) -> int:
        return self.n * self.p - self.p * (self.p + 1) // 2

    def project(self, X: Array, G: Array) -> Array:
        return np.asarray(G - X @ sym(X.T @ G))

    def retract(self, X: Array, V: Array) -> Array:
        return self.nearest(X + V)

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        return self.project(X, H - V @ sym(X.T @ G))

    def nearest(self, X: Array) -> Array:
        return polar(X)

    def random(self, rng: np.random.Generator) -> Array:
        return self.nearest(rng.standard_normal((self.n, self.p)))

    def residual(self, X: Array) -> float:
        return float(np.linalg.norm(X.T @ X - np.eye(self.p)))

    def __str__(self) -> str:
        return f"stiefel({self.n}, {self.p})"


class Grassmann(Stiefel):
    """Subspaces of dimension p in R^n, each by an orthonormal basis X in St(n, p); functions must not depend on the
    basis, f(XQ) = f(X). Tangent vectors are the horizontal ones, XᵀV = 0."""

    @property
    def dim(self) -> int:
        return self.p * (self.n - self.p)

    def project(self, X: Array, G: Array) -> Array:
        return np.asarray(G - X @ (X.T @ G))

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        return self.project(X, H - V @ (X.T @ G))

    def __str__(self) -> str:
        return f"grassmann({self.n}, {self.p})"


class Orthogonal(Stiefel):
    """O(n)."""

    def __str__(self) -> str:
        return f"orthogonal({self.n})"


class Rotations(Stiefel):
    """SO(n): orthogonal matrices of determinant 1. X + V = X(I + Ω) has the sign of det X, so retracting stays in it."""

    def nearest(self, X: Array) -> Array:
        U, _, Vt = np.linalg.svd(X)
        U[:, -1] *= np.sign(np.linalg.det(U @ Vt))
        return np.asarray(U @ Vt)

    def residual(self, X: Array) -> float:
        return super().residual(X) + max(0.0, -float(np.linalg.det(X)))

    def __str__(self) -> str:
        return f"rotations({self.n})"
