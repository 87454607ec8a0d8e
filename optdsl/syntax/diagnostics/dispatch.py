"""E5: forms, backends and their options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optdsl.syntax.diagnostics.names import nearest
from optdsl.syntax.diagnostics.record import Diagnostic, mistake
from optdsl.syntax.source import Span


@mistake("E501", "unknown backend")
def unknown_backend(span: Span | None, name: str, known: Iterable[str]) -> Diagnostic:
    """No backend has that name; `optdsl backends` lists them."""
    close = nearest(name, known)
    return Diagnostic("E501", f"there is no backend `{name}`", span,
                      help=f"did you mean `{close}`?" if close else "`optdsl backends` lists them")  # fmt: skip


@mistake("E502", "backend does not take the problem")
def backend_refuses(span: Span | None, name: str, reasons: Sequence[str]) -> Diagnostic:
    """The backend was asked for by name, but the problem has no form that it takes."""
    return Diagnostic("E502", f"`{name}` does not take this problem", span, notes=list(reasons),
                      help="`optdsl explain` shows the backends that do")  # fmt: skip


@mistake("E503", "wrong option")
def bad_option(
    span: Span | None, backend: str, name: str, rule: str, known: Sequence[str], unknown: bool
) -> Diagnostic:
    """Each backend's options have names, types and ranges; `optdsl backends NAME` lists them."""
    if unknown:
        close = nearest(name, known)
        hint = f"did you mean `{close}`?" if close else (f"it takes {', '.join(known)}" if known else "it takes none")
        return Diagnostic("E503", f"`{backend}` has no option `{name}`", span, help=hint)
    return Diagnostic("E503", f"option `{name}` of `{backend}`: {rule}", span)


@mistake("E504", "no backend takes the problem")
def no_backend(
    title: str, mismatches: Sequence[tuple[str, Sequence[str]]], refused: Sequence[tuple[str, str]]
) -> Diagnostic:
    """The problem has no form that any backend takes. The notes say of each form why."""
    notes = [f"{form}: {'; '.join(reasons)}" for form, reasons in mismatches]
    notes += [f"backend {name}: {reason}" for name, reason in refused]
    return Diagnostic("E504", f"no backend takes {title!r}", notes=notes)


@mistake("E505", "form without a backend")
def needs_form(span: Span | None, what: str, needs: str) -> Diagnostic:
    """The file states more than one objective with rows: something that needs a form of its own, which no installed
    backend takes yet."""
    return Diagnostic("E505", f"no backend takes {what} yet: it needs {needs}", span)


@mistake("E506", "pipeline not possible")
def pipeline_unavailable(span: Span | None, shown: str) -> Diagnostic:
    """`solve with a -> b` hands the point of one backend to the next as its start."""
    return Diagnostic("E506", f"the pipeline {shown} cannot be run", span, help="name one backend")
