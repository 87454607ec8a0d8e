"""The items of `foreach`: whole numbers, members of a list or a set, tensors of a checkpoint."""

from __future__ import annotations

import fnmatch
from typing import Any

from optdsl.data.access import Access
from optdsl.elaborate.expressions import Expressions
from optdsl.elaborate.scope import Scope
from optdsl.ir.problem import LabelSet, Problem
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import not_a_value, wrong_arguments


def items(statement: ast.Foreach, problem: Problem, access: Access) -> list[tuple[str, Any]]:
    """(name, value) of every item, in order."""
    domain = statement.clause.domain
    scope = Scope(sets=problem.sets, data=problem.data, sizes=dict(problem.size_names))
    expressions = Expressions(scope)
    if isinstance(domain, ast.Range):
        low, high = expressions.number(domain.low), expressions.number(domain.high)
        return [(str(k), k) for k in range(low, high + 1)]
    if isinstance(domain, ast.ListLit):
        text = next((i for i in domain.items if isinstance(i, ast.Str)), None)
        if text is not None:
            raise OptError(not_a_value(text.span, "a text in `foreach`", "iterate over numbers or arrays"))
        values = [expressions.number(i) for i in domain.items]
        return [(str(v), v) for v in values]
    if isinstance(domain, ast.Name) and domain.id in problem.sets:
        s = problem.sets[domain.id]
        if isinstance(s, LabelSet):
            raise OptError(not_a_value(domain.span, "a set of labels in `foreach`", "iterate over range(n) or numbers"))
        return [(str(k), k) for k in s.labels]  # type: ignore[union-attr]
    if isinstance(domain, ast.Call) and isinstance(domain.func, ast.Name):
        if domain.func.id == "range":
            ends = [int(expressions.number(a)) for a in domain.args]
            return [(str(k), k) for k in range(*ends)]
        if domain.func.id == "tensors":
            return _tensors(domain, access)
    raise OptError(
        not_a_value(domain.span, f"`{domain.span.text}`", "foreach runs over range(…), a..b, a list, or tensors(…)")
    )


def _tensors(call: ast.Call, access: Access) -> list[tuple[str, Any]]:
    """`tensors("model.safetensors", match="*.weight")`: the tensors of a file, by name."""
    from optdsl.data.readers.safetensors import open_tensors

    texts = [a.value for a in call.args if isinstance(a, ast.Str)]
    match = call.kwargs.get("match")
    if len(texts) != 1 or not (match is None or isinstance(match, ast.Str)) or set(call.kwargs) - {"match"}:
        raise OptError(
            wrong_arguments(
                call.span, "tensors", "takes a file and match=", 'tensors("model.safetensors", match="*.weight")'
            )
        )
    path = access.resolve(texts[0], call.span)
    pattern = match.value if isinstance(match, ast.Str) else "*"
    found = [(name, value) for name, value in open_tensors(path, call.span) if fnmatch.fnmatch(name, pattern)]
    if not found:
        raise OptError(wrong_arguments(call.span, "tensors", f"finds no tensor named {pattern!r}"))
    return found
