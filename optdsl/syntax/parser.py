"""The parser: from a source to the tree of its statements, or to every syntax error in it."""

from __future__ import annotations

import gc
import re
import threading
from pathlib import Path
from typing import Any

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from optdsl.syntax import ast
from optdsl.syntax.build import TreeBuilder
from optdsl.syntax.depth import check_depth
from optdsl.syntax.diagnostics import Diagnostic, OptError
from optdsl.syntax.diagnostics import syntax as mistakes
from optdsl.syntax.layout import Layout
from optdsl.syntax.recover import faults
from optdsl.syntax.scan import unknown
from optdsl.syntax.source import Source, Span
from optdsl.syntax.tables import load
from optdsl.syntax.unexpected import Unexpected, explain


class Parser:
    """The grammar's tables with the builder and the layout that they call; reads one text at a time."""

    def __init__(self) -> None:
        self.builder = TreeBuilder()
        self.layout = Layout(self.builder)
        self.lark = load(self.builder, self.layout)

    def statements(self, source: Source, start: int, end: int, indent: int, symbol: str) -> list[ast.Stmt]:
        """The statements (or rows) written from `start` to `end`, the first of them indented by `indent`.

        Raises OptError with the first error.
        """
        text = source.text[start:end] if end - start < len(source.text) else source.text
        self.builder.begin(source, start)
        self.layout.begin(len(text), indent)
        try:
            found: Any = self.lark.parse(text, start=symbol)  # what the builder makes of the start symbol
        except UnexpectedInput as error:
            raise OptError(self._explained(source, start, end, symbol, error)) from None
        statements: list[ast.Stmt] = found
        check_depth(statements)
        return statements

    def fault(self, source: Source, start: int, end: int, indent: int, symbol: str) -> Diagnostic | None:
        """The first error of a piece of a source, if it has any."""
        try:
            self.statements(source, start, end, indent, symbol)
        except OptError as error:
            return error.diagnostics[0]
        return None

    def _explained(self, source: Source, start: int, end: int, symbol: str, error: UnexpectedInput) -> Diagnostic:
        if not isinstance(error, UnexpectedToken):
            assert isinstance(error, UnexpectedCharacters)
            at = start + (error.pos_in_stream or 0)
            return unknown(Span(source, at, at + 1))
        ended = error.token.type == "$END"
        place = Span(source, end, end) if ended else self.builder.span(error.token)
        rows = symbol == "rows" or _ROW_ON_THE_LINE.match(source.text, start) is not None
        return explain(Unexpected(source, start, error.token, place, set(error.accepts), rows))


_ROW_ON_THE_LINE = re.compile(r"subject[ \t]+to[ \t]+[^\s:]")
_PARSERS: list[Parser] = []
_ONE_AT_A_TIME = threading.Lock()


def parse(source: Source) -> ast.File:
    """The tree of a problem file. Raises OptError with every syntax error found."""
    with _ONE_AT_A_TIME:
        if not _PARSERS:
            _PARSERS.append(Parser())
        parser = _PARSERS[0]
        collecting = gc.isenabled()
        gc.disable()  # a tree has no cycles, and walking it again and again would cost a third of the time
        try:
            statements = parser.statements(source, 0, len(source.text), 0, "file")
            comments = parser.builder.comments
        except OptError as error:
            raise OptError(faults(parser, source, error.diagnostics[0])) from None
        finally:
            if collecting:
                gc.enable()
    if not statements:
        raise OptError(mistakes.empty_file(Span(source, 0, 0)))
    title = next((s.title for s in statements if isinstance(s, ast.ProblemTitle)), None)
    return ast.File(source, statements, title, comments)


def read(path: Path, name: str | None = None) -> Source:
    """The text of a problem file; `name` is what messages call it. Raises OptError if it cannot be read as UTF-8."""
    name = str(path) if name is None else name
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise OptError(mistakes.unreadable(name, error.strerror or type(error).__name__)) from None
    try:
        return Source(name, raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        raise OptError(mistakes.not_utf8(name, row, raw[error.start])) from None
