"""Backends that lie, end to end: none of their answers is ever `optimal`, and the exit status says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import optdsl
from optdsl.backends.base import Backend
from optdsl.dispatch import registry
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.conic import Conic
from optdsl.forms.linear import LinearProgram, MixedInteger, QuadraticProgram
from optdsl.forms.manifold import SmoothOnManifold
from optdsl.forms.nonlinear import Nonlinear
from optdsl.forms.smooth import SmoothUnconstrained
from optdsl.report.model import Report
from optdsl.report.outcome import exit_status
from optdsl.run.run import Run

CONVERGED = Stop(StopKind.CONVERGED)

LP = """
var x : real[2] >= 0
maximize 3 * x[0] + 2 * x[1]
subject to
  a: x[0] + x[1] <= 4
  b: x[0] <= 2
"""
QP = """
var x : real[2] >= 0 <= 10
minimize sum_squares(x - [3, -1])
subject to
  a: x[0] + x[1] <= 2
"""
MIP = """
var x : int[2] >= 0 <= 10
maximize 5 * x[0] + 4 * x[1]
subject to
  6 * x[0] + 4 * x[1] <= 24
  x[0] + 2 * x[1] <= 6
"""
CONE = """
var x : real[2]
minimize x[0] + x[1]
subject to
  norm2(x) <= 1
"""
SMOOTH = """
var x : real[2] = [5, 5]
minimize sum_squares(x - [1, 2]) + exp(x[0])
"""
CURVED = """
var x : real[2] >= -2 <= 2
minimize x[0] * x[1]
subject to
  sum_squares(x) <= 1
"""
EMPTY = """
var x : real[2] >= 0
minimize x[0]
subject to
  x[0] + x[1] <= 1
  x[0] - x[1] >= 2
