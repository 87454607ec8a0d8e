"""Outer approximation: convex programs bounded, and proven empty, by the linear program of their linearisations.

At any point p a convex objective has f(w) ≥ f(p) + ∇f(p)·(w − p), and a convex row g_i(w) ≤ U_i lies in the half-space
g_i(p) + ∇g_i(p)·(w − p) ≤ U_i (Kelley, "The cutting-plane method for solving convex programs", J. SIAM 8, 1960). So the
linearisations at any points form a relaxation, and what is proven of it (`duality`, `branching`) holds for the program.
With whole numbers, points are added where the relaxation's optimum lies (Westerlund & Pettersson, "An extended cutting
plane method for solving convex MINLP problems", Comput. Chem. Eng. 19, 1995) until it cannot beat the answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from optdsl.certify import branching
from optdsl.certify.duality import best_bound, contradiction, least_violation, polyhedron, reach
from optdsl.certify.record import Tolerances
from optdsl.forms.answer import Answer, Stop, StopKind
from optdsl.forms.linear import LinearProgram, MixedInteger
from optdsl.forms.nonlinear import Nonlinear

Vector = NDArray[np.float64]

#: Limits of the search for cutting planes.
ROUNDS, SECONDS = 200, 20.0
#: Largest number of variables for Newton's steps on the first-order conditions.
POLISHED = 500


@dataclass(frozen=True)
class Point:
    """Everything recomputed at x: f, ∇f (n,), g (m,), its Jacobian (m, n)."""

    x: Vector
    f: float
    grad: Vector
    g: Vector
    J: sp.csr_array

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.f) and all(np.isfinite(a).all() for a in (self.grad, self.g, self.J.data)))


def evaluate(form: Nonlinear, x: Vector) -> Point:
    call = form.functions
    m = len(form.row_lower)
    J = sp.csr_array(call["jac"](x).sparse()) if m else sp.csr_array((0, len(x)))
    g = np.array(call["g"](x), dtype=float).ravel()
    return Point(x, float(call["f"](x)), np.array(call["grad"](x), dtype=float).ravel(), g, J)


def relaxation(form: Nonlinear, p: Point) -> LinearProgram:
    """The linearisations at one point, in the variables of the form."""
    shift = p.J @ p.x - p.g
    return LinearProgram(
        c=p.grad, c0=p.f - float(p.grad @ p.x), A=p.J, row_lower=form.row_lower + shift,
        row_upper=form.row_upper + shift, lower=form.lower, upper=form.upper,
    )  # fmt: skip


def master(form: Nonlinear, points: Sequence[Point]) -> MixedInteger:
    """The linearisations at several points, in (x, t): min t with t ≥ every linearisation of f."""
    n = len(form.lower)
    parts = [relaxation(form, p) for p in points]
    cuts = sp.csr_array(np.column_stack([np.stack([r.c for r in parts]), np.full(len(parts), -1.0)]))
    rows = sp.vstack([r.A for r in parts])
    low, high = (np.concatenate([getattr(r, side) for r in parts]) for side in ("row_lower", "row_upper"))
    return MixedInteger(
        c=np.append(np.zeros(n), 1.0),
        A=sp.csr_array(sp.vstack([cuts, sp.hstack([rows, sp.csr_array((rows.shape[0], 1))])])),
        row_lower=np.concatenate([np.full(len(parts), -np.inf), low]),
        row_upper=np.concatenate([[-r.c0 for r in parts], high]),
        lower=np.append(form.lower, -np.inf),
        upper=np.append(form.upper, np.inf),
        integer=np.append(form.integer, False),
    )


def bound(form: Nonlinear, p: Point, rows: Sequence[Vector], tol: Tolerances) -> tuple[float, str] | None:
    """The best lower bound on a continuous convex program, and the note on what it rests on; None where none is finite.

    From the linearisations at p with any of the multipliers `rows` (m,) or fitted ones; where that does not meet f(p),
    from those at a point near by, since variables without bounds ask for a gradient that vanishes to rounding."""
    found = [_from(form, p, y, tol) for y in rows]
    goal = p.f - tol.gap * max(1.0, abs(p.f))
    if max(found)[0] < goal and len(p.x) <= POLISHED:
        for y in rows:
            nearby = polished(form, p, y)
            if nearby is not None:
                found.append(_to_rounding(form, *nearby))
    best = max(found)
    return best if np.isfinite(best[0]) else None


def _from(form: Nonlinear, p: Point, y: Vector, tol: Tolerances) -> tuple[float, str]:
    program = relaxation(form, p)
    best = best_bound(program, polyhedron(program), Answer(Stop(StopKind.CONVERGED), dual={"rows": y}), p.x, tol)
    return float(best.value), best.minimum.note


def _to_rounding(form: Nonlinear, p: Point, y: Vector) -> tuple[float, str]:
    """The bound from multipliers that make the gradient vanish to rounding, whose scale is |∇f| + |∇²L| |x|."""
    program = relaxation(form, p)
    size = np.abs(p.grad) + np.abs(form.functions["hess"](p.x, 1.0, -y).full()) @ np.abs(p.x)
    found = polyhedron(program).minimum(p.grad, y, reach(p.x), size)
    return float(program.c0 + found.value), found.note


def polished(form: Nonlinear, p: Point, y: Vector) -> tuple[Point, Vector] | None:
    """(x, y) after two Newton steps on ∇f − Jᵀy = 0, g_A = side over the pressing rows A and the variables away from
    their bounds; None where a step leaves the domain."""
    start, y = p, y.copy()
    size = 1e-7 * (1.0 + float(np.max(np.abs(p.grad), initial=0.0)))
    held = np.flatnonzero((form.row_lower == form.row_upper) | (np.abs(y) > size))
    side = np.where(y > 0, form.row_lower, form.row_upper)[held]
    near = 1e-6 * (1.0 + np.abs(p.x))
    free = np.flatnonzero((p.x - form.lower > near) & (form.upper - p.x > near))
    if not np.isfinite(side).all() or not len(free):
        return None
    k = len(held)
    y = np.where(np.isin(np.arange(len(y)), held), y, 0.0)
    for _ in range(2):
        H = np.array(form.functions["hess"](p.x, 1.0, -y).full(), dtype=float)[np.ix_(free, free)]
        A = p.J[held][:, free].toarray()
        system = np.block([[H, -A.T], [A, np.zeros((k, k))]])
        residual = np.concatenate([(p.grad - p.J.T @ y)[free], p.g[held] - side])
        step = np.linalg.lstsq(system, -residual, rcond=1e-13)[0]
        x = p.x.copy()
        x[free] += step[: len(free)]
        y[held] += step[len(free) :]
        p = evaluate(form, x)
        if not p.finite or np.abs(p.x - start.x).max() > 1e-2 * (1.0 + float(np.abs(start.x).max())):
            return None
    return p, y


def empty(form: Nonlinear, p: Point) -> str:
    """Words of a proof that the linearised rows and bounds contradict each other, hence those of the convex program
    too; or ''."""
    if (form.lower > form.upper).any():
        return "a variable's lower bound exceeds its upper bound"
    if (form.row_lower > form.row_upper).any():
        return "a row's lower side exceeds its upper side"
    feasible = polyhedron(relaxation(form, p))
    found = least_violation(feasible)
    farkas = None if found is None else contradiction(feasible, found[1])
    if farkas is None or farkas.value <= 1e-9 * (1.0 + float(np.max(np.abs(p.g), initial=0.0))):
        return ""
    words = f"the rows are convex, and a combination of their linearisations at a point reads 0 ≥ {farkas.value:.6g}"
    return f"{words} ({farkas.note})" if farkas.note else words


@dataclass(frozen=True)
class Branched:
    """`bound` on the program with whole numbers, infinite where it is proven empty; −inf where nothing is proven."""

    bound: float
    words: str


def branched(form: Nonlinear, p: Point, incumbent: float, tol: Tolerances) -> Branched:
    """A bound on a convex program with whole numbers. `incumbent` is the objective of the answer's point, infinite
    where it has none that holds."""
    points, start = [p], time.perf_counter()
    held = np.isfinite(incumbent)
    gap = 0.5 * tol.gap * max(1.0, abs(incumbent)) if held else 0.0
    program = master(form, points)
    for _ in range(ROUNDS):
        if time.perf_counter() - start > SECONDS:
            return Branched(-np.inf, "")
        rows = LinearConstraint(program.A, program.row_lower, program.row_upper)
        found = milp(
            program.c, integrality=program.integer.astype(int), bounds=Bounds(program.lower, program.upper),
            constraints=rows, options={"mip_rel_gap": 1e-9},
        )  # fmt: skip
        if found.status == 2 or (found.status == 0 and held and found.fun >= incumbent - gap):
            break
        if found.status != 0:
            return Branched(-np.inf, "")
        w = evaluate(form, np.where(form.integer, np.round(found.x[:-1]), found.x[:-1]))
        if not w.finite:
            return Branched(-np.inf, "")
        points.append(w)
        program = master(form, points)
    else:
        return Branched(-np.inf, "")
    proof = branching.search(program, polyhedron(program), incumbent, gap, branching.FULL)
    if not proof.finished or proof.better is not None:
        return Branched(-np.inf, "")
    return Branched(
        proof.bound, f"branching over {proof.nodes} nodes on the linearisations at {len(points)} points of a convex program"
    )  # fmt: skip
