"""One solve from end to end: instance, dispatch, run, certificate. What a report is made from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optdsl.certify.conclude import conclude, prove
from optdsl.certify.problem import PointReport, examine
from optdsl.certify.record import Certificate, Proof, Tolerances
from optdsl.certify.words import contradiction_words
from optdsl.dispatch.choose import Candidate, Dispatch, choose, options_for
from optdsl.forms.answer import Answer, Claim, Solution, Stop, StopKind
from optdsl.forms.base import Mismatch
from optdsl.ir.problem import Problem
from optdsl.run.run import Event, Run
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.data import no_value
from optdsl.syntax.diagnostics.dispatch import needs_form, pipeline_unavailable
from optdsl.syntax.diagnostics.structure import nothing_to_find


@dataclass(frozen=True)
class Request:
    """What the caller asks of a run. Options come in layers, last wins: file, YAML run file, command line or keywords."""

    backend: str | None = None
    options: Sequence[Mapping[str, Any]] = ()
    seed: int = 0
    time_limit: float | None = None
    tol: float | None = None
    threads: int | None = None
    device: str = "cpu"
    verbose: bool = False
    on_event: Callable[[Event], None] | None = None
    on_run: Callable[[Run], None] | None = None
    checkpoint: Path | None = None


@dataclass
class Outcome:
    """Everything that one solve found out."""

    problem: Problem
    dispatch: Dispatch
    chosen: Candidate
    options: Any
    run: Run
    answer: Answer
    solution: Solution
    certificate: Certificate
    point: PointReport | None
    tolerances: Tolerances
    seconds: dict[str, float] = field(default_factory=dict)


def tolerances_for(problem: Problem, tol: float | None) -> Tolerances:
    """The goal of the file, then `tol`, over the defaults."""
    t = Tolerances()
    if tol is not None:
        t = replace(t, gap=tol, stationarity=tol)
    goal = problem.goal
    if goal is not None and goal.value is not None:
        if goal.measure in ("gap", "relative_gap"):
            t = replace(t, gap=goal.value)
        elif goal.measure == "stationary":
            t = replace(t, stationarity=goal.value)
        else:
            t = replace(t, feasibility=goal.value)
    return t


def require_solvable(problem: Problem) -> None:
    """Raises E505 for what needs a form that no backend takes, E301 for data without a value, E422 without variables."""
    mistakes = [needs_form(f.span, f"{f.kind} {f.title!r}", f.needs) for f in problem.features]
    mistakes += [no_value((problem.data.get(n) or problem.sets[n]).span, n) for n in problem.missing]
    if not problem.variables and not problem.features:
        mistakes.append(nothing_to_find(problem.title))
    if mistakes:
        raise OptError(mistakes)


def solve(problem: Problem, request: Request) -> Outcome:
    """Solves one instance. Raises `OptError` only for what the user can mend; a backend's failure is in the answer."""
    require_solvable(problem)
    clock = time.perf_counter()
    stages = problem.stages
    if request.backend is None and len(stages) > 1:
        raise OptError(pipeline_unavailable(stages[0].span, " -> ".join(s.backend for s in stages)))
    stage = stages[0] if stages else None
    wanted = request.backend or (stage.backend if stage else None)
    dispatch = choose(problem, wanted, stage.span if stage and request.backend is None else None)
    assert dispatch.chosen is not None
    chosen = dispatch.chosen
    layers: list[tuple[Mapping[str, Any], Any]] = []
    if stage is not None and stage.backend == chosen.backend.name:
        layers.append((stage.options, stage.span))
    common = {"tol": request.tol, "max_iter": problem.budget.get("iterations")}
    fields = type(chosen.backend).Options.model_fields
    layers.append(
        ({k: int(v) if k == "max_iter" else v for k, v in common.items() if v is not None and k in fields}, None)
    )
    layers += [(layer, None) for layer in request.options]
    options = options_for(chosen.backend, layers)
    compiled = time.perf_counter()
    run = _run(problem, request)
    if request.on_run is not None:
        request.on_run(run)
    answer = chosen.backend.solve(chosen.form, options, run)
    solved = time.perf_counter()
    tolerances = tolerances_for(problem, request.tol)
    certificate, solution, point = certify(problem, chosen.form, answer, tolerances)
    seconds = {"compile": compiled - clock, "solve": solved - compiled, "certify": time.perf_counter() - solved}
    return Outcome(problem, dispatch, chosen, options, run, answer, solution, certificate, point, tolerances, seconds)


