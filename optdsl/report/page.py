"""A report as one HTML page: nothing is fetched, nothing runs; it follows the reader's light or dark and any width."""

from __future__ import annotations

from html import escape
from pathlib import Path

from optdsl.report import view as views
from optdsl.report.model import Report
from optdsl.report.outcome import in_words
from optdsl.report.plot import convergence
from optdsl.report.view import Table, visible
from optdsl.run.checkpoint import write_atomically
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.run import unwritable_file

#: A page has room for more than a terminal.
ROOMY = views.Bounds(rows=40, solution=400, constraints=60, width=200, tables=20)

STYLE = """
.optdsl{--ink:#1c2024;--dim:#5f6873;--line:#dde1e6;--paper:#fff;--good:#18794e;--open:#915a00;--bad:#c62a2f;
 --s0:#2563c9;--s1:#c2570c;--s2:#18794e;--s3:#8145b5;--s4:#5f6873;
 color:var(--ink);background:var(--paper);font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;
 padding:1.5rem 1rem}
@media(prefers-color-scheme:dark){.optdsl{--ink:#e6e8eb;--dim:#9ba3ad;--line:#33393f;--paper:#16191c;--good:#4cc38a;
 --open:#f1a10d;--bad:#ff6369;--s0:#70a5ff;--s1:#ff9a52;--s2:#4cc38a;--s3:#c79bf0;--s4:#9ba3ad}}
.optdsl *{box-sizing:border-box}
.optdsl h1{font-size:1.5rem;line-height:1.25;margin:0}
.optdsl h2{font-size:1rem;margin:2rem 0 .4rem}
.optdsl p{margin:.3rem 0}
.optdsl .dim,.optdsl th{color:var(--dim);font-weight:400}
.optdsl .verdict{margin:1.2rem 0;padding:.2rem 0 .2rem 1rem;border-left:4px solid currentColor}
.optdsl .verdict p{color:var(--ink)}
.optdsl .verdict strong{font-size:1.25rem}
.optdsl .value{white-space:nowrap;font-size:1.25rem;color:var(--ink);margin-left:1rem;font-variant-numeric:tabular-nums}
.optdsl .good{color:var(--good)}.optdsl .open{color:var(--open)}.optdsl .bad{color:var(--bad)}
.optdsl .wide{overflow-x:auto}
.optdsl table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.2rem 0}
.optdsl th,.optdsl td{padding:.25rem 1rem .25rem 0;text-align:right;border-bottom:1px solid var(--line);
 vertical-align:top;background:none;white-space:nowrap}
.optdsl th:first-child,.optdsl td:first-child,.optdsl .words td:last-child{white-space:normal}
.optdsl th:first-child,.optdsl td:first-child,.optdsl .words td{text-align:left}
.optdsl tbody th{color:var(--ink)}
.optdsl .plots{display:flex;flex-wrap:wrap;gap:1rem}
.optdsl svg{flex:1 1 17rem;max-width:29rem;min-width:0;height:auto}
.optdsl svg text{fill:var(--dim);font:12px system-ui,sans-serif}.optdsl svg .head{fill:var(--ink);font-size:13px}
.optdsl svg .grid{stroke:var(--line)}
.optdsl svg polyline,.optdsl svg [class^=s]{fill:none;stroke-width:1.75;stroke-linejoin:round}
.optdsl svg .s0{stroke:var(--s0)}.optdsl svg .s1{stroke:var(--s1)}.optdsl svg .s2{stroke:var(--s2)}
.optdsl svg .s3{stroke:var(--s3)}.optdsl svg .s4{stroke:var(--s4)}
.optdsl dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.2rem 0}
.optdsl dt{color:var(--dim)}.optdsl dd{margin:0;overflow-wrap:anywhere}
.optdsl footer{margin-top:2rem;color:var(--dim);font-size:.875rem}
"""

BODY_STYLE = "body{margin:0;background:#fff}@media(prefers-color-scheme:dark){body{background:#16191c}}"


def write(report: Report, path: Path) -> None:
    """Writes the page in one step. Raises OptError (E605)."""
    try:
        write_atomically(path.absolute(), page(report).encode())
    except OSError as error:
        raise OptError(unwritable_file(str(path), error.strerror or str(error))) from None


def page(report: Report) -> str:
    """The whole page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(visible(report.problem.title))}</title><style>{BODY_STYLE}</style></head>"
        f"<body>{fragment(report)}</body></html>\n"
    )


def fragment(report: Report) -> str:
    """The report as one element with its own style, as notebooks show it."""
    v, words = views.view(report, ROOMY), in_words(report)
    value = f'<span class="value">{escape(v.objective)}</span>' if v.objective else ""
    parts = [
        f'<div class="optdsl"><style>{STYLE}</style><h1>{escape(v.title)}</h1><p class="dim">{escape(v.subtitle)}</p>',
        f'<div class="verdict {words.tone}"><strong>{escape(words.headline)}</strong>{value}'
        f"<p>{escape(visible(words.detail))}</p></div>",
    ]
    if v.solution:
        parts += ["<h2>Solution</h2>", *(_table(t) for t in v.solution)]
    if v.parts is not None:
        parts += ["<h2>Items</h2>", _table(v.parts)]
    if v.constraints is not None:
        parts += ["<h2>Constraints</h2>", _table(v.constraints)]
    if v.checks is not None:
        parts += ["<h2>Checks</h2>", _table(v.checks, "words")]
    panels = convergence(report)
    if panels:
        parts.append(f'<h2>Convergence</h2><div class="plots">{"".join(panels)}</div>')
    parts += _about(report)
    parts += [f"<p>Note: {escape(n)}</p>" for n in v.notes]
    parts.append(f"<footer>{escape(v.footer)}</footer></div>")
    return "".join(parts)


def _table(table: Table, kind: str = "") -> str:
    parts = []
    if table.title and not table.header and not kind:
        parts.append(f"<p>{escape(table.title)}</p>")
    if table.rows:
        parts.append(f'<div class="wide"><table class="{kind}">')
        if table.header:
            heads = [table.title if table.title not in ("constraints", "items") else "", *table.header[1:]]
            parts.append("<thead><tr>" + "".join(f"<th>{escape(h)}</th>" for h in heads) + "</tr></thead>")
        parts.append("<tbody>")
        parts += ["<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in table.rows]
        parts.append("</tbody></table></div>")
    if table.more:
        parts.append(f'<p class="dim">{escape(table.more)}</p>')
    return "".join(parts)


def _about(report: Report) -> list[str]:
    """How it was solved, and with what."""
    backend = report.backend
    entries = [("method", f"{backend.name} {backend.version or ''}".strip())]
    if backend.paper is not None:
        entries.append(("paper", f"{backend.paper.title}, {backend.paper.reference}"))
    if backend.options:
        entries.append(("options", ", ".join(f"{k} = {v}" for k, v in backend.options.items())))
    if report.problem.file is not None:
        entries.append(("problem", Path(report.problem.file).name))
    entries += [("data", f"{d.name}: {d.source}") for d in report.data if not d.param]
    entries += [("param", f"{d.name}: {d.source}") for d in report.data if d.param]
    entries += [("environment", ", ".join(f"{k} {v}" for k, v in report.environment.items()))]
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(visible(t))}</dd>" for k, t in entries)
    return [f"<h2>How</h2><dl>{listed}</dl>"]
