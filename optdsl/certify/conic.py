"""Proofs for disciplined convex programs, from CVXPY's expressions and the standard form alone.

The point is put into the problem's own expressions: objective, violation of every constraint, and the domain of every
variable. For any z ∈ K* and any w, every feasible x of the standard form has

    c·x + ½ xᵀPx + d  ≥  d − b·z − ½ wᵀPw + r·x,   r = c + P w + Aᵀz

so a solver's z is moved into K* here, and (z, w) by least squares so that r vanishes; what is left of r is charged over
the bounds that linear rows imply, or over a stated reach. With c = 0, P = 0 and a positive value no x is feasible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import lsmr

from optdsl.certify.cones import block_sizes, interior, member
from optdsl.certify.polyhedron import EPS, Polyhedron, magnitude
from optdsl.certify.record import Proof, Tolerances
from optdsl.forms.answer import Answer, Claim
from optdsl.forms.conic import Conic, Standard

FORMS = (Conic,)

Vector = NDArray[np.float64]

#: A residual below this share of its terms may be charged over a reach instead of proven zero.
ROUNDING = 1e-9
#: The least scale of a residual's terms, as a share of the largest.
SHARE = 1e-3
#: The reach of a proof, in units of 1 + the largest entry of the point.
REACH = 1e2
#: No point within this reach (times 1 + the largest entry of b) makes a program infeasible.
FAR = 1e6
#: A direction counts as one of the feasible set when it is this near to it, as a share of its terms.
DIRECTION = 1e-8
#: Rounds of correction.
ROUNDS = 12


@dataclass(frozen=True)
class Bound:
    value: float
    note: str = ""


def _charge(standard: Standard, r: Vector, scale: Vector) -> tuple[float, float]:
    """(loss, free): the most that r·x may fall below 0 over the bounds that linear rows imply, and Σ|r_j| over the
    variables that none bounds. `scale` is that of r's terms; its rounding counts as residual."""
    A = sp.csr_array(standard.A)
    size = np.abs(r) + EPS * (np.diff(standard.A.indptr) + 4) * scale
    k = standard.cones.zero + standard.cones.nonneg
    n = r.size
    upper = standard.b[:k]
    lower = np.where(np.arange(k) < standard.cones.zero, upper, -np.inf)
    low, high = Polyhedron.of(A[:k], lower, upper, np.full(n, -np.inf), np.full(n, np.inf)).implied
    bounded = np.isfinite(low) & np.isfinite(high)
    reach = np.maximum(magnitude(low), magnitude(high))
    return float((size * reach)[bounded].sum()), float(size[~bounded].sum())


def _residual(standard: Standard, z: Vector, w: Vector, linear: Vector) -> tuple[Vector, Vector]:
    """r = linear + P w + Aᵀz and the scale of its terms; entries of one cone round together, so no scale is less than
    SHARE of the largest."""
    r = linear + standard.P @ w + standard.A.T @ z
    scale = np.abs(linear) + abs(standard.P) @ np.abs(w) + abs(standard.A).T @ np.abs(z)
    return r, np.maximum(scale, SHARE * scale.max(initial=0.0))


def correct(standard: Standard, z: Vector, w: Vector, linear: Vector) -> tuple[Vector, Vector]:
    """(z, w) with z ∈ K* and the residual as small as alternating between K* and least squares makes it.

    Steps in z are weighed by the size of z in each cone, so that multipliers which are zero stay so; where a step
    leaves a cone, z goes back and as far again into its interior."""
    sizes = block_sizes(standard.cones)
    owner = np.repeat(np.arange(sizes.size), sizes)
    inward = interior(standard.cones)
    z = member(standard.cones, z, dual=True)
    best, least = (z, w), np.inf
    for _ in range(ROUNDS):
        r, scale = _residual(standard, z, w, linear)
        error = float(np.max(np.abs(r) / np.where(scale > 0, scale, 1.0), initial=0.0))
        if error < least:
            best, least = (z, w), error
        if error <= 4 * EPS:
            break
        weight = np.sqrt(np.bincount(owner, z * z, sizes.size))
        weight[: standard.cones.zero] = max(1.0, float(np.abs(z).max(initial=0.0)))
        D = weight[owner]
        system = sp.hstack([standard.A.T * D, standard.P]).tocsr()
        step = lsmr(system, -r, atol=1e-15, btol=1e-15, conlim=0, maxiter=1000)[0]
        moved = z + D * step[: z.size]
        z = member(standard.cones, moved, dual=True)
        away = np.sqrt(np.bincount(owner, (z - moved) ** 2, sizes.size))
        z = z + away[owner] * inward
        w = w + step[z.size :]
    return best


