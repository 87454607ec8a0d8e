"""Manifolds after `in`. Rows are the equations that a nonlinear program needs where a manifold method does not apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from optdsl.ir.build import apply, const, op
from optdsl.ir.nodes import Expr
from optdsl.ir.sets.table import Array, Fresh, RowTriple, SetKind

Params = Mapping[str, Any]


def _tall(shape: tuple[int, ...], kind: str, params: Params) -> str | None:
    return None if len(shape) == 2 and shape[0] >= shape[1] else "needs a matrix with at least as many rows as columns"


def _square(shape: tuple[int, ...], kind: str, params: Params) -> str | None:
    return None if len(shape) == 2 and shape[0] == shape[1] else "needs a square matrix"


def _matrix(shape: tuple[int, ...], kind: str, params: Params) -> str | None:
    return None if len(shape) == 2 else "needs a matrix"


def _orthonormal_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    return [("==", op("matmul", apply("transpose", x), x), const(np.eye(x.shape[1])))]


def _orthonormal(x: Array, p: Params) -> float:
    return float(np.linalg.norm(x.T @ x - np.eye(x.shape[1])))


def _rotation(x: Array, p: Params) -> float:
    return _orthonormal(x, p) + max(0.0, -float(np.linalg.det(x)))


def _spd(x: Array, p: Params) -> float:
    return float(max(-np.linalg.eigvalsh(0.5 * (x + x.T))[0], np.abs(x - x.T).max()) / (1 + np.linalg.norm(x)))


def _fixed_rank(x: Array, p: Params) -> float:
    s = np.linalg.svd(x, compute_uv=False)
    r = int(p["r"])
    return float(s[r] / (1e-300 + s[0])) if r < len(s) else 0.0


def _rank_accepts(shape: tuple[int, ...], kind: str, params: Params) -> str | None:
    if len(shape) != 2:
        return "needs a matrix"
    return None if 1 <= params["r"] <= min(shape) else f"needs a rank from 1 to {min(shape)}"


def _lorentz(x: Array, p: Params) -> float:
    return float(abs(-(x[0] ** 2) + x[1:] @ x[1:] + 1) / (1 + x @ x)) + max(0.0, -float(x[0]))


def _manifold(
    name: str, doc: str, latex: str, accepts: Callable[..., str | None], violation: Callable[[Array, Params], float],
    rows: Any = None, params: Params | None = None, bounds: Any = None,
) -> SetKind:  # fmt: skip
    return SetKind(name, "manifold", doc, latex, params or {}, accepts, rows, bounds, False, violation)


def _any(shape: tuple[int, ...], kind: str, params: Params) -> str | None:
    return None if shape else "needs an array"


SETS = [
    _manifold("sphere", "arrays of Frobenius norm 1", r"\mathbb S", _any, lambda x, p: abs(float(np.linalg.norm(x)) - 1),
              lambda x, p, fresh: [("==", apply("sum_squares", x), const(1.0))]),
    _manifold("oblique", "matrices with columns of norm 1", r"\mathcal{{OB}}", _matrix,
              lambda x, p: float(np.abs(np.linalg.norm(x, axis=0) - 1).max()),
              lambda x, p, fresh: [("==", apply("sum_squares", x, axis=0), const(np.ones(x.shape[1])))]),
    _manifold("stiefel", "matrices with orthonormal columns", r"\mathrm{{St}}", _tall, _orthonormal, _orthonormal_rows),
    _manifold("grassmann", "subspaces, by an orthonormal basis in the columns", r"\mathrm{{Gr}}", _tall, _orthonormal,
              _orthonormal_rows),
    _manifold("orthogonal", "orthogonal matrices", r"\mathrm O", _square, _orthonormal, _orthonormal_rows),
    _manifold("rotations", "orthogonal matrices of determinant 1", r"\mathrm{{SO}}", _square, _rotation),
    _manifold("spd", "symmetric positive definite matrices", r"\mathbb S_{{++}}", _square, _spd),
    _manifold("fixed_rank", "matrices of rank r", r"\mathcal M_{{{r}}}", _rank_accepts, _fixed_rank, params={"r": ...}),
    _manifold("simplex_interior", "positive vectors that sum to 1", r"\Delta^\circ",
              lambda shape, kind, p: None if len(shape) == 1 else "needs a vector",
              lambda x, p: float(max(abs(x.sum() - 1), -x.min())),
              lambda x, p, fresh: [("==", apply("sum", x), const(1.0))],
              bounds=lambda shape, p: (np.zeros(shape), np.full(shape, np.inf))),
    _manifold("hyperbolic", "the upper sheet −x₀² + x₁² + … = −1", r"\mathbb H",
              lambda shape, kind, p: None if len(shape) == 1 and shape[0] >= 2 else "needs a vector of length at least 2",
              _lorentz),
]  # fmt: skip
