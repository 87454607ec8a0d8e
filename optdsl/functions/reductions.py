"""Functions that turn a vector into a number: the whole array, or along `axis=`, or over a generator.

A lowering gets X of shape (B, k) and gives (B,). For CasADi that is a B×k matrix and a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from optdsl.functions.table import Function, Monotone, Sign, nonnegative, same_sign


def _norm_monotone(sign: Sign) -> Sequence[Monotone]:
    return ["+" if sign in (0, 1) else "-" if sign == -1 else "="]


def _each(m: Any, X: Any, f: Any) -> Any:
    """Row by row, for CVXPY functions without an axis."""
    return m.hstack([f(X[i, :]) for i in range(X.shape[0])])


def _casadi_rows(m: Any, X: Any, f: Any) -> Any:
    return m.vertcat(*[f(X[i, :]) for i in range(X.shape[0])])


def _norm(m: Any, X: Any, p: float) -> Any:
    name = m.__name__
    if name == "cvxpy":
        if p in (1, 2, float("inf")):
            return m.norm(X, "inf" if p == float("inf") else p, axis=1)
        return _each(m, X, lambda row: m.pnorm(row, p))
    if name == "numpy":
        return m.linalg.norm(X, ord=p, axis=1)
    if name == "torch":
        return m.linalg.vector_norm(X, ord=p, dim=1)
    if p == 2:
        return m.sqrt(m.sum2(X * X))
    if p == 1:
        return m.sum2(m.fabs(X))
    if p == float("inf"):
        return _casadi_rows(m, m.fabs(X), lambda row: m.mmax(row))
    return m.sum2(m.fabs(X) ** p) ** (1 / p)


def _lse(m: Any, X: Any) -> Any:
    if m.__name__ == "cvxpy":
        return m.log_sum_exp(X, axis=1)
    if m.__name__ == "torch":
        return m.logsumexp(X, dim=1)
    if m.__name__ == "casadi":
        return _casadi_rows(m, X, lambda row: m.logsumexp(row.T))
    from scipy.special import logsumexp

    return logsumexp(X, axis=1)


def _var(m: Any, X: Any, ddof: int) -> Any:
    name, k = m.__name__, X.shape[1]
    if name == "cvxpy":
        return _each(m, X, lambda row: m.sum_squares(row - m.sum(row) / k) / (k - ddof))
    if name == "casadi":
        centred = X - m.repmat(m.sum2(X) / k, 1, k)
        return m.sum2(centred * centred) / (k - ddof)
    centred = X - (X.sum(1) / k)[:, None]
    return (centred * centred).sum(1) / (k - ddof)


def _std(m: Any, X: Any, ddof: int) -> Any:
    name, k = m.__name__, X.shape[1]
    if name == "cvxpy":
        return _each(m, X, lambda row: m.norm2(row - m.sum(row) / k) / (k - ddof) ** 0.5)
    return m.sqrt(_var(m, X, ddof))


def _largest(m: Any, X: Any, k: int) -> Any:
    if m.__name__ == "cvxpy":
        return _each(m, X, lambda row: m.sum_largest(row, k))
    if m.__name__ == "torch":
        return m.topk(X, k, dim=1).values.sum(1)
    return m.sort(X, axis=1)[:, -k:].sum(1)


def _prod(m: Any, X: Any) -> Any:
    if m.__name__ == "casadi":
        out = X[:, 0]
        for j in range(1, X.shape[1]):
            out = out * X[:, j]
        return out
    return X.prod(1)


def _all(lowering: Callable[..., Any]) -> dict[str, Any]:
    """The same lowering for every target."""
    return dict.fromkeys(("numpy", "torch", "casadi", "cvxpy"), lowering)


FUNCTIONS = [
    Function(
        "sum",
        "reduction",
        "sum of the entries",
        r"\sum {0}",
        sign=same_sign,
        curvature="affine",
        monotone="+",
        result="same",
        numpy=lambda m, X: X.sum(1),
        torch=lambda m, X: X.sum(1),
        casadi=lambda m, X: m.sum2(X),
        cvxpy=lambda m, X: m.sum(X, axis=1),
    ),
    Function(
        "mean",
        "reduction",
        "average of the entries",
        r"\operatorname{{mean}} {0}",
        sign=same_sign,
        curvature="affine",
        monotone="+",
        numpy=lambda m, X: X.mean(1),
        torch=lambda m, X: X.mean(1),
        casadi=lambda m, X: m.sum2(X) / X.shape[1],
        cvxpy=lambda m, X: m.sum(X, axis=1) / X.shape[1],
    ),
    Function(
        "prod",
        "reduction",
        "product of the entries",
        r"\prod {0}",
        sign=lambda s: s if s in (0, 1) else None,
        result="same",
        numpy=_prod,
        torch=_prod,
        casadi=_prod,
    ),
    Function(
        "max",
        "reduction",
        "largest entry",
        r"\max {0}",
        sign=same_sign,
        curvature="convex",
        monotone="+",
        smooth=False,
        prox="Max",
        result="same",
        numpy=lambda m, X: X.max(1),
        torch=lambda m, X: X.max(1).values,
        casadi=lambda m, X: _casadi_rows(m, X, m.mmax),
        cvxpy=lambda m, X: m.max(X, axis=1),
    ),
    Function(
        "min",
        "reduction",
        "smallest entry",
        r"\min {0}",
        sign=same_sign,
        curvature="concave",
        monotone="+",
        smooth=False,
        result="same",
        numpy=lambda m, X: X.min(1),
        torch=lambda m, X: X.min(1).values,
        casadi=lambda m, X: _casadi_rows(m, X, m.mmin),
        cvxpy=lambda m, X: m.min(X, axis=1),
    ),
    Function(
        "norm1",
        "reduction",
        "sum of absolute values",
        r"\|{0}\|_1",
        sign=nonnegative,
        curvature="convex",
        monotone=_norm_monotone,
        smooth=False,
        prox="L1",
        **_all(lambda m, X: _norm(m, X, 1)),
    ),
    Function(
        "norm2",
        "reduction",
        "Euclidean norm",
        r"\|{0}\|_2",
        sign=nonnegative,
        curvature="convex",
        monotone=_norm_monotone,
        smooth=False,
        prox="L2",
        **_all(lambda m, X: _norm(m, X, 2)),
    ),
    Function(
        "norm_fro",
        "reduction",
        "Frobenius norm",
        r"\|{0}\|_F",
        sign=nonnegative,
        curvature="convex",
        monotone=_norm_monotone,
        smooth=False,
        prox="L2",
        **_all(lambda m, X: _norm(m, X, 2)),
    ),
    Function(
        "norm_inf",
        "reduction",
        "largest absolute value",
        r"\|{0}\|_\infty",
        sign=nonnegative,
        curvature="convex",
        monotone=_norm_monotone,
        smooth=False,
        prox="LInf",
        **_all(lambda m, X: _norm(m, X, float("inf"))),
    ),
    Function(
        "norm",
        "reduction",
        "p-norm, p >= 1 (2 unless given)",
        r"\|{0}\|_{{{p}}}",
        params={"p": 2},
        sign=nonnegative,
        curvature="convex",
        monotone=_norm_monotone,
        smooth=False,
        **_all(_norm),
    ),
    Function(
        "sum_squares",
        "reduction",
        "sum of squares",
        r"\|{0}\|_2^2",
        sign=nonnegative,
        curvature="convex",
        monotone=_norm_monotone,
        result="same",
        derivative="2 x",
        numpy=lambda m, X: (X * X).sum(1),
        torch=lambda m, X: (X * X).sum(1),
        casadi=lambda m, X: m.sum2(X * X),
        cvxpy=lambda m, X: _each(m, X, m.sum_squares),
    ),
    Function(
        "log_sum_exp",
        "reduction",
        "log of the sum of exponentials",
        r"\log\sum e^{{{0}}}",
        curvature="convex",
        monotone="+",
        derivative="softmax(x)",
        numpy=_lse,
        torch=_lse,
        casadi=_lse,
        cvxpy=_lse,
    ),
    Function(
        "sum_largest",
        "reduction",
        "sum of the k largest entries",
        r"\operatorname{{sum\_largest}}_{{{k}}}({0})",
        params={"k": ...},
        sign=same_sign,
        curvature="convex",
        monotone="+",
        smooth=False,
        numpy=_largest,
        torch=_largest,
        cvxpy=_largest,
    ),
    Function(
        "var",
        "reduction",
        "variance (divides by n - ddof)",
        r"\operatorname{{var}}({0})",
        params={"ddof": 0},
        sign=nonnegative,
        curvature="convex",
        numpy=_var,
        torch=_var,
        casadi=_var,
        cvxpy=_var,
    ),
    Function(
        "std",
        "reduction",
        "standard deviation (divides by n - ddof)",
        r"\operatorname{{std}}({0})",
        params={"ddof": 0},
        sign=nonnegative,
        curvature="convex",
        smooth=False,
        numpy=_std,
        torch=_std,
        casadi=_std,
        cvxpy=_std,
    ),
]
