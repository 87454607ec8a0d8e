"""From the records of a finished run to its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from pydantic import BaseModel

import optdsl
from optdsl.backends.base import Backend
from optdsl.certify.record import Certificate, Tolerances
from optdsl.forms.answer import Answer, Claim, Stop, StopKind
from optdsl.forms.base import Form
from optdsl.ir.problem import Problem
from optdsl.report import model
from optdsl.report.environment import environment, package_version
from optdsl.report.rows import constraint_names, measured, summarise
from optdsl.report.values import Values, plain_data
from optdsl.run.run import Event

if TYPE_CHECKING:
    from optdsl.solve import Outcome


@dataclass(frozen=True)
class Origin:
    """Where the problem came from: its file, or its text alone."""

    sha256: str
    file: Path | None = None
    text: str | None = None


def assemble(
    outcome: Outcome,
    origin: Origin,
    *,
    parse_seconds: float = 0.0,
    facts: Sequence[tuple[str, Any, Sequence[str]]] = (),
    request: model.Request | None = None,
    item: str | None = None,
) -> model.Report:
    """The report of one solve. `facts` are (name, value, reasons); `item` names the item of a `foreach`."""
    problem, answer, certificate = outcome.problem, outcome.answer, outcome.certificate
    backend, form, t = outcome.chosen.backend, outcome.chosen.form, outcome.tolerances
    rows = [] if outcome.point is None else measured(problem, outcome.point, outcome.solution.duals)
    families, listed = summarise(rows, t.feasibility)
    return model.Report(
        problem=_problem(problem, origin, form, item),
        request=request or model.Request(),
        data=data_records(problem),
        facts=[model.Fact(name=n, value=plain_data(v), reasons=list(why)) for n, v, why in facts],
        dispatch=model.Dispatch(
            chosen=backend.name,
            form=type(form).__name__,
            reason=outcome.chosen.rule,
            refused=[model.Refusal(backend=name, reason=why) for name, why in outcome.dispatch.refused],
        ),
        backend=_backend(backend, outcome.options),
        goal=_goal(problem),
        tolerances=model.TolerancesRecord(
            feasibility=t.feasibility, gap=t.gap, stationarity=t.stationarity, integrality=t.integrality
        ),
        stop=model.StopRecord(kind=answer.stop.kind.value, message=answer.stop.message),
        verdict=_verdict(certificate),
        objective=certificate.objective,
        bound=certificate.bound,
        solution=_values(problem, outcome.solution.values),
        duals=_duals(problem, outcome.solution.duals),
        families=families,
        constraints=listed,
        checks=_checks(certificate),
        notes=list(certificate.notes),
        iterations=answer.iterations,
        counts=dict(answer.counts),
        trace=[_event(e) for e in outcome.run.trace],
        seconds=model.Seconds(parse=parse_seconds, **outcome.seconds),
        seed=outcome.run.seed,
        environment=environment([backend.package] if backend.package else []),
        answer=pack_answer(answer, type(form).__name__),
    )


def tolerances_of(report: model.Report) -> Tolerances:
    """What a report's certificate was held to."""
    t = report.tolerances
    return Tolerances(t.feasibility, t.gap, t.stationarity, t.integrality)


def _goal(problem: Problem) -> model.Goal | None:
    if problem.goal is None:
        return None
    return model.Goal.model_validate({"measure": problem.goal.measure, "value": problem.goal.value})


def _duals(problem: Problem, duals: Mapping[str, Any]) -> dict[str, Values]:
    """By the names that people know the constraints by."""
    names = constraint_names(problem)
    return {names.get(key, key): Values.of(dual) for key, dual in duals.items()}


def _problem(problem: Problem, origin: Origin, form: Form, item: str | None) -> model.ProblemRecord:
    sizes: dict[str, int | float] = {"variables": sum(v.size for v in problem.variables.values())}
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


def _backend(backend: Backend, options: BaseModel) -> model.BackendRecord:
    paper = backend.paper
    return model.BackendRecord(
        name=backend.name,
        version=package_version(backend.package) if backend.package else optdsl.__version__,
        options=plain_data(options.model_dump()),
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
    return model.TraceEvent(
        iteration=e.iteration, seconds=round(e.seconds, 6), objective=objective, residuals=residuals
    )


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
