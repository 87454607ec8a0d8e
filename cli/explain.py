"""`optdsl explain`: why a problem goes to which backend, or what the code of a diagnostic means."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from .options import AllowPath, AllowPython, Data, Format, FormatOption, Set, load


def command(
    what: Annotated[str, typer.Argument(metavar="FILE|CODE", help="A problem file, or a code such as E203.")],
    set_: Set = None,
    data: Data = None,
    format: FormatOption = Format.text,
    allow_python: AllowPython = False,
    allow_path: AllowPath = None,
) -> int:
    """Show what is known of a problem and which method it gets, or what an error code means."""
    if re.fullmatch(r"[EWIewi]\d{3}", what) and not Path(what).exists():
        return _page(what.upper(), format)
    from rich.console import Console

    from optdsl.report.explanation import as_data, screen
    from optdsl.run.settings import command_line

    s = command_line(with_=None, options=(), set_=set_ or (), data=data or ())
    found = load(what, allow_python, allow_path).explain(data=s.data, params=s.set)
    if format is Format.json:
        print(json.dumps(as_data(found), ensure_ascii=False, indent=1))
    else:
        Console().print(screen(found))
    return 0


def _page(code: str, format: Format) -> int:
    from optdsl.syntax.diagnostics import page

    mistake = page(code)
    if format is Format.json:
        print(json.dumps({"code": mistake.code, "title": mistake.title, "page": mistake.page}, ensure_ascii=False))
    else:
        print(f"{mistake.code}: {mistake.title}\n\n{mistake.page}")
    return 0
