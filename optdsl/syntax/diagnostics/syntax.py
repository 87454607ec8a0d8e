"""E1: what the text of a problem file may not be."""

from __future__ import annotations

from collections.abc import Sequence

from optdsl.syntax.diagnostics.record import Diagnostic, mistake
from optdsl.syntax.source import Cell, Span


@mistake("E100", "file cannot be read")
def unreadable(path: str, why: str) -> Diagnostic:
    """The problem file does not exist, is a folder, or may not be read by this user."""
    return Diagnostic("E100", f"the file cannot be read: {why}", Cell(path))


@mistake("E101", "file is not UTF-8")
def not_utf8(path: str, row: int, byte: int) -> Diagnostic:
    """Problem files are text in UTF-8. Editors of some systems still save in an older encoding, and a binary file
    (a spreadsheet, an archive) is no text at all."""
    return Diagnostic(
        "E101",
        f"the byte 0x{byte:02X} is not valid UTF-8",
        Cell(path, row),
        help="save the file as UTF-8",
    )


@mistake("E102", "unexpected text")
def unexpected(place: Span, found: str, wanted: str, help: str | None = None) -> Diagnostic:
    """The text does not go on as the language's grammar allows. The note says what could stand there instead."""
    return Diagnostic(
        "E102", f"{found} is not expected here", place, notes=[f"what could stand here: {wanted}"], help=help
    )


@mistake("E103", "tabs mixed with spaces")
def mixed_tabs(place: Span) -> Diagnostic:
    """Blocks are marked by indentation. A file that indents by spaces in one line and by a tab in another looks
    different in every editor, so a file uses one of the two, preferably spaces."""
    return Diagnostic(
        "E103",
        "the indentation of this file mixes tabs and spaces",
        place,
        "the first line that differs",
        help="indent by spaces only",
    )


@mistake("E104", "unexpected indentation")
def bad_indent(place: Span) -> Diagnostic:
    """A line is indented although the line before it opens no block. Only `subject to`, `for …:`, `lower …` and the
    heads of blocks such as `bandit "title"` are followed by indented lines. A long statement goes on in the next
    line only inside brackets."""
    return Diagnostic(
        "E104",
        "this line is indented, but the line before it opens no block",
        place,
        help="a statement goes on in the next line only inside `( )`, `[ ]` or `{ }`",
    )


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
    """`subject to`, `for …:` and `lower …` are followed by indented lines (the first two may instead have one row on
    the same line)."""
    return Diagnostic("E106", f"indented lines must follow `{head}`", place, help="indent the next lines by 2 spaces")


@mistake("E107", "bracket never closed")
def unclosed_bracket(opener: Span) -> Diagnostic:
    """A bracket was opened, and the statement or the file ended before it was closed."""
    return Diagnostic("E107", f"`{opener.text}` is never closed", opener)


@mistake("E108", "bracket never opened")
def unopened_bracket(place: Span) -> Diagnostic:
    """A closing bracket has no opening partner."""
    return Diagnostic("E108", f"`{place.text}` closes a bracket that was never opened", place)


@mistake("E109", "brackets do not pair")
def mismatched_bracket(opener: Span, closer: Span) -> Diagnostic:
    """A bracket is closed by one of another kind."""
    return Diagnostic(
        "E109", f"`{closer.text}` cannot close `{opener.text}`", closer, related=[(opener, "opened here")]
    )


@mistake("E110", "string never ends")
def unterminated_string(place: Span) -> Diagnostic:
    """A string begins with `"` and must end with `"` on the same line."""
    return Diagnostic("E110", 'this string has no closing `"` on its line', place)


@mistake("E111", "unknown character")
def unknown_character(place: Span, help: str | None = None) -> Diagnostic:
    """The character is no part of the language. Word processors put curly quotes, full-width digits and long
    dashes in the place of plain ones; other languages have marks that this one writes as words."""
    code = f"U+{ord(place.text[0]):04X}"
    shown = f"`{place.text}` ({code})" if place.text.isprintable() and place.text.strip() else code
    return Diagnostic("E111", f"the character {shown} is no part of the language", place, help=help)


@mistake("E112", "`:` missing after `for`")
def missing_colon(place: Span) -> Diagnostic:
    """A family of constraints is written `for i in S: row`, or `for i in S:` with the rows indented below."""
    return Diagnostic(
        "E112", "a `:` is missing between the `for` clause and its rows", place, help="write `for … in …:`"
    )


@mistake("E113", "`for` without `in`")
def missing_in(place: Span, index: str) -> Diagnostic:
    """A clause is written `for i in S` or `for (i, j) in S`. A range of numbers is `1..n` (with n) or `range(1, n)`
    (without)."""
    return Diagnostic(
        "E113", f"`for {index}` must go on with `in`", place, help=f"write `for {index} in …`, for instance `in 1..n`"
    )


