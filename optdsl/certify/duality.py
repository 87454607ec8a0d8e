"""Multipliers of linear and convex quadratic programs: bounds from them, their correction, their recovery.

The bound is the one of `polyhedron` for the objective linearised at any w (Dorn's dual, Quart. Appl. Math. 18, 1960):

    c·x + ½ xᵀPx  ≥  (c + P w)·x − ½ wᵀPw  (+ ½ λ ‖x − w‖²  where P ⪰ λ I, used where variables have no bounds).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog, lsq_linear
from scipy.sparse.linalg import lsmr

from optdsl.certify.convexity import strength
from optdsl.certify.polyhedron import EPS, Bowl, Minimum, Polyhedron, magnitude
from optdsl.certify.record import Tolerances
from optdsl.forms.answer import Answer
from optdsl.forms.linear import LinearProgram

Vector = NDArray[np.float64]

#: The reach of a proof about variables without bounds, in units of 1 + the largest entry of the point.
REACH = 1e3
#: Dense multiplier fits up to this many matrix entries; larger ones are sparse and approximate.
DENSE = 2_000_000
#: Seconds given to the search for a proof of infeasibility that the answer does not bring.
SEARCH = 30.0


@dataclass(frozen=True)
class Bounded:
    """A lower bound of the objective with the words it needs."""

    value: float
    minimum: Minimum


def polyhedron(form: LinearProgram) -> Polyhedron:
    AT = form.AT
    return Polyhedron(form.A, AT, abs(AT), form.row_lower, form.row_upper, form.lower, form.upper)


def gradient_size(form: LinearProgram, w: Vector) -> Vector:
    """The scale of the terms of c + P w."""
    P = getattr(form, "P", None)
    return np.abs(form.c) if P is None else np.abs(form.c) + abs(P) @ np.abs(w)


def reach(x: Vector) -> float:
    return REACH * (1 + float(np.abs(x).max(initial=0.0)))


def dual_bound(
    form: LinearProgram, feasible: Polyhedron, y: Vector, w: Vector, span: float, curvature: float = 0.0
) -> Bounded:
    """The bound of the module's words from multipliers y (m,), linearisation point w (n,) and λ = `curvature`; P must
    be convex, and P ⪰ λ I."""
    P = getattr(form, "P", None)
    bowl = Bowl(curvature, w) if curvature > 0 else None
    minimum = feasible.minimum(form.gradient(w), y, span, gradient_size(form, w), bowl)
    constant = form.c0
    if P is not None:
        Pw = P @ w
        constant -= 0.5 * float(w @ Pw) + EPS * w.size * float(np.abs(w) @ np.abs(Pw))
    return Bounded(minimum.value + constant, minimum)


def correct(form: LinearProgram, feasible: Polyhedron, y: Vector, w: Vector) -> tuple[Vector, Vector]:
    """(y, w) moved by least squares so that reduced costs vanish where a bound is missing: A_Fᵀ dy − P_F dw = r_F,
    over the columns F whose reduced cost is of the wrong sign or small, and the rows that already press."""
    y = feasible.sides(y)
    P = getattr(form, "P", None)
    for _ in range(3):
        r, scale = feasible.reduced(form.gradient(w), y, gradient_size(form, w))
        columns = np.flatnonzero(feasible.fragile(r, 1e-6 * scale))
        if not columns.size:
            break
        pressing = np.abs(y) > 1e-9 * np.abs(y).max(initial=0.0)
        rows = np.flatnonzero(pressing | (feasible.L == feasible.U))
        parts = [sp.csr_array(feasible.AT[columns][:, rows])]
        if P is not None:
            parts.append(-sp.csr_array(P)[columns])
        step = lsmr(sp.hstack(parts), r[columns], atol=1e-15, btol=1e-15, conlim=0, maxiter=500)[0]
        y = y.copy()
        y[rows] += step[: rows.size]
        y = feasible.sides(y)
        if P is not None:
            w = w + step[rows.size :]
    return y, w


def blend(form: LinearProgram, feasible: Polyhedron, y: Vector, w: Vector) -> Vector:
    """The longest multiple θ y, θ ≤ 1, whose reduced costs press on no missing bound, where 0 y presses on none: far
    from the optimum this keeps a bound that rounding alone cannot mend."""
    g, y = form.gradient(w), feasible.sides(y)
    r = g - feasible.AT @ y
    wrong = ((r < 0) & (feasible.u == np.inf)) | ((r > 0) & (feasible.l == -np.inf))
    if not wrong.any():
        return y
    moved = g[wrong] - r[wrong]
    share = np.divide(g[wrong], moved, out=np.zeros_like(moved), where=moved != 0)
    return y * float(np.clip(share.min(), 0.0, 1.0)) * (1 - 1e-12)


def fit(form: LinearProgram, feasible: Polyhedron, x: Vector) -> Iterator[Vector]:
    """Multipliers of a point x from the rows S and bounds active at x: first g_F = A_{S,F}ᵀ y_S over the columns F away
    from their bounds; then least squares of g = A_Sᵀ y_S + μ, each with the sign that its side asks for."""
    g = form.gradient(x)
    m, n = form.A.shape
    ax = form.A @ x
    size = 1e-6 * (1 + abs(form.A) @ np.abs(x))
    at_low, at_high = ax - form.row_lower <= size, form.row_upper - ax <= size
    x_low, x_high = x - form.lower <= 1e-6 * (1 + np.abs(x)), form.upper - x <= 1e-6 * (1 + np.abs(x))
    rows, columns = np.flatnonzero(at_low | at_high), np.flatnonzero(x_low | x_high)
    y = np.zeros(m)
    if not rows.size:
        yield y
        return
    active = sp.csc_array(feasible.AT[:, rows])
    inside = np.flatnonzero(~(x_low | x_high))
    free = sp.csr_array(active)[inside]
    y[rows] = lsmr(free, g[inside], atol=1e-15, btol=1e-15, conlim=0, maxiter=2000)[0]
    yield y.copy()
    system = sp.hstack([active, sp.eye_array(n, format="csc")[:, columns]])
    low = np.concatenate([np.where(at_high[rows], -np.inf, 0.0), np.where(x_high[columns], -np.inf, 0.0)])
    high = np.concatenate([np.where(at_low[rows], np.inf, 0.0), np.where(x_low[columns], np.inf, 0.0)])
    if system.shape[0] * system.shape[1] <= DENSE:
        found = lsq_linear(system.toarray(), g, (low, high), method="bvls", tol=1e-14)
    else:
        found = lsq_linear(sp.csr_matrix(system), g, (low, high), tol=1e-12, lsmr_tol="auto", max_iter=50)
    y[rows] = found.x[: rows.size]
    yield y


def best_bound(form: LinearProgram, feasible: Polyhedron, answer: Answer, x: Vector, tol: Tolerances) -> Bounded:
    """The best of the bounds from the answer's multipliers and from fitted ones, each as it is, corrected and blended;
    it stops at the first that meets the objective without a condition, and prefers those without."""
    goal = form.objective(x) - tol.gap * max(1.0, abs(form.objective(x)))
    curvature = strength(form)
    tried: list[Bounded] = []

    def attempt(y: Vector, w: Vector) -> bool:
        tried.append(dual_bound(form, feasible, y, w, reach(x), curvature))
        return tried[-1].value >= goal and not tried[-1].minimum.fragile

    for y in hints(form, feasible, answer, x):
        if attempt(y, x) or attempt(*correct(form, feasible, y, x)):
            return tried[-1]
        if any(bound.value >= goal for bound in tried):
            break
        attempt(blend(form, feasible, y, x), x)
    return max(tried, key=lambda bound: (bound.value >= goal, bound.value))


def hints(form: LinearProgram, feasible: Polyhedron, answer: Answer, x: Vector) -> Iterator[Vector]:
    """Multipliers worth a try: the answer's, then fitted ones."""
    given = answer.dual.get("rows")
    if given is not None and np.shape(given) == feasible.L.shape:
        yield np.asarray(given, float)
    yield from fit(form, feasible, x)


