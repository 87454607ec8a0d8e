"""Projections, retractions, Hessians and nearest points of every manifold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optdsl.kernels.manifolds import MANIFOLDS, Manifold
from optdsl.kernels.manifolds.orthonormal import polar

KINDS: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("stiefel", (7, 3), {}), ("stiefel", (4, 1), {}), ("grassmann", (7, 3), {}), ("orthogonal", (4, 4), {}),
    ("rotations", (4, 4), {}), ("sphere", (6,), {}), ("sphere", (3, 2), {}), ("oblique", (5, 3), {}),
    ("spd", (4, 4), {}), ("fixed_rank", (6, 5), {"r": 2}), ("simplex_interior", (5,), {}), ("hyperbolic", (4,), {}),
]  # fmt: skip


def made(kind: tuple[str, tuple[int, ...], dict[str, Any]]) -> Manifold:
    name, shape, params = kind
    return MANIFOLDS[name](shape, **params)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000))
def test_geometry(kind: tuple[str, tuple[int, ...], dict[str, Any]], seed: int) -> None:
    M, rng = made(kind), np.random.default_rng(seed)
    X = M.random(rng)
    U, V = (rng.standard_normal(M.shape) for _ in range(2))
    assert M.residual(X) <= 1e-12
    P = M.project(X, U)
    np.testing.assert_allclose(M.project(X, P), P, atol=1e-10 * np.abs(U).max())
    assert np.vdot(P, V) == pytest.approx(np.vdot(U, M.project(X, V)), abs=1e-10)
    # the retraction agrees with X + V to first order and stays on the manifold
    size = 1e-3 * (float(np.abs(X).min()) if kind[0] == "simplex_interior" else 1.0)
    V = M.project(X, V)
    V *= size / np.linalg.norm(V)
    if kind[0] in ("fixed_rank", "spd"):
        V *= np.linalg.svd(X, compute_uv=False)[1]
    errors = [float(np.linalg.norm(M.retract(X, t * V) - X - t * V)) for t in (1.0, 0.5)]
    assert errors[0] < 1e-13 or errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    for t in (1.0, 300.0):
        assert M.residual(M.retract(X, t * V)) <= 1e-10


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_hessian_is_the_covariant_derivative_of_the_gradient(kind: tuple[str, tuple[int, ...], dict[str, Any]]) -> None:
    M, rng = made(kind), np.random.default_rng(5)
    B = rng.standard_normal((M.shape[0],) * 2)
    B = B + B.T

    def egrad(X: np.ndarray) -> np.ndarray:
        return B @ X

    X = M.random(rng)
    V, W = (M.project(X, 0.1 * rng.standard_normal(M.shape)) for _ in range(2))
    t = 1e-5
    up, down = M.retract(X, t * V), M.retract(X, -t * V)
    wanted = M.project(X, (M.project(up, egrad(up)) - M.project(down, egrad(down))) / (2 * t))
    got = M.hess(X, V, egrad(X), B @ V)
    np.testing.assert_allclose(got, wanted, atol=1e-7 * (1 + np.abs(wanted).max()))
    assert np.vdot(W, got) == pytest.approx(np.vdot(V, M.hess(X, W, egrad(X), B @ W)), abs=1e-10)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_nearest_point_is_on_the_manifold_and_nearest(kind: tuple[str, tuple[int, ...], dict[str, Any]]) -> None:
    M, rng = made(kind), np.random.default_rng(6)
    X = M.random(rng)
    outside = X + 0.1 * rng.standard_normal(M.shape)
    near = M.nearest(outside)
    assert M.residual(near) <= 1e-10
    for _ in range(50):
        step = M.project(near, rng.standard_normal(M.shape))
        other = M.retract(near, 1e-3 * float(np.abs(near).min() if kind[0] == "simplex_interior" else 1) * step)
        assert np.linalg.norm(near - outside) <= np.linalg.norm(other - outside) + 1e-12
    assert M.residual(M.nearest(-outside)) <= 1e-8


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0, 12))
def test_polar_factor(seed: int, p: int, spread: float) -> None:
    """Against the SVD, at condition numbers up to 1e12."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, p)) * np.logspace(0, -spread, p)
    U, _, Vt = np.linalg.svd(X, full_matrices=False)
    got = polar(X)
    np.testing.assert_allclose(got.T @ got, np.eye(p), atol=1e-12)
    np.testing.assert_allclose(got, U @ Vt, atol=1e-14 * 10**spread + 1e-12)
