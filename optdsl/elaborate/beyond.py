"""What stands beyond one objective and rows, made into typed records: lower problems, opponents, random quantities,
oracles, function-valued variables, several objectives, blocks and remarks."""

from __future__ import annotations

from collections.abc import Sequence

from optdsl.elaborate.block_names import Names
from optdsl.elaborate.block_values import Values
from optdsl.elaborate.blocks import by_clauses, read_block
from optdsl.elaborate.declarations import Declarations
from optdsl.elaborate.distributions import distribution
from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.functions import Functions
from optdsl.elaborate.rows import Rows
from optdsl.elaborate.scope import Scope
from optdsl.elaborate.variables import Variables
from optdsl.ir.blocks.beside import BESIDE
from optdsl.ir.blocks.table import Choice, Statement, block_kinds
from optdsl.ir.nodes import Expr, Shape, Symbol
from optdsl.ir.problem import Objective, SetSpec, Variable
from optdsl.ir.structure import (
    Adversary,
    FunctionVariable,
    LowerProblem,
    Objectives,
    Oracle,
    RandomQuantity,
    Remark,
    Structure,
)
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.diagnostics.names import unknown_name, wrong_arguments
from optdsl.syntax.diagnostics.structure import (
    objective_not_scalar,
    unknown_statement,
)

STATEMENTS = ("problem", "import", "set", "data", "param", "let", "def", "var", "adversary", "random", "oracle", "minimize",
              "maximize", "subject to", "lower", "foreach", "goal", "budget", "solve with")  # fmt: skip


