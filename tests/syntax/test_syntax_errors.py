"""What is wrong with a text, told by code, line and column, all at once, and never by an exception of another kind."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from optdsl.syntax.diagnostics import CATALOGUE, Diagnostic, OptError
from optdsl.syntax.parser import parse, read
from optdsl.syntax.render import render
from optdsl.syntax.source import Source, Span


def errors(text: str) -> list[Diagnostic]:
    with pytest.raises(OptError) as caught:
        parse(Source("t.opt", text))
    return caught.value.diagnostics


def places(text: str) -> list[tuple[str, int, int]]:
    found = []
    for d in errors(text):
        assert isinstance(d.place, Span) and d.code in CATALOGUE
        found.append((d.code, d.place.line, d.place.column))
    return found


def row(text: str) -> str:
    return f"subject to\n  {text}\n"


CASES = [
    # layout
    ("let a = 1\n  let b = 2\n", ("E104", 2, 3), "line before it opens no block"),
    ("  let a = 1\n", ("E104", 1, 3), "opens no block"),
    ("subject to\n    x >= 0\n  y >= 0\n", ("E105", 3, 3), "matches no block"),
    ("subject to\nlet a = 1\n", ("E106", 1, 1), "`subject to`"),
    ("lower w\nminimize x\n", ("E106", 1, 1), "`lower w`"),
    ("subject to\n  x >= 0\n\ty >= 0\n", ("E103", 3, 1), "tabs and spaces"),
    ("subject to\n \tx >= 0\n", ("E103", 2, 1), "tabs and spaces"),
    ("let a = 1\n  # deeper\n   let b = 2\n", ("E104", 3, 4), "opens no block"),
    # brackets and strings
    ("let a = (1 + 2\nlet b = 3\n", ("E107", 1, 9), "`(` is never closed"),
    ("let a = f(\n  1,\n  g[2\nlet b = 3\n", ("E107", 3, 4), "`[` is never closed"),
    ("let a = f(x]\n", ("E109", 1, 12), "`]` cannot close `(`"),
    ("let a = x)\n", ("E108", 1, 10), "never opened"),
    ('let a = "abc\n', ("E110", 1, 9), "closing"),
    ('let a = "\\q"\n', ("E119", 1, 10), "`\\q`"),
    # characters
    ("let a = “x”\n", ("E111", 1, 9), "U+201C"),
    ("let a = １２\n", ("E111", 1, 9), "write a plain `12`"),
    ("let a = x − y\n", ("E111", 1, 11), "write a plain `-`"),
    ("let a = 2 ^ 3\n", ("E111", 1, 11), "`**`"),
    ("let a = x'\n", ("E111", 1, 10), "`A.T`"),
    ("let a = x\u00a0+ 1\n", ("E111", 1, 10), "U+00A0"),
    (row("a || b"), ("E111", 2, 5), "`or`"),
    (row("!a"), ("E111", 2, 3), "`not x`"),
    ("let x² = 1\n", ("E117", 1, 5), "`x**2`"),
    ("let x₁ = 1\n", ("E117", 1, 5), "`x1`"),
    # numbers
    ("let a = 1e999\n", ("E118", 1, 9), "too large"),
    ("let a = 0x1F\n", ("E118", 1, 9), "decimals"),
    (f"let a = {'9' * 5000}\n", ("E118", 1, 9), "longer"),
    # families and clauses
    ("subject to\n  for i in S\n    x[i] <= 1\n", ("E112", 2, 12), "`:` is missing"),
    (row("for i in S x[i] <= 1"), ("E112", 2, 14), "`:` is missing"),
    (row("for i: x[i] <= 1"), ("E113", 2, 3), "`for i` must go on with `in`"),
    (row("for i = 1: x <= 1"), ("E113", 2, 3), "`for i`"),
    (row("for i in 1:n: x[i] <= 1"), ("E130", 2, 12), "`in 1..n`"),
    ("let a = sum(x[i] for i in 1:n)\n", ("E130", 1, 27), "`in 1..n`"),
    ("let a = sum(x[i] for i in a:n)\n", ("E125", 1, 27), "`a..b`"),
    ("for t in 1..T:\n  x[t] <= 1\n", ("E122", 1, 1), "`subject to`"),
    # constraints
    (row("x = 3"), ("E115", 2, 5), "write `==`"),
    ("subject to x = 3\n", ("E115", 1, 14), "write `==`"),
    (row("x + y"), ("E128", 2, 3), "compares nothing"),
    (row("x => 3"), ("E128", 2, 3), "write `>=`"),
    (row("a && b"), ("E125", 2, 5), "write `and`"),
    (row("x =< 3"), ("E125", 2, 5), "write `<=`"),
    (row("2x <= 3"), ("E127", 2, 4), "`2 * x`"),
    (row("2 x <= 3"), ("E127", 2, 5), "`2 * x`"),
    (row("sum{i in I} x[i] <= 4"), ("E125", 2, 3), "`sum(… for i in I)`"),
    (row("sum_{i in I} x[i] <= 4"), ("E125", 2, 3), "`sum(… for i in I)`"),
    ("s.t.\n  x <= 1\n", ("E125", 1, 1), "`subject to`"),
    ("such that\n  x <= 1\n", ("E125", 1, 1), "`subject to`"),
    ("subject to:\n  x >= 0\n", ("E125", 1, 1), "`subject to`"),
    ("minimize: x\n", ("E125", 1, 1), "no `:`"),
    # declarations
    ("var x\n", ("E126", 1, 5), "type of `x`"),
    ("var x real\n", ("E126", 1, 7), "`var x : real`"),
    ("var y[3] >= 0\n", ("E126", 1, 6), "type of `y`"),
    ("data A real[m]\n", ("E126", 1, 8), "type of `A`"),
    ("var x : real(3)\n", ("E125", 1, 13), "`real[…]`"),
    ("let if = 3\n", ("E116", 1, 5), "`if`"),
    ("var lower : real\n", ("E116", 1, 5), "`lower`"),
    ("let true = 3\n", ("E116", 1, 5), "`true`"),
    ("let at = 1\n", ("E116", 1, 5), "`at`"),
    ("let a = for + 1\n", ("E116", 1, 9), "`for`"),
    ("var f = mlp()\n", ("E126", 1, 7), "type of `f`"),
    ("data a, b : real\n", ("E125", 1, 1), "one `data` for each name"),
    ("let f(x) = x\n", ("E125", 1, 1), "`def f(…) = …`"),
    ("def g(x): x\n", ("E125", 1, 9), "`def f(x) = …`"),
    ("import shared\n", ("E102", 1, 8), '`import "…"`'),
    ("problem lasso\n", ("E102", 1, 9), "double quotes"),
    ("solve aradmm\n", ("E131", 1, 7), "`with` is missing"),
    ("subject x >= 0\n", ("E131", 1, 9), "`to` is missing"),
    # statements
    ("x = 3\n", ("E122", 1, 1), "`let x = …`"),
    ("x >= 0\n", ("E122", 1, 1), "`subject to`"),
    ("sum(x) == 1\n", ("E122", 1, 1), "`subject to`"),
    ("x + y <= 3\n", ("E122", 1, 1), "`subject to`"),
    ("x - y <= 3\n", ("E122", 1, 1), "`subject to`"),
    ("limit: x <= 3\n", ("E122", 1, 1), "`subject to`"),
    ('game "a" 3\n  find nash\n', ("E124", 1, 6), '`game "title"`'),
    # expressions
    ("let a = 1 +\n", ("E114", 1, 11), "an expression is missing"),
    ("minimize\n", ("E114", 1, 1), "an expression is missing"),
    ("var x : real in\n", ("E114", 1, 14), "an expression is missing"),
    ("var x :\n", ("E114", 1, 7), "a type"),
    ("let a = f(b=1, c)\n", ("E129", 1, 16), "cannot follow"),
    ("let a = f(b=1, 2)\n", ("E129", 1, 16), "cannot follow"),
    ("let a = f(b=1, b=2)\n", ("E123", 1, 16), "given twice"),
    ("let a = x if y\n", ("E131", 1, 14), "`else` is missing"),
    ("let a = x[1:2:3]\n", ("E125", 1, 14), "no step"),
    ("let a = 1 // two\n", ("E125", 1, 11), "`#` for a comment"),
    ("let a = [1 2]\n", ("E127", 1, 12), "operator"),
    ("let a = b c\n", ("E127", 1, 11), "`b * c`"),
    ("let a = b if c = 1 else 2\n", ("E115", 1, 16), "write `==`"),
    ("let a = b * / c\n", ("E102", 1, 13), "an expression"),
    # nesting
    (f"let a = {'(' * 300}1{')' * 300}\n", ("E120", 1, 209), "200 brackets"),
    (f"let a = {'-' * 300}1\n", ("E120", 1, 208), "200 levels"),
    ("let a = " + " + ".join(["x"] * 300) + "\n", ("E120", 1, 9), "200 levels"),
    (
        "subject to\n" + "".join(f"{' ' * k}for i in S:\n" for k in range(1, 60)) + " " * 60 + "x[i] <= 1\n",
        ("E120", 51, 51),
        "50 blocks",
    ),
    # nothing at all
    ("", ("E121", 1, 1), "no statement"),
    ("# only a comment\n\n", ("E121", 1, 1), "no statement"),
]


@pytest.mark.parametrize(("text", "expected", "words"), CASES, ids=[repr(c[0])[:40] for c in CASES])
def test_one_error(text: str, expected: tuple[str, int, int], words: str) -> None:
    code, line, column = expected
    (found,) = errors(text)
    assert isinstance(found.place, Span)
    if code == "E120" and "+" in text:  # a chain of sums: the innermost operand that is one too deep
        assert (found.code, found.place.line) == (code, line)
    else:
        assert (found.code, found.place.line, found.place.column) == (code, line, column)
    told = render(found)
    assert words in told
    for terminal in ("__ANON", "PLUS_MINUS", "LPAR", "RSQB", "_NL", "_INDENT", "NAME", "COMPARE"):
        assert terminal not in told


def test_independent_errors_are_told_together() -> None:
    text = (
        "let a = (1 + 2\n"  # 1
        "var x : real\n"
        "let b = f[3\n"  # 3
        "minimize x +\n"  # 4
        "subject to\n"
        "  x >= 0\n"
        "  first: x = 3\n"  # 7
        "  for i in S\n"  # 8
        "    2x <= 3\n"  # 9
        '    y <= "abc\n'  # 10
        "  y <= 4\n"
        'bandit "b"\n'
        "  rounds 3 +\n"  # 13
        "  play x : real[3]\n"
        "  reward ^x\n"  # 15
        "solve aradmm\n"  # 16
    )
    assert [(code, line) for code, line, _ in places(text)] == [
        ("E107", 1),
        ("E107", 3),
        ("E114", 4),
        ("E115", 7),
        ("E112", 8),
        ("E127", 9),
        ("E110", 10),
        ("E114", 13),
        ("E111", 15),
        ("E131", 16),
    ]


def test_errors_are_limited() -> None:
    assert len(errors("let a = 1 +\n" * 200)) == 50


def test_windows_line_ends_and_a_byte_order_mark() -> None:
    assert (
        len(
            parse(
                Source("t.opt", "\ufefflet a = 1\r\n# c\r\nlet b = [\r\n 1]\r\nsubject to\r\n  x >= 0\r\n")
            ).statements
        )
        == 3
    )
    assert places("\ufefflet a = 1\r\nlet b = 1 +\r\n") == [("E114", 2, 11)]


def test_unreadable_files(tmp_path: Path) -> None:
    for path, code, words in (
        (tmp_path / "none.opt", "E100", "No such file"),
        (tmp_path, "E100", "Is a directory"),
        (tmp_path / "latin.opt", "E101", "0xE9"),
    ):
        (tmp_path / "latin.opt").write_bytes("let a = 1\n# é\n".encode("latin-1"))
        with pytest.raises(OptError) as caught:
            read(path)
        (found,) = caught.value.diagnostics
        assert found.code == code and words in found.message
        if code == "E101":
            assert str(found.place) == f"{path}, row 2"


ACCEPTED = [p.read_text(encoding="utf-8") for p in sorted((Path(__file__).parent / "accepted").glob("*.opt"))]
PIECES = [*"()[]{}:,.=+-*/@&<>~#\"'\\^!|;\n \t\r", "\n  ", "##", "**", "..", "=>", "->", "for", " in ", "if ", "else"]
PIECES += [
    "not ",
    "lower ",
    "subject to\n",
    "data ",
    "0",
    "1.",
    "1e9",
    "²",
    "１",
    "“",
    "é",
    "\u0301",
    "\ufeff",
    "\x00",
    "𝛼",
]


def mutated(text: str, seed: int, changes: int) -> str:
    draw = random.Random(seed)
    for _ in range(changes):
        at, length = draw.randrange(len(text) + 1), draw.choice([0, 1, 1, 5, 40])
        piece = draw.choice(PIECES) if draw.random() < 0.8 else text[(k := draw.randrange(len(text) + 1)) : k + 30]
        text = text[:at] + piece + text[at + length :]
    return text


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(range(len(ACCEPTED))), st.integers(0, 2**32), st.integers(1, 6))
@example(0, 0, 1)
def test_no_mutation_of_a_file_breaks_the_parser(which: int, seed: int, changes: int) -> None:
    """Whatever happens to a valid file, it is read or refused, by diagnostics that lie in the text and can be shown."""
    text = mutated(ACCEPTED[which], seed, changes)
    source = Source("t.opt", text)
    try:
        parse(source)
    except OptError as error:
        assert error.diagnostics
        for found in error.diagnostics:
            assert isinstance(found.place, Span) and found.place.source is source
            assert 0 <= found.place.start <= found.place.end <= len(text)
            assert render(found) and found.to_json()["line"] >= 1


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from('abfor in:=<>()[]{}"#.,+-*1_ \n\t∈é²'), max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        parse(Source("t.opt", text))
    except OptError as error:
        assert error.diagnostics and all(render(d) for d in error.diagnostics)
