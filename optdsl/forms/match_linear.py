"""Recognising linear, quadratic and mixed-integer programs: sets to rows, expressions to sparse blocks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.forms.base import Mismatch, Reason
from optdsl.forms.linear import LinearProgram, MixedInteger, QuadraticProgram, Square
from optdsl.forms.rows import Block, back_by_slices, column_name, difference, row_name
from optdsl.ir.problem import Constraint, Problem
from optdsl.lower.sparse import Affine, SparseAlgebra
from optdsl.lower.vector import Unsupported, Walk
from optdsl.rewrite.epigraph import linearise
from optdsl.rewrite.sets import NotRows, as_rows, bounds, integral
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.structure import indicator_needs_bounds


class Matching:
    """One attempt to write a problem as matrices."""

    def __init__(self, original: Problem, problem: Problem) -> None:
        self.original, self.problem = original, problem
        self.algebra = SparseAlgebra(problem)
        self.walk = Walk(problem, self.algebra)
        pairs = [bounds(problem, v, self.walk.constants) for v in problem.variables.values()]
        self.lower = np.concatenate([a.ravel() for a, _ in pairs]) if pairs else np.zeros(0)
        self.upper = np.concatenate([b.ravel() for _, b in pairs]) if pairs else np.zeros(0)
        self.integer = np.concatenate(
            [np.full(v.size, integral(v)) for v in problem.variables.values()] or [np.zeros(0, bool)]
        )
        self.maximise = problem.objective is not None and problem.objective.maximise
        self.blocks: list[Block] = []
        self._parts: list[tuple[Affine, np.ndarray, np.ndarray]] = []
        self._extra = 0
        self._rows = 0

    @property
    def columns(self) -> int:
        return self.algebra.columns + self._extra

    # --- rows -----------------------------------------------------------------------------------

    def constraint(self, c: Constraint) -> None:
        if c.relation in (">>", "<<"):
            raise Unsupported("a semidefinite constraint is not a linear row", c.left)
        d = difference(self.walk, c)
        v = self.walk.vector(d.node, d.table)
        if v.terms:
            raise Unsupported("a row is quadratic", d.node)
        if c.when is not None:
            self._indicator(c, d, v)
            return
        if c.complements is not None:
            self._complementarity(c, d, v)
            return
        self._append(v, c.relation)
        self.blocks.append(Block(c, d.table, self._rows - v.n, v.n, d.node.shape))

    def _append(self, v: Affine, relation: str) -> None:
        """v relation 0, with the constants moved to the right side."""
        side = -v.constant
        low = side if relation in ("==", ">=") else np.full(v.n, -np.inf)
        high = side if relation in ("==", "<=") else np.full(v.n, np.inf)
        self._parts.append((v, low, high))
        self._rows += v.n

    def _reach(self, v: Affine) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest value of each row over the variables' bounds."""
        at_low, at_high = v.value * self.lower[v.column], v.value * self.upper[v.column]
        zero = v.value == 0
        least = np.where(zero, 0.0, np.minimum(at_low, at_high))
        most = np.where(zero, 0.0, np.maximum(at_low, at_high))
        return (
            np.bincount(v.row, least, minlength=v.n) + v.constant,
            np.bincount(v.row, most, minlength=v.n) + v.constant,
        )

    def _big_m(self, v: Affine, relation: str, switch: Affine, c: Constraint) -> None:
        """`v relation 0` wherever `switch` (0/1, one entry a row) is 1, with M from the bounds."""
        least, most = self._reach(v)
        for sense, reach in (("<=", most), (">=", least)):
            if relation not in (sense, "=="):
                continue
            if not np.isfinite(reach).all():
                row = int(np.argmax(~np.isfinite(reach)))
                unbounded = {
                    self._owner(k)
                    for k in v.column[v.row == row]
                    if not np.isfinite([self.lower[k], self.upper[k]]).all()
                }
                shown = ", ".join(sorted(unbounded))
                if c.complements is not None:
                    raise Unsupported(f"complementarity becomes linear only with bounds on {shown}", c.left)
                raise OptError(indicator_needs_bounds(c.span, c.label, shown))
            M = np.maximum(reach, 0.0) if sense == "<=" else np.minimum(reach, 0.0)
            relaxed = self.algebra.add(v, self.algebra.scale(switch, M))
            self._append(self.algebra.add(relaxed, self.algebra.constant(-M)), sense)

    def _owner(self, column: int) -> str:
        names = list(self.algebra.offsets)
        starts = np.array(list(self.algebra.offsets.values()))
        return names[int(np.searchsorted(starts, column, side="right")) - 1].split("#")[0]

    def _indicator(self, c: Constraint, d: Any, v: Affine) -> None:
        assert c.when is not None
        when = self.walk.vector(c.when, d.table)
        rows = d.table.size
        if when.n == 1 and rows != 1:
            when = self.algebra.take(when, np.zeros(rows, dtype=np.int64))
        if v.n != rows * d.node.size:
            v = self.algebra.take(v, np.tile(np.arange(v.n), rows))
        switch = self.algebra.take(when, np.repeat(np.arange(rows), d.node.size))
        self._big_m(v, c.relation, switch, c)

    def _complementarity(self, c: Constraint, d: Any, v: Affine) -> None:
        """p ≥ 0, q ≥ 0, pq = 0 by a switch z for each row: z = 1 → p = 0, z = 0 → q = 0. The rows p, q ≥ 0 stand apart."""
        assert c.complements is not None
        self._append(v, ">=")
        other = self.walk.vector(c.complements[1], d.table)
        z = Affine(v.n, np.arange(v.n), self.columns + np.arange(v.n), np.ones(v.n), np.zeros(v.n))
        self._extra += v.n
        self.lower, self.upper = np.append(self.lower, np.zeros(v.n)), np.append(self.upper, np.ones(v.n))
        self.integer = np.append(self.integer, np.ones(v.n, dtype=bool))
        opposite = self.algebra.add(self.algebra.constant(np.ones(v.n)), self.algebra.negate(z))
        self._big_m(v, "<=", z, c)
        self._big_m(other, "<=", opposite, c)

    # --- the form -------------------------------------------------------------------------------

    def form(self) -> LinearProgram:
        objective = self.problem.objective
        expr = self.algebra.constant(np.zeros(1)) if objective is None else self.walk.vector(objective.expr)
        for c in self.problem.constraints:
            self.constraint(c)
        if self.maximise:
            expr = self.algebra.negate(expr)
        n = self.columns
        common = self._common(expr, n)
        P, squares, c_extra, c0_extra = _quadratic(expr, n)
        common["c"] = common["c"] + c_extra
        common["c0"] = common["c0"] + c0_extra
        if self.integer.any():
            return MixedInteger(integer=self.integer, P=P, **common)
        if P is None:
            return LinearProgram(**common)
        return QuadraticProgram(P=P, squares=squares, convex=_convex(P, squares), **common)

    def _common(self, expr: Affine, n: int) -> dict[str, Any]:
        starts = np.cumsum([0, *(p.n for p, _, _ in self._parts)])
        row = np.concatenate(
            [p.row + s for (p, _, _), s in zip(self._parts, starts, strict=False)] or [np.zeros(0, np.int64)]
        )
        column = np.concatenate([p.column for p, _, _ in self._parts] or [np.zeros(0, np.int64)])
        value = np.concatenate([p.value for p, _, _ in self._parts] or [np.zeros(0)])
        A = sp.coo_array((value, (row, column)), shape=(int(starts[-1]), n)).tocsr()
        A.sum_duplicates()
        empty = [np.zeros(0)]
        back = partial(back_by_slices, self.problem, self.original, self.blocks, self.maximise)
        return {
            "c": np.bincount(expr.column, expr.value, minlength=n).astype(float),
            "c0": float(expr.constant[0]),
            "A": sp.csr_array(A),
            "row_lower": np.concatenate([low for _, low, _ in self._parts] or empty),
            "row_upper": np.concatenate([high for _, _, high in self._parts] or empty),
            "lower": self.lower,
            "upper": self.upper,
            "start": self._start(n),
            "back": back,
            "name_row": partial(row_name, self.walk.constants, self.blocks),
            "name_column": partial(column_name, self.problem),
        }

    def _start(self, n: int) -> Any:
        """The declared start, only where every variable has one."""
        values = []
        for v in self.problem.variables.values():
            if v.start is None:
                return None
            values.append(np.broadcast_to(np.asarray(self.walk.constants(v.start), float), v.shape).ravel())
        start = np.concatenate(values) if values else None
        return start if start is not None and len(start) == n else None