"""

#: The problem with its form, optimum, a feasible point that is not optimal, and a slightly infeasible one.
PROBLEMS: dict[str, tuple[str, type[Any], list[float], list[float]]] = {
    "lp": (LP, LinearProgram, [1.0, 1.0], [2.0, 2.00001]),
    "qp": (QP, QuadraticProgram, [1.0, 1.0], [2.0, 0.0001]),
    "mip": (MIP, MixedInteger, [3.0, 1.0], [3.0, 1.5001]),
    "cone": (CONE, Conic, [0.0, 0.0], [-0.7072, -0.7072]),
    "smooth": (SMOOTH, SmoothUnconstrained, [5.0, 5.0], [np.nan, 0.0]),
    "curved": (CURVED, Nonlinear, [0.5, 0.1], [0.7072, -0.7072]),
}


@pytest.fixture
def lie() -> Iterator[Callable[..., Report]]:
    """Solves a text by a backend that hands over a prepared answer."""
    known = registry.backends()

    def solve(text: str, form: type[Any], answer: Answer) -> Report:
        class Liar(Backend):
            name = "liar"
            forms = (form,)

            def solve(self, form: Any, options: Any, run: Run) -> Answer:
                return answer

        known["liar"] = Liar()
        return optdsl.parse(text).solve("liar")

    yield solve
    known.pop("liar", None)


def _point(form: type[Any], x: list[float]) -> Any:
    return {"x": np.array(x)} if form is Conic else np.array(x)


def _never_optimal(report: Report) -> None:
    assert report.verdict.kind in ("refuted", "unproven"), report.verdict
    assert exit_status(report) == 2


@pytest.mark.parametrize("which", PROBLEMS)
def test_wrong_point_claimed_optimal(which: str, lie: Callable[..., Report]) -> None:
    text, form, wrong, _ = PROBLEMS[which]
    _never_optimal(lie(text, form, Answer(CONVERGED, Claim.OPTIMAL, _point(form, wrong))))


@pytest.mark.parametrize("which", PROBLEMS)
def test_slightly_infeasible_point(which: str, lie: Callable[..., Report]) -> None:
    text, form, _, outside = PROBLEMS[which]
    report = lie(text, form, Answer(CONVERGED, Claim.OPTIMAL, _point(form, outside)))
    _never_optimal(report)
    assert report.verdict.kind == "refuted"


@pytest.mark.parametrize("which", ["lp", "qp", "curved"])
def test_wrong_multipliers_prove_nothing(which: str, lie: Callable[..., Report]) -> None:
    text, form, wrong, _ = PROBLEMS[which]
    rows = {"lp": 2, "qp": 1, "curved": 1}[which]
    for scale in (1.0, -1.0, 1e6):
        dual = {"rows": np.full(rows, scale), "bounds": np.full(2, -scale)}
        _never_optimal(lie(text, form, Answer(CONVERGED, Claim.OPTIMAL, _point(form, wrong), dual=dual)))


@pytest.mark.parametrize("which", PROBLEMS)
def test_nan(which: str, lie: Callable[..., Report]) -> None:
    text, form, _, _ = PROBLEMS[which]
    nan = [float("nan"), 1.0]
    report = lie(text, form, Answer(CONVERGED, Claim.OPTIMAL, _point(form, nan), objective=0.0))
    _never_optimal(report)
    assert report.verdict.kind == "refuted"


@pytest.mark.parametrize("which", PROBLEMS)
def test_false_infeasible(which: str, lie: Callable[..., Report]) -> None:
    text, form, _, _ = PROBLEMS[which]
    ray = {"dual": np.ones({"lp": 2, "mip": 2}.get(which, 1))}
    _never_optimal(lie(text, form, Answer(CONVERGED, Claim.INFEASIBLE, ray=ray)))


@pytest.mark.parametrize("which", ["lp", "qp", "cone", "smooth"])
def test_false_unbounded(which: str, lie: Callable[..., Report]) -> None:
    text, form, wrong, _ = PROBLEMS[which]
    ray = {"primal": np.array([1.0, 1.0])} if form is not Conic else {"direction of x": np.array([1.0, 1.0])}
    _never_optimal(lie(text, form, Answer(CONVERGED, Claim.UNBOUNDED, _point(form, wrong), ray=ray)))


def test_optimum_claimed_of_an_empty_problem(lie: Callable[..., Report]) -> None:
    """The point breaks a row, whatever is claimed of it."""
    report = lie(EMPTY, LinearProgram, Answer(CONVERGED, Claim.OPTIMAL, np.array([1.0, 0.0])))
    _never_optimal(report)


def test_nothing_at_all(lie: Callable[..., Report]) -> None:
    _never_optimal(lie(LP, LinearProgram, Answer(CONVERGED, Claim.OPTIMAL)))


def test_point_of_the_wrong_shape(lie: Callable[..., Report]) -> None:
    _never_optimal(lie(LP, LinearProgram, Answer(CONVERGED, Claim.OPTIMAL, np.zeros(3))))


@pytest.mark.parametrize("which", PROBLEMS)
def test_the_honest_backend_is_believed(which: str) -> None:
    """The same problems, solved in earnest, are proven: the liars were not refused for their problem's sake."""
    text, _, _, _ = PROBLEMS[which]
    report = optdsl.parse(text).solve()
    assert report.verdict.kind == ("stationary" if which == "curved" else "optimal"), report.verdict
    assert exit_status(report) == 0


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_small_units_hide_nothing(scale: float, lie: Callable[..., Report]) -> None:
    """A wrong point is wrong in any unit of the objective: absolute tolerances do not swallow it."""
    lp = LP.replace("3 * x[0] + 2 * x[1]", f"{scale} * (3 * x[0] + 2 * x[1])")
    _never_optimal(lie(lp, LinearProgram, Answer(CONVERGED, Claim.OPTIMAL, np.array([1.0, 1.0]))))
    smooth = SMOOTH.replace(
        "minimize sum_squares(x - [1, 2]) + exp(x[0])", f"minimize {scale} * (sum_squares(x - [1, 2]) + exp(x[0]))"
    )
    _never_optimal(lie(smooth, SmoothUnconstrained, Answer(CONVERGED, Claim.OPTIMAL, np.array([1.0, 1.9]))))
    curved = CURVED.replace("x[0] * x[1]", f"{scale} * x[0] * x[1]")
    _never_optimal(lie(curved, Nonlinear, Answer(CONVERGED, Claim.STATIONARY, np.array([0.5, 0.1]))))
    circle = f"var x : real[2] in sphere\nminimize {scale} * x @ [[2, 0], [0, 1]] @ x\n"
    _never_optimal(lie(circle, SmoothOnManifold, Answer(CONVERGED, Claim.STATIONARY, np.array([0.6, 0.8]))))
