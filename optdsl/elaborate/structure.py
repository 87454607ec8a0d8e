"""What is asked of the run (goal, budget, solve with), and what stands beyond one objective and rows."""

from __future__ import annotations

from typing import Any

from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.scope import Scope
from optdsl.ir.problem import Feature, GoalSpec, Stage
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.structure import unknown_measure, unknown_statement

GOALS = ("gap", "relative_gap", "stationary", "feasible")
BUDGETS = ("seconds", "evals", "iterations")
#: Statements beside the objective, with the form that they would need.
WORDS = {
    "clients": "a federated form (FiniteSum over clients)",
    "forget": "a data-removal form",
    "analyse": "an influence form",
    "report": "a diagnostics form",
}


class Structure:
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

    def several_objectives(self, s: ast.Objective) -> Feature | None:
        if isinstance(s.expr, ast.ListLit):
            return Feature("objectives", "several objectives", "a multi-objective form (Pareto set)", s.span, s)
        if isinstance(s.expr, ast.Call) and isinstance(s.expr.func, ast.Name) and s.expr.func.id == "lex":
            return Feature("objectives", "lexicographic objectives", "a lexicographic form", s.span, s)
        return None

    def feature(self, s: ast.Stmt) -> tuple[Feature, dict[str, str]]:
        """A statement that no solvable form takes yet, with the names it declares."""
        match s:
            case ast.VarDecl():
                names = {n.id: f"`{n.id}`, which is to be a {'function' if s.role == 'var' else 'choice of an opponent'}"
                         for n in s.names}  # fmt: skip
                if s.role == "adversary":
                    return Feature("adversary", s.names[0].id, "a saddle-point form (min over var, max over adversary)",
                                   s.span, s), names  # fmt: skip
                return Feature("function", s.names[0].id, "a form with function-valued variables (KernelBilevel, training)",
                               s.span, s), names  # fmt: skip
            case ast.RandomDecl():
                names = {n.id: f"the random quantity `{n.id}`" for n in s.names}
                return Feature(
                    "random", s.names[0].id, "a stochastic form (expectations over random quantities)", s.span, s
                ), names
            case ast.OracleDecl():
                return Feature("oracle", s.name.id, "the ZerothOrder form (function values only)", s.span, s), {
                    s.name.id: f"the oracle `{s.name.id}`"
                }
            case ast.Lower():
                return Feature("lower", ", ".join(n.id for n in s.variables), "a Bilevel form", s.span, s), {}
            case ast.Block():
                kinds = {"bandit": "LinearBandit or AssortmentBandit", "online": "OnlineConvex", "game": "MeanFieldGame or "
                         "PreferenceGame", "estimate": "TargetedEstimate"}  # fmt: skip
                if s.kind.id not in kinds:
                    raise OptError(unknown_statement(s.kind.span, s.kind.id, kinds))
                return Feature(s.kind.id, s.title, f"the form {kinds[s.kind.id]}", s.span, s), {}
            case ast.WordStmt():
                if s.word.id not in WORDS:
                    raise OptError(unknown_statement(s.word.span, s.word.id, [*WORDS, *STATEMENTS]))
                return Feature(s.word.id, s.word.id, WORDS[s.word.id], s.span, s), {}
        raise TypeError(type(s).__name__)


STATEMENTS = ("problem", "import", "set", "data", "param", "let", "def", "var", "adversary", "random", "oracle", "minimize",
              "maximize", "subject to", "lower", "foreach", "goal", "budget", "solve with", "bandit", "online", "game",
              "estimate")  # fmt: skip


def _measure(node: ast.Expr) -> tuple[str, ast.Expr | None]:
    """(word, value) of `word <= value`, `word(value)` or `word`."""
    if isinstance(node, ast.Compare) and node.ops == ["<="] and isinstance(node.operands[0], ast.Name):
        return node.operands[0].id, node.operands[1]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return node.func.id, node.args[0]
    return (node.id if isinstance(node, ast.Name) else ""), None
