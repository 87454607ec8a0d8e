"""Nonlinear programs: feasibility, first- and second-order conditions, and for convex ones a bound by linearising.

At a point x with multipliers y of the rows and z of the bounds, ∇f(x) = J(x)ᵀ y + z, where y_i ≥ 0 belongs to the lower
side of row i and y_i ≤ 0 to the upper. Multipliers that an answer brings are tried; those fitted here by bounded least
squares, which charges a multiplier by the distance of its side, are tried too, and the better ones count. Convex programs
are bounded, and proven empty, by their linearisations (`outer`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from optdsl.certify import outer
from optdsl.certify.outer import Point, evaluate
from optdsl.certify.record import Check, Proof, Tolerances
from optdsl.forms.answer import Answer, Claim
from optdsl.forms.nonlinear import Nonlinear

FORMS = (Nonlinear,)
Vector = NDArray[np.float64]

#: A side farther away than this (times 1 + |value|) takes no multiplier.
NEAR = 1e-2
#: Largest number of variables for a dense second-order check.
DENSE = 500


def _violation(form: Nonlinear, p: Point) -> float:
    """Largest excess of a row over 1 + |side| + |g|, and of a bound over 1 + |x|."""
    sides = np.where(np.isfinite(form.row_lower), np.abs(form.row_lower), 0.0)
    sides = np.maximum(sides, np.where(np.isfinite(form.row_upper), np.abs(form.row_upper), 0.0))
    rows = np.maximum(form.row_lower - p.g, p.g - form.row_upper) / (1.0 + sides + np.abs(p.g))
    box = np.maximum(form.lower - p.x, p.x - form.upper) / (1.0 + np.abs(p.x))
    return max(float(np.max(rows, initial=0.0)), float(np.max(box, initial=0.0)))


def _integrality(form: Nonlinear, p: Point, tol: Tolerances, proof: Proof) -> None:
    whole = p.x[form.integer]
    off = float(np.max(np.abs(whole - np.round(whole)), initial=0.0))
    proof.checks.append(Check("integrality", off, tol.integrality, "largest distance from a whole number"))
    proof.violation = max(proof.violation, off * tol.feasibility / tol.integrality)


def _sides(value: Vector, low: Vector, high: Vector) -> tuple[NDArray[np.intp], Vector, Vector]:
    """(which, sign, distance) of the sides near the value: sign 1 for lower ones, −1 for upper ones; distance ≥ 0 over
    1 + |value|."""
    scale = 1.0 + np.abs(value)
    below, above = np.maximum(value - low, 0.0) / scale, np.maximum(high - value, 0.0) / scale
    at_low, at_high = np.flatnonzero(below <= NEAR), np.flatnonzero(above <= NEAR)
    signs = np.concatenate([np.ones(len(at_low)), -np.ones(len(at_high))])
    return np.concatenate([at_low, at_high]), signs, np.concatenate([below[at_low], above[at_high]])


def _fit(form: Nonlinear, p: Point) -> tuple[Vector, Vector]:
    """min ‖∇f − Jᵀy − z‖² + Σ (distance of its side · multiplier)² over multipliers of the right signs. A whole number
    is held by both sides."""
    m, n = len(p.g), len(p.x)
    low, high = (np.where(form.integer, p.x, side) for side in (form.lower, form.upper))
    rows, row_signs, row_far = _sides(p.g, form.row_lower, form.row_upper)
    columns, column_signs, column_far = _sides(p.x, low, high)
    y, z = np.zeros(m), np.zeros(n)
    if not len(rows) and not len(columns):
        return y, z
    E = sp.csr_array((column_signs, (columns, np.arange(len(columns)))), shape=(n, len(columns)))
    far = np.concatenate([row_far, column_far])
    M = sp.vstack([sp.hstack([p.J[rows].T * row_signs, E]), sp.diags_array(far)]).tocsr()
    side = np.concatenate([p.grad, np.zeros(len(far))])
    dense = M.toarray() if n <= 2 * DENSE else sp.csr_matrix(M)
    found = np.maximum(lsq_linear(dense, side, bounds=(0.0, np.inf), tol=1e-14).x, 0.0)
    np.add.at(y, rows, row_signs * found[: len(rows)])
    np.add.at(z, columns, column_signs * found[len(rows) :])
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


def prove(form: Nonlinear, answer: Answer, tol: Tolerances) -> Proof:
    x = np.asarray(form.start if answer.point is None else answer.point, dtype=float)
    if x.shape != form.lower.shape or not np.isfinite(x).all():
        return Proof(objective=float("nan"))
    p = evaluate(form, x)
    proof = Proof(convex=form.convex)
    whole = bool(form.integer.any())
    if answer.point is not None:
        proof.objective, proof.violation = p.f, _violation(form, p)
        if whole:
            _integrality(form, p, tol, proof)
    if not (np.isfinite(p.f) and np.isfinite(p.g).all()):
        proof.objective = None if answer.point is None else float("nan")
        return proof
    if not p.finite:
        proof.notes.append("a derivative is not finite at the point")
        return proof
    holds = answer.point is not None and proof.violation <= tol.feasibility
    if form.convex and not holds:
        proof.reason = outer.empty(form, p) if answer.claim is Claim.INFEASIBLE else ""
        proof.infeasible = bool(proof.reason)
    if answer.point is None or proof.infeasible:
        return proof
    candidates = [_fit(form, p)]
    rows, box = answer.dual.get("rows"), answer.dual.get("bounds")
    if rows is not None and box is not None and _usable(rows, p.g) and _usable(box, x):
        candidates.append((rows, box))
    residuals = [_residual(form, p, y, z) for y, z in candidates]
    best = int(np.argmin(residuals))
    y, z = candidates[best]
    if not whole:
        proof.residual = residuals[best]
        meaning = "first-order conditions: gradient of the Lagrangian, signs and complementarity"
        proof.checks.append(Check("first-order residual", residuals[best], tol.stationarity, meaning))
        _second_order(form, p, y, z, tol, proof)
    if form.convex and holds:
        _bound(form, p, [y for y, _ in candidates], answer, tol, proof)
    return proof


def _usable(multipliers: Vector, like: Vector) -> bool:
    return multipliers.shape == like.shape and bool(np.isfinite(multipliers).all())


def _second_order(form: Nonlinear, p: Point, y: Vector, z: Vector, tol: Tolerances, proof: Proof) -> None:
    curvature = _curvature(form, p, y, z)
    if curvature is None:
        return
    limit = tol.stationarity * (1.0 + float(np.max(np.abs(p.grad), initial=0.0)))
    meaning = "minus the smallest curvature along directions that keep the active constraints"
    proof.checks.append(Check("negative curvature", max(0.0, -curvature), limit, meaning))
    proof.curvature = max(curvature, 0.0) if curvature >= -limit else curvature


def _bound(form: Nonlinear, p: Point, rows: list[Vector], answer: Answer, tol: Tolerances, proof: Proof) -> None:
    if not form.integer.any():
        found = outer.bound(form, p, rows, tol)
        if found is not None:
            proof.bound, note = found
            proof.notes += [note] if note else []
    elif answer.claim in (Claim.OPTIMAL, Claim.INFEASIBLE):
        branched = outer.branched(form, p, p.f, tol)
        if np.isfinite(branched.bound):
            proof.bound, proof.reason = branched.bound, branched.words
