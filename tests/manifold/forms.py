"""Forms for the tests, made by hand from matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optdsl.forms.manifold import Array, CompositeOnManifold, ConvexTerm, LinearMap
from optdsl.kernels.manifolds import Manifold, Stiefel
from optdsl.kernels.prox import L1, ProxFunction


def identity(shape: tuple[int, ...]) -> LinearMap:
    return LinearMap(shape=shape, image=shape, apply=lambda X: X, adjoint=lambda Y: Y, identity=True)


def by_matrix(B: Array, shape: tuple[int, int]) -> LinearMap:
    """X ↦ B X."""
    image = (B.shape[0], shape[1])
    return LinearMap(shape=shape, image=image, apply=lambda X: B @ X, adjoint=lambda Y: B.T @ Y)


def quadratic(H: Array, M: Manifold, h: ProxFunction, A: LinearMap | None = None) -> CompositeOnManifold:
    """−½ tr XᵀHX + h(A X)."""
    return CompositeOnManifold(
        manifold=M,
        f=lambda X: -0.5 * float(np.vdot(X, H @ X)),
        egrad=lambda X: -H @ X,
        ehvp=lambda X, V: -H @ V,
        terms=[ConvexTerm(h=h, A=A or identity(M.shape))],
    )


def digits(mu: float, p: int = 5) -> CompositeOnManifold:
    """Sparse PCA of scikit-learn's digits: 61 nonconstant columns, standardised, H = DᵀD/1797."""
    from sklearn.datasets import load_digits

    D = load_digits().data
    D = D[:, D.std(0) > 0]
    D = (D - D.mean(0)) / D.std(0)
    return quadratic(D.T @ D / len(D), Stiefel(D.shape[1], p), L1(mu))


def circle_minimum(F: Callable[[Array], float]) -> float:
    """min F over the unit circle by a scan of the angle, refined by golden section."""
    from scipy.optimize import minimize_scalar

    def at(angle: float) -> float:
        return F(np.array([[np.cos(angle)], [np.sin(angle)]]))

    angles = np.linspace(0, 2 * np.pi, 2001)
    a = float(min(angles, key=at))
    return float(minimize_scalar(at, bracket=(a - 4e-3, a, a + 4e-3), tol=1e-14).fun)
