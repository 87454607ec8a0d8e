"""Proofs for linear, quadratic and mixed-integer programs, from the matrices and the answer alone.

Points are checked row by row. The bound is the dual one of `polyhedron`, with any multipliers: the answer's, corrected
by least squares where variables without bounds leave a residual, or fitted to the point when the answer brings none
(`duality`). Programs with whole numbers are bounded by `branching`.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import lsmr

from optdsl.certify import branching
from optdsl.certify.convexity import convex
from optdsl.certify.duality import best_bound, contradiction, gradient_size, hints, least_violation, polyhedron
from optdsl.certify.polyhedron import Minimum, Polyhedron
from optdsl.certify.record import Check, Contradiction, Proof, Tolerances
from optdsl.forms.answer import Answer, Claim
from optdsl.forms.linear import LinearProgram, MixedInteger, QuadraticProgram

FORMS = (LinearProgram, QuadraticProgram, MixedInteger)

Vector = NDArray[np.float64]

#: A direction counts as one of the feasible set when it leaves no row faster than this share of the row's terms.
DIRECTION = 1e-9
#: Entries of a direction, and its rows, below this share are taken for zero when it is straightened.
NEARLY = 1e-5


def _empty_side(feasible: Polyhedron) -> str:
    if (feasible.l > feasible.u).any():
        return "a variable's lower bound exceeds its upper bound"
    if (feasible.L > feasible.U).any():
        return "a row's lower side exceeds its upper side"
    return ""


def prove_infeasible(feasible: Polyhedron, given: Vector | None) -> tuple[str, Contradiction | None]:
    """Words of a proof that the polyhedron is empty from the multipliers `given` (m,), with either sign, and the
    multipliers; or ('', None)."""
    words = _empty_side(feasible)
    if words:
        return words, None
    hints = [] if given is None or np.shape(given) != feasible.L.shape else [given, -given]
    for hint in hints:
        found = contradiction(feasible, np.asarray(hint, float))
        if found is not None:
            y = feasible.sides(np.asarray(hint, float))
            y = y / np.abs(y).max()
            r, scale = feasible.reduced(np.zeros(feasible.l.size), y)
            return _farkas_words(found), Contradiction(y, np.where(np.abs(r) > 1e-12 * scale, r, 0.0), found.value)
    return "", None


def _farkas_words(found: Minimum) -> str:
    words = f"a combination of the rows and bounds (weights at most 1) reads 0 ≥ {found.value:.6g}"
    return f"{words} ({found.note})" if found.note else words


def prove_unbounded(form: LinearProgram, feasible: Polyhedron, d: Vector) -> str:
    """Words of a proof that d (n,) is a direction of the feasible set along which the objective falls, or ''. A
    direction that is one only nearly is first straightened."""
    if np.shape(d) != form.c.shape or not np.all(np.isfinite(d)) or not np.any(d):
        return ""
    P = getattr(form, "P", None)
    A = form.A if P is None else sp.csr_array(sp.vstack([form.A, sp.csr_array(P)]))
    flat = np.zeros(A.shape[0] - form.A.shape[0])
    low = np.concatenate([np.where(np.isfinite(feasible.L), 0.0, -np.inf), flat])
    high = np.concatenate([np.where(np.isfinite(feasible.U), 0.0, np.inf), flat])
    d = d / np.abs(d).max()
    for candidate in (d, straightened(A, low, high, np.where(np.abs(d) < NEARLY, 0.0, d))):
        e = np.where(
            ((candidate < 0) & np.isfinite(form.lower)) | ((candidate > 0) & np.isfinite(form.upper)), 0.0, candidate
        )
        ae, scale = A @ e, DIRECTION * (abs(A) @ np.abs(e))
        fall = -float(form.c @ e)
        inside = np.all(ae >= low - scale) and np.all(ae <= high + scale)
        if inside and fall > 1e3 * DIRECTION * float(np.abs(form.c) @ np.abs(e)):
            return (
                f"from a feasible point the objective falls by {fall:.6g} a unit along a direction of the feasible set"
            )
    return ""


def straightened(A: sp.csr_array, low: Vector, high: Vector, d: Vector) -> Vector:
    """d moved the least, on its own support, so that rows that it nearly keeps are kept: A d = 0 there."""
    support = np.flatnonzero(d)
    ad = A @ d
    near = np.abs(ad) <= NEARLY * (abs(A) @ np.abs(d))
    rows = np.flatnonzero((near & (np.isfinite(low) | np.isfinite(high))) | (ad < low) | (ad > high))
    if not rows.size:
        return d
    d = d.copy()
    d[support] -= lsmr(sp.csr_array(A[rows])[:, support], ad[rows], atol=1e-15, btol=1e-15, conlim=0, maxiter=500)[0]
    return d


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
        proof.violation = max(feasible.violation(x))
        if isinstance(form, MixedInteger):
            _integrality(form, x, tol, proof)
    holds = x is not None and proof.violation <= tol.feasibility
    if not holds:
        _emptiness(proof, form, feasible, answer, tol)
        if proof.infeasible:
            return proof
    if holds and answer.claim is Claim.UNBOUNDED:
        proof.reason = prove_unbounded(form, feasible, np.asarray(answer.ray.get("primal", ()), float))
        proof.unbounded = bool(proof.reason)
        return proof
    if isinstance(form, MixedInteger):
        if is_convex and (holds or answer.claim is Claim.INFEASIBLE):
            claimed = answer.claim in (Claim.OPTIMAL, Claim.INFEASIBLE)
            branching.extend(proof, form, feasible, tol, branching.FULL if claimed else branching.BRIEF)
    elif x is not None and holds:
        _bound(proof, form, feasible, answer, x, tol)
    return proof


def _emptiness(proof: Proof, form: LinearProgram, feasible: Polyhedron, answer: Answer, tol: Tolerances) -> None:
    """The answer's proof that the rows and bounds are contradictory; where it has none, one's own search, which ends
    with a proof or with a feasible point."""
    proof.reason, proof.contradiction = prove_infeasible(feasible, answer.ray.get("dual"))
    if not proof.reason and answer.claim in (Claim.INFEASIBLE, Claim.UNBOUNDED):
        found = least_violation(feasible)
        if found is not None:
            x, y = found
            proof.reason, proof.contradiction = prove_infeasible(feasible, y)
            if not isinstance(form, MixedInteger) and max(feasible.violation(x)) <= tol.feasibility:
                proof.better = form.objective(x)
    proof.infeasible = bool(proof.reason)


def _integrality(form: MixedInteger, x: Vector, tol: Tolerances, proof: Proof) -> None:
    off = float(np.abs(x - np.round(x))[form.integer].max(initial=0.0))
    proof.checks.append(Check("integrality", off, tol.integrality, "largest distance from a whole number"))
    proof.violation = max(proof.violation, off * tol.feasibility / tol.integrality)


def _bound(proof: Proof, form: LinearProgram, feasible: Polyhedron, answer: Answer, x: Vector, tol: Tolerances) -> None:
    if proof.convex:
        best = best_bound(form, feasible, answer, x, tol)
        if math.isfinite(best.value):
            proof.bound = best.value
            if best.minimum.note:
                proof.notes.append(best.minimum.note)
        return
    residuals = [natural_residual(form, feasible, x, feasible.sides(y)) for y in hints(form, feasible, answer, x)]
    proof.residual = min(residuals)
