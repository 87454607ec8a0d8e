"""Every syntax error of a faulty file: its statements are parsed one by one, and the rows of a faulty block likewise."""

from __future__ import annotations

import re
from typing import Protocol

from optdsl.syntax.diagnostics import Diagnostic
from optdsl.syntax.scan import MAX_ERRORS, Line, scan
from optdsl.syntax.source import Source, Span

_ROWS = re.compile(r"subject\b|such\s+that\b|s\.t\.|(\w+\s*:\s*)?for\b")

_SCANNED = {"E103", "E105", "E107", "E108", "E109"}
_OF_THE_HEAD = {"E104", "E124"}


class Fragments(Protocol):
    """Reads a piece of a source on its own."""

    def fault(self, source: Source, start: int, end: int, indent: int, symbol: str) -> Diagnostic | None:
        """What is wrong with the text from `start` to `end` read as `symbol` ("file" or "rows"), if anything."""


def faults(parser: Fragments, source: Source, first: Diagnostic) -> list[Diagnostic]:
    """All errors of a source, in the order of the text, at most `MAX_ERRORS`.

    `first` is what stopped the parser when it read the whole: what stands before it needs no second reading.
    """
    scanned = scan(source)
    found = list(scanned.errors)
    read_to = 0 if first.code == "E120" else _offset(first)
    _visit(parser, source, scanned.lines, "file", read_to, found)
    return sorted(found, key=_offset)[:MAX_ERRORS] or [first]


def _offset(diagnostic: Diagnostic) -> int:
    return diagnostic.place.start if isinstance(diagnostic.place, Span) else 0


def _visit(
    parser: Fragments, source: Source, lines: list[Line], symbol: str, read_to: int, found: list[Diagnostic]
) -> None:
    for line in lines:
        if len(found) >= MAX_ERRORS:
            return
        last = line.last
        if not line.sound or last >= read_to:
            _visit_line(parser, source, line, last, symbol, read_to, found)


def _visit_line(
    parser: Fragments,
    source: Source,
    line: Line,
    last: int,
    symbol: str,
    read_to: int,
    found: list[Diagnostic],
) -> None:
    def fault() -> Diagnostic | None:
        return parser.fault(source, line.start, last, line.indent, symbol)

    stopped_in_body = line.end < read_to
    head: Diagnostic | None = None
    if line.sound and not stopped_in_body:
        head = fault()
        if head is None:
            return
        if _offset(head) <= line.end or head.code in _OF_THE_HEAD:
            found.append(head)
    inner = "rows" if symbol == "rows" or _ROWS.match(source.text, line.start) else "file"
    _visit(parser, source, line.body, inner, read_to, found)
    if line.sound and not any(line.start <= _offset(d) <= last for d in found):
        head = head or fault()
        if head is not None and head.code not in _SCANNED:
            found.append(head)
