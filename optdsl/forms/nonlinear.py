"""Smooth nonlinear programs with exact sparse derivatives, as CasADi functions.

    minimise f(x)  subject to  row_lower ≤ g(x) ≤ row_upper,  lower ≤ x ≤ upper,  x_j integer (j ∈ J)

`Answer.point` is x (n,), `Answer.dual` holds `rows` (m,) and `bounds` (n,) with ∇f = Jᵀ rows + bounds at a KKT point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from optdsl.forms.base import Form

if TYPE_CHECKING:
    import casadi as ca

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Nonlinear(Form):
    """`x`, `f`, `g` are CasADi symbols: x (n, 1), f scalar, g (m, 1). `convex` as found by the analysis."""

    title: ClassVar[str] = "nonlinear program"
    x: ca.MX
    f: ca.MX
    g: ca.MX
    row_lower: Vector
    row_upper: Vector
    lower: Vector
    upper: Vector
    integer: NDArray[np.bool_]
    start: Vector
    convex: bool | None = None

    @property
    def sizes(self) -> dict[str, Any]:
        return {"variables": len(self.lower), "rows": len(self.row_lower), "integers": int(self.integer.sum())}

    @cached_property
    def functions(self) -> dict[str, ca.Function]:
        """Compiled `f`, `grad`, `g`, `jac` (sparse), `hess` (x, weight, rows) of the Lagrangian weight·f + rows·g."""
        import casadi as ca

        weight, rows = ca.MX.sym("weight"), ca.MX.sym("rows", self.g.numel())
        lagrangian = weight * self.f + ca.dot(rows, self.g)
        return {
            "f": ca.Function("f", [self.x], [self.f]),
            "grad": ca.Function("gradient", [self.x], [ca.gradient(self.f, self.x)]),
            "g": ca.Function("g", [self.x], [self.g]),
            "jac": ca.Function("jacobian", [self.x], [ca.jacobian(self.g, self.x)]),
            "hess": ca.Function("hessian", [self.x, weight, rows], [ca.hessian(lagrangian, self.x)[0]]),
        }