def contradiction(feasible: Polyhedron, y: Vector) -> Minimum | None:
    """Farkas: the proof that y combines rows and bounds to 0 ≥ value > 0; None when it does not."""
    size = float(np.abs(feasible.sides(y)).max(initial=0.0))
    if not size > 0:
        return None
    sides = np.concatenate([feasible.L, feasible.U, feasible.l, feasible.u])
    span = 1e6 * (1 + float(magnitude(sides).max(initial=0.0)))
    found = feasible.minimum(np.zeros(feasible.l.size), y / size, span)
    return found if found.value > 0 else None


def least_violation(feasible: Polyhedron) -> tuple[Vector, Vector] | None:
    """(x, y): a point of least total violation of the rows and its multipliers, which maximise the contradiction over
    |y| ≤ 1. None when the search fails."""
    m, n = feasible.A.shape
    low, high = np.isfinite(feasible.L), np.isfinite(feasible.U)
    rows = sp.vstack([-feasible.A[low], feasible.A[high]], format="csr")
    k = rows.shape[0]
    found = linprog(
        np.concatenate([np.zeros(n), np.ones(k)]),
        A_ub=sp.hstack([rows, -sp.eye_array(k)]),
        b_ub=np.concatenate([-feasible.L[low], feasible.U[high]]),
        bounds=np.column_stack([np.r_[feasible.l, np.zeros(k)], np.r_[feasible.u, np.full(k, np.inf)]]),
        options={"time_limit": SEARCH},
    )
    if found.status != 0:
        return None
    y = np.zeros(m)
    press = -found.ineqlin.marginals
    count = int(low.sum())
    y[low] += press[:count]
    y[high] -= press[count:]
    return found.x[:n], y
