"""W: legal, and probably not what was meant."""

from __future__ import annotations

from optdsl.syntax.diagnostics.record import Diagnostic, mistake
from optdsl.syntax.source import Span


@mistake("W101", "unused variable")
def unused_variable(span: Span | None, name: str) -> Diagnostic:
    """A variable enters neither the objective nor any row, so any value of it is as good as another."""
    return Diagnostic("W101", f"nothing uses the variable `{name}`", span, severity="warning")


@mistake("W102", "row without variables")
def row_without_variables(span: Span | None, label: str) -> Diagnostic:
    """A row holds constants only; it is true or false whatever is decided."""
    return Diagnostic("W102", f"no variable enters the row {label}", span, severity="warning")


@mistake("W103", "unused data")
def unused_data(span: Span | None, name: str) -> Diagnostic:
    """Data is read that nothing uses."""
    return Diagnostic("W103", f"nothing uses the data `{name}`", span, severity="warning")