def _quadratic(expr: Affine, n: int) -> tuple[sp.csc_array | None, list[Square], np.ndarray, float]:
    """P, the factors where all of it is squares, and what the products add to c and c0."""
    c, c0 = np.zeros(n), 0.0
    if not expr.terms:
        return None, [], c, c0
    P = sp.csc_array((n, n))
    squares: list[Square] = []
    factored = True
    for t in expr.terms:
        F = t.F.matrix(n)
        G = F if t.square else t.G.matrix(n)
        D = sp.diags_array(t.d)
        P = P + (F.T @ (D @ G) + G.T @ (D @ F))
        c += F.T @ (t.d * t.G.constant) + G.T @ (t.d * t.F.constant)
        c0 += float(t.d @ (t.F.constant * t.G.constant))
        if t.square:
            squares.append(Square(F=F, g=t.F.constant, d=t.d))
        else:
            factored = False
    return sp.csc_array(P), squares if factored else [], c, c0


def _convex(P: sp.csc_array, squares: list[Square]) -> bool | None:
    """True for sums of squares with nonnegative weights; else by the smallest eigenvalue, to rounding."""
    if squares and all((s.d >= 0).all() for s in squares):
        return True
    n = P.shape[0]
    scale = max(float(abs(P).max()), 1e-300)
    if n <= 1500:
        return bool(np.linalg.eigvalsh(P.toarray())[0] >= -1e-9 * scale)
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    try:
        return bool(eigsh(P, k=1, which="SA", return_eigenvectors=False, tol=1e-6)[0] >= -1e-7 * scale)
    except ArpackNoConvergence:
        return None


