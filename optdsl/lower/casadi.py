"""Expressions to CasADi: symbolic functions with exact sparse derivatives. Vectors are MX columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.functions.table import Function
from optdsl.ir.nodes import Apply, Expr, Shape
from optdsl.ir.problem import Problem
from optdsl.lower.evaluate import is_whole
from optdsl.lower.vector import Algebra, Unsupported


class CasadiAlgebra(Algebra):
    """`x` is one column of all variables, in order of declaration."""

    name = "casadi"

    def __init__(self, problem: Problem) -> None:
        import casadi as ca

        self.ca = ca
        self.offsets: dict[str, int] = {}
        at = 0
        for v in problem.variables.values():
            self.offsets[v.name] = at
            at += v.size
        self.x = ca.MX.sym("x", at)

    def variable(self, name: str, shape: Shape) -> Any:
        at = self.offsets[name]
        return self.x[at : at + int(np.prod(shape, dtype=int))]

    def constant(self, values: Any) -> Any:
        return self.ca.MX(self.ca.DM(np.ascontiguousarray(values, dtype=float).ravel()))

    def length(self, v: Any) -> int:
        return int(v.shape[0])

    def take(self, v: Any, index: Any) -> Any:
        index = np.asarray(index, dtype=np.int64)
        return v if is_whole(index, v.shape[0]) else v[index.tolist(), 0]

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def negate(self, a: Any) -> Any:
        return -a

    def scale(self, a: Any, c: Any) -> Any:
        return a * (float(c) if np.ndim(c) == 0 else self.ca.DM(np.ascontiguousarray(c, dtype=float)))

    def product(self, a: Any, b: Any, node: Expr) -> Any:
        return a * b

    def linear(self, M: Any, a: Any) -> Any:
        return self.ca.mtimes(self._matrix(M), a)

    def _matrix(self, M: Any) -> Any:
        return self.ca.DM(sp.csc_matrix(M)) if sp.issparse(M) else self.ca.DM(np.asarray(M, dtype=float))

    def group(self, a: Any, parent_row: Any, rows: int, width: int) -> Any:
        parent = np.asarray(parent_row, dtype=np.int64)
        to = parent if width == 1 else (parent[:, None] * width + np.arange(width)).ravel()
        if rows * width == 1:
            return self.ca.sum1(a) if len(to) else self.ca.MX(0)
        S = sp.csc_matrix((np.ones(len(to)), (to, np.arange(len(to)))), shape=(rows * width, len(to)))
        return self.ca.mtimes(self.ca.DM(S), a)

    def concat(self, parts: Sequence[Any]) -> Any:
        return self.ca.vertcat(*parts)

    def _rows(self, v: Any, rows: int, width: int) -> Any:
        """(rows, width) from a row-major flat vector; CasADi is column-major."""
        return self.ca.reshape(v, width, rows).T

    def elementwise(self, f: Function, args: Sequence[Any], node: Apply) -> Any:
        if f.casadi is None:
            raise Unsupported(f"{f.name} has no CasADi lowering", node)
        cast = [self._constant_column(a) if isinstance(a, np.ndarray | np.generic) else a for a in args]
        return f.casadi(self.ca, *cast, **node.params)

    def _constant_column(self, a: Any) -> Any:
        return float(a) if np.ndim(a) == 0 else self.ca.DM(np.ascontiguousarray(a, dtype=float))

    def reduction(self, f: Function, v: Any, rows: int, width: int, node: Expr) -> Any:
        if f.casadi is None:
            raise Unsupported(f"{f.name} has no CasADi lowering", node)
        return f.casadi(self.ca, self._rows(v, rows, width), **getattr(node, "params", {}))

    def matrix(self, f: Function, args: Sequence[Any], shapes: Sequence[Shape], rows: int, node: Apply) -> Any:
        if f.casadi is None:
            raise Unsupported(f"{f.name} has no CasADi lowering", node)
        if any(len(shape) > 2 for shape in shapes):
            raise Unsupported(f"{f.name} of an array with more than two axes has no CasADi lowering", node)
        out = []
        for r in range(rows):
            parts = [self._array(a, shape, r, rows) for a, shape in zip(args, shapes, strict=True)]
            y = f.casadi(self.ca, *parts, **node.params)
            out.append(self.ca.reshape(y.T, -1, 1) if y.numel() > 1 else y)
        return self.ca.vertcat(*out)

    def _array(self, a: Any, shape: Shape, r: int, rows: int) -> Any:
        if sp.issparse(a) or isinstance(a, np.ndarray | np.generic):
            dense = np.asarray(a.toarray() if sp.issparse(a) else a, dtype=float)
            size = int(np.prod(shape, dtype=int))
            block = dense.ravel() if dense.size == size else dense.ravel()[r * size : (r + 1) * size]
            return self.ca.DM(block.reshape(shape)) if shape else float(block[0])
        size = int(np.prod(shape, dtype=int))
        block = a[r * size : (r + 1) * size]
        if len(shape) < 2:
            return block
        return self.ca.reshape(block, shape[1], shape[0]).T

    def matmul(self, a: Any, sa: Shape, b: Any, sb: Shape, rows: int, node: Expr) -> Any:
        m, k, n = (sa[0] if len(sa) == 2 else 1), sa[-1], (sb[1] if len(sb) == 2 else 1)
        out = []
        for r in range(rows):
            A = self.ca.reshape(a[r * m * k : (r + 1) * m * k], k, m).T
            B = self.ca.reshape(b[r * k * n : (r + 1) * k * n], n, k).T
            out.append(self.ca.reshape(self.ca.mtimes(A, B).T, m * n, 1))
        return self.ca.vertcat(*out)
