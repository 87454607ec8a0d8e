"""A report on the terminal: one screen that says what was solved, what is proven of it, and what was found."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from optdsl.report import view as views
from optdsl.report.model import Report
from optdsl.report.outcome import in_words
from optdsl.report.view import Table, visible

if TYPE_CHECKING:
    from optdsl.report.verify import Finding

COLOURS = {"good": "bold green", "open": "bold yellow", "bad": "bold red"}
MARKS = {"good": "✓", "open": "•", "bad": "✗"}


def show(report: Report, console: Console | None = None) -> None:
    """Prints the report."""
    (console or Console()).print(screen(report))


def as_text(report: Report, width: int = 100) -> str:
    """The report as plain text."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(screen(report))
    return out.getvalue()


def screen(report: Report) -> RenderableType:
    """The report as one renderable."""
    v, words = views.view(report), in_words(report)
    verdict = Text.assemble(
        (f"{MARKS[words.tone]} {words.headline}", COLOURS[words.tone]), "   ", (v.objective, "bold")
    )
    parts: list[RenderableType] = [
        Text(v.title, style="bold"),
        Text(v.subtitle, style="dim"),
        Text(),
        verdict,
        Padding(Text(visible(words.detail)), (0, 0, 0, 2), expand=False),
    ]
    for table in [*v.solution, v.parts, v.constraints, v.checks]:
        if table is not None:
            parts += [Text(), grid(table)]
    parts += [Text(), *(Text(f"note: {n}") for n in v.notes), Text(v.footer, style="dim")]
    return Group(*parts)


def grid(table: Table) -> RenderableType:
    """One table: names to the left, numbers to the right."""
    parts: list[RenderableType] = []
    if table.header:
        out = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
        for k, head in enumerate([table.title, *table.header[1:]]):
            out.add_column(
                Text(head, style="bold" if k == 0 else ""), justify="left" if k == 0 else "right", overflow="fold"
            )
    else:
        out = Grid.grid(padding=(0, 2))
        if table.title:
            parts.append(Text(table.title, style="bold"))
        width = max((len(r) for r in table.rows), default=0)
        for k in range(width):
            out.add_column(justify="right" if 0 < k and width == 2 else "left", overflow="fold")
    for row in table.rows:
        out.add_row(*(Text(cell) for cell in row))
    if table.rows:
        parts.append(out if table.header else Padding(out, (0, 0, 0, 2 if table.title else 0), expand=False))
    if table.more:
        parts.append(Text(f"  {table.more}", style="dim"))
    return Group(*parts)


def findings(found: Sequence[Finding]) -> RenderableType:
    """What a verification found: one line a finding, then one that sums up."""
    out = Grid.grid(padding=(0, 2))
    for f in found:
        out.add_row(
            Text("✓" if f.holds else "✗", style="green" if f.holds else "bold red"),
            Text(visible(f.name)),
            Text(visible(f.found)),
        )
    failed = sum(not f.holds for f in found)
    if failed:
        last = Text(f"✗ Not verified: {failed} of {len(found)} findings do not hold", style="bold red")
    else:
        last = Text(f"✓ Verified: {len(found)} findings hold", style="bold green")
    return Group(out, Text(), last)
