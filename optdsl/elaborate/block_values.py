"""The values of a block's statements: each clause by what the table says that it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from optdsl.elaborate.block_names import BlockExpressions, Names, Stated
from optdsl.elaborate.distributions import distribution
from optdsl.elaborate.expressions import Local
from optdsl.ir import build
from optdsl.ir.blocks.table import Choice, Clause, Label, Value
from optdsl.ir.build import show_shape
from optdsl.ir.nodes import Expr, Sliced, Var
from optdsl.ir.problem import LabelSet
from optdsl.ir.structure import FunctionVariable
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import nearest, shapes_differ, unknown_label, unknown_name
from optdsl.syntax.diagnostics.structure import block_clause_wrong

#: Clauses of a statement that declares a name, which its record holds already.
DECLARED = {":", "in"}
#: Roles whose value is read where the name is declared.
READ = {"set", "graph", "table", "data", "votes", "cells"}


class Values:
    def __init__(self, names: Names) -> None:
        self.names, self.scope, self.expressions = names, names.scope, names.expressions
        self._takes: dict[str, Callable[[Stated, str, ast.Part, Local], Sequence[Value]]] = {
            "expression": self._expression, "expressions": self._expressions, "relation": self._relation,
            "number": self._number, "choice": self._choice, "labels": self._labels, "interval": self._interval,
            "data": self._data, "distribution": self._distribution, "drawn": self._drawn, "subset": self._name,
            "index": self._name, "indices": self._name, "set": self._set, "type": self._set,
        }  # fmt: skip

    def clauses(self, w: Stated) -> list[Clause]:
        """Typed clauses in the order in which they stand; indices bound by `for` and `of` hold for the whole statement."""
        local = dict(self.names.local)
        bound: dict[str, Clause] = {}
        for name, part in w.clauses.items():
            takes = w.table.clauses[name]
            if takes == "indices":
                scope, local = self.expressions.open(
                    part.clauses, part.exprs[0] if part.exprs else None, local, part.span
                )
                bound[name] = Clause(name, (scope,), part.span)
            elif takes == "index":
                local = local | self._row(part)
                bound[name] = Clause(name, (local[part.exprs[0].span.text],), part.span)
        out = []
        if not w.table.declares and w.heads:
            head = ast.Part(w.heads[0].span.to(w.heads[-1].span), "", list(w.heads))
            out.append(Clause("", tuple(self._takes[w.table.head](w, "", head, local)), head.span))
        for name, part in w.clauses.items():
            if name in bound:
                out.append(bound[name])
                continue
            role = w.table.declares
            declared = role not in ("", "index") and (name in DECLARED or (name == "=" and role in READ))
            space = name == "=" and w.table.declares != "" and w.name.id in self.scope.functions
            if declared or space:
                continue
            if len(part.exprs) > 1 and w.table.clauses[name] not in ("expressions", "drawn"):
                self._wrong(part.exprs[1], w, f"takes one thing after `{name}`")
            out.append(Clause(name, tuple(self._takes[w.table.clauses[name]](w, name, part, local)), part.span))
        self._play_fits(w, out)
        return out

    def _row(self, part: ast.Part) -> Local:
        node = part.exprs[0]
        if not isinstance(node, ast.Name):
            raise OptError(block_clause_wrong(part.span, part.word, "begins with a new name", []))
        low = ast.Num(node.span, 0)
        clause = ast.Clause(node.span, [node], ast.Range(node.span, low, low))
        return self.expressions.open([clause], None, {}, node.span)[1]

    def _wrong(self, node: ast.Expr, w: Stated, rule: str, hint: str | None = None) -> None:
        raise OptError(block_clause_wrong(node.span, w.word.id, rule, [*w.table.clauses], hint))

    def _play_fits(self, w: Stated, out: Sequence[Clause]) -> None:
        """`safe x = …` names the play, and its value has the play's shape."""
        if w.word.id != "safe" or len(out) != 2:
            return
        (play,), (value,) = out[0].values, out[1].values
        if not isinstance(play, Var) or self.names.play is None or play.name != self.names.play.id:
            self._wrong(
                w.heads[0],
                w,
                "begins with the play",
                f"write `safe {self.names.play.id if self.names.play else 'x'} = …`",
            )
        assert isinstance(play, Var) and isinstance(value, Expr)
        self._same_shape(value, play.name, w.clauses["="].exprs[0])

    def _same_shape(self, value: Expr, name: str, node: ast.Expr) -> None:
        v = self.scope.variables[name]
        wanted = show_shape(build.var(name, v.shape, v.axes, v.kind))
        if value.shape not in ((), v.shape):
            raise OptError(shapes_differ(node.span, f"`{name}` is {wanted}, given {show_shape(value)}", []))

    # --- one method a kind of value ---------------------------------------------------------------

    def _expression(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        node = part.exprs[0]
        chosen = self._chosen(node, w)
        if chosen is not None:
            return (chosen,)
        if isinstance(node, ast.Str) and self.names.members is not None:
            return (self._label(node),)
        if clause == "at" and isinstance(node, ast.Name) and node.id in self.scope.definitions:
            return (self._truth(w, node, local),)
        return (self.expressions.expr(node, local),)

    def _expressions(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        return [self.expressions.expr(e, local) for e in part.exprs]

    def _relation(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        if not isinstance(part.exprs[0], ast.Compare):
            self._wrong(part.exprs[0], w, "takes a comparison", "compare two expressions with <=, >= or ==")
        return (self.expressions.expr(part.exprs[0], local),)

    def _number(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        e = self.expressions.expr(part.exprs[0], local)
        if e.variables or e.indices or e.shape:
            self._wrong(part.exprs[0], w, "takes a number that is known before solving")
        return (e,)

    def _choice(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        node = part.exprs[0]
        chosen = self._chosen(node, w)
        if chosen is None:
            called = node.func if isinstance(node, ast.Call) else node
            close = nearest(called.span.text, w.table.choices)
            hint = f"did you mean `{close}`?" if close else f"one of {', '.join(w.table.choices)}"
            self._wrong(node, w, f"takes no `{called.span.text}`", hint)
        assert chosen is not None
        return (chosen,)

    def _chosen(self, node: ast.Expr, w: Stated) -> Choice | None:
        """A word of the table's, alone or with named options: `nash`, `mean(a=1)`."""
        call = node if isinstance(node, ast.Call) and not node.args else None
        called = call.func if call is not None else node
        if not isinstance(called, ast.Name) or called.id not in w.table.choices:
            return None
        options = {k: self.expressions.expr(v, {}) for k, v in call.kwargs.items()} if call is not None else {}
        return Choice(called.id, options, node.span)

    def _label(self, node: ast.Str) -> Label:
        name = self.names.members
        assert name is not None
        s = self.scope.sets[name]
        assert isinstance(s, LabelSet)
        if node.value not in s.position:
            raise OptError(unknown_label(node.span, node.value, name, s.labels))
        return Label(name, s.position[node.value], node.span)

    def _labels(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        node = part.exprs[0]
        items = node.items if isinstance(node, ast.ListLit) else [node]
        if self.names.members is None:
            self._wrong(node, w, "needs items with labels")
        out = []
        for i in items:
            if not isinstance(i, ast.Str):
                self._wrong(i, w, "takes a list of labels", 'write `["a", "b"]`')
            assert isinstance(i, ast.Str)
            out.append(self._label(i))
        return out

    def _interval(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        node = part.exprs[0]
        if not isinstance(node, ast.Range):
            self._wrong(node, w, "takes bounds after `in`", "write `in 0..100`")
        assert isinstance(node, ast.Range)
        return [self.expressions.expr(node.low, {}), self.expressions.expr(node.high, {})]

    def _data(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        """A value, from a file or an expression; a context may be row t of an array of one axis more."""
        node = part.exprs[0]
        if self.names.declarations.reader_name(node) is not None:
            name = f"{w.name.id if w.table.declares else w.word.id}.{'value' if clause == '=' else clause}"
            e = self.names.hidden(name, node)
        else:
            e = self.expressions.expr(node, local)
        if w.table.declares and w.name.id in self.scope.variables:
            v = self.scope.variables[w.name.id]
            if v.role == "context" and not e.variables and e.shape[1:] == v.shape and e.shape:
                t = self.scope.value_node("t", node.span)
                assert t is not None
                rest = [Sliced(0, k) for k in v.shape]
                e = build.gather(e, [t, *rest], v.shape, v.axes, node.span)
            self._same_shape(e, w.name.id, node)
        return (e,)

    def _distribution(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        inside = self.names.law_of_labels() if w.table.declares == "labels" else {}
        return (distribution(self.expressions, part.exprs[0], local, inside),)

    def _drawn(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        return (part.exprs[0].span.text, distribution(self.expressions, part.exprs[1], local))

    def _name(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        return (part.exprs[0].span.text,)

    def _set(self, w: Stated, clause: str, part: ast.Part, local: Local) -> Sequence[Value]:
        node = part.exprs[0]
        if not isinstance(node, ast.Name) or node.id not in self.scope.sets:
            raise OptError(unknown_name(node.span, node.span.text, self.scope.sets))
        return (node.id,)

    def _truth(self, w: Stated, node: ast.Name, local: Local) -> Expr:
        """A `def` as the truth of an unknown function: its body, with the argument as a variable of the declared shape."""
        f = self.scope.functions.get(w.name.id)
        d = self.scope.definitions[node.id]
        if not isinstance(f, FunctionVariable) or f.argument is None or len(d.params) != 1:
            hint = f"write `unknown {w.name.id} : real[n] -> real = … at {node.id}`"
            self._wrong(node, w, "needs the function's type before a definition of one argument", hint)
        assert isinstance(f, FunctionVariable) and f.argument is not None
        name = f"{w.name.id}.{d.params[0]}"
        if name not in self.scope.variables:
            self.names.add(ast.Name(node.span, name), "argument", f.argument)
        argument = build.var(name, f.argument, span=node.span)
        assert isinstance(self.expressions, BlockExpressions)
        return self.expressions.expr(d.body, {d.params[0]: argument})
