"""Disciplined convex programs, as CVXPY takes them.

`Answer.point` is a mapping from the problem's variable names to arrays. The standard form is the one of `standard`:

    minimise  c·x + ½ xᵀPx + d   subject to  A x + s = b,  s ∈ K

`Answer.dual` holds `cone`, the multiplier z ∈ K* of its rows; `standard`, its x, at which the quadratic is linearised;
and the constraints' own duals as `row KEY`. `Answer.ray` holds `dual` (z ∈ K* with Aᵀz = 0, b·z < 0), or `primal` (x with
−A x ∈ K, P x = 0, c·x < 0) and the same direction of each variable under `direction of NAME`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.forms.base import Form

if TYPE_CHECKING:
    import cvxpy as cp

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Cones:
    """K = {0}^zero × R₊^nonneg × second-order cones × semidefinite cones × exponential cones × power cones, in this
    order. Second-order: s₀ ≥ ‖s₁…‖. Semidefinite of order k: the upper triangle by columns, off-diagonals times √2.
    Exponential: (x, y, z) with y exp(x/y) ≤ z. Power: (x, z) with Π x_i^α_i ≥ |z|, one tuple of α a cone."""

    zero: int
    nonneg: int
    soc: tuple[int, ...]
    psd: tuple[int, ...]
    exp: int
    powers: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Standard:
    """`chain` and `inverse` are CVXPY's way back from x and z to the variables and constraints."""

    A: sp.csc_array
    b: Vector
    c: Vector
    d: float
    P: sp.csc_array
    cones: Cones
    chain: Any
    inverse: Any


def _flat(value: Any) -> Vector:
    """One array of a multiplier that CVXPY may give in parts."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([np.ravel(np.asarray(part, float)) for part in value])
    return np.asarray(value, float)


@dataclass(frozen=True, kw_only=True)
class Conic(Form):
    """`variables` maps names to CVXPY variables; `rows` maps constraint keys to CVXPY constraints, one a family."""

    title: ClassVar[str] = "disciplined convex program"
    problem: cp.Problem
    variables: dict[str, cp.Variable]
    rows: dict[str, cp.Constraint]
    maximise: bool = False

    @cached_property
    def standard(self) -> Standard:
        """The standard form, made once by CVXPY. Raises cvxpy.error.DCPError for a problem that is not convex."""
        import cvxpy as cp

        data, chain, inverse = self.problem.get_problem_data(cp.CLARABEL, solver_opts={})
        dims = data["dims"]
        n = data["c"].size
        cones = Cones(
            zero=int(dims.zero),
            nonneg=int(dims.nonneg),
            soc=tuple(int(k) for k in dims.soc),
            psd=tuple(int(k) for k in dims.psd),
            exp=int(dims.exp),
            powers=(
                *((float(a), 1 - float(a)) for a in dims.p3d),
                *(tuple(float(a) for a in alpha) for alpha in dims.pnd),
            ),
        )
        return Standard(
            A=sp.csc_array(data["A"]),
            b=np.asarray(data["b"], float),
            c=np.asarray(data["c"], float),
            d=float(inverse[-1]["offset"]),
            P=sp.csc_array(data["P"]) if data.get("P") is not None else sp.csc_array((n, n)),
            cones=cones,
            chain=chain,
            inverse=inverse,
        )

    def named(self, x: Vector, z: Vector | None = None) -> tuple[dict[str, NDArray[Any]], dict[str, Vector]]:
        """A point x of the standard form by variable name, and its multipliers z by `row KEY` of each constraint in CVXPY's sign."""
        standard = self.standard
        multipliers = np.zeros_like(standard.b) if z is None else z
        raw = SimpleNamespace(status="Solved", x=x, z=multipliers, obj_val=0.0, solve_time=0.0, iterations=0)
        solution = standard.chain.invert(raw, standard.inverse)
        values = {name: np.asarray(solution.primal_vars[v.id]) for name, v in self.variables.items()}
        if z is None:
            return values, {}
        known = {key: solution.dual_vars[row.id] for key, row in self.rows.items() if row.id in solution.dual_vars}
        return values, {f"row {key}": _flat(value) for key, value in known.items()}

    @property
    def sizes(self) -> dict[str, Any]:
        return {
            "variables": int(sum(v.size for v in self.problem.variables())),
            "rows": int(sum(c.size for c in self.problem.constraints)),
        }
