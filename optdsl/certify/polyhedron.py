"""Lower bounds of a linear function over a polyhedron, from any multipliers, with rounding accounted for.

For every y and every x with L ≤ A x ≤ U, l ≤ x ≤ u:

    g·x  =  y·(A x) + (g − Aᵀy)·x  ≥  Σ_i (y_i⁺ L_i − y_i⁻ U_i) + Σ_j min_{l_j ≤ x_j ≤ u_j} r_j x_j,   r = g − Aᵀy

so a solver's multipliers are only a hint: a wrong y gives a weaker bound, never a false one. With g = 0 and a positive
value the polyhedron is empty (Farkas). Rounding is bounded a priori as in Neumaier & Shcherbina, "Safe bounds in linear
and mixed-integer linear programming", Math. Program. 99 (2004). A variable without bounds makes the last sum fragile:
there the bounds that the rows imply are used, and what remains is charged over a stated reach |x_j| ≤ R.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Vector = NDArray[np.float64]

EPS = float(np.finfo(float).eps)
#: A reduced cost of a variable without bounds counts as zero below this share of the terms it is summed from.
ROUNDING = 1e-11
#: Passes over the rows when bounds are implied.
PASSES = 4


@dataclass(frozen=True)
class Minimum:
    """`value` is a proven lower bound; where `reach` is given it is proven for points with |x_j| ≤ reach on the
    `fragile` variables that have no bounds of their own."""

    value: float
    fragile: int = 0
    reach: float | None = None

    @property
    def note(self) -> str:
        if self.reach is None:
            return ""
        return (
            f"{self.fragile} variables have no bounds and a reduced cost that is zero only to rounding; "
            f"the bound is proven for their values up to {self.reach:.3g}"
        )


@dataclass(frozen=True)
class Bowl:
    """½ λ ‖x − w‖² with λ = `strength`, w = `centre` (n,)."""

    strength: float
    centre: Vector


@dataclass(frozen=True)
class Polyhedron:
    """{x : L ≤ A x ≤ U, l ≤ x ≤ u}; A is (m, n) in rows, `AT` its transpose in rows, `absAT` = |A|ᵀ."""

    A: sp.csr_array
    AT: sp.csr_array
    absAT: sp.csr_array
    L: Vector
    U: Vector
    l: Vector
    u: Vector

    @classmethod
    def of(cls, A: sp.csr_array, L: Vector, U: Vector, lower: Vector, upper: Vector) -> Polyhedron:
        AT = sp.csr_array(A.T)
        return cls(A, AT, abs(AT), L, U, lower, upper)

    def with_box(self, lower: Vector, upper: Vector) -> Polyhedron:
        return Polyhedron(self.A, self.AT, self.absAT, self.L, self.U, lower, upper)

    def sides(self, y: Vector) -> Vector:
        """y without the parts that press on a side which does not exist."""
        y = np.where(np.isfinite(y), y, 0.0)
        return np.where(((y > 0) & (self.L == -np.inf)) | ((y < 0) & (self.U == np.inf)), 0.0, y)

    def reduced(self, g: Vector, y: Vector, size: Vector | None = None) -> tuple[Vector, Vector]:
        """r = g − Aᵀy and the scale of its terms, |g| + |A|ᵀ|y|; `size` stands for |g| where g is itself a sum."""
        return g - self.AT @ y, (np.abs(g) if size is None else size) + self.absAT @ np.abs(y)

    def violation(self, x: Vector) -> tuple[float, float]:
        """(rows, bounds): the largest violation of a row, scaled by 1 + |side| + its largest term, and of a bound,
        scaled by 1 + |bound|."""
        A, ax = self.A, self.A @ x
        largest = np.zeros(A.shape[0])
        filled = np.diff(A.indptr) > 0
        if A.nnz:
            largest[filled] = np.maximum.reduceat(np.abs(A.data * x[A.indices]), A.indptr[:-1][filled])

        def worst(value: Vector, low: Vector, high: Vector, scale: Vector) -> float:
            below = np.where(low == -np.inf, 0.0, (_finite(low) - value) / (1 + magnitude(low) + scale))
            above = np.where(high == np.inf, 0.0, (value - _finite(high)) / (1 + magnitude(high) + scale))
            return float(max(below.max(initial=0.0), above.max(initial=0.0)))

        return worst(ax, self.L, self.U, largest), worst(x, self.l, self.u, np.zeros_like(x))

    @cached_property
    def _entries(self) -> Vector:
        return np.diff(self.AT.indptr) + 2.0

    def fragile(self, r: Vector, rho: Vector) -> NDArray[np.bool_]:
        """Columns whose reduced cost may press on an infinite bound."""
        return ((r < rho) & (self.u == np.inf)) | ((r > -rho) & (self.l == -np.inf))

    def minimum(
        self, g: Vector, y: Vector, reach: float, size: Vector | None = None, bowl: Bowl | None = None
    ) -> Minimum:
        """A lower bound of g·x over the polyhedron from the multipliers y (m,). `value` is −inf where y proves nothing.

        `reach` is the R of the module's words, used only for variables that no row bounds; `size` as in `reduced`.
        With a `bowl` the bound is of g·x + ½λ‖x − w‖², whose second part stands in where bounds are missing."""
        y = self.sides(y)
        r, scale = self.reduced(g, y, size)
        rho = EPS * self._entries * scale
        lower, upper = self.l, self.u
        if self.fragile(r, rho).any():
            lower, upper = self.implied
        rows = np.where(y > 0, y * _finite(self.L), y * _finite(self.U))
        at_lower, at_upper = r * _finite(lower), r * _finite(upper)
        box = np.where(r > 0, at_lower, at_upper)
        size = np.maximum(magnitude(lower), magnitude(upper))
        slack = rho * size
        over = np.where(upper == np.inf, np.maximum(rho - r, 0.0), 0.0)
        under = np.where(lower == -np.inf, np.maximum(rho + r, 0.0), 0.0)
        open_ = np.maximum(over, under)
        held = np.zeros(0)
        if bowl is not None and bowl.strength > 0:
            at = open_ > 0
            steep = np.abs(r[at]) + rho[at]
            held = r[at] * bowl.centre[at] - rho[at] * np.abs(bowl.centre[at]) - steep**2 / (2 * bowl.strength)
            box, slack, open_ = np.where(at, 0.0, box), np.where(at, 0.0, slack), np.zeros_like(open_)
        if np.any(open_ > np.maximum(ROUNDING * scale, 2 * rho)):
            return Minimum(-np.inf)
        fragile = int(np.count_nonzero(open_ > 0))
        box = np.where(open_ > 0, np.where(r > 0, np.where(lower == -np.inf, 0.0, at_lower),
                                           np.where(upper == np.inf, 0.0, at_upper)), box)  # fmt: skip
        terms = np.concatenate([rows, box, held])
        summing = EPS * (4 + np.log2(terms.size + 1)) * float(np.abs(terms).sum())
        value = float(terms.sum()) - summing - float(slack.sum()) - reach * float(open_.sum())
        return Minimum(value, fragile, reach) if fragile else Minimum(value)

    @cached_property
    def implied(self) -> tuple[Vector, Vector]:
        """Bounds (l, u) that every point of the polyhedron satisfies, tightened by the rows, rounded outwards."""
        lower, upper = self.l.copy(), self.u.copy()
        A = self.A.tocoo()
        a, i, j = A.data, A.row, A.col
        keep = a != 0
        a, i, j = a[keep], i[keep], j[keep]
        for _ in range(PASSES):
            missing = int(np.isinf(lower).sum() + np.isinf(upper).sum())
            if not missing:
                break
            for sign, side in ((1.0, self.U), (-1.0, -self.L)):
                _tighten(sign * a, i, j, side, lower, upper)
            if missing == int(np.isinf(lower).sum() + np.isinf(upper).sum()):
                break
        return lower, upper


def magnitude(v: Vector) -> Vector:
    """|v| where finite, else 0."""
    return np.where(np.isfinite(v), np.abs(v), 0.0)


def _finite(v: Vector) -> Vector:
    return np.where(np.isfinite(v), v, 0.0)


def _tighten(a: Vector, i: NDArray[np.int32], j: NDArray[np.int32], side: Vector, lower: Vector, upper: Vector) -> None:
    """From Σ a_ij x_j ≤ side_i: x_j ≤ (side_i − least of the rest)/a_ij where a_ij > 0, ≥ where < 0; in place, only
    where there was no bound."""
    m = side.size
    end = np.where(a > 0, lower[j], upper[j])
    open_ = np.isinf(end)
    term = a * np.where(open_, 0.0, end)
    least = np.bincount(i, term, m)
    size = np.bincount(i, np.abs(term), m)
    opens = np.bincount(i, open_, m)
    use = np.isfinite(side)[i] & (opens[i] - open_ == 0) & np.isinf(np.where(a > 0, upper[j], lower[j]))
    i, j, a, term = i[use], j[use], a[use], term[use]
    margin = 1e-12 * (size[i] + np.abs(side[i]))
    limit = (side[i] - (least[i] - term) + margin) / a
    up = a > 0
    np.minimum.at(upper, j[up], limit[up])
    np.maximum.at(lower, j[~up], limit[~up])
