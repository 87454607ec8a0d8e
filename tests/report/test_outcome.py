"""The exit status follows verdict, goal and stop; the words say no more than what is proven."""

from __future__ import annotations

from typing import Any

import pytest

from optdsl.report import model
from optdsl.report.foreach import gather
from optdsl.report.outcome import exit_status, in_words
from tests.report import reports


def report(kind: Any, stop: Any = "converged", goal: Any = None, sense: Any = "minimize", **more: Any) -> model.Report:
    made = reports.transport(
        verdict=model.VerdictRecord(kind=kind, reason="because"),
        stop=model.StopRecord(kind=stop),
        goal=None if goal is None else model.Goal(measure=goal, value=1e-4),
        **more,
    )
    made.problem.sense = sense
    return made


@pytest.mark.parametrize(
    ("status", "made"),
    [
        (0, report("optimal")),
        (0, report("optimal", stop="time_limit")),
        (0, report("optimal", goal="stationary")),
        (0, report("stationary")),
        (0, report("stationary", goal="stationary")),
        (0, report("feasible", sense=None)),
        (0, report("feasible", goal="feasible", stop="interrupted")),
        (2, report("stationary", goal="gap")),
        (2, report("feasible")),
        (2, report("feasible", stop="stalled")),
        (2, report("unproven")),
        (2, report("refuted")),
        (2, report("refuted", stop="time_limit")),
        (2, report("refuted", goal="feasible")),
        (2, report("unproven", stop="time_limit", solution={})),
        (3, report("infeasible")),
        (3, report("unbounded")),
        (4, report("feasible", stop="time_limit")),
        (4, report("feasible", stop="interrupted")),
        (4, report("unproven", stop="iteration_limit")),
        (4, report("stationary", stop="evaluation_limit", goal="gap")),
    ],
)
def test_exit_status(status: int, made: model.Report) -> None:
    assert exit_status(made) == status


def test_of_several_parts_the_one_that_needs_a_look_decides() -> None:
    good, bad, cut = report("optimal"), report("refuted"), report("feasible", stop="time_limit")
    assert exit_status(gather([good, good], "all")) == 0
    assert exit_status(gather([good, cut], "all")) == 4
    assert exit_status(gather([cut, bad, good], "all")) == 2
    head = gather([cut, bad, good], "all")
    assert head.verdict.kind == "refuted"
    assert head.verdict.reason == "of 3 items, 1 refuted, 1 feasible, 1 optimal"
    assert head.seconds.solve == pytest.approx(3 * good.seconds.solve)


def test_only_what_is_proven_is_called_so() -> None:
    assert in_words(report("optimal")).headline == "Proven optimal"
    for kind in ("stationary", "feasible", "unproven", "refuted"):
        assert "Proven" not in in_words(report(kind)).headline
    assert in_words(report("refuted")).tone == "bad"
    assert in_words(report("feasible")).tone == "open"


def test_a_limit_is_told() -> None:
    words = in_words(reports.cut_off())
    assert words.detail.endswith("Time limit of 4 s reached.")


def test_a_gap_below_rounding_is_no_information() -> None:
    v = model.VerdictRecord(kind="optimal", value=3e-17, tolerance=1e-6)
    assert "at the level of rounding" in in_words(reports.transport(verdict=v)).detail
