"""What a text that the grammar cannot take most likely means: the parser's complaint, told in the writer's terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lark import Token

from optdsl.syntax.build_expressions import RESERVED
from optdsl.syntax.diagnostics import Diagnostic
from optdsl.syntax.diagnostics import syntax as mistakes
from optdsl.syntax.source import Source, Span

_DECLARED = r"(?P<word>var|adversary|data|param|let|set|def|random|oracle)\s+(?P<names>\w[\w, ]*?)"
_IN_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string in double quotes",
    "_NL": "the end of the line",
    "_INDENT": "indented lines",
    "COMPARE": "a comparison (`==`, `<=`, `>=`)",
    "PLUS_MINUS": "an operator",
    "COLON": "`:`",
    "EQUAL": "`=`",
    "_ARROW": "`->`",
    "_IN": "`in`",
    "FOR": "`for`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "RBRACE": "`}`",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "LSQB": "`[`",
    "TILDE": "`~`",
    "IF": "`if`",
    "ELSE": "`else`",
    "TO": "`to`",
    "WITH": "`with`",
    "OF": "`of`",
    "UNROLL": "`unroll`",
    "IMPLIES": "`=>`",
}
_AFTER_VALUE = {"_NL", "COMMA", "RPAR", "RSQB", "RBRACE", "PLUS_MINUS", "COMPARE", "FOR"}
_WORDS_TO_COME = {
    "TO": ("to", "`subject to`"),
    "WITH": ("with", "`solve with …`"),
    "OF": ("of", "`unroll T of gd(lr=0.1)`"),
}


@dataclass
class Unexpected:
    """The token that does not fit, what would (terminals), and where its statement begins; `rows` if that is a row."""

    source: Source
    start: int
    token: Token
    place: Span
    accepts: set[str]
    rows: bool

    @cached_property
    def from_(self) -> int:
        """Where `before` begins: the statement's start, or not far before the token if the statement is very long."""
        return max(self.start, self.place.start - 500)

    @cached_property
    def before(self) -> str:
        """The statement's text before the token."""
        return self.source.text[self.from_ : self.place.start]

    @cached_property
    def inside(self) -> bool:
        """Whether the token stands inside brackets."""
        bare = re.sub(r'"[^"\n]*"', "", self.source.text[self.start : self.place.start])
        return sum(map(bare.count, "([{")) > sum(map(bare.count, ")]}"))

    @cached_property
    def ends(self) -> bool:
        """Whether the statement ends here."""
        return self.token.type in {"_NL", "_INDENT", "_DEDENT", "$END"}

    @cached_property
    def wants_value(self) -> bool:
        return {"NAME", "NUMBER", "LPAR"} <= self.accepts

    @cached_property
    def previous(self) -> Span:
        """The last word or mark before the token."""
        text = re.sub(r"\s*(#[^\n]*)?$", "", self.before)
        match = re.search(r'(\w+|"[^"]*"|\S)$', text)
        begin = match.start() if match else 0
        return Span(self.source, self.from_ + begin, self.from_ + len(text))

    @cached_property
    def after_value(self) -> bool:
        """Whether a value ends just before the token, so that an operator could follow."""
        return not self.wants_value and re.search(r'[\w)\]}"⊤∞]\s*$', self.before) is not None

    @property
    def line(self) -> Span:
        """The first line of the statement, without its comment."""
        text = self.source.text[self.start :].partition("\n")[0].partition("#")[0].rstrip()
        return Span(self.source, self.start, self.start + len(text))

    @property
    def in_condition(self) -> bool:
        return self.rows or re.search(r"\bif\b[^,]*$", self.before) is not None


def explain(case: Unexpected) -> Diagnostic:
    """The most telling diagnostic: the first habit that fits, else what was found and what could stand there."""
    for habit in _HABITS:
        for diagnostic in habit(case):
            return diagnostic
    wanted = _wanted(case)
    if case.ends:
        return mistakes.ends_early(case.previous, wanted, help=_continuation(case))
    shown = str(case.token) if len(case.token) <= 40 else f"{case.token[:40]}…"
    return mistakes.unexpected(case.place, f"`{shown}`", wanted)


def _continuation(case: Unexpected) -> str | None:
    if case.wants_value and re.search(r"[-+*/%@=<>,&]\s*$", case.before):
        return "a statement goes on in the next line only inside brackets"
    return None


