"""Affine and quadratic expressions to sparse matrices, by array operations: triplets, never one object a term.

A vector of N affine expressions is triplets (row, column, value) and constants (N,); a quadratic one carries besides
a list of terms Σ_k d_k (F_k x + f_k)(G_k x + g_k), each added into a row. Squares keep F = G, so that factors survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.functions.table import Function
from optdsl.ir.nodes import Apply, Expr, Shape
from optdsl.ir.problem import Problem
from optdsl.lower.vector import Algebra, Unsupported

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bilinear:
    """Σ_k d_k (F x + f)_k (G x + g)_k, the k-th product added into row `row[k]`; G is F for squares."""

    F: Affine
    G: Affine
    d: Floats
    row: Ints

    @property
    def square(self) -> bool:
        return self.F is self.G


@dataclass(frozen=True, eq=False)
class Affine:
    """N expressions: entries `value` at (`row`, `column`), constants (N,), and quadratic terms."""

    n: int
    row: Ints
    column: Ints
    value: Floats
    constant: Floats
    terms: tuple[Bilinear, ...] = field(default=())

    def matrix(self, columns: int) -> sp.csr_array:
        """(N, columns) in CSR, duplicates added."""
        M = sp.coo_array((self.value, (self.row, self.column)), shape=(self.n, columns)).tocsr()
        M.sum_duplicates()
        return sp.csr_array(M)


def _rows_of(row: Ints, index: Ints, n: int) -> tuple[Ints, Ints]:
    """For entries in rows `row`: which entries the rows index[0], index[1], … hold, and the new row of each."""
    order = np.argsort(row, kind="stable") if len(row) and np.any(np.diff(row) < 0) else None
    counts = np.bincount(row, minlength=n)
    starts = np.cumsum(counts) - counts
    picked = counts[index]
    new = np.repeat(np.arange(len(index)), picked)
    at = np.arange(int(picked.sum())) - np.repeat(np.cumsum(picked) - picked, picked) + np.repeat(starts[index], picked)
    return (at if order is None else order[at]), new


class SparseAlgebra(Algebra):
    """Columns are the problem's variables, one after another in order of declaration, each in row-major order."""

    name = "sparse"

    def __init__(self, problem: Problem, quadratic: bool = True) -> None:
        self.quadratic = quadratic
        self.offsets: dict[str, int] = {}
        at = 0
        for v in problem.variables.values():
            self.offsets[v.name] = at
            at += v.size
        self.columns = at

    def variable(self, name: str, shape: Shape) -> Affine:
        n = int(np.prod(shape, dtype=int))
        k = np.arange(n, dtype=np.int64)
        return Affine(n, k, k + self.offsets[name], np.ones(n), np.zeros(n))

    def constant(self, values: Any) -> Affine:
        none = np.zeros(0, dtype=np.int64)
        c = np.ascontiguousarray(values, dtype=float).ravel()
        return Affine(len(c), none, none, np.zeros(0), c)

    def length(self, v: Affine) -> int:
        return v.n

    def take(self, v: Affine, index: Any) -> Affine:
        index = np.asarray(index, dtype=np.int64)
        if len(v.row) == v.n and v.n and np.array_equal(v.row, np.arange(v.n)):
            entries, new = index, np.arange(len(index), dtype=np.int64)
        else:
            entries, new = _rows_of(v.row, index, v.n)
        terms = []
        for t in v.terms:
            picked, at = _rows_of(t.row, index, v.n)
            F = self.take(t.F, picked)
            terms.append(Bilinear(F, F if t.square else self.take(t.G, picked), t.d[picked], at))
        return Affine(len(index), new, v.column[entries], v.value[entries], v.constant[index], tuple(terms))

    def add(self, a: Affine, b: Affine) -> Affine:
        if not len(b.row) and not b.terms:
            return Affine(a.n, a.row, a.column, a.value, a.constant + b.constant, a.terms)
        if not len(a.row) and not a.terms:
            return Affine(b.n, b.row, b.column, b.value, a.constant + b.constant, b.terms)
        join = np.concatenate
        return Affine(a.n, join([a.row, b.row]), join([a.column, b.column]), join([a.value, b.value]), a.constant + b.constant,
                      a.terms + b.terms)  # fmt: skip

    def negate(self, a: Affine) -> Affine:
        return self.scale(a, np.float64(-1.0))

    def scale(self, a: Affine, c: Any) -> Affine:
        c = np.asarray(c, dtype=float)
        flat = c.ndim == 0
        value = a.value * (c if flat else c[a.row])
        terms = tuple(Bilinear(t.F, t.G, t.d * (c if flat else c[t.row]), t.row) for t in a.terms)
        return Affine(a.n, a.row, a.column, value, a.constant * c, terms)

    def product(self, a: Affine, b: Affine, node: Expr) -> Affine:
        if not self.quadratic:
            raise Unsupported("a product of variables is not affine", node)
        if a.terms or b.terms:
            raise Unsupported("the product is of degree above two", node)
        none = np.zeros(0, dtype=np.int64)
        term = Bilinear(a, a if b is a else b, np.ones(a.n), np.arange(a.n, dtype=np.int64))
        return Affine(a.n, none, none, np.zeros(0), np.zeros(a.n), (term,))

    def linear(self, M: Any, a: Affine) -> Affine:
        n = M.shape[0]
        coo = sp.coo_array(M) if sp.issparse(M) else None
        if a.terms:
            S = coo if coo is not None else sp.coo_array(M)
            return self.group(self.scale(self.take(a, S.col.astype(np.int64)), S.data), S.row.astype(np.int64), n, 1)
        A = sp.csr_array(sp.coo_array((a.value, (a.row, a.column)), shape=(a.n, self.columns)))
        identity = len(a.row) == a.n and np.all(a.value == 1.0) and np.array_equal(a.row, np.arange(a.n))
        if identity:
            S = coo if coo is not None else sp.coo_array(M)
            row, column, value = S.row.astype(np.int64), a.column[S.col], np.asarray(S.data, dtype=float)
        else:
            P = sp.coo_array((sp.csr_array(coo) if coo is not None else sp.csr_array(M)) @ A)
            row, column, value = P.row.astype(np.int64), P.col.astype(np.int64), np.asarray(P.data, dtype=float)
        return Affine(n, row, column, value, np.asarray(M @ a.constant, dtype=np.float64).ravel())

    def group(self, a: Affine, parent_row: Any, rows: int, width: int) -> Affine:
        parent = np.asarray(parent_row, dtype=np.int64)
        to = parent if width == 1 else (parent[:, None] * width + np.arange(width)).ravel()
        constant = np.zeros(rows * width)
        if a.n:
            constant = constant + np.bincount(to, weights=a.constant, minlength=rows * width)
        terms = tuple(Bilinear(t.F, t.G, t.d, to[t.row]) for t in a.terms)
        return Affine(rows * width, to[a.row], a.column, a.value, constant, terms)

    def concat(self, parts: Sequence[Affine]) -> Affine:
        offsets = np.cumsum([0, *(p.n for p in parts)])
        join = np.concatenate
        terms = tuple(Bilinear(t.F, t.G, t.d, t.row + o) for p, o in zip(parts, offsets, strict=False) for t in p.terms)
        return Affine(
            int(offsets[-1]), join([p.row + o for p, o in zip(parts, offsets, strict=False)]), join([p.column for p in parts]),
            join([p.value for p in parts]), join([p.constant for p in parts]), terms,
        )  # fmt: skip

    def elementwise(self, f: Function, args: Sequence[Any], node: Apply) -> Affine:
        if f.name == "square":
            return self.product(args[0], args[0], node)
        if f.name == "power" and node.params["p"] in (0, 1):
            return args[0] if node.params["p"] == 1 else self.constant(np.ones(args[0].n))
        raise Unsupported(f"{f.name} of a variable is neither affine nor quadratic", node)

    def reduction(self, f: Function, v: Affine, rows: int, width: int, node: Expr) -> Affine:
        if f.name == "sum_squares":
            return self.group(self.product(v, v, node), np.repeat(np.arange(rows), width), rows, 1)
        if f.name == "var" and isinstance(node, Apply):
            mean = self.scale(self.group(v, np.repeat(np.arange(rows), width), rows, 1), 1.0 / width)
            centred = self.add(v, self.negate(self.take(mean, np.repeat(np.arange(rows), width))))
            total = self.group(self.product(centred, centred, node), np.repeat(np.arange(rows), width), rows, 1)
            return self.scale(total, 1.0 / (width - node.params.get("ddof", 0)))
        raise Unsupported(f"{f.name} of variables is neither affine nor quadratic", node)

    def matrix(self, f: Function, args: Sequence[Any], shapes: Sequence[Shape], rows: int, node: Apply) -> Affine:
        if f.name == "quad_form" and rows == 1 and isinstance(args[0], Affine):
            P = args[1]
            return self.group(
                self.product(args[0], self.linear(P, args[0]), node), np.zeros(args[0].n, dtype=np.int64), 1, 1
            )
        if f.name == "quad_over_lin" and isinstance(args[0], Affine) and not isinstance(args[1], Affine):
            total = self.reduction(_SUM_SQUARES, args[0], rows, args[0].n // rows, node)
            return self.scale(total, 1.0 / np.asarray(args[1], dtype=float).ravel())
        raise Unsupported(f"{f.name} of variables is neither affine nor quadratic", node)


def _sum_squares() -> Function:
    from optdsl.functions.table import functions

    return functions()["sum_squares"]


_SUM_SQUARES = _sum_squares()
