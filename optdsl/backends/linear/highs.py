"""HiGHS: simplex and interior point for linear programs, active set for convex quadratic ones, branch and cut.

Huangfu and Hall, "Parallelizing the dual revised simplex method", Math. Program. Comput. 10 (2018). Matrices go in as
arrays. Where HiGHS says `infeasible` or `unbounded` a ray is found as well: by simplex without presolve, or as the
solution of the program of directions.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from optdsl.backends.base import Assumption, Backend, Options, Paper, Trait
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.linear import LinearProgram, MixedInteger, QuadraticProgram
from optdsl.kernels.highs_model import load
from optdsl.run.run import Run

if TYPE_CHECKING:
    import highspy
    from highspy._core import _Highs

#: Seconds between two looks at limits, interrupts and progress.
TICK = 0.1
#: What HiGHS adds to the diagonal of a quadratic; its default of 1e-7 costs a relative gap of some 1e-6.
QUADRATIC_SHIFT = 1e-9


class HighsOptions(Options):
    solver: Literal["choose", "simplex", "ipm"] = Field("choose", description="algorithm for continuous programs")
    presolve: Literal["choose", "on", "off"] = Field("choose", description="simplify the program first")
    mip_gap: float = Field(1e-7, ge=0, description="relative gap at which branch and cut stops")
    threads: int | None = Field(None, ge=1, description="number of threads; the run's, else HiGHS's choice")
    tol: float = Field(1e-7, ge=1e-10, description="primal and dual feasibility tolerance")


class _Watch:
    """Runs a model in a thread of its own, so that signals reach Python, limits hold and progress is told."""

    def __init__(self, h: _Highs, run: Run) -> None:
        import highspy

        self.h, self.run = h, run
        self.stop: Stop | None = None
        self.latest: tuple[int, float | None, dict[str, float]] | None = None
        kinds = highspy.cb.HighsCallbackType
        self._mip = {kinds.kCallbackMipInterrupt, kinds.kCallbackMipLogging}
        h.setCallback(self._look, None)
        for kind in (kinds.kCallbackSimplexInterrupt, kinds.kCallbackIpmInterrupt, *self._mip):
            h.startCallback(kind)

    def _look(self, kind: Any, message: str, out: Any, back: Any, data: Any) -> None:
        if self.stop is not None and back is not None:
            back.user_interrupt = True
        if self.latest is None:
            if kind in self._mip:
                primal = out.mip_primal_bound
                gap = {"gap": float(out.mip_gap)} if np.isfinite(out.mip_gap) else {}
                told = float(primal) if abs(primal) < 1e30 else None
                self.latest = (int(out.mip_node_count), told, gap)
            else:
                steps = max(out.simplex_iteration_count, out.ipm_iteration_count, 0)
                self.latest = (int(steps), float(out.objective_function_value), {})

    def solve(self) -> highspy.HighsModelStatus:
        remaining = self.run.remaining
        if remaining is not None:
            self.h.setOptionValue("time_limit", float(self.h.getRunTime() + remaining))
        thread = threading.Thread(target=self.h.run, daemon=True)
        thread.start()
        try:
            while True:
                thread.join(TICK)
                if not thread.is_alive():
                    break
                self.stop = self.stop or self.run.stop()
                if self.latest is not None:
                    iteration, objective, residuals = self.latest
                    self.latest = None
                    self.run.report(iteration, objective, **residuals)
        finally:
            self.stop = self.stop or (Stop(StopKind.INTERRUPTED) if thread.is_alive() else None)
        return self.h.getModelStatus()


def _stop(status: highspy.HighsModelStatus, watch: _Watch) -> Stop:
    name = status.name
    kinds = {
        "kOptimal": StopKind.CONVERGED,
        "kInfeasible": StopKind.CONVERGED,
        "kUnbounded": StopKind.CONVERGED,
        "kUnboundedOrInfeasible": StopKind.CONVERGED,
        "kTimeLimit": StopKind.TIME_LIMIT,
        "kIterationLimit": StopKind.ITERATION_LIMIT,
        "kSolutionLimit": StopKind.ITERATION_LIMIT,
        "kObjectiveBound": StopKind.ITERATION_LIMIT,
        "kObjectiveTarget": StopKind.ITERATION_LIMIT,
    }
    if watch.stop is not None and name in ("kInterrupt", "kHighsInterrupt", "kTimeLimit", "kUnknown"):
        return watch.stop
    if name == "kTimeLimit":
        return Stop(StopKind.TIME_LIMIT, f"time limit of {watch.run.time_limit:g} s reached")
    return Stop(kinds.get(name, StopKind.FAILED), watch.h.modelStatusToString(status))


def _direction(form: LinearProgram, run: Run) -> NDArray[np.float64] | None:
    """argmin c·d over the directions d of the feasible set with P d = 0 and |d| ≤ 1; None where none improves."""

    def cone(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return {
            "lower": np.where(np.isfinite(lower), 0.0, -np.inf),
            "upper": np.where(np.isfinite(upper), 0.0, np.inf),
        }

    rows, box = cone(form.row_lower, form.row_upper), cone(form.lower, form.upper)
    P, A = getattr(form, "P", None), form.A
    if P is not None:
        A = sp.csr_array(sp.vstack([A, P]))
        rows = {name: np.concatenate([side, np.zeros(form.c.size)]) for name, side in rows.items()}
    program = LinearProgram(
        c=form.c / max(1e-300, float(np.abs(form.c).max(initial=0.0))),
        A=A,
        row_lower=rows["lower"],
        row_upper=rows["upper"],
        lower=np.maximum(box["lower"], -1.0),
        upper=np.minimum(box["upper"], 1.0),
    )
    h = load(program)
    h.setOptionValue("primal_feasibility_tolerance", 1e-10)
    if _Watch(h, run).solve().name != "kOptimal":
        return None
    d = np.array(h.getSolution().col_value)
    return d if program.c @ d < -1e-9 else None


def _feasible_point(form: LinearProgram, run: Run) -> NDArray[np.float64] | None:
    anywhere = np.zeros_like(form.c)
    program = LinearProgram(c=anywhere, **form.constraints)
    if isinstance(form, MixedInteger):
        program = MixedInteger(c=anywhere, **form.constraints, integer=form.integer)
    h = load(program)
    status = _Watch(h, run).solve()
    return np.array(h.getSolution().col_value) if status.name == "kOptimal" else None


def _contradiction(form: LinearProgram, run: Run) -> NDArray[np.float64] | None:
    """Row multipliers that prove the rows and bounds empty: the dual ray of the dual simplex without presolve."""
    h: Any = load(LinearProgram(c=np.zeros_like(form.c), **form.constraints))
    h.setOptionValue("presolve", "off")
    h.setOptionValue("solver", "simplex")
    if _Watch(h, run).solve().name != "kInfeasible":
        return None
    _, has, ray = h.getDualRay()
    return np.array(ray) if has else None


class Highs(Backend):
    name = "highs"
    forms = (LinearProgram, QuadraticProgram, MixedInteger)
    Options: ClassVar[type[Options]] = HighsOptions
    summary = "simplex, interior point, active set, branch and cut"
    assumes = (
        Assumption(
            "convex",
            lambda form: not (isinstance(form, QuadraticProgram) and form.convex is False),
            "the quadratic objective is not convex",
        ),
        Assumption(
            "linear objective with whole numbers",
            lambda form: not (isinstance(form, MixedInteger) and form.P is not None and form.P.nnz > 0),
            "the objective is quadratic and some variables are whole numbers",
        ),
    )
    guarantees = "a global optimum up to the tolerances, or a ray that proves there is none"
    traits = frozenset({Trait.EXACT, Trait.WARM_START})
    paper = Paper("Parallelizing the dual revised simplex method", "doi:10.1007/s12532-017-0130-5")
    package = "highspy"
    preference = 10

    def solve(self, form: LinearProgram, options: HighsOptions, run: Run) -> Answer:
        h = load(form)
        self._configure(h, form, options, run)
        watch = _Watch(h, run)
        status = watch.solve()
        if status.name == "kUnboundedOrInfeasible":
            h.setOptionValue("presolve", "off")
            status = watch.solve()
        answer = self._answer(form, h, watch, status)
        if answer.claim is Claim.UNBOUNDED:
            answer.point = _feasible_point(form, run)
            if answer.point is None and run.stop() is None:
                answer.claim = Claim.INFEASIBLE
            else:
                answer.objective = None if answer.point is None else form.objective(answer.point)
                direction = _direction(form, run)
                answer.ray = {} if direction is None else {"primal": direction}
        if answer.claim is Claim.INFEASIBLE:
            ray = _contradiction(form, run)
            answer.ray = {} if ray is None else {"dual": ray}
        if answer.objective is not None:
            run.report(answer.iterations or 0, answer.objective)
        return answer

    def _configure(self, h: _Highs, form: LinearProgram, options: HighsOptions, run: Run) -> None:
        integer = isinstance(form, MixedInteger)
        threads = options.threads or run.threads
        if options.solver != "choose" and not integer and not isinstance(form, QuadraticProgram):
            h.setOptionValue("solver", options.solver)
        h.setOptionValue("presolve", options.presolve)
        h.setOptionValue("mip_rel_gap", options.mip_gap)
        h.setOptionValue("mip_abs_gap", 0.0)
        h.setOptionValue("primal_feasibility_tolerance", options.tol)
        h.setOptionValue("dual_feasibility_tolerance", options.tol)
        h.setOptionValue("qp_regularization_value", QUADRATIC_SHIFT)
        h.setOptionValue("random_seed", int(run.rng(self.name).integers(2**31 - 1)))
        if threads is not None:
            h.setOptionValue("threads", threads)
        if form.start is not None:
            import highspy

            point = highspy.HighsSolution()
            point.col_value = form.start.tolist()
            h.setSolution(point)

    def _answer(self, form: LinearProgram, h: _Highs, watch: _Watch, status: highspy.HighsModelStatus) -> Answer:
        claims = {"kOptimal": Claim.OPTIMAL, "kInfeasible": Claim.INFEASIBLE, "kUnbounded": Claim.UNBOUNDED}
        info, solution = h.getInfo(), h.getSolution()
        answer = Answer(_stop(status, watch), claims.get(status.name, Claim.NONE))
        counts = {
            "simplex_iterations": info.simplex_iteration_count,
            "ipm_iterations": info.ipm_iteration_count,
            "qp_iterations": info.qp_iteration_count,
            "nodes": info.mip_node_count,
        }
        answer.counts = {name: int(count) for name, count in counts.items() if count > 0}
        answer.iterations = sum(count for name, count in answer.counts.items() if name.endswith("iterations"))
        integer = isinstance(form, MixedInteger)
        if solution.value_valid and answer.claim in (Claim.OPTIMAL, Claim.NONE):
            answer.point = np.array(solution.col_value)
            answer.objective = form.objective(answer.point)
            if answer.claim is Claim.NONE and integer:
                answer.claim = Claim.FEASIBLE
        if solution.dual_valid and not integer:
            answer.dual = {"rows": np.array(solution.row_dual), "bounds": np.array(solution.col_dual)}
        if integer and np.isfinite(info.mip_dual_bound):
            answer.bound = float(info.mip_dual_bound)
        return answer
