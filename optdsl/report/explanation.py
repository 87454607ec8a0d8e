"""Why a problem goes to which backend, on the terminal and as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from optdsl.report.values import plain_data
from optdsl.report.view import visible

if TYPE_CHECKING:
    from optdsl.api import Explanation

STANDING = {"chosen": ("✓", "bold green"), "accepted": ("·", ""), "refused": ("✗", "dim")}


def as_data(e: Explanation) -> dict[str, Any]:
    """The explanation as JSON takes it: title, facts [{name, value, reasons}], forms, backends."""
    facts = [{"name": n, "value": plain_data(v), "reasons": list(why)} for n, v, why in e.facts]
    return {
        "title": e.title,
        "facts": facts,
        "forms": [plain_data(asdict(f)) for f in e.forms],
        "backends": [plain_data(asdict(b)) for b in e.backends],
    }


def screen(e: Explanation) -> RenderableType:
    """The explanation as one renderable: facts, then forms, then backends, each with its reasons."""
    facts = Grid.grid(padding=(0, 2))
    for name, value, why in e.facts:
        facts.add_row(Text(visible(name)), Text(visible(str(value)), style="bold"), _lines(why))
    forms = Grid.grid(padding=(0, 2))
    for form in e.forms:
        mark, style = ("✓", "green") if form.matched else ("✗", "dim")
        sizes = [", ".join(f"{v:,} {k.replace('_', ' ')}" for k, v in form.sizes.items())] if form.sizes else []
        forms.add_row(Text(mark, style=style), Text(visible(form.name), style=style), _lines([*sizes, *form.reasons]))
    backends = Grid.grid(padding=(0, 2))
    for b in e.backends:
        mark, style = STANDING[b.status]
        why = [b.reason] if b.reason else []
        backends.add_row(Text(mark, style=style), Text(b.name, style=style), Text(b.form, style="dim"), _lines(why))
    chosen = next((b for b in e.backends if b.status == "chosen"), None)
    last = f"solve would use {chosen.name} on {chosen.form}" if chosen is not None else "no backend takes this problem"
    blocks: list[RenderableType] = [Text(visible(e.title), style="bold")]
    for title, grid in (("facts", facts), ("forms", forms), ("backends", backends)):
        blocks += [Text(), Text(title, style="bold"), grid]
    return Group(*blocks, Text(), Text(last, style="bold"))


def _lines(reasons: Iterable[str]) -> Text:
    return Text("\n".join(visible(r) for r in reasons))
