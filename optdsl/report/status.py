"""The exit status of `optdsl solve` and its neighbours."""

from __future__ import annotations

PROVEN, BAD_INPUT, UNPROVEN, NO_OPTIMUM, CUT_OFF = 0, 1, 2, 3, 4

MEANING = {
    PROVEN: "proven optimal, or stationary to the goal (feasible where there is no objective)",
    BAD_INPUT: "bad input",
    UNPROVEN: "unproven, or the backend's claim is refuted",
    NO_OPTIMUM: "proven infeasible or unbounded",
    CUT_OFF: "stopped by a limit or by the user; the best point is reported",
}