FORMS = (LinearProgram, QuadraticProgram, MixedInteger)
PRIORITY = 30


def match(problem: Problem) -> list[LinearProgram | Mismatch]:
    """The one of the three forms that the problem has, and why it is not the others."""
    found = _attempt(problem)
    if isinstance(found, Mismatch):
        return [Mismatch(f.title, found.reasons) for f in FORMS]
    why = {
        LinearProgram: "the objective is quadratic"
        if isinstance(found, QuadraticProgram)
        else "some variables are whole numbers",
        QuadraticProgram: "some variables are whole numbers"
        if isinstance(found, MixedInteger)
        else "the objective is linear",
        MixedInteger: "no variable is restricted to whole numbers",
    }
    out: list[LinearProgram | Mismatch] = [found]
    out += [Mismatch(f.title, [Reason(why[f])]) for f in FORMS if f is not type(found)]
    return out


def _attempt(problem: Problem) -> LinearProgram | Mismatch:
    if any(v.kind == "complex" for v in problem.variables.values()):
        return Mismatch("linear", [Reason("a variable is complex")])
    try:
        rows = as_rows(problem)
    except NotRows as why:
        return Mismatch("linear", [Reason(why.why, why.span)])
    try:
        return Matching(problem, rows).form()
    except Unsupported as first:
        rewritten = linearise(rows)
        if rewritten is None:
            return Mismatch("linear", [Reason(first.reason, first.node.span)])
        try:
            return Matching(problem, rewritten).form()
        except Unsupported:
            return Mismatch("linear", [Reason(first.reason, first.node.span)])
