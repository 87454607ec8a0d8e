"""A diagnostic as text: in full, with the guilty line and marks under its characters, or in one line."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from optdsl.syntax.diagnostics import Diagnostic
from optdsl.syntax.source import Span

WIDTH = 110
_COLOURS = {"error": "1;31", "warning": "1;33", "internal": "1;35", "frame": "34", "related": "1;34", "help": "32"}


def render_all(diagnostics: Iterable[Diagnostic], colour: bool = False) -> str:
    """All diagnostics in full, a blank line between two."""
    return "\n\n".join(render(d, colour) for d in diagnostics)


def concise(diagnostic: Diagnostic) -> str:
    """One line: `file:line:column: error[E102]: message`."""
    return str(diagnostic)


def render(diagnostic: Diagnostic, colour: bool = False) -> str:
    """The full form: heading, the place with `^` under it and `─` under related places, notes and help.

    With `colour`, the parts carry ANSI codes.
    """
    paint = _Paint(colour)
    main = diagnostic.severity
    marks = [_Mark(span, words, "─", "related") for span, words in diagnostic.related]
    if isinstance(diagnostic.place, Span):
        marks.insert(0, _Mark(diagnostic.place, diagnostic.label, "^", main))
    margin = max((len(str(m.span.line)) for m in marks), default=1)
    lines = [f"{paint(f'{main}[{diagnostic.code}]', main)}: {diagnostic.message}"]
    for group in _by_line(marks):
        lines.extend(_snippet(group, margin, paint))
    if diagnostic.place is not None and not isinstance(diagnostic.place, Span):
        lines.append(f"{' ' * margin} {paint('┌─', 'frame')} {diagnostic.place}")
    lead = " " * (margin + 1)
    for note in diagnostic.notes:
        lines.append(f"{lead}{paint('=', 'frame')} {_indented(note, lead + '  ')}")
    if diagnostic.help is not None:
        lines.append(f"{lead}{paint('help:', 'help')} {_indented(diagnostic.help, lead + '      ')}")
    return "\n".join(lines)


@dataclass
class _Mark:
    span: Span
    words: str
    sign: str
    role: str


@dataclass
class _Paint:
    on: bool

    def __call__(self, text: str, role: str) -> str:
        return f"\x1b[{_COLOURS[role]}m{text}\x1b[0m" if self.on and text else text


def _indented(text: str, lead: str) -> str:
    return text.replace("\n", "\n" + lead)


def _by_line(marks: list[_Mark]) -> list[list[_Mark]]:
    """Marks of one line of one file together, in the order of their first mark."""
    groups: dict[tuple[int, int], list[_Mark]] = {}
    for mark in marks:
        groups.setdefault((id(mark.span.source), mark.span.line), []).append(mark)
    return list(groups.values())


def _snippet(marks: list[_Mark], margin: int, paint: _Paint) -> list[str]:
    span = marks[0].span
    line = span.source.line_text(span.line)
    first, last = _window(line, marks)
    shown, columns = _cells(line[first:last])
    number = str(span.line).rjust(margin)
    before, after = "…" if first else "", "…" if last < len(line) else ""
    bar = f"{' ' * margin} {paint('│', 'frame')} "
    out = [
        f"{' ' * margin} {paint('┌─', 'frame')} {span}",
        f"{paint(f'{number} │', 'frame')} {before}{shown}{after}",
    ]
    placed = [
        (len(before) + start, length, mark) for mark in marks for start, length in [_extent(mark, first, columns)]
    ]
    placed.sort(key=lambda each: each[0])
    return out + [bar + row for row in _rows(placed, paint)]


def _window(line: str, marks: list[_Mark]) -> tuple[int, int]:
    """The part of a long line to show: from a little before its first mark."""
    if len(line) <= WIDTH:
        return 0, len(line)
    begin = min(m.span.column - 1 for m in marks)
    first = max(0, min(begin - WIDTH // 3, len(line) - WIDTH))
    return first, first + WIDTH


def _cells(text: str) -> tuple[str, list[int]]:
    """The text as a terminal shows it, and the terminal column of each of its characters and of its end."""
    shown: list[str] = []
    columns = [0]
    for c in text:
        c = "    " if c == "\t" else c if c.isprintable() else "�"
        wide = sum(0 if unicodedata.combining(k) else 2 if unicodedata.east_asian_width(k) in "WF" else 1 for k in c)
        shown.append(c)
        columns.append(columns[-1] + wide)
    return "".join(shown), columns


def _extent(mark: _Mark, first: int, columns: list[int]) -> tuple[int, int]:
    """The terminal column where the mark begins, and how many it covers on its first line: at least one."""
    shown = len(columns) - 1
    begin = min(mark.span.column - 1 - first, shown)
    end = min(begin + mark.span.end - mark.span.start, shown)
    return columns[begin], max(columns[end] - columns[begin], 1)


def _rows(placed: list[tuple[int, int, _Mark]], paint: _Paint) -> list[str]:
    """The row of signs with the words of the last mark after it, then the words of the others, each at its column."""
    row, used = "", 0
    for column, length, mark in placed:
        start = max(column, used)
        length = max(column + length - start, 0)
        row += " " * (start - used) + paint(mark.sign * length, mark.role)
        used = start + length
    last = placed[-1][2]
    rows = [f"{row} {paint(last.words, last.role)}".rstrip()]
    rows.extend(" " * column + paint(mark.words, mark.role) for column, _, mark in reversed(placed[:-1]) if mark.words)
    return rows
