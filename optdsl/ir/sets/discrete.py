"""Discrete sets after `in`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optdsl.ir.build import apply, const, op
from optdsl.ir.nodes import Expr
from optdsl.ir.sets.table import Array, Fresh, RowTriple, SetKind

Params = Mapping[str, Any]


def _fraction(x: Array) -> float:
    return float(np.abs(x - np.round(x)).max(initial=0.0))


def _range_violation(x: Array, p: Params) -> float:
    outside = np.maximum(p["low"] - x, x - p["high"]).max(initial=0.0)
    return max(float(outside), _fraction(x))


def _permutation_rows(x: Expr, p: Params, fresh: Fresh) -> list[RowTriple]:
    """x = P (0, 1, …, n−1) with P a permutation matrix."""
    n = x.shape[0]
    P = fresh.make("assignment", (n, n), "bool")
    ones = const(np.ones(n))
    return [
        ("==", apply("sum", P, axis=0), ones),
        ("==", apply("sum", P, axis=1), ones),
        ("==", x, op("matmul", P, const(np.arange(n)))),
    ]


def _subset_violation(x: Array, p: Params) -> float:
    size = float(x.sum())
    return max(_fraction(x), p["least"] - size, size - p["most"], 0.0)


SETS = [
    SetKind("range", "discrete", "whole numbers from low to high, both included", r"\{{{low},\dots,{high}\}}",
            {"low": ..., "high": ...},
            lambda shape, kind, p: None if p["low"] <= p["high"] else "is empty",
            bounds=lambda shape, p: (np.full(shape, float(p["low"])), np.full(shape, float(p["high"]))), integer=True,
            violation=_range_violation),
    SetKind("binary", "discrete", "0 or 1", r"\{{0, 1\}}", bounds=lambda shape, p: (np.zeros(shape), np.ones(shape)),
            integer=True, violation=lambda x, p: float(np.minimum(np.abs(x), np.abs(x - 1)).max(initial=0.0))),
    SetKind("permutation", "discrete", "the numbers 0 … n−1 in some order", r"\mathfrak S_n",
            accepts=lambda shape, kind, p: None if len(shape) == 1 else "needs a vector", rows=_permutation_rows,
            bounds=lambda shape, p: (np.zeros(shape), np.full(shape, shape[0] - 1.0)), integer=True,
            violation=lambda x, p: float(np.abs(np.sort(x) - np.arange(len(x))).max(initial=0.0))),
    SetKind("subset", "discrete", "a subset of a set, as 0/1 marks: subset(Items, size <= 5)", r"2^{{S}}",
            {"least": 0, "most": np.inf},
            accepts=lambda shape, kind, p: None if kind == "bool" and len(shape) == 1 else "needs bool[Items]",
            rows=lambda x, p, fresh: [
                *([("<=", apply("sum", x), const(float(p["most"])))] if np.isfinite(p["most"]) else []),
                *([(">=", apply("sum", x), const(float(p["least"])))] if p["least"] > 0 else []),
            ],
            violation=_subset_violation),
]  # fmt: skip
