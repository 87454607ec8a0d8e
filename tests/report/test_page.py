"""The page: whole, safe, without a request to anywhere, with a plot whose lines are the trace."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from optdsl.report import model
from optdsl.report.page import page, write
from optdsl.report.plot import LEFT, RIGHT, WIDTH, convergence
from optdsl.syntax.diagnostics import OptError
from tests.report import reports

VOID = {"meta", "line", "br"}


class Balance(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(text: str) -> Balance:
    parser = Balance()
    parser.feed(text)
    assert not parser.open
    return parser


@pytest.mark.parametrize("report", [reports.transport(), reports.cut_off(), reports.infeasible(), reports.vector(20)])
def test_pages_are_well_formed_and_alone(report: model.Report) -> None:
    text = page(report)
    seen = parsed(text).seen
    assert not {"script", "link", "img", "iframe", "object"} & set(seen)
    assert not re.search(r"https?:|//|src=|href=|@import|url\(", text)
    assert "prefers-color-scheme:dark" in text and "width=device-width" in text


def test_the_page_says_what_the_terminal_says() -> None:
    text = page(reports.transport())
    for words in ("Proven optimal", "minimum 153.675", "<td>San Diego</td><td>275</td><td>0</td><td>275</td>", "0.225"):
        assert words in text


def test_text_of_a_file_is_text() -> None:
    report = reports.transport()
    report.problem.title = "</title><script>alert(1)</script>\x1b"
    report.data[0].source = '"><img src=x onerror=alert(1)>'
    text = page(report)
    assert "<script" not in text and "<img" not in text and "\x1b" not in text
    assert "&lt;script&gt;" in text


def lines(svg: str) -> list[list[tuple[float, float]]]:
    found = re.findall(r'<polyline class="s\d" points="([^"]*)"', svg)
    return [[(float(x), float(y)) for x, y in (p.split(",") for p in line.split())] for line in found]


def test_the_plot_draws_the_trace() -> None:
    report = reports.cut_off()
    objective, residuals = convergence(report)
    (line,) = lines(objective)
    assert len(line) == len(report.trace)
    assert line[0][0] == LEFT and line[-1][0] == WIDTH - RIGHT
    assert all(y0 <= y1 for (_, y0), (_, y1) in pairwise(line))  # downwards on the screen: it falls
    primal, dual = lines(residuals)
    # 2 · 0.95^k is a straight line on a logarithmic axis: equal steps, up to a tenth of a unit of rounding
    steps = [b[1] - a[1] for a, b in pairwise(primal)]
    assert max(steps) - min(steps) < 0.21
    assert len(dual) == len(primal)


def test_a_fall_over_decades_is_drawn_on_a_logarithmic_axis() -> None:
    trace = [model.TraceEvent(iteration=k, seconds=0.0, objective=10.0 ** (6 - k)) for k in range(12)]
    (panel,) = convergence(reports.transport(trace=trace))
    assert "distance to the best" in panel


@pytest.mark.parametrize("objectives", [[], [1.0], [2.0, 2.0, 2.0], [float("nan"), float("inf"), 1.0]])
def test_traces_without_a_course(objectives: list[float]) -> None:
    trace = [
        model.TraceEvent(iteration=k, seconds=0.0, objective=f, residuals={"zero": 0.0, "bad": float("nan")})
        for k, f in enumerate(objectives)
    ]
    for panel in convergence(reports.transport(trace=trace)):
        parsed(panel)
        assert "nan" not in panel


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    write(reports.transport(), tmp_path / "new" / "out.html")
    assert (tmp_path / "new" / "out.html").read_text().startswith("<!doctype html>")
    (tmp_path / "file").write_text("")
    with pytest.raises(OptError, match="E605"):
        write(reports.transport(), tmp_path / "file" / "out.html")