def dual_bound(standard: Standard, z: Vector, w: Vector, span: float) -> Bound:
    """The bound of the module's words from any z (rows,) and w (columns,), for points within `span` where no row bounds
    a variable and the residual is not zero."""
    z = member(standard.cones, np.where(np.isfinite(z), z, 0.0), dual=True)
    r, scale = _residual(standard, z, w, standard.c)
    loss, free = _charge(standard, r, scale)
    if np.any(np.abs(r) > ROUNDING * scale) and free > 0:
        return Bound(-np.inf)
    Pw = standard.P @ w
    terms = np.concatenate([-standard.b * z, [standard.d], -0.5 * w * Pw])
    rounding = EPS * (4 + math.log2(terms.size)) * float(np.abs(terms).sum())
    value = float(terms.sum()) - rounding - loss - free * span
    if not free > 0:
        return Bound(value)
    note = (
        f"the multipliers leave a residual of {free:.3g} (sum) on variables without bounds of their own; "
        f"the bound is proven for their values up to {span:.3g}"
    )
    return Bound(value, note)


def best_bound(standard: Standard, answer: Answer, span: float, objective: float, tol: Tolerances) -> Bound:
    """The better of the bounds from the answer's multipliers and the corrected ones."""
    z, w = answer.dual.get("cone"), answer.dual.get("standard")
    z = np.zeros_like(standard.b) if z is None or np.shape(z) != standard.b.shape else np.asarray(z, float)
    w = np.zeros_like(standard.c) if w is None or np.shape(w) != standard.c.shape else np.asarray(w, float)
    z, w = np.where(np.isfinite(z), z, 0.0), np.where(np.isfinite(w), w, 0.0)
    given = dual_bound(standard, z, w, span)
    if given.value >= objective - tol.gap * max(1.0, abs(objective)) and not given.note:
        return given
    corrected = dual_bound(standard, *correct(standard, z, w, standard.c), span)
    return max(given, corrected, key=lambda bound: bound.value)


def prove_infeasible(standard: Standard, z: Vector) -> str:
    """Words of a proof that no x has b − A x ∈ K, from z (rows,), or ''."""
    if np.shape(z) != standard.b.shape or not np.all(np.isfinite(z)) or not np.any(z):
        return ""
    nothing = np.zeros_like(standard.c)
    flat = Standard(
        A=standard.A,
        b=standard.b,
        c=nothing,
        d=0.0,
        P=sp.csc_array(standard.P.shape),
        cones=standard.cones,
        chain=None,
        inverse=None,
    )
    z, _ = correct(flat, z / np.abs(z).max(), nothing, nothing)
    r, scale = _residual(flat, z, nothing, nothing)
    loss, free = _charge(flat, r, scale)
    terms = standard.b * z
    value = -float(terms.sum()) - EPS * (4 + math.log2(terms.size + 1)) * float(np.abs(terms).sum()) - loss
    if not value > 0:
        return ""
    words = f"multipliers in the dual cone (at most 1) combine the rows to 0 ≥ {value:.6g}"
    if not free > 0:
        return words
    reach = value / free
    if reach < FAR * (1 + float(np.abs(standard.b).max(initial=0.0))):
        return ""
    return f"{words}, for every point with entries up to {reach:.3g}"