def _wanted(case: Unexpected) -> str:
    words: list[str] = []
    rest = set(case.accepts)
    if "REAL" in rest:
        words.append("a type (`real`, `int`, `bool`, `complex`)")
        words.extend(["a set"] if case.wants_value else [])
        rest = set()
    elif case.wants_value:
        words.append("an expression")
        rest -= {"NAME", "NUMBER", "STRING", "LPAR", "LSQB", "LBRACE", "INFINITY", "NOT", "PLUS_MINUS"}
        if "_NL" not in rest:
            rest &= {"RPAR", "RSQB", "RBRACE", "COLON"}
    if "PROBLEM" in rest:
        return "a statement (`var`, `data`, `minimize`, `subject to`, …)"
    if case.after_value and (rest & _AFTER_VALUE):
        words.append("an operator")
        rest &= {"_NL", "COMMA", "RPAR", "RSQB", "RBRACE", "COLON", "_IN", "EQUAL"}
    words.extend(dict.fromkeys(_IN_WORDS[t] for t in _IN_WORDS if t in rest))
    return mistakes.expected(words or ["the end of the line"])


# --- habits: each yields a diagnostic if the case is its own ------------------------------------------


def _indented(case: Unexpected) -> Iterator[Diagnostic]:
    if case.token.type == "_INDENT":
        end = case.source.text.find("\n", case.place.end)
        yield mistakes.bad_indent(Span(case.source, case.place.end, end if end >= 0 else len(case.source.text)))
    elif case.accepts == {"_INDENT"} or case.accepts == {"_INDENT", "_NL"}:
        yield mistakes.block_expected(case.line, case.line.text)


def _such_that(case: Unexpected) -> Iterator[Diagnostic]:
    statement = case.source.text[case.start : case.start + 40]
    match = re.match(
        r"s\.t\.|s\.t\b|st\b(?=\s*:)|such\s+that\b|subject\s*(?=:)|subject\s+to\s*:|constraints\s*:", statement
    )
    if match and not case.rows:
        yield mistakes.foreign(Span(case.source, case.start, case.start + match.end()), match[0], "`subject to`")
    match = re.match(r"(?:minimi[sz]e|maximi[sz]e|min|max)\s*:", statement)
    if match and not case.rows:
        word = "minimize" if match[0].startswith("min") else "maximize"
        yield mistakes.foreign(
            Span(case.source, case.start, case.start + match.end()), match[0], f"`{word}` with no `:`"
        )


def _doubled_marks(case: Unexpected) -> Iterator[Diagnostic]:
    text, at = case.source.text, case.place.start
    pairs = {"&&": "`and`", "//": "`#` for a comment", "=<": "`<=`", "<>": "`!=`", ":=": "`=`", "<-": "`=`"}
    for begin in (at - 1, at):
        if begin >= case.start and text[begin : begin + 2] in pairs:
            found = text[begin : begin + 2]
            yield mistakes.foreign(Span(case.source, begin, begin + 2), found, pairs[found])
    if text.startswith("===", at - 2) and at >= 2:
        yield mistakes.foreign(Span(case.source, at - 2, at + 1), "===", "`==`")


def _braces(case: Unexpected) -> Iterator[Diagnostic]:
    match = re.search(r"(\w+)_?\s*\{[^{}]*$", case.source.text[case.from_ : case.place.end])
    if match and match[1] not in RESERVED:
        at = case.from_ + match.start()
        found = Span(case.source, at, case.place.end)
        yield mistakes.foreign(found, found.text, f"`{match[1].rstrip('_')}(… for i in I)`")


def _for_clause(case: Unexpected) -> Iterator[Diagnostic]:
    match = re.search(r"\bfor\s+(\w+|\([^()]*\))\s*$", case.before)
    if match and "_IN" in case.accepts:
        yield mistakes.missing_in(Span(case.source, case.from_ + match.start(), case.from_ + match.end(1)), match[1])
    elif "COLON" in case.accepts and re.match(r"(?:\w+\s*:\s*)*for\b", case.before) and not case.inside:
        yield mistakes.missing_colon(case.previous if case.ends else case.place)


def _range_by_colon(case: Unexpected) -> Iterator[Diagnostic]:
    match = re.search(r"\bin\s+([\w.]+)\s*$", case.before)
    if case.token.type == "COLON" and match and (case.inside or case.before.startswith("foreach")):
        yield mistakes.foreign(
            Span(case.source, case.from_ + match.start(1), case.place.end), f"{match[1]}:…", "`a..b`"
        )
    elif case.token.type == "COLON" and re.search(r"\[[^\[\]]*:[^\[\],]*$", case.before):
        yield mistakes.foreign(
            case.place, "a:b:c", "`x[i] … for i in range(a, b) if (i - a) % c == 0`, since slices have no step"
        )


def _equals(case: Unexpected) -> Iterator[Diagnostic]:
    if case.token.type != "EQUAL":
        return
    assigned = re.fullmatch(r"(\w+)\s*(\[.*\])?\s*", case.before, re.DOTALL)
    if case.in_condition:
        yield mistakes.single_equals(case.place)
    elif assigned:
        yield mistakes.stray_expression(
            case.line, f"write `let {assigned[1]} = …`, or `var {assigned[1]} : …` if it is sought"
        )
    elif case.after_value:
        yield mistakes.single_equals(case.place)


