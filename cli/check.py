"""`optdsl check`: every mistake and every doubtful place of a problem file, without solving it."""

from __future__ import annotations

import json

from .options import AllowPath, AllowPython, Data, File, Format, FormatOption, Set, load


def command(
    file: File,
    set_: Set = None,
    data: Data = None,
    format: FormatOption = Format.text,
    allow_python: AllowPython = False,
    allow_path: AllowPath = None,
) -> int:
    """Report mistakes and warnings without solving."""
    from optdsl.run.settings import command_line
    from optdsl.syntax.render import render_all

    s = command_line(with_=None, options=(), set_=set_ or (), data=data or ())
    found = load(file, allow_python, allow_path).check(data=s.data, params=s.set)
    if format is Format.json:
        print(json.dumps({"diagnostics": [d.to_json() for d in found]}, ensure_ascii=False, indent=1))
        return 0
    if found:
        print(render_all(found) + "\n")
    print(f"{file}: no mistakes" + (f", {len(found)} warning{'s' if len(found) > 1 else ''}" if found else ""))
    return 0
