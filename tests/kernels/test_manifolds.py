"""Every manifold against its definition: tangent space, retraction, Hessian, nearest point; Pymanopt as a second opinion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optdsl.kernels.manifolds import MANIFOLDS, Array, Manifold

#: Kind, shape, parameters, and the dimension counted by hand.
CASES = [
    ("stiefel", (5, 2), {}, 7),
    ("stiefel", (3, 3), {}, 3),
    ("stiefel", (9, 1), {}, 8),
    ("grassmann", (6, 2), {}, 8),
    ("orthogonal", (4, 4), {}, 6),
    ("rotations", (4, 4), {}, 6),
    ("sphere", (2, 3), {}, 5),
    ("sphere", (4,), {}, 3),
    ("oblique", (4, 3), {}, 9),
    ("spd", (3, 3), {}, 6),
    ("fixed_rank", (5, 4), {"r": 2}, 14),
    ("fixed_rank", (3, 3), {"r": 3}, 9),
    ("simplex_interior", (5,), {}, 4),
    ("hyperbolic", (4,), {}, 3),
]
NAMES = [f"{kind}{shape}" for kind, shape, _, _ in CASES]
EACH = pytest.mark.parametrize(("kind", "shape", "params", "dim"), CASES, ids=NAMES)
SEEDS = given(seed=st.integers(0, 2**32 - 1))
FEW = settings(max_examples=15, deadline=None, derandomize=True)


def _at(kind: str, shape: tuple[int, ...], params: dict[str, int], seed: int) -> tuple[Manifold, Array, Array, Array]:
    """The manifold, a point, and two ambient arrays."""
    M, rng = MANIFOLDS[kind](shape, **params), np.random.default_rng(seed)
    return M, M.random(rng), rng.standard_normal(shape), rng.standard_normal(shape)


def _short(X: Array, V: Array) -> Array:
    """V small against the entries of X, so that no example needs a step smaller than rounding allows."""
    return np.asarray(V * min(1.0, 0.1 * float(np.abs(X).min())) if X.ndim == 1 else V)


@EACH
@FEW
@SEEDS
def test_random_points_lie_on_it(
    kind: str, shape: tuple[int, ...], params: dict[str, int], dim: int, seed: int
) -> None:
    M, X, _, _ = _at(kind, shape, params, seed)
    assert X.shape == shape
    assert M.residual(X) <= 1e-12


@EACH
@FEW
@SEEDS
def test_projection_is_idempotent_and_self_adjoint(
    kind: str, shape: tuple[int, ...], params: dict[str, int], dim: int, seed: int
) -> None:
    M, X, G, H = _at(kind, shape, params, seed)
    P = M.project(X, G)
    np.testing.assert_allclose(M.project(X, P), P, atol=1e-12)
    assert np.vdot(P, H) == pytest.approx(np.vdot(G, M.project(X, H)), abs=1e-11)


@EACH
def test_the_tangent_space_has_the_dimension(
    kind: str, shape: tuple[int, ...], params: dict[str, int], dim: int
) -> None:
    M, X, _, _ = _at(kind, shape, params, 3)
    size = int(np.prod(shape))
    columns = [M.project(X, e.reshape(shape)).ravel() for e in np.eye(size)]
    assert np.linalg.matrix_rank(np.stack(columns), tol=1e-9) == dim == M.dim


@EACH
@FEW
@SEEDS
def test_retraction_stays_on_it_and_agrees_to_first_order(
    kind: str, shape: tuple[int, ...], params: dict[str, int], dim: int, seed: int
) -> None:
    """‖R(tV) − X − tV‖ falls at least fourfold, nearly, as t is halved; with the dimension, this makes V tangent."""
    M, X, G, _ = _at(kind, shape, params, seed)
    V = _short(X, M.project(X, G))
    V = V / (1.0 + np.linalg.norm(V)) * (0.1 if kind == "fixed_rank" else 1.0)
    errors = []
    for t in (2e-3, 1e-3):
        Y = M.retract(X, t * V)
        assert M.residual(Y) <= 1e-12
        errors.append(np.linalg.norm(Y - X - t * V))
    assert errors[1] <= errors[0] / 3.5 + 1e-13
    assert M.residual(M.retract(X, V)) <= 1e-12


@EACH
@FEW
@SEEDS
def test_the_hessian_is_the_derivative_of_the_gradient(
    kind: str, shape: tuple[int, ...], params: dict[str, int], dim: int, seed: int
) -> None:
    """Hess f(X)[V] = P_X d/dt grad f(R(tV)) at t = 0, for f = ⟨C, X⟩ + ½‖B X‖² + Σ x³/6 and central differences."""
    M, X, V, C = _at(kind, shape, params, seed)
    B = np.random.default_rng(seed + 1).standard_normal((shape[0], shape[0]))
    V = _short(X, M.project(X, V))
    V = V / (1.0 + np.linalg.norm(V))
    if kind == "fixed_rank":
        V = V * float(np.linalg.svd(X, compute_uv=False)[params["r"] - 1])

    def gradient(Y: Array) -> Array:
        return np.asarray(C + B.T @ (B @ Y) + 0.5 * Y**2)

    t = 1e-5
    ahead, behind = M.retract(X, t * V), M.retract(X, -t * V)
    change = M.project(ahead, gradient(ahead)) - M.project(behind, gradient(behind))
    expected = M.project(X, change / (2 * t))
    found = M.hess(X, V, gradient(X), B.T @ (B @ V) + X * V)
    scale = 1.0 + np.linalg.norm(gradient(X)) + np.linalg.norm(B) ** 2
    np.testing.assert_allclose(found, expected, atol=3e-7 * scale)


@EACH
@FEW
@SEEDS
def test_the_nearest_point_is_no_further_than_others(
    kind: str, shape: tuple[int, ...], params: dict[str, int], dim: int, seed: int
) -> None:
    M, X, Z, _ = _at(kind, shape, params, seed)
    near = M.nearest(Z)
    assert M.residual(near) <= 1e-12
    distance = np.linalg.norm(near - Z)
    rng = np.random.default_rng(seed + 2)
    for other in [M.random(rng) for _ in range(20)]:
        assert distance <= np.linalg.norm(other - Z) + 1e-9
    for size in (1e-1, 1e-2, 1e-3):
        V = M.project(near, rng.standard_normal(shape))
        V = V * size / (1e-300 + np.linalg.norm(V))
        if kind == "simplex_interior":
            V = V * 0.0 if near.min() < 1e-9 else V * min(1.0, float(near.min()) / size)
        if kind == "spd" and np.linalg.eigvalsh(near)[0] < 1e-9:
            continue
        assert distance <= np.linalg.norm(M.retract(near, V) - Z) + 1e-9
    np.testing.assert_allclose(M.nearest(X), X, atol=1e-9 * (1 + np.abs(X).max()))


@pytest.mark.parametrize(
    ("kind", "X"),
    [
        ("stiefel", np.array([[1.0, 1e-3], [0.0, 1.0], [0.0, 0.0]])),
        ("oblique", np.array([[0.6, 1.0], [0.8, 0.1]])),
        ("rotations", np.diag([1.0, -1.0])),
        ("spd", np.diag([1.0, -0.1])),
        ("hyperbolic", np.array([-1.0, 0.0])),
        ("simplex_interior", np.array([1.1, -0.1])),
        ("sphere", np.array([0.6, 0.9])),
    ],
)
def test_points_off_it_have_a_residual(kind: str, X: Array) -> None:
    assert MANIFOLDS[kind](X.shape).residual(X) > 1e-4


def test_oblique_means_unit_columns_as_in_pymanopt() -> None:
    """And projections of the shared kinds are the same there."""
    from pymanopt import manifolds

    theirs = {
        "oblique": manifolds.Oblique(4, 3),
        "stiefel": manifolds.Stiefel(5, 2),
        "grassmann": manifolds.Grassmann(6, 2),
        "sphere": manifolds.Sphere(2, 3),
    }
    shapes = {"oblique": (4, 3), "stiefel": (5, 2), "grassmann": (6, 2), "sphere": (2, 3)}
    for kind, other in theirs.items():
        M, X, G, H = _at(kind, shapes[kind], {}, 11)
        V = M.project(X, G)
        np.testing.assert_allclose(V, other.projection(X, G), atol=1e-12)
        hessian = other.euclidean_to_riemannian_hessian(X, G, H, V)
        np.testing.assert_allclose(M.hess(X, V, G, H), hessian, atol=1e-12)
        assert M.dim == other.dim


def test_the_polar_factor_is_accurate_when_columns_nearly_agree() -> None:
    """Condition numbers from 1 to 1e9: orthonormal to rounding, and the symmetric factor is symmetric and positive."""
    from optdsl.kernels.manifolds.orthonormal import polar

    rng = np.random.default_rng(5)
    U, V = np.linalg.qr(rng.standard_normal((40, 4)))[0], np.linalg.qr(rng.standard_normal((4, 4)))[0]
    for condition in (1.0, 30.0, 90.0, 99.0, 101.0, 1e4, 1e9):
        X = (U * np.geomspace(1.0, 1.0 / condition, 4)) @ V.T
        Q = polar(X)
        np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-13)
        S = Q.T @ X
        np.testing.assert_allclose(S, S.T, atol=1e-12)
        assert np.linalg.eigvalsh(0.5 * (S + S.T))[0] > -1e-13
