"""Expressions to CVXPY. Vectors are flat CVXPY expressions; a matrix variable is one CVXPY variable of its shape."""

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


class CvxpyAlgebra(Algebra):
    name = "cvxpy"

    def __init__(self, problem: Problem) -> None:
        import cvxpy as cp

        self.cp = cp
        self.problem = problem
        self.variables: dict[str, Any] = {}

    def variable(self, name: str, shape: Shape) -> Any:
        v = self.problem.variables[name]
        made = self.cp.Variable(shape if shape else (), name=name, integer=v.kind == "int", boolean=v.kind == "bool")
        self.variables[name] = made
        return made if len(shape) == 1 else self.cp.reshape(made, (made.size,), order="C")

    def constant(self, values: Any) -> Any:
        return self.cp.Constant(np.ascontiguousarray(values, dtype=float).ravel())

    def length(self, v: Any) -> int:
        return int(v.shape[0])

    def take(self, v: Any, index: Any) -> Any:
        index = np.asarray(index, dtype=np.int64)
        return v if is_whole(index, v.shape[0]) else v[index]

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def negate(self, a: Any) -> Any:
        return -a

    def scale(self, a: Any, c: Any) -> Any:
        return self.cp.multiply(np.asarray(c, dtype=float), a) if np.ndim(c) else float(c) * a

    def product(self, a: Any, b: Any, node: Expr) -> Any:
        if a is b:
            return self.cp.square(a)
        raise Unsupported("a product of variables is not convex", node)

    def linear(self, M: Any, a: Any) -> Any:
        return (sp.csr_array(M) if sp.issparse(M) else np.asarray(M, dtype=float)) @ a

    def group(self, a: Any, parent_row: Any, rows: int, width: int) -> Any:
        parent = np.asarray(parent_row, dtype=np.int64)
        if rows * width == 1:
            return self.cp.reshape(self.cp.sum(a), (1,), order="C")
        to = parent if width == 1 else (parent[:, None] * width + np.arange(width)).ravel()
        return sp.csr_array((np.ones(len(to)), (to, np.arange(len(to)))), shape=(rows * width, len(to))) @ a

    def concat(self, parts: Sequence[Any]) -> Any:
        return self.cp.hstack(list(parts))

    def elementwise(self, f: Function, args: Sequence[Any], node: Apply) -> Any:
        if f.cvxpy is None:
            raise Unsupported(f"{f.name} is not a convex or concave function", node)
        return f.cvxpy(self.cp, *args, **node.params)

    def reduction(self, f: Function, v: Any, rows: int, width: int, node: Expr) -> Any:
        if f.cvxpy is None:
            raise Unsupported(f"{f.name} is not a convex or concave function", node)
        params = getattr(node, "params", {})
        if f.name == "sum_squares" and rows == 1:
            return self.cp.reshape(self.cp.sum_squares(v), (1,), order="C")
        shaped = self.cp.reshape(v, (rows, width), order="C")
        return self.cp.reshape(f.cvxpy(self.cp, shaped, **params), (rows,), order="C")

    def matrix(self, f: Function, args: Sequence[Any], shapes: Sequence[Shape], rows: int, node: Apply) -> Any:
        if f.cvxpy is None:
            raise Unsupported(f"{f.name} is not a convex or concave function", node)
        if any(len(shape) > 2 for shape in shapes):
            raise Unsupported(f"{f.name} of an array with more than two axes has no CVXPY lowering", node)
        out = []
        for r in range(rows):
            parts = [self._array(a, shape, r) for a, shape in zip(args, shapes, strict=True)]
            y = f.cvxpy(self.cp, *parts, **node.params)
            out.append(self.cp.reshape(y, (max(y.size, 1),), order="C"))
        return out[0] if rows == 1 else self.cp.hstack(out)

    def _array(self, a: Any, shape: Shape, r: int) -> Any:
        size = int(np.prod(shape, dtype=int))
        if sp.issparse(a):
            return a
        if isinstance(a, np.ndarray | np.generic):
            block = np.ravel(a) if np.size(a) == size else np.ravel(a)[r * size : (r + 1) * size]
            return np.asarray(block, dtype=float).reshape(shape)
        block = a if a.shape == (size,) else a[r * size : (r + 1) * size]
        return self.cp.reshape(block, shape, order="C") if len(shape) != 1 else block