def prove_unbounded(standard: Standard, x: Vector) -> str:
    """Words of a proof that x (columns,) is a direction of the feasible set along which the objective falls, or ''."""
    if np.shape(x) != standard.c.shape or not np.all(np.isfinite(x)) or not np.any(x):
        return ""
    x = x / np.abs(x).max()
    s = -(standard.A @ x)
    inside = member(standard.cones, s, dual=False)
    size = 1 + abs(standard.A) @ np.abs(x)
    outside = float(np.max(np.abs(s - inside) / size, initial=0.0))
    bend = float(np.max(np.abs(standard.P @ x) / (1 + abs(standard.P) @ np.abs(x)), initial=0.0))
    fall = -float(standard.c @ x)
    if max(outside, bend) > DIRECTION or not fall > 1e3 * DIRECTION * float(np.abs(standard.c) @ np.abs(x)):
        return ""
    return f"from a feasible point the objective falls by {fall:.6g} a unit along a direction of the feasible set"


def evaluate(form: Conic, point: dict[str, NDArray[Any]]) -> tuple[float, float]:
    """(objective in the minimising sense, largest scaled violation) of a point, by CVXPY's expressions."""
    import cvxpy as cp

    kept = {name: variable.value for name, variable in form.variables.items()}
    try:
        worst = 0.0
        for name, variable in form.variables.items():
            value = np.asarray(point[name], float).reshape(variable.shape)
            variable.save_value(value)
            domain = np.abs(value - variable.project(value)) / (1 + np.abs(value).max(initial=0.0))
            worst = max(worst, float(np.max(domain, initial=0.0)))
        violations = [_violation(row) for row in form.problem.constraints]
        objective = float(np.asarray(form.problem.objective.expr.value).item())
    finally:
        for name, variable in form.variables.items():
            variable.save_value(kept[name])
    sign = -1.0 if isinstance(form.problem.objective, cp.Maximize) else 1.0
    return sign * objective, float(np.max([worst, *violations]))


def _whole(form: Conic, point: dict[str, NDArray[Any]]) -> bool:
    """Every variable has as many finite numbers as it needs."""
    return all(
        name in point and np.size(point[name]) == variable.size and bool(np.all(np.isfinite(point[name])))
        for name, variable in form.variables.items()
    )


def _violation(row: Any) -> float:
    """The largest violation of a constraint, scaled by 1 + the size of its sides."""
    import cvxpy as cp

    sides = [np.asarray(argument.value, float) for argument in row.args]
    if isinstance(row, (cp.constraints.Inequality, cp.constraints.Equality)):
        left, right = np.broadcast_arrays(*sides)
        over = left - right
        over = np.abs(over) if isinstance(row, cp.constraints.Equality) else np.maximum(over, 0.0)
        return float(np.max(over / (1 + np.abs(left) + np.abs(right)), initial=0.0))
    size = 1 + max(float(np.abs(side).max(initial=0.0)) for side in sides)
    return float(np.max(row.violation(), initial=0.0)) / size


def prove(form: Conic, answer: Answer, tol: Tolerances) -> Proof:
    proof = Proof(convex=True)
    point = answer.point
    if point is not None and _whole(form, point):
        proof.objective, proof.violation = evaluate(form, point)
    elif point is not None:
        proof.objective = math.nan
    holds = proof.objective is not None and math.isfinite(proof.objective) and proof.violation <= tol.feasibility
    standard = form.standard
    if not holds:
        proof.reason = prove_infeasible(standard, np.asarray(answer.ray.get("dual", ()), float))
        proof.infeasible = bool(proof.reason)
        return proof
    if answer.claim is Claim.UNBOUNDED:
        proof.reason = prove_unbounded(standard, np.asarray(answer.ray.get("primal", ()), float))
        proof.unbounded = bool(proof.reason)
        return proof
    assert proof.objective is not None and point is not None
    largest = max((float(np.abs(value).max(initial=0.0)) for value in point.values()), default=0.0)
    bound = best_bound(standard, answer, REACH * (1 + largest), proof.objective, tol)
    if math.isfinite(bound.value):
        proof.bound = bound.value
        if bound.note:
            proof.notes.append(bound.note)
    return proof
