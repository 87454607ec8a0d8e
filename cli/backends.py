"""`optdsl backends`: the methods that there are, or all about one of them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .options import Format, FormatOption


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A backend, for its options and source.")] = None,
    format: FormatOption = Format.text,
) -> int:
    """List the methods, or show one with its options."""
    from rich.console import Console

    from optdsl.report import catalogue

    chosen = catalogue.entries(name)
    if format is Format.json:
        print(json.dumps(chosen, ensure_ascii=False, indent=1))
    else:
        Console().print(catalogue.one(chosen[0]) if name is not None else catalogue.table(chosen))
    return 0
