"""SCS: operator splitting on the homogeneous embedding, for cone programs too large for an interior point.

O'Donoghue, "Operator splitting for a homogeneous embedding of the linear complementarity problem", SIAM J. Optim. 31
(2021), arXiv:2004.02177. Program, multipliers and rays are those of `Conic.standard`; only the order of the entries of
a semidefinite cone differs: SCS takes the lower triangle by columns.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pydantic import Field

from optdsl.backends.base import Assumption, Backend, IterativeOptions, Options, Paper, Trait
from optdsl.backends.conic.clarabel import conic_answer
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.conic import Cones, Conic, Standard
from optdsl.run.run import Run

Vector = NDArray[np.float64]

#: Iterations between two looks at limits, interrupts and progress.
CHUNK = 5000


class ScsOptions(IterativeOptions):
    tol: float = Field(1e-8, gt=0, description="absolute and relative tolerance of residuals and gap")
    max_iter: int = Field(200_000, ge=1, description="largest number of iterations")


STOPS = {
    1: (StopKind.CONVERGED, Claim.OPTIMAL),
    2: (StopKind.ITERATION_LIMIT, Claim.NONE),
    -1: (StopKind.CONVERGED, Claim.UNBOUNDED),
    -2: (StopKind.CONVERGED, Claim.INFEASIBLE),
    -6: (StopKind.ITERATION_LIMIT, Claim.NONE),
    -7: (StopKind.ITERATION_LIMIT, Claim.NONE),
    -5: (StopKind.INTERRUPTED, Claim.NONE),
}


def order(cones: Cones, rows: int) -> NDArray[np.intp]:
    """`order[i]` is the row of the standard form that SCS's row i is."""
    index = np.arange(rows)
    at = cones.zero + cones.nonneg + sum(cones.soc)
    for k in cones.psd:
        column, row = np.triu_indices(k)
        index[at : at + column.size] = at + row * (row + 1) // 2 + column
        at += column.size
    return index


class _Splitting:
    """SCS on one program, in pieces between which limits and interrupts are looked at."""

    def __init__(self, standard: Standard, options: ScsOptions, run: Run, *, nearest: bool = False) -> None:
        import scs

        cones = standard.cones
        self.options, self.run = options, run
        self.order = order(cones, standard.b.size)
        n = standard.c.size
        self.offset = standard.d
        quadratic = sp.eye_array(n, format="csc") if nearest else standard.P
        data = {
            "A": sp.csc_matrix(standard.A.tocsr()[self.order]),
            "b": standard.b[self.order],
            "c": np.zeros(n) if nearest else standard.c,
            "P": sp.csc_matrix(sp.triu(quadratic)),
        }
        K = {
            "z": cones.zero,
            "l": cones.nonneg,
            "q": list(cones.soc),
            "s": list(cones.psd),
            "ep": cones.exp,
            "p": [alpha[0] for alpha in cones.powers],
        }
        tolerances = {"eps_abs": options.tol, "eps_rel": options.tol, "eps_infeas": min(options.tol, 1e-8)}
        self.solver = scs.SCS(data, K, verbose=False, max_iters=min(CHUNK, options.max_iter), **tolerances)

    def solve(self) -> tuple[Stop, Claim, Vector, Vector, int]:
        iterations = 0
        start: dict[str, Vector] = {}
        while True:
            result = self.solver.solve(warm_start=bool(start), **start)
            info = result["info"]
            iterations += int(info["iter"])
            residuals = {"primal": float(info["res_pri"]), "dual": float(info["res_dual"]), "gap": float(info["gap"])}
            self.run.report(iterations, float(info["pobj"]) + self.offset, **residuals)
            kind, claim = STOPS.get(info["status_val"], (StopKind.FAILED, Claim.NONE))
            limit = self.run.stop()
            stop = Stop(kind, str(info["status"]))
            if kind is StopKind.ITERATION_LIMIT and limit is not None:
                stop = limit
            elif kind is StopKind.ITERATION_LIMIT and iterations < self.options.max_iter:
                start = {name: result[name] for name in ("x", "y", "s")}
                if all(np.isfinite(part).all() for part in start.values()):
                    continue
            z = np.empty_like(result["y"])
            z[self.order] = result["y"]
            return stop, claim, np.array(result["x"]), z, iterations


class Scs(Backend):
    name = "scs"
    forms = (Conic,)
    Options: ClassVar[type[Options]] = ScsOptions
    summary = "operator splitting for cone programs"
    assumes = (
        Assumption(
            "power cones in three dimensions",
            lambda form: all(len(alpha) == 2 for alpha in form.standard.cones.powers),
            "a power cone has more than three dimensions",
        ),
        Assumption("constrained", lambda form: form.standard.b.size > 0, "there is no constraint"),
    )
    guarantees = "a global optimum up to the tolerance of its residuals"
    traits = frozenset({Trait.EXACT})
    paper = Paper(
        "Operator splitting for a homogeneous embedding of the linear complementarity problem", "arXiv:2004.02177"
    )
    package = "scs"
    preference = 40

    def solve(self, form: Conic, options: ScsOptions, run: Run) -> Answer:
        standard = form.standard
        stop, claim, x, z, iterations = _Splitting(standard, options, run).solve()
        feasible = None
        if claim is Claim.UNBOUNDED:
            nearest = _Splitting(standard, options, run, nearest=True).solve()
            if nearest[1] is Claim.INFEASIBLE:
                stop, claim, x, z, iterations = nearest
            elif nearest[1] is Claim.OPTIMAL:
                feasible = nearest[2]
        return conic_answer(form, stop, claim, x, z, iterations, feasible)
