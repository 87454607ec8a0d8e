"""What a certificate says: checks with numbers, a bound where there is one, and one verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class VerdictKind(Enum):
    OPTIMAL = "optimal"
    STATIONARY = "stationary"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    UNPROVEN = "unproven"
    REFUTED = "refuted"


@dataclass(frozen=True)
class Verdict:
    """`value` is the gap (optimal), residual (stationary) or violation (feasible); `tolerance` what it was held to."""

    kind: VerdictKind
    reason: str
    value: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class Check:
    """One recomputed number: it holds when value ≤ tolerance. `meaning` is a sentence for people."""

    name: str
    value: float
    tolerance: float
    meaning: str

    @property
    def holds(self) -> bool:
        return self.value <= self.tolerance


@dataclass
class Certificate:
    """`objective` in the problem's own sense, recomputed; `bound` a proven bound on the optimum in the same sense."""

    verdict: Verdict
    checks: list[Check] = field(default_factory=list)
    objective: float | None = None
    bound: float | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Tolerances:
    """Absolute plus relative, scaled to the data: a row a·x ≤ b may be off by feasibility·(1 + scale of its terms).

    `gap` is held against |objective − bound| / max(unit, |objective|), where unit is 1, or less where the objective is
    small by nature. The goal of a file replaces them.
    """

    feasibility: float = 1e-6
    gap: float = 1e-6
    stationarity: float = 1e-6
    integrality: float = 1e-6
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class Contradiction:
    """Multipliers (m,) of the form's rows, and (n,) of its bounds, that add up to 0 ≥ `value` > 0. A positive one takes the
    lower side, a negative one the upper."""

    rows: NDArray[np.float64]
    bounds: NDArray[np.float64]
    value: float


@dataclass
class Proof:
    """What one certifier found of an answer, in the form's minimising sense, from the form and the answer alone.

    `objective` and `violation` are recomputed at the point (`violation` scaled as `Tolerances` says, 0 where the form
    has no constraints; nan where there is no point). `bound` is a proven lower bound on the minimum; `residual` a
    scaled first-order residual; `curvature` the smallest eigenvalue of the (projected) Hessian where computed.
    `better` is the objective of a feasible point that the certifier found itself: better than the answer's by more than
    the gap allowed, or any where the answer has none. `infeasible` and `unbounded` are True only when proven here.
    `convex`: a stationary point is a global minimum.
    """

    objective: float | None = None
    violation: float = float("nan")
    bound: float | None = None
    better: float | None = None
    residual: float | None = None
    curvature: float | None = None
    convex: bool | None = None
    infeasible: bool = False
    unbounded: bool = False
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reason: str = ""
    contradiction: Contradiction | None = None
