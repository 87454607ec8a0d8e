"""A block to its typed record: words by the table of its kind, names declared in the block's own scope, then the values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from optdsl.elaborate.block_names import BlockExpressions, Names, Stated
from optdsl.elaborate.block_values import Values
from optdsl.elaborate.scope import Broken, Scope
from optdsl.ir.blocks.table import BlockKind, Statement, Word, block_kinds
from optdsl.ir.problem import Variable
from optdsl.ir.structure import FunctionVariable, Process
from optdsl.syntax import ast
from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.diagnostics.names import declared_twice, nearest
from optdsl.syntax.diagnostics.structure import (
    block_clause_wrong,
    block_word_missing,
    block_word_twice,
    unknown_block_word,
)
from optdsl.syntax.source import Span

if TYPE_CHECKING:
    from optdsl.elaborate.declarations import Declarations

#: Comparisons after a type are bounds.
BOUNDS = (">=", "<=", "==", "<", ">")
#: The order in which names are declared: sets and data, then what is over them, then what follows from those.
ORDER = {
    "set": 0, "graph": 0, "table": 0, "data": 0, "index": 1, "state": 1, "action": 1, "play": 1, "unknown": 1, "context": 1,
    "cells": 1, "observation": 2, "labels": 2, "votes": 2, "policy": 2, "": 3,
}  # fmt: skip


def read_block(s: ast.Block, outer: Scope, declarations: Declarations) -> Process:
    """Raises `OptError` with every independent mistake of the block."""
    kind = block_kinds()[s.kind.id]
    mistakes: list[Diagnostic] = []
    scope = _inner(outer)
    stated, present = _statements(s, kind, scope, mistakes)
    form = kind.form(present)
    for name in [*(n for n, w in kind.words.items() if w.required), *form.requires]:
        if not set(present) & set(name.split("|")):
            word = name.split("|")[0]
            shown = name.replace("|", "` or `")
            mistakes.append(block_word_missing(s.kind.span, kind.name, shown, kind.words[word].doc))
    if kind.round_name:
        if kind.round_name in outer.spans:
            mistakes.append(declared_twice(s.kind.span, kind.round_name, outer.spans[kind.round_name]))
        name = kind.round_name
        scope.variables[name] = Variable(name, (), (), "int", role="round", span=s.kind.span)
        scope.spans[name] = s.kind.span
    names = Names(scope, BlockExpressions(scope), declarations)
    declared: dict[int, list[str]] = {}
    for w in sorted(stated, key=lambda w: ORDER[w.table.declares]):
        with _reported(mistakes):
            declared[id(w)] = names.declare(w)
        if id(w) not in declared:
            scope.broken.update(n.id for n in w.heads if isinstance(n, ast.Name))
    names.shares()
    values = Values(names)
    statements = []
    for w in stated:
        with _reported(mistakes):
            clauses = values.clauses(w)
            statements.append(Statement(w.word.id, clauses, tuple(declared.get(id(w), ())), w.doc, w.span))
    if mistakes:
        raise OptError(mistakes)
    outer.missing += [m for m in scope.missing if m not in outer.missing and m in outer.data]
    return Process(
        title=s.title, needs=f"the form {form.name}", span=s.span, block=kind.name, statements=statements,
        variables=dict(scope.variables),
        functions={k: f for k, f in scope.functions.items() if k not in outer.functions and isinstance(f, FunctionVariable)},
        sets={k: v for k, v in scope.sets.items() if k not in outer.sets},
        data={k: v for k, v in scope.data.items() if k not in outer.data},
    )  # fmt: skip


@contextmanager
def _reported(mistakes: list[Diagnostic]) -> Iterator[None]:
    """A mistake ends the step that makes it, and is reported with the others of the block."""
    try:
        yield
    except OptError as error:
        mistakes += error.diagnostics
    except Broken:
        return


def _inner(outer: Scope) -> Scope:
    """The block's scope: the file's names are seen, the block's own stay inside; variables of the file are not the block's."""
    names = ("sets", "data", "lets", "definitions", "sizes", "spans", "size_spans", "open_sets", "functions")
    copied: dict[str, Any] = {k: dict(getattr(outer, k)) for k in names}
    return replace(outer, **copied, variables={}, symbols={}, broken=set(outer.broken), missing=list(outer.missing))


def _statements(
    s: ast.Block, kind: BlockKind, scope: Scope, mistakes: list[Diagnostic]
) -> tuple[list[Stated], list[str]]:
    """The statements by clause, and all words of the kind that are there. Names of wrong statements are not reported again."""
    first: dict[str, Span] = {}
    meant: set[str] = set()
    out: list[Stated] = []
    for inner in s.body:
        stated = _as_words(inner)
        read = len(out)
        with _reported(mistakes):
            out.append(_stated(inner, stated, kind, first, meant, mistakes))
        if read == len(out) and stated is not None and stated.parts:
            scope.broken.update(e.id for e in stated.parts[0].exprs[:1] if isinstance(e, ast.Name))
    return out, [*first, *meant]


def _stated(
    s: ast.Stmt,
    stated: ast.WordStmt | None,
    kind: BlockKind,
    first: dict[str, Span],
    meant: set[str],
    mistakes: list[Diagnostic],
) -> Stated:
    """One statement by clause; a word written wrongly is `meant`, so that it is not missed as well."""
    if stated is None or stated.word.id not in kind.words:
        word = s.span.text.split()[0] if stated is None else stated.word.id
        place = Span(s.span.source, s.span.start, s.span.start + len(word))
        meant.add(nearest(word, kind.words) or "")
        raise OptError(unknown_block_word(place, word, kind.name, kind.words))
    word = stated.word.id
    if word in first and not kind.words[word].repeat:
        mistakes.append(block_word_twice(stated.word.span, word, first[word]))
    first.setdefault(word, stated.word.span)
    return by_clauses(stated, kind.words[word])


def _as_words(s: ast.Stmt) -> ast.WordStmt | None:
    """A statement of a block; `data d = …`, `budget 200` and the like are statements elsewhere and words here."""
    if isinstance(s, ast.WordStmt):
        return s
    if isinstance(s, ast.DataDecl) and s.value is not None:
        head = ast.Part(s.name.span, "", [s.name])
        return ast.WordStmt(s.span, ast.Name(s.span, "data"), [head, ast.Part(s.value.span, "=", [s.value])], s.doc)
    if isinstance(s, ast.Budget):
        return ast.WordStmt(s.span, ast.Name(s.span, "budget"), [ast.Part(s.span, "", s.limits)])
    return None


def by_clauses(s: ast.WordStmt, word: Word) -> Stated:
    """The parts of a statement by clause: `outcome model f()` and `horizon forecast y` have clauses that are no words of
    the grammar, `where e ~ d` is one clause. Raises E421 for a clause that the word does not take."""
    heads: list[ast.Expr] = []
    clauses: dict[str, ast.Part] = {}
    bounds: list[tuple[str, ast.Expr]] = []
    pending: ast.Name | None = None
    word_name = s.word.id

    def put(name: str, part: ast.Part) -> None:
        if name in clauses:
            raise OptError(block_clause_wrong(part.span, word_name, f"takes `{name}` once", [*word.clauses]))
        clauses[name] = part

    for p in s.parts:
        if p.word == "":
            for e in p.exprs:
                lead = e.operands[0] if isinstance(e, ast.Compare) else e
                if pending is not None:
                    put(pending.id, ast.Part(p.span, pending.id, [e]))
                    pending = None
                elif isinstance(lead, ast.Name) and lead.id in word.clauses and lead.id.isidentifier():
                    if isinstance(e, ast.Compare):
                        put(lead.id, ast.Part(e.span, lead.id, [e.operands[1]]))
                    else:
                        pending = lead
                else:
                    heads.append(e)
        elif p.word in BOUNDS and ":" in clauses:
            bounds.append((p.word, p.exprs[0]))
        elif p.word == "~" and "where" in clauses and "~" not in word.clauses:
            where = clauses["where"]
            clauses["where"] = ast.Part(where.span.to(p.span), "where", [*where.exprs, *p.exprs])
        elif p.word in word.clauses:
            put(p.word, p)
        else:
            raise OptError(block_clause_wrong(p.span, word_name, f"takes no `{p.word}`", [*word.clauses]))
    if pending is not None:
        raise OptError(
            block_clause_wrong(pending.span, word_name, f"needs something after `{pending.id}`", [*word.clauses])
        )
    if not heads and (word.declares or not clauses):
        raise OptError(block_clause_wrong(s.word.span, word_name, "needs something after it", [*word.clauses]))
    if len(heads) > 1 and word.head != "expressions":
        raise OptError(
            block_clause_wrong(heads[1].span, word_name, "takes one thing before its clauses", [*word.clauses])
        )
    if word.declares and not isinstance(heads[0], ast.Name):
        raise OptError(block_clause_wrong(heads[0].span, word_name, "begins with a new name", [*word.clauses]))
    return Stated(s.word, word, heads, clauses, bounds, s.doc, s.span)
