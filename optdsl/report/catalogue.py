"""The backends that are installed, from what each declares of itself."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticUndefined
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from optdsl.backends.base import Backend
from optdsl.dispatch.registry import backends
from optdsl.report.environment import package_version
from optdsl.report.values import plain_data
from optdsl.syntax.diagnostics import OptError
from optdsl.syntax.diagnostics.dispatch import unknown_backend


def entries(name: str | None = None) -> list[dict[str, Any]]:
    """Every backend as plain data, by form and preference, or the one of that name. Raises OptError (E501)."""
    known = backends()
    if name is not None and name not in known:
        raise OptError(unknown_backend(None, name, known))
    by_form = sorted(known.values(), key=lambda b: (b.forms[0].__name__, b.preference, b.name))
    return [entry(b) for b in by_form if name in (None, b.name)]


def entry(b: Backend) -> dict[str, Any]:
    """What a backend declares, as plain data."""
    options = b.Options.model_json_schema().get("properties", {})
    return {
        "name": b.name,
        "summary": b.summary,
        "forms": [f.__name__ for f in b.forms],
        "assumes": [{"name": a.name, "otherwise": a.why_not} for a in b.assumes],
        "guarantees": b.guarantees,
        "traits": sorted(t.value for t in b.traits),
        "paper": None if b.paper is None else {"title": b.paper.title, "reference": b.paper.reference},
        "package": b.package,
        "version": None if b.package is None else package_version(b.package),
        "options": [
            {
                "name": key,
                "type": _type(options[key]),
                "default": None if f.default is PydanticUndefined else plain_data(f.default),
                "description": f.description or "",
            }
            for key, f in b.Options.model_fields.items()
        ],
    }


def _type(schema: dict[str, Any]) -> str:
    """`number > 0`, `"a" | "b"`, `integer or null`."""
    if "enum" in schema:
        return " | ".join(repr(v) for v in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(s) for s in schema["anyOf"])
    signs = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}
    bounds = " ".join(f"{sign} {schema[k]:g}" for k, sign in signs.items() if k in schema)
    return f"{schema.get('type', 'value')} {bounds}".strip()


def table(chosen: list[dict[str, Any]]) -> RenderableType:
    """One line a backend."""
    out = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    for head in ("backend", "forms", "what it is"):
        out.add_column(head, overflow="fold")
    for e in chosen:
        out.add_row(Text(e["name"], style="bold"), Text(", ".join(e["forms"])), Text(e["summary"]))
    return Group(out, Text(), Text("optdsl backends NAME shows one with its options and its paper", style="dim"))


def one(e: dict[str, Any]) -> RenderableType:
    """All that one backend declares."""
    facts = Table.grid(padding=(0, 2))
    version = f"{e['package']} {e['version'] or '(not installed)'}" if e["package"] else ""
    paper = f"{e['paper']['title']}, {e['paper']['reference']}" if e["paper"] else ""
    for name, value in (
        ("takes", ", ".join(e["forms"])),
        ("assumes", "\n".join(a["name"] for a in e["assumes"])),
        ("guarantees", e["guarantees"]),
        ("is", "\n".join(e["traits"])),
        ("paper", paper),
        ("package", version),
    ):
        if value:
            facts.add_row(Text(name, style="dim"), Text(value))
    options = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    for head in ("option", "default", "type", ""):
        options.add_column(head, overflow="fold")
    for o in e["options"]:
        options.add_row(Text(o["name"]), Text(str(o["default"])), Text(o["type"]), Text(o["description"]))
    parts: list[RenderableType] = [Text(e["name"], style="bold"), Text(e["summary"]), Text(), facts]
    return Group(*parts, Text(), options) if e["options"] else Group(*parts)
