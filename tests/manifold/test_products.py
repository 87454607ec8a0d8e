"""Several variables on manifolds: a product, one factor a variable."""

from __future__ import annotations

import numpy as np
import pytest

import optdsl
from optdsl.kernels.manifolds import Euclidean, Product, Sphere, Stiefel


def test_top_singular_pair() -> None:
    """max uᵀAv over two spheres is the largest singular value."""
    text = """
data A : real[5, 4] = normal((5, 4), seed=3)
var u : real[5] in sphere
var v : real[4] in sphere
maximize u @ A @ v
"""
    report = optdsl.parse(text).solve()
    U, s, Vt = np.linalg.svd(np.random.default_rng(3).normal(size=(5, 4)))
    assert report.verdict.kind == "stationary"
    assert report.objective == pytest.approx(s[0], rel=1e-8)
    assert abs(report["u"] @ U[:, 0]) == pytest.approx(1) and abs(report["v"] @ Vt[0]) == pytest.approx(1)


def test_nonsmooth_terms_of_two_factors() -> None:
    """With no coupling, each factor is the problem of its own: min −½xᵀHx + μ‖x‖₁ on a circle, twice."""
    H = [[2, 0.5], [0.5, 1]]
    text = f"""
var x : real[2] in sphere
var y : real[2] in sphere
minimize -0.5 * x @ {H} @ x + 0.3 * norm1(x) - 0.5 * y @ {H} @ y + 0.3 * norm1(y)
"""
    report = optdsl.parse(text).solve()
    assert report.objective == pytest.approx(2 * -0.7245097823, abs=1e-7)


def test_a_product_is_its_factors() -> None:
    M = Product((Stiefel(4, 2), Sphere((3,)), Euclidean((2,))))
    rng = np.random.default_rng(0)
    X, G = M.random(rng), rng.standard_normal(M.shape)
    assert M.shape == (13,) and M.dim == 5 + 2 + 2 and not M.compact
    assert M.residual(X) < 1e-12
    V = M.project(X, G)
    np.testing.assert_allclose(M.project(X, V), V, atol=1e-12)
    assert M.residual(M.retract(X, 0.1 * V)) < 1e-12
    pieces = [np.ravel(F.project(x, g)) for F, x, g in zip(M.factors, M.parts(X), M.parts(G), strict=True)]
    np.testing.assert_allclose(V, np.concatenate(pieces))
