"""The names of a block: what each of its statements declares, in a scope of the block's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optdsl.elaborate.declarations import Declarations
from optdsl.elaborate.distributions import distribution
from optdsl.elaborate.expressions import Expressions, Local
from optdsl.elaborate.functions import Functions, function_spaces
from optdsl.elaborate.scope import Scope
from optdsl.elaborate.variables import Variables
from optdsl.ir import build
from optdsl.ir.blocks.table import Word
from optdsl.ir.nodes import Axes, Expr, Shape
from optdsl.ir.problem import IntSet, LabelSet, SetSpec, Variable
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.names import unknown_name
from optdsl.syntax.diagnostics.structure import block_clause_wrong
from optdsl.syntax.source import Span


@dataclass(frozen=True, eq=False)
class Stated:
    """One statement by its clauses: `heads` are what stands right after the word."""

    word: ast.Name
    table: Word
    heads: Sequence[ast.Expr]
    clauses: Mapping[str, ast.Part]
    bounds: Sequence[tuple[str, ast.Expr]]
    doc: str
    span: Span

    @property
    def name(self) -> ast.Name:
        (name,) = self.heads
        assert isinstance(name, ast.Name)
        return name

    def value(self, clause: str) -> ast.Expr | None:
        part = self.clauses.get(clause)
        return part.exprs[0] if part is not None and part.exprs else None


class BlockExpressions(Expressions):
    """In a block what a round settles (its number, the play, what was drawn) may index and filter; `d.age` is a column."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.tables: dict[str, ast.Call] = {}
        self.declarations: Declarations | None = None

    def settled(self, e: Expr, span: Any) -> None:
        if not e.variables <= self.scope.variables.keys():
            super().settled(e, span)

    def expr(self, node: ast.Expr, local: Local) -> Expr:
        if isinstance(node, ast.Attr) and isinstance(node.base, ast.Name) and node.base.id in self.tables:
            return self._column(node, node.base.id)
        return super().expr(node, local)

    def _column(self, node: ast.Attr, table: str) -> Expr:
        name = f"{table}.{node.name}"
        if name not in self.scope.data:
            call = self.tables[table]
            value: ast.Expr = ast.Str(node.span, node.name)
            column = ast.Call(node.span, call.func, call.args, {**call.kwargs, "value": value})
            assert self.declarations is not None
            self.declarations.data_decl(ast.DataDecl(node.span, ast.Name(node.span, name), None, [], column))
        found = self.scope.value_node(name, node.span)
        assert found is not None
        return found


