"""The tree builder: what each rule of the grammar makes of the pieces it has read, bottom up, while the parser runs."""

from __future__ import annotations

import re
from typing import Any

from lark import Token

from optdsl.syntax import ast
from optdsl.syntax.build_expressions import Children, ExpressionBuilder
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics import syntax as mistakes
from optdsl.syntax.source import Span

_GOES_ON = re.compile(r"[(\[]|\s*[+-]\s")  # after a statement's first word: the word was the start of an expression
_NO_RELATION = (ast.Num, ast.Str, ast.Unary, ast.Range, ast.ListLit, ast.TupleLit, ast.DictLit)
Limits = list[tuple[str, ast.Expr]]


class TreeBuilder(ExpressionBuilder):
    """One method a rule (or alias) of the grammar; each takes the rule's pieces and gives its node."""

    def _statement(self, word: Token, *parts: Any) -> Span:
        """From a statement's word to the end of its last part that is present."""
        last: Any = word
        for part in parts:
            if isinstance(part, list):
                part = part[-1] if part else None
            if isinstance(part, tuple):
                part = part[1]
            if part is not None:
                last = part
        return self.between(word, last)

    # --- the file --------------------------------------------------------------------------------

    def file(self, c: Children) -> list[ast.Stmt]:
        return c[0]

    def empty_file(self, c: Children) -> list[ast.Stmt]:
        return []

    def problem_title(self, c: Children) -> ast.ProblemTitle:
        return ast.ProblemTitle(self.between(c[0], c[1]), self._text(c[1]))

    def import_decl(self, c: Children) -> ast.Import:
        return ast.Import(self.between(c[0], c[1]), self._text(c[1]))

    def foreach(self, c: Children) -> ast.Foreach:
        return ast.Foreach(self.between(c[0], c[1]), c[1])

    def goal(self, c: Children) -> ast.Goal:
        return ast.Goal(self.between(c[0], c[1]), c[1])

    def budget(self, c: Children) -> ast.Budget:
        return ast.Budget(self._statement(c[0], c[1]), c[1])

    def solve_with(self, c: Children) -> ast.SolveWith:
        return ast.SolveWith(self._statement(c[0], c[2]), c[2])

    # --- declarations ----------------------------------------------------------------------------

    def set_decl(self, c: Children) -> ast.SetDecl:
        word, token, within, value = c
        name = self._declared(token)
        span = self._statement(word, name, within, value)
        return ast.SetDecl(span, name, within, value, self._doc(span.start))

    def data_decl(self, c: Children) -> ast.DataDecl:
        word, token, type_, bounds, value = c
        name = self._declared(token)
        span = self._statement(word, name, type_, bounds, value)
        return ast.DataDecl(span, name, type_, bounds, value, self._doc(span.start))

    def param_decl(self, c: Children) -> ast.ParamDecl:
        word, token, type_, bounds, value = c
        name = self._declared(token)
        span = self._statement(word, name, type_, bounds, value)
        return ast.ParamDecl(span, name, type_, bounds, value, self._doc(span.start))

    def let_decl(self, c: Children) -> ast.LetDecl:
        word, token, value = c
        span = self._statement(word, value)
        return ast.LetDecl(span, self._declared(token), value, self._doc(span.start))

    def def_decl(self, c: Children) -> ast.DefDecl:
        word, token, params, body = c
        span = self._statement(word, body)
        return ast.DefDecl(span, self._declared(token), params or [], body, self._doc(span.start))

    def first_name(self, c: Children) -> list[ast.Name]:
        return [self._declared(c[0])]

    def more_names(self, c: Children) -> list[ast.Name]:
        c[0].append(self._declared(c[1]))
        return c[0]

    def var_decl(self, c: Children) -> ast.VarDecl:
        word, names, type_, limits, start = c
        span = self._statement(word, type_, limits, start)
        within, bounds = self._split(limits)
        return ast.VarDecl(span, str(word), names, type_, within, bounds, start, self._doc(span.start))

    def _split(self, limits: Limits) -> tuple[ast.Expr | None, Limits]:
        """The set and the bounds among what follows a type; two sets are their intersection."""
        within: ast.Expr | None = None
        for op, expr in limits:
            if op == "in":
                within = expr if within is None else ast.Binary(self.between(within, expr), "&", within, expr)
        return within, [limit for limit in limits if limit[0] != "in"]

    def random_decl(self, c: Children) -> ast.RandomDecl:
        word, names, type_, distribution = c
        span = self._statement(word, distribution)
        return ast.RandomDecl(span, names, type_, distribution, self._doc(span.start))

    def oracle_decl(self, c: Children) -> ast.OracleDecl:
        word, token, type_, value = c
        span = self._statement(word, value)
        return ast.OracleDecl(span, self._declared(token), type_, value, self._doc(span.start))

    # --- objective and constraints ---------------------------------------------------------------

    def objective(self, c: Children) -> ast.Objective:
        return ast.Objective(self.between(c[0], c[1]), str(c[0]), c[1])

    def subject_to(self, c: Children) -> ast.SubjectTo:
        return ast.SubjectTo(self._statement(c[0], c[1]), c[1])

    def subject_to_one(self, c: Children) -> ast.SubjectTo:
        return ast.SubjectTo(self.between(c[0], c[1]), [c[1]])

    def subject_to_one_labelled(self, c: Children) -> ast.SubjectTo:
        return self.subject_to_one([c[0], self.labelled(c[1:])])

    def relation(self, c: Children) -> ast.Row:
        if _is_arithmetic(c[0]):
            raise OptError(mistakes.no_comparison(c[0].span))
        return ast.Row(c[0].span, None, c[0])

    def indicator(self, c: Children) -> ast.Row:
        if _is_arithmetic(c[1]):
            help = "`=>` is read as `if … then`; write `>=` for greater or equal"
            raise OptError(mistakes.no_comparison(self.between(c[0], c[1]), help))
        return ast.Row(self.between(c[0], c[1]), None, c[1], when=c[0])

    def complementarity(self, c: Children) -> ast.Row:
        return ast.Row(self.between(c[0], c[1]), None, c[0], complements=c[1])

    def plain(self, c: Children) -> ast.Row:
        return c[0]

    def labelled(self, c: Children) -> ast.Row | ast.Family:
        label, row = self._word(c[0]), c[1]
        row.label = label
        row.span = self.between(label, row)
        return row

    def family(self, c: Children) -> ast.Family:
        word, clauses, condition, rows = c
        return ast.Family(self._statement(word, rows), None, clauses, condition, rows)

    def family_of_one(self, c: Children) -> ast.Family:
        word, clauses, condition, row = c
        return ast.Family(self.between(word, row), None, clauses, condition, [row])

    # --- lower problems and blocks ---------------------------------------------------------------

    def lower(self, c: Children) -> ast.Lower:
        word, names, type_, within, unroll, body = c
        return ast.Lower(self._statement(word, body), names, within, unroll, body, type_)

    def unroll(self, c: Children) -> tuple[ast.Expr, ast.Expr]:
        return c[0], c[2]

    def bare_word(self, c: Children) -> ast.WordStmt:
        word = self._word(c[0])
        return ast.WordStmt(word.span, word, [], self._doc(word.span.start))

    def word_statement(self, c: Children) -> ast.WordStmt:
        word, parts = self._word(c[0]), c[1]
        span = self._statement(c[0], parts)
        if _GOES_ON.match(self.source.text, word.span.end):
            raise OptError(mistakes.stray_expression(span))
        return ast.WordStmt(span, word, parts, self._doc(span.start))

    def for_statement(self, c: Children) -> ast.WordStmt:
        word, clauses, condition = c
        part = self._part_for(word, clauses, condition)
        return ast.WordStmt(part.span, ast.Name(self.span(word), "for"), [part], self._doc(part.span.start))

    def block(self, c: Children) -> ast.Block:
        kind, parts, body = c
        title = parts[0].exprs[0]
        if len(parts) > 1 or len(parts[0].exprs) > 1 or not isinstance(title, ast.Str):
            raise OptError(mistakes.unexpected_block(parts[0].span, str(kind)))
        return ast.Block(self._statement(kind, body), self._word(kind), title.value, body)

    def untitled_block(self, c: Children) -> ast.Block:
        return ast.Block(self._statement(c[0], c[1]), self._word(c[0]), "", c[1])

    # --- the parts of a block's statement --------------------------------------------------------

    def head_first(self, c: Children) -> list[ast.Part]:
        return self._parts("", c[0])

    def head_more(self, c: Children) -> list[ast.Part]:
        c[0].extend(c[1] if isinstance(c[1], list) else [ast.Part(c[1].span, "", [c[1]])])
        return c[0]

    def _parts(self, word: str, exprs: list[ast.Expr], mark: Token | None = None) -> list[ast.Part]:
        """A part; `x in S` with no brackets round it is two, since `in` is a clause there and no test."""
        start = exprs[0] if mark is None else mark
        last = exprs[-1]
        if isinstance(last, ast.Compare) and last.ops == ["in"] and last.span.start == last.operands[0].span.start:
            left, right = last.operands
            return [
                ast.Part(self.between(start, left), word, [*exprs[:-1], left]),
                ast.Part(right.span, "in", [right]),
            ]
        return [ast.Part(self.between(start, last), word, exprs)]

    def part_type(self, c: Children) -> list[ast.Part]:
        type_, limits = c
        typed = ast.Part(type_.span, ":", [], type=type_)
        return [typed, *(ast.Part(expr.span, op, [expr]) for op, expr in limits)]

    def part_colon(self, c: Children) -> list[ast.Part]:
        return self._parts(":", c[0])

    def part_value(self, c: Children) -> list[ast.Part]:
        return self._parts("=", c)

    def part_distribution(self, c: Children) -> list[ast.Part]:
        return self._parts("~", c)

    def part_word(self, c: Children) -> list[ast.Part]:
        return self._parts(str(c[0]), c[1], c[0])

    def part_for(self, c: Children) -> list[ast.Part]:
        return [self._part_for(*c)]

    def _part_for(self, word: Token, clauses: list[ast.Clause], condition: ast.Expr | None) -> ast.Part:
        exprs = [] if condition is None else [condition]
        return ast.Part(self._statement(word, clauses, condition), "for", exprs, clauses=clauses)

    def part_further(self, c: Children) -> list[ast.Part]:
        return self._parts("", c)


def _is_arithmetic(expr: ast.Expr) -> bool:
    """Whether an expression has a value but is, by its outermost operation, no condition."""
    if isinstance(expr, ast.Binary):
        return expr.op not in {"and", "or"}
    return isinstance(expr, _NO_RELATION) and not (isinstance(expr, ast.Unary) and expr.op == "not")
