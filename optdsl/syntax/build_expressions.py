"""The lower half of the tree builder: names, expressions, clauses and types, made bottom up while the parser runs."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from typing import Any

from lark import Token

from optdsl.syntax import ast
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics import syntax as mistakes
from optdsl.syntax.source import Source, Span

RESERVED = frozenset(
    [
        "for",
        "in",
        "if",
        "else",
        "and",
        "or",
        "not",
        "lower",
        "subject",
        "to",
        "with",
        "of",
        "at",
        "noise",
        "where",
        "complements",
        "unroll",
        "true",
        "false",
        "inf",
    ]
)
_OPERATOR_WORDS = frozenset({"for", "in", "if", "else", "and", "or", "not"})
_ASCII_MARKS = {"≤": "<=", "≥": ">=", "≠": "!="}
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}

Children = list[Any]


class ExpressionBuilder:
    """One method a rule (or alias) of the grammar; each takes the rule's pieces and gives its node.

    `source` is what is being read; `shift` is where in it the text handed to the parser begins.
    """

    def __init__(self) -> None:
        self.begin(Source("<string>", ""), 0)

    def begin(self, source: Source, shift: int) -> None:
        self.source = source
        self.shift = shift
        self.comments: list[tuple[Span, str]] = []
        self._comment_starts: list[int] = []

    # --- places ----------------------------------------------------------------------------------

    def span(self, token: Token) -> Span:
        assert token.start_pos is not None and token.end_pos is not None
        return Span(self.source, token.start_pos + self.shift, token.end_pos + self.shift)

    def between(self, first: Any, last: Any) -> Span:
        start = self.span(first) if isinstance(first, Token) else first.span
        end = self.span(last) if isinstance(last, Token) else last.span
        return Span(self.source, start.start, end.end)

    def comment(self, start: int, text: str) -> None:
        """A comment, `#` included, at an offset of the text handed to the parser."""
        start += self.shift
        self.comments.append((Span(self.source, start, start + len(text)), text))
        self._comment_starts.append(start)

    def _doc(self, start: int) -> str:
        """The doc comments on lines of their own straight before a declaration."""
        lines: list[str] = []
        for k in range(bisect_left(self._comment_starts, start) - 1, -1, -1):
            span, text = self.comments[k]
            line_start = self.source.text.rfind("\n", 0, span.start) + 1
            alone = not self.source.text[line_start : span.start].strip()
            if self.source.text[span.end : start].strip() or not alone:
                break
            if text.startswith("##"):
                lines.append(text[2:].strip())
            start = span.start
        return "\n".join(reversed(lines))

    # --- names -----------------------------------------------------------------------------------

    def _word(self, token: Token) -> ast.Name:
        """A name as written, reserved words included (labels, keyword arguments, attributes)."""
        word = str(token)
        if not word.isascii():
            if not word.isidentifier():
                raise OptError(mistakes.bad_name(self.span(token), _plain_name(word)))
            word = unicodedata.normalize("NFKC", word)
        return ast.Name(self.span(token), word)

    def _declared(self, token: Token) -> ast.Name:
        name = self._word(token)
        if name.id in RESERVED:
            raise OptError(mistakes.reserved_word(name.span, name.id))
        return name

    # --- lists -----------------------------------------------------------------------------------

    def nothing(self, c: Children) -> list[Any]:
        return []

    def first(self, c: Children) -> list[Any]:
        return [c[0]]

    def more(self, c: Children) -> list[Any]:
        c[0].append(c[1])
        return c[0]

    # --- atoms -----------------------------------------------------------------------------------

    def name(self, c: Children) -> ast.Expr:
        """A name in an expression. Words of clauses (`noise`, `at`, …) cannot be declared, but may name a function."""
        word = str(c[0])
        if word == "true" or word == "false":
            return ast.Bool(self.span(c[0]), word == "true")
        if word == "inf":
            return ast.Num(self.span(c[0]), float("inf"))
        return self._declared(c[0]) if word in _OPERATOR_WORDS else self._word(c[0])

    def number(self, c: Children) -> ast.Num:
        text = c[0].replace("_", "")
        if len(text) > 400:
            raise OptError(mistakes.bad_number(self.span(c[0]), "is longer than any number needs to be"))
        value = int(text) if text.isdigit() else float(text)
        if value == float("inf"):
            raise OptError(mistakes.bad_number(self.span(c[0]), "is too large for a 64-bit real number"))
        return ast.Num(self.span(c[0]), value)

    def infinity(self, c: Children) -> ast.Num:
        return ast.Num(self.span(c[0]), float("inf"))

    def string(self, c: Children) -> ast.Str:
        return ast.Str(self.span(c[0]), self._text(c[0]))

    def _text(self, token: Token) -> str:
        inner = token[1:-1]
        if "\\" not in inner:
            return inner

        def unescape(match: re.Match[str]) -> str:
            if match[1] not in _ESCAPES:
                at = self.span(token).start + 1 + match.start()
                raise OptError(mistakes.bad_escape(Span(self.source, at, at + 2), match[0]))
            return _ESCAPES[match[1]]

        return re.sub(r"\\(.)", unescape, inner)

    def parenthesised(self, c: Children) -> ast.Expr:
        c[1].span = self.between(c[0], c[2])
        return c[1]

    def empty_tuple(self, c: Children) -> ast.TupleLit:
        return ast.TupleLit(self.between(c[0], c[1]), [])

    def tuple_of_one(self, c: Children) -> ast.TupleLit:
        return ast.TupleLit(self.between(c[0], c[2]), [c[1]])

    def tuple_literal(self, c: Children) -> ast.TupleLit:
        return ast.TupleLit(self.between(c[0], c[3]), [c[1], *c[2]])

    def empty_list(self, c: Children) -> ast.ListLit:
        return ast.ListLit(self.between(c[0], c[1]), [])

    def list_literal(self, c: Children) -> ast.ListLit:
        return ast.ListLit(self.between(c[0], c[2]), c[1])

    def list_comprehension(self, c: Children) -> ast.ListLit:
        opening, body, clauses, condition, closing = c
        return ast.ListLit(self.between(opening, closing), [self._comprehension(body, clauses, condition)])

    def empty_dict(self, c: Children) -> ast.DictLit:
        return ast.DictLit(self.between(c[0], c[1]), [], [])

    def dict_literal(self, c: Children) -> ast.DictLit:
        return ast.DictLit(self.between(c[0], c[2]), [k for k, _ in c[1]], [v for _, v in c[1]])

    def entry(self, c: Children) -> tuple[ast.Expr, ast.Expr]:
        return c[0], c[1]

    # --- operators -------------------------------------------------------------------------------

    def binary(self, c: Children) -> ast.Binary:
        left, op, right = c
        return ast.Binary(Span(self.source, left.span.start, right.span.end), str(op), left, right)

    def unary(self, c: Children) -> ast.Unary:
        return ast.Unary(self.between(c[0], c[1]), str(c[0]), c[1])

    def in_word(self, c: Children) -> str:
        return "in"

    def not_in_word(self, c: Children) -> str:
        return "not in"

    def chain_first(self, c: Children) -> ast.Compare:
        left, op, right = c
        return ast.Compare(self.between(left, right), [_mark(op)], [left, right])

    def chain_more(self, c: Children) -> ast.Compare:
        chain, op, right = c
        chain.ops.append(_mark(op))
        chain.operands.append(right)
        chain.span = self.between(chain, right)
        return chain

    def chain(self, c: Children) -> ast.Compare:
        return c[0]

    def if_else(self, c: Children) -> ast.IfElse:
        then, condition, otherwise = c
        return ast.IfElse(self.between(then, otherwise), condition, then, otherwise)

    def inclusive_range(self, c: Children) -> ast.Range:
        return ast.Range(self.between(c[0], c[1]), c[0], c[1])

    # --- what follows an atom --------------------------------------------------------------------

    def attribute(self, c: Children) -> ast.Attr:
        name = self._word(c[1])
        return ast.Attr(self.between(c[0], name), c[0], name.id)

    def transpose(self, c: Children) -> ast.Attr:
        return ast.Attr(self.between(c[0], c[1]), c[0], "T")

    def index(self, c: Children) -> ast.Index:
        return ast.Index(self.between(c[0], c[2]), c[0], c[1])

    def items(self, c: Children) -> list[ast.Expr | ast.Slice]:
        return c[0]

    def slice_all(self, c: Children) -> ast.Slice:
        return ast.Slice(self.span(c[0]), None, None)

    def slice_to(self, c: Children) -> ast.Slice:
        return ast.Slice(self.between(c[0], c[1]), None, c[1])

    def slice_from(self, c: Children) -> ast.Slice:
        return ast.Slice(self.between(c[0], c[1]), c[0], None)

    def slice_both(self, c: Children) -> ast.Slice:
        return ast.Slice(self.between(c[0], c[2]), c[0], c[2])

    def call(self, c: Children) -> ast.Call:
        func, (args, keywords), closing = c
        kwargs: dict[str, ast.Expr] = {}
        for name, value in keywords:
            if name.id in kwargs:
                raise OptError(mistakes.repeated_argument(name.span, name.id))
            kwargs[name.id] = value
        return ast.Call(self.between(func, closing), func, args, kwargs)

    def no_arguments(self, c: Children) -> tuple[list[Any], list[Any]]:
        return [], []

    def positional(self, c: Children) -> tuple[list[Any], list[Any]]:
        return c[0], []

    def positional_and_keywords(self, c: Children) -> tuple[list[Any], list[Any]]:
        return c[0], c[1]

    def only_keywords(self, c: Children) -> tuple[list[Any], list[Any]]:
        return [], c[0]

    def generator(self, c: Children) -> tuple[list[Any], list[Any]]:
        return self.generator_and_keywords([*c, []])

    def generator_and_keywords(self, c: Children) -> tuple[list[Any], list[Any]]:
        bodies, clauses, condition, keywords = c
        body = bodies[0] if len(bodies) == 1 else ast.TupleLit(self.between(bodies[0], bodies[-1]), bodies)
        return [self._comprehension(body, clauses, condition)], keywords

    def keyword(self, c: Children) -> tuple[ast.Name, ast.Expr]:
        return self._word(c[0]), c[1]

    def _comprehension(
        self, body: ast.Expr, clauses: list[ast.Clause], condition: ast.Expr | None
    ) -> ast.Comprehension:
        last = clauses[-1] if condition is None else condition
        return ast.Comprehension(self.between(body, last), body, clauses, condition)

    def clause(self, c: Children) -> ast.Clause:
        if isinstance(c[1], ast.Num):
            write = f"`in 1..{c[1].span.text}`" if c[1].value != 1 else "`in 1..n`"
            raise OptError(mistakes.number_as_set(c[1].span, write))
        return ast.Clause(self.between(c[0], c[1]), [self._declared(c[0])], c[1])

    def tuple_clause(self, c: Children) -> ast.Clause:
        return ast.Clause(self.between(c[0], c[3]), c[1], c[3])

    # --- types -----------------------------------------------------------------------------------

    def value_type(self, c: Children) -> ast.TypeExpr:
        return ast.TypeExpr(self.span(c[0]), str(c[0]), [])

    def shaped_type(self, c: Children) -> ast.TypeExpr:
        return ast.TypeExpr(self.between(c[0], c[2]), str(c[0]), c[1])

    def label_type(self, c: Children) -> ast.TypeExpr:
        return ast.TypeExpr(self.span(c[0]), str(c[0]), [])

    def shaped_label_type(self, c: Children) -> ast.TypeExpr:
        return ast.TypeExpr(self.between(c[0], c[2]), str(c[0]), c[1])

    def like_type(self, c: Children) -> ast.TypeExpr:
        return ast.TypeExpr(self.between(c[0], c[1]), "like", [self._declared(c[1])])

    def set_as_type(self, c: Children) -> ast.TypeExpr:
        return ast.TypeExpr(c[0].span, "set", [c[0]])

    def function_type(self, c: Children) -> ast.FunctionType:
        return ast.FunctionType(self.between(c[0], c[1]), c[0], c[1])

    def bound(self, c: Children) -> tuple[str, ast.Expr]:
        return _mark(c[0]), c[1]

    def within(self, c: Children) -> tuple[str, ast.Expr]:
        return "in", c[0]


def _plain_name(word: str) -> str:
    """What to write for a name with raised or lowered digits: `x**2` for x², `x1` for x₁."""
    raised = len(word) - len(word.rstrip("⁰¹²³⁴⁵⁶⁷⁸⁹"))
    base, power = word[: len(word) - raised], word[len(word) - raised :]
    plain = f"{base}**{power}" if raised else word
    return unicodedata.normalize("NFKC", plain)


def _mark(op: Any) -> str:
    """The ASCII form of a relation sign."""
    return _ASCII_MARKS.get(op, str(op))
