"""Proofs for linear, quadratic and mixed-integer programs, from the matrices and the answer alone.

Points are checked row by row. The bound is the dual one of `polyhedron`, with any multipliers: the answer's, corrected
by least squares where variables without bounds leave a residual, or fitted to the point when the answer brings none.
A convex quadratic is bounded through its linearisation at any w (Dorn's dual, Quart. Appl. Math. 18, 1960):

    c·x + ½ xᵀPx  ≥  (c + P w)·x − ½ wᵀPw.

Programs with whole numbers are bounded by `branching`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog, lsq_linear
from scipy.sparse.linalg import lsmr

from optdsl.certify import branching
from optdsl.certify.convexity import convex
from optdsl.certify.polyhedron import EPS, Minimum, Polyhedron
from optdsl.certify.record import Check, Proof, Tolerances
from optdsl.forms.answer import Answer, Claim
from optdsl.forms.linear import LinearProgram, MixedInteger, QuadraticProgram

FORMS = (LinearProgram, QuadraticProgram, MixedInteger)

Vector = NDArray[np.float64]

#: The reach of a proof about variables without bounds, in units of 1 + the largest entry of the point.
REACH = 1e3
#: A direction counts as one of the feasible set when it leaves no row faster than this share of the row's terms.
DIRECTION = 1e-9
#: Dense multiplier fits up to this many matrix entries; larger ones are sparse and approximate.
DENSE = 2_000_000
#: Seconds given to the search for a proof of infeasibility that the answer does not bring.
SEARCH = 30.0


@dataclass(frozen=True)
class Bounded:
    """A lower bound of the objective with the words it needs."""

    value: float
    minimum: Minimum


def violation(form: LinearProgram, x: Vector) -> tuple[float, float]:
    """(rows, bounds): the largest violation of a row, scaled by 1 + |side| + its largest term, and of a bound, scaled
    by 1 + |bound|."""
    A = form.A
    ax = A @ x
    largest = np.zeros(A.shape[0])
    filled = np.diff(A.indptr) > 0
    if A.nnz:
        largest[filled] = np.maximum.reduceat(np.abs(A.data * x[A.indices]), A.indptr[:-1][filled])

    def worst(value: Vector, low: Vector, high: Vector, scale: Vector) -> float:
        below = np.where(low == -np.inf, 0.0, (low - value) / (1 + _size(low) + scale))
        above = np.where(high == np.inf, 0.0, (value - high) / (1 + _size(high) + scale))
        return float(max(below.max(initial=0.0), above.max(initial=0.0)))

    return worst(ax, form.row_lower, form.row_upper, largest), worst(x, form.lower, form.upper, np.zeros_like(x))


def _size(v: Vector) -> Vector:
    return np.where(np.isfinite(v), np.abs(v), 0.0)


def polyhedron(form: LinearProgram) -> Polyhedron:
    AT = form.AT
    return Polyhedron(form.A, AT, abs(AT), form.row_lower, form.row_upper, form.lower, form.upper)


def gradient_size(form: LinearProgram, w: Vector) -> Vector:
    """The scale of the terms of c + P w."""
    P = getattr(form, "P", None)
    return np.abs(form.c) if P is None else np.abs(form.c) + abs(P) @ np.abs(w)


def dual_bound(form: LinearProgram, feasible: Polyhedron, y: Vector, w: Vector, reach: float) -> Bounded:
    """The bound of the module's words from multipliers y (m,) and linearisation point w (n,); P must be convex."""
    P = getattr(form, "P", None)
    minimum = feasible.minimum(form.gradient(w), y, reach, gradient_size(form, w))
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


