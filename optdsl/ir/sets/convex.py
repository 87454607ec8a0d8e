"""Convex sets after `in`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optdsl.ir.build import apply, const, gather, op, sub
from optdsl.ir.nodes import Expr, Sliced
from optdsl.ir.sets.table import Array, Fresh, RowTriple, SetKind

Params = Mapping[str, Any]


def _scaled(excess: Any, x: Array) -> float:
    return float(np.max(np.maximum(excess, 0.0), initial=0.0)) / (1.0 + float(np.linalg.norm(x)))


def _tail(x: Expr, low: int, high: int) -> Expr:
    return gather(x, [Sliced(low, high)], (high - low,), (None,))


def _entry(x: Expr, k: int) -> Expr:
    return gather(x, [const(k)], (), ())


def _vector(shape: tuple[int, ...], kind: str, params: Params) -> str | None:
    return None if len(shape) == 1 else "is a set of vectors"


def _square(shape: tuple[int, ...], kind: str, params: Params) -> str | None:
    return None if len(shape) == 2 and shape[0] == shape[1] else "is a set of square matrices"


def _ball_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    centred = x if np.ndim(p["center"]) == 0 and p["center"] == 0 else sub(x, const(p["center"]))
    name = {2: "norm2", 1: "norm1"}.get(p["p"], "norm_inf" if np.isinf(p["p"]) else "norm")
    extra = {"p": p["p"]} if name == "norm" else {}
    return [("<=", apply(name, centred, **extra), const(float(p["r"])))]


def _ball_violation(x: Array, p: Params) -> float:
    return _scaled(np.linalg.norm((x - p["center"]).ravel(), ord=p["p"]) - p["r"], x)


def _ball_accepts(shape: tuple[int, ...], kind: str, params: Params) -> str | None:
    if params["p"] < 1:
        return "needs p >= 1"
    return None if params["r"] >= 0 else "needs a radius r >= 0"


def _bounds(shape: tuple[int, ...], low: Any, high: Any) -> tuple[Array, Array]:
    return np.broadcast_to(np.asarray(low, float), shape), np.broadcast_to(np.asarray(high, float), shape)


def _box_accepts(shape: tuple[int, ...], kind: str, params: Params) -> str | None:
    for end in (params["a"], params["b"]):
        if np.shape(end) not in ((), shape):
            return f"has ends of shape {np.shape(end)}, not {shape}"
    return (
        None
        if np.all(np.asarray(params["a"]) <= np.asarray(params["b"]))
        else "is empty: a lower end exceeds its upper end"
    )


def _sum_last(x: Expr) -> Expr:
    return apply("sum", x, axis=-1)


def _psd_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    return [("==", x, apply("transpose", x)), (">>", x, const(0.0))]


def _psd_violation(x: Array, p: Params) -> float:
    asymmetry = float(np.abs(x - x.T).max(initial=0.0))
    return _scaled(max(-float(np.linalg.eigvalsh(0.5 * (x + x.T))[0]), asymmetry), x)


def _exp_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    a, b, c = _entry(x, 0), _entry(x, 1), _entry(x, 2)
    return [("<=", op("add", apply("rel_entr", b, c), a), const(0.0))]


def _exp_violation(x: Array, p: Params) -> float:
    a, b, c = x
    if b > 0:
        return _scaled(b * np.exp(min(a / b, 700.0)) - c, x)
    return _scaled(max(-b, a, -c), x)


def _ellipsoid_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    return [("<=", apply("quad_form", sub(x, const(np.broadcast_to(p["c"], x.shape))), const(p["P"])), const(1.0))]


SETS = [
    SetKind(
        "ball",
        "convex",
        "‖x − center‖_p ≤ r",
        r"\mathbb B_{{{p}}}({r})",
        {"r": ..., "p": 2, "center": 0.0},
        _ball_accepts,
        _ball_rows,
        violation=_ball_violation,
    ),
    SetKind(
        "box",
        "convex",
        "a ≤ x ≤ b, entry by entry",
        r"[{a}, {b}]",
        {"a": ..., "b": ...},
        _box_accepts,
        bounds=lambda shape, p: _bounds(shape, p["a"], p["b"]),
        violation=lambda x, p: _scaled(np.maximum(p["a"] - x, x - p["b"]), x),
    ),
    SetKind(
        "nonneg",
        "convex",
        "x ≥ 0",
        r"\mathbb R_+",
        bounds=lambda shape, p: _bounds(shape, 0.0, np.inf),
        violation=lambda x, p: _scaled(-x, x),
    ),
    SetKind(
        "simplex",
        "convex",
        "x ≥ 0 with entries summing to 1 along the last axis",
        r"\Delta",
        accepts=lambda shape, kind, p: None if shape else "is a set of vectors",
        rows=lambda x, p, fresh: [("==", _sum_last(x), const(1.0))],
        bounds=lambda shape, p: _bounds(shape, 0.0, np.inf),
        violation=lambda x, p: _scaled(np.maximum(-x.min(), np.abs(x.sum(-1) - 1).max()), x),
    ),
    SetKind(
        "psd",
        "convex",
        "symmetric positive semidefinite",
        r"\mathbb S_+",
        accepts=_square,
        rows=_psd_rows,
        violation=_psd_violation,
    ),
    SetKind(
        "soc",
        "convex",
        "the first entry is at least the norm of the rest",
        r"\mathcal Q",
        accepts=_vector,
        rows=lambda x, p, fresh: [("<=", apply("norm2", _tail(x, 1, x.shape[0])), _entry(x, 0))],
        violation=lambda x, p: _scaled(np.linalg.norm(x[1:]) - x[0], x),
    ),
    SetKind(
        "exp_cone",
        "convex",
        "(a, b, c) with b exp(a/b) ≤ c, b > 0",
        r"\mathcal K_{{\exp}}",
        accepts=lambda shape, kind, p: None if shape == (3,) else "is a set of vectors of length 3",
        rows=_exp_rows,
        violation=_exp_violation,
    ),
    SetKind(
        "halfspace",
        "convex",
        "a·x ≤ b",
        r"\{{x: a^\top x \le b\}}",
        {"a": ..., "b": ...},
        _vector,
        lambda x, p, fresh: [("<=", op("matmul", const(p["a"]), x), const(float(p["b"])))],
        violation=lambda x, p: _scaled((p["a"] @ x - p["b"]) / (1 + np.linalg.norm(p["a"])), x),
    ),
    SetKind(
        "polyhedron",
        "convex",
        "A x ≤ b",
        r"\{{x: Ax \le b\}}",
        {"A": ..., "b": ...},
        _vector,
        lambda x, p, fresh: [("<=", op("matmul", const(p["A"]), x), const(p["b"]))],
        violation=lambda x, p: _scaled((p["A"] @ x - p["b"]) / (1 + np.linalg.norm(p["A"], axis=1)), x),
    ),
    SetKind(
        "ellipsoid",
        "convex",
        "(x − c)' P (x − c) ≤ 1, P positive definite",
        r"\mathcal E(P, c)",
        {"P": ..., "c": 0.0},
        _vector,
        _ellipsoid_rows,
        violation=lambda x, p: _scaled(np.sqrt(max((x - p["c"]) @ p["P"] @ (x - p["c"]), 0.0)) - 1, x),
    ),
    SetKind(
        "l1_ball",
        "convex",
        "sum of |x| at most r",
        r"\mathbb B_1({r})",
        {"r": ...},
        rows=lambda x, p, fresh: [("<=", apply("norm1", x), const(float(p["r"])))],
        violation=lambda x, p: _scaled(np.abs(x).sum() - p["r"], x),
    ),
    SetKind(
        "nuclear_ball",
        "convex",
        "sum of singular values at most r",
        r"\mathbb B_*({r})",
        {"r": ...},
        accepts=lambda shape, kind, p: None if len(shape) == 2 else "is a set of matrices",
        rows=lambda x, p, fresh: [("<=", apply("norm_nuc", x), const(float(p["r"])))],
        violation=lambda x, p: _scaled(np.linalg.svd(x, compute_uv=False).sum() - p["r"], x),
    ),
]
