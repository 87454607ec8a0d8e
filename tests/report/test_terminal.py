"""The report on a terminal: one screen, readable without colour, safe with any text from a file."""

from __future__ import annotations

import numpy as np
import pytest

from optdsl.report import model
from optdsl.report.terminal import as_text
from optdsl.report.values import Values
from optdsl.report.view import number, visible
from tests.report import reports


def test_transport_says_what_was_found() -> None:
    text = as_text(reports.transport())
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "Transport"
    assert "✓ Proven optimal minimum 153.675" in lines
    assert "ship New York Chicago Topeka" in lines
    assert "Seattle 50 300 0" in lines
    assert "San Diego 275 0 275" in lines
    assert "demand [New York] 0 0 0.225" in lines
    assert "supply [San Diego] 0 50 0" in lines


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("report", [reports.transport(), reports.cut_off(), reports.infeasible()])
def test_lines_fit(report: model.Report, width: int) -> None:
    assert max(len(line) for line in as_text(report, width).splitlines()) <= width


def big() -> model.Report:
    """Many variables of many entries, many rows, many checks."""
    rng = np.random.default_rng(3)
    labels = [f"city {k}" for k in range(500)]
    solution = {f"x{k}": Values.of(rng.normal(size=500), [labels]) for k in range(9)}
    solution |= {f"s{k}": Values.of(float(k)) for k in range(30)}
    solution["Y"] = Values.of(rng.integers(0, 2, size=(500, 500)).astype(float), [labels, labels])
    rows = [model.ConstraintRow(name="cap", label=f"[{c}]", violation=0.0, slack=1.0, dual=0.0) for c in labels[:200]]
    families = [model.Family(name="cap", relation="<=", rows=100_000, shown=200, violated=0, tight=0, worst=0.0)]
    return reports.transport(solution=solution, constraints=rows, families=families)


def test_large_answers_are_shortened() -> None:
    text = as_text(big())
    assert len(text.splitlines()) < 75
    assert "and 496 more entries" in text
    assert "and 99,991 more rows" in text
    assert "also found: x5, x6, x7, x8, Y" in text


def test_violated_rows_come_first() -> None:
    rows = [model.ConstraintRow(name="cap", label=f"[{k}]", violation=0.0, slack=1.0) for k in range(50)]
    rows.append(model.ConstraintRow(name="cap", label="[bad]", violation=0.5, slack=-0.5))
    families = [model.Family(name="cap", relation="<=", rows=51, shown=51, violated=1, tight=0, worst=0.5)]
    text = as_text(reports.transport(constraints=rows, families=families))
    assert text.index("cap [bad]") < text.index("cap [0]")
    assert "1 violated" in text


def test_zero_entries_of_a_labelled_array_are_left_out() -> None:
    flow = np.zeros((20, 20))
    flow[3, 4] = 7.5
    labels = [[f"n{k}" for k in range(20)]] * 2
    text = as_text(reports.transport(solution={"flow": Values.of(flow, labels)}))
    assert "n3, n4" in text
    assert "399 are zero" in text


def test_text_of_a_file_cannot_steer_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07[red]title\u202e"
    labels = [["\x1b[2J", "b"], ["c", "d", "e"]]
    report = reports.transport(solution={"ship": Values.of(reports.SHIP, labels)})
    report.problem.title = hostile
    text = as_text(report)
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
    assert "[red]title" in text
    assert visible("θ ≥ 1 – “ok”") == "θ ≥ 1 – “ok”"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-0.0, "0"),
        (3.0, "3"),
        (None, "–"),
        (np.nan, "nan"),
        (np.inf, "inf"),
        (1 / 3, "0.333333"),
        (1e-9, "1e-09"),
        (True, "1"),
    ],
)
def test_numbers(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_parts_are_listed() -> None:
    part = reports.transport()
    part.problem.item = "layer 3"
    assert "layer 3" in as_text(reports.transport(parts=[part], solution={}))


def test_empty_and_not_finite_arrays_are_shown() -> None:
    text = as_text(
        reports.transport(solution={"e": Values.of(np.zeros((0, 3))), "x": Values.of(np.full((40, 40), np.nan))})
    )
    assert "empty" in text
    assert "from nan to nan" in text
