"""Diagnostics as a person sees them."""

from __future__ import annotations

import re

from optdsl.syntax.diagnostics import Diagnostic
from optdsl.syntax.render import concise, render, render_all
from optdsl.syntax.source import Cell, Source, Span

LASSO = "\n" * 4 + "var x : real[n]\n\nminimize sum_squares(A @ x - b) + lam * norm1(x)\n"


def at(source: Source, text: str) -> Span:
    start = source.text.index(text)
    return Span(source, start, start + len(text))


def shapes() -> Diagnostic:
    source = Source("lasso.opt", LASSO)
    product = at(source, "A @ x")
    return Diagnostic(
        "E203",
        "shapes do not match in `@`",
        Span(source, product.start + 4, product.end),
        "real[100]",
        related=[(Span(source, product.start, product.start + 1), "real[50, 80]")],
        notes=["`@` needs the last axis of the left (80) to equal the first axis of the right (100)"],
        help="did you mean `var x : real[p]`?",
    )


def test_the_full_form_is_that_of_the_language_reference() -> None:
    assert render(shapes()) == "\n".join(
        [
            "error[E203]: shapes do not match in `@`",
            "  ┌─ lasso.opt:7:26",
            "7 │ minimize sum_squares(A @ x - b) + lam * norm1(x)",
            "  │                      ─   ^ real[100]",
            "  │                      real[50, 80]",
            "  = `@` needs the last axis of the left (80) to equal the first axis of the right (100)",
            "  help: did you mean `var x : real[p]`?",
        ]
    )


def test_one_line() -> None:
    assert concise(shapes()) == "lasso.opt:7:26: error[E203]: shapes do not match in `@`"


def test_colour_changes_nothing_but_colour() -> None:
    coloured = render(shapes(), colour=True)
    assert "\x1b[1;31m" in coloured and re.sub(r"\x1b\[[\d;]*m", "", coloured) == render(shapes())


def test_a_related_place_in_another_line() -> None:
    source = Source("a.opt", LASSO)
    shown = render(Diagnostic("E201", "m", at(source, "norm1"), related=[(at(source, "var x"), "declared here")]))
    assert shown.splitlines()[4:] == [
        "  ┌─ a.opt:5:1",
        "5 │ var x : real[n]",
        "  │ ───── declared here",
    ]


def test_wide_characters_and_tabs_keep_the_marks_under_their_text() -> None:
    source = Source("a.opt", "\tlet 長さ = bad\n")
    _, _, line, marks = render(Diagnostic("E201", "m", at(source, "bad"))).splitlines()
    assert line == "1 │     let 長さ = bad"
    assert marks.index("^") == line.index("bad") + 2  # two characters that are two columns wide
    assert marks.count("^") == 3


def test_long_lines_are_cut() -> None:
    source = Source("a.opt", "let a = " + "1 + " * 5000 + "bad + " + "1 + " * 5000 + "end")
    shown = render(Diagnostic("E201", "m", at(source, "bad"), related=[(at(source, "end"), "here")]))
    assert max(map(len, shown.splitlines())) < 130
    _, _, line, marks, *_ = shown.splitlines()
    assert line[marks.index("^") :][:3] == "bad"


def test_a_place_in_data_and_none() -> None:
    cell = Diagnostic("E301", "not a number", Cell("d.csv", 3, "km"))
    assert render(cell) == "error[E301]: not a number\n  ┌─ d.csv, row 3, column km"
    assert render(Diagnostic("E501", "no backend", severity="warning")) == "warning[E501]: no backend"
    assert render_all([cell, cell]).count("\n\n") == 1
