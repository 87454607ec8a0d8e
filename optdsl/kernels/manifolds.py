"""Embedded manifolds as the methods need them: projection, retraction, a random point, the distance from the set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Manifold(Protocol):
    """A submanifold of R^shape with the metric of the ambient space. Points and tangent vectors are float64 arrays."""

    shape: tuple[int, ...]
    compact: bool

    def project(self, X: Array, G: Array) -> Array:
        """Orthogonal projection of an ambient G onto the tangent space at X."""
        ...

    def retract(self, X: Array, V: Array) -> Array:
        """A point on the manifold that agrees with X + V to first order."""
        ...

    def random(self, rng: np.random.Generator) -> Array: ...

    def nearest(self, X: Array) -> Array:
        """A nearest point of the manifold to an ambient X."""
        ...

    def residual(self, X: Array) -> float:
        """How far X is from satisfying the manifold's equations (0 on it)."""
        ...


@dataclass(frozen=True)
class Stiefel:
    """St(n, p) = {X in R^{n×p} : XᵀX = I}."""

    n: int
    p: int
    compact: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.p)

    def project(self, X: Array, G: Array) -> Array:
        S = X.T @ G
        return G - X @ (0.5 * (S + S.T))

    def retract(self, X: Array, V: Array) -> Array:
        return self.nearest(X + V)

    def nearest(self, X: Array) -> Array:
        """The polar factor U Vᵀ of X = U Σ Vᵀ."""
        U, _, Vt = np.linalg.svd(X, full_matrices=False)
        return np.asarray(U @ Vt)

    def random(self, rng: np.random.Generator) -> Array:
        return self.nearest(rng.standard_normal((self.n, self.p)))

    def residual(self, X: Array) -> float:
        return float(np.linalg.norm(X.T @ X - np.eye(self.p)))

    def __str__(self) -> str:
        return f"stiefel({self.n}, {self.p})"
