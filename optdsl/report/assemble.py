"""From the records of a finished run to its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from optdsl.backends.base import Backend
from optdsl.certify.record import Certificate, Tolerances
from optdsl.forms.answer import Answer, Claim, Solution, Stop, StopKind
from optdsl.forms.base import Form
from optdsl.ir.problem import Problem
from optdsl.report import model
from optdsl.report.environment import environment, package_version, version
from optdsl.report.rows import MeasuredRows, constraint_names, measure, summarise
from optdsl.report.values import Values, plain_data
from optdsl.run.run import Event, Run


@dataclass(frozen=True)
class Origin:
    """Where the problem came from: its file, or its text alone."""

    sha256: str
    file: Path | None = None
    text: str | None = None


@dataclass(frozen=True)
class Choice:
    """What the dispatcher did: the backend taken, the rule in words, and every refusal with its reason."""

    backend: Backend
    form: Form
    options: Mapping[str, Any]
    reason: str = ""
    refused: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Outcome:
    answer: Answer
    solution: Solution
    certificate: Certificate
    tolerances: Tolerances
    seconds: Mapping[str, float] = field(default_factory=dict)


def assemble(
    problem: Problem,
    origin: Origin,
    choice: Choice,
    outcome: Outcome,
    run: Run,
    *,
    facts: Sequence[tuple[str, Any, Sequence[str]]] = (),
    request: model.Request | None = None,
    item: str | None = None,
) -> model.Report:
    """The report of one solve. `facts` are (name, value, reasons); `item` names the item of a `foreach`."""
    answer, solution, certificate = outcome.answer, outcome.solution, outcome.certificate
    backend = choice.backend
    names = constraint_names(problem)
    measured: list[MeasuredRows] = []
    if solution.values and set(problem.variables) <= set(solution.values):
        measured = measure(problem, solution.values, solution.duals)
    families, rows = summarise(measured, outcome.tolerances.feasibility)
    return model.Report(
        problem=_problem(problem, origin, choice.form, item),
        request=request or model.Request(),  # type: ignore[call-arg]
        data=data_records(problem),
        facts=[model.Fact(name=n, value=plain_data(v), reasons=list(why)) for n, v, why in facts],
        dispatch=model.Dispatch(
            chosen=backend.name,
            form=type(choice.form).__name__,
            reason=choice.reason,
            refused=[model.Refusal(backend=name, reason=why) for name, why in choice.refused],
        ),
        backend=_backend(backend, choice.options),
        goal=None if problem.goal is None else model.Goal(measure=problem.goal.measure, value=problem.goal.value),  # type: ignore[arg-type]
        tolerances=model.TolerancesRecord(
            feasibility=outcome.tolerances.feasibility,
            gap=outcome.tolerances.gap,
            stationarity=outcome.tolerances.stationarity,
            integrality=outcome.tolerances.integrality,
        ),
        stop=model.StopRecord(kind=answer.stop.kind.value, message=answer.stop.message),
        verdict=_verdict(certificate),
        objective=certificate.objective,
        bound=certificate.bound,
        solution=_values(problem, solution.values),
        duals={names.get(key, key): Values.of(dual) for key, dual in solution.duals.items()},
        families=families,
        constraints=rows,
        checks=_checks(certificate),
        notes=list(certificate.notes),
        iterations=answer.iterations,
        counts=dict(answer.counts),
        trace=[_event(e) for e in run.trace],
        seconds=model.Seconds(**outcome.seconds),
        seed=run.seed,
        environment=environment([backend.package] if backend.package else []),
        answer=pack_answer(answer, type(choice.form).__name__),
    )


def _problem(problem: Problem, origin: Origin, form: Form, item: str | None) -> model.ProblemRecord:
    sizes = {"variables": sum(v.size for v in problem.variables.values())}
    sizes |= {k: v for k, v in form.sizes.items() if isinstance(v, int | float)}
    return model.ProblemRecord(
        title=problem.title,
        file=None if origin.file is None else origin.file.absolute().as_posix(),
        sha256=origin.sha256,
        sizes=sizes,
        sense=None if problem.objective is None else "maximize" if problem.objective.maximise else "minimize",
        text=origin.text if origin.file is None else None,
        item=item,
    )


def data_records(problem: Problem) -> list[model.DataRecord]:
    """What a problem's data and params are bound to."""
    return [
        model.DataRecord(
            name=d.name,
            source=d.source,
            sha256=d.sha256,
            shape=list(d.values.shape if sp.issparse(d.values) else np.shape(d.values)),
            file=None if d.path is None else Path(d.path).absolute().as_posix(),
            param=d.is_param,
        )
        for d in problem.data.values()
    ]


