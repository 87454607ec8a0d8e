"""Linear and quadratic programs by every backend, against other solvers and hand calculations, verdicts included."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from optdsl.backends.conic.clarabel import Clarabel, ClarabelOptions
from optdsl.backends.linear.highs import Highs, HighsOptions
from optdsl.backends.linear.osqp import Osqp, OsqpOptions
from optdsl.certify.conclude import conclude, prove
from optdsl.certify.record import Certificate, Tolerances, VerdictKind
from optdsl.forms.answer import Answer, Claim, StopKind
from optdsl.forms.linear import LinearProgram, MixedInteger, QuadraticProgram
from optdsl.run.run import Event, Run
from tests.linear.programs import dantzig, knapsack, lot_sizing, random_program, random_quadratic, wagner_whitin

CONTINUOUS = [(Highs, HighsOptions), (Osqp, OsqpOptions), (Clarabel, ClarabelOptions)]
KINDS = ["bounded", "free", "equality", "ranged", "fixed", "degenerate", "infeasible", "unbounded"]


def certify(form: LinearProgram, answer: Answer) -> Certificate:
    tol = Tolerances()
    return conclude(answer, prove(form, answer, tol), tol)


def solve(form: LinearProgram, backend: Any = Highs, options: Any = HighsOptions, **run: Any) -> Answer:
    return backend().solve(form, options(), Run(**run))


@pytest.mark.parametrize(("backend", "options"), CONTINUOUS)
def test_dantzig(backend: Any, options: Any) -> None:
    answer = solve(dantzig(), backend, options)
    certificate = certify(dantzig(), answer)
    assert certificate.verdict.kind is VerdictKind.OPTIMAL
    assert certificate.objective == pytest.approx(153.675, abs=1e-5)
    assert certificate.bound == pytest.approx(153.675, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("backend", "options"), CONTINUOUS)
def test_random_programs_agree_with_scipy(backend: Any, options: Any, kind: str) -> None:
    for seed in range(6):
        form = random_program(seed, kind)
        below, above = np.isfinite(form.row_lower), np.isfinite(form.row_upper)
        A = form.A.toarray()
        reference = linprog(
            form.c,
            np.vstack([A[above], -A[below]]),
            np.concatenate([form.row_upper[above], -form.row_lower[below]]),
            bounds=np.column_stack([form.lower, form.upper]),
            method="highs-ipm" if backend is Highs else "highs-ds",
        )
        certificate = certify(form, solve(form, backend, options))
        expected = {0: VerdictKind.OPTIMAL, 2: VerdictKind.INFEASIBLE, 3: VerdictKind.UNBOUNDED}[reference.status]
        assert certificate.verdict.kind is expected, (seed, certificate)
        if expected is VerdictKind.OPTIMAL:
            assert certificate.objective == pytest.approx(reference.fun, rel=1e-6, abs=1e-6)
        assert (expected.value == kind) or kind not in ("infeasible", "unbounded")


@pytest.mark.parametrize(("backend", "options"), CONTINUOUS)
def test_quadratic_by_hand(backend: Any, options: Any) -> None:
    # min ½(x² + y²) + x with x + y ≥ 2, x, y ≥ 0: stationarity x + 1 = y, so x = ½, y = 3/2, value 1.75, multiplier 3/2
    form = QuadraticProgram.from_arrays([1.0, 0.0], [[1, 1]], 2.0, np.inf, lower=0.0, P=np.eye(2))
    answer = solve(form, backend, options)
    assert certify(form, answer).verdict.kind is VerdictKind.OPTIMAL
    assert answer.point == pytest.approx([0.5, 1.5], abs=1e-5)
    assert answer.dual["rows"] == pytest.approx([1.5], abs=1e-5)


@pytest.mark.parametrize(("backend", "options"), CONTINUOUS)
def test_quadratics_of_any_rank_are_proven(backend: Any, options: Any) -> None:
    values = []
    for seed in range(12):
        form = random_quadratic(seed)
        certificate = certify(form, solve(form, backend, options))
        assert certificate.verdict.kind is VerdictKind.OPTIMAL, (seed, certificate)
        values.append(certificate.objective)
    reference = [solve(random_quadratic(seed), Clarabel, ClarabelOptions).objective for seed in range(12)]
    assert values == pytest.approx(reference, abs=1e-5)


def test_unbounded_quadratic() -> None:
    form = QuadraticProgram.from_arrays([1.0, -1.0], [[1, 1]], 2.0, np.inf, lower=0.0, P=np.diag([1.0, 0.0]))
    for backend, options in CONTINUOUS:
        assert certify(form, solve(form, backend, options)).verdict.kind is VerdictKind.UNBOUNDED


@pytest.mark.parametrize(("backend", "options"), CONTINUOUS)
def test_duals_are_changes_of_the_minimum(backend: Any, options: Any) -> None:
    form = QuadraticProgram.from_arrays(
        [1.0, -3.0, 0.5], [[1, 1, 1], [1, -1, 0]], [1.0, -np.inf], [np.inf, 0.25], [-5, -5, 0.1], 5.0, P=np.eye(3)
    )
    answer = solve(form, backend, options)
    step = 1e-4

    def form_value(program: QuadraticProgram) -> float:
        return program.objective(solve(program, backend, options).point)

    for i, side in ((0, "row_lower"), (1, "row_upper")):
        moved = getattr(form, side).copy()
        moved[i] += step
        changed = replace(form, **{side: moved})
        change = (form_value(changed) - form_value(form)) / step
        assert answer.dual["rows"][i] == pytest.approx(change, abs=1e-3)
    lower = form.lower.copy()
    lower[2] += step
    changed = replace(form, lower=lower)
    change = (form_value(changed) - form_value(form)) / step
    assert answer.dual["bounds"][2] == pytest.approx(change, abs=1e-3)
    assert form.gradient(answer.point) == pytest.approx(form.AT @ answer.dual["rows"] + answer.dual["bounds"], abs=1e-5)


@pytest.mark.parametrize("solver", ["simplex", "ipm"])
def test_highs_algorithms(solver: Any) -> None:
    answer = Highs().solve(dantzig(), HighsOptions(solver=solver), Run())
    assert answer.objective == pytest.approx(153.675)


def test_knapsack_by_enumeration() -> None:
    for seed in range(5):
        form = knapsack(seed, 12)
        subsets = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
        best = (subsets @ form.c)[subsets @ form.A.toarray()[0] <= form.row_upper[0]].min()
        certificate = certify(form, solve(form))
        assert certificate.verdict.kind is VerdictKind.OPTIMAL
        assert certificate.objective == pytest.approx(best)


def test_lot_sizing_by_dynamic_programming() -> None:
    for seed, periods in ((0, 6), (1, 9)):
        form = lot_sizing(seed, periods)
        certificate = certify(form, solve(form))
        assert certificate.verdict.kind is VerdictKind.OPTIMAL
        assert certificate.objective == pytest.approx(wagner_whitin(form))


def test_whole_numbers_with_no_point() -> None:
    # 2x + 2y = 3 has no whole solution although its relaxation has
    form = MixedInteger.from_arrays([1.0, 1.0], [[2, 2]], 3.0, 3.0, 0.0, 5.0, integer=True)
    assert certify(form, solve(form)).verdict.kind is VerdictKind.INFEASIBLE


def test_whole_numbers_without_end() -> None:
    form = MixedInteger.from_arrays([-1.0, 0.0], [[1, -1]], -np.inf, 1.0, 0.0, np.inf, integer=True)
    assert certify(form, solve(form)).verdict.kind is VerdictKind.UNBOUNDED


def _hard() -> MixedInteger:
    """Market split (Cornuéjols & Dawande, IPCO 1998): small and out of reach in the time that the test gives."""
    rng = np.random.default_rng(7)
    A = rng.integers(0, 100, (5, 40))
    slack = np.hstack([np.eye(5), -np.eye(5)])
    integer = np.repeat([True, False], [40, 10])
    side = A.sum(axis=1) // 2
    return MixedInteger.from_arrays(
        np.repeat([0.0, 1.0], [40, 10]), np.hstack([A, slack]), side, side, 0.0, np.where(integer, 1, np.inf),
        integer=integer,
    )  # fmt: skip


def test_time_limit_and_interrupt_keep_the_best_point() -> None:
    events: list[Event] = []
    answer = solve(_hard(), time_limit=0.6, on_event=events.append)
    assert answer.stop.kind is StopKind.TIME_LIMIT
    assert answer.claim is Claim.FEASIBLE and answer.point is not None and answer.bound is not None
    assert events and events[-1].objective == answer.objective
    run = Run()
    threading.Timer(0.5, run.interrupt).start()
    start = time.perf_counter()
    answer = Highs().solve(_hard(), HighsOptions(), run)
    assert answer.stop.kind is StopKind.INTERRUPTED and answer.point is not None
    assert time.perf_counter() - start < 20


def test_limited_answer_keeps_its_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    from optdsl.certify import branching

    monkeypatch.setattr(branching, "BRIEF", branching.Effort(50, 5.0))
    form = _hard()
    answer = solve(form, time_limit=0.5)
    certificate = certify(form, answer)
    assert certificate.verdict.kind is VerdictKind.FEASIBLE
    assert certificate.bound is not None and certificate.objective is not None
    assert certificate.bound <= certificate.objective