class BeyondOneLevel:
    def __init__(
        self, scope: Scope, expressions: Expressions, declarations: Declarations, variables: Variables
    ) -> None:
        self.scope, self.expressions = scope, expressions
        self.declarations, self.variables = declarations, variables
        self.functions = Functions(scope, expressions, declarations, variables)

    def several_objectives(self, s: ast.Objective) -> Objectives | None:
        if isinstance(s.expr, ast.ListLit):
            items, lexicographic = s.expr.items, False
        elif isinstance(s.expr, ast.Call) and isinstance(s.expr.func, ast.Name) and s.expr.func.id == "lex":
            items, lexicographic = s.expr.args, True
        else:
            return None
        expressions = [self._scalar(e) for e in items]
        words = "a lexicographic form" if lexicographic else "a multi-objective form (Pareto set)"
        return Objectives(
            title=f"{len(items)} objectives", needs=words, span=s.span, sense=s.sense, expressions=expressions,
            lexicographic=lexicographic,
        )  # fmt: skip

    def _scalar(self, node: ast.Expr) -> Expr:
        from optdsl.ir.build import show_shape

        e = self.expressions.expr(node, {})
        if e.shape:
            raise OptError(objective_not_scalar(node.span, show_shape(e)))
        return e

    def statement(self, s: ast.Stmt) -> Sequence[Structure]:
        """The records of one statement: one a name where it gives several names."""
        match s:
            case ast.VarDecl():
                return self._adversary(s) if s.role == "adversary" else self.functions.declare(s)
            case ast.RandomDecl():
                return self._random(s)
            case ast.OracleDecl():
                return [self._oracle(s)]
            case ast.Lower():
                return self._lower(s)
            case ast.Block():
                if s.kind.id not in block_kinds():
                    raise OptError(unknown_statement(s.kind.span, s.kind.id, [*block_kinds(), *STATEMENTS]))
                return [read_block(s, self.scope, self.declarations)]
            case ast.WordStmt():
                return [self._beside(s)]
        raise TypeError(type(s).__name__)

    def _beside(self, s: ast.WordStmt) -> Remark:
        if s.word.id not in BESIDE:
            raise OptError(unknown_statement(s.word.span, s.word.id, [*BESIDE, *STATEMENTS, *block_kinds()]))
        word, needs = BESIDE[s.word.id]
        stated = by_clauses(s, word)
        names = Names(self.scope, self.expressions, self.declarations)
        declared = names.declare(stated)
        clauses = Values(names).clauses(stated)
        statement = Statement(s.word.id, clauses, tuple(declared), s.doc, s.span)
        return Remark(title=s.word.id, needs=needs, span=s.span, statement=statement)

    # --- variables of other kinds ---------------------------------------------------------------

    def _adversary(self, s: ast.VarDecl) -> list[Adversary]:
        """The opponent's array is a variable with the role `adversary`; `like w` takes the shape of w."""
        if isinstance(s.type, ast.TypeExpr) and s.type.kind == "like":
            named = s.type.dims[0]
            known = self.scope.variables.get(named.id) if isinstance(named, ast.Name) else None
            if known is None:
                raise OptError(unknown_name(named.span, named.span.text, self.scope.variables))
            for name in s.names:
                self.declarations.claim(name)
                within = self._within(s.within, name.id, known.shape, known.kind)
                self.scope.variables[name.id] = Variable(
                    name.id, known.shape, known.axes, known.kind, within, role="adversary", doc=s.doc, span=name.span
                )
        else:
            self.variables.var_decl(s)
        needs = "a saddle-point form (min over var, max over adversary)"
        return [Adversary(title=n.id, needs=needs, span=s.span, variable=self.scope.variables[n.id]) for n in s.names]

    def _within(self, node: ast.Expr | None, name: str, shape: Shape, kind: str) -> SetSpec | None:
        return None if node is None else self.variables.set_spec(node, name, shape, kind)

    def _random(self, s: ast.RandomDecl) -> list[RandomQuantity]:
        transform = s.type is not None and s.type.kind == "set"
        if transform and s.type is not None and s.type.span.text != "augment":
            raise OptError(unknown_name(s.type.span, s.type.span.text, ["augment", "real", "int", "bool", "complex"]))
        shape, axes = ((), ()) if s.type is None or transform else self.variables.variable_shape(s.type)
        law = distribution(self.expressions, s.distribution, {})
        needs = "a stochastic form (expectations over random quantities)"
        for n in s.names:
            self.declarations.claim(n)
            if transform:
                self.scope.functions[n.id] = FunctionVariable(
                    title=n.id, needs=needs, span=n.span, name=n.id, argument=None, result=None, within=None
                )
            else:
                self.scope.symbols[n.id] = Symbol(
                    name=n.id, role="random", shape=shape, axes=axes, variables=frozenset([n.id]), span=n.span
                )
        return [
            RandomQuantity(
                title=n.id, needs=needs, span=s.span, name=n.id, shape=shape, axes=axes, distribution=law,
                transform=transform,
            )
            for n in s.names
        ]  # fmt: skip

    def _oracle(self, s: ast.OracleDecl) -> Oracle:
        self.declarations.claim(s.name)
        call = s.value
        fits = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "python"
        if not (fits and isinstance(call, ast.Call) and len(call.args) == 1 and isinstance(call.args[0], ast.Str)):
            raise OptError(wrong_arguments(s.value.span, "oracle", 'is given by python("module:function")'))
        record = Oracle(
            title=s.name.id, needs="the ZerothOrder form (function values only)", span=s.span, name=s.name.id,
            argument=self.functions.shape(s.type.argument), result=self.functions.shape(s.type.result), target=call.args[0].value,
        )  # fmt: skip
        self.scope.functions[s.name.id] = record
        return record

    # --- lower problems -------------------------------------------------------------------------

    def _lower(self, s: ast.Lower) -> list[Structure]:
        made: list[Structure] = []
        for name in s.variables:
            known = name.id in self.scope.variables or name.id in self.scope.functions
            if s.type is not None or s.within is not None:
                if not known:
                    kind = s.type or ast.TypeExpr(s.span, "real", [])
                    made += self.functions.declare(ast.VarDecl(s.span, "var", [name], kind, s.within, [], None))
            elif not known:
                raise OptError(unknown_name(name.span, name.id, [*self.scope.variables, *self.scope.functions]))
        rows = Rows(self.scope, self.expressions)
        objective: Objective | None = None
        mistakes: list[Diagnostic] = []
        for inner in s.body:
            try:
                if isinstance(inner, ast.Objective):
                    objective = Objective(inner.sense, self._scalar(inner.expr), inner.span)
                elif isinstance(inner, ast.SubjectTo):
                    for row in inner.rows:
                        rows.add(row)
                else:
                    mistakes.append(
                        unknown_statement(inner.span, inner.span.text.split()[0], ["minimize", "subject to"])
                    )
            except OptError as error:
                mistakes += error.diagnostics
        if mistakes:
            raise OptError(mistakes)
        lower = LowerProblem(
            title=", ".join(n.id for n in s.variables), needs="a Bilevel form", span=s.span,
            variables=[n.id for n in s.variables], objective=objective, constraints=rows.constraints,
            unroll=None if s.unroll is None else self._unroll(*s.unroll),
        )  # fmt: skip
        return [*made, lower]

    def _unroll(self, steps: ast.Expr, method: ast.Expr) -> tuple[Expr, Choice]:
        call = method if isinstance(method, ast.Call) else ast.Call(method.span, method, [], {})
        if not isinstance(call.func, ast.Name) or call.args:
            raise OptError(
                wrong_arguments(method.span, "unroll", "takes a method by name", "write `unroll 40 of gd(lr=0.4)`")
            )
        options = {k: self.expressions.expr(v, {}) for k, v in call.kwargs.items()}
        return self.expressions.expr(steps, {}), Choice(call.func.id, options, method.span)
