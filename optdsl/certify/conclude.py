"""From what was found to one verdict. The only place that turns numbers into `optimal`, `refuted` and the rest.

A certifier is a module of this folder with `FORMS`, the forms it knows, and
`prove(form, answer, tolerances) -> Proof`; the folder is the registry.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import optdsl.certify as folder
from optdsl.certify.record import Certificate, Check, Proof, Tolerances, Verdict, VerdictKind
from optdsl.forms.answer import LIMITS, Answer, Claim, StopKind
from optdsl.forms.base import Form


@cache
def _certifiers() -> dict[type[Form], Any]:
    found: dict[type[Form], Any] = {}
    for entry in iter_modules(folder.__path__):
        module = import_module(f"{folder.__name__}.{entry.name}")
        for form in getattr(module, "FORMS", ()):
            found[form] = module.prove
    return found


def prove(form: Form, answer: Answer, tolerances: Tolerances) -> Proof:
    """Runs the certifier of the form's type (or of its nearest base)."""
    for base in type(form).__mro__:
        if base in _certifiers():
            return _certifiers()[base](form, answer, tolerances)
    raise LookupError(f"no certifier for {type(form).__name__}")


def _verdict(answer: Answer, proof: Proof, tol: Tolerances, has_objective: bool, unit: float) -> Verdict:
    claim, kind = answer.claim, VerdictKind
    claimed = claim in (Claim.OPTIMAL, Claim.STATIONARY, Claim.FEASIBLE)
    if proof.infeasible:
        if claim is Claim.INFEASIBLE or answer.point is None:
            return Verdict(kind.INFEASIBLE, proof.reason or "a combination of the rows is a contradiction")
        return Verdict(kind.REFUTED, f"claimed {claim.value}, but the problem is proven infeasible: {proof.reason}")
    if proof.unbounded:
        return Verdict(
            kind.UNBOUNDED, proof.reason or "a feasible point and a direction along which it improves for ever"
        )
    point_holds = proof.objective is not None and math.isfinite(proof.objective) and proof.violation <= tol.feasibility
    if claim is Claim.INFEASIBLE:
        if point_holds or proof.better is not None:
            return Verdict(
                kind.REFUTED, "claimed infeasible, but a feasible point is known", proof.violation, tol.feasibility
            )
        return Verdict(kind.UNPROVEN, f"claimed infeasible without a proof that holds. {proof.reason}".strip())
    if claim is Claim.UNBOUNDED:
        return Verdict(kind.UNPROVEN, f"claimed unbounded without a direction that holds. {proof.reason}".strip())
    if answer.point is None:
        why = answer.stop.message or answer.stop.kind.value
        return Verdict(kind.UNPROVEN, f"no point was found ({why})")
    if proof.objective is None or not math.isfinite(proof.objective) or math.isnan(proof.violation):
        told = kind.REFUTED if claimed else kind.UNPROVEN
        return Verdict(told, "the point or its objective is not a finite number")
    if proof.violation > tol.feasibility:
        told = kind.REFUTED if claimed else kind.UNPROVEN
        words = f"claimed {claim.value}, but the point" if claimed else "the point"
        return Verdict(told, f"{words} violates the constraints", proof.violation, tol.feasibility)
    if not has_objective:
        return Verdict(kind.FEASIBLE, "every constraint holds; there is no objective", proof.violation, tol.feasibility)
    if proof.better is not None and claim in (Claim.OPTIMAL, Claim.STATIONARY):
        apart = abs(proof.objective - proof.better) / max(unit, abs(proof.objective))
        return Verdict(kind.REFUTED, f"claimed {claim.value}, but a better point exists", apart, tol.gap)
    if proof.bound is not None and math.isfinite(proof.bound):
        scale = max(unit, abs(proof.objective))
        gap = (proof.objective - proof.bound) / scale
        if gap < -10 * max(tol.gap, tol.feasibility):
            return Verdict(
                kind.UNPROVEN, f"the dual bound {proof.bound:.10g} contradicts the objective: numerical trouble"
            )
        if gap <= tol.gap:
            return Verdict(kind.OPTIMAL, proof.reason or "a dual bound meets the objective", max(gap, 0.0), tol.gap)
    if proof.residual is not None and proof.residual <= tol.stationarity * unit:
        words = proof.reason or _stationary_words(proof)
        return Verdict(kind.STATIONARY, words, proof.residual / unit, tol.stationarity)
    if answer.stop.kind in LIMITS or answer.stop.kind is StopKind.STALLED or claim in (Claim.FEASIBLE, Claim.NONE):
        return Verdict(kind.FEASIBLE, _open_words(proof, unit), proof.violation, tol.feasibility)
    return Verdict(kind.UNPROVEN, f"claimed {claim.value}; {_open_words(proof, unit)}")


def _stationary_words(proof: Proof) -> str:
    if proof.convex:
        return (
            "first-order conditions hold and the problem is convex, so the point is a global minimum to that residual"
        )
    if proof.curvature is not None and proof.curvature < 0:
        return f"stationary, not a minimum: curvature {proof.curvature:.3g} was found"
    return "first-order conditions hold; local: nothing is known of other stationary points"


def _open_words(proof: Proof, unit: float) -> str:
    words = []
    if proof.objective is not None and proof.bound is not None and math.isfinite(proof.bound):
        gap = (proof.objective - proof.bound) / max(unit, abs(proof.objective))
        words.append(f"the proven bound leaves a relative gap of {gap:.3g}")
    if proof.residual is not None:
        words.append(f"the first-order residual is {proof.residual / unit:.3g}")
    if not words:
        words.append("no bound on the optimum is proven")
    return "; ".join(words)


def conclude(
    answer: Answer,
    proof: Proof,
    tolerances: Tolerances,
    *,
    maximise: bool = False,
    has_objective: bool = True,
    unit: float = 1.0,
) -> Certificate:
    """The certificate in the problem's own sense. `unit` is what counts as 1 in the objective: gaps are held against
    max(unit, |objective|), first-order residuals against the tolerance times it."""
    sign = -1.0 if maximise else 1.0
    checks = list(proof.checks)
    if not math.isnan(proof.violation):
        meaning = "largest scaled violation of a constraint or set"
        checks.insert(0, Check("feasibility", proof.violation, tolerances.feasibility, meaning))
    return Certificate(
        verdict=_verdict(answer, proof, tolerances, has_objective, unit),
        checks=checks,
        objective=None if proof.objective is None else sign * proof.objective,
        bound=None if proof.bound is None else sign * proof.bound,
        notes=list(proof.notes),
    )
