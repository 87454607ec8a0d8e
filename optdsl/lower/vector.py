"""The walk shared by all targets: expressions that hold variables become flat vectors of a target's algebra.

A value has N = rows · size entries, row by row: the table's rows outermost (one where the node has no free index), the
node's own shape in row-major order inside. Constants are NumPy arrays from `Evaluator` and stay so until they meet a
variable. A target supplies the few operations of `Algebra`; everything of the language is made of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.functions.table import Function, functions
from optdsl.ir.nodes import Apply, Choose, Const, Expr, Gather, Op, Reduce, Shape, Var, same
from optdsl.ir.problem import Problem
from optdsl.lower.evaluate import Evaluator, is_whole
from optdsl.lower.tables import Table
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import undefined_value


class Unsupported(Exception):
    """The target has no such expression; `node` is the guilty one and `reason` a sentence."""

    def __init__(self, reason: str, node: Expr) -> None:
        super().__init__(reason)
        self.reason, self.node = reason, node


class Algebra(ABC):
    """What a target must do with flat vectors. `V` below is the target's vector type."""

    name: str

    @abstractmethod
    def variable(self, name: str, shape: Shape) -> Any: ...

    @abstractmethod
    def constant(self, values: Any) -> Any:
        """A constant vector (N,)."""

    @abstractmethod
    def length(self, v: Any) -> int: ...

    @abstractmethod
    def take(self, v: Any, index: Any) -> Any:
        """v[index] for an index array (N,)."""

    @abstractmethod
    def add(self, a: Any, b: Any) -> Any: ...

    @abstractmethod
    def negate(self, a: Any) -> Any: ...

    @abstractmethod
    def scale(self, a: Any, c: Any) -> Any:
        """Entrywise product with constants: c is a scalar or (N,)."""

    @abstractmethod
    def product(self, a: Any, b: Any, node: Expr) -> Any:
        """Entrywise product of two vectors that both hold variables."""

    @abstractmethod
    def linear(self, M: Any, a: Any) -> Any:
        """M a for a SciPy sparse or dense matrix M."""

    def times(self, M: Any, a: Any, columns: int) -> Any:
        """M A for a matrix A with that many columns, in row-major order."""
        return self.linear(sp.csr_array(sp.kron(sp.csr_array(M), sp.eye_array(columns))), a)

    @abstractmethod
    def group(self, a: Any, parent_row: Any, rows: int, width: int) -> Any:
        """Adds blocks of `width` entries into their parent's row; gives rows · width entries."""

    @abstractmethod
    def concat(self, parts: Sequence[Any]) -> Any: ...

    @abstractmethod
    def elementwise(self, f: Function, args: Sequence[Any], node: Apply) -> Any:
        """A table function on vectors of equal length (constants are NumPy arrays)."""

    @abstractmethod
    def reduction(self, f: Function, v: Any, rows: int, width: int, node: Expr) -> Any:
        """A table function on `rows` blocks of `width` entries; gives (rows,)."""

    @abstractmethod
    def matrix(self, f: Function, args: Sequence[Any], shapes: Sequence[Shape], rows: int, node: Apply) -> Any:
        """A table function on whole arrays, `rows` of each; gives rows · size entries."""

    def matmul(self, a: Any, sa: Shape, b: Any, sb: Shape, rows: int, node: Expr) -> Any:
        """Product of two arrays that both hold variables, `rows` of each, by entrywise products."""
        m, k, n = (sa[0] if len(sa) == 2 else 1), sa[-1], (sb[1] if len(sb) == 2 else 1)
        i, j, p = np.meshgrid(np.arange(m), np.arange(n), np.arange(k), indexing="ij")
        base_a, base_b = np.arange(rows)[:, None] * (m * k), np.arange(rows)[:, None] * (k * n)
        left = self.take(a, (base_a + (i * k + p).ravel()).ravel())
        right = self.take(b, (base_b + (p * n + j).ravel()).ravel())
        return self.group(self.product(left, right, node), np.repeat(np.arange(rows * m * n), k), rows * m * n, 1)

    def squares(self, v: Any, rows: int, width: int, node: Expr) -> Any:
        """Sum of squares of each block, where a target does better than its lowering of `sum_squares`."""
        return self.reduction(functions()["sum_squares"], v, rows, width, node)


