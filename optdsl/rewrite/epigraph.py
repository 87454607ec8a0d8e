"""Piecewise-linear convex functions as linear rows: each occurrence in a convex position becomes a new variable above it.

abs, pos, neg, maximum, max, norm1, norm_inf (and, turned round, minimum and min) where minimising pushes the variable
down onto the function, so that the optimum is unchanged. Inside a family the new variable has one entry a row: its axis
runs over a set of tuples made from the family's table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optdsl.ir import build
from optdsl.ir.nodes import Apply, Expr, Op, Reduce, Scope, Sliced
from optdsl.ir.problem import AnySet, Constraint, IntSet, Objective, Problem, TupleSet, Variable
from optdsl.lower.evaluate import Evaluator

Scopes = tuple[Scope, ...]


def _joined(scopes: Scopes) -> Scope | None:
    if not scopes:
        return None
    conditions = [s.condition for s in scopes if s.condition is not None]
    condition = conditions[0] if conditions else None
    for c in conditions[1:]:
        condition = build.op("and", condition, c)  # type: ignore[arg-type]
    return Scope(tuple(g for s in scopes for g in s.generators), condition, scopes[-1].span)


class _Epigraph:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.sets: dict[str, AnySet] = dict(problem.sets)
        self.variables = dict(problem.variables)
        self.rows: list[Constraint] = []
        self.evaluator = Evaluator(problem)

    # --- new variables and rows -----------------------------------------------------------------

    def fresh(self, shape: tuple[int, ...], scopes: Scopes, varies: bool) -> Expr:
        """A new variable of that shape, one for each row of the scopes where the expression varies over them."""
        name = f"#above{len(self.variables)}"
        scope = _joined(scopes)
        if scope is None or not varies:
            self.variables[name] = Variable(name, shape, (None,) * len(shape), "real")
            return build.var(name, shape)
        rows = self._row_set(scope)
        full, axes = (self.sets[rows].size, *shape), (rows, *(None,) * len(shape))
        self.variables[name] = Variable(name, full, axes, "real")
        at = tuple(build.index_value(i) for i in scope.indices)
        rest = [Sliced(0, k) for k in shape]
        return build.gather(build.var(name, full, axes), [at, *rest], shape, (None,) * len(shape))

    def _row_set(self, scope: Scope) -> str:
        """The scope's table as a set of tuples."""
        table = self.evaluator.open(scope)
        name = f"#rows{len(self.sets)}"
        parents, columns, sizes = [], [], []
        for index in scope.indices:
            column = table.columns[index]
            if index.set is not None:
                parents.append(index.set)
                columns.append(column)
            else:
                low = int(column.min(initial=0))
                parent = f"{name}.{index.name}"
                self.sets[parent] = IntSet(parent, low, int(column.max(initial=0)) - low + 1)
                parents.append(parent)
                columns.append(column - low)
            sizes.append(self.sets[parents[-1]].size)
        self.sets[name] = TupleSet(name, tuple(parents), tuple(columns), tuple(sizes))
        return name

    def row(self, relation: str, left: Expr, right: Expr, scopes: Scopes) -> None:
        scope = _joined(scopes)
        key = f"#above{len(self.rows)}"
        self.rows.append(Constraint(key, None, relation, left, right, scope, origin="epigraph"))

    # --- the walk -------------------------------------------------------------------------------

    def convex(self, e: Expr, sign: int, scopes: Scopes) -> Expr:
        """`e` with its piecewise-linear parts replaced, valid where larger is worse (sign = 1) or better (−1)."""
        if e.constant:
            return e
        match e:
            case Op(op="add" | "sub"):
                a, b = e.args
                return build.op(
                    e.op,
                    self.convex(a, sign, scopes),
                    self.convex(b, sign if e.op == "add" else -sign, scopes),
                    span=e.span,
                )
            case Op(op="neg"):
                return build.op("neg", self.convex(e.args[0], -sign, scopes), span=e.span)
            case Op(op="mul" | "div") if e.args[1].constant or (e.op == "mul" and e.args[0].constant):
                return self._scaled(e, sign, scopes)
            case Apply(function="sum" | "mean"):
                return build.apply(e.function, self.convex(e.args[0], sign, scopes), span=e.span, axis=e.axis)
            case Apply():
                return self._function(e, sign, scopes)
            case Reduce(function="sum" | "mean"):
                return build.reduce(e.function, self.convex(e.body, sign, (*scopes, e.scope)), e.scope, e.span)
            case Reduce(function="max" | "min") if (e.function == "max") == (sign > 0):
                t = self.fresh((), scopes, bool(e.indices))
                inner = self.convex(e.body, sign, (*scopes, e.scope))
                self.row(">=" if sign > 0 else "<=", t, inner, (*scopes, e.scope))
                return t
        return e

    def _scaled(self, e: Op, sign: int, scopes: Scopes) -> Expr:
        k = 1 if e.args[1].constant else 0
        table = self.evaluator.open(_joined(scopes))
        values = np.asarray(self.evaluator(e.args[k], table))
        s = 1 if (values >= 0).all() else -1 if (values <= 0).all() else 0
        if s == 0:
            return e
        inner = self.convex(e.args[1 - k], sign * s, scopes)
        return build.op(e.op, *((inner, e.args[1]) if k == 1 else (e.args[0], inner)), span=e.span)

    def _function(self, e: Apply, sign: int, scopes: Scopes) -> Expr:
        x = e.args[0]
        above = ">=" if sign > 0 else "<="
        varies = bool(e.indices)
        if sign > 0 and e.function in ("abs", "norm1"):
            t = self.fresh(x.shape, scopes, varies)
            self.row(">=", t, x, scopes)
            self.row(">=", t, build.op("neg", x), scopes)
            return t if e.function == "abs" else build.apply("sum", t, axis=e.axis)
        if sign > 0 and e.function in ("pos", "relu", "neg"):
            t = self.fresh(x.shape, scopes, varies)
            self.row(">=", t, build.op("neg", x) if e.function == "neg" else self.convex(x, 1, scopes), scopes)
            self.row(">=", t, build.const(0.0), scopes)
            return t
        if e.function in ("maximum", "minimum") and (e.function == "maximum") == (sign > 0):
            t = self.fresh(e.shape, scopes, varies)
            for a in e.args:
                self.row(above, t, self.convex(a, sign, scopes), scopes)
            return t
        if e.axis is None and e.function in ("max", "min") and (e.function == "max") == (sign > 0):
            t = self.fresh((), scopes, varies)
            self.row(above, t, self.convex(x, sign, scopes), scopes)
            return t
        if e.axis is None and sign > 0 and e.function == "norm_inf":
            t = self.fresh((), scopes, varies)
            self.row(">=", t, x, scopes)
            self.row(">=", t, build.op("neg", x), scopes)
            return t
        return e


def linearise(problem: Problem) -> Problem | None:
    """The problem with its piecewise-linear convex parts as rows; None where there are none to replace."""
    work = _Epigraph(problem)
    objective = problem.objective
    if objective is not None:
        sign = -1 if objective.maximise else 1
        objective = Objective(objective.sense, work.convex(objective.expr, sign, ()), objective.span)
    constraints = []
    for c in problem.constraints:
        if c.relation in ("<=", ">=") and c.when is None and c.complements is None:
            sign = 1 if c.relation == "<=" else -1
            scopes = (c.scope,) if c.scope is not None else ()
            c = replace(c, left=work.convex(c.left, sign, scopes), right=work.convex(c.right, -sign, scopes))
        constraints.append(c)
    if not work.rows:
        return None
    return replace(
        problem, sets=work.sets, variables=work.variables, objective=objective, constraints=[*constraints, *work.rows]
    )
