"""The parser: from a source to the tree of its statements, or to every syntax error in it."""

from __future__ import annotations

import threading

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from optdsl.syntax import ast
from optdsl.syntax.build import TreeBuilder
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics import syntax as mistakes
from optdsl.syntax.layout import Layout
from optdsl.syntax.source import Source, Span
from optdsl.syntax.tables import load


class Parser:
    """The grammar's tables with the builder and the layout that they call; reads one text at a time."""

    def __init__(self) -> None:
        self.builder = TreeBuilder()
        self.layout = Layout(self.builder)
        self.lark = load(self.builder, self.layout)

    def read(self, source: Source) -> ast.File:
        self.builder.begin(source, 0)
        self.layout.begin(len(source.text), 0)
        try:
            statements = self.lark.parse(source.text, start="file")
        except UnexpectedInput as error:
            raise OptError(self._diagnose(source, error)) from None
        title = next((s.title for s in statements if isinstance(s, ast.ProblemTitle)), None)
        return ast.File(source, statements, title, self.builder.comments)

    def _diagnose(self, source, error):
        if isinstance(error, UnexpectedCharacters):
            return mistakes.unknown_character(Span(source, error.pos_in_stream, error.pos_in_stream + 1))
        t = error.token
        return mistakes.unexpected(Span(source, t.start_pos, t.end_pos), f"`{t}`", ", ".join(sorted(error.expected)))


_PARSER: list[Parser] = []
_ONE_AT_A_TIME = threading.Lock()


def parse(source: Source) -> ast.File:
    """The tree of a problem file. Raises OptError with every syntax error found."""
    with _ONE_AT_A_TIME:
        if not _PARSER:
            _PARSER.append(Parser())
        return _PARSER[0].read(source)
