"""What stands beyond one objective and rows, made into typed records: lower problems, opponents, random quantities,
oracles, function-valued variables, several objectives, blocks and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optdsl.elaborate.declarations import Declarations
from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.rows import Rows
from optdsl.elaborate.scope import Scope
from optdsl.elaborate.variables import Variables
from optdsl.ir.blocks.table import Clause, Statement, Word, block_kinds
from optdsl.ir.nodes import Expr, Shape, Symbol
from optdsl.ir.problem import Objective, SetSpec, Variable
from optdsl.ir.sets.table import set_kinds
from optdsl.ir.structure import (
    Adversary,
    FunctionVariable,
    LowerProblem,
    Objectives,
    Oracle,
    Process,
    RandomQuantity,
    Remark,
    Structure,
)
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.diagnostics.names import unknown_name, wrong_arguments
from optdsl.syntax.diagnostics.structure import (
    block_clause_wrong,
    block_word_missing,
    block_word_twice,
    objective_not_scalar,
    unknown_block_word,
    unknown_set,
    unknown_statement,
)

#: Statements beside the objective, with the form that they would need.
REMARKS = {
    "clients": "a federated form (FiniteSum over clients)",
    "forget": "a data-removal form",
    "analyse": "an influence form",
    "report": "a diagnostics form",
}
STATEMENTS = ("problem", "import", "set", "data", "param", "let", "def", "var", "adversary", "random", "oracle", "minimize",
              "maximize", "subject to", "lower", "foreach", "goal", "budget", "solve with")  # fmt: skip


class BeyondOneLevel:
    def __init__(
        self, scope: Scope, expressions: Expressions, declarations: Declarations, variables: Variables
    ) -> None:
        self.scope, self.expressions = scope, expressions
        self.declarations, self.variables = declarations, variables

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

    def statement(self, s: ast.Stmt) -> Structure:
        match s:
            case ast.VarDecl():
                return self._adversary(s) if s.role == "adversary" else self._function(s)
            case ast.RandomDecl():
                return self._random(s)
            case ast.OracleDecl():
                return self._oracle(s)
            case ast.Lower():
                return self._lower(s)
            case ast.Block():
                return self._block(s)
            case ast.WordStmt():
                if s.word.id not in REMARKS:
                    raise OptError(unknown_statement(s.word.span, s.word.id, [*REMARKS, *STATEMENTS, *block_kinds()]))
                return Remark(title=s.word.id, needs=REMARKS[s.word.id], span=s.span, statement=_plain_statement(s))
        raise TypeError(type(s).__name__)

    # --- variables of other kinds ---------------------------------------------------------------

    def _adversary(self, s: ast.VarDecl) -> Adversary:
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
        return Adversary(
            title=s.names[0].id, needs="a saddle-point form (min over var, max over adversary)", span=s.span,
            variable=self.scope.variables[s.names[0].id],
        )  # fmt: skip

    def _within(self, node: ast.Expr | None, name: str, shape: Shape, kind: str) -> SetSpec | None:
        return None if node is None else self.variables.set_spec(node, name, shape, kind)

    def _shape(self, t: ast.TypeExpr | ast.FunctionType | None) -> Shape:
        return self.variables.variable_shape(t)[0] if isinstance(t, ast.TypeExpr) else ()

    def _function(self, s: ast.VarDecl) -> FunctionVariable:
        for name in s.names:
            self.declarations.claim(name)
        if isinstance(s.type, ast.FunctionType):
            argument, result = self._shape(s.type.argument), self._shape(s.type.result)
        else:
            argument, result = None, self._shape(s.type)
        within = None if s.within is None else self._function_space(s.within)
        records = [
            FunctionVariable(
                title=n.id, needs="a form with function-valued variables (KernelBilevel, training)", span=s.span, name=n.id,
                argument=argument, result=result, within=within,
            )
            for n in s.names
        ]  # fmt: skip
        self.scope.functions.update({r.name: r for r in records})
        return records[0]

    def _function_space(self, node: ast.Expr) -> SetSpec:
        """`rkhs(gaussian(bandwidth="median"))`: arguments that are calls become (name, arguments)."""
        call = node if isinstance(node, ast.Call) else None
        word = call.func if call is not None else node
        spaces = {k: v for k, v in set_kinds().items() if v.group == "function"}
        if not isinstance(word, ast.Name) or word.id not in spaces:
            raise OptError(unknown_set(node.span, word.span.text, spaces))
        table = spaces[word.id].params
        given = dict(zip(table, call.args, strict=False)) if call is not None else {}
        if call is not None:
            wrong = next((k for k in call.kwargs if k not in table), None)
            if wrong is not None or len(call.args) > len(table):
                raise OptError(wrong_arguments(call.span, word.id, f"takes {', '.join(table) or 'no argument'}"))
            given |= call.kwargs
        missing = [k for k, default in table.items() if default is ... and k not in given]
        if missing:
            raise OptError(wrong_arguments(node.span, word.id, f"needs `{missing[0]}`"))
        params = {k: self._plain(given[k]) if k in given else default for k, default in table.items()}
        return SetSpec(word.id, params, (), node.span)

    def _plain(self, node: ast.Expr) -> Any:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            args = [self._plain(a) for a in node.args]
            return node.func.id, args, {k: self._plain(v) for k, v in node.kwargs.items()}
        if isinstance(node, ast.ListLit | ast.TupleLit):
            return [self._plain(i) for i in node.items]
        if isinstance(node, ast.Str):
            return node.value
        if isinstance(node, ast.Name) and self.scope.value_node(node.id, node.span) is None:
            return node.id
        return self.expressions.number(node)

    def _random(self, s: ast.RandomDecl) -> RandomQuantity:
        shape, axes = ((), ()) if s.type is None else self.variables.variable_shape(s.type)
        call = s.distribution if isinstance(s.distribution, ast.Call) else None
        name = call.func if call is not None else s.distribution
        for n in s.names:
            self.declarations.claim(n)
            self.scope.symbols[n.id] = Symbol(
                name=n.id, role="random", shape=shape, axes=axes, variables=frozenset([n.id]), span=n.span
            )
        return RandomQuantity(
            title=s.names[0].id, needs="a stochastic form (expectations over random quantities)", span=s.span,
            name=s.names[0].id, shape=shape, axes=axes, distribution=name.span.text,
            arguments=call.args if call is not None else (), options=call.kwargs if call is not None else {},
        )  # fmt: skip

    def _oracle(self, s: ast.OracleDecl) -> Oracle:
        self.declarations.claim(s.name)
        call = s.value
        fits = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "python"
        if not (fits and isinstance(call, ast.Call) and len(call.args) == 1 and isinstance(call.args[0], ast.Str)):
            raise OptError(wrong_arguments(s.value.span, "oracle", 'is given by python("module:function")'))
        record = Oracle(
            title=s.name.id, needs="the ZerothOrder form (function values only)", span=s.span, name=s.name.id,
            argument=self._shape(s.type.argument), result=self._shape(s.type.result), target=call.args[0].value,
        )  # fmt: skip
        self.scope.functions[s.name.id] = record
        return record

    # --- lower problems -------------------------------------------------------------------------

    def _lower(self, s: ast.Lower) -> LowerProblem:
        for name in s.variables:
            known = name.id in self.scope.variables or name.id in self.scope.functions
            if s.type is not None or s.within is not None:
                if not known:
                    self._function(ast.VarDecl(s.span, "var", [name], s.type or _scalar_type(s), s.within, [], None))
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
        return LowerProblem(
            title=", ".join(n.id for n in s.variables), needs="a Bilevel form", span=s.span,
            variables=[n.id for n in s.variables], objective=objective, constraints=rows.constraints, unroll=s.unroll, tree=s,
        )  # fmt: skip

    # --- blocks ---------------------------------------------------------------------------------

    def _block(self, s: ast.Block) -> Process:
        if s.kind.id not in block_kinds():
            raise OptError(unknown_statement(s.kind.span, s.kind.id, [*block_kinds(), *STATEMENTS]))
        kind = block_kinds()[s.kind.id]
        mistakes: list[Diagnostic] = []
        first: dict[str, ast.WordStmt] = {}
        statements = []
        for inner in s.body:
            stated = _as_words(inner)
            if stated is None or stated.word.id not in kind.words:
                word = inner.span.text.split()[0] if stated is None else stated.word.id
                span = inner.span if stated is None else stated.word.span
                mistakes.append(unknown_block_word(span, word, kind.name, kind.words))
                continue
            word = stated.word.id
            if word in first and not kind.words[word].repeat:
                mistakes.append(block_word_twice(stated.word.span, word, first[word].word.span))
            first.setdefault(word, stated)
            mistakes += _clauses(stated, kind.words[word])
            statements.append(_plain_statement(stated))
        mistakes += [
            block_word_missing(s.kind.span, kind.name, name, word.doc)
            for name, word in kind.words.items()
            if word.required and name not in first
        ]
        if mistakes:
            raise OptError(mistakes)
        return Process(
            title=s.title, needs=f"the form {kind.form}", span=s.span, block=kind.name, statements=statements
        )


def _scalar_type(s: ast.Lower) -> ast.TypeExpr:
    return ast.TypeExpr(s.span, "real", [])


def _as_words(s: ast.Stmt) -> ast.WordStmt | None:
    """A statement of a block; `data d = …` and `set S = …` are declarations elsewhere and words here."""
    if isinstance(s, ast.WordStmt):
        return s
    if isinstance(s, ast.DataDecl) and s.value is not None:
        head = ast.Part(s.name.span, "", [s.name])
        return ast.WordStmt(s.span, ast.Name(s.span, "data"), [head, ast.Part(s.value.span, "=", [s.value])], s.doc)
    if isinstance(s, ast.Budget):
        return ast.WordStmt(s.span, ast.Name(s.span, "budget"), [ast.Part(s.span, "", s.limits)])
    return None


def _clauses(s: ast.WordStmt, word: Word) -> list[Diagnostic]:
    out = []
    heads = [p for p in s.parts if p.word == ""]
    if word.head and not heads and not any(p.word in word.clauses for p in s.parts):
        out.append(block_clause_wrong(s.word.span, s.word.id, "needs something after it", word.clauses))
    for p in s.parts:
        if p.word not in ("", *word.clauses, *RELATIONS):
            out.append(block_clause_wrong(p.span, s.word.id, f"takes no `{p.word}`", word.clauses))
    return out


#: Comparisons may stand in any statement: bounds of an unknown, a limit, a size.
RELATIONS = ("<=", ">=", "==", "<", ">", "for", "if", "where")


def _plain_statement(s: ast.WordStmt) -> Statement:
    def clause(p: ast.Part) -> Clause:
        domains: Sequence[Any] = p.clauses
        return Clause(p.word, p.exprs, p.type, domains, p.span)

    return Statement(s.word.id, [clause(p) for p in s.parts], s.doc, s.span)