class Names:
    """`local` holds the indices that `items i in Tools` and the like bind for all statements; `members` is the set of
    labels that texts of the block belong to (items, states, nodes)."""

    def __init__(self, scope: Scope, expressions: Expressions, outer: Declarations) -> None:
        self.scope, self.expressions = scope, expressions
        self.declarations = Declarations(scope, expressions, outer.access, outer.inputs)
        if isinstance(expressions, BlockExpressions):
            expressions.declarations = self.declarations
        self.variables = Variables(scope, expressions, self.declarations)
        self.functions = Functions(scope, expressions, self.declarations, self.variables)
        self.local: Local = {}
        self.members: str | None = None
        self.state: str | None = None
        self.play: ast.Name | None = None
        self.alternatives: ast.Name | None = None

    def declare(self, w: Stated) -> list[str]:
        """The names that a statement gives, claimed and known from here on."""
        role = w.table.declares
        for clause, takes in w.table.clauses.items():
            if takes == "drawn" and clause in w.clauses:
                return self._drawn(w, w.clauses[clause])
            if takes == "subset" and clause in w.clauses:
                return self._subset(w, w.clauses[clause])
        if not role:
            return []
        name = w.name
        match role:
            case "set":
                self._needed(w, "=")
                self.declarations.sets.set_decl(ast.SetDecl(w.span, name, None, w.value("="), w.doc))
                self.alternatives = name
            case "graph":
                self._graph(w)
            case "table":
                self._table(w)
            case "data" | "votes":
                self._data(w, name, role)
            case "index":
                domain = self._needed(w, "in")
                self.declarations.claim(name)
                _, bound = self.expressions.open([ast.Clause(w.span, [name], domain)], None, {}, w.span)
                self.local |= bound
                self._members_of(domain)
            case "cells":
                self._cells(w)
            case "policy":
                self._policy(w)
            case _:
                self._variable(w, role)
        return [name.id]

    def _needed(self, w: Stated, clause: str) -> ast.Expr:
        value = w.value(clause)
        if value is None:
            rule = f"needs `{clause}` after the name"
            raise OptError(block_clause_wrong(w.word.span, w.word.id, rule, [*w.table.clauses]))
        return value

    def _members_of(self, domain: ast.Expr) -> None:
        if isinstance(domain, ast.Name) and isinstance(self.scope.sets.get(domain.id), LabelSet):
            self.members = domain.id

    # --- sets and data ----------------------------------------------------------------------------

    def _graph(self, w: Stated) -> None:
        """The edges as a set of pairs over the nodes: a set of the file that has them all, or one made of them."""
        value = w.value("=")
        if value is None:
            known = self.scope.sets.get(w.name.id)
            if known is None or not hasattr(known, "parents"):
                raise OptError(unknown_name(w.name.span, w.name.id, self.scope.sets))
            self.members = known.parents[0]
            return
        if isinstance(value, ast.Call) and "columns" in value.kwargs:
            kwargs = {("index" if k == "columns" else k): v for k, v in value.kwargs.items()}
            value = ast.Call(value.span, value.func, value.args, kwargs)
        loaded = self.declarations.load(value) if self.declarations.reader_name(value) else None
        columns = getattr(loaded, "columns", None)
        if columns is None or len(columns) != 2:
            hint = 'write `graph G = csv("edges.csv", columns=["a", "b"])`'
            raise OptError(block_clause_wrong(value.span, "graph", "takes a table of pairs", [], hint))
        labels = [str(x) for x in dict.fromkeys(np.stack(columns, axis=1).ravel().tolist())]
        fits = [
            s.name for s in self.scope.sets.values() if isinstance(s, LabelSet) and set(labels) <= s.position.keys()
        ]
        nodes = fits[0] if len(fits) == 1 else f"{w.name.id}.nodes"
        if nodes not in self.scope.sets:
            self.scope.sets[nodes] = LabelSet(nodes, tuple(labels), value.span)
        self.members = nodes
        ends = ast.Name(value.span, nodes)
        self.declarations.sets.set_decl(
            ast.SetDecl(w.span, w.name, ast.Binary(value.span, "*", ends, ends), value, w.doc)
        )

    def _table(self, w: Stated) -> None:
        value = self._needed(w, "=")
        if self.declarations.reader_name(value) is None or not isinstance(value, ast.Call):
            rule = "takes a file"
            raise OptError(block_clause_wrong(value.span, w.word.id, rule, [], 'write `data d = csv("table.csv")`'))
        self.declarations.claim(w.name)
        assert isinstance(self.expressions, BlockExpressions)
        self.expressions.tables[w.name.id] = value

    def _data(self, w: Stated, name: ast.Name, role: str) -> None:
        value = self._needed(w, "=")
        type_: ast.TypeExpr | None = None
        if role == "votes" and self.alternatives is not None:
            type_ = ast.TypeExpr(name.span, "real", [self.alternatives, self.alternatives])
            if isinstance(value, ast.Call) and "index" in value.kwargs and "default" not in value.kwargs:
                absent: ast.Expr = ast.Num(value.span, 0)
                value = ast.Call(value.span, value.func, value.args, {**value.kwargs, "default": absent})
        self.declarations.data_decl(ast.DataDecl(w.span, name, type_, [], value, w.doc))

    def hidden(self, name: str, value: ast.Expr) -> Expr:
        """A value read for a clause, under a name that the language cannot write."""
        self.declarations.data_decl(ast.DataDecl(value.span, ast.Name(value.span, name), None, [], value))
        found = self.scope.value_node(name, value.span)
        assert found is not None
        return found

    # --- variables --------------------------------------------------------------------------------

    def add(
        self, name: ast.Name, role: str, shape: Shape = (), axes: Axes | None = None, kind: str = "real",
        within: SetSpec | None = None, start: Expr | None = None, doc: str = "",
    ) -> None:  # fmt: skip
        self.declarations.claim(name)
        axes = (None,) * len(shape) if axes is None else axes
        self.scope.variables[name.id] = Variable(
            name.id, shape, axes, kind, within, start=start, role=role, doc=doc, span=name.span
        )

    def _variable(self, w: Stated, role: str) -> None:
        name, typed, within, value = w.name, w.clauses.get(":"), w.value("in"), w.value("=")
        if role == "play":
            self.play = name
        if role == "state":
            self.state = name.id
        space = value if _is_space(value) else None
        if space is not None or (typed is not None and isinstance(typed.type, ast.FunctionType)):
            type_ = typed.type if typed is not None and typed.type is not None else ast.TypeExpr(name.span, "real", [])
            self.functions.declare(ast.VarDecl(w.span, "var", [name], type_, space or within, [], None, w.doc))
        elif typed is not None and typed.type is not None:
            self.variables.var_decl(ast.VarDecl(w.span, role, [name], typed.type, within, list(w.bounds), None, w.doc))
        elif typed is not None:
            self._over(w, role, typed.exprs[0])
        elif isinstance(within, ast.Name):
            self._over(w, role, within)
        else:
            self._untyped(w, role, value)

    def _over(self, w: Stated, role: str, node: ast.Expr) -> None:
        """`s : range(10)`, `a : [-1, 0, 1]`, `s : States`, `S : subset(…)`, `v : frontier`; labels: one for each node."""
        name = w.name
        shape: Shape = ()
        axes: Axes = ()
        if role == "labels":
            shape, axes = self._nodes(w)
        if isinstance(node, ast.Name) and node.id in w.table.choices:
            self._nodes(w)
            self.add(name, role, kind=f"label:{self.members}", within=SetSpec(node.id, span=node.span), doc=w.doc)
            return
        if isinstance(node, ast.Name) and node.id in self.scope.sets:
            s = self.scope.sets[node.id]
            kind = f"label:{node.id}" if isinstance(s, LabelSet) else "int"
            self.add(name, role, kind=kind, within=SetSpec("member", {"set": node.id}, span=node.span), doc=w.doc)
            self._members_of(node)
            return
        if isinstance(node, ast.ListLit):
            values = np.asarray(self.expressions.number(node))
            kind = "int" if values.dtype.kind in "iu" else "real"
            self.add(name, role, shape, axes, kind, SetSpec("values", {"values": values}, span=node.span), doc=w.doc)
            return
        ends = _ends(node)
        if ends is not None:
            low, high = (0 if e is None else int(self.expressions.number(e)) for e in ends)
            high -= isinstance(node, ast.Call)
            self.add(name, role, shape, axes, "int", SetSpec("range", {"low": low, "high": high}, span=node.span),
                     doc=w.doc)  # fmt: skip
            if role == "state":
                over = f"{name.id}.values"
                self.scope.sets[over] = IntSet(over, low, high - low + 1, node.span)
            return
        as_type = ast.TypeExpr(node.span, "set", [node])
        self.variables.var_decl(ast.VarDecl(w.span, role, [name], as_type, w.value("in"), list(w.bounds), None, w.doc))

    def _nodes(self, w: Stated) -> tuple[Shape, Axes]:
        if self.members is None:
            raise OptError(block_clause_wrong(w.word.span, w.word.id, "needs a graph", [*w.table.clauses]))
        return (self.scope.sets[self.members].size,), (self.members,)

    def _untyped(self, w: Stated, role: str, value: ast.Expr | None) -> None:
        """Its type follows from what is given: the value, the law of a choice, the nodes of the graph."""
        if role == "labels":
            shape, axes = self._nodes(w)
            two = SetSpec("range", {"low": 0, "high": 1}, span=w.name.span)
            self.add(w.name, role, shape, axes, "int", two, doc=w.doc)
        elif role == "observation":
            law = w.value("~")
            called = law.func if isinstance(law, ast.Call) else law
            kind = "real"
            if isinstance(called, ast.Name) and called.id == "mnl" and self.play is not None:
                over = self.scope.variables.get(self.play.id)
                axis = over.axes[0] if over is not None and over.axes else None
                kind = "int" if axis is None else f"label:{axis}"
            shape = self.expressions.expr(value, self.local).shape if value is not None else ()
            self.add(w.name, role, shape, kind=kind, doc=w.doc)
        elif value is not None and self.declarations.reader_name(value) is None:
            e = self.expressions.expr(value, self.local)
            row = role == "context" and not e.variables and bool(e.shape)
            self.add(w.name, role, e.shape[row:], e.axes[row:], e.kind, doc=w.doc)
        else:
            rule, hint = "needs a type", f"write `{w.word.id} {w.name.id} : real[n]`"
            raise OptError(block_clause_wrong(w.name.span, w.word.id, rule, [*w.table.clauses], hint))

    def _cells(self, w: Stated) -> None:
        start = self.hidden(f"{w.name.id}.start", self._needed(w, "="))
        self.add(w.name, "cells", start.shape, start.axes, start=start, doc=w.doc)

    def _policy(self, w: Stated) -> None:
        if self.alternatives is None:
            raise OptError(block_clause_wrong(w.word.span, w.word.id, "needs alternatives", [*w.table.clauses]))
        over = self.scope.sets[self.alternatives.id]
        self.add(w.name, "policy", (over.size,), (over.name if isinstance(over, LabelSet) else None,), doc=w.doc)

    def _drawn(self, w: Stated, part: ast.Part) -> list[str]:
        name, *law = part.exprs
        if not isinstance(name, ast.Name) or not law:
            rule, hint = f"needs `{part.word} NAME ~ distribution`", f"write `{part.word} e ~ normal(0, 1)`"
            raise OptError(block_clause_wrong(part.span, w.word.id, rule, [*w.table.clauses], hint))
        drawn = distribution(self.expressions, law[0], self.local)
        listed = drawn.params.get("values")
        kind = "int" if drawn.kind in ("poisson", "bernoulli", "rademacher") else listed.kind if listed else "real"
        self.add(name, "drawn", kind=kind)
        return [name.id]

    def _subset(self, w: Stated, part: ast.Part) -> list[str]:
        name = part.exprs[0]
        if not isinstance(name, ast.Name) or self.members is None:
            rule = f"needs items and a new name after `{part.word}`"
            raise OptError(block_clause_wrong(part.span, w.word.id, rule, [*w.table.clauses]))
        size = self.scope.sets[self.members].size
        within = SetSpec("subset", {"least": 0, "most": np.inf}, span=name.span)
        self.add(name, "set", (size,), (self.members,), "bool", within)
        return [name.id]

    def shares(self) -> None:
        """`mu`, the population's share of each state, where there are states."""
        if self.state is None or self.state not in self.scope.variables or "mu" in self.scope.spans:
            return
        state = self.scope.variables[self.state]
        over = f"{self.state}.values"
        axis = over if over in self.scope.sets else state.kind.removeprefix("label:")
        if axis in self.scope.sets:
            assert state.span is not None
            simplex = SetSpec("simplex", span=state.span)
            size = self.scope.sets[axis].size
            self.add(ast.Name(state.span, "mu"), "population", (size,), (axis,), within=simplex)

    def law_of_labels(self) -> dict[str, Local]:
        """In `mrf(node=…, edge=…)` the name of the play runs over the nodes, and `same` compares an edge's two ends."""
        if self.play is None or self.members is None or self.play.id not in self.scope.variables:
            return {}
        node = ast.Clause(self.play.span, [replace(self.play)], ast.Name(self.play.span, self.members))
        kept = self.scope.variables.pop(self.play.id)
        _, bound = self.expressions.open([node], None, {}, self.play.span)
        self.scope.variables[self.play.id] = kept
        same = build.var("same", (), kind="int", span=self.play.span)
        return {"node": bound, "marginal": bound, "edge": {"same": same}, "step": bound}


def _is_space(value: ast.Expr | None) -> bool:
    word = value.func if isinstance(value, ast.Call) else value
    return isinstance(word, ast.Name) and word.id in function_spaces()


def _ends(node: ast.Expr) -> tuple[ast.Expr | None, ast.Expr] | None:
    """The ends of `a..b`, `range(b)`, `range(a, b)`."""
    if isinstance(node, ast.Range):
        return node.low, node.high
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        if len(node.args) == 1:
            return None, node.args[0]
        if len(node.args) == 2:
            return node.args[0], node.args[1]
    return None
