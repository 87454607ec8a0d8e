"""Statements of the tree to the problem record. Independent mistakes are all reported, in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from optdsl.data.access import Access
from optdsl.elaborate.asked import Asked
from optdsl.elaborate.beyond import BeyondOneLevel
from optdsl.elaborate.declarations import Declarations
from optdsl.elaborate.expressions import Expressions, Local
from optdsl.elaborate.rows import Rows
from optdsl.elaborate.scope import Broken, Scope
from optdsl.elaborate.variables import Variables
from optdsl.ir.build import show_shape
from optdsl.ir.problem import Objective, Problem
from optdsl.ir.structure import Structure as Beyond
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import Collector, OptError
from optdsl.syntax.diagnostics.structure import import_cycle, not_importable, objective_not_scalar, two_objectives
from optdsl.syntax.parser import parse
from optdsl.syntax.source import Source, Span


@dataclass
class Inputs:
    """What the caller gives beside the file: data and parameter values by name (and names fixed by `foreach`)."""

    data: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    items: Mapping[str, Any] = field(default_factory=dict)


class Elaborator:
    """Reads one file (and its imports) into a `Problem`."""

    def __init__(self, access: Access, inputs: Inputs, collector: Collector) -> None:
        self.access, self.inputs, self.collector = access, inputs, collector
        self.scope = Scope()
        self.expressions = Expressions(self.scope)
        self.declarations = Declarations(self.scope, self.expressions, access, inputs)
        self.rows = Rows(self.scope, self.expressions)
        self.asked = Asked(self.scope, self.expressions)
        self.variables = Variables(self.scope, self.expressions, self.declarations)
        self.beyond = BeyondOneLevel(self.scope, self.expressions, self.declarations, self.variables)
        self.objective: Objective | None = None
        self.objective_span: Span | None = None
        self.features: list[Beyond] = []
        self.title: str | None = None
        self._imports: list[Path] = []

    def problem(self, file: ast.File) -> Problem:
        """The problem of a file; raises `OptError` with every independent mistake found."""
        for name, value in self.inputs.items.items():
            self.declarations.item(name, value)
        for statement in sorted(file.statements, key=lambda s: not isinstance(s, ast.Foreach)):
            self._guarded(statement)
        self.collector.raise_errors()
        return Problem(
            title=self.title or Path(file.source.name).stem,
            sets=self.scope.sets,
            data=self.scope.data,
            variables=self.scope.variables,
            objective=self.objective,
            constraints=self.rows.constraints,
            features=self.features,
            goal=self.asked.goal,
            budget=self.asked.budget,
            stages=self.asked.stages,
            missing=self.scope.missing,
            size_names=dict(self.scope.sizes),
            lets=dict(self.scope.lets),
            mentioned=frozenset(self.scope.mentioned),
        )

    def _guarded(self, statement: ast.Stmt) -> None:
        try:
            self._statement(statement)
        except OptError as error:
            for d in error.diagnostics:
                self.collector.add(d)
            self.scope.broken.update(_declared(statement))
        except Broken:
            self.scope.broken.update(_declared(statement))

    def _statement(self, s: ast.Stmt) -> None:
        d = self.declarations
        match s:
            case ast.ProblemTitle():
                self.title = s.title
            case ast.Import():
                self._import(s)
            case ast.SetDecl():
                d.sets.set_decl(s)
            case ast.DataDecl():
                d.data_decl(s)
            case ast.ParamDecl():
                d.param_decl(s)
            case ast.LetDecl():
                d.let_decl(s)
            case ast.DefDecl():
                d.def_decl(s)
            case ast.VarDecl() if s.role == "var" and isinstance(s.type, ast.TypeExpr) and s.type.kind != "like":
                self.variables.var_decl(s)
            case ast.Objective():
                self._objective(s)
            case ast.SubjectTo():
                for row in s.rows:
                    self._row(row)
            case ast.Goal():
                self.asked.goal_statement(s)
            case ast.Budget():
                self.asked.budget_statement(s)
            case ast.SolveWith():
                self.asked.solve_statement(s)
            case ast.Foreach():
                self._foreach(s)
            case _:
                self.features += self.beyond.statement(s)

    def _row(self, row: ast.Row | ast.Family) -> None:
        try:
            self.rows.add(row)
        except OptError as error:
            for d in error.diagnostics:
                self.collector.add(d)
        except Broken:
            return

    def _objective(self, s: ast.Objective) -> None:
        if self.objective_span is not None:
            raise OptError(two_objectives(s.span, self.objective_span))
        self.objective_span = s.span
        several = self.beyond.several_objectives(s)
        if several is not None:
            self.features.append(several)
            return
        local: Local = {}
        expr = self.expressions.expr(s.expr, local)
        if expr.shape:
            raise OptError(objective_not_scalar(s.expr.span, show_shape(expr)))
        self.objective = Objective(s.sense, expr, s.span)

    def _foreach(self, s: ast.Foreach) -> None:
        """The item is bound by the caller, one elaboration an item; unbound, its name stands for nothing yet."""
        for name in s.clause.names:
            if name.id not in self.inputs.items:
                self.declarations.item_placeholder(name)

    def _import(self, s: ast.Import) -> None:
        path = self.access.resolve(s.path, s.span)
        if path in self._imports:
            chain = " -> ".join(p.name for p in [*self._imports, path])
            raise OptError(import_cycle(s.span, chain))
        text = self.access.text(path, s.span)
        file = parse(Source(s.path, text))
        self._imports.append(path)
        outer = self.declarations.access
        self.declarations.access = replace(outer, folder=path.parent, root=outer.root or outer.folder)
        try:
            for statement in file.statements:
                if not isinstance(statement, IMPORTABLE):
                    self.collector.add(not_importable(statement.span, _words(statement)))
                else:
                    self._guarded(statement)
        finally:
            self._imports.pop()
            self.declarations.access = outer


IMPORTABLE = (ast.Import, ast.SetDecl, ast.DataDecl, ast.ParamDecl, ast.LetDecl, ast.DefDecl, ast.ProblemTitle)


def _words(statement: ast.Stmt) -> str:
    return {
        ast.VarDecl: "a variable", ast.Objective: "an objective", ast.SubjectTo: "constraints", ast.Block: "a block",
        ast.Lower: "a lower problem", ast.SolveWith: "`solve with`", ast.Goal: "a goal", ast.Budget: "a budget",
        ast.Foreach: "`foreach`",
    }.get(type(statement), "this statement")  # fmt: skip


def _declared(statement: ast.Stmt) -> Sequence[str]:
    """The names that a statement was to declare."""
    if isinstance(statement, ast.VarDecl | ast.RandomDecl):
        return [n.id for n in statement.names]
    name = getattr(statement, "name", None)
    return [name.id] if isinstance(name, ast.Name) else []
