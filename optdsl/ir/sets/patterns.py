"""Sparsity patterns after `in`. A real variable in a pattern has its nonzeros there; a bool one is a mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optdsl.ir.build import apply, const, mul, op
from optdsl.ir.nodes import Expr
from optdsl.ir.sets.table import Array, Fresh, NeedsBounds, RowTriple, SetKind

Params = Mapping[str, Any]


def _support(x: Expr, fresh: Fresh) -> tuple[Expr, list[RowTriple]]:
    """0/1 marks of the nonzeros of x, and the rows that tie them: lower·z ≤ x ≤ upper·z."""
    if x.kind == "bool":
        return x, []
    if not (np.isfinite(fresh.lower).all() and np.isfinite(fresh.upper).all()):
        raise NeedsBounds
    z = fresh.make("support", x.shape, "bool")
    low, high = np.minimum(fresh.lower, 0.0), np.maximum(fresh.upper, 0.0)
    return z, [("<=", x, mul(const(high), z)), (">=", x, mul(const(low), z))]


def _sparse_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    z, ties = _support(x, fresh)
    return [*ties, ("<=", apply("sum", z), const(int(p["k"])))]


def _group_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    z, ties = _support(x, fresh)
    groups = np.asarray(p["groups"])
    names, member = np.unique(groups, return_inverse=True)
    active = fresh.make("groups", (len(names),), "bool")
    spread = const((member[:, None] == np.arange(len(names))[None, :]).astype(float))
    return [*ties, ("<=", z, op("matmul", spread, active)), ("<=", apply("sum", active), const(int(p["k"])))]


def _windows(shape: tuple[int, ...], axis: int, M: int) -> Array:
    """(windows, entries) 0/1: which entries each window of M along the axis holds."""
    ids = np.moveaxis(np.arange(int(np.prod(shape))).reshape(shape), axis, -1).reshape(-1, M)
    out = np.zeros((len(ids), int(np.prod(shape))))
    out[np.arange(len(ids))[:, None], ids] = 1.0
    return out


def _nm_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    z, ties = _support(x, fresh)
    flat = apply("reshape", z, shape_to=(x.size,))
    relation = "==" if p["exactly"] else "<="
    axes = (0, 1) if p["transposable"] else (int(p["axis"]),)
    rows = []
    for axis in axes:
        W = _windows(x.shape, axis, int(p["M"]))
        rows.append((relation, op("matmul", const(W), flat), const(np.full(len(W), int(p["N"])))))
    return [*ties, *rows]


def _nm_accepts(shape: tuple[int, ...], kind: str, p: Params) -> str | None:
    N, M = int(p["N"]), int(p["M"])
    if not 0 <= N <= M or M < 1:
        return f"needs 0 <= N <= M, got {N}:{M}"
    if p["transposable"] and len(shape) != 2:
        return "is transposable only on a matrix"
    if not shape:
        return "needs an array"
    for axis in (0, 1) if p["transposable"] else (int(p["axis"]),):
        size = shape[axis]
        if size % M:
            low, high = size // M * M, (size // M + 1) * M
            return f"needs M = {M} to divide axis {axis} of length {size}; the nearest lengths are {low} and {high}"
    return None


def _nm_violation(x: Array, p: Params) -> float:
    """The largest surplus (or, with `exactly`, difference) of a window, over M."""
    N, M = int(p["N"]), int(p["M"])
    kept = x != 0
    worst = 0
    for axis in (0, 1) if p["transposable"] else (int(p["axis"]),):
        counts = np.moveaxis(kept, axis, -1).reshape(-1, M).sum(1)
        worst = max(worst, int((np.abs(counts - N) if p["exactly"] else counts - N).max(initial=0)))
    return worst / M


def _block_accepts(shape: tuple[int, ...], kind: str, p: Params) -> str | None:
    b = int(p["b"])
    if len(shape) != 2:
        return "needs a matrix"
    return None if shape[0] % b == 0 and shape[1] % b == 0 else f"needs blocks of {b} to divide {shape}"


def _block_count(x: Array, b: int) -> int:
    m, n = x.shape
    return int((x.reshape(m // b, b, n // b, b) != 0).any(axis=(1, 3)).sum())


def _block_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    z, ties = _support(x, fresh)
    b, (m, n) = int(p["b"]), x.shape
    block = (np.arange(m)[:, None] // b) * (n // b) + np.arange(n)[None, :] // b
    active = fresh.make("blocks", ((m // b) * (n // b),), "bool")
    spread = (block.reshape(-1, 1) == np.arange(active.size)[None, :]).astype(float)
    flat = apply("reshape", z, shape_to=(x.size,))
    return [*ties, ("<=", flat, op("matmul", const(spread), active)), ("<=", apply("sum", active), const(int(p["k"])))]


def _rank_accepts(shape: tuple[int, ...], kind: str, p: Params) -> str | None:
    return None if len(shape) == 2 and p["r"] >= 1 else "needs a matrix and r >= 1"


def _rank_violation(x: Array, p: Params) -> float:
    s = np.linalg.svd(x, compute_uv=False)
    r = int(p["r"])
    return float(s[r] / (1.0 + s[0])) if r < len(s) else 0.0


def _count_accepts(shape: tuple[int, ...], kind: str, p: Params) -> str | None:
    return None if p["k"] >= 0 else "needs k >= 0"


SETS = [
    SetKind("sparse", "pattern", "at most k nonzeros", r"\Sigma_{{{k}}}", {"k": ...}, _count_accepts, _sparse_rows,
            violation=lambda x, p: max(0.0, float(np.count_nonzero(x) - p["k"])) / max(1, x.size)),
    SetKind("group_sparse", "pattern", "nonzeros in at most k of the groups (one label an entry)",
            r"\Sigma^{{\mathrm{{group}}}}_{{{k}}}", {"groups": ..., "k": ...},
            lambda shape, kind, p: None if shape == np.shape(p["groups"]) and len(shape) == 1
            else "needs a vector with one group label an entry", _group_rows,
            violation=lambda x, p: max(0.0, len(np.unique(np.asarray(p["groups"])[x != 0])) - float(p["k"])) / x.size),
    SetKind("nm", "pattern", "at most N nonzeros in every M consecutive entries along the last axis (`axis=`), or in "
            "rows and columns of every M × M block when transposable; `exactly` asks for N and no fewer",
            r"{N}{{:}}{M}", {"N": ..., "M": ..., "transposable": False, "exactly": False, "axis": -1}, _nm_accepts,
            _nm_rows, violation=_nm_violation),
    SetKind("block_sparse", "pattern", "nonzeros in at most k of the b × b blocks", r"\Sigma^{{{b} \times {b}}}_{{{k}}}",
            {"b": ..., "k": ...}, _block_accepts, _block_rows,
            violation=lambda x, p: max(0.0, _block_count(x, int(p["b"])) - float(p["k"])) / x.size),
    SetKind("rank", "pattern", "rank at most r", r"\mathcal M_{{\le {r}}}", {"r": ...}, _rank_accepts,
            violation=_rank_violation),
    SetKind("support", "pattern", "nonzeros only where M is not zero", r"\mathrm{{supp}} \subseteq M", {"M": ...},
            lambda shape, kind, p: None if np.shape(p["M"]) == shape else f"needs a mask of shape {shape}",
            rows=lambda x, p, fresh: [("==", mul(const((np.asarray(p["M"]) == 0).astype(float)), x), const(0.0))],
            violation=lambda x, p: float(np.abs(x * (np.asarray(p["M"]) == 0)).max(initial=0.0)) / (1 + float(np.abs(x).max(initial=0.0)))),
]  # fmt: skip
