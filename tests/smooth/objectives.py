"""Objectives of the smooth tests, with exact derivatives in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.forms.smooth import SmoothUnconstrained

Array = NDArray[np.float64]


def logistic(A: Array, y: Array, lam: float) -> SmoothUnconstrained:
    """mean log(1 + exp(−y_i a_i·w)) + λ/2 ‖w‖², from w = 0. M = L₂/λ^1.5 with L₂ ≤ mean ‖a_i‖³ / (6√3)."""
    m, n = A.shape
    YA = y[:, None] * A

    def f(w: Array) -> float:
        return float(np.logaddexp(0, -(YA @ w)).mean() + 0.5 * lam * (w @ w))

    def grad(w: Array) -> Array:
        return np.asarray(-YA.T @ (0.5 * (1 - np.tanh(0.5 * (YA @ w)))) / m + lam * w)

    def hess(w: Array) -> Array:
        p = 0.25 * (1 - np.tanh(0.5 * (YA @ w)) ** 2)
        return np.asarray((YA.T * p) @ YA / m + lam * np.eye(n))

    L2 = float((np.linalg.norm(A, axis=1) ** 3).mean()) / (6 * np.sqrt(3))
    facts: dict[str, Any] = {"strong_convexity": lam, "self_concordance": L2 / lam**1.5} if lam else {}
    return SmoothUnconstrained.from_callables(
        f, grad, lambda w, v: hess(w) @ v, np.zeros(n), hess=hess, convex=True, **facts
    )


def breast_cancer() -> tuple[Array, Array]:
    """The standardised features with a column of ones, (569, 31), and labels ±1."""
    from sklearn.datasets import load_breast_cancer

    data: Any = load_breast_cancer()
    A = (data.data - data.data.mean(0)) / data.data.std(0)
    return np.column_stack([A, np.ones(len(A))]), 2.0 * data.target - 1


def hard_cubic(d: int, lam: float = 1e-3, width: float = 1.0) -> SmoothUnconstrained:
    """(1/12)(Σ h(x_i − x_{i+1}) − x_1) + λ/2 ‖x‖² with h(w) = |w|³/3 up to `width`, quadratic beyond."""

    def parts(x: Array) -> tuple[Array, Array, Array]:
        w = x[:-1] - x[1:]
        a, near = np.abs(w), np.abs(w) <= width
        h = np.where(near, a**3 / 3, width * w**2 - width**2 * a + width**3 / 3)
        dh = np.where(near, w * a, 2 * width * w - width**2 * np.sign(w))
        return h, dh, np.where(near, 2 * a, 2 * width)

    def f(x: Array) -> float:
        return float((parts(x)[0].sum() - x[0]) / 12 + 0.5 * lam * (x @ x))

    def grad(x: Array) -> Array:
        dh = parts(x)[1]
        g = lam * x
        g[:-1] += dh / 12
        g[1:] -= dh / 12
        g[0] -= 1 / 12
        return g

    def hess(x: Array) -> Array:
        c = parts(x)[2] / 12
        H = lam * np.eye(d)
        i = np.arange(d - 1)
        H[i, i] += c
        H[i + 1, i + 1] += c
        H[i, i + 1] -= c
        H[i + 1, i] -= c
        return H

    return SmoothUnconstrained.from_callables(f, grad, x0=np.zeros(d), hess=hess, convex=True, strong_convexity=lam)


def quadratic(A: Array, b: Array) -> SmoothUnconstrained:
    """½ xᵀAx − b·x from 0."""
    mu = float(np.linalg.eigvalsh(A)[0])
    return SmoothUnconstrained.from_callables(
        lambda x: float(0.5 * x @ A @ x - b @ x), lambda x: A @ x - b, lambda x, v: A @ v, np.zeros(len(b)),
        hess=lambda x: A, convex=True, strong_convexity=mu, self_concordance=0.0,
    )  # fmt: skip


def rosenbrock(n: int = 2) -> SmoothUnconstrained:
    """Σ 100 (x_{i+1} − x_i²)² + (1 − x_i)² from (−1.2, 1, −1.2, …)."""
    from scipy.optimize import rosen, rosen_der, rosen_hess

    x0 = np.where(np.arange(n) % 2 == 0, -1.2, 1.0)
    return SmoothUnconstrained.from_callables(
        lambda x: float(rosen(x)), rosen_der, lambda x, v: rosen_hess(x) @ v, x0, hess=rosen_hess
    )


def transformed(form: SmoothUnconstrained, A: Array) -> SmoothUnconstrained:
    """z ↦ f(Az), from A⁻¹x₀."""
    hess = form.hess
    return SmoothUnconstrained.from_callables(
        lambda z: form.f(A @ z), lambda z: A.T @ form.grad(A @ z), x0=np.linalg.solve(A, form.x0),
        hess=None if hess is None else lambda z: A.T @ hess(A @ z) @ A,
    )  # fmt: skip
