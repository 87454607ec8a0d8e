"""IPOPT through CasADi: a primal-dual interior-point method with a filter line search and exact sparse Hessians.

Wächter and Biegler, "On the implementation of an interior-point filter line-search algorithm for large-scale nonlinear
programming", Math. Program. 106 (2006).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from optdsl.backends.base import Assumption, Backend, IterativeOptions, Options, Paper, Trait
from optdsl.backends.nonlinear.casadi_solver import answer, nlpsol
from optdsl.forms.answer import Answer, Claim, StopKind
from optdsl.forms.nonlinear import Nonlinear
from optdsl.run.run import Run

STOPS = {
    "Solve_Succeeded": (StopKind.CONVERGED, Claim.STATIONARY),
    "Solved_To_Acceptable_Level": (StopKind.STALLED, Claim.NONE),
    "Feasible_Point_Found": (StopKind.CONVERGED, Claim.FEASIBLE),
    "Infeasible_Problem_Detected": (StopKind.CONVERGED, Claim.INFEASIBLE),
    "Diverging_Iterates": (StopKind.CONVERGED, Claim.UNBOUNDED),
    "Search_Direction_Becomes_Too_Small": (StopKind.STALLED, Claim.NONE),
    "Restoration_Failed": (StopKind.STALLED, Claim.NONE),
    "Maximum_Iterations_Exceeded": (StopKind.ITERATION_LIMIT, Claim.NONE),
    "Maximum_CpuTime_Exceeded": (StopKind.TIME_LIMIT, Claim.NONE),
    "Maximum_WallTime_Exceeded": (StopKind.TIME_LIMIT, Claim.NONE),
    "User_Requested_Stop": (StopKind.INTERRUPTED, Claim.NONE),
}


class IpoptOptions(IterativeOptions):
    tol: float = Field(1e-9, gt=0, description="tolerance of the scaled optimality error")
    max_iter: int = Field(3000, ge=0, description="largest number of iterations")
    hessian: Literal["exact", "limited-memory"] = Field("exact", description="second derivatives, or quasi-Newton")
    mu_strategy: Literal["monotone", "adaptive"] = Field("adaptive", description="how the barrier parameter falls")


class Ipopt(Backend):
    name = "ipopt"
    forms = (Nonlinear,)
    Options: ClassVar[type[Options]] = IpoptOptions
    summary = "interior point with filter line search"
    assumes = (
        Assumption("continuous", lambda form: not form.integer.any(), "some variables are restricted to whole numbers"),
    )
    guarantees = "a point that satisfies the first-order conditions; global where the problem is convex"
    traits = frozenset({Trait.LOCAL, Trait.WARM_START})
    paper = Paper(
        "On the implementation of an interior-point filter line-search algorithm for large-scale nonlinear programming",
        "doi:10.1007/s10107-004-0559-y",
    )
    package = "casadi"
    preference = 10

    def solve(self, form: Nonlinear, options: IpoptOptions, run: Run) -> Answer:
        settings: dict[str, object] = {
            "ipopt.print_level": 5 if run.verbose else 0,
            "ipopt.sb": "yes",
            "ipopt.tol": options.tol,
            "ipopt.max_iter": options.max_iter,
            "ipopt.hessian_approximation": options.hessian,
            "ipopt.mu_strategy": options.mu_strategy,
            "ipopt.bound_relax_factor": 0.0,
            "ipopt.honor_original_bounds": "yes",
        }
        if run.remaining is not None:
            settings["ipopt.max_wall_time"] = max(run.remaining, 1e-3)
        found, stats, watch = nlpsol("ipopt", form, settings, run)
        return answer(found, stats, watch, STOPS, run)
