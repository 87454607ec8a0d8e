"""E1: what the text of a problem file may not be."""

from __future__ import annotations

from optdsl.syntax.diagnostics.record import Diagnostic, mistake
from optdsl.syntax.source import Span


@mistake("E102", "unexpected text")
def unexpected(place: Span, what: str, expected: str, help: str | None = None) -> Diagnostic:
    """The text does not go on as the language's grammar allows. The message says what was found and what could
    stand there instead."""
    return Diagnostic("E102", f"{what} is not expected here: {expected}", place, help=help)


@mistake("E103", "tabs mixed with spaces")
def mixed_tabs(place: Span) -> Diagnostic:
    """Blocks are marked by indentation. A file that indents by spaces in one line and by a tab in another looks
    different in every editor, so one file uses one of the two, preferably spaces."""
    return Diagnostic(
        "E103", "this line mixes tabs and spaces in its indentation", place, help="indent by spaces only, 2 a level"
    )


@mistake("E104", "bad indentation")
def bad_indent(place: Span) -> Diagnostic:
    """A line is indented although the line before opens no block. Only `subject to`, `for …:`, `lower …` and the
    heads of blocks such as `bandit "title"` are followed by indented lines."""
    return Diagnostic("E104", "this line is indented, but the line before it opens no block", place)


@mistake("E105", "dedent to no block")
def bad_dedent(place: Span) -> Diagnostic:
    """A line is indented less than the block before it, yet not as much as any block around it."""
    return Diagnostic(
        "E105",
        "this line's indentation matches no block around it",
        place,
        help="align it with the block it belongs to",
    )


@mistake("E106", "block expected")
def block_expected(place: Span, head: str) -> Diagnostic:
    """`subject to`, `for …:` and `lower …` are followed by indented lines (or, for the first two, by one row on the
    same line)."""
    return Diagnostic("E106", f"an indented block must follow {head}", place, help="indent the next lines by 2 spaces")


@mistake("E107", "bracket never closed")
def unclosed_bracket(opener: Span) -> Diagnostic:
    """A bracket was opened and the statement, or the file, ended before it was closed."""
    return Diagnostic("E107", f"`{opener.text}` is never closed", opener)


@mistake("E108", "bracket never opened")
def unopened_bracket(place: Span) -> Diagnostic:
    """A closing bracket has no opening partner."""
    return Diagnostic("E108", f"`{place.text}` closes a bracket that was never opened", place)


@mistake("E109", "brackets do not pair")
def mismatched_bracket(opener: Span, closer: Span) -> Diagnostic:
    """A bracket is closed by one of another kind."""
    return Diagnostic(
        "E109",
        f"`{closer.text}` cannot close `{opener.text}`",
        closer,
        related=[(opener, "opened here")],
    )


@mistake("E111", "unknown character")
def unknown_character(place: Span, help: str | None = None) -> Diagnostic:
    """The character is no part of the language. Word processors put curly quotes, full-width digits and long
    dashes in the place of plain ones."""
    return Diagnostic(
        "E111", f"`{place.text}` (U+{ord(place.text[0]):04X}) is no character of the language", place, help=help
    )


@mistake("E116", "reserved word")
def reserved_word(place: Span, word: str) -> Diagnostic:
    """`for in if else and or not lower subject to with of at noise where complements unroll true false inf` are words
    of the language itself and cannot name a value. Labels of constraints may be any other word."""
    return Diagnostic("E116", f"`{word}` is a word of the language and cannot be a name", place)


@mistake("E117", "bad name")
def bad_name(place: Span, plain: str) -> Diagnostic:
    """Names are Unicode identifiers: letters, digits and `_`. Raised and lowered digits are neither."""
    return Diagnostic("E117", f"`{place.text}` is not a name", place, help=f"write `{plain}`")


@mistake("E118", "bad number")
def bad_number(place: Span, why: str) -> Diagnostic:
    """A number is written `1`, `1_000`, `0.5`, `1e-6`, and fits a 64-bit real; `inf` is infinity."""
    return Diagnostic("E118", f"this number {why}", place)


@mistake("E119", "bad escape in a string")
def bad_escape(place: Span, escape: str) -> Diagnostic:
    r"""In a string, a backslash begins one of `\" \\ \n \t`."""
    return Diagnostic(
        "E119", f"`{escape}` means nothing in a string", place, help=r"write `\\` for a backslash, or `/`"
    )


@mistake("E120", "nested too deeply")
def too_deep(place: Span, limit: str) -> Diagnostic:
    """Expressions and blocks may be nested only so far."""
    return Diagnostic("E120", f"this is nested deeper than {limit}", place, help="name parts of it with `let` or `def`")


@mistake("E122", "not a statement")
def stray_expression(place: Span) -> Diagnostic:
    """An expression stands where a statement should begin."""
    return Diagnostic(
        "E122",
        "an expression cannot stand alone as a statement",
        place,
        help="constraints belong under `subject to`; a named expression is written `let name = …`",
    )


@mistake("E123", "argument given twice")
def repeated_argument(place: Span, name: str) -> Diagnostic:
    """A call gives the same keyword argument more than once."""
    return Diagnostic("E123", f"the argument `{name}` is given twice", place)


@mistake("E124", "unexpected block")
def unexpected_block(place: Span, word: str) -> Diagnostic:
    """Indented lines follow a statement that takes none: a block's head is its kind and a title."""
    return Diagnostic(
        "E124", f"`{word}` with indented lines after it must have a title in quotes and nothing else", place
    )
