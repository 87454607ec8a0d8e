"""Lines and blocks: turns line ends into statement ends, indents and dedents, and drops them inside brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark import Token
from lark.lark import PostLex

from optdsl.syntax.build import TreeBuilder
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics import syntax as mistakes
from optdsl.syntax.source import Span

MAX_BRACKETS = 200
MAX_LEVELS = 50
CLOSER = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_CLOSERS = frozenset(CLOSER.values())
_COMMENT = re.compile(r"#[^\n]*")


class Layout(PostLex):
    """The post-lexer: Python's rules, with a statement end at the end of the text whether or not it ends a line.

    Raises OptError for tabs mixed with spaces, a dedent to a level that no block has, brackets that do not pair, and
    nesting deeper than `MAX_BRACKETS` brackets or `MAX_LEVELS` blocks.
    """

    always_accept = ("_NL", "NAME")

    def __init__(self, builder: TreeBuilder) -> None:
        self.builder = builder
        self.begin(0, 0)

    def begin(self, length: int, base: int) -> None:
        """`length` of the text to come, `base` the indentation of its first statement."""
        self.length = length
        self.base = base
        self.indent_character = ""

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        levels = [self.base]
        open_brackets: list[Token] = []
        token: Token | None = None
        first = self.builder.shift == 0
        for token in stream:
            kind = token.type
            if kind == "_NL":
                if "#" in token:
                    self._take_comments(token)
                if not open_brackets:
                    yield token
                    yield from self._indentation(token, levels)
                first = False
                continue
            if kind in CLOSER:
                open_brackets.append(token)
                if len(open_brackets) > MAX_BRACKETS:
                    raise OptError(mistakes.too_deep(self.builder.span(token), f"{MAX_BRACKETS} brackets"))
            elif kind in _CLOSERS:
                self._close(open_brackets, token)
            if first:
                self._check_first(token)
                first = False
            yield token
        if open_brackets:
            raise OptError(mistakes.unclosed_bracket(self.builder.span(open_brackets[-1])))
        if token is not None:
            if token.type != "_NL":
                yield self._empty("_NL", token)
            for _ in levels[1:]:
                yield self._empty("_DEDENT", token)

    def _check_first(self, token: Token) -> None:
        """The text's first statement must begin its line if nothing stands before it."""
        if self.builder.source.text[: token.start_pos].lstrip("\ufeff"):
            raise OptError(mistakes.bad_indent(self.builder.span(token)))

    def _empty(self, kind: str, token: Token) -> Token:
        made = Token.new_borrow_pos(kind, "", token)
        made.start_pos = token.end_pos
        return made

    def _close(self, open_brackets: list[Token], token: Token) -> None:
        if not open_brackets:
            raise OptError(mistakes.unopened_bracket(self.builder.span(token)))
        opener = open_brackets.pop()
        if CLOSER[opener.type] != token.type:
            raise OptError(mistakes.mismatched_bracket(self.builder.span(opener), self.builder.span(token)))

    def _take_comments(self, token: Token) -> None:
        assert token.start_pos is not None
        for match in _COMMENT.finditer(token):
            self.builder.comment(token.start_pos + match.start(), match[0].rstrip("\r"))

    def _indentation(self, token: Token, levels: list[int]) -> Iterator[Token]:
        if token.end_pos == self.length:
            return
        text = token[token.rindex("\n") + 1 :]
        end = self.builder.span(token).end
        place = Span(self.builder.source, end - len(text), end)
        if text:
            self.indent_character = self.indent_character or text[0]
            if text.strip(self.indent_character):
                raise OptError(mistakes.mixed_tabs(place))
        width = len(text)
        if width > levels[-1]:
            levels.append(width)
            if len(levels) > MAX_LEVELS:
                raise OptError(mistakes.too_deep(place, f"{MAX_LEVELS} blocks"))
            yield Token.new_borrow_pos("_INDENT", text, token)
        while width < levels[-1]:
            levels.pop()
            if not levels or width > levels[-1]:
                raise OptError(mistakes.bad_dedent(place))
            yield Token.new_borrow_pos("_DEDENT", "", token)
