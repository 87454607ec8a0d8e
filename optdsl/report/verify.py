"""The certificate again, later and elsewhere: from the problem, the data and the answer that a report names.

Nothing in the report is believed. Problem and data are read again and must have the digests that the report states;
the answer's way back to the problem's words must give the stated solution; and the proof, recomputed from the answer
without the backend, must give the stated verdict, objective, bound and checks.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from optdsl.certify.record import Certificate
from optdsl.dispatch.registry import matchers
from optdsl.forms.answer import Solution
from optdsl.forms.base import Form
from optdsl.ir.problem import Problem
from optdsl.report.assemble import data_records, tolerances_of, unpack_answer
from optdsl.report.model import DataRecord, Report
from optdsl.report.rows import MeasuredRows, constraint_names, measured, summarise
from optdsl.report.store import seal
from optdsl.solve import certify
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.run import form_gone, needs_value, unreadable_file

#: Recomputed numbers may differ by the rounding of another machine's libraries: an objective in its last digits, a
#: residual or a gap, which is a difference of large numbers, in more of them.
ROUNDING = 1e-9
ROUNDING_OF_DIFFERENCES = 1e-6


@dataclass(frozen=True)
class Finding:
    """One thing that was verified, and what was found."""

    name: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Recomputed:
    """What a problem says of a report's answer: its data as read now, the solution that the answer stands for, the rows
    at it, and the certificate."""

    data: list[DataRecord]
    solution: Solution
    rows: list[MeasuredRows]
    certificate: Certificate


class Loaded(Protocol):
    """What verification needs of a loaded problem: the instance that a report (or one part of it) was solved as, with
    the data and params that its request names, and `data` for what was given in memory."""

    def instance_of(self, report: Report, data: Mapping[str, Any]) -> Problem: ...


def verify(path: str | Path, data: Mapping[str, Any] | None = None) -> list[Finding]:
    """Verifies a report's file. All findings hold for a report that nobody altered.

    `data` gives again what the run was given in memory. Raises OptError when the report, the problem or data cannot be
    read at all.
    """
    from optdsl import api

    report = Report.load(path)
    given = dict(data or {})
    missing = sorted(set(report.request.in_memory) - set(given))
    if missing:
        raise OptError(needs_value(missing))
    folder = report.folder or Path()
    text = _problem_text(report, folder)
    findings = [_sealed(path, report), _digest("problem", text, report.problem.sha256)]
    paths = [folder / p for p in report.request.allow_paths]
    if report.problem.file is not None:
        problem: Loaded = api.load(
            folder / report.problem.file, allow_python=report.request.allow_python, allow_paths=paths
        )
    else:
        problem = api.parse(text.decode(), folder=folder)
    for part in report.parts or [report]:
        findings += compare(part, recompute(problem.instance_of(part, given), part))
    return findings


def recompute(problem: Problem, report: Report) -> Recomputed:
    """The proof again, from the instance and the answer that the report keeps; no backend takes part."""
    form = _form(problem, report.dispatch.form)
    if form is None:
        raise OptError(form_gone(report.dispatch.form))
    certificate, solution, point = certify(problem, form, unpack_answer(report), tolerances_of(report))
    rows = [] if point is None else measured(problem, point, solution.duals)
    names = constraint_names(problem)
    named = Solution(solution.values, {names.get(k, k): d for k, d in solution.duals.items()}, solution.direction)
    return Recomputed(data_records(problem), named, rows, certificate)


def _form(problem: Problem, name: str) -> Form | None:
    """The form of that name which the problem has, if it has it."""
    for matcher in matchers():
        if any(f.__name__ == name for f in matcher.forms):
            for found in matcher.match(problem):
                if isinstance(found, Form) and type(found).__name__ == name:
                    return found
    return None


def _problem_text(report: Report, folder: Path) -> bytes:
    if report.problem.file is None:
        return (report.problem.text or "").encode()
    path = folder / report.problem.file
    try:
        return path.read_bytes()
    except OSError as error:
        raise OptError(unreadable_file(str(path), error.strerror or str(error))) from None


def _sealed(path: str | Path, report: Report) -> Finding:
    same = seal(Path(path).read_text(encoding="utf-8")) == report.seal
    return Finding(
        "report", same, "the file is as it was written" if same else "the file was edited after it was written"
    )


def _digest(name: str, content: bytes, stated: str) -> Finding:
    same = hashlib.sha256(content).hexdigest() == stated
    return Finding(
        name, same, "the file is the one that was solved" if same else "the file is not the one that was solved"
    )


def compare(report: Report, again: Recomputed) -> list[Finding]:
    """What the report states against what was recomputed."""
    lead = f"{report.problem.item}: " if report.problem.item is not None else ""
    findings = [
        *_data_findings(report, again.data),
        *_solution_findings(report, again.solution),
        *_constraint_findings(report, again),
        *_proof_findings(report, again.certificate),
    ]
    return [Finding(lead + f.name, f.holds, f.found) for f in findings]


def _data_findings(report: Report, now: list[DataRecord]) -> list[Finding]:
    stated = {d.name: d for d in report.data}
    found = {d.name: d for d in now}
    out = []
    for name in sorted(stated.keys() | found.keys()):
        if name not in stated or name not in found:
            where = "the report" if name in stated else "the problem"
            out.append(Finding(f"data {name}", False, f"only {where} has it"))
        else:
            same = stated[name].sha256 == found[name].sha256
            out.append(Finding(f"data {name}", same, "as it was" if same else f"{found[name].source} has changed"))
    return out


def _solution_findings(report: Report, solution: Solution) -> list[Finding]:
    out = []
    for kind, stated, found in (("solution", report.solution, solution.values), ("dual", report.duals, solution.duals)):
        for name in sorted(stated.keys() | found.keys()):
            if name not in stated or name not in found:
                holds = False
            else:
                a, b = stated[name].array(report.folder), np.asarray(found[name])
                holds = a.shape == b.shape and bool(np.allclose(a, b, rtol=ROUNDING, atol=ROUNDING, equal_nan=True))
            out.append(
                Finding(f"{kind} {name}", holds, "what the proof is about" if holds else "not what the answer gives")
            )
    return out


def _constraint_findings(report: Report, again: Recomputed) -> list[Finding]:
    """The rows that the report lists, measured again."""
    if not report.families and not again.rows:
        return []
    families, rows = summarise(again.rows, report.tolerances.feasibility)
    same_rows = len(rows) == len(report.constraints) and all(
        (a.name, a.label) == (b.name, b.label)
        and _close(a.violation, b.violation)
        and _close(a.slack, b.slack)
        and _close(a.dual, b.dual)
        for a, b in zip(rows, report.constraints, strict=True)
    )
    same = same_rows and [(f.name, f.rows) for f in families] == [(f.name, f.rows) for f in report.families]
    same = same and all(_close(a.worst, b.worst) for a, b in zip(families, report.families, strict=True))
    return [Finding("constraints", same, "violations and slacks as stated" if same else "violations or slacks differ")]


def _proof_findings(report: Report, certificate: Certificate) -> list[Finding]:
    out = []
    verdict = certificate.verdict
    same = verdict.kind.value == report.verdict.kind and _close(verdict.value, report.verdict.value)
    out.append(
        Finding("verdict", same, verdict.kind.value if same else f"it is {verdict.kind.value}: {verdict.reason}")
    )
    for name, stated, found in (
        ("objective", report.objective, certificate.objective),
        ("bound", report.bound, certificate.bound),
    ):
        same = _close(stated, found, ROUNDING)
        shown = "none" if found is None else f"{found:.10g}"
        out.append(Finding(name, same, shown if same else f"it is {shown}"))
    now = {c.name: c for c in certificate.checks}
    for check in report.checks:
        again = now.get(check.name)
        same = again is not None and check.holds == again.holds and _close(check.value, again.value)
        same = same and again is not None and _close(check.tolerance, again.tolerance)
        shown = "no such check" if again is None else f"{again.value:.3g} against {again.tolerance:.3g}"
        out.append(Finding(f"check {check.name}", same, shown))
    out += [
        Finding(f"check {name}", False, "the report leaves it out")
        for name in now
        if name not in {c.name for c in report.checks}
    ]
    return out


def _close(a: float | None, b: float | None, relative: float = ROUNDING_OF_DIFFERENCES) -> bool:
    if a is None or b is None:
        return a is b
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return math.isclose(a, b, rel_tol=relative, abs_tol=ROUNDING)