def _declaration(case: Unexpected) -> Iterator[Diagnostic]:
    several = re.match(r"(data|param|let|set|oracle)\s+\w+\s*,\s*$", case.before)
    if several:
        found = case.before.strip() + " …"
        yield mistakes.foreign(
            Span(case.source, case.start, case.place.end), found, f"one `{several[1]}` for each name"
        )
    match = re.match(_DECLARED + r"\s*$", case.before)
    if match is None:
        return
    word, name = match["word"], match["names"].strip()
    if word == "def" and case.token.type == "COLON":
        return
    if word == "let" and case.token.type == "LPAR":
        yield mistakes.foreign(Span(case.source, case.start, case.place.end), f"let {name}(", f"`def {name}(…) = …`")
    elif "COLON" in case.accepts and word in {"var", "adversary", "oracle", "data", "param"}:
        yield mistakes.missing_type(case.place if not case.ends else case.previous, word, name)


def _type_brackets(case: Unexpected) -> Iterator[Diagnostic]:
    match = re.search(r":\s*(real|int|bool|complex)\s*$", case.before)
    if match and case.token.type == "LPAR":
        yield mistakes.foreign(case.place, f"{match[1]}(…)", f"`{match[1]}[…]`")


def _def_colon(case: Unexpected) -> Iterator[Diagnostic]:
    if case.before.startswith("def ") and case.token.type == "COLON":
        yield mistakes.foreign(case.place, "def …:", "`def f(x) = …`")


def _quoted_title(case: Unexpected) -> Iterator[Diagnostic]:
    match = re.match(r"(problem|import)\s+$", case.before)
    if match and case.token.type == "NAME":
        yield mistakes.unexpected(case.place, f"`{case.token}`", "a string in double quotes", f'write `{match[1]} "…"`')


def _positional_last(case: Unexpected) -> Iterator[Diagnostic]:
    if "EQUAL" in case.accepts and re.search(r"=[^=][^()]*,\s*\w+\s*$", case.before) and case.inside:
        yield mistakes.positional_last(case.previous)
    elif case.accepts <= {"NAME", "RPAR"} and re.search(r"=[^=].*,\s*$", case.before) and case.inside:
        yield mistakes.positional_last(case.place)


def _missing_words(case: Unexpected) -> Iterator[Diagnostic]:
    if "ELSE" in case.accepts and re.search(r"\bif\b", case.before) and not case.wants_value:
        operators = case.accepts & {"FOR", "COLON", "_NL"}
        if not operators:
            place = case.previous if case.ends else case.place
            yield mistakes.missing_word(place, "else", "`a if condition else b`")
    for terminal, (word, example) in _WORDS_TO_COME.items():
        if case.accepts == {terminal}:
            yield mistakes.missing_word(case.previous if case.ends else case.place, word, example)


def _reserved(case: Unexpected) -> Iterator[Diagnostic]:
    if str(case.token) in RESERVED and "NAME" in case.accepts and not case.wants_value:
        yield mistakes.reserved_word(case.place, str(case.token))


def _stray(case: Unexpected) -> Iterator[Diagnostic]:
    if case.rows:
        return
    marks = {"COMPARE", "DOT", "COMMA", "COLON", "TIMES", "POWER", "AND_SET", "_IN"}
    if case.token.type in marks and re.fullmatch(r"\w+\s*", case.before):
        yield mistakes.stray_expression(case.line)
    elif case.token.type == "COLON" and case.before.startswith("for "):
        yield mistakes.stray_expression(case.line, "constraints belong under `subject to`")


def _side_by_side(case: Unexpected) -> Iterator[Diagnostic]:
    value = case.token.type in {"NAME", "NUMBER", "STRING"} and str(case.token) not in RESERVED
    if not (value and case.after_value and case.accepts & _AFTER_VALUE):
        return
    left = case.previous
    if re.fullmatch(r"0[xXbBoO]", left.text[-1:] + str(case.token)[:1]):
        whole = Span(case.source, left.start, case.place.end)
        yield mistakes.bad_number(whole, "is not written in decimals")
    elif left.text in {")", "]"}:
        yield mistakes.missing_operator(case.place, f"…{left.text}", str(case.token))
    else:
        yield mistakes.missing_operator(case.place, left.text, str(case.token))


_HABITS: tuple[Callable[[Unexpected], Iterator[Diagnostic]], ...] = (
    _indented,
    _such_that,
    _doubled_marks,
    _braces,
    _for_clause,
    _range_by_colon,
    _declaration,
    _equals,
    _type_brackets,
    _def_colon,
    _quoted_title,
    _positional_last,
    _missing_words,
    _reserved,
    _stray,
    _side_by_side,
)
