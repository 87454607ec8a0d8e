"""Why a problem goes to which backend, as a record and on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from optdsl.dispatch.choose import Dispatch as Choices
from optdsl.forms.base import Reason
from optdsl.ir.problem import Problem
from optdsl.report.model import Fact
from optdsl.report.values import Record, plain_data
from optdsl.report.view import visible


class FormEntry(Record):
    """A canonical form; `reasons` say why it does not apply, or `notes` what was done so that it does."""

    name: str
    title: str = ""
    matches: bool
    reasons: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)


class BackendEntry(Record):
    """A backend for one of the forms that match (or the reason why it has none), in the order of the ranking."""

    name: str
    form: str | None = None
    standing: Literal["chosen", "ranked", "refused"]
    reasons: list[str] = Field(default_factory=list)


class Explanation(Record):
    """The facts found of a problem, each form with why it matched or not, each backend with why it was taken, ranked
    lower or refused."""

    title: str
    file: str | None = None
    facts: list[Fact] = Field(default_factory=list)
    forms: list[FormEntry] = Field(default_factory=list)
    backends: list[BackendEntry] = Field(default_factory=list)

    @property
    def chosen(self) -> BackendEntry | None:
        return next((b for b in self.backends if b.standing == "chosen"), None)


def explain(
    problem: Problem, dispatch: Choices, facts: Sequence[tuple[str, Any, Sequence[str]]] = (), file: str | None = None
) -> Explanation:
    """The explanation of a dispatch that went through everything. `facts` are (name, value, reasons)."""
    chosen = dispatch.chosen
    forms = [
        FormEntry(name=type(f).__name__, title=f.title, matches=True, notes=list(f.notes)) for f in dispatch.matched
    ] + [FormEntry(name=m.form, matches=False, reasons=[_reason(r) for r in m.reasons]) for m in dispatch.mismatched]
    entries = [
        BackendEntry(
            name=c.backend.name,
            form=type(c.form).__name__,
            standing="chosen" if c is chosen else "ranked",
            reasons=[c.rule] if c.rule else [],
        )
        for c in sorted(dispatch.accepted, key=lambda c: c is not chosen)
    ]
    entries += [BackendEntry(name=name, standing="refused", reasons=[why]) for name, why in dispatch.refused]
    return Explanation(
        title=problem.title,
        file=file,
        facts=[Fact(name=n, value=plain_data(v), reasons=list(why)) for n, v, why in facts],
        forms=forms,
        backends=entries,
    )


def _reason(reason: Reason) -> str:
    return f"{reason.text} ({reason.span})" if reason.span is not None else reason.text


STANDING = {"chosen": ("✓", "bold green"), "ranked": ("·", ""), "refused": ("✗", "dim")}


def screen(e: Explanation) -> RenderableType:
    """The explanation as one renderable."""
    facts = Grid.grid(padding=(0, 2))
    for fact in e.facts:
        facts.add_row(Text(visible(fact.name)), Text(visible(str(fact.value)), style="bold"), _lines(fact.reasons))
    forms = Grid.grid(padding=(0, 2))
    for form in e.forms:
        mark, style = ("✓", "green") if form.matches else ("✗", "dim")
        forms.add_row(
            Text(mark, style=style), Text(form.name, style=style), _lines(form.notes if form.matches else form.reasons)
        )
    backends = Grid.grid(padding=(0, 2))
    for backend in e.backends:
        mark, style = STANDING[backend.standing]
        backends.add_row(
            Text(mark, style=style),
            Text(backend.name, style=style),
            Text(backend.form or "", style="dim"),
            _lines(backend.reasons),
        )
    chosen = e.chosen
    last = f"solve would use {chosen.name} on {chosen.form}" if chosen is not None else "no backend takes this problem"
    return Group(
        Text(visible(e.title), style="bold"),
        Text(),
        Text("facts", style="bold"),
        facts,
        Text(),
        Text("forms", style="bold"),
        forms,
        Text(),
        Text("backends", style="bold"),
        backends,
        Text(),
        Text(last, style="bold"),
    )


def _lines(reasons: list[str]) -> Text:
    return Text("\n".join(visible(r) for r in reasons))
