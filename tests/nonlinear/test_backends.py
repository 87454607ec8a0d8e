"""Nonlinear programs by every backend: published optima, multipliers, limits, verdicts."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

from optdsl.backends.nonlinear.bonmin import Bonmin, BonminOptions
from optdsl.backends.nonlinear.ipopt import Ipopt, IpoptOptions
from optdsl.backends.nonlinear.slsqp import Slsqp, SlsqpOptions
from optdsl.backends.nonlinear.trust_constr import TrustConstr, TrustConstrOptions
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.record import Certificate, Tolerances, VerdictKind
from optdsl.forms.answer import Answer, Claim, StopKind
from optdsl.forms.nonlinear import Nonlinear
from optdsl.run.run import Event, Run
from tests.nonlinear.programs import empty, hs14, hs71, hs76, program, random_whole, rosenbrock

CONTINUOUS = [(Ipopt, IpoptOptions), (Slsqp, SlsqpOptions), (TrustConstr, TrustConstrOptions)]


def certify(form: Nonlinear, answer: Answer) -> Certificate:
    tol = Tolerances()
    return conclude(answer, prove(form, answer, tol), tol)


def solve(form: Nonlinear, backend: Any = Ipopt, options: Any = None, **run: Any) -> Answer:
    return backend().solve(form, options or backend.Options(), Run(**run))


@pytest.mark.parametrize(
    ("form", "optimum"),
    [(hs71(), 17.0140173), (hs14(), 9 - 2.875 * np.sqrt(7)), (hs76(), -4.681818181818), (rosenbrock(), 0.0)],
    ids=["hs71", "hs14", "hs76", "rosenbrock"],
)
@pytest.mark.parametrize(("backend", "options"), CONTINUOUS)
def test_published_optima(form: Nonlinear, optimum: float, backend: Any, options: Any) -> None:
    answer = solve(form, backend)
    certificate = certify(form, answer)
    accuracy = 2e-4 if backend is TrustConstr else 1e-7
    assert certificate.objective == pytest.approx(optimum, abs=accuracy)
    if backend is not TrustConstr:
        assert certificate.verdict.kind is (VerdictKind.OPTIMAL if form.convex else VerdictKind.STATIONARY)
    if form.convex:
        assert certificate.bound is not None and certificate.bound <= optimum + 1e-8


def test_multipliers_are_changes_of_the_minimum() -> None:
    form = hs71()
    answer = solve(form)
    grad = np.array(form.functions["grad"](answer.point)).ravel()
    J = np.array(form.functions["jac"](answer.point).full())
    np.testing.assert_allclose(grad, J.T @ answer.dual["rows"] + answer.dual["bounds"], atol=1e-6)
    assert answer.dual["rows"][0] > 0 and answer.dual["bounds"][0] > 0  # both at their lower sides
    for i, side in ((0, "row_lower"), (1, "row_lower")):
        moved = {name: getattr(form, name).copy() for name in ("row_lower", "row_upper")}
        moved[side][i] += 1e-4
        if i == 1:
            moved["row_upper"][i] += 1e-4
        change = (solve(replace(form, **moved)).objective - answer.objective) / 1e-4  # type: ignore[operator]
        assert answer.dual["rows"][i] == pytest.approx(change, rel=1e-2)


def test_fixed_variables_have_multipliers() -> None:
    """min x² + y² + xy with x = 2 and x + y ≥ 1.5: y = −0.5, row multiplier 2y + x = 1, bound 2x + y − 1 = 2.5."""
    form = program(
        2, lambda x: ca.sumsqr(x) + x[0] * x[1], lambda x: [x[0] + x[1]], (1.5, np.inf), ([2, -5], [2, 5])
    )  # fmt: skip
    answer = solve(form)
    assert answer.point == pytest.approx([2, -0.5], abs=1e-6)
    assert answer.dual["rows"] == pytest.approx([1], abs=1e-5) and answer.dual["bounds"] == pytest.approx(
        [2.5, 0], abs=1e-5
    )


def test_whole_numbers_by_enumeration() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3), -1).reshape(-1, 3).astype(float)
    for seed in range(4):
        form = random_whole(seed)
        values = [
            float(form.functions["f"](x)) if float(form.functions["g"](x)) <= form.row_upper[0] else np.inf
            for x in grid
        ]
        answer = solve(form, Bonmin)
        certificate = certify(form, answer)
        assert certificate.verdict.kind is VerdictKind.OPTIMAL, (seed, certificate.verdict)
        assert certificate.objective == pytest.approx(min(values), rel=1e-6)


def test_whole_numbers_where_nothing_is_convex_stay_unproven() -> None:
    form = program(2, lambda x: ca.sin(3 * x[0]) * x[1], bounds=(-3, 3), integer=[True, False])
    answer = solve(form, Bonmin)
    assert answer.claim is Claim.FEASIBLE and certify(form, answer).verdict.kind is VerdictKind.FEASIBLE


def test_infeasible_convex_programs_are_proven_so() -> None:
    certificate = certify(empty(), solve(empty()))
    assert certificate.verdict.kind is VerdictKind.INFEASIBLE and "linearisations" in certificate.verdict.reason
    nonconvex = program(1, lambda x: x[0], lambda x: [x[0] ** 2 - ca.cos(x[0])], (-np.inf, -2), (-5, 5), 1.0)
    answer = solve(nonconvex)
    assert answer.claim is Claim.INFEASIBLE
    assert certify(nonconvex, answer).verdict.kind is VerdictKind.UNPROVEN


def chain(n: int = 4000) -> Nonlinear:
    x = ca.MX.sym("x", n)
    none = np.zeros(0)
    f = ca.sum1(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    start = np.where(np.arange(n) % 2 == 0, -1.2, 1.0)
    return Nonlinear(
        x=x, f=f, g=ca.MX(0, 1), row_lower=none, row_upper=none, lower=np.full(n, -np.inf), upper=np.full(n, np.inf),
        integer=np.zeros(n, dtype=bool), start=start,
    )  # fmt: skip


@pytest.mark.parametrize("backend", [Ipopt, Slsqp, TrustConstr])
def test_limits_keep_the_best_point(backend: Any) -> None:
    form = chain(300 if backend is Ipopt else 40)
    f0 = float(form.functions["f"](form.start))
    events: list[Event] = []
    run = Run()

    def fifth(event: Event) -> None:
        events.append(event)
        if event.iteration >= 5:
            run.interrupt()

    run.on_event = fifth
    answer = backend().solve(form, backend.Options(), run)
    assert answer.stop.kind is StopKind.INTERRUPTED and answer.claim is Claim.NONE
    seen = [e.objective for e in events if e.objective is not None]
    assert answer.objective is not None and answer.objective <= min(f0, *seen)
    assert float(form.functions["f"](answer.point)) == pytest.approx(answer.objective)
    assert certify(form, answer).verdict.kind is VerdictKind.FEASIBLE
    answer = solve(form, backend, backend.Options(max_iter=3))
    assert answer.stop.kind is StopKind.ITERATION_LIMIT and answer.point is not None
    answer = solve(form, backend, time_limit=0.0)
    assert answer.stop.kind is StopKind.TIME_LIMIT and "time limit" in answer.stop.message


def test_interrupt_from_another_thread() -> None:
    run = Run()
    form = chain()
    assert form.functions
    threading.Timer(0.3, run.interrupt).start()
    start = time.perf_counter()
    answer = Ipopt().solve(form, IpoptOptions(max_iter=10**6, hessian="limited-memory", tol=1e-300), run)
    assert answer.stop.kind is StopKind.INTERRUPTED and answer.point is not None
    assert time.perf_counter() - start < 20


def test_no_iteration_at_all() -> None:
    answer = solve(hs71(), Ipopt, IpoptOptions(max_iter=0))
    assert answer.stop.kind is StopKind.ITERATION_LIMIT and answer.iterations == 0 and answer.point is not None


def test_silence(capfd: pytest.CaptureFixture[str]) -> None:
    solve(hs71())
    solve(random_whole(0), Bonmin, BonminOptions())
    solve(program(1, lambda x: ca.log(x[0]) ** 2, start=-1.0))
    assert capfd.readouterr() == ("", "")


def test_start_outside_the_domain_fails_in_words() -> None:
    answer = solve(program(1, lambda x: ca.log(x[0]) ** 2, start=-1.0))
    assert answer.stop.kind is StopKind.FAILED and "number" in answer.stop.message
