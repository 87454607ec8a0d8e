"""Function-valued variables: what stands after `in` is a function space or a class of models."""

from __future__ import annotations

from typing import Any

from optdsl.elaborate.declarations import Declarations
from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.scope import Scope
from optdsl.elaborate.variables import Variables
from optdsl.ir.nodes import Shape
from optdsl.ir.problem import SetSpec
from optdsl.ir.sets.table import SetKind, set_kinds
from optdsl.ir.structure import FunctionVariable
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import wrong_arguments
from optdsl.syntax.diagnostics.structure import unknown_set


def function_spaces() -> dict[str, SetKind]:
    return {k: v for k, v in set_kinds().items() if v.group == "function"}


class Functions:
    def __init__(
        self, scope: Scope, expressions: Expressions, declarations: Declarations, variables: Variables
    ) -> None:
        self.scope, self.expressions = scope, expressions
        self.declarations, self.variables = declarations, variables

    def shape(self, t: ast.TypeExpr | ast.FunctionType | None) -> Shape:
        return self.variables.variable_shape(t)[0] if isinstance(t, ast.TypeExpr) else ()

    def declare(self, s: ast.VarDecl) -> list[FunctionVariable]:
        """The records of a declaration, known as functions from here on."""
        for name in s.names:
            self.declarations.claim(name)
        if isinstance(s.type, ast.FunctionType):
            argument, result = self.shape(s.type.argument), self.shape(s.type.result)
        else:
            argument, result = None, self.shape(s.type)
        within = None if s.within is None else self.space(s.within)
        records = [
            FunctionVariable(
                title=n.id, needs="a form with function-valued variables (KernelBilevel, training)", span=s.span, name=n.id,
                argument=argument, result=result, within=within,
            )
            for n in s.names
        ]  # fmt: skip
        self.scope.functions.update({r.name: r for r in records})
        return records

    def space(self, node: ast.Expr) -> SetSpec:
        """`rkhs(gaussian(bandwidth="median"))`: arguments that are calls become (name, arguments)."""
        call = node if isinstance(node, ast.Call) else None
        word = call.func if call is not None else node
        spaces = function_spaces()
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
