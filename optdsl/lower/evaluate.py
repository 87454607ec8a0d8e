"""Expressions to numbers, by NumPy: constants while compiling, and whole problems at a point for certificates.

A node that holds free indices gives an array of shape (rows, *shape) over the table it is evaluated in; a node without
gives its plain shape and is evaluated once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.functions.table import functions
from optdsl.ir.build import SYMBOL
from optdsl.ir.nodes import (
    Apply,
    Choose,
    Const,
    Data,
    Expr,
    Gather,
    Index,
    IndexValue,
    Op,
    Reduce,
    Scope,
    Shifted,
    Sliced,
    Var,
)
from optdsl.ir.problem import IntSet, Problem, TupleSet
from optdsl.lower.tables import Ints, Table, expand, root
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import index_leaves, too_large, tuple_missing, undefined_value

DENSE_LIMIT = 50_000_000


class Evaluator:
    """Numbers of a problem's expressions. `values` gives variables theirs; without it only constants have a value.

    `strict` makes an undefined constant (log of a negative number, division by zero) an error with its place; at a
    point under examination it is NaN instead.
    """

    def __init__(self, problem: Problem, values: Mapping[str, Any] | None = None, strict: bool = True) -> None:
        self.problem = problem
        self.values = values or {}
        self.strict = strict
        self.root = root()
        self._memo: dict[tuple[Expr, Table], Any] = {}
        self._tables: dict[tuple[Scope, Table], Table] = {}

    # --- tables ---------------------------------------------------------------------------------

    def open(self, scope: Scope | None, table: Table | None = None) -> Table:
        """The table that a scope opens inside `table` (the root by default)."""
        table = self.root if table is None else table
        if scope is None:
            return table
        key = (scope, table)
        if key not in self._tables:
            self._tables[key] = expand(table, scope, self.problem.sets, lambda e, t: self(e, t))
        return self._tables[key]

    def binding(self, table: Table, row: int) -> str:
        """A row's bindings as people read them: `i = Seattle, t = 3`."""
        return ", ".join(f"{i.name} = {self.member(i, int(c[row]))}" for i, c in table.columns.items())

    def member(self, index: Index, value: int) -> Any:
        return value if index.set is None else self.problem.member(index.set, value)

    # --- evaluation -----------------------------------------------------------------------------

    def __call__(self, node: Expr, table: Table | None = None) -> Any:
        table = self.root if table is None else table
        if not node.indices:
            table = self.root
        else:
            steps = []
            while table.parent is not None and not any(table.own(i) for i in node.indices):
                steps.append(table.parent_row)
                table = table.parent
            if steps:
                value = self(node, table)
                for rows in reversed(steps):
                    value = value[rows]
                return value
        key = (node, table)
        if key not in self._memo:
            self._memo[key] = self._compute(node, table)
        return self._memo[key]

    def _compute(self, node: Expr, table: Table) -> Any:
        match node:
            case Const():
                return node.value
            case Data():
                return self.problem.data[node.name].values
            case Var():
                return self.values[node.name]
            case IndexValue():
                return table.columns[node.index]
            case Shifted():
                return self._shifted(node, table)
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
        raise TypeError(f"no value for {type(node).__name__}")

    def _shifted(self, node: Shifted, table: Table) -> Any:
        moved = np.asarray(self(node.base, table)) + node.by
        s = self.problem.sets[node.kind.removeprefix("label:")]
        outside = np.atleast_1d((moved < 0) | (moved >= s.size))
        if outside.any():
            row = int(np.argmax(outside))
            start = self.problem.member(s, int(np.atleast_1d(moved)[row]) - node.by)
            word = f"{'prev' if node.by < 0 else 'next'}({start})"
            where = self.binding(table, row) if np.ndim(moved) else ""
            shown = f"{self.problem.member(s, 0)} to {self.problem.member(s, s.size - 1)}"
            raise OptError(index_leaves(node.span, s.name, word, shown, where))
        return moved

    def aligned(self, value: Any, child: Expr, node: Expr) -> Any:
        """`child`'s value with axes added so that it broadcasts to `node`'s rows and shape."""
        if sp.issparse(value):
            value = self.dense(value, child)
        value = np.asarray(value)
        if node.indices and child.indices and not child.shape and node.shape:
            return value.reshape(value.shape[:1] + (1,) * len(node.shape))
        return value

    def dense(self, value: Any, node: Expr) -> Any:
        if int(np.prod(value.shape, dtype=np.int64)) > DENSE_LIMIT:
            raise OptError(
                too_large(node.span, "the dense form of this sparse array", int(np.prod(value.shape)), DENSE_LIMIT)
            )
        return value.toarray()

    def _op(self, node: Op, table: Table) -> Any:
        name = node.op
        raw = [self(a, table) for a in node.args]
        if any(sp.issparse(r) for r in raw):
            found = self._sparse_op(name, raw, node)
            if found is not None:
                return found
        if name == "matmul":
            return matmul(np, raw[0], node.args[0], raw[1], node.args[1])
        args = [self.aligned(r, a, node) for r, a in zip(raw, node.args, strict=True)]
        if name == "neg":
            return -args[0] if args[0].dtype != bool else -args[0].astype(int)
        if name == "not":
            return ~np.asarray(args[0], dtype=bool)
        a, b = args
        if a.dtype == bool and name in ("add", "sub", "mul"):
            a = a.astype(np.int64)
        if name == "div":
            if self.strict and np.any(b == 0):
                raise OptError(undefined_value(node.args[1].span or node.span, "/", "the divisor is zero"))
            with np.errstate(all="ignore"):
                return np.true_divide(a, b)
        if name == "mod" and np.any(b == 0):
            raise OptError(undefined_value(node.args[1].span or node.span, "%", "the divisor is zero"))
        return BINARY[name](a, b)

    def _sparse_op(self, name: str, raw: list[Any], node: Op) -> Any:
        """Sparse stays sparse where the result is."""
        if name == "neg":
            return -raw[0]
        if name == "matmul":
            batched = any(a.indices for a in node.args)
            return None if batched else raw[0] @ raw[1]
        if name == "mul":
            a, b = raw
            if not node.indices:
                if sp.issparse(a):
                    return a * float(b) if np.ndim(b) == 0 else sp.csr_array(a.multiply(b))
                return b * float(a) if np.ndim(a) == 0 else sp.csr_array(b.multiply(a))
        if name == "div" and sp.issparse(raw[0]) and np.ndim(raw[1]) == 0 and not node.indices:
            return raw[0] / float(raw[1])
        if name in ("add", "sub") and all(sp.issparse(r) for r in raw):
            return sp.csr_array(raw[0] + raw[1] if name == "add" else raw[0] - raw[1])
        return None

    def _apply(self, node: Apply, table: Table) -> Any:
        f = functions()[node.function]
        raw = [self(a, table) for a in node.args]
        if f.name == "transpose" and sp.issparse(raw[0]):
            return sp.csr_array(raw[0].T)
        args = [self.dense(r, a) if sp.issparse(r) else np.asarray(r) for r, a in zip(raw, node.args, strict=True)]
        if f.domain is not None:
            self._domain(f, args, node)
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(apply_function(np, "numpy", node, args))
        except np.linalg.LinAlgError:
            value = np.full((table.size, *node.shape) if node.indices else node.shape, np.nan)
        if self.strict and np.isnan(value).any() and not any(np.isnan(a).any() for a in args):
            raise OptError(undefined_value(node.span, f.name, "it is not a number for these values"))
        return value

    def _domain(self, f: Any, args: list[Any], node: Apply) -> None:
        if self.strict and not np.all(f.domain(*args)):
            raise OptError(undefined_value(node.span, f.name, f"it needs {f.domain_words}"))

    def _choose(self, node: Choose, table: Table) -> Any:
        condition = self.aligned(self(node.condition, table), node.condition, node)
        if condition.ndim == 0:
            kept = node.then if condition else node.otherwise
            value = self.aligned(self(kept, table), kept, node)
            if node.indices:
                return np.broadcast_to(value, (table.size, *node.shape))
            return np.broadcast_to(value, node.shape)
        strict, self.strict = self.strict, False
        try:
            then = self.aligned(self(node.then, table), node.then, node)
            other = self.aligned(self(node.otherwise, table), node.otherwise, node)
        finally:
            self.strict = strict
        return np.where(condition, then, other)

    def _reduce(self, node: Reduce, table: Table) -> Any:
        child = self.open(node.scope, table)
        value = np.asarray(self(node.body, child))
        if not node.body.indices:
            value = np.broadcast_to(value, (child.size, *value.shape))
        if node.function in ("sum", "mean"):
            out = segment_sum(value, child.parent_row, table.size)
            if node.function == "mean":
                assert child.parent_row is not None
                counts = np.bincount(child.parent_row, minlength=table.size)
                if (counts == 0).any():
                    raise OptError(undefined_value(node.span, "mean", "the generator is empty"))
                out = out / counts.reshape((-1,) + (1,) * (out.ndim - 1))
        else:
            padded = self.padded_rows(node, child, table)
            rows = value[padded] if padded is not None else value.reshape(table.size, -1)
            out = functions()[node.function].numpy(np, rows, **node.params)  # type: ignore[misc]
        return out if node.indices else out[0]

    def padded_rows(self, node: Reduce, child: Table, table: Table) -> Ints | None:
        """Rows of the child for each row of the parent as a rectangle, or None where it is one already.

        Groups of unequal length are padded by repeating a member, which max and min do not see.
        """
        assert child.parent_row is not None
        counts = np.bincount(child.parent_row, minlength=table.size)
        if (counts == 0).any():
            raise OptError(undefined_value(node.span, node.function, "the generator is empty"))
        if (counts == counts[0]).all():
            return None
        if node.function not in ("max", "min"):
            why = "its groups have different sizes, which only sum, mean, max and min take"
            raise OptError(undefined_value(node.span, node.function, why))
        starts = np.cumsum(counts) - counts
        return starts[:, None] + np.minimum(np.arange(counts.max())[None, :], counts[:, None] - 1)

    # --- indexing -------------------------------------------------------------------------------

    def in_range(self, at: Any, size: int, shown: str, node: Expr, table: Table, low: int = 0) -> None:
        """Positions from 0 to size − 1; `low` is the number that stands at position 0."""
        bad = (np.asarray(at) < 0) | (np.asarray(at) >= size)
        if np.any(bad):
            row = int(np.argmax(np.atleast_1d(bad)))
            members = f"{low} to {low + size - 1}" if size else "no member"
            where = self.binding(table, row) if np.ndim(at) else ""
            raise OptError(index_leaves(node.span, shown, low + int(np.atleast_1d(at)[row]), members, where))

    def positions(self, node: Gather, table: Table) -> tuple[list[Any], bool]:
        """For each axis of the base: positions (rows,) or (), or a slice; and whether any varies over the rows."""
        out: list[Any] = []
        for item, axis, size in zip(node.items, node.base.axes, node.base.shape, strict=True):
            if isinstance(item, Sliced):
                out.append(slice(item.low, item.high))
                continue
            s = self.problem.sets.get(axis) if axis is not None else None
            if isinstance(item, tuple):
                assert isinstance(s, TupleSet)
                out.append(self._tuple_position(s, item, node, table))
                continue
            at = np.asarray(self(item, table))
            if isinstance(s, IntSet):
                at = at - s.low
            self.in_range(at, size, axis or "the axis", node, table, s.low if isinstance(s, IntSet) else 0)
            out.append(at)
        return out, any(isinstance(p, np.ndarray) and p.ndim > 0 for p in out)

    def _tuple_position(self, s: TupleSet, items: tuple[Expr, ...], node: Gather, table: Table) -> Any:
        if all(isinstance(i, IndexValue) for i in items):
            known = tuple(i.index for i in items if isinstance(i, IndexValue))
            if known in table.tuples and table.tuples[known][0] == s.name:
                return table.tuples[known][1]
        columns = []
        for item, parent in zip(items, s.parents, strict=True):
            p = self.problem.sets[parent]
            at = np.asarray(self(item, table)) - (p.low if isinstance(p, IntSet) else 0)
            self.in_range(at, p.size, parent, node, table, p.low if isinstance(p, IntSet) else 0)
            columns.append(at)
        columns = list(np.broadcast_arrays(*columns))
        at = s.find(columns)
        if np.any(at < 0):
            row = int(np.argmax(np.atleast_1d(at < 0)))
            members = (
                self.problem.member(p, int(np.atleast_1d(c)[row])) for p, c in zip(s.parents, columns, strict=True)
            )
            raise OptError(tuple_missing(node.span, s.name, ", ".join(str(m) for m in members)))
        return at

    def flat_positions(self, node: Gather, table: Table) -> tuple[Any, bool]:
        """Flat positions into the base, shape (rows, *node.shape) or node.shape; base must not vary over rows."""
        at, varies = self.positions(node, table)
        shape = node.base.shape
        strides = np.cumprod((1, *shape[:0:-1]), dtype=np.int64)[::-1] if shape else np.array([], dtype=np.int64)
        rank = len(node.shape)
        flat: Any = np.int64(0)
        seen = 0
        for p, stride in zip(at, strides, strict=True):
            if isinstance(p, slice):
                k = np.arange(p.start, p.stop, dtype=np.int64).reshape((-1,) + (1,) * (rank - seen - 1))
                flat = flat + k * stride
                seen += 1
            else:
                flat = flat + (p.reshape((-1,) + (1,) * rank) if p.ndim else p) * stride
        return flat, varies

    def _gather(self, node: Gather, table: Table) -> Any:
        base = self(node.base, table)
        if node.base.indices:
            at, _ = self.positions(node, table)
            rows = np.arange(table.size)
            if any(isinstance(p, slice) for p in at):
                flat, varies = self.flat_positions(node, table)
                index = flat if varies else np.broadcast_to(flat, (table.size, *np.shape(flat)))
                flat_base = np.asarray(base).reshape(table.size, -1)
                return np.take_along_axis(flat_base, index.reshape(table.size, -1), 1).reshape(table.size, *node.shape)
            picked: tuple[Any, ...] = (rows, *at)
            return np.asarray(base)[picked]
        if sp.issparse(base):
            return self._sparse_gather(node, base, table)
        at, varies = self.positions(node, table)
        array = np.asarray(base)
        if (
            varies
            and is_whole(at[0], array.shape[0])
            and all(_full(p, n) for p, n in zip(at[1:], array.shape[1:], strict=True))
        ):
            return array
        if not varies:
            return array[tuple(at)]
        flat, _ = self.flat_positions(node, table)
        if is_whole(flat.ravel(), array.size):
            return array.reshape(flat.shape)
        return array.reshape(-1)[flat]

    def _sparse_gather(self, node: Gather, base: Any, table: Table) -> Any:
        at, varies = self.positions(node, table)
        if not varies:
            value = base[tuple(at)]
            return self.dense(value, node) if sp.issparse(value) else value
        if any(isinstance(p, slice) for p in at):
            rows, columns = at
            part = base[rows][:, columns] if not isinstance(rows, slice) else sp.csr_array(base[rows][:, columns].T)
            return self.dense(part, node)
        i, j = np.broadcast_arrays(*at)
        return np.asarray(base[i, j]).ravel() if not sp.issparse(base[i, j]) else base[i, j].toarray().ravel()


BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "mod": np.mod, "eq": np.equal, "ne": np.not_equal,
    "le": np.less_equal, "ge": np.greater_equal, "lt": np.less, "gt": np.greater, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip
assert set(BINARY) | {"neg", "not", "div", "matmul"} == set(SYMBOL)


def _full(p: Any, n: int) -> bool:
    return isinstance(p, slice) and p.start == 0 and p.stop == n


def is_whole(at: Any, size: int) -> bool:
    """True where the positions are 0, 1, …, size − 1, so that a gather is the array itself."""
    if not isinstance(at, np.ndarray) or at.ndim != 1 or len(at) != size or size == 0:
        return False
    return bool(at[0] == 0 and at[-1] == size - 1 and (np.diff(at) == 1).all())


def segment_sum(value: Any, parent_row: Any, size: int) -> Any:
    """Adds rows into their parent row; `parent_row` is nondecreasing. Empty groups give 0."""
    value = np.asarray(value)
    if value.dtype == bool:
        value = value.astype(np.int64)
    if size == 1:
        return value.sum(axis=0, keepdims=True)
    counts = np.bincount(parent_row, minlength=size)
    if len(counts) and (counts == counts[0]).all() and counts[0] > 0:
        return value.reshape((size, counts[0], *value.shape[1:])).sum(axis=1)
    out = np.zeros((size, *value.shape[1:]), dtype=value.dtype)
    used = np.flatnonzero(counts)
    if len(used):
        starts = (np.cumsum(counts) - counts)[used]
        out[used] = np.add.reduceat(value, starts, axis=0)
    return out


