"""Disciplined convex programs, as CVXPY takes them.

`Answer.point` is a mapping from the problem's variable names to arrays. `Answer.dual` holds `cone`, the multiplier z of
the standard form that `data()` gives: minimise cᵀx + d (+ ½xᵀPx) subject to A x + s = b, s in K, with z in K*; and the
constraints' own duals by key. `Answer.ray` holds `dual` (z with Aᵀz = 0, bᵀz < 0) or `primal` (x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from optdsl.forms.base import Form

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, kw_only=True)
class Conic(Form):
    """`variables` maps names to CVXPY variables; `rows` maps constraint keys to CVXPY constraints, one a family."""

    title: ClassVar[str] = "disciplined convex program"
    problem: cp.Problem
    variables: dict[str, cp.Variable]
    rows: dict[str, cp.Constraint]
    maximise: bool = False

    @property
    def sizes(self) -> dict[str, Any]:
        return {
            "variables": int(sum(v.size for v in self.problem.variables())),
            "rows": int(sum(c.size for c in self.problem.constraints)),
        }
