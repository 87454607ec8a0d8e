"""Bonmin through CasADi: branch and bound over nonlinear relaxations for programs with whole numbers.

Bonami et al., "An algorithmic framework for convex mixed integer nonlinear programs", Discrete Optimization 5 (2008).
"""

from __future__ import annotations

import io
from contextlib import nullcontext, redirect_stdout
from typing import ClassVar, Literal

from pydantic import Field

from optdsl.backends.base import Assumption, Backend, Options, Paper, Trait
from optdsl.backends.nonlinear.casadi_solver import answer, nlpsol
from optdsl.forms.answer import Answer, Claim, StopKind
from optdsl.forms.nonlinear import Nonlinear
from optdsl.run.run import Run

STOPS = {
    "SUCCESS": (StopKind.CONVERGED, Claim.OPTIMAL),
    "INFEASIBLE": (StopKind.CONVERGED, Claim.INFEASIBLE),
    "CONTINUOUS_UNBOUNDED": (StopKind.CONVERGED, Claim.UNBOUNDED),
    "LIMIT_EXCEEDED": (StopKind.TIME_LIMIT, Claim.NONE),
    "USER_INTERRUPT": (StopKind.INTERRUPTED, Claim.NONE),
    "MINLP_ERROR": (StopKind.FAILED, Claim.NONE),
}


class BonminOptions(Options):
    gap: float = Field(1e-9, ge=0, description="allowable relative gap")
    algorithm: Literal["B-BB", "B-OA", "B-Hyb", "B-QG"] = Field("B-BB", description="Bonmin's algorithm")
    node_limit: int = Field(1_000_000, ge=1, description="largest number of nodes")


class Bonmin(Backend):
    name = "bonmin"
    forms = (Nonlinear,)
    Options: ClassVar[type[Options]] = BonminOptions
    summary = "branch and bound over nonlinear relaxations"
    assumes = (
        Assumption("whole numbers", lambda form: form.integer.any(), "no variable is restricted to whole numbers"),
    )
    guarantees = "global where every relaxation is convex; otherwise a good feasible point"
    traits = frozenset({Trait.LOCAL, Trait.WARM_START})
    paper = Paper(
        "An algorithmic framework for convex mixed integer nonlinear programs", "doi:10.1016/j.disopt.2006.10.011"
    )
    package = "casadi"
    preference = 20

    def solve(self, form: Nonlinear, options: BonminOptions, run: Run) -> Answer:
        settings: dict[str, object] = {
            "bonmin.allowable_fraction_gap": options.gap,
            "bonmin.algorithm": options.algorithm,
            "bonmin.node_limit": options.node_limit,
            "bonmin.bb_log_level": 1 if run.verbose else 0,
            "bonmin.nlp_log_level": 0,
            "bonmin.fp_log_level": 0,
            "bonmin.lp_log_level": 0,
            "bonmin.milp_log_level": 0,
            "bonmin.oa_log_level": 0,
            "bonmin.print_level": 0,
            "bonmin.sb": "yes",
        }
        if run.remaining is not None:
            settings["bonmin.time_limit"] = max(run.remaining, 1e-3)
        # Bonmin's own log levels do not reach its table of nonlinear relaxations
        with nullcontext() if run.verbose else redirect_stdout(io.StringIO()):
            found, stats, watch = nlpsol("bonmin", form, settings, run)
        out = answer(found, stats, watch, STOPS, run)
        out.dual = {}
        if out.point is not None:
            run.report(0, out.objective)
        if out.claim is Claim.OPTIMAL and not form.convex:
            out.claim = Claim.FEASIBLE
        return out
