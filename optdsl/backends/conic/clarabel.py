"""Clarabel: a primal-dual interior-point method for cones and convex quadratics.

Goulart and Chen, "Clarabel: an interior-point solver for conic programs with quadratic objectives", arXiv:2405.12762.
Its program is min ½xᵀPx + q·x with A x + s = b, s ∈ K and P x + q + Aᵀz = 0, z ∈ K*. Linear and quadratic programs go
in as their rows and bounds; disciplined convex programs as the standard form of `Conic`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from optdsl.backends.base import Assumption, Backend, IterativeOptions, Options, Paper, Trait
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.conic import Conic
from optdsl.forms.linear import LinearProgram, QuadraticProgram
from optdsl.run.run import Run

Vector = NDArray[np.float64]


class ClarabelOptions(IterativeOptions):
    tol: float = Field(1e-9, gt=0, description="tolerance of the residuals and the gap")
    max_iter: int = Field(500, ge=1, description="largest number of iterations")


STOPS = {
    "Solved": (StopKind.CONVERGED, Claim.OPTIMAL),
    "AlmostSolved": (StopKind.STALLED, Claim.OPTIMAL),
    "PrimalInfeasible": (StopKind.CONVERGED, Claim.INFEASIBLE),
    "AlmostPrimalInfeasible": (StopKind.STALLED, Claim.INFEASIBLE),
    "DualInfeasible": (StopKind.CONVERGED, Claim.UNBOUNDED),
    "AlmostDualInfeasible": (StopKind.STALLED, Claim.UNBOUNDED),
    "MaxIterations": (StopKind.ITERATION_LIMIT, Claim.NONE),
    "MaxTime": (StopKind.TIME_LIMIT, Claim.NONE),
    "InsufficientProgress": (StopKind.STALLED, Claim.NONE),
}


@dataclass(frozen=True)
class Program:
    """min ½xᵀPx + q·x subject to b − A x in the product of `cones`, Clarabel's own."""

    P: sp.csc_array
    q: Vector
    A: sp.csc_array
    b: Vector
    cones: list[Any]


@dataclass(frozen=True)
class Solved:
    stop: Stop
    claim: Claim
    x: Vector
    z: Vector
    iterations: int


def interior_point(program: Program, options: ClarabelOptions, run: Run) -> Solved:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = options.max_iter
    for name in ("tol_feas", "tol_gap_abs", "tol_gap_rel", "tol_infeas_abs", "tol_infeas_rel"):
        setattr(settings, name, options.tol)
    if run.remaining is not None:
        settings.time_limit = max(1e-3, run.remaining)
    if run.threads is not None:
        settings.max_threads = run.threads
    P, A = sp.csc_matrix(sp.triu(program.P)), sp.csc_matrix(program.A)
    solver = clarabel.DefaultSolver(P, program.q, A, program.b, program.cones, settings)
    stops: list[Stop] = []

    def look(info: Any) -> bool:
        residuals = {"primal": float(info.res_primal), "dual": float(info.res_dual), "gap": float(info.gap_rel)}
        run.report(int(info.iterations), float(info.cost_primal), **residuals)
        stop = run.stop()
        if stop is not None:
            stops.append(stop)
        return stop is not None

    solver.set_termination_callback(look)
    result = solver.solve()
    status = str(result.status)
    kind, claim = STOPS.get(status, (StopKind.FAILED, Claim.NONE))
    stop = stops[0] if stops and claim is Claim.NONE else Stop(kind, status)
    return Solved(stop, claim, np.array(result.x), np.array(result.z), int(result.iterations))


@dataclass(frozen=True)
class Sides:
    """The finite sides of rows and bounds as one system: equalities, then ≤ and ≥ turned to ≤."""

    equal: NDArray[np.intp]
    above: NDArray[np.intp]
    below: NDArray[np.intp]

    @classmethod
    def of(cls, lower: Vector, upper: Vector) -> Sides:
        equal = lower == upper
        above, below = np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal
        return cls(np.flatnonzero(equal), np.flatnonzero(above), np.flatnonzero(below))

    def back(self, z: Vector, size: int) -> Vector:
        """The form's multipliers: the change of the minimum per unit of the side."""
        e, a = self.equal.size, self.equal.size + self.above.size
        y = np.zeros(size)
        y[self.equal] = -z[:e]
        y[self.above] -= z[e:a]
        y[self.below] += z[a:]
        return y