def _common_options(problem: Problem, request: Request, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What means the same for every backend that has it: `tol`, the budget of iterations, the goal of a gap."""
    common: dict[str, Any] = {"tol": request.tol}
    if "iterations" in problem.budget:
        common["max_iter"] = int(problem.budget["iterations"])
    if problem.goal is not None and problem.goal.measure in ("gap", "relative_gap"):
        common["mip_gap"] = problem.goal.value
    return {k: v for k, v in common.items() if v is not None and k in fields}


def _run(problem: Problem, request: Request) -> Run:
    limits = [t for t in (request.time_limit, problem.budget.get("seconds")) if t is not None]
    evals = problem.budget.get("evals")
    return Run(
        seed=request.seed, time_limit=min(limits) if limits else None, max_evaluations=None if evals is None else int(evals),
        threads=request.threads, verbose=request.verbose, on_event=request.on_event, checkpoint=request.checkpoint,
    )  # fmt: skip


def certify(
    problem: Problem, form: Any, answer: Answer, tolerances: Tolerances
) -> tuple[Certificate, Solution, PointReport | None]:
    """The certificate of an answer: what the form's certifier proves, held against the problem as it was written."""
    proof = prove(form, answer, tolerances)
    if proof.contradiction is not None:
        words = contradiction_words(form, proof.contradiction)
        proof.reason = words or proof.reason
    solution = form.back(answer)
    whole = {n: _rounded(problem, n, x) for n, x in solution.values.items()}
    solution.values.update(whole)
    point = examine(problem, solution.values) if solution.values else None
    if point is not None:
        proof = with_point(problem, proof, point)
        if proof.bound is None and proof.violation <= tolerances.feasibility and answer.claim is not Claim.UNBOUNDED:
            proof = second_opinion(problem, form, solution, proof, tolerances)
    maximise = problem.objective is not None and problem.objective.maximise
    wants_point = problem.goal is not None and problem.goal.measure == "feasible"
    has_objective = problem.objective is not None and not wants_point
    return (
        conclude(
            answer,
            proof,
            tolerances,
            maximise=maximise,
            has_objective=has_objective,
            unit=1.0 if point is None else point.unit,
        ),
        solution,
        point,
    )


def second_opinion(problem: Problem, form: Any, solution: Solution, proof: Proof, tolerances: Tolerances) -> Proof:
    """What the point alone proves in the smooth forms, where the answer's own form gave no bound: multipliers are fitted
    there, so that the verdict does not depend on which backend found the point."""
    from optdsl.forms import match_nonlinear, match_smooth

    if problem.objective is None or any(v.kind != "real" for v in problem.variables.values()):
        return proof
    flat = np.concatenate([np.ravel(solution.values[name]) for name in problem.variables])
    for matcher in (match_smooth, match_nonlinear):
        for other in matcher.match(problem):
            if isinstance(other, Mismatch) or type(other) is type(form) or other.sizes["variables"] != len(flat):
                continue
            found = prove(other, Answer(Stop(StopKind.CONVERGED), point=flat), tolerances)
            if found.bound is not None or (found.residual is not None and proof.residual is None):
                checks = [c for c in found.checks if c.name not in {k.name for k in proof.checks}]
                return replace(
                    proof, bound=found.bound, residual=found.residual, curvature=found.curvature, convex=found.convex,
                    reason=found.reason, checks=[*proof.checks, *checks], notes=[*proof.notes, *found.notes],
                )  # fmt: skip
    return proof


def with_point(problem: Problem, proof: Proof, point: PointReport) -> Proof:
    """The proof with objective and violation as recomputed from the problem itself."""
    if not point.finite:
        return replace(proof, objective=float("nan"), violation=float("nan"))
    objective = 0.0 if point.objective is None else point.objective
    if problem.objective is not None and problem.objective.maximise:
        objective = -objective
    return replace(proof, objective=objective, violation=max(point.violation, 0.0))


def _rounded(problem: Problem, name: str, x: NDArray[Any]) -> NDArray[Any]:
    """Whole-number variables at their whole numbers where they are within 1e-5; −0 becomes 0."""
    from optdsl.rewrite.sets import integral

    x = np.asarray(x, dtype=float) + 0.0
    if integral(problem.variables[name]):
        near = np.round(x)
        x = np.where(np.abs(x - near) <= 1e-5, near + 0.0, x)
    return x
