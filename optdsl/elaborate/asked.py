"""What is asked of the run: goal, budget, solve with."""

from __future__ import annotations

from typing import Any

from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.scope import Scope
from optdsl.ir.problem import GoalSpec, Stage
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.structure import unknown_measure

GOALS = ("gap", "relative_gap", "stationary", "feasible")
BUDGETS = ("seconds", "evals", "iterations")


class Asked:
    def __init__(self, scope: Scope, expressions: Expressions) -> None:
        self.scope, self.expressions = scope, expressions
        self.goal: GoalSpec | None = None
        self.budget: dict[str, float] = {}
        self.stages: list[Stage] = []

    def goal_statement(self, s: ast.Goal) -> None:
        """`gap <= 1e-6`, `relative_gap <= 0.01`, `stationary(1e-6)`, `feasible`."""
        name, value = _measure(s.expr)
        if name not in GOALS:
            raise OptError(unknown_measure(s.expr.span, s.expr.span.text, GOALS))
        number = None if value is None else float(self.expressions.number(value))
        self.goal = GoalSpec(name, number, s.span)

    def budget_statement(self, s: ast.Budget) -> None:
        for limit in s.limits:
            name, value = _measure(limit)
            if name not in BUDGETS or value is None:
                raise OptError(unknown_measure(limit.span, limit.span.text, BUDGETS))
            self.budget[name] = float(self.expressions.number(value))

    def solve_statement(self, s: ast.SolveWith) -> None:
        for stage in s.stages:
            call = stage if isinstance(stage, ast.Call) else None
            name = call.func if call is not None else stage
            if not isinstance(name, ast.Name):
                raise OptError(unknown_measure(stage.span, stage.span.text, ["a backend's name", "name(option=value)"]))
            options = {k: self._option(v) for k, v in call.kwargs.items()} if call is not None else {}
            self.stages.append(Stage(name.id, options, stage.span))

    def _option(self, node: ast.Expr) -> Any:
        """An option's value: a number, a text, a word standing for a text, a list."""
        if isinstance(node, ast.Str):
            return node.value
        if isinstance(node, ast.Name) and self.scope.value_node(node.id, node.span) is None:
            return node.id
        if isinstance(node, ast.ListLit | ast.TupleLit):
            return [self._option(i) for i in node.items]
        value = self.expressions.number(node)
        return value if not hasattr(value, "tolist") else value.tolist()


def _measure(node: ast.Expr) -> tuple[str, ast.Expr | None]:
    """(word, value) of `word <= value`, `word(value)` or `word`."""
    if isinstance(node, ast.Compare) and node.ops == ["<="] and isinstance(node.operands[0], ast.Name):
        return node.operands[0].id, node.operands[1]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return node.func.id, node.args[0]
    return (node.id if isinstance(node, ast.Name) else ""), None