def _quadratic(form: LinearProgram, options: ClarabelOptions, run: Run) -> Answer:
    import clarabel

    m, n = form.A.shape
    rows = sp.csr_array(sp.vstack([form.A, sp.eye_array(n, format="csr")]))
    lower, upper = np.concatenate([form.row_lower, form.lower]), np.concatenate([form.row_upper, form.upper])
    sides = Sides.of(lower, upper)
    A = sp.csc_array(sp.vstack([rows[sides.equal], rows[sides.above], -rows[sides.below]]))
    b = np.concatenate([upper[sides.equal], upper[sides.above], -lower[sides.below]])
    ordered = sides.above.size + sides.below.size
    cones = [clarabel.ZeroConeT(sides.equal.size), clarabel.NonnegativeConeT(ordered)]
    P = getattr(form, "P", None)
    program = Program(sp.csc_array((n, n)) if P is None else P, form.c, A, b, cones)
    found, feasible = solve(program, options, run)
    answer = Answer(found.stop, found.claim, iterations=found.iterations)
    y = sides.back(found.z, m + n)
    if found.claim is Claim.INFEASIBLE:
        answer.ray["dual"] = y[:m]
        return answer
    answer.point = found.x
    if found.claim is Claim.UNBOUNDED:
        answer.ray["primal"] = found.x
        answer.point = feasible
    else:
        answer.dual = {"rows": y[:m], "bounds": y[m:]}
    answer.objective = None if answer.point is None else form.objective(answer.point)
    return answer


def solve(program: Program, options: ClarabelOptions, run: Run) -> tuple[Solved, Vector | None]:
    """The program solved; where it is unbounded with the feasible point of least length, for a direction proves nothing
    of an empty set: then what is found is that it is infeasible."""
    found = interior_point(program, options, run)
    if found.claim is not Claim.UNBOUNDED:
        return found, None
    n = program.q.size
    nearest = Program(sp.eye_array(n, format="csc"), np.zeros(n), program.A, program.b, program.cones)
    point = interior_point(nearest, options, run)
    if point.claim is Claim.INFEASIBLE:
        return point, None
    return found, point.x if point.claim is Claim.OPTIMAL else None


def _conic(form: Conic, options: ClarabelOptions, run: Run) -> Answer:
    import clarabel

    standard = form.standard
    K = standard.cones
    cones = [
        *([clarabel.ZeroConeT(K.zero)] if K.zero else []),
        *([clarabel.NonnegativeConeT(K.nonneg)] if K.nonneg else []),
        *(clarabel.SecondOrderConeT(k) for k in K.soc),
        *(clarabel.PSDTriangleConeT(k) for k in K.psd),
        *(clarabel.ExponentialConeT() for _ in range(K.exp)),
        *(clarabel.GenPowerConeT(list(alpha), 1) for alpha in K.powers),
    ]
    program = Program(standard.P, standard.c, standard.A, standard.b, cones)
    found, feasible = solve(program, options, run)
    return conic_answer(form, found.stop, found.claim, found.x, found.z, found.iterations, feasible)


def conic_answer(
    form: Conic, stop: Stop, claim: Claim, x: Vector, z: Vector, iterations: int, feasible: Vector | None
) -> Answer:
    """The answer in the words of `Conic`; x and z are a ray where the claim is infeasible or unbounded, and `feasible`
    then a point where one is known."""
    answer = Answer(stop, claim, iterations=iterations)
    if claim is Claim.INFEASIBLE:
        answer.ray = {"dual": z}
        return answer
    if claim is Claim.UNBOUNDED:
        directions, _ = form.named(x)
        answer.ray = {"primal": x} | {f"direction of {name}": part for name, part in directions.items()}
        if feasible is None:
            return answer
        x = feasible
    standard = form.standard
    answer.point, duals = form.named(x, z)
    answer.objective = float(standard.c @ x + 0.5 * (x @ (standard.P @ x)) + standard.d)
    if claim is not Claim.UNBOUNDED:
        answer.dual = {"cone": z, "standard": x, **duals}
    return answer


class Clarabel(Backend):
    name = "clarabel"
    forms = (QuadraticProgram, LinearProgram, Conic)
    Options: ClassVar[type[Options]] = ClarabelOptions
    summary = "primal-dual interior point for cones and convex quadratics"
    assumes = (
        Assumption(
            "convex",
            lambda form: getattr(form, "convex", True) is not False,
            "the quadratic objective is not convex",
        ),
    )
    guarantees = "a global optimum up to the tolerance, or a ray that proves there is none"
    traits = frozenset({Trait.EXACT})
    paper = Paper("Clarabel: An interior-point solver for conic programs with quadratic objectives", "arXiv:2405.12762")
    package = "clarabel"
    preference = 20

    def solve(self, form: LinearProgram | Conic, options: ClarabelOptions, run: Run) -> Answer:
        return _conic(form, options, run) if isinstance(form, Conic) else _quadratic(form, options, run)
