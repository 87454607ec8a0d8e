"""The unit sphere in arrays of any shape, and products of spheres as the columns of a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optdsl.kernels.manifolds.base import Array


@dataclass(frozen=True)
class Sphere:
    """{X : ‖X‖_F = 1}."""

    shape: tuple[int, ...]
    compact: bool = True

    @property
    def dim(self) -> int:
        return int(np.prod(self.shape)) - 1

    def project(self, X: Array, G: Array) -> Array:
        return np.asarray(G - np.vdot(X, G) * X)

    def retract(self, X: Array, V: Array) -> Array:
        return self.nearest(X + V)

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        return self.project(X, H) - np.vdot(X, G) * V

    def nearest(self, X: Array) -> Array:
        size = np.linalg.norm(X)
        if size == 0.0:
            X = np.zeros(self.shape)
            X.flat[0] = 1.0
        return np.asarray(X / (size or 1.0))

    def random(self, rng: np.random.Generator) -> Array:
        return self.nearest(rng.standard_normal(self.shape))

    def residual(self, X: Array) -> float:
        return abs(float(np.linalg.norm(X)) - 1.0)

    def __str__(self) -> str:
        return f"sphere({', '.join(map(str, self.shape))})"


@dataclass(frozen=True)
class Oblique:
    """{X in R^{n×p} : every column has norm 1}."""

    n: int
    p: int
    compact: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.p)

    @property
    def dim(self) -> int:
        return (self.n - 1) * self.p

    def project(self, X: Array, G: Array) -> Array:
        return np.asarray(G - X * np.sum(X * G, axis=0))

    def retract(self, X: Array, V: Array) -> Array:
        return self.nearest(X + V)

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        return np.asarray(self.project(X, H) - V * np.sum(X * G, axis=0))

    def nearest(self, X: Array) -> Array:
        size = np.linalg.norm(X, axis=0)
        if np.any(size == 0.0):
            X = X.copy()
            X[0, size == 0.0] = 1.0
            size = np.linalg.norm(X, axis=0)
        return np.asarray(X / size)

    def random(self, rng: np.random.Generator) -> Array:
        return self.nearest(rng.standard_normal(self.shape))

    def residual(self, X: Array) -> float:
        return float(np.abs(np.linalg.norm(X, axis=0) - 1.0).max())

    def __str__(self) -> str:
        return f"oblique({self.n}, {self.p})"