def fit(form: LinearProgram, feasible: Polyhedron, x: Vector) -> Vector:
    """Multipliers of a point x: least squares of g = A_Sᵀ y_S + μ over the rows S and bounds active at x, each with the
    sign that its side asks for."""
    g = form.gradient(x)
    m, n = form.A.shape
    ax = form.A @ x
    size = 1e-6 * (1 + abs(form.A) @ np.abs(x))
    at_low, at_high = ax - form.row_lower <= size, form.row_upper - ax <= size
    x_low, x_high = x - form.lower <= 1e-6 * (1 + np.abs(x)), form.upper - x <= 1e-6 * (1 + np.abs(x))
    rows, columns = np.flatnonzero(at_low | at_high), np.flatnonzero(x_low | x_high)
    y = np.zeros(m)
    if not rows.size:
        return y
    system = sp.hstack([feasible.AT[:, rows], sp.eye_array(n, format="csc")[:, columns]])
    low = np.concatenate([np.where(at_high[rows], -np.inf, 0.0), np.where(x_high[columns], -np.inf, 0.0)])
    high = np.concatenate([np.where(at_low[rows], np.inf, 0.0), np.where(x_low[columns], np.inf, 0.0)])
    if system.shape[0] * system.shape[1] <= DENSE:
        found = lsq_linear(system.toarray(), g, (low, high), method="bvls", tol=1e-14)
    else:
        found = lsq_linear(sp.csr_matrix(system), g, (low, high), tol=1e-12, lsmr_tol="auto", max_iter=50)
    y[rows] = found.x[: rows.size]
    return y


def best_bound(
    form: LinearProgram, feasible: Polyhedron, answer: Answer, x: Vector, tol: Tolerances
) -> Bounded:
    """The best of the bounds from the answer's multipliers, the corrected ones and fitted ones; it stops at the first
    that meets the objective without a condition, and prefers those without."""
    reach = REACH * (1 + float(np.abs(x).max(initial=0.0)))
    goal = form.objective(x) - tol.gap * max(1.0, abs(form.objective(x)))
    tried: list[Bounded] = []

    def attempt(y: Vector, w: Vector) -> bool:
        tried.append(dual_bound(form, feasible, y, w, reach))
        return tried[-1].value >= goal and not tried[-1].minimum.fragile

    m = form.A.shape[0]
    given = answer.dual.get("rows")
    starts = [np.asarray(given, float)] if given is not None and np.shape(given) == (m,) else []
    for y in starts:
        if attempt(y, x) or attempt(*correct(form, feasible, y, x)):
            return tried[-1]
    if not any(bound.value >= goal for bound in tried):
        y = fit(form, feasible, x)
        if attempt(y, x) or attempt(*correct(form, feasible, y, x)):
            return tried[-1]
    return max(tried, key=lambda bound: (bound.value >= goal, bound.value))


def contradiction(feasible: Polyhedron, y: Vector) -> Minimum | None:
    """Farkas: the proof that y combines rows and bounds to 0 ≥ value > 0; None when it does not."""
    size = float(np.abs(feasible.sides(y)).max(initial=0.0))
    if not size > 0:
        return None
    sides = np.concatenate([feasible.L, feasible.U, feasible.l, feasible.u])
    reach = 1e6 * (1 + float(_size(sides).max(initial=0.0)))
    found = feasible.minimum(np.zeros(feasible.l.size), y / size, reach)
    return found if found.value > 0 else None


def _empty_side(feasible: Polyhedron) -> str:
    if (feasible.l > feasible.u).any():
        return "a variable's lower bound exceeds its upper bound"
    if (feasible.L > feasible.U).any():
        return "a row's lower side exceeds its upper side"
    return ""


