"""Functions of whole matrices. A lowering gets matrices; NumPy and torch may carry leading batch axes.

Vectors have one axis; quadratic forms take the vector first, as CVXPY does.
"""

from __future__ import annotations

from typing import Any

from optdsl.functions.table import Function, Shape, Sign, nonnegative


def _scalar(*shapes: Shape) -> Shape | None:
    return ()


def _square_to_scalar(shape: Shape) -> Shape | None:
    return () if len(shape) == 2 and shape[0] == shape[1] else None


def _matrix_to_scalar(shape: Shape) -> Shape | None:
    return () if len(shape) == 2 else None


def _vector_and_square(x: Shape, P: Shape) -> Shape | None:
    return () if len(x) == 1 and P == (x[0], x[0]) else None


def _sym_eig(m: Any, X: Any) -> Any:
    return m.linalg.eigvalsh(0.5 * (X + X.swapaxes(-1, -2)))


def _log_det(m: Any, X: Any) -> Any:
    if m.__name__ == "torch":
        L, info = m.linalg.cholesky_ex(0.5 * (X + X.swapaxes(-1, -2)))
        value = 2 * m.log(m.diagonal(L, dim1=-2, dim2=-1)).sum(-1)
        return m.where(info == 0, value, m.full_like(value, -float("inf")))
    _, value = m.linalg.slogdet(0.5 * (X + X.swapaxes(-1, -2)))
    positive = m.linalg.eigvalsh(0.5 * (X + X.swapaxes(-1, -2)))[..., 0] > 0
    return m.where(positive, value, -m.inf)


def _quad_form(m: Any, x: Any, P: Any) -> Any:
    if m.__name__ == "casadi":
        return m.bilin(P, x, x)
    return ((x[..., None, :] @ P)[..., 0, :] * x).sum(-1)


def _matrix_frac(m: Any, x: Any, P: Any) -> Any:
    if m.__name__ == "casadi":
        return m.dot(x, m.solve(P, x))
    value = (x * m.linalg.solve(P, x[..., None])[..., 0]).sum(-1)
    if m.__name__ == "numpy":
        value = m.where(m.linalg.eigvalsh(0.5 * (P + P.swapaxes(-1, -2)))[..., 0] > 0, value, m.nan)
    return value


def _quad_over_lin(m: Any, x: Any, y: Any) -> Any:
    if m.__name__ == "casadi":
        return m.sumsqr(x) / y
    axes = tuple(range(y.ndim, x.ndim))
    value = (x * x).sum(axes) / y if axes else x * x / y
    return m.where(y > 0, value, m.nan) if m.__name__ == "numpy" else value


def _solve(m: Any, A: Any, b: Any) -> Any:
    if m.__name__ == "casadi":
        return m.solve(A, b)
    if b.ndim == A.ndim - 1:
        return m.linalg.solve(A, b[..., None])[..., 0]
    return m.linalg.solve(A, b)


def _softmax(m: Any, x: Any) -> Any:
    if m.__name__ == "torch":
        return m.softmax(x, dim=-1)
    if m.__name__ == "casadi":
        e = m.exp(x - m.mmax(x))
        return e / (m.sum1(e) if x.shape[1] == 1 else m.repmat(m.sum2(e), 1, x.shape[1]))
    e = m.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _same(shape: Shape) -> Shape | None:
    return shape


def _square(shape: Shape) -> Shape | None:
    return shape if len(shape) == 2 and shape[0] == shape[1] else None


def _solve_shape(A: Shape, b: Shape) -> Shape | None:
    return b if len(A) == 2 and A[0] == A[1] and b and b[0] == A[1] else None


def _sort(m: Any, x: Any) -> Any:
    return m.sort(x, dim=-1).values if m.__name__ == "torch" else m.sort(x, axis=-1)


def _ignore(*signs: Sign) -> Sign:
    return None


