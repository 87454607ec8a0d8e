"""The scan of a faulty file: its logical lines by indentation, and what is wrong with its characters and brackets.

Only read when the parser has failed: the parser's own errors are precise only inside one sound statement.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from optdsl.syntax.diagnostics import Diagnostic
from optdsl.syntax.diagnostics import syntax as mistakes
from optdsl.syntax.layout import MAX_LEVELS
from optdsl.syntax.source import Source, Span

MAX_ERRORS = 50

_PIECE = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<unterminated>"[^\n]*)
      | (?P<newline>\r?\n[ \t]*)
      | (?P<blank>[ \t\ufeff]+)
      | (?P<opener>[(\[{])
      | (?P<closer>[)\]}])
      | (?P<word>(?:[0-9]|[^\W\d])[\w\u0300-\u036f]*)
      | (?P<known>!=|[-+*/%@=<>.,:&~≤≥≠∈→⊤∞])
      | (?P<double>\|\||\.\.\.|;)
      | (?P<unknown>[０-９]+|[^\n])""",
    re.VERBOSE,
)
_PARTNER = {"(": ")", "[": "]", "{": "}"}
_HINTS = {
    "|": "write `or`, or `abs(x)` for |x|",
    "||": "write `or`, or `norm(x)` for a norm",
    "!": "write `not x`",
    "^": "write `**` for a power, `.T` for a transpose",
    "'": 'write a string as `"…"`, a transpose as `A.T`',
    ";": "write one statement a line",
    "\\": "a statement goes on in the next line inside brackets, with no `\\`",
    "...": "write `a..b` for a range with both ends, `:` for a whole axis",
    "∑": "write `sum(… for i in S)`",
    "∏": "write `prod(… for i in S)`",
    "∀": "write `for i in S: …`",
    "∧": "write `and`",
    "∨": "write `or`",
    "¬": "write `not`",
    "∩": "write `A & B`",
    "⪰": "write `>>`",
    "⪯": "write `<<`",
    "‖": "write `norm(x)`",
    "√": "write `sqrt(x)`",
    "×": "write `*`, or `@` for a matrix product",
    "·": "write `*`, or `@` for a matrix product",
    "⋅": "write `*`, or `@` for a matrix product",
    "÷": "write `/`",
    "≔": "write `=`",
    "…": "write `a..b` for a range",
}
_QUOTES = "“”„‟«»‘’‚‹›`´"
_DASHES = "−–—‐‑‒"


@dataclass
class Line:
    """A logical line: its text from `start` to `end`, its indentation, whether its characters are sound, its block."""

    start: int
    end: int
    indent: int
    sound: bool = True
    body: list[Line] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The end of the line with its block."""
        line = self
        while line.body:
            line = line.body[-1]
        return line.end


@dataclass
class Scan:
    lines: list[Line]
    errors: list[Diagnostic]


def scan(source: Source) -> Scan:
    """The tree of logical lines of a source, with every error that needs no grammar to see."""
    errors: list[Diagnostic] = []
    lines: list[Line] = []
    start = 0
    while start < len(source.text) and len(errors) < MAX_ERRORS:
        line = _logical_line(source, start, errors)
        if line.start < line.end:
            lines.append(line)
        start = source.text.find("\n", line.end) + 1 or len(source.text)
    mixed = list(_mixed_tabs(source, lines))
    if mixed:
        return Scan([], errors + mixed)
    return Scan(_tree(source, lines, errors), errors)


def _logical_line(source: Source, start: int, errors: list[Diagnostic]) -> Line:
    """The logical line that begins with the line at `start`; it may turn out to be empty."""
    text = source.text
    first = start
    while first < len(text) and text[first] in " \t\ufeff":
        first += 1
    indent = first - start - text[start:first].count("\ufeff")
    found: list[Diagnostic] = []
    openers: list[Span] = []
    seen: set[str] = set()
    end = first
    cut = -1
    for match in _PIECE.finditer(text, first):
        kind, piece, place = match.lastgroup, match[0], Span(source, match.start(), match.end())
        if kind == "newline":
            if not openers:
                break
            rest = text[match.end() : match.end() + 1]
            width = len(piece) - piece.index("\n") - 1
            if cut < 0 and width <= indent and rest not in {")", "]", "}", "#", "\r", "\n", ""}:
                cut = match.start()
            continue
        if kind in {"comment", "blank"}:
            continue
        end = match.end()
        if kind == "opener":
            openers.append(place)
        elif kind == "closer":
            if not openers:
                found.append(mistakes.unopened_bracket(place))
            elif _PARTNER[openers[-1].text] == piece:
                openers.pop()
            elif cut >= 0:
                break
            else:
                found.append(mistakes.mismatched_bracket(openers[-1], place))
                while openers and _PARTNER[openers.pop().text] != piece:
                    pass
        elif kind == "unterminated":
            found.append(mistakes.unterminated_string(place))
        elif kind in {"unknown", "double"} and (hint := _hint(piece) or piece) not in seen:
            seen.add(hint)
            found.append(unknown(place))
    if openers:  # never closed: the statement reached no further than the next line that begins like another
        if cut >= 0:
            end = cut
            found = [d for d in found if isinstance(d.place, Span) and d.place.start < cut]
            openers = [o for o in openers if o.start < cut]
        if not found:
            found.append(mistakes.unclosed_bracket(openers[-1] if openers else Span(source, first, first + 1)))
    errors.extend(found)
    return Line(first, end, indent, sound=not found)


def unknown(place: Span) -> Diagnostic:
    """The error for characters that the language does not have, with what to write for them."""
    return mistakes.unknown_character(place, _hint(place.text))


def _hint(piece: str) -> str | None:
    if piece in _HINTS:
        return _HINTS[piece]
    if piece in _QUOTES:
        return 'write strings in plain double quotes, `"…"`'
    if piece in _DASHES:
        return "write a plain `-`"
    if unicodedata.category(piece[0]) in {"Zs", "Cf", "Cc"}:
        return "this character is invisible: replace it by a plain space, or remove it"
    plain = unicodedata.normalize("NFKC", piece)
    if plain != piece and plain.isascii():
        return f"write a plain `{plain}`"
    return None


def _mixed_tabs(source: Source, lines: list[Line]) -> Iterator[Diagnostic]:
    """The first line whose indentation is not of the kind that the file's first indented line uses."""
    used = ""
    for line in lines:
        begin = source.text.rfind("\n", 0, line.start) + 1
        indentation = source.text[begin : line.start].replace("\ufeff", "")
        used = used or indentation[:1]
        if indentation.strip(used):
            yield mistakes.mixed_tabs(Span(source, begin, line.start))
            return


def _tree(source: Source, lines: list[Line], errors: list[Diagnostic]) -> list[Line]:
    """Lines by indentation, each with the deeper lines that follow it as its block; none if they nest too deeply."""
    roots: list[Line] = []
    path: list[Line] = []
    if lines and lines[0].indent > 0:
        errors.append(mistakes.bad_indent(Span(source, lines[0].start, lines[0].end)))
    for line in lines:
        deepest = path[-1].indent if path else 0
        while path and path[-1].indent >= line.indent:
            path.pop()
        if len(path) >= MAX_LEVELS:
            errors.append(mistakes.too_deep(Span(source, line.start, line.end), f"{MAX_LEVELS} blocks"))
            return []
        siblings = path[-1].body if path else roots
        if siblings and siblings[0].indent != line.indent and line.indent < deepest:
            errors.append(mistakes.bad_dedent(Span(source, line.start, line.end)))
            line.indent = siblings[0].indent
        siblings.append(line)
        path.append(line)
    return roots