class Walk:
    """Lowers expressions of a problem to one target."""

    def __init__(self, problem: Problem, algebra: Algebra, evaluator: Evaluator | None = None) -> None:
        self.problem, self.algebra = problem, algebra
        self.constants = evaluator or Evaluator(problem)
        self._memo: dict[tuple[Expr, Table], Any] = {}
        self._variables: dict[str, Any] = {}

    def variable(self, name: str) -> Any:
        if name not in self._variables:
            self._variables[name] = self.algebra.variable(name, self.problem.variables[name].shape)
        return self._variables[name]

    # --- values ---------------------------------------------------------------------------------

    def rows(self, node: Expr, table: Table) -> int:
        return table.size if node.indices else 1

    def vector(self, node: Expr, table: Table | None = None) -> Any:
        """The node as a target vector; constants are promoted."""
        table = self.constants.root if table is None else table
        if node.constant:
            return self.algebra.constant(self.flat_constant(node, table))
        return self._value(node, table)

    def flat_constant(self, node: Expr, table: Table) -> Any:
        value = self.constants(node, table)
        if sp.issparse(value):
            value = self.constants.dense(value, node)
        return np.asarray(value, dtype=float).ravel()

    def _value(self, node: Expr, table: Table) -> Any:
        if not node.indices:
            table = self.constants.root
        else:
            rows = None
            while table.parent is not None and not any(table.own(i) for i in node.indices):
                rows = table.parent_row if rows is None else table.parent_row[rows]  # type: ignore[index]
                table = table.parent
            if rows is not None:
                return self.take_rows(self._value(node, table), rows, node.size)
        key = (node, table)
        if key not in self._memo:
            self._memo[key] = self._compute(node, table)
        return self._memo[key]

    def take_rows(self, v: Any, rows: Any, width: int) -> Any:
        return self.algebra.take(
            v, (np.asarray(rows)[:, None] * width + np.arange(width)).ravel() if width != 1 else rows
        )

    def spread(self, child: Expr, node: Expr, table: Table) -> Any:
        """`child` brought to the rows and shape of `node`: a NumPy vector for a constant, else a target vector."""
        rows, count = self.rows(child, table), self.rows(node, table)
        if child.constant:
            value = self.constants(child, table)
            if sp.issparse(value):
                value = self.constants.dense(value, child)
            value = np.asarray(value, dtype=float)
            if value.ndim == 0:
                return value
            if child.indices and not child.shape and node.shape:
                value = np.repeat(value, node.size)
            elif not child.indices and node.indices:
                value = np.broadcast_to(value, (count, *node.shape))
            return value.ravel()
        v = self._value(child, table)
        if rows == count and child.size == node.size:
            return v
        at = np.arange(rows)[:, None] * child.size + (
            np.zeros(node.size, int) if not child.shape else np.arange(node.size)
        )
        index = np.broadcast_to(at, (count, node.size)).ravel() if rows == 1 else at.ravel()
        return self.algebra.take(v, index)

    def _compute(self, node: Expr, table: Table) -> Any:
        match node:
            case Var():
                return self.variable(node.name)
            case Op():
                return self._op(node, table)
            case Apply():
                return self._apply(node, table)
            case Gather():
                return self._gather(node, table)
            case Reduce():
                return self._reduce(node, table)
            case Choose():
                return self._choose(node, table)
        raise Unsupported(f"{type(node).__name__} has no meaning here", node)

    # --- operators ------------------------------------------------------------------------------

    def _op(self, node: Op, table: Table) -> Any:
        a = self.algebra
        if node.op == "neg":
            return a.negate(self._value(node.args[0], table))
        if node.op == "matmul":
            return self._matmul(node, table)
        if node.op not in ("add", "sub", "mul", "div"):
            raise Unsupported(f"`{node.op}` of variables is no expression that can be optimised", node)
        left, right = (self.spread(c, node, table) for c in node.args)
        cl, cr = (c.constant for c in node.args)
        if node.op in ("add", "sub"):
            n = self.rows(node, table) * node.size
            left = a.constant(np.broadcast_to(left, (n,))) if cl else left
            right = a.constant(np.broadcast_to(right, (n,))) if cr else right
            return a.add(left, right if node.op == "add" else a.negate(right))
        if node.op == "mul":
            if cl:
                return a.scale(right, left)
            if cr:
                return a.scale(left, right)
            return a.product(left, left if same(*node.args) else right, node)
        if cr:
            if self.constants.strict and np.any(np.asarray(right) == 0):
                raise OptError(undefined_value(node.args[1].span or node.span, "/", "the divisor is zero"))
            with np.errstate(divide="ignore", invalid="ignore"):
                return a.scale(left, 1.0 / right)
        reciprocal = a.elementwise(functions()["power"], [right], _reciprocal(node.args[1]))
        return a.scale(reciprocal, left) if cl else a.product(left, reciprocal, node)

    def _matmul(self, node: Op, table: Table) -> Any:
        left, right = node.args
        sl, sr = left.shape, right.shape
        rl, rr = bool(left.indices), bool(right.indices)
        a = self.algebra
        if not left.constant and not right.constant:
            rows = self.rows(node, table)
            vl = self.spread(left, _like(left, node), table)
            vr = self.spread(right, _like(right, node), table)
            if len(sl) == 1 and same(left, right):
                return a.squares(vl, rows, left.size, node)
            return a.matmul(vl, sl, vr, sr, rows, node)
        if left.constant:
            M = self.constants(left, table)
            if not rl and not rr:
                return self._times(M, self._value(right, table), sl, sr)
            if rl and not rr and len(sl) == 1 and len(sr) == 1:
                return a.linear(np.asarray(M, dtype=float), self._value(right, table))
            if not rl and rr and len(sr) == 1:
                M2 = sp.csr_array(M) if sp.issparse(M) else np.atleast_2d(np.asarray(M, dtype=float))
                block = sp.kron(sp.eye_array(table.size), sp.csr_array(M2)).tocsr()
                return a.linear(block, self._value(right, table))
            return self._batched_constant(M, left, right, node, table, constant_left=True)
        M = self.constants(right, table)
        if not rl and not rr:
            MT = M.T if len(sr) == 2 else M
            v = self._value(left, table)
            if len(sl) == 1:
                return self._times(MT, v, sr[::-1], sl)
            moved = a.take(v, np.arange(sl[0] * sl[1]).reshape(sl).T.ravel())
            out = self._times(MT, moved, sr[::-1], sl[::-1])
            if len(sr) == 1:
                return out
            return a.take(out, np.arange(sl[0] * sr[1]).reshape(sr[1], sl[0]).T.ravel())
        if rr and not rl and len(sl) == 1 and len(sr) == 1:
            return a.linear(np.asarray(M, dtype=float), self._value(left, table))
        return self._batched_constant(M, right, left, node, table, constant_left=False)

    def _times(self, M: Any, v: Any, sm: Shape, sv: Shape) -> Any:
        """Constant M times an unbatched V (v in row-major order)."""
        M2 = M if sp.issparse(M) else np.asarray(M, dtype=float)
        if len(sm) == 1:
            M2 = M2.reshape(1, -1)
        if len(sv) == 2 and sv[1] != 1:
            return self.algebra.times(M2, v, sv[1])
        return self.algebra.linear(M2, v)

    def _batched_constant(
        self, M: Any, const: Expr, other: Expr, node: Op, table: Table, *, constant_left: bool
    ) -> Any:
        """One side varies over the rows and is constant: entrywise products, then sums."""
        rows = self.rows(node, table)
        values = np.asarray(M.toarray() if sp.issparse(M) else M, dtype=float)
        flat = (
            values.reshape(table.size, -1)
            if const.indices
            else np.broadcast_to(values.reshape(1, -1), (rows, const.size))
        )
        v = self.spread(other, _like(other, node), table)
        left, right = (const, other) if constant_left else (other, const)
        m, k, n = (
            (left.shape[0] if len(left.shape) == 2 else 1),
            left.shape[-1],
            (right.shape[1] if len(right.shape) == 2 else 1),
        )
        i, j, p = np.meshgrid(np.arange(m), np.arange(n), np.arange(k), indexing="ij")
        at_left, at_right = (i * k + p).ravel(), (p * n + j).ravel()
        at_const, at_other = (at_left, at_right) if constant_left else (at_right, at_left)
        index = (np.arange(rows)[:, None] * other.size + at_other).ravel()
        scaled = self.algebra.scale(self.algebra.take(v, index), flat[:, at_const].ravel())
        return self.algebra.group(scaled, np.repeat(np.arange(rows * m * n), k), rows * m * n, 1)

    # --- functions ------------------------------------------------------------------------------

    def _apply(self, node: Apply, table: Table) -> Any:
        f = functions()[node.function]
        a = self.algebra
        if f.kind == "elementwise":
            return a.elementwise(f, [self.spread(c, node, table) for c in node.args], node)
        if f.kind == "reduction":
            return self._reduction(f, node, table)
        if f.kind == "matrix":
            rows = self.rows(node, table)
            args = [
                self.constants(c, table) if c.constant and not c.indices else self.spread(c, _like(c, node), table)
                for c in node.args
            ]
            if f.name == "quad_form":
                return self._quad_form(args, node, rows)
            return a.matrix(f, args, [c.shape for c in node.args], rows, node)
        return self._structural(f, node, table)

    def _quad_form(self, args: Sequence[Any], node: Apply, rows: int) -> Any:
        return self.algebra.matrix(functions()["quad_form"], args, [c.shape for c in node.args], rows, node)

    def _reduction(self, f: Function, node: Apply, table: Table) -> Any:
        (child,) = node.args
        rows = self.rows(node, table)
        v = self._value(child, table)
        width = child.size
        if node.axis is not None:
            shape = child.shape
            ids = np.moveaxis(np.arange(child.size).reshape(shape), node.axis, -1)
            width = shape[node.axis]
            order = ids.ravel()
            if not is_whole(order, child.size):
                v = a_take(self.algebra, v, order, rows, child.size)
            rows = rows * (child.size // width)
        if f.name in ("sum", "mean"):
            out = self.algebra.group(v, np.repeat(np.arange(rows), width), rows, 1)
            return out if f.name == "sum" else self.algebra.scale(out, 1.0 / width)
        if f.name == "sum_squares":
            return self.algebra.squares(v, rows, width, node)
        return self.algebra.reduction(f, v, rows, width, node)

    def _structural(self, f: Function, node: Apply, table: Table) -> Any:
        rows = self.rows(node, table)
        plan = f.structure(*(c.shape for c in node.args), **node.params)  # type: ignore[misc]
        parts = [self.spread(c, _like(c, node), table) for c in node.args]
        sizes = [c.size for c in node.args]
        if plan[0] == "product":
            left = self._pick(parts[0], node.args[0], plan[1], rows)
            right = self._pick(parts[1], node.args[1], plan[2], rows)
            if node.args[0].constant:
                return self.algebra.scale(right, left)
            if node.args[1].constant:
                return self.algebra.scale(left, right)
            return self.algebra.product(left, right, node)
        vectors = [
            self.algebra.constant(np.broadcast_to(p, (rows * c.size,))) if c.constant else p
            for p, c in zip(parts, node.args, strict=True)
        ]
        total = sum(sizes)
        if len(vectors) == 1:
            joined = vectors[0]
        else:
            joined = self.algebra.concat(vectors)
            if rows > 1:
                offsets = np.cumsum([0, *(s * rows for s in sizes)])
                index = np.concatenate(
                    [o + np.arange(rows)[:, None] * s + np.arange(s) for o, s in zip(offsets, sizes, strict=False)], 1
                )
                joined = self.algebra.take(joined, index.ravel())
        if plan[0] == "take":
            return a_take(self.algebra, joined, plan[1], rows, total)
        M = plan[1] if rows == 1 else sp.csr_array(sp.kron(sp.eye_array(rows), plan[1]))
        return self.algebra.linear(M, joined)

    def _pick(self, part: Any, child: Expr, index: Any, rows: int) -> Any:
        at = (np.arange(rows)[:, None] * child.size + index).ravel()
        if child.constant:
            return np.broadcast_to(part, (rows * child.size,))[at]
        return self.algebra.take(part, at)

    # --- indices --------------------------------------------------------------------------------

    def _gather(self, node: Gather, table: Table) -> Any:
        flat, varies = self.constants.flat_positions(node, table)
        index = np.asarray(flat).ravel()
        v = self._value(node.base, table)
        if node.base.indices:
            per_row = index.reshape(-1, node.size) if varies else np.broadcast_to(index, (table.size, node.size))
            return self.algebra.take(v, (np.arange(table.size)[:, None] * node.base.size + per_row).ravel())
        return v if is_whole(index, node.base.size) else self.algebra.take(v, index)

    def _reduce(self, node: Reduce, table: Table) -> Any:
        child = self.constants.open(node.scope, table)
        outer = self.rows(node, table)
        assert child.parent_row is not None
        parent = child.parent_row if node.indices else np.zeros(child.size, dtype=np.int64)
        if not node.indices and table.size != 1:
            child = self.constants.open(node.scope, self.constants.root)
            parent = np.zeros(child.size, dtype=np.int64)
        v = self._value(node.body, child)
        width = node.body.size
        if not node.body.indices:
            v = self.algebra.take(v, np.tile(np.arange(width), child.size))
        if node.function in ("sum", "mean"):
            out = self.algebra.group(v, parent, outer, width)
            if node.function == "mean":
                counts = np.bincount(parent, minlength=outer)
                if (counts == 0).any():
                    self.constants.padded_rows(node, child, table)
                out = self.algebra.scale(out, np.repeat(1.0 / counts, width))
            return out
        f = functions()[node.function]
        padded = self.constants.padded_rows(node, child, table if node.indices else self.constants.root)
        if padded is not None:
            v = self.algebra.take(v, padded.ravel())
        block = child.size // outer if padded is None else padded.shape[1]
        if f.name == "sum_squares":
            return self.algebra.squares(v, outer, block, node)
        return self.algebra.reduction(f, v, outer, block, node)

    def _choose(self, node: Choose, table: Table) -> Any:
        n = self.rows(node, table) * node.size
        condition = np.asarray(self.constants.aligned(self.constants(node.condition, table), node.condition, node))
        if condition.ndim == 0:
            kept = node.then if condition else node.otherwise
            spread = self.spread(kept, node, table)
            return self.algebra.constant(np.broadcast_to(spread, (n,))) if kept.constant else spread
        shape = (self.rows(node, table), *node.shape) if node.indices else node.shape
        mask = np.broadcast_to(condition, shape).ravel()
        strict, self.constants.strict = self.constants.strict, False
        try:
            branches = [
                self.algebra.constant(np.broadcast_to(self.spread(c, node, table), (n,)))
                if c.constant
                else self.spread(c, node, table)
                for c in (node.then, node.otherwise)
            ]
        finally:
            self.constants.strict = strict
        index = np.where(mask, np.arange(n), n + np.arange(n))
        return self.algebra.take(self.algebra.concat(branches), index)


def a_take(algebra: Algebra, v: Any, order: Any, rows: int, width: int) -> Any:
    """The same reordering inside each of `rows` blocks."""
    return algebra.take(v, order if rows == 1 else (np.arange(rows)[:, None] * width + order).ravel())


def _like(child: Expr, node: Expr) -> Expr:
    """A stand-in with the child's shape and the node's rows, for `spread`."""
    return Const(value=np.empty(0), shape=child.shape, axes=child.axes, indices=node.indices)


def _reciprocal(node: Expr) -> Apply:
    return Apply(function="power", args=(node,), params={"p": -1}, shape=node.shape, variables=node.variables,
                 indices=node.indices, span=node.span)  # fmt: skip
