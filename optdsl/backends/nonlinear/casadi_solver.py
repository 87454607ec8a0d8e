"""What IPOPT and Bonmin share: one call of CasADi's `nlpsol`, watched at every iterate."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.nonlinear import Nonlinear
from optdsl.run.run import Run

Vector = NDArray[np.float64]

#: A violation up to this size does not count against a point.
TOLERATED = 1e-6


def violation(form: Nonlinear, x: Vector, g: Vector) -> float:
    """Largest excess over a side or bound."""
    rows = np.maximum(form.row_lower - g, g - form.row_upper)
    box = np.maximum(form.lower - x, x - form.upper)
    return float(max(np.max(rows, initial=0.0), np.max(box, initial=0.0)))


class Watch:
    """Reports every iterate, keeps the best one seen, and says when to stop."""

    def __init__(self, form: Nonlinear, run: Run) -> None:
        self.form, self.run = form, run
        self.best: Vector | None = None
        self.best_merit = (float("inf"), float("inf"))
        self.iteration = 0
        self.stop: Stop | None = None

    def __call__(self, x: Vector, f: float, g: Vector) -> bool:
        """True to go on."""
        excess = self.keep(x, f, g)
        self.run.report(self.iteration, f, infeasibility=excess)
        self.iteration += 1
        self.stop = self.run.stop()
        return self.stop is None

    def keep(self, x: Vector, f: float, g: Vector) -> float:
        """Keeps x where it is the best point so far; its violation."""
        excess = violation(self.form, x, g)
        merit = (excess if excess > TOLERATED else 0.0, f)
        if np.isfinite(f) and np.isfinite(excess) and merit <= self.best_merit:
            self.best, self.best_merit = x.copy(), merit
        return excess

    def merit(self, x: Vector, f: float) -> tuple[float, float]:
        """(violation above what is tolerated, objective): the smaller point is the better one."""
        if not (np.isfinite(x).all() and np.isfinite(f)):
            return float("inf"), float("inf")
        excess = violation(self.form, x, np.array(self.form.functions["g"](x), dtype=float).ravel())
        return (excess if excess > TOLERATED else 0.0), f


def callback(watch: Watch) -> Any:
    """The watch as a CasADi callback."""
    import casadi as ca

    n, m = len(watch.form.lower), len(watch.form.row_lower)

    class Iteration(ca.Callback):
        def __init__(self) -> None:
            ca.Callback.__init__(self)
            self.construct("iteration", {})

        def get_n_in(self) -> int:
            return int(ca.nlpsol_n_out())

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return str(ca.nlpsol_out(i))

        def get_name_out(self, i: int) -> str:
            return "ret"

        def get_sparsity_in(self, i: int) -> Any:
            size = {"x": n, "lam_x": n, "g": m, "lam_g": m, "f": 1}.get(ca.nlpsol_out(i), 0)
            return ca.Sparsity.dense(size, 1) if size else ca.Sparsity(0, 0)

        def eval(self, arg: Any) -> list[int]:
            x, f, g = (np.array(arg[i], dtype=float).ravel() for i in range(3))
            return [0 if watch(x, float(f[0]), g) else 1]

    return Iteration()


def nlpsol(
    plugin: str, form: Nonlinear, options: dict[str, Any], run: Run
) -> tuple[dict[str, Any], dict[str, Any], Watch]:
    """(solution, statistics, watch). The solution's arrays are float64 vectors."""
    import casadi as ca

    watch = Watch(form, run)
    watcher = callback(watch)
    settings = {
        "print_time": False, "error_on_fail": False, "show_eval_warnings": run.verbose, "calc_lam_p": False, **options,
    }  # fmt: skip
    if plugin == "ipopt":
        settings["iteration_callback"] = watcher
    if form.integer.any():
        settings["discrete"] = form.integer.tolist()
    solver = ca.nlpsol("solver", plugin, {"x": form.x, "f": form.f, "g": form.g}, settings)
    found = solver(x0=form.start, lbx=form.lower, ubx=form.upper, lbg=form.row_lower, ubg=form.row_upper)
    out = {k: np.array(v, dtype=float).ravel() for k, v in found.items()}
    return out, solver.stats(), watch


def answer(
    found: dict[str, Any], stats: dict[str, Any], watch: Watch, stops: dict[str, tuple[StopKind, Claim]], run: Run
) -> Answer:
    """CasADi's multipliers satisfy ∇f + Jᵀ lam_g + lam_x = 0; the form's are their negatives. Where the run did not end
    by itself, the best point seen is the answer."""
    form = watch.form
    status = str(stats.get("return_status", ""))
    kind, claim = stops.get(status, (StopKind.FAILED, Claim.NONE))
    words = "" if claim in (Claim.OPTIMAL, Claim.STATIONARY) else status.replace("_", " ").lower()
    stop = watch.stop or Stop(kind, words)
    if watch.stop is not None:
        claim = Claim.NONE
    elif kind is StopKind.TIME_LIMIT and run.time_limit is not None:
        stop = Stop(kind, f"time limit of {run.time_limit:g} s reached")
    point, dual = found["x"], {"rows": -found["lam_g"], "bounds": -found["lam_x"]}
    objective = float(found["f"][0])
    best = watch.best_merit
    if stop.kind is not StopKind.CONVERGED and watch.best is not None and not best > watch.merit(point, objective):
        point, dual, objective = watch.best, {}, best[1]
    if claim is Claim.INFEASIBLE:
        dual = {}
    if "rows" in dual:
        dual["bounds"] = _of_fixed(form, point, dual["rows"], dual["bounds"])
    calls = {name: int(stats[key]) for key, name in COUNTS.items() if key in stats}
    run.evaluated(calls.get("f", 0))
    return Answer(
        stop=stop,
        claim=claim,
        point=point if np.isfinite(point).all() else None,
        objective=objective,
        dual=dual,
        iterations=int(stats.get("iter_count", watch.iteration) or 0),
        counts=calls,
        info={"status": status},
    )


def _of_fixed(form: Nonlinear, x: Vector, rows: Vector, bounds: Vector) -> Vector:
    """Variables with equal bounds are taken out by IPOPT; their multipliers are what ∇f = Jᵀ rows + bounds leaves."""
    fixed = form.lower == form.upper
    if not fixed.any():
        return bounds
    call = form.functions
    left = np.array(call["grad"](x), dtype=float).ravel() - sp.csr_array(call["jac"](x).sparse()).T @ rows
    return np.where(fixed, left, bounds)


COUNTS = {"n_call_nlp_f": "f", "n_call_nlp_grad_f": "gradient", "n_call_nlp_g": "rows", "n_call_nlp_jac_g": "jacobian",
          "n_call_nlp_hess_l": "hessian"}  # fmt: skip