FUNCTIONS = [
    Function(
        "det",
        "matrix",
        "determinant",
        r"\det {0}",
        shape=_square_to_scalar,
        numpy=lambda m, X: m.linalg.det(X),
        torch=lambda m, X: m.linalg.det(X),
        casadi=lambda m, X: m.det(X),
    ),
    Function(
        "log_det",
        "matrix",
        "log of the determinant of a positive definite matrix",
        r"\log\det {0}",
        shape=_square_to_scalar,
        curvature="concave",
        numpy=_log_det,
        torch=_log_det,
        cvxpy=lambda m, X: m.log_det(0.5 * (X + X.T)),
        casadi=lambda m, X: m.log(m.det(0.5 * (X + X.T))),
    ),
    Function(
        "lambda_max",
        "matrix",
        "largest eigenvalue of the symmetric part of a matrix",
        r"\lambda_{{\max}}({0})",
        shape=_square_to_scalar,
        curvature="convex",
        smooth=False,
        numpy=lambda m, X: _sym_eig(m, X)[..., -1],
        torch=lambda m, X: _sym_eig(m, X)[..., -1],
        cvxpy=lambda m, X: m.lambda_max(0.5 * (X + X.T)),
    ),
    Function(
        "lambda_min",
        "matrix",
        "smallest eigenvalue of the symmetric part of a matrix",
        r"\lambda_{{\min}}({0})",
        shape=_square_to_scalar,
        curvature="concave",
        smooth=False,
        numpy=lambda m, X: _sym_eig(m, X)[..., 0],
        torch=lambda m, X: _sym_eig(m, X)[..., 0],
        cvxpy=lambda m, X: m.lambda_min(0.5 * (X + X.T)),
    ),
    Function(
        "norm_nuc",
        "matrix",
        "sum of singular values",
        r"\|{0}\|_*",
        shape=_matrix_to_scalar,
        sign=nonnegative,
        curvature="convex",
        smooth=False,
        prox="Nuclear",
        numpy=lambda m, X: m.linalg.svd(X, compute_uv=False).sum(-1),
        torch=lambda m, X: m.linalg.svdvals(X).sum(-1),
        cvxpy=lambda m, X: m.norm(X, "nuc"),
    ),
    Function(
        "norm_spectral",
        "matrix",
        "largest singular value",
        r"\|{0}\|_2",
        shape=_matrix_to_scalar,
        sign=nonnegative,
        curvature="convex",
        smooth=False,
        numpy=lambda m, X: m.linalg.svd(X, compute_uv=False)[..., 0],
        torch=lambda m, X: m.linalg.svdvals(X)[..., 0],
        cvxpy=lambda m, X: m.sigma_max(X),
    ),
    Function(
        "quad_form",
        "matrix",
        "x' P x with a constant matrix P",
        r"{0}^\top {1} {0}",
        arity=2,
        shape=_vector_and_square,
        derivative="(P + P') x",
        numpy=_quad_form,
        torch=_quad_form,
        casadi=_quad_form,
        cvxpy=lambda m, x, P: m.quad_form(x, 0.5 * (P + P.T)),
    ),
    Function(
        "quad_over_lin",
        "matrix",
        "sum of squares of x over y > 0 (undefined elsewhere)",
        r"\frac{{\|{0}\|_2^2}}{{{1}}}",
        arity=2,
        shape=lambda x, y: () if y == () else None,
        positive=(1,),
        sign=nonnegative,
        curvature="convex",
        monotone=lambda x, y: ["+" if x in (0, 1) else "-" if x == -1 else "=", "-"],
        numpy=_quad_over_lin,
        torch=_quad_over_lin,
        casadi=_quad_over_lin,
        cvxpy=lambda m, x, y: m.quad_over_lin(x, y),
    ),
    Function(
        "matrix_frac",
        "matrix",
        "x' P^-1 x, P positive definite",
        r"{0}^\top {1}^{{-1}} {0}",
        arity=2,
        shape=_vector_and_square,
        sign=nonnegative,
        curvature="convex",
        numpy=_matrix_frac,
        torch=_matrix_frac,
        casadi=_matrix_frac,
        cvxpy=lambda m, x, P: m.matrix_frac(x, P),
    ),
    Function(
        "inv",
        "matrix",
        "inverse of a square matrix",
        r"{0}^{{-1}}",
        shape=_square,
        numpy=lambda m, X: m.linalg.inv(X),
        torch=lambda m, X: m.linalg.inv(X),
        casadi=lambda m, X: m.inv(X),
    ),
    Function(
        "solve",
        "matrix",
        "A^-1 b",
        r"{0}^{{-1}} {1}",
        arity=2,
        shape=_solve_shape,
        numpy=_solve,
        torch=_solve,
        casadi=_solve,
    ),
    Function(
        "cholesky",
        "matrix",
        "lower triangular L with L L' = A",
        r"\operatorname{{chol}}({0})",
        shape=_square,
        numpy=lambda m, X: m.linalg.cholesky(X),
        torch=lambda m, X: m.linalg.cholesky(X),
    ),
    Function(
        "softmax",
        "matrix",
        "exp(x) / sum(exp(x)) along the last axis",
        r"\operatorname{{softmax}}({0})",
        shape=_same,
        sign=nonnegative,
        numpy=_softmax,
        torch=_softmax,
        casadi=_softmax,
    ),
    Function(
        "sort",
        "matrix",
        "entries in increasing order along the last axis",
        r"\operatorname{{sort}}({0})",
        shape=_same,
        smooth=False,
        numpy=_sort,
        torch=_sort,
    ),
]