def _backend(backend: Backend, options: Mapping[str, Any]) -> model.BackendRecord:
    paper = backend.paper
    return model.BackendRecord(
        name=backend.name,
        version=package_version(backend.package) if backend.package else version(),
        options=plain_data(options),
        paper=None if paper is None else model.PaperRecord(title=paper.title, reference=paper.reference),
    )


def _verdict(certificate: Certificate) -> model.VerdictRecord:
    v = certificate.verdict
    return model.VerdictRecord(kind=v.kind.value, value=v.value, tolerance=v.tolerance, reason=v.reason)


def _checks(certificate: Certificate) -> list[model.CheckRecord]:
    return [
        model.CheckRecord(
            name=c.name, value=float(c.value), tolerance=float(c.tolerance), holds=bool(c.holds), meaning=c.meaning
        )
        for c in certificate.checks
    ]


def _values(problem: Problem, values: Mapping[str, Any]) -> dict[str, Values]:
    out = {}
    for name, value in values.items():
        variable = problem.variables.get(name)
        out[name] = Values.of(value, problem.labels(variable.axes, variable.shape) if variable is not None else None)
    return out


def _event(e: Event) -> model.TraceEvent:
    objective = None if e.objective is None else float(e.objective)
    residuals = {k: float(v) for k, v in e.residuals.items()}
    return model.TraceEvent(iteration=e.iteration, seconds=round(e.seconds, 6), objective=objective, residuals=residuals)


def pack_answer(answer: Answer, form: str) -> model.AnswerRecord:
    """An answer as it is kept in the report."""
    point = answer.point
    packed: Values | dict[str, Values] | None
    if point is None:
        packed = None
    elif isinstance(point, Mapping):
        packed = {name: Values.of(value) for name, value in point.items()}
    else:
        packed = Values.of(point)
    return model.AnswerRecord(
        form=form,
        claim=answer.claim.value,
        point=packed,
        objective=None if answer.objective is None else float(answer.objective),
        bound=None if answer.bound is None else float(answer.bound),
        dual={name: Values.of(value) for name, value in answer.dual.items()},
        ray={name: Values.of(value) for name, value in answer.ray.items()},
        info=plain_data(answer.info),
    )


def unpack_answer(report: model.Report) -> Answer:
    """The answer that a report keeps, ready for `certify`. An altered array file raises OptError (E610)."""
    kept, folder = report.answer, report.folder
    if kept is None:
        return Answer(Stop(StopKind(report.stop.kind), report.stop.message))
    if isinstance(kept.point, dict):
        point: Any = {name: value.array(folder) for name, value in kept.point.items()}
    else:
        point = None if kept.point is None else kept.point.array(folder)
    return Answer(
        stop=Stop(StopKind(report.stop.kind), report.stop.message),
        claim=Claim(kept.claim),
        point=point,
        objective=kept.objective,
        bound=kept.bound,
        dual={name: value.array(folder) for name, value in kept.dual.items()},
        ray={name: value.array(folder) for name, value in kept.ray.items()},
        iterations=report.iterations,
        counts=dict(report.counts),
        info=dict(kept.info),
    )