@mistake("E114", "statement ends too early")
def ends_early(place: Span, wanted: str, help: str | None = None) -> Diagnostic:
    """The line ends before the statement is complete. A line break continues a statement only inside brackets."""
    return Diagnostic("E114", f"the statement ends too early: {wanted} is missing", place, help=help)


@mistake("E115", "`=` in place of `==`")
def single_equals(place: Span) -> Diagnostic:
    """`==` compares, in constraints and conditions; `=` gives a name its value in a declaration."""
    return Diagnostic("E115", "`=` does not compare", place, help="write `==`")


@mistake("E116", "reserved word")
def reserved_word(place: Span, word: str) -> Diagnostic:
    """`for in if else and or not lower subject to with of at noise where complements unroll true false inf` are words
    of the language itself and cannot name a value."""
    return Diagnostic("E116", f"`{word}` is a word of the language and cannot name a value", place)


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
    """Expressions and blocks may be nested only so far: 200 operations or brackets inside one another, 50 blocks.
    A sum of very many terms is better written with `sum(… for …)` over data."""
    return Diagnostic(
        "E120",
        f"this is nested deeper than {limit}",
        place,
        help="name parts of it with `let` or `def`, or write a long sum as `sum(… for …)`",
    )


@mistake("E121", "empty file")
def empty_file(place: Span) -> Diagnostic:
    """The file holds no statement."""
    return Diagnostic("E121", "the file holds no statement", place, help="begin with `var x : real` and `minimize …`")


@mistake("E122", "not a statement")
def stray_expression(place: Span, help: str | None = None) -> Diagnostic:
    """An expression or an assignment stands where a statement should begin with its word."""
    return Diagnostic(
        "E122",
        "this is an expression, and a statement must begin with its word",
        place,
        help=help or "constraints belong under `subject to`; a named expression is written `let name = …`",
    )


@mistake("E123", "argument given twice")
def repeated_argument(place: Span, name: str) -> Diagnostic:
    """A call gives the same keyword argument more than once."""
    return Diagnostic("E123", f"the argument `{name}` is given twice", place)


@mistake("E124", "unexpected block")
def unexpected_block(place: Span, word: str) -> Diagnostic:
    """Indented lines follow a statement that takes none. The head of a block is its kind and a title in quotes."""
    return Diagnostic(
        "E124",
        f"`{word} …` takes no indented lines",
        place,
        help=f'if it is meant as a block, its head is `{word} "title"` and nothing else',
    )


@mistake("E125", "notation of another language")
def foreign(place: Span, found: str, write: str) -> Diagnostic:
    """Other languages write it this way; the message says how it is written here."""
    return Diagnostic("E125", f"`{found}` is not written this way here", place, help=f"write {write}")


@mistake("E126", "type missing")
def missing_type(place: Span, word: str, name: str) -> Diagnostic:
    """Declarations name the type after a colon: `var x : real[n]`, `data y : int[m]`; sets and bounds follow it."""
    return Diagnostic(
        "E126",
        f"the type of `{name}` is missing",
        place,
        help=f"write `{word} {name} : real`, or `real[n]` for a vector",
    )


@mistake("E127", "operator missing")
def missing_operator(place: Span, left: str, right: str) -> Diagnostic:
    """Two values stand side by side. A product is written `*` (element by element) or `@` (of matrices)."""
    return Diagnostic(
        "E127",
        f"an operator is missing between `{left}` and `{right}`",
        place,
        help=f"a product is written `{left} * {right}`",
    )


@mistake("E128", "constraint without comparison")
def no_comparison(place: Span, help: str | None = None) -> Diagnostic:
    """A row of `subject to` compares two sides by `==`, `<=`, `>=`, `>>` or `<<`."""
    return Diagnostic("E128", "this constraint compares nothing", place, help=help or "write `… <= …` or `… == …`")


@mistake("E129", "keyword argument before a positional one")
def positional_last(place: Span) -> Diagnostic:
    """In a call, arguments with a name (`axis=0`) come after those without."""
    return Diagnostic("E129", "an argument without a name cannot follow one with a name", place)


@mistake("E130", "number in place of a set")
def number_as_set(place: Span, write: str) -> Diagnostic:
    """A clause runs over a set: the labels of a `set`, a range `1..n` (with n), or `range(n)` (0 to n - 1)."""
    return Diagnostic("E130", "a clause runs over a set, not over a number", place, help=f"write {write}")


@mistake("E131", "word expected")
def missing_word(place: Span, word: str, example: str) -> Diagnostic:
    """The statement's next word is missing: `subject to`, `solve with`, `unroll … of …`, `… if … else …`."""
    return Diagnostic("E131", f"`{word}` is missing here", place, help=f"write {example}")


def expected(words: Sequence[str]) -> str:
    """A list in words."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