def search_contradiction(feasible: Polyhedron) -> Vector | None:
    """Multipliers y maximising the contradiction over |y| ≤ 1, as duals of least total violation of the rows."""
    m = feasible.L.size
    low, high = np.isfinite(feasible.L), np.isfinite(feasible.U)
    rows = sp.vstack([-feasible.A[low], feasible.A[high]], format="csr")
    k = rows.shape[0]
    if not k:
        return None
    found = linprog(
        np.concatenate([np.zeros(feasible.l.size), np.ones(k)]),
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
    return y


def prove_infeasible(feasible: Polyhedron, given: Vector | None) -> str:
    """Words of a proof that the polyhedron is empty, or ''. `given` (m,) is tried first, with either sign."""
    words = _empty_side(feasible)
    if words:
        return words
    hints = [] if given is None or np.shape(given) != feasible.L.shape else [given, -given]
    for hint in hints:
        found = contradiction(feasible, np.asarray(hint, float))
        if found is not None:
            return _farkas_words(found)
    y = search_contradiction(feasible)
    found = None if y is None else contradiction(feasible, y)
    return "" if found is None else _farkas_words(found)


def _farkas_words(found: Minimum) -> str:
    words = f"a combination of the rows and bounds (weights at most 1) reads 0 ≥ {found.value:.6g}"
    return f"{words} ({found.note})" if found.note else words


def prove_unbounded(form: LinearProgram, d: Vector) -> str:
    """Words of a proof that d (n,) is a direction of the feasible set along which the objective falls, or ''."""
    if np.shape(d) != form.c.shape or not np.all(np.isfinite(d)) or not np.any(d):
        return ""
    d = d / np.abs(d).max()
    d = np.where(((d < 0) & np.isfinite(form.lower)) | ((d > 0) & np.isfinite(form.upper)), 0.0, d)
    ad, scale = form.A @ d, DIRECTION * (abs(form.A) @ np.abs(d))
    leaves = (np.isfinite(form.row_lower) & (ad < -scale)) | (np.isfinite(form.row_upper) & (ad > scale))
    P = getattr(form, "P", None)
    if P is not None:
        leaves = np.append(leaves, np.abs(P @ d) > DIRECTION * (abs(P) @ np.abs(d)))
    fall = float(form.c @ d)
    if leaves.any() or not fall < -1e3 * DIRECTION * float(np.abs(form.c) @ np.abs(d)):
        return ""
    return f"from a feasible point the objective falls by {-fall:.6g} a unit along a direction of the feasible set"


def natural_residual(form: LinearProgram, feasible: Polyhedron, x: Vector, y: Vector) -> float:
    """Largest of |x − Π_[l,u](x − r)|/(1 + |g|) and |Ax − Π_[L,U](Ax − y)|/(1 + |Ax|); zero exactly at KKT points."""
    r, scale = feasible.reduced(form.gradient(x), y, gradient_size(form, x))
    ax = form.A @ x
    bounds = np.abs(x - np.clip(x - r, form.lower, form.upper)) / (1 + scale)
    rows = np.abs(ax - np.clip(ax - y, form.row_lower, form.row_upper)) / (1 + np.abs(ax) + np.abs(y))
    return float(max(bounds.max(initial=0.0), rows.max(initial=0.0)))


def prove(form: LinearProgram, answer: Answer, tol: Tolerances) -> Proof:
    proof = Proof()
    feasible = polyhedron(form)
    is_convex, words = convex(form)
    proof.convex = is_convex and not isinstance(form, MixedInteger)
    if words:
        proof.notes.append(words)
    x = None if answer.point is None else np.asarray(answer.point, float)
    if x is not None and (x.shape != form.c.shape or not np.all(np.isfinite(x))):
        proof.objective = math.nan
        x = None
    if x is not None:
        proof.objective = form.objective(x)
        proof.violation = max(violation(form, x))
        if isinstance(form, MixedInteger):
            _integrality(form, x, tol, proof)
    holds = x is not None and proof.violation <= tol.feasibility
    if not holds:
        proof.reason = prove_infeasible(feasible, answer.ray.get("dual"))
        proof.infeasible = bool(proof.reason)
        if proof.infeasible:
            return proof
    if holds and answer.claim is Claim.UNBOUNDED:
        proof.reason = prove_unbounded(form, np.asarray(answer.ray.get("primal", ()), float))
        proof.unbounded = bool(proof.reason)
        return proof
    if isinstance(form, MixedInteger):
        if is_convex and (holds or answer.claim is Claim.INFEASIBLE):
            branching.extend(proof, form, feasible, tol)
    elif x is not None and holds:
        _bound(proof, form, feasible, answer, x, tol)
    return proof


def _integrality(form: MixedInteger, x: Vector, tol: Tolerances, proof: Proof) -> None:
    off = float(np.abs(x - np.round(x))[form.integer].max(initial=0.0))
    proof.checks.append(Check("integrality", off, tol.integrality, "largest distance from a whole number"))
    proof.violation = max(proof.violation, off * tol.feasibility / tol.integrality)


def _bound(
    proof: Proof, form: LinearProgram, feasible: Polyhedron, answer: Answer, x: Vector, tol: Tolerances
) -> None:
    if proof.convex:
        best = best_bound(form, feasible, answer, x, tol)
        if math.isfinite(best.value):
            proof.bound = best.value
            if best.minimum.note:
                proof.notes.append(best.minimum.note)
        return
    given = answer.dual.get("rows")
    y = np.asarray(given, float) if given is not None and np.shape(given) == feasible.L.shape else None
    candidates = [fit(form, feasible, x)] if y is None or not np.all(np.isfinite(y)) else [y, fit(form, feasible, x)]
    proof.residual = min(natural_residual(form, feasible, x, candidate) for candidate in candidates)


