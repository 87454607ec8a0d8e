"""The outcome of a solve in words and as the exit status of `optdsl solve`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from optdsl.forms.answer import LIMITS, StopKind
from optdsl.report.model import Report, VerdictRecord
from optdsl.report.status import CUT_OFF, NO_OPTIMUM, PROVEN, UNPROVEN

Tone = Literal["good", "open", "bad"]


def exit_status(report: Report) -> int:
    """The status that follows from verdict, goal and stop. Of several parts the one that most needs a look decides:
    unproven, then cut off, then infeasible or unbounded, then proven."""
    if report.parts:
        order = (UNPROVEN, CUT_OFF, NO_OPTIMUM, PROVEN)
        return min((exit_status(part) for part in report.parts), key=order.index)
    kind = report.verdict.kind
    if kind in ("infeasible", "unbounded"):
        return NO_OPTIMUM
    if kind != "refuted" and _goal_met(report):
        return PROVEN
    if kind in ("feasible", "stationary", "unproven") and StopKind(report.stop.kind) in LIMITS and report.solution:
        return CUT_OFF
    return UNPROVEN


def _goal_met(report: Report) -> bool:
    """Whether the verdict is one that the goal takes; without a goal, a local proof is enough."""
    kind = report.verdict.kind
    measure = report.goal.measure if report.goal is not None else None
    enough = {"optimal"} if measure in ("gap", "relative_gap") else {"optimal", "stationary"}
    if measure == "feasible" or report.problem.sense is None:
        enough = enough | {"feasible"}
    return kind in enough


@dataclass(frozen=True)
class Words:
    """`headline` is the verdict in a few words, `detail` a sentence or two."""

    tone: Tone
    headline: str
    detail: str


def in_words(report: Report) -> Words:
    """The verdict as people read it."""
    v = report.verdict
    tone: Tone = "bad" if v.kind == "refuted" else "good" if exit_status(report) in (PROVEN, NO_OPTIMUM) else "open"
    details = [_sentence(v.reason)] if v.reason else []
    measured = _measured(v)
    if measured:
        details.append(_sentence(measured))
    if report.stop.kind != "converged":
        message = report.stop.message
        if report.stop.kind == "failed" and message:
            message = f"{STOPPED['failed']}: {message}"
        details.append(_sentence(message or STOPPED[report.stop.kind]))
    return Words(tone, _headline(report), " ".join(details))


STOPPED = {
    "converged": "the method ended by its own test",
    "iteration_limit": "the iteration limit ended the run",
    "evaluation_limit": "the budget of evaluations ended the run",
    "time_limit": "the time limit ended the run",
    "interrupted": "the run was interrupted; this is the best point it had",
    "stalled": "the method stopped making progress",
    "failed": "the method failed",
}


def _headline(report: Report) -> str:
    kind = report.verdict.kind
    if kind == "feasible":
        return "Feasible" if report.problem.sense is None else "Feasible, optimality not proven"
    return {
        "optimal": "Proven optimal",
        "stationary": "Stationary point",
        "infeasible": "Proven infeasible",
        "unbounded": "Proven unbounded",
        "unproven": "Not proven",
        "refuted": "Refuted",
    }[kind]


def _measured(v: VerdictRecord) -> str:
    if v.value is None:
        return ""
    what = {"optimal": "relative gap", "stationary": "scaled residual", "feasible": "largest violation"}.get(
        v.kind, "measured"
    )
    held = f", held to {v.tolerance:.3g}" if v.tolerance is not None else ""
    # a gap below the rounding of the objective itself is no information
    shown = "at the level of rounding" if v.kind == "optimal" and abs(v.value) < 1e-15 else f"{v.value:.3g}"
    return f"{what} {shown}{held}"


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."
