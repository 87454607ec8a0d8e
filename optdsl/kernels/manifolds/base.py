"""What the methods need of a manifold: projection, retraction, Hessian, a random point, the distance from the set."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Manifold(Protocol):
    """A submanifold of R^shape with the metric of the ambient space. Points and tangent vectors are float64 arrays."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def compact(self) -> bool: ...

    @property
    def dim(self) -> int:
        """Dimension of the manifold."""
        ...

    def project(self, X: Array, G: Array) -> Array:
        """Orthogonal projection of an ambient G onto the tangent space at X."""
        ...

    def retract(self, X: Array, V: Array) -> Array:
        """A point on the manifold that agrees with X + V to first order."""
        ...

    def hess(self, X: Array, V: Array, G: Array, H: Array) -> Array:
        """The Riemannian Hessian of f on a tangent V, from the Euclidean gradient G at X and the Euclidean Hessian
        product H = ∇²f(X)[V]: P_X(H) plus the curvature term P_X(D_V P)(G) (Absil, Mahony and Trumpf, "An extrinsic
        look at the Riemannian Hessian", 2013)."""
        ...

    def random(self, rng: np.random.Generator) -> Array: ...

    def nearest(self, X: Array) -> Array:
        """A nearest point of the manifold to an ambient X (of its closure, moved inside, where the set is open)."""
        ...

    def residual(self, X: Array) -> float:
        """How far X is from satisfying the manifold's equations (0 on it)."""
        ...
