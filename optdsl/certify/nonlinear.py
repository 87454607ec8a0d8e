"""Nonlinear programs: feasibility, first- and second-order conditions, and for convex ones a bound by linearising.

At a point x with multipliers y of the rows and z of the bounds, ∇f(x) = J(x)ᵀ y + z, where y_i ≥ 0 belongs to the lower
side of row i and y_i ≤ 0 to the upper. Multipliers that an answer brings are tried; those fitted here by bounded least
squares on the active sides are tried too, and the better ones count.

For a convex program, f(w) ≥ f(x) + ∇f(x)·(w − x), and a convex row g_i(w) ≤ U_i lies in the half-space
g_i(x) + ∇g_i(x)·(w − x) ≤ U_i. So the linear program of all linearisations is a relaxation, and multipliers bound it
from below: the bound of `polyhedron.py`, whatever the multipliers are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from optdsl.certify.duality import reach
from optdsl.certify.polyhedron import Polyhedron
from optdsl.certify.record import Check, Proof, Tolerances
from optdsl.forms.answer import Answer
from optdsl.forms.nonlinear import Nonlinear

FORMS = (Nonlinear,)
Vector = NDArray[np.float64]

#: A side counts as active within this distance (times 1 + |side|).
ACTIVE = 1e-5
#: Largest number of variables for a dense second-order check.
DENSE = 500


@dataclass(frozen=True)
class Point:
    """Everything recomputed at x. `scale` (m,) is 1 + |side| + the largest term of the row's gradient times x."""

    x: Vector
    f: float
    grad: Vector
    g: Vector
    J: sp.csr_array
    scale: Vector


def _evaluate(form: Nonlinear, x: Vector) -> Point:
    call = form.functions
    J = sp.csr_array(call["jac"](x).sparse()) if len(form.row_lower) else sp.csr_array((0, len(x)))
    g = np.array(call["g"](x), dtype=float).ravel()
    sides = np.where(np.isfinite(form.row_lower), np.abs(form.row_lower), 0.0)
    sides = np.maximum(sides, np.where(np.isfinite(form.row_upper), np.abs(form.row_upper), 0.0))
    return Point(x, float(call["f"](x)), np.array(call["grad"](x), dtype=float).ravel(), g, J, 1.0 + sides + np.abs(g))


def _violation(form: Nonlinear, p: Point) -> float:
    rows = np.maximum(form.row_lower - p.g, p.g - form.row_upper) / p.scale
    box = np.maximum(form.lower - p.x, p.x - form.upper) / (1.0 + np.abs(p.x))
    worst = max(float(np.max(rows, initial=0.0)), float(np.max(box, initial=0.0)))
    if form.integer.any():
        whole = p.x[form.integer]
        worst = max(worst, float(np.max(np.abs(whole - np.round(whole)), initial=0.0)))
    return worst


def _active(value: Vector, low: Vector, high: Vector) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    at_low = np.isfinite(low) & (value - low <= ACTIVE * (1.0 + np.abs(low)))
    at_high = np.isfinite(high) & (high - value <= ACTIVE * (1.0 + np.abs(high)))
    return at_low, at_high


def _fit(form: Nonlinear, p: Point) -> tuple[Vector, Vector]:
    """min ‖∇f − Jᵀy − z‖ over multipliers of the active sides with the right signs."""
    low, high = _active(p.g, form.row_lower, form.row_upper)
    below, above = _active(p.x, form.lower, form.upper)
    below, above = below | form.integer, above | form.integer
    rows, columns = np.flatnonzero(low | high), np.flatnonzero(below | above)
    y, z = np.zeros(len(p.g)), np.zeros(len(p.x))
    if not len(rows) and not len(columns):
        return y, z
    n = len(p.x)
    E = sp.csr_array((np.ones(len(columns)), (columns, np.arange(len(columns)))), shape=(n, len(columns)))
    M = sp.hstack([p.J[rows].T, E]).tocsr()
    lower = np.concatenate([np.where(high[rows], -np.inf, 0.0), np.where(above[columns], -np.inf, 0.0)])
    upper = np.concatenate([np.where(low[rows], np.inf, 0.0), np.where(below[columns], np.inf, 0.0)])
    dense = M.toarray() if n <= 2 * DENSE else M
    found = lsq_linear(dense, p.grad, bounds=(lower, upper), tol=1e-14).x
    y[rows], z[columns] = found[: len(rows)], found[len(rows) :]
    return y, z


