"""What stands after `~` and `noise`: a distribution of the table with its parameters as expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from optdsl.elaborate.expressions import Expressions, Local
from optdsl.ir import build
from optdsl.ir.distributions import DISTRIBUTIONS, Distribution, DistributionKind
from optdsl.ir.nodes import Expr, Scope
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import not_a_value, unknown_function, wrong_arguments


def distribution(
    expressions: Expressions, node: ast.Expr, local: Local, inside: Mapping[str, Local] | None = None
) -> Distribution:
    """`inside` gives names that a parameter of that name may use beside `local`."""
    if isinstance(node, ast.Binary) and node.op == "&":
        members = [distribution(expressions, n, local, inside) for n in (node.left, node.right)]
        flat = [m for d in members for m in (d.members or (d,))]
        return Distribution("&", members=flat, span=node.span)
    call = node if isinstance(node, ast.Call) else ast.Call(node.span, node, [], {})
    if not isinstance(call.func, ast.Name):
        raise OptError(not_a_value(node.span, f"`{node.span.text}`", "a distribution such as normal(0, 1) stands here"))
    kind = DISTRIBUTIONS.get(call.func.id)
    if kind is None:
        raise OptError(unknown_function(call.func.span, call.func.id, DISTRIBUTIONS))
    scope: Scope | None = None
    given = _given(kind, call)
    params: dict[str, Expr] = {}
    for name, default in kind.params.items():
        value = given.get(name)
        if isinstance(value, ast.Comprehension):
            if not kind.many:
                raise OptError(wrong_arguments(value.span, kind.name, "does not take a generator"))
            scope, inner = _members(expressions, value, local)
            params[name] = expressions.expr(value.body, inner)
        elif value is not None:
            params[name] = expressions.expr(value, {**local, **(inside or {}).get(name, {})})
        elif default is ...:
            raise OptError(wrong_arguments(node.span, kind.name, f"needs `{name}`"))
        elif default is not None:
            params[name] = build.const(default, node.span)
    return Distribution(kind.name, params, scope, span=node.span)


def _given(kind: DistributionKind, call: ast.Call) -> dict[str, ast.Expr]:
    takes = ", ".join(kind.params) or "nothing"
    if len(call.args) > len(kind.params):
        raise OptError(wrong_arguments(call.span, kind.name, f"takes {takes}"))
    given = dict(zip(kind.params, call.args, strict=False))
    for key, value in call.kwargs.items():
        if key not in kind.params:
            raise OptError(wrong_arguments(value.span, kind.name, f"has no argument `{key}`", f"it takes {takes}"))
        given[key] = value
    return given


def _members(expressions: Expressions, gen: ast.Comprehension, local: Local) -> tuple[Scope, Local]:
    """The rows of `… for i in S`; over a subset variable, those of its candidates that are chosen."""
    first = gen.clauses[0]
    subset = expressions.subset_variable(first.domain)
    if subset is None:
        return expressions.open(gen.clauses, gen.condition, local, gen.span)
    chosen: ast.Expr = ast.Index(first.span, ast.Name(first.domain.span, subset), list(first.names))
    if gen.condition is not None:
        chosen = ast.Binary(gen.condition.span, "and", chosen, gen.condition)
    clauses = [expressions.candidates(first, subset), *(replace(c) for c in gen.clauses[1:])]
    return expressions.open(clauses, chosen, local, gen.span)
