"""The choice of a backend: a readable list of rules, never a hidden score.

1. A backend named by the user is taken; it is refused, with the reason, where it does not apply.
2. Forms are tried from special to general (their `PRIORITY`); the first with an accepting backend decides.
3. Within a form, backends that are not baselines come first, then the smaller rank that the backend itself gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optdsl.backends.base import Backend, Trait
from optdsl.dispatch.registry import Matcher, backends, matchers, takes, unmet
from optdsl.forms.base import Form, Mismatch, Reason
from optdsl.ir.problem import Problem
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.dispatch import backend_refuses, no_backend, unknown_backend
from optdsl.syntax.source import Span

#: Variables beyond which `explain` leaves forms of at least this priority untried where a special one was found.
LARGE, GENERAL = 100_000, 40


@dataclass(frozen=True)
class Candidate:
    backend: Backend
    form: Form
    rank: tuple[int, int]
    rule: str


@dataclass
class Dispatch:
    """What was tried: the forms that matched, those that did not and why, backends accepted in order, and refused."""

    chosen: Candidate | None = None
    accepted: list[Candidate] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    matched: list[Form] = field(default_factory=list)
    mismatched: list[Mismatch] = field(default_factory=list)


def _candidates(forms: Sequence[Form | Mismatch], result: Dispatch) -> list[Candidate]:
    found: list[Candidate] = []
    for form in forms:
        if isinstance(form, Mismatch):
            result.mismatched.append(form)
            continue
        result.matched.append(form)
        for b in backends().values():
            if not takes(b, form):
                continue
            reasons = unmet(b, form)
            if reasons:
                result.refused.append((b.name, "; ".join(reasons)))
                continue
            number, rule = b.rank(form)
            baseline = Trait.BASELINE in b.traits
            words = rule or ("a baseline, kept for comparison" if baseline else f"rank {number} for this form")
            found.append(Candidate(b, form, (int(baseline), number), words))
    return sorted(found, key=lambda c: c.rank)


def choose(problem: Problem, wanted: str | None = None, span: Span | None = None, everything: bool = False) -> Dispatch:
    """Finds the backend. `everything` goes on through all forms, for `explain`; raises `OptError` where none applies."""
    result = Dispatch()
    if wanted is not None and wanted not in backends():
        raise OptError(unknown_backend(span, wanted, backends()))
    size = sum(v.size for v in problem.variables.values())
    for matcher in matchers():
        if everything and result.chosen is not None and size > LARGE and matcher.priority >= GENERAL:
            left = f"not tried, since {size:,} variables take long and a special form was found; --with tries it"
            result.mismatched += [Mismatch(f.title, [Reason(left)]) for f in matcher.forms]
            continue
        if wanted is not None and not everything and not _relevant(matcher, backends()[wanted]):
            continue
        found = _candidates(matcher.match(problem), result)
        result.accepted += found
        if result.chosen is None:
            named = [c for c in found if wanted in (None, c.backend.name)]
            if named:
                result.chosen = named[0]
                if not everything:
                    break
    if result.chosen is None:
        reasons = [(m.form, [str(r) for r in m.reasons]) for m in result.mismatched]
        if wanted is not None:
            refused = [r for name, r in result.refused if name == wanted]
            why = refused or [f"{form}: {'; '.join(rs)}" for form, rs in reasons]
            raise OptError(backend_refuses(span, wanted, why))
        raise OptError(no_backend(problem.title, reasons, result.refused))
    return result


def _relevant(matcher: Matcher, backend: Backend) -> bool:
    return any(f in backend.forms for f in matcher.forms)


def options_for(backend: Backend, layers: Sequence[tuple[Mapping[str, Any], Span | None]]) -> Any:
    """The backend's options from its defaults and the given layers, last wins. Raises E503 for what it does not take."""
    from pydantic import ValidationError

    from optdsl.syntax.diagnostics.dispatch import bad_option

    merged: dict[str, Any] = {}
    spans: dict[str, Span | None] = {}
    for layer, span in layers:
        merged.update(layer)
        spans.update(dict.fromkeys(layer, span))
    try:
        return backend.Options(**merged)
    except ValidationError as error:
        mistakes = []
        for e in error.errors():
            name = str(e["loc"][0]) if e["loc"] else ""
            known = list(backend.Options.model_fields)
            mistakes.append(
                bad_option(spans.get(name), backend.name, name, e["msg"], known, e["type"] == "extra_forbidden")
            )
        raise OptError(mistakes) from None


def best_for(form: Form, wanted: str | None = None) -> Backend:
    """The named backend, or the first in rank, for a form without a problem file."""
    result = Dispatch()
    if wanted is not None and wanted not in backends():
        raise OptError(unknown_backend(None, wanted, backends()))
    found = [c.backend for c in _candidates([form], result) if wanted in (None, c.backend.name)]
    if not found:
        refused = [why for name, why in result.refused if wanted in (None, name)]
        if wanted is not None:
            raise OptError(backend_refuses(None, wanted, refused or [f"it does not take {form.title}"]))
        raise OptError(no_backend(form.title, [], result.refused))
    return found[0]