def matmul(m: Any, a: Any, a_node: Expr, b: Any, b_node: Expr) -> Any:
    """The matrix product of values with or without a leading row axis, in NumPy or torch (`m`)."""
    a_rows, b_rows = bool(a_node.indices), bool(b_node.indices)
    a_vec, b_vec = len(a_node.shape) == 1, len(b_node.shape) == 1
    if a_rows and a_vec and not b_rows:
        return a @ b
    if b_rows and b_vec and not a_rows:
        if a_vec:
            return b @ a
        return b @ (a.swapaxes(-1, -2))
    left = a[..., None, :] if a_vec else a
    right = b[..., :, None] if b_vec else b
    out = m.matmul(left, right)
    if b_vec:
        out = out[..., 0]
    if a_vec:
        out = out[..., 0] if b_vec else out[..., 0, :]
    return out


def apply_function(m: Any, target: str, node: Apply, args: list[Any]) -> Any:
    """A table function on array values (NumPy or torch `m`), with or without a leading row axis."""
    f = functions()[node.function]
    rows = bool(node.indices)
    if f.kind == "elementwise":
        aligned = [
            a.reshape(a.shape[:1] + (1,) * len(node.shape)) if rows and c.indices and not c.shape and node.shape else a
            for a, c in zip(args, node.args, strict=True)
        ]
        return getattr(f, target)(m, *aligned, **node.params)
    if f.kind == "reduction":
        (x,), (child,) = args, node.args
        lead = int(bool(child.indices))
        if node.axis is None:
            flat = x.reshape((x.shape[0], -1) if lead else (1, -1))
            out = getattr(f, target)(m, flat, **node.params)
            return out if lead else out[0]
        moved = m.moveaxis(x, node.axis + lead, -1)
        outer = moved.shape[:-1]
        return getattr(f, target)(m, moved.reshape(-1, moved.shape[-1]), **node.params).reshape(outer)
    if f.kind == "matrix":
        return getattr(f, target)(m, *args, **node.params)
    count = max((a.shape[0] for a, c in zip(args, node.args, strict=True) if c.indices), default=1)
    flats = []
    for a, c in zip(args, node.args, strict=True):
        flat = a.reshape(a.shape[0] if c.indices else 1, -1)
        flats.append(m.broadcast_to(flat, (count, flat.shape[1])))
    plan = f.structure(*(c.shape for c in node.args), **node.params)  # type: ignore[misc]
    if plan[0] == "product":
        out = flats[0][:, plan[1]] * flats[1][:, plan[2]]
    else:
        joined = flats[0] if len(flats) == 1 else m.concatenate(flats, 1)
        out = joined[:, plan[1]] if plan[0] == "take" else times_sparse(m, joined, plan[1])
    return out.reshape((count, *node.shape) if rows else node.shape)


def times_sparse(m: Any, X: Any, M: Any) -> Any:
    """X Mᵀ for a SciPy sparse M."""
    if m.__name__ == "numpy":
        return np.asarray((M @ X.T).T)
    dense = m.as_tensor(M.toarray(), dtype=X.dtype, device=X.device)
    return X @ dense.T
