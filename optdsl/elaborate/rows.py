"""Rows under `subject to`: relations, families, indicators, complementarity."""

from __future__ import annotations

from functools import partial
from typing import Any

from optdsl.elaborate.expressions import Expressions, Local
from optdsl.elaborate.scope import Scope
from optdsl.ir import build
from optdsl.ir.nodes import Const, Expr, Gather, Op, Var
from optdsl.ir.nodes import Scope as IndexScope
from optdsl.ir.problem import Constraint
from optdsl.ir.sets.table import members
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.structure import (
    bad_complementarity,
    bad_indicator,
    label_twice,
    not_a_row,
    strict_inequality,
)

RELATIONS = ("==", "<=", ">=", ">>", "<<")


class Rows:
    def __init__(self, scope: Scope, expressions: Expressions) -> None:
        self.scope, self.expressions = scope, expressions
        self.constraints: list[Constraint] = []
        self._names: dict[str, Any] = {}
        self._keys: set[str] = set()

    def add(self, row: ast.Row | ast.Family) -> None:
        self._add(row, None, {}, None)

    def _add(self, row: ast.Row | ast.Family, scope: IndexScope | None, local: Local, label: ast.Name | None) -> None:
        label = row.label or label
        if isinstance(row, ast.Family):
            opened, inner = self.expressions.open(row.clauses, row.condition, local, row.span)
            if scope is not None:
                both = [c for c in (scope.condition, opened.condition) if c is not None]
                condition = both[0] if len(both) == 1 else build.op("and", *both) if both else None
                opened = IndexScope(scope.generators + opened.generators, condition, row.span)
            for member in row.body:
                self._add(member, opened, inner, label if len(row.body) == 1 else None)
            return
        if row.label is not None or (label is not None and label.id not in self._names):
            assert label is not None
            if label.id in self._names:
                raise OptError(label_twice(label.span, label.id, self._names[label.id]))
            self._names[label.id] = label.span
        self._row(row, scope, local, label.id if label is not None else None)

    def _row(self, row: ast.Row, scope: IndexScope | None, local: Local, name: str | None) -> None:
        if row.complements is not None:
            self._complementarity(row, scope, local, name)
            return
        when = self._indicator(row.when, local) if row.when is not None else None
        pieces = self._relations(row.relation, local)
        for relation, left, right in pieces:
            self._append(name, relation, left, right, scope, row.span, when=when)

    def _append(
        self,
        name: str | None,
        relation: str,
        left: Expr,
        right: Expr,
        scope: IndexScope | None,
        span: Any,
        **extra: Any,
    ) -> None:
        base = name or f"row {len(self.constraints) + 1}"
        key, count = base, 2
        while key in self._keys:
            key, count = f"{base} ({count})", count + 1
        self._keys.add(key)
        self.constraints.append(Constraint(key, name, relation, left, right, scope, span=span, **extra))

    def _relations(self, node: ast.Expr, local: Local) -> list[tuple[str, Expr, Expr]]:
        if not isinstance(node, ast.Compare):
            raise OptError(not_a_row(node.span, f"`{node.span.text}`"))
        operands = [self.expressions.expr(o, local) for o in node.operands]
        out = []
        for k, (op, left, right) in enumerate(zip(node.ops, operands, operands[1:], strict=False)):
            span = node.operands[k].span.to(node.operands[k + 1].span)
            if op in ("<", ">"):
                if left.kind not in ("int", "bool") or right.kind not in ("int", "bool"):
                    raise OptError(strict_inequality(span, op))
                right = build.op("sub" if op == "<" else "add", right, build.const(1), span=right.span)
                op += "="
            if op not in RELATIONS:
                raise OptError(not_a_row(span, f"`{op}`"))
            if op in (">>", "<<"):
                self._semidefinite(left, right, span)
            else:
                self.expressions.fit(span, (left, right), partial(build.op, "sub", left, right, span=span))
            out.append((op, left, right))
        return out

    def _semidefinite(self, left: Expr, right: Expr, span: Any) -> None:
        shapes = [e.shape for e in (left, right) if e.shape]
        if not shapes or any(len(s) != 2 or s[0] != s[1] for s in shapes) or len(set(shapes)) != 1:
            raise OptError(not_a_row(span, "the semidefinite order between these shapes"))
        for side in (left, right):
            if not side.shape and not _is_zero(side):
                n = shapes[0][0]
                raise OptError(
                    not_a_row(span, "a matrix beside a number", f"write a multiple of the identity: eye({n})")
                )

    def _indicator(self, node: ast.Expr, local: Local) -> Expr:
        when = self.expressions.expr(node, local)
        if isinstance(when, Op) and when.op == "not":
            when = build.op("sub", build.const(1), when.args[0], span=when.span)
        base = when
        if isinstance(base, Op) and base.op == "sub" and isinstance(base.args[0], Const):
            base = base.args[1] if not base.args[0].shape and base.args[0].value == 1 else base
        while isinstance(base, Gather):
            base = base.base
        if not (isinstance(base, Var) and not when.shape and self._zero_or_one(base)):
            raise OptError(bad_indicator(node.span, "needs one bool variable before `=>`"))
        return when

    def _zero_or_one(self, v: Var) -> bool:
        return v.kind == "bool" or any(m.kind == "binary" for m in members(self.scope.variables[v.name].within))

    def _complementarity(self, row: ast.Row, scope: IndexScope | None, local: Local, name: str | None) -> None:
        assert row.complements is not None
        sides = []
        for node in (row.relation, row.complements):
            pieces = self._relations(node, local)
            if len(pieces) != 1 or pieces[0][0] not in ("<=", ">="):
                raise OptError(bad_complementarity(node.span, "needs one inequality on each side"))
            relation, left, right = pieces[0]
            high, low = (right, left) if relation == "<=" else (left, right)
            sides.append(build.op("sub", high, low, span=node.span) if not _is_zero(low) else high)
        zero = build.const(0.0, row.span)
        for side in sides:
            self._append(name, ">=", side, zero, scope, row.span, origin="complementarity")
        self.expressions.fit(row.span, sides, lambda: build.op("mul", sides[0], sides[1]))
        last = self.constraints.pop()
        self._keys.discard(last.key)
        self._append(name, ">=", last.left, zero, scope, row.span, origin="complementarity",
                     complements=(">=", sides[0], zero))  # fmt: skip


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Const) and not e.shape and float(e.value) == 0.0