def _residual(form: Nonlinear, p: Point, y: Vector, z: Vector) -> float:
    """Stationarity, signs and complementarity in one number, scaled by 1 + ‖∇f‖∞ and the multipliers."""
    scale = 1.0 + float(np.max(np.abs(p.grad), initial=0.0))
    stationarity = float(np.max(np.abs(p.grad - p.J.T @ y - z), initial=0.0)) / scale

    def slackness(multiplier: Vector, value: Vector, low: Vector, high: Vector) -> float:
        distance = np.where(multiplier > 0, value - low, high - value)
        distance = np.where(multiplier == 0, 0.0, distance)
        with np.errstate(invalid="ignore"):
            product = np.abs(multiplier) * np.abs(distance) / (1.0 + np.abs(value))
        return float(np.max(np.where(np.isfinite(distance), product, np.abs(multiplier)), initial=0.0)) / scale

    free = np.where(form.integer, p.x, form.lower), np.where(form.integer, p.x, form.upper)
    return max(stationarity, slackness(y, p.g, form.row_lower, form.row_upper), slackness(z, p.x, *free))


def _curvature(form: Nonlinear, p: Point, y: Vector, z: Vector) -> float | None:
    """Smallest eigenvalue of the Lagrangian's Hessian on the null space of the strongly active constraints."""
    n = len(p.x)
    if n > DENSE or n == 0:
        return None
    H = np.array(form.functions["hess"](p.x, 1.0, -y).full(), dtype=float)
    threshold = 1e-7 * (1.0 + float(np.max(np.abs(p.grad), initial=0.0)))
    equal = form.row_lower == form.row_upper
    held = np.flatnonzero(equal | (np.abs(y) > threshold))
    fixed = np.flatnonzero((np.abs(z) > threshold) | form.integer | (form.lower == form.upper))
    A = np.vstack([p.J[held].toarray(), np.eye(n)[fixed]])
    if len(A):
        _, s, Vt = np.linalg.svd(A, full_matrices=True)
        rank = int(np.sum(s > 1e-10 * max(1.0, float(s[0]) if len(s) else 0.0)))
        N = Vt[rank:].T
    else:
        N = np.eye(n)
    if N.shape[1] == 0:
        return None
    return float(np.linalg.eigvalsh(N.T @ H @ N)[0])


def _bound(form: Nonlinear, p: Point, y: Vector) -> tuple[float, str] | None:
    """A lower bound on a convex program from the linearisations at x, and the note on what it rests on."""
    shift = p.J @ p.x - p.g
    low = np.where(np.isfinite(form.row_lower), form.row_lower + shift, form.row_lower)
    high = np.where(np.isfinite(form.row_upper), form.row_upper + shift, form.row_upper)
    found = Polyhedron.of(p.J, low, high, form.lower, form.upper).minimum(p.grad, y, reach(p.x))
    if not np.isfinite(found.value):
        return None
    return p.f - float(p.grad @ p.x) + found.value, found.note


def prove(form: Nonlinear, answer: Answer, tol: Tolerances) -> Proof:
    if answer.point is None:
        return Proof()
    x = np.asarray(answer.point, dtype=float)
    if x.shape != form.lower.shape or not np.isfinite(x).all():
        return Proof(objective=float("nan"))
    p = _evaluate(form, x)
    if not (np.isfinite(p.f) and np.isfinite(p.g).all()):
        return Proof(objective=float("nan"))
    proof = Proof(objective=p.f, violation=_violation(form, p), convex=form.convex)
    if not (np.isfinite(p.grad).all() and np.isfinite(p.J.data).all()):
        proof.notes.append("a derivative is not finite at the point")
        return proof
    candidates = [_fit(form, p)]
    rows, box = answer.dual.get("rows"), answer.dual.get("bounds")
    if rows is not None and box is not None and rows.shape == p.g.shape and box.shape == x.shape:
        candidates.append((rows, box))
    residuals = [_residual(form, p, y, z) for y, z in candidates]
    best = int(np.argmin(residuals))
    y, z = candidates[best]
    whole = bool(form.integer.any())
    proof.residual = None if whole else residuals[best]
    meaning = "first-order conditions: gradient of the Lagrangian, signs and complementarity"
    proof.checks.append(Check("first-order residual", residuals[best], tol.stationarity, meaning))
    proof.curvature = None if whole else _curvature(form, p, y, z)
    if proof.curvature is not None:
        limit = tol.stationarity * (1.0 + float(np.max(np.abs(p.grad), initial=0.0)))
        meaning = "minus the smallest curvature along directions that keep the active constraints"
        proof.checks.append(Check("negative curvature", max(0.0, -proof.curvature), limit, meaning))
        if proof.curvature >= -limit:
            proof.curvature = max(proof.curvature, 0.0)
    if form.convex and not whole:
        bounds = [b for y, _ in candidates if (b := _bound(form, p, y)) is not None]
        if bounds:
            proof.bound, note = max(bounds)
            if note:
                proof.notes.append(note)
    return proof
