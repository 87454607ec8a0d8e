"""What a backend hands over, in the space of its form, and what it becomes in the words of the problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray


class StopKind(Enum):
    """Why a run ended; says nothing about the point."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration_limit"
    EVALUATION_LIMIT = "evaluation_limit"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    FAILED = "failed"


#: A run that ended this way was cut off by a limit or by the user.
LIMITS = frozenset({StopKind.ITERATION_LIMIT, StopKind.EVALUATION_LIMIT, StopKind.TIME_LIMIT, StopKind.INTERRUPTED})


@dataclass(frozen=True)
class Stop:
    kind: StopKind
    message: str = ""


class Claim(Enum):
    """What the backend says of its answer. A claim is never a verdict: `certify` decides."""

    OPTIMAL = "optimal"
    STATIONARY = "stationary"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    NONE = "none"


@dataclass
class Answer:
    """`point` is in the form's space (each form says its shape); absent when there is none.

    `dual` holds multipliers by the names that the form documents, in the form's (minimising) sense. `ray` is a
    direction of unboundedness (`{"primal": d}`) or a proof of infeasibility (`{"dual": y, …}`). `bound` is the
    backend's own bound on the optimum, shown but never trusted. `counts` are evaluations by kind; `info` anything
    else that the report shows, as plain data.
    """

    stop: Stop
    claim: Claim = Claim.NONE
    point: Any = None
    objective: float | None = None
    bound: float | None = None
    dual: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    ray: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    iterations: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)


@dataclass
class Solution:
    """An answer brought back: values by variable name, duals by constraint key (in the problem's own sense).

    `direction` is the primal ray by variable name, where the claim is unboundedness.
    """

    values: dict[str, NDArray[Any]]
    duals: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    direction: dict[str, NDArray[np.float64]] | None = None
