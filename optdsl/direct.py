"""Forms made from arrays and callables, solved and certified without a problem file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from optdsl.certify.conclude import conclude, prove
from optdsl.certify.record import Certificate, Tolerances
from optdsl.dispatch.choose import best_for, options_for
from optdsl.forms.answer import Answer
from optdsl.forms.base import Form
from optdsl.run.run import Run


@dataclass(frozen=True)
class Solved:
    """The point is `answer.point`, in the form's space; `certificate` is what is proven of it."""

    backend: str
    answer: Answer
    certificate: Certificate
    run: Run


def solve_form(
    form: Form,
    with_: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    tol: float | None = None,
    **run: Any,
) -> Solved:
    """Solves a form by the named backend, or by the first in rank. `run` takes the fields of `Run` (seed, time_limit …).

    Raises OptError E501 to E504 for a backend or an option that does not fit.
    """
    backend = best_for(form, with_)
    tolerances = Tolerances() if tol is None else replace(Tolerances(), gap=tol, stationarity=tol)
    made = Run(**run)
    answer = backend.solve(form, options_for(backend, [(options or {}, None)]), made)
    return Solved(backend.name, answer, conclude(answer, prove(form, answer, tolerances), tolerances), made)
