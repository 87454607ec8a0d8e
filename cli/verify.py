"""`optdsl verify`: the certificate of a report, computed again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .options import Format, FormatOption


def command(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A report saved by optdsl solve --report.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; the exit status tells.")] = False,
    format: FormatOption = Format.text,
) -> int:
    """Check a saved report again from its problem and data. Status 0: all holds; 2: something was altered."""
    from optdsl.report.status import PROVEN, UNPROVEN
    from optdsl.report.terminal import findings
    from optdsl.report.verify import verify

    found = verify(report)
    holds = all(f.holds for f in found)
    if format is Format.json:
        print(json.dumps({"verified": holds, "findings": [asdict(f) for f in found]}, ensure_ascii=False, indent=1))
    elif not quiet:
        from rich.console import Console

        Console().print(findings(found))
    return PROVEN if holds else UNPROVEN
