"""OSQP: operator splitting for convex quadratic programs, with its solution polished.

Stellato, Banjac, Goulart, Bemporad and Boyd, "OSQP: an operator splitting solver for quadratic programs", Math.
Program. Comput. 12 (2020). OSQP's constraint is l ≤ [A; I] x ≤ u with P x + c + [A; I]ᵀ y = 0, so the form's
multipliers are −y.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from optdsl.backends.base import Assumption, Backend, IterativeOptions, Options, Paper, Trait
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.linear import LinearProgram, QuadraticProgram
from optdsl.run.run import Run

#: Iterations between two looks at limits, interrupts and progress.
CHUNK = 2000


class OsqpOptions(IterativeOptions):
    tol: float = Field(1e-9, gt=0, description="absolute and relative tolerance of the residuals")
    max_iter: int = Field(200_000, ge=1, description="largest number of iterations")
    polish: bool = Field(True, description="solve the equations of the active set at the end")
    rho: float = Field(0.1, gt=0, description="first step size of the splitting")


STOPS = {
    "OSQP_SOLVED": (StopKind.CONVERGED, Claim.OPTIMAL),
    "OSQP_SOLVED_INACCURATE": (StopKind.STALLED, Claim.NONE),
    "OSQP_PRIMAL_INFEASIBLE": (StopKind.CONVERGED, Claim.INFEASIBLE),
    "OSQP_PRIMAL_INFEASIBLE_INACCURATE": (StopKind.STALLED, Claim.INFEASIBLE),
    "OSQP_DUAL_INFEASIBLE": (StopKind.CONVERGED, Claim.UNBOUNDED),
    "OSQP_DUAL_INFEASIBLE_INACCURATE": (StopKind.STALLED, Claim.UNBOUNDED),
    "OSQP_MAX_ITER_REACHED": (StopKind.ITERATION_LIMIT, Claim.NONE),
}


class Osqp(Backend):
    name = "osqp"
    forms = (QuadraticProgram, LinearProgram)
    Options: ClassVar[type[Options]] = OsqpOptions
    summary = "operator splitting with polishing"
    assumes = (
        Assumption(
            "convex",
            lambda form: getattr(form, "convex", True) is not False,
            "the quadratic objective is not convex",
        ),
    )
    guarantees = "a global optimum up to the tolerance of its residuals"
    traits = frozenset({Trait.EXACT, Trait.WARM_START})
    paper = Paper("OSQP: an operator splitting solver for quadratic programs", "arXiv:1711.08013")
    package = "osqp"
    preference = 40

    def solve(self, form: LinearProgram, options: OsqpOptions, run: Run) -> Answer:
        import osqp

        m, n = form.A.shape
        P = getattr(form, "P", None)
        bounded = np.flatnonzero(np.isfinite(form.lower) | np.isfinite(form.upper))
        rows = sp.csc_matrix(sp.vstack([form.A, sp.eye_array(n, format="csr")[bounded]]))
        lower, upper = (
            np.concatenate([side, limit[bounded]])
            for side, limit in ((form.row_lower, form.lower), (form.row_upper, form.upper))
        )
        if (lower > upper).any():
            return Answer(Stop(StopKind.CONVERGED, "a lower side exceeds its upper side"), Claim.INFEASIBLE)
        solver = osqp.OSQP()
        solver.setup(
            P=sp.csc_matrix((n, n)) if P is None else sp.csc_matrix(sp.triu(P)),
            q=form.c,
            A=rows,
            l=lower,
            u=upper,
            verbose=False,
            eps_abs=options.tol,
            eps_rel=options.tol,
            eps_prim_inf=min(1e-6, 100 * options.tol),
            eps_dual_inf=min(1e-6, 100 * options.tol),
            max_iter=min(CHUNK, options.max_iter),
            rho=options.rho,
        )
        if form.start is not None:
            solver.warm_start(x=form.start)
        iterations, stop = 0, None
        while stop is None:
            remaining = run.remaining
            if remaining is not None:
                solver.update_settings(time_limit=max(1e-3, remaining))
            result = solver.solve(raise_error=False)
            iterations += int(result.info.iter)
            residuals = {"primal": float(result.info.prim_res), "dual": float(result.info.dual_res)}
            run.report(iterations, float(result.info.obj_val) + form.c0, **residuals)
            status = osqp.SolverStatus(result.info.status_val).name
            kind, claim = STOPS.get(status, (StopKind.FAILED, Claim.NONE))
            limit = run.stop()
            if kind is not StopKind.ITERATION_LIMIT and status != "OSQP_TIME_LIMIT_REACHED":
                stop = Stop(kind, str(result.info.status))
            elif limit is not None:
                stop = limit
            elif iterations >= options.max_iter:
                stop = Stop(StopKind.ITERATION_LIMIT, f"iteration limit of {options.max_iter} reached")
        if claim is Claim.OPTIMAL and options.polish and np.any(np.abs(result.y) > options.tol):
            solver.update_settings(polishing=True)
            result = solver.solve(raise_error=False)
        answer = Answer(stop, claim, iterations=iterations)
        if claim is Claim.INFEASIBLE:
            answer.ray["dual"] = -np.asarray(result.prim_inf_cert)[:m]
            return answer
        if claim is Claim.UNBOUNDED:
            nearest = Osqp().solve(_nearest(form), options, run)
            if nearest.claim is Claim.INFEASIBLE:
                return nearest
            answer.ray["primal"] = np.array(result.dual_inf_cert)
            if nearest.claim is Claim.OPTIMAL:
                answer.point, answer.objective = nearest.point, form.objective(nearest.point)
            return answer
        bounds = np.zeros(n)
        bounds[bounded] = -np.asarray(result.y)[m:]
        answer.point = np.array(result.x)
        answer.objective = form.objective(answer.point)
        answer.dual = {"rows": -np.asarray(result.y)[:m], "bounds": bounds}
        return answer


def _nearest(form: LinearProgram) -> QuadraticProgram:
    """The program of the feasible point of least length."""
    n = form.c.size
    return QuadraticProgram(c=np.zeros(n), **form.constraints, P=sp.eye_array(n, format="csc"), convex=True)
